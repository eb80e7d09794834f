//! Cypher: a script that makes the schema, the nodes, the relationships, and cleans up behind them.
//!
//! # How it works
//! Nodes bear a label and a number of their own while relationships are made, found by a
//! constraint. Rows come sorted by labels and by types, some of them a statement.
//!
//! # Source
//! Neo4j APOC Core 5, "Export to Cypher Script".

use graven_exec::{ExecError, Value, sources};
use graven_files::literal;

use super::Export;

/// Rows of a statement.
pub(super) const BATCH: usize = 20;
/// Nodes that lose their mark at once.
const CLEANED: u64 = 20_000;

const AWAIT: &str = "CALL db.awaitIndexes(300);\n";

/// The mark of nodes, and what finds it.
const LABEL: &str = "`UNIQUE IMPORT LABEL`";
const KEY: &str = "`UNIQUE IMPORT ID`";

/// Where in the text its parts end: schema, nodes, relationships.
#[derive(Default)]
pub(super) struct Statements {
    ends: [usize; 3],
}

impl Statements {
    /// Nodes, relationships, schema and cleaning of the text; nulls of no text.
    pub(super) fn parts(&self, text: &Value) -> [Value; 4] {
        let Value::String(text) = text else {
            return [const { Value::Null }; 4];
        };
        let [schema, nodes, relationships] = self.ends;
        let part = |from: usize, to: usize| Value::text(&text[from..to]);
        [
            part(schema, nodes),
            part(nodes, relationships),
            part(0, schema),
            part(relationships, text.len()),
        ]
    }
}

/// See the file header.
pub(super) fn write(export: &mut Export<'_>) -> Result<(), ExecError> {
    export.collect()?;
    schema(export)?;
    export.written.statements.ends[0] = export.to.length();
    nodes(export)?;
    export.written.statements.ends[1] = export.to.length();
    relationships(export)?;
    export.written.statements.ends[2] = export.to.length();
    clean(export)
}

fn push(export: &mut Export<'_>, text: &str) -> Result<(), ExecError> {
    export.to.push(export.call, text)
}

/// Begins a transaction of the shell.
fn begin(export: &mut Export<'_>) -> Result<(), ExecError> {
    match export.config.is_for_shell {
        true => push(export, ":begin\n"),
        false => Ok(()),
    }
}

fn commit(export: &mut Export<'_>) -> Result<(), ExecError> {
    match export.config.is_for_shell {
        true => push(export, ":commit\n"),
        false => Ok(()),
    }
}

/// A statement as one transaction of the shell.
fn transaction(export: &mut Export<'_>, text: &str) -> Result<(), ExecError> {
    begin(export)?;
    push(export, text)?;
    commit(export)
}

/// The schema alone.
pub(super) fn write_schema(export: &mut Export<'_>) -> Result<(), ExecError> {
    begin(export)?;
    schema_statements(export)?;
    commit(export)?;
    push(export, AWAIT)?;
    export.written.statements.ends = [export.to.length(); 3];
    Ok(())
}

/// The statements that make what indexes and constraints there are.
fn schema_statements(export: &mut Export<'_>) -> Result<(), ExecError> {
    let indexes = "SHOW INDEXES YIELD createStatement AS text, owningConstraint AS owner \
        WHERE owner IS NULL RETURN text ORDER BY text";
    let constraints = "SHOW CONSTRAINTS YIELD createStatement AS text RETURN text ORDER BY text";
    for asked in [indexes, constraints] {
        for row in export.call.rows(asked, Vec::new())? {
            if let Value::String(own) = &row[0] {
                push(export, own)?;
                push(export, ";\n")?;
            }
        }
    }
    Ok(())
}

fn schema(export: &mut Export<'_>) -> Result<(), ExecError> {
    begin(export)?;
    schema_statements(export)?;
    push(
        export,
        &format!(
            "CREATE CONSTRAINT UNIQUE_IMPORT_NAME FOR (node:{LABEL}) REQUIRE (node.{KEY}) \
                IS UNIQUE;\n"
        ),
    )?;
    commit(export)?;
    push(export, AWAIT)
}

