//! `apoc.graph.fromDocument` and `validateDocument`: a document of maps within maps as nodes and
//! relationships that are only shown.
//!
//! # How it works
//! Each map is a node, and one that a map or a list within it holds is joined to it by the key of
//! that. Maps of one label and one id are one node.

use std::collections::HashMap;
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Map, Standing, Value};
use graven_pagecache::Reservation;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{Call, no_room};
use crate::right::Right;

const ARGUMENTS: (&[Field], usize) = (&[("json", TypeSet::ANY), ("config", TypeSet::MAP)], 1);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.graph.fromDocument",
        "the nodes and relationships that a document stands for, which are only shown",
        ARGUMENTS,
        Right::Read,
        &[("graph", TypeSet::MAP)],
        Body::OfCall(from_document),
    ),
    procedure(
        "apoc.graph.validateDocument",
        "what is missing in a document for apoc.graph.fromDocument",
        ARGUMENTS,
        Right::Read,
        &[("row", TypeSet::MAP)],
        Body::OfCall(validate),
    ),
];

/// Maps within maps that are read.
const DEPTH_MAX: usize = 100;

/// Options, of which `write`, `mappings` and `relMapping` have no other value than none.
const KNOWN: &[&str] = &[
    "defaultLabel",
    "generateId",
    "idField",
    "labelField",
    "skipValidation",
];

struct Config {
    id_field: Arc<str>,
    label_field: Arc<str>,
    default_label: Option<Arc<str>>,
    makes_ids: bool,
    is_unchecked: bool,
}

impl Config {
    fn of(call: &Call<'_>, given: Option<&Value>) -> Result<Self, ExecError> {
        let given = call.config(given)?;
        let map = &*given;
        for (name, value) in map.entries() {
            let nothing = match value {
                Value::Null | Value::Boolean(false) => true,
                Value::Map(map) => map.entries().is_empty(),
                _ => false,
            };
            match &**name {
                name if KNOWN.contains(&name) => {}
                "write" | "mappings" | "relMapping" if nothing => {}
                "write" => {
                    let told = "write: true is not available: nodes are only shown; MERGE what \
                        apoc.convert.fromJsonMap(text) gives";
                    return Err(call.failed(told));
                }
                name => {
                    let known = KNOWN.join(", ");
                    return Err(call.failed(told!("there is no option {name}; there are {known}")));
                }
            }
        }
        let text = |name: &str, usual: &str| match map.get(name) {
            None | Some(Value::Null) => Ok(Arc::from(usual)),
            Some(Value::String(text)) => Ok(Arc::clone(text)),
            Some(other) => Err(call.failed(told!("{name} is a String, not {other}"))),
        };
        let holds = |name: &str, usual: bool| match map.get(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(Value::Boolean(given)) => Ok(*given),
            Some(other) => Err(call.failed(told!("{name} is true or false, not {other}"))),
        };
        Ok(Config {
            id_field: text("idField", "id")?,
            label_field: text("labelField", "type")?,
            default_label: Some(text("defaultLabel", "")?).filter(|label| !label.is_empty()),
            makes_ids: holds("generateId", true)?,
            is_unchecked: holds("skipValidation", false)?,
        })
    }

    /// What is missing in a map, as the end of a sentence.
    fn missing(&self, map: &Map) -> Option<String> {
        let has = |field: &str| map.get(field).is_some_and(|value| !value.is_null());
        let mut fields = Vec::new();
        if !self.makes_ids && !has(&self.id_field) {
            fields.push(format!("`{}` as id-field", self.id_field));
        }
        if self.default_label.is_none() && !has(&self.label_field) {
            fields.push(format!("`{}` as label-field", self.label_field));
        }
        (!fields.is_empty()).then(|| format!("must have {}", fields.join(" and ")))
    }
}

/// The document: one map, or a list of them; a text is read as JSON.
fn documents(call: &Call<'_>, given: Option<&Value>) -> Result<Vec<Value>, ExecError> {
    let value = match given {
        Some(Value::String(text)) => {
            let params = vec![(Arc::from("text"), Value::String(Arc::clone(text)))];
            let rows = call.rows("RETURN apoc.json.path($text, '$') AS value", params)?;
            rows.into_iter().flatten().next().unwrap_or_default()
        }
        other => other.cloned().unwrap_or_default(),
    };
    let all = match value {
        Value::List(items) => items.to_vec(),
        one => vec![one],
    };
    match all.iter().find(|one| !matches!(one, Value::Map(_))) {
        Some(other) => {
            let told = told!(
                "a document is a Map, or a List of them, not {}",
                other.type_name()
            );
            Err(call.failed(told))
        }
        None => Ok(all),
    }
}

