//! Joins rows on equal variables: the build side goes into a hash table, the input side streams
//! through it.
//!
//! # How it works
//! A build side that does not fit is divided into partitions by the hash of its keys, and so is the
//! whole input. Partitions are joined one after the other. A partition that still does not fit is
//! built in pieces, and its input rows are read once for each piece; so a join always completes. A
//! side is not read where the other one has no row.
//!
//! In an inner tree (see [`super::apply`]) a build side that stands alone is read once, and its
//! table *kept* for whatever rows are handed in. There rows must stay in order: a build side that
//! does not fit is written out as it comes, and for each batch of the input read again piece by
//! piece.
//!
//! # Invariants
//! * EX-51 A join that keeps its build side hands out rows in the order of the input.
//!
//! # Source
//! Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its
//! architecture", 1983 (grace hash join).

use std::sync::Arc;

use super::row_expander::{RowExpander, gather_with};
use super::row_key::GroupTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::{Partitions, RowReader, RowRun, RowWriter, Spill, row_hashes};
use crate::value::Value;

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
    input: RowExpander,
    build: BoxedOperator,
    columns: Arc<JoinColumns>,
    memory: Memory,
    spill: Option<Spill>,
    table: Option<Table>,
    grace: Option<Grace>,
    /// Build rows of the current input row handed out already.
    done: usize,
    /// The build side is the same after a rewind.
    keeps: bool,
    /// The build side that is kept, where it does not fit.
    written: Option<Written>,
}

/// All build rows, and what the batch of the input at hand finds among them.
struct Written {
    run: Arc<RowRun>,
    /// Matches of the batch: its rows, ascending, and the added columns; those before `next` are
    /// handed out.
    rows: Vec<u32>,
    added: Vec<Column>,
    next: usize,
}

struct Table {
    keys: GroupTable,
    rows: Batch,
    /// Build rows of key `k` are `by_key[starts[k]..starts[k + 1]]`.
    starts: Vec<u32>,
    by_key: Vec<u32>,
}

/// A table being filled.
#[derive(Default)]
struct Building {
    keys: GroupTable,
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
    input: RowExpander,
}

/// Hands out the rows of a run.
struct RunSource(RowReader);

