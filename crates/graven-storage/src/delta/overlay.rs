//! The part of the stack of layers that concerns one store, as its readers hold it.
//!
//! # How it works
//! An overlay keeps the maps of the committed layers that have entries for its store, newest first, and the
//! reader's own transaction, whose map is looked up anew at every use, so that later writes are seen. A store that no
//! layer knows has no overlay, which is what its readers test.
//!
//! # Concurrency
//! The lock of the own layer is held for single look-ups and for taking copies of maps (a few pointers), never
//! while a page is pinned or a caller's code runs.

use super::layer::{Change, ColumnOf, EdgeKey, EdgeMap, IndexMap, Layer, ValueMap};
use crate::adjacency::Sweep;
use crate::ids::{Direction, NodeId, RelId, TypeId};
use crate::transaction::own::Own;
use crate::value::PropertyValue;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The committed layers and the own transaction of one reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'a> {
    pub(crate) frozen: Option<&'a Layer>,
    pub(crate) active: &'a Layer,
    pub(crate) recent: &'a Layer,
    pub(crate) own: Option<&'a Arc<Own>>,
}

impl Stack<'_> {
    /// What the newest layer that knows it says.
    pub(crate) fn find<T>(&self, get: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        if let Some(own) = self.own
            && let Some(found) = get(&own.layer())
        {
            return Some(found);
        }
        get(self.recent)
            .or_else(|| get(self.active))
            .or_else(|| self.frozen.and_then(get))
    }

    /// Calls `visit` with every layer, oldest first.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Layer)) {
        if let Some(frozen) = self.frozen {
            visit(frozen);
        }
        visit(self.active);
        visit(self.recent);
        if let Some(own) = self.own {
            visit(&own.layer());
        }
    }

    /// Committed maps that have entries, newest first.
    fn maps<M: Clone>(&self, get: impl Fn(&Layer) -> Option<&M>) -> Vec<M> {
        [Some(self.recent), Some(self.active), self.frozen]
            .into_iter()
            .flatten()
            .filter_map(get)
            .cloned()
            .collect()
    }
}

/// Changes of one property.
#[derive(Clone, Debug)]
pub(crate) struct ColumnOverlay {
    committed: Vec<ValueMap>,
    own: Option<Arc<Own>>,
    of: ColumnOf,
}

impl ColumnOverlay {
    pub(crate) fn new(stack: Stack<'_>, of: ColumnOf) -> Option<ColumnOverlay> {
        let committed = stack.maps(|layer| layer.column(of));
        let own = stack.own.cloned();
        (!committed.is_empty() || own.is_some()).then_some(ColumnOverlay { committed, own, of })
    }

    /// Fixed for a run of look-ups; tells a serialisable transaction what is read.
    pub(crate) fn reader(&self, ids: &[u64]) -> ColumnReader<'_> {
        let own = self.own.as_ref().and_then(|own| {
            own.read_column(self.of, ids);
            own.layer().column(self.of).cloned()
        });
        ColumnReader {
            own,
            committed: &self.committed,
        }
    }
}

/// See [`ColumnOverlay::reader`].
pub(crate) struct ColumnReader<'a> {
    own: Option<ValueMap>,
    committed: &'a [ValueMap],
}

impl ColumnReader<'_> {
    /// The value of `id` if it was changed; Null if it was removed.
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<&PropertyValue> {
        let own = self.own.as_ref().and_then(|map| map.get(&id));
        own.or_else(|| self.committed.iter().find_map(|map| map.get(&id)))
    }
}

/// Changes of one direction of one type.
#[derive(Clone, Debug)]
pub(crate) struct AdjacencyOverlay {
    committed: Vec<EdgeMap>,
    own: Option<Arc<Own>>,
    of: (TypeId, Direction),
}

const fn list_of(node: u64) -> (EdgeKey, EdgeKey) {
    ((node, 0, 0), (node, u64::MAX, u64::MAX))
}

impl AdjacencyOverlay {
    pub(crate) fn new(
        stack: Stack<'_>,
        rel_type: TypeId,
        direction: Direction,
    ) -> Option<AdjacencyOverlay> {
        let committed = stack.maps(|layer| layer.edges(rel_type, direction));
        let own = stack.own.cloned();
        (!committed.is_empty() || own.is_some()).then_some(AdjacencyOverlay {
            committed,
            own,
            of: (rel_type, direction),
        })
    }

    /// The maps as of now, oldest first.
    pub(crate) fn edges(&self) -> Edges {
        let own = self
            .own
            .as_ref()
            .and_then(|own| own.layer().edges(self.of.0, self.of.1).cloned());
        Edges {
            maps: self.committed.iter().rev().cloned().chain(own).collect(),
        }
    }

    /// The nodes whose lists are changed lie in this range.
    pub(crate) fn span(&self) -> Option<Range<u64>> {
        let edges = self.edges();
        Some(edges.next(0)?..edges.previous(u64::MAX)? + 1)
    }

    /// Whether a serialisable transaction wants to know what is read.
    pub(crate) fn records(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.records())
    }

    /// As [`AdjacencyOverlay::note`] for many nodes.
    pub(crate) fn note_all(&self, nodes: &[u64]) {
        nodes.iter().for_each(|node| self.note(*node));
    }

    /// Tells a serialisable transaction that the list of `node` is read.
    #[inline]
    pub(crate) fn note(&self, node: u64) {
        if let Some(own) = &self.own {
            own.read_list(self.of, node);
        }
    }
}

