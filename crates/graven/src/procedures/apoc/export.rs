//! `apoc.export.*`: the graph, a part of it or the rows of a statement, as a text.
//!
//! # How it works
//! Statements within the calling one read nodes, then relationships, and mostly make the texts of
//! their values, too. The forms put these texts together: [`json`], [`csv`], [`cypher`] and
//! [`graphml`]. The text goes to a file, or with `stream: true` into the column `data`.
//!
//! # Invariants
//! * PR-4 A file is there whole or not at all: it gets its name when it is finished.
//!
//! # Cost
//! A file takes the memory of a batch of rows, and of a row as text. What is kept is charged as
//! `export`: the names of properties, a text in a column ([`text`]) until the next row is asked
//! for, and for `cypher.query` and `graphml.query` the ids of what the statement gives, 24 bytes
//! each and 72 while they are made a list.

mod config;
mod csv;
mod cypher;
mod graphml;
mod json;
mod subject;
mod target;
mod text;

use std::time::Instant;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, MoreRows, Value};
use graven_pagecache::Reservation;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{Call, Started, no_room};
use crate::right::Right;
use config::Config;
use subject::Subject;
use target::Target;

/// What holds the memory of an export.
const HOLDER: &str = "export";

/// What writes a form.
type Form = fn(&mut Export<'_>) -> Result<(), ExecError>;

/// One export.
struct Export<'a> {
    call: &'a Call<'a>,
    subject: Subject,
    config: Config,
    to: Target,
    written: Written,
    /// Holds what is kept to the end.
    kept: Reservation,
    /// Holds the rows that are written.
    batch: Reservation,
}

impl Export<'_> {
    /// Charges what is kept to the end of the export.
    fn keep(&mut self, bytes: usize) -> Result<(), ExecError> {
        self.kept.grow(bytes as u64).map_err(no_room)
    }

    /// The next rows of a statement, charged until those after them.
    fn next(&mut self, started: &mut Started) -> Result<Option<Rows>, ExecError> {
        let rows = started.next()?;
        let bytes = |row: &Vec<Value>| row.iter().map(Value::heap_bytes).sum::<usize>();
        let each = || rows.iter().flatten().map(bytes);
        // One row at a time is made a text.
        let all = each().sum::<usize>() + 2 * each().max().unwrap_or(0);
        self.batch.resize(all as u64).map_err(no_room)?;
        Ok(rows)
    }
}

/// What was written so far.
#[derive(Default)]
struct Written {
    nodes: u64,
    relationships: u64,
    properties: u64,
    rows: u64,
    columns: usize,
    statements: cypher::Statements,
}

const FILE: Field = ("file", TypeSet::STRING);
const CONFIG: Field = ("config", TypeSet::MAP);

const ALL: (&[Field], usize) = (&[FILE, CONFIG], 0);
const DATA: (&[Field], usize) = (
    &[
        ("nodes", TypeSet::LIST),
        ("rels", TypeSet::LIST),
        FILE,
        CONFIG,
    ],
    2,
);
const GRAPH: (&[Field], usize) = (&[("graph", TypeSet::MAP), FILE, CONFIG], 1);
const QUERY: (&[Field], usize) = (&[("query", TypeSet::STRING), FILE, CONFIG], 1);
const STATEMENT: (&[Field], usize) = (&[("statement", TypeSet::STRING), FILE, CONFIG], 1);

/// What an export or an import of files says.
pub(super) const COLUMNS: &[Field] = &[
    FILE,
    ("source", TypeSet::STRING),
    ("format", TypeSet::STRING),
    ("nodes", TypeSet::INTEGER),
    ("relationships", TypeSet::INTEGER),
    ("properties", TypeSet::INTEGER),
    ("time", TypeSet::INTEGER),
    ("rows", TypeSet::INTEGER),
    ("batchSize", TypeSet::INTEGER),
    ("batches", TypeSet::INTEGER),
    ("done", TypeSet::BOOLEAN),
    ("data", TypeSet::STRING),
];

const SCRIPT_COLUMNS: &[Field] = &[
    FILE,
    ("batches", TypeSet::INTEGER),
    ("source", TypeSet::STRING),
    ("format", TypeSet::STRING),
    ("nodes", TypeSet::INTEGER),
    ("relationships", TypeSet::INTEGER),
    ("properties", TypeSet::INTEGER),
    ("time", TypeSet::INTEGER),
    ("rows", TypeSet::INTEGER),
    ("batchSize", TypeSet::INTEGER),
    ("cypherStatements", TypeSet::STRING),
    ("nodeStatements", TypeSet::STRING),
    ("relationshipStatements", TypeSet::STRING),
    ("schemaStatements", TypeSet::STRING),
    ("cleanupStatements", TypeSet::STRING),
];

