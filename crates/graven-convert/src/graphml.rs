//! A graph as GraphML, in the dialect of Neo4j's APOC.
//!
//! # How it works
//! The types of properties are declared before the first node, so nodes and relationships are read
//! twice. A property whose values are all of one type is declared with it (`attr.type`,
//! `attr.list`); `graven.kind` names types that GraphML does not have, such as dates. Points, and
//! properties of several types, are texts that hold literals of the language
//! (`graven.kind="LITERAL"`).
//!
//! # Source
//! GraphML Primer, graphdrawing.org; APOC's `apoc.export.graphml`.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use graven::{Connection, PropertyValue, Value};
use graven_files::{Datum, Kind, Shape};

use crate::error::{Error, Result};
use crate::graph::{Exported, Graph, sorted};
use crate::text::{datum, literal_of, name, plain};

/// How the values of a property are written.
#[derive(Default)]
struct Column {
    shape: Shape,
    /// Some text has a character that XML does not.
    strange: bool,
}

type Columns = BTreeMap<Arc<str>, Column>;

/// Whether XML 1.0 has the character.
fn is_in_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

fn is_strange(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.chars().all(is_in_xml),
        Value::List(items) => items.iter().any(is_strange),
        _ => false,
    }
}

/// The text with what XML reads otherwise written as references.
fn escaped(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            c if is_in_xml(c) => out.push(c),
            c => {
                return Err(Error::Form(format!(
                    "GraphML cannot hold the character U+{:04X} of the name {text:?}: rename it",
                    u32::from(c)
                )));
            }
        }
    }
    Ok(out)
}

impl Column {
    fn see(&mut self, value: &Value) {
        self.shape.see(&datum(value));
        self.strange |= is_strange(value);
    }

    fn kind(&self) -> Kind {
        let kind = self.shape.kind();
        let plain = match &kind {
            Kind::List(element) => is_plain(element),
            kind => is_plain(kind),
        };
        match plain && !self.strange {
            true => kind,
            false => Kind::Literal,
        }
    }
}

/// Whether values of the kind have a text that a reader understands by the kind alone.
fn is_plain(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::Null
            | Kind::Any
            | Kind::Bytes
            | Kind::Point
            | Kind::Vector(..)
            | Kind::List(_)
            | Kind::Map(_)
            | Kind::Literal
    )
}

/// GraphML's name of a type.
fn attr_type(kind: &Kind) -> &'static str {
    match kind {
        Kind::Boolean => "boolean",
        Kind::Integer => "long",
        Kind::Float => "double",
        _ => "string",
    }
}

fn declare(out: &mut dyn Write, of: &str, columns: &Columns) -> Result<()> {
    for (number, (key, column)) in columns.iter().enumerate() {
        let kind = column.kind();
        let list = match &kind {
            Kind::List(element) => format!(" attr.list=\"{}\"", attr_type(element)),
            _ => String::new(),
        };
        let kind = escaped(&kind.to_string())?;
        let named = match attr_type(&column.kind()) {
            "string" if kind != "STRING" => format!(" graven.kind=\"{kind}\""),
            _ => String::new(),
        };
        writeln!(
            out,
            "<key id=\"{of}{number}\" for=\"{of}\" attr.name=\"{}\" \
                attr.type=\"{}\"{list}{named}/>",
            escaped(key)?,
            attr_type(&column.kind())
        )?;
    }
    Ok(())
}

fn text_of(value: &Value, kind: &Kind) -> String {
    match (datum(value), kind) {
        (_, Kind::Literal) => literal_of(value),
        (Datum::Value(PropertyValue::List(items)), _) => {
            let items = items.iter().map(|item| match item {
                PropertyValue::Boolean(b) => serde_json::Value::from(*b),
                PropertyValue::Integer(i) => serde_json::Value::from(*i),
                PropertyValue::Float(x) if x.is_finite() => serde_json::Value::from(*x),
                item => serde_json::Value::from(plain(item)),
            });
            serde_json::Value::Array(items.collect()).to_string()
        }
        (Datum::Value(value), _) => plain(&value),
        _ => literal_of(value),
    }
}

