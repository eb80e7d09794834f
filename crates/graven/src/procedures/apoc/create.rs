//! `apoc.create.*`: nodes and relationships with computed labels, types and properties, and such as
//! are only shown.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Map, Standing, Value};

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::Call;
use super::{NODE, RELATIONSHIP};
use crate::right::Right;

const NODES_AND_LABELS: (&[Field], usize) =
    (&[("nodes", TypeSet::ANY), ("labels", TypeSet::LIST)], 2);

const LABELS_AND_PROPERTIES: &[Field] = &[("labels", TypeSet::LIST), ("props", TypeSet::MAP)];

const FROM_TO: &[Field] = &[
    ("from", TypeSet::ANY),
    ("relType", TypeSet::STRING),
    ("props", TypeSet::MAP),
    ("to", TypeSet::ANY),
];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.create.addLabels",
        "adds labels to nodes",
        NODES_AND_LABELS,
        Right::Write,
        NODE,
        Body::Statement("UNWIND $nodes AS node SET node:$($labels) RETURN node"),
    ),
    procedure(
        "apoc.create.node",
        "makes a node",
        (LABELS_AND_PROPERTIES, 2),
        Right::Write,
        NODE,
        Body::Statement(
            "CREATE (node:$(coalesce($labels, []))) SET node = coalesce($props, {}) RETURN node",
        ),
    ),
    procedure(
        "apoc.create.nodes",
        "makes a node with these labels for each map of properties",
        (&[("labels", TypeSet::LIST), ("props", TypeSet::LIST)], 2),
        Right::Write,
        NODE,
        Body::Statement(
            "UNWIND $props AS own CREATE (node:$(coalesce($labels, []))) SET node = own \
                RETURN node",
        ),
    ),
    procedure(
        "apoc.create.relationship",
        "makes a relationship",
        (FROM_TO, 4),
        Right::Write,
        RELATIONSHIP,
        Body::Statement(
            "WITH $from AS a, $to AS b CREATE (a)-[rel:$($relType)]->(b) \
                SET rel = coalesce($props, {}) RETURN rel",
        ),
    ),
    procedure(
        "apoc.create.removeLabels",
        "removes labels from nodes",
        NODES_AND_LABELS,
        Right::Write,
        NODE,
        Body::Statement("UNWIND $nodes AS node REMOVE node:$($labels) RETURN node"),
    ),
    procedure(
        "apoc.create.removeProperties",
        "removes properties of these keys from nodes",
        (&[("nodes", TypeSet::ANY), ("keys", TypeSet::LIST)], 2),
        Right::Write,
        NODE,
        Body::Statement(
            "UNWIND $nodes AS node FOREACH (key IN $keys | SET node[key] = null) RETURN node",
        ),
    ),
    procedure(
        "apoc.create.removeRelProperties",
        "removes properties of these keys from relationships",
        (&[("rels", TypeSet::ANY), ("keys", TypeSet::LIST)], 2),
        Right::Write,
        RELATIONSHIP,
        Body::Statement(
            "UNWIND $rels AS rel FOREACH (key IN $keys | SET rel[key] = null) RETURN rel",
        ),
    ),
    procedure(
        "apoc.create.setLabels",
        "gives nodes these labels, and no others",
        NODES_AND_LABELS,
        Right::Write,
        NODE,
        Body::Statement(
            "UNWIND $nodes AS node WITH node, [l IN labels(node) WHERE NOT l IN $labels] AS old \
                REMOVE node:$(old) SET node:$($labels) RETURN node",
        ),
    ),
    procedure(
        "apoc.create.setProperties",
        "sets properties of nodes: keys and values in the same order",
        (
            &[
                ("nodes", TypeSet::ANY),
                ("keys", TypeSet::LIST),
                ("values", TypeSet::LIST),
            ],
            3,
        ),
        Right::Write,
        NODE,
        Body::Statement(
            "UNWIND $nodes AS node FOREACH (i IN range(0, size($keys) - 1) | \
                SET node[$keys[i]] = $values[i]) RETURN node",
        ),
    ),
    procedure(
        "apoc.create.setProperty",
        "sets a property of nodes",
        (
            &[
                ("nodes", TypeSet::ANY),
                ("key", TypeSet::STRING),
                ("value", TypeSet::ANY),
            ],
            3,
        ),
        Right::Write,
        NODE,
        Body::Statement("UNWIND $nodes AS node SET node[$key] = $value RETURN node"),
    ),
    procedure(
        "apoc.create.setRelProperties",
        "sets properties of relationships: keys and values in the same order",
        (
            &[
                ("rels", TypeSet::ANY),
                ("keys", TypeSet::LIST),
                ("values", TypeSet::LIST),
            ],
            3,
        ),
        Right::Write,
        RELATIONSHIP,
        Body::Statement(
            "UNWIND $rels AS rel FOREACH (i IN range(0, size($keys) - 1) | \
                SET rel[$keys[i]] = $values[i]) RETURN rel",
        ),
    ),
    procedure(
        "apoc.create.setRelProperty",
        "sets a property of relationships",
        (
            &[
                ("rels", TypeSet::ANY),
                ("key", TypeSet::STRING),
                ("value", TypeSet::ANY),
            ],
            3,
        ),
        Right::Write,
        RELATIONSHIP,
        Body::Statement("UNWIND $rels AS rel SET rel[$key] = $value RETURN rel"),
    ),
    procedure(
        "apoc.create.uuids",
        "so many random UUIDs",
        (&[("count", TypeSet::INTEGER)], 1),
        Right::Read,
        &[("row", TypeSet::INTEGER), ("uuid", TypeSet::STRING)],
        Body::Statement("UNWIND range(0, $count - 1) AS row RETURN row, randomUUID() AS uuid"),
    ),
    procedure(
        "apoc.create.vNode",
        "a node that is shown, and is not in the database",
        (LABELS_AND_PROPERTIES, 1),
        Right::Read,
        &[("node", TypeSet::ANY)],
        Body::OfCall(shown_node),
    ),
    procedure(
        "apoc.create.vRelationship",
        "a relationship that is shown, and is not in the database",
        (FROM_TO, 4),
        Right::Read,
        &[("rel", TypeSet::ANY)],
        Body::OfCall(shown_relationship),
    ),
];

