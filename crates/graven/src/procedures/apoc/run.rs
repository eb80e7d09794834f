//! `apoc.cypher.*`, `apoc.do.*`, `apoc.when` and `apoc.case`: statements that the caller gives.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graven_cypher::{TypeSet, statement};
use graven_exec::{Deadline, ExecError, MoreRows, Value};
use graven_storage::WriteCounters;
use graven_types::name::quoted;
use graven_types::told;

use super::super::columns::text_of;
use super::super::entry::{Body, Field, Named, Procedure, procedure};
use super::super::inner::{Call, Started, no_room};
use super::super::{Rows, integer};
use super::VALUE;
use crate::right::Right;

const STATEMENT: (&[Field], usize) = (
    &[("statement", TypeSet::STRING), ("params", TypeSet::MAP)],
    1,
);

const WHEN: (&[Field], usize) = (
    &[
        ("condition", TypeSet::BOOLEAN),
        ("ifQuery", TypeSet::STRING),
        ("elseQuery", TypeSet::STRING),
        ("params", TypeSet::MAP),
    ],
    2,
);

const CASE: (&[Field], usize) = (
    &[
        ("conditionals", TypeSet::LIST),
        ("elseQuery", TypeSet::STRING),
        ("params", TypeSet::MAP),
    ],
    1,
);

const MANY: (&[Field], usize) = (
    &[
        ("statement", TypeSet::STRING),
        ("params", TypeSet::MAP),
        ("config", TypeSet::MAP),
    ],
    2,
);

/// The column of procedures that stand for functions.
const ANY: &[Field] = &[("value", TypeSet::ANY)];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.case",
        "runs the statement, which only reads, behind the first condition that holds",
        CASE,
        Right::Read,
        VALUE,
        Body::Streams(case),
    ),
    procedure(
        "apoc.cypher.doIt",
        "runs a statement, which may write, in the same transaction",
        STATEMENT,
        Right::Write,
        VALUE,
        Body::Streams(run),
    ),
    procedure(
        "apoc.cypher.run",
        "runs a statement that only reads",
        STATEMENT,
        Right::Read,
        VALUE,
        Body::Streams(run),
    ),
    procedure(
        "apoc.cypher.runMany",
        "runs statements between semicolons, which may write, in the same transaction",
        MANY,
        Right::Write,
        &[("row", TypeSet::INTEGER), ("result", TypeSet::MAP)],
        Body::OfCall(run_many),
    ),
    procedure(
        "apoc.cypher.runManyReadOnly",
        "runs statements between semicolons that only read",
        MANY,
        Right::Read,
        &[("row", TypeSet::INTEGER), ("result", TypeSet::MAP)],
        Body::OfCall(run_many),
    ),
    procedure(
        "apoc.cypher.runSchema",
        "runs a statement that changes the schema, in the same transaction",
        STATEMENT,
        Right::Write,
        VALUE,
        Body::Streams(run),
    ),
    procedure(
        "apoc.cypher.runTimeboxed",
        "the rows that a statement, which only reads, gives within so many milliseconds",
        (
            &[
                ("statement", TypeSet::STRING),
                ("params", TypeSet::MAP),
                ("timeout", TypeSet::INTEGER),
            ],
            3,
        ),
        Right::Read,
        VALUE,
        Body::Streams(run_timeboxed),
    ),
    procedure(
        "apoc.cypher.runWrite",
        "runs a statement, which may write, in the same transaction",
        STATEMENT,
        Right::Write,
        VALUE,
        Body::Streams(run),
    ),
    procedure(
        "apoc.do.case",
        "runs the statement, which may write, behind the first condition that holds",
        CASE,
        Right::Write,
        VALUE,
        Body::Streams(case),
    ),
    procedure(
        "apoc.do.when",
        "runs one of two statements, which may write",
        WHEN,
        Right::Write,
        VALUE,
        Body::Streams(when),
    ),
    procedure(
        "graven.cypher.firstColumn",
        "apoc.cypher.runFirstColumnMany(statement, params): the first column of a statement that \
            only reads",
        STATEMENT,
        Right::Read,
        ANY,
        Body::Streams(first_column),
    ),
    procedure(
        "graven.hashing.fingerprintGraph",
        "apoc.hashing.fingerprintGraph(excludedPropertyKeys): a hash of the whole graph",
        (&[("excludedPropertyKeys", TypeSet::LIST)], 0),
        Right::Read,
        ANY,
        Body::Statement(
            "WITH COLLECT { MATCH (n) \
                    WITH apoc.hashing.fingerprint(n, coalesce($excludedPropertyKeys, [])) AS one \
                    RETURN one ORDER BY one } AS nodes, \
                COLLECT { MATCH ()-[r]->() \
                    WITH apoc.hashing.fingerprint(r, coalesce($excludedPropertyKeys, [])) AS one \
                    RETURN one ORDER BY one } AS relationships \
                RETURN toUpper(apoc.util.md5(nodes + ['-'] + relationships)) AS value",
        ),
    ),
    procedure(
        "graven.map.fromNodes",
        "apoc.map.fromNodes(label, property): the nodes of a label by a property",
        (
            &[("label", TypeSet::STRING), ("property", TypeSet::STRING)],
            2,
        ),
        Right::Read,
        ANY,
        Body::Statement(
            "RETURN apoc.map.fromPairs(COLLECT { MATCH (n:$($label)) \
                WITH n, n[$property] AS value WHERE value IS NOT NULL \
                RETURN [toString(value), n] }) AS value",
        ),
    ),
    procedure(
        "graven.meta.nodesCount",
        "apoc.meta.nodes.count(nodes, {includeRels}): how many nodes labels have",
        (&[("labels", TypeSet::LIST), ("config", TypeSet::MAP)], 0),
        Right::Read,
        ANY,
        Body::Made(nodes_count),
    ),
    procedure(
        "apoc.when",
        "runs one of two statements that only read",
        WHEN,
        Right::Read,
        VALUE,
        Body::Streams(when),
    ),
];