/// Changed entries of lists, fixed for one sweep.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    maps: Vec<EdgeMap>,
}

impl Edges {
    /// The first node not below `node` whose list is changed.
    pub(crate) fn next(&self, node: u64) -> Option<u64> {
        let firsts = self.maps.iter().filter_map(|map| {
            let range = map.range((Bound::Included((node, 0, 0)), Bound::Unbounded));
            range.map(|(key, _)| key.0).next()
        });
        firsts.min()
    }

    /// The last node not above `node` whose list is changed.
    pub(crate) fn previous(&self, node: u64) -> Option<u64> {
        let lasts = self.maps.iter().filter_map(|map| {
            let range = map.range((Bound::Unbounded, Bound::Included(list_of(node).1)));
            range.map(|(key, _)| key.0).next_back()
        });
        lasts.max()
    }

    /// Changes of the list of `node`: (neighbour, relationship), ascending.
    pub(crate) fn list(&self, node: u64) -> BTreeMap<(u64, RelId), Change> {
        let (low, high) = list_of(node);
        let mut changes = BTreeMap::new();
        for map in &self.maps {
            for ((_, other, id), change) in map.range((Bound::Included(low), Bound::Included(high)))
            {
                let key = (*other, RelId(*id));
                // What one layer adds and a newer one removes is not in the base (TX-4).
                if *change == Change::Added || changes.remove(&key).is_none() {
                    changes.insert(key, *change);
                }
            }
        }
        changes
    }
}

/// Changes of one index.
#[derive(Clone, Debug)]
pub(crate) struct IndexOverlay {
    committed: Vec<IndexMap>,
    own: Option<Arc<Own>>,
    number: u32,
}

impl IndexOverlay {
    pub(crate) fn new(stack: Stack<'_>, number: u32) -> Option<IndexOverlay> {
        let committed =
            stack.maps(|layer| layer.indexes.get(&number).filter(|map| !map.is_empty()));
        let own = stack.own.cloned();
        (!committed.is_empty() || own.is_some()).then_some(IndexOverlay {
            committed,
            own,
            number,
        })
    }

    /// The maps as of now. Tells a serialisable transaction the range that is read: keys from `low` to `high`
    /// inclusive, cut; `None`: to the end.
    pub(crate) fn entries(&self, low: &[u8], high: Option<&[u8]>) -> IndexEntries {
        let own = self.own.as_ref().and_then(|own| {
            own.read_index(self.number, low, high);
            own.layer().indexes.get(&self.number).cloned()
        });
        IndexEntries {
            newest_first: own
                .into_iter()
                .chain(self.committed.iter().cloned())
                .collect(),
        }
    }
}

/// Changed entries of an index, fixed for one range.
#[derive(Clone, Debug)]
pub(crate) struct IndexEntries {
    newest_first: Vec<IndexMap>,
}

/// Key and id.
pub(crate) type IndexKey = (Arc<[u8]>, u64);

impl IndexEntries {
    /// What is known of an entry.
    pub(crate) fn get(&self, key: &Arc<[u8]>, id: u64) -> Option<Change> {
        let wanted = (key.clone(), id);
        (self.newest_first.iter()).find_map(|map| map.get(&wanted).copied())
    }

    /// The first entry from `from` on, with what is known of it.
    pub(crate) fn next(&self, from: Bound<&IndexKey>) -> Option<(IndexKey, Change)> {
        let mut first: Option<(&IndexKey, Change)> = None;
        for map in &self.newest_first {
            if let Some((key, change)) = map.range::<_, IndexKey>((from, Bound::Unbounded)).next()
                && first.is_none_or(|(known, _)| key < known)
            {
                first = Some((key, *change));
            }
        }
        first.map(|(key, change)| (key.clone(), change))
    }

    /// The last entry up to `to`, with what is known of it.
    pub(crate) fn previous(&self, to: Bound<&IndexKey>) -> Option<(IndexKey, Change)> {
        let mut last: Option<(&IndexKey, Change)> = None;
        for map in &self.newest_first {
            let mut below = map.range::<_, IndexKey>((Bound::Unbounded, to));
            if let Some((key, change)) = below.next_back()
                && last.is_none_or(|(known, _)| key > known)
            {
                last = Some((key, *change));
            }
        }
        last.map(|(key, change)| (key.clone(), change))
    }
}

/// A node whose list is changed, ahead of or at the node a sweep visits.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    edges: &'a Edges,
    order: Sweep,
    /// `None`: none any more.
    ahead: Option<u64>,
    /// The node visited last.
    last: Option<u64>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(edges: &'a Edges, order: Sweep) -> Cursor<'a> {
        Cursor {
            edges,
            order,
            ahead: None,
            last: None,
        }
    }

    /// Whether the list of `node` is changed; cheap for nodes in the order of the sweep.
    #[inline]
    pub(crate) fn at(&mut self, NodeId(node): NodeId) -> bool {
        let up = self.order == Sweep::Up;
        let known = match (self.last, self.ahead) {
            (None, _) => false,
            (Some(last), ahead) if up => last <= node && ahead.is_none_or(|ahead| ahead >= node),
            (Some(last), ahead) => last >= node && ahead.is_none_or(|ahead| ahead <= node),
        };
        if !known {
            self.ahead = if up {
                self.edges.next(node)
            } else {
                self.edges.previous(node)
            };
        }
        self.last = Some(node);
        self.ahead == Some(node)
    }
}
