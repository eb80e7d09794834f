//! One row per relationship of a bound node.
//!
//! # How it works
//! The input batch is worked on in *chunks* of rows. The lists of a chunk are laid out in memory
//! (see [`super::neighbor_batch`]), those of the conditions on the far end as well
//! ([`super::neighbor_filter`]); then the rows are written out in input order. A condition on the
//! relationships that reads nothing of the row is decided for all of a chunk, in the order in which
//! they were met. A chunk has as many rows as recent degrees let expect about [`CHUNK_ENTRIES`]
//! entries for, so memory follows the lists, not rows x degree; what it takes is charged to the
//! budget.

use std::ops::Range;
use std::sync::Arc;

use graven_pagecache::Budget;
use graven_storage::Direction;

use super::neighbor_batch::{Entries, NeighborBatch, decode_lists};
use super::neighbor_filter::{AHEAD_ROWS, NeighborFilter, append_others};
use super::row_expander::gather_with;
use super::sort::top_n_bound::TopNBound;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::id_sort::IdOrder;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;

/// List entries that a chunk aims to lay out.
const CHUNK_ENTRIES: usize = 16 << 10;

/// Lists whose ids stand at other ends are laid out together in larger numbers, as every chunk
/// decodes the lists of all these ends: up to so many entries, if what they take is this part of
/// the memory limit at most.
const REVERSED_ENTRIES: usize = 1 << 20;
const REVERSED_BYTES: u64 = 48;
const REVERSED_SHARE: u64 = 32;

/// Where the columns lie.
#[derive(Clone, Copy)]
pub(crate) struct ExpandColumns {
    pub(crate) from: usize,
    pub(crate) relationship: Option<usize>,
    pub(crate) to: usize,
}

/// How many rows have their lists laid out together.
pub(super) struct ChunkSize {
    /// Mean entries a row so far.
    mean_entries: f64,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self { mean_entries: 64.0 }
    }
}

impl ChunkSize {
    /// Loads the lists of rows of `batch` from `row` on, fewer of them where the budget has no room
    /// for more; the first row not loaded.
    ///
    /// # Errors
    /// As [`NeighborFilter::load`], for a single row.
    pub(super) fn load(
        &mut self,
        lists: &mut NeighborFilter,
        batch: &Batch,
        row: usize,
        wanted: Entries,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<usize> {
        let mut parts = lists.pattern.parts.iter();
        let entries =
            if wanted != Entries::Ends && parts.any(|part| part.direction == Direction::In) {
                let room = rt.budget.limit() / REVERSED_SHARE / REVERSED_BYTES;
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                room.clamp(CHUNK_ENTRIES, REVERSED_ENTRIES)
            } else {
                CHUNK_ENTRIES
            };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate"
        )]
        let mut rows = match lists.are_whole() {
            true => BATCH_ROWS,
            false => ((entries as f64 / self.mean_entries.max(1.0)) as usize).clamp(1, BATCH_ROWS),
        };
        let end = loop {
            let end = batch.len().min(row + rows);
            memory.clear();
            match lists.load(batch, row..end, wanted, memory, rt) {
                Ok(()) => break end,
                Err(ExecError::Memory { .. }) if end - row > 1 => rows = (end - row) / 2,
                Err(error) => return Err(error),
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        if end > row && !lists.are_whole() {
            // Rows that share a node share its list.
            let mean = lists.lists.entries() as f64 / (end - row) as f64;
            self.mean_entries = f64::midpoint(self.mean_entries, mean);
        }
        Ok(end)
    }
}

/// See the file header.
pub(crate) struct Expand {
    input: BoxedOperator,
    lists: NeighborFilter,
    columns: ExpandColumns,
    memory: Memory,
    size: ChunkSize,
    batch: Batch,
    /// Rows `row..chunk_end` of the batch have their lists laid out.
    row: usize,
    chunk_end: usize,
    /// Next entry of row `row`.
    part: usize,
    entry: usize,
    /// Neighbours of row `row` that one entry less leads to, those left out already excepted.
    taken: Vec<u64>,
    /// The ends of row `row`, where conditions choose among them.
    selected: Option<Vec<u64>>,
    /// What is wanted of the relationships.
    threshold: Option<TopNBound>,
    /// Whether the lists of the chunk are without ends, which are looked up for what is wanted.
    only_relationships: bool,
    /// Whether what is joined is kept when the input starts again, with other rows of the same
    /// statement.
    keeps: bool,
}

impl Expand {
    /// Expands `input` along `lists`.
    pub(crate) fn new(
        input: BoxedOperator,
        lists: NeighborFilter,
        columns: ExpandColumns,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            input,
            lists,
            columns,
            memory: Memory::new(budget, "Expand", "start from fewer nodes"),
            size: ChunkSize::default(),
            batch: Batch::default(),
            row: 0,
            chunk_end: 0,
            part: 0,
            entry: 0,
            taken: Vec::new(),
            selected: None,
            threshold: None,
            only_relationships: false,
            keeps: false,
        }
    }

