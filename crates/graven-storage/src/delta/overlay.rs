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

use super::layer::{Change, ColumnOf, EdgeKey, Layer, ValueMap};
use super::lower::{ColumnPart, Lower, Net, Part, View};
use super::sealed_map::Block;
use crate::Result;
use crate::ids::{Direction, RelId, TypeId};
use crate::transaction::own::Own;
use crate::value::PropertyValue;
use crate::version::FrozenLayer;
use crate::version::recent::Recent;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The committed layers and the own transaction of one reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'a> {
    pub(crate) frozen: Option<&'a FrozenLayer>,
    /// Between frozen and active, oldest first.
    pub(crate) below: &'a [Arc<Lower>],
    pub(crate) active: &'a Layer,
    pub(crate) recent: &'a Recent,
    pub(crate) own: Option<&'a Arc<Own>>,
}

impl<'a> Stack<'a> {
    /// Committed layers, newest first.
    pub(crate) fn committed(&self) -> impl Iterator<Item = View<'a>> + use<'a> {
        std::iter::once(View::Memory(self.recent.layer())).chain(self.settled())
    }

    /// Committed layers but for the newest commits, newest first.
    fn settled(&self) -> impl Iterator<Item = View<'a>> + use<'a> {
        let frozen = self.frozen.into_iter().flat_map(FrozenLayer::newest_first);
        let below = self.below.iter().rev().map(|lower| lower.view());
        std::iter::once(View::Memory(self.active))
            .chain(below)
            .chain(frozen)
    }

    /// By how much all layers change the number of nodes.
    pub(crate) fn nodes(&self) -> i64 {
        let own = self.own.map_or(0, |own| {
            let (newest, below) = own.look(|layer| layer.counts.nodes);
            let below = below.iter().map(|lower| lower.view().counts().nodes);
            newest + below.sum::<i64>()
        });
        let settled: i64 = self.settled().map(|layer| layer.counts().nodes).sum();
        own + self.recent.nodes() + settled
    }

    /// The committed layers as one set of changes.
    pub(crate) fn net(&self) -> Net<'a> {
        let mut views: Vec<View<'a>> = self.committed().collect();
        views.reverse();
        Net { views }
    }

    /// What the newest layer that knows it says.
    pub(crate) fn find<T>(&self, get: impl Fn(View<'_>) -> Option<T>) -> Option<T> {
        if let Some(own) = self.own {
            let (found, below) = own.look(|layer| get(View::Memory(layer)));
            let older = || below.iter().rev().find_map(|lower| get(lower.view()));
            if let Some(found) = found.or_else(older) {
                return Some(found);
            }
        }
        self.committed().find_map(get)
    }

    /// As [`Stack::find`] where a look may fail.
    pub(crate) fn try_find<T>(
        &self,
        get: impl Fn(View<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.find(|view| get(view).transpose()).transpose()
    }

    /// Calls `visit` with every layer, oldest first.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(View<'_>)) {
        let committed: Vec<View<'_>> = self.committed().collect();
        committed.into_iter().rev().for_each(&mut visit);
        if let Some(own) = self.own {
            let (layer, below) = own.look(Layer::clone);
            below.iter().for_each(|lower| visit(lower.view()));
            visit(View::Memory(&layer));
        }
    }

    /// Committed maps that have entries, newest first.
    fn maps<T>(&self, get: impl Fn(View<'_>) -> Option<T>) -> Vec<T> {
        self.committed().filter_map(get).collect()
    }
}

/// The maps of a transaction that have entries, newest first.
fn own_maps<K: Ord, V>(
    own: Option<&Arc<Own>>,
    get: impl Fn(View<'_>) -> Option<Part<K, V>>,
) -> Vec<Part<K, V>> {
    let Some(own) = own else {
        return Vec::new();
    };
    let (newest, below) = own.look(|layer| get(View::Memory(layer)));
    let older = below.iter().rev().filter_map(|lower| get(lower.view()));
    newest.into_iter().chain(older).collect()
}

/// Changes of one property.
#[derive(Clone, Debug)]
pub(crate) struct ColumnOverlay {
    committed: Vec<ColumnPart>,
    own: Option<Arc<Own>>,
    of: ColumnOf,
}

impl ColumnOverlay {
    pub(crate) fn new(stack: Stack<'_>, of: ColumnOf) -> Option<ColumnOverlay> {
        let committed = stack.maps(|layer| layer.column(of));
        let own = stack.own.cloned();
        (!committed.is_empty() || own.is_some()).then_some(ColumnOverlay { committed, own, of })
    }

    /// Whether some of `ids` may be among the changes, found out by their range; readers in a transaction look at each.
    pub(crate) fn may_have(&self, ids: &[u64]) -> bool {
        if self.own.is_some() {
            return true;
        }
        let low = ids.iter().copied().min().unwrap_or(u64::MAX);
        let high = ids.iter().copied().max().unwrap_or(0);
        self.committed.iter().any(|part| match part {
            ColumnPart::Memory(map) => map.may_have(low, high),
            ColumnPart::Sealed(_) => true,
        })
    }

    /// Fixed for a run of look-ups; tells a serialisable transaction what is read.
    pub(crate) fn reader(&self, ids: &[u64]) -> ColumnReader<'_> {
        let (mut own, mut sealed) = (None, Vec::new());
        if let Some(writer) = &self.own {
            writer.read_column(self.of, ids);
            let (newest, below) = writer.look(|layer| layer.column(self.of).cloned());
            own = newest;
            sealed.extend((below.iter().rev()).filter_map(|lower| lower.view().column(self.of)));
        }
        ColumnReader {
            own,
            sealed,
            committed: &self.committed,
            blocks: Vec::new(),
        }
    }
}

/// See [`ColumnOverlay::reader`].
pub(crate) struct ColumnReader<'a> {
    own: Option<ValueMap>,
    /// Older layers of the own transaction, newest first.
    sealed: Vec<ColumnPart>,
    committed: &'a [ColumnPart],
    /// For every part, what was read of its pages last.
    blocks: Vec<Option<Block<u64, PropertyValue>>>,
}

