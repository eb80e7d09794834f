//! `apoc.any`, `apoc.diff` and what reads all properties of a node, relationship or map.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::convert::type_name;
use super::{list, text};
use crate::error::Result;
use crate::expression::functions::number::random_uuid;
use crate::expression::property::index;
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::equality::equivalent;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.any.properties",
        arity: (1, 2),
        body: properties,
    },
    Function {
        name: "apoc.any.property",
        arity: (2, 2),
        body: property,
    },
    Function {
        name: "apoc.create.uuid",
        arity: (0, 0),
        body: |_, _| Ok(Value::text(&random_uuid())),
    },
    Function::new("apoc.diff.nodes", (2, 2), differences),
    Function {
        name: "apoc.meta.cypher.types",
        arity: (1, 1),
        body: types,
    },
];

/// Keys and their values.
type Entries = Vec<(Arc<str>, Value)>;

/// Keys and values of a node, relationship or map; none of other values.
fn entries(rt: &QueryContext, value: &Value) -> Result<Option<Entries>> {
    Ok(Some(match value {
        Value::Map(map) => map.entries().to_vec(),
        Value::Node(id) => rt.all_node_properties(id.0)?,
        Value::Relationship(id) => rt.all_relationship_properties(id.0)?,
        _ => return Ok(None),
    }))
}

fn properties(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.any.properties";
    let Some(mut all) = entries(rt, &args[0])? else {
        return Ok(Value::Null);
    };
    if let Some(wanted) = args.get(1)
        && let Some(wanted) = list(name, wanted)?
    {
        let is_wanted = |key: &str| {
            let mut wanted = wanted.iter();
            wanted.any(|one| matches!(one, Value::String(one) if **one == *key))
        };
        all.retain(|(key, _)| is_wanted(key));
    }
    Ok(Value::map(all))
}

fn property(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.any.property";
    match (&args[0], text(name, &args[1])?) {
        (base @ (Value::Map(_) | Value::Node(_) | Value::Relationship(_)), Some(_)) => {
            index(base, &args[1], rt)
        }
        _ => Ok(Value::Null),
    }
}

/// The types of properties by their keys.
fn types(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let all = entries(rt, &args[0])?.unwrap_or_default();
    let typed = all.into_iter();
    let typed = typed.map(|(key, value)| (key, Value::text(&type_name(&value))));
    Ok(Value::map(typed.collect()))
}

/// How the properties of two nodes, relationships or maps differ.
fn differences(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Some(left), Some(right)) = (entries(rt, &args[0])?, entries(rt, &args[1])?) else {
        return Ok(Value::Null);
    };
    let mut others: BTreeMap<Arc<str>, Value> = right.into_iter().collect();
    let (mut left_only, mut common, mut different) = (Vec::new(), Vec::new(), Vec::new());
    for (key, own) in left {
        work(1)?;
        charge(2 * size_of::<(Arc<str>, Value)>())?;
        match others.remove(&key) {
            None => left_only.push((key, own)),
            Some(other) if equivalent(&own, &other) => common.push((key, own)),
            Some(other) => {
                let both = Value::map(vec![("left".into(), own), ("right".into(), other)]);
                different.push((key, both));
            }
        }
    }
    Ok(Value::map(vec![
        ("leftOnly".into(), Value::map(left_only)),
        ("rightOnly".into(), Value::map(others.into_iter().collect())),
        ("inCommon".into(), Value::map(common)),
        ("different".into(), Value::map(different)),
    ]))
}