/// A count for each label, added up; with types, of the nodes that have one of them.
fn nodes_count(args: &Named<'_>) -> Result<String, String> {
    let texts = |of: &Value, what: &str| match of {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![text.trim().to_owned()]),
        Value::List(items) => {
            let items = items.iter().filter(|item| !item.is_null());
            Ok(items.map(|item| text_of(item).trim().to_owned()).collect())
        }
        other => Err(told!("{what} is a List, not {}", other.type_name())),
    };
    let labels = texts(args.get("labels"), "nodes")?;
    let wanted = match args.get("config") {
        Value::Map(config) => config.get("includeRels").cloned().unwrap_or_default(),
        _ => Value::Null,
    };
    let types = texts(&wanted, "includeRels")?;
    let patterns =
        types.iter().map(
            |name| match (name.strip_suffix('>'), name.strip_suffix('<')) {
                (Some(name), _) => format!("EXISTS {{ (n)-[:{}]->() }}", quoted(name)),
                (_, Some(name)) => format!("EXISTS {{ (n)<-[:{}]-() }}", quoted(name)),
                _ => format!("EXISTS {{ (n)-[:{}]-() }}", quoted(name)),
            },
        );
    let patterns: Vec<String> = patterns.collect();
    let (found, condition) = match (labels.is_empty(), patterns.is_empty()) {
        (true, true) => return Ok("MATCH (n) RETURN count(n) AS value".to_owned()),
        (true, false) => ("MATCH (n)".to_owned(), patterns.join(" OR ")),
        (false, none) => {
            let any = labels.iter().map(|label| quoted(label));
            let any = any.collect::<Vec<_>>().join("|");
            let condition = if none {
                "true".to_owned()
            } else {
                patterns.join(" OR ")
            };
            (format!("MATCH (n:{any})"), condition)
        }
    };
    Ok(format!(
        "{found} WHERE {condition} RETURN count(DISTINCT n) AS value"
    ))
}

type Streamed = Result<Box<dyn MoreRows>, ExecError>;

