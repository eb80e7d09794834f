//! `apoc.meta.data.of` and `apoc.meta.graph.of`: what a part of the graph holds.
//!
//! # How it works
//! The part is what a statement returns, or nodes, relationships and paths that are given, alone,
//! in a list, or in a map of lists; ends of relationships belong to it. All of it is looked at, and
//! no sample. The rows are those of `apoc.meta.data` and `apoc.meta.graph`.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_storage::SchemaEntity;

use super::super::Rows;
use super::super::columns::{count_of, integer, text_of};
use super::super::contents::{META_DATA, flags};
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::Call;
use crate::right::Right;

const OF: &[Field] = &[("graph", TypeSet::ANY), ("config", TypeSet::MAP)];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.meta.data.of",
        "properties of labels and types of a part of the graph, and which types lead where",
        (OF, 1),
        Right::Read,
        META_DATA,
        Body::OfCall(data),
    ),
    procedure(
        "apoc.meta.graph.of",
        "labels of a part of the graph as nodes, and the types between them",
        (OF, 0),
        Right::Read,
        &[("nodes", TypeSet::LIST), ("relationships", TypeSet::LIST)],
        Body::OfCall(graph),
    ),
];

/// The beginning of a statement about the part: `ns` are its nodes, `rs` its relationships.
macro_rules! of_part {
    ($behind:literal) => {
        concat!(
            "UNWIND $elements AS e WITH apoc.agg.graph(e) AS g \
                WITH g.nodes AS ns, g.relationships AS rs ",
            $behind
        )
    };
}

const STANDING: &str = of_part!(
    "WITH rs, COLLECT { UNWIND ns AS n UNWIND labels(n) AS l WITH l, count(*) AS c ORDER BY l \
        RETURN [l, apoc.create.vNode([l], {name: l, count: c})] } AS pairs \
        WITH rs, pairs, apoc.map.fromPairs(pairs) AS named \
        RETURN [p IN pairs | p[1]] AS nodes, COLLECT { UNWIND rs AS r \
        UNWIND labels(startNode(r)) AS a UNWIND labels(endNode(r)) AS b \
        WITH a, type(r) AS t, b, count(*) AS c ORDER BY t, a, b \
        RETURN apoc.create.vRelationship(named[a], t, {type: t, count: c, out: c, in: c}, \
            named[b]) } AS relationships"
);

const OF_NODES: &str = of_part!(
    "UNWIND ns AS n UNWIND labels(n) AS label UNWIND keys(n) AS key \
        RETURN label, key, count(*) AS met, \
            collect(DISTINCT apoc.meta.cypher.type(n[key])) AS types ORDER BY label, key"
);

const OF_RELATIONSHIPS: &str = of_part!(
    "UNWIND rs AS r UNWIND keys(r) AS key \
        RETURN type(r) AS label, key, count(*) AS met, \
            collect(DISTINCT apoc.meta.cypher.type(r[key])) AS types ORDER BY label, key"
);

const STARTS: &str = of_part!(
    "UNWIND rs AS r UNWIND labels(startNode(r)) AS label UNWIND labels(endNode(r)) AS other \
        RETURN label, type(r) AS of, count(DISTINCT r) AS met, collect(DISTINCT other) AS others \
        ORDER BY label, of"
);

const ENDS: &str = of_part!(
    "UNWIND rs AS r UNWIND labels(endNode(r)) AS label \
        RETURN label, type(r) AS of, count(*) AS met"
);

/// What the part is made of, as a list.
fn elements(call: &Call<'_>, args: &[Value]) -> Result<Vec<(Arc<str>, Value)>, ExecError> {
    let given = match args.first() {
        None | Some(Value::Null) => {
            return Err(call.failed(
                "give a statement, a list of nodes and relationships, a path, or a map of `nodes` \
                    and `relationships`",
            ));
        }
        Some(Value::String(text)) => {
            let rows = call.rows(text, Vec::new())?;
            rows.into_iter().flatten().collect()
        }
        Some(Value::Map(map)) => {
            let lists = ["nodes", "relationships"].iter();
            lists.filter_map(|name| map.get(name)).cloned().collect()
        }
        Some(one) => vec![one.clone()],
    };
    Ok(vec![(Arc::from("elements"), Value::list(given))])
}

