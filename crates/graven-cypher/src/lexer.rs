//! Text to tokens, and the text of literals to their values.
//!
//! # How it works
//! The whole statement is cut into tokens at once; a table of matching brackets comes with them, so
//! that the parser can tell a parenthesised expression from a pattern by looking ahead instead of
//! trying.

use std::borrow::Cow;
use std::sync::Arc;

use logos::Logos;

use crate::diagnostic::{Code, Diagnostic};
use crate::stop;
use crate::token::{Span, Token, TokenKind};

/// Longest statement accepted.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// The tokens of a statement.
pub(crate) struct Tokens {
    /// Tokens in order, closed by one [`TokenKind::End`].
    pub list: Vec<Token>,
    /// For every opening bracket the index of its closing one, for every `CASE` that is no name
    /// that of its `END`; elsewhere 0.
    pub closing: Vec<u32>,
}

/// Cuts `text` into tokens.
pub(crate) fn tokenize(text: &str) -> Result<Tokens, Diagnostic> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!(
            "the statement has {} bytes, at most {TEXT_BYTES_MAX} are accepted",
            text.len()
        );
        return Err(
            Diagnostic::new("", Span::default(), Code::StatementTooLong, message)
                .with_hint("pass data as parameters, or import it"),
        );
    }
    let mut list = Vec::with_capacity(text.len() / 4 + 1);
    let mut lexer = TokenKind::lexer(text);
    while let Some(result) = lexer.next() {
        stop::tick();
        let range = lexer.span();
        let span = Span::new(range.start as u32, range.end as u32);
        match result {
            Ok(TokenKind::BadNumber) if is_key(text, &list, span) => {
                let message = format!(
                    "`{}` is not a name: a key cannot begin with a digit",
                    span.slice(text)
                );
                return Err(Diagnostic::new(text, span, Code::UnexpectedSyntax, message)
                    .with_hint("put the key into backticks"));
            }
            Ok(kind) => list.push(Token {
                kind: checked(text, kind, span)?,
                span,
            }),
            Err(()) => return Err(bad_character(text, span)),
        }
    }
    let end = text.len() as u32;
    list.push(Token {
        kind: TokenKind::End,
        span: Span::new(end, end),
    });
    let closing = match_brackets(text, &list);
    Ok(Tokens { list, closing })
}

/// Whether a word stands where a map has a key.
fn is_key(text: &str, before: &[Token], span: Span) -> bool {
    let opens = before
        .last()
        .is_some_and(|t| matches!(t.kind, TokenKind::OpenBrace | TokenKind::Comma));
    opens && text[span.end as usize..].trim_start().starts_with(':')
}

/// Refuses the kinds that stand for something unfinished.
fn checked(text: &str, kind: TokenKind, span: Span) -> Result<TokenKind, Diagnostic> {
    let (code, message) = match kind {
        TokenKind::BadNumber => {
            let number = span.slice(text);
            (
                Code::InvalidNumberLiteral,
                format!("`{number}` is not a number"),
            )
        }
        TokenKind::OpenString => (
            Code::UnexpectedSyntax,
            "this string has no closing quote".into(),
        ),
        TokenKind::OpenQuote => (
            Code::UnexpectedSyntax,
            "this name has no closing backtick".into(),
        ),
        TokenKind::OpenComment => (
            Code::UnexpectedSyntax,
            "this comment has no closing `*/`".into(),
        ),
        _ => return Ok(kind),
    };
    Err(Diagnostic::new(text, span, code, message))
}

fn bad_character(text: &str, span: Span) -> Diagnostic {
    let character = span.slice(text).chars().next().unwrap_or('\u{fffd}');
    if character.is_ascii() {
        let message = format!("unexpected character `{}`", character.escape_default());
        Diagnostic::new(text, span, Code::UnexpectedSyntax, message)
    } else {
        let message = format!("unexpected character U+{:04X}", character as u32);
        let diagnostic = Diagnostic::new(text, span, Code::InvalidUnicodeCharacter, message);
        match character {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => diagnostic.with_hint("did you mean `-`?"),
            '\u{2018}'..='\u{201f}' => diagnostic.with_hint("did you mean a plain quote, ' or \"?"),
            _ => diagnostic,
        }
    }
}