fn data(
    out: &mut dyn Write,
    of: &str,
    columns: &[(&Arc<str>, Kind)],
    properties: &BTreeMap<Arc<str>, Value>,
) -> Result<()> {
    for (key, value) in properties {
        let found = columns.binary_search_by(|(name, _)| name.as_ref().cmp(key.as_ref()));
        let Ok(number) = found else { continue };
        let text = escaped(&text_of(value, &columns[number].1))?;
        write!(out, "<data key=\"{of}{number}\">{text}</data>")?;
    }
    Ok(())
}

/// Writes the graph as GraphML.
///
/// # Errors
/// The graph cannot be read, a name has a character that XML lacks, or the stream refuses the text.
///
/// # Examples
/// ```no_run
/// let db = graven::Database::open("social.graven", graven::Config::default())?;
/// let mut text = Vec::new();
/// graven_convert::export_graphml(&db.connect(), &mut text)?;
/// # Ok::<(), graven_convert::Error>(())
/// ```
pub fn export_graphml(connection: &Connection, out: &mut dyn Write) -> Result<Exported> {
    let mut graph = Graph::begin(connection)?;
    let (mut of_nodes, mut of_edges) = (Columns::new(), Columns::new());
    let see = |columns: &mut Columns, properties: &BTreeMap<Arc<str>, Value>| {
        for (key, value) in properties {
            columns.entry(Arc::clone(key)).or_default().see(value);
        }
    };
    graph.nodes(|node| {
        see(&mut of_nodes, &node.properties);
        Ok(())
    })?;
    graph.relationships(|relationship| {
        see(&mut of_edges, &relationship.properties);
        Ok(())
    })?;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
    )?;
    writeln!(
        out,
        "<key id=\"labels\" for=\"node\" attr.name=\"labels\" attr.type=\"string\"/>"
    )?;
    declare(out, "node", &of_nodes)?;
    writeln!(
        out,
        "<key id=\"label\" for=\"edge\" attr.name=\"label\" attr.type=\"string\"/>"
    )?;
    declare(out, "edge", &of_edges)?;
    writeln!(out, "<graph id=\"G\" edgedefault=\"directed\">")?;
    let kinds = |columns: &Columns| -> Vec<Kind> { columns.values().map(Column::kind).collect() };
    let (node_kinds, edge_kinds) = (kinds(&of_nodes), kinds(&of_edges));
    let of_nodes: Vec<_> = of_nodes.keys().zip(node_kinds).collect();
    let of_edges: Vec<_> = of_edges.keys().zip(edge_kinds).collect();
    let mut exported = Exported::default();
    graph.nodes(|node| {
        exported.nodes += 1;
        let labels = sorted(&node.labels);
        let labels: String = labels.iter().map(|l| format!(":{}", name(l))).collect();
        let labels = escaped(&labels)?;
        write!(out, "<node id=\"n{}\" labels=\"{labels}\">", node.id)?;
        write!(out, "<data key=\"labels\">{labels}</data>")?;
        data(out, "node", &of_nodes, &node.properties)?;
        Ok(writeln!(out, "</node>")?)
    })?;
    graph.relationships(|r| {
        exported.relationships += 1;
        let kind = escaped(&r.rel_type)?;
        write!(
            out,
            "<edge id=\"e{}\" source=\"n{}\" target=\"n{}\" label=\"{kind}\">",
            r.id, r.start, r.end
        )?;
        write!(out, "<data key=\"label\">{kind}</data>")?;
        data(out, "edge", &of_edges, &r.properties)?;
        Ok(writeln!(out, "</edge>")?)
    })?;
    writeln!(out, "</graph>\n</graphml>")?;
    out.flush()?;
    Ok(exported)
}
