//! `CALL { ... } IN TRANSACTIONS`: batches of rows, each committed before the next one begins.
//!
//! # How it works
//! A statement is cut at its subqueries in transactions, from the bottom up. What lies below one is
//! run on the state committed by then; its rows are taken in batches; each batch runs the subquery
//! row by row in a transaction of its own ([`Batches::run`]), which is durable before the next row
//! is taken. What the subquery returned is kept, spilling where it does not fit, and is the input
//! of what lies above, which runs on the state that the last batch left; where it writes, in a last
//! transaction, and again from those rows where that meets a conflict. Operators are started
//! for every batch, of a plan that is made anew where a batch has created names.
//!
//! # Invariants
//! * EX-46 No operator below a subquery in transactions writes, and none inside sees what other
//!   statements commit meanwhile.
//! * EX-23 Memory: one batch of input rows and what it returns, charged, besides what spills.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use graven_cypher::Plan;
use graven_cypher::plan::{InTransactions, OnError, Operator as P, PlanNode};
use graven_storage::{Snapshot, Transaction};
use graven_types::told;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::execution::{ExecContext, Execution, runtime};
use crate::expression::Compiler;
use crate::layout::Layout;
use crate::memory::{Memory, Metered};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::operators::limit::row_count;
use crate::physical::PhysicalPlan;
use crate::physical::node::{PhysicalNode, Start};
use crate::profile::ProfileCells;
use crate::query_context::{Params, QueryContext};
use crate::spill::{KeptRows, RowBuffer};
use crate::value::Value;
use crate::value::arithmetic::as_float;
use crate::writing::{self, Needs, Writer};

/// Where the transactions of batches come from.
pub trait Batches: Send + Sync {
    /// The state committed last.
    fn snapshot(&self) -> Snapshot;

    /// By what others name the statement.
    fn id(&self) -> String;

    /// Runs `body` in a transaction and commits it; again where it meets a conflict, and for so
    /// long where anything else was in the way that may pass. Its place in the order of commits.
    ///
    /// # Errors
    /// What `body` or the commit fails with; nothing of it is left then, unless the error says so.
    fn run(
        &self,
        patience: Option<Duration>,
        body: &mut dyn FnMut(&Arc<Transaction>) -> Result<()>,
    ) -> Result<u64>;
}

/// What is left of a statement once its batches have run.
pub struct AfterBatches {
    plan: Arc<Plan>,
    params: Arc<Params>,
    physical: Arc<PhysicalPlan>,
    cells: Option<ProfileCells>,
    rows: RowBuffer,
}

impl std::fmt::Debug for AfterBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AfterBatches").finish_non_exhaustive()
    }
}

/// Runs the batches of `plan`, which has a subquery in transactions.
///
/// # Errors
/// What goes wrong while running; batches committed by then stay.
pub fn run_batches(
    plan: Arc<Plan>,
    params: Arc<Params>,
    context: &ExecContext,
    batches: &dyn Batches,
) -> Result<AfterBatches> {
    let top = plan.root.in_transactions().ok_or_else(|| ExecError::Plan {
        message: "no subquery in transactions".to_owned(),
    })?;
    let _metered = Metered::on(context.meter.as_ref());
    let rt = runtime(
        context.clone(),
        Arc::clone(&params),
        batches.snapshot(),
        None,
    );
    rt.charge_params()?;
    let physical = PhysicalPlan::new(&plan, &rt)?;
    let profiled = plan.mode == graven_cypher::plan::PlanMode::Profile;
    let cells = profiled.then(|| ProfileCells::new(physical.nodes));
    let stage = Stage {
        plan: &plan,
        params: &params,
        context,
        batches,
        cells: cells.as_ref(),
        begun: Cell::new(0),
        physical: RefCell::new(Arc::new(physical)),
        inner: RefCell::default(),
    };
    let ends = matches!(&plan.root.op, P::EmptyResult { input } if input.id == top.id);
    let mut rows = stage.run(top, !ends)?;
    match plan.root.writes_after_transactions() {
        true => rows.finish_to_repeat()?,
        false => rows.finish()?,
    }
    let physical = stage.physical.into_inner();
    Ok(AfterBatches {
        plan,
        params,
        physical,
        cells,
        rows,
    })
}

impl AfterBatches {
    /// Starts what is left, which only reads, on the state that the last batch left.
    ///
    /// # Errors
    /// What goes wrong while it is started.
    pub fn read(self, context: ExecContext, snapshot: Snapshot) -> Result<Execution> {
        let _metered = Metered::on(context.meter.as_ref());
        let rt = runtime(context, self.params, snapshot, None);
        let ready = Box::new(Replay(self.rows));
        start((self.plan, self.physical, self.cells), rt, ready)
    }

