//! Elements into a database, a batch a statement.
//!
//! # How it works
//! Each batch of nodes of one set of labels is an `UNWIND $rows ... CREATE`. Nodes carry [`LABEL`]
//! and the file's id as [`KEY`], with a uniqueness constraint, until all is loaded. Relationships
//! find their ends by it; a batch that makes fewer than it has rows names an id that no node has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use graven::{Connection, Params, Value};

use crate::element::{Element, Properties};
use crate::error::{Error, Result};
use crate::text::name;

/// Label of all nodes while a file is loaded.
const LABEL: &str = "_Imported";
/// Property that holds the file's id meanwhile.
const KEY: &str = "_imported_id";
/// Rows of a statement.
const ROWS: usize = 1000;
/// Rows that wait, over all statements.
const WAITING: usize = 20_000;
/// About the bytes of texts in rows that wait.
const WAITING_BYTES: usize = 8 << 20;
/// Nodes that lose their mark at once.
const REMOVED_AT_ONCE: u64 = 10_000;

/// Loads elements.
pub(crate) struct Loader<'a> {
    connection: &'a Connection,
    path: PathBuf,
    /// The file has rows instead of lines.
    has_rows: bool,
    waiting: BTreeMap<String, Vec<Value>>,
    count: usize,
    bytes: usize,
    pub(crate) nodes: u64,
    pub(crate) relationships: u64,
    line: u64,
}

impl<'a> Loader<'a> {
    pub(crate) fn begin(connection: &'a Connection, path: &Path) -> Result<Self> {
        let loader = Self {
            connection,
            path: path.to_owned(),
            has_rows: false,
            waiting: BTreeMap::new(),
            count: 0,
            bytes: 0,
            nodes: 0,
            relationships: 0,
            line: 0,
        };
        loader.run(&format!(
            "CREATE CONSTRAINT graven_imported FOR (n:{LABEL}) REQUIRE n.{KEY} IS UNIQUE"
        ))?;
        Ok(loader)
    }

    /// The next elements are rows of this file.
    pub(crate) fn file(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
        self.has_rows = true;
    }

    fn run(&self, text: &str) -> Result<u64> {
        let mut count = 0;
        for row in self.connection.query(text, &Params::new())? {
            if let [Value::Integer(found)] = row?.values() {
                count = u64::try_from(*found).unwrap_or(0);
            }
        }
        Ok(count)
    }

    fn wrong(&self, message: String) -> Error {
        let (path, line) = (self.path.clone(), self.line);
        match self.has_rows {
            true => Error::Row {
                path,
                row: line,
                message,
            },
            false => Error::Input {
                path,
                line,
                message,
            },
        }
    }

    /// Something is wrong with an element that waited.
    fn wrong_before(&self, message: &str) -> Error {
        let what = if self.has_rows { "row" } else { "line" };
        self.wrong(format!("at or before this {what}: {message}"))
    }

    /// Takes the element that begins in `line` of the file, or is that row of it.
    pub(crate) fn push(&mut self, element: Element, line: u64) -> Result<()> {
        self.line = line;
        let (Element::Node { properties, .. } | Element::Relationship { properties, .. }) =
            &element;
        self.bytes += properties
            .iter()
            .map(|(_, value)| size(value))
            .sum::<usize>();
        if let Element::Node { labels, .. } = &element
            && (labels.iter().any(|label| label == LABEL)
                || properties.iter().any(|(key, _)| key == KEY))
        {
            let message = format!(
                "the label {LABEL} and the property {KEY} serve the import itself: rename them in \
                 the file"
            );
            return Err(self.wrong(message));
        }
        let (clause, row) = match element {
            Element::Node {
                id,
                labels,
                properties,
            } => {
                self.nodes += 1;
                let labels: String = labels.iter().map(|l| format!(":{}", name(l))).collect();
                let clause = format!("CREATE (n:{LABEL}{labels} {{{KEY}: row.id}}) SET n += row.p");
                let row = [("id", Value::from(id)), ("p", map(properties))];
                (clause, row.to_vec())
            }
            Element::Relationship {
                start,
                end,
                name: kind,
                properties,
            } => {
                self.relationships += 1;
                let clause = format!(
                    "MATCH (a:{LABEL} {{{KEY}: row.a}}) MATCH (b:{LABEL} {{{KEY}: row.b}}) \
                     CREATE (a)-[r:{}]->(b) SET r += row.p",
                    name(&kind)
                );
                let (start, end) = (Value::from(start), Value::from(end));
                let row = [("a", start), ("b", end), ("p", map(properties))];
                (clause, row.to_vec())
            }
        };
        let row = Value::Map(row.into_iter().map(|(k, v)| (k.into(), v)).collect());
        let rows = self.waiting.entry(clause.clone()).or_default();
        rows.push(row);
        self.count += 1;
        // All that wait are loaded together: a relationship may end at a node that waits.
        if rows.len() == ROWS || self.count >= WAITING || self.bytes >= WAITING_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn load(&mut self, clause: &str, rows: Vec<Value>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.count = self.count.saturating_sub(rows.len());
        let ends: Vec<[Option<Value>; 2]> = match clause.starts_with("MATCH") {
            true => rows.iter().map(ends).collect(),
            false => Vec::new(),
        };
        let wanted = rows.len() as u64;
        let params = Params::new().with("rows", Value::List(rows));
        let text = format!("UNWIND $rows AS row {clause} RETURN count(*)");
        let mut made = 0;
        let result = self.connection.query(&text, &params);
        let near = |error: graven::Error| self.wrong_before(&error.to_string());
        for row in result.map_err(near)? {
            if let [Value::Integer(count)] = row.map_err(near)?.values() {
                made = u64::try_from(*count).unwrap_or(0);
            }
        }
        if made == wanted {
            return Ok(());
        }
        let find = format!("RETURN EXISTS {{ MATCH (n:{LABEL} {{{KEY}: $id}}) }}");
        for id in ends.into_iter().flatten().flatten() {
            let params = Params::new().with("id", id.clone());
            for row in self.connection.query(&find, &params)? {
                if let [Value::Boolean(false)] = row?.values() {
                    return Err(self.wrong_before(&format!(
                        "a relationship has an end with id {id}, which no node before it has"
                    )));
                }
            }
        }
        Err(self.wrong("the ends of relationships cannot be found".to_owned()))
    }

    /// Loads what waits: nodes first, as `CREATE` sorts before `MATCH`.
    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        for (clause, rows) in std::mem::take(&mut self.waiting) {
            self.load(&clause, rows)?;
        }
        Ok(())
    }

    /// Loads what waits, and removes the ids of the file.
    pub(crate) fn end(mut self) -> Result<(u64, u64)> {
        self.flush()?;
        let remove = format!(
            "MATCH (n:{LABEL}) WITH n LIMIT {REMOVED_AT_ONCE} \
             REMOVE n:{LABEL}, n.{KEY} RETURN count(*)"
        );
        while self.run(&remove)? > 0 {}
        self.run("DROP CONSTRAINT graven_imported")?;
        Ok((self.nodes, self.relationships))
    }
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    let held = match value {
        Value::String(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum(),
        _ => 0,
    };
    size_of::<Value>() + held
}

fn map(properties: Properties) -> Value {
    let entries = properties.into_iter();
    Value::Map(entries.map(|(k, v)| (k.into(), v)).collect())
}

/// The ids of the ends that a row names.
fn ends(row: &Value) -> [Option<Value>; 2] {
    match row {
        Value::Map(entries) => ["a", "b"].map(|end| entries.get(end).cloned()),
        _ => [None, None],
    }
}