/// Finds for every opening bracket its closing partner of the same kind, and for every `CASE` with
/// a `WHEN` its `END`.
fn match_brackets(text: &str, list: &[Token]) -> Vec<u32> {
    let mut closing = vec![0; list.len()];
    // Brackets, and words `CASE` with whether their `WHEN` has come; where in there the brackets
    // are.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut brackets: Vec<usize> = Vec::new();
    let is = |token: &Token, word: &str| {
        token.kind == TokenKind::Word && token.span.slice(text).eq_ignore_ascii_case(word)
    };
    for (idx, token) in list.iter().enumerate() {
        if is(token, "CASE") {
            open.push((idx, false));
            continue;
        } else if is(token, "WHEN") {
            if let Some((start, seen)) = open.last_mut() {
                *seen |= is(&list[*start], "CASE");
            }
            continue;
        } else if is(token, "END") {
            // What has no `WHEN` is a name.
            let innermost = brackets.last().map_or(0, |bracket| bracket + 1);
            let form = open[innermost..].iter().rposition(|(_, seen)| *seen);
            if let Some(form) = form {
                closing[open[innermost + form].0] = idx as u32;
            }
            open.truncate(innermost + form.unwrap_or(0));
            continue;
        } else if token.kind == TokenKind::Comma {
            while open
                .last()
                .is_some_and(|(start, seen)| !seen && is(&list[*start], "CASE"))
            {
                open.pop();
            }
            continue;
        }
        let opener = match token.kind {
            TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace => {
                brackets.push(open.len());
                open.push((idx, false));
                continue;
            }
            TokenKind::CloseParen => TokenKind::OpenParen,
            TokenKind::CloseBracket => TokenKind::OpenBracket,
            TokenKind::CloseBrace => TokenKind::OpenBrace,
            _ => continue,
        };
        let matches = |at: &&usize| list[open[**at].0].kind == opener;
        if let Some(&bracket) = brackets.last().filter(matches) {
            closing[open[bracket].0] = idx as u32;
            open.truncate(bracket);
            brackets.pop();
        }
    }
    // `CASE case WHEN ... END`: one `END` is that of the first, whose subject is called `case`.
    for idx in 1..list.len() {
        let twice = closing[idx - 1] == 0 && is(&list[idx - 1], "CASE") && is(&list[idx], "CASE");
        if twice && closing[idx] != 0 {
            closing.swap(idx - 1, idx);
        }
    }
    closing
}

/// The value of an integer literal; `negative` if a minus sign stands directly before it.
pub(crate) fn integer(text: &str, token: Token, negative: bool) -> Result<i64, Diagnostic> {
    let digits = without_underscores(token.span.slice(text));
    let digits = &*digits;
    let (digits, radix) = match token.kind {
        _ if digits.starts_with(['0']) && digits[1..].starts_with(['X', 'O']) => {
            let number = token.span.slice(text);
            let message = format!("`{number}` is not a number");
            let error = Diagnostic::new(text, token.span, Code::InvalidNumberLiteral, message);
            return Err(error.with_hint("write the letter behind the 0 small"));
        }
        TokenKind::Hexadecimal => (&digits[2..], 16),
        TokenKind::Octal => (&digits[2..], 8),
        _ if digits.len() > 1 && digits.starts_with('0') => {
            let number = token.span.slice(text);
            let message = format!("`{number}` begins with 0 and is not a number");
            let octal = format!("0o{}", digits.trim_start_matches('0'));
            let error = Diagnostic::new(text, token.span, Code::InvalidNumberLiteral, message);
            return Err(error.with_hint(match digits.contains(['8', '9']) {
                true => "write it without the 0".to_owned(),
                false => format!("write `{octal}` for an octal number, or leave out the 0"),
            }));
        }
        _ => (digits, 10),
    };
    let magnitude = u64::from_str_radix(digits, radix).ok().map(i128::from);
    magnitude
        .map(|value| if negative { -value } else { value })
        .and_then(|value| i64::try_from(value).ok())
        .ok_or_else(|| {
            let message = format!(
                "`{}` does not fit into a 64-bit integer",
                token.span.slice(text)
            );
            Diagnostic::new(text, token.span, Code::IntegerOverflow, message)
        })
}

/// The digits of a number, which underscores may part: `1_000`.
fn without_underscores(number: &str) -> Cow<'_, str> {
    match number.contains('_') {
        true => number.replace('_', "").into(),
        false => number.into(),
    }
}

