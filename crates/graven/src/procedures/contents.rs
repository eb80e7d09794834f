//! What the graph holds, label by label: properties with their types, and which types lead from
//! where to where.
//!
//! # How it works
//! Counts and the labels at the ends of types are those of [`Patterns`]. Types of properties come
//! from a sample, read by statements of the language: of each label up to [`SAMPLE`] nodes in runs
//! spread over its ids, of each relationship type the first [`SAMPLE`] relationships. A property
//! that no sampled entity has is not listed. Where everything was sampled, `mandatory` is exact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Map, Standing, Value};
use graven_storage::{Catalog, LabelId, SchemaEntity, Snapshot};
use graven_types::name::quoted;

use super::columns::{count_of, integer, labels, strings, text_of, types};
use super::entry::Field;
use super::inner::Call;
use super::patterns::Patterns;

type Rows = Result<Vec<Vec<Value>>, ExecError>;

/// The columns of `apoc.meta.data`, and of what tells the same of a part of the graph.
pub(super) const META_DATA: &[Field] = &[
    ("label", TypeSet::STRING),
    ("property", TypeSet::STRING),
    ("count", TypeSet::INTEGER),
    ("unique", TypeSet::BOOLEAN),
    ("index", TypeSet::BOOLEAN),
    ("existence", TypeSet::BOOLEAN),
    ("type", TypeSet::STRING),
    ("array", TypeSet::BOOLEAN),
    ("sample", TypeSet::LIST),
    ("left", TypeSet::INTEGER),
    ("right", TypeSet::INTEGER),
    ("other", TypeSet::LIST),
    ("otherLabels", TypeSet::LIST),
    ("elementType", TypeSet::STRING),
];

/// Nodes of a label, relationships of a type that are looked at.
const SAMPLE: u64 = 2048;

/// Runs of ids that a sample of nodes is taken from.
const RUNS: u64 = 16;

/// What is known of a property: how often it was met, with which types (by `valueType`).
#[derive(Default)]
pub(super) struct Property {
    pub(super) met: u64,
    types: BTreeSet<String>,
}

/// What was found in a sample: how many entities, and their properties.
#[derive(Default)]
pub(super) struct Sampled {
    pub(super) entities: u64,
    pub(super) properties: BTreeMap<String, Property>,
}

/// Sampled nodes by all their labels.
pub(super) type BySet = BTreeMap<Vec<String>, Sampled>;

/// Ids spread over the nodes with a label.
fn sample_of(snapshot: &Snapshot, label: LabelId) -> Result<Vec<Value>, ExecError> {
    let nodes = snapshot.nodes_with_label(label)?;
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
            ids.push(integer(at.start + (place - before)));
        }
    }
    Ok(ids)
}

/// Runs a statement and hands its rows over.
pub(super) fn ask(
    call: &Call<'_>,
    text: &str,
    params: Vec<(Arc<str>, Value)>,
    visit: &mut dyn FnMut(&[Value]),
) -> Result<(), ExecError> {
    for row in call.rows(text, params)? {
        visit(&row);
    }
    Ok(())
}

/// Looks at nodes with a label.
pub(super) fn nodes(call: &Call<'_>, label: LabelId, found: &mut BySet) -> Result<(), ExecError> {
    let ids = Value::list(sample_of(call.caller.snapshot, label)?);
    let params = vec![(Arc::from("ids"), ids)];
    let all = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i RETURN labels(n) AS set, count(*) AS met";
    let labels = |value: &Value| match value {
        Value::List(names) => names.iter().map(text_of).collect(),
        _ => Vec::new(),
    };
    ask(call, all, params.clone(), &mut |row| {
        found.entry(labels(&row[0])).or_default().entities += count_of(&row[1]);
    })?;
    let each = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i UNWIND keys(n) AS key \
                RETURN labels(n) AS set, key, valueType(n[key]) AS type, count(*) AS met";
    ask(call, each, params, &mut |row| {
        found.entry(labels(&row[0])).or_default().note(&row[1..]);
    })
}

impl Sampled {
    /// A row of key, type and how often.
    fn note(&mut self, row: &[Value]) {
        let property = self.properties.entry(text_of(&row[0])).or_default();
        property.met += count_of(&row[2]);
        let kind = text_of(&row[1]).replace(" NOT NULL", "");
        property.types.insert(kind);
    }
}