    /// The same, for a part of the rows of a statement at a time.
    pub(crate) fn keeping(self, keeps: bool) -> Self {
        Self { keeps, ..self }
    }

    /// The same, which makes only rows that a top-n above wants.
    pub(crate) fn with_bound(self, threshold: Option<TopNBound>) -> Self {
        Self { threshold, ..self }
    }

    fn wants_ids(&self) -> bool {
        self.columns.relationship.is_some() || self.lists.pattern.needs_ids() && !self.lists.decided
    }

    /// Lays out the lists of the next rows of the batch.
    fn load_chunk(&mut self, rt: &QueryContext) -> Result<()> {
        self.lists.decided = false;
        let wanted = match &self.threshold {
            Some(threshold)
                if threshold.wanted().is_some()
                    && self.lists.lets_all_through()
                    && rt.writer.is_none() =>
            {
                Entries::Relationships
            }
            _ if self.wants_ids() => Entries::Both,
            _ => Entries::Ends,
        };
        self.only_relationships = wanted == Entries::Relationships;
        self.chunk_end = self.size.load(
            &mut self.lists,
            &self.batch,
            self.row,
            wanted,
            &mut self.memory,
            rt,
        )?;
        if self.lists.pattern.filters_alone() && !self.lists.decided {
            let NeighborFilter { pattern, lists, .. } = &mut self.lists;
            lists.keep_passing(|relationships| pattern.passing(relationships, rt))?;
        }
        self.part = 0;
        self.entry = 0;
        self.selected = None;
        Ok(())
    }

    /// Writes out up to a batch of ends that conditions let through.
    fn emit_selected(&mut self) -> Result<Option<Batch>> {
        let (mut rows, mut to) = (Vec::new(), Vec::new());
        let mut selected = self.selected.take();
        let mut scratch = Vec::new();
        while self.row < self.chunk_end && to.len() < BATCH_ROWS {
            let ends = match selected.take() {
                Some(ends) => ends,
                None => {
                    self.row = self.lists.next_with_ends(self.row..self.chunk_end);
                    if self.row == self.chunk_end {
                        break;
                    }
                    self.lists.look_ahead(self.row, self.chunk_end);
                    let mut ends = std::mem::take(&mut scratch);
                    self.lists.select(&self.batch, self.row, &mut ends)?;
                    self.entry = 0;
                    ends
                }
            };
            let take = (ends.len() - self.entry).min(BATCH_ROWS - to.len());
            to.extend_from_slice(&ends[self.entry..self.entry + take]);
            rows.resize(to.len(), u32::try_from(self.row).expect("a batch is small"));
            self.entry += take;
            if self.entry == ends.len() {
                self.row += 1;
                scratch = ends;
            } else {
                selected = Some(ends);
            }
        }
        self.selected = selected;
        let added = [(self.columns.to, Column::Nodes(to))];
        Ok((!rows.is_empty()).then(|| gather_with(&self.batch, &rows, added)))
    }