/// A statement of several rows, as long as what stands behind them is equal.
#[derive(Default)]
struct Unfinished {
    rows: usize,
    behind: String,
}

impl Unfinished {
    fn add(&mut self, export: &mut Export<'_>, row: &str, behind: String) -> Result<(), ExecError> {
        if self.behind != behind || self.rows == BATCH {
            self.finish(export)?;
            self.behind = behind;
        }
        if self.rows == 0 {
            begin(export)?;
        }
        let before = if self.rows == 0 { "UNWIND [" } else { ", " };
        push(export, before)?;
        self.rows += 1;
        push(export, row)
    }

    fn finish(&mut self, export: &mut Export<'_>) -> Result<(), ExecError> {
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        push(export, "] AS row\n")?;
        push(export, &self.behind)?;
        push(export, ";\n")?;
        commit(export)
    }
}

/// The literal of a map of properties.
fn map(export: &mut Export<'_>, properties: &Value) -> Result<String, ExecError> {
    if let Value::Map(map) = properties {
        export.written.properties += map.entries().len() as u64;
    }
    let Some(datum) = sources::datum(properties) else {
        return Err(export
            .call
            .failed("a property has no literal: export as JSON"));
    };
    let mut text = String::new();
    literal::write(&mut text, &datum);
    Ok(text)
}

fn name(value: &Value) -> String {
    let mut text = String::new();
    if let Value::String(name) = value {
        literal::name(&mut text, name);
    }
    text
}

fn nodes(export: &mut Export<'_>) -> Result<(), ExecError> {
    let text = "WITH n, labels(n) AS own RETURN id(n) AS i, own, properties(n) ORDER BY own, i";
    let mut started = export.nodes(text, Vec::new())?;
    let mut statement = Unfinished::default();
    while let Some(rows) = export.next(&mut started)? {
        for row in rows {
            let row_text = format!("{{_id:{}, properties:{}}}", row[0], map(export, &row[2])?);
            let labels: String = match &row[1] {
                Value::List(labels) => labels.iter().map(|own| format!(":{}", name(own))).collect(),
                _ => String::new(),
            };
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!(" SET n{labels}"),
            };
            let behind =
                format!("CREATE (n:{LABEL}{{{KEY}: row._id}}) SET n += row.properties{labels}");
            export.written.nodes += 1;
            export.written.rows += 1;
            statement.add(export, &row_text, behind)?;
        }
    }
    statement.finish(export)
}

fn relationships(export: &mut Export<'_>) -> Result<(), ExecError> {
    let text = "RETURN id(a), id(b), type(r) AS own, properties(r), id(r) AS i ORDER BY own, i";
    let mut started = export.relationships(text, Vec::new())?;
    let mut statement = Unfinished::default();
    while let Some(rows) = export.next(&mut started)? {
        for row in rows {
            let row_text = format!(
                "{{start: {{_id:{}}}, end: {{_id:{}}}, properties:{}}}",
                row[0],
                row[1],
                map(export, &row[3])?
            );
            let behind = format!(
                "MATCH (start:{LABEL}{{{KEY}: row.start._id}})\n\
                    MATCH (end:{LABEL}{{{KEY}: row.end._id}})\n\
                    CREATE (start)-[r:{}]->(end) SET r += row.properties",
                name(&row[2])
            );
            export.written.relationships += 1;
            export.written.rows += 1;
            statement.add(export, &row_text, behind)?;
        }
    }
    statement.finish(export)
}

fn clean(export: &mut Export<'_>) -> Result<(), ExecError> {
    for _ in 0..export.written.nodes.div_ceil(CLEANED) {
        let text =
            format!("MATCH (n:{LABEL}) WITH n LIMIT {CLEANED} REMOVE n:{LABEL} REMOVE n.{KEY};\n");
        transaction(export, &text)?;
    }
    transaction(export, "DROP CONSTRAINT UNIQUE_IMPORT_NAME;\n")
}
