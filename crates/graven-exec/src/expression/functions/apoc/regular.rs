//! `apoc.text.replace`, `regreplace`, `regexGroups`, `regexGroupsByName` and `split`, and Kuzu's
//! `regexp_replace`: what a regular expression finds within a text.
//!
//! # Costs
//! Each match starts the engine again behind the one before; texts and lists are charged as they
//! grow.

use std::sync::Arc;

use super::{integer, text};
use crate::error::{ExecError, Result};
use crate::expression::functions::regular::{Found, each_match};
use crate::expression::signature::Function;
use crate::growth::{Items, Text, charge};
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_types::told;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.text.replace",
        arity: (3, 3),
        body: |rt, args| replaced(rt, "apoc.text.replace", args, '$', true),
    },
    Function {
        name: "apoc.text.regreplace",
        arity: (3, 3),
        body: |rt, args| replaced(rt, "apoc.text.regreplace", args, '$', true),
    },
    Function {
        name: "apoc.text.regexgroups",
        arity: (2, 2),
        body: groups,
    },
    Function::new("apoc.text.regexgroupsbyname", (2, 2), named_groups),
    Function {
        name: "apoc.text.split",
        arity: (2, 3),
        body: split,
    },
    Function {
        name: "graven.regexpreplace",
        arity: (4, 4),
        body: |rt, args| match args[3] {
            Value::Boolean(all) => replaced(rt, "regexp_replace", &args[..3], '\\', all),
            _ => Ok(Value::Null),
        },
    },
];

/// The text with its matches, or the first one, replaced. In the replacement `sign` and a number
/// stand for a group, `${name}` for one that has a name; a backslash before another character
/// stands for that character.
fn replaced(
    rt: &QueryContext,
    function: &str,
    args: &[Value],
    sign: char,
    all: bool,
) -> Result<Value> {
    let [of, pattern, with] = [&args[0], &args[1], &args[2]].map(|value| text(function, value));
    let (Some(of), Some(pattern), Some(with)) = (of?, pattern?, with?) else {
        return Ok(Value::Null);
    };
    let names = match with.contains("${") {
        true => group_names(pattern),
        false => Vec::new(),
    };
    let mut out = Text::default();
    let mut copied = 0;
    each_match(rt, of, pattern, |found| {
        let whole = found[0].clone().expect("a match is somewhere");
        out.push(&of[copied..whole.start])?;
        copied = whole.end;
        expand(function, (&names, with), sign, of, &found, &mut out)?;
        Ok(all)
    })?;
    out.push(&of[copied..])?;
    out.value()
}

/// The replacement of a match; next to its text are the pattern's groups that have names.
fn expand(
    function: &str,
    (names, with): (&[(Arc<str>, usize)], &str),
    sign: char,
    of: &str,
    found: &Found,
    out: &mut Text,
) -> Result<()> {
    let mut chars = with.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if let ('$', '$', Some('{')) = (c, sign, next) {
            let name = with[at + 2..].split_once('}').map(|(name, _)| name);
            let group = names.iter().find(|(known, _)| Some(&**known) == name);
            let (Some(name), Some((_, group))) = (name, group) else {
                return Err(ExecError::Argument {
                    message: told!(
                        "{function}(): the pattern has no group of the name that `{with}` asks for"
                    ),
                });
            };
            let place = found.get(*group).cloned().flatten();
            out.push(place.map_or("", |place| &of[place]))?;
            // The brace, the name, the other brace.
            for _ in 0..name.chars().count() + 2 {
                chars.next();
            }
            continue;
        }
        match next.and_then(|next| next.to_digit(10)) {
            Some(group) if c == sign => {
                chars.next();
                let Some(place) = found.get(group as usize) else {
                    return Err(ExecError::Argument {
                        message: told!(
                            "{function}(): the replacement `{with}` names group {group}, and the \
                             pattern has {}",
                            found.len() - 1
                        ),
                    });
                };
                out.push(place.clone().map_or("", |place| &of[place]))?;
            }
            _ if c == '\\' => match chars.next() {
                Some((at, c)) => out.push(&with[at..at + c.len_utf8()])?,
                None => out.push("\\")?,
            },
            _ => out.push(&with[at..at + c.len_utf8()])?,
        }
    }
    Ok(())
}

