//! Functions of nodes, relationships and paths.

use std::sync::Arc;

use super::wrong;
use crate::error::Result;
use crate::expression::signature::{Function, MANY};
use crate::query_context::QueryContext;
use crate::value::{Standing, Value};
use crate::writing::computed_names;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "id",
        arity: (1, 1),
        body: id,
    },
    Function {
        name: "elementid",
        arity: (1, 1),
        body: element_id,
    },
    Function {
        name: "labels",
        arity: (1, 1),
        body: labels,
    },
    Function {
        name: "graven.label",
        arity: (1, 1),
        body: first_label,
    },
    Function {
        name: "type",
        arity: (1, 1),
        body: rel_type,
    },
    Function {
        name: "properties",
        arity: (1, 1),
        body: properties,
    },
    Function {
        name: "graven.has_all_labels",
        arity: (2, 2),
        body: has_all_labels,
    },
    Function {
        name: "graven.has_any_label",
        arity: (2, 2),
        body: has_any_label,
    },
    Function {
        name: "graven.is_labeled",
        arity: (1, 1),
        body: is_labeled,
    },
    Function {
        name: "graven.merge_maps",
        arity: (1, MANY),
        body: merge_maps,
    },
    Function {
        name: "keys",
        arity: (1, 1),
        body: keys,
    },
    Function {
        name: "startnode",
        arity: (1, 1),
        body: start_node,
    },
    Function {
        name: "endnode",
        arity: (1, 1),
        body: end_node,
    },
    Function {
        name: "nodes",
        arity: (1, 1),
        body: nodes,
    },
    Function {
        name: "relationships",
        arity: (1, 1),
        body: relationships,
    },
    Function {
        name: "length",
        arity: (1, 1),
        body: length,
    },
];

fn as_integer(id: u64) -> Value {
    Value::Integer(i64::try_from(id).unwrap_or(i64::MAX))
}

fn id(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Node(id) => Ok(as_integer(id.0)),
        Value::Relationship(id) => Ok(as_integer(id.0)),
        other => match other.standing() {
            Some(standing @ (Standing::Node { .. } | Standing::Relationship { .. })) => {
                Ok(Value::Integer(standing.id().cast_signed()))
            }
            _ => Err(wrong("id", "a Node or Relationship", other)),
        },
    }
}

fn element_id(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Node(id) => Ok(Value::text(&rt.element_id('n', id.0))),
        Value::Relationship(id) => Ok(Value::text(&rt.element_id('r', id.0))),
        other => match other.standing() {
            Some(Standing::Node { id, .. }) => Ok(Value::text(&rt.element_id('n', *id))),
            Some(Standing::Relationship { id, .. }) => Ok(Value::text(&rt.element_id('r', *id))),
            _ => Err(wrong("elementId", "a Node or Relationship", other)),
        },
    }
}

fn labels(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Node(id) => Ok(Value::list(
            rt.labels_of(id.0)?.into_iter().map(Value::String).collect(),
        )),
        other => match other.standing() {
            Some(Standing::Node { labels, .. }) => {
                let labels = labels.iter().cloned().map(Value::String);
                Ok(Value::list(labels.collect()))
            }
            _ => Err(wrong("labels", "a Node", other)),
        },
    }
}

/// The first label of a node, or the type of a relationship.
fn first_label(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Node(id) => {
            let first = rt.labels_of(id.0)?.into_iter().next();
            Ok(first.map_or(Value::Null, Value::String))
        }
        _ => rel_type(rt, args),
    }
}

fn is_labeled(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Node(id) => Ok(Value::Boolean(!rt.labels_of(id.0)?.is_empty())),
        Value::Relationship(_) => Ok(Value::Boolean(true)),
        other => Err(wrong("%", "a Node or Relationship", other)),
    }
}

fn has_all_labels(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    has_labels(rt, args, false)
}

fn has_any_label(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    has_labels(rt, args, true)
}

