//! What the graph holds, label by label: properties with their types, and which types lead from
//! where to where.
//!
//! # How it works
//! Counts and the labels at the ends of types come from the catalogue, which is exact. Types of
//! properties come from a sample, read by statements of the language: of each label up to
//! [`SAMPLE`] nodes in runs spread over its ids, of each relationship type the first [`SAMPLE`]
//! relationships. A property that no sampled entity has is not listed. Where everything was
//! sampled, `mandatory` is exact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graven_exec::Value;
use graven_storage::{Catalog, LabelId, SchemaEntity, Snapshot, TypeId};

use crate::database::Database;
use crate::instance::Inner;
use crate::params::Params;

type Rows = Result<Vec<Vec<Value>>, String>;

/// Nodes of a label, relationships of a type that are looked at.
const SAMPLE: u64 = 2048;

/// Runs of ids that a sample of nodes is taken from.
const RUNS: u64 = 16;

/// What is known of a property: how often it was met, with which types (by `valueType`).
#[derive(Default)]
struct Property {
    met: u64,
    types: BTreeSet<String>,
}

/// What was found in a sample: how many entities, and their properties.
#[derive(Default)]
struct Sampled {
    entities: u64,
    properties: BTreeMap<String, Property>,
}

/// Sampled nodes by all their labels.
type BySet = BTreeMap<Vec<String>, Sampled>;

fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Ids spread over the nodes with a label.
fn sample_of(snapshot: &Snapshot, label: LabelId) -> Result<Vec<i64>, String> {
    let nodes = snapshot.nodes_with_label(label).map_err(failed)?;
    let total = nodes.count();
    let (runs, length) = match total <= SAMPLE {
        true => (1, total),
        false => (RUNS, SAMPLE / RUNS),
    };
    let starts = (0..runs).map(|run| run * (total - length) / (runs - 1).max(1));
    let mut ids = Vec::new();
    let mut ranges = nodes.ranges();
    let (mut range, mut before) = (ranges.next(), 0);
    for start in starts {
        for place in start..start + length {
            while let Some(at) = &range
                && place >= before + (at.end - at.start)
            {
                before += at.end - at.start;
                range = ranges.next();
            }
            let Some(at) = &range else { return Ok(ids) };
            ids.push(i64::try_from(at.start + (place - before)).unwrap_or(i64::MAX));
        }
    }
    Ok(ids)
}

/// Runs a statement about the sample and hands its rows over.
fn ask(
    db: &Arc<Inner>,
    text: &str,
    params: &Params,
    visit: &mut dyn FnMut(&[crate::Value]),
) -> Result<(), String> {
    let connection = Database::here(Arc::clone(db)).connect();
    for row in connection.query(text, params).map_err(failed)? {
        visit(row.map_err(failed)?.values());
    }
    Ok(())
}

fn text_of(value: &crate::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn count_of(value: &crate::Value) -> u64 {
    value.as_integer().unwrap_or_default().unsigned_abs()
}

/// Looks at nodes with a label.
fn nodes(
    db: &Arc<Inner>,
    snapshot: &Snapshot,
    label: LabelId,
    found: &mut BySet,
) -> Result<(), String> {
    let params = Params::new().with("ids", crate::Value::from(sample_of(snapshot, label)?));
    let all = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i RETURN labels(n) AS set, count(*) AS met";
    let labels = |value: &crate::Value| match value {
        crate::Value::List(names) => names.iter().map(text_of).collect(),
        _ => Vec::new(),
    };
    ask(db, all, &params, &mut |row| {
        found.entry(labels(&row[0])).or_default().entities += count_of(&row[1]);
    })?;
    let each = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i UNWIND keys(n) AS key \
                RETURN labels(n) AS set, key, valueType(n[key]) AS type, count(*) AS met";
    ask(db, each, &params, &mut |row| {
        found.entry(labels(&row[0])).or_default().note(&row[1..]);
    })
}

impl Sampled {
    /// A row of key, type and how often.
    fn note(&mut self, row: &[crate::Value]) {
        let property = self.properties.entry(text_of(&row[0])).or_default();
        property.met += count_of(&row[2]);
        let kind = text_of(&row[1]).replace(" NOT NULL", "");
        property.types.insert(kind);
    }
}

/// Looks at relationships of a type.
fn relationships(db: &Arc<Inner>, rel_type: &str) -> Result<Sampled, String> {
    let part = format!(
        "MATCH ()-[r:{}]->() WITH r LIMIT {SAMPLE}",
        quoted(rel_type)
    );
    let mut found = Sampled::default();
    let all = format!("{part} RETURN count(*) AS met");
    ask(db, &all, &Params::new(), &mut |row| {
        found.entities = count_of(&row[0])
    })?;
    let each = format!(
        "{part} UNWIND keys(r) AS key RETURN key, valueType(r[key]) AS type, count(*) AS met"
    );
    ask(db, &each, &Params::new(), &mut |row| found.note(row))?;
    Ok(found)
}

fn labels(catalog: &Catalog) -> impl Iterator<Item = (LabelId, &Arc<str>)> {
    (0..).map(LabelId).zip(catalog.labels())
}

fn types(catalog: &Catalog) -> impl Iterator<Item = (TypeId, &Arc<str>)> {
    (0..).map(TypeId).zip(catalog.types())
}

fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

fn strings<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    Value::list(names.into_iter().map(Value::text).collect())
}