impl ColumnReader<'_> {
    /// The value of `id` if it was changed; Null if it was removed.
    #[inline]
    pub(crate) fn get(&mut self, id: u64) -> Result<Option<PropertyValue>> {
        if let Some(value) = self.own.as_ref().and_then(|map| map.get(id)) {
            return Ok(Some(value.clone()));
        }
        for (at, part) in self.sealed.iter().chain(self.committed).enumerate() {
            let found = match part {
                ColumnPart::Memory(map) => map.get(id).cloned(),
                ColumnPart::Sealed(map) => {
                    if self.blocks.len() <= at {
                        self.blocks.resize_with(at + 1, || None);
                    }
                    map.get(&id, &mut self.blocks[at])?.cloned()
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Changes of one direction of one type.
#[derive(Clone, Debug)]
pub(crate) struct AdjacencyOverlay {
    committed: Vec<Part<EdgeKey, Change>>,
    own: Option<Arc<Own>>,
    of: (TypeId, Direction),
}

/// The first and the last key of the list of a node.
pub(super) const fn list_of(node: u64) -> (EdgeKey, EdgeKey) {
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
        let own = own_maps(self.own.as_ref(), |layer| layer.edges(self.of.0, self.of.1));
        let newest_first = own.into_iter().chain(self.committed.iter().cloned());
        let mut maps: Vec<_> = newest_first.collect();
        maps.reverse();
        Edges { maps }
    }

    /// The nodes whose lists are changed lie in this range.
    pub(crate) fn span(&self) -> Result<Option<Range<u64>>> {
        let edges = self.edges();
        let Some(first) = edges.next(0)? else {
            return Ok(None);
        };
        Ok(edges.previous(u64::MAX)?.map(|last| first..last + 1))
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
    /// Oldest first.
    pub(super) maps: Vec<Part<EdgeKey, Change>>,
}

impl Edges {
    /// The first node not below `node` whose list is changed.
    pub(crate) fn next(&self, node: u64) -> Result<Option<u64>> {
        let mut first: Option<u64> = None;
        for map in &self.maps {
            let found = map.next(Bound::Included(&list_of(node).0))?;
            let found = found.map(|(key, _)| key.0);
            first = first.into_iter().chain(found).min();
        }
        Ok(first)
    }

    /// The last node not above `node` whose list is changed.
    pub(crate) fn previous(&self, node: u64) -> Result<Option<u64>> {
        let mut last: Option<u64> = None;
        for map in &self.maps {
            let found = map.previous(Bound::Included(&list_of(node).1))?;
            let found = found.map(|(key, _)| key.0);
            last = last.max(found);
        }
        Ok(last)
    }

    /// Changes of the list of `node`.
    pub(crate) fn list(&self, node: u64) -> Result<Changes> {
        let mut changes = Changes::new();
        let (first, last) = list_of(node);
        for map in self
            .maps
            .iter()
            .filter(|map| map.may_have_any(&first, &last))
        {
            map.visit(Bound::Included(&first), &mut |key, change| {
                let of_node = key.0 == node;
                if of_node {
                    put_over(&mut changes, key, *change);
                }
                of_node
            })?;
        }
        Ok(changes)
    }
}

/// What changed in one list: (neighbour, relationship) with what became of it.
pub(crate) type Changes = BTreeMap<(u64, RelId), Change>;

/// Puts what a newer layer says of an entry of a list over what older ones say.
pub(super) fn put_over(changes: &mut Changes, (_, other, id): &EdgeKey, change: Change) {
    let key = (*other, RelId(*id));
    // What one layer adds and a newer one removes is not in the base (TX-4).
    if change == Change::Added || changes.remove(&key).is_none() {
        changes.insert(key, change);
    }
}

/// Changes of one index.
#[derive(Clone, Debug)]
pub(crate) struct IndexOverlay {
    committed: Vec<Part<IndexKey, Change>>,
    own: Option<Arc<Own>>,
    number: u32,
}

impl IndexOverlay {
    pub(crate) fn new(stack: Stack<'_>, number: u32) -> Option<IndexOverlay> {
        let committed = stack.maps(|layer| layer.index(number));
        let own = stack.own.cloned();
        (!committed.is_empty() || own.is_some()).then_some(IndexOverlay {
            committed,
            own,
            number,
        })
    }

    /// Makes of the ids that the tree has under `key`, those from place `from` of `ids` on, the ids that there are now, ascending.
    /// Tells a serialisable transaction that the key is read. Stops once there are more than `most`.
    pub(crate) fn merge_equal(
        &self,
        key: &[u8],
        from: usize,
        most: usize,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        let own;
        let newest_first = match &self.own {
            None => &self.committed,
            Some(_) => {
                own = self.entries(key, Some(key)).newest_first;
                &own
            }
        };
        let mut known: Vec<u64> = Vec::new();
        let mut few = true;
        // Most layers know nothing of a key, and to look for it takes a fifth of beginning a range.
        for map in newest_first.iter().filter(|map| map.may_have(key)) {
            let first: IndexKey = (key.into(), 0);
            map.visit(Bound::Included(&first), &mut |(of, id), change| {
                if **of != *key {
                    return false;
                }
                // The newest layer that knows an entry is right.
                if !known.contains(id) {
                    known.push(*id);
                    let place = ids[from..].iter().position(|other| other == id);
                    match (change, place) {
                        (Change::Added, None) => ids.push(*id),
                        (Change::Added, Some(_)) | (_, None) => {}
                        (_, Some(place)) => {
                            ids.remove(from + place);
                        }
                    }
                }
                few = ids.len() - from <= most;
                few
            })?;
            if !few {
                return Ok(());
            }
        }
        if !known.is_empty() {
            ids[from..].sort_unstable();
        }
        Ok(())
    }

    /// The maps as of now. Tells a serialisable transaction the range that is read: keys from `low` to `high`
    /// inclusive, cut; `None`: to the end.
    pub(crate) fn entries(&self, low: &[u8], high: Option<&[u8]>) -> IndexEntries {
        if let Some(own) = &self.own {
            own.read_index(self.number, low, high);
        }
        let own = own_maps(self.own.as_ref(), |layer| layer.index(self.number));
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
    newest_first: Vec<Part<IndexKey, Change>>,
}

/// Key and id.
pub(crate) type IndexKey = (Arc<[u8]>, u64);

impl IndexEntries {
    /// What is known of an entry.
    pub(crate) fn get(&self, key: &Arc<[u8]>, id: u64) -> Result<Option<Change>> {
        let wanted = (key.clone(), id);
        for map in &self.newest_first {
            let known = map.get(&wanted, &mut None)?;
            if known.is_some() {
                return Ok(known);
            }
        }
        Ok(None)
    }

    /// The first entry from `from` on, with what is known of it.
    pub(crate) fn next(&self, from: Bound<&IndexKey>) -> Result<Option<(IndexKey, Change)>> {
        let mut first: Option<(IndexKey, Change)> = None;
        for map in &self.newest_first {
            if let Some((key, change)) = map.next(from)?
                && first.as_ref().is_none_or(|(known, _)| key < *known)
            {
                first = Some((key, change));
            }
        }
        Ok(first)
    }

    /// The last entry up to `to`, with what is known of it.
    pub(crate) fn previous(&self, to: Bound<&IndexKey>) -> Result<Option<(IndexKey, Change)>> {
        let mut last: Option<(IndexKey, Change)> = None;
        for map in &self.newest_first {
            if let Some((key, change)) = map.previous(to)?
                && last.as_ref().is_none_or(|(known, _)| key > *known)
            {
                last = Some((key, change));
            }
        }
        Ok(last)
    }
}
