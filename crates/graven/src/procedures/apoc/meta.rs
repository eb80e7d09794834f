//! `apoc.meta.*`: what the graph holds, as graph tools read it.
//!
//! # How it works
//! Counts are those that the database keeps; types of properties come from the samples of
//! [`super::super::contents`]. What is shown as nodes and relationships stands for labels and
//! types.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_storage::{Catalog, LabelId, SchemaEntity};
use graven_types::name::quoted;

use super::super::Rows;
use super::super::columns::{count_of, integer, labels, strings, types};
use super::super::contents::{
    self, BySet, Sampled, flags, node_standing, node_type, one_type, relationship_standing,
};
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::Call;
use super::super::patterns::Patterns;
use crate::right::Right;

const CONFIG: (&[Field], usize) = (&[("config", TypeSet::MAP)], 0);

const GRAPH: &[Field] = &[("nodes", TypeSet::LIST), ("relationships", TypeSet::LIST)];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.meta.graph",
        "labels as nodes, and the types between them",
        CONFIG,
        Right::Read,
        GRAPH,
        Body::OfCall(graph),
    ),
    procedure(
        "apoc.meta.graphSample",
        "labels as nodes, and the types between them",
        CONFIG,
        Right::Read,
        GRAPH,
        Body::OfCall(graph),
    ),
    procedure(
        "apoc.meta.nodeTypeProperties",
        "properties of each combination of labels, from a sample",
        CONFIG,
        Right::Read,
        &[
            ("nodeType", TypeSet::STRING),
            ("nodeLabels", TypeSet::LIST),
            ("propertyName", TypeSet::STRING),
            ("propertyTypes", TypeSet::LIST),
            ("mandatory", TypeSet::BOOLEAN),
            ("propertyObservations", TypeSet::INTEGER),
            ("totalObservations", TypeSet::INTEGER),
        ],
        Body::OfCall(node_type_properties),
    ),
    procedure(
        "apoc.meta.relTypeProperties",
        "properties of each relationship type between labels, from a sample",
        CONFIG,
        Right::Read,
        &[
            ("relType", TypeSet::STRING),
            ("sourceNodeLabels", TypeSet::LIST),
            ("targetNodeLabels", TypeSet::LIST),
            ("propertyName", TypeSet::STRING),
            ("propertyTypes", TypeSet::LIST),
            ("mandatory", TypeSet::BOOLEAN),
            ("propertyObservations", TypeSet::INTEGER),
            ("totalObservations", TypeSet::INTEGER),
        ],
        Body::OfCall(rel_type_properties),
    ),
    procedure(
        "apoc.meta.schema",
        "labels and types with their properties, as one map",
        CONFIG,
        Right::Read,
        super::VALUE,
        Body::OfCall(schema),
    ),
    procedure(
        "apoc.meta.stats",
        "how many nodes, relationships, labels and types there are",
        (&[], 0),
        Right::Read,
        &[
            ("labelCount", TypeSet::INTEGER),
            ("relTypeCount", TypeSet::INTEGER),
            ("propertyKeyCount", TypeSet::INTEGER),
            ("nodeCount", TypeSet::INTEGER),
            ("relCount", TypeSet::INTEGER),
            ("labels", TypeSet::MAP),
            ("relTypes", TypeSet::MAP),
            ("relTypesCount", TypeSet::MAP),
            ("stats", TypeSet::MAP),
        ],
        Body::OfCall(stats),
    ),
    procedure(
        "apoc.meta.subGraph",
        "those labels and types that the configuration names, as a graph",
        (CONFIG.0, 1),
        Right::Read,
        GRAPH,
        Body::OfCall(graph),
    ),
];

type Answer = Result<Rows, ExecError>;

fn count(call: &Call<'_>, pattern: &str) -> Result<u64, ExecError> {
    let text = format!("MATCH {pattern} RETURN count(*)");
    let rows = call.rows(&text, Vec::new())?;
    Ok(rows.first().map_or(0, |row| count_of(&row[0])))
}

/// Texts of a list in the configuration.
fn listed(config: Option<&Value>, names: &[&str]) -> Vec<Arc<str>> {
    let Some(Value::Map(config)) = config else {
        return Vec::new();
    };
    let lists = names.iter().filter_map(|name| match config.get(name) {
        Some(Value::List(items)) => Some(items),
        _ => None,
    });
    let texts = lists
        .flat_map(|items| items.iter())
        .filter_map(|item| match item {
            Value::String(text) => Some(Arc::clone(text)),
            _ => None,
        });
    texts.collect()
}

