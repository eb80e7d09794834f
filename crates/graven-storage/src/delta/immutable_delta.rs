//! Layers below the one that is written to: as they were in memory, or spilled in temporary pages.
//!
//! # How it works
//! A layer that takes too much memory is *spilled*: written, store by store, to [`SpilledRun`]s,
//! after which an empty one is written to on top of it. Readers ask a [`DeltaView`], which is
//! either kind. Several spilled layers become one ([`super::merged_delta`]) when there are a few of
//! about the same age, so that a large transaction has few of them.
//!
//! # Costs
//! Memory, charged to the budget as `changes in temporary pages`: about 100 bytes a page of 16 KiB,
//! and for the nodes that came, went or changed their labels what [`crate::id_runs::IdRuns`] says:
//! a run of the same change is 32 bytes, changes in turn are a few bits for every node. So readers
//! ask for labels without a page, which cannot fail.

use super::changed_nodes::ChangedNodes;
use super::counts::Counts;
use super::delta_layer::{DeltaLayer, ValueMap};
use super::entry_filter::EntryFilter;
use super::id_map::IdMap;
use super::merge::{InMemory, LayerEntries};
use super::small_map::SmallMap;
use super::spilled_run::{Block, SpilledRun};
use super::stored::Stored;
use super::unsorted_adjacency::sort_edges;
use crate::Result;
use crate::delta::change::{Change, ColumnOf, EdgeKey, NodeChange, RelationshipChange};
use crate::delta::change::{IndexKey, list_of};
use crate::delta::filter_key::{FilterHash, FilterKey};
use crate::ids::{Direction, RelId, TypeId};
use equivalent::{Comparable, Equivalent};
use graven_pagecache::Reservation;
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// A layer that no transaction or commit writes to any more.
#[derive(Debug)]
pub(crate) enum ImmutableDelta {
    Memory {
        layer: DeltaLayer,
        reservation: Reservation,
    },
    Spilled(Spilled),
}

/// A layer in temporary pages.
#[derive(Debug)]
pub(crate) struct Spilled {
    pub(super) nodes: Arc<ChangedNodes>,
    pub(super) columns: BTreeMap<ColumnOf, Arc<SpilledRun<u64, crate::PropertyValue>>>,
    pub(super) relationships: Arc<SpilledRun<u64, RelationshipChange>>,
    /// The block of `relationships` that was read last: the relationships of one list were mostly
    /// created in a row. A thread that finds the mutex taken goes without.
    pub(super) last: Mutex<Option<Block<u64, RelationshipChange>>>,
    pub(super) adjacency: BTreeMap<(TypeId, Direction), Arc<SpilledRun<EdgeKey, Change>>>,
    pub(super) indexes: BTreeMap<u32, Arc<SpilledRun<IndexKey, Change>>>,
    pub(super) counts: Counts,
    /// How often its content was merged.
    pub(crate) tier: u32,
    pub(super) reservation: Reservation,
}

/// One store of a layer.
#[derive(Debug)]
pub(crate) enum DeltaPart<K: Ord, V> {
    /// With what its layer has entries about, if a filter is kept.
    Memory(SmallMap<K, V>, Option<Arc<EntryFilter>>),
    Spilled(Arc<SpilledRun<K, V>>),
}

impl<K: Ord + Clone, V: Clone> Clone for DeltaPart<K, V> {
    fn clone(&self) -> Self {
        match self {
            DeltaPart::Memory(map, filter) => DeltaPart::Memory(map.clone(), filter.clone()),
            DeltaPart::Spilled(map) => DeltaPart::Spilled(map.clone()),
        }
    }
}

impl<K: Stored + Ord + Clone, V: Stored + Clone> DeltaPart<K, V> {
    /// Entries in all.
    pub(crate) fn len(&self) -> u64 {
        match self {
            DeltaPart::Memory(map, _) => map.len() as u64,
            DeltaPart::Spilled(map) => map.len(),
        }
    }

    /// The value of `key`; `last` is kept between look-ups.
    pub(crate) fn get(&self, key: &K, last: &mut Option<Block<K, V>>) -> Result<Option<V>> {
        match self {
            DeltaPart::Memory(map, _) => Ok(map.get(key).cloned()),
            DeltaPart::Spilled(map) => Ok(map.get(key, last)?.cloned()),
        }
    }

