//! Merging the stores of a checkpoint, by several threads while it makes no pauses.
//!
//! # How it works
//! The label sets of nodes come first, since patterns are counted by them. All other stores are
//! jobs that threads take one after the other. What they have made goes to the catalogue in the
//! order of the jobs, whichever thread was faster, so that the same changes give the same numbers
//! of stores and the same counts. Places of pages differ.
//!
//! # Costs
//! Each thread needs the memory that one store takes; with less than [`MEMORY_A_THREAD`] for each
//! there are fewer.

use super::changes::Changes;
use super::columns;
use super::label_runs;
use super::lists;
use super::merge::{CheckpointMerge, Counts, MergedStore, StoreMerge};
use super::patterns::{self, PatternChanges};
use super::relationships;
use crate::catalog::StoreKind;
use crate::delta::work_sharing::share_on;
use crate::ids::{Direction, KeyId, TypeId};
use crate::labels::LabelRuns;
use crate::{Error, Result};
use graven_pagecache::{Budget, PageKind};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Bytes of the memory limit for each thread.
const MEMORY_A_THREAD: u64 = 16 << 20;
const THREADS_MAX: usize = 4;

/// How many threads merge, at most: one while there are pauses.
pub(super) fn threads(budget: &Budget) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let fed = usize::try_from(budget.limit() / MEMORY_A_THREAD).unwrap_or(usize::MAX);
    cores.min(THREADS_MAX).min(fed).max(1)
}

/// A part of the merge that needs no other.
#[derive(Clone, Copy, Debug)]
enum Job {
    NodeColumn(KeyId),
    Patterns(TypeId),
    Adjacency(TypeId, Direction),
    RelationshipColumn(TypeId, KeyId),
    Relationships,
}

/// What came of a job.
enum Done {
    /// Those that changed.
    Stores(Vec<MergedStore>),
    Patterns(PatternChanges),
}

/// All jobs, in the order in which stores get their numbers.
fn jobs(changes: &dyn Changes, types: u32) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    jobs.extend(changes.node_keys().into_iter().map(Job::NodeColumn));
    jobs.extend((0..types).map(|rel_type| Job::Patterns(TypeId(rel_type))));
    for rel_type in changes.relationship_types() {
        jobs.push(Job::Adjacency(rel_type, Direction::Out));
        jobs.push(Job::Adjacency(rel_type, Direction::In));
    }
    let columns = changes.relationship_keys().into_iter();
    jobs.extend(columns.map(|(rel_type, key)| Job::RelationshipColumn(rel_type, key)));
    jobs.push(Job::Relationships);
    jobs
}

impl Job {
    fn run(
        self,
        merge: &mut StoreMerge<'_>,
        changes: &dyn Changes,
        labels: &LabelRuns,
        relabelled: &[u64],
    ) -> Result<Done> {
        let store = match self {
            Job::Patterns(rel_type) => {
                let found = patterns::changes_of(merge, changes, rel_type, labels, relabelled)?;
                return Ok(Done::Patterns(found));
            }
            Job::NodeColumn(key) => {
                let kind = StoreKind::NodeColumn(key);
                let values = changes.node_property(key);
                columns::merge(merge, kind, PageKind::NodeColumn, values)?
            }
            Job::Adjacency(rel_type, direction) => {
                let lists = changes.adjacency(rel_type, direction);
                lists::merge(merge, rel_type, direction, lists)?
            }
            Job::RelationshipColumn(rel_type, key) => {
                let kind = StoreKind::RelationshipColumn(rel_type, key);
                let values = changes.relationship_property(rel_type, key);
                columns::merge(merge, kind, PageKind::RelationshipColumn, values)?
            }
            Job::Relationships => {
                return Ok(Done::Stores(relationships::merge(merge, changes)?));
            }
        };
        Ok(Done::Stores(store.into_iter().collect()))
    }
}

