//! A batch of recovery in temporary pages, without ever being a layer in memory.
//!
//! # How it works
//! Every property, the relationships, and each direction of their lists are a map of their own,
//! written by whichever thread is free. Values go there as the bytes that the log had of them.

use super::batch::WholeBatch;
use super::counts::Counts;
use super::encoded_values::EncodedValues;
use super::immutable_delta::Spilled;
use super::merged_delta::Maps;
use super::spilled_run::SealedWriter;
use super::unsorted_adjacency::UnsortedAdjacency;
use super::work_sharing::share;
use crate::Result;
use crate::delta::change::ColumnOf;
use crate::ids::Direction;
use graven_pagecache::{Budget, TemporaryPages};
use parking_lot::Mutex;
use std::sync::Arc;

/// Maps to be written.
#[derive(Debug)]
enum Job<'a> {
    Lists(&'a UnsortedAdjacency<'a>, Direction),
    Relationships,
    Values(ColumnOf, &'a EncodedValues),
}

impl WholeBatch {
    /// Writes all of it to temporary pages, on up to `threads` threads.
    pub(crate) fn spill(
        &self,
        counts: Counts,
        out: &TemporaryPages,
        budget: &Arc<Budget>,
        threads: usize,
    ) -> Result<Spilled> {
        let mut reservation = budget.empty_reservation("changes in temporary pages");
        reservation.grow(self.nodes.memory_bytes())?;
        let unlisted = UnsortedAdjacency::of(&self.relationships);
        let lists = |of| [Direction::Out, Direction::In].map(|way| Job::Lists(of, way));
        // The largest ones first.
        let mut jobs: Vec<Job<'_>> = unlisted.iter().flat_map(lists).collect();
        jobs.push(Job::Relationships);
        let columns = self.columns.iter();
        jobs.extend(columns.map(|(of, values)| Job::Values(*of, values)));
        let maps = Mutex::new(Maps::new(reservation));
        share(jobs, threads, |job| self.write(job, out, &maps))?;
        Ok(maps.into_inner().spilled(self.nodes.clone(), counts, 0))
    }

    fn write(&self, job: Job<'_>, out: &TemporaryPages, maps: &Mutex<Maps>) -> Result<()> {
        match job {
            Job::Lists(unlisted, direction) => {
                for (rel_type, list) in unlisted.lists(direction) {
                    let mut writer = SealedWriter::new(out);
                    list.visit(|key, change| writer.push(&key, &change))?;
                    let (of, map) = ((rel_type, direction), writer.finish()?);
                    maps.lock().insert(|maps| &mut maps.adjacency, of, map)?;
                }
                Ok(())
            }
            Job::Relationships => {
                let mut writer = SealedWriter::new(out);
                for (id, it) in self.relationships.iter() {
                    writer.push(id, it)?;
                }
                let map = writer.finish()?;
                maps.lock().set_relationships(map)
            }
            Job::Values(of, values) => {
                let mut writer = SealedWriter::new(out);
                for (id, value) in values.iter() {
                    writer.push_encoded(&id, value)?;
                }
                let map = writer.finish()?;
                maps.lock().insert(|maps| &mut maps.columns, of, map)
            }
        }
    }
}
