//! Joins rows on equal variables: the build side goes into a hash table, the input side streams through it.
//!
//! # How it works
//! A build side that does not fit is divided into partitions by the hash of its keys, and so is the whole input.
//! Partitions are joined one after the other. A partition that still does not fit is built in pieces,
//! and its input rows are read once for each piece; so a join always completes.
//!
//! # Source
//! Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its architecture", 1983 (grace
//! hash join).

use std::sync::Arc;

use super::fan_out::{FanOut, widen};
use super::row_key::KeyTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::spill::{Partitions, RowReader, RowRun, Spill, row_hashes};

/// Rows read back at a time, in bytes.
const READ_BYTES: usize = 64 << 10;

/// Which columns meet.
pub(crate) struct JoinColumns {
    /// Key columns of the input.
    pub(crate) input_keys: Vec<usize>,
    /// Key columns of the build side, in the same order.
    pub(crate) build_keys: Vec<usize>,
    /// Columns of the build side that are added to the row.
    pub(crate) added: Vec<usize>,
    /// Columns of the input, thus the first added column.
    pub(crate) width: usize,
}

/// See the file header.
pub(crate) struct HashJoin {
    input: FanOut,
    build: BoxedOperator,
    columns: JoinColumns,
    memory: Memory,
    spill: Option<Spill>,
    table: Option<Table>,
    grace: Option<Grace>,
    /// Build rows of the current input row handed out already.
    done: usize,
}

struct Table {
    keys: KeyTable,
    rows: Batch,
    /// Build rows of key `k` are `by_key[starts[k]..starts[k + 1]]`.
    starts: Vec<u32>,
    by_key: Vec<u32>,
}

/// A table being filled.
#[derive(Default)]
struct Building {
    keys: KeyTable,
    parts: Vec<Batch>,
    numbers: Vec<u32>,
    bytes: usize,
}

/// A join by partitions.
struct Grace {
    /// Build rows and input rows of partitions still to be joined.
    pending: Vec<(RowRun, Arc<RowRun>)>,
    /// What is left of the build rows of the current partition.
    build: Option<RowReader>,
    probe: Option<Arc<RowRun>>,
    /// Input rows of the current partition.
    input: FanOut,
}

/// Hands out the rows of a run.
struct RunSource(RowReader);

impl Operator for RunSource {
    fn next(&mut self, _: &Runtime) -> Result<Option<Batch>> {
        self.0.next_batch(BATCH_ROWS, READ_BYTES)
    }

    fn rewind(&mut self) {}
}

impl Building {
    /// Bytes held while a batch is added and the table is made of all.
    fn bytes_with(&self, batch: &Batch, width: usize) -> usize {
        // The batch once more while the parts are joined, and two numbers a row.
        let rows = 2 * batch.heap_bytes() + 8 * batch.len();
        self.keys.bytes_with(batch.len(), width) + self.bytes + rows
    }

    fn push(&mut self, batch: Batch, slots: &[usize]) {
        let columns: Vec<_> = slots.iter().map(|s| Arc::clone(batch.column(*s))).collect();
        let mut numbers = Vec::new();
        self.keys.insert(&columns, batch.len(), &mut numbers);
        self.bytes += 2 * batch.heap_bytes() + 8 * batch.len();
        self.numbers.extend_from_slice(&numbers);
        self.parts.push(batch);
    }

    fn finish(self) -> Table {
        let mut starts = vec![0_u32; self.keys.len() + 1];
        for number in &self.numbers {
            starts[*number as usize + 1] += 1;
        }
        for key in 0..self.keys.len() {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let mut by_key = vec![0; self.numbers.len()];
        for (row, number) in self.numbers.iter().enumerate() {
            let at = &mut next[*number as usize];
            by_key[*at as usize] = u32::try_from(row).expect("fewer than 2^32 build rows");
            *at += 1;
        }
        Table {
            keys: self.keys,
            rows: Batch::concat(&self.parts),
            starts,
            by_key,
        }
    }
}

/// The rows without a null in these columns: others join with nothing.
fn without_nulls(batch: &Batch, slots: &[usize]) -> Batch {
    let has_nulls = |row: &usize| slots.iter().any(|s| batch.column(*s).is_null(*row));
    let kept: Vec<u32> = (0..batch.len())
        .filter(|row| !has_nulls(row))
        .map(|row| u32::try_from(row).expect("a batch is small"))
        .collect();
    batch.gather(&kept)
}

fn divide(partitions: &mut Partitions, batch: &Batch, slots: &[usize]) -> Result<()> {
    let keys: Vec<_> = slots.iter().map(|s| Arc::clone(batch.column(*s))).collect();
    let mut hashes = Vec::new();
    row_hashes(&keys, batch.len(), &mut hashes);
    for (row, hash) in hashes.iter().enumerate() {
        partitions.push(*hash, batch, row)?;
    }
    Ok(())
}

impl HashJoin {
    /// Joins `input` with `build`.
    pub(crate) fn new(
        input: BoxedOperator,
        build: BoxedOperator,
        columns: JoinColumns,
        rt: &Runtime,
    ) -> Self {
        let remedy = "match fewer rows on one side first";
        Self {
            input: FanOut::new(input),
            build,
            columns,
            memory: Memory::of_spilling(rt, "HashJoin", remedy),
            spill: Spill::new(rt, "HashJoin"),
            table: None,
            grace: None,
            done: 0,
        }
    }

