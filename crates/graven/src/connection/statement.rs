//! Statements of a connection: from the text to the operators that run.

use super::{Connection, Own, Prepared, Run, StatementContext};
use crate::database_manager::DatabaseManager;
use crate::error::Error;
use crate::instance::{Backend, Instance};
use crate::params::Params;
use crate::plan_cache::{self, CompiledStatement, plan_bytes, texts_of};
use crate::procedures::DatabaseProcedures;
use crate::query_result::QueryResult;
use crate::remote;
use crate::result::LocalCursor;
use crate::schema::{Asked, Schema};
use crate::statements::StatementGuard;
use crate::within::{Fate, Within};
use graven_cypher::{
    Address, ParameterNames, Stop, address_of, parse_and_plan_logical, parse_and_plan_until,
};
use graven_exec::sources::{Patience, Reach};
use graven_exec::{Deadline, ExecContext, ExecError, Sources, UserFunctions, execute_kept};
use graven_storage::{CheckpointOptions, Snapshot};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// A statement that loads nodes or relationships ends with a checkpoint if it has made so many,
const LOADED: u64 = 10_000;
/// and they are at least this part of all: many loads of few rows make few checkpoints.
const LOADED_SHARE: u64 = 16;

/// What a statement may come to in its logical plan and in that plan's text.
fn logical_plan_bytes(text: &str) -> u64 {
    const BYTES: u64 = 1024;
    (text.len() as u64).saturating_mul(BYTES)
}

/// The question that planning asks from time to time.
fn stop_when(ended: impl Fn() -> Result<(), ExecError> + 'static) -> Stop {
    Rc::new(move || ended().is_err())
}

/// Makes a checkpoint after a statement that has loaded many rows: a later statement that looks
/// them up, say for the table of relationships, finds them in packed pages.
fn fold(inner: &Instance, loads: bool, done: &LocalCursor) {
    let (nodes, relationships) = done.created();
    let snapshot = inner.store.snapshot();
    let is_much = |made: u64, all: u64| made >= LOADED && made >= all / LOADED_SHARE;
    let much = is_much(nodes, snapshot.node_count())
        || is_much(relationships, snapshot.relationship_count());
    drop(snapshot);
    if loads && much {
        let mut options = CheckpointOptions::default();
        // The statement waits for it.
        (options.paced, options.compact) = (false, false);
        // The statement is committed. A checkpoint that fails is tried again, and reported then.
        let _ = inner.store.checkpoint_if_idle(options);
    }
}

