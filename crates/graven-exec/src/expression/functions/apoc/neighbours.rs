//! `apoc.nodes` and `apoc.node.relationships`: how nodes hang together.
//!
//! # Cost
//! Whether two nodes are connected is looked up in the lists of the first one, of each type.

use super::graph::{named_types, relationships};
use super::{text, wrong};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::work;
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_storage::{Direction, NodeId};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.node.relationships.exist", (1, 2), exist),
    Function::new("apoc.nodes.connected", (2, 3), connected),
    Function::new("apoc.nodes.isdense", (1, 1), is_dense),
];

/// Relationships of a node that Neo4j calls dense.
const DENSE: u64 = 50;

/// For each type that is named, or that there is, whether the node has such relationships.
fn exist(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.node.relationships.exist";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let given = args.get(1).map(|value| text(name, value)).transpose()?;
    let given = given.flatten().map_or("", |text| text);
    let parts: Vec<Value> = match given.trim() {
        "" => {
            let types = rt.snapshot.catalog().types();
            types.iter().map(|own| Value::text(own)).collect()
        }
        given => given
            .split('|')
            .map(|part| Value::text(part.trim()))
            .collect(),
    };
    let mut found = Vec::new();
    for part in parts {
        work(1)?;
        let there = relationships(rt, name, &args[0], Some(&part), None)?;
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
        return Ok(Value::Null);
    };
    for (rel_type, direction) in named_types(rt, name, args.get(2), None)? {
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
    let found = relationships(rt, "apoc.nodes.isDense", &args[0], None, None)?;
    Ok(found.map_or(Value::Null, |found| Value::Boolean(found.total >= DENSE)))
}
