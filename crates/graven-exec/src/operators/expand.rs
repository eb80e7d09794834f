//! One row per relationship of a bound node.
//!
//! # How it works
//! The input batch is worked on in *chunks* of rows. The distinct nodes of a chunk are visited in id order, part
//! by part, and their lists laid out in memory; then the rows are written out in input order. A chunk has
//! as many rows as recent degrees let expect about [`CHUNK_ENTRIES`] entries for, so memory follows the lists, not
//! rows x degree; what it takes is charged to the budget.

use std::ops::ControlFlow;
use std::sync::Arc;

use graven_pagecache::Budget;
use graven_storage::{Direction, Sweep};

use super::fan_out::widen;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::pattern::{Part, Pattern};
use crate::runtime::Runtime;

/// List entries that a chunk aims to lay out.
const CHUNK_ENTRIES: usize = 16 << 10;

/// Where the columns lie.
pub(crate) struct ExpandColumns {
    pub(crate) from: usize,
    pub(crate) relationship: Option<usize>,
    pub(crate) to: usize,
}

/// See the file header.
pub(crate) struct Expand {
    input: BoxedOperator,
    pattern: Pattern,
    columns: ExpandColumns,
    memory: Memory,
    batch: Batch,
    /// Rows `row..chunk_end` of the batch have their lists in `chunk`.
    row: usize,
    chunk_end: usize,
    chunk: Chunk,
    /// Next entry of row `row`.
    part: usize,
    entry: usize,
    /// Mean entries a row, for the size of the next chunk.
    mean_entries: f64,
}

/// Lists of some nodes.
#[derive(Default)]
struct Chunk {
    /// Ascending, distinct.
    nodes: Vec<u64>,
    parts: Vec<ChunkPart>,
}

#[derive(Default)]
struct ChunkPart {
    /// List of `nodes[i]`: `starts[i]..ends[i]`.
    starts: Vec<usize>,
    ends: Vec<usize>,
    neighbours: Vec<u64>,
    /// As many as neighbours, or none if nobody asks.
    relationships: Vec<u64>,
}

