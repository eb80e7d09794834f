//! A whole database as files, and back: `EXPORT DATABASE` and `IMPORT DATABASE`.
//!
//! # How it works
//! An export is a folder of plain statements and the files they load: `schema.cypher` makes
//! sequences, macros, indexes and constraints, `copy.cypher` loads a file for each set of labels
//! and one for each relationship type, with the kinds that bring every value back. Nodes carry a
//! number and a label of their own while relationships are loaded, found by an index; both are
//! taken away at the end. All of an export is read in one transaction.
//!
//! An import runs the statements of such a folder in a database without nodes. What is loaded is
//! one transaction; where it fails, the indexes and constraints that were made stay, and nothing
//! else.
//!
//! # Invariants
//! * EI-1 What is exported and imported again is an equal graph: labels, types, ends, properties of
//!   all types. Ids are given anew.
//!
//! # Cost
//! The statements of an export, and the names in them, are charged as `export` until it ends; they
//! grow with the number of sets of labels, of types and of their properties. Rows are not kept: a
//! few are charged at a time, as often as the file's format has them while they are written. Each
//! file is a query that runs twice, as what its values have in common must be known first.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_cypher::statement;
use graven_exec::{Deadline, FileAccess, Opened, Refused, sources};
use graven_files::{Cells, Datum, Format, Kind, Options, Shape, Sink, literal};
use graven_pagecache::{BudgetError, Reservation};
use graven_storage::PropertyValue;

use crate::charged_text::{ChargedText, NoText};
use crate::connection::Connection;
use crate::error::Error;
use crate::materialise::to_inner;
use crate::params::Params;
use crate::query_result::QueryResult;
use crate::transaction::Transaction;
use crate::value::Value;

/// Stands behind a statement.
const END: &str = ";\n";

/// Bytes of the values that are written at a time.
const PART_BYTES: u64 = 256 << 10;

/// A file that was written: its name, and how many rows it has.
pub(crate) type Written = (String, u64);

fn wrong(message: impl Into<String>) -> Error {
    Error::new("ArgumentError.InvalidSource", message)
}

/// An error of a file, by the name that the statement gives it: where that leads is the server's
/// own matter.
fn failed(named: &Path, error: &std::io::Error) -> Error {
    wrong(format!("{}: {error}", named.display()))
}

/// The folder of that name, where the connection may name it.
fn place(connection: &Connection, name: &str) -> Result<PathBuf, Error> {
    if graven_objects::is_url(name) {
        return Err(wrong(format!(
            "{name} is a URL, and a database is exported to a folder of this machine and imported \
                from one: copy the folder, or write single files with COPY (...) TO"
        )));
    }
    let closed = || {
        Error::new(
            "Security.Forbidden",
            "files of the server are closed to clients; the server opens a folder to them with \
                --files DIR",
        )
    };
    match &connection.access().files {
        FileAccess::Any(from) => Ok(from.as_deref().unwrap_or(Path::new("")).join(name)),
        FileAccess::Opened(opened) => {
            let root = opened.folder.as_deref().ok_or_else(closed)?;
            let plain = Path::new(name).components().all(|part| {
                matches!(
                    part,
                    std::path::Component::Normal(_) | std::path::Component::CurDir
                )
            });
            let path = root.join(name);
            let linked = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
            // One folder within the opened one: nothing to follow on the way.
            match plain && Path::new(name).components().count() == 1 && !linked {
                true => Ok(path),
                false => Err(Error::new(
                    "Security.Forbidden",
                    format!(
                        "{name} is no folder directly below the one that this server opens to \
                            clients (--files)"
                    ),
                )),
            }
        }
    }
}

/// Names written into statements.
fn quoted(name: &str) -> String {
    let mut text = String::new();
    literal::name(&mut text, name);
    text
}

/// The transaction in which all of an export or import is done.
struct Work {
    transaction: Transaction,
    /// When the statement that asked for it must have ended.
    deadline: Option<Deadline>,
    /// Holds the names and statements that are kept to the end.
    memory: Reservation,
}

