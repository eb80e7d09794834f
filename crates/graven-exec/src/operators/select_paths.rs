//! Of rows with the same ends those with the shortest paths.
//!
//! # How it works
//! Rows are kept with the length of their paths, and thinned out whenever their number has doubled,
//! or when there is no room for more. They are handed out when the input has ended, in the order
//! they came. Where too many are wanted for the memory, all go to partitions by the hash of their
//! ends, each of which is thinned out and handed out by itself, by the same means. Where all rows
//! have the same ends and shorter paths come first, no more are asked for than are wanted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use graven_cypher::plan::PathCount;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::{LEVELS, Partitions, RowReader, RowRun, Spill, row_hashes};
use crate::value::Value;

/// Rows read back at a time, in bytes.
const READ_BYTES: usize = 64 << 10;

/// Rows kept before they are thinned out for the first time.
const ROWS_MIN: usize = 4 * BATCH_ROWS;

/// Rows are put together when they are thinned out: their bytes so many times.
const TOGETHER: usize = 2;

/// Both ends of a path.
type PathEnds = (Option<u64>, Option<u64>);

/// Where the ends and the relationships lie, and how many paths are wanted.
pub(crate) struct Selection {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) lengths: Vec<usize>,
    pub(crate) count: PathCount,
    /// All rows have the same ends, and shorter paths come first.
    pub(crate) ordered: bool,
}

/// See the file header.
pub(crate) struct SelectPaths {
    input: BoxedOperator,
    selection: Arc<Selection>,
    rows: Option<(Batch, usize)>,
    memory: Memory,
    spill: Option<Spill>,
    /// Partitions still to be read, with their levels.
    pending: Vec<(RowRun, u32)>,
}

impl SelectPaths {
    /// Selects rows of `input`.
    pub(crate) fn new(input: BoxedOperator, selection: Arc<Selection>, rt: &QueryContext) -> Self {
        let remedy = "bound the quantifiers of the pattern, or fix its ends";
        Self {
            input,
            selection,
            rows: None,
            memory: rt.spilling_memory("SelectPaths", remedy),
            spill: Spill::new(rt, "SelectPaths"),
            pending: Vec::new(),
        }
    }

    /// The wanted ones of the rows of the input, or of a partition of this level; none if they have
    /// gone to partitions.
    fn fill(
        &mut self,
        mut from: Option<RowReader>,
        level: u32,
        rt: &QueryContext,
    ) -> Result<Batch> {
        let mut partitions: Option<Partitions> = None;
        let (mut kept, mut count, mut limit, mut bytes) = (Vec::new(), 0, ROWS_MIN, 0);
        loop {
            rt.check_cancelled()?;
            let next = match &mut from {
                None => self.input.next(rt)?,
                Some(reader) => reader.next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes()))?,
            };
            let Some(batch) = next else { break };
            if let Some(partitions) = &mut partitions {
                self.selection.divide(&batch, partitions)?;
                continue;
            }
            bytes += batch.heap_bytes();
            count += batch.len();
            kept.push(batch);
            let fits = self.memory.keeps(TOGETHER * bytes);
            if fits && self.selection.is_complete(&kept) {
                break;
            }
            if fits && count <= limit {
                continue;
            }
            let thin = self.selection.thin(&kept);
            (count, bytes) = (thin.len(), thin.heap_bytes());
            limit = (2 * count).max(ROWS_MIN);
            kept = vec![thin];
            // Where little was won the next rows would be too many again.
            if (fits || self.memory.keeps(2 * TOGETHER * bytes))
                && self.memory.keeps(TOGETHER * bytes)
            {
                continue;
            }
            match &self.spill {
                Some(spill) if level < LEVELS => {
                    let mut fresh = Partitions::new(spill, level);
                    for batch in kept.drain(..) {
                        self.selection.divide(&batch, &mut fresh)?;
                    }
                    partitions = Some(fresh);
                    self.memory.clear();
                }
                _ => self.memory.set(TOGETHER * bytes)?,
            }
        }
        if let Some(partitions) = partitions {
            let runs = partitions.finish()?.into_iter();
            let runs = runs.filter(|run| run.rows() > 0);
            self.pending.extend(runs.map(|run| (run, level + 1)));
            return Ok(Batch::default());
        }
        let thin = self.selection.thin(&kept);
        self.memory.set(thin.heap_bytes())?;
        Ok(thin)
    }
}

