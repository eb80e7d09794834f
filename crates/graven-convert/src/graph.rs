//! The graph as an export reads it: names, then nodes, then relationships.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven::{Connection, Node, Params, Relationship, Transaction, Value};

use crate::error::Result;

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Nodes written.
    pub nodes: u64,
    /// Relationships written.
    pub relationships: u64,
    /// What the form could not hold, with counts; empty where the export is complete.
    pub notes: Vec<String>,
}

/// The graph, as one transaction sees it.
pub(crate) struct Graph {
    transaction: Transaction,
}

impl Graph {
    pub(crate) fn begin(connection: &Connection) -> Result<Self> {
        let transaction = connection.begin()?;
        Ok(Self { transaction })
    }

    /// All nodes in the order of their ids.
    pub(crate) fn nodes(&mut self, mut each: impl FnMut(&Node) -> Result<()>) -> Result<()> {
        self.rows("MATCH (n) RETURN n", |values| match values {
            [Value::Node(node)] => each(node),
            _ => Ok(()),
        })
    }

    /// All relationships.
    pub(crate) fn relationships(
        &mut self,
        mut each: impl FnMut(&Relationship) -> Result<()>,
    ) -> Result<()> {
        self.rows("MATCH ()-[r]->() RETURN r", |values| match values {
            [Value::Relationship(relationship)] => each(relationship),
            _ => Ok(()),
        })
    }

    /// The rows of a query, one after the other.
    pub(crate) fn rows(
        &mut self,
        text: &str,
        mut each: impl FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        for row in self.transaction.stream(text, &Params::new())? {
            each(row?.values())?;
        }
        Ok(())
    }

    fn texts(&mut self, text: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for row in self.transaction.query(text, &Params::new())? {
            if let [Value::String(text)] = row?.values() {
                found.push(text.to_string());
            }
        }
        Ok(found)
    }

    /// Statements that make the constraints and indexes.
    pub(crate) fn schema(&mut self) -> Result<Vec<String>> {
        let mut statements =
            self.texts("SHOW CONSTRAINTS YIELD createStatement RETURN createStatement")?;
        statements.extend(self.texts(
            "SHOW INDEXES YIELD createStatement, owningConstraint, type \
             WHERE owningConstraint IS NULL AND type <> 'LOOKUP' RETURN createStatement",
        )?);
        Ok(statements)
    }

    /// A label and a property key that the graph does not have.
    pub(crate) fn free_names(&mut self) -> Result<(String, String)> {
        let names = "MATCH (x) UNWIND keys(x) + labels(x) AS k RETURN DISTINCT k";
        let taken: BTreeSet<String> = self.texts(names)?.into_iter().collect();
        let free = |wanted: &str| {
            let mut name = wanted.to_owned();
            while taken.contains(&name) {
                name.push('_');
            }
            name
        };
        Ok((free("Exported"), free("exported_id")))
    }
}

/// Labels in one order, whatever order they were given in.
pub(crate) fn sorted(labels: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut labels = labels.to_vec();
    labels.sort();
    labels
}