    /// Writes out all entries of the rest of a chunk whose relationships a top-n above wants. Where
    /// that cannot be told, the top-n is not asked again, and the lists are laid out anew with
    /// their ends.
    fn emit_wanted(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let threshold = self.threshold.as_ref();
        let wanted = threshold.and_then(|threshold| Some((threshold.key, threshold.wanted()?)));
        let part = &self.lists.lists.parts[0];
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        if let Some((key, wanted)) = wanted {
            let rel_type = self.lists.pattern.parts[0].adjacency.rel_type();
            match rt.properties_of_runs(rel_type, &part.runs, key)? {
                Column::Integers(keys) => places = wanted.places(&keys),
                Column::Constant(Value::Integer(key), _) => places = wanted.places(&[key]),
                _ => self.threshold = None,
            }
        }
        if wanted.is_none() || self.threshold.is_none() {
            self.threshold = None;
            self.load_chunk(rt)?;
            return Ok(None);
        }
        let lists = &self.lists.lists;
        // Wanted entries by row, and the nodes whose ends they need.
        let (mut nodes, mut entries): (Vec<u64>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        if !places.is_empty() {
            for row in self.row..self.chunk_end {
                let Some(place) = lists.place(row) else {
                    continue;
                };
                let list = part.range(place);
                let from = places.partition_point(|at| (*at as usize) < list.start);
                let own = places[from..].iter().map(|at| *at as usize);
                for at in own.take_while(|at| *at < list.end) {
                    rows.push(u32::try_from(row).expect("a batch is small"));
                    nodes.push(lists.node(place));
                    entries.push((at, at - list.start));
                }
            }
        }
        self.row = self.chunk_end;
        if rows.is_empty() {
            return Ok(None);
        }
        let order = IdOrder::new(nodes.iter().map(|node| Some(*node)));
        let pattern = &self.lists.pattern.parts[0];
        let ends = decode_lists(
            pattern,
            &order.distinct,
            Entries::Ends,
            None,
            &mut self.memory,
        )?;
        let found = entries.iter().enumerate().map(|(at, (_, within))| {
            let place = order.place(at).expect("each has a node");
            ends.list(place)[*within]
        });
        let to = found.collect();
        let relationships = entries.iter().map(|(at, _)| part.runs.id(*at));
        let relationships = relationships.collect();
        Ok(Some(self.widened(&rows, to, relationships)))
    }

    /// The rows with these ends.
    fn widened(&self, rows: &[u32], to: Vec<u64>, relationships: Vec<u64>) -> Batch {
        let mut added = Vec::with_capacity(2);
        if let Some(slot) = self.columns.relationship {
            added.push((slot, Column::Relationships(relationships)));
        }
        added.push((self.columns.to, Column::Nodes(to)));
        added.sort_by_key(|(slot, _)| *slot);
        gather_with(&self.batch, rows, added)
    }

    /// Writes out up to a batch of the chunk's entries.
    fn emit(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let wants_ids = self.wants_ids();
        let pattern = &self.lists.pattern;
        let lists = &self.lists.lists;
        // To count the entries of whole lists would be a walk over all rows for each batch.
        let room = match lists.are_whole() {
            true if lists.parts.iter().all(|part| part.is_to_one()) => self.chunk_end - self.row,
            true => BATCH_ROWS,
            false => lists.entries(),
        };
        let room = room.min(BATCH_ROWS);
        let (mut rows, mut to) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let mut relationships = Vec::with_capacity(if wants_ids { room } else { 0 });
        if !wants_ids && !pattern.goes_by_ends() && self.part == 0 && self.entry == 0 {
            self.row = emit_whole(lists, self.row..self.chunk_end, &mut rows, &mut to);
        }
        while self.row < self.chunk_end && to.len() < BATCH_ROWS {
            let place = lists.place(self.row);
            let (Some(place), Some(part)) = (place, lists.parts.get(self.part)) else {
                self.row += 1;
                self.part = 0;
                self.entry = 0;
                continue;
            };
            if self.part == 0 && self.entry == 0 && pattern.goes_by_ends() {
                let node = lists.node(place);
                pattern.taken_ends(&self.batch, self.row, node, &mut self.taken);
            }
            let list = part.list(place);
            let left = &list[self.entry..];
            let take = left.len().min(BATCH_ROWS - to.len());
            append_others(&left[..take], &mut self.taken, &mut to);
            if wants_ids {
                let next = part.range(place).start + self.entry;
                relationships.extend_from_slice(&part.relationships[next..next + take]);
            }
            rows.resize(to.len(), u32::try_from(self.row).expect("a batch is small"));
            self.entry += take;
            if self.entry == list.len() {
                self.part += 1;
                self.entry = 0;
            }
        }
        if pattern.needs_ids() && !pattern.filters_alone() {
            let kept = pattern.admitted(&self.batch, &rows, &relationships, rt)?;
            let pick = |all: &[u64]| kept.iter().map(|i| all[*i as usize]).collect::<Vec<_>>();
            (to, relationships) = (pick(&to), pick(&relationships));
            rows = kept.iter().map(|i| rows[*i as usize]).collect();
        }
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.widened(&rows, to, relationships)))
    }
}