    /// Calls `visit` with the entries from `start` on until it returns false.
    pub(crate) fn visit(
        &self,
        start: Bound<&K>,
        visit: &mut dyn FnMut(&K, &V) -> bool,
    ) -> Result<()> {
        match self {
            DeltaPart::Memory(map, _) => {
                map.range_from(start).all(|(key, value)| visit(key, value));
            }
            DeltaPart::Spilled(map) => {
                for entry in map.range(start)? {
                    let (key, value) = entry?;
                    if !visit(&key, &value) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The first entry from `start` on.
    pub(crate) fn next(&self, start: Bound<&K>) -> Result<Option<(K, V)>> {
        match self {
            DeltaPart::Memory(map, _) => {
                let first = map.range_from(start).next();
                Ok(first.map(|(key, value)| (key.clone(), value.clone())))
            }
            DeltaPart::Spilled(map) => map.range(start)?.next().transpose(),
        }
    }

    /// The last entry up to `end`.
    pub(crate) fn previous(&self, end: Bound<&K>) -> Result<Option<(K, V)>> {
        match self {
            DeltaPart::Memory(map, _) => {
                let last = map.last_to(end);
                Ok(last.map(|(key, value)| (key.clone(), value.clone())))
            }
            DeltaPart::Spilled(map) => map.previous(end),
        }
    }
}

/// The place in an index just before the entries of a key.
struct BeforeKey<'a>(&'a [u8]);

impl Equivalent<IndexKey> for BeforeKey<'_> {
    fn equivalent(&self, _: &IndexKey) -> bool {
        false
    }
}

impl Comparable<IndexKey> for BeforeKey<'_> {
    fn compare(&self, entry: &IndexKey) -> Ordering {
        (*self.0).cmp(&entry.0).then(Ordering::Less)
    }
}

/// Whether a layer in memory may have entries about this.
#[inline]
fn may_have(filter: Option<&Arc<EntryFilter>>, about: impl Into<FilterHash>) -> bool {
    filter.is_none_or(|filter| filter.may_have(about))
}

impl DeltaPart<IndexKey, Change> {
    /// Whether there may be entries of `key`, cut, which is what is asked about; false is always
    /// right.
    pub(crate) fn may_have(&self, about: FilterHash, key: &[u8]) -> bool {
        match self {
            DeltaPart::Memory(map, filter) => {
                may_have(filter.as_ref(), about) && {
                    let first = map.first_behind(&BeforeKey(key));
                    first.is_some_and(|((known, _), _)| **known == *key)
                }
            }
            DeltaPart::Spilled(_) => true,
        }
    }
}

impl DeltaPart<EdgeKey, Change> {
    /// Whether there may be entries of the list of `node`; false is always right.
    pub(crate) fn may_have_list(&self, node: u64) -> bool {
        match self {
            DeltaPart::Memory(map, filter) => {
                !map.is_empty() && may_have(filter.as_ref(), FilterKey::Node(node))
            }
            DeltaPart::Spilled(map) => {
                let (first, last) = list_of(node);
                map.may_have_any(&first, &last)
            }
        }
    }
}

/// The values of one property in a layer.
#[derive(Clone, Debug)]
pub(crate) enum ColumnPart {
    /// As [`DeltaPart::Memory`].
    Memory(ValueMap, Option<Arc<EntryFilter>>),
    Spilled(Arc<SpilledRun<u64, crate::PropertyValue>>),
}

impl ColumnPart {
    /// Whether there may be the value that is asked about; false is always right.
    #[inline]
    pub(crate) fn may_have(&self, about: FilterHash) -> bool {
        match self {
            ColumnPart::Memory(_, filter) => may_have(filter.as_ref(), about),
            ColumnPart::Spilled(_) => true,
        }
    }

    /// Whether there may be values of ids from `low` to `high`; false is always right.
    pub(crate) fn may_have_in(&self, low: u64, high: u64) -> bool {
        match self {
            ColumnPart::Memory(map, _) => map.may_have(low, high),
            ColumnPart::Spilled(_) => true,
        }
    }

    /// The value of `id`; `last` is kept between look-ups.
    pub(crate) fn get(
        &self,
        id: u64,
        last: &mut Option<Block<u64, crate::PropertyValue>>,
    ) -> Result<Option<crate::PropertyValue>> {
        match self {
            ColumnPart::Memory(map, _) => Ok(map.get(id).cloned()),
            ColumnPart::Spilled(map) => Ok(map.get(&id, last)?.cloned()),
        }
    }
}

/// A layer of either kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeltaView<'a> {
    Memory(&'a DeltaLayer),
    Spilled(&'a Spilled),
}

impl ImmutableDelta {
    pub(crate) fn view(&self) -> DeltaView<'_> {
        match self {
            ImmutableDelta::Memory { layer, .. } => DeltaView::Memory(layer),
            ImmutableDelta::Spilled(spilled) => DeltaView::Spilled(spilled),
        }
    }

    /// Bytes of memory that it is charged.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            ImmutableDelta::Memory { reservation, .. } => reservation.bytes(),
            ImmutableDelta::Spilled(spilled) => spilled.reservation.bytes(),
        }
    }
}

