//! `apoc.coll`: elements chosen from lists, by chance, by order, or all combinations of them; lists
//! in parts.

use std::cmp::Ordering;

use super::coll::missing_first;
use super::set::Set;
use super::{integer, list, map, size, wrong};
use crate::error::{ExecError, Result};
use crate::expression::functions::number::random;
use crate::expression::functions::ordered::places_in_order;
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::value::order::total_order;
use crate::value::{Map, Value};
use graven_types::told;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.coll.combinations", (2, 3), combinations),
    Function::new("apoc.coll.containsallsorted", (2, 2), |_, args| {
        let name = "apoc.coll.containsAllSorted";
        let (Some(items), Some(wanted)) = (list(name, &args[0])?, list(name, &args[1])?) else {
            return Ok(Value::Boolean(false));
        };
        Ok(Value::Boolean(
            wanted.iter().all(|one| is_among(items, one)),
        ))
    }),
    Function::new("apoc.coll.containssorted", (2, 2), |_, args| {
        let items = list("apoc.coll.containsSorted", &args[0])?.unwrap_or_default();
        Ok(Value::Boolean(is_among(items, &args[1])))
    }),
    Function::new("apoc.coll.partition", (2, 2), partition),
    Function::new("apoc.coll.pairwithoffset", (2, 2), pair_with_offset),
    Function::new("apoc.coll.randomitem", (1, 1), |_, args| {
        let items = list("apoc.coll.randomItem", &args[0])?.unwrap_or_default();
        Ok(items.get(below(items.len())).cloned().unwrap_or_default())
    }),
    Function::new("apoc.coll.randomitems", (2, 3), random_items),
    Function::new("apoc.coll.removeall", (2, 2), remove_all),
    Function::new("apoc.coll.shuffle", (1, 1), |_, args| {
        let items = list("apoc.coll.shuffle", &args[0])?.unwrap_or_default();
        shuffled(items, items.len())
    }),
    Function::new("apoc.coll.sortmulti", (1, 4), sort_multi),
    Function::new("apoc.coll.sorttext", (1, 2), sort_text),
];

/// A random place below a count.
fn below(count: usize) -> usize {
    ((random() * count as f64) as usize).min(count.saturating_sub(1))
}

/// So many of the elements, in a random order.
fn shuffled(items: &[Value], count: usize) -> Result<Value> {
    work(items.len())?;
    let mut all: Vec<&Value> = items.iter().collect();
    let mut chosen = Items::default();
    for at in 0..count.min(all.len()) {
        let other = at + below(all.len() - at);
        all.swap(at, other);
        chosen.push(all[at].clone())?;
    }
    chosen.value()
}

fn random_items(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.randomItems";
    let items = list(name, &args[0])?.unwrap_or_default();
    let count = size(name, &args[1])?;
    if !matches!(args.get(2), Some(Value::Boolean(true))) {
        return shuffled(items, count);
    }
    let mut chosen = Items::default();
    for _ in 0..if items.is_empty() { 0 } else { count } {
        chosen.push(items[below(items.len())].clone())?;
    }
    chosen.value()
}

/// Whether a sorted list has a value.
fn is_among(items: &[Value], wanted: &Value) -> bool {
    items
        .binary_search_by(|item| total_order(item, wanted))
        .is_ok()
}

/// The list in parts of so many elements.
fn partition(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.partition";
    let items = list(name, &args[0])?.unwrap_or_default();
    if integer(name, &args[1])? < 0 {
        return Ok(Value::list(Vec::new()));
    }
    let wanted = size(name, &args[1])?;
    if wanted == 0 {
        let message = told!("{name}() makes no parts of 0 elements");
        return Err(ExecError::Argument { message });
    }
    let mut parts = Items::default();
    for part in items.chunks(wanted) {
        let mut own = Items::with_room(part.len())?;
        for item in part {
            own.push(item.clone())?;
        }
        parts.push(own.value()?)?;
    }
    parts.value()
}

