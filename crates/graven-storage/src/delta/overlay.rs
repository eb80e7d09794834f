//! The part of the stack of layers that concerns one store, as its readers hold it.
//!
//! # How it works
//! An overlay keeps the maps of the committed layers that have entries for its store, newest first,
//! and what is on top of them ([`Top`]): the newest commits, which are asked only about what they
//! touched, and the reader's own transaction, whose map is looked up anew at every use, so that
//! later writes are seen. A store that no layer knows has no overlay, which is what its readers
//! test. The maps of committed layers are shared by the readers of some versions, the top is put on
//! for each of them.
//!
//! # Concurrency
//! The lock of the own layer is held for single look-ups and for taking copies of maps (a few
//! pointers), never while a page is pinned or a caller's code runs.

use super::committed::CommittedLayers;
use super::counts::Counts;
use super::delta_layer::{DeltaLayer, ValueMap};
use super::immutable_delta::{ColumnPart, DeltaPart, DeltaView, MergedDelta};
use super::spilled_run::Block;
use crate::Result;
use crate::catalog::IndexDescription;
use crate::delta::change::IndexKey;
use crate::delta::change::list_of;
use crate::delta::change::{Change, ColumnOf, EdgeKey};
use crate::delta::filter_key::{FilterHash, FilterKey};
use crate::ids::{Direction, RelId, TypeId};
use crate::transaction::write_set::WriteSet;
use crate::version::commit_tail::CommitTail;
use graven_types::PropertyValue;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The committed layers and the own transaction of one reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'a> {
    pub(crate) committed_base: &'a CommittedLayers,
    pub(crate) commit_tail: Option<&'a Arc<CommitTail>>,
    pub(crate) write_set: Option<&'a Arc<WriteSet>>,
}

impl<'a> Stack<'a> {
    /// Committed layers, newest first, the newest commits as one.
    fn committed(&self) -> impl Iterator<Item = DeltaView<'a>> + use<'a> {
        let commit_tail = self
            .commit_tail
            .map(|commit_tail| DeltaView::Memory(commit_tail.layer()));
        commit_tail
            .into_iter()
            .chain(self.committed_base.newest_first())
    }

    /// By how much all layers change the number of nodes.
    pub(crate) fn nodes(&self) -> i64 {
        let write_set = self.write_set.map_or(0, |write_set| {
            let (newest, below) = write_set.look(|layer| layer.counts.nodes);
            let below = below.iter().map(|lower| lower.view().counts().nodes);
            newest + below.sum::<i64>()
        });
        let committed_base = self.committed_base.newest_first();
        let committed_base: i64 = committed_base.map(|layer| layer.counts().nodes).sum();
        write_set
            + self
                .commit_tail
                .map_or(0, |commit_tail| commit_tail.nodes())
            + committed_base
    }

    /// By how much all layers change a count.
    pub(crate) fn counted(&self, count: impl Fn(&Counts) -> i64) -> i64 {
        let write_set = self.write_set.map_or(0, |write_set| {
            let (newest, below) = write_set.look(|layer| count(&layer.counts));
            let below = below.iter().map(|lower| count(lower.view().counts()));
            newest + below.sum::<i64>()
        });
        let commit_tail = self
            .commit_tail
            .into_iter()
            .flat_map(|it| it.newest_first());
        let commit_tail: i64 = commit_tail.map(|layer| count(&layer.counts)).sum();
        let committed_base = self.committed_base.newest_first();
        let committed_base: i64 = committed_base.map(|layer| count(layer.counts())).sum();
        write_set + commit_tail + committed_base
    }