/// The maps that the values of a map hold, by their keys; its other values are properties.
fn within(map: &Map) -> impl Iterator<Item = (&Arc<str>, &Map)> {
    map.entries().iter().flat_map(|(key, value)| {
        let items = match value {
            Value::List(items) if is_of_maps(items) => &**items,
            one => std::slice::from_ref(one),
        };
        items.iter().filter_map(move |item| match item {
            Value::Map(map) if map.standing().is_none() => Some((key, &**map)),
            _ => None,
        })
    })
}

fn is_of_maps(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item, Value::Map(_)))
}

fn is_property(value: &Value) -> bool {
    match value {
        Value::Map(_) | Value::Null => false,
        Value::List(items) => !is_of_maps(items),
        _ => true,
    }
}

/// The shown nodes and relationships of a document.
struct Graph<'a> {
    call: &'a Call<'a>,
    config: Config,
    nodes: Vec<Value>,
    relationships: Vec<Value>,
    /// By label and id, as texts.
    known: HashMap<(Arc<str>, String), usize>,
    memory: Reservation,
}

impl Graph<'_> {
    fn charge(&mut self, value: &Value) -> Result<(), ExecError> {
        let bytes = 2 * value.heap_bytes() + 64;
        self.memory.grow(bytes as u64).map_err(no_room)
    }

    /// The node of a map, and all that lies within.
    fn node(&mut self, map: &Map, depth: usize) -> Result<Value, ExecError> {
        self.call.check()?;
        if depth == DEPTH_MAX {
            let told = told!("maps lie more than {DEPTH_MAX} deep");
            return Err(self.call.failed(told));
        }
        if let Some(missing) = self
            .config
            .missing(map)
            .filter(|_| !self.config.is_unchecked)
        {
            let told = told!("the object {} {missing}", Value::Map(Arc::new(map.clone())));
            return Err(self.call.failed(told));
        }
        let label = match map.get(&self.config.label_field) {
            Some(Value::String(label)) => Some(capitalized(label)),
            _ => self.config.default_label.clone(),
        };
        let id = map.get(&self.config.id_field).filter(|id| !id.is_null());
        let key = id.map(|id| (label.clone().unwrap_or_default(), id.to_string()));
        let found = key.as_ref().and_then(|key| self.known.get(key)).copied();
        let node = match found {
            Some(at) => self.nodes[at].clone(),
            None => {
                let properties = map.entries().iter().filter(|(_, value)| is_property(value));
                let standing = Standing::Node {
                    id: Standing::next_id(),
                    labels: label.into_iter().collect(),
                };
                let made = Map::standing_for(standing, properties.cloned().collect());
                let node = Value::Map(Arc::new(made));
                self.charge(&node)?;
                if let Some(key) = key {
                    self.known.insert(key, self.nodes.len());
                }
                self.nodes.push(node.clone());
                node
            }
        };
        for (key, inner) in within(map) {
            let end = self.node(inner, depth + 1)?;
            let standing = Standing::Relationship {
                id: Standing::next_id(),
                rel_type: key.to_uppercase().into(),
                start: node.clone(),
                end,
            };
            let made = Value::Map(Arc::new(Map::standing_for(standing, Vec::new())));
            self.charge(&made)?;
            self.relationships.push(made);
        }
        Ok(node)
    }
}

fn capitalized(text: &str) -> Arc<str> {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect::<String>().into(),
        None => "".into(),
    }
}

fn from_document(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let config = Config::of(call, args.get(1))?;
    let all = documents(call, args.first())?;
    let mut graph = Graph {
        call,
        config,
        nodes: Vec::new(),
        relationships: Vec::new(),
        known: HashMap::new(),
        memory: call.on.database.budget.empty_reservation("document"),
    };
    for one in &all {
        if let Value::Map(map) = one {
            graph.node(map, 0)?;
        }
    }
    let entries = vec![
        (Arc::from("name"), Value::text("")),
        (Arc::from("nodes"), Value::list(graph.nodes)),
        (Arc::from("properties"), Value::map(Vec::new())),
        (Arc::from("relationships"), Value::list(graph.relationships)),
    ];
    Ok(vec![vec![Value::map(entries)]])
}

/// A row for each document in which something is missing.
fn validate(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let config = Config::of(call, args.get(1))?;
    let mut rows = Rows::new();
    for (index, one) in documents(call, args.first())?.iter().enumerate() {
        let Value::Map(map) = one else { continue };
        let mut told = Vec::new();
        let mut waiting = vec![&**map];
        while let Some(map) = waiting.pop() {
            call.check()?;
            if let Some(missing) = config.missing(map) {
                let shown = Value::Map(Arc::new(map.clone()));
                told.push(format!("The object `{shown}` {missing}"));
            }
            waiting.extend(within(map).map(|(_, inner)| inner));
        }
        if !told.is_empty() {
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            rows.push(vec![Value::map(vec![
                (Arc::from("index"), Value::Integer(index)),
                (Arc::from("message"), Value::text(&told.join("\n"))),
            ])]);
        }
    }
    Ok(rows)
}