/// Those of these names of which this pattern finds something; counts of them are kept.
fn in_use(
    db: &Arc<Inner>,
    names: impl Iterator<Item = Arc<str>>,
    pattern: fn(&str) -> String,
) -> Rows {
    let mut used = Vec::new();
    for name in names {
        let text = format!("MATCH {} RETURN count(*)", pattern(&quoted(&name)));
        let mut count = 0;
        ask(db, &text, &Params::new(), &mut |row| {
            count = count_of(&row[0]);
        })?;
        if count > 0 {
            used.push(vec![Value::String(name)]);
        }
    }
    Ok(used)
}

pub(super) fn labels_in_use(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let names = labels(snapshot.catalog()).map(|(_, name)| Arc::clone(name));
    in_use(db, names, |label| format!("(n:{label})"))
}

pub(super) fn types_in_use(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let names = types(snapshot.catalog()).map(|(_, name)| Arc::clone(name));
    in_use(db, names, |name| format!("()-[r:{name}]->()"))
}

/// A type as the procedures of Neo4j spell it.
fn spelled(kind: &str) -> String {
    let (inner, list) = match kind.strip_prefix("LIST<").and_then(|k| k.strip_suffix('>')) {
        Some(inner) => (inner, true),
        None => (kind, false),
    };
    let name = match inner {
        "BOOLEAN" => "Boolean",
        "INTEGER" => "Long",
        "FLOAT" => "Double",
        "STRING" => "String",
        "DATE" => "Date",
        "LOCAL TIME" => "LocalTime",
        "ZONED TIME" => "Time",
        "LOCAL DATETIME" => "LocalDateTime",
        "ZONED DATETIME" => "DateTime",
        "DURATION" => "Duration",
        "POINT" => "Point",
        other => other,
    };
    match list {
        true => format!("{name}Array"),
        false => name.to_owned(),
    }
}

/// A type as `apoc` spells it.
fn meta_type(kind: &str) -> &'static str {
    match kind {
        "BOOLEAN" => "BOOLEAN",
        "INTEGER" => "INTEGER",
        "FLOAT" => "FLOAT",
        "STRING" => "STRING",
        "DATE" => "DATE",
        "LOCAL TIME" => "LOCAL_TIME",
        "ZONED TIME" => "TIME",
        "LOCAL DATETIME" => "LOCAL_DATE_TIME",
        "ZONED DATETIME" => "DATE_TIME",
        "DURATION" => "DURATION",
        "POINT" => "POINT",
        list if list.starts_with("LIST") => "LIST",
        _ => "ANY",
    }
}

pub(super) fn node_type_properties(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let mut found = BySet::new();
    for (label, _) in labels(snapshot.catalog()) {
        let mut own = BySet::new();
        nodes(db, &snapshot, label, &mut own)?;
        for (set, sampled) in own {
            // A node with two labels is met twice; either sample will do.
            found.entry(set).or_insert(sampled);
        }
    }
    let mut rows = Vec::new();
    for (set, sampled) in &found {
        let node_type: String = set
            .iter()
            .map(|name| format!(":{}", quoted(name)))
            .collect();
        let row = |property: Option<(&String, &Property)>| {
            let types = property.map(|(_, p)| p.types.iter().map(|t| Value::text(&spelled(t))));
            let mandatory = property.is_some_and(|(_, p)| p.met == sampled.entities);
            vec![
                Value::text(&node_type),
                strings(set.iter().map(String::as_str)),
                property.map_or(Value::Null, |(name, _)| Value::text(name)),
                types.map_or(Value::Null, |types| Value::list(types.collect())),
                Value::Boolean(mandatory),
            ]
        };
        match sampled.properties.is_empty() {
            true => rows.push(row(None)),
            false => rows.extend(sampled.properties.iter().map(|p| row(Some(p)))),
        }
    }
    Ok(rows)
}