impl Expand {
    /// Expands `input` along `pattern`.
    pub(crate) fn new(
        input: BoxedOperator,
        pattern: Pattern,
        columns: ExpandColumns,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            input,
            pattern,
            columns,
            memory: Memory::new(budget, "Expand", "start from fewer nodes"),
            batch: Batch::default(),
            row: 0,
            chunk_end: 0,
            chunk: Chunk::default(),
            part: 0,
            entry: 0,
            mean_entries: 64.0,
        }
    }

    fn wants_ids(&self) -> bool {
        self.columns.relationship.is_some() || self.pattern.needs_ids()
    }

    /// Lays out the lists of the next rows of the batch, fewer of them where the budget has no room for more.
    fn load_chunk(&mut self) -> Result<()> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate"
        )]
        let mut rows =
            ((CHUNK_ENTRIES as f64 / self.mean_entries.max(1.0)) as usize).clamp(1, BATCH_ROWS);
        self.chunk = Chunk::default();
        let (chunk, end) = loop {
            let end = self.batch.len().min(self.row + rows);
            self.memory.clear();
            match self.lay_out_rows(end) {
                Ok(chunk) => break (chunk, end),
                Err(ExecError::Memory { .. }) if end - self.row > 1 => {
                    rows = (end - self.row) / 2;
                }
                Err(error) => return Err(error),
            }
        };
        let entries: usize = chunk.parts.iter().map(|p| p.neighbours.len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        if !chunk.nodes.is_empty() {
            let mean = entries as f64 / chunk.nodes.len() as f64;
            self.mean_entries = f64::midpoint(self.mean_entries, mean);
        }
        self.chunk = chunk;
        self.chunk_end = end;
        self.part = 0;
        self.entry = 0;
        Ok(())
    }

    /// The lists of the rows from the current one up to `end`.
    fn lay_out_rows(&mut self, end: usize) -> Result<Chunk> {
        let column = self.batch.column(self.columns.from);
        let mut nodes: Vec<u64> = (self.row..end).filter_map(|row| column.node(row)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let wants_ids = self.wants_ids();
        let mut parts = Vec::with_capacity(self.pattern.parts.len());
        for part in &self.pattern.parts {
            parts.push(lay_out(part, &nodes, wants_ids, &mut self.memory)?);
        }
        Ok(Chunk { nodes, parts })
    }

    /// Writes out up to a batch of the chunk's entries.
    fn emit(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let wants_ids = self.wants_ids();
        let (mut rows, mut to, mut relationships) = (Vec::new(), Vec::new(), Vec::new());
        let from = Arc::clone(self.batch.column(self.columns.from));
        while self.row < self.chunk_end && to.len() < BATCH_ROWS {
            let at = from
                .node(self.row)
                .and_then(|node| self.chunk.nodes.binary_search(&node).ok());
            let (Some(at), Some(part)) = (at, self.chunk.parts.get(self.part)) else {
                self.row += 1;
                self.part = 0;
                self.entry = 0;
                continue;
            };
            let next = part.starts[at] + self.entry;
            let take = (part.ends[at] - next).min(BATCH_ROWS - to.len());
            to.extend_from_slice(&part.neighbours[next..next + take]);
            if wants_ids {
                relationships.extend_from_slice(&part.relationships[next..next + take]);
            }
            rows.resize(to.len(), u32::try_from(self.row).expect("a batch is small"));
            self.entry += take;
            if next + take == part.ends[at] {
                self.part += 1;
                self.entry = 0;
            }
        }
        if self.pattern.needs_ids() {
            let kept = self
                .pattern
                .admitted(&self.batch, &rows, &relationships, rt)?;
            let pick = |all: &[u64]| kept.iter().map(|i| all[*i as usize]).collect::<Vec<_>>();
            (to, relationships) = (pick(&to), pick(&relationships));
            rows = kept.iter().map(|i| rows[*i as usize]).collect();
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let mut added = Vec::with_capacity(2);
        if let Some(slot) = self.columns.relationship {
            added.push((slot, Column::Relationships(relationships)));
        }
        added.push((self.columns.to, Column::Nodes(to)));
        added.sort_by_key(|(slot, _)| *slot);
        Ok(Some(widen(&self.batch, &rows, added)))
    }
}

/// Visits the lists of `nodes` in id order and lays them out.
fn lay_out(part: &Part, nodes: &[u64], wants_ids: bool, memory: &mut Memory) -> Result<ChunkPart> {
    let mut lists = ChunkPart {
        starts: vec![0; nodes.len()],
        ends: vec![0; nodes.len()],
        ..ChunkPart::default()
    };
    let mut found = Vec::new();
    if wants_ids && part.direction == Direction::In {
        // Ids of reversed lists are found in the other end's list: a look-up per entry.
        for (i, node) in nodes.iter().enumerate() {
            found.clear();
            part.adjacency
                .neighbours(graven_storage::NodeId(*node), &mut found)?;
            memory.charge(16 * found.len())?;
            lists.starts[i] = lists.neighbours.len();
            for neighbour in &found {
                if !(part.skip_loops && neighbour.node.0 == *node) {
                    lists.neighbours.push(neighbour.node.0);
                    lists.relationships.push(neighbour.relationship.0);
                }
            }
            lists.ends[i] = lists.neighbours.len();
        }
        return Ok(lists);
    }
    let mut ids = Ids::new(part);
    let mut refused = None;
    let mut relationships = Vec::new();
    let mut at = 0;
    part.sweep(nodes, Sweep::Up, |node, list| {
        while nodes[at] != node.0 {
            at += 1;
        }
        if let Err(error) = memory.charge(list.len() * if wants_ids { 16 } else { 8 }) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        lists.starts[at] = lists.neighbours.len();
        let mut rank = 0;
        relationships.clear();
        if wants_ids {
            list.append_relationships(0..list.len(), &mut relationships)?;
        }
        ids.for_each(list, |neighbour| {
            if !(part.skip_loops && neighbour == node.0) {
                lists.neighbours.push(neighbour);
                if wants_ids {
                    lists.relationships.push(relationships[rank].0);
                }
            }
            rank += 1;
        })?;
        lists.ends[at] = lists.neighbours.len();
        Ok(ControlFlow::Continue(()))
    })?;
    refused.map_or(Ok(lists), Err)
}

/// Decodes lists of narrow or wide ids.
pub(super) struct Ids {
    narrow: bool,
    scratch: Vec<u32>,
    wide: Vec<u64>,
}

impl Ids {
    /// For the lists of `part`.
    pub(super) fn new(part: &Part) -> Self {
        Self {
            narrow: part.adjacency.ids_fit_u32(),
            scratch: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// Calls `visit` for each neighbour, ascending.
    pub(super) fn for_each(
        &mut self,
        list: &graven_storage::List<'_>,
        mut visit: impl FnMut(u64),
    ) -> graven_storage::Result<()> {
        if self.narrow {
            for id in list.decode(&mut self.scratch)? {
                visit(u64::from(*id));
            }
        } else {
            for id in list.decode_wide(&mut self.wide)? {
                visit(*id);
            }
        }
        Ok(())
    }
}

impl Operator for Expand {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            if self.row < self.chunk_end {
                if let Some(batch) = self.emit(rt)? {
                    return Ok(Some(batch));
                }
            } else if self.row < self.batch.len() {
                self.load_chunk()?;
            } else {
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
        self.chunk = Chunk::default();
        self.row = 0;
        self.chunk_end = 0;
        self.memory.clear();
    }
}