impl Work {
    fn begin(connection: &Connection, deadline: Option<Deadline>) -> Result<Work, Error> {
        let budget = &connection.database().inner()?.budget;
        let memory = budget.empty_reservation("export");
        let transaction = connection.begin()?;
        Ok(Work {
            transaction,
            deadline,
            memory,
        })
    }

    /// Runs a statement in the time that is left.
    fn query(&mut self, text: &str) -> Result<QueryResult, Error> {
        self.limit_time();
        self.transaction.query(text, &Params::new())
    }

    /// Starts a query in the time that is left; its rows come as they are asked for.
    fn read(&mut self, query: &str) -> Result<QueryResult, Error> {
        self.limit_time();
        self.transaction.stream(query, &Params::new())
    }

    fn limit_time(&mut self) {
        if let Some(deadline) = &self.deadline {
            self.transaction.set_timeout(Some(deadline.left()));
        }
    }

    /// Charges a text that is kept to the end.
    fn keep(&mut self, text: &str) -> Result<(), Error> {
        let bytes = text.len() + size_of::<String>();
        Ok(self.memory.grow(bytes as u64)?)
    }

    /// The texts of each row of a query.
    fn rows(&mut self, query: &str) -> Result<Vec<Vec<String>>, Error> {
        let mut found = self.read(query)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next_row()? {
            let mut of_row = Vec::new();
            row.values()
                .iter()
                .for_each(|value| texts(value, &mut of_row));
            of_row.iter().try_for_each(|text| self.keep(text))?;
            rows.push(of_row);
        }
        Ok(rows)
    }

    /// The texts of all rows of a query.
    fn texts(&mut self, query: &str) -> Result<Vec<String>, Error> {
        Ok(self.rows(query)?.into_iter().flatten().collect())
    }
}

/// Adds the texts of a value.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| texts(item, into)),
        Value::String(text) => into.push(text.to_string()),
        _ => {}
    }
}

/// What an export is asked for.
#[derive(Default)]
pub(crate) struct ExportOptions {
    /// The format, and how CSV is written.
    pub(crate) files: Options,
    /// Whether something is said about CSV.
    pub(crate) of_text: bool,
    /// No nodes and no relationships.
    pub(crate) schema_only: bool,
}

/// Options of files that an export takes.
const OF_TEXT: &[&str] = &["HEADER", "DELIM", "DELIMITER", "QUOTE", "ESCAPE"];

impl ExportOptions {
    /// Sets one by name; what is wrong with it.
    pub(crate) fn set(&mut self, name: &str, value: &Datum) -> Result<(), String> {
        let upper = name.to_ascii_uppercase();
        if upper == "SCHEMA_ONLY" {
            return match value {
                Datum::Value(PropertyValue::Boolean(flag)) => {
                    self.schema_only = *flag;
                    Ok(())
                }
                _ => Err("the option SCHEMA_ONLY is true or false".to_owned()),
            };
        }
        let of_text = OF_TEXT.contains(&upper.as_str());
        if !of_text && upper != "FORMAT" {
            return Err(format!(
                "there is no option {name}; there are FORMAT, SCHEMA_ONLY, and for CSV HEADER, \
                    DELIM, QUOTE and ESCAPE"
            ));
        }
        self.of_text |= of_text;
        self.files
            .set(name, value)
            .map_err(|error| error.to_string())
    }
}

/// What is being exported.
struct Export<'a> {
    work: Work,
    folder: &'a Path,
    /// What the statement calls the folder.
    named: &'a Path,
    format: Format,
    options: &'a Options,
    /// Name of the property by which nodes are found, and label of all nodes meanwhile: names that
    /// the graph does not have.
    key: String,
    label: String,
    written: Vec<Written>,
}

