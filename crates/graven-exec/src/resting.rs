//! The operators of a statement that has ended, kept for its next run.
//!
//! # How it works
//! For short reads, building the operators costs more than running them. So those that can let go
//! of their run ([`crate::operator::Operator::rest`]) are kept, without memory of the budget and
//! without a view of the data. They get the parameters and the snapshot of the next run. That must
//! be one of the same plan in the same database, and know the same names, for names were resolved
//! to numbers. Names are never forgotten, so their count tells whether any were added: the count
//! from before the operators were made, since this statement or another one may add names while it
//! runs. The same holds for statements that write, whose names have been there since the first run.
//! They spill, and write pages of a size, by the memory limit of when they were made, so they are
//! dropped when the limit changes. Statements that only read in a transaction, or are profiled, are
//! made anew each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graven_cypher::plan::{Plan, PlanMode};
use graven_pagecache::Budget;
use graven_storage::Snapshot;

use crate::error::{ExecError, Result};
use crate::execution::{ExecContext, Execution, runtime};
use crate::memory::Metered;
use crate::operator::BoxedOperator;
use crate::runtime::Params;
use crate::writing::{Needs, Writer};

/// See the file header.
pub struct Resting {
    plan: Arc<Plan>,
    root: BoxedOperator,
    columns: Vec<usize>,
    names: usize,
    /// The memory limit when they were made.
    limit: u64,
    budget: Arc<Budget>,
    meter: Option<Arc<AtomicU64>>,
    /// Of a statement that writes.
    needs: Option<Needs>,
}

impl Resting {
    /// Whether they can run `plan` on `snapshot` for statements that share `budget`. For a
    /// statement that writes that is the snapshot of its transaction: it knows all names of
    /// whatever the transaction sees.
    #[must_use]
    pub fn fits(&self, plan: &Arc<Plan>, snapshot: &Snapshot, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.plan, plan)
            && self.names == snapshot.names_known()
            && Arc::ptr_eq(&self.budget, budget)
            && self.limit == budget.limit()
    }

    /// What counts the bytes that they hold; zero while they rest.
    #[must_use]
    pub fn meter(&self) -> Option<&Arc<AtomicU64>> {
        self.meter.as_ref()
    }

    /// Starts another run, as [`crate::execute`] does; the context has the meter of these
    /// operators.
    ///
    /// # Errors
    /// As [`crate::execute`].
    pub fn execute(
        self,
        snapshot: Snapshot,
        params: Arc<Params>,
        context: ExecContext,
    ) -> Result<Execution> {
        let Self {
            plan,
            mut root,
            columns,
            needs,
            names,
            limit,
            ..
        } = self;
        let writer = match (&context.transaction, needs) {
            (Some(transaction), Some(needs)) => {
                let transaction = Arc::clone(transaction);
                Some(Writer::new(transaction, needs, &context.budget))
            }
            (None, Some(_)) => return Err(ExecError::NoTransaction),
            (inside, None) => {
                debug_assert!(
                    context.only_reads && inside.is_none(),
                    "EX-57: what reads in a transaction is made anew"
                );
                None
            }
        };
        let rt = runtime(context, params, snapshot, writer);
        rt.charge_params()?;
        let _metered = Metered::on(rt.meter.as_ref());
        root.renew(&rt)?;
        Ok(Execution {
            done: false,
            plan,
            rt,
            root,
            columns,
            cells: None,
            names,
            limit,
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
            names,
            limit,
            ..
        } = self;
        let kind = (rt.settled || rt.writer.is_some()) && cells.is_none();
        let once = kind && plan.mode == PlanMode::Execute;
        let rests = once && !rt.shared.is_for_one_run.load(Ordering::Relaxed) && root.rest();
        rests.then(|| Resting {
            plan,
            root,
            columns,
            names,
            limit,
            needs: rt.writer.as_ref().map(Writer::needs),
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