impl PhysicalOperator for RunSource {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        self.0
            .next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes()))
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
        columns: Arc<JoinColumns>,
        rt: &QueryContext,
    ) -> Self {
        let remedy = "match fewer rows on one side first";
        Self {
            input: RowExpander::new(input),
            build,
            columns,
            memory: rt.spilling_memory("HashJoin", remedy),
            spill: Spill::new(rt, "HashJoin"),
            table: None,
            grace: None,
            done: 0,
            keeps: false,
            written: None,
        }
    }

    /// The same, whose build side stays as it is when it is rewound, if it `keeps` it (EX-51).
    pub(crate) fn keeping(self, keeps: bool) -> Self {
        Self { keeps, ..self }
    }

    /// Reads the build side into a table, or both sides into partitions.
    fn start(&mut self, rt: &QueryContext) -> Result<()> {
        let mut building = Building::default();
        let width = self.columns.build_keys.len();
        while let Some(read) = self.build.next(rt)? {
            rt.check_cancelled()?;
            let batch = without_nulls(&read, &self.columns.build_keys);
            // It holds the values, which may be large, while both sides are divided.
            drop(read);
            if !self.keeps && !self.input.advance(rt, |_| Ok(()))? {
                break;
            }
            let bytes = building.bytes_with(&batch, width);
            if !self.memory.keeps(bytes) {
                if let Some(spill) = &self.spill {
                    building.parts.push(batch);
                    if self.keeps {
                        let writer = spill.writer();
                        self.written = Some(self.write_out(writer, building.parts, rt)?);
                    } else {
                        self.grace = Some(self.divide(building.parts, rt)?);
                    }
                    return Ok(());
                }
                self.memory.set(bytes)?;
            }
            building.push(batch, &self.columns.build_keys);
        }
        self.table = Some(building.finish());
        Ok(())
    }

    /// Writes out the build side as it comes; `read` are the rows read so far.
    fn write_out(
        &mut self,
        mut writer: RowWriter,
        read: Vec<Batch>,
        rt: &QueryContext,
    ) -> Result<Written> {
        let mut write =
            |batch: &Batch| (0..batch.len()).try_for_each(|row| writer.push(batch, row));
        read.iter().try_for_each(&mut write)?;
        drop(read);
        self.memory.clear();
        while let Some(batch) = self.build.next(rt)? {
            rt.check_cancelled()?;
            write(&without_nulls(&batch, &self.columns.build_keys))?;
        }
        Ok(Written {
            run: Arc::new(writer.finish()?),
            rows: Vec::new(),
            added: Vec::new(),
            next: 0,
        })
    }

    /// The next rows of the input joined with build rows that are written out.
    fn next_of_written(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            let Some(written) = &mut self.written else {
                return Ok(None);
            };
            let (from, to) = (
                written.next,
                written.rows.len().min(written.next + BATCH_ROWS),
            );
            if from < to {
                written.next = to;
                let added = written.added.iter().map(|column| column.slice(from, to));
                let added = (self.columns.width..).zip(added);
                return Ok(Some(gather_with(
                    self.input.batch(),
                    &written.rows[from..to],
                    added,
                )));
            }
            if written.next > 0 {
                written.forget();
                self.input.skip_batch();
                self.memory.clear();
            }
            if !self.input.advance(rt, |_| Ok(()))? {
                return Ok(None);
            }
            self.match_batch(rt)?;
            if self
                .written
                .as_ref()
                .is_some_and(|written| written.rows.is_empty())
            {
                self.input.skip_batch();
            }
        }
    }

    /// Finds the matches of the whole batch at hand.
    fn match_batch(&mut self, rt: &QueryContext) -> Result<()> {
        let Some(written) = &mut self.written else {
            return Ok(());
        };
        let batch = self.input.batch();
        let width = self.columns.build_keys.len();
        let mut reader = written.run.reader();
        let (mut rows, mut parts, mut held) = (Vec::new(), Vec::new(), 0);
        let mut is_last = false;
        while !is_last {
            rt.check_cancelled()?;
            let mut building = Building::default();
            is_last = loop {
                let Some(read) = reader.next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes()))?
                else {
                    break true;
                };
                let bytes = held + building.bytes_with(&read, width);
                building.push(read, &self.columns.build_keys);
                if !self.memory.keeps(bytes) {
                    self.memory.force(bytes);
                    break false;
                }
            };
            if building.keys.len() == 0 {
                continue;
            }
            let table = building.finish();
            let mut matches = Vec::new();
            let keys = self.columns.keys_of(batch);
            let mut scratch = Vec::new();
            for row in 0..batch.len() {
                let found = table.find(&keys, row, &mut scratch);
                matches.extend_from_slice(found);
                rows.resize(matches.len() + parts_len(&parts), number(row));
            }
            let added = self.columns.added.iter();
            let added = added.map(|slot| Arc::new(table.rows.column(*slot).gather(&matches)));
            let part = Batch::new(added.collect(), matches.len());
            drop(table);
            // Once more when they are put in order.
            held += 2 * part.heap_bytes() + 16 * part.len();
            self.memory.set(held)?;
            parts.push(part);
        }
        let mut order: Vec<u32> = (0..rows.len()).map(number).collect();
        order.sort_by_key(|at| rows[*at as usize]);
        let all = Batch::concat(&parts);
        let columns = all.columns().iter();
        written.added = columns.map(|column| column.gather(&order)).collect();
        written.rows = order.iter().map(|at| rows[*at as usize]).collect();
        written.next = 0;
        Ok(())
    }

    /// Divides both sides; `read` are the build rows read so far.
    fn divide(&mut self, read: Vec<Batch>, rt: &QueryContext) -> Result<Grace> {
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
            input: RowExpander::new(Box::new(super::unit::Nothing)),
        })
    }

    /// Builds the next table of a join by partitions; whether there is one.
    fn next_table(&mut self, rt: &QueryContext) -> Result<bool> {
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
                while let Some(batch) =
                    build.next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes()))?
                {
                    let bytes = building.bytes_with(&batch, width);
                    building.push(batch, &self.columns.build_keys);
                    if !self.memory.keeps(bytes) {
                        self.memory.force(bytes);
                        break;
                    }
                }
                if building.keys.len() > 0 {
                    self.table = Some(building.finish());
                    grace.input = RowExpander::new(Box::new(RunSource(probe.reader())));
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

impl Written {
    /// Forgets the matches of the batch.
    fn forget(&mut self) {
        self.rows = Vec::new();
        self.added = Vec::new();
        self.next = 0;
    }
}

impl JoinColumns {
    /// The keys of rows of the input.
    fn keys_of(&self, batch: &Batch) -> Vec<Arc<Column>> {
        let keys = self.input_keys.iter();
        keys.map(|slot| Arc::clone(batch.column(*slot))).collect()
    }
}

impl Table {
    /// The build rows that a row joins with.
    fn find(&self, keys: &[Arc<Column>], row: usize, scratch: &mut Vec<Value>) -> &[u32] {
        match self.keys.find(keys, row, scratch) {
            Some(key) => {
                let (from, to) = (self.starts[key as usize], self.starts[key as usize + 1]);
                &self.by_key[from as usize..to as usize]
            }
            None => &[],
        }
    }
}

fn parts_len(parts: &[Batch]) -> usize {
    parts.iter().map(Batch::len).sum()
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("fewer than 2^32 rows are held at once")
}

/// The next rows of `input` joined with the table.
fn join(
    table: &Table,
    input: &mut RowExpander,
    done: &mut usize,
    columns: &JoinColumns,
    rt: &QueryContext,
) -> Result<Option<Batch>> {
    let (mut rows, mut matches) = (Vec::new(), Vec::new());
    let (mut keys, mut scratch) = (Vec::new(), Vec::new());
    while input.advance(rt, |_| Ok(()))? {
        let row = input.row();
        let batch = input.batch();
        if keys.is_empty() || row == 0 {
            keys = columns.keys_of(batch);
        }
        let found = table.find(&keys, row, &mut scratch);
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
            return Ok(Some(gather_with(input.batch(), &rows, added)));
        }
    }
    Ok(None)
}

impl PhysicalOperator for HashJoin {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if self.table.is_none() && self.grace.is_none() && self.written.is_none() {
            // With nothing nothing joins, and neither side writes (CY-64). What is kept is read for
            // the first row.
            if self.keeps && !self.input.advance(rt, |_| Ok(()))? {
                return Ok(None);
            }
            self.start(rt)?;
        }
        if self.written.is_some() {
            return self.next_of_written(rt);
        }
        let is_empty = |table: &Table| table.by_key.is_empty();
        if self.grace.is_none() && self.table.as_ref().is_some_and(is_empty) {
            return Ok(None);
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
        self.done = 0;
        if self.keeps {
            if let Some(written) = &mut self.written {
                written.forget();
                self.memory.clear();
            }
            return;
        }
        self.build.rewind();
        self.table = None;
        self.grace = None;
        self.memory.clear();
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
