//! `apoc.periodic.submit`, `repeat`, `countdown`, `list` and `cancel`: statements that run in the
//! background, and `truncate`.
//!
//! # How it works
//! A job of [`crate::jobs`] runs the statement on a connection of its own, with the rights, the
//! timeout and the user of the caller. It has a weak reference to the database.

use std::sync::Arc;
use std::time::Duration;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_pagecache::Reservation;
use graven_types::told;

use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{no_room, own_connection};
use super::super::{DatabaseProcedures, Rows};
use super::batches::{BATCH_ROWS, failed, inside, parameters, text};
use crate::access::Access;
use crate::cancel::CancelHandle;
use crate::connection::Connection;
use crate::database::WeakDatabase;
use crate::error::Error;
use crate::jobs::{Again, Asker, Job, Run, Work};
use crate::params::Params;
use crate::right::Right;

const JOB: &[Field] = &[
    ("name", TypeSet::STRING),
    ("delay", TypeSet::INTEGER),
    ("rate", TypeSet::INTEGER),
    ("done", TypeSet::BOOLEAN),
    ("cancelled", TypeSet::BOOLEAN),
];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.periodic.cancel",
        "ends a statement in the background, one of the own user, or any if an admin asks",
        (&[("name", TypeSet::STRING)], 1),
        Right::Write,
        JOB,
        Body::OfCaller(cancel),
    ),
    procedure(
        "apoc.periodic.countdown",
        "runs a statement in the background, so many seconds after each other, until it returns 0",
        (
            &[
                ("name", TypeSet::STRING),
                ("statement", TypeSet::STRING),
                ("delay", TypeSet::INTEGER),
            ],
            3,
        ),
        Right::Write,
        JOB,
        Body::OfCaller(countdown),
    ),
    procedure(
        "apoc.periodic.list",
        "statements in the background: those of the own user, or all if an admin asks",
        (&[], 0),
        Right::Read,
        JOB,
        Body::OfCaller(|caller, _| {
            Ok(caller
                .database
                .jobs
                .list(&asker(caller))
                .iter()
                .map(|job| row(job))
                .collect())
        }),
    ),
    procedure(
        "apoc.periodic.repeat",
        "runs a statement in the background, again and again after so many seconds",
        (
            &[
                ("name", TypeSet::STRING),
                ("statement", TypeSet::STRING),
                ("rate", TypeSet::INTEGER),
                ("config", TypeSet::MAP),
            ],
            3,
        ),
        Right::Write,
        JOB,
        Body::OfCaller(repeat),
    ),
    procedure(
        "apoc.periodic.submit",
        "runs a statement in the background",
        (
            &[
                ("name", TypeSet::STRING),
                ("statement", TypeSet::STRING),
                ("params", TypeSet::MAP),
            ],
            2,
        ),
        Right::Write,
        JOB,
        Body::OfCaller(submit),
    ),
    procedure(
        "apoc.periodic.truncate",
        "deletes all nodes and relationships in batches, and the schema if that is wanted",
        (&[("config", TypeSet::MAP)], 0),
        Right::Write,
        &[],
        Body::OfCaller(truncate),
    ),
];

type Answer = Result<Rows, ExecError>;

/// What a job does: it holds the database only while the statement runs.
struct Statement {
    text: Arc<str>,
    params: Params,
    access: Access,
    timeout: Option<Duration>,
    database: WeakDatabase,
    /// Of its text and parameters.
    _memory: Reservation,
}

/// Bytes of a job's name: those of jobs that have ended are kept.
const NAME_MAX: usize = 1024;

impl Work for Statement {
    fn run(&self, cancel: &CancelHandle) -> Run {
        let Some(database) = self.database.upgrade() else {
            return Run::Gone;
        };
        let connection = Connection::on(database, cancel.clone());
        let connection = connection.with_access(self.access.clone());
        match self.sum(&connection.with_timeout(self.timeout)) {
            Ok(sum) => Run::Ended(sum),
            Err(error) if error.code() == "Database.Closed" => Run::Gone,
            Err(_) => Run::Failed,
        }
    }

    fn is_gone(&self) -> bool {
        self.database.is_gone()
    }
}

impl Statement {
    fn sum(&self, connection: &Connection) -> Result<i64, Error> {
        // Unlike a query, this heeds what was cancelled before it begins.
        let inner = connection.database().inner()?;
        let mut result = connection.run_within(inner, &self.text, &self.params)?;
        let mut sum = 0_i64;
        while let Some(row) = result.next_row()? {
            let first = row.values().first().and_then(crate::Value::as_integer);
            sum = sum.saturating_add(first.unwrap_or(0));
        }
        Ok(sum)
    }
}

fn asker(caller: &DatabaseProcedures) -> Asker {
    let access = caller.access();
    Asker {
        user: access.user.clone(),
        is_admin: access.is_admin(&caller.database.store),
    }
}

fn row(job: &Job) -> Vec<Value> {
    let seconds =
        |wait: Duration| Value::Integer(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX));
    let none = Value::Integer(0);
    let (delay, rate) = match job.again {
        Again::Once => (none.clone(), none),
        Again::Every(wait) => (none, seconds(wait)),
        Again::WhileMore(wait) => (seconds(wait), none),
    };
    let state = job.state();
    vec![
        Value::String(Arc::clone(&job.name)),
        delay,
        rate,
        Value::Boolean(state.is_done),
        Value::Boolean(state.is_cancelled),
    ]
}

