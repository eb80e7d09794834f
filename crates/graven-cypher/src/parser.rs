//! Tokens to syntax tree: recursive descent over the token list.
//!
//! # How it works
//! `parser/clause.rs` reads statements and clauses, `parser/pattern.rs` paths,
//! `parser/expression.rs` expressions by precedence, `parser/load.rs` files,
//! `parser/tables.rs` tables, `parser/databases.rs` databases of a server, `parser/kuzu.rs`
//! functions of Kuzu, `parser/kuzu_calls.rs` its calls and settings, `parser/atom.rs` what they
//! start from, `parser/prefix.rs` what stands before a statement, and `parser/used_database.rs`
//! what it says to use. This file holds what they share: the position, look-ahead and errors.
//!
//! # Invariants
//! * CY-12 Nesting is counted: brackets and subqueries deeper than [`NESTING_MAX`] or an expression
//!   tree higher than [`HEIGHT_MAX`] end in an error instead of a stack overflow.
//! * CY-13 There is no backtracking over an unbounded number of tokens; parsing takes linear time.

mod apoc;
mod atom;
mod case;
mod clause;
pub(crate) mod databases;
mod expression;
mod hint;
mod in_transactions;
mod kuzu;
mod kuzu_bits;
mod kuzu_calls;
mod kuzu_functions;
mod load;
mod macros;
mod path_parts;
mod pattern;
mod prefix;
mod schema;
mod sequences;
mod show;
mod tables;
mod type_name;
pub(crate) mod used_database;
mod users;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Name, Statement};
use crate::diagnostic::{Code, Diagnostic, closest};
use crate::lexer::{self, Tokens};
use crate::plan::PathCount;
use crate::stop;
use crate::token::{Span, Token, TokenKind};

pub(crate) use kuzu::place;
pub(crate) use kuzu_functions::is_function_name;

/// Deepest nesting of brackets, subqueries and the like.
pub(crate) const NESTING_MAX: u16 = 128;

/// Highest expression tree; long chains of `+` count, chains of `AND` and `OR` hardly do.
pub(crate) const HEIGHT_MAX: u16 = 400;

pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// Words of other languages where a clause is wanted, and what says the same here.
const FOREIGN: &[(&str, &str)] = &[
    ("SELECT", "a query is `MATCH ... WHERE ... RETURN ...`"),
    (
        "GROUP",
        "rows are grouped by the items next to an aggregate; leave `GROUP BY` out",
    ),
    (
        "HAVING",
        "name the aggregate in a `WITH` and put `WHERE` after it",
    ),
    ("UPDATE", "write `MATCH ... SET ...`"),
    (
        "NULLS",
        "null is the last of an ascending order and the first of a descending one",
    ),
];

/// Words that cannot be a variable standing alone in an expression, offered in hints.
const KEYWORDS: &[&str] = &[
    "MATCH", "OPTIONAL", "WHERE", "WITH", "RETURN", "UNWIND", "UNION", "ORDER", "SKIP", "LIMIT",
    "CREATE", "INSERT", "MERGE", "DELETE", "DETACH", "NODETACH", "SET", "REMOVE", "CALL", "YIELD",
    "FOREACH", "FINISH", "LET", "FILTER", "EXPLAIN", "PROFILE", "DISTINCT",
];

/// So many tokens are looked at to tell whether a keyword is a name.
const LOOK_AHEAD_MAX: usize = 12;

/// Words between an operand and another, or between an expression and what follows it.
const JOINING: &[&str] = &[
    "AND", "OR", "XOR", "IN", "CONTAINS", "AS", "THEN", "WHEN", "ELSE", "WHERE", "RETURN", "WITH",
    "SKIP", "OFFSET", "LIMIT", "MATCH", "OPTIONAL", "UNWIND", "CREATE", "INSERT", "MERGE", "SET",
    "REMOVE", "DELETE", "DETACH", "NODETACH", "FOREACH", "CALL", "UNION", "YIELD",
];

/// Whether a token that is no word can only stand behind a whole operand; what may also begin one
/// is none of these.
fn is_after_operand(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        End | Comma
            | Semicolon
            | Dot
            | DotDot
            | CloseParen
            | CloseBracket
            | CloseBrace
            | Bar
            | BarBar
            | Slash
            | Percent
            | Caret
            | Equal
            | PlusEqual
            | Matches
            | NotEqual
            | Less
            | LessOrEqual
            | Greater
            | GreaterOrEqual
    )
}

/// Parses one statement.
pub(crate) fn parse(text: &str) -> Result<Statement> {
    parse_all(text).map_err(|error| match users::may_hold_password(text) {
        true => error.without_text(),
        false => error,
    })
}

fn parse_all(text: &str) -> Result<Statement> {
    let tokens = lexer::tokenize(text)?;
    let mut parser = Parser {
        text,
        tokens,
        next: 0,
        nesting: 0,
        tallest: 0,
        subquery: 0,
        bar_closes: false,
        of_property: false,
        selected: None,
        labelled: HashMap::new(),
        used: Vec::new(),
        may_advance: false,
    };
    parser.statement()
}