fn cloned<'a, K: Ord + Clone + Send + Sync, V: Clone + Send + Sync>(
    map: &'a SmallMap<K, V>,
) -> LayerEntries<'a, K, V> {
    let entries = map.iter();
    let entries = entries.map(|(key, value)| Ok((key.clone(), value.clone())));
    Box::new(InMemory::new(entries))
}

fn cloned_ids<'a, V: Clone + Send + Sync>(map: &'a IdMap<V>) -> LayerEntries<'a, u64, V> {
    let entries = map.iter().map(|(id, value)| Ok((id, value.clone())));
    Box::new(InMemory::new(entries))
}

impl<'a> DeltaView<'a> {
    pub(crate) fn counts(&self) -> &'a Counts {
        match self {
            DeltaView::Memory(layer) => &layer.counts,
            DeltaView::Spilled(spilled) => &spilled.counts,
        }
    }

    /// Whether there may be entries about this; false is always right.
    #[inline]
    pub(crate) fn may_have(&self, about: FilterHash) -> bool {
        match self {
            DeltaView::Memory(layer) => layer.may_have(about),
            DeltaView::Spilled(_) => true,
        }
    }

    /// What happened to `node`.
    pub(crate) fn node(&self, node: u64) -> Option<&'a NodeChange> {
        match self {
            DeltaView::Memory(layer) => layer.nodes.get(node),
            DeltaView::Spilled(spilled) => spilled.nodes.get(node),
        }
    }

    pub(crate) fn has_nodes(&self) -> bool {
        match self {
            DeltaView::Memory(layer) => !layer.nodes.is_empty(),
            DeltaView::Spilled(spilled) => !spilled.nodes.is_empty(),
        }
    }

    /// The nodes that came, went or changed, ascending, in runs.
    pub(crate) fn node_runs(&self) -> Box<dyn Iterator<Item = (Range<u64>, &'a NodeChange)> + 'a> {
        match *self {
            DeltaView::Memory(layer) => {
                Box::new((layer.nodes.iter()).map(|(node, change)| (node..node + 1, change)))
            }
            DeltaView::Spilled(spilled) => Box::new(spilled.nodes.runs()),
        }
    }

    /// What happened to a relationship.
    pub(crate) fn relationship(&self, id: RelId) -> Result<Option<RelationshipChange>> {
        match self {
            DeltaView::Memory(layer) => Ok(layer.relationships.get(id.0).copied()),
            DeltaView::Spilled(spilled) => Ok(match spilled.last.try_lock() {
                Some(mut last) => spilled.relationships.get(&id.0, &mut last)?.copied(),
                None => spilled.relationships.get(&id.0, &mut None)?.copied(),
            }),
        }
    }

    /// The properties that have changes.
    pub(crate) fn column_keys(&self) -> Vec<ColumnOf> {
        match self {
            DeltaView::Memory(layer) => layer.columns.keys().copied().collect(),
            DeltaView::Spilled(spilled) => spilled.columns.keys().copied().collect(),
        }
    }

    /// The lists that have changes.
    pub(crate) fn adjacency_keys(&self) -> Vec<(TypeId, Direction)> {
        match self {
            DeltaView::Memory(layer) => (layer.adjacency.iter())
                .filter(|(_, edges)| !edges.is_empty())
                .map(|(key, _)| *key)
                .collect(),
            DeltaView::Spilled(spilled) => spilled.adjacency.keys().copied().collect(),
        }
    }

    /// The indexes that have changes.
    pub(crate) fn index_numbers(&self) -> Vec<u32> {
        match self {
            DeltaView::Memory(layer) => layer.indexes.keys().copied().collect(),
            DeltaView::Spilled(spilled) => spilled.indexes.keys().copied().collect(),
        }
    }

    pub(crate) fn column(&self, of: ColumnOf) -> Option<ColumnPart> {
        match self {
            DeltaView::Memory(layer) => {
                let values = layer.column(of).cloned();
                values.map(|values| ColumnPart::Memory(values, layer.filter().cloned()))
            }
            DeltaView::Spilled(spilled) => {
                spilled.columns.get(&of).cloned().map(ColumnPart::Spilled)
            }
        }
    }

    pub(crate) fn edges(
        &self,
        rel_type: TypeId,
        direction: Direction,
    ) -> Option<DeltaPart<EdgeKey, Change>> {
        match self {
            DeltaView::Memory(layer) => {
                let edges = layer.edges(rel_type, direction).cloned();
                edges.map(|edges| DeltaPart::Memory(edges, layer.filter().cloned()))
            }
            DeltaView::Spilled(spilled) => {
                let edges = spilled.adjacency.get(&(rel_type, direction));
                edges.cloned().map(DeltaPart::Spilled)
            }
        }
    }

    pub(crate) fn index(&self, number: u32) -> Option<DeltaPart<IndexKey, Change>> {
        match self {
            DeltaView::Memory(layer) => {
                let entries = layer.indexes.get(&number).filter(|map| !map.is_empty());
                entries.map(|it| DeltaPart::Memory(it.clone(), layer.filter().cloned()))
            }
            DeltaView::Spilled(spilled) => spilled
                .indexes
                .get(&number)
                .cloned()
                .map(DeltaPart::Spilled),
        }
    }

    /// All nodes, ascending.
    pub(crate) fn nodes(&self) -> LayerEntries<'a, u64, NodeChange> {
        match *self {
            DeltaView::Memory(layer) => cloned_ids(&layer.nodes),
            DeltaView::Spilled(spilled) => Box::new(InMemory::new(
                (spilled.nodes.runs())
                    .flat_map(|(ids, change)| ids.map(move |node| Ok((node, change.clone())))),
            )),
        }
    }

    /// All relationships, ascending.
    pub(crate) fn relationships(&self) -> LayerEntries<'a, u64, RelationshipChange> {
        match *self {
            DeltaView::Memory(layer) => cloned_ids(&layer.relationships),
            DeltaView::Spilled(spilled) => stream(&spilled.relationships),
        }
    }

    /// All values of a property.
    pub(crate) fn values(
        &self,
        of: ColumnOf,
    ) -> Option<LayerEntries<'a, u64, crate::PropertyValue>> {
        match *self {
            DeltaView::Memory(layer) => layer.column(of).map(cloned_ids),
            DeltaView::Spilled(spilled) => spilled.columns.get(&of).map(stream),
        }
    }

    pub(super) fn edge_entries(
        &self,
        of: (TypeId, Direction),
    ) -> Option<LayerEntries<'a, EdgeKey, Change>> {
        match *self {
            DeltaView::Memory(layer) => layer.edges(of.0, of.1).map(|edges| {
                edges.put_in_order(sort_edges);
                cloned(edges)
            }),
            DeltaView::Spilled(spilled) => spilled.adjacency.get(&of).map(stream),
        }
    }

    pub(super) fn index_entries(&self, number: u32) -> Option<LayerEntries<'a, IndexKey, Change>> {
        match *self {
            DeltaView::Memory(layer) => layer.indexes.get(&number).map(cloned),
            DeltaView::Spilled(spilled) => spilled.indexes.get(&number).map(stream),
        }
    }
}

