//! Several layers as one: their newest changes, read in order or spilled.
//!
//! # How it works
//! Each store of the layers is merged by key, the newest change winning. Where their keys do not
//! overlap, as when nodes are created one after the other, no page is written again: the runs are
//! put together.
//!
//! # Invariants
//! * TX-15: a stack of layers and the one that they are merged into say the same.

use super::changed_nodes::ChangedNodes;
use super::counts::Counts;
use super::immutable_delta::{DeltaView, Spilled};
use super::merge::{Entries, Over, merge};
use super::spilled_run::{SealedWriter, SpilledRun};
use super::stored::Stored;
use super::work_sharing::share;
use crate::Result;
use crate::delta::change::{Change, ColumnOf, EdgeKey, IndexKey, NodeChange, RelationshipChange};
use crate::ids::{Direction, TypeId};
use graven_pagecache::{Budget, Reservation, TemporaryPages};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Layers on top of each other, oldest first, as one set of changes.
#[derive(Clone, Debug)]
pub(crate) struct MergedDelta<'a> {
    pub(crate) views: Vec<DeltaView<'a>>,
}

impl<'a> MergedDelta<'a> {
    pub(crate) fn nodes(&self) -> Entries<'a, u64, NodeChange> {
        merge(self.views.iter().map(DeltaView::nodes).collect())
    }

    pub(crate) fn relationships(&self) -> Entries<'a, u64, RelationshipChange> {
        merge(self.views.iter().map(DeltaView::relationships).collect())
    }

    pub(crate) fn values(&self, of: ColumnOf) -> Entries<'a, u64, crate::PropertyValue> {
        merge(
            self.views
                .iter()
                .filter_map(|view| view.values(of))
                .collect(),
        )
    }

    pub(crate) fn edges(
        &self,
        rel_type: TypeId,
        direction: Direction,
    ) -> Entries<'a, EdgeKey, Change> {
        let of = (rel_type, direction);
        let entries = self.views.iter().filter_map(|view| view.edge_entries(of));
        merge(entries.collect())
    }

    pub(crate) fn index(&self, number: u32) -> Entries<'a, IndexKey, Change> {
        let entries = self.views.iter();
        merge(
            entries
                .filter_map(|view| view.index_entries(number))
                .collect(),
        )
    }

    pub(crate) fn column_keys(&self) -> BTreeSet<ColumnOf> {
        self.views.iter().flat_map(DeltaView::column_keys).collect()
    }

    pub(crate) fn adjacency_keys(&self) -> BTreeSet<(TypeId, Direction)> {
        self.views
            .iter()
            .flat_map(DeltaView::adjacency_keys)
            .collect()
    }

    pub(crate) fn index_numbers(&self) -> BTreeSet<u32> {
        self.views
            .iter()
            .flat_map(DeltaView::index_numbers)
            .collect()
    }

    /// Writes the net changes to temporary pages, on up to `threads` threads.
    pub(crate) fn spill(
        &self,
        out: &TemporaryPages,
        budget: &Arc<Budget>,
        threads: usize,
    ) -> Result<Spilled> {
        let mut reservation = budget.empty_reservation("changes in temporary pages");
        let nodes = ChangedNodes::of(self.nodes(), &mut reservation)?;
        let maps = Mutex::new(Maps::new(reservation));
        share(self.jobs(), threads, |job| self.write(job, out, &maps))?;
        let mut counts = Counts::default();
        let views = self.views.iter();
        views.for_each(|view| counts.add(view.counts()));
        let tiers = self.views.iter().map(|view| match view {
            DeltaView::Memory(_) => 0,
            DeltaView::Spilled(spilled) => spilled.tier + 1,
        });
        let tier = tiers.max().unwrap_or(0);
        Ok(maps.into_inner().spilled(Arc::new(nodes), counts, tier))
    }

    /// The maps to be written, the largest ones first.
    fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.adjacency_keys().into_iter().map(Job::Edges).collect();
        jobs.push(Job::Relationships);
        jobs.extend(self.column_keys().into_iter().map(Job::Values));
        jobs.extend(self.index_numbers().into_iter().map(Job::Index));
        jobs
    }

    fn write(&self, job: Job, out: &TemporaryPages, maps: &Mutex<Maps>) -> Result<()> {
        match job {
            Job::Values(of) => {
                let joined = self.joined(|spilled| spilled.columns.get(&of), || self.values(of));
                let map = write(out, joined)?;
                maps.lock().insert(|maps| &mut maps.columns, of, map)
            }
            Job::Relationships => {
                let joined = self.joined(|it| Some(&it.relationships), || self.relationships());
                let map = write(out, joined)?;
                maps.lock().set_relationships(map)
            }
            Job::Edges(of) => {
                let joined = self.joined(|it| it.adjacency.get(&of), || self.edges(of.0, of.1));
                let map = write(out, joined)?;
                maps.lock().insert(|maps| &mut maps.adjacency, of, map)
            }
            Job::Index(number) => {
                let joined = self.joined(|it| it.indexes.get(&number), || self.index(number));
                let map = write(out, joined)?;
                maps.lock().insert(|maps| &mut maps.indexes, number, map)
            }
        }
    }

    /// The maps of spilled layers put one behind the other if they do not overlap, else what is to
    /// be written.
    fn joined<'s, K, V>(
        &'s self,
        map: impl Fn(&'s Spilled) -> Option<&'s Arc<SpilledRun<K, V>>>,
        entries: impl FnOnce() -> Entries<'a, K, V>,
    ) -> Joined<'a, K, V>
    where
        K: Stored + Ord + Clone + 's,
        V: Stored + 's,
    {
        let mut maps = Vec::with_capacity(self.views.len());
        for view in &self.views {
            match *view {
                DeltaView::Memory(_) => return Joined::Write(entries()),
                DeltaView::Spilled(spilled) => {
                    maps.extend(map(spilled).filter(|map| map.len() > 0).cloned())
                }
            }
        }
        match SpilledRun::joined(&maps) {
            Some(map) => Joined::Done(map),
            None => Joined::Write(entries()),
        }
    }
}

