//! What recovery has read and not applied yet: many commits, which become one layer.
//!
//! # How it works
//! No reader can see the states between commits that are read together. So a batch only lists what
//! they say: nodes in runs of the same change ([`super::changed_nodes`]), values as the bytes of
//! the log ([`super::encoded_values`]), relationships in blocks. Ids mostly ascend; a list with an
//! id that came late is put in order when the batch is complete ([`WholeBatch`]). Then it becomes a
//! layer in memory, or is written to temporary pages as it is ([`super::spilled_batch`]). Lists of
//! neighbours are made only now ([`super::unsorted_adjacency`]).
//!
//! # Invariants
//! * TX-19: a batch becomes the layer that its commits would have made one after the other.

use super::changed_nodes::{ChangedNodes, GrowingNodes};
use super::counts::Counts;
use super::delta_layer::{
    DeltaLayer, EdgeMap, NODE_BYTES, RELATIONSHIP_BYTES, VALUE_BYTES, ValueMap,
};
use super::encoded_values::{EncodedValues, SLOT_BYTES};
use super::id_map::IdMap;
use super::relationship_block::Relationships;
use super::unsorted_adjacency::{Packing, UnsortedAdjacency};
use crate::bytes::Decoded;
use crate::delta::change::{Change, ColumnOf, NodeChange, RelationshipChange};
use crate::ids::{Direction, NodeId, RelId};
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    nodes: GrowingNodes,
    columns: HashMap<ColumnOf, EncodedValues>,
    /// Of all columns.
    value_bytes: u64,
    relationships: Relationships,
    /// Behind the largest id of a node and of a relationship.
    ends: (u64, u64),
}

impl Batch {
    /// Bytes that the lists of its relationships take while they are made.
    fn list_bytes(&self) -> u64 {
        let each = Packing::of(&self.relationships).map_or(0, |it| it.entries_bytes());
        self.relationships.len() as u64 * each
    }

    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.columns.is_empty() && self.relationships.len() == 0
    }

    /// Estimated bytes of memory, also while the lists are made.
    pub(crate) fn bytes(&self) -> u64 {
        self.nodes.bytes() + self.value_bytes + self.relationships.bytes() + self.list_bytes()
    }

    /// Behind the largest id of a node and of a relationship.
    pub(crate) fn ends(&self) -> (u64, u64) {
        self.ends
    }

    /// Enters a change of a node that `key` says in numbers: its kind as the log has it, its
    /// labels.
    pub(crate) fn put_node(
        &mut self,
        node: NodeId,
        key: &[u32],
        change: impl FnOnce() -> NodeChange,
    ) {
        self.nodes.put(node.0, key, change);
        self.ends.0 = self.ends.0.max(node.0.saturating_add(1));
    }

    /// Enters values of one property that `give` puts.
    pub(crate) fn put_values(
        &mut self,
        of: ColumnOf,
        give: impl FnOnce(&mut EncodedValues) -> Decoded<()>,
    ) -> Decoded<()> {
        let column = self.columns.entry(of).or_default();
        let bytes =
            |column: &EncodedValues| column.value_bytes() + column.len() as u64 * SLOT_BYTES;
        let before = bytes(column);
        let given = give(column);
        // A quarter for growing.
        self.value_bytes += (bytes(column) - before) * 5 / 4;
        given
    }

    pub(crate) fn put_relationship(&mut self, id: RelId, change: RelationshipChange) {
        self.relationships.push(id.0, change);
        self.ends.1 = self.ends.1.max(id.0.saturating_add(1));
    }

    /// All of it in order.
    pub(crate) fn finish(mut self) -> WholeBatch {
        self.relationships.settle();
        let columns = self.columns.into_iter().map(|(of, mut values)| {
            values.settle();
            (of, values)
        });
        WholeBatch {
            nodes: Arc::new(self.nodes.finish()),
            columns: columns.collect(),
            relationships: self.relationships,
        }
    }
}

/// A batch that is complete and in order.
#[derive(Debug)]
pub(crate) struct WholeBatch {
    pub(crate) nodes: Arc<ChangedNodes>,
    pub(crate) columns: BTreeMap<ColumnOf, EncodedValues>,
    pub(crate) relationships: Relationships,
}

