//! `apoc.periodic.*`: statements in batches, each in a transaction of its own.
//!
//! # How it works
//! `iterate` becomes one statement with `CALL { ... } IN TRANSACTIONS`. As that clause it commits
//! outside of the transaction of its caller, and does not see what that has written.

use std::sync::Arc;
use std::time::Instant;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::name::quoted;
use graven_types::told;

use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::own_connection;
use super::super::{DatabaseProcedures, Rows, integer};
use crate::connection::Connection;
use crate::error::{Error, READ_MODE};
use crate::materialise::Materialiser;
use crate::params::Params;
use crate::right::Right;

const DONE: &[Field] = &[
    ("batches", TypeSet::INTEGER),
    ("total", TypeSet::INTEGER),
    ("timeTaken", TypeSet::INTEGER),
    ("committedOperations", TypeSet::INTEGER),
    ("failedOperations", TypeSet::INTEGER),
    ("failedBatches", TypeSet::INTEGER),
    ("retries", TypeSet::INTEGER),
    ("errorMessages", TypeSet::MAP),
    ("batch", TypeSet::MAP),
    ("operations", TypeSet::MAP),
    ("wasTerminated", TypeSet::BOOLEAN),
    ("failedParams", TypeSet::MAP),
    ("updateStatistics", TypeSet::MAP),
];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.periodic.commit",
        "runs a statement, each time in a transaction of its own, until it returns 0",
        (
            &[("statement", TypeSet::STRING), ("params", TypeSet::MAP)],
            1,
        ),
        Right::Write,
        &[
            ("updates", TypeSet::INTEGER),
            ("executions", TypeSet::INTEGER),
            ("runtime", TypeSet::INTEGER),
            ("batches", TypeSet::INTEGER),
            ("failedBatches", TypeSet::INTEGER),
            ("batchErrors", TypeSet::MAP),
            ("failedCommits", TypeSet::INTEGER),
            ("commitErrors", TypeSet::MAP),
            ("wasTerminated", TypeSet::BOOLEAN),
        ],
        Body::OfCaller(commit),
    ),
    procedure(
        "apoc.periodic.iterate",
        "runs the second statement for the rows of the first, in batches, each in a transaction of \
            its own",
        (
            &[
                ("cypherIterate", TypeSet::STRING),
                ("cypherAction", TypeSet::STRING),
                ("config", TypeSet::MAP),
            ],
            3,
        ),
        Right::Write,
        DONE,
        Body::OfCaller(iterate),
    ),
];

/// Rows of a batch where the configuration does not say.
pub(super) const BATCH_ROWS: i64 = 10_000;

/// What a batch said of itself, and its rows.
const STATUS: &str = "graven status";

pub(super) fn failed(name: &str, message: String) -> ExecError {
    ExecError::Procedure {
        name: name.to_owned(),
        message,
    }
}

/// An error of a statement within.
pub(super) fn inside((caller, name): (&DatabaseProcedures, &str), error: &Error) -> ExecError {
    let context = &caller.context;
    if let Err(stopped) = graven_exec::Deadline::check(context.deadline, &context.cancel) {
        return stopped;
    }
    let message = error.message().to_owned();
    match error.code() {
        READ_MODE => ExecError::ReadMode { message },
        "Security.Forbidden" => ExecError::Forbidden { message },
        code => failed(name, format!("{code}: {message}")),
    }
}

pub(super) fn parameters(
    caller: &DatabaseProcedures,
    name: &str,
    given: Option<&Value>,
) -> Result<Params, ExecError> {
    let mut params = Params::new();
    if let Some(Value::Map(map)) = given {
        let mut outside = Materialiser::new(caller.database.store.snapshot());
        for (key, value) in map.entries() {
            let value = outside.value(value.clone());
            params.set(
                Arc::clone(key),
                value.map_err(|error| inside((caller, name), &error))?,
            );
        }
    }
    Ok(params)
}

pub(super) fn text<'a>(name: &str, value: &'a Value) -> Result<&'a Arc<str>, ExecError> {
    match value {
        Value::String(text) => Ok(text),
        other => {
            let told = told!("a statement is a String, not {}", other.type_name());
            Err(failed(name, told))
        }
    }
}

/// What stands between both statements, the variables that the action reads, and the action. One
/// that returns may return names of the first statement, and any number of rows: it gets the rows
/// under other names, and its own are counted.
fn within(
    connection: &Connection,
    caller: &DatabaseProcedures,
    columns: &[String],
    (action, params): (&str, &Params),
) -> (String, String, String) {
    let joined = |parts: Vec<String>| parts.join(", ");
    let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let nothing = names.iter().map(|name| format!("null AS {name}"));
    let alone = format!("WITH {} {action}", joined(nothing.collect()));
    let returned = connection.columns_of(&caller.database, &alone, params);
    if columns.is_empty() || returned.map_or(true, |columns| columns.is_empty()) {
        return (String::new(), joined(names), action.to_owned());
    }
    let outer = |name: &String| quoted(&format!("graven row {name}"));
    let others: Vec<String> = columns.iter().map(outer).collect();
    let pairs = || names.iter().zip(&others);
    let renamed = pairs().map(|(name, other)| format!("{name} AS {other}"));
    let again = pairs().map(|(name, other)| format!("{other} AS {name}"));
    let (renamed, again) = (joined(renamed.collect()), joined(again.collect()));
    let nothing: Vec<String> = others
        .iter()
        .map(|name| format!("null AS {name}"))
        .collect();
    let others = joined(others);
    let counted = format!(
        "CALL ({others}) {{ WITH {again} {action}\n}} RETURN count(*) AS {}",
        quoted("graven rows")
    );
    let alone = format!("WITH {} {counted}", joined(nothing));
    let checked = connection.columns_of(&caller.database, &alone, params);
    match graven_cypher::without_rows(action) {
        // A column without a name cannot be counted.
        Some(action) if checked.is_err() => (String::new(), joined(names), action),
        _ => (format!("WITH {renamed} "), others, counted),
    }
}

