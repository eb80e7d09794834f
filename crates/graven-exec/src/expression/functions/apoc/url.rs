//! `apoc.data.url`: the parts of a URL.
//!
//! # Source
//! RFC 3986, and which texts Java's `URI` takes.

use std::sync::Arc;

use super::text;
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] =
    &[Function::new("apoc.data.url", (1, 1), url)];

/// The parts of a URL as a map; null of a text that is none.
fn url(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(given) = text("apoc.data.url", &args[0])? else {
        return Ok(Value::Null);
    };
    charge(given.len().saturating_mul(4))?;
    work(given.len())?;
    Ok(parts(given).unwrap_or_default())
}

fn parts(given: &str) -> Option<Value> {
    let wrong = |c: char| c.is_control() || c.is_whitespace() || "<>\"{}|\\^`".contains(c);
    if given.is_empty() || given.contains(wrong) {
        return None;
    }
    let (rest, anchor) = match given.split_once('#') {
        Some((rest, anchor)) => (rest, Some(decoded(anchor)?)),
        None => (given, None),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(decoded(query)?)),
        None => (rest, None),
    };
    let scheme = rest.find(':').filter(|at| !rest[..*at].contains('/'));
    let (protocol, rest) = match scheme {
        Some(at) if is_scheme(&rest[..at]) => (&rest[..at], &rest[at + 1..]),
        _ => return None,
    };
    let (mut user, mut host, mut port) = (None, None, None);
    let mut path = rest;
    if let Some(behind) = rest.strip_prefix("//") {
        let end = behind.find('/').unwrap_or(behind.len());
        let mut place = &behind[..end];
        path = &behind[end..];
        if let Some((before, after)) = place.rsplit_once('@') {
            user = Some(decoded(before)?);
            place = after;
        }
        let colon = place.rfind(':').filter(|at| !place[*at..].contains(']'));
        if let Some(at) = colon {
            let digits = &place[at + 1..];
            if !digits.is_empty() {
                port = Some(i64::from(digits.parse::<u32>().ok()?));
            }
            place = &place[..at];
        }
        if place.is_empty() && path.is_empty() {
            return None;
        }
        host = (!place.is_empty()).then(|| place.to_owned());
    }
    let path = decoded(path)?;
    let file = match &query {
        Some(query) => format!("{path}?{query}"),
        None => path.clone(),
    };
    let one = |part: Option<String>| part.map_or(Value::Null, |part| Value::text(&part));
    let entries: [(&str, Value); 8] = [
        ("protocol", Value::text(protocol)),
        ("user", one(user)),
        ("host", one(host)),
        ("port", port.map_or(Value::Null, Value::Integer)),
        ("path", Value::text(&path)),
        ("file", Value::text(&file)),
        ("query", one(query)),
        ("anchor", one(anchor)),
    ];
    let entries = entries.map(|(key, value)| (Arc::from(key), value));
    Some(Value::map(entries.into()))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// The text with the characters that `%41` stands for; none if what follows a `%` is no byte.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, after) = match first {
            b'%' => {
                let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
                (u8::from_str_radix(digits, 16).ok()?, &behind[2..])
            }
            other => (*other, behind),
        };
        bytes.push(byte);
        rest = after;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
