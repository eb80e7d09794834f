//! `apoc.refactor.cloneSubgraph`, `cloneSubgraphFromPaths`, `categorize` and `mergeRelationships`:
//! changes of several nodes and relationships together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::name::quoted;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Procedure, procedure};
use super::super::inner::Call;
use super::RELATIONSHIP;
use super::refactor::COPIED;
use super::refactor_nodes::{Kept, Policy};
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.refactor.categorize",
        "a node for each value of a property, and relationships to it in place of the property",
        (
            &[
                ("sourceKey", TypeSet::STRING),
                ("type", TypeSet::STRING),
                ("outgoing", TypeSet::BOOLEAN),
                ("label", TypeSet::STRING),
                ("targetKey", TypeSet::STRING),
                ("copiedKeys", TypeSet::LIST),
                ("batchSize", TypeSet::INTEGER),
            ],
            7,
        ),
        Right::Write,
        &[],
        Body::OfCall(categorize),
    ),
    procedure(
        "apoc.refactor.cloneSubgraph",
        "copies nodes and relationships between them, or others in place of some of the nodes",
        (
            &[
                ("nodes", TypeSet::LIST),
                ("rels", TypeSet::LIST),
                ("config", TypeSet::MAP),
            ],
            1,
        ),
        Right::Write,
        COPIED,
        Body::OfCall(clone_subgraph),
    ),
    procedure(
        "apoc.refactor.cloneSubgraphFromPaths",
        "copies the nodes and relationships of paths",
        (&[("paths", TypeSet::LIST), ("config", TypeSet::MAP)], 1),
        Right::Write,
        COPIED,
        Body::OfCall(clone_paths),
    ),
    procedure(
        "apoc.refactor.mergeRelationships",
        "makes one relationship of several between the same two nodes",
        (&[("rels", TypeSet::LIST), ("config", TypeSet::MAP)], 1),
        Right::Write,
        RELATIONSHIP,
        Body::OfCall(merge_relationships),
    ),
];

fn param(name: &str, value: Value) -> (Arc<str>, Value) {
    (Arc::from(name), value)
}

/// The elements of a list that are not null; none of null.
fn given<'a>(call: &Call<'_>, list: Option<&'a Value>) -> Result<Vec<&'a Value>, ExecError> {
    match list {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::List(items)) => Ok(items.iter().filter(|item| !item.is_null()).collect()),
        Some(other) => Err(call.failed(told!("give a List, not {}", other.type_name()))),
    }
}

/// What a configuration says by this name; null if it does not.
fn option(config: Option<&Value>, name: &str) -> Value {
    match config {
        Some(Value::Map(map)) => map.get(name).cloned().unwrap_or_default(),
        _ => Value::Null,
    }
}

const COPY_NODES: &str = "UNWIND $nodes AS n \
    CREATE (c:$(labels(n))) SET c = apoc.map.removeKeys(properties(n), coalesce($skip, [])) \
    RETURN id(n) AS input, c AS output, null AS error, n";
const ENDS: &str = "UNWIND $rels AS r RETURN r, startNode(r), endNode(r)";
const BETWEEN: &str = "UNWIND $nodes AS n MATCH (n)-[r]->(m) WHERE m IN $nodes \
    RETURN DISTINCT r, n, m";
const COPY_RELATIONSHIPS: &str = "UNWIND $copies AS c WITH c[0] AS r, c[1] AS a, c[2] AS b \
    CREATE (a)-[k:$(type(r))]->(b) \
    SET k = apoc.map.removeKeys(properties(r), coalesce($skip, []))";

/// Copies of nodes, and of relationships; no relationships are all between the nodes.
fn copy(
    call: &Call<'_>,
    nodes: Vec<&Value>,
    relationships: Vec<&Value>,
    config: Option<&Value>,
) -> Result<Rows, ExecError> {
    let mut in_place = HashMap::new();
    let pairs = option(config, "standinNodes");
    for pair in given(call, Some(&pairs))? {
        match pair {
            Value::List(pair) if pair.len() == 2 => {
                in_place.insert(pair[0].clone(), pair[1].clone());
            }
            _ => return Err(call.failed("standinNodes is a List of pairs of nodes")),
        }
    }
    let skip = param("skip", option(config, "skipProperties"));
    let list = |values: Vec<&Value>| Value::list(values.into_iter().cloned().collect());
    let copied = nodes.iter().filter(|node| !in_place.contains_key(**node));
    let copied = param("nodes", list(copied.copied().collect()));
    let mut rows = call.rows(COPY_NODES, vec![copied, skip.clone()])?;
    for row in &mut rows {
        if let Some(node) = row.pop() {
            in_place.entry(node).or_insert_with(|| row[1].clone());
        }
    }
    let ends = match relationships.is_empty() {
        true => call.rows(BETWEEN, vec![param("nodes", list(nodes))])?,
        false => call.rows(ENDS, vec![param("rels", list(relationships))])?,
    };
    let copies = ends.into_iter().filter_map(|row| {
        let (start, end) = (in_place.get(&row[1])?, in_place.get(&row[2])?);
        Some(Value::list(vec![
            row[0].clone(),
            start.clone(),
            end.clone(),
        ]))
    });
    let copies = param("copies", Value::list(copies.collect()));
    call.rows(COPY_RELATIONSHIPS, vec![copies, skip])?;
    Ok(rows)
}

