//! What a serialisable transaction has read, for validation at its commit.
//!
//! # How it works
//! Sets of nodes, relationships, lists, label scans and ranges of index keys. A set that grows
//! beyond [`LIMIT`] entries is widened to the whole store: nothing is ever dropped. A statement
//! that reads relationships of any type reads the lists of all types that there are. It also reads
//! that there is no other type. A relationship of a new type, wherever it is made, is a change of
//! what was read.

use crate::ids::{Direction, LabelId, TypeId};
use std::collections::{BTreeSet, HashSet};

/// Entries kept of one kind before it is widened.
const LIMIT: usize = 1 << 16;

/// A set that becomes everything when it grows too large.
#[derive(Debug)]
pub(crate) enum Widening<T> {
    Some(HashSet<T>),
    All,
}

impl<T> Default for Widening<T> {
    fn default() -> Self {
        Widening::Some(HashSet::new())
    }
}

impl<T: std::hash::Hash + Eq> Widening<T> {
    fn insert(&mut self, value: T) {
        if let Widening::Some(set) = self {
            set.insert(value);
            if set.len() > LIMIT {
                *self = Widening::All;
            }
        }
    }

    pub(crate) fn contains(&self, value: &T) -> bool {
        match self {
            Widening::All => true,
            Widening::Some(set) => set.contains(value),
        }
    }
}

impl Widening<u64> {
    /// One of the set from the first to the last of `run`.
    pub(crate) fn within(&self, (first, last): (u64, u64)) -> Option<u64> {
        match self {
            Widening::All => Some(first),
            Widening::Some(set) if last - first < set.len() as u64 => {
                (first..=last).find(|id| set.contains(id))
            }
            Widening::Some(set) => set.iter().copied().find(|id| (first..=last).contains(id)),
        }
    }
}

/// A range of cut keys of one index; without an end it goes to the last key.
pub(crate) type KeyRange = (Vec<u8>, Option<Vec<u8>>);

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(crate) nodes: Widening<u64>,
    pub(crate) relationships: Widening<u64>,
    pub(crate) lists: Widening<(TypeId, Direction, u64)>,
    /// Relationships of any type were asked for when there were so many types.
    pub(crate) types: Option<u32>,
    pub(crate) labels: BTreeSet<LabelId>,
    pub(crate) all_nodes: bool,
    pub(crate) ranges: Widening<(u32, KeyRange)>,
}

impl Reads {
    pub(crate) fn node(&mut self, node: u64) {
        self.nodes.insert(node);
    }

    pub(crate) fn relationship(&mut self, id: u64) {
        self.relationships.insert(id);
    }

    pub(crate) fn list(&mut self, (rel_type, direction): (TypeId, Direction), node: u64) {
        self.lists.insert((rel_type, direction, node));
    }

    pub(crate) fn types(&mut self, count: u32) {
        self.types = Some(self.types.map_or(count, |known| known.min(count)));
    }

    /// Whether relationships of any type were asked for when there was none of this one.
    pub(crate) fn misses(&self, rel_type: TypeId) -> bool {
        self.types.is_some_and(|count| rel_type.0 >= count)
    }

    pub(crate) fn index(&mut self, number: u32, low: &[u8], high: Option<&[u8]>) {
        self.ranges
            .insert((number, (low.to_vec(), high.map(<[u8]>::to_vec))));
    }

    pub(crate) fn label(&mut self, label: Option<LabelId>) {
        match label {
            None => self.all_nodes = true,
            Some(label) => {
                self.labels.insert(label);
            }
        }
    }

    /// Whether one of the ranges read in the index holds `key`.
    pub(crate) fn range_holds(&self, index: u32, key: &[u8]) -> bool {
        match &self.ranges {
            Widening::All => true,
            Widening::Some(ranges) => ranges.iter().any(|(number, (low, high))| {
                *number == index
                    && key >= low.as_slice()
                    && high.as_ref().is_none_or(|high| key <= high.as_slice())
            }),
        }
    }
}
