//! `db.stats.*`: counts of names and of what the graph holds; and `tx.*`: what a program says of
//! its transaction.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::name::quoted;
use graven_types::told;

use super::columns::{count_of, integer, labels, strings, types};
use super::entry::{Body, Field, Procedure, procedure};
use super::inner::Call;
use super::patterns::Patterns;
use super::{DatabaseProcedures, Rows};
use crate::right::Right;

const SECTION: &[Field] = &[("section", TypeSet::STRING)];

const DONE: &[Field] = &[
    ("section", TypeSet::STRING),
    ("success", TypeSet::BOOLEAN),
    ("message", TypeSet::STRING),
];

const DATA: &[Field] = &[("section", TypeSet::STRING), ("data", TypeSet::MAP)];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "db.stats.clear",
        "nothing to clear: no statements are collected",
        (SECTION, 1),
        Right::Read,
        DONE,
        Body::OfDatabase(|_, args| told(args, "No data was collected.")),
    ),
    procedure(
        "db.stats.collect",
        "nothing is collected: counts are kept by the database itself",
        (&[("section", TypeSet::STRING), ("config", TypeSet::MAP)], 1),
        Right::Read,
        DONE,
        Body::OfDatabase(|_, args| told(args, "Nothing is collected: counts are always kept.")),
    ),
    procedure(
        "db.stats.retrieve",
        "counts: of names (TOKENS), of what the graph holds (GRAPH COUNTS)",
        (&[("section", TypeSet::STRING), ("config", TypeSet::MAP)], 1),
        Right::Read,
        DATA,
        Body::OfCall(retrieve),
    ),
    procedure(
        "db.stats.retrieveAllAnonymized",
        "all counts, with numbers for names",
        (
            &[("graphToken", TypeSet::STRING), ("config", TypeSet::MAP)],
            1,
        ),
        Right::Read,
        DATA,
        Body::OfCall(anonymous),
    ),
    procedure(
        "db.stats.status",
        "what is collected: nothing",
        (&[], 0),
        Right::Read,
        &[
            ("section", TypeSet::STRING),
            ("status", TypeSet::STRING),
            ("data", TypeSet::MAP),
        ],
        Body::OfDatabase(|_, _| {
            let row = ["QUERIES", "idle"].map(Value::text);
            Ok(vec![
                row.into_iter().chain([Value::map(Vec::new())]).collect(),
            ])
        }),
    ),
    procedure(
        "db.stats.stop",
        "nothing to stop: no statements are collected",
        (SECTION, 1),
        Right::Read,
        DONE,
        Body::OfDatabase(|_, args| told(args, "Nothing is collected.")),
    ),
    procedure(
        "tx.getMetaData",
        "what was said of the transaction",
        (&[], 0),
        Right::Read,
        &[("metadata", TypeSet::MAP)],
        Body::OfCaller(|caller, _| Ok(vec![vec![caller.running.metadata()]])),
    ),
    procedure(
        "tx.setMetaData",
        "says something of the transaction, which SHOW TRANSACTIONS shows",
        (&[("data", TypeSet::MAP)], 1),
        Right::Read,
        &[],
        Body::OfCaller(set_metadata),
    ),
];

fn told(args: &[Value], message: &str) -> Result<Rows, String> {
    let section = match args.first() {
        Some(Value::String(section)) => section.to_uppercase(),
        _ => return Err("give the section as text: QUERIES, TOKENS or GRAPH COUNTS".to_owned()),
    };
    Ok(vec![vec![
        Value::text(&section),
        Value::Boolean(false),
        Value::text(message),
    ]])
}

/// Bytes of what may be said of a transaction: as many as Neo4j takes.
const SAID_MAX: usize = 2048;

fn holds_entity(value: &Value) -> bool {
    match value {
        Value::Node(_) | Value::Relationship(_) | Value::Path(_) => true,
        Value::List(items) => items.iter().any(holds_entity),
        Value::Map(map) => map.entries().iter().any(|(_, value)| holds_entity(value)),
        _ => false,
    }
}

fn set_metadata(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    let failed = |message: String| ExecError::Procedure {
        name: "tx.setMetaData".to_owned(),
        message,
    };
    match args.first() {
        // Another statement, which may not see the node, reads it.
        Some(said) if holds_entity(said) => Err(failed(
            "the data holds a node, relationship or path: give its properties".to_owned(),
        )),
        Some(said @ Value::Map(_)) if said.heap_bytes() <= 8 * SAID_MAX => {
            caller.running.set_metadata(said.clone());
            Ok(Rows::new())
        }
        Some(Value::Map(_)) => {
            let told = told!("a transaction is described by {SAID_MAX} characters at most");
            Err(failed(told))
        }
        other => {
            let kind = other.map_or("nothing", Value::type_name);
            Err(failed(told!("the data is a Map, not {kind}")))
        }
    }
}

