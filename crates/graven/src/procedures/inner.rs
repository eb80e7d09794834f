//! Statements that procedures run, within the statement that calls them.
//!
//! # How it works
//! Most procedures of Neo4j's libraries are statements with a name. Their text stands in the table
//! ([`super::entry::Body::Statement`]), or is made of the arguments; arguments are its parameters.
//! A procedure that needs several statements and something between them is given a [`Call`].
//!
//! Such a statement sees what the calling one sees and writes in the same transaction, so that both
//! become durable together or not at all. It is planned, checked against rights and cached as any
//! other; its operators have the budget, deadline, cancelling and meter of the calling statement.
//! One that only reads gives its rows as they are asked for. One that writes has ended before its
//! first row is handed out, and what it keeps is charged.
//!
//! The binder knows from [`graven_cypher::ProcedureView::writes`] that a call changes the graph:
//! the calling statement then runs in a transaction and has barriers around the call.
//!
//! # Invariants
//! * PR-1 A procedure whose right is [`Right::Read`] runs no statement that writes.
//! * PR-2 Statements call each other through procedures [`DEPTH_MAX`] deep at most: each has its
//!   operators on the stack.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use graven_exec::{Batch, Caller, ExecError, Execution, Map, MoreRows, Value, execute_kept};
use graven_pagecache::{BudgetError, Reservation};
use graven_types::told;

use super::{DatabaseProcedures, Rows};
use crate::connection::Connection;
use crate::error::{Error, READ_MODE};
use crate::params::Params;
use crate::plan_cache::CompiledStatement;
use crate::right::Right;

/// How deep statements may lie within statements.
const DEPTH_MAX: usize = 12;
/// What is said beyond it.
const TOO_DEEP: &str = "statements call each other more than 12 deep";

/// Where statements run that have transactions of their own: as long as the caller may, and not too
/// deep.
pub(super) fn own_connection(caller: &DatabaseProcedures) -> Result<Connection, &'static str> {
    if caller.depth >= DEPTH_MAX {
        return Err(TOO_DEEP);
    }
    let left = caller.context.deadline.map(|deadline| deadline.left());
    // A name behind USE belongs to the outer text alone.
    let connection = caller.connection.clone().with_used_name(None);
    let connection = connection.with_timeout(left);
    Ok(connection.at_depth(caller.depth + 1))
}

/// A call of a procedure that runs statements.
pub(crate) struct Call<'a> {
    pub(super) on: &'a DatabaseProcedures,
    pub(super) caller: &'a Caller<'a>,
    pub(super) name: &'a str,
    /// What the procedure may do.
    pub(super) right: Right,
}

/// A statement that a procedure has started.
pub(crate) struct Started {
    pub(crate) columns: Arc<[String]>,
    rows: Source,
}

enum Source {
    Runs(Box<Execution>),
    IdleExecution(
        VecDeque<Batch>,
        #[expect(dead_code, reason = "given back on drop")] Reservation,
    ),
}

/// A parameter as the planner wants to see it: what may be the name of a label or type.
fn outline(value: &Value) -> crate::Value {
    match value {
        Value::String(text) => crate::Value::String(Arc::clone(text)),
        Value::List(items) if items.iter().all(|item| matches!(item, Value::String(_))) => {
            crate::Value::List(items.iter().map(outline).collect())
        }
        _ => crate::Value::Null,
    }
}

