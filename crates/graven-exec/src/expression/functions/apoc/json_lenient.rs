//! JSON as the functions of APOC take it: stricter readers refuse what people write by hand.
//!
//! # How it works
//! Texts that are JSON are read as they are. Others are first written anew as JSON: strings in `'`
//! get `"`, names of entries get quotes, comments `/* */` and `//` are left out, and a `\` before a
//! character that needs none is dropped. What stands behind the first value does not count.
//!
//! # Source
//! Jackson: `JsonParser.Feature.ALLOW_COMMENTS`, `ALLOW_UNQUOTED_FIELD_NAMES`,
//! `ALLOW_SINGLE_QUOTES` and `ALLOW_BACKSLASH_ESCAPING_ANY_CHARACTER`.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value as Json;

/// The first value of a text; the error is that of a strict reader.
pub(super) fn read_leniently(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        let strict = strict(text);
        let mut values = serde_json::Deserializer::from_str(&strict).into_iter();
        values.next().and_then(Result::ok).ok_or(error)
    })
}

/// The text as JSON.
fn strict(text: &str) -> String {
    let mut strict = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // Which lists and maps are open, and whether a name of an entry may stand here.
    let mut open = Vec::new();
    let mut may_be_name = false;
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' => copy_string(c, &mut rest, &mut strict),
            '/' if matches!(rest.peek(), Some('*' | '/')) => {
                skip_comment(&mut rest);
                strict.push(' ');
                continue;
            }
            _ if may_be_name && is_of_name(c) => {
                strict.push('"');
                strict.push(c);
                while let Some(next) = rest.next_if(|next| is_of_name(*next)) {
                    strict.push(next);
                }
                strict.push('"');
            }
            _ => strict.push(c),
        }
        match c {
            '{' | '[' => open.push(c),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
        may_be_name = match c {
            '{' | ',' => open.last() == Some(&'{'),
            _ => may_be_name && c.is_ascii_whitespace(),
        };
    }
    strict
}

/// Whether a name without quotes may hold it.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '@' | '#' | '*' | '+')
}

fn skip_comment(rest: &mut Peekable<Chars<'_>>) {
    if rest.next() == Some('/') {
        rest.by_ref().find(|c| *c == '\n');
        return;
    }
    let mut last = ' ';
    for c in rest.by_ref() {
        if last == '*' && c == '/' {
            return;
        }
        last = c;
    }
}

/// Copies what is in quotes, with quotes of JSON.
fn copy_string(quote: char, rest: &mut Peekable<Chars<'_>>, strict: &mut String) {
    strict.push('"');
    while let Some(c) = rest.next() {
        match c {
            _ if c == quote => {
                strict.push('"');
                return;
            }
            '"' => strict.push_str("\\\""),
            '\\' => match rest.next() {
                Some(escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                    strict.extend(['\\', escaped]);
                }
                other => strict.extend(other),
            },
            _ => strict.push(c),
        }
    }
}
