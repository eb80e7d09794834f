//! What Neo4j's APOC exports, into an empty database: Cypher scripts, JSON, CSV and GraphML.
//!
//! # How it works
//! The form is told by the ending of the name, or by the first character. Scripts run statement by
//! statement; the commands of Neo4j's shells between them (`:begin`, `:commit`, `:param`) are
//! understood. The other forms become elements ([`crate::element`]).
//!
//! # Source
//! Neo4j APOC, "Export": `apoc.export.cypher.all`, `.json.all`, `.csv.all`, `.graphml.all`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use graven::{Connection, Params, PropertyValue, Value, statement};
use graven_files::elements::{self, labels};
use graven_files::{Kind, plain};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::load::Loader;
use crate::text::stored_value;

/// What an import made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Nodes made.
    pub nodes: u64,
    /// Relationships made.
    pub relationships: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Cypher,
    Json,
    Csv,
    GraphMl,
}

/// Loads an export of Neo4j into a database.
///
/// A failed import leaves what it has loaded: load into a new database, and remove that.
///
/// # Errors
/// The file cannot be read or is not what it seems, with the line; or the database refuses a value.
///
/// # Examples
/// ```no_run
/// let db = graven::Database::open("new.graven", graven::Config::default())?;
/// let made = graven_convert::import_neo4j(&db.connect(), "all.json".as_ref())?;
/// println!("{} nodes, {} relationships", made.nodes, made.relationships);
/// # Ok::<(), graven_convert::Error>(())
/// ```
pub fn import_neo4j(connection: &Connection, path: &Path) -> Result<Imported> {
    let form = form(path)?;
    if form == Form::Cypher {
        return script(connection, path);
    }
    let mut loader = Loader::begin(connection, path)?;
    let open = || {
        File::open(path)
            .map(BufReader::new)
            .map_err(Error::io(path))
    };
    match form {
        Form::Json => load(elements::Json::new(open()?), &mut loader, path)?,
        Form::GraphMl => load(elements::GraphMl::new(open()?), &mut loader, path)?,
        _ => csv(path, &mut |element, line| loader.push(element, line))?,
    }
    let (nodes, relationships) = loader.end()?;
    Ok(Imported {
        nodes,
        relationships,
    })
}

/// Loads what a reader of elements gives.
fn load(
    given: impl Iterator<Item = std::result::Result<(elements::Element, u64), elements::Wrong>>,
    loader: &mut Loader<'_>,
    path: &Path,
) -> Result<()> {
    for element in given {
        let (element, line) = element.map_err(|it| wrong(path, it.line, it.message))?;
        loader.push(element.with_values(|value| stored_value(&value)), line)?;
    }
    Ok(())
}

fn wrong(path: &Path, line: u64, message: impl Into<String>) -> Error {
    Error::Input {
        path: path.to_owned(),
        line,
        message: message.into(),
    }
}

fn form(path: &Path) -> Result<Form> {
    let mut head = [0; 512];
    let mut file = File::open(path).map_err(Error::io(path))?;
    let count = file.read(&mut head).map_err(Error::io(path))?;
    let head = &head[..count];
    if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Err(wrong(path, 1, "is compressed: unpack it first"));
    }
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "cypher" | "cql" | "cyp" => return Ok(Form::Cypher),
        "json" | "jsonl" | "ndjson" => return Ok(Form::Json),
        "csv" => return Ok(Form::Csv),
        "graphml" | "xml" => return Ok(Form::GraphMl),
        "dump" | "backup" => {
            return Err(wrong(
                path,
                1,
                "is a copy of Neo4j's store, which only Neo4j reads: load it there and export it \
                 with CALL apoc.export.json.all('all.json', {})",
            ));
        }
        _ => {}
    }
    let first = head.iter().find(|b| !b.is_ascii_whitespace());
    match first {
        Some(b'{' | b'[') => Ok(Form::Json),
        Some(b'<') => Ok(Form::GraphMl),
        Some(_) if head.starts_with(b"\"_id\"") || head.starts_with(b"_id") => Ok(Form::Csv),
        _ => Err(wrong(
            path,
            1,
            "is none of the forms that are known: give it the ending .cypher, .json, .csv or \
             .graphml",
        )),
    }
}

fn count(connection: &Connection, text: &str) -> Result<u64> {
    let mut count = 0;
    for row in connection.query(text, &Params::new())? {
        if let [Value::Integer(found)] = row?.values() {
            count = u64::try_from(*found).unwrap_or(0);
        }
    }
    Ok(count)
}

