//! What each operator of a profiled statement did: rows, time, pages by kind.
//!
//! # How it works
//! Under `PROFILE` every operator is wrapped in a [`Profiled`], which takes the clock and the
//! calling thread's page counters around each call. Those figures include the operators below;
//! [`ProfileTree::of`] subtracts them, so that each operator shows its own share. Statements that
//! are not profiled carry no wrapper.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graven_cypher::explain::Step;
use graven_cypher::plan::{Operator as PlanOperator, PlanNode};
use graven_pagecache::stats::{PerKind, Scope};

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// What one operator did.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorProfile {
    /// Rows handed out.
    pub rows: u64,
    /// Batches handed out.
    pub batches: u64,
    /// Time in this operator without those below it.
    pub time: Duration,
    /// Pages touched by this operator without those below it.
    pub pages: PerKind,
    /// Bytes this operator wrote to the temporary file.
    pub spilled: u64,
}

/// What all operators of a statement did, by [`Step::id`].
#[derive(Clone, Debug, Default)]
pub struct ProfileTree {
    root: u32,
    operators: Vec<OperatorProfile>,
}

impl ProfileTree {
    /// The operator of this step of the physical plan.
    #[must_use]
    pub fn operator(&self, id: u32) -> Option<&OperatorProfile> {
        self.operators.get(id as usize)
    }

    /// Figures of all operators together; rows are those of the root.
    #[must_use]
    pub fn total(&self) -> OperatorProfile {
        let mut total = OperatorProfile::default();
        for operator in &self.operators {
            total.time += operator.time;
            total.pages += &operator.pages;
            total.spilled += operator.spilled;
        }
        if let Some(root) = self.operator(self.root) {
            total.rows = root.rows;
            total.batches = root.batches;
        }
        total
    }

    /// Own figures from the inclusive ones of `cells`.
    pub(crate) fn of(root: &Step, cells: &ProfileCells) -> Self {
        let inclusive: Vec<OperatorProfile> = cells
            .cells
            .iter()
            .map(|c| *c.lock().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let mut operators = inclusive.clone();
        subtract_inputs(root, &inclusive, &mut operators);
        Self {
            root: root.id,
            operators,
        }
    }
}

fn subtract_inputs(step: &Step, inclusive: &[OperatorProfile], own: &mut [OperatorProfile]) {
    for input in &step.inputs {
        if matches!(step.operator, "Parallel" | "Exchange" | "ReadAhead") {
            // Below are the sums over all threads, here is one that mostly takes part in them, or
            // waits for them; rows to be divided are made above.
            own[step.id as usize].time = Duration::ZERO;
            own[step.id as usize].pages = PerKind::default();
            subtract_inputs(input, inclusive, own);
            continue;
        }
        let below = &inclusive[input.id as usize];
        let here = &mut own[step.id as usize];
        here.time = here.time.saturating_sub(below.time);
        here.pages = here.pages.since(&below.pages);
        subtract_inputs(input, inclusive, own);
    }
}

/// Inputs of an operator, in the order of its fields.
pub(crate) fn inputs(op: &PlanOperator) -> Vec<&PlanNode> {
    op.children()
}

/// Where the wrappers count, by the number of the physical node.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileCells {
    cells: Arc<Vec<Mutex<OperatorProfile>>>,
}

impl ProfileCells {
    /// Cells for so many operators.
    pub(crate) fn new(operators: u32) -> Self {
        Self {
            cells: Arc::new((0..operators).map(|_| Mutex::default()).collect()),
        }
    }
}

/// An operator under observation.
pub(crate) struct Profiled {
    inner: BoxedOperator,
    cells: ProfileCells,
    id: usize,
    /// Bytes written that are counted already.
    spilled: u64,
}

impl Profiled {
    /// Observes `inner`, the operator of the physical node `id`.
    pub(crate) fn new(inner: BoxedOperator, cells: ProfileCells, id: u32) -> Self {
        Self {
            inner,
            cells,
            id: id as usize,
            spilled: 0,
        }
    }
}

impl PhysicalOperator for Profiled {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let scope = Scope::start();
        let started = Instant::now();
        let result = self.inner.next(rt);
        let time = started.elapsed();
        let pages = scope.finish();
        let mut cell = self.cells.cells[self.id]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        cell.time += time;
        cell.pages += &pages;
        let spilled = self.inner.spilled_bytes();
        cell.spilled += spilled.saturating_sub(self.spilled);
        self.spilled = spilled;
        if let Ok(Some(batch)) = &result {
            cell.rows += batch.len() as u64;
            cell.batches += 1;
        }
        result
    }

    fn rewind(&mut self) {
        self.inner.rewind();
    }

    fn spilled_bytes(&self) -> u64 {
        self.inner.spilled_bytes()
    }
}