impl Call<'_> {
    /// What is wrong with the call.
    pub(super) fn failed(&self, message: impl Into<String>) -> ExecError {
        ExecError::Procedure {
            name: self.name.to_owned(),
            message: message.into(),
        }
    }

    /// The map of options that a call may end with.
    pub(super) fn config<'v>(&self, given: Option<&'v Value>) -> Result<Cow<'v, Map>, ExecError> {
        match given {
            None | Some(Value::Null) => Ok(Cow::Owned(Map::default())),
            Some(Value::Map(map)) => Ok(Cow::Borrowed(&**map)),
            Some(other) => Err(self.failed(told!("config is a Map, not {}", other.type_name()))),
        }
    }

    fn refused(&self, error: &Error) -> ExecError {
        let message = error.message().to_owned();
        match error.code() {
            READ_MODE => ExecError::ReadMode { message },
            "Security.Forbidden" => ExecError::Forbidden { message },
            code => self.failed(told!("{code}: {message}")),
        }
    }

    /// What a statement that writes has failed with; of a value that it cannot take, that the call
    /// failed.
    fn refused_value(&self, error: ExecError) -> ExecError {
        match own(error) {
            error @ (ExecError::Type { .. }
            | ExecError::Value { .. }
            | ExecError::Named { .. }
            | ExecError::PropertyType { .. }
            | ExecError::MergeNull { .. }) => self.failed(told!("{}: {error}", error.code())),
            other => other,
        }
    }

    /// The text of a statement that is made of the arguments, with room for it. That is taken
    /// before the text is made, which may hold all of them, quoted, and moves as it grows.
    pub(super) fn made(
        &self,
        params: &[(Arc<str>, Value)],
        make: impl FnOnce() -> Result<String, String>,
    ) -> Result<(String, Reservation), ExecError> {
        let held: usize = params.iter().map(|(_, value)| value.heap_bytes()).sum();
        let budget = &self.on.database.budget;
        let room = budget.reserve("text of a statement", 3 * held as u64);
        let room = room.map_err(no_room)?;
        let text = make().map_err(|told| self.failed(told))?;
        Ok((text, room))
    }

    /// The plan of a statement with these parameters.
    pub(super) fn plan(
        &self,
        text: &str,
        params: &[(Arc<str>, Value)],
    ) -> Result<CompiledStatement, ExecError> {
        let on = self.on;
        let mut outlined = Params::new();
        for (name, value) in params {
            outlined = outlined.with(Arc::clone(name), outline(value));
        }
        let (connection, deadline) = (&on.connection, on.context.deadline);
        // Which plan is taken changes no answer.
        let unrecorded = (self.caller.transaction).map(|known| known.unrecorded_snapshot());
        let snapshot = unrecorded.as_ref().unwrap_or(self.caller.snapshot);
        let planned = connection.plan(&on.database, text, &outlined, snapshot, deadline);
        planned.map_err(|error| self.refused(&error))
    }

    /// The plan of a statement for another engine.
    pub(super) fn logical_plan(&self, text: &str) -> Result<String, ExecError> {
        let on = self.on;
        let (snapshot, deadline) = (self.caller.snapshot, on.context.deadline);
        let planned = (on.connection).logical_plan(&on.database, text, snapshot, deadline);
        planned.map_err(|error| self.refused(&error))
    }

    /// Starts a statement with these parameters.
    pub(super) fn start(
        &self,
        text: &str,
        params: Vec<(Arc<str>, Value)>,
    ) -> Result<Started, ExecError> {
        let on = self.on;
        if on.depth >= DEPTH_MAX {
            return Err(self.failed(TOO_DEEP));
        }
        let planned = self.plan(text, &params)?;
        let checked = on.connection.check_access(&on.database, &planned);
        checked.map_err(|error| self.refused(&error))?;
        if planned.is_about_users() && on.connection.database_manager().is_some() {
            let told = "users are kept in the database system: send the command as a statement";
            return Err(self.failed(told));
        }
        let writes = planned.writes();
        if writes && (self.right == Right::Read || self.caller.transaction.is_none()) {
            let told = "the statement writes: a procedure that may is apoc.cypher.doIt";
            return Err(self.failed(told));
        }
        if planned.makes_transactions() && self.caller.transaction.is_some() {
            let told = "apoc.periodic.* has transactions of its own: call it by itself";
            return Err(self.failed(told));
        }
        if planned.runs_in_transactions() {
            let told = "CALL { ... } IN TRANSACTIONS makes transactions of its own: send it as a \
                statement, or with apoc.periodic.iterate";
            return Err(self.failed(told));
        }
        let mut context = on.context.clone();
        context.transaction = self.caller.transaction.map(Arc::clone);
        context.only_reads = !writes;
        context.functions.clone_from(&planned.functions);
        if planned.calls() {
            context.procedures = Some(Arc::new(on.deeper()));
        }
        let values: graven_exec::Params = params.into_iter().collect();
        let snapshot = self.caller.snapshot.clone();
        let plan = Arc::clone(&planned.plan);
        let execution = execute_kept(plan, &planned.physical, snapshot, Arc::new(values), context);
        let mut execution = execution.map_err(own)?;
        let rows = match writes || planned.acts() {
            false => Source::Runs(Box::new(execution)),
            true => {
                let mut memory = on.database.budget.empty_reservation("result");
                let mut batches = VecDeque::new();
                let refused = |error| self.refused_value(error);
                while let Some(batch) = execution.next_batch().map_err(refused)? {
                    let bytes = batch.heap_bytes() as u64;
                    memory.grow(bytes).map_err(no_room)?;
                    batches.push_back(batch);
                }
                Source::IdleExecution(batches, memory)
            }
        };
        Ok(Started {
            columns: Arc::clone(&planned.columns),
            rows,
        })
    }

    /// All rows of a statement whose result is small.
    pub(super) fn rows(
        &self,
        text: &str,
        params: Vec<(Arc<str>, Value)>,
    ) -> Result<Rows, ExecError> {
        let mut started = self.start(text, params)?;
        let mut memory = self.on.database.budget.empty_reservation("result");
        let mut rows = Rows::new();
        while let Some(next) = started.next()? {
            let values = next.iter().flatten();
            let values = values.map(|v| v.heap_bytes() + size_of::<Value>());
            let bytes = next.len() * size_of::<Vec<Value>>() + values.sum::<usize>();
            memory.grow(bytes as u64).map_err(no_room)?;
            rows.extend(next);
        }
        Ok(rows)
    }

    /// Whether the calling statement is to stop.
    pub(super) fn check(&self) -> Result<(), ExecError> {
        let context = &self.on.context;
        graven_exec::Deadline::check(context.deadline, &context.cancel)
    }
}

/// The error as one of the calling statement: the place is one in another text.
fn own(error: ExecError) -> ExecError {
    match error {
        ExecError::At { error, .. } => *error,
        other => other,
    }
}

/// There is no room for what a procedure keeps.
pub(super) fn no_room(error: BudgetError) -> ExecError {
    ExecError::Storage(graven_storage::Error::Budget(error))
}

impl MoreRows for Started {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        let batch = match &mut self.rows {
            Source::Runs(execution) => execution.next_batch().map_err(own)?,
            Source::IdleExecution(batches, _) => batches.pop_front(),
        };
        Ok(batch.map(|batch| (0..batch.len()).map(|row| batch.row(row)).collect()))
    }
}