    /// The committed layers as one set of changes.
    pub(crate) fn net(&self) -> MergedDelta<'a> {
        let mut views: Vec<DeltaView<'a>> = self.committed().collect();
        views.reverse();
        MergedDelta { views }
    }

    /// What the newest layer that knows it says of what is asked `about`.
    #[inline]
    pub(crate) fn find<T>(
        &self,
        about: FilterKey<'_>,
        get: impl Fn(DeltaView<'_>) -> Option<T>,
    ) -> Option<T> {
        if let Some(write_set) = self.write_set {
            let (found, below) = write_set.look(|layer| get(DeltaView::Memory(layer)));
            let older = || below.iter().rev().find_map(|lower| get(lower.view()));
            if let Some(found) = found.or_else(older) {
                return Some(found);
            }
        }
        let about = FilterHash::from(about);
        let commit_tail = self
            .commit_tail
            .filter(|commit_tail| commit_tail.touches(about));
        let mut newest = commit_tail
            .into_iter()
            .flat_map(|commit_tail| commit_tail.newest_first());
        newest
            .find_map(|layer| get(DeltaView::Memory(layer)))
            .or_else(|| {
                let committed_base = self.committed_base.newest_first();
                committed_base.filter(|it| it.may_have(about)).find_map(get)
            })
    }

    /// As [`Stack::find`] where a look may fail.
    pub(crate) fn try_find<T>(
        &self,
        about: FilterKey<'_>,
        get: impl Fn(DeltaView<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.find(about, |view| get(view).transpose()).transpose()
    }

    /// Calls `visit` with every layer, oldest first.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(DeltaView<'_>)) {
        let committed_base: Vec<DeltaView<'_>> = self.committed_base.newest_first().collect();
        committed_base.into_iter().rev().for_each(&mut visit);
        self.for_each_newest(visit);
    }

    /// As [`Stack::for_each`] with what is on top of the committed layers.
    pub(crate) fn for_each_newest(&self, mut visit: impl FnMut(DeltaView<'_>)) {
        let commit_tail = self
            .commit_tail
            .map(|commit_tail| commit_tail.oldest_first());
        for layer in commit_tail.into_iter().flatten() {
            visit(DeltaView::Memory(layer));
        }
        if let Some(write_set) = self.write_set {
            let (layer, below) = write_set.look(DeltaLayer::clone);
            below.iter().for_each(|lower| visit(lower.view()));
            visit(DeltaView::Memory(&layer));
        }
    }

    /// As [`Stack::for_each`], the newest commits as one.
    pub(crate) fn for_each_merged(&self, mut visit: impl FnMut(DeltaView<'_>)) {
        let committed: Vec<DeltaView<'_>> = self.committed().collect();
        committed.into_iter().rev().for_each(&mut visit);
        let write_set = Stack {
            commit_tail: None,
            ..*self
        };
        write_set.for_each_newest(visit);
    }
}

/// What one reader sees on top of the committed layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Top {
    /// The newest commits, if they have to do with the store.
    commit_tail: Option<Arc<CommitTail>>,
    write_set: Option<Arc<WriteSet>>,
}

impl Top {
    pub(crate) const NOTHING: Top = Top {
        commit_tail: None,
        write_set: None,
    };

    /// Whether `stack` has anything on top that has to do with a store.
    #[inline]
    pub(crate) fn is_any(stack: Stack<'_>, store: FilterKey<'_>) -> bool {
        stack.write_set.is_some()
            || stack
                .commit_tail
                .is_some_and(|commit_tail| commit_tail.touches(store))
    }

    /// As [`Top::is_any`] for an index: its own entries, and the values that tell those under one
    /// cut key apart, which change without them.
    pub(crate) fn is_any_of_index(stack: Stack<'_>, index: &IndexDescription) -> bool {
        stack.write_set.is_some() || stack.commit_tail.is_some_and(|it| it.touches_index(index))
    }

    /// What `stack` has on top that has to do with a store.
    pub(crate) fn of(stack: Stack<'_>, store: FilterKey<'_>) -> Top {
        Top::where_touched(stack, |commit_tail| commit_tail.touches(store))
    }

    /// What `stack` has on top that has to do with an index.
    pub(crate) fn of_index(stack: Stack<'_>, index: &IndexDescription) -> Top {
        Top::where_touched(stack, |commit_tail| commit_tail.touches_index(index))
    }

    fn where_touched(stack: Stack<'_>, touched: impl FnOnce(&CommitTail) -> bool) -> Top {
        Top {
            commit_tail: stack.commit_tail.filter(|it| touched(it)).cloned(),
            write_set: stack.write_set.cloned(),
        }
    }

    /// Maps of the own transaction that have entries, newest first.
    fn own_maps<T>(&self, get: impl Fn(DeltaView<'_>) -> Option<T>) -> Vec<T> {
        let Some(write_set) = &self.write_set else {
            return Vec::new();
        };
        let (newest, below) = write_set.look(|layer| get(DeltaView::Memory(layer)));
        let older = below.iter().rev().filter_map(|lower| get(lower.view()));
        newest.into_iter().chain(older).collect()
    }

    /// All maps on top that have entries, newest first, the newest commits as one.
    fn maps<T>(&self, get: impl Fn(DeltaView<'_>) -> Option<T>) -> Vec<T> {
        let mut maps = self.own_maps(&get);
        let commit_tail = self.commit_tail.as_deref().map(CommitTail::layer);
        maps.extend(commit_tail.and_then(|layer| get(DeltaView::Memory(layer))));
        maps
    }
}

/// Changes of one property.
#[derive(Clone, Debug)]
pub(crate) struct ColumnOverlay {
    committed_base: Option<Arc<[ColumnPart]>>,
    top: Top,
    of: ColumnOf,
}

impl ColumnOverlay {
    /// The committed changes, if there are any.
    pub(crate) fn new(committed_base: &CommittedLayers, of: ColumnOf) -> Option<ColumnOverlay> {
        let committed_base = committed_base.maps(|layer| layer.column(of));
        committed_base.is_some().then(|| ColumnOverlay {
            committed_base,
            top: Top::default(),
            of,
        })
    }

    /// These changes, or none, with others on top.
    pub(crate) fn with_top(committed_base: Option<&ColumnOverlay>, of: ColumnOf, top: Top) -> Self {
        ColumnOverlay {
            committed_base: committed_base.and_then(|it| it.committed_base.clone()),
            top,
            of,
        }
    }

    /// Whether some of `ids` may be among the changes; readers in a transaction look at each.
    pub(crate) fn may_have(&self, ids: &[u64]) -> bool {
        let low = ids.iter().copied().min().unwrap_or(u64::MAX);
        let high = ids.iter().copied().max().unwrap_or(0);
        self.top.write_set.is_some()
            || self.committed_base_parts().any(|part| {
                part.may_have_in(low, high)
                    && (ids.iter()).any(|id| part.may_have(FilterKey::owner(self.of, *id).into()))
            })
            || self.may_have_recent(low, high)
                && self.top.commit_tail.as_ref().is_some_and(|commit_tail| {
                    (ids.iter()).any(|id| commit_tail.touches(FilterKey::owner(self.of, *id)))
                })
    }

    /// Whether the value of `id` is certainly not among the changes; a reader in a transaction has
    /// to look.
    #[inline]
    pub(crate) fn lacks(&self, id: u64) -> bool {
        let about = FilterHash::from(FilterKey::owner(self.of, id));
        let commit_tail = self.top.commit_tail.as_ref();
        self.top.write_set.is_none()
            && commit_tail.is_none_or(|commit_tail| !commit_tail.touches(about))
            && self
                .committed_base_parts()
                .all(|part| !part.may_have(about))
    }

    /// Whether some of the ids from `low` to `high` may be among the changes.
    pub(crate) fn may_have_in(&self, low: u64, high: u64) -> bool {
        let mut committed_base = self.committed_base_parts();
        self.top.write_set.is_some()
            || committed_base.any(|part| part.may_have_in(low, high))
            || self.may_have_recent(low, high)
    }

    fn committed_base_parts(&self) -> impl Iterator<Item = &ColumnPart> {
        self.committed_base.iter().flat_map(|parts| parts.iter())
    }

    fn may_have_recent(&self, low: u64, high: u64) -> bool {
        let commit_tail = self.top.commit_tail.as_ref();
        commit_tail.is_some_and(|commit_tail| {
            low <= high && commit_tail.touches_values(self.of, low..=high)
        })
    }

    /// Fixed for a run of look-ups; tells a serialisable transaction what is read.
    pub(crate) fn reader(&self, ids: &[u64]) -> ColumnReader<'_> {
        let (mut write_set, mut spilled) = (None, Vec::new());
        if let Some(writer) = &self.top.write_set {
            writer.read_column(self.of, ids);
            let (newest, below) = writer.look(|layer| layer.column(self.of).cloned());
            write_set = newest;
            spilled.extend((below.iter().rev()).filter_map(|lower| lower.view().column(self.of)));
        }
        ColumnReader {
            of: self.of,
            write_set,
            spilled,
            commit_tail: self.top.commit_tail.as_deref(),
            committed_base: self.committed_base.as_deref().unwrap_or(&[]),
            blocks: Vec::new(),
        }
    }
}

/// See [`ColumnOverlay::reader`].
pub(crate) struct ColumnReader<'a> {
    of: ColumnOf,
    write_set: Option<ValueMap>,
    /// Older layers of the own transaction, newest first.
    spilled: Vec<ColumnPart>,
    commit_tail: Option<&'a CommitTail>,
    committed_base: &'a [ColumnPart],
    /// For every part, own or committed, what was read of its pages last.
    blocks: Vec<Option<Block<u64, PropertyValue>>>,
}

impl ColumnReader<'_> {
    /// The value of `id` if it was changed; Null if it was removed.
    #[inline]
    pub(crate) fn get(&mut self, id: u64) -> Result<Option<PropertyValue>> {
        if let Some(value) = self.write_set.as_ref().and_then(|map| map.get(id)) {
            return Ok(Some(value.clone()));
        }
        for (at, part) in self.spilled.iter().enumerate() {
            if let Some(found) = find_in(part, at, id, &mut self.blocks)? {
                return Ok(Some(found));
            }
        }
        let about = FilterHash::from(FilterKey::owner(self.of, id));
        let commit_tail = self
            .commit_tail
            .filter(|commit_tail| commit_tail.touches(about));
        if let Some(found) = commit_tail.and_then(|it| it.value(self.of, id)) {
            return Ok(Some(found.clone()));
        }
        for (at, part) in (self.spilled.len()..).zip(self.committed_base) {
            if part.may_have(about)
                && let Some(found) = find_in(part, at, id, &mut self.blocks)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The value of `id` in a part, whose pages' last block is in place `at` of `blocks`.
fn find_in(
    part: &ColumnPart,
    at: usize,
    id: u64,
    blocks: &mut Vec<Option<Block<u64, PropertyValue>>>,
) -> Result<Option<PropertyValue>> {
    match part {
        ColumnPart::Memory(map, _) => Ok(map.get(id).cloned()),
        ColumnPart::Spilled(map) => {
            if blocks.len() <= at {
                blocks.resize_with(at + 1, || None);
            }
            Ok(map.get(&id, &mut blocks[at])?.cloned())
        }
    }
}

/// Changes of one direction of one type.
#[derive(Clone, Debug)]
pub(crate) struct AdjacencyOverlay {
    committed_base: Option<Arc<[DeltaPart<EdgeKey, Change>]>>,
    top: Top,
    of: (TypeId, Direction),
}

impl AdjacencyOverlay {
    /// The committed changes, if there are any.
    pub(crate) fn new(
        committed_base: &CommittedLayers,
        of: (TypeId, Direction),
    ) -> Option<AdjacencyOverlay> {
        let committed_base = committed_base.maps(|layer| layer.edges(of.0, of.1));
        committed_base.is_some().then(|| AdjacencyOverlay {
            committed_base,
            top: Top::default(),
            of,
        })
    }

    /// These changes, or none, with others on top.
    pub(crate) fn with_top(
        committed_base: Option<&AdjacencyOverlay>,
        of: (TypeId, Direction),
        top: Top,
    ) -> Self {
        AdjacencyOverlay {
            committed_base: committed_base.and_then(|it| it.committed_base.clone()),
            top,
            of,
        }
    }

    /// The maps as of now, oldest first.
    pub(crate) fn edges(&self) -> Edges {
        let mut maps = self.top.maps(|layer| layer.edges(self.of.0, self.of.1));
        maps.extend(self.committed_base.iter().flat_map(|it| it.iter().cloned()));
        maps.reverse();
        Edges { maps }
    }

    /// Changes of the list of `node` as of now.
    pub(crate) fn list(&self, node: u64) -> Result<Changes> {
        let mut changes = Changes::new();
        let (rel_type, direction) = self.of;
        for map in self.committed_base.iter().flat_map(|it| it.iter().rev()) {
            add_list(map, node, &mut changes)?;
        }
        let about = FilterKey::Node(node);
        let commit_tail = self.top.commit_tail.as_ref().filter(|it| it.touches(about));
        for layer in commit_tail.into_iter().flat_map(|it| it.oldest_first()) {
            if let Some(map) = DeltaView::Memory(layer).edges(rel_type, direction) {
                add_list(&map, node, &mut changes)?;
            }
        }
        let write_set = self.top.own_maps(|layer| layer.edges(rel_type, direction));
        for map in write_set.iter().rev() {
            add_list(map, node, &mut changes)?;
        }
        Ok(changes)
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
        self.top
            .write_set
            .as_ref()
            .is_some_and(|write_set| write_set.records())
    }

    /// As [`AdjacencyOverlay::note`] for many nodes.
    pub(crate) fn note_all(&self, nodes: &[u64]) {
        nodes.iter().for_each(|node| self.note(*node));
    }

    /// Tells a serialisable transaction that the list of `node` is read.
    #[inline]
    pub(crate) fn note(&self, node: u64) {
        if let Some(write_set) = &self.top.write_set {
            write_set.read_list(self.of, node);
        }
    }
}

/// Changed entries of lists, fixed for one sweep.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    /// Oldest first.
    pub(super) maps: Vec<DeltaPart<EdgeKey, Change>>,
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
        for map in &self.maps {
            add_list(map, node, &mut changes)?;
        }
        Ok(changes)
    }
}

/// Puts what a map says of the list of `node` over what older ones say.
fn add_list(map: &DeltaPart<EdgeKey, Change>, node: u64, changes: &mut Changes) -> Result<()> {
    if !map.may_have_list(node) {
        return Ok(());
    }
    map.visit(Bound::Included(&list_of(node).0), &mut |key, change| {
        let of_node = key.0 == node;
        if of_node {
            put_over(changes, key, *change);
        }
        of_node
    })
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

/// Changed entries of an index in the committed layers, newest first; none if there are no changes.
pub(crate) type IndexParts = Option<Arc<[DeltaPart<IndexKey, Change>]>>;

/// Changes of one index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexOverlay<'a> {
    pub(crate) committed_base: &'a [DeltaPart<IndexKey, Change>],
    pub(crate) top: &'a Top,
    pub(crate) number: u32,
}

impl IndexOverlay<'_> {
    /// The committed changes.
    pub(crate) fn committed_base(committed_base: &CommittedLayers, number: u32) -> IndexParts {
        committed_base.maps(|layer| layer.index(number))
    }

    /// Makes of the ids that the tree has under `key`, those from place `from` of `ids` on, the ids
    /// that there are now, ascending. Tells a serialisable transaction that the key is read. Stops
    /// once there are more than `most`.
    pub(crate) fn merge_equal(
        &self,
        key: &[u8],
        from: usize,
        most: usize,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        let mut top = Vec::new();
        if let Some(write_set) = &self.top.write_set {
            write_set.read_index(self.number, key, Some(key));
            top = self.top.own_maps(|layer| layer.index(self.number));
        }
        let about = FilterHash::from(FilterKey::Key(self.number, key));
        let commit_tail = self.top.commit_tail.as_ref().filter(|it| it.touches(about));
        let commit_tail = commit_tail.into_iter().flat_map(|it| it.newest_first());
        top.extend(commit_tail.filter_map(|layer| DeltaView::Memory(layer).index(self.number)));
        let newest_first = top.iter().chain(self.committed_base);
        let mut known: Vec<u64> = Vec::new();
        let mut few = true;
        // Most layers know nothing of a key, and to look for it takes a fifth of beginning a range.
        for map in newest_first.filter(|map| map.may_have(about, key)) {
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

    /// The maps as of now. Tells a serialisable transaction the range that is read: keys from `low`
    /// to `high` inclusive, cut; `None`: to the end.
    pub(crate) fn entries(&self, low: &[u8], high: Option<&[u8]>) -> IndexEntries {
        if let Some(write_set) = &self.top.write_set {
            write_set.read_index(self.number, low, high);
        }
        let mut newest_first = self.top.maps(|layer| layer.index(self.number));
        newest_first.extend(self.committed_base.iter().cloned());
        IndexEntries { newest_first }
    }
}

/// Changed entries of an index, fixed for one range.
#[derive(Clone, Debug)]
pub(crate) struct IndexEntries {
    newest_first: Vec<DeltaPart<IndexKey, Change>>,
}

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