/// Runs a script. Statements are short beside the file, so it is read piece by piece.
fn script(connection: &Connection, path: &Path) -> Result<Imported> {
    let file = File::open(path).map_err(Error::io(path))?;
    let mut params = Params::new();
    let (mut pending, mut line) = (String::new(), 1);
    for text in BufReader::new(file).lines() {
        let text = text.map_err(Error::io(path))?;
        let between = statement::is_blank(&pending);
        let lines = pending.matches('\n').count() as u64;
        if between && is_command(&text, &mut params, connection, (path, line + lines))? {
            pending.push('\n');
            continue;
        }
        pending.push_str(&text);
        pending.push('\n');
        if !text.contains(';') {
            continue;
        }
        let cut = statement::split(&pending);
        for one in &cut.complete {
            let at = line + statement::line_of(&pending, one) as u64 - 1;
            let near = |error: graven::Error| wrong(path, at, error.to_string());
            for row in connection.query(one, &params).map_err(near)? {
                row.map_err(near)?;
            }
        }
        let rest = cut.rest.to_owned();
        line += (pending.matches('\n').count() - rest.matches('\n').count()) as u64;
        pending = rest;
    }
    if !statement::is_blank(&pending) {
        let at = line + statement::line_of(&pending, statement::without_comments(&pending)) as u64;
        return Err(wrong(
            path,
            at - 1,
            "the last statement has no semicolon: is the file whole?",
        ));
    }
    Ok(Imported {
        nodes: count(connection, "MATCH (n) RETURN count(*)")?,
        relationships: count(connection, "MATCH ()-[r]->() RETURN count(*)")?,
    })
}

/// Whether the line is a command of a shell; parameters are set.
fn is_command(
    text: &str,
    params: &mut Params,
    connection: &Connection,
    (path, line): (&Path, u64),
) -> Result<bool> {
    let text = text.trim().trim_end_matches(';');
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let only = words.next().is_none();
    match first.to_ascii_lowercase().as_str() {
        ":begin" | ":commit" | ":source" | ":use" => Ok(true),
        "begin" | "commit" => Ok(only),
        "schema" => Ok(text.eq_ignore_ascii_case("schema await")),
        ":param" => {
            let usage = || wrong(path, line, "write :param name => value");
            let rest = text[":param".len()..].trim();
            let (name, value) = rest.split_once("=>").ok_or_else(usage)?;
            let name = name.trim().trim_matches('`').to_owned();
            let near = |error: graven::Error| wrong(path, line, error.to_string());
            let query = format!("RETURN {value} AS value");
            for row in connection.query(&query, params).map_err(near)? {
                for value in row.map_err(near)?.into_values() {
                    params.set(name.as_str(), value);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// CSV of `apoc.export.csv.all`: nodes and relationships in one table.
fn csv(path: &Path, each: &mut dyn FnMut(Element, u64) -> Result<()>) -> Result<()> {
    let told = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        wrong(path, line, error.to_string())
    };
    let open = || csv::ReaderBuilder::new().from_path(path);
    let mut reader = open().map_err(told)?;
    let header = reader.headers().map_err(told)?.clone();
    let column = |name: &str| {
        let found = header.iter().position(|column| column == name);
        found.ok_or_else(|| {
            wrong(
                path,
                1,
                format!("has no column {name}: tables with typed headers are imported by --nodes"),
            )
        })
    };
    let [id, of_labels, start, end, name] = [
        column("_id")?,
        column("_labels")?,
        column("_start")?,
        column("_end")?,
        column("_type")?,
    ];
    // The types of the columns are seen in a first pass: they are not written anywhere.
    let mut kinds: Vec<Option<Kind>> = vec![None; header.len()];
    for record in reader.records() {
        for (kind, text) in kinds.iter_mut().zip(&record.map_err(told)?) {
            *kind = with(kind.take(), text);
        }
    }
    let mut reader = open().map_err(told)?;
    for record in reader.records() {
        let record = record.map_err(told)?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |column: usize| record.get(column).unwrap_or_default();
        let mut properties = Vec::new();
        for (at, key) in header.iter().enumerate() {
            let text = field(at);
            if [id, of_labels, start, end, name].contains(&at) || text.is_empty() {
                continue;
            }
            let kind = kinds[at].as_ref().unwrap_or(&Kind::String);
            let value = plain::read(kind, text)
                .map_err(|why| wrong(path, line, format!("column {key}: {why}")))?;
            properties.push((key.to_owned(), stored_value(&value)));
        }
        let element = match field(id) {
            "" => Element::Relationship {
                start: field(start).to_owned(),
                end: field(end).to_owned(),
                name: field(name).to_owned(),
                properties,
            },
            node => Element::Node {
                id: node.to_owned(),
                labels: labels(field(of_labels)),
                properties,
            },
        };
        each(element, line)?;
    }
    Ok(())
}

/// The kind that holds the values so far and this text, which comes back from it unchanged.
fn with(kind: Option<Kind>, text: &str) -> Option<Kind> {
    if text.is_empty() {
        return kind;
    }
    let same = |kind: &Kind| {
        let value = plain::read(kind, text);
        value.is_ok_and(|value| match value {
            PropertyValue::Integer(i) => i.to_string() == text,
            PropertyValue::Boolean(b) => b.to_string() == text,
            PropertyValue::Float(x) => x.is_finite() && text.contains(['.', 'e', 'E']),
            PropertyValue::List(_) => text.starts_with('['),
            _ => true,
        })
    };
    let list = || Kind::List(Box::new(Kind::String));
    let candidates = match kind {
        None => vec![Kind::Integer, Kind::Float, Kind::Boolean, list()],
        Some(Kind::Integer) => vec![Kind::Integer],
        Some(other) => vec![other],
    };
    Some(candidates.into_iter().find(same).unwrap_or(Kind::String))
}
