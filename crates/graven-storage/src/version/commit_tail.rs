//! The newest commits of a version, as a list that readers seldom have to look at.
//!
//! # How it works
//! Putting the few entries of a commit on top of a layer copies the paths to their leaves in a
//! dozen maps. Often no reader looks at the state that this gives. So a version only lists the
//! layers of its newest commits. It shares the list of those before with the version that it was
//! made from. After [`LISTED_MAX`] commits, or [`BYTES_MAX`], all go into the active layer one
//! after the other, which then copies its paths once.
//!
//! A reader that looks for a single entry asks first whether the newest commits say anything about
//! it ([`CommitFilter`]), which they seldom do. Then it asks one commit after the other. A reader
//! of many entries first makes one layer of the commits, which later versions go on from.
//!
//! # Invariants
//! * TX-22: the list, one commit after the other, says what the one layer says.
//!
//! # Concurrency
//! Immutable but for the one layer, which is set once; two that look first both make it, and one of
//! them is kept.
//!
//! # Costs
//! A commit: one allocation, and what [`CommitFilter`] says. A look for an entry: a hash; where
//! that was touched, a look at [`LISTED_MAX`] small maps. The first look at many: what merging at
//! most [`LISTED_MAX`] small layers takes.

use super::commit_filter::CommitFilter;
use crate::catalog::IndexDescription;
use crate::delta::change::ColumnOf;
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::filter_key::{FilterHash, FilterKey};
use graven_types::PropertyValue;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

/// Bytes from which the newest commits go into the active layer.
pub(crate) const BYTES_MAX: u64 = 32 << 10;
/// Commits that are listed on top of the first before they go there.
const LISTED_MAX: u32 = 8;

/// A commit, or several as one, on top of those before.
#[derive(Debug)]
pub(crate) struct CommitTail {
    layer: DeltaLayer,
    older: Option<Arc<CommitTail>>,
    /// Commits below it.
    count: u32,
    /// Estimated bytes of all.
    bytes: u64,
    /// By how much all change the number of nodes.
    nodes: i64,
    /// Whether nodes came, went or have other labels in any.
    has_nodes: bool,
    /// What any has entries about.
    touched: CommitFilter,
    /// All of them.
    whole: OnceLock<DeltaLayer>,
}

impl CommitTail {
    /// A commit on top of older ones.
    pub(crate) fn on(older: Option<&Arc<CommitTail>>, layer: &DeltaLayer) -> CommitTail {
        let older = older.map(|older| match older.whole.get() {
            Some(whole) => Arc::new(older.as_one(whole)),
            None => older.clone(),
        });
        let below = older.as_deref();
        let mut touched = below.map_or_else(CommitFilter::default, |it| it.touched.clone());
        touched.add(layer);
        CommitTail {
            count: below.map_or(0, |it| it.count + 1),
            bytes: below.map_or(0, |it| it.bytes) + layer.bytes(),
            nodes: below.map_or(0, |it| it.nodes) + layer.counts.nodes,
            has_nodes: below.is_some_and(|it| it.has_nodes) || !layer.nodes.is_empty(),
            touched,
            whole: OnceLock::new(),
            layer: layer.clone(),
            older,
        }
    }

    /// The same as one commit.
    fn as_one(&self, whole: &DeltaLayer) -> CommitTail {
        CommitTail {
            layer: whole.clone(),
            older: None,
            count: 0,
            bytes: whole.bytes(),
            nodes: self.nodes,
            has_nodes: self.has_nodes,
            touched: self.touched.clone(),
            whole: OnceLock::new(),
        }
    }

    /// Whether they are to go into the active layer.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= LISTED_MAX || self.bytes > BYTES_MAX
    }

    /// Whether nodes came, went or have other labels.
    #[inline]
    pub(crate) fn has_nodes(&self) -> bool {
        self.has_nodes
    }

    /// Estimated bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// By how much they change the number of nodes.
    pub(crate) fn nodes(&self) -> i64 {
        self.nodes
    }

    /// Whether there may be entries about this.
    #[inline]
    pub(crate) fn touches(&self, about: impl Into<FilterHash>) -> bool {
        self.touched.has(about)
    }

    /// Whether there may be entries of an index, or values of its properties.
    pub(crate) fn touches_index(&self, index: &IndexDescription) -> bool {
        let mut columns = index.keys.iter().map(|key| index.entity.column(*key));
        self.touches(FilterKey::Index(index.number))
            || columns.any(|of| self.touches(FilterKey::Column(of)))
    }

    /// Whether there may be values of ids in this range.
    pub(crate) fn touches_values(&self, of: ColumnOf, ids: RangeInclusive<u64>) -> bool {
        self.touched.has_values(of, ids)
    }

    /// The newest value of `id`, Null if it was removed; `None` if it was not changed.
    pub(crate) fn value(&self, of: ColumnOf, id: u64) -> Option<&PropertyValue> {
        self.newest_first()
            .find_map(|layer| layer.column(of)?.get(id))
    }

    /// All of them as one layer, if there is one already.
    fn known(&self) -> Option<&DeltaLayer> {
        match &self.older {
            None => Some(&self.layer),
            Some(_) => self.whole.get(),
        }
    }

    /// All of them as one layer.
    pub(crate) fn layer(&self) -> &DeltaLayer {
        match &self.older {
            None => &self.layer,
            Some(_) => self.whole.get_or_init(|| {
                let mut oldest_first = self.oldest_first().into_iter();
                let mut whole = oldest_first.next().cloned().unwrap_or_default();
                oldest_first.for_each(|layer| whole.merge(layer));
                whole
            }),
        }
    }

    /// Puts them on top of an older layer.
    pub(crate) fn apply_to(&self, older: &mut DeltaLayer) {
        let oldest_first = self.oldest_first();
        oldest_first
            .into_iter()
            .for_each(|layer| older.merge(layer));
    }

    /// Layers that say it all, the newest first: those of the commits, or of several as one.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &DeltaLayer> {
        let mut next = Some(self);
        std::iter::from_fn(move || {
            let at = next?;
            match at.known() {
                Some(all) => {
                    next = None;
                    Some(all)
                }
                None => {
                    next = at.older.as_deref();
                    Some(&at.layer)
                }
            }
        })
    }

    /// The same, the oldest first.
    pub(crate) fn oldest_first(&self) -> Vec<&DeltaLayer> {
        let mut layers: Vec<&DeltaLayer> = self.newest_first().collect();
        layers.reverse();
        layers
    }
}

