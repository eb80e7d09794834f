//! `apoc.coll`: lists as sets, sequences and tables.

use std::cmp::Ordering;

use super::set::{Element, Set, counted};
use super::{hash_order, integer, list, property, size, wrong};
use crate::error::Result;
use crate::expression::functions::ordered::{places_in_order, value_order};
use crate::expression::signature::Function;
use crate::growth::{Items, bytes_of_argument, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;
use crate::value::order::{Comparison, compare, total_order};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.coll.avg", (1, 1), |_, args| average("avg", &args[0])),
    Function::new("apoc.coll.contains", (2, 2), contains),
    Function::new("apoc.coll.containsall", (2, 2), contains_all),
    Function::new("apoc.coll.containsduplicates", (1, 1), |_, args| {
        let items = list("apoc.coll.containsDuplicates", &args[0])?.unwrap_or_default();
        Ok(Value::Boolean(Set::of(items)?.len() < items.len()))
    }),
    Function::new("apoc.coll.different", (1, 1), |_, args| {
        let items = list("apoc.coll.different", &args[0])?;
        let different = match items {
            Some(items) => Set::of(items)?.len() == items.len(),
            None => false,
        };
        Ok(Value::Boolean(different))
    }),
    Function::new("apoc.coll.disjunction", (2, 2), disjunction),
    Function::new(
        "apoc.coll.dropduplicateneighbors",
        (1, 1),
        drop_duplicate_neighbours,
    ),
    Function::new("apoc.coll.duplicates", (1, 1), duplicates),
    Function::new("apoc.coll.duplicateswithcount", (1, 1), |_, args| {
        counts("apoc.coll.duplicatesWithCount", &args[0], 2)
    }),
    Function::new("apoc.coll.fill", (2, 2), fill),
    Function::new("apoc.coll.flatten", (1, 2), flatten),
    Function::new("apoc.coll.frequencies", (1, 1), |_, args| {
        counts("apoc.coll.frequencies", &args[0], 1)
    }),
    Function::new("apoc.coll.frequenciesasmap", (1, 1), frequencies_as_map),
    Function::new("apoc.coll.indexof", (2, 2), index_of),
    Function::new("apoc.coll.insert", (3, 3), |_, args| insert(args, false)),
    Function::new("apoc.coll.insertall", (3, 3), |_, args| insert(args, true)),
    Function::new("apoc.coll.intersection", (2, 2), intersection),
    Function::new("apoc.coll.isequalcollection", (2, 2), is_equal_collection),
    Function::new("apoc.coll.max", (1, 1), |_, args| {
        extreme("apoc.coll.max", &args[0], Ordering::Greater)
    }),
    Function::new("apoc.coll.min", (1, 1), |_, args| {
        extreme("apoc.coll.min", &args[0], Ordering::Less)
    }),
    Function::new("apoc.coll.occurrences", (2, 2), |_, args| {
        let items = list("apoc.coll.occurrences", &args[0])?.unwrap_or_default();
        let wanted = Element(&args[1]);
        let found = items.iter().filter(|item| Element(item) == wanted);
        Ok(count(match args[1].is_null() {
            true => 0,
            false => found.count(),
        }))
    }),
    Function::new("apoc.coll.pairs", (1, 1), |_, args| pairs(&args[0], true)),
    Function::new("apoc.coll.pairsmin", (1, 1), |_, args| {
        pairs(&args[0], false)
    }),
    Function::new("apoc.coll.remove", (2, 3), remove),
    Function::new("apoc.coll.set", (3, 3), replace),
    Function::new("apoc.coll.sort", (1, 1), |_, args| {
        let items = list("apoc.coll.sort", &args[0])?.unwrap_or_default();
        let places = places_in_order(items, value_order)?;
        let sorted = places.into_iter().map(|at| items[at].clone());
        Ok(Value::list(sorted.collect()))
    }),
    Function::new("apoc.coll.sortmaps", (2, 2), |rt, args| {
        sort_by_property(rt, "sortMaps", args)
    }),
    Function::new("apoc.coll.sortnodes", (2, 2), |rt, args| {
        sort_by_property(rt, "sortNodes", args)
    }),
    Function::new("apoc.coll.subtract", (2, 2), subtract),
    Function::new("apoc.coll.sum", (1, 1), |_, args| sum("sum", &args[0])),
    Function::new("apoc.coll.toset", (1, 1), |_, args| {
        match list("apoc.coll.toSet", &args[0])? {
            Some(items) => distinct(items.iter()),
            None => Ok(Value::Null),
        }
    }),
    Function::new("apoc.coll.union", (2, 2), |_, args| union(args, true)),
    Function::new("apoc.coll.unionall", (2, 2), |_, args| union(args, false)),
    Function::new("apoc.coll.zip", (2, 2), zip),
];

