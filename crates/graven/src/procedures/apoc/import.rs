//! `apoc.import.*`: the nodes and relationships of files that APOC's exports make, into the graph.
//!
//! # How it works
//! Elements are read one by one and written some at a time, in the transaction of the statement. A
//! table in memory holds which node has which id of the file; no property and no constraint does.
//! A relationship ends at nodes that stand before it in the file.
//!
//! # Cost
//! About a hundred bytes of memory for each node of the file, charged as `import`.

use std::collections::HashMap;
use std::io::BufReader;
use std::sync::Arc;
use std::time::Instant;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Map, Value};
use graven_files::elements::{Element, GraphMl, Json, Properties, Wrong};
use graven_files::{Kind, plain};
use graven_pagecache::Reservation;
use graven_types::PropertyValue;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{Call, no_room};
use super::export::COLUMNS;
use super::file::{self, Parts};
use crate::right::Right;

const ARGUMENTS: (&[Field], usize) = (
    &[("urlOrBinaryFile", TypeSet::ANY), ("config", TypeSet::MAP)],
    1,
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.import.graphml",
        "the nodes and relationships of a file of GraphML",
        ARGUMENTS,
        Right::Write,
        COLUMNS,
        Body::OfCall(graphml),
    ),
    procedure(
        "apoc.import.json",
        "the nodes and relationships that apoc.export.json has written",
        ARGUMENTS,
        Right::Write,
        COLUMNS,
        Body::OfCall(json),
    ),
];

/// Elements of one statement.
const BATCH: usize = 1000;

const NODES: &str = "UNWIND $rows AS row CREATE (n:$(row.labels)) SET n = row.properties RETURN n";
const RELATIONSHIPS: &str = "UNWIND $rows AS row WITH row.start AS a, row.end AS b, row \
    CREATE (a)-[r:$(row.type)]->(b) SET r = row.properties";

/// Options that change nothing: all is one transaction, and ids are held in memory.
const WITHOUT_EFFECT: &[&str] = &[
    "batchSize",
    "cleanup",
    "importIdName",
    "txBatchSize",
    "unwindBatchSize",
];

fn json(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let config = Config::of(
        call,
        args.get(1),
        &["nodePropertyMappings", "relPropertyMappings"],
    )?;
    let parts = Parts::of(file::open(call, args.first())?);
    let import = Import::begin(call, args, &parts, config);
    import.run("json", Json::new(BufReader::new(parts)))
}

fn graphml(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let known = &["readLabels", "storeNodeIds", "defaultRelationshipType"];
    let config = Config::of(call, args.get(1), known)?;
    let unnamed = match config.given.get("defaultRelationshipType") {
        None | Some(Value::Null) => Arc::from("RELATED"),
        Some(Value::String(name)) => Arc::clone(name),
        Some(other) => {
            let told = told!("defaultRelationshipType is a String, not {other}");
            return Err(call.failed(told));
        }
    };
    let parts = Parts::of(file::open(call, args.first())?);
    let mut import = Import::begin(call, args, &parts, config);
    import.has_named_labels = !import.config.holds("readLabels");
    let elements = GraphMl::new(BufReader::new(parts)).with_unnamed(&unnamed);
    import.run("graphml", elements)
}

/// What an import is told besides its file.
struct Config {
    given: Map,
}

impl Config {
    fn of(call: &Call<'_>, given: Option<&Value>, known: &[&str]) -> Result<Self, ExecError> {
        let given = call.config(given)?.into_owned();
        let mut names = given.entries().iter().map(|(name, _)| &**name);
        let unknown = names.find(|name| !known.contains(name) && !WITHOUT_EFFECT.contains(name));
        if let Some(name) = unknown {
            let told = told!("there is no option {name}; there are {}", known.join(", "));
            return Err(call.failed(told));
        }
        Ok(Config { given })
    }

    fn holds(&self, name: &str) -> bool {
        self.given.get(name) == Some(&Value::Boolean(true))
    }

