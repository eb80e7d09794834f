//! The functions of Neo4j's APOC library that tools and programs call most.
//!
//! # How it works
//! A file for each namespace. Names, arguments and answers are those of APOC 5. Where APOC's order
//! of a set is that of a Java hash table, the order here is that of first appearance.
//!
//! # Source
//! Neo4j APOC Core 5, documentation of each namespace.

pub(in crate::expression) mod agg;
pub(in crate::expression) mod coll;
pub(in crate::expression) mod coll_numbers;
pub(in crate::expression) mod coll_parts;
pub(in crate::expression) mod compress;
pub(in crate::expression) mod convert;
pub(in crate::expression) mod cypher_text;
pub(in crate::expression) mod date;
pub(in crate::expression) mod digest;
pub(in crate::expression) mod entity;
pub(in crate::expression) mod exact;
pub(in crate::expression) mod fingerprint;
pub(in crate::expression) mod graph;
mod hash_order;
mod json_lenient;
mod json_path;
pub(in crate::expression) mod likeness;
pub(in crate::expression) mod map;
pub(in crate::expression) mod math;
pub(in crate::expression) mod metaphone;
pub(in crate::expression) mod neighbours;
pub(in crate::expression) mod number;
pub(in crate::expression) mod regular;
pub(in crate::expression) mod schema;
mod set;
pub(in crate::expression) mod standing;
pub(in crate::expression) mod text;
pub(in crate::expression) mod text_format;
pub(in crate::expression) mod url;
pub(in crate::expression) mod xml;

use std::sync::Arc;

use super::wrong;
use crate::error::{ExecError, Result};
use crate::growth::{Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::{Map, Value};
use graven_types::told;

/// The elements of a list; none of null.
fn list<'a>(function: &str, value: &'a Value) -> Result<Option<&'a [Value]>> {
    match value {
        Value::Null => Ok(None),
        Value::List(items) => Ok(Some(items)),
        other => Err(wrong(function, "a List", other)),
    }
}

/// The entries of a map; none of null.
fn map<'a>(function: &str, value: &'a Value) -> Result<Option<&'a Map>> {
    match value {
        Value::Null => Ok(None),
        Value::Map(map) => Ok(Some(map)),
        other => Err(wrong(function, "a Map", other)),
    }
}

/// A text; none of null.
fn text<'a>(function: &str, value: &'a Value) -> Result<Option<&'a Arc<str>>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Err(wrong(function, "a String", other)),
    }
}

/// An integer that counts or points.
fn integer(function: &str, value: &Value) -> Result<i64> {
    match value {
        Value::Integer(i) => Ok(*i),
        other => Err(wrong(function, "an Integer", other)),
    }
}

/// The value of a property of a node, relationship or map; none where it is absent.
fn property(rt: &QueryContext, function: &str, item: &Value, name: &str) -> Result<Option<Value>> {
    let properties = match item {
        Value::Node(id) => rt.all_node_properties(id.0)?,
        Value::Relationship(id) => rt.all_relationship_properties(id.0)?,
        item => return Ok(map(function, item)?.and_then(|map| map.get(name)).cloned()),
    };
    let found = properties.into_iter().find(|(key, _)| **key == *name);
    Ok(found.map(|(_, value)| value))
}

/// A count of characters or elements to make: at most what a Java array holds, as in APOC.
fn size(function: &str, value: &Value) -> Result<usize> {
    let given = integer(function, value)?;
    let fits = i32::try_from(given).ok();
    let fits = fits.and_then(|size| usize::try_from(size).ok());
    fits.ok_or_else(|| ExecError::Argument {
        message: told!(
            "{function}() needs a count from 0 to {}, got {given}",
            i32::MAX
        ),
    })
}

/// The text by which APOC makes a key of a value: that of Java's `toString`.
fn key(value: &Value) -> Result<Arc<str>> {
    if let Value::String(text) = value {
        return Ok(Arc::clone(text));
    }
    let mut written = Text::default();
    write_key(value, &mut written)?;
    match written.value()? {
        Value::String(text) => Ok(text),
        _ => Ok("".into()),
    }
}

fn write_key(value: &Value, out: &mut Text) -> Result<()> {
    work(1)?;
    match value {
        Value::String(text) => out.push(text),
        Value::List(items) => {
            out.push("[")?;
            for (at, item) in items.iter().enumerate() {
                out.push(if at > 0 { ", " } else { "" })?;
                write_key(item, out)?;
            }
            out.push("]")
        }
        Value::Map(map) => {
            let mut entries: Vec<_> = map
                .entries()
                .iter()
                .map(|(k, v)| (Arc::clone(k), v))
                .collect();
            hash_order::by_key(&mut entries);
            out.push("{")?;
            for (at, (name, item)) in entries.into_iter().enumerate() {
                out.push(if at > 0 { ", " } else { "" })?;
                out.push(&name)?;
                out.push("=")?;
                write_key(item, out)?;
            }
            out.push("}")
        }
        other => out.push(&other.to_string()),
    }
}

/// Charges for a value that was read to be compared, and counts the work.
fn charge_compared(value: &Value) -> Result<()> {
    let held = match value {
        Value::String(text) => text.len(),
        Value::List(items) => size_of_val(&**items),
        _ => 0,
    };
    work(1)?;
    charge(size_of::<(Value, &Value)>() + held)
}
