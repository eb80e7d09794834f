//! Functions of text. Positions and lengths count characters, not bytes.

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, Text};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_integer;
use graven_types::told;

/// A function from text to text that passes null on.
macro_rules! text_function {
    ($name:literal, $f:expr) => {
        Function {
            name: $name,
            arity: (1, 1),
            body: |_, args| match &args[0] {
                Value::Null => Ok(Value::Null),
                Value::String(s) => Ok(Value::text($f(s).as_ref())),
                other => Err(wrong($name, "a String", other)),
            },
        }
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    text_function!("toupper", str::to_uppercase),
    text_function!("upper", str::to_uppercase),
    text_function!("tolower", str::to_lowercase),
    text_function!("lower", str::to_lowercase),
    text_function!("trim", |s: &str| s.trim_matches(is_blank).to_owned()),
    Function {
        name: "btrim",
        arity: (1, 2),
        body: |_, args| trimmed(args, true, true),
    },
    Function {
        name: "ltrim",
        arity: (1, 2),
        body: |_, args| trimmed(args, true, false),
    },
    Function {
        name: "rtrim",
        arity: (1, 2),
        body: |_, args| trimmed(args, false, true),
    },
    Function {
        name: "graven.trimmed",
        arity: (3, 3),
        body: trimmed_of,
    },
    Function {
        name: "replace",
        arity: (3, 3),
        body: replace,
    },
    Function {
        name: "split",
        arity: (2, 2),
        body: split,
    },
    Function {
        name: "substring",
        arity: (2, 3),
        body: substring,
    },
    Function {
        name: "left",
        arity: (2, 2),
        body: left,
    },
    Function {
        name: "right",
        arity: (2, 2),
        body: right,
    },
    Function {
        name: "normalize",
        arity: (1, 2),
        body: normalize,
    },
    Function {
        name: "graven.is_normalized",
        arity: (2, 2),
        body: is_normalized,
    },
    Function {
        name: "char_length",
        arity: (1, 1),
        body: char_length,
    },
    Function {
        name: "character_length",
        arity: (1, 1),
        body: char_length,
    },
];

fn text<'a>(function: &str, value: &'a Value) -> Result<&'a str> {
    match value {
        Value::String(s) => Ok(s),
        other => Err(wrong(function, "a String", other)),
    }
}

/// A non-negative count of characters.
fn characters(function: &str, value: &Value) -> Result<usize> {
    let count = as_integer(value).ok_or_else(|| wrong(function, "an Integer", value))?;
    usize::try_from(count).map_err(|_| ExecError::Argument {
        message: told!("{function}() needs a number of characters, got {count}"),
    })
}

/// Whether trimming removes it: separators and control characters of layout, but no blank that
/// holds words together.
pub(super) fn is_blank(c: char) -> bool {
    match c {
        '\u{1c}'..='\u{1f}' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        other => other.is_whitespace(),
    }
}

fn has_null(args: &[Value]) -> bool {
    args.iter().any(Value::is_null)
}

/// The text without blanks, or without the characters of the second argument, at one end or both.
fn trimmed(args: &[Value], start: bool, end: bool) -> Result<Value> {
    if has_null(args) {
        return Ok(Value::Null);
    }
    let mut s = text("trim", &args[0])?;
    let characters = args.get(1).map(|a| text("trim", a)).transpose()?;
    let goes = |c: char| match characters {
        Some(characters) => characters.contains(c),
        None => is_blank(c),
    };
    if start {
        s = s.trim_start_matches(goes);
    }
    if end {
        s = s.trim_end_matches(goes);
    }
    Ok(Value::text(s))
}

/// `trim(BOTH 'x' FROM text)`: the text, the character, and the side.
fn trimmed_of(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let [_, Value::String(character), Value::String(side)] = args else {
        return trimmed(&args[..2], true, true);
    };
    if !args[0].is_null() && character.chars().count() != 1 {
        return Err(ExecError::Argument {
            message: told!(
                "trim(... FROM ...) takes away one character, `{character}` is not one; use \
                    bTrim(), lTrim() or rTrim() for a set of characters"
            ),
        });
    }
    trimmed(&args[..2], &**side != "TRAILING", &**side != "LEADING")
}

fn replace(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if has_null(args) {
        return Ok(Value::Null);
    }
    let [s, search, with] = [&args[0], &args[1], &args[2]].map(|a| text("replace", a));
    let (s, search, with) = (s?, search?, with?);
    let mut replaced = Text::default();
    let mut from = 0;
    for (at, found) in s.match_indices(search) {
        replaced.push(&s[from..at])?;
        replaced.push(with)?;
        from = at + found.len();
    }
    replaced.push(&s[from..])?;
    replaced.value()
}

