//! Distinct rows over some columns; the other columns are dropped.
//!
//! # How it works
//! Rows stream through; only the keys are kept. When they may not grow any more, the table is frozen: rows whose key
//! is in it are dropped as before, the others go into partitions by hash, to be made distinct one after the other
//! when the input has ended, by the same means.

use std::sync::Arc;

use super::row_key::KeyTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::spill::{LEVELS, Partitions, RowReader, RowRun, Spill, row_hashes};

/// Rows read back at a time, in bytes.
const READ_BYTES: usize = 64 << 10;

/// See the file header.
pub(crate) struct Distinct {
    input: BoxedOperator,
    slots: Vec<usize>,
    table: KeyTable,
    memory: Memory,
    spill: Option<Spill>,
    /// Rows that did not fit, of the source being read.
    overflow: Option<Partitions>,
    /// Partitions still to be read, with their levels.
    pending: Vec<(RowRun, u32)>,
    /// The partition being read; before the first one the input is.
    current: Option<RowReader>,
    level: u32,
    input_done: bool,
}

impl Distinct {
    /// Distinct rows over the columns `slots` of `input`.
    pub(crate) fn new(input: BoxedOperator, slots: Vec<usize>, rt: &Runtime) -> Self {
        Self {
            input,
            slots,
            table: KeyTable::default(),
            memory: Memory::of_spilling(rt, "Distinct", "return fewer distinct rows"),
            spill: Spill::new(rt, "Distinct"),
            overflow: None,
            pending: Vec::new(),
            current: None,
            level: 0,
            input_done: false,
        }
    }

    /// The key columns of the next rows of whatever source there is.
    fn next_keys(&mut self, rt: &Runtime) -> Result<Option<(Vec<Arc<Column>>, usize)>> {
        loop {
            rt.check_cancelled()?;
            if !self.input_done {
                if let Some(batch) = self.input.next(rt)? {
                    let slots = self.slots.iter();
                    let keys = slots.map(|s| Arc::clone(batch.column(*s))).collect();
                    return Ok(Some((keys, batch.len())));
                }
                self.input_done = true;
            } else if let Some(reader) = &mut self.current
                && let Some(batch) = reader.next_batch(BATCH_ROWS, READ_BYTES)?
            {
                return Ok(Some((batch.columns().to_vec(), batch.len())));
            }
            if !self.next_partition()? {
                return Ok(None);
            }
        }
    }

    /// Goes on to the next partition; whether there is one.
    fn next_partition(&mut self) -> Result<bool> {
        if let Some(overflow) = self.overflow.take() {
            let level = self.level + 1;
            let runs = overflow.finish()?.into_iter().filter(|run| run.rows() > 0);
            self.pending.extend(runs.map(|run| (run, level)));
        }
        self.table = KeyTable::default();
        self.memory.clear();
        let Some((run, level)) = self.pending.pop() else {
            self.current = None;
            return Ok(false);
        };
        self.level = level;
        self.current = Some(run.into_reader());
        Ok(true)
    }

    /// Rows of these that are new, by the table; what does not fit goes to the partitions.
    fn fresh(&mut self, keys: &[Arc<Column>], rows: usize) -> Result<Vec<u32>> {
        let row_number = |row: usize| u32::try_from(row).expect("a batch is small");
        if self.overflow.is_none() && !self.memory.keeps(self.table.bytes_with(rows, keys.len())) {
            match &self.spill {
                Some(spill) if self.table.len() > 0 && self.level < LEVELS => {
                    self.overflow = Some(Partitions::new(spill, self.level));
                    self.memory.force(self.table.bytes());
                }
                // Without anywhere to spill, all that the budget has may be used.
                _ => self.memory.set(self.table.bytes_with(rows, keys.len()))?,
            }
        }
        let mut kept = Vec::new();
        if let Some(overflow) = &mut self.overflow {
            let mut hashes = Vec::new();
            row_hashes(keys, rows, &mut hashes);
            let batch = Batch::new(keys.to_vec(), rows);
            let mut scratch = Vec::new();
            for (row, hash) in hashes.iter().enumerate() {
                if self.table.number_of(keys, row, &mut scratch).is_none() {
                    overflow.push(*hash, &batch, row)?;
                }
            }
            return Ok(kept);
        }
        let mut seen = self.table.len();
        let mut indexes = Vec::new();
        self.table.insert(keys, rows, &mut indexes);
        // What the values of the keys hold is known only now.
        if !self.memory.keeps(self.table.bytes()) {
            match &self.spill {
                Some(_) => self.memory.force(self.table.bytes()),
                None => self.memory.set(self.table.bytes())?,
            }
        }
        // Numbers are dense in order of appearance: a row is new exactly if its number is the next one.
        for (row, index) in indexes.iter().enumerate() {
            if *index as usize == seen {
                seen += 1;
                kept.push(row_number(row));
            }
        }
        Ok(kept)
    }
}

impl Operator for Distinct {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        while let Some((keys, rows)) = self.next_keys(rt)? {
            let kept = self.fresh(&keys, rows)?;
            if !kept.is_empty() {
                return Ok(Some(Batch::new(keys, rows).gather(&kept)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.table = KeyTable::default();
        self.memory.clear();
        self.overflow = None;
        self.pending.clear();
        self.current = None;
        self.level = 0;
        self.input_done = false;
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
