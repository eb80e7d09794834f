//! Elements and slices of lists and texts as Kuzu counts them: from 1, negative from the end.

use super::wrong;
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "graven.element",
        arity: (3, 3),
        body: element,
    },
    Function {
        name: "graven.slice",
        arity: (3, 3),
        body: slice,
    },
];

fn length(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn number(function: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Integer(number) => Ok(*number),
        other => Err(wrong(function, "an Integer as a place", other)),
    }
}

/// The element at a place. Beyond the end there is none: null of a list, no character of a text,
/// unless the place is moved to the last one. A place before the first character is moved to it.
fn element(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "list_extract";
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let at = number(name, &args[1])?;
    match &args[0] {
        Value::List(items) => {
            let from_start = match at < 0 {
                true => at.saturating_add(length(items.len())),
                false => at - 1,
            };
            let item = usize::try_from(from_start)
                .ok()
                .and_then(|at| items.get(at));
            Ok(item.cloned().unwrap_or_default())
        }
        Value::String(text) => {
            work(text.len())?;
            let count = length(text.chars().count());
            let place = match at {
                0 => None,
                1.. if matches!(args[2], Value::Boolean(true)) => Some(at.min(count) - 1),
                1.. => Some(at - 1),
                _ => Some(at.saturating_add(count).max(0)),
            };
            let place = place.and_then(|place| usize::try_from(place).ok());
            let character = place.and_then(|place| text.chars().nth(place));
            Ok(Value::text(&character.map_or(String::new(), String::from)))
        }
        other => Err(wrong(name, "a List or String", other)),
    }
}

/// The places of a slice of so many elements, both ends included, from 0 and without the last one.
/// An end of 0 is before the first element.
fn bounds(count: usize, from: i64, to: i64) -> std::ops::Range<usize> {
    let count = length(count);
    let from_end = |at: i64| at.saturating_add(count).saturating_add(1);
    let first = if from < 0 { from_end(from) } else { from }.max(1);
    let last = if to < 0 { from_end(to) } else { to }.min(count);
    if first > last {
        return 0..0;
    }
    let place = |at: i64| usize::try_from(at).unwrap_or(0);
    place(first - 1)..place(last)
}

fn slice(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "list_slice";
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (from, to) = (number(name, &args[1])?, number(name, &args[2])?);
    match &args[0] {
        Value::List(items) => {
            let part = &items[bounds(items.len(), from, to)];
            charge(size_of_val(part))?;
            Ok(Value::List(part.into()))
        }
        Value::String(text) => {
            work(text.len())?;
            let places = bounds(text.chars().count(), from, to);
            charge(text.len())?;
            let part = text.chars().skip(places.start).take(places.len());
            Ok(Value::text(&part.collect::<String>()))
        }
        other => Err(wrong(name, "a List or String", other)),
    }
}
