//! Runs a plan: starts the operators of its physical plan, then hands out result batches.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, PoisonError};
use std::time::{Instant, SystemTime};

use graven_cypher::TypeSet;
use graven_cypher::plan::{Plan, PlanMode};
use graven_objects::DISK_BUDGET;
use graven_pagecache::stats::PerKind;
use graven_pagecache::{Budget, SpillFile};
use graven_storage::{Snapshot, Transaction};
use graven_types::told;

use crate::batch::Batch;
use crate::deadline::Deadline;
use crate::error::{ExecError, Result};
use crate::file_access::FileAccess;
use crate::growth::Growth;
use crate::memory::Metered;
use crate::operator::BoxedOperator;
use crate::operators::unit::Nothing;
use crate::physical::node::Start;
use crate::physical::{PhysicalPlan, PhysicalPlans};
use crate::procedures::Procedures;
use crate::profile::{ProfileCells, ProfileTree};
use crate::query_context::{BatchLimits, Params, QueryContext, Shared, threads_within};
use crate::sources::Sources;
use crate::tuning::Tuning;
use crate::user_function::{UserFunctions, kind};
use crate::writing::{self, DeletedRelationships, Needs, Writer};

/// What a statement runs with besides its plan, snapshot and parameters.
#[derive(Clone)]
pub struct ExecContext {
    /// The memory budget that buffering operators reserve from.
    pub budget: Arc<Budget>,
    /// Where operators put what does not fit; without it they fail instead.
    pub spill: Option<Arc<SpillFile>>,
    /// Set to true from any thread to end the statement with [`ExecError::Cancelled`].
    pub cancel: Arc<AtomicBool>,
    /// When the statement ends with [`ExecError::TimedOut`]; none: never.
    pub deadline: Option<Deadline>,
    /// Procedures for `CALL`, if there are any.
    pub procedures: Option<Arc<dyn Procedures>>,
    /// Functions of the program that the plan may call.
    pub functions: Option<Arc<UserFunctions>>,
    /// Which files the statement may name.
    pub files: FileAccess,
    /// Bytes that the copy of an object may have which can only be read as a whole.
    pub disk_budget: u64,
    /// Frames that it may read, and where it notes rows that it leaves out.
    pub sources: Arc<Sources>,
    /// The user that runs it, where users are known.
    pub user: Option<Arc<str>>,
    /// The store's UUID, part of every `elementId`.
    pub store_uuid: [u8; 16],
    /// When the statement began.
    pub begun: Instant,
    /// When the transaction of the statement began; none: with the statement.
    pub transaction_began: Option<SystemTime>,
    /// The plan is known to change nothing, so that it need not be looked through.
    pub only_reads: bool,
    /// The transaction a writing statement runs in; a reading one sees what it wrote.
    pub transaction: Option<Arc<Transaction>>,
    /// Counts the bytes that the operators of the statement hold.
    pub meter: Option<Arc<AtomicU64>>,
    /// Thresholds of searches; the default fits all but tests and experiments.
    pub tuning: Tuning,
}

impl ExecContext {
    /// A context with this budget, nothing cancelled and no procedures.
    #[must_use]
    pub fn new(budget: Arc<Budget>) -> Self {
        Self {
            budget,
            spill: None,
            cancel: Arc::default(),
            deadline: None,
            procedures: None,
            functions: None,
            files: FileAccess::default(),
            disk_budget: DISK_BUDGET,
            sources: Arc::default(),
            user: None,
            store_uuid: [0; 16],
            begun: Instant::now(),
            transaction_began: None,
            only_reads: false,
            transaction: None,
            meter: None,
            tuning: Tuning::default(),
        }
    }
}

/// A running statement.
pub struct Execution {
    plan: Arc<Plan>,
    physical: Arc<PhysicalPlan>,
    rt: QueryContext,
    root: BoxedOperator,
    cells: Option<ProfileCells>,
    done: bool,
}