/// Looks at relationships of a type.
pub(super) fn relationships(call: &Call<'_>, rel_type: &str) -> Result<Sampled, ExecError> {
    let part = format!(
        "MATCH ()-[r:{}]->() WITH r LIMIT {SAMPLE}",
        quoted(rel_type)
    );
    let mut found = Sampled::default();
    let all = format!("{part} RETURN count(*) AS met");
    ask(call, &all, Vec::new(), &mut |row| {
        found.entities = count_of(&row[0])
    })?;
    let each = format!(
        "{part} UNWIND keys(r) AS key RETURN key, valueType(r[key]) AS type, count(*) AS met"
    );
    ask(call, &each, Vec::new(), &mut |row| found.note(row))?;
    Ok(found)
}

/// Those of these names that an index or a constraint is on, or of which this pattern finds
/// something; counts of them are kept.
fn in_use(
    call: &Call<'_>,
    names: impl Iterator<Item = (SchemaEntity, Arc<str>)>,
    pattern: fn(&str) -> String,
) -> Rows {
    let catalog = call.caller.snapshot.catalog();
    let mut used = Vec::new();
    for (entity, name) in names {
        let mut is_used = catalog.indexes().iter().any(|it| it.entity == entity)
            || catalog.constraints().iter().any(|it| it.entity == entity);
        if !is_used {
            let text = format!("MATCH {} RETURN count(*)", pattern(&quoted(&name)));
            ask(call, &text, Vec::new(), &mut |row| {
                is_used = count_of(&row[0]) > 0;
            })?;
        }
        if is_used {
            used.push(vec![Value::String(name)]);
        }
    }
    Ok(used)
}

pub(super) fn labels_in_use(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let names = labels(snapshot.catalog());
    let names = names.map(|(label, name)| (SchemaEntity::Node(label), Arc::clone(name)));
    in_use(call, names, |label| format!("(n:{label})"))
}

pub(super) fn types_in_use(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let names = types(snapshot.catalog());
    let names = names.map(|(of, name)| (SchemaEntity::Relationship(of), Arc::clone(name)));
    in_use(call, names, |name| format!("()-[r:{name}]->()"))
}

/// Keys of which some node or relationship has a property: the first one that has it is looked for.
pub(super) fn keys_in_use(call: &Call<'_>, _: &[Value]) -> Rows {
    let mut used = Vec::new();
    for name in call.caller.snapshot.catalog().keys() {
        let key = quoted(name);
        let text = format!(
            "RETURN EXISTS {{ MATCH (n) WHERE n.{key} IS NOT NULL }} \
                OR EXISTS {{ MATCH ()-[r]->() WHERE r.{key} IS NOT NULL }}"
        );
        let mut is_used = false;
        ask(call, &text, Vec::new(), &mut |row| {
            is_used = matches!(row[0], Value::Boolean(true));
        })?;
        if is_used {
            used.push(vec![Value::String(Arc::clone(name))]);
        }
    }
    Ok(used)
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
        vector if vector.starts_with("VECTOR") => "VECTOR",
        list if list.starts_with("LIST") => "LIST",
        _ => "ANY",
    }
}

/// Sampled nodes of all labels.
pub(super) fn sampled_nodes(call: &Call<'_>) -> Result<BySet, ExecError> {
    let mut found = BySet::new();
    for (label, _) in labels(call.caller.snapshot.catalog()) {
        let mut own = BySet::new();
        nodes(call, label, &mut own)?;
        for (set, sampled) in own {
            // A node with two labels is met twice; either sample will do.
            found.entry(set).or_insert(sampled);
        }
    }
    Ok(found)
}

impl Sampled {
    /// Of each property: name, types, whether every entity has it, and how many do; one row with
    /// nulls where there are none.
    pub(super) fn described(&self) -> Vec<([Value; 3], u64)> {
        let row = |(name, property): (&String, &Property)| {
            let types = property.types.iter().map(|t| Value::text(&spelled(t)));
            let every = Value::Boolean(property.met == self.entities);
            let row = [Value::text(name), Value::list(types.collect()), every];
            (row, property.met)
        };
        match self.properties.is_empty() {
            true => vec![([Value::Null, Value::Null, Value::Boolean(false)], 0)],
            false => self.properties.iter().map(row).collect(),
        }
    }
}

/// Labels as one text, and as a list.
pub(super) fn node_type(set: &[String]) -> [Value; 2] {
    let quoted = set.iter().map(|name| format!(":{}", quoted(name)));
    let node_type: String = quoted.collect();
    [
        Value::text(&node_type),
        strings(set.iter().map(String::as_str)),
    ]
}

pub(super) fn node_type_properties(call: &Call<'_>, _: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (set, sampled) in &sampled_nodes(call)? {
        for (row, _) in sampled.described() {
            rows.push(node_type(set).into_iter().chain(row).collect());
        }
    }
    Ok(rows)
}

