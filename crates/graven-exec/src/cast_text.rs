//! Texts of lists, structs and maps, taken apart for a cast that knows the types of the parts.
//!
//! # How it works
//! `[a, 'b,c']`, `{key: value}` and Kuzu's form of maps, `{key=value}`, are cut at what stands
//! outside of brackets and quotes; a quote counts only where a part begins. The parts stay texts:
//! `007` is a number or a text as the type of its place says.
//!
//! # Cost
//! Linear in the text, once for each level of brackets.

use graven_files::{Kind, cast as cast_datum};

use crate::sources;
use crate::value::Value;

/// The parts of `[a, b]`.
pub(crate) fn items(text: &str) -> Option<Vec<Value>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let items = parts(inside)?;
    items.into_iter().map(value).collect()
}

/// The keys and values of `{a: 1}`.
pub(crate) fn fields(text: &str) -> Option<Vec<(Value, Value)>> {
    entries(text, |part| {
        let colon = bare(part, |c| c == ':')?;
        colon.first().map(|(at, _)| *at)
    })
}

/// The keys and values of `{a=1}`, or of `{a: 1}`: what comes first separates. A colon without a
/// blank behind it, as in a time, does so only where there is nothing else.
pub(crate) fn pairs(text: &str) -> Option<Vec<(Value, Value)>> {
    entries(text, |part| {
        let all = bare(part, |c| matches!(c, ':' | '='))?;
        let wide =
            |(at, c): &&(usize, char)| *c == '=' || part[at + 1..].starts_with(char::is_whitespace);
        all.iter().find(wide).or(all.first()).map(|(at, _)| *at)
    })
}

fn entries(text: &str, separator: impl Fn(&str) -> Option<usize>) -> Option<Vec<(Value, Value)>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let parts = parts(inside)?.into_iter().map(|part| {
        let at = separator(part)?;
        Some((value(&part[..at])?, value(&part[at + 1..])?))
    });
    parts.collect()
}

/// What stands between commas.
fn parts(inside: &str) -> Option<Vec<&str>> {
    if inside.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut from = 0;
    let mut parts = Vec::new();
    for (at, _) in bare(inside, |c| c == ',')? {
        parts.push(&inside[from..at]);
        from = at + 1;
    }
    parts.push(&inside[from..]);
    Some(parts)
}

/// A part: null, a text without its quotes, or a text.
fn value(part: &str) -> Option<Value> {
    let part = part.trim();
    match part.chars().next() {
        None => Some(Value::Null),
        Some('`') => Some(Value::text(&unquoted(part)?)),
        Some('\'' | '"') => {
            let datum = sources::datum(&Value::text(part))?;
            match sources::value(cast_datum(datum, &Kind::Literal).ok()?) {
                text @ Value::String(_) => Some(text),
                _ => None,
            }
        }
        _ if part.eq_ignore_ascii_case("null") => Some(Value::Null),
        _ => Some(Value::text(part)),
    }
}

/// A text as a part that is read as this text again.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.trim() == text
        && !text.eq_ignore_ascii_case("null")
        && !text.contains([',', ':', '=', '[', ']', '{', '}', '\'', '"', '`', '\\']);
    match is_plain {
        true => text.to_owned(),
        false => format!("`{}`", text.replace('`', "``")),
    }
}

/// The text within backquotes, each of which stands twice in it; none if they are not its ends.
fn unquoted(part: &str) -> Option<String> {
    let inside = part.strip_prefix('`')?.strip_suffix('`')?;
    Some(inside.replace("``", "`"))
}

/// Where the wanted characters stand outside of brackets and quotes; none if these are not closed.
fn bare(text: &str, wanted: impl Fn(char) -> bool) -> Option<Vec<(usize, char)>> {
    let mut places = Vec::new();
    let (mut depth, mut quote, mut begins) = (0_usize, None, true);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if let Some(open) = quote {
            let is_twice = open == '`' && text[at..].starts_with("``");
            if c == '\\' && open != '`' || c == open && is_twice {
                chars.next();
            } else if c == open {
                quote = None;
            }
            continue;
        }
        match c {
            '\'' | '"' | '`' if begins => quote = Some(c),
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.checked_sub(1)?,
            _ if depth == 0 && wanted(c) => places.push((at, c)),
            _ => {}
        }
        begins = matches!(c, '[' | '{' | ',' | ':' | '=') || begins && c.is_whitespace();
    }
    (depth == 0 && quote.is_none()).then_some(places)
}

#[cfg(test)]
mod tests {
    //! Goal: parts are cut where they end, whatever stands in brackets and quotes, and what is not
    //! closed is no such text.
    use super::*;

    fn texts(all: Option<Vec<(Value, Value)>>) -> Option<Vec<[String; 2]>> {
        let shown = |value: Value| match value {
            Value::String(text) => text.to_string(),
            other => other.to_string(),
        };
        let shown = |(key, value)| [shown(key), shown(value)];
        all.map(|all| all.into_iter().map(shown).collect())
    }

    #[test]
    fn texts_are_cut_outside_of_brackets_and_quotes() {
        let wanted =
            |all: &[[&str; 2]]| Some(all.iter().map(|pair| pair.map(str::to_owned)).collect());
        for (text, all) in [
            ("{}", &[][..]),
            ("{a: 007, b: it's}", &[["a", "007"], ["b", "it's"]]),
            (
                "{'a': 'x,y', b: [1, {c: 2}]}",
                &[["a", "x,y"], ["b", "[1, {c: 2}]"]],
            ),
            ("{a: , b: null}", &[["a", "null"], ["b", "null"]]),
        ] {
            assert_eq!(texts(fields(text)), wanted(all), "{text}");
        }
        for (text, all) in [
            ("{a=1, b= x=y}", &[["a", "1"], ["b", "x=y"]][..]),
            ("{a: x=y}", &[["a", "x=y"]]),
            ("{2020-01-01 10:00=1}", &[["2020-01-01 10:00", "1"]]),
            ("{a:1}", &[["a", "1"]]),
        ] {
            assert_eq!(texts(pairs(text)), wanted(all), "{text}");
        }
        for text in ["x, y", "", "null", " a", "it's", "a`b\\", "{a: 1}", "1=2"] {
            let whole = format!("{{a: {}, b=c: {}}}", quoted(text), quoted(text));
            let found = fields(&whole).expect(text);
            assert_eq!(found[0].1, Value::text(text), "{whole}");
        }
        for none in ["a", "{a=1", "{a}", "{a: [1}", "{a: 'x}", "[1]"] {
            assert_eq!(texts(pairs(none)), None, "{none}");
        }
        assert_eq!(items("[[1, 2], [3]]").map(|items| items.len()), Some(2));
    }
}