fn graph(call: &Call<'_>, args: &[Value]) -> Answer {
    let catalog = call.caller.snapshot.catalog();
    let config = args.first();
    let wanted = listed(config, &["labels", "includeLabels"]);
    let without = listed(config, &["excludes", "excludeLabels"]);
    let wanted_types = listed(config, &["rels", "includeRels"]);
    let without_types = listed(config, &["excludeRels"]);
    let chosen = |wanted: &[Arc<str>], without: &[Arc<str>], name: &Arc<str>| {
        (wanted.is_empty() || wanted.contains(name)) && !without.contains(name)
    };
    let mut nodes: BTreeMap<LabelId, Value> = BTreeMap::new();
    for (label, name) in labels(catalog).filter(|(_, name)| chosen(&wanted, &without, name)) {
        let met = count(call, &format!("(n:{})", quoted(name)))?;
        if met > 0 {
            let properties = vec![
                ("name".into(), Value::String(Arc::clone(name))),
                ("count".into(), integer(met)),
            ];
            nodes.insert(label, node_standing(u64::from(label.0), name, properties));
        }
    }
    let patterns = Patterns::of(call)?;
    let mut relationships = Vec::new();
    let types = types(catalog).filter(|(_, name)| chosen(&wanted_types, &without_types, name));
    for (rel_type, name) in types {
        for (start, end, met) in patterns.ends(rel_type) {
            let (Some(start), Some(end)) = (nodes.get(&start), nodes.get(&end)) else {
                continue;
            };
            let properties = vec![
                ("type".into(), Value::String(Arc::clone(name))),
                ("count".into(), integer(met)),
                ("out".into(), integer(met)),
                ("in".into(), integer(met)),
            ];
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

fn node_type_properties(call: &Call<'_>, args: &[Value]) -> Answer {
    let wanted = listed(args.first(), &["labels", "includeLabels"]);
    let without = listed(args.first(), &["excludeLabels"]);
    let found: BySet = contents::sampled_nodes(call)?;
    let has = |set: &[String], names: &[Arc<str>]| {
        set.iter()
            .any(|label| names.iter().any(|name| **name == **label))
    };
    let mut rows = Rows::new();
    for (set, sampled) in &found {
        if (!wanted.is_empty() && !has(set, &wanted)) || has(set, &without) {
            continue;
        }
        for (row, met) in sampled.described() {
            let counts = [integer(met), integer(sampled.entities)];
            rows.push(
                node_type(set)
                    .into_iter()
                    .chain(row)
                    .chain(counts)
                    .collect(),
            );
        }
    }
    Ok(rows)
}

fn rel_type_properties(call: &Call<'_>, args: &[Value]) -> Answer {
    let wanted = listed(args.first(), &["rels", "includeRels"]);
    let without = listed(args.first(), &["excludeRels"]);
    let catalog = call.caller.snapshot.catalog();
    let patterns = Patterns::of(call)?;
    let mut rows = Rows::new();
    for (rel_type, name) in types(catalog) {
        if (!wanted.is_empty() && !wanted.contains(name)) || without.contains(name) {
            continue;
        }
        let sampled = contents::relationships(call, name)?;
        if sampled.entities == 0 {
            continue;
        }
        let spelled = Value::text(&format!(":{}", quoted(name)));
        for (start, end, _) in patterns.ends(rel_type) {
            let (Some(start), Some(end)) = (catalog.label_name(start), catalog.label_name(end))
            else {
                continue;
            };
            for (row, met) in sampled.described() {
                let between = [spelled.clone(), strings([&**start]), strings([&**end])];
                let counts = [integer(met), integer(sampled.entities)];
                rows.push(between.into_iter().chain(row).chain(counts).collect());
            }
        }
    }
    Ok(rows)
}

fn text(text: &str) -> Value {
    Value::text(text)
}

/// Properties of a sample as `apoc.meta.schema` has them.
fn properties(catalog: &Catalog, entity: SchemaEntity, sampled: &[&Sampled]) -> Value {
    let mut all = Vec::new();
    for (name, property) in sampled.iter().flat_map(|sampled| &sampled.properties) {
        if all
            .iter()
            .any(|(known, _): &(Arc<str>, Value)| **known == **name)
        {
            continue;
        }
        let (unique, indexed, existence) = flags(catalog, entity, name);
        let kind = one_type(property);
        let mut about: Vec<(Arc<str>, Value)> = vec![
            ("type".into(), text(kind)),
            ("existence".into(), Value::Boolean(existence)),
        ];
        match entity {
            SchemaEntity::Node(_) => {
                about.push(("indexed".into(), Value::Boolean(indexed)));
                about.push(("unique".into(), Value::Boolean(unique)));
            }
            _ => {
                about.push(("array".into(), Value::Boolean(kind == "LIST")));
            }
        }
        all.push((Arc::from(name.as_str()), Value::map(about)));
    }
    Value::map(all)
}

/// Labels of start and end, and how many relationships join them.
type LabelPair = (LabelId, LabelId, u64);

fn schema(call: &Call<'_>, _: &[Value]) -> Answer {
    let catalog = call.caller.snapshot.catalog();
    let mut all: Vec<(Arc<str>, Value)> = Vec::new();
    let mut of_types: Vec<(Arc<str>, Value, Vec<LabelPair>)> = Vec::new();
    let patterns = Patterns::of(call)?;
    for (rel_type, name) in types(catalog) {
        let met = count(call, &format!("()-[r:{}]->()", quoted(name)))?;
        if met == 0 {
            continue;
        }
        let sampled = contents::relationships(call, name)?;
        let own = properties(catalog, SchemaEntity::Relationship(rel_type), &[&sampled]);
        let about = vec![
            ("type".into(), text("relationship")),
            ("count".into(), integer(met)),
            ("properties".into(), own.clone()),
        ];
        all.push((Arc::clone(name), Value::map(about)));
        of_types.push((Arc::clone(name), own, patterns.ends(rel_type)));
    }
    for (label, name) in labels(catalog) {
        let met = count(call, &format!("(n:{})", quoted(name)))?;
        if met == 0 {
            continue;
        }
        let mut found = BySet::new();
        contents::nodes(call, label, &mut found)?;
        let sampled: Vec<&Sampled> = found.values().collect();
        let others = found.keys().flatten().map(String::as_str);
        let mut others: Vec<&str> = others.filter(|other| **other != **name).collect();
        others.sort_unstable();
        others.dedup();
        let mut relationships: Vec<(Arc<str>, Value)> = Vec::new();
        for (rel_type, own, ends) in &of_types {
            let out: Vec<_> = ends.iter().filter(|(start, ..)| *start == label).collect();
            let into: Vec<_> = ends.iter().filter(|(_, end, _)| *end == label).collect();
            let (direction, others) = match (out.is_empty(), into.is_empty()) {
                (true, true) => continue,
                (false, _) => ("out", out.iter().map(|(_, end, n)| (*end, *n)).collect()),
                (true, false) => {
                    let starts = into.iter().map(|(start, _, n)| (*start, *n));
                    ("in", starts.collect::<Vec<_>>())
                }
            };
            let names = others
                .iter()
                .filter_map(|(label, _)| catalog.label_name(*label));
            let about = vec![
                ("direction".into(), text(direction)),
                ("count".into(), integer(others.iter().map(|(_, n)| n).sum())),
                ("labels".into(), strings(names.map(|name| &**name))),
                ("properties".into(), own.clone()),
            ];
            relationships.push((Arc::clone(rel_type), Value::map(about)));
        }
        let about = vec![
            ("type".into(), text("node")),
            ("count".into(), integer(met)),
            ("labels".into(), strings(others)),
            (
                "properties".into(),
                properties(catalog, SchemaEntity::Node(label), &sampled),
            ),
            ("relationships".into(), Value::map(relationships)),
        ];
        all.push((Arc::clone(name), Value::map(about)));
    }
    Ok(vec![vec![Value::map(all)]])
}

fn stats(call: &Call<'_>, _: &[Value]) -> Answer {
    let catalog = call.caller.snapshot.catalog();
    let counted = Patterns::of(call)?;
    let (mut of_labels, mut of_types, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
    for (_, name) in labels(catalog) {
        let met = count(call, &format!("(n:{})", quoted(name)))?;
        if met > 0 {
            of_labels.push((Arc::clone(name), integer(met)));
        }
    }
    for (rel_type, name) in types(catalog) {
        let met = count(call, &format!("()-[r:{}]->()", quoted(name)))?;
        if met == 0 {
            continue;
        }
        of_types.push((Arc::clone(name), integer(met)));
        let pattern = |text: String, met| (Arc::from(text), integer(met));
        patterns.push(pattern(format!("()-[:{name}]->()"), met));
        for (label, of) in labels(catalog) {
            let out = counted.count(Some(label), rel_type, None);
            let into = counted.count(None, rel_type, Some(label));
            if out > 0 {
                patterns.push(pattern(format!("(:{of})-[:{name}]->()"), out));
            }
            if into > 0 {
                patterns.push(pattern(format!("()-[:{name}]->(:{of})"), into));
            }
        }
    }
    let keys = contents::keys_in_use(call, &[])?.len() as u64;
    let numbers = [
        ("labelCount", of_labels.len() as u64),
        ("relTypeCount", of_types.len() as u64),
        ("propertyKeyCount", keys),
        ("nodeCount", count(call, "(n)")?),
        ("relCount", count(call, "()-[r]->()")?),
    ];
    let maps = [
        ("labels", of_labels),
        ("relTypes", patterns),
        ("relTypesCount", of_types),
    ];
    let numbers = numbers.map(|(name, number)| (Arc::<str>::from(name), integer(number)));
    let maps = maps.map(|(name, entries)| (Arc::<str>::from(name), Value::map(entries)));
    let all: Vec<_> = numbers.into_iter().chain(maps).collect();
    let together = Value::map(all.clone());
    let row = all.into_iter().map(|(_, value)| value).chain([together]);
    Ok(vec![row.collect()])
}