pub(super) fn rel_type_properties(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let mut rows = Vec::new();
    for (_, name) in types(snapshot.catalog()) {
        let sampled = relationships(db, name)?;
        let rel_type = Value::text(&format!(":{}", quoted(name)));
        if sampled.properties.is_empty() && sampled.entities > 0 {
            let mandatory = Value::Boolean(false);
            rows.push(vec![rel_type.clone(), Value::Null, Value::Null, mandatory]);
        }
        for (key, property) in &sampled.properties {
            let types = property.types.iter().map(|t| Value::text(&spelled(t)));
            rows.push(vec![
                rel_type.clone(),
                Value::text(key),
                Value::list(types.collect()),
                Value::Boolean(property.met == sampled.entities),
            ]);
        }
    }
    Ok(rows)
}

/// Labels at the ends of a type, with how many relationships there are between them.
fn ends(catalog: &Catalog, rel_type: TypeId) -> Vec<(LabelId, LabelId, u64)> {
    let mut found = Vec::new();
    for (start, _) in labels(catalog) {
        if catalog.pattern_count(Some(start), Some(rel_type), None) == 0 {
            continue;
        }
        for (end, _) in labels(catalog) {
            let count = catalog.pattern_count(Some(start), Some(rel_type), Some(end));
            if count > 0 {
                found.push((start, end, count));
            }
        }
    }
    found
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn visualization(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let catalog = snapshot.catalog();
    let entity = |id: u32, fields: Vec<(&str, Value)>| {
        let mut entries: Vec<(Arc<str>, Value)> = vec![("id".into(), integer(u64::from(id)))];
        entries.extend(fields.into_iter().map(|(k, v)| (Arc::from(k), v)));
        Value::map(entries)
    };
    let is_used = |label: LabelId| catalog.label_count(label) > 0;
    let used = labels(catalog).filter(|(label, _)| is_used(*label));
    let nodes = used.map(|(label, name)| {
        let of = |keys: &[graven_storage::KeyId]| {
            let names = keys.iter().filter_map(|key| catalog.key_name(*key));
            Value::text(&names.map(|n| &**n).collect::<Vec<_>>().join(","))
        };
        let indexes = catalog.indexes().iter();
        let indexes = indexes
            .filter(|i| i.label() == Some(label))
            .map(|i| of(&i.keys));
        let constraints = catalog.constraints().iter();
        let constraints = constraints
            .filter(|c| c.entity == SchemaEntity::Node(label))
            .map(|c| Value::String(Arc::clone(&c.name)));
        let properties = Value::map(vec![
            ("name".into(), Value::String(Arc::clone(name))),
            ("indexes".into(), Value::list(indexes.collect())),
            ("constraints".into(), Value::list(constraints.collect())),
        ]);
        entity(
            label.0,
            vec![("labels", strings([&**name])), ("properties", properties)],
        )
    });
    let nodes: Vec<Value> = nodes.collect();
    let mut relationships = Vec::new();
    for (rel_type, name) in types(catalog) {
        for (start, end, _) in ends(catalog, rel_type) {
            // Counts of types between labels are exact after a checkpoint only.
            if !(is_used(start) && is_used(end)) {
                continue;
            }
            let id = u32::try_from(relationships.len()).unwrap_or(u32::MAX);
            let properties = vec![("name".into(), Value::String(Arc::clone(name)))];
            relationships.push(entity(
                id,
                vec![
                    ("type", Value::String(Arc::clone(name))),
                    ("start", integer(u64::from(start.0))),
                    ("end", integer(u64::from(end.0))),
                    ("properties", Value::map(properties)),
                ],
            ));
        }
    }
    Ok(vec![vec![Value::list(nodes), Value::list(relationships)]])
}

/// A row of `apoc.meta.data`.
struct Meta<'a> {
    label: &'a str,
    property: &'a str,
    count: u64,
    flags: (bool, bool, bool),
    kind: &'static str,
    sides: (u64, u64),
    other: Vec<&'a str>,
    element: &'static str,
}

impl Meta<'_> {
    fn row(self) -> Vec<Value> {
        let (unique, index, existence) = self.flags;
        vec![
            Value::text(self.label),
            Value::text(self.property),
            integer(self.count),
            Value::Boolean(unique),
            Value::Boolean(index),
            Value::Boolean(existence),
            Value::text(self.kind),
            Value::Boolean(self.kind == "LIST"),
            Value::Null,
            integer(self.sides.0),
            integer(self.sides.1),
            strings(self.other),
            Value::list(Vec::new()),
            Value::text(self.element),
        ]
    }
}