struct Parser<'a> {
    text: &'a str,
    tokens: Tokens,
    /// Index of the token to read next.
    next: usize,
    nesting: u16,
    /// Height of the highest expression finished since the last reset (see subqueries).
    tallest: u16,
    /// Height of what the subquery read last holds.
    subquery: u16,
    /// Inside a comprehension, where `|` ends the condition instead of joining labels.
    bar_closes: bool,
    /// Inside the type of a property, which may be a number of a fixed size.
    of_property: bool,
    /// What selects among the paths along the relationship that was read last.
    selected: Option<(PathCount, Span)>,
    /// The one label or type that patterns so far give a variable.
    labelled: HashMap<Arc<str>, Arc<str>>,
    /// Names of databases behind `USE`.
    used: Vec<Name>,
    /// As [`Statement::may_advance`].
    may_advance: bool,
}

impl Parser<'_> {
    fn token(&self) -> Token {
        self.tokens.list[self.next]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    /// Kind of the token `ahead` places further on.
    fn peek(&self, ahead: usize) -> TokenKind {
        self.tokens
            .list
            .get(self.next + ahead)
            .map_or(TokenKind::End, |t| t.kind)
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.next += 1;
        }
        token
    }

    /// Place of the token read last.
    fn last_span(&self) -> Span {
        self.tokens.list[self.next.saturating_sub(1)].span
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.next += 1;
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, what: &str) -> Result<Token> {
        if self.kind() == kind {
            return Ok(self.advance());
        }
        Err(self.unexpected(what))
    }

    /// Whether the token `ahead` places on is this keyword.
    fn is_word_at(&self, ahead: usize, keyword: &str) -> bool {
        self.tokens.list.get(self.next + ahead).is_some_and(|t| {
            t.kind == TokenKind::Word && t.span.slice(self.text).eq_ignore_ascii_case(keyword)
        })
    }

    fn is_word(&self, keyword: &str) -> bool {
        self.is_word_at(0, keyword)
    }

    fn eat_word(&mut self, keyword: &str) -> bool {
        let found = self.is_word(keyword);
        if found {
            self.next += 1;
        }
        found
    }

    fn expect_word(&mut self, keyword: &str) -> Result<Token> {
        if self.is_word(keyword) {
            return Ok(self.advance());
        }
        Err(self.unexpected(&format!("`{keyword}`")))
    }

    /// A name: a word or something in backticks.
    fn name(&mut self, what: &str) -> Result<Name> {
        stop::tick();
        let token = self.token();
        let text: Arc<str> = match token.kind {
            TokenKind::Word => token.span.slice(self.text).into(),
            TokenKind::QuotedName => lexer::quoted_name(self.text, token.span)?,
            _ => return Err(self.unexpected(what)),
        };
        self.next += 1;
        Ok(Name {
            text,
            span: token.span,
        })
    }

    /// The name of a label, a type or a property key, which is not empty.
    fn stored_name(&mut self, what: &str) -> Result<Name> {
        let name = self.name(what)?;
        match name.text.is_empty() {
            true => Err(self.no_name(name.span)),
            false => Ok(name),
        }
    }

    fn no_name(&self, span: Span) -> Diagnostic {
        let message = "an empty text is no name of a label, a type or a property key";
        self.error(span, Code::UnexpectedSyntax, message)
    }

    /// Whether the token `ahead` places on can only follow a whole operand: the word before it is a
    /// name then, whatever keyword it may be elsewhere.
    fn follows_operand(&self, ahead: usize) -> bool {
        use TokenKind::*;
        // Keywords may be names one behind the other; no text that means something has more of
        // them.
        if ahead > LOOK_AHEAD_MAX {
            return false;
        }
        // What may be an infix operator as well is taken for one.
        let begins_operand = |ahead: usize| match self.peek(ahead) {
            Word => {
                !self.is_joining(ahead)
                    || self.follows_operand(ahead + 1)
                    || matches!(self.peek(ahead + 1), Plus | Minus | Star)
            }
            Plus | Minus | Star | Colon | OpenBracket => false,
            kind => !is_after_operand(kind),
        };
        match self.peek(ahead) {
            Word if self.is_pair(ahead) => true,
            Word if self.is_joining(ahead) => begins_operand(ahead + 1),
            Word => {
                // Right behind a keyword it is the name of a variable: `DISTINCT end`.
                ahead > 1 && self.is_word_at(ahead, "END")
                    || ["DESC", "DESCENDING", "ASC", "ASCENDING"]
                        .iter()
                        .any(|word| self.is_word_at(ahead, word))
                        && self.follows_order(ahead + 1)
            }
            kind => is_after_operand(kind),
        }
    }

    /// Whether two keywords stand there that together can only follow a whole operand.
    fn is_pair(&self, ahead: usize) -> bool {
        let pairs = [
            ("ORDER", &["BY"][..]),
            ("STARTS", &["WITH"]),
            ("ENDS", &["WITH"]),
            ("IS", &["NULL", "NOT", "TYPED"]),
            ("OPTIONAL", &["MATCH", "CALL"]),
            ("DETACH", &["DELETE"]),
            ("NODETACH", &["DELETE"]),
            (
                "UNION",
                &[
                    "ALL", "DISTINCT", "RETURN", "MATCH", "OPTIONAL", "UNWIND", "WITH", "CALL",
                    "CREATE", "INSERT", "MERGE", "USE",
                ],
            ),
        ];
        let follows = |words: &[&str]| words.iter().any(|w| self.is_word_at(ahead + 1, w));
        let mut pairs = pairs.iter();
        pairs.any(|(first, seconds)| self.is_word_at(ahead, first) && follows(seconds))
    }

    /// Whether the token there can follow what rows are ordered by.
    fn follows_order(&self, ahead: usize) -> bool {
        let within = [
            "AND", "OR", "XOR", "IN", "CONTAINS", "AS", "THEN", "WHEN", "ELSE", "END",
        ];
        let is_within = within.iter().any(|word| self.is_word_at(ahead, word));
        !is_within && self.follows_operand(ahead)
    }

    /// Whether the word there joins an operand to what follows, or begins what follows an
    /// expression.
    fn is_joining(&self, ahead: usize) -> bool {
        JOINING.iter().any(|word| self.is_word_at(ahead, word))
    }

    fn at_name(&self) -> bool {
        matches!(self.kind(), TokenKind::Word | TokenKind::QuotedName)
    }

    fn error(&self, span: Span, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.text, span, code, message)
    }

    /// The next token is not what the grammar wants.
    fn unexpected(&self, wanted: &str) -> Diagnostic {
        let token = self.token();
        let found = match token.kind {
            TokenKind::End => "the end of the statement".to_owned(),
            _ => {
                let shown: String = token.span.slice(self.text).chars().take(40).collect();
                let plain = shown.chars().flat_map(|c| match c.is_control() {
                    true => c.escape_debug().collect::<Vec<char>>(),
                    false => vec![c],
                });
                format!("`{}`", plain.collect::<String>())
            }
        };
        let message = format!("expected {wanted}, found {found}");
        let diagnostic = self.error(token.span, Code::UnexpectedSyntax, message);
        let word = (token.kind == TokenKind::Word).then(|| token.span.slice(self.text));
        if let Some(hint) = self.foreign(token) {
            return diagnostic.with_hint(hint);
        }
        let is_keyword = |word: &str| KEYWORDS.iter().any(|k| k.eq_ignore_ascii_case(word));
        match word
            .filter(|w| w.len() > 2 && !is_keyword(w))
            .and_then(|w| closest(w, KEYWORDS.iter().copied()))
        {
            Some(keyword) => diagnostic.with_hint(format!("did you mean `{keyword}`?")),
            None => diagnostic,
        }
    }

    /// What to write instead of a token that other languages have at this place.
    fn foreign(&self, token: Token) -> Option<&'static str> {
        let before = self.next.checked_sub(1).map(|at| self.tokens.list[at]);
        let touches = before.filter(|before| before.span.end == token.span.start);
        match (touches.map(|before| before.kind), token.kind) {
            (Some(TokenKind::Equal), TokenKind::Equal) => Some("equality is written `=`"),
            (Some(TokenKind::Star), TokenKind::Star) => Some("powers are written `^`"),
            (Some(TokenKind::String), TokenKind::String) => {
                Some("a quote within a string is written `\\'`")
            }
            (_, TokenKind::Word) => {
                let word = token.span.slice(self.text);
                let mut all = FOREIGN.iter();
                all.find(|(foreign, _)| foreign.eq_ignore_ascii_case(word))
                    .map(|(_, hint)| *hint)
            }
            _ => None,
        }
    }

    /// Runs `body` one level deeper.
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= NESTING_MAX {
            return Err(self.too_deep());
        }
        self.nesting += 1;
        let result = body(self);
        self.nesting -= 1;
        result
    }

    /// Runs `body` where `|` closes a condition (in a comprehension) or does not (in brackets
    /// inside it).
    fn with_bar<T>(
        &mut self,
        closes: bool,
        body: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = std::mem::replace(&mut self.bar_closes, closes);
        let result = body(self);
        self.bar_closes = outer;
        result
    }

    fn too_deep(&self) -> Diagnostic {
        let message = format!(
            "the statement is nested too deeply (more than {NESTING_MAX} brackets or {HEIGHT_MAX} \
                chained operators)"
        );
        self.error(self.token().span, Code::NestingTooDeep, message)
            .with_hint("pass long lists as parameters, or split the expression with WITH")
    }
}