fn split(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let without = |value: &Value| match value {
        Value::List(delimiters) => has_null(delimiters),
        other => other.is_null(),
    };
    if args.iter().any(without) {
        return Ok(Value::Null);
    }
    let s = text("split", &args[0])?;
    let delimiters: Vec<&str> = match &args[1] {
        Value::List(items) => items
            .iter()
            .map(|d| text("split", d))
            .collect::<Result<_>>()?,
        one => vec![text("split", one)?],
    };
    let mut parts = Items::default();
    if s.is_empty() {
        parts.push(Value::text(""))?;
        return parts.value();
    }
    // The empty delimiter parts all characters, of which those that another one takes are left out.
    let each = delimiters.iter().any(|d| d.is_empty());
    let delimiters: Vec<&str> = delimiters.into_iter().filter(|d| !d.is_empty()).collect();
    match each {
        true => characters_but(s, &delimiters, &mut parts)?,
        false => split_by(s, &delimiters, &mut parts)?,
    }
    parts.value()
}

/// Adds each character that belongs to no delimiter.
fn characters_but(s: &str, delimiters: &[&str], parts: &mut Items) -> Result<()> {
    let mut at = 0;
    while let Some(c) = s[at..].chars().next() {
        match delimiters.iter().find(|d| s[at..].starts_with(**d)) {
            Some(delimiter) => at += delimiter.len(),
            None => {
                parts.push(Value::text(c.encode_utf8(&mut [0; 4])))?;
                at += c.len_utf8();
            }
        }
    }
    Ok(())
}

/// Adds the parts of a text between delimiters; where several begin, the first of the list counts.
fn split_by(s: &str, delimiters: &[&str], parts: &mut Items) -> Result<()> {
    if let [delimiter] = delimiters {
        for part in s.split(delimiter) {
            parts.push(Value::text(part))?;
        }
        return Ok(());
    }
    let (mut from, mut at) = (0, 0);
    while let Some(c) = s[at..].chars().next() {
        match delimiters.iter().find(|d| s[at..].starts_with(**d)) {
            None => at += c.len_utf8(),
            Some(delimiter) => {
                parts.push(Value::text(&s[from..at]))?;
                at += delimiter.len();
                from = at;
            }
        }
    }
    parts.push(Value::text(&s[from..]))
}

fn substring(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let s = text("substring", &args[0])?;
    if s.is_empty() && !has_null(args) {
        return Ok(Value::text(""));
    }
    let from = characters("substring", &args[1])?;
    let len = args
        .get(2)
        .map(|a| characters("substring", a))
        .transpose()?;
    let rest = s.chars().skip(from);
    Ok(Value::text(
        &rest.take(len.unwrap_or(usize::MAX)).collect::<String>(),
    ))
}

fn left(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let len = characters("left", &args[1])?;
    Ok(Value::text(
        &text("left", &args[0])?
            .chars()
            .take(len)
            .collect::<String>(),
    ))
}

fn right(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let s = text("right", &args[0])?;
    let len = characters("right", &args[1])?;
    let skip = s.chars().count().saturating_sub(len);
    Ok(Value::text(&s.chars().skip(skip).collect::<String>()))
}

/// The text in a Unicode normal form, `NFC` if none is named.
fn normalize(_: &QueryContext, args: &[Value]) -> Result<Value> {
    use unicode_normalization::UnicodeNormalization;
    if has_null(args) {
        return Ok(Value::Null);
    }
    let s = text("normalize", &args[0])?;
    let form = args.get(1).map_or(Ok("NFC"), |f| text("normalize", f))?;
    let normal: String = match form {
        "NFC" => s.nfc().collect(),
        "NFD" => s.nfd().collect(),
        "NFKC" => s.nfkc().collect(),
        "NFKD" => s.nfkd().collect(),
        other => {
            return Err(ExecError::Argument {
                message: told!("`{other}` is no normal form; use NFC, NFD, NFKC or NFKD"),
            });
        }
    };
    Ok(Value::text(&normal))
}

/// `x IS NFC NORMALIZED`: null for what is no text.
fn is_normalized(runtime: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::String(_) => Ok(Value::Boolean(normalize(runtime, args)? == args[0])),
        _ => Ok(Value::Null),
    }
}

fn char_length(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::String(s) => Ok(Value::Integer(
            i64::try_from(s.chars().count()).unwrap_or(i64::MAX),
        )),
        other => Err(wrong("char_length", "a String", other)),
    }
}