fn properties(call: &Call<'_>, given: Option<&Value>) -> Result<Vec<(Arc<str>, Value)>, ExecError> {
    match given {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Map(map)) => Ok(map.entries().to_vec()),
        Some(other) => {
            let told = format!("properties are a Map, not {}", other.type_name());
            Err(call.failed(told))
        }
    }
}

fn shown_node(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let labels = match &args[0] {
        Value::Null => Vec::new(),
        Value::List(items) => {
            let text = |item: &Value| match item {
                Value::String(name) => Ok(Arc::clone(name)),
                other => {
                    Err(call.failed(format!("a label is a String, not {}", other.type_name())))
                }
            };
            items.iter().map(text).collect::<Result<_, _>>()?
        }
        other => return Err(call.failed(format!("labels are a List, not {}", other.type_name()))),
    };
    let id = Standing::next_id();
    let standing = Standing::Node { id, labels };
    let map = Map::standing_for(standing, properties(call, args.get(1))?);
    Ok(vec![vec![Value::Map(Arc::new(map))]])
}

fn shown_relationship(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let [start, Value::String(rel_type), given, end] = args else {
        return Err(call.failed("give a node, a type, properties and another node"));
    };
    if let Some(other) = [start, end].into_iter().find(|end| end.node_id().is_none()) {
        let told = format!(
            "a relationship leads from Node to Node, not {}",
            other.type_name()
        );
        return Err(call.failed(told));
    }
    let standing = Standing::Relationship {
        id: Standing::next_id(),
        rel_type: Arc::clone(rel_type),
        start: start.clone(),
        end: end.clone(),
    };
    let map = Map::standing_for(standing, properties(call, Some(given))?);
    Ok(vec![vec![Value::Map(Arc::new(map))]])
}