fn clone_subgraph(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let (nodes, relationships) = (given(call, args.first())?, given(call, args.get(1))?);
    copy(call, nodes, relationships, args.get(2))
}

fn clone_paths(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let (mut nodes, mut relationships) = (Vec::new(), Vec::new());
    let mut met = HashSet::new();
    for path in given(call, args.first())? {
        let Value::Path(path) = path else {
            let told = told!("give a List of paths, not of {}", path.type_name());
            return Err(call.failed(told));
        };
        let own = path.nodes.iter().copied().map(Value::Node);
        nodes.extend(own.filter(|node| met.insert(node.clone())));
        let own = path.relationships.iter().copied().map(Value::Relationship);
        relationships.extend(own.filter(|rel| met.insert(rel.clone())));
    }
    let (nodes, relationships) = (nodes.iter().collect(), relationships.iter().collect());
    copy(call, nodes, relationships, args.get(1))
}

const MERGED: &str = "UNWIND $rels AS r RETURN startNode(r), endNode(r), properties(r)";
const MERGE: &str = "WITH $rels[0] AS rel CALL (rel) { UNWIND $rels[1..] AS r DELETE r } \
    SET rel = $properties RETURN rel";

fn merge_relationships(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let mut met = HashSet::new();
    let all = given(call, args.first())?.into_iter();
    let all: Vec<Value> = all.filter(|rel| met.insert(*rel)).cloned().collect();
    if all.is_empty() {
        return Ok(Rows::new());
    }
    let policy = Policy::of(call, args.get(1), Kept::All)?;
    let rels = param("rels", Value::list(all));
    let held = call.rows(MERGED, vec![rels.clone()])?;
    if held.iter().any(|row| row[..2] != held[0][..2]) {
        return Err(call.failed("all relationships begin at one node and end at one node"));
    }
    let properties = policy.together(held.iter().map(|row| &row[2]));
    call.rows(MERGE, vec![rels, param("properties", properties)])
}

const UNIQUE: &str = "SHOW CONSTRAINTS YIELD type, labelsOrTypes, properties \
    WHERE type IN ['UNIQUENESS', 'NODE_KEY'] AND labelsOrTypes = [$label] \
    AND properties = [$key] RETURN count(*) AS n";

fn categorize(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let [source, rel_type, outgoing, label, target, copied, ..] = args else {
        return Err(call.failed("arguments are missing"));
    };
    let text = |value: &Value, what: &str| match value {
        Value::String(text) if !text.is_empty() => Ok(Arc::clone(text)),
        other => Err(call.failed(told!("{what} is a text that is not empty, not {other}"))),
    };
    let rel_type = text(rel_type, "type")?;
    let (label, target) = (text(label, "label")?, text(target, "targetKey")?);
    let outgoing = match outgoing {
        Value::Boolean(outgoing) => *outgoing,
        other => return Err(call.failed(told!("outgoing is true or false, not {other}"))),
    };
    if source.is_null() || copied.is_null() {
        return Err(call.failed("sourceKey and copiedKeys are not null"));
    }
    let params = vec![
        param("label", Value::String(Arc::clone(&label))),
        param("key", Value::String(Arc::clone(&target))),
    ];
    if call
        .rows(UNIQUE, params)?
        .first()
        .is_none_or(|row| row[0] == Value::Integer(0))
    {
        return Err(call.failed(told!(
            "make a constraint first: CREATE CONSTRAINT FOR (n:{}) REQUIRE n.{} IS UNIQUE",
            quoted(&label),
            quoted(&target)
        )));
    }
    let (to, from) = if outgoing { ("->", "-") } else { ("-", "<-") };
    // One after the other: a category takes the keys that it has not from the first of its nodes.
    let statement = format!(
        "MATCH (n) WHERE n[$source] IS NOT NULL WITH collect(n) AS all UNWIND all AS n \
            CALL (n) {{ \
                MERGE (cat:{} {{{}: n[$source]}}) MERGE (n){from}[:{}]{to}(cat) \
                WITH n, cat, [k IN $copied WHERE k <> $target AND n[k] IS NOT NULL] AS keys \
                FOREACH (k IN [k IN keys WHERE cat[k] IS NULL] | SET cat[k] = n[k]) \
                WITH n, cat, keys \
                FOREACH (k IN [k IN keys WHERE cat[k] = n[k]] | SET n[k] = null) \
                SET n[$source] = null }} RETURN count(*) AS n",
        quoted(&label),
        quoted(&target),
        quoted(&rel_type),
    );
    let params = vec![
        param("source", source.clone()),
        param("copied", copied.clone()),
        param("target", Value::String(target)),
    ];
    call.rows(&statement, params)?;
    Ok(Rows::new())
}
