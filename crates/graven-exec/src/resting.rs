//! The operators of a statement that has ended, kept for its next run.
//!
//! # How it works
//! To make operators takes longer than to run them where a statement reads a few nodes. So those that can let go of their run
//! ([`crate::operator::Operator::rest`]) are kept, without memory of the budget and without a view of the data, and get the parameters and the snapshot of
//! the next run. That must be one of the same plan in the same database, and know the same names, for names were resolved to
//! numbers; names are never forgotten, so their count tells. Statements that write, run in a transaction or are profiled are made
//! anew each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graven_cypher::plan::{Plan, PlanMode};
use graven_pagecache::Budget;
use graven_storage::Snapshot;

use crate::error::Result;
use crate::execution::{ExecContext, Execution, runtime};
use crate::memory::Metered;
use crate::operator::BoxedOperator;
use crate::runtime::Params;

/// See the file header.
pub struct Resting {
    plan: Arc<Plan>,
    root: BoxedOperator,
    columns: Vec<usize>,
    names: usize,
    budget: Arc<Budget>,
    meter: Option<Arc<AtomicU64>>,
}

impl Resting {
    /// Whether they can run `plan` on `snapshot` for statements that share `budget`.
    #[must_use]
    pub fn fits(&self, plan: &Arc<Plan>, snapshot: &Snapshot, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.plan, plan)
            && self.names == snapshot.names_known()
            && Arc::ptr_eq(&self.budget, budget)
    }

    /// What counts the bytes that they hold; zero while they rest.
    #[must_use]
    pub fn meter(&self) -> Option<&Arc<AtomicU64>> {
        self.meter.as_ref()
    }

    /// Starts another run, as [`crate::execute`] does; the context has the meter of these operators.
    ///
    /// # Errors
    /// As [`crate::execute`].
    pub fn execute(
        self,
        snapshot: Snapshot,
        params: Arc<Params>,
        context: ExecContext,
    ) -> Result<Execution> {
        debug_assert!(
            context.only_reads && context.transaction.is_none(),
            "EX-57: statements that may write are made anew"
        );
        let Self {
            plan,
            mut root,
            columns,
            ..
        } = self;
        let rt = runtime(context, params, snapshot, None);
        let _metered = Metered::on(rt.meter.as_ref());
        root.renew(&rt)?;
        Ok(Execution {
            done: false,
            plan,
            rt,
            root,
            columns,
            cells: None,
        })
    }
}

impl Execution {
    /// Ends the statement, which may not have failed; its operators, if they can be used again.
    #[must_use]
    pub fn rest(self) -> Option<Resting> {
        let Self {
            plan,
            rt,
            mut root,
            columns,
            cells,
            ..
        } = self;
        let alone = rt.settled && cells.is_none() && plan.mode == PlanMode::Execute;
        let rests = alone && !rt.shared.is_for_one_run.load(Ordering::Relaxed) && root.rest();
        rests.then(|| Resting {
            plan,
            root,
            columns,
            names: rt.snapshot.names_known(),
            budget: rt.budget,
            meter: rt.meter,
        })
    }
}

impl std::fmt::Debug for Resting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resting")
            .field("columns", &self.plan.columns)
            .finish_non_exhaustive()
    }
}
