//! A set of changes on top of a base: what a transaction wrote, or all that was committed since a
//! checkpoint.
//!
//! # How it works
//! One ordered map per store, keyed as the store is; those by id keep neighbours together
//! ([`IdMap`]), the others are vectors as long as they are small ([`SmallMap`]). The maps are
//! persistent: a copy shares everything with its original and costs a few pointers, a change copies
//! the path to the changed leaf. So a snapshot *is* a copy: it needs no versions in the entries, no
//! locks to read, and no cleaning up.
//!
//! # Invariants
//! * TX-1: both directions of an adjacency have the same entries with their ends exchanged.
//! * TX-2: an entry says what is true from now on; the layer below is never needed to read it.
//! * TX-4: entries of lists and indexes are the net change to the layers below: what is added and
//!   removed again in one layer is not in it, and what is removed is below.
//! * TX-3: properties of deleted nodes and relationships that a layer below has are Null in the
//!   layer.
//!
//! # Costs
//! [`DeltaLayer::bytes`] estimates memory: entries with the average slack of a leaf or chunk,
//! chunks, and what values hold outside. Putting a layer on top of another takes over the chunks of
//! new nodes and values as they are.

use super::counts::Counts;
use super::entry_filter::EntryFilter;
use super::id_map::{CHUNK_BYTES, IdMap};
use super::merge::Over;
use super::small_map::SmallMap;
use crate::delta::change::Change;
use crate::delta::change::ColumnOf;
use crate::delta::change::EdgeKey;
use crate::delta::change::NodeChange;
use crate::delta::change::RelationshipChange;
use crate::delta::filter_key::FilterHash;
use crate::delta::filter_key::FilterKey;
use crate::ids::{Direction, LabelId, NodeId, RelId, TypeId};
use graven_pagecache::Budget;
use graven_types::PropertyValue;
use std::sync::Arc;

/// Entries of one direction of one type.
pub(crate) type EdgeMap = SmallMap<EdgeKey, Change>;
/// Values by id, Null where one was removed.
pub(crate) type ValueMap = IdMap<PropertyValue>;
/// Entries of one index: key (cut as in the index) and id.
pub(crate) type IndexMap = SmallMap<(Arc<[u8]>, u64), Change>;

/// Average slack of a leaf: entries cost a third more than their size.
const fn entry_bytes(size: usize) -> u64 {
    (size + size / 3 + 8) as u64
}

/// Average slack of a chunk's vector.
pub(super) const fn slot_bytes(size: usize) -> u64 {
    (size + size / 4) as u64
}

pub(super) const NODE_BYTES: u64 = slot_bytes(size_of::<NodeChange>());
pub(super) const VALUE_BYTES: u64 = slot_bytes(size_of::<PropertyValue>());
pub(super) const RELATIONSHIP_BYTES: u64 =
    slot_bytes(size_of::<RelationshipChange>()) + 2 * entry_bytes(size_of::<(EdgeKey, Change)>());
const INDEX_BYTES: u64 = entry_bytes(size_of::<((Arc<[u8]>, u64), Change)>()) + 16;

/// A set of changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeltaLayer {
    pub(crate) nodes: IdMap<NodeChange>,
    pub(crate) columns: SmallMap<ColumnOf, ValueMap>,
    pub(crate) relationships: IdMap<RelationshipChange>,
    pub(crate) adjacency: SmallMap<(TypeId, Direction), EdgeMap>,
    pub(crate) indexes: SmallMap<u32, IndexMap>,
    pub(crate) counts: Counts,
    pub(super) bytes: u64,
    /// What it has entries about, if a filter is kept. A layer that gets single changes, not whole
    /// layers, has none.
    pub(super) filter: Option<Arc<EntryFilter>>,
}

/// Changes a map and adds the chunks that it got, or takes those that it lost, to `bytes`.
pub(super) fn counted<V, T>(
    map: &mut IdMap<V>,
    bytes: &mut u64,
    change: impl FnOnce(&mut IdMap<V>) -> T,
) -> T {
    let before = map.chunk_count();
    let done = change(map);
    *bytes = (*bytes + map.chunk_count() * CHUNK_BYTES).saturating_sub(before * CHUNK_BYTES);
    done
}

