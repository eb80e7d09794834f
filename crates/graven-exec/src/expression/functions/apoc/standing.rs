//! `apoc.create.vNode`, `vRelationship` and `virtual.fromNode`: nodes and relationships that are
//! shown and are in no database; `graven.virtualPath` makes a path of them.

use std::sync::Arc;

use super::{list, map, text, wrong};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::{Map, Standing, Value};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.create.virtual.fromnode", (2, 2), from_node),
    Function::new("apoc.create.vnode", (1, 2), node),
    Function::new("apoc.create.vrelationship", (4, 4), relationship),
    Function::new("graven.virtualpath", (2, 2), path),
];

/// Keys and their values.
type Entries = Vec<(Arc<str>, Value)>;

fn made(standing: Standing, properties: Entries) -> Value {
    Value::Map(Arc::new(Map::standing_for(standing, properties)))
}

fn entries(function: &str, value: Option<&Value>) -> Result<Entries> {
    let given = value.map(|value| map(function, value)).transpose()?;
    let entries = given.flatten().map_or(&[][..], Map::entries);
    charge(2 * size_of_val(entries))?;
    work(entries.len())?;
    Ok(entries.to_vec())
}

fn node(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.create.vNode";
    let given = list(name, &args[0])?.unwrap_or_default();
    charge(2 * size_of_val(given))?;
    let label = |item: &Value| match item {
        Value::String(name) => Ok(Arc::clone(name)),
        other => Err(wrong(name, "labels that are Strings", other)),
    };
    let standing = Standing::Node {
        id: Standing::next_id(),
        labels: given.iter().map(label).collect::<Result<_>>()?,
    };
    Ok(made(standing, entries(name, args.get(1))?))
}

fn relationship(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.create.vRelationship";
    let [start, rel_type, given, end] = args else {
        return Ok(Value::Null);
    };
    let Some(rel_type) = text(name, rel_type)? else {
        return Err(wrong(name, "a type", rel_type));
    };
    if let Some(other) = [start, end].into_iter().find(|end| end.node_id().is_none()) {
        return Err(wrong(name, "a Node at each end", other));
    }
    let standing = Standing::Relationship {
        id: Standing::next_id(),
        rel_type: Arc::clone(rel_type),
        start: start.clone(),
        end: end.clone(),
    };
    Ok(made(standing, entries(name, Some(given))?))
}

/// A node with the labels and some of the properties of another one.
fn from_node(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.create.virtual.fromNode";
    let id = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Node(id) => id.0,
        other => return Err(wrong(name, "a Node", other)),
    };
    let wanted = list(name, &args[1])?.unwrap_or_default();
    let mut properties = rt.all_node_properties(id)?;
    work(properties.len().saturating_mul(wanted.len()))?;
    properties.retain(|(key, _)| {
        let mut wanted = wanted.iter();
        wanted.any(|one| matches!(one, Value::String(one) if one == key))
    });
    let standing = Standing::Node {
        id: Standing::next_id(),
        labels: rt.labels_of(id)?,
    };
    Ok(made(standing, properties))
}

/// A path of these nodes and of these relationships between them.
fn path(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "graven.virtualPath";
    let (Some(nodes), Some(relationships)) = (list(name, &args[0])?, list(name, &args[1])?) else {
        return Ok(Value::Null);
    };
    let is_path = nodes.len() == relationships.len() + 1
        && nodes.iter().all(|node| node.type_name() == "Node")
        && relationships
            .iter()
            .all(|it| it.type_name() == "Relationship");
    if !is_path {
        return Err(wrong(
            name,
            "nodes, and relationships between them",
            &args[1],
        ));
    }
    charge(2 * size_of_val(nodes) + 2 * size_of_val(relationships))?;
    let standing = Standing::Path {
        id: Standing::next_id(),
        nodes: nodes.to_vec(),
        relationships: relationships.to_vec(),
    };
    Ok(made(standing, Vec::new()))
}