/// Rows of a statement, each as one map.
struct Maps {
    columns: Vec<Arc<str>>,
    rows: Started,
}

impl MoreRows for Maps {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        let columns = &self.columns;
        let map = |row: Vec<Value>| vec![Value::map(columns.iter().cloned().zip(row).collect())];
        let rows = self.rows.next()?;
        Ok(rows.map(|rows| rows.into_iter().map(map).collect()))
    }
}

/// Rows of a statement until its time is over.
struct Timeboxed {
    rows: Box<dyn MoreRows>,
    end: Option<Deadline>,
}

impl MoreRows for Timeboxed {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        match self.rows.next() {
            Err(ExecError::TimedOut { .. }) if is_over(self.end) => Ok(None),
            next => next,
        }
    }
}

fn is_over(end: Option<Deadline>) -> bool {
    end.is_some_and(|end| end.left().is_zero())
}

/// Without a row if the statement has given none in its time. Its other errors are told.
fn run_timeboxed(call: &Call<'_>, args: &[Value]) -> Streamed {
    let timeout = match &args[2] {
        Value::Integer(timeout) => u64::try_from(*timeout).unwrap_or(0),
        other => return Err(call.failed(told!("give the time in milliseconds, not {other}"))),
    };
    let end = Deadline::after(Duration::from_millis(timeout));
    let on = call.on.until(end);
    let call = Call { on: &on, ..*call };
    match start(&call, &args[0], args.get(1)) {
        // A statement may have no time for its plan.
        Err(_) if is_over(end) => Ok(Box::new(Nothing(false))),
        Err(other) => Err(other),
        Ok(rows) => Ok(Box::new(Timeboxed { rows, end })),
    }
}

/// No statement is run: one row with an empty map.
struct Nothing(bool);

impl MoreRows for Nothing {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        let first = std::mem::replace(&mut self.0, false);
        Ok(first.then(|| vec![vec![Value::map(Vec::new())]]))
    }
}

/// Parameters of a statement that the caller gives.
pub(super) fn parameters(
    call: &Call<'_>,
    given: Option<&Value>,
) -> Result<Vec<(Arc<str>, Value)>, ExecError> {
    match given {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Map(map)) => Ok(map.entries().to_vec()),
        Some(other) => {
            let told = told!("parameters are a Map, not {}", other.type_name());
            Err(call.failed(told))
        }
    }
}

/// The statement, which reads its parameters as variables of their names, too.
fn with_variables<'t>(text: &'t str, params: &[(Arc<str>, Value)]) -> Cow<'t, str> {
    if params.is_empty() {
        return Cow::Borrowed(text);
    }
    let names = params.iter().map(|(name, _)| quoted(name));
    let given: Vec<String> = names.map(|name| format!("${name} AS {name}")).collect();
    Cow::Owned(format!("WITH {} {text}", given.join(", ")))
}

fn start(call: &Call<'_>, text: &Value, params: Option<&Value>) -> Streamed {
    match text {
        Value::Null => Ok(Box::new(Nothing(true))),
        Value::String(text) if text.trim().is_empty() => Ok(Box::new(Nothing(true))),
        Value::String(text) => {
            let params = parameters(call, params)?;
            let rows = call.start(&with_variables(text, &params), params)?;
            let columns = rows.columns.iter().map(|name| Arc::from(name.as_str()));
            let columns = columns.collect();
            Ok(Box::new(Maps { columns, rows }))
        }
        other => {
            let told = told!("a statement is a String, not {}", other.type_name());
            Err(call.failed(told))
        }
    }
}

fn run(call: &Call<'_>, args: &[Value]) -> Streamed {
    start(call, &args[0], args.get(1))
}

/// Rows of the first column of a statement.
struct FirstColumn(Started);

impl MoreRows for FirstColumn {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        let first = |row: Vec<Value>| vec![row.into_iter().next().unwrap_or_default()];
        let rows = self.0.next()?;
        Ok(rows.map(|rows| rows.into_iter().map(first).collect()))
    }
}

