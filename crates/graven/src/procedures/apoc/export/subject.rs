//! What is exported: the whole graph, nodes and relationships, or the rows of a statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_exec::{ExecError, Value};
use graven_pagecache::Reservation;
use graven_storage::{NodeId, RelId};
use graven_types::told;

use super::super::super::inner::{Call, Started, no_room};
use super::{Export, Written};

/// See the file header.
pub(super) enum Subject {
    All,
    /// Lists of nodes and relationships; what they are called where they come from.
    Lists(&'static str, Value, Value),
    /// A statement that only reads.
    Statement(Arc<str>),
}

impl Subject {
    pub(super) fn all() -> Self {
        Subject::All
    }

    pub(super) fn of_lists(from: &'static str, nodes: &Value, relationships: &Value) -> Self {
        Subject::Lists(from, nodes.clone(), relationships.clone())
    }

    /// That of `{nodes: [...], relationships: [...]}`.
    pub(super) fn of_map(call: &Call<'_>, graph: &Value) -> Result<Self, ExecError> {
        let Value::Map(graph) = graph else {
            return Err(call.failed("a graph is a Map such as {nodes: [], relationships: []}"));
        };
        let list = |name: &str| graph.get(name).cloned().unwrap_or_default();
        Ok(Subject::Lists(
            "graph",
            list("nodes"),
            list("relationships"),
        ))
    }

    pub(super) fn of_statement(call: &Call<'_>, text: &Value) -> Result<Self, ExecError> {
        match text {
            Value::String(text) => Ok(Subject::Statement(Arc::clone(text))),
            other => {
                let told = told!("a statement is a String, not {}", other.type_name());
                Err(call.failed(told))
            }
        }
    }

    /// As the column `source` has it.
    pub(super) fn told(&self, written: &Written) -> String {
        let counts = format!("nodes({}), rels({})", written.nodes, written.relationships);
        match self {
            Subject::All => format!("database: {counts}"),
            Subject::Lists(from, ..) => format!("{from}: {counts}"),
            Subject::Statement(_) => format!("statement: cols({})", written.columns),
        }
    }
}

/// Reads a statement for all nodes `n` of the subject.
const EACH_NODE: &str = "UNWIND $nodes AS n WITH DISTINCT n WHERE n IS NOT NULL ";
/// Reads one for all relationships `r` from `a` to `b`.
const EACH_RELATIONSHIP: &str = "UNWIND $rels AS r WITH DISTINCT r WHERE r IS NOT NULL \
    WITH startNode(r) AS a, r, endNode(r) AS b ";

/// Parameters by their names.
pub(super) type Given = Vec<(Arc<str>, Value)>;

impl Export<'_> {
    /// Starts a statement with `rest` behind what matches each node as `n`.
    pub(super) fn nodes(&self, rest: &str, mut params: Given) -> Result<Started, ExecError> {
        let text = match &self.subject {
            Subject::Lists(_, nodes, _) => {
                params.push((Arc::from("nodes"), nodes.clone()));
                format!("{EACH_NODE}{rest}")
            }
            _ => format!("MATCH (n) {rest}"),
        };
        self.call.start(&text, params)
    }

    /// Starts a statement with `rest` behind what matches each relationship as `r` from `a` to `b`.
    pub(super) fn relationships(
        &self,
        rest: &str,
        mut params: Given,
    ) -> Result<Started, ExecError> {
        let text = match &self.subject {
            Subject::Lists(_, _, relationships) => {
                params.push((Arc::from("rels"), relationships.clone()));
                format!("{EACH_RELATIONSHIP}{rest}")
            }
            _ => format!("MATCH (a)-[r]->(b) {rest}"),
        };
        self.call.start(&text, params)
    }

    /// Starts the statement of the subject, if it is one, with the parameters of the configuration.
    pub(super) fn statement(&self) -> Option<Result<Started, ExecError>> {
        match &self.subject {
            Subject::Statement(text) => Some(self.call.start(text, self.config.params.clone())),
            _ => None,
        }
    }

    /// Puts the nodes and relationships that a statement gives in the place of its rows.
    pub(super) fn collect(&mut self) -> Result<(), ExecError> {
        let Some(started) = self.statement() else {
            return Ok(());
        };
        let mut started = started?;
        let mut found = Found::default();
        while let Some(rows) = self.next(&mut started)? {
            let mut values = rows.iter().flatten();
            values.try_for_each(|value| found.take(value, &mut self.kept))?;
        }
        let relationships = std::mem::take(&mut found.relationships);
        let relationships = self.list(relationships, |id| Value::Relationship(RelId(id)))?;
        let params = vec![(Arc::from("rels"), relationships.clone())];
        let ends = "UNWIND $rels AS r UNWIND [startNode(r), endNode(r)] AS n RETURN DISTINCT n";
        let mut started = self.call.start(ends, params)?;
        while let Some(rows) = self.next(&mut started)? {
            let mut values = rows.iter().flatten();
            values.try_for_each(|value| found.take(value, &mut self.kept))?;
        }
        let nodes = self.list(found.nodes, |id| Value::Node(NodeId(id)))?;
        self.subject = Subject::Lists("statement", nodes, relationships);
        Ok(())
    }

    /// Ids as a list of values, which takes their place in what is kept.
    fn list(&mut self, ids: BTreeSet<u64>, value: fn(u64) -> Value) -> Result<Value, ExecError> {
        let (count, each) = (ids.len() as u64, size_of::<Value>() as u64);
        // The values are copied to where they are shared.
        self.kept.grow(2 * each * count).map_err(no_room)?;
        let list = Value::list(ids.into_iter().map(value).collect());
        self.kept.shrink((each + ID_BYTES) * count);
        Ok(list)
    }
}

/// About how many bytes an id takes in a set.
const ID_BYTES: u64 = 24;

/// Puts an id into a set, charged.
fn put(ids: &mut BTreeSet<u64>, id: u64, memory: &mut Reservation) -> Result<(), ExecError> {
    match ids.insert(id) {
        true => memory.grow(ID_BYTES).map_err(no_room),
        false => Ok(()),
    }
}

/// Nodes and relationships of values.
#[derive(Default)]
struct Found {
    nodes: BTreeSet<u64>,
    relationships: BTreeSet<u64>,
}

impl Found {
    fn take(&mut self, value: &Value, memory: &mut Reservation) -> Result<(), ExecError> {
        match value {
            Value::Node(id) => put(&mut self.nodes, id.0, memory),
            Value::Relationship(id) => put(&mut self.relationships, id.0, memory),
            Value::Path(path) => {
                let mut nodes = path.nodes.iter();
                nodes.try_for_each(|id| put(&mut self.nodes, id.0, memory))?;
                let mut relationships = path.relationships.iter();
                relationships.try_for_each(|id| put(&mut self.relationships, id.0, memory))
            }
            Value::List(items) => items.iter().try_for_each(|item| self.take(item, memory)),
            Value::Map(map) => {
                let mut items = map.entries().iter();
                items.try_for_each(|(_, item)| self.take(item, memory))
            }
            _ => Ok(()),
        }
    }
}
