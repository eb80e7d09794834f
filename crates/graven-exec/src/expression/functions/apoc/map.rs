//! `apoc.map`: maps made of lists and of other maps, and parts of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::set::{Element, Set};
use super::{key, list, map, property, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::value::{Map, Value};
use graven_types::told;

type Entries = Vec<(Arc<str>, Value)>;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.map.clean", (3, 3), clean),
    Function::new("apoc.map.flatten", (1, 2), flatten),
    Function::new("apoc.map.fromlists", (2, 2), |_, args| {
        made(pairs_of_lists("apoc.map.fromLists", &args[0], &args[1])?)
    }),
    Function::new("apoc.map.frompairs", (1, 1), |_, args| {
        match list("apoc.map.fromPairs", &args[0])? {
            Some(items) => made(pairs("apoc.map.fromPairs", items)?),
            None => Ok(Value::Null),
        }
    }),
    Function::new("apoc.map.fromvalues", (1, 1), |_, args| {
        match list("apoc.map.fromValues", &args[0])? {
            Some(items) => made(alternating(items)?),
            None => Ok(Value::Null),
        }
    }),
    Function::new("apoc.map.get", (2, 4), get),
    Function::new("apoc.map.groupby", (2, 2), |rt, args| {
        group_by(rt, args, false)
    }),
    Function::new("apoc.map.groupbymulti", (2, 2), |rt, args| {
        group_by(rt, args, true)
    }),
    Function::new("apoc.map.merge", (2, 2), |_, args| {
        merged("apoc.map.merge", args)
    }),
    Function::new("apoc.map.mergelist", (1, 1), |_, args| {
        match list("apoc.map.mergeList", &args[0])? {
            Some(items) => merged("apoc.map.mergeList", items),
            None => Ok(Value::Null),
        }
    }),
    Function::new("apoc.map.mget", (2, 4), |_, args| {
        several("apoc.map.mget", args, false)
    }),
    Function::new("apoc.map.removekey", (2, 3), remove_keys),
    Function::new("apoc.map.removekeys", (2, 3), remove_keys),
    Function::new("apoc.map.setentry", (3, 3), set_key),
    Function::new("apoc.map.setkey", (3, 3), set_key),
    Function::new("apoc.map.setlists", (3, 3), |_, args| {
        let new = pairs_of_lists("apoc.map.setLists", &args[1], &args[2])?;
        with("apoc.map.setLists", &args[0], new)
    }),
    Function::new("apoc.map.setpairs", (2, 2), |_, args| {
        let items = list("apoc.map.setPairs", &args[1])?.unwrap_or_default();
        with(
            "apoc.map.setPairs",
            &args[0],
            pairs("apoc.map.setPairs", items)?,
        )
    }),
    Function::new("apoc.map.setvalues", (2, 2), |_, args| {
        let items = list("apoc.map.setValues", &args[1])?.unwrap_or_default();
        with("apoc.map.setValues", &args[0], alternating(items)?)
    }),
    Function::new("apoc.map.sortedproperties", (1, 2), sorted_properties),
    Function::new("apoc.map.submap", (2, 4), |_, args| {
        several("apoc.map.submap", args, true)
    }),
    Function::new("apoc.map.unflatten", (1, 2), unflatten),
    Function::new("apoc.map.updatetree", (3, 3), update_tree),
    Function::new("apoc.map.values", (1, 3), values),
];

/// The map of entries that an argument made.
fn made(entries: Entries) -> Result<Value> {
    work(entries.len())?;
    charge(entries.len().saturating_mul(size_of::<(Arc<str>, Value)>()))?;
    Ok(Value::map(entries))
}

/// Entries of a map, cloned.
fn entries(function: &str, value: &Value) -> Result<Entries> {
    let Some(map) = map(function, value)? else {
        return Ok(Vec::new());
    };
    work(map.entries().len())?;
    charge(size_of_val(map.entries()))?;
    Ok(map.entries().to_vec())
}