impl Export<'_> {
    /// Writes the rows of a query to a file of that name; the source as `copy.cypher` has it.
    fn file(&mut self, name: &str, query: &str) -> Result<String, Error> {
        let ending = match self.format {
            Format::Csv => "csv",
            Format::Json => "json",
            _ => "parquet",
        };
        let name = format!("{name}.{ending}");
        let datum = |value: &Value| sources::datum(&to_inner(value)).unwrap_or(Datum::NULL);
        // What the values of each column have in common is known when the last has been seen.
        let result = self.work.read(query)?;
        let columns: Vec<String> = result.columns().to_vec();
        let mut shapes = vec![Shape::default(); columns.len()];
        for row in result {
            for (shape, value) in shapes.iter_mut().zip(row?.values()) {
                shape.see(&datum(value));
            }
        }
        let path = self.folder.join(&name);
        let file = fs::File::create_new(&path);
        let file = file.map_err(|error| failed(&self.named.join(&name), &error))?;
        let options = Options {
            format: Some(self.format),
            header: Some(true),
            ..self.options.clone()
        };
        let options = options.written_within(self.work.memory.budget().limit());
        let given = columns
            .iter()
            .cloned()
            .zip(shapes.iter().cloned())
            .collect();
        let told = |error: graven_files::Error| wrong(error.to_string());
        let mut sink = Sink::create(&name, file, &options, given).map_err(told)?;
        let copies = self.format.copies_written() as u64;
        let kinds = shapes.iter().map(|shape| match self.format.has_columns() {
            true => shape.kind(),
            false => Kind::Null,
        });
        let kinds: Vec<Kind> = kinds.collect();
        // Between parts what the sink keeps of the rows stays charged.
        let (before, mut kept) = (self.work.memory.bytes(), 0);
        let mut result = self.work.read(query)?;
        while let Some(batch) = result.next_rows()? {
            let mut at = 0;
            while at < batch.len() {
                let mut cells = vec![Vec::new(); columns.len()];
                let (from, mut bytes) = (at, 0);
                while at < batch.len() && bytes < PART_BYTES {
                    for (column, cells) in cells.iter_mut().enumerate() {
                        let value = batch.value(at, column).unwrap_or(Value::Null);
                        let datum = datum(&value);
                        bytes += (value.bytes() + kinds[column].bytes_of_nulls(&datum)) as u64;
                        cells.push(datum);
                    }
                    at += 1;
                }
                let wanted = copies * bytes + (sink.held() as u64).saturating_sub(kept);
                (self.work.memory.grow(wanted)).map_err(|error| self.no_room(error))?;
                let cells: Vec<Cells> = cells.into_iter().map(Cells::Data).collect();
                sink.write(&cells, at - from).map_err(told)?;
                let held = self.work.memory.bytes() - before;
                kept = held.min(sink.held() as u64);
                self.work.memory.shrink(held - kept);
            }
        }
        drop(result);
        let count = sink.finish().map_err(told)?;
        self.work.memory.shrink(kept);
        let mut source = String::from("LOAD FROM ");
        literal::quoted(&mut source, &name);
        let declared = columns.iter().zip(&shapes);
        let declared = declared.map(|(name, shape)| format!("{} {}", quoted(name), shape.kind()));
        source.push_str(&format!(" ({})", declared.collect::<Vec<_>>().join(", ")));
        if self.format == Format::Csv {
            source.push_str(" (HEADER = true");
            let given = [
                ("DELIM", Some(options.delimiter.unwrap_or(','))),
                ("QUOTE", options.quote),
                ("ESCAPE", options.escape),
            ];
            for (name, character) in given {
                if let Some(character) = character {
                    source.push_str(&format!(", {name} = "));
                    literal::quoted(&mut source, &character.to_string());
                }
            }
            source.push(')');
        }
        self.written.push((name, count));
        Ok(source)
    }

    /// Rows do not fit as often as the format has them while they are written.
    fn no_room(&self, error: BudgetError) -> Error {
        let advice = match self.format.copies_written() > Format::Csv.copies_written() {
            true => "; a text format, (FORMAT CSV), needs less",
            false => "",
        };
        Error::new("Memory.Limit", format!("{error}{advice}"))
    }

    /// Keys of the properties of what a pattern finds.
    fn keys(&mut self, pattern: &str) -> Result<Vec<String>, Error> {
        let query = format!("{pattern} UNWIND keys(x) AS k RETURN DISTINCT k ORDER BY k");
        self.work.texts(&query)
    }

    fn nodes(&mut self) -> Result<Vec<String>, Error> {
        let sets = "MATCH (n) WITH DISTINCT labels(n) AS l UNWIND CASE size(l) WHEN 0 THEN [null] \
            ELSE l END AS one \
            WITH l, one ORDER BY one WITH l, collect(one) AS sorted RETURN DISTINCT sorted ORDER \
            BY sorted";
        let sets = self.work.rows(sets)?;
        let mut statements = Vec::new();
        for (number, labels) in sets.iter().enumerate() {
            let names: String = labels
                .iter()
                .map(|label| format!(":{}", quoted(label)))
                .collect();
            let pattern = format!("MATCH (x{names}) WHERE size(labels(x)) = {}", labels.len());
            let keys = self.keys(&pattern)?;
            let columns = keys
                .iter()
                .map(|key| format!(", x.{0} AS {0}", quoted(key)));
            let query = format!(
                "{pattern} RETURN id(x) AS {}{}",
                quoted(&self.key),
                columns.collect::<String>()
            );
            let source = self.file(&format!("nodes-{number}"), &query)?;
            let all = std::iter::once(&self.key).chain(&keys);
            let entries = all.map(|key| format!("{0}: {0}", quoted(key)));
            let statement = format!(
                "{source} CREATE ({names}:{} {{{}}})",
                quoted(&self.label),
                entries.collect::<Vec<_>>().join(", ")
            );
            self.work.keep(&statement)?;
            statements.push(statement);
        }
        Ok(statements)
    }

    fn relationships(&mut self) -> Result<Vec<String>, Error> {
        let types = "MATCH ()-[r]->() RETURN DISTINCT type(r) AS t ORDER BY t";
        let types = self.work.texts(types)?;
        let (key, label) = (self.key.clone(), quoted(&self.label));
        let (from, to) = (quoted(&format!("{key}_from")), quoted(&format!("{key}_to")));
        let mut statements = Vec::new();
        for (number, name) in types.iter().enumerate() {
            let name = quoted(name);
            let pattern = format!("MATCH (a)-[x:{name}]->(b)");
            let keys = self.keys(&pattern)?;
            let columns = keys
                .iter()
                .map(|key| format!(", x.{0} AS {0}", quoted(key)));
            let query = format!(
                "{pattern} RETURN id(a) AS {from}, id(b) AS {to}{}",
                columns.collect::<String>()
            );
            let source = self.file(&format!("relationships-{number}"), &query)?;
            let entries = keys.iter().map(|key| format!("{0}: {0}", quoted(key)));
            let properties = match keys.is_empty() {
                true => String::new(),
                false => format!(" {{{}}}", entries.collect::<Vec<_>>().join(", ")),
            };
            // The nodes are named so that no column is called the same.
            let [a, b] = ["a", "b"].map(|end| quoted(&format!("{key}_{end}")));
            let key = quoted(&key);
            let statement = format!(
                "{source} MATCH ({a}:{label} {{{key}: {from}}}), ({b}:{label} {{{key}: {to}}}) \
                    CREATE ({a})-[:{name}{properties}]->({b})"
            );
            self.work.keep(&statement)?;
            statements.push(statement);
        }
        Ok(statements)
    }
}