    /// Starts what is left in the context's transaction; it may be started again in another one.
    ///
    /// # Errors
    /// What goes wrong while it is started.
    pub fn write(&self, context: ExecContext) -> Result<Execution> {
        let transaction = context.transaction.clone();
        let transaction = transaction.ok_or(ExecError::NoTransaction)?;
        let _metered = Metered::on(context.meter.as_ref());
        writing::intern(&self.plan.written_names(), &transaction)?;
        let needs = Needs::of(&self.plan);
        let writer = Writer::new(Arc::clone(&transaction), needs, &context.budget);
        let (snapshot, params) = (transaction.snapshot(), Arc::clone(&self.params));
        let rt = runtime(context, params, snapshot, Some(writer));
        let (plan, physical) = (Arc::clone(&self.plan), Arc::clone(&self.physical));
        let ready = Box::new(Again(self.rows.repeated()));
        start((plan, physical, self.cells.clone()), rt, ready)
    }
}

/// Starts the operators above the topmost subquery in transactions; its rows are `ready`.
fn start(
    (plan, physical, cells): (Arc<Plan>, Arc<PhysicalPlan>, Option<ProfileCells>),
    rt: QueryContext,
    ready: BoxedOperator,
) -> Result<Execution> {
    let physical = match physical.fits(&rt) {
        true => physical,
        false => Arc::new(PhysicalPlan::new(&plan, &rt)?),
    };
    let mut start = Start::new(&rt, cells.as_ref());
    start.ready = Some(ready);
    let root = physical.root.start(&mut start)?;
    Ok(Execution::new(plan, physical, rt, root, cells))
}

/// Takes what the subquery gave for a row: the row, then its rows and their layout, if there are
/// any.
type Found<'a> = dyn FnMut(&Batch, Option<(&Batch, &Layout)>) -> Result<()> + 'a;

/// What all stages of a statement share.
struct Stage<'a> {
    plan: &'a Plan,
    params: &'a Arc<Params>,
    context: &'a ExecContext,
    batches: &'a dyn Batches,
    cells: Option<&'a ProfileCells>,
    /// Batches begun, of all subqueries.
    begun: Cell<u64>,
    /// The plan for what lies outside of the subqueries.
    physical: RefCell<Arc<PhysicalPlan>>,
    /// The plan for the subqueries; none before the first batch.
    inner: RefCell<Option<Arc<PhysicalPlan>>>,
}

/// What became of a batch.
enum Outcome {
    Committed(u64),
    Failed(String),
    NotStarted,
}