#[cfg(test)]
mod tests {
    //! Goal: the newest commits are what merging them one after the other gives, whichever states
    //! readers looked at before.

    use super::*;
    use crate::delta::change::{Change, ColumnOf, NodeChange, RelationshipChange};
    use crate::ids::{KeyId, LabelId, NodeId, RelId, TypeId};
    use graven_types::PropertyValue;

    fn commit(number: u64) -> DeltaLayer {
        let mut layer = DeltaLayer::default();
        let labels: Arc<[LabelId]> = [LabelId(0)].into();
        layer.put_node(NodeId(number), NodeChange::Created(labels.clone()));
        layer.counts.nodes(&labels, 1);
        let of = ColumnOf::Node(KeyId(0));
        for id in [number, number / 2] {
            layer.put_value(of, id, PropertyValue::Integer(number as i64));
        }
        // One comes, and goes again with the commit after the next.
        for (id, change) in [
            (Some(number), Change::Added),
            (number.checked_sub(2), Change::Removed),
        ] {
            let Some(id) = id else { continue };
            let it = RelationshipChange {
                rel_type: TypeId(id as u32 % 2),
                start: NodeId(id),
                end: NodeId(id / 3),
                change,
            };
            layer.put_relationship(RelId(id), it);
            layer.put_index_entry(4, &Arc::from([id as u8 / 2]), id, change);
        }
        layer
    }

    fn same(one: &DeltaLayer, other: &DeltaLayer) {
        assert!(one.nodes.iter().eq(other.nodes.iter()));
        let values = |layer: &DeltaLayer| {
            let column = layer.column(ColumnOf::Node(KeyId(0)));
            let entries = column.into_iter().flat_map(|map| map.iter());
            entries
                .map(|(id, value)| (id, value.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(one), values(other));
        assert_eq!(one.counts, other.counts);
        assert!(one.relationships.iter().eq(other.relationships.iter()));
        let edges = |layer: &DeltaLayer| {
            let edges = layer
                .adjacency
                .iter()
                .filter(|(_, edges)| !edges.is_empty());
            edges
                .map(|(of, edges)| (*of, edges.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(one), edges(other));
        assert_eq!(one.indexes, other.indexes);
    }

    #[test]
    fn listed_commits_are_merged_commits() {
        // Each bit says whether a reader looks at all of it after that commit.
        for looks in 0..1u32 << 7 {
            let (mut commit_tail, mut plain) = (None, DeltaLayer::default());
            for number in 0u64..7 {
                let next = Arc::new(CommitTail::on(commit_tail.as_ref(), &commit(number)));
                plain.merge(&commit(number));
                assert!(next.has_nodes());
                assert_eq!(next.nodes(), plain.counts.nodes);
                for id in 0..10 {
                    let of = ColumnOf::Node(KeyId(0));
                    let wanted = plain.column(of).and_then(|map| map.get(id));
                    assert_eq!(next.value(of, id), wanted);
                    assert!(wanted.is_none() || next.touches(FilterKey::owner(of, id)));
                }
                let nodes = next.oldest_first().into_iter().map(|it| it.counts.nodes);
                assert_eq!(nodes.sum::<i64>(), plain.counts.nodes);
                if looks >> number & 1 == 1 {
                    same(next.layer(), &plain);
                }
                commit_tail = Some(next);
            }
            let commit_tail = commit_tail.expect("there were some");
            let (mut older, mut wanted) = (commit(100), commit(100));
            commit_tail.apply_to(&mut older);
            wanted.merge(&plain);
            same(&older, &wanted);
            assert!(!commit_tail.is_full(), "seven small ones are listed");
        }
        let mut commit_tail = Arc::new(CommitTail::on(None, &commit(0)));
        for number in 1..=u64::from(LISTED_MAX) {
            assert!(!commit_tail.is_full());
            commit_tail = Arc::new(CommitTail::on(Some(&commit_tail), &commit(number)));
        }
        assert!(commit_tail.is_full());
    }
}