enum Joined<'a, K, V> {
    Done(SpilledRun<K, V>),
    Write(Entries<'a, K, V>),
}

fn write<K, V>(out: &TemporaryPages, joined: Joined<'_, K, V>) -> Result<SpilledRun<K, V>>
where
    K: Stored + Ord + Clone,
    V: Stored + Over,
{
    match joined {
        Joined::Done(map) => Ok(map),
        Joined::Write(entries) => {
            let mut writer = SealedWriter::new(out);
            for entry in entries {
                let (key, value) = entry?;
                writer.push(&key, &value)?;
            }
            writer.finish()
        }
    }
}

/// A map to be written.
#[derive(Debug)]
enum Job {
    Values(ColumnOf),
    Relationships,
    Edges((TypeId, Direction)),
    Index(u32),
}

/// The maps that are written, and what they are charged.
pub(super) struct Maps {
    reservation: Reservation,
    pub(super) columns: BTreeMap<ColumnOf, Arc<SpilledRun<u64, crate::PropertyValue>>>,
    relationships: Option<Arc<SpilledRun<u64, RelationshipChange>>>,
    pub(super) adjacency: BTreeMap<(TypeId, Direction), Arc<SpilledRun<EdgeKey, Change>>>,
    indexes: BTreeMap<u32, Arc<SpilledRun<IndexKey, Change>>>,
}

impl Maps {
    /// None yet; `reservation` grows by what they take.
    pub(super) fn new(reservation: Reservation) -> Maps {
        Maps {
            reservation,
            columns: BTreeMap::new(),
            relationships: None,
            adjacency: BTreeMap::new(),
            indexes: BTreeMap::new(),
        }
    }

    /// Puts a map that has entries into its place.
    pub(super) fn insert<O: Ord, K: Stored + Ord + Clone, V: Stored>(
        &mut self,
        place: impl FnOnce(&mut Maps) -> &mut BTreeMap<O, Arc<SpilledRun<K, V>>>,
        of: O,
        map: SpilledRun<K, V>,
    ) -> Result<()> {
        self.reservation.grow(map.memory_bytes())?;
        if map.len() > 0 {
            place(self).insert(of, Arc::new(map));
        }
        Ok(())
    }

    pub(super) fn set_relationships(
        &mut self,
        map: SpilledRun<u64, RelationshipChange>,
    ) -> Result<()> {
        self.reservation.grow(map.memory_bytes())?;
        self.relationships = Some(Arc::new(map));
        Ok(())
    }

    /// All maps as a layer.
    pub(super) fn spilled(self, nodes: Arc<ChangedNodes>, counts: Counts, tier: u32) -> Spilled {
        Spilled {
            nodes,
            columns: self.columns,
            relationships: self.relationships.expect("every layer has this map"),
            last: Mutex::default(),
            adjacency: self.adjacency,
            indexes: self.indexes,
            counts,
            tier,
            reservation: self.reservation,
        }
    }
}
