//! One row per relationship between two bound nodes.
//!
//! # How it works
//! Rows are ordered by the node whose lists are visited, so that each list is decoded once for all
//! rows that ask for it; the other node is found in the sorted list by binary search. Where
//! relationship ids are wanted the forward lists are visited, which hold them; otherwise the side
//! with fewer distinct nodes.

use crate::probe::Probe;
use crate::probe::probe;
use std::sync::Arc;

use graven_pagecache::Budget;
use graven_storage::Direction;

use super::expand::ExpandColumns;
use super::row_expander::gather_with;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::pattern::Pattern;
use crate::query_context::QueryContext;

/// See the file header.
pub(crate) struct ExpandInto {
    input: BoxedOperator,
    pattern: Pattern,
    columns: ExpandColumns,
    memory: Memory,
    batch: Batch,
    /// Matches of the batch: row and relationship id (0 if no operator reads it), by row; those
    /// before `next` are handed out.
    matches: Vec<(u32, u64)>,
    next: usize,
}

impl ExpandInto {
    /// Joins the two nodes of each row of `input` along `pattern`.
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
            memory: Memory::new(budget, "ExpandInto", "match fewer rows first"),
            batch: Batch::default(),
            matches: Vec::new(),
            next: 0,
        }
    }

    fn wants_ids(&self) -> bool {
        self.columns.relationship.is_some() || self.pattern.needs_ids()
    }

    fn find(&mut self, batch: &Batch) -> Result<()> {
        let wants_ids = self.wants_ids();
        let (from, to) = (
            batch.column(self.columns.from),
            batch.column(self.columns.to),
        );
        let pairs: Vec<(u64, u64, u32)> = (0..batch.len())
            .filter_map(|row| {
                let number = u32::try_from(row).expect("a batch is small");
                Some((from.node(row)?, to.node(row)?, number))
            })
            .collect();
        let fewer_ends = distinct(pairs.iter().map(|p| p.1)) < distinct(pairs.iter().map(|p| p.0));
        self.matches.clear();
        self.next = 0;
        for part in &self.pattern.parts {
            let from_the_end = if wants_ids {
                part.direction == Direction::In
            } else {
                fewer_ends
            };
            let mut probes: Vec<Probe> = pairs
                .iter()
                .filter(|(from, to, _)| !(part.skip_loops && from == to))
                .map(|&(from, to, row)| {
                    let (key, sought) = if from_the_end { (to, from) } else { (from, to) };
                    Probe { key, sought, row }
                })
                .collect();
            probes.sort_unstable_by_key(|p| p.key);
            probe(part, from_the_end, &probes, wants_ids, &mut self.matches)?;
        }
        self.memory.set(16 * self.matches.len())?;
        self.matches.sort_by_key(|(row, _)| *row);
        if self.pattern.goes_by_ends() {
            leave_out_taken(&self.pattern, batch, &self.columns, &mut self.matches);
        }
        Ok(())
    }

    fn emit(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let to = self.matches.len().min(self.next + BATCH_ROWS);
        let part = &self.matches[self.next..to];
        self.next = to;
        let mut rows: Vec<u32> = part.iter().map(|(row, _)| *row).collect();
        let mut relationships: Vec<u64> = part.iter().map(|(_, r)| *r).collect();
        if self.pattern.needs_ids() {
            let kept = self
                .pattern
                .admitted(&self.batch, &rows, &relationships, rt)?;
            rows = kept.iter().map(|i| rows[*i as usize]).collect();
            relationships = kept.iter().map(|i| relationships[*i as usize]).collect();
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let added = self
            .columns
            .relationship
            .map(|slot| (slot, Column::Relationships(relationships)));
        Ok(Some(gather_with(&self.batch, &rows, added)))
    }
}

/// Of the matches of each row, one less for each earlier relationship between the same two nodes.
fn leave_out_taken(
    pattern: &Pattern,
    batch: &Batch,
    columns: &ExpandColumns,
    matches: &mut Vec<(u32, u64)>,
) {
    let (from, to) = (batch.column(columns.from), batch.column(columns.to));
    let mut taken = Vec::new();
    let (mut current, mut left_out) = (None, 0);
    matches.retain(|(row, _)| {
        let at = *row as usize;
        if current != Some(*row) {
            current = Some(*row);
            if let Some(node) = from.node(at) {
                pattern.taken_ends(batch, at, node, &mut taken);
            }
            left_out = taken.iter().filter(|n| Some(**n) == to.node(at)).count();
        }
        let keep = left_out == 0;
        left_out -= usize::from(!keep);
        keep
    });
}

fn distinct(nodes: impl Iterator<Item = u64>) -> usize {
    let mut nodes: Vec<u64> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

impl PhysicalOperator for ExpandInto {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            if self.next < self.matches.len() {
                if let Some(batch) = self.emit(rt)? {
                    return Ok(Some(batch));
                }
                continue;
            }
            self.batch = Batch::default();
            let Some(batch) = self.input.next(rt)? else {
                self.memory.clear();
                return Ok(None);
            };
            self.find(&batch)?;
            self.batch = batch;
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.batch = Batch::default();
        self.matches = Vec::new();
        self.next = 0;
        self.memory.clear();
    }
}
