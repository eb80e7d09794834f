//! A graph as a script of openCypher statements.
//!
//! # How it works
//! Nodes are made a few hundred at a time by `UNWIND` over a list of maps, a statement for each set
//! of labels. They carry a label and a number of their own while relationships are made, found by
//! an index. Both are removed at the end, [`REMOVED_AT_ONCE`] nodes a statement. A statement ends
//! with `;` and a line feed; no text within has a line feed.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use graven::{Connection, Value};

use crate::error::{Error, Result};
use crate::graph::{Exported, Graph, sorted};
use crate::text::{literal_of, name};

/// Rows of a statement.
const ROWS: usize = 500;
/// Bytes of rows of a statement, unless a single row is longer.
const BYTES: usize = 256 << 10;
/// Most bytes of a single row: a statement with it stays below the 64 MiB that Graven reads.
const ROW_BYTES_MAX: usize = 60 << 20;
/// Bytes of rows that wait, over all statements.
const WAITING: usize = 16 << 20;
/// Nodes that lose their mark at once.
const REMOVED_AT_ONCE: u64 = 10_000;

/// Whether a script makes indexes and constraints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schema {
    /// It does, in the words that Graven and Neo4j share.
    #[default]
    With,
    /// It does not: openCypher itself has no words for them.
    Without,
}

/// Rows that wait for their statement, by what follows `UNWIND [...] AS row`.
#[derive(Default)]
struct Statements {
    waiting: BTreeMap<String, (String, usize)>,
    bytes: usize,
}

impl Statements {
    fn add(&mut self, out: &mut dyn Write, clause: String, row: &str) -> Result<()> {
        if row.len() > ROW_BYTES_MAX {
            return Err(Error::Form(format!(
                "a script cannot hold a node or relationship whose values take {} bytes of text, \
                 at most {ROW_BYTES_MAX}: export in another form. It begins with {}",
                row.len(),
                row.chars().take(60).collect::<String>()
            )));
        }
        let (rows, count) = self.waiting.entry(clause.clone()).or_default();
        if *count > 0 {
            rows.push_str(", ");
        }
        rows.push_str(row);
        *count += 1;
        self.bytes += row.len();
        if *count == ROWS || rows.len() >= BYTES {
            let (rows, _) = self.waiting.remove(&clause).unwrap_or_default();
            self.bytes = self.bytes.saturating_sub(rows.len());
            write(out, &clause, &rows)?;
        }
        if self.bytes >= WAITING {
            self.end(out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        self.bytes = 0;
        for (clause, (rows, _)) in std::mem::take(&mut self.waiting) {
            write(out, &clause, &rows)?;
        }
        Ok(())
    }
}

fn write(out: &mut dyn Write, clause: &str, rows: &str) -> Result<()> {
    Ok(writeln!(out, "UNWIND [{rows}] AS row {clause};")?)
}

/// Ends a row with its properties. A long value is copied once.
fn with_properties(mut row: String, properties: &BTreeMap<Arc<str>, Value>) -> String {
    row.push_str("p: {");
    for (at, (key, value)) in properties.iter().enumerate() {
        let literal = literal_of(value);
        let key = name(key);
        row.reserve(literal.len() + key.len() + 6);
        row.push_str(if at == 0 { "" } else { ", " });
        row.push_str(&key);
        row.push_str(": ");
        row.push_str(&literal);
    }
    row.push_str("}}");
    row
}

/// Writes the graph as a script.
///
/// # Errors
/// The graph cannot be read, the values of one node or relationship are too long for a statement,
/// or the stream refuses the text.
///
/// # Examples
/// ```no_run
/// use graven_convert::{Schema, export_cypher};
/// let db = graven::Database::open("social.graven", graven::Config::default())?;
/// let mut script = Vec::new();
/// let exported = export_cypher(&db.connect(), &mut script, Schema::With)?;
/// println!("{} nodes", exported.nodes);
/// # Ok::<(), graven_convert::Error>(())
/// ```
pub fn export_cypher(
    connection: &Connection,
    out: &mut dyn Write,
    schema: Schema,
) -> Result<Exported> {
    let mut graph = Graph::begin(connection)?;
    let (label, key) = graph.free_names()?;
    let (label, key) = (name(&label), name(&key));
    let mut late = Vec::new();
    if schema == Schema::With {
        writeln!(
            out,
            "CREATE INDEX exported_ids FOR (n:{label}) ON (n.{key});"
        )?;
        for statement in graph.schema()? {
            // A default would fill in what is null, a serial number what is written next.
            match statement.contains(" DEFAULT ") || statement.contains(" IS :: SERIAL") {
                true => late.push(statement),
                false => writeln!(out, "{statement};")?,
            }
        }
    }
    let mut exported = Exported::default();
    let (mut statements, mut bytes) = (Statements::default(), 0);
    graph.nodes(|node| {
        let labels = sorted(&node.labels);
        let labels: String = labels.iter().map(|l| format!(":{}", name(l))).collect();
        bytes += count_bytes(&node.properties);
        let row = with_properties(format!("{{id: {}, ", node.id), &node.properties);
        let clause = format!("CREATE (n:{label}{labels} {{{key}: row.id}}) SET n += row.p");
        exported.nodes += 1;
        statements.add(out, clause, &row)
    })?;
    statements.end(out)?;
    graph.relationships(|relationship| {
        bytes += count_bytes(&relationship.properties);
        let (from, to) = (relationship.start, relationship.end);
        let row = format!("{{a: {from}, b: {to}, ");
        let row = with_properties(row, &relationship.properties);
        let clause = format!(
            "MATCH (a:{label} {{{key}: row.a}}), (b:{label} {{{key}: row.b}}) \
             CREATE (a)-[r:{}]->(b) SET r += row.p",
            name(&relationship.rel_type)
        );
        exported.relationships += 1;
        statements.add(out, clause, &row)
    })?;
    statements.end(out)?;
    for _ in 0..exported.nodes.div_ceil(REMOVED_AT_ONCE) {
        writeln!(
            out,
            "MATCH (n:{label}) WITH n LIMIT {REMOVED_AT_ONCE} REMOVE n:{label}, n.{key};"
        )?;
    }
    if schema == Schema::With {
        writeln!(out, "DROP INDEX exported_ids;")?;
        for statement in late {
            writeln!(out, "{statement};")?;
        }
    }
    out.flush()?;
    if bytes > 0 {
        exported.notes.push(format!(
            "{bytes} values of bytes are written as bytes('...'), a function that only Graven has"
        ));
    }
    Ok(exported)
}

/// How many of the properties are bytes.
fn count_bytes(properties: &BTreeMap<Arc<str>, Value>) -> u64 {
    let bytes = properties.values().filter(|v| matches!(v, Value::Bytes(_)));
    bytes.count() as u64
}