fn with(function: &str, value: &Value, new: Entries) -> Result<Value> {
    let mut all = entries(function, value)?;
    all.extend(new);
    made(all)
}

/// Entries of a list of pairs; a key alone has null, and those without a key are left out.
fn pairs(function: &str, items: &[Value]) -> Result<Entries> {
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::List(pair) => {
                if let [name, rest @ ..] = &**pair
                    && !name.is_null()
                {
                    entries.push((key(name)?, rest.first().cloned().unwrap_or_default()));
                }
            }
            Value::Null => {}
            other => return Err(wrong(function, "a List of pairs", other)),
        }
    }
    Ok(entries)
}

/// Entries of a list of keys and values in turn.
fn alternating(items: &[Value]) -> Result<Entries> {
    let pairs = items.chunks(2);
    let named = pairs.filter(|pair| !pair[0].is_null());
    named
        .map(|pair| Ok((key(&pair[0])?, pair.get(1).cloned().unwrap_or_default())))
        .collect()
}

fn pairs_of_lists(function: &str, keys: &Value, values: &Value) -> Result<Entries> {
    let keys = list(function, keys)?.unwrap_or_default();
    let values = list(function, values)?.unwrap_or_default();
    if keys.len() != values.len() {
        return Err(ExecError::Argument {
            message: told!(
                "{function}() needs as many values as keys, got {} keys and {} values",
                keys.len(),
                values.len()
            ),
        });
    }
    let both = keys.iter().zip(values).filter(|(name, _)| !name.is_null());
    both.map(|(name, value)| Ok((key(name)?, value.clone())))
        .collect()
}

fn merged(function: &str, maps: &[Value]) -> Result<Value> {
    let mut all = Vec::new();
    for one in maps {
        all.extend(entries(function, one)?);
    }
    made(all)
}

fn set_key(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let new = match &args[1] {
        Value::Null => Vec::new(),
        name => vec![(key(name)?, args[2].clone())],
    };
    with("apoc.map.setKey", &args[0], new)
}

fn clean(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let keys = list("apoc.map.clean", &args[1])?.unwrap_or_default();
    let values = list("apoc.map.clean", &args[2])?.unwrap_or_default();
    let (keys, values) = (Set::of(keys)?, Set::of(values)?);
    let mut kept = entries("apoc.map.clean", &args[0])?;
    let mut fits = Vec::with_capacity(kept.len());
    for (name, value) in kept.drain(..) {
        let of_name = Value::String(Arc::clone(&name));
        let text = Value::String(key(&value)?);
        let left_out = value.is_null()
            || keys.contains(&of_name)
            || values.contains(&value)
            || values.contains(&text);
        if !left_out {
            fits.push((name, value));
        }
    }
    made(fits)
}

fn flatten(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(of) = map("apoc.map.flatten", &args[0])? else {
        return Ok(Value::Null);
    };
    let delimiter = match args.get(1) {
        None | Some(Value::Null) => ".",
        Some(Value::String(text)) => text,
        Some(other) => return Err(wrong("apoc.map.flatten", "a String", other)),
    };
    let mut flat = Vec::new();
    append_flat(&mut flat, of, "", delimiter)?;
    made(flat)
}

fn append_flat(flat: &mut Entries, of: &Map, before: &str, delimiter: &str) -> Result<()> {
    work(of.entries().len())?;
    for (name, value) in of.entries() {
        let name = format!("{before}{name}");
        charge(name.len())?;
        match value {
            Value::Map(inner) => append_flat(flat, inner, &(name + delimiter), delimiter)?,
            value => flat.push((name.into(), value.clone())),
        }
    }
    Ok(())
}

/// Whether a missing key is an error: the last argument, true where it is not given.
fn fails(args: &[Value]) -> bool {
    !matches!(args.get(3), Some(Value::Boolean(false)))
}

fn missing(function: &str, name: &str) -> ExecError {
    ExecError::Argument {
        message: told!(
            "{function}() finds no key {name} in the map: give a default, or false as the last \
             argument"
        ),
    }
}

