//! Merges sorted runs into one order.
//!
//! # How it works
//! Each run has a reader and a few decoded rows; a binary heap holds the run numbers by their next
//! rows. Runs beyond the fan-in that the budget allows are merged into longer ones first,
//! neighbours with neighbours. The longest row decides how many runs that is. A batch ends where
//! its rows take as much as a batch may. The row behind one that was taken is read when the next is
//! asked for: by then the batch may be gone.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{KeyColumns, order_rows};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::query_context::QueryContext;
use crate::spill::{RowReader, RowRun, Spill};

/// Rows decoded at a time of each run, and about how many of their bytes.
const CURSOR_ROWS: usize = 256;
const CURSOR_BYTES: usize = 8 << 10;
/// Decoded rows take up to so many times their bytes.
const DECODED: usize = 8;
/// Most runs merged at once.
const FAN_IN_MAX: usize = 64;
/// Part of the budget that merging may take.
const SHARE: u64 = 4;

struct Cursor {
    reader: RowReader,
    rows: Batch,
    at: usize,
}

impl Cursor {
    /// Goes to the next row; whether there is one.
    fn step(&mut self) -> Result<bool> {
        self.at += 1;
        if self.at < self.rows.len() {
            return Ok(true);
        }
        self.at = 0;
        let next = self.reader.next_batch(CURSOR_ROWS, CURSOR_BYTES)?;
        let found = next.is_some();
        self.rows = next.unwrap_or_default();
        Ok(found)
    }
}

/// The merged rows of some runs.
pub(super) struct Merge {
    cursors: Vec<Cursor>,
    /// Runs that have a row, the one with the first row on top.
    heap: Vec<usize>,
    keys: KeyColumns,
    left: usize,
    /// The row of the run on top was taken; the next one of this run is not read yet.
    taken: bool,
}

impl Merge {
    /// Merges `runs`, at most `limit` rows of them.
    pub(super) fn start(
        mut runs: Vec<RowRun>,
        keys: KeyColumns,
        limit: usize,
        spill: &Spill,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Self> {
        let longest = runs.iter().map(RowRun::longest).max().unwrap_or(0);
        let each = spill.buffer_bytes() * 2 + CURSOR_BYTES.max(longest) * DECODED;
        let share = usize::try_from(rt.budget.limit() / SHARE).unwrap_or(usize::MAX);
        let fan_in = (share / each).clamp(2, FAN_IN_MAX);
        // More than the share would leave the page cache no room to read the runs.
        memory.force((each * runs.len().min(fan_in)).min(share));
        while runs.len() > fan_in {
            let mut longer = Vec::new();
            let mut left = runs.into_iter();
            loop {
                let group: Vec<RowRun> = left.by_ref().take(fan_in).collect();
                match group.len() {
                    0 => break,
                    1 => longer.extend(group),
                    _ => longer.push(Merge::new(group, keys.clone(), limit)?.write(spill, rt)?),
                }
            }
            runs = longer;
        }
        Merge::new(runs, keys, limit)
    }

    fn new(runs: Vec<RowRun>, keys: KeyColumns, limit: usize) -> Result<Self> {
        let mut merge = Self {
            cursors: Vec::with_capacity(runs.len()),
            heap: Vec::with_capacity(runs.len()),
            keys,
            left: limit,
            taken: false,
        };
        for run in runs {
            let mut cursor = Cursor {
                reader: run.into_reader(),
                rows: Batch::default(),
                at: 0,
            };
            if cursor.step()? {
                merge.heap.push(merge.cursors.len());
            }
            merge.cursors.push(cursor);
        }
        for top in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(top);
        }
        Ok(merge)
    }

    fn write(mut self, spill: &Spill, rt: &QueryContext) -> Result<RowRun> {
        let mut writer = spill.writer();
        while let Some(batch) = self.next(rt)? {
            for row in 0..batch.len() {
                writer.push(&batch, row)?;
            }
        }
        writer.finish()
    }

    /// The next rows.
    pub(super) fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        rt.check_cancelled()?;
        let wanted = self.left.min(BATCH_ROWS);
        let room = rt.batch_bytes();
        let mut bytes = 0;
        // Decoded rows taken from, and which of them each run is at.
        let mut parts: Vec<Batch> = Vec::new();
        let mut part_of: Vec<Option<u32>> = vec![None; self.cursors.len()];
        let mut picks: Vec<(u32, u32)> = Vec::with_capacity(wanted);
        while picks.len() < wanted && bytes <= room {
            self.step_on_top()?;
            let Some(&run) = self.heap.first() else { break };
            let cursor = &mut self.cursors[run];
            let part = *part_of[run].get_or_insert_with(|| {
                bytes += cursor.rows.heap_bytes();
                parts.push(cursor.rows.clone());
                u32::try_from(parts.len() - 1).expect("a batch is small")
            });
            picks.push((
                part,
                u32::try_from(cursor.at).expect("few rows are decoded"),
            ));
            if cursor.at + 1 == cursor.rows.len() {
                part_of[run] = None;
            }
            self.taken = true;
        }
        self.left -= picks.len();
        if picks.is_empty() {
            return Ok(None);
        }
        let columns = (0..parts[0].columns().len()).map(|slot| {
            let parts: Vec<&Column> = parts.iter().map(|p| p.column(slot).as_ref()).collect();
            Arc::new(Column::gather_across(&parts, &picks))
        });
        Ok(Some(Batch::new(columns.collect(), picks.len())))
    }

    /// Goes on behind the row that was taken last.
    fn step_on_top(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.taken) {
            return Ok(());
        }
        if !self.cursors[self.heap[0]].step()? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn comes_first(&self, a: usize, b: usize) -> bool {
        let row = |run: usize| (&self.cursors[run].rows, self.cursors[run].at);
        match order_rows(&self.keys, row(a), row(b)) {
            Ordering::Less => true,
            Ordering::Equal => a < b,
            Ordering::Greater => false,
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.comes_first(self.heap[child], self.heap[first]) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }
}