/// Starts `plan` on `snapshot`, or in the context's transaction. Nothing is read before the first
/// [`Execution::next_batch`].
///
/// # Errors
/// A missing parameter, or one of another kind than its place wants; a plan that cannot be run.
pub fn execute(
    plan: Arc<Plan>,
    snapshot: Snapshot,
    params: Arc<Params>,
    context: ExecContext,
) -> Result<Execution> {
    execute_kept(plan, &PhysicalPlans::default(), snapshot, params, context)
}

/// As [`execute`], with the physical plan that is kept in `plans`, which are those of `plan` alone.
/// Parameters have the same names each time.
///
/// # Errors
/// As [`execute`].
pub fn execute_kept(
    plan: Arc<Plan>,
    plans: &PhysicalPlans,
    snapshot: Snapshot,
    params: Arc<Params>,
    context: ExecContext,
) -> Result<Execution> {
    let mut snapshot = snapshot;
    let mut writer = None;
    if let Some(transaction) = &context.transaction {
        let reads = context.only_reads || plan.mode == PlanMode::Explain;
        let known = !reads && !snapshot.records_reads();
        let known = known.then(|| plans.needs(snapshot.names_known()));
        let needs = match known.flatten() {
            Some(needs) => Some(needs),
            None => {
                let writes = !reads && plan.writes();
                if writes {
                    writing::intern(&plan.written_names(), transaction)?;
                }
                // Taken after the names were interned, so that its catalogue knows them.
                snapshot = transaction.snapshot();
                writes.then(|| Needs::of(&plan))
            }
        };
        let write = |needs| Writer::new(Arc::clone(transaction), needs, &context.budget);
        writer = needs.map(write);
    } else if !context.only_reads && plan.mode != PlanMode::Explain && plan.writes() {
        return Err(ExecError::NoTransaction);
    }
    let mut rt = runtime(context, params, snapshot, writer);
    rt.explains = plan.mode == PlanMode::Explain;
    rt.charge_params()?;
    check_parameters(&plan, &rt.params)?;
    let _metered = Metered::on(rt.meter.as_ref());
    let physical = plans.get(&plan, &rt)?;
    let cells = (plan.mode == PlanMode::Profile).then(|| ProfileCells::new(physical.nodes));
    let root = match plan.mode {
        PlanMode::Explain => Box::new(Nothing),
        _ => physical.root.start(&mut Start::new(&rt, cells.as_ref()))?,
    };
    Ok(Execution::new(plan, physical, rt, root, cells))
}

/// Refuses parameters that are of another kind than their places in the text want.
fn check_parameters(plan: &Plan, params: &Params) -> Result<()> {
    for expected in &plan.expected {
        let given = params.get(&*expected.name).map_or(TypeSet::NULL, kind);
        // A float may stand for an integer; whether it does is known where it is used.
        if given != TypeSet::FLOAT && !given.may_be(expected.wanted) {
            let message = told!(
                "{} must be {}, `${}` is {given}",
                expected.what,
                expected.wanted,
                expected.name
            );
            return Err(ExecError::ParameterKind { message }.at(expected.at));
        }
    }
    Ok(())
}

/// What the operators of a statement share.
pub(crate) fn runtime(
    context: ExecContext,
    params: Arc<Params>,
    snapshot: Snapshot,
    writer: Option<Writer>,
) -> QueryContext {
    let alone = writer.is_none() && context.transaction.is_none();
    let tuning = Tuning {
        threads: threads_within(context.budget.limit(), context.tuning.threads),
        ..context.tuning
    };
    QueryContext {
        shared: Arc::new(Shared::new(context.begun, context.transaction_began, alone)),
        snapshot,
        is_snapshot_stable: alone,
        writer,
        transaction: context.transaction,
        params,
        explains: false,
        growth: Growth::new(
            Arc::clone(&context.budget),
            Arc::clone(&context.cancel),
            context.deadline,
            context.meter.clone(),
        ),
        batch_limits: BatchLimits::within(context.budget.limit()),
        budget: context.budget,
        spill: context.spill,
        cancel: context.cancel,
        procedures: context.procedures,
        functions: context.functions,
        files: context.files,
        disk_budget: context.disk_budget,
        sources: context.sources,
        user: context.user,
        store_uuid: context.store_uuid,
        tuning,
        meter: context.meter,
    }
}