impl Selection {
    fn length(&self, batch: &Batch, row: usize) -> usize {
        let of = |slot: &usize| match &*batch.column(*slot).get(row) {
            Value::List(items) => items.len(),
            Value::Null => 0,
            _ => 1,
        };
        self.lengths.iter().map(of).sum()
    }

    /// Whether no row to come can be wanted.
    fn is_complete(&self, kept: &[Batch]) -> bool {
        if !self.ordered {
            return false;
        }
        match self.count {
            PathCount::All => false,
            PathCount::Paths(count) => kept.iter().map(Batch::len).sum::<usize>() >= count as usize,
            PathCount::Lengths(count) => {
                let batches = kept.iter();
                let lengths = batches.flat_map(|it| (0..it.len()).map(|row| self.length(it, row)));
                let lengths: BTreeSet<usize> = lengths.collect();
                lengths.len() > count as usize
            }
        }
    }

    /// Puts rows where those with the same ends are.
    fn divide(&self, batch: &Batch, partitions: &mut Partitions) -> Result<()> {
        let ends = [self.from, self.to].map(|slot| Arc::clone(batch.column(slot)));
        let mut hashes = Vec::new();
        row_hashes(&ends, batch.len(), &mut hashes);
        let mut rows = hashes.iter().enumerate();
        rows.try_for_each(|(row, hash)| partitions.push(*hash, batch, row))
    }

    /// The rows that are wanted so far, in their order.
    fn thin(&self, batches: &[Batch]) -> Batch {
        let all = Batch::concat(batches);
        if all.is_empty() {
            return all;
        }
        let node = |column: &Arc<Column>, row: usize| match &*column.get(row) {
            Value::Node(id) => Some(id.0),
            _ => None,
        };
        let (from, to) = (all.column(self.from), all.column(self.to));
        let mut by_ends: HashMap<PathEnds, Vec<(usize, u32)>> = HashMap::new();
        for row in 0..all.len() {
            let number = u32::try_from(row).expect("fewer than 2^32 rows");
            let ways = by_ends.entry((node(from, row), node(to, row))).or_default();
            ways.push((self.length(&all, row), number));
        }
        let mut wanted = Vec::new();
        for mut rows in by_ends.into_values() {
            rows.sort_unstable();
            match self.count {
                PathCount::All => {}
                PathCount::Paths(count) => rows.truncate(count as usize),
                PathCount::Lengths(count) => {
                    let mut lengths: Vec<usize> = rows.iter().map(|(length, _)| *length).collect();
                    lengths.dedup();
                    if let Some(beyond) = lengths.get(count as usize) {
                        rows.retain(|(length, _)| length < beyond);
                    }
                }
            }
            wanted.extend(rows.into_iter().map(|(_, row)| row));
        }
        wanted.sort_unstable();
        all.gather(&wanted)
    }
}

impl PhysicalOperator for SelectPaths {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if self.rows.is_none() {
            self.rows = Some((self.fill(None, 0, rt)?, 0));
        }
        loop {
            if let Some((rows, at)) = &mut self.rows
                && *at < rows.len()
            {
                let to = rows.len().min(*at + BATCH_ROWS);
                let out = rows.slice(*at, to);
                *at = to;
                return Ok(Some(out));
            }
            let Some((run, level)) = self.pending.pop() else {
                return Ok(None);
            };
            self.rows = Some((Batch::default(), 0));
            self.memory.clear();
            self.rows = Some((self.fill(Some(run.into_reader()), level, rt)?, 0));
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows = None;
        self.pending.clear();
        self.memory.clear();
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