fn get(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let function = "apoc.map.get";
    let name = text(function, &args[1])?;
    let of = map(function, &args[0])?;
    let found = of.zip(name).and_then(|(map, name)| map.get(name)).cloned();
    let given = args.get(2).filter(|default| !default.is_null()).cloned();
    match found.or(given) {
        Some(value) => Ok(value),
        None if fails(args) => Err(missing(function, name.map_or("null", |name| name))),
        None => Ok(Value::Null),
    }
}

/// The values of several keys, or the map of them.
fn several(function: &str, args: &[Value], as_map: bool) -> Result<Value> {
    let (Some(of), Some(keys)) = (map(function, &args[0])?, list(function, &args[1])?) else {
        return Ok(Value::Null);
    };
    let defaults = match args.get(2) {
        Some(given) => list(function, given)?.unwrap_or_default(),
        None => &[],
    };
    let (mut values, mut entries) = (Items::default(), Vec::new());
    for (at, name) in keys.iter().enumerate() {
        let name = key(name)?;
        let found = of.get(&name).cloned();
        let default = defaults.get(at).filter(|d| !d.is_null()).cloned();
        let value = match found.or(default) {
            Some(value) => value,
            None if fails(args) => return Err(missing(function, &name)),
            None => Value::Null,
        };
        match as_map {
            true => entries.push((name, value)),
            false => values.push(value)?,
        }
    }
    match as_map {
        true => made(entries),
        false => values.value(),
    }
}

fn values(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let function = "apoc.map.values";
    let Some(of) = map(function, &args[0])? else {
        return Ok(Value::list(Vec::new()));
    };
    let keys = args.get(1).map(|keys| list(function, keys)).transpose()?;
    let add_nulls = matches!(args.get(2), Some(Value::Boolean(true)));
    let mut values = Items::default();
    for name in keys.flatten().unwrap_or_default() {
        match of.get(&key(name)?) {
            Some(value) => values.push(value.clone())?,
            None if add_nulls => values.push(Value::Null)?,
            None => {}
        }
    }
    values.value()
}

fn remove_keys(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let function = "apoc.map.removeKeys";
    let Some(of) = map(function, &args[0])? else {
        return Ok(Value::Null);
    };
    let one = std::slice::from_ref(&args[1]);
    let keys = match &args[1] {
        Value::List(keys) => keys,
        _ => one,
    };
    let deep = match args.get(2) {
        Some(Value::Map(config)) => matches!(config.get("recursive"), Some(Value::Boolean(true))),
        _ => false,
    };
    without(of, &Set::of(keys)?, deep)
}

fn without(of: &Map, keys: &Set<'_>, deep: bool) -> Result<Value> {
    let mut kept = Vec::with_capacity(of.entries().len());
    for (name, value) in of.entries() {
        let text = Value::String(Arc::clone(name));
        if keys.contains(&text) {
            continue;
        }
        match value {
            Value::Map(inner) if deep => match without(inner, keys, deep)? {
                Value::Map(inner) if inner.entries().is_empty() => {}
                inner => kept.push((Arc::clone(name), inner)),
            },
            value => kept.push((Arc::clone(name), value.clone())),
        }
    }
    made(kept)
}