    /// The kinds of properties that the configuration says for the labels or the type.
    fn kind(&self, option: &str, names: &[String], key: &str) -> Result<Option<Kind>, String> {
        let Some(Value::Map(by_name)) = self.given.get(option) else {
            return Ok(None);
        };
        for name in names {
            let Some(Value::Map(by_key)) = by_name.get(name) else {
                continue;
            };
            let Some(Value::String(kind)) = by_key.get(key) else {
                continue;
            };
            let own = match kind.to_ascii_uppercase().as_str() {
                "LOCALDATE" => "DATE",
                "OFFSETTIME" => "TIME",
                "ZONEDDATETIME" | "OFFSETDATETIME" => "DATETIME",
                "LONG" => "INTEGER",
                "DOUBLE" => "FLOAT",
                // As a map or literal, it is one already.
                "POINT" => return Ok(None),
                other => return of_name(other).map(Some),
            };
            return of_name(own).map(Some);
        }
        Ok(None)
    }
}

fn of_name(name: &str) -> Result<Kind, String> {
    let found = Kind::parse(name);
    found.ok_or_else(|| told!("there is no type {name} of properties"))
}

/// What comes from the file.
struct Import<'a> {
    call: &'a Call<'a>,
    file: Value,
    config: Config,
    begun: Instant,
    part: std::rc::Rc<std::cell::RefCell<file::Part>>,
    /// Nodes by their ids in the file.
    nodes: HashMap<String, Value>,
    memory: Reservation,
    waiting_nodes: Vec<(String, Value)>,
    waiting_relationships: Vec<Value>,
    waiting_memory: Reservation,
    /// Labels are the text of a property.
    has_named_labels: bool,
    /// Nodes, relationships and properties.
    count: [i64; 3],
}

impl<'a> Import<'a> {
    fn begin(call: &'a Call<'a>, args: &[Value], parts: &Parts<'_>, config: Config) -> Self {
        let memory = || call.on.database.budget.empty_reservation("import");
        Import {
            call,
            file: args.first().cloned().unwrap_or_default(),
            config,
            begun: Instant::now(),
            part: parts.part(),
            nodes: HashMap::new(),
            memory: memory(),
            waiting_nodes: Vec::new(),
            waiting_relationships: Vec::new(),
            waiting_memory: memory(),
            has_named_labels: false,
            count: [0; 3],
        }
    }

    fn wrong(&self, line: u64, message: &str) -> ExecError {
        let told = told!("{}, line {line}: {message}", self.file);
        self.call.failed(told)
    }

    fn run(
        mut self,
        format: &str,
        elements: impl Iterator<Item = Result<(Element, u64), Wrong>>,
    ) -> Result<Rows, ExecError> {
        for element in elements {
            let (element, line) = match element {
                Ok(found) => found,
                Err(wrong) => {
                    self.call.check()?;
                    let refused = self.part.borrow_mut().refused();
                    return Err(refused.unwrap_or_else(|| self.wrong(wrong.line, &wrong.message)));
                }
            };
            self.part.borrow_mut().end()?;
            self.take(element, line)?;
        }
        self.write()?;
        let [nodes, relationships, properties] = self.count;
        let time = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        Ok(vec![vec![
            self.file,
            Value::text("file"),
            Value::text(format),
            Value::Integer(nodes),
            Value::Integer(relationships),
            Value::Integer(properties),
            Value::Integer(time),
            Value::Integer(nodes + relationships),
            Value::Integer(-1),
            Value::Integer(0),
            Value::Boolean(true),
            Value::Null,
        ]])
    }