impl Stage<'_> {
    /// For operators that read the state committed last.
    fn reading(&self) -> QueryContext {
        let (context, params) = (self.context.clone(), Arc::clone(self.params));
        runtime(context, params, self.batches.snapshot(), None)
    }

    /// The plan for operators that read: the last one, unless names were added since.
    fn known_by(&self, rt: &QueryContext) -> Result<Arc<PhysicalPlan>> {
        let mut known = self.physical.borrow_mut();
        if !known.fits(rt) {
            *known = Arc::new(PhysicalPlan::new(self.plan, rt)?);
        }
        Ok(Arc::clone(&known))
    }

    /// The plan for a batch.
    fn known_within(&self, rt: &QueryContext) -> Result<Arc<PhysicalPlan>> {
        let mut known = self.inner.borrow_mut();
        match &*known {
            Some(known) if known.fits(rt) => Ok(Arc::clone(known)),
            _ => {
                let made = Arc::new(PhysicalPlan::new(self.plan, rt)?);
                Ok(Arc::clone(known.insert(made)))
            }
        }
    }

    /// Runs all batches of one subquery in transactions; its rows, if they are `wanted`.
    fn run(&self, node: &PlanNode, wanted: bool) -> Result<RowBuffer> {
        let P::InTransactions { input, batches, .. } = &node.op else {
            unreachable!("only subqueries in transactions");
        };
        let below: Option<BoxedOperator> = match input.in_transactions() {
            Some(lower) => {
                let mut rows = self.run(lower, true)?;
                rows.finish()?;
                Some(Box::new(Replay(rows)))
            }
            None => None,
        };
        let rt = self.reading();
        let physical = self.known_by(&rt)?;
        let physical = &part(&physical, node)?.inputs[0];
        let layout = physical.layout.clone();
        let mut start = Start::new(&rt, self.cells);
        start.ready = below;
        let mut source = physical.start(&mut start)?;
        let size = rows_of_batch(batches, &layout, &rt)?;
        let patience = patience(batches, &layout, &rt)?;
        let mut kept = RowBuffer::new(&rt, "InTransactions", "return less from the subquery");
        let mut memory = Memory::new(&rt.budget, "InTransactions", "make batches of fewer rows");
        let mut cutter = Cutter::default();
        let mut broken = false;
        loop {
            rt.check_cancelled()?;
            let rows = cutter.next(&mut *source, size, &mut memory, &rt)?;
            if rows.is_empty() {
                break;
            }
            let (outcome, returned) = match broken {
                true => (Outcome::NotStarted, Vec::new()),
                false => self.batch(node, (batches, patience), &rows, wanted)?,
            };
            broken |= batches.on_error == OnError::Break && matches!(outcome, Outcome::Failed(_));
            if wanted {
                let returned = match outcome {
                    Outcome::Committed(_) => returned,
                    _ => rows.into_iter().map(|b| with_nulls(b, batches)).collect(),
                };
                let name = || format!("{}/{}", self.batches.id(), self.begun.get());
                let status = batches.status.map(|_| outcome.status(name));
                for batch in returned {
                    let width = batch.columns().len();
                    kept.push(match &status {
                        Some(status) => {
                            let column = Column::Constant(status.clone(), batch.len());
                            batch.with_column(width, column)
                        }
                        None => batch,
                    })?;
                }
            }
            memory.set(cutter.bytes())?;
        }
        Ok(kept)
    }

    /// Runs one batch in its transaction; what the subquery returned, joined to the rows.
    ///
    /// # Errors
    /// A failure that ends the statement.
    fn batch(
        &self,
        node: &PlanNode,
        (batches, patience): (&InTransactions, Option<Duration>),
        rows: &[Batch],
        wanted: bool,
    ) -> Result<(Outcome, Vec<Batch>)> {
        self.begun.set(self.begun.get() + 1);
        let mut returned = Vec::new();
        let mut memory = Memory::new(
            &self.context.budget,
            "InTransactions",
            "make batches of fewer rows, or return less from the subquery",
        );
        let done = self.batches.run(patience, &mut |transaction| {
            returned.clear();
            memory.clear();
            self.attempt(node, transaction, rows, &mut |row, more| {
                if wanted {
                    let joined = match more {
                        Some(more) => join(row, more, &batches.columns)?,
                        None => with_nulls(row.clone(), batches),
                    };
                    memory.charge(joined.heap_bytes())?;
                    returned.push(joined);
                }
                Ok(())
            })
        });
        match done {
            Ok(timestamp) => {
                let joined = match returned.is_empty() {
                    true => Vec::new(),
                    false => vec![Batch::concat(&returned)],
                };
                Ok((Outcome::Committed(timestamp), joined))
            }
            Err(error) if batches.on_error == OnError::Fail => Err(error),
            Err(error @ (ExecError::Cancelled | ExecError::TimedOut { .. })) => Err(error),
            Err(error) => Ok((Outcome::Failed(error.to_string()), Vec::new())),
        }
    }

    /// Runs the subquery for each row in the transaction.
    fn attempt(
        &self,
        node: &PlanNode,
        transaction: &Arc<Transaction>,
        rows: &[Batch],
        found: &mut Found<'_>,
    ) -> Result<()> {
        let P::InTransactions { inner, batches, .. } = &node.op else {
            unreachable!("only subqueries in transactions");
        };
        writing::intern(&inner.written_names(), transaction)?;
        let writer = inner.writes().then(|| {
            Writer::new(
                Arc::clone(transaction),
                Needs::of(self.plan),
                &self.context.budget,
            )
        });
        let mut context = self.context.clone();
        context.transaction = Some(Arc::clone(transaction));
        let params = Arc::clone(self.params);
        let rt = runtime(context, params, transaction.snapshot(), writer);
        let physical = self.known_within(&rt)?;
        let physical = part(&physical, node)?;
        let (mut root, slot) = physical.inner(1, &mut Start::new(&rt, self.cells))?;
        let inner_layout = &physical.inputs[1].layout;
        for batch in rows {
            for row in 0..batch.len() {
                rt.check_cancelled()?;
                let row = batch.slice(row, row + 1);
                slot.set(row.clone());
                root.rewind();
                let mut is_empty = true;
                while let Some(more) = root.next(&rt)? {
                    is_empty &= more.is_empty();
                    found(&row, Some((&more, inner_layout)))?;
                }
                if is_empty && batches.optional {
                    found(&row, None)?;
                }
            }
        }
        transaction.check_statement()?;
        Ok(())
    }
}

/// The node that stands for a subquery in transactions.
fn part<'p>(physical: &'p PhysicalPlan, node: &PlanNode) -> Result<&'p Arc<PhysicalNode>> {
    physical.root.find(node.id).ok_or_else(|| ExecError::Plan {
        message: told!("operator {} is not in its physical plan", node.id),
    })
}

