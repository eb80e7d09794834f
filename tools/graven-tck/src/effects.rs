//! Side effects: the difference between two states of the graph, counted as the kit counts.
//!
//! # How it works
//! A state is a set of node ids, of relationship ids, of labels in use and of (entity, key, value).
//! What is in the state after and not before is a `+`, the other way round a `-`.

use std::collections::BTreeSet;

use graven::{Connection, Params, Value};

use crate::feature::Ordered;
use crate::literal::Literal;

/// What the graph holds.
#[derive(Clone, Debug, Default)]
pub struct State {
    nodes: BTreeSet<String>,
    relationships: BTreeSet<String>,
    labels: BTreeSet<String>,
    properties: BTreeSet<String>,
}

impl State {
    /// Reads the whole graph.
    ///
    /// # Errors
    /// A statement that fails.
    pub fn read(connection: &Connection) -> Result<State, graven::Error> {
        let mut state = State::default();
        for statement in ["MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r"] {
            for row in connection.query(statement, &Params::new())? {
                let values = row?.into_values();
                match values.first() {
                    Some(Value::Node(node)) => {
                        let id = format!("n{}", node.id);
                        state
                            .labels
                            .extend(node.labels.iter().map(ToString::to_string));
                        state.add(&id, node.properties.iter());
                        state.nodes.insert(id);
                    }
                    Some(Value::Relationship(relationship)) => {
                        let id = format!("r{}", relationship.id);
                        state.add(&id, relationship.properties.iter());
                        state.relationships.insert(id);
                    }
                    _ => {}
                }
            }
        }
        Ok(state)
    }

    fn add<'a>(
        &mut self,
        id: &str,
        properties: impl Iterator<Item = (&'a std::sync::Arc<str>, &'a Value)>,
    ) {
        for (key, value) in properties {
            let value = Literal::of(value).normal_form(Ordered::Yes);
            self.properties.insert(format!("{id} {key} {value}"));
        }
    }

    /// All changes from this state to `after` that are not 0, in the kit's names.
    #[must_use]
    pub fn changes(&self, after: &State) -> Vec<(String, u64)> {
        let mut changes = Vec::new();
        for (name, before, after) in [
            ("nodes", &self.nodes, &after.nodes),
            ("relationships", &self.relationships, &after.relationships),
            ("labels", &self.labels, &after.labels),
            ("properties", &self.properties, &after.properties),
        ] {
            for (sign, from, to) in [("+", before, after), ("-", after, before)] {
                match to.difference(from).count() {
                    0 => {}
                    count => changes.push((format!("{sign}{name}"), count as u64)),
                }
            }
        }
        changes.sort();
        changes
    }
}
