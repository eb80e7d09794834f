//! The newest commits of a version, made one layer when somebody looks into them.
//!
//! # How it works
//! To put the few entries of a commit on top of a layer copies the paths to their leaves in a dozen maps, and nobody may ever look
//! at just this state. So a version only lists the layers of its newest commits, and shares the list of those before with the
//! version that it was made from. Who looks first makes one layer of them, which later versions go on from. After
//! [`LISTED_MAX`] commits, or [`BYTES_MAX`], all go into the active layer one after the other, which then copies its paths once.
//!
//! # Concurrency
//! Immutable but for the one layer, which is set once; two that look first both make it, and one of them is kept.
//!
//! # Costs
//! A commit: one allocation. The first look: what merging at most [`LISTED_MAX`] small layers takes.

use crate::delta::layer::Layer;
use std::sync::{Arc, OnceLock};

/// Bytes from which the newest commits go into the active layer.
pub(crate) const BYTES_MAX: u64 = 32 << 10;
/// Commits that are listed before they go there.
const LISTED_MAX: u32 = 8;

/// A commit on top of those before it.
#[derive(Debug)]
struct Listed {
    layer: Layer,
    older: Option<Arc<Listed>>,
}

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// The oldest of the newest.
    base: Layer,
    /// Those on top of it, the newest first.
    listed: Option<Arc<Listed>>,
    count: u32,
    bytes: u64,
    /// All of them.
    whole: OnceLock<Layer>,
}

impl Recent {
    /// The same commits, for a version that gets more.
    pub(crate) fn copy(&self) -> Recent {
        match self.whole.get() {
            Some(whole) => Recent {
                base: whole.clone(),
                bytes: whole.bytes(),
                ..Recent::default()
            },
            None => Recent {
                base: self.base.clone(),
                listed: self.listed.clone(),
                count: self.count,
                bytes: self.bytes,
                whole: OnceLock::new(),
            },
        }
    }

    /// Puts a commit on top.
    pub(crate) fn push(&mut self, layer: &Layer) {
        self.whole = OnceLock::new();
        self.bytes += layer.bytes();
        if self.is_empty() {
            self.base = layer.clone();
            return;
        }
        self.count += 1;
        self.listed = Some(Arc::new(Listed {
            layer: layer.clone(),
            older: self.listed.take(),
        }));
    }

    /// Whether they are to go into the active layer.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= LISTED_MAX || self.bytes > BYTES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.base.is_empty() && self.listed.is_none()
    }

    /// Whether nodes came, went or have other labels.
    #[inline]
    pub(crate) fn has_nodes(&self) -> bool {
        !self.base.nodes.is_empty() || self.listed().any(|layer| !layer.nodes.is_empty())
    }

    /// Estimated bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// By how much they change the number of nodes.
    pub(crate) fn nodes(&self) -> i64 {
        let listed: i64 = self.listed().map(|layer| layer.counts.nodes).sum();
        self.base.counts.nodes + listed
    }

    /// All of them as one layer.
    #[inline]
    pub(crate) fn layer(&self) -> &Layer {
        match &self.listed {
            None => &self.base,
            Some(_) => self.whole.get_or_init(|| {
                let mut whole = self.base.clone();
                self.put_listed_on(&mut whole);
                whole
            }),
        }
    }

    /// Puts them on top of an older layer.
    pub(crate) fn put_on(&self, older: &mut Layer) {
        match self.whole.get() {
            Some(whole) => older.merge(whole),
            None => {
                older.merge(&self.base);
                self.put_listed_on(older);
            }
        }
    }

    fn put_listed_on(&self, older: &mut Layer) {
        let newest_first: Vec<&Layer> = self.listed().collect();
        newest_first.iter().rev().for_each(|it| older.merge(it));
    }

    /// The newest first.
    fn listed(&self) -> impl Iterator<Item = &Layer> {
        let all = std::iter::successors(self.listed.as_deref(), |it| it.older.as_deref());
        all.map(|it| &it.layer)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: the newest commits are what merging them one after the other gives, whoever looked at which state before.

    use super::*;
    use crate::delta::layer::{Change, ColumnOf, NodeChange, RelationshipChange};
    use crate::ids::{KeyId, LabelId, NodeId, RelId, TypeId};
    use crate::value::PropertyValue;

    fn commit(number: u64) -> Layer {
        let mut layer = Layer::default();
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

    fn same(one: &Layer, other: &Layer) {
        assert!(one.nodes.iter().eq(other.nodes.iter()));
        let values = |layer: &Layer| {
            let column = layer.column(ColumnOf::Node(KeyId(0)));
            let entries = column.into_iter().flat_map(|map| map.iter());
            entries
                .map(|(id, value)| (id, value.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(one), values(other));
        assert_eq!(one.counts, other.counts);
        assert!(one.relationships.iter().eq(other.relationships.iter()));
        let edges = |layer: &Layer| {
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
        // Each bit says whether somebody looks after that commit.
        for looks in 0..1u32 << 7 {
            let (mut recent, mut plain) = (Recent::default(), Layer::default());
            for number in 0u64..7 {
                recent = recent.copy();
                recent.push(&commit(number));
                plain.merge(&commit(number));
                assert!(!recent.is_empty() && recent.has_nodes());
                assert_eq!(recent.nodes(), plain.counts.nodes);
                if looks >> number & 1 == 1 {
                    same(recent.layer(), &plain);
                }
            }
            let (mut older, mut wanted) = (commit(100), commit(100));
            recent.put_on(&mut older);
            wanted.merge(&plain);
            same(&older, &wanted);
            assert!(!recent.is_full(), "seven small ones are listed");
        }
        let mut recent = Recent::default();
        (0..=u64::from(LISTED_MAX)).for_each(|number| recent.push(&commit(number)));
        assert!(recent.is_full());
    }
}