fn count(n: usize) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Each value once, in the order of first appearance.
pub(super) fn distinct<'a>(items: impl Iterator<Item = &'a Value>) -> Result<Value> {
    let mut seen = Set::default();
    let mut found = Items::default();
    for item in items {
        if seen.insert(item)? {
            found.push(item.clone())?;
        }
    }
    found.value()
}

fn floats(function: &str, items: &[Value]) -> Result<Vec<f64>> {
    let number = |item: &Value| as_float(item).ok_or_else(|| wrong(function, "numbers", item));
    items.iter().map(number).collect()
}

fn sum(function: &str, value: &Value) -> Result<Value> {
    let items = list(function, value)?.unwrap_or_default();
    match items {
        [] => Ok(Value::Null),
        items => Ok(Value::Float(floats(function, items)?.iter().sum())),
    }
}

fn average(function: &str, value: &Value) -> Result<Value> {
    let items = list(function, value)?.unwrap_or_default();
    match items {
        [] => Ok(Value::Null),
        items => {
            let sum: f64 = floats(function, items)?.iter().sum();
            Ok(Value::Float(sum / items.len() as f64))
        }
    }
}

/// The first element that none is less, or greater, than; nulls and what does not compare with it
/// are passed over.
fn extreme(function: &str, value: &Value, wanted: Ordering) -> Result<Value> {
    let mut found = &Value::Null;
    for item in list(function, value)?.unwrap_or_default() {
        work(1)?;
        let is_beyond = match (item, found) {
            // `<` has no answer for maps.
            (Value::Map(_), Value::Map(_)) => total_order(item, found) == wanted,
            _ => matches!(compare(item, found),
                Comparison::Ordered(order) if order == wanted),
        };
        if found.is_null() || is_beyond {
            found = item;
        }
    }
    Ok(found.clone())
}

fn contains(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let items = list("apoc.coll.contains", &args[0])?.unwrap_or_default();
    let wanted = Element(&args[1]);
    let is_there = !args[1].is_null() && items.iter().any(|item| Element(item) == wanted);
    Ok(Value::Boolean(is_there))
}

fn contains_all(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let items = list("apoc.coll.containsAll", &args[0])?.unwrap_or_default();
    let Some(wanted) = list("apoc.coll.containsAll", &args[1])? else {
        return Ok(Value::Boolean(false));
    };
    let known = Set::of(items)?;
    // A null is no element, as for `apoc.coll.contains`.
    let mut wanted = wanted.iter();
    let all = wanted.all(|item| !item.is_null() && known.contains(item));
    Ok(Value::Boolean(all && !items.is_empty()))
}

fn two<'a>(function: &str, args: &'a [Value]) -> Result<(&'a [Value], &'a [Value])> {
    let first = list(function, &args[0])?.unwrap_or_default();
    Ok((first, list(function, &args[1])?.unwrap_or_default()))
}

fn disjunction(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if let Some(alone) = single(args) {
        return Ok(alone);
    }
    let (first, second) = two("apoc.coll.disjunction", args)?;
    let (in_first, in_second) = (Set::of(first)?, Set::of(second)?);
    let only_first = first.iter().filter(|item| !in_second.contains(item));
    let only_second = second.iter().filter(|item| !in_first.contains(item));
    hash_order::distinct(only_first.chain(only_second), first.len())
}

fn intersection(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let (first, second) = two("apoc.coll.intersection", args)?;
    let known = Set::of(second)?;
    distinct(first.iter().filter(|item| known.contains(item)))
}

fn subtract(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(args[0].clone());
    }
    let (first, second) = two("apoc.coll.subtract", args)?;
    let known = Set::of(second)?;
    let kept = first.iter().filter(|item| !known.contains(item));
    hash_order::distinct(kept, first.len())
}