/// Writes all of the database to a new folder.
pub(crate) fn export(
    connection: &Connection,
    deadline: Option<Deadline>,
    name: &str,
    options: &ExportOptions,
) -> Result<Vec<Written>, Error> {
    let format = match options.files.format.unwrap_or(Format::Parquet) {
        format @ (Format::Parquet | Format::Csv | Format::Json) => format,
        _ => return Err(wrong("a database is exported as PARQUET, CSV or JSON")),
    };
    if options.of_text && format != Format::Csv {
        return Err(wrong("HEADER, DELIM, QUOTE and ESCAPE are options of CSV"));
    }
    if options.files.header == Some(false) {
        return Err(wrong("the CSV files of an export have headers"));
    }
    let (delimiter, quote) = (
        options.files.delimiter.unwrap_or(','),
        options.files.quote.unwrap_or('"'),
    );
    if delimiter == quote || options.files.escape == Some(delimiter) {
        return Err(wrong(
            "DELIM must be another character than QUOTE and ESCAPE: the files could not be read",
        ));
    }
    let folder = place(connection, name)?;
    let named = Path::new(name);
    if let Some(parent) = folder.parent() {
        let of_named = named.parent().unwrap_or(named);
        fs::create_dir_all(parent).map_err(|error| failed(of_named, &error))?;
    }
    fs::create_dir(&folder).map_err(|error| failed(named, &error))?;
    let exported = export_to(connection, deadline, (&folder, named), (format, options));
    if exported.is_err() {
        // What cannot be removed is no export: its statements are written last.
        let _ = fs::remove_dir_all(&folder);
    }
    exported
}