fn stream<'a, K, V>(map: &Arc<SpilledRun<K, V>>) -> LayerEntries<'a, K, V>
where
    K: Stored + Ord + Clone + Send + Sync + 'a,
    V: Stored + Send + 'a,
{
    match map.range(Bound::Unbounded) {
        Ok(range) => Box::new(range),
        Err(error) => Box::new(InMemory::new(std::iter::once(Err(error)))),
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a map of an index says of every key whether it has entries, also with many ids under
    //! one key, some of them gone again.

    use super::*;
    use graven_types::rng::SplitMix64;

    #[test]
    fn a_key_with_several_ids_is_found() {
        let mut random = SplitMix64::new(3);
        for round in 0..60 {
            let mut map = SmallMap::<IndexKey, Change>::default();
            let keys: Vec<Arc<[u8]>> = (0..5u8).map(|key| Arc::from([key, 7])).collect();
            for _ in 0..40 + 20 * round {
                let entry = (keys[random.below(5) as usize].clone(), random.below(120));
                if map.remove(&entry).is_none() {
                    map.insert(entry, Change::Added);
                }
                let part = DeltaPart::Memory(map.clone(), None);
                for key in &keys {
                    let has = map.keys().any(|(known, _)| known == key);
                    assert_eq!(
                        part.may_have(FilterKey::Key(1, key).into(), key),
                        has,
                        "{key:?} of {}",
                        map.len()
                    );
                }
            }
        }
    }
}