fn iterate(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    const NAME: &str = "apoc.periodic.iterate";
    let begun = Instant::now();
    let (iterate, action) = (text(NAME, &args[0])?, text(NAME, &args[1])?);
    let config = |name: &str| match &args[2] {
        Value::Map(map) => map.get(name),
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
    let params = parameters(caller, NAME, config("params"))?;
    let columns = connection.columns_of(&caller.database, iterate, &params);
    let columns = columns.map_err(|error| inside((caller, NAME), &error))?;
    let action = action.trim().trim_end_matches(';');
    let (renamed, names, action) = within(&connection, caller, &columns, (action, &params));
    let iterate = iterate.trim().trim_end_matches(';');
    let status = quoted(STATUS);
    let statement = format!(
        "CALL () {{ {iterate}\n}} {renamed}CALL ({names}) {{ {action}\n}} IN TRANSACTIONS OF {rows} ROWS \
            ON ERROR CONTINUE REPORT STATUS AS {status} \
            RETURN {status}.transactionId AS id, {status}.committed AS committed, \
                {status}.errorMessage AS message, count(*) AS met"
    );
    let result = connection.run_within(&caller.database, &statement, &params);
    let mut result = result.map_err(|error| inside((caller, NAME), &error))?;
    let (mut batches, mut total, mut bad_batches, mut bad) = (0u64, 0u64, 0u64, 0u64);
    let mut messages: Vec<(Arc<str>, Value)> = Vec::new();
    while let Some(row) = result
        .next_row()
        .map_err(|error| inside((caller, NAME), &error))?
    {
        let values = row.values();
        let met = values[3].as_integer().unwrap_or(0).unsigned_abs();
        batches += 1;
        total += met;
        if values[1] != crate::Value::Boolean(true) {
            bad_batches += 1;
            bad += met;
            let message: Arc<str> = Arc::from(values[2].as_str().unwrap_or_default());
            match messages.iter_mut().find(|(known, _)| *known == message) {
                Some((_, Value::Integer(count))) => *count += 1,
                _ => messages.push((message, Value::Integer(1))),
            }
        }
    }
    let counters = result.summary().counters;
    let messages = Value::map(messages);
    let of = |all: u64, bad: u64| {
        Value::map(vec![
            ("total".into(), integer(all)),
            ("failed".into(), integer(bad)),
            ("committed".into(), integer(all - bad)),
            ("errors".into(), messages.clone()),
        ])
    };
    let updates = [
        ("nodesCreated", counters.nodes_created),
        ("nodesDeleted", counters.nodes_deleted),
        ("relationshipsCreated", counters.relationships_created),
        ("relationshipsDeleted", counters.relationships_deleted),
        ("propertiesSet", counters.properties_set),
        ("labelsAdded", counters.labels_added),
        ("labelsRemoved", counters.labels_removed),
    ];
    let updates = updates.map(|(name, count)| (Arc::from(name), integer(count)));
    Ok(vec![vec![
        integer(batches),
        integer(total),
        integer(begun.elapsed().as_secs()),
        integer(total - bad),
        integer(bad),
        integer(bad_batches),
        Value::Integer(0),
        messages.clone(),
        of(batches, bad_batches),
        of(total, bad),
        Value::Boolean(false),
        Value::map(Vec::new()),
        Value::map(updates.into()),
    ]])
}

fn commit(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    const NAME: &str = "apoc.periodic.commit";
    let begun = Instant::now();
    let statement = text(NAME, &args[0])?;
    let params = parameters(caller, NAME, args.get(1))?;
    let (mut updates, mut executions, mut batches) = (0u64, 0u64, 0u64);
    loop {
        let connection = own_connection(caller).map_err(|why| failed(NAME, why.to_owned()))?;
        let result = connection.run_within(&caller.database, statement, &params);
        let mut result = result.map_err(|error| inside((caller, NAME), &error))?;
        let mut done = 0;
        while let Some(row) = result
            .next_row()
            .map_err(|error| inside((caller, NAME), &error))?
        {
            match row.values() {
                [count, ..] if count.as_integer().is_some() => {
                    done += count.as_integer().unwrap_or(0).unsigned_abs();
                }
                _ => {
                    let told = "the statement must return a number, and 0 when all is done";
                    return Err(failed(NAME, told.to_owned()));
                }
            }
        }
        batches += 1;
        if done == 0 {
            break;
        }
        executions += 1;
        updates += done;
        let context = &caller.context;
        graven_exec::Deadline::check(context.deadline, &context.cancel)?;
    }
    let none = || Value::map(Vec::new());
    Ok(vec![vec![
        integer(updates),
        integer(executions),
        integer(begun.elapsed().as_secs()),
        integer(batches),
        Value::Integer(0),
        none(),
        Value::Integer(0),
        none(),
        Value::Boolean(false),
    ]])
}