/// Whether a node or relationship has all of the labels or types that the second argument names, or
/// with `any` one.
fn has_labels(rt: &QueryContext, args: &[Value], any: bool) -> Result<Value> {
    let names = computed_names(&args[1])?;
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let rel_type = match &args[0] {
        Value::Relationship(id) => Some(rt.relationship_type(id.0)?),
        _ => None,
    };
    for name in names {
        let has = match &args[0] {
            Value::Node(id) => rt.has_all_labels(id.0, &[rt.label_id(&name)])?,
            Value::Relationship(_) => rt.type_id(&name) == rel_type,
            other => return Err(wrong(":$(...)", "a Node or Relationship", other)),
        };
        if has == any {
            return Ok(Value::Boolean(any));
        }
    }
    Ok(Value::Boolean(!any))
}

fn rel_type(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Relationship(id) => Ok(Value::String(rt.type_name(rt.relationship_type(id.0)?))),
        other => match other.standing() {
            Some(Standing::Relationship { rel_type, .. }) => {
                Ok(Value::String(Arc::clone(rel_type)))
            }
            _ => Err(wrong("type", "a Relationship", other)),
        },
    }
}

pub(super) fn properties(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Map(map) if map.standing().is_some() => Ok(Value::map(map.entries().to_vec())),
        Value::Null | Value::Map(_) => Ok(args[0].clone()),
        Value::Node(id) => Ok(Value::map(rt.all_node_properties(id.0)?)),
        Value::Relationship(id) => Ok(Value::map(rt.all_relationship_properties(id.0)?)),
        other => Err(wrong("properties", "a Node, Relationship or Map", other)),
    }
}

/// Behind map projections: all entries, later maps win, null maps are skipped.
fn merge_maps(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let mut entries = Vec::new();
    for arg in args {
        match arg {
            Value::Null => {}
            Value::Map(map) => entries.extend(map.entries().iter().cloned()),
            other => return Err(wrong("map projection", "a Map", other)),
        }
    }
    Ok(Value::map(entries))
}

fn keys(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let entries = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Map(map) => map.entries().to_vec(),
        Value::Node(id) => rt.all_node_properties(id.0)?,
        Value::Relationship(id) => rt.all_relationship_properties(id.0)?,
        other => return Err(wrong("keys", "a Node, Relationship or Map", other)),
    };
    Ok(Value::list(
        entries
            .into_iter()
            .map(|(key, _)| Value::String(key))
            .collect(),
    ))
}

fn start_node(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Relationship(id) => Ok(match rt.ends(id.0)? {
            Some(ends) => Value::Node(ends.0),
            None => Value::Null,
        }),
        other => match other.standing() {
            Some(Standing::Relationship { start, .. }) => Ok(start.clone()),
            _ => Err(wrong("startNode", "a Relationship", other)),
        },
    }
}

fn end_node(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Relationship(id) => Ok(match rt.ends(id.0)? {
            Some(ends) => Value::Node(ends.1),
            None => Value::Null,
        }),
        other => match other.standing() {
            Some(Standing::Relationship { end, .. }) => Ok(end.clone()),
            _ => Err(wrong("endNode", "a Relationship", other)),
        },
    }
}

fn nodes(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Path(path) => Ok(Value::List(
            path.nodes
                .iter()
                .map(|n| Value::Node(*n))
                .collect::<Arc<[_]>>(),
        )),
        other => match other.standing() {
            Some(Standing::Path { nodes, .. }) => Ok(Value::list(nodes.clone())),
            _ => Err(wrong("nodes", "a Path", other)),
        },
    }
}

fn relationships(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Path(path) => Ok(Value::List(
            path.relationships
                .iter()
                .map(|r| Value::Relationship(*r))
                .collect::<Arc<[_]>>(),
        )),
        other => match other.standing() {
            Some(Standing::Path { relationships, .. }) => Ok(Value::list(relationships.clone())),
            _ => Err(wrong("relationships", "a Path", other)),
        },
    }
}

fn length(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Path(path) => Ok(as_integer(path.relationships.len() as u64)),
        other => match other.standing() {
            Some(Standing::Path { relationships, .. }) => {
                Ok(as_integer(relationships.len() as u64))
            }
            _ => Err(wrong("length", "a Path", other)),
        },
    }
}