/// Puts a value into a column.
fn put_into(values: &mut ValueMap, bytes: &mut u64, id: u64, value: PropertyValue) {
    *bytes += value.heap_bytes();
    match counted(values, bytes, |values| values.insert(id, value)) {
        None => *bytes += VALUE_BYTES,
        Some(before) => *bytes = bytes.saturating_sub(before.heap_bytes()),
    }
}

impl DeltaLayer {
    /// Calls `visit` for all that it has entries about, for some of it more than once; not for
    /// whole stores.
    pub(crate) fn for_each_entry(&self, mut visit: impl FnMut(FilterKey<'_>)) {
        self.nodes.ids().for_each(|id| visit(FilterKey::Node(id)));
        for (of, values) in self.columns.iter() {
            let mut visit = |id| visit(FilterKey::owner(*of, id));
            // Owners that came here are visited as such.
            match of {
                ColumnOf::Node(_) => values.ids_beside(&self.nodes).for_each(&mut visit),
                ColumnOf::Relationship(..) => {
                    values.ids_beside(&self.relationships).for_each(&mut visit);
                }
            }
        }
        let mut start = None;
        for (id, it) in self.relationships.iter() {
            visit(FilterKey::Relationship(id));
            if start.replace(it.start.0) != Some(it.start.0) {
                visit(FilterKey::Node(it.start.0));
            }
            visit(FilterKey::Node(it.end.0));
        }
        for (index, entries) in self.indexes.iter() {
            (entries.keys()).for_each(|(key, _)| visit(FilterKey::Key(*index, key)));
        }
    }

    /// Adds to a filter all that it has entries about.
    pub(super) fn add_to(&self, filter: &EntryFilter) {
        self.for_each_entry(|about| filter.add(about.into()));
    }

    /// An empty one that tells quickly what it has no entries about.
    pub(crate) fn filtered(budget: &Arc<Budget>) -> DeltaLayer {
        DeltaLayer {
            filter: Some(Arc::new(EntryFilter::new(budget))),
            ..DeltaLayer::default()
        }
    }

    /// The same with a filter.
    pub(crate) fn with_filter(mut self, budget: &Arc<Budget>) -> DeltaLayer {
        let filter = EntryFilter::new(budget);
        self.add_to(&filter);
        self.filter = Some(Arc::new(filter));
        self
    }

    /// The same without its filter, for a caller that puts much on top before any reader comes.
    pub(crate) fn without_filter(mut self) -> DeltaLayer {
        self.filter = None;
        self
    }

    /// What it has entries about, if a filter is kept.
    #[inline]
    pub(crate) fn filter(&self) -> Option<&Arc<EntryFilter>> {
        self.filter.as_ref()
    }

    /// Whether there may be entries about this.
    #[inline]
    pub(crate) fn may_have(&self, about: impl Into<FilterHash>) -> bool {
        (self.filter.as_ref()).is_none_or(|filter| filter.may_have(about))
    }

    /// Whether nothing is changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
            && self.columns.is_empty()
            && self.relationships.is_empty()
            && self.indexes.is_empty()
    }

    /// Estimated bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the chunks of all maps by id take beside their entries.
    pub(super) fn chunk_bytes(&self) -> u64 {
        let of_columns: u64 = self.columns.values().map(ValueMap::chunk_count).sum();
        let chunks = self.nodes.chunk_count() + self.relationships.chunk_count() + of_columns;
        chunks * CHUNK_BYTES
    }

    pub(crate) fn column(&self, of: ColumnOf) -> Option<&ValueMap> {
        self.columns.get(&of).filter(|map| !map.is_empty())
    }

    pub(crate) fn edges(&self, rel_type: TypeId, direction: Direction) -> Option<&EdgeMap> {
        self.adjacency
            .get(&(rel_type, direction))
            .filter(|map| !map.is_empty())
    }

