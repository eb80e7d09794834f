//! Nodes, relationships and paths as the maps that files hold of them.
//!
//! # How it works
//! A node is `{id, labels, properties}`, a relationship `{id, type, start, end, properties}` with
//! the ids of its ends, a path `{nodes, relationships}`: no property can hide a key of the map. Ids
//! are those of the database.

use std::sync::Arc;

use graven_storage::{NodeId, RelId};

use crate::error::Result;
use crate::query_context::QueryContext;
use crate::value::{Map, Value};

/// Whether there is a node, relationship or path in the value.
pub(super) fn holds_entity(value: &Value) -> bool {
    match value {
        Value::Node(_) | Value::Relationship(_) | Value::Path(_) => true,
        Value::List(items) => items.iter().any(holds_entity),
        Value::Map(map) => map.entries().iter().any(|(_, value)| holds_entity(value)),
        _ => false,
    }
}

/// The value with maps in the place of nodes, relationships and paths.
pub(super) fn as_data(rt: &QueryContext, value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Node(id) => node(rt, *id)?,
        Value::Relationship(id) => relationship(rt, *id)?,
        Value::Path(path) => {
            let nodes = path.nodes.iter().map(|id| node(rt, *id));
            let relationships = path.relationships.iter().map(|id| relationship(rt, *id));
            map([
                ("nodes", Value::list(nodes.collect::<Result<_>>()?)),
                (
                    "relationships",
                    Value::list(relationships.collect::<Result<_>>()?),
                ),
            ])
        }
        Value::List(items) if holds_entity(value) => {
            let items = items.iter().map(|item| as_data(rt, item));
            Value::list(items.collect::<Result<_>>()?)
        }
        Value::Map(of) if holds_entity(value) => {
            let entries = of.entries().iter();
            let entries = entries.map(|(key, value)| Ok((key.clone(), as_data(rt, value)?)));
            Value::Map(Arc::new(Map::new(entries.collect::<Result<_>>()?)))
        }
        other => other.clone(),
    })
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(key, value)| (Arc::from(key), value));
    Value::map(entries.into())
}

fn integer(id: u64) -> Value {
    Value::Integer(i64::try_from(id).unwrap_or(i64::MAX))
}

fn node(rt: &QueryContext, id: NodeId) -> Result<Value> {
    let labels = rt.labels_of(id.0)?.into_iter().map(Value::String);
    Ok(map([
        ("id", integer(id.0)),
        ("labels", Value::list(labels.collect())),
        ("properties", Value::map(rt.all_node_properties(id.0)?)),
    ]))
}

fn relationship(rt: &QueryContext, id: RelId) -> Result<Value> {
    let (start, end) = rt.endpoints(id.0)?;
    let of = rt.type_name(rt.relationship_type(id.0)?);
    let properties = rt.all_relationship_properties(id.0)?;
    Ok(map([
        ("id", integer(id.0)),
        ("type", Value::String(of)),
        ("start", integer(start.0)),
        ("end", integer(end.0)),
        ("properties", Value::map(properties)),
    ]))
}