impl Connection {
    /// Starts a statement. Rows of one that reads come as they are asked for; dropping the result
    /// ends it. One that writes runs in a transaction of its own: when this returns it is committed
    /// and durable.
    ///
    /// # Errors
    /// `SyntaxError.*` and other errors of the text with their place; errors of the first step of
    /// running it.
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
        let inner = match self.db.backend()? {
            Backend::Local(inner) => inner,
            Backend::Remote(_) if !params.frames().is_empty() => {
                return Err(Error::new(
                    "ArgumentError.InvalidSource",
                    "another process owns the database, and a frame cannot go there: write it to a \
                        file, and load that",
                ));
            }
            Backend::Remote(attached) => return remote::query(self, attached, text, params),
        };
        self.cancel.reset();
        let deadline = self.deadline();
        let snapshot = inner.store.snapshot();
        let planned = self.plan(&inner, text, params, &snapshot, deadline)?;
        self.start(&inner, planned, params, snapshot, deadline)
    }

    /// Starts a planned statement; one that writes runs to its end.
    pub(super) fn start(
        &self,
        inner: &Arc<Instance>,
        planned: CompiledStatement,
        params: &Params,
        snapshot: Snapshot,
        deadline: Option<Deadline>,
    ) -> Result<QueryResult, Error> {
        self.check_access(inner, &planned)?;
        let text = Arc::clone(&planned.text);
        let flag = self.cancel.flag();
        let guard = inner
            .statements
            .register(Some(text), self.access.user.clone(), flag);
        self.says(&guard);
        if planned.runs_in_transactions() {
            drop(snapshot);
            let loads = planned.loads();
            let done = self.in_transactions(inner, planned, params, guard)?;
            fold(inner, loads, &done);
            return Ok(done.into());
        }
        let begun = guard.begun();
        // All attempts together have the time of one statement.
        let occasion = StatementContext {
            guard: &guard,
            begun,
            deadline,
            frames: params.frames(),
        };
        if planned.writes() {
            if planned.makes_transactions() {
                // On a conflict it is run again, and what it has committed would be there twice.
                return Err(Error::new(
                    "Transaction.ImplicitOnly",
                    "a statement that writes cannot call apoc.periodic.*, which has transactions \
                        of its own: run them one after the other",
                ));
            }
            let run = Run::new(params);
            let done = self.autocommit(inner, planned.merges(), |transaction| {
                self.run(inner, &planned, transaction, &run, &occasion)
            });
            let done = done?;
            drop(snapshot);
            fold(inner, planned.loads(), &done);
            return Ok(done.into());
        }
        let values = Run::new(params).values;
        let mut context = self.context(inner, &planned, None, &occasion);
        context.only_reads = true;
        let plans = Arc::clone(&planned.physical);
        let run = |plan, snapshot| execute_kept(plan, &plans, snapshot, values, context);
        let acts = planned.acts();
        let mut running = LocalCursor::start(planned, snapshot, begun, run)?;
        running.sits(guard);
        if acts {
            running.begin_now()?;
        }
        Ok(running.into())
    }

    /// The columns of a statement.
    pub(crate) fn columns_of(
        &self,
        inner: &Instance,
        text: &str,
        params: &Params,
    ) -> Result<Arc<[String]>, Error> {
        let snapshot = inner.store.snapshot();
        let planned = self.plan(inner, text, params, &snapshot, self.deadline())?;
        Ok(planned.columns)
    }

    /// Starts a statement while another one of this connection runs, with transactions of its own:
    /// both are cancelled together.
    pub(crate) fn run_within(
        &self,
        inner: &Arc<Instance>,
        text: &str,
        params: &Params,
    ) -> Result<QueryResult, Error> {
        let deadline = self.deadline();
        let snapshot = inner.store.snapshot();
        let planned = self.plan(inner, text, params, &snapshot, deadline)?;
        self.start(inner, planned, params, snapshot, deadline)
    }

    /// Runs a statement to its end in a transaction.
    pub(crate) fn run_in(
        &self,
        inner: &Arc<Instance>,
        transaction: &Arc<graven_storage::Transaction>,
        (text, params): (&str, &Params),
        guard: &StatementGuard,
    ) -> Result<QueryResult, Error> {
        self.cancel.reset();
        let deadline = self.deadline();
        // Which plan is taken changes no answer.
        let unrecorded = transaction.unrecorded_snapshot();
        let planned = self.plan(inner, text, params, &unrecorded, deadline)?;
        self.check_access(inner, &planned)?;
        if planned.runs_in_transactions() {
            return Err(Error::new(
                "Transaction.ImplicitOnly",
                "a statement with CALL { ... } IN TRANSACTIONS makes transactions of its own: run \
                    it outside of a transaction",
            ));
        }
        guard.runs(Some(Arc::clone(&planned.text)))?;
        let run = Run::new(params);
        let occasion = StatementContext {
            guard,
            begun: Instant::now(),
            deadline,
            frames: params.frames(),
        };
        let ran = self.run(inner, &planned, transaction, &run, &occasion);
        let idle = guard.runs(None);
        let running = ran?;
        idle?;
        Ok(running.into())
    }

    /// Starts a statement in a transaction: the rows of one that reads come as they are asked for,
    /// one that writes runs to its end.
    pub(crate) fn stream_in(
        &self,
        inner: &Arc<Instance>,
        transaction: &Arc<graven_storage::Transaction>,
        (text, params): (&str, &Params),
        (guard, fate): (&StatementGuard, &Arc<Fate>),
    ) -> Result<QueryResult, Error> {
        self.cancel.reset();
        let unrecorded = transaction.unrecorded_snapshot();
        let deadline = self.deadline();
        let planned = self.plan(inner, text, params, &unrecorded, deadline)?;
        if planned.writes() || planned.runs_in_transactions() || planned.acts() {
            return self.run_in(inner, transaction, (text, params), guard);
        }
        self.check_access(inner, &planned)?;
        let sitting = guard.sits(Arc::clone(&planned.text))?;
        let values = Run::new(params).values;
        let occasion = StatementContext {
            guard,
            begun: Instant::now(),
            deadline,
            frames: params.frames(),
        };
        let context = self.context(inner, &planned, Some(Arc::clone(transaction)), &occasion);
        let snapshot = transaction.snapshot();
        let begun = occasion.begun;
        let plans = Arc::clone(&planned.physical);
        let mut running = LocalCursor::start(planned, snapshot, begun, |plan, snapshot| {
            execute_kept(plan, &plans, snapshot, values, context)
        })?;
        running.is_within(Within::new(sitting, fate));
        Ok(running.into())
    }

    /// Runs a statement to its end.
    pub(super) fn run(
        &self,
        inner: &Arc<Instance>,
        planned: &CompiledStatement,
        transaction: &Arc<graven_storage::Transaction>,
        run: &Run,
        occasion: &StatementContext<'_>,
    ) -> Result<LocalCursor, Error> {
        let context = self.context(inner, planned, Some(Arc::clone(transaction)), occasion);
        let snapshot = transaction.snapshot();
        let before = transaction.counters();
        let begun = occasion.begun;
        let result = LocalCursor::start(planned.clone(), snapshot, begun, |plan, snapshot| {
            let values = Arc::clone(&run.values);
            execute_kept(plan, &planned.physical, snapshot, values, context)
        })?;
        result.complete(&inner.budget, &before, transaction)
    }

    pub(crate) fn context(
        &self,
        inner: &Arc<Instance>,
        planned: &CompiledStatement,
        transaction: Option<Arc<graven_storage::Transaction>>,
        occasion: &StatementContext<'_>,
    ) -> ExecContext {
        let own = self.own.get_or_init(|| Own::of(inner));
        let sources = match occasion.frames.is_empty() {
            true => Arc::clone(&own.sources),
            false => Arc::new(Sources {
                frames: Arc::clone(occasion.frames),
                left_out: Arc::clone(&inner.left_out),
            }),
        };
        let mut context = ExecContext {
            budget: Arc::clone(&own.budget),
            spill: Some(Arc::clone(&own.spill)),
            cancel: self.cancel.flag(),
            deadline: occasion.deadline,
            procedures: None,
            functions: planned.functions.clone(),
            files: self.access.files.clone(),
            disk_budget: inner.disk_budget,
            sources,
            user: self.access.user.clone(),
            store_uuid: inner.store.uuid(),
            begun: occasion.begun,
            transaction_began: self.began,
            only_reads: false,
            transaction: None,
            meter: Some(occasion.guard.meter()),
            tuning: inner.tuning,
        };
        if planned.calls() {
            context.procedures = Some(Arc::new(DatabaseProcedures {
                database: Arc::clone(inner),
                connection: self.clone(),
                context: context.clone(),
                running: occasion.guard.running(),
                depth: self.depth,
            }));
        }
        context.transaction = transaction;
        context
    }

    /// Whether the statement would change something. Of a statement that another process runs it is
    /// not asked: it runs to its end there.
    ///
    /// # Errors
    /// Those of the text, with their place.
    pub fn would_write(&self, text: &str, params: &Params) -> Result<bool, Error> {
        self.cancel.reset();
        match self.db.backend()? {
            Backend::Local(_) => self.writes(text, params),
            Backend::Remote(_) => Ok(false),
        }
    }

    /// Whether the statement would write.
    pub(crate) fn writes(&self, text: &str, params: &Params) -> Result<bool, Error> {
        let inner = self.db.inner()?;
        let snapshot = inner.store.snapshot();
        let planned = self.plan(inner, text, params, &snapshot, self.deadline())?;
        Ok(planned.writes())
    }

    /// Refuses a statement that may not be run.
    pub(crate) fn check_access(
        &self,
        inner: &Instance,
        planned: &CompiledStatement,
    ) -> Result<(), Error> {
        let needs = planned.needs();
        if self.access.is_unbounded() {
            return Ok(());
        }
        let user = || self.access.listed_user(&inner.store);
        self.access.check(user, needs, &"the statement")
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
        match self.db.backend()? {
            Backend::Local(inner) => {
                self.cancel.reset();
                let snapshot = inner.store.snapshot();
                let deadline = self.deadline();
                let _reserved = plan_cache::reserved(text, plan_bytes, &inner.budget)?;
                let ended = self.ended(deadline);
                let plan = |schema: &Schema<'_>, _: &Arc<UserFunctions>| {
                    let stop = stop_when(ended.clone());
                    parse_and_plan_until(text, schema, &ParameterNames::Any, stop).map(drop)
                };
                let params = Params::new();
                let (planned, _) = self.with_schema(&inner, (&params, deadline), &snapshot, plan);
                // A text that was given up is no wrong one.
                ended()?;
                planned?;
            }
            Backend::Remote(attached) => self.db.ask(attached, |attached| attached.check(text))?,
        }
        Ok(Prepared::new(Arc::from(text), self.clone()))
    }

    /// For which database of a server a statement is; none for what cannot be parsed.
    ///
    /// # Errors
    /// `Memory.Limit` for a text that is too long; the statement was cancelled, or its time is
    /// over.
    pub fn address_of(&self, text: &str) -> Result<Option<Address>, Error> {
        self.cancel.reset();
        let Backend::Local(inner) = self.db.backend()? else {
            return Ok(address_of(text, Rc::new(|| false)));
        };
        let _reserved = plan_cache::reserved(text, plan_bytes, &inner.budget)?;
        let ended = self.ended(self.deadline());
        let address = address_of(text, stop_when(ended.clone()));
        ended()?;
        Ok(address)
    }

    /// The plan of a statement for another engine, as JSON.
    pub(crate) fn logical_plan(
        &self,
        inner: &Instance,
        text: &str,
        snapshot: &Snapshot,
        deadline: Option<Deadline>,
    ) -> Result<String, Error> {
        let _reserved = plan_cache::reserved(text, logical_plan_bytes, &inner.budget)?;
        let ended = self.ended(deadline);
        let (plan, _) =
            self.with_schema(inner, (&Params::new(), deadline), snapshot, |schema, _| {
                let stop = stop_when(ended.clone());
                parse_and_plan_logical(text, schema, &ParameterNames::Any, stop)
            });
        // A text that was given up is no wrong one.
        ended()?;
        Ok(plan?.to_json())
    }

    /// Whether planning is not wanted any more.
    fn ended(
        &self,
        deadline: Option<Deadline>,
    ) -> impl Fn() -> Result<(), ExecError> + Clone + use<> {
        let flag = self.cancel.flag();
        move || Deadline::check(deadline, &flag)
    }

    /// Plans with what is known of the data and the functions of programs; and what was asked of
    /// the data.
    fn with_schema<T>(
        &self,
        inner: &Instance,
        (params, deadline): (&Params, Option<Deadline>),
        snapshot: &Snapshot,
        plan: impl FnOnce(&Schema<'_>, &Arc<UserFunctions>) -> T,
    ) -> (T, Asked) {
        let asked = Asked::default();
        let reach = Reach {
            files: &self.access.files,
            memory: inner.budget.limit(),
            disk_budget: inner.disk_budget,
            patience: &Patience {
                cancel: self.cancel.flag(),
                deadline,
            },
        };
        let files = (reach, params.frames());
        let functions = self.functions.now();
        let own = (&inner.registered, &*functions);
        let schema = Schema(
            snapshot,
            own,
            &inner.tuning,
            &asked,
            files,
            self.of_server(inner),
        );
        let planned = plan(&schema, &functions);
        (planned, asked)
    }

    /// What tells by which names the database is called.
    fn of_server<'a>(&'a self, inner: &'a Instance) -> (&'a Path, Option<&'a dyn DatabaseManager>) {
        (&inner.path, self.database_manager.as_deref())
    }

    pub(crate) fn plan(
        &self,
        inner: &Instance,
        text: &str,
        params: &Params,
        snapshot: &Snapshot,
        deadline: Option<Deadline>,
    ) -> Result<CompiledStatement, Error> {
        let begun = Instant::now();
        let nodes = snapshot.node_count();
        let plans = &inner.plans;
        if let Some(mut known) = plans.get(text, params, snapshot, nodes) {
            known.planning = begun.elapsed();
            return Ok(known);
        }
        let names = || params.iter().map(|(name, _)| name.to_owned());
        let texts = params.iter().map(|(_, value)| texts_of(value));
        let frames = params.frames().keys().map(|name| (name.to_string(), None));
        let known = ParameterNames::Known(names().zip(texts).chain(frames).collect());
        let memory = match plan_cache::reserved(text, plan_bytes, &inner.budget) {
            Ok(memory) => memory,
            Err(_) => {
                plans.clear();
                plan_cache::reserved(text, plan_bytes, &inner.budget)?
            }
        };
        let ended = self.ended(deadline);
        let ((plan, functions), asked) =
            self.with_schema(inner, (params, deadline), snapshot, |schema, functions| {
                let stop = stop_when(ended.clone());
                let plan = parse_and_plan_until(text, schema, &known, stop);
                (plan, Arc::clone(functions))
            });
        // A text that was given up is no wrong one.
        ended()?;
        let (calls, expanded) = (asked.has_called(), asked.has_expanded());
        let counted = asked.counted(nodes);
        let mut planned = CompiledStatement::new(text, plan?, counted, memory, &inner.registered);
        planned.functions = calls.then_some(functions);
        planned.does.has_macros = expanded;
        // A notice may be out of date by the next time: an unknown label may have come to exist.
        if planned.is_kept() {
            plans.put(
                names().collect(),
                nodes,
                planned.clone(),
                inner.budget.limit(),
            );
        }
        planned.planning = begun.elapsed();
        Ok(planned)
    }
}
