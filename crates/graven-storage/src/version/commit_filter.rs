//! What a few commits have entries about: a filter that says "no" for nearly everything else.
//!
//! # How it works
//! One bit for each store, each node or relationship, and each key of an index, by a hash (a Bloom
//! filter with one function). For questions about a range, it also has the range of ids whose
//! values changed. A reader that hears "no" need not look at the commits at all: their maps were
//! made by another thread a moment ago, and every look at one of them waits for that processor's
//! cache.
//!
//! # Invariants
//! * TX-21: "no" is always right.
//!
//! # Costs
//! 272 bytes, copied for every commit; a hash for every entry of a commit and for every question.
//! Eight commits of three entities set about a hundred of its 2048 bits.

use crate::delta::change::ColumnOf;
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::filter_key::{FilterHash, FilterKey};
use crate::ids::Direction;
use std::ops::RangeInclusive;

/// Words of bits.
const WORDS: usize = 32;

/// The word and the bit for what is asked.
fn place(FilterHash(hash): FilterHash) -> (usize, u64) {
    ((hash >> 6) as usize % WORDS, 1 << (hash & 63))
}

/// The ids between the lowest and the highest.
type Span = Option<(u64, u64)>;

/// See the file header.
#[derive(Clone, Default, Debug)]
pub(crate) struct CommitFilter {
    bits: [u64; WORDS],
    node_values: Span,
    relationship_values: Span,
}

impl CommitFilter {
    /// Adds all that a layer has entries about.
    pub(crate) fn add(&mut self, layer: &DeltaLayer) {
        layer.for_each_entry(|about| self.set(about));
        for (of, values) in layer.columns.iter() {
            self.set(FilterKey::Column(*of));
            for id in values.ids() {
                let span = match of {
                    ColumnOf::Node(_) => &mut self.node_values,
                    ColumnOf::Relationship(..) => &mut self.relationship_values,
                };
                let (low, high) = span.unwrap_or((id, id));
                *span = Some((low.min(id), high.max(id)));
            }
        }
        for (_, it) in layer.relationships.iter() {
            for direction in [Direction::Out, Direction::In] {
                self.set(FilterKey::Lists(it.rel_type, direction));
            }
        }
        for (index, _) in layer.indexes.iter() {
            self.set(FilterKey::Index(*index));
        }
    }

    fn set(&mut self, about: FilterKey<'_>) {
        let (word, bit) = place(about.into());
        self.bits[word] |= bit;
    }

    /// Whether there may be entries about this.
    #[inline]
    pub(crate) fn has(&self, about: impl Into<FilterHash>) -> bool {
        let (word, bit) = place(about.into());
        self.bits[word] & bit != 0
    }

    /// Whether there may be values of ids in this range.
    pub(crate) fn has_values(&self, of: ColumnOf, ids: RangeInclusive<u64>) -> bool {
        let span = match of {
            ColumnOf::Node(_) => self.node_values,
            ColumnOf::Relationship(..) => self.relationship_values,
        };
        span.is_some_and(|(low, high)| low <= *ids.end() && *ids.start() <= high)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: whatever a layer has entries about is touched (TX-21), and most of the rest is not.

    use super::*;
    use crate::delta::change::{Change, NodeChange, RelationshipChange};
    use crate::ids::TypeId;
    use crate::ids::{KeyId, LabelId, NodeId, RelId};
    use graven_types::PropertyValue;
    use std::sync::Arc;

    const NODE: ColumnOf = ColumnOf::Node(KeyId(2));
    const RELATIONSHIP: ColumnOf = ColumnOf::Relationship(TypeId(1), KeyId(2));

    /// Everything about entity `at`, once all of it was committed.
    fn about(at: u64, key: &[u8]) -> Vec<FilterKey<'_>> {
        vec![
            FilterKey::Node(at),
            FilterKey::Relationship(at),
            FilterKey::Node(at + 1),
            FilterKey::Key(4, key),
        ]
    }

    #[test]
    fn what_was_committed_is_touched() {
        let mut touched = CommitFilter::default();
        let stores = [
            FilterKey::Column(NODE),
            FilterKey::Column(RELATIONSHIP),
            FilterKey::Lists(TypeId(1), Direction::Out),
            FilterKey::Lists(TypeId(1), Direction::In),
            FilterKey::Index(4),
        ];
        assert!(stores.iter().all(|store| !touched.has(*store)));
        assert!(!touched.has_values(NODE, 0..=u64::MAX));
        for at in (1000..1080).step_by(10) {
            let mut layer = DeltaLayer::default();
            layer.put_node(
                NodeId(at),
                NodeChange::Created(Arc::from([LabelId(0)].as_slice())),
            );
            layer.put_value(NODE, at, PropertyValue::Integer(1));
            layer.put_value(RELATIONSHIP, at, PropertyValue::Integer(1));
            let it = RelationshipChange {
                rel_type: TypeId(1),
                start: NodeId(at),
                end: NodeId(at + 1),
                change: Change::Added,
            };
            layer.put_relationship(RelId(at), it);
            let key: Arc<[u8]> = Arc::from(at.to_be_bytes().as_slice());
            layer.put_index_entry(4, &key, at, Change::Added);
            touched.add(&layer);
        }
        assert!(stores.iter().all(|store| touched.has(*store)));
        for at in (1000..1080u64).step_by(10) {
            let key = at.to_be_bytes();
            assert!(about(at, &key).iter().all(|it| touched.has(*it)), "{at}");
        }
        for of in [NODE, RELATIONSHIP] {
            assert!(touched.has_values(of, 0..=1000) && touched.has_values(of, 1070..=2000));
            assert!(!touched.has_values(of, 0..=999) && !touched.has_values(of, 1071..=2000));
        }
        let mut wrong = 0;
        for at in 5000..6000u64 {
            let key = at.to_be_bytes();
            wrong += about(at, &key)
                .iter()
                .filter(|it| touched.has(**it))
                .count();
        }
        assert!(wrong < 4000 / 10, "{wrong} of 4000");
    }
}