/// The value of a float literal.
pub(crate) fn float(text: &str, token: Token) -> Result<f64, Diagnostic> {
    let number = without_underscores(token.span.slice(text));
    match number.trim_end_matches(['f', 'F', 'd', 'D']).parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let message = format!(
                "`{}` does not fit into a 64-bit float",
                token.span.slice(text)
            );
            Err(Diagnostic::new(
                text,
                token.span,
                Code::FloatingPointOverflow,
                message,
            ))
        }
    }
}

/// The value of a quoted name.
pub(crate) fn quoted_name(text: &str, span: Span) -> Result<Arc<str>, Diagnostic> {
    let quoted = span.slice(text);
    let body = &quoted[1..quoted.len() - 1];
    if !body.contains("\\u") {
        return Ok(body.replace("``", "`").into());
    }
    // A character may be written by its number; any other backslash stands for itself.
    let mut name = String::with_capacity(body.len());
    let mut chars = body.char_indices();
    while let Some((at, character)) = chars.next() {
        let next = chars.clone().next().map(|(_, next)| next);
        match (character, next) {
            ('\\', Some('u')) => {
                chars.next();
                let hex: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                let start = span.start + 1 + at as u32;
                name.push(unicode_escape(text, &hex, 4, &mut chars, start)?);
            }
            ('`', Some('`')) => {
                chars.next();
                name.push('`');
            }
            _ => name.push(character),
        }
    }
    Ok(name.into())
}

/// The value of a string literal, escapes resolved.
pub(crate) fn string(text: &str, span: Span) -> Result<Arc<str>, Diagnostic> {
    let quoted = span.slice(text);
    let body = &quoted[1..quoted.len() - 1];
    if !body.contains('\\') {
        return Ok(body.into());
    }
    let mut value = String::with_capacity(body.len());
    let mut chars = body.char_indices();
    while let Some((at, character)) = chars.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        let Some((_, escape)) = chars.next() else {
            break;
        };
        let start = span.start + 1 + at as u32;
        match escape {
            'n' => value.push('\n'),
            't' => value.push('\t'),
            'r' => value.push('\r'),
            'b' => value.push('\u{8}'),
            'f' => value.push('\u{c}'),
            '\\' | '\'' | '"' => value.push(escape),
            // Of fewer digits it is as it is written, as in the name of a folder.
            'U' if !is_long_escape(chars.as_str()) => value.push_str("\\U"),
            'u' | 'U' => {
                let digits = if escape == 'u' { 4 } else { 8 };
                let hex: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                value.push(unicode_escape(text, &hex, digits, &mut chars, start)?);
            }
            // A backslash that escapes nothing stands for itself.
            other => value.extend(['\\', other]),
        }
    }
    Ok(value.into())
}

/// Whether eight digits follow `\U`.
fn is_long_escape(rest: &str) -> bool {
    let digits = rest.bytes().take(8);
    digits.filter(u8::is_ascii_hexdigit).count() == 8
}

