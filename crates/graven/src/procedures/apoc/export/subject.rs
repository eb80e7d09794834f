//! What is exported: the whole graph, nodes and relationships, or the rows of a statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_exec::{ExecError, MoreRows, Value};
use graven_storage::{NodeId, RelId};

use super::super::super::inner::{Call, Started};
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
                let told = format!("a statement is a String, not {}", other.type_name());
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
        while let Some(rows) = started.next()? {
            rows.iter().flatten().for_each(|value| found.take(value));
        }
        let relationships = std::mem::take(&mut found.relationships).into_iter();
        let relationships = relationships.map(|id| Value::Relationship(RelId(id)));
        let relationships = Value::list(relationships.collect());
        let params = vec![(Arc::from("rels"), relationships.clone())];
        let ends = "UNWIND $rels AS r UNWIND [startNode(r), endNode(r)] AS n RETURN DISTINCT n";
        for row in self.call.rows(ends, params)? {
            row.iter().for_each(|value| found.nodes_of(value));
        }
        let nodes = found.nodes.into_iter().map(|id| Value::Node(NodeId(id)));
        self.subject = Subject::Lists("statement", Value::list(nodes.collect()), relationships);
        Ok(())
    }
}

/// Nodes and relationships of values.
#[derive(Default)]
struct Found {
    nodes: BTreeSet<u64>,
    relationships: BTreeSet<u64>,
}

impl Found {
    fn nodes_of(&mut self, value: &Value) {
        if let Value::Node(id) = value {
            self.nodes.insert(id.0);
        }
    }

    fn take(&mut self, value: &Value) {
        match value {
            Value::Node(_) => self.nodes_of(value),
            Value::Relationship(id) => drop(self.relationships.insert(id.0)),
            Value::Path(path) => {
                self.nodes.extend(path.nodes.iter().map(|id| id.0));
                self.relationships
                    .extend(path.relationships.iter().map(|id| id.0));
            }
            Value::List(items) => items.iter().for_each(|item| self.take(item)),
            Value::Map(map) => map.entries().iter().for_each(|(_, item)| self.take(item)),
            _ => {}
        }
    }
}