fn entry(name: &str, value: Value) -> (Arc<str>, Value) {
    (Arc::from(name), value)
}

fn count(call: &Call<'_>, pattern: &str) -> Result<Value, ExecError> {
    let text = format!("MATCH {pattern} RETURN count(*)");
    let rows = call.rows(&text, Vec::new())?;
    Ok(integer(rows.first().map_or(0, |row| count_of(&row[0]))))
}

fn names_known(call: &Call<'_>) -> Value {
    let catalog = call.caller.snapshot.catalog();
    Value::map(vec![
        entry("labels", integer(catalog.labels().len() as u64)),
        entry("relationshipTypes", integer(catalog.types().len() as u64)),
        entry("propertyKeys", integer(catalog.keys().len() as u64)),
    ])
}

/// Counts with names of labels and types, or with numbers in their place.
fn graph_counts(call: &Call<'_>, named: bool) -> Result<Value, ExecError> {
    let catalog = call.caller.snapshot.catalog();
    let shown = |kind: &str, number: u32, name: &Arc<str>| match named {
        true => Value::String(Arc::clone(name)),
        false => Value::text(&format!("{kind}{number}")),
    };
    let mut nodes = vec![Value::map(vec![entry("count", count(call, "(n)")?)])];
    for (label, name) in labels(catalog) {
        let met = count(call, &format!("(n:{})", quoted(name)))?;
        let label = shown("L", label.0, name);
        nodes.push(Value::map(vec![entry("count", met), entry("label", label)]));
    }
    let patterns = Patterns::of(call)?;
    let mut relationships = vec![Value::map(vec![entry("count", count(call, "()-[r]->()")?)])];
    for (rel_type, name) in types(catalog) {
        let met = count(call, &format!("()-[r:{}]->()", quoted(name)))?;
        let shown_type = shown("R", rel_type.0, name);
        let of_type = |more: Vec<(Arc<str>, Value)>| {
            let own = entry("relationshipType", shown_type.clone());
            Value::map([own].into_iter().chain(more).collect())
        };
        relationships.push(of_type(vec![entry("count", met)]));
        for (start, end, met) in patterns.ends(rel_type) {
            let name_of = |label| catalog.label_name(label).cloned().unwrap_or_default();
            relationships.push(of_type(vec![
                entry("count", integer(met)),
                entry("startLabel", shown("L", start.0, &name_of(start))),
                entry("endLabel", shown("L", end.0, &name_of(end))),
            ]));
        }
    }
    let indexes = catalog.indexes().iter().map(|index| {
        let keys = index.keys.iter().filter_map(|key| catalog.key_name(*key));
        let keys = match named {
            true => strings(keys.map(|key| &**key)),
            false => Value::list(
                (index.keys.iter())
                    .map(|key| Value::text(&format!("p{}", key.0)))
                    .collect(),
            ),
        };
        Value::map(vec![
            entry("indexType", Value::text(index.kind.name())),
            entry("properties", keys),
            entry("totalSize", integer(index.entries)),
            entry("estimatedUniqueSize", integer(index.distinct)),
        ])
    });
    Ok(Value::map(vec![
        entry("nodes", Value::list(nodes)),
        entry("relationships", Value::list(relationships)),
        entry("indexes", Value::list(indexes.collect())),
        entry("constraints", integer(catalog.constraints().len() as u64)),
    ]))
}

fn retrieve(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let section = match args.first() {
        Some(Value::String(section)) => section.to_uppercase(),
        _ => return Err(call.failed("give the section as text")),
    };
    let data = match section.as_str() {
        "TOKENS" => names_known(call),
        "GRAPH COUNTS" => graph_counts(call, true)?,
        "QUERIES" => return Ok(Rows::new()),
        other => {
            let told =
                format!("there is no section {other}; there are TOKENS, GRAPH COUNTS, QUERIES");
            return Err(call.failed(told));
        }
    };
    Ok(vec![vec![Value::text(&section), data]])
}

fn anonymous(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let token = args.first().cloned().unwrap_or_default();
    let about = Value::map(vec![entry("graphToken", token)]);
    Ok(vec![
        vec![Value::text("META"), about],
        vec![Value::text("TOKENS"), names_known(call)],
        vec![Value::text("GRAPH COUNTS"), graph_counts(call, false)?],
    ])
}