impl WholeBatch {
    /// Estimated bytes of the layer that it would be, without its index entries.
    pub(crate) fn layer_bytes(&self) -> u64 {
        let nodes: u64 = self.nodes.runs().map(|(ids, _)| ids.end - ids.start).sum();
        let values = self.columns.values();
        let values = values.map(|it| it.heap_bytes() + it.len() as u64 * VALUE_BYTES);
        nodes * NODE_BYTES
            + values.sum::<u64>()
            + self.relationships.len() as u64 * RELATIONSHIP_BYTES
    }

    /// A layer in memory.
    pub(crate) fn layer(&self, counts: Counts) -> DeltaLayer {
        let mut layer = DeltaLayer {
            counts,
            ..DeltaLayer::default()
        };
        let nodes = self.nodes.runs();
        let nodes = nodes.flat_map(|(ids, change)| ids.map(move |id| (id, change.clone())));
        layer.nodes = IdMap::of_ascending(nodes);
        let mut bytes = layer.nodes.len() as u64 * NODE_BYTES;
        for (of, values) in &self.columns {
            let map = ValueMap::of_ascending(values.values().inspect(|(_, value)| {
                bytes += VALUE_BYTES + value.heap_bytes();
            }));
            layer.columns.insert(*of, map);
        }
        layer.relationships = IdMap::of_ascending(self.relationships.iter().copied());
        for direction in [Direction::Out, Direction::In] {
            let lists = UnsortedAdjacency::of(&self.relationships).map(|it| it.lists(direction));
            for (rel_type, list) in lists.into_iter().flatten() {
                let mut edges = EdgeMap::default();
                let Ok(()) = list.visit(|key, change: Change| {
                    edges.insert(key, change);
                    Ok::<(), Infallible>(())
                });
                layer.adjacency.insert((rel_type, direction), edges);
            }
        }
        bytes += layer.relationships.len() as u64 * RELATIONSHIP_BYTES;
        layer.bytes = bytes + layer.chunk_bytes();
        layer
    }
}

#[cfg(test)]
mod tests {
    //! Goal: what a batch becomes is what its changes make of a layer one after the other, also
    //! where they undo each other.

    use super::*;
    use crate::bytes::Reader;
    use crate::ids::{KeyId, LabelId, TypeId};
    use crate::value::encode::put_value;
    use graven_types::PropertyValue;
    use graven_types::rng::SplitMix64;

    #[test]
    fn a_batch_becomes_what_its_commits_make() {
        let mut random = SplitMix64::new(11);
        let mut random = move |below| random.below(below);
        let (mut batch, mut layer) = (Batch::default(), DeltaLayer::default());
        let mut added: Vec<(RelId, RelationshipChange)> = Vec::new();
        for step in 0..6000u64 {
            let id = match random(3) {
                0 => random(300),
                _ => 300 + step,
            };
            match random(4) {
                0 => {
                    let label = random(3) as u32;
                    let kind = random(3) as u32;
                    let key = [kind, label];
                    let key = if kind == 0 { &key[..1] } else { &key };
                    let labels = [LabelId(label)].into();
                    let change = match kind {
                        1 => NodeChange::Created(labels),
                        2 => NodeChange::Labels(labels),
                        _ => NodeChange::Deleted,
                    };
                    batch.put_node(NodeId(id), key, || change.clone());
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
                    let mut bytes = Vec::new();
                    put_value(&mut bytes, &value);
                    let mut reader = Reader::new(&bytes);
                    batch
                        .put_values(of, |values| values.take(id, &mut reader))
                        .unwrap();
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
        let made = batch.finish().layer(Counts::default());
        assert!(made.nodes.iter().eq(layer.nodes.iter()));
        let keys: Vec<_> = layer.columns.keys().collect();
        assert_eq!(made.columns.keys().collect::<Vec<_>>(), keys);
        for (of, values) in layer.columns.iter() {
            assert!(
                made.columns
                    .get(of)
                    .expect("the same keys")
                    .iter()
                    .eq(values.iter())
            );
        }
        assert!(made.relationships.iter().eq(layer.relationships.iter()));
        assert_eq!(made.adjacency, layer.adjacency);
        assert_eq!(made.bytes(), layer.bytes());
    }
}