impl CheckpointMerge<'_> {
    /// Everything but the indexes.
    pub(super) fn stores(&mut self, threads: usize) -> Result<()> {
        let changes = self.changes;
        let nodes = changes.nodes().next().is_some() || !changes.relationship_types().is_empty();
        if nodes && let Some(lost) = self.root.labels.any_lost() {
            // What cannot be read cannot be counted nor written anew.
            return Err(lost);
        }
        let new_labels = label_runs::merge(self)?;
        let relabelled = patterns::relabelled(self)?;
        let labels = new_labels.as_ref().unwrap_or(&self.root.labels);
        let jobs = jobs(changes, self.catalog.types().len() as u32);
        let done = Mutex::new(BTreeMap::new());
        let (root, output) = (self.root, self.output);
        let jobs_left = jobs.iter().enumerate().collect();
        share_on(output.demand(), jobs_left, threads, |(at, job)| {
            let mut own = StoreMerge::new(root, output, threads > 1);
            let made = job.run(&mut own, changes, labels, &relabelled)?;
            own.end_run();
            done.lock().insert(at, (made, own));
            Ok::<(), Error>(())
        })?;
        let mut forward = Counts::default();
        for (job, (made, own)) in jobs.into_iter().zip(done.into_inner().into_values()) {
            self.own.join(own);
            match (job, made) {
                (Job::Patterns(rel_type), Done::Patterns(changes)) => {
                    patterns::apply(self, rel_type, changes);
                }
                (Job::Adjacency(rel_type, direction), Done::Stores(stores)) => {
                    let counts = stores.first().map(|store| store.counts).unwrap_or_default();
                    match direction {
                        Direction::Out => forward = counts,
                        Direction::In => self.count(rel_type, forward, counts)?,
                    }
                    stores.into_iter().for_each(|store| self.put(store));
                }
                (_, Done::Stores(stores)) => stores.into_iter().for_each(|store| self.put(store)),
                (_, Done::Patterns(_)) => unreachable!("only one kind of job counts patterns"),
            }
        }
        Ok(())
    }

    /// Brings the counts of a type up to date with those of its two directions.
    fn count(&mut self, rel_type: TypeId, out: Counts, into: Counts) -> Result<()> {
        if out.relationships != into.relationships {
            return Err(Error::Inconsistent {
                path: self.root.pages.path().to_path_buf(),
                store: format!("adjacency of type {rel_type}"),
                what: format!(
                    "a checkpoint would change it by {} relationships forward and {} in reverse; \
                        run graven check",
                    out.relationships, into.relationships
                ),
            });
        }
        let statistics = &mut self.catalog.statistics;
        let Some(counts) = statistics.types.get_mut(rel_type.0 as usize) else {
            return Err(Error::Inconsistent {
                path: self.root.pages.path().to_path_buf(),
                store: format!("adjacency of type {rel_type}"),
                what: "the catalogue has no such type; run graven check".to_owned(),
            });
        };
        let added = out.relationships;
        // Where the sum of a file of an earlier build is not known, it stays so.
        let was_empty = counts.relationships == 0;
        let squares = |before: u64, grown: i128| match before > 0 || was_empty {
            true => u64::try_from(i128::from(before) + grown).unwrap_or(u64::MAX),
            false => 0,
        };
        counts.out_squares = squares(counts.out_squares, out.squares);
        counts.in_squares = squares(counts.in_squares, into.squares);
        counts.relationships = counts.relationships.saturating_add_signed(added);
        counts.start_nodes = counts.start_nodes.saturating_add_signed(out.lists);
        counts.end_nodes = counts.end_nodes.saturating_add_signed(into.lists);
        counts.out_degree_max = counts.out_degree_max.max(out.degree_max);
        counts.in_degree_max = counts.in_degree_max.max(into.degree_max);
        statistics.relationships = statistics.relationships.saturating_add_signed(added);
        Ok(())
    }
}
