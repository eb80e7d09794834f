//! Sorted rows: all of them, or the first few.
//!
//! # How it works
//! Both buffer batches together with their key columns, charged to the budget. `Sort` orders row numbers once
//! the input has ended; `TopN` cuts its buffer back to the best rows whenever it has grown to twice the limit,
//! so that it never holds more than about `2 x limit` rows and one batch.
//!
//! # Invariants
//! * EX-10 Equal keys keep the order of the input.

use std::cmp::Ordering;
use std::sync::Arc;

use graven_cypher::plan::SortOrder;
use graven_pagecache::Budget;

use super::limit::row_count;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::value::order::total_order;

/// One sort key.
pub(crate) type SortKey = (Compiled, SortOrder);

/// Rows with their keys: the keys are extra columns behind those of the row.
struct Buffer {
    batches: Vec<Batch>,
    rows: usize,
    memory: Memory,
}

impl Buffer {
    fn new(budget: &Arc<Budget>, operator: &'static str) -> Self {
        Self {
            batches: Vec::new(),
            rows: 0,
            memory: Memory::new(
                budget,
                operator,
                "add a LIMIT or sort fewer rows or columns",
            ),
        }
    }

    fn push(&mut self, batch: Batch, keys: &[SortKey], rt: &Runtime) -> Result<()> {
        let mut columns = batch.columns().to_vec();
        for (key, _) in keys {
            columns.push(key.column(Rows::all(&batch), rt)?);
        }
        let batch = Batch::new(columns, batch.len());
        // Row numbers take 8 bytes a row while sorting.
        self.memory.charge(batch.heap_bytes() + 8 * batch.len())?;
        self.rows += batch.len();
        self.batches.push(batch);
        Ok(())
    }

    /// All rows as one batch, in key order, at most `limit` of them.
    fn sorted(&mut self, keys: &[SortKey], limit: usize) -> Result<Batch> {
        let parts = std::mem::take(&mut self.batches);
        if parts.is_empty() {
            return Ok(Batch::default());
        }
        // Old and new columns exist side by side while they are joined and reordered.
        let bytes: usize = parts.iter().map(Batch::heap_bytes).sum();
        self.memory.charge(bytes)?;
        let all = Batch::concat(&parts);
        drop(parts);
        let first_key = all.columns().len() - keys.len();
        let mut order: Vec<u32> =
            (0..u32::try_from(all.len()).expect("fewer than 2^32 rows")).collect();
        let by_keys = |a: &u32, b: &u32| {
            for (i, (_, direction)) in keys.iter().enumerate() {
                let column = all.column(first_key + i);
                let ordering = order_rows(column, *a as usize, *b as usize);
                let ordering = match direction {
                    SortOrder::Ascending => ordering,
                    SortOrder::Descending => ordering.reverse(),
                };
                if ordering != Ordering::Equal {
                    return ordering;
                }
            }
            a.cmp(b)
        };
        if limit < order.len() {
            if limit > 0 {
                order.select_nth_unstable_by(limit - 1, by_keys);
            }
            order.truncate(limit);
        }
        order.sort_unstable_by(by_keys);
        let sorted = all.gather(&order);
        drop(all);
        self.memory.set(sorted.heap_bytes())?;
        self.rows = sorted.len();
        Ok(sorted)
    }

    fn clear(&mut self) {
        self.batches.clear();
        self.rows = 0;
        self.memory.clear();
    }
}

fn order_rows(column: &Column, a: usize, b: usize) -> Ordering {
    match column {
        Column::Integers(v) => v[a].cmp(&v[b]),
        Column::Constant(..) => Ordering::Equal,
        Column::Values(v) => total_order(&v[a], &v[b]),
        other => total_order(&other.get(a), &other.get(b)),
    }
}

/// Sorted rows waiting to be handed out.
struct Output {
    rows: Batch,
    next: usize,
    width: usize,
}

impl Output {
    fn next(&mut self) -> Option<Batch> {
        if self.next >= self.rows.len() {
            return None;
        }
        let to = (self.next + BATCH_ROWS).min(self.rows.len());
        let part = self.rows.slice(self.next, to);
        self.next = to;
        Some(Batch::new(
            part.columns()[..self.width].to_vec(),
            part.len(),
        ))
    }
}

/// All rows, sorted; or with a limit the first of them.
pub(crate) struct Sort {
    input: BoxedOperator,
    keys: Vec<SortKey>,
    width: usize,
    limit: Option<Compiled>,
    buffer: Buffer,
    output: Option<Output>,
}

impl Sort {
    /// Sorts `input`, whose rows have `width` columns; with `limit` only the first rows are kept.
    pub(crate) fn new(
        input: BoxedOperator,
        keys: Vec<SortKey>,
        width: usize,
        limit: Option<Compiled>,
        budget: &Arc<Budget>,
    ) -> Self {
        let name = if limit.is_some() { "TopN" } else { "Sort" };
        Self {
            input,
            keys,
            width,
            limit,
            buffer: Buffer::new(budget, name),
            output: None,
        }
    }

    fn fill(&mut self, rt: &Runtime) -> Result<Output> {
        let limit = match &self.limit {
            None => usize::MAX,
            Some(limit) => usize::try_from(row_count("LIMIT", limit, rt)?).unwrap_or(usize::MAX),
        };
        while limit > 0
            && let Some(batch) = self.input.next(rt)?
        {
            rt.check_cancelled()?;
            self.buffer.push(batch, &self.keys, rt)?;
            if self.buffer.rows > limit.saturating_mul(2).max(2 * BATCH_ROWS) {
                let best = self.buffer.sorted(&self.keys, limit)?;
                self.buffer.batches = vec![best];
            }
        }
        Ok(Output {
            rows: self.buffer.sorted(&self.keys, limit)?,
            next: 0,
            width: self.width,
        })
    }
}

impl Operator for Sort {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.output.is_none() {
            self.output = Some(self.fill(rt)?);
        }
        let batch = self.output.as_mut().and_then(Output::next);
        if batch.is_none() {
            // Keep an empty output as the mark of the end, but give the rows back.
            self.buffer.clear();
            if let Some(output) = &mut self.output {
                output.rows = Batch::default();
            }
        }
        Ok(batch)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.buffer.clear();
        self.output = None;
    }
}