/// The character of `\uXXXX`; a high surrogate takes the following low one with it.
fn unicode_escape(
    text: &str,
    hex: &str,
    digits: usize,
    chars: &mut std::str::CharIndices<'_>,
    start: u32,
) -> Result<char, Diagnostic> {
    let code = |hex: &str| {
        let valid = hex.len() == digits && hex.bytes().all(|b| b.is_ascii_hexdigit());
        valid.then(|| u32::from_str_radix(hex, 16).ok()).flatten()
    };
    let mut value = code(hex);
    if let Some(high @ 0xd800..=0xdbff) = value {
        let mut ahead = chars.clone();
        let follows = ahead.next().is_some_and(|(_, c)| c == '\\')
            && ahead.next().is_some_and(|(_, c)| c == 'u');
        let low: String = ahead.by_ref().take(4).map(|(_, c)| c).collect();
        value = match code(&low) {
            Some(low @ 0xdc00..=0xdfff) if follows && digits == 4 => {
                *chars = ahead;
                Some(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            }
            _ => None,
        };
    }
    value.and_then(char::from_u32).ok_or_else(|| {
        let place = Span::new(start, start + 2 + hex.len() as u32);
        let message = format!("`\\u{hex}` is not a Unicode character");
        Diagnostic::new(text, place, Code::InvalidUnicodeLiteral, message)
            .with_hint("write \\u and four, or \\U and eight, hexadecimal digits")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokenize(text)
            .expect("valid")
            .list
            .iter()
            .map(|t| t.kind)
            .collect()
    }

    #[test]
    fn ranges_are_not_floats() {
        assert_eq!(kinds("*1..3"), [Star, Integer, DotDot, Integer, End]);
        assert_eq!(
            kinds("[..2]"),
            [OpenBracket, DotDot, Integer, CloseBracket, End]
        );
        assert_eq!(kinds("1.5e3 .5 1e5"), [Float, Float, Float, End]);
        assert_eq!(kinds("1_0..2_0"), [Integer, DotDot, Integer, End]);
        assert_eq!(kinds("1_0.5_0"), [Float, End]);
    }

    #[test]
    fn comments_and_spaces_vanish() {
        assert_eq!(kinds("a /* b * c */ // d\n e"), [Word, Word, End]);
        assert_eq!(kinds("a /**/ b /***/"), [Word, Word, End]);
    }

    #[test]
    fn bad_pieces_are_named() {
        let code = |text| tokenize(text).err().map(|d| d.code);
        assert_eq!(code("9223372h54775808"), Some(Code::InvalidNumberLiteral));
        assert_eq!(code("0x"), Some(Code::InvalidNumberLiteral));
        assert_eq!(code("1_"), Some(Code::InvalidNumberLiteral));
        assert_eq!(code("1__0"), Some(Code::InvalidNumberLiteral));
        assert_eq!(code("42 \u{2014} 41"), Some(Code::InvalidUnicodeCharacter));
        assert_eq!(code("1#2"), Some(Code::UnexpectedSyntax));
        assert_eq!(code("'abc"), Some(Code::UnexpectedSyntax));
        assert_eq!(code("/* abc"), Some(Code::UnexpectedSyntax));
    }

    #[test]
    fn strings_resolve_escapes() {
        let value = |text: &str| {
            let tokens = tokenize(text)?;
            string(text, tokens.list[0].span)
        };
        assert_eq!(&*value(r"'a\n\'\u0041\\'").unwrap(), "a\n'A\\");
        assert_eq!(&*value(r"'\uD83D\uDE00'").unwrap(), "\u{1f600}");
        assert_eq!(
            value(r"'\uH'").unwrap_err().code,
            Code::InvalidUnicodeLiteral
        );
        assert_eq!(
            value(r"'\uD83D'").unwrap_err().code,
            Code::InvalidUnicodeLiteral
        );
        assert_eq!(
            &*value(r"'\`\U0041\U0001F600'").unwrap(),
            "\\`\\U0041\u{1f600}"
        );
        assert_eq!(
            value(r"'\UFFFFFFFF'").unwrap_err().code,
            Code::InvalidUnicodeLiteral
        );
    }

    #[test]
    fn names_resolve_characters_by_number() {
        let value = |text: &str| {
            let tokens = tokenize(text)?;
            quoted_name(text, tokens.list[0].span)
        };
        assert_eq!(
            &*value(r"`a``\n\u0041\uD83D\uDE00\U`").unwrap(),
            "a`\\nA\u{1f600}\\U"
        );
        for wrong in [r"`\u`", r"`\u00e`", r"`\u00``e`", r"`\uD83D`"] {
            let code = value(wrong).map_err(|error| error.code);
            assert_eq!(code, Err(Code::InvalidUnicodeLiteral), "{wrong}");
        }
        for name in ["a`b", "\\u0041", "\\u", "x\\\\u`"] {
            assert_eq!(&*value(&crate::token::written_name(name)).unwrap(), name);
        }
    }

    #[test]
    fn integers_reach_both_ends() {
        let value = |text: &str, negative| {
            let tokens = tokenize(text)?;
            integer(text, tokens.list[0], negative)
        };
        assert_eq!(value("9223372036854775808", true).unwrap(), i64::MIN);
        assert_eq!(
            value("9223372036854775808", false).unwrap_err().code,
            Code::IntegerOverflow
        );
        assert_eq!(value("0x7fffffffffffffff", false).unwrap(), i64::MAX);
        assert_eq!(value("0o17", false).unwrap(), 15);
        assert_eq!(value("1_000_000", true).unwrap(), -1_000_000);
        assert_eq!(value("0xff_ff", false).unwrap(), 0xffff);
    }
}