/// Starts a job, if its statement is one.
fn start(
    caller: &DatabaseProcedures,
    procedure: &str,
    args: &[Value],
    again: Again,
    params: Params,
) -> Answer {
    let (name, statement) = (text(procedure, &args[0])?, text(procedure, &args[1])?);
    if name.len() > NAME_MAX {
        let told = told!("the name of a job has {NAME_MAX} bytes at most");
        return Err(failed(procedure, told));
    }
    let bytes = (statement.len() as u64).saturating_add(params.memory());
    let memory = caller.database.budget.reserve("background jobs", bytes);
    let memory = memory.map_err(no_room)?;
    let connection = own_connection(caller).map_err(|why| failed(procedure, why.to_owned()))?;
    let columns = connection.columns_of(&caller.database, statement, &params);
    columns.map_err(|error| inside((caller, procedure), &error))?;
    let work = Box::new(Statement {
        text: Arc::clone(statement),
        params,
        access: caller.access().clone(),
        timeout: caller.connection.timeout(),
        database: caller.connection.weak_database(),
        _memory: memory,
    });
    let job = caller.database.jobs.start(asker(caller), name, again, work);
    Ok(vec![row(&*job.map_err(|told| failed(procedure, told))?)])
}

/// `params` of a configuration.
fn of_config(
    caller: &DatabaseProcedures,
    procedure: &str,
    config: Option<&Value>,
) -> Result<Params, ExecError> {
    let params = match config {
        Some(Value::Map(config)) => config.get("params"),
        _ => None,
    };
    parameters(caller, procedure, params)
}

fn wait(procedure: &str, value: &Value, least: i64) -> Result<Duration, ExecError> {
    match value {
        Value::Integer(seconds) if *seconds >= least => {
            Ok(Duration::from_secs(seconds.unsigned_abs()))
        }
        other => {
            let told = told!("the time is a number of seconds from {least} on, not {other}");
            Err(failed(procedure, told))
        }
    }
}

fn submit(caller: &DatabaseProcedures, args: &[Value]) -> Answer {
    const NAME: &str = "apoc.periodic.submit";
    let params = of_config(caller, NAME, args.get(2))?;
    start(caller, NAME, args, Again::Once, params)
}

fn repeat(caller: &DatabaseProcedures, args: &[Value]) -> Answer {
    const NAME: &str = "apoc.periodic.repeat";
    let params = of_config(caller, NAME, args.get(3))?;
    start(
        caller,
        NAME,
        args,
        Again::Every(wait(NAME, &args[2], 1)?),
        params,
    )
}

fn countdown(caller: &DatabaseProcedures, args: &[Value]) -> Answer {
    const NAME: &str = "apoc.periodic.countdown";
    let again = Again::WhileMore(wait(NAME, &args[2], 0)?);
    start(caller, NAME, args, again, Params::new())
}

fn cancel(caller: &DatabaseProcedures, args: &[Value]) -> Answer {
    let name = text("apoc.periodic.cancel", &args[0])?;
    let cancelled = caller.database.jobs.cancel(&asker(caller), name);
    Ok(cancelled.iter().map(|job| row(job)).collect())
}

fn truncate(caller: &DatabaseProcedures, args: &[Value]) -> Answer {
    const NAME: &str = "apoc.periodic.truncate";
    let config = |name: &str| match args.first() {
        Some(Value::Map(map)) => map.get(name),
        _ => None,
    };
    let rows = match config("batchSize") {
        None | Some(Value::Null) => BATCH_ROWS,
        Some(Value::Integer(rows)) if *rows > 0 => *rows,
        Some(other) => {
            let told = told!("batchSize is a number of rows from 1 on, not {other}");
            return Err(failed(NAME, told));
        }
    };
    let connection = own_connection(caller).map_err(|why| failed(NAME, why.to_owned()))?;
    let run = |statement: &str, gives: &mut dyn FnMut(&crate::Row)| {
        let result = connection.run_within(&caller.database, statement, &Params::new());
        let mut result = result.map_err(|error| inside((caller, NAME), &error))?;
        while let Some(row) = result
            .next_row()
            .map_err(|error| inside((caller, NAME), &error))?
        {
            gives(&row);
        }
        Ok::<(), ExecError>(())
    };
    for all in ["MATCH ()-[x]->()", "MATCH (x)"] {
        let statement = format!("{all} CALL (x) {{ DELETE x }} IN TRANSACTIONS OF {rows} ROWS");
        run(&statement, &mut |_| {})?;
    }
    if config("dropSchema") == Some(&Value::Boolean(true)) {
        let mut drops = Vec::new();
        for (what, all) in [
            ("CONSTRAINT", "SHOW CONSTRAINTS YIELD name"),
            (
                "INDEX",
                "SHOW INDEXES YIELD name, owningConstraint AS o WHERE o IS NULL",
            ),
        ] {
            run(&format!("{all} RETURN name"), &mut |row| {
                let name = row.values().first().and_then(crate::Value::as_str);
                let name = graven_types::name::quoted(name.unwrap_or_default());
                drops.push(format!("DROP {what} {name}"));
            })?;
        }
        for drop in drops {
            run(&drop, &mut |_| {})?;
        }
    }
    Ok(Rows::new())
}