/// The four procedures of a form.
macro_rules! of_form {
    ($form:literal, $columns:ident, $query:ident, $write:expr, $row:expr) => {
        [
            procedure(
                concat!("apoc.export.", $form, ".all"),
                concat!("the whole graph as ", $form),
                ALL,
                Right::Read,
                $columns,
                Body::Streams(|call, args| run(call, (Subject::all(), args), $write, $row)),
            ),
            procedure(
                concat!("apoc.export.", $form, ".data"),
                concat!("nodes and relationships as ", $form),
                DATA,
                Right::Read,
                $columns,
                Body::Streams(|call, args| {
                    let subject = Subject::of_lists("data", &args[0], &args[1]);
                    run(call, (subject, &args[2..]), $write, $row)
                }),
            ),
            procedure(
                concat!("apoc.export.", $form, ".graph"),
                concat!("the nodes and relationships of a map as ", $form),
                GRAPH,
                Right::Read,
                $columns,
                Body::Streams(|call, args| {
                    let subject = Subject::of_map(call, &args[0])?;
                    run(call, (subject, &args[1..]), $write, $row)
                }),
            ),
            procedure(
                concat!("apoc.export.", $form, ".query"),
                concat!("what a statement that only reads gives, as ", $form),
                $query,
                Right::Read,
                $columns,
                Body::Streams(|call, args| {
                    let subject = Subject::of_statement(call, &args[0])?;
                    run(call, (subject, &args[1..]), $write, $row)
                }),
            ),
        ]
    };
}

/// By form and name.
pub(super) const TABLES: [&[Procedure]; 5] = [
    &[procedure(
        "apoc.export.cypher.schema",
        "indexes and constraints as cypher",
        ALL,
        Right::Read,
        SCRIPT_COLUMNS,
        Body::Streams(|call, args| {
            let none = Value::list(Vec::new());
            let subject = Subject::of_lists("database", &none, &none);
            run(call, (subject, args), cypher::write_schema, script_row)
        }),
    )],
    &of_form!("csv", COLUMNS, QUERY, csv::write, |made| Ok(row(
        "csv", made
    ))),
    &of_form!(
        "cypher",
        SCRIPT_COLUMNS,
        STATEMENT,
        cypher::write,
        script_row
    ),
    &of_form!("graphml", COLUMNS, STATEMENT, graphml::write, |made| Ok(
        row("graphml", made)
    )),
    &of_form!("json", COLUMNS, STATEMENT, json::write, |made| Ok(row(
        "json", made
    ))),
];

/// What an export has made.
struct Made {
    file: Value,
    data: Value,
    /// Holds the texts of the row.
    memory: Reservation,
    source: String,
    written: Written,
    milliseconds: u64,
}

/// Writes the subject to the file that the arguments name, by their configuration.
fn run(
    call: &Call<'_>,
    (subject, args): (Subject, &[Value]),
    write: Form,
    row: MakeRow,
) -> Result<Box<dyn MoreRows>, ExecError> {
    let begun = Instant::now();
    let config = Config::of(call, args.get(1))?;
    let file = args.first().cloned().unwrap_or_default();
    let to = Target::of(call, &file, config.streams)?;
    let memory = || call.on.database.budget.empty_reservation(HOLDER);
    let mut export = Export {
        kept: memory(),
        batch: memory(),
        call,
        subject,
        config,
        to,
        written: Written::default(),
    };
    write(&mut export)?;
    let Export {
        subject,
        to,
        written,
        ..
    } = export;
    let (data, memory) = to.finish(call)?;
    let mut made = Made {
        file: match data.is_null() {
            true => file,
            false => Value::Null,
        },
        data,
        memory,
        source: subject.told(&written),
        written,
        milliseconds: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    Ok(Box::new(OneRow {
        row: Some(row(&mut made)?),
        _memory: made.memory,
    }))
}

/// Makes the row of an export.
type MakeRow = fn(&mut Made) -> Result<Vec<Value>, ExecError>;

/// The row of an export, whose texts are charged until the row after it is asked for.
struct OneRow {
    row: Option<Vec<Value>>,
    _memory: Reservation,
}

impl MoreRows for OneRow {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        Ok(self.row.take().map(|row| vec![row]))
    }
}

fn number(count: u64) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn row(format: &str, made: &Made) -> Vec<Value> {
    vec![
        made.file.clone(),
        Value::text(&made.source),
        Value::text(format),
        number(made.written.nodes),
        number(made.written.relationships),
        number(made.written.properties),
        number(made.milliseconds),
        number(made.written.rows),
        Value::Integer(-1),
        Value::Integer(0),
        Value::Boolean(true),
        made.data.clone(),
    ]
}

fn script_row(made: &mut Made) -> Result<Vec<Value>, ExecError> {
    // The parts are the text once more.
    let bytes = made.data.heap_bytes() as u64;
    made.memory.grow(bytes).map_err(no_room)?;
    let parts = made.written.statements.parts(&made.data);
    let [nodes, relationships, schema, cleanup] = parts;
    Ok(vec![
        made.file.clone(),
        Value::Integer(1),
        Value::text(&made.source),
        Value::text("cypher"),
        number(made.written.nodes),
        number(made.written.relationships),
        number(made.written.properties),
        number(made.milliseconds),
        number(made.written.rows),
        Value::Integer(cypher::BATCH as i64),
        made.data.clone(),
        nodes,
        relationships,
        schema,
        cleanup,
    ])
}