/// The other one of two lists, where one is null.
fn single(args: &[Value]) -> Option<Value> {
    match (&args[0], &args[1]) {
        (Value::Null, other) | (other, Value::Null) => Some(other.clone()),
        _ => None,
    }
}

fn union(args: &[Value], once: bool) -> Result<Value> {
    if let Some(alone) = single(args) {
        return Ok(alone);
    }
    let (first, second) = two("apoc.coll.union", args)?;
    if once {
        return hash_order::distinct(first.iter().chain(second), first.len());
    }
    let mut all = Items::with_room(first.len() + second.len())?;
    for item in first.iter().chain(second) {
        all.push(item.clone())?;
    }
    all.value()
}

fn is_equal_collection(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() != args[1].is_null() {
        return Ok(Value::Boolean(false));
    }
    let (first, second) = two("apoc.coll.isEqualCollection", args)?;
    let (first, second) = (counted(first)?, counted(second)?);
    Ok(Value::Boolean(first == second))
}

/// Each value once with how often it is there, in the order of first appearance.
fn in_order(items: &[Value]) -> Result<Vec<(&Value, usize)>> {
    let mut counts = counted(items)?;
    charge(counts.len().saturating_mul(size_of::<(&Value, usize)>()))?;
    let mut firsts = Vec::with_capacity(counts.len());
    for item in items {
        if let Some(times) = counts.remove(&Element(item)) {
            firsts.push((item, times));
        }
    }
    Ok(firsts)
}

/// Each value that is there so often at least, with how often it is there.
fn counts(function: &str, value: &Value, least: usize) -> Result<Value> {
    let items = list(function, value)?.unwrap_or_default();
    let mut rows = Items::default();
    for (item, times) in in_order(items)?
        .into_iter()
        .filter(|(_, times)| *times >= least)
    {
        let row = vec![
            ("item".into(), item.clone()),
            ("count".into(), count(times)),
        ];
        rows.push(Value::map(row))?;
    }
    rows.value()
}

fn frequencies_as_map(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let items = list("apoc.coll.frequenciesAsMap", &args[0])?.unwrap_or_default();
    let entries = in_order(items)?.into_iter();
    let name = |item: &Value| match item {
        Value::Null => Ok("NO_VALUE".into()),
        item => super::key(item),
    };
    let entries = entries.map(|(item, times)| Ok((name(item)?, count(times))));
    Ok(Value::map(entries.collect::<Result<_>>()?))
}

fn duplicates(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let items = list("apoc.coll.duplicates", &args[0])?.unwrap_or_default();
    // In the order in which they come a second time.
    let (mut seen, mut again) = (Set::default(), Set::default());
    let mut found = Items::default();
    for item in items {
        if !seen.insert(item)? && again.insert(item)? {
            found.push(item.clone())?;
        }
    }
    found.value()
}

fn drop_duplicate_neighbours(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(items) = list("apoc.coll.dropDuplicateNeighbors", &args[0])? else {
        return Ok(Value::Null);
    };
    // Before the first element there is a null.
    let mut last = &Value::Null;
    let mut kept = Items::default();
    for item in items {
        if Element(item) != Element(last) {
            kept.push(item.clone())?;
        }
        last = item;
    }
    kept.value()
}

fn fill(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let wanted = size("apoc.coll.fill", &args[1])?;
    let mut items = Items::with_room(wanted)?;
    for _ in 0..wanted {
        items.push(args[0].clone())?;
    }
    items.value()
}

fn flatten(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let items = list("apoc.coll.flatten", &args[0])?.unwrap_or_default();
    let deep = matches!(args.get(1), Some(Value::Boolean(true)));
    let mut flat = Items::default();
    append_flat(&mut flat, items, deep, true)?;
    flat.value()
}

fn append_flat(flat: &mut Items, items: &[Value], deep: bool, outer: bool) -> Result<()> {
    for item in items {
        match item {
            Value::List(inner) if deep || outer => append_flat(flat, inner, deep, false)?,
            item => flat.push(item.clone())?,
        }
    }
    Ok(())
}

fn index_of(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let items = list("apoc.coll.indexOf", &args[0])?.unwrap_or_default();
    let wanted = Element(&args[1]);
    let found = items.iter().position(|item| Element(item) == wanted);
    let found = found.filter(|_| !args[1].is_null());
    Ok(found.map_or(Value::Integer(-1), count))
}

