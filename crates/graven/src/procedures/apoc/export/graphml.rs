//! GraphML: keys of properties, then nodes and edges.
//!
//! # Source
//! Neo4j APOC Core 5, "Export to GraphML"; XML 1.0.

use std::fmt::Write as _;
use std::sync::Arc;

use graven_exec::{ExecError, Value};
use graven_types::told;

use super::super::super::inner::Call;
use super::Export;
use super::csv::{TEXT, keys};

/// See the file header.
pub(super) fn write(export: &mut Export<'_>) -> Result<(), ExecError> {
    export.collect()?;
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
        xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
        xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
        http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n";
    export.to.push(export.call, head)?;
    let (of_nodes, of_edges) = (keys(export, true)?, keys(export, false)?);
    declare(export, "node", "labels", &of_nodes)?;
    declare(export, "edge", "label", &of_edges)?;
    export
        .to
        .push(export.call, "<graph id=\"G\" edgedefault=\"directed\">\n")?;
    let text = format!(
        "RETURN toString(id(n)), ':' + apoc.text.join(labels(n), ':'), \
            [v IN [k IN $keys | n[k]] | {TEXT}], size(keys(n))"
    );
    let params = vec![(Arc::from("keys"), Value::list(of_nodes.clone()))];
    let mut started = export.nodes(&text, params)?;
    while let Some(rows) = export.next(&mut started)? {
        for row in rows {
            let mut line = format!("<node id=\"n{}\"", word(&row[0]));
            let labels = escaped(export, word(&row[1]))?;
            if labels.len() > 1 {
                let _ = write!(
                    line,
                    " labels=\"{labels}\"><data key=\"labels\">{labels}</data>"
                );
            } else {
                line.push('>');
            }
            export.to.push(export.call, &line)?;
            data(export, &of_nodes, &row[2])?;
            export.written.nodes += 1;
            end(export, "</node>\n", &row[3])?;
        }
    }
    let text = format!(
        "RETURN toString(id(r)), toString(id(a)), toString(id(b)), type(r), \
            [v IN [k IN $keys | r[k]] | {TEXT}], size(keys(r))"
    );
    let params = vec![(Arc::from("keys"), Value::list(of_edges.clone()))];
    let mut started = export.relationships(&text, params)?;
    while let Some(rows) = export.next(&mut started)? {
        for row in rows {
            let (id, from, to) = (word(&row[0]), word(&row[1]), word(&row[2]));
            let kind = escaped(export, word(&row[3]))?;
            let line = format!(
                "<edge id=\"e{id}\" source=\"n{from}\" target=\"n{to}\" label=\"{kind}\">\
                    <data key=\"label\">{kind}</data>"
            );
            export.to.push(export.call, &line)?;
            data(export, &of_edges, &row[4])?;
            export.written.relationships += 1;
            end(export, "</edge>\n", &row[5])?;
        }
    }
    export.to.push(export.call, "</graph>\n</graphml>")
}

fn word(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        _ => "",
    }
}

fn end(export: &mut Export<'_>, line: &str, properties: &Value) -> Result<(), ExecError> {
    export.written.rows += 1;
    if let Value::Integer(properties) = properties {
        export.written.properties += properties.unsigned_abs();
    }
    export.to.push(export.call, line)
}

/// Whether XML 1.0 has the character.
fn is_in_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// The text in parts, with what XML reads otherwise written as references.
fn parts<'a>(
    call: &'a Call<'_>,
    text: &'a str,
) -> impl Iterator<Item = Result<&'a str, ExecError>> {
    let special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\r') || !is_in_xml(c);
    // Each special character goes with what stands before it.
    let runs = text.split_inclusive(special);
    runs.flat_map(move |run| {
        let last = run.chars().next_back().filter(|c| special(*c));
        let plain = &run[..run.len() - last.map_or(0, char::len_utf8)];
        let reference = last.map(|c| match c {
            '&' => Ok("&amp;"),
            '<' => Ok("&lt;"),
            '>' => Ok("&gt;"),
            '"' => Ok("&quot;"),
            '\r' => Ok("&#13;"),
            c => Err(call.failed(told!(
                "GraphML cannot hold the character U+{:04X} of a text: export as JSON",
                u32::from(c)
            ))),
        });
        std::iter::once(Ok(plain)).chain(reference)
    })
}

/// A name as XML has it.
fn escaped(export: &Export<'_>, text: &str) -> Result<String, ExecError> {
    parts(export.call, text).collect()
}

/// The values of the keys that an element has.
fn data(export: &mut Export<'_>, keys: &[Value], texts: &Value) -> Result<(), ExecError> {
    let Value::List(texts) = texts else {
        return Ok(());
    };
    for (key, text) in keys.iter().zip(texts.iter()) {
        if let Value::String(text) = text {
            let key = escaped(export, word(key))?;
            let call = export.call;
            export.to.push(call, &format!("<data key=\"{key}\">"))?;
            for part in parts(call, text) {
                export.to.push(call, part?)?;
            }
            export.to.push(call, "</data>")?;
        }
    }
    Ok(())
}

/// The keys of nodes or edges, with their types if these are wanted.
fn declare(export: &mut Export<'_>, of: &str, own: &str, keys: &[Value]) -> Result<(), ExecError> {
    let types = match export.config.has_types {
        true => types(export, of == "node")?,
        false => Vec::new(),
    };
    for key in keys {
        let name = escaped(export, word(key))?;
        let mut line = format!("<key id=\"{name}\" for=\"{of}\" attr.name=\"{name}\"");
        if let Some((_, type_name)) = types.iter().find(|(known, _)| known == key) {
            let _ = write!(line, " attr.type=\"{type_name}\"");
        }
        line.push_str("/>\n");
        export.to.push(export.call, &line)?;
    }
    let own = match export.config.has_types {
        true => {
            format!("<key id=\"{own}\" for=\"{of}\" attr.name=\"{own}\" attr.type=\"string\"/>\n")
        }
        false => format!("<key id=\"{own}\" for=\"{of}\" attr.name=\"{own}\"/>\n"),
    };
    export.to.push(export.call, &own)
}

/// For each key the name that GraphML has for the type of all its values.
fn types(export: &mut Export<'_>, of_nodes: bool) -> Result<Vec<(Value, &'static str)>, ExecError> {
    let text = |of: &str| {
        format!(
            "UNWIND keys({of}) AS k WITH k, split(valueType({of}[k]), ' ')[0] AS t \
                WITH k, collect(DISTINCT t) AS all RETURN k, CASE size(all) WHEN 1 THEN all[0] END"
        )
    };
    let mut started = match of_nodes {
        true => export.nodes(&text("n"), Vec::new())?,
        false => export.relationships(&text("r"), Vec::new())?,
    };
    let mut types = Vec::new();
    while let Some(rows) = export.next(&mut started)? {
        for mut row in rows {
            let name = match word(&row[1]) {
                "BOOLEAN" => "boolean",
                "INTEGER" => "long",
                "FLOAT" => "double",
                list if list.starts_with("LIST<INTEGER") => "string\" attr.list=\"long",
                list if list.starts_with("LIST<FLOAT") => "string\" attr.list=\"double",
                list if list.starts_with("LIST<BOOLEAN") => "string\" attr.list=\"boolean",
                list if list.starts_with("LIST<") => "string\" attr.list=\"string",
                _ => "string",
            };
            let key = row.swap_remove(0);
            export.keep(size_of::<(Value, &str)>() + key.heap_bytes())?;
            types.push((key, name));
        }
    }
    Ok(types)
}