/// How long a batch is run again where that may help.
fn patience(
    batches: &InTransactions,
    layout: &Layout,
    rt: &QueryContext,
) -> Result<Option<Duration>> {
    let Some(seconds) = &batches.retry else {
        return Ok(None);
    };
    let compiled = Compiler::new(layout, rt).compile(seconds)?;
    let value = compiled.constant(rt)?;
    let time = as_float(&value).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time {
        Some(time) => Ok(Some(time)),
        None => {
            let message = told!("RETRY FOR needs a time in seconds from 0 on, got {value}");
            Err(ExecError::Argument { message }.at(batches.retry_at))
        }
    }
}

fn rows_of_batch(batches: &InTransactions, layout: &Layout, rt: &QueryContext) -> Result<usize> {
    let Some(rows) = &batches.rows else {
        return Ok(usize::try_from(InTransactions::ROWS).unwrap_or(usize::MAX));
    };
    let compiled = Compiler::new(layout, rt).compile(rows)?;
    match row_count("OF ... ROWS", &compiled, rt)? {
        0 => Err(ExecError::Named {
            kind: "SyntaxError",
            detail: "NegativeIntegerArgument",
            message: "OF ... ROWS needs a number of rows from 1 on, got 0".to_owned(),
        }),
        rows => Ok(usize::try_from(rows).unwrap_or(usize::MAX)),
    }
}

/// The row with what the subquery returned for it.
fn join(
    row: &Batch,
    (more, layout): (&Batch, &Layout),
    added: &[graven_cypher::plan::VarId],
) -> Result<Batch> {
    let same = vec![0; more.len()];
    let mut columns = row.gather(&same).columns().to_vec();
    for var in added {
        let slot = layout.slot(*var).ok_or_else(|| ExecError::Plan {
            message: told!("variable {} is not returned by its subquery (CY-1)", var.0),
        })?;
        columns.push(Arc::clone(more.column(slot)));
    }
    Ok(Batch::new(columns, more.len()))
}

/// Rows of a batch that failed, or was not run.
fn with_nulls(batch: Batch, batches: &InTransactions) -> Batch {
    let rows = batch.len();
    batches.columns.iter().fold(batch, |batch, _| {
        let width = batch.columns().len();
        batch.with_column(width, Column::Constant(Value::Null, rows))
    })
}

impl Outcome {
    /// The value of `REPORT STATUS AS`; a batch that was not committed has no place in the order,
    /// so it has a `name`.
    fn status(&self, name: impl FnOnce() -> String) -> Value {
        let (started, committed, id, message) = match self {
            Outcome::Committed(at) => (
                true,
                true,
                Value::text(&format!("commit-{at}")),
                Value::Null,
            ),
            Outcome::Failed(message) => (true, false, Value::text(&name()), Value::text(message)),
            Outcome::NotStarted => (false, false, Value::Null, Value::Null),
        };
        Value::map(vec![
            ("started".into(), Value::Boolean(started)),
            ("committed".into(), Value::Boolean(committed)),
            ("transactionId".into(), id),
            ("errorMessage".into(), message),
        ])
    }
}

/// Cuts the rows of a source into batches of one size.
#[derive(Default)]
struct Cutter {
    rest: Option<Batch>,
    ended: bool,
}

impl Cutter {
    /// The next rows; none at the end.
    fn next(
        &mut self,
        source: &mut dyn PhysicalOperator,
        size: usize,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Vec<Batch>> {
        let (mut rows, mut count) = (Vec::new(), 0);
        while count < size {
            let batch = match self.rest.take() {
                Some(batch) => batch,
                None if self.ended => break,
                None => match source.next(rt)? {
                    Some(batch) => {
                        memory.charge(batch.heap_bytes())?;
                        batch
                    }
                    None => {
                        self.ended = true;
                        break;
                    }
                },
            };
            let taken = batch.len().min(size - count);
            if taken < batch.len() {
                self.rest = Some(batch.slice(taken, batch.len()));
            }
            rows.push(batch.slice(0, taken));
            count += taken;
        }
        Ok(rows)
    }

    /// Bytes of what is left over.
    fn bytes(&self) -> usize {
        self.rest.as_ref().map_or(0, Batch::heap_bytes)
    }
}

/// Hands out rows that are there already, and stay.
struct Again(KeptRows);

impl PhysicalOperator for Again {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        rt.check_cancelled()?;
        self.0.next(rt)
    }

    /// Never asked for: the rows stand at the bottom of the statement's own pipeline.
    fn rewind(&mut self) {}
}

/// Hands out rows that are there already.
struct Replay(RowBuffer);

impl PhysicalOperator for Replay {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        rt.check_cancelled()?;
        self.0.next(rt)
    }

    /// Never asked for: the rows stand at the bottom of the statement's own pipeline.
    fn rewind(&mut self) {}

    fn spilled_bytes(&self) -> u64 {
        self.0.spilled_bytes()
    }
}