fn export_to(
    connection: &Connection,
    deadline: Option<Deadline>,
    (folder, named): (&Path, &Path),
    (format, options): (Format, &ExportOptions),
) -> Result<Vec<Written>, Error> {
    let mut work = Work::begin(connection, deadline)?;
    let names = "MATCH (x) UNWIND keys(x) + labels(x) AS k RETURN DISTINCT k \
        UNION MATCH ()-[x]->() UNWIND keys(x) AS k RETURN DISTINCT k";
    let taken = work.texts(names)?;
    let free = |wanted: &str| {
        let mut name = wanted.to_owned();
        while taken.iter().any(|known| known.starts_with(&name)) {
            name.push('_');
        }
        name
    };
    let mut schema = Vec::new();
    for of in [
        "CALL graven.sequences() YIELD createStatements RETURN createStatements",
        "CALL graven.kuzuMacros() YIELD definition RETURN definition",
        "CALL graven.typeNames() YIELD createStatement RETURN createStatement",
        "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement",
        "SHOW INDEXES YIELD createStatement, owningConstraint, type WHERE owningConstraint IS NULL \
            AND type <> 'LOOKUP' RETURN createStatement",
    ] {
        schema.extend(work.texts(of)?);
    }
    let comments = "CALL graven.comments() YIELD createStatement RETURN createStatement";
    let comments = work.texts(comments)?;
    let mut export = Export {
        work,
        folder,
        named,
        format,
        options: &options.files,
        key: free("exported_id"),
        label: free("Exported"),
        written: Vec::new(),
    };
    let (key, label) = (quoted(&export.key), quoted(&export.label));
    // Sequences that have begun go on behind the numbers that they gave.
    let advanced: Vec<String> = schema
        .extract_if(.., |text| text.starts_with("RETURN "))
        .collect();
    // A default would fill in what is null, a serial number what is written next.
    let late: Vec<String> = schema.extract_if(.., |text| gives_values(text)).collect();
    schema.push(format!(
        "CREATE INDEX graven_exported FOR (n:{label}) ON (n.{key})"
    ));
    let mut copy = Vec::new();
    if !options.schema_only {
        copy.extend(export.nodes()?);
        copy.extend(export.relationships()?);
    }
    copy.push(format!("MATCH (n:{label}) REMOVE n:{label}, n.{key}"));
    copy.extend(advanced);
    copy.push("DROP INDEX graven_exported".to_owned());
    copy.extend(late);
    copy.extend(comments);
    export.work.transaction.rollback();
    for (name, statements) in [("schema.cypher", schema), ("copy.cypher", copy)] {
        let path = folder.join(name);
        let text = statements.join(END) + END;
        let written = fs::write(&path, text).and_then(|()| fs::File::open(&path)?.sync_all());
        written.map_err(|error| failed(&named.join(name), &error))?;
    }
    Ok(export.written)
}

/// Whether a statement of the schema makes a constraint that gives new nodes and relationships
/// values: it comes after the data.
fn gives_values(statement: &str) -> bool {
    statement.contains(" DEFAULT ") || statement.contains(" IS :: SERIAL")
}

