//! Every pair of input and inner rows.
//!
//! # How it works
//! The inner rows are kept if the budget has room for them; otherwise the inner tree runs again for
//! every input batch, so that the product needs no memory at all.

use std::sync::Arc;

use graven_pagecache::Budget;

use super::row_expander::gather_with;
use crate::batch::{BATCH_ROWS, Batch};
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// See the file header. Output columns: the input's, then the added ones of the inner tree.
pub(crate) struct CartesianProduct {
    input: BoxedOperator,
    inner: BoxedOperator,
    added: Arc<[usize]>,
    memory: Memory,
    kept: Kept,
    outer: Batch,
    /// The inner batch being paired.
    current: Option<Batch>,
    next_inner: usize,
    next_pair: usize,
}

/// What is known of the inner rows.
enum Kept {
    /// Batches of the first run so far; the run is not over.
    Filling(Vec<Batch>),
    /// All of them.
    All(Vec<Batch>),
    /// Too many: run again for every input batch.
    TooMany,
}

impl CartesianProduct {
    /// Pairs `input` with the columns `added` of `inner`.
    pub(crate) fn new(
        input: BoxedOperator,
        inner: BoxedOperator,
        added: Arc<[usize]>,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            input,
            inner,
            added,
            memory: Memory::new(budget, "CartesianProduct", "connect the patterns"),
            kept: Kept::Filling(Vec::new()),
            outer: Batch::default(),
            current: None,
            next_inner: 0,
            next_pair: 0,
        }
    }

    fn next_inner_batch(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let at = self.next_inner;
        self.next_inner += 1;
        match &mut self.kept {
            Kept::All(batches) => Ok(batches.get(at).cloned()),
            Kept::TooMany => self.inner.next(rt),
            Kept::Filling(batches) => {
                let Some(batch) = self.inner.next(rt)? else {
                    self.kept = Kept::All(std::mem::take(batches));
                    return Ok(None);
                };
                if self.memory.try_charge(batch.heap_bytes()) {
                    batches.push(batch.clone());
                } else {
                    self.kept = Kept::TooMany;
                    self.memory.clear();
                }
                Ok(Some(batch))
            }
        }
    }

    fn pairs(&mut self) -> Option<Batch> {
        let inner = self.current.as_ref()?;
        let total = inner.len() * self.outer.len();
        let from = self.next_pair;
        let to = total.min(from + BATCH_ROWS);
        if from == to {
            self.current = None;
            self.next_pair = 0;
            return None;
        }
        let row = |n: usize| u32::try_from(n).expect("batches are small");
        let outer_rows: Vec<u32> = (from..to).map(|pair| row(pair / inner.len())).collect();
        let inner_rows: Vec<u32> = (from..to).map(|pair| row(pair % inner.len())).collect();
        let width = self.outer.columns().len();
        let added = self
            .added
            .iter()
            .enumerate()
            .map(|(i, slot)| (width + i, inner.column(*slot).gather(&inner_rows)));
        let batch = gather_with(&self.outer, &outer_rows, added);
        self.next_pair = to;
        Some(batch)
    }
}

impl PhysicalOperator for CartesianProduct {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            if let Some(batch) = self.pairs() {
                return Ok(Some(batch));
            }
            if !self.outer.is_empty()
                && let Some(batch) = self.next_inner_batch(rt)?
            {
                self.current = Some(batch);
                continue;
            }
            let before = std::mem::take(&mut self.outer).len();
            let Some(batch) = self.input.next(rt)? else {
                return Ok(None);
            };
            if matches!(self.kept, Kept::TooMany) && before > 0 {
                self.inner.rewind();
            }
            self.outer = batch;
            self.next_inner = 0;
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.inner.rewind();
        self.memory.clear();
        self.kept = Kept::Filling(Vec::new());
        self.outer = Batch::default();
        self.current = None;
        self.next_inner = 0;
        self.next_pair = 0;
    }
}
