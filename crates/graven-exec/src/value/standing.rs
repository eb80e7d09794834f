//! Maps that stand for a node, relationship or path which no database holds: a picture of the
//! schema, or what a statement makes up.
//!
//! # How it works
//! Such a value is the map of its properties, which also bears an id and labels, or a type and
//! ends. All that takes maps takes it; functions of nodes and relationships ask what it stands for.
//! Ids count down from the largest, so that drivers show them as negative numbers, and no database
//! has them.
//!
//! # Invariants
//! * EX-70 Two maps that stand for something are equal if their ids and their properties are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Value;

/// What a map stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A node.
    Node {
        /// One that no node of a database has.
        id: u64,
        /// Its labels.
        labels: Vec<Arc<str>>,
    },
    /// A relationship.
    Relationship {
        /// One that no relationship of a database has.
        id: u64,
        /// Its type.
        rel_type: Arc<str>,
        /// A node, or a map that stands for one.
        start: Value,
        /// Likewise.
        end: Value,
    },
    /// A path, with as many relationships as it has nodes, but one.
    Path {
        /// One that nothing else has.
        id: u64,
        /// Nodes, or maps that stand for such.
        nodes: Vec<Value>,
        /// Relationships, or maps that stand for such.
        relationships: Vec<Value>,
    },
}

impl Standing {
    /// The id of the first one, the second, and so on, where others are out of sight.
    #[must_use]
    pub fn id_numbered(number: u64) -> u64 {
        u64::MAX - number
    }

    /// An id that this process has not given before.
    #[must_use]
    pub fn next_id() -> u64 {
        /// Below those that are numbered.
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX - (1 << 32));
        NEXT.fetch_sub(1, Ordering::Relaxed)
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> u64 {
        match self {
            Standing::Node { id, .. }
            | Standing::Relationship { id, .. }
            | Standing::Path { id, .. } => *id,
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let own = size_of::<Self>();
        own + match self {
            Standing::Node { labels, .. } => labels.iter().map(|label| label.len() + 32).sum(),
            Standing::Relationship {
                rel_type,
                start,
                end,
                ..
            } => rel_type.len() + 16 + start.heap_bytes() + end.heap_bytes(),
            Standing::Path {
                nodes,
                relationships,
                ..
            } => {
                let parts = nodes.iter().chain(relationships);
                parts
                    .map(|part| size_of::<Value>() + part.heap_bytes())
                    .sum()
            }
        }
    }

    /// As a list, which [`Standing::from_parts`] reads.
    pub(crate) fn to_parts(&self) -> Vec<Value> {
        match self {
            Standing::Node { id, labels } => {
                let labels = labels.iter().cloned().map(Value::String);
                vec![
                    Value::Integer(id.cast_signed()),
                    Value::list(labels.collect()),
                ]
            }
            Standing::Relationship {
                id,
                rel_type,
                start,
                end,
            } => vec![
                Value::Integer(id.cast_signed()),
                Value::String(Arc::clone(rel_type)),
                start.clone(),
                end.clone(),
            ],
            Standing::Path {
                id,
                nodes,
                relationships,
            } => vec![
                Value::Integer(id.cast_signed()),
                Value::list(nodes.clone()),
                Value::list(relationships.clone()),
            ],
        }
    }

    /// What [`Standing::to_parts`] gave.
    pub(crate) fn from_parts(parts: &[Value]) -> Option<Self> {
        match parts {
            [Value::Integer(id), Value::List(labels)] => {
                let name = |label: &Value| match label {
                    Value::String(name) => Some(Arc::clone(name)),
                    _ => None,
                };
                Some(Standing::Node {
                    id: id.cast_unsigned(),
                    labels: labels.iter().map(name).collect::<Option<_>>()?,
                })
            }
            [Value::Integer(id), Value::String(rel_type), start, end] => {
                Some(Standing::Relationship {
                    id: id.cast_unsigned(),
                    rel_type: Arc::clone(rel_type),
                    start: start.clone(),
                    end: end.clone(),
                })
            }
            [
                Value::Integer(id),
                Value::List(nodes),
                Value::List(relationships),
            ] => Some(Standing::Path {
                id: id.cast_unsigned(),
                nodes: nodes.to_vec(),
                relationships: relationships.to_vec(),
            }),
            _ => None,
        }
    }
}

impl Value {
    /// What it stands for, if it is a map that stands for something.
    #[must_use]
    pub fn standing(&self) -> Option<&Standing> {
        match self {
            Value::Map(map) => map.standing(),
            _ => None,
        }
    }

    /// The id of a node, or of a map that stands for one.
    #[must_use]
    pub fn node_id(&self) -> Option<u64> {
        match (self, self.standing()) {
            (Value::Node(id), _) => Some(id.0),
            (_, Some(Standing::Node { id, .. })) => Some(*id),
            _ => None,
        }
    }
}