fn first_column(call: &Call<'_>, args: &[Value]) -> Streamed {
    match &args[0] {
        Value::String(text) => {
            let params = parameters(call, args.get(1))?;
            let rows = call.start(&with_variables(text, &params), params)?;
            Ok(Box::new(FirstColumn(rows)))
        }
        other => {
            let told = told!("a statement is a String, not {}", other.type_name());
            Err(call.failed(told))
        }
    }
}

fn when(call: &Call<'_>, args: &[Value]) -> Streamed {
    let holds = matches!(args[0], Value::Boolean(true));
    let text = if holds { Some(&args[1]) } else { args.get(2) };
    start(call, text.unwrap_or(&Value::Null), args.get(3))
}

fn case(call: &Call<'_>, args: &[Value]) -> Streamed {
    let Value::List(pairs) = &args[0] else {
        return Err(call.failed("give a List of conditions and statements in turn"));
    };
    if pairs.len() % 2 != 0 {
        return Err(
            call.failed("there is a statement for each condition: the List is of odd length")
        );
    }
    let mut pairs = pairs.chunks_exact(2);
    let held = pairs.find(|pair| matches!(pair[0], Value::Boolean(true)));
    let text = held.map(|pair| &pair[1]).or(args.get(1));
    start(call, text.unwrap_or(&Value::Null), args.get(2))
}

/// Rows of each statement, numbered, and behind them what it has done.
fn run_many(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Value::String(text) = &args[0] else {
        let told = told!("statements are a String, not {}", args[0].type_name());
        return Err(call.failed(told));
    };
    let params = parameters(call, args.get(1))?;
    let counts = match args.get(2) {
        Some(Value::Map(config)) => config.get("statistics") != Some(&Value::Boolean(false)),
        _ => true,
    };
    let cut = statement::split(text);
    let last = Some(cut.rest).filter(|rest| !statement::is_blank(rest));
    let mut rows = Rows::new();
    let mut memory = call.on.database.budget.empty_reservation("result");
    for text in cut.complete.into_iter().chain(last) {
        let (begun, before) = (Instant::now(), written(call));
        let mut started = call.start(text, params.clone())?;
        let columns = started.columns.iter().map(|name| Arc::from(name.as_str()));
        let columns: Vec<Arc<str>> = columns.collect();
        let mut number = 0;
        while let Some(found) = started.next()? {
            for row in found {
                let map = Value::map(columns.iter().cloned().zip(row).collect());
                let bytes = map.heap_bytes() + 3 * size_of::<Value>();
                memory.grow(bytes as u64).map_err(no_room)?;
                rows.push(vec![Value::Integer(number), map]);
                number += 1;
            }
        }
        if counts {
            let done = done(number, begun, before, written(call));
            rows.push(vec![Value::Integer(-1), done]);
        }
    }
    Ok(rows)
}

/// What the transaction of the caller has written.
pub(super) fn written(call: &Call<'_>) -> WriteCounters {
    let transaction = call.caller.transaction;
    transaction.map_or(WriteCounters::default(), |known| known.counters())
}

/// The counts of one statement, as APOC names them.
fn done(rows: i64, begun: Instant, before: WriteCounters, after: WriteCounters) -> Value {
    let time = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut counts = changes(before, after);
    counts.push((Arc::from("rows"), Value::Integer(rows)));
    counts.push((Arc::from("time"), integer(time)));
    Value::map(counts)
}

/// What was changed between two moments, as APOC names it.
pub(super) fn changes(before: WriteCounters, after: WriteCounters) -> Vec<(Arc<str>, Value)> {
    let mut counts = Vec::new();
    let pairs = after.named().into_iter().zip(before.named());
    for ((name, after), (_, before)) in pairs.filter(|((name, _), _)| *name != "users_changed") {
        // `nodes_created` is `nodesCreated` there.
        let (what, how) = name.split_once('_').unwrap_or((name, ""));
        let (first, rest) = how.split_at(how.len().min(1));
        let name = format!("{what}{}{rest}", first.to_uppercase());
        counts.push((Arc::from(name), integer(after.saturating_sub(before))));
    }
    counts
}
