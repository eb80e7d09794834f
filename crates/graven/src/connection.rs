//! Where statements are run: parse, plan, execute, cancel.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use graven_cypher::plan::{Operator, PlanMode};
use graven_cypher::{ParameterNames, Plan, parse_and_plan};
use graven_exec::{ExecContext, execute};
use graven_storage::{Snapshot, Store, TransactionOptions};

use crate::database::Database;
use crate::error::Error;
use crate::materialise::to_inner;
use crate::params::Params;
use crate::procedures::OnDatabase;
use crate::result::QueryResult;
use crate::schema::Schema;

/// A place to run statements from. Cheap to make; one a thread is usual, but it may be shared.
#[derive(Clone, Debug)]
pub struct Connection {
    db: Database,
    cancel: Arc<AtomicBool>,
    options: TransactionOptions,
    /// When the transaction began whose statements this connection runs.
    began: Option<SystemTime>,
}

/// Parameters as the executor takes them, made once for all attempts.
struct Run {
    values: Arc<graven_exec::Params>,
}

impl Run {
    fn new(params: &Params) -> Self {
        let values = params
            .iter()
            .map(|(name, value)| (name.to_owned(), to_inner(value)));
        Run {
            values: Arc::new(values.collect()),
        }
    }
}

/// Cancels the statements of one connection, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<AtomicBool>);

impl CancelHandle {
    /// Asks the statements that run now to stop; they end with `Statement.Cancelled`.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A statement that has been checked and planned.
#[derive(Clone, Debug)]
pub struct Prepared {
    text: Arc<str>,
    connection: Connection,
}

impl Connection {
    pub(crate) fn new(db: Database) -> Self {
        Connection {
            db,
            cancel: Arc::default(),
            options: TransactionOptions::default(),
            began: None,
        }
    }

    /// Starts a statement. Rows of one that reads come as they are asked for; dropping the result ends it. One that
    /// writes runs in a transaction of its own: when this returns it is committed and durable.
    ///
    /// # Errors
    /// `SyntaxError.*` and other errors of the text with their place; errors of the first step of running it.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::Params;
    /// let connection = db.connect();
    /// for row in connection.query("UNWIND [1, 2] AS x RETURN x", &Params::new())? {
    ///     println!("{:?}", row?.get_by_name("x"));
    /// }
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn query(&self, text: &str, params: &Params) -> Result<QueryResult, Error> {
        let snapshot = self.store().snapshot();
        let plan = self.plan(text, params, &snapshot)?;
        self.cancel.store(false, Ordering::Relaxed);
        if plan.writes() && plan.mode != PlanMode::Explain {
            let run = Run::new(params);
            let merges = plan.root.any(&|op| matches!(op, Operator::Merge { .. }));
            return self.autocommit(merges, |transaction| self.run(&plan, transaction, &run));
        }
        let values = Run::new(params).values;
        let context = self.context(None);
        QueryResult::start(plan, snapshot, |plan, snapshot| {
            execute(plan, snapshot, values, context)
        })
    }

    /// Runs a statement to its end in a transaction.
    pub(crate) fn run_in(
        &self,
        transaction: &Arc<graven_storage::Transaction>,
        text: &str,
        params: &Params,
    ) -> Result<QueryResult, Error> {
        let plan = self.plan(text, params, &transaction.snapshot())?;
        self.cancel.store(false, Ordering::Relaxed);
        self.run(&plan, transaction, &Run::new(params))
    }

    fn run(
        &self,
        plan: &Arc<Plan>,
        transaction: &Arc<graven_storage::Transaction>,
        run: &Run,
    ) -> Result<QueryResult, Error> {
        let context = self.context(Some(Arc::clone(transaction)));
        let snapshot = transaction.snapshot();
        let before = transaction.counters();
        let result = QueryResult::start(Arc::clone(plan), snapshot, |plan, snapshot| {
            execute(plan, snapshot, Arc::clone(&run.values), context)
        })?;
        result.complete(&self.db.inner.budget, &before, transaction)
    }

    fn context(&self, transaction: Option<Arc<graven_storage::Transaction>>) -> ExecContext {
        let inner = &self.db.inner;
        let mut context = ExecContext::new(Arc::clone(&inner.budget));
        context.spill = Some(Arc::clone(&inner.spill));
        context.cancel = Arc::clone(&self.cancel);
        context.procedures = Arc::new(OnDatabase(Arc::clone(inner)));
        context.store_uuid = inner.store.uuid();
        context.transaction = transaction;
        context.transaction_began = self.began;
        context
    }

    pub(crate) fn forget_plans(&self) {
        self.db.inner.plans.clear();
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.db.inner.store
    }

    /// Options of the transactions of single statements.
    pub(crate) fn options(&self) -> TransactionOptions {
        self.options.clone()
    }

    /// The same connection, whose single statements run with these options.
    #[must_use]
    pub fn with_options(mut self, options: TransactionOptions) -> Connection {
        self.options = options;
        self
    }

    /// The same connection, for the statements of a transaction that begins now.
    pub(crate) fn in_transaction(mut self) -> Connection {
        self.began = Some(SystemTime::now());
        self
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(graven_exec::ExecError::Cancelled.into()),
            false => Ok(()),
        }
    }

    /// Checks and plans a statement whose parameters come later.
    ///
    /// # Errors
    /// `SyntaxError.*` and other errors of the text, with their place.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::Params;
    /// let friends = db.connect().prepare("MATCH (:Person {id: $id})-[:KNOWS]-(f) RETURN count(f)")?;
    /// for id in [933, 1129] {
    ///     println!("{:?}", friends.query(&Params::new().with("id", id))?.next_row()?);
    /// }
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn prepare(&self, text: &str) -> Result<Prepared, Error> {
        let snapshot = self.db.inner.store.snapshot();
        parse_and_plan(
            text,
            &Schema(&snapshot, &self.db.inner.registered),
            &ParameterNames::Any,
        )?;
        Ok(Prepared {
            text: Arc::from(text),
            connection: self.clone(),
        })
    }

    /// Something another thread can cancel this connection's statements with.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(Arc::clone(&self.cancel))
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.db
    }

    fn plan(&self, text: &str, params: &Params, snapshot: &Snapshot) -> Result<Arc<Plan>, Error> {
        let nodes = snapshot.node_count();
        let plans = &self.db.inner.plans;
        let names = || params.iter().map(|(name, _)| name);
        if let Some(plan) = plans.get(text, names(), nodes) {
            return Ok(plan);
        }
        let names: BTreeSet<String> = names().map(str::to_owned).collect();
        let known = ParameterNames::Known(names.clone());
        let plan = Arc::new(parse_and_plan(
            text,
            &Schema(snapshot, &self.db.inner.registered),
            &known,
        )?);
        plans.put(text, names, nodes, Arc::clone(&plan));
        Ok(plan)
    }
}

impl Prepared {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query(&self, params: &Params) -> Result<QueryResult, Error> {
        self.connection.query(&self.text, params)
    }
}
