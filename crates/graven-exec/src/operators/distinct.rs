//! Distinct rows over some columns; the other columns are dropped.
//!
//! # How it works
//! Rows stream through; only the keys are kept. When they may not grow any more, the table is
//! frozen: rows whose key is in it are dropped as before, the others go into partitions by hash, to
//! be made distinct one after the other when the input has ended, by the same means.
//!
//! In an inner tree that is given many rows at once (see [`super::apply`]) rows are distinct for
//! each of these, whose numbers ascend. There the keys of earlier ones are forgotten when room is
//! needed, and partitions are read before the next one's rows are taken.
//!
//! # Invariants
//! * EX-43 Rows come out in the order of the input rows that they belong to, also from partitions
//!   (EX-11).

use std::sync::Arc;

use super::row_key::GroupTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::{LEVELS, Partitions, RowReader, RowRun, Spill, row_hashes};
use crate::value::Value;

/// Rows read back at a time, in bytes.
const READ_BYTES: usize = 64 << 10;
/// Values that are looked up between two looks at the clock, about: a batch of thousands of columns
/// has millions.
const VALUES: usize = 64 << 10;

/// See the file header.
pub(crate) struct Distinct {
    input: BoxedOperator,
    slots: Arc<[usize]>,
    table: GroupTable,
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
    /// Where among the keys the number of the input row stands, which of them is at hand, and keys
    /// of later ones (EX-43).
    owners: Option<usize>,
    owner: Value,
    held: Option<Batch>,
    /// A batch of many columns, and the first of its rows that were not looked up.
    wide: Option<(Batch, usize)>,
}

impl Distinct {
    /// Distinct rows over the columns `slots` of `input`.
    pub(crate) fn new(input: BoxedOperator, slots: Arc<[usize]>, rt: &QueryContext) -> Self {
        Self {
            owners: None,
            owner: Value::Null,
            held: None,
            wide: None,
            input,
            slots,
            table: GroupTable::default(),
            memory: rt.spilling_memory("Distinct", "return fewer distinct rows"),
            spill: Spill::new(rt, "Distinct"),
            overflow: None,
            pending: Vec::new(),
            current: None,
            level: 0,
            input_done: false,
        }
    }

    /// The same where the column at `owners` of the slots, if there is any, holds numbers of input
    /// rows that ascend.
    pub(crate) fn for_each(self, owners: Option<usize>) -> Self {
        Self { owners, ..self }
    }

    /// The keys of the next rows of whatever source there is.
    fn next_keys(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            let keys = match &mut self.current {
                Some(reader) => reader.next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes()))?,
                None if !self.input_done => self.next_of_input(rt)?,
                None => None,
            };
            if keys.is_some() {
                return Ok(keys);
            }
            if !self.next_partition()? && self.input_done {
                return Ok(None);
            }
        }
    }

    /// The keys of the next rows of the input; `None` at its end, and where the partitions of an
    /// input row come first.
    fn next_of_input(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if let Some(part) = self.next_of_wide() {
            return Ok(Some(part));
        }
        let keys = match self.held.take() {
            Some(held) => held,
            None => match self.input.next(rt)? {
                Some(batch) => {
                    let slots = self.slots.iter();
                    let keys = slots.map(|s| Arc::clone(batch.column(*s))).collect();
                    Batch::new(keys, batch.len())
                }
                None => {
                    self.input_done = true;
                    return Ok(None);
                }
            },
        };
        let rows = keys.len();
        let Some(owners) = self.owners.filter(|_| rows > 0) else {
            if rows * self.slots.len() > VALUES {
                self.wide = Some((keys, 0));
                return Ok(self.next_of_wide());
            }
            return Ok(Some(keys));
        };
        let owners = Arc::clone(keys.column(owners));
        let fits = self.overflow.is_none()
            && (self.memory).keeps(self.table.bytes_with(rows, self.slots.len()));
        if fits {
            self.owner = owners.value(rows - 1);
            return Ok(Some(keys));
        }
        let first = owners.value(0);
        if first != self.owner {
            if self.overflow.is_some() {
                self.held = Some(keys);
                return Ok(None);
            }
            self.table = GroupTable::default();
            self.memory.clear();
        }
        let own = (0..rows).take_while(|row| *owners.get(*row) == first);
        let own = own.count();
        self.owner = first;
        if own < rows {
            self.held = Some(keys.slice(own, rows));
        }
        Ok(Some(keys.slice(0, own)))
    }

    /// The next rows of a batch of many columns.
    fn next_of_wide(&mut self) -> Option<Batch> {
        let (batch, from) = self.wide.take()?;
        let to = batch.len().min(from + (VALUES / self.slots.len()).max(1));
        let part = batch.slice(from, to);
        self.wide = (to < batch.len()).then_some((batch, to));
        Some(part)
    }

    /// Goes on to the next partition; whether there is one.
    fn next_partition(&mut self) -> Result<bool> {
        if let Some(overflow) = self.overflow.take() {
            let level = self.level + 1;
            let runs = overflow.finish()?.into_iter().filter(|run| run.rows() > 0);
            self.pending.extend(runs.map(|run| (run, level)));
        }
        self.table = GroupTable::default();
        self.memory.clear();
        let Some((run, level)) = self.pending.pop() else {
            self.current = None;
            self.level = 0;
            return Ok(false);
        };
        self.level = level;
        self.current = Some(run.into_reader());
        Ok(true)
    }

    /// Rows of these that are new, by the table; what does not fit goes to the partitions.
    fn fresh(&mut self, batch: &Batch) -> Result<Vec<u32>> {
        let (keys, rows) = (batch.columns(), batch.len());
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
            let mut scratch = Vec::new();
            for (row, hash) in hashes.iter().enumerate() {
                if self.table.number_of(keys, row, &mut scratch).is_none() {
                    overflow.push(*hash, batch, row)?;
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
        // Numbers are dense in order of appearance: a row is new exactly if its number is the next
        // one.
        for (row, index) in indexes.iter().enumerate() {
            if *index as usize == seen {
                seen += 1;
                kept.push(row_number(row));
            }
        }
        Ok(kept)
    }
}

impl PhysicalOperator for Distinct {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while let Some(keys) = self.next_keys(rt)? {
            let kept = self.fresh(&keys)?;
            if !kept.is_empty() {
                return Ok(Some(keys.gather(&kept)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.table = GroupTable::default();
        self.memory.clear();
        self.overflow = None;
        self.pending.clear();
        self.current = None;
        self.level = 0;
        self.input_done = false;
        self.owner = Value::Null;
        self.held = None;
        self.wide = None;
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
