//! Tokens of a statement and their places.
//!
//! # How it works
//! Keywords are ordinary words here: in Cypher almost every keyword may also be a name, so the
//! parser compares words without case where a keyword can stand. Arrows are single characters (`-`,
//! `<`, `>`), since `a<-1` is a comparison and `(a)<-[r]-(b)` a pattern.

use std::borrow::Cow;
use std::ops::Range;

use graven_types::name::quoted;
use logos::Logos;

/// A byte range of the statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// From the start of `self` to the end of `last`.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        Span::new(self.start, last.end.max(self.start))
    }

    /// Bytes covered.
    #[must_use]
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether no byte is covered.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The text covered.
    #[must_use]
    pub fn slice(self, text: &str) -> &str {
        &text[Range::<usize>::from(self)]
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Range<usize> {
        span.start as usize..span.end as usize
    }
}

/// Places do not take part in comparing syntax trees: two expressions are equal when they say the
/// same, wherever they stand.
impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

/// A name as a statement has to write it: between backticks where it is no plain word.
#[must_use]
pub fn written_name(name: &str) -> Cow<'_, str> {
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric());
    match plain && !name.is_empty() {
        true => Cow::Borrowed(name),
        false => Cow::Owned(quoted(name)),
    }
}

/// Kinds of token.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[\s\u{feff}\u{1c}-\u{1f}]+")]
#[logos(skip(r"//[^\n\r]*", allow_greedy = true))]
#[expect(missing_docs, reason = "each variant is the token it shows")]
pub enum TokenKind {
    #[regex(r"[\p{XID_Start}_][\p{XID_Continue}]*")]
    Word,
    #[regex(r"`([^`]|``)*`")]
    QuotedName,
    #[regex(r"[0-9]+(_[0-9]+)*", priority = 20)]
    Integer,
    #[regex(r"0x[0-9a-fA-F]+(_[0-9a-fA-F]+)*", priority = 20)]
    Hexadecimal,
    #[regex(r"0o[0-7]+(_[0-7]+)*", priority = 20)]
    Octal,
    #[regex(
        r"([0-9]+(_[0-9]+)*)?\.[0-9]+(_[0-9]+)*([eE][+-]?[0-9]+(_[0-9]+)*)?[fFdD]?",
        priority = 20
    )]
    #[regex(r"[0-9]+(_[0-9]+)*[eE][+-]?[0-9]+(_[0-9]+)*[fFdD]?", priority = 20)]
    Float,
    #[regex(r"[0-9][\p{XID_Continue}]*", priority = 3)]
    #[regex(
        r"([0-9]+(_[0-9]+)*)?\.[0-9]+(_[0-9]+)*\p{XID_Start}[\p{XID_Continue}]*",
        priority = 3
    )]
    BadNumber,
    #[regex(r"'([^'\\]|\\[\s\S])*'")]
    #[regex(r#""([^"\\]|\\[\s\S])*""#)]
    String,
    #[regex(r#"['"]"#)]
    OpenString,
    #[token("`")]
    OpenQuote,
    #[regex(r"/\*([^*]|\*+[^*/])*\*+/", logos::skip)]
    BlockComment,
    #[token("/*")]
    OpenComment,
    #[token("$")]
    Dollar,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("|")]
    Bar,
    #[token("||")]
    BarBar,
    #[token("&")]
    Ampersand,
    #[token("!")]
    Bang,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("^")]
    Caret,
    #[token("=")]
    Equal,
    #[token("+=")]
    PlusEqual,
    #[token("=~")]
    Matches,
    #[token("<>")]
    NotEqual,
    /// What other languages write for [`TokenKind::NotEqual`].
    #[token("!=")]
    BangEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessOrEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterOrEqual,
    /// After the last token; never produced by the lexer itself.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its place.
    pub span: Span,
}