    /// Reads the build side into a table, or both sides into partitions.
    fn start(&mut self, rt: &Runtime) -> Result<()> {
        let mut building = Building::default();
        let width = self.columns.build_keys.len();
        while let Some(batch) = self.build.next(rt)? {
            rt.check_cancelled()?;
            let batch = without_nulls(&batch, &self.columns.build_keys);
            let bytes = building.bytes_with(&batch, width);
            if !self.memory.keeps(bytes) {
                if self.spill.is_some() {
                    building.parts.push(batch);
                    self.grace = Some(self.divide(building.parts, rt)?);
                    return Ok(());
                }
                self.memory.set(bytes)?;
            }
            building.push(batch, &self.columns.build_keys);
        }
        self.table = Some(building.finish());
        Ok(())
    }

    /// Divides both sides; `read` are the build rows read so far.
    fn divide(&mut self, read: Vec<Batch>, rt: &Runtime) -> Result<Grace> {
        let spill = self.spill.as_ref().expect("asked before");
        let mut build = Partitions::new(spill, 0);
        for batch in read {
            divide(&mut build, &batch, &self.columns.build_keys)?;
        }
        self.memory.clear();
        while let Some(batch) = self.build.next(rt)? {
            rt.check_cancelled()?;
            let batch = without_nulls(&batch, &self.columns.build_keys);
            divide(&mut build, &batch, &self.columns.build_keys)?;
        }
        let build = build.finish()?;
        let mut probe = Partitions::new(spill, 0);
        while self.input.advance(rt, |_| Ok(()))? {
            let batch = without_nulls(self.input.batch(), &self.columns.input_keys);
            divide(&mut probe, &batch, &self.columns.input_keys)?;
            self.input.skip_batch();
        }
        let pairs = build.into_iter().zip(probe.finish()?);
        let pairs = pairs.filter(|(build, probe)| build.rows() > 0 && probe.rows() > 0);
        Ok(Grace {
            pending: pairs
                .map(|(build, probe)| (build, Arc::new(probe)))
                .collect(),
            build: None,
            probe: None,
            input: FanOut::new(Box::new(super::unit::Nothing)),
        })
    }

    /// Builds the next table of a join by partitions; whether there is one.
    fn next_table(&mut self, rt: &Runtime) -> Result<bool> {
        let Some(grace) = &mut self.grace else {
            return Ok(false);
        };
        self.table = None;
        self.memory.clear();
        let width = self.columns.build_keys.len();
        loop {
            rt.check_cancelled()?;
            if let (Some(build), Some(probe)) = (&mut grace.build, &grace.probe) {
                let mut building = Building::default();
                while let Some(batch) = build.next_batch(BATCH_ROWS, READ_BYTES)? {
                    let bytes = building.bytes_with(&batch, width);
                    building.push(batch, &self.columns.build_keys);
                    if !self.memory.keeps(bytes) {
                        self.memory.force(bytes);
                        break;
                    }
                }
                if building.keys.len() > 0 {
                    self.table = Some(building.finish());
                    grace.input = FanOut::new(Box::new(RunSource(probe.reader())));
                    return Ok(true);
                }
            }
            let Some((build, probe)) = grace.pending.pop() else {
                return Ok(false);
            };
            grace.build = Some(build.into_reader());
            grace.probe = Some(probe);
        }
    }
}

/// The next rows of `input` joined with the table.
fn join(
    table: &Table,
    input: &mut FanOut,
    done: &mut usize,
    columns: &JoinColumns,
    rt: &Runtime,
) -> Result<Option<Batch>> {
    let (mut rows, mut matches) = (Vec::new(), Vec::new());
    let mut scratch = Vec::new();
    while input.advance(rt, |_| Ok(()))? {
        let row = input.row();
        let batch = input.batch();
        let keys: Vec<Arc<Column>> = columns
            .input_keys
            .iter()
            .map(|s| Arc::clone(batch.column(*s)))
            .collect();
        let found: &[u32] = match table.keys.find(&keys, row, &mut scratch) {
            Some(key) => {
                let (from, to) = (table.starts[key as usize], table.starts[key as usize + 1]);
                &table.by_key[from as usize..to as usize]
            }
            None => &[],
        };
        let take = (found.len() - *done).min(BATCH_ROWS - matches.len());
        matches.extend_from_slice(&found[*done..*done + take]);
        rows.resize(matches.len(), u32::try_from(row).expect("a batch is small"));
        *done += take;
        if *done == found.len() {
            *done = 0;
            input.step();
        }
        let batch_done = input.row() == input.batch().len();
        if matches.len() == BATCH_ROWS || (batch_done && !matches.is_empty()) {
            let added = columns.added.iter().enumerate().map(|(i, slot)| {
                let column = table.rows.column(*slot).gather(&matches);
                (columns.width + i, column)
            });
            return Ok(Some(widen(input.batch(), &rows, added)));
        }
    }
    Ok(None)
}

impl Operator for HashJoin {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.table.is_none() && self.grace.is_none() {
            self.start(rt)?;
        }
        loop {
            if let Some(table) = &self.table {
                let input = match &mut self.grace {
                    Some(grace) => &mut grace.input,
                    None => &mut self.input,
                };
                let batch = join(table, input, &mut self.done, &self.columns, rt)?;
                if batch.is_some() {
                    return Ok(batch);
                }
            }
            if !self.next_table(rt)? {
                return Ok(None);
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.build.rewind();
        self.table = None;
        self.grace = None;
        self.memory.clear();
        self.done = 0;
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
