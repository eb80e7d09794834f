//! JSON: a line for each node, relationship or row, or a list of all.
//!
//! # Source
//! Neo4j APOC Core 5, "Export to JSON".

use std::sync::Arc;

use graven_exec::{ExecError, Value};

use super::Export;

/// The map of a node or relationship without its ends, up to what closes it.
fn labels(node: &str) -> String {
    format!(
        "CASE WHEN size(labels({node})) = 0 THEN '' \
            ELSE ',\"labels\":' + apoc.convert.toJson(labels({node})) END"
    )
}

fn properties(of: &str) -> String {
    format!(
        "CASE WHEN size(keys({of})) = 0 THEN '' \
            ELSE ',\"properties\":' + apoc.convert.toJson(properties({of})) END"
    )
}

/// An end of a relationship.
fn end(node: &str, has_properties: bool) -> String {
    let properties = match has_properties {
        true => properties(node),
        false => "''".to_owned(),
    };
    format!(
        "'{{\"id\":\"' + id({node}) + '\"' + {} + {properties} + '}}'",
        labels(node)
    )
}

/// See the file header.
pub(super) fn write(export: &mut Export<'_>) -> Result<(), ExecError> {
    if export.config.is_array {
        export.to.push(export.call, "[")?;
    }
    match export.statement() {
        Some(started) => {
            let mut started = started?;
            export.written.columns = started.columns.len();
            let columns: Vec<Value> = started
                .columns
                .iter()
                .map(|name| Value::text(name))
                .collect();
            while let Some(rows) = export.next(&mut started)? {
                lines_of_rows(export, &columns, rows)?;
            }
        }
        None => {
            let of_nodes = format!(
                "RETURN '{{\"type\":\"node\",\"id\":\"' + id(n) + '\"' + {} + {} + '}}', \
                    size(keys(n))",
                labels("n"),
                properties("n")
            );
            let has_ends = export.config.has_ends;
            let of_relationships = format!(
                "RETURN '{{\"type\":\"relationship\",\"id\":\"' + id(r) + '\",\"label\":' + \
                    apoc.convert.toJson(type(r)) + {} + ',\"start\":' + {} + ',\"end\":' + {} \
                    + '}}', size(keys(r))",
                properties("r"),
                end("a", has_ends),
                end("b", has_ends)
            );
            let mut started = export.nodes(&of_nodes, Vec::new())?;
            while let Some(rows) = export.next(&mut started)? {
                export.written.nodes += rows.len() as u64;
                lines(export, &rows)?;
            }
            let mut started = export.relationships(&of_relationships, Vec::new())?;
            while let Some(rows) = export.next(&mut started)? {
                export.written.relationships += rows.len() as u64;
                lines(export, &rows)?;
            }
        }
    }
    if export.config.is_array {
        export.to.push(export.call, "]")?;
    }
    Ok(())
}

/// Rows of a line and how many properties it has.
fn lines(export: &mut Export<'_>, rows: &[Vec<Value>]) -> Result<(), ExecError> {
    for row in rows {
        if let [Value::String(text), Value::Integer(properties)] = &row[..] {
            export.written.properties += properties.unsigned_abs();
            line(export, text)?;
        }
    }
    Ok(())
}

fn line(export: &mut Export<'_>, text: &str) -> Result<(), ExecError> {
    let before = match (export.written.rows, export.config.is_array) {
        (0, _) => "",
        (_, true) => ",\n ",
        (_, false) => "\n",
    };
    export.written.rows += 1;
    export.to.push(export.call, before)?;
    export.to.push(export.call, text)
}

/// A map of the columns for each row.
fn lines_of_rows(
    export: &mut Export<'_>,
    columns: &[Value],
    rows: Vec<Vec<Value>>,
) -> Result<(), ExecError> {
    let rows = Value::list(rows.into_iter().map(Value::list).collect());
    let params = vec![
        (Arc::from("rows"), rows),
        (Arc::from("columns"), Value::list(columns.to_vec())),
    ];
    let texts = "UNWIND $rows AS row WITH [at IN range(0, size($columns) - 1) | \
        apoc.convert.toJson($columns[at]) + ':' + apoc.convert.toJson(row[at])] AS parts \
        RETURN '{' + apoc.text.join(parts, ',') + '}', size(parts)";
    let found = export.call.rows(texts, params)?;
    lines(export, &found)
}