    fn take(&mut self, element: Element, line: u64) -> Result<(), ExecError> {
        let waits = match element {
            Element::Node {
                id,
                mut labels,
                mut properties,
            } => {
                self.convert("nodePropertyMappings", &labels, &mut properties, line)?;
                if self.has_named_labels && !labels.is_empty() {
                    let text: String = labels.drain(..).map(|label| format!(":{label}")).collect();
                    let text = PropertyValue::String(text.as_str().into());
                    properties.push(("labels".to_owned(), text));
                }
                let is_of = |name: &str| properties.iter().any(|(key, _)| key == name);
                if self.config.holds("storeNodeIds") && !is_of("id") {
                    let own = PropertyValue::String(id.as_str().into());
                    properties.push(("id".to_owned(), own));
                }
                let labels = labels.iter().map(|label| Value::text(label)).collect();
                let row = self.row([("labels", Value::list(labels))], properties);
                self.grow(&row, id.len())?;
                self.waiting_nodes.push((id, row));
                self.waiting_nodes.len()
            }
            Element::Relationship {
                start,
                end,
                name,
                mut properties,
            } => {
                // Nodes before it may wait still.
                self.write_nodes()?;
                let names = [name];
                self.convert("relPropertyMappings", &names, &mut properties, line)?;
                let node = |id: &String| {
                    self.nodes.get(id).cloned().ok_or_else(|| {
                        let told = told!("no node before it has the id {id} of an end");
                        self.wrong(line, &told)
                    })
                };
                let ends = [
                    ("start", node(&start)?),
                    ("end", node(&end)?),
                    ("type", Value::text(&names[0])),
                ];
                let row = self.row(ends, properties);
                self.grow(&row, 0)?;
                self.waiting_relationships.push(row);
                self.waiting_relationships.len()
            }
        };
        match waits >= BATCH {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Gives texts the types that the configuration says.
    fn convert(
        &self,
        option: &str,
        names: &[String],
        properties: &mut Properties,
        line: u64,
    ) -> Result<(), ExecError> {
        for (key, value) in properties {
            let PropertyValue::String(text) = &*value else {
                continue;
            };
            let kind = self.config.kind(option, names, key);
            let kind = kind.map_err(|why| self.call.failed(why))?;
            if let Some(kind) = kind {
                let read = plain::read(&kind, text);
                let told = |why| self.wrong(line, &format!("the property {key} {why}"));
                *value = read.map_err(told)?;
            }
        }
        Ok(())
    }

    fn row<const N: usize>(&mut self, named: [(&str, Value); N], properties: Properties) -> Value {
        self.count[2] += i64::try_from(properties.len()).unwrap_or(i64::MAX);
        let properties = properties.into_iter();
        let properties = properties.map(|(key, value)| (Arc::from(key), Value::from(value)));
        let mut entries: Vec<(Arc<str>, Value)> = named
            .into_iter()
            .map(|(name, value)| (Arc::from(name), value))
            .collect();
        entries.push((Arc::from("properties"), Value::map(properties.collect())));
        Value::map(entries)
    }

    fn grow(&mut self, row: &Value, of_id: usize) -> Result<(), ExecError> {
        let bytes = row.heap_bytes() + of_id + 2 * size_of::<(String, Value)>();
        self.waiting_memory.grow(bytes as u64).map_err(no_room)
    }

    fn write(&mut self) -> Result<(), ExecError> {
        self.write_nodes()?;
        let rows = std::mem::take(&mut self.waiting_relationships);
        if !rows.is_empty() {
            self.count[1] += i64::try_from(rows.len()).unwrap_or(i64::MAX);
            let params = vec![(Arc::from("rows"), Value::list(rows))];
            self.call.rows(RELATIONSHIPS, params)?;
        }
        self.waiting_memory.resize(0).map_err(no_room)
    }

    fn write_nodes(&mut self) -> Result<(), ExecError> {
        if self.waiting_nodes.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting_nodes);
        let (ids, rows): (Vec<String>, Vec<Value>) = waiting.into_iter().unzip();
        let held = |id: &String| 2 * (id.len() + size_of::<(String, Value)>());
        let held: usize = ids.iter().map(held).sum();
        self.memory.grow(held as u64).map_err(no_room)?;
        self.count[0] += i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let params = vec![(Arc::from("rows"), Value::list(rows))];
        let made = self.call.rows(NODES, params)?;
        for (id, node) in ids.into_iter().zip(made.into_iter().flatten()) {
            self.nodes.insert(id, node);
        }
        Ok(())
    }
}
