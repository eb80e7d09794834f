//! The groups in memory: numbered keys, and a state of each aggregate for each of them.
//!
//! # How it works
//! A [`GroupTable`] numbers the keys. As long as it has them as numbers they are kept there alone.
//! Groups that do not fit are written into partitions, and the table starts anew.

use std::sync::Arc;

use super::Call;
use super::accumulator::Accumulator;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::operators::row_key::GroupTable;
use crate::spill::{Partitions, put_value, row_hashes};
use crate::value::Value;

/// Keys of groups are put together up to so many.
const TOGETHER: usize = 512;

/// The groups in memory.
pub(super) struct Groups {
    pub(super) table: GroupTable,
    /// Keys of all groups in order, in parts of up to one batch; none as long as the table has them
    /// as numbers.
    pub(super) keys: Vec<Batch>,
    pub(super) accumulators: Vec<Accumulator>,
    pub(super) count: usize,
    /// Bytes of `keys` and of what the states keep besides themselves.
    pub(super) bytes: usize,
    /// Distinct values of the only group that were written out.
    pub(super) apart: Option<DistinctSpill>,
}

impl Groups {
    pub(super) fn new(calls: &[Call], parameters: &[Option<Value>]) -> Result<Self> {
        let accumulators = calls
            .iter()
            .zip(parameters)
            .map(|(call, parameter)| Accumulator::new(call, parameter.clone()));
        Ok(Self {
            table: GroupTable::of_groups(),
            keys: Vec::new(),
            accumulators: accumulators.collect::<Result<_>>()?,
            count: 0,
            bytes: 0,
            apart: None,
        })
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.bytes + self.states_bytes(self.count)
    }

    /// Bytes held while and after rows with so many keys are added.
    pub(super) fn bytes_with(&self, rows: usize, width: usize) -> usize {
        let capacity = (self.count + rows).next_power_of_two();
        self.table.bytes_with(rows, width) + self.bytes + self.states_bytes(capacity)
    }

    fn states_bytes(&self, groups: usize) -> usize {
        let each: usize = self.accumulators.iter().map(Accumulator::state_bytes).sum();
        groups * each
    }

    /// At most so many groups more are coming; `memory` is what another table has left.
    pub(super) fn expect(&mut self, rows: usize, memory: Vec<u64>) {
        self.table.expect(rows, memory);
        let accumulators = self.accumulators.iter_mut();
        accumulators.for_each(|accumulator| accumulator.reserve(rows));
    }

    /// The group of each row, new groups added.
    pub(super) fn numbers(&mut self, keys: Vec<Arc<Column>>, rows: usize, numbers: &mut Vec<u32>) {
        let keeps_numbers = self.table.keeps_numbers(&keys);
        if !keeps_numbers && self.keys.is_empty() {
            self.keys = key_parts(&self.table, self.count);
            self.bytes += self.keys.iter().map(Batch::heap_bytes).sum::<usize>();
        }
        self.table.insert(&keys, rows, numbers);
        if keeps_numbers {
            self.count = self.table.len();
            self.grow();
            return;
        }
        let fresh = fresh_rows(numbers, self.count);
        self.count += fresh.len();
        if !fresh.is_empty() {
            let mut kept = Batch::new(keys, rows);
            if fresh.len() < rows {
                kept = kept.gather(&fresh);
            }
            self.bytes += bytes_beside_table(&kept);
            // Few new groups at a time are put together.
            if let Some(last) = self.keys.last_mut()
                && last.len() + kept.len() <= TOGETHER
            {
                *last = Batch::concat(&[std::mem::take(last), kept]);
            } else {
                self.keys.push(kept);
            }
        }
        self.grow();
    }

    pub(super) fn grow(&mut self) {
        let count = self.count;
        self.accumulators.iter_mut().for_each(|a| a.grow(count));
    }

    /// Writes all groups into `partitions` and forgets them.
    pub(super) fn flush(&mut self, partitions: &mut Partitions) -> Result<()> {
        let mut group = 0;
        let mut hashes = Vec::new();
        let mut parts = std::mem::take(&mut self.keys);
        if parts.is_empty() {
            parts = key_parts(&self.table, self.count);
        }
        for part in parts {
            row_hashes(part.columns(), part.len(), &mut hashes);
            for (row, hash) in hashes.iter().enumerate() {
                let writer = partitions.of(*hash);
                let mut more = true;
                while more {
                    more = false;
                    writer.push_with(|out| {
                        part.columns()
                            .iter()
                            .for_each(|column| put_value(out, &column.get(row)));
                        for accumulator in &mut self.accumulators {
                            more |= accumulator.put(group, out);
                        }
                    })?;
                }
                group += 1;
            }
        }
        self.accumulators.iter_mut().for_each(Accumulator::clear);
        self.table = GroupTable::of_groups();
        self.count = 0;
        self.bytes = 0;
        Ok(())
    }
}

/// Bytes of keys that the table has as values as well, which share texts and lists.
fn bytes_beside_table(keys: &Batch) -> usize {
    let columns = keys.columns().iter().map(|column| match &**column {
        Column::Values(values) => values.capacity() * size_of::<Value>(),
        Column::Constant(..) => 0,
        numbers => numbers.heap_bytes(),
    });
    columns.sum()
}

/// The keys of the first `count` groups of a table that has them as numbers.
fn key_parts(table: &GroupTable, count: usize) -> Vec<Batch> {
    let starts = (0..table.len().min(count)).step_by(BATCH_ROWS);
    let parts = starts.map(|from| {
        let to = count.min(from + BATCH_ROWS);
        let columns = table.columns(from..to).into_iter().map(Arc::new);
        Batch::new(columns.collect(), to - from)
    });
    parts.collect()
}

/// Rows in which a group number appears for the first time; numbers are dense in the order in
/// which they appear.
pub(super) fn fresh_rows(numbers: &[u32], known: usize) -> Vec<u32> {
    let mut next = known;
    let mut fresh = Vec::with_capacity(numbers.len());
    for (row, number) in numbers.iter().enumerate() {
        if *number as usize == next {
            next += 1;
            fresh.push(u32::try_from(row).expect("a batch is small"));
        }
    }
    fresh
}

/// The values of each aggregate that were written out.
pub(super) struct DistinctSpill(pub(super) Vec<Option<Partitions>>);
