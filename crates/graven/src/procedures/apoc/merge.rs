//! `apoc.merge.*`: finds or makes nodes and relationships with computed labels, types and keys.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::name::quoted;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Named, Procedure, procedure};
use super::super::inner::Call;
use super::run::{changes, written};
use super::{NODE, RELATIONSHIP};
use crate::right::Right;

const NODE_ARGUMENTS: (&[Field], usize) = (
    &[
        ("labels", TypeSet::LIST),
        ("identProps", TypeSet::MAP),
        ("onCreateProps", TypeSet::MAP),
        ("onMatchProps", TypeSet::MAP),
    ],
    2,
);

const RELATIONSHIP_ARGUMENTS: (&[Field], usize) = (
    &[
        ("startNode", TypeSet::NODE),
        ("relType", TypeSet::STRING),
        ("identProps", TypeSet::MAP),
        ("onCreateProps", TypeSet::MAP),
        ("endNode", TypeSet::NODE),
        ("onMatchProps", TypeSet::MAP),
    ],
    5,
);

const NODE_AND_STATS: &[Field] = &[("stats", TypeSet::MAP), ("node", TypeSet::NODE)];
const RELATIONSHIP_AND_STATS: &[Field] = &[("stats", TypeSet::MAP), ("rel", TypeSet::RELATIONSHIP)];

const FINDS_NODE: &str = "finds a node by its labels and properties, or makes it";
const FINDS_RELATIONSHIP: &str = "finds a relationship by its type and properties, or makes it";

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.merge.node",
        FINDS_NODE,
        NODE_ARGUMENTS,
        Right::Write,
        NODE,
        Body::Made(node),
    ),
    procedure(
        "apoc.merge.node.eager",
        FINDS_NODE,
        NODE_ARGUMENTS,
        Right::Write,
        NODE,
        Body::Made(node),
    ),
    procedure(
        "apoc.merge.relationship",
        FINDS_RELATIONSHIP,
        RELATIONSHIP_ARGUMENTS,
        Right::Write,
        RELATIONSHIP,
        Body::Made(relationship),
    ),
    procedure(
        "apoc.merge.relationship.eager",
        FINDS_RELATIONSHIP,
        RELATIONSHIP_ARGUMENTS,
        Right::Write,
        RELATIONSHIP,
        Body::Made(relationship),
    ),
    procedure(
        "apoc.merge.nodeWithStats",
        FINDS_NODE,
        NODE_ARGUMENTS,
        Right::Write,
        NODE_AND_STATS,
        Body::OfCall(node_with_stats),
    ),
    procedure(
        "apoc.merge.nodeWithStats.eager",
        FINDS_NODE,
        NODE_ARGUMENTS,
        Right::Write,
        NODE_AND_STATS,
        Body::OfCall(node_with_stats),
    ),
    procedure(
        "apoc.merge.relationshipWithStats",
        FINDS_RELATIONSHIP,
        RELATIONSHIP_ARGUMENTS,
        Right::Write,
        RELATIONSHIP_AND_STATS,
        Body::OfCall(relationship_with_stats),
    ),
    procedure(
        "apoc.merge.relationshipWithStats.eager",
        FINDS_RELATIONSHIP,
        RELATIONSHIP_ARGUMENTS,
        Right::Write,
        RELATIONSHIP_AND_STATS,
        Body::OfCall(relationship_with_stats),
    ),
];

/// Runs the statement that is made of the arguments; each row with what all of it has changed.
fn with_stats(
    call: &Call<'_>,
    fields: &[Field],
    args: &[Value],
    make: fn(&Named<'_>) -> Result<String, String>,
) -> Result<Rows, ExecError> {
    let named = fields.iter().map(|(name, _)| Arc::from(*name));
    let given = args.iter().cloned().chain(std::iter::repeat(Value::Null));
    let params: Vec<(Arc<str>, Value)> = named.zip(given).collect();
    let (text, _room) = call.made(&params, || make(&Named(&params)))?;
    let before = written(call);
    let rows = call.rows(&text, params)?;
    let stats = Value::map(changes(before, written(call)));
    let with = |row: Vec<Value>| [stats.clone()].into_iter().chain(row).collect();
    Ok(rows.into_iter().map(with).collect())
}

fn node_with_stats(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    with_stats(call, NODE_ARGUMENTS.0, args, node)
}

fn relationship_with_stats(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    with_stats(call, RELATIONSHIP_ARGUMENTS.0, args, relationship)
}

/// ` {key: $identProps.key, ...}`, or nothing.
fn keys(properties: &Value) -> Result<String, String> {
    let Value::Map(map) = properties else {
        return match properties {
            Value::Null => Ok(String::new()),
            other => Err(told!("identProps is a Map, not {}", other.type_name())),
        };
    };
    let keys = map.entries().iter().map(|(key, _)| {
        let key = quoted(key);
        format!("{key}: $identProps.{key}")
    });
    let keys: Vec<String> = keys.collect();
    Ok(match keys.is_empty() {
        true => String::new(),
        false => format!(" {{{}}}", keys.join(", ")),
    })
}

fn sets(variable: &str) -> String {
    format!(
        "ON CREATE SET {variable} += coalesce($onCreateProps, {{}}) \
            ON MATCH SET {variable} += coalesce($onMatchProps, {{}}) RETURN {variable}"
    )
}

fn node(args: &Named<'_>) -> Result<String, String> {
    let keys = keys(args.get("identProps"))?;
    if keys.is_empty() {
        return Err("identProps names no property: give one at least".to_owned());
    }
    let mut labels = String::new();
    match args.get("labels") {
        Value::Null => {}
        Value::List(items) => {
            for item in items.iter() {
                match item {
                    Value::String(name) if !name.is_empty() => {
                        labels.push(':');
                        labels.push_str(&quoted(name));
                    }
                    other => {
                        return Err(told!("a label is a text that is not empty, not {other}"));
                    }
                }
            }
        }
        other => return Err(told!("labels are a List, not {}", other.type_name())),
    }
    Ok(format!("MERGE (node{labels}{keys}) {}", sets("node")))
}

fn relationship(args: &Named<'_>) -> Result<String, String> {
    let keys = keys(args.get("identProps"))?;
    let rel_type = match args.get("relType") {
        Value::String(name) if !name.is_empty() => quoted(name),
        other => return Err(told!("relType is a text that is not empty, not {other}")),
    };
    Ok(format!(
        "WITH $startNode AS a, $endNode AS b MERGE (a)-[rel:{rel_type}{keys}]->(b) {}",
        sets("rel")
    ))
}
