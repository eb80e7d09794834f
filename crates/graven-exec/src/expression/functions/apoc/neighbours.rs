//! `apoc.nodes` and `apoc.node.relationships`: how nodes hang together.
//!
//! # Cost
//! Whether two nodes are connected is looked up in the lists of the first one, of each type.

use std::sync::Arc;

use super::graph::{Found, named_types, relationships};
use super::{text, wrong};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::{Items, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_storage::{Direction, NodeId};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.node.relationships.exist", (1, 2), |rt, args| {
        exist(rt, "apoc.node.relationships.exist", &args[0], args.get(1))
    }),
    Function::new("apoc.nodes.connected", (2, 3), connected),
    Function::new("apoc.nodes.isdense", (1, 1), is_dense),
    Function::new("apoc.nodes.relationship.types", (1, 2), |rt, args| {
        let name = "apoc.nodes.relationship.types";
        each(name, &args[0], |node| {
            let found = relationships(rt, name, node, args.get(1))?;
            Ok(("types".into(), found.map_or(Value::Null, Found::types)))
        })
    }),
    Function::new("apoc.nodes.relationships.exist", (1, 2), |rt, args| {
        let name = "apoc.nodes.relationships.exist";
        if matches!(args.get(1), None | Some(Value::Null))
            || matches!(args.get(1), Some(Value::String(types)) if types.is_empty())
        {
            return Ok(Value::list(Vec::new()));
        }
        each(name, &args[0], |node| {
            Ok(("exists".into(), exist(rt, name, node, args.get(1))?))
        })
    }),
];

/// Relationships of a node that Neo4j calls dense.
const DENSE: u64 = 50;

/// A map for each of the nodes: the `node` and what is told of it.
fn each(
    name: &str,
    nodes: &Value,
    told: impl Fn(&Value) -> Result<(Arc<str>, Value)>,
) -> Result<Value> {
    let nodes = match nodes {
        Value::Null => &[],
        Value::List(nodes) => &nodes[..],
        one => std::slice::from_ref(one),
    };
    let mut rows = Items::default();
    for node in nodes {
        if !matches!(node, Value::Node(_)) {
            return Err(wrong(name, "Nodes", node));
        }
        rows.push(Value::map(vec![("node".into(), node.clone()), told(node)?]))?;
    }
    rows.value()
}

/// For each type that is named whether the node has such relationships; null where none is.
fn exist(rt: &QueryContext, name: &str, node: &Value, types: Option<&Value>) -> Result<Value> {
    let given = types.map(|value| text(name, value)).transpose()?;
    let given = given.flatten().map_or("", |text| text);
    if node.is_null() || given.is_empty() {
        return Ok(Value::Null);
    }
    let parts = given.split('|').map(|part| Value::text(part.trim()));
    let mut found = Vec::new();
    for part in parts {
        work(1)?;
        let there = relationships(rt, name, node, Some(&part))?;
        let there = there.is_some_and(|there| there.total > 0);
        if let Value::String(part) = part {
            found.push((part, Value::Boolean(there)));
        }
    }
    Ok(Value::map(found))
}

fn connected(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.nodes.connected";
    let node = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::Node(id) => Ok(Some(NodeId(id.0))),
        other => Err(wrong(name, "a Node", other)),
    };
    let (Some(start), Some(end)) = (node(&args[0])?, node(&args[1])?) else {
        return Ok(Value::Boolean(false));
    };
    if start == end {
        return Ok(Value::Boolean(true));
    }
    for (rel_type, direction) in named_types(rt, name, args.get(2))? {
        let directions = match direction {
            Some(Direction::Out) => &[Direction::Out][..],
            Some(Direction::In) => &[Direction::In],
            None => &[Direction::Out, Direction::In],
        };
        for direction in directions {
            let adjacency = rt.snapshot.adjacency(rel_type, *direction)?;
            let found = adjacency.with_list(start, |list| Ok(!list.positions(end)?.is_empty()))?;
            if found == Some(true) {
                return Ok(Value::Boolean(true));
            }
        }
    }
    Ok(Value::Boolean(false))
}

fn is_dense(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let found = relationships(rt, "apoc.nodes.isDense", &args[0], None)?;
    Ok(found.map_or(Value::Null, |found| Value::Boolean(found.total >= DENSE)))
}
