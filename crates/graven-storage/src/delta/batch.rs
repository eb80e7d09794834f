//! What recovery has read and not applied yet: many commits, which become one layer.
//!
//! # How it works
//! Nobody can see the states between commits that are read together. So their changes enter maps that are only written to
//! ([`Growing`]); to put each commit on top of persistent maps would walk and copy a path in every one of them, for two or three entries.
//! Lists of neighbours are made when the layer is complete ([`super::unlisted`]).
//!
//! # Invariants
//! * TX-19: a batch becomes the layer that its commits would have made one after the other.

use super::growing::Growing;
use super::id_map::CHUNK_BYTES;
use super::layer::{
    ColumnOf, Layer, NODE_BYTES, NodeChange, RelationshipChange, VALUE_BYTES, ValueMap,
};
use super::merge::Over;
use super::unlisted::UNLISTED_BYTES;
use crate::ids::{LabelId, NodeId, RelId};
use crate::value::PropertyValue;
use foldhash::HashMap;
use std::sync::Arc;

/// See the file header.
#[derive(Debug)]
pub(crate) struct Batch {
    nodes: Growing<NodeChange>,
    columns: HashMap<ColumnOf, Growing<PropertyValue>>,
    relationships: Growing<RelationshipChange>,
    /// Of entries.
    bytes: u64,
    chunks: u64,
    /// Labels of the node that was read last: the next one mostly has the same.
    labels: Arc<[LabelId]>,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            nodes: Growing::default(),
            columns: HashMap::default(),
            relationships: Growing::default(),
            bytes: 0,
            chunks: 0,
            labels: Arc::from([]),
        }
    }
}

impl Batch {
    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.columns.is_empty() && self.relationships.is_empty()
    }

    /// Estimated bytes of memory, also while the lists are made.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.chunks * CHUNK_BYTES
    }

    /// The labels as those of the node before, if they are the same.
    pub(crate) fn labels(&mut self, labels: &[LabelId]) -> Arc<[LabelId]> {
        if *self.labels != *labels {
            self.labels = labels.into();
        }
        self.labels.clone()
    }

    pub(crate) fn put_node(&mut self, node: NodeId, change: NodeChange) {
        let before = self.nodes.chunk_count();
        let first = self.nodes.put_over(node.0, change, |change, known| {
            let net = NodeChange::over(change, known);
            net.expect("a node's change never comes to nothing")
        });
        self.bytes += if first { NODE_BYTES } else { 0 };
        self.chunks += self.nodes.chunk_count() - before;
    }

    /// Enters values of one property that `give` hands over.
    pub(crate) fn put_values<T>(
        &mut self,
        of: ColumnOf,
        give: impl FnOnce(&mut dyn FnMut(u64, PropertyValue)) -> T,
    ) -> T {
        let (column, bytes) = (self.columns.entry(of).or_default(), &mut self.bytes);
        let before = column.chunk_count();
        let given = give(&mut |id, value| {
            *bytes += value.heap_bytes();
            match column.put(id, value) {
                None => *bytes += VALUE_BYTES,
                Some(before) => *bytes -= before.heap_bytes(),
            }
        });
        self.chunks += column.chunk_count() - before;
        given
    }

    pub(crate) fn put_relationship(&mut self, id: RelId, change: RelationshipChange) {
        let before = self.relationships.chunk_count();
        let known = self.relationships.put(id.0, change);
        self.chunks += self.relationships.chunk_count() - before;
        match known {
            None => self.bytes += UNLISTED_BYTES,
            // Ids are never used again, so what is here already was added here and goes now (TX-4).
            Some(_) => {
                self.relationships.remove(id.0);
                self.bytes -= UNLISTED_BYTES;
            }
        }
    }

    /// The layer, its lists still to be made.
    pub(crate) fn into_layer(self) -> Layer {
        let columns = self.columns.into_iter();
        let mut layer = Layer {
            nodes: self.nodes.finish(),
            columns: columns.map(|(of, values)| (of, values.finish())).collect(),
            relationships: self.relationships.finish(),
            bytes: self.bytes,
            ..Layer::default()
        };
        let of_columns: u64 = layer.columns.values().map(ValueMap::chunk_count).sum();
        let chunks = layer.nodes.chunk_count() + layer.relationships.chunk_count() + of_columns;
        layer.bytes += chunks * CHUNK_BYTES;
        layer
    }
}

#[cfg(test)]
mod tests {
    //! Goal: what a batch becomes is what its changes make of a layer one after the other, also where they undo each other.

    use super::*;
    use crate::delta::layer::Change;
    use crate::delta::unlisted::Unlisted;
    use crate::ids::{KeyId, TypeId};
    use graven_random::SplitMix64;

    #[test]
    fn a_batch_becomes_what_its_commits_make() {
        let mut random = SplitMix64::new(11);
        let mut random = move |below| random.below(below);
        let (mut batch, mut layer) = (Batch::default(), Layer::default());
        let mut added: Vec<(RelId, RelationshipChange)> = Vec::new();
        for step in 0..6000u64 {
            let id = match random(3) {
                0 => random(300),
                _ => 300 + step,
            };
            match random(4) {
                0 => {
                    let labels = batch.labels(&[LabelId(random(3) as u32)]);
                    let change = match random(3) {
                        0 => NodeChange::Created(labels),
                        1 => NodeChange::Labels(labels),
                        _ => NodeChange::Deleted,
                    };
                    batch.put_node(NodeId(id), change.clone());
                    layer.put_node(NodeId(id), change);
                }
                1 | 2 => {
                    let of = match random(2) {
                        0 => ColumnOf::Node(KeyId(random(2) as u32)),
                        _ => ColumnOf::Relationship(TypeId(0), KeyId(0)),
                    };
                    let value = match random(3) {
                        0 => PropertyValue::string(&"text".repeat(random(5) as usize)),
                        1 => PropertyValue::Null,
                        _ => PropertyValue::Integer(step as i64),
                    };
                    batch.put_values(of, |put| put(id, value.clone()));
                    layer.put_value(of, id, value);
                }
                _ => {
                    let new = RelationshipChange {
                        rel_type: TypeId(random(3) as u32),
                        start: NodeId(random(500)),
                        end: NodeId(random(30)),
                        change: match random(3) {
                            0 => Change::Removed,
                            _ => Change::Added,
                        },
                    };
                    let (id, it) = match random(5) {
                        0 if !added.is_empty() => {
                            added.swap_remove(random(added.len() as u64) as usize)
                        }
                        _ => (RelId(10_000 + step), new),
                    };
                    if id.0 == 10_000 + step {
                        added.push((id, it));
                    }
                    batch.put_relationship(id, it);
                    layer.put_relationship(id, it);
                }
            }
        }
        let mut made = batch.into_layer();
        assert!(Unlisted::of(&made).is_some());
        made.enter_lists();
        assert!(Unlisted::of(&made).is_none());
        assert!(made.nodes.iter().eq(layer.nodes.iter()));
        let keys: Vec<_> = layer.columns.keys().collect();
        assert_eq!(made.columns.keys().collect::<Vec<_>>(), keys);
        for (of, values) in &layer.columns {
            assert!(made.columns[of].iter().eq(values.iter()));
        }
        assert!(made.relationships.iter().eq(layer.relationships.iter()));
        assert_eq!(made.adjacency, layer.adjacency);
        assert_eq!(made.bytes(), layer.bytes());
    }
}
