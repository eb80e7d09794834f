//! CSV: nodes, then relationships, in columns for both; or the rows of a statement.
//!
//! # Source
//! Neo4j APOC Core 5, "Export to CSV".

use std::sync::Arc;

use graven_exec::{ExecError, Value};

use super::Export;
use super::config::Quotes;

/// The text of a value `v`; null of null.
pub(super) const TEXT: &str = "CASE WHEN v IS NULL THEN null WHEN left(valueType(v), 3) IN \
    ['LIS', 'MAP', 'NOD', 'REL', 'PAT', 'POI'] THEN apoc.convert.toJson(v) ELSE toString(v) END";

/// See the file header.
pub(super) fn write(export: &mut Export<'_>) -> Result<(), ExecError> {
    if let Some(started) = export.statement() {
        let mut started = started?;
        let columns = Arc::clone(&started.columns);
        export.written.columns = columns.len();
        let heading: Vec<Cell> = columns.iter().map(|name| Cell::Text(name)).collect();
        record(export, &heading)?;
        while let Some(rows) = export.next(&mut started)? {
            let rows = Value::list(rows.into_iter().map(Value::list).collect());
            let texts = format!("UNWIND $rows AS row RETURN [v IN row | {TEXT}]");
            let params = vec![(Arc::from("rows"), rows)];
            for row in export.call.rows(&texts, params)? {
                export.written.rows += 1;
                record(export, &cells(&row[0]))?;
            }
        }
        return Ok(());
    }
    let (of_nodes, of_relationships) = (keys(export, true)?, keys(export, false)?);
    let (width, rel_width) = (of_nodes.len(), of_relationships.len());
    let mut heading = vec![Cell::Text("_id"), Cell::Text("_labels")];
    heading.extend(of_nodes.iter().map(Cell::of));
    heading.extend([
        Cell::Text("_start"),
        Cell::Text("_end"),
        Cell::Text("_type"),
    ]);
    heading.extend(of_relationships.iter().map(Cell::of));
    record(export, &heading)?;
    let text = format!(
        "RETURN toString(id(n)), CASE WHEN size(labels(n)) = 0 THEN '' ELSE ':' + \
            apoc.text.join(labels(n), ':') END, [v IN [k IN $keys | n[k]] | {TEXT}], size(keys(n))"
    );
    let params = vec![(Arc::from("keys"), Value::list(of_nodes.clone()))];
    let mut started = export.nodes(&text, params)?;
    while let Some(rows) = export.next(&mut started)? {
        for row in rows {
            let mut line = vec![Cell::of(&row[0]), Cell::of(&row[1])];
            line.extend(cells(&row[2]));
            line.resize(line.len() + 3 + rel_width, Cell::Absent);
            export.written.nodes += 1;
            count(export, &row[3]);
            record(export, &line)?;
        }
    }
    let text = format!(
        "RETURN toString(id(a)), toString(id(b)), type(r), [v IN [k IN $keys | r[k]] | {TEXT}], \
            size(keys(r))"
    );
    let params = vec![(Arc::from("keys"), Value::list(of_relationships.clone()))];
    let mut started = export.relationships(&text, params)?;
    while let Some(rows) = export.next(&mut started)? {
        for row in rows {
            let mut line = vec![Cell::Absent; 2 + width];
            line.extend(row[..3].iter().map(Cell::of));
            line.extend(cells(&row[3]));
            export.written.relationships += 1;
            count(export, &row[4]);
            record(export, &line)?;
        }
    }
    Ok(())
}

fn count(export: &mut Export<'_>, properties: &Value) {
    export.written.rows += 1;
    if let Value::Integer(properties) = properties {
        export.written.properties += properties.unsigned_abs();
    }
}

/// The keys of all properties of nodes, or of relationships, sorted.
pub(super) fn keys(export: &mut Export<'_>, of_nodes: bool) -> Result<Vec<Value>, ExecError> {
    let text = |of: &str| format!("UNWIND keys({of}) AS k RETURN DISTINCT k ORDER BY k");
    let mut started = match of_nodes {
        true => export.nodes(&text("n"), Vec::new())?,
        false => export.relationships(&text("r"), Vec::new())?,
    };
    let mut keys = Vec::new();
    while let Some(rows) = export.next(&mut started)? {
        for key in rows.into_iter().flatten() {
            // It is here, in a parameter, and in a heading.
            export.keep(3 * size_of::<Value>() + key.heap_bytes())?;
            keys.push(key);
        }
    }
    Ok(keys)
}

/// A cell of a record.
#[derive(Clone, Copy)]
enum Cell<'a> {
    Text(&'a str),
    /// It belongs to the other kind of record.
    Absent,
}

impl<'a> Cell<'a> {
    fn of(value: &'a Value) -> Self {
        match value {
            Value::String(text) => Cell::Text(text),
            _ => Cell::Text(""),
        }
    }
}

fn cells(texts: &Value) -> Vec<Cell<'_>> {
    match texts {
        Value::List(texts) => texts.iter().map(Cell::of).collect(),
        _ => Vec::new(),
    }
}

fn record(export: &mut Export<'_>, cells: &[Cell<'_>]) -> Result<(), ExecError> {
    let (delimiter, quotes) = (export.config.delimiter, export.config.quotes);
    let mut bytes = [0; 4];
    let delimiting: &str = delimiter.encode_utf8(&mut bytes);
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            export.to.push(export.call, delimiting)?;
        }
        let Cell::Text(text) = cell else {
            continue;
        };
        let needs = || text.contains([delimiter, '"', '\n', '\r']);
        match quotes {
            Quotes::Never => export.to.push(export.call, text)?,
            Quotes::IfNeeded if !needs() => export.to.push(export.call, text)?,
            _ => in_quotes(export, text)?,
        }
    }
    export.to.push(export.call, "\n")
}

fn in_quotes(export: &mut Export<'_>, text: &str) -> Result<(), ExecError> {
    export.to.push(export.call, "\"")?;
    // Each quote goes with what stands before it, and once more.
    for part in text.split_inclusive('"') {
        export.to.push(export.call, part)?;
        if part.ends_with('"') {
            export.to.push(export.call, "\"")?;
        }
    }
    export.to.push(export.call, "\"")
}