fn graph(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let rows = match args.is_empty() {
        true => Vec::new(),
        false => call.rows(STANDING, elements(call, args)?)?,
    };
    match rows.is_empty() {
        true => Ok(vec![vec![Value::list(Vec::new()), Value::list(Vec::new())]]),
        false => Ok(rows),
    }
}

/// One row: label or type, property, how often, its type, to the left and right, what is joined.
fn row(
    (label, property, met): (&Value, &Value, &Value),
    (unique, index, existence): (bool, bool, bool),
    kind: &str,
    (left, right, other): (u64, u64, Value),
    element: &str,
) -> Vec<Value> {
    vec![
        label.clone(),
        property.clone(),
        met.clone(),
        Value::Boolean(unique),
        Value::Boolean(index),
        Value::Boolean(existence),
        Value::text(kind),
        Value::Boolean(kind == "LIST"),
        Value::Null,
        integer(left),
        integer(right),
        other,
        Value::list(Vec::new()),
        Value::text(element),
    ]
}

/// The one type of a property.
fn one_type(types: &Value) -> String {
    let Value::List(types) = types else {
        return "ANY".to_owned();
    };
    let mut types: Vec<String> = types.iter().map(text_of).collect();
    for kind in &mut types {
        if kind.starts_with("LIST") {
            "LIST".clone_into(kind);
        }
    }
    types.sort_unstable();
    types.dedup();
    match &types[..] {
        [one] => one.clone(),
        [a, b] if a == "FLOAT" && b == "INTEGER" => a.clone(),
        _ => "ANY".to_owned(),
    }
}

fn data(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let params = elements(call, args)?;
    let catalog = call.caller.snapshot.catalog();
    let none = || Value::list(Vec::new());
    let properties = |text: &str, element: &str| -> Result<Rows, ExecError> {
        let found = call.rows(text, params.clone())?;
        let made = found.iter().map(|found| {
            let name = text_of(&found[0]);
            let entity = match element {
                "node" => catalog.label(&name).map(SchemaEntity::Node),
                _ => catalog.rel_type(&name).map(SchemaEntity::Relationship),
            };
            let flags = entity.map(|entity| flags(catalog, entity, &text_of(&found[1])));
            let said = (&found[0], &found[1], &found[2]);
            let kind = one_type(&found[3]);
            let none = (0, 0, none());
            row(said, flags.unwrap_or_default(), &kind, none, element)
        });
        Ok(made.collect())
    };
    let mut ends: BTreeMap<(String, String), u64> = BTreeMap::new();
    for end in call.rows(ENDS, params.clone())? {
        ends.insert((text_of(&end[0]), text_of(&end[1])), count_of(&end[2]));
    }
    let starts = call.rows(STARTS, params.clone())?;
    let mut rows = properties(OF_NODES, "node")?;
    let joins = "RELATIONSHIP";
    for start in &starts {
        let met = count_of(&start[2]);
        let into = ends.get(&(text_of(&start[0]), text_of(&start[1])));
        let sides = (met, into.copied().unwrap_or(0), start[3].clone());
        let said = (&start[0], &start[1], &start[2]);
        rows.push(row(said, Default::default(), joins, sides, "node"));
    }
    rows.extend(properties(OF_RELATIONSHIPS, "relationship")?);
    for start in &starts {
        let sides = (count_of(&start[2]), 0, start[3].clone());
        let said = (&start[1], &start[0], &start[2]);
        rows.push(row(said, Default::default(), joins, sides, "relationship"));
    }
    Ok(rows)
}