    pub(crate) fn put_node(&mut self, node: NodeId, change: NodeChange) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        // What was created here stays created here, whatever its labels become.
        let change = match (self.nodes.get(node.0), change) {
            (Some(NodeChange::Created(_)), NodeChange::Labels(labels)) => {
                NodeChange::Created(labels)
            }
            (_, change) => change,
        };
        let before = counted(&mut self.nodes, &mut self.bytes, |nodes| {
            nodes.insert(node.0, change)
        });
        if before.is_none() {
            self.bytes += NODE_BYTES;
        }
    }

    pub(crate) fn put_value(&mut self, of: ColumnOf, id: u64, value: PropertyValue) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        let values = self.columns.entry(of);
        put_into(values, &mut self.bytes, id, value);
    }

    /// Enters neighbouring new nodes, `first` and up.
    pub(crate) fn append_nodes(&mut self, first: u64, count: usize, labels: &Arc<[LabelId]>) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        counted(&mut self.nodes, &mut self.bytes, |nodes| {
            let mut filler = nodes.filler();
            for node in (first..).take(count) {
                filler.put(node, NodeChange::Created(labels.clone()));
            }
        });
        self.bytes += count as u64 * NODE_BYTES;
        self.counts.nodes(labels, count as i64);
    }

    /// Enters values of one property that `give` hands over, best by ascending ids.
    pub(crate) fn put_values<T>(
        &mut self,
        of: ColumnOf,
        give: impl FnOnce(&mut dyn FnMut(u64, PropertyValue)) -> T,
    ) -> T {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        let (mut more, mut less) = (0, 0);
        let column = self.columns.entry(of);
        let given = counted(column, &mut self.bytes, |column| {
            let mut filler = column.filler();
            give(&mut |id, value| {
                more += value.heap_bytes();
                match filler.put(id, value) {
                    None => more += VALUE_BYTES,
                    Some(before) => less += before.heap_bytes(),
                }
            })
        });
        self.bytes = (self.bytes + more).saturating_sub(less);
        given
    }

    /// Enters new relationships of one type with neighbouring ids, `first` and up, with their
    /// entries in both directions (TX-1).
    pub(crate) fn append_relationships(
        &mut self,
        first: RelId,
        rel_type: TypeId,
        ends: &[(NodeId, NodeId)],
    ) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        counted(&mut self.relationships, &mut self.bytes, |relationships| {
            let mut filler = relationships.filler();
            for (id, (start, end)) in (first.0..).zip(ends) {
                let added = RelationshipChange {
                    rel_type,
                    start: *start,
                    end: *end,
                    change: Change::Added,
                };
                filler.put(id, added);
            }
        });
        self.bytes += ends.len() as u64 * RELATIONSHIP_BYTES;
        for direction in [Direction::Out, Direction::In] {
            let edges = self.adjacency.entry((rel_type, direction));
            for (id, (start, end)) in (first.0..).zip(ends) {
                let (node, other) = match direction {
                    Direction::Out => (start.0, end.0),
                    Direction::In => (end.0, start.0),
                };
                edges.put((node, other, id), Change::Added);
            }
        }
    }

    /// Enters a relationship, with its entries in both directions (TX-1).
    pub(crate) fn put_relationship(&mut self, id: RelId, change: RelationshipChange) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        let ends = [
            (Direction::Out, change.start.0, change.end.0),
            (Direction::In, change.end.0, change.start.0),
        ];
        // Ids are never used again, so what is here already was added here and goes now (TX-4).
        let undone = counted(&mut self.relationships, &mut self.bytes, |relationships| {
            let undone = relationships.remove(id.0).is_some();
            if !undone {
                relationships.insert(id.0, change);
            }
            undone
        });
        if undone {
            self.bytes = self.bytes.saturating_sub(RELATIONSHIP_BYTES);
        } else {
            self.bytes += RELATIONSHIP_BYTES;
        }
        for (direction, node, other) in ends {
            let edges = self.adjacency.entry((change.rel_type, direction));
            if undone {
                edges.remove(&(node, other, id.0));
            } else {
                edges.put((node, other, id.0), change.change);
            }
        }
    }

    /// Enters the keys of new entities with neighbouring ids, `first` and up.
    pub(crate) fn append_index_entries(
        &mut self,
        index: u32,
        first: u64,
        keys: Vec<Option<Arc<[u8]>>>,
    ) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        let entries = self.indexes.entry(index);
        for (id, key) in (first..).zip(keys) {
            if let Some(key) = key {
                self.bytes += INDEX_BYTES + key.len() as u64;
                entries.put((key, id), Change::Added);
            }
        }
    }

    pub(crate) fn put_index_entry(&mut self, index: u32, key: &Arc<[u8]>, id: u64, change: Change) {
        debug_assert!(self.filter.is_none(), "the filter would not know of it");
        let entries = self.indexes.entry(index);
        let entry = (key.clone(), id);
        let bytes = INDEX_BYTES + key.len() as u64;
        match entries.get(&entry) {
            Some(known) if *known == change => {}
            Some(_) => {
                entries.remove(&entry);
                self.bytes = self.bytes.saturating_sub(bytes);
            }
            None => {
                entries.insert(entry, change);
                self.bytes += bytes;
            }
        }
    }

    /// Forgets an index that was dropped.
    pub(crate) fn remove_index(&mut self, index: u32) {
        if let Some(map) = self.indexes.remove(&index) {
            let bytes: u64 = map
                .keys()
                .map(|(key, _)| INDEX_BYTES + key.len() as u64)
                .sum();
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Puts `newer` on top.
    pub(crate) fn merge(&mut self, newer: &DeltaLayer) {
        let filter = self.filter.take();
        if let Some(filter) = &filter {
            newer.add_to(filter);
        }
        if self.is_empty() {
            self.clone_from(newer);
        } else {
            self.merge_entries(newer);
        }
        self.filter = filter;
    }

    fn merge_entries(&mut self, newer: &DeltaLayer) {
        for (at, chunk) in newer.nodes.chunks() {
            let mut more = 0;
            let taken_over = self
                .nodes
                .merge_chunk(at, chunk, |change, known| match known {
                    None => {
                        more += NODE_BYTES;
                        change.clone()
                    }
                    Some(known) => {
                        let net = NodeChange::over(change.clone(), known);
                        net.expect("a node's change never comes to nothing")
                    }
                });
            self.bytes += match taken_over {
                true => CHUNK_BYTES + chunk.values().len() as u64 * NODE_BYTES,
                false => more,
            };
        }
        for (of, values) in newer.columns.iter() {
            let map = self.columns.entry(*of);
            for (at, chunk) in values.chunks() {
                let (mut more, mut less) = (0, 0);
                let taken_over = map.merge_chunk(at, chunk, |value, known| {
                    more += value.heap_bytes();
                    match known {
                        None => more += VALUE_BYTES,
                        Some(known) => less += known.heap_bytes(),
                    }
                    value.clone()
                });
                if taken_over {
                    let bytes = |value: &PropertyValue| VALUE_BYTES + value.heap_bytes();
                    more = CHUNK_BYTES + chunk.values().iter().map(bytes).sum::<u64>();
                }
                self.bytes = (self.bytes + more).saturating_sub(less);
            }
        }
        self.merge_relationships(newer);
        for (index, entries) in newer.indexes.iter() {
            for ((key, id), change) in entries.iter() {
                self.put_index_entry(*index, key, *id, *change);
            }
        }
        self.counts.add(&newer.counts);
    }

    fn merge_relationships(&mut self, newer: &DeltaLayer) {
        let mut chunks = newer.relationships.chunks();
        if chunks.any(|(at, chunk)| self.relationships.meets(at, chunk)) {
            // Some were added here and go now.
            for (id, change) in newer.relationships.iter() {
                self.put_relationship(RelId(id), *change);
            }
            return;
        }
        counted(&mut self.relationships, &mut self.bytes, |known| {
            for (at, chunk) in newer.relationships.chunks() {
                known.merge_chunk(at, chunk, |change, _| *change);
            }
        });
        self.bytes += newer.relationships.len() as u64 * RELATIONSHIP_BYTES;
        for (of, edges) in newer.adjacency.iter() {
            self.adjacency.entry(*of).absorb(edges);
        }
    }
}