impl Execution {
    /// The statement whose operators these are.
    pub(crate) fn new(
        plan: Arc<Plan>,
        physical: Arc<PhysicalPlan>,
        rt: QueryContext,
        root: BoxedOperator,
        cells: Option<ProfileCells>,
    ) -> Self {
        Execution {
            done: plan.mode == PlanMode::Explain,
            plan,
            physical,
            rt,
            root,
            cells,
        }
    }

    /// The next result rows, with one column per entry of [`Plan::columns`]; `None` at the end.
    ///
    /// # Errors
    /// Whatever goes wrong while running; the statement is over then.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let _metered = Metered::on(self.rt.meter.as_ref());
        let next = self
            .rt
            .check_cancelled()
            .and_then(|()| self.root.next(&self.rt));
        let outrun = self.rt.writer.as_ref().is_some_and(Writer::schema_changed);
        if outrun && !matches!(next, Ok(Some(_))) {
            // Only now, so that all new types are there when it is run again.
            self.done = true;
            return Err(ExecError::SchemaChanged);
        }
        match next {
            Ok(Some(batch)) => {
                let wanted = &self.physical.columns;
                if wanted.len() == batch.columns().len()
                    && wanted.iter().copied().eq(0..wanted.len())
                {
                    return Ok(Some(batch));
                }
                let columns = wanted
                    .iter()
                    .map(|c| Arc::clone(batch.column(*c)))
                    .collect();
                Ok(Some(Batch::new(columns, batch.len())))
            }
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(error) => {
                self.done = true;
                Err(error)
            }
        }
    }

    /// What happened to pages on threads other than the caller's since this was last asked; none if
    /// there were none.
    #[must_use]
    pub fn take_thread_pages(&self) -> Option<Box<PerKind>> {
        let pages = self.rt.shared.thread_pages.lock();
        pages.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The budget that the statement reserves from.
    #[must_use]
    pub fn budget(&self) -> &Arc<Budget> {
        &self.rt.budget
    }

    /// Whether the statement may go on.
    ///
    /// # Errors
    /// It was cancelled, or its time is over.
    pub fn check_cancelled(&self) -> Result<()> {
        self.rt.check_cancelled()
    }

    /// The plan being run.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The snapshot it runs on, for the labels and properties of returned nodes and relationships.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.rt.snapshot
    }

    /// Type, start and end of the relationships that the statement has deleted and may return; they
    /// are handed over.
    #[must_use]
    pub fn take_deleted(&self) -> DeletedRelationships {
        let writer = self.rt.writer.as_ref();
        writer.map_or_else(DeletedRelationships::new, Writer::take_deleted)
    }

    /// Compares the unique keys that the statement has created many at once; to be called at its
    /// end.
    ///
    /// # Errors
    /// A key that is there twice; the statement's time is over, or it was cancelled.
    pub fn check_unique_keys(&self) -> Result<()> {
        let Some(writer) = &self.rt.writer else {
            return Ok(());
        };
        let transaction = writer.transaction();
        transaction.check_unique_keys(|| self.rt.check_cancelled())
    }

    /// What the operators did so far; empty unless the statement is profiled.
    #[must_use]
    pub fn profile(&self) -> ProfileTree {
        self.cells
            .as_ref()
            .map(|cells| ProfileTree::of(&self.physical.steps(&self.plan), cells))
            .unwrap_or_default()
    }

    /// The physical plan being run.
    #[must_use]
    pub fn physical(&self) -> &Arc<PhysicalPlan> {
        &self.physical
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution")
            .field("columns", &self.plan.columns)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