/// All lists of so many of the elements, shorter ones first; the places of the last elements rise
/// last.
fn combinations(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.combinations";
    let items = list(name, &args[0])?.unwrap_or_default();
    let least = integer(name, &args[1])?;
    let most = match args.get(2) {
        None | Some(Value::Null | Value::Integer(-1)) => least,
        Some(value) => integer(name, value)?,
    };
    let mut all = Items::default();
    let sizes = usize::try_from(least).unwrap_or(0)..=usize::try_from(most).unwrap_or(0);
    if *sizes.start() == 0 || *sizes.end() > items.len() {
        return all.value();
    }
    for size in sizes {
        let mut places: Vec<usize> = (0..size).collect();
        loop {
            let mut one = Items::with_room(size)?;
            for at in &places {
                one.push(items[*at].clone())?;
            }
            all.push(one.value()?)?;
            // The first place that can still go on; those before it begin anew.
            let end = |at: usize| places.get(at + 1).copied().unwrap_or(items.len());
            let Some(moves) = (0..size).find(|at| places[*at] + 1 < end(*at)) else {
                break;
            };
            places[moves] += 1;
            for (at, place) in places[..moves].iter_mut().enumerate() {
                *place = at;
            }
        }
    }
    all.value()
}

/// Each element with the one that is so many places behind it, or null.
fn pair_with_offset(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.pairWithOffset";
    let Some(items) = list(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let offset = integer(name, &args[1])?;
    let mut pairs = Items::with_room(items.len())?;
    for (at, item) in (0_i64..).zip(items) {
        let other = at
            .checked_add(offset)
            .and_then(|at| usize::try_from(at).ok());
        let other = other.and_then(|at| items.get(at)).cloned();
        pairs.push(Value::list(vec![item.clone(), other.unwrap_or_default()]))?;
    }
    pairs.value()
}

/// The list without all elements of another one.
fn remove_all(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.removeAll";
    let Some(items) = list(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let gone = Set::of(list(name, &args[1])?.unwrap_or_default())?;
    let mut kept = Items::default();
    for item in items.iter().filter(|item| !gone.contains(item)) {
        kept.push(item.clone())?;
    }
    kept.value()
}

/// Maps by several keys, each from the largest value on, or from the smallest with `^`.
fn sort_multi(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.sortMulti";
    let items = list(name, &args[0])?.unwrap_or_default();
    let given = args
        .get(1)
        .map(|value| list(name, value))
        .transpose()?
        .flatten();
    let mut keys = Vec::new();
    for key in given.unwrap_or_default() {
        let Value::String(key) = key else {
            return Err(wrong(name, "keys as Strings", key));
        };
        keys.push(match key.strip_prefix('^') {
            Some(key) => (key, false),
            None => (&**key, true),
        });
    }
    charge(items.len().saturating_mul(size_of::<Option<&Map>>()))?;
    let maps = items.iter().map(|item| map(name, item));
    let maps: Vec<Option<&Map>> = maps.collect::<Result<_>>()?;
    let null = Value::Null;
    let places = places_in_order(&maps, |a, b| {
        for (key, falls) in &keys {
            let [a, b] = [a, b].map(|map| map.and_then(|map| map.get(key)).unwrap_or(&null));
            let order = match falls {
                true => missing_first(b, a)?,
                false => missing_first(a, b)?,
            };
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    })?;
    let bound = |at: usize| match args.get(at) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => Ok::<_, ExecError>(usize::try_from(integer(name, value)?).ok()),
    };
    let (limit, skip) = (bound(2)?.unwrap_or(usize::MAX), bound(3)?.unwrap_or(0));
    let mut sorted = Items::default();
    for at in places.into_iter().skip(skip).take(limit) {
        sorted.push(items[at].clone())?;
    }
    sorted.value()
}

/// Texts as a dictionary has them: letter case counts only between texts that are equal without it.
fn sort_text(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.sortText";
    let items = list(name, &args[0])?.unwrap_or_default();
    charge(
        items
            .len()
            .saturating_mul(size_of::<(Option<String>, Option<Vec<bool>>)>()),
    )?;
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        let text = super::text(name, item)?;
        let length = text.map_or(0, |text| text.len());
        charge(length.saturating_mul(4))?;
        work(1 + length / 256)?;
        let folded = text.map(|text| text.to_lowercase());
        // Small letters come first.
        let cases = text.map(|text| text.chars().map(char::is_uppercase).collect::<Vec<_>>());
        texts.push((folded, cases));
    }
    let places = places_in_order(&texts, |a, b| {
        let length = a.0.as_ref().map_or(0, String::len);
        work(1 + length / 256)?;
        Ok(a.cmp(b))
    })?;
    let mut sorted = Items::default();
    for at in places {
        sorted.push(items[at].clone())?;
    }
    sorted.value()
}