/// For each match the list of the whole of it and its groups.
fn groups(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let [of, pattern] = [&args[0], &args[1]].map(|value| text("apoc.text.regexGroups", value));
    let (Some(of), Some(pattern)) = (of?, pattern?) else {
        return Ok(Value::list(Vec::new()));
    };
    let mut all = Items::default();
    each_match(rt, of, pattern, |found| {
        let mut parts = Items::with_room(found.len())?;
        for place in found {
            parts.push(place.map_or(Value::Null, |place| Value::text(&of[place])))?;
        }
        all.push(parts.value()?)?;
        Ok(true)
    })?;
    all.value()
}

/// The names of groups and their numbers.
fn group_names(pattern: &str) -> Vec<(Arc<str>, usize)> {
    let mut names = Vec::new();
    let (mut number, mut is_class) = (0, false);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' if rest.starts_with('Q') => {
                rest = rest.split_once("\\E").map_or("", |(_, behind)| behind);
            }
            '\\' => {
                let escaped = rest.chars().next().map_or(0, char::len_utf8);
                rest = &rest[escaped..];
            }
            '[' => is_class = true,
            ']' => is_class = false,
            '(' if is_class => {}
            '(' => {
                let name = rest
                    .strip_prefix("?<")
                    .and_then(|name| name.split_once('>'));
                let name = name.filter(|(name, _)| !name.starts_with(['=', '!']));
                if name.is_some() || !rest.starts_with('?') {
                    number += 1;
                }
                names.extend(name.map(|(name, _)| (Arc::from(name), number)));
            }
            _ => {}
        }
    }
    names
}

/// For each match the whole of it and a map of the groups that have a name and took part.
fn named_groups(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.regexGroupsByName";
    let [of, pattern] = [&args[0], &args[1]].map(|value| text(name, value));
    let (Some(of), Some(pattern)) = (of?, pattern?) else {
        return Ok(Value::list(Vec::new()));
    };
    let names = group_names(pattern);
    let mut all = Items::default();
    each_match(rt, of, pattern, |found| {
        let part = |number: usize| found.get(number).cloned().flatten().map(|place| &of[place]);
        let groups = names.iter().filter_map(|(name, number)| {
            let own = Value::text(part(*number)?);
            Some((Arc::clone(name), own))
        });
        let groups = groups.collect::<Vec<_>>();
        charge(size_of_val(&*groups) + part(0).map_or(0, str::len))?;
        all.push(Value::map(vec![
            ("group".into(), part(0).map_or(Value::Null, Value::text)),
            ("matches".into(), Value::map(groups)),
        ]))?;
        Ok(true)
    })?;
    all.value()
}

/// The parts between matches, as Java splits: without a limit no empty parts at the end, with one
/// at most so many parts.
fn split(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let function = "apoc.text.split";
    let [of, pattern] = [&args[0], &args[1]].map(|value| text(function, value));
    let limit = args
        .get(2)
        .map_or(Ok(0), |value| integer(function, value))?;
    let (Some(of), Some(pattern)) = (of?, pattern?) else {
        return Ok(Value::Null);
    };
    let most = usize::try_from(limit).unwrap_or(0);
    let mut parts: Vec<&str> = Vec::new();
    let mut copied = 0;
    if most != 1 {
        each_match(rt, of, pattern, |found| {
            let whole = found[0].clone().expect("a match is somewhere");
            // An empty match at the beginning splits nothing off.
            if !(whole.is_empty() && whole.start == 0) {
                charge(size_of::<&str>())?;
                parts.push(&of[copied..whole.start]);
                copied = whole.end;
            }
            Ok(most == 0 || parts.len() + 1 < most)
        })?;
    }
    parts.push(&of[copied..]);
    if limit == 0 && parts.len() > 1 {
        let used = parts.iter().rposition(|part| !part.is_empty());
        parts.truncate(used.map_or(0, |last| last + 1));
    }
    let mut split = Items::with_room(parts.len())?;
    for part in parts {
        split.push(Value::text(part))?;
    }
    split.value()
}
