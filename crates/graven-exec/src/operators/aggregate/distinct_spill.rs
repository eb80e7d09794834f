//! Distinct values of an aggregation without keys that do not fit: written out, and told apart part
//! by part.
//!
//! # How it works
//! Without keys there is one group, whose states cannot be divided; the values that its distinct
//! aggregates have seen can. Those of each aggregate go to partitions by hash, and what they add up
//! to is forgotten. When the input has ended the partitions are read one after the other, and every
//! value that is new in its partition is added. Where a partition does not fit, values that are not
//! among those there go to further partitions, by the next bits of the hash.
//!
//! Not for `collect` and percentiles: they keep all values in any case.

use std::sync::Arc;

use super::accumulator::Accumulator;
use super::groups::DistinctSpill;
use super::{Aggregate, Groups, READ_BYTES, READ_ROWS};
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::query_context::QueryContext;
use crate::spill::{LEVELS, Partitions, RowRun, Spill, row_hashes};
use crate::value::Value;

/// Puts values where they belong.
fn divide(values: Vec<Value>, partitions: &mut Partitions) -> Result<()> {
    let rows = values.len();
    let batch = Batch::new(vec![Arc::new(Column::from_values(values))], rows);
    let mut hashes = Vec::new();
    row_hashes(batch.columns(), rows, &mut hashes);
    let mut hashes = hashes.iter().enumerate();
    hashes.try_for_each(|(row, hash)| partitions.push(*hash, &batch, row))
}

impl Groups {
    /// Writes out the distinct values that the only group has seen.
    fn put_apart(&mut self, spill: &Spill) -> Result<()> {
        let bytes = self.seen_bytes();
        let none = || DistinctSpill(self.accumulators.iter().map(|_| None).collect());
        let mut apart = self.apart.take().unwrap_or_else(none);
        for (accumulator, partitions) in self.accumulators.iter_mut().zip(&mut apart.0) {
            if accumulator.counts_distinct() {
                let partitions = partitions.get_or_insert_with(|| Partitions::new(spill, 0));
                divide(accumulator.take_seen(), partitions)?;
            }
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        self.apart = Some(apart);
        Ok(())
    }

    /// Bytes of the values that can be written out.
    fn seen_bytes(&self) -> usize {
        let accumulators = self.accumulators.iter();
        let seen = accumulators.filter(|accumulator| accumulator.counts_distinct());
        seen.map(Accumulator::seen_bytes).sum()
    }
}

impl Aggregate {
    /// Makes room by writing out distinct values of the only group; whether that gave much.
    pub(super) fn make_room_apart(&mut self, groups: &mut Groups) -> Result<bool> {
        let Some(spill) = self.spill.as_ref().filter(|_| self.keys.is_empty()) else {
            return Ok(false);
        };
        // What else there is would not fit either.
        if groups.seen_bytes() < groups.bytes() / 2 {
            return Ok(false);
        }
        groups.put_apart(spill)?;
        self.memory.set(groups.bytes())?;
        Ok(true)
    }

    /// Adds up the values that were written out.
    pub(super) fn take_apart(&mut self, groups: &mut Groups, rt: &QueryContext) -> Result<()> {
        let Some(spill) = self.spill.as_ref().filter(|_| groups.apart.is_some()) else {
            return Ok(());
        };
        groups.put_apart(spill)?;
        let Some(DistinctSpill(written)) = groups.apart.take() else {
            return Ok(());
        };
        for (at, partitions) in written.into_iter().enumerate() {
            let Some(partitions) = partitions else {
                continue;
            };
            let mut pending: Vec<(RowRun, u32)> = Vec::new();
            pending.extend(partitions.finish()?.into_iter().map(|run| (run, 1)));
            while let Some((run, level)) = pending.pop() {
                let mut further = None;
                let mut reader = run.into_reader();
                let most = READ_BYTES.min(rt.batch_bytes());
                while let Some(batch) = reader.next_batch(READ_ROWS, most)? {
                    rt.check_cancelled()?;
                    let values = batch.column(0);
                    let accumulator = &mut groups.accumulators[at];
                    if let Some(further) = &mut further {
                        let new = (0..batch.len()).map(|row| values.value(row));
                        let new = new.filter(|value| !accumulator.has_seen(value));
                        divide(new.collect(), further)?;
                        continue;
                    }
                    for row in 0..batch.len() {
                        groups.bytes += accumulator.add_distinct(&values.get(row))?;
                    }
                    let bytes = groups.bytes();
                    if !self.memory.keeps(bytes) {
                        match level < LEVELS {
                            true => further = Some(Partitions::new(spill, level)),
                            false => self.memory.set(bytes)?,
                        }
                        self.memory.force(bytes);
                    }
                }
                let freed = groups.accumulators[at].forget_seen();
                groups.bytes = groups.bytes.saturating_sub(freed);
                if let Some(further) = further {
                    pending.extend(further.finish()?.into_iter().map(|run| (run, level + 1)));
                }
            }
        }
        self.memory.force(groups.bytes());
        Ok(())
    }
}