/// Writes out rows as long as all their ends fit a batch; the first row that was not.
fn emit_whole(
    lists: &NeighborBatch,
    span: Range<usize>,
    rows: &mut Vec<u32>,
    to: &mut Vec<u64>,
) -> usize {
    let some = span.start..span.end.min(span.start + BATCH_ROWS);
    if lists.append_sole(some.clone(), rows, to) {
        return some.end;
    }
    for row in span.clone() {
        if (row - span.start).is_multiple_of(AHEAD_ROWS) {
            lists.load_ahead(row..span.end.min(row + AHEAD_ROWS));
        }
        let number = u32::try_from(row).expect("a batch is small");
        let Some(place) = lists.place(row) else {
            continue;
        };
        let before = to.len();
        for part in &lists.parts {
            match &*part.list(place) {
                [] => {}
                [only] => to.push(*only),
                list if list.len() < BATCH_ROWS => to.extend_from_slice(list),
                _ => {
                    to.truncate(before);
                    return row;
                }
            }
        }
        match to.len() - before {
            0 => {}
            1 => rows.push(number),
            _ => rows.resize(to.len(), number),
        }
        if to.len() >= BATCH_ROWS {
            if to.len() > BATCH_ROWS && before > 0 {
                to.truncate(before);
                rows.truncate(before);
                return row;
            }
            if to.len() > BATCH_ROWS {
                // Several lists that are a batch only together.
                to.clear();
                rows.clear();
                return row;
            }
            return row + 1;
        }
    }
    span.end
}

impl PhysicalOperator for Expand {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            if self.row < self.chunk_end {
                let batch = if self.lists.looks_at_the_row() {
                    self.emit_selected()?
                } else if self.only_relationships {
                    self.emit_wanted(rt)?
                } else {
                    self.emit(rt)?
                };
                if let Some(batch) = batch {
                    return Ok(Some(batch));
                }
            } else if self.row < self.batch.len() {
                self.load_chunk(rt)?;
            } else {
                self.batch = Batch::default();
                match self.input.next(rt)? {
                    Some(batch) => self.batch = batch,
                    None => {
                        self.rewind_state();
                        return Ok(None);
                    }
                }
                self.row = 0;
                self.chunk_end = 0;
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rewind_state();
    }
}

impl Expand {
    fn rewind_state(&mut self) {
        self.batch = Batch::default();
        self.selected = None;
        self.row = 0;
        self.chunk_end = 0;
        if self.keeps {
            self.lists.clear_rows();
        } else {
            self.lists.clear();
            self.memory.clear();
        }
    }
}