/// The position in a list that an argument names, up to `most`.
fn position(function: &str, value: &Value, most: usize) -> Result<Option<usize>> {
    let at = usize::try_from(integer(function, value)?).ok();
    Ok(at.filter(|at| *at <= most))
}

fn insert(args: &[Value], all: bool) -> Result<Value> {
    let Some(items) = list("apoc.coll.insert", &args[0])? else {
        return Ok(Value::Null);
    };
    let Some(at) = position("apoc.coll.insert", &args[1], items.len())? else {
        return Ok(args[0].clone());
    };
    let one = std::slice::from_ref(&args[2]);
    if args[2].is_null() {
        return Ok(args[0].clone());
    }
    let new = match (all, &args[2]) {
        (true, value) => list("apoc.coll.insertAll", value)?.unwrap_or_default(),
        (false, _) => one,
    };
    let mut result = Items::with_room(items.len() + new.len())?;
    for item in items[..at].iter().chain(new).chain(&items[at..]) {
        result.push(item.clone())?;
    }
    result.value()
}

fn replace(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(items) = list("apoc.coll.set", &args[0])? else {
        return Ok(Value::Null);
    };
    let mut result = items.to_vec();
    if let Some(at) = position("apoc.coll.set", &args[1], items.len())?
        && let Some(item) = result.get_mut(at)
        && !args[2].is_null()
    {
        *item = args[2].clone();
    }
    Ok(Value::list(result))
}

fn remove(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(items) = list("apoc.coll.remove", &args[0])? else {
        return Ok(Value::Null);
    };
    let length = args
        .get(2)
        .map_or(Ok(1), |value| integer("apoc.coll.remove", value))?;
    let Some(at) = position("apoc.coll.remove", &args[1], items.len())? else {
        return Ok(args[0].clone());
    };
    let length = usize::try_from(length).unwrap_or(0).min(items.len() - at);
    let kept = items[..at].iter().chain(&items[at + length..]);
    Ok(Value::list(kept.cloned().collect()))
}

fn pairs(value: &Value, last: bool) -> Result<Value> {
    let Some(items) = list("apoc.coll.pairs", value)? else {
        return Ok(Value::Null);
    };
    let mut rows = Items::default();
    for (at, item) in items.iter().enumerate() {
        match items.get(at + 1) {
            Some(next) => rows.push(Value::list(vec![item.clone(), next.clone()]))?,
            None if last && at > 0 => rows.push(Value::list(vec![item.clone(), Value::Null]))?,
            None => {}
        }
    }
    rows.value()
}

fn zip(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (first, second) = two("apoc.coll.zip", args)?;
    if second.is_empty() {
        return Ok(Value::list(Vec::new()));
    }
    let mut rows = Items::default();
    for (at, item) in first.iter().enumerate() {
        let other = second.get(at).cloned().unwrap_or_default();
        rows.push(Value::list(vec![item.clone(), other]))?;
    }
    rows.value()
}

/// The order of values, but that null comes before all others.
pub(super) fn missing_first(a: &Value, b: &Value) -> Result<Ordering> {
    match (a.is_null(), b.is_null()) {
        (false, false) => value_order(a, b),
        (a, b) => Ok(b.cmp(&a)),
    }
}

/// Sorts maps or nodes by a property, the largest first; `^name` gives the smallest first.
fn sort_by_property(rt: &QueryContext, function: &str, args: &[Value]) -> Result<Value> {
    let function = format!("apoc.coll.{function}");
    let items = list(&function, &args[0])?.unwrap_or_default();
    let Some(name) = super::text(&function, &args[1])? else {
        return Ok(Value::list(items.to_vec()));
    };
    let (name, ascending) = match name.strip_prefix('^') {
        Some(name) => (name, true),
        None => (&**name, false),
    };
    charge(size_of_val(items))?;
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        let key = property(rt, &function, item, name)?.unwrap_or_default();
        charge(bytes_of_argument(&key))?;
        keys.push(key);
    }
    let places = places_in_order(&keys, |a, b| match ascending {
        true => missing_first(a, b),
        false => missing_first(b, a),
    })?;
    let sorted = places.into_iter().map(|at| items[at].clone());
    Ok(Value::list(sorted.collect()))
}