/// A map from the value of a key to the maps, nodes or relationships that have it.
fn group_by(rt: &QueryContext, args: &[Value], all: bool) -> Result<Value> {
    let function = "apoc.map.groupBy";
    let items = list(function, &args[0])?.unwrap_or_default();
    let Some(name) = text(function, &args[1])? else {
        return made(Vec::new());
    };
    let mut groups: Vec<(Arc<str>, Vec<Value>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for item in items {
        if !matches!(
            item,
            Value::Map(_) | Value::Node(_) | Value::Relationship(_)
        ) {
            continue;
        }
        let value = property(rt, function, item, name)?;
        let Some(value) = value.filter(|value| !value.is_null()) else {
            continue;
        };
        super::charge_compared(&value)?;
        let value = key(&value)?;
        let group = *known.entry(Arc::clone(&value)).or_insert_with(|| {
            groups.push((value, Vec::new()));
            groups.len() - 1
        });
        work(1)?;
        charge(size_of::<Value>() + size_of::<(Arc<str>, Vec<Value>)>())?;
        groups[group].1.push(item.clone());
    }
    let entries = groups.into_iter().map(|(value, mut items)| match all {
        true => (value, Value::list(items)),
        false => (value, items.pop().unwrap_or_default()),
    });
    made(entries.collect())
}

/// Keys such as `a.b` as maps within the map.
fn unflatten(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.map.unflatten";
    let Some(of) = map(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let between = args.get(1).map(|value| text(name, value)).transpose()?;
    let between = between.flatten().map_or(".", |text| text);
    nested(of.entries().to_vec(), between, DEPTH_MAX)
}

/// Maps that are made within each other of one key.
const DEPTH_MAX: usize = 64;

fn nested(entries: Entries, between: &str, left: usize) -> Result<Value> {
    work(entries.len())?;
    charge(
        entries
            .len()
            .saturating_mul(2 * size_of::<(Arc<str>, Value)>()),
    )?;
    let mut made: Entries = Vec::new();
    let mut within: HashMap<Arc<str>, Entries> = HashMap::new();
    for (key, value) in entries {
        let parts = key
            .split_once(between)
            .filter(|_| !between.is_empty() && left > 0);
        match parts {
            Some((first, rest)) => {
                let within = within.entry(first.into()).or_default();
                within.push((rest.into(), value));
            }
            None => made.push((key, value)),
        }
    }
    if let Some((key, _)) = made.iter().find(|(key, _)| within.contains_key(key)) {
        return Err(ExecError::Argument {
            message: told!("apoc.map.unflatten(): {key} would be both a value and a map"),
        });
    }
    for (key, entries) in within {
        made.push((key, nested(entries, between, left.saturating_sub(1))?));
    }
    Ok(Value::map(made))
}

/// Each map of a tree of maps and lists, with the entries that stand beside the value of its key.
fn update_tree(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.map.updateTree";
    let (Some(_), Some(by)) = (map(name, &args[0])?, text(name, &args[1])?) else {
        return Ok(Value::Null);
    };
    let mut more = Vec::new();
    for row in list(name, &args[2])?.unwrap_or_default() {
        match list(name, row)? {
            Some([value, entries]) => more.push((value, map(name, entries)?)),
            _ => return Err(wrong(name, "a List of pairs of a value and a Map", row)),
        }
    }
    updated(&args[0], by, &more)
}

fn updated(tree: &Value, by: &str, more: &[(&Value, Option<&Map>)]) -> Result<Value> {
    work(1)?;
    match tree {
        Value::List(items) => {
            let items = items.iter().map(|item| updated(item, by, more));
            Ok(Value::list(items.collect::<Result<_>>()?))
        }
        Value::Map(of) => {
            let mut entries: Entries = Vec::new();
            for (key, value) in of.entries() {
                entries.push((Arc::clone(key), updated(value, by, more)?));
            }
            let own = of.get(by);
            let found = more
                .iter()
                .filter(|(value, _)| own.is_some_and(|own| Element(own) == Element(value)));
            for (_, new) in found {
                entries.extend(new.iter().flat_map(|new| new.entries().iter().cloned()));
            }
            made(entries)
        }
        other => Ok(other.clone()),
    }
}

fn sorted_properties(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(of) = map("apoc.map.sortedProperties", &args[0])? else {
        return Ok(Value::Null);
    };
    let ignore_case = !matches!(args.get(1), Some(Value::Boolean(false)));
    let mut sorted = of.entries().to_vec();
    if ignore_case {
        sorted.sort_by_cached_key(|(name, _)| name.to_lowercase());
    }
    let mut rows = Items::default();
    for (name, value) in sorted {
        rows.push(Value::list(vec![Value::String(name), value]))?;
    }
    rows.value()
}