/// The text of a file of the folder `name`, read where the connection may read.
fn script(connection: &Connection, name: &str, file: &str) -> Result<ChargedText, Error> {
    let named = Path::new(name).join(file);
    let opened = connection.access().files.open(&named);
    let opened = opened.map_err(|refused| match refused {
        Refused::Policy(why) => Error::new("Security.Forbidden", why),
        Refused::System(error) => failed(&named, &error),
    })?;
    let memory = connection
        .database()
        .inner()?
        .budget
        .empty_reservation("script");
    ChargedText::read(opened, memory).map_err(|why| match why {
        NoText::Memory(error) => error.into(),
        NoText::System(error) => failed(&named, &error),
    })
}

/// Runs the statements of an exported folder; how many there were.
pub(crate) fn import(
    connection: &Connection,
    deadline: Option<Deadline>,
    name: &str,
) -> Result<u64, Error> {
    let folder = place(connection, name)?;
    let texts = [
        script(connection, name, "schema.cypher")?,
        script(connection, name, "copy.cypher")?,
    ];
    let mut access = connection.access().clone();
    access.files = match access.files {
        FileAccess::Opened(opened) => FileAccess::Opened(Opened {
            kept: opened.kept,
            ..Opened::below(folder.as_path())
        }),
        FileAccess::Any(_) => FileAccess::Any(Some(Arc::from(folder.as_path()))),
    };
    let connection = connection.clone().with_access(access);
    let run = |text: &str| {
        let left = deadline.map(Deadline::left);
        let connection = connection.clone().with_timeout(left);
        let mut result = connection.query(text, &Params::new())?;
        Ok::<bool, Error>(result.next_row()?.is_some())
    };
    if run("MATCH (n) RETURN 1 LIMIT 1")? {
        return Err(wrong(
            "IMPORT DATABASE wants a database without nodes: make a new one",
        ));
    }
    let mut statements: Vec<&str> = Vec::new();
    for text in &texts {
        let cut = statement::split(text);
        statements.extend(cut.complete);
        statements.extend((!statement::is_blank(cut.rest)).then_some(cut.rest.trim()));
    }
    let first_words = |text: &str| {
        let text = statement::without_comments(text);
        let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
        [(); 3].map(|()| words.next().unwrap_or_default())
    };
    let of_schema = |text: &str| {
        let [first, second, third] = first_words(text);
        let is_pattern = second.starts_with('(') || second.contains('=') || third.starts_with('=');
        matches!(&*first, "DROP" | "COMMENT") || first == "CREATE" && !is_pattern
    };
    // Kuzu's exports bring sequences up to their last number: ahead of all data, this is schema.
    let draws = |text: &str| {
        let [first, second, _] = first_words(text);
        first == "RETURN" && second.starts_with("NEXTVAL(")
    };
    let count = statements.len();
    let first = statements
        .iter()
        .position(|text| !of_schema(text) && !draws(text));
    let last = statements.iter().rposition(|text| !of_schema(text));
    let first = first.unwrap_or(count);
    let last = last.map_or(count, |last| first.max(last + 1));
    // What the schema has is there before all data, so that these are one transaction.
    let amid = statements[first..last].iter();
    let amid: Vec<&&str> = amid.filter(|text| of_schema(text)).collect();
    if let Some(dropped) = amid.iter().find(|text| first_words(text)[0] == "DROP") {
        return Err(wrong(format!(
            "IMPORT DATABASE runs no `{dropped}` between statements that make data: move it before \
             or behind all of them"
        )));
    }
    for text in statements[..first].iter().chain(amid) {
        run(text)?;
    }
    let mut work = Work::begin(&connection, deadline)?;
    for text in statements[first..last]
        .iter()
        .filter(|text| !of_schema(text))
    {
        drop(work.query(text)?);
    }
    work.transaction.commit()?;
    for text in &statements[last..] {
        run(text)?;
    }
    Ok(count as u64)
}
