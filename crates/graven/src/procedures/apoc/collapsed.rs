//! `apoc.nodes.collapse`: one node that stands for several, with the relationships that leave them.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Map, Standing, Value};
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Procedure, procedure};
use super::super::inner::Call;
use super::refactor_nodes::{Kept, Policy, is_wanted};
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[procedure(
    "apoc.nodes.collapse",
    "a node that stands for all of the nodes, and relationships between it and others",
    (&[("nodes", TypeSet::LIST), ("config", TypeSet::MAP)], 1),
    Right::Read,
    &[
        ("from", TypeSet::ANY),
        ("rel", TypeSet::ANY),
        ("to", TypeSet::ANY),
    ],
    Body::OfCall(collapse),
)];

/// A relationship that stands for others.
struct Made {
    rel_type: Arc<str>,
    /// Whether it begins at the node that stands for all.
    leaves: bool,
    /// The other end; none: that node itself.
    other: Option<Value>,
    /// Properties of those that it stands for.
    properties: Vec<Value>,
}

const NODES: &str = "UNWIND $nodes AS n RETURN labels(n), properties(n)";
const RELATIONSHIPS: &str = "UNWIND range(0, size($nodes) - 1) AS at WITH at, $nodes[at] AS n \
    MATCH (n)-[r]-(m) \
    RETURN at, type(r), startNode(r) = n AS leaves, m, properties(r), m IN $nodes AS inside, r \
    ORDER BY at, id(r)";

fn collapse(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let mut nodes: Vec<Value> = Vec::new();
    match &args[0] {
        Value::Null => {}
        Value::List(items) => {
            for node in items.iter().filter(|node| !node.is_null()) {
                if !nodes.contains(node) {
                    nodes.push(node.clone());
                }
            }
        }
        other => return Err(call.failed(told!("nodes is a List, not {}", other.type_name()))),
    }
    match &nodes[..] {
        [] => return Ok(Rows::new()),
        [one] => return Ok(vec![vec![one.clone(), Value::Null, Value::Null]]),
        _ => {}
    }
    let config = args.get(1);
    let counts = is_wanted(config, "countMerge", true);
    let together = is_wanted(config, "mergeRelsVirtual", true);
    let count = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    let params = vec![(Arc::from("nodes"), Value::list(nodes))];
    let held = call.rows(NODES, params.clone())?;
    let policy = Policy::of(call, config, Kept::Last)?;
    let properties = policy.together(held.iter().map(|row| &row[1]));
    let properties = with_count(&properties, counts.then_some(count));
    let mut labels: Vec<Arc<str>> = Vec::new();
    if is_wanted(config, "collapsedLabel", false) {
        labels.push(Arc::from("Collapsed"));
    }
    for row in &held {
        let Value::List(own) = &row[0] else { continue };
        for label in own.iter() {
            match label {
                Value::String(name) if !labels.contains(name) => labels.push(Arc::clone(name)),
                _ => {}
            }
        }
    }
    let id = Standing::next_id();
    let standing = Map::standing_for(Standing::Node { id, labels }, properties);
    let standing = Value::Map(Arc::new(standing));
    let mut made: Vec<Made> = Vec::new();
    for row in call.rows(RELATIONSHIPS, params)? {
        let [_, Value::String(rel_type), leaves, other, own, inside, _] = &row[..] else {
            continue;
        };
        let inside = *inside == Value::Boolean(true);
        if inside && !is_wanted(config, "selfRel", false) {
            continue;
        }
        let other = (!inside).then(|| other.clone());
        let leaves = inside || *leaves == Value::Boolean(true);
        let mut all = made.iter_mut();
        let same = all.find(|it| {
            together && it.rel_type == *rel_type && it.leaves == leaves && it.other == other
        });
        match same {
            Some(same) => same.properties.push(own.clone()),
            None => made.push(Made {
                rel_type: Arc::clone(rel_type),
                leaves,
                other,
                properties: vec![own.clone()],
            }),
        }
    }
    if made.is_empty() {
        return Ok(vec![vec![standing, Value::Null, Value::Null]]);
    }
    let of_relationships = Policy::of(call, config, Kept::All)?;
    let row = |made: Made| {
        let properties = of_relationships.together(made.properties.iter());
        let merged = i64::try_from(made.properties.len() - 1).unwrap_or(i64::MAX);
        let properties = with_count(&properties, Some(merged).filter(|n| counts && *n > 0));
        let other = made.other.unwrap_or_else(|| standing.clone());
        let (start, end) = match made.leaves {
            true => (standing.clone(), other),
            false => (other, standing.clone()),
        };
        let relationship = Standing::Relationship {
            id: Standing::next_id(),
            rel_type: made.rel_type,
            start: start.clone(),
            end: end.clone(),
        };
        let relationship = Value::Map(Arc::new(Map::standing_for(relationship, properties)));
        vec![start, relationship, end]
    };
    Ok(made.into_iter().map(row).collect())
}

/// The entries of a map, and how many things they are of.
fn with_count(properties: &Value, count: Option<i64>) -> Vec<(Arc<str>, Value)> {
    let mut all = match properties {
        Value::Map(map) => map.entries().to_vec(),
        _ => Vec::new(),
    };
    all.extend(count.map(|count| (Arc::from("count"), Value::Integer(count))));
    all
}