pub(super) fn rel_type_properties(call: &Call<'_>, _: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (_, name) in types(call.caller.snapshot.catalog()) {
        let sampled = relationships(call, name)?;
        if sampled.entities == 0 {
            continue;
        }
        let rel_type = Value::text(&format!(":{}", quoted(name)));
        for (row, _) in sampled.described() {
            rows.push([rel_type.clone()].into_iter().chain(row).collect());
        }
    }
    Ok(rows)
}

/// A map that stands for a node.
pub(super) fn node_standing(number: u64, label: &Arc<str>, properties: Properties) -> Value {
    let standing = Standing::Node {
        id: Standing::id_numbered(number),
        labels: vec![Arc::clone(label)],
    };
    Value::Map(Arc::new(Map::standing_for(standing, properties)))
}

/// A map that stands for a relationship.
pub(super) fn relationship_standing(
    number: u64,
    rel_type: &Arc<str>,
    (start, end): (&Value, &Value),
    properties: Properties,
) -> Value {
    let standing = Standing::Relationship {
        id: Standing::id_numbered(number),
        rel_type: Arc::clone(rel_type),
        start: start.clone(),
        end: end.clone(),
    };
    Value::Map(Arc::new(Map::standing_for(standing, properties)))
}

/// Properties of what stands for something.
pub(super) type Properties = Vec<(Arc<str>, Value)>;

/// Names of its indexes and constraints, as tools show a label.
fn shown_of(catalog: &Catalog, label: LabelId, name: &Arc<str>) -> Properties {
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
    vec![
        ("name".into(), Value::String(Arc::clone(name))),
        ("indexes".into(), Value::list(indexes.collect())),
        ("constraints".into(), Value::list(constraints.collect())),
    ]
}

pub(super) fn visualization(call: &Call<'_>, _: &[Value]) -> Rows {
    let catalog = call.caller.snapshot.catalog();
    let used = labels(catalog).filter(|(label, _)| catalog.label_count(*label) > 0);
    let nodes: BTreeMap<LabelId, Value> = used
        .map(|(label, name)| {
            let properties = shown_of(catalog, label, name);
            (label, node_standing(u64::from(label.0), name, properties))
        })
        .collect();
    let patterns = Patterns::of(call)?;
    let mut relationships = Vec::new();
    for (rel_type, name) in types(catalog) {
        for (start, end, _) in patterns.ends(rel_type) {
            let (Some(start), Some(end)) = (nodes.get(&start), nodes.get(&end)) else {
                continue;
            };
            let properties = vec![("name".into(), Value::String(Arc::clone(name)))];
            let number = relationships.len() as u64;
            relationships.push(relationship_standing(
                number,
                name,
                (start, end),
                properties,
            ));
        }
    }
    let nodes = Value::list(nodes.into_values().collect());
    Ok(vec![vec![nodes, Value::list(relationships)]])
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
pub(super) fn one_type(property: &Property) -> &'static str {
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
pub(super) fn flags(catalog: &Catalog, entity: SchemaEntity, key: &str) -> (bool, bool, bool) {
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

pub(super) fn meta_data(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let patterns = Patterns::of(call)?;
    let mut rows = Vec::new();
    for (label, name) in labels(catalog) {
        let mut found = BySet::new();
        nodes(call, label, &mut found)?;
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
                    let count = patterns.count(Some(label), rel_type, Some(end));
                    (&**name, count)
                })
                .filter(|(_, count)| *count > 0)
                .collect();
            if to.is_empty() {
                continue;
            }
            let count = patterns.count(Some(label), rel_type, None);
            let meta = Meta {
                label: name,
                property: type_name,
                count,
                flags: (false, false, false),
                kind: "RELATIONSHIP",
                sides: (count, patterns.count(None, rel_type, Some(label))),
                other: to.into_iter().map(|(name, _)| name).collect(),
                element: "node",
            };
            rows.push(meta.row());
        }
    }
    for (rel_type, name) in types(catalog) {
        let sampled = relationships(call, name)?;
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
            let pairs = patterns.ends(rel_type);
            let to = pairs.iter().filter(|(from, ..)| *from == start);
            let to: Vec<&str> = to
                .filter_map(|(_, end, _)| catalog.label_name(*end).map(|n| &**n))
                .collect();
            let Some(start_name) = catalog.label_name(start).filter(|_| !to.is_empty()) else {
                continue;
            };
            let count = patterns.count(Some(start), rel_type, None);
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