/// The one type of a property; of several the first that is not the other's.
fn one_type(property: &Property) -> &'static str {
    let mut kinds: BTreeSet<&str> = property.types.iter().map(|t| meta_type(t)).collect();
    if kinds.len() == 2 && kinds.contains("INTEGER") && kinds.contains("FLOAT") {
        return "FLOAT";
    }
    match kinds.len() {
        1 => kinds.pop_first().map_or("ANY", |kind| meta_named(kind)),
        _ => "ANY",
    }
}

/// The same text, for ever.
fn meta_named(kind: &str) -> &'static str {
    match kind {
        "LIST" => "LIST",
        "LOCAL_TIME" => "LOCAL_TIME",
        "TIME" => "TIME",
        "LOCAL_DATE_TIME" => "LOCAL_DATE_TIME",
        "DATE_TIME" => "DATE_TIME",
        other => meta_type(other),
    }
}

/// Whether the property alone is unique, is in an index, must be there.
fn flags(catalog: &Catalog, entity: SchemaEntity, key: &str) -> (bool, bool, bool) {
    let Some(key) = catalog.key(key) else {
        return (false, false, false);
    };
    let own = |keys: &[graven_storage::KeyId]| keys.contains(&key);
    let mut indexes = catalog.indexes().iter().filter(|i| i.entity == entity);
    let index = indexes.clone().any(|i| own(&i.keys));
    let unique = indexes.any(|i| i.unique && i.keys == [key]);
    let mut constraints = catalog.constraints().iter();
    let existence = constraints.any(|c| c.entity == entity && own(&c.keys) && c.kind.is_required());
    (unique, index, existence)
}

pub(super) fn meta_data(db: &Arc<Inner>, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let catalog = snapshot.catalog();
    let mut rows = Vec::new();
    for (label, name) in labels(catalog) {
        let mut found = BySet::new();
        nodes(db, &snapshot, label, &mut found)?;
        let mut properties: BTreeMap<&String, Property> = BTreeMap::new();
        for (key, met) in found.values().flat_map(|s| &s.properties) {
            let property = properties.entry(key).or_default();
            property.met += met.met;
            property.types.extend(met.types.iter().cloned());
        }
        for (key, property) in &properties {
            let meta = Meta {
                label: name,
                property: key,
                count: property.met,
                flags: flags(catalog, SchemaEntity::Node(label), key),
                kind: one_type(property),
                sides: (0, 0),
                other: Vec::new(),
                element: "node",
            };
            rows.push(meta.row());
        }
        for (rel_type, type_name) in types(catalog) {
            let to: Vec<(&str, u64)> = labels(catalog)
                .map(|(end, name)| {
                    let count = catalog.pattern_count(Some(label), Some(rel_type), Some(end));
                    (&**name, count)
                })
                .filter(|(_, count)| *count > 0)
                .collect();
            if to.is_empty() {
                continue;
            }
            let count = catalog.pattern_count(Some(label), Some(rel_type), None);
            let meta = Meta {
                label: name,
                property: type_name,
                count,
                flags: (false, false, false),
                kind: "RELATIONSHIP",
                sides: (
                    count,
                    catalog.pattern_count(None, Some(rel_type), Some(label)),
                ),
                other: to.into_iter().map(|(name, _)| name).collect(),
                element: "node",
            };
            rows.push(meta.row());
        }
    }
    for (rel_type, name) in types(catalog) {
        let sampled = relationships(db, name)?;
        for (key, property) in &sampled.properties {
            let meta = Meta {
                label: name,
                property: key,
                count: property.met,
                flags: flags(catalog, SchemaEntity::Relationship(rel_type), key),
                kind: one_type(property),
                sides: (0, 0),
                other: Vec::new(),
                element: "relationship",
            };
            rows.push(meta.row());
        }
        for (start, _) in labels(catalog) {
            let pairs = ends(catalog, rel_type);
            let to = pairs.iter().filter(|(from, ..)| *from == start);
            let to: Vec<&str> = to
                .filter_map(|(_, end, _)| catalog.label_name(*end).map(|n| &**n))
                .collect();
            let Some(start_name) = catalog.label_name(start).filter(|_| !to.is_empty()) else {
                continue;
            };
            let count = catalog.pattern_count(Some(start), Some(rel_type), None);
            let meta = Meta {
                label: name,
                property: start_name,
                count,
                flags: (false, false, false),
                kind: "RELATIONSHIP",
                sides: (count, 0),
                other: to,
                element: "relationship",
            };
            rows.push(meta.row());
        }
    }
    Ok(rows)
}
