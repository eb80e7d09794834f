//! Results as JSON: `{"columns": [...], "rows": [[...]]}`.
//!
//! # How it works
//! Integers are written as 64-bit integers, floats always with a point or an exponent, so that a
//! reader can tell them apart; floats that JSON cannot hold are the strings `NaN`, `Infinity` and
//! `-Infinity`. Nodes are `{"id","labels","properties"}`, relationships
//! `{"id","type","start","end","properties"}`, a path is the list of its nodes and relationships in
//! order; a vector is the list of its numbers; dates and the like are strings.

use std::io::{self, Write};

use graven::{Commit, Node, Path, PropertyValue, Relationship, Summary, Value};
use graven_types::vector::Number;

use super::RowWriter;

/// Writes one object with a row a line.
pub(crate) struct Object {
    columns: Vec<String>,
    rows: u64,
}

impl Object {
    pub(crate) fn new(columns: &[String]) -> Self {
        Object {
            columns: columns.to_vec(),
            rows: 0,
        }
    }

    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"columns\": ")?;
        list(out, &self.columns, |out, name| string(out, name))?;
        out.write_all(b", \"rows\": [")
    }
}

impl RowWriter for Object {
    fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        if self.rows == 0 {
            self.head(out)?;
        }
        out.write_all(if self.rows == 0 { b"\n" } else { b",\n" })?;
        self.rows += 1;
        list(out, values, value)
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == 0 {
            self.head(out)?;
            return out.write_all(b"]}\n");
        }
        out.write_all(b"\n]}\n")
    }
}

/// Writes a value.
pub(crate) fn value(out: &mut dyn Write, v: &Value) -> io::Result<()> {
    match v {
        Value::Null => out.write_all(b"null"),
        Value::Boolean(b) => write!(out, "{b}"),
        Value::Integer(i) => write!(out, "{i}"),
        Value::Float(x) => float(out, *x),
        Value::String(s) => string(out, s),
        Value::List(items) => list(out, items, value),
        Value::Map(entries) => map(out, entries),
        Value::Node(n) => node(out, n),
        Value::Relationship(r) => relationship(out, r),
        Value::Path(p) => path(out, p),
        Value::Stored(stored) if let PropertyValue::Vector(vector) = &**stored => {
            list(out, vector.numbers(), |out, number| match number {
                Number::Integer(i) => write!(out, "{i}"),
                Number::Float(x) => float(out, x),
            })
        }
        other => string(out, &other.to_string()),
    }
}

/// Writes a string with its quotes.
pub(crate) fn string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// Writes a list of anything.
pub(crate) fn list<T>(
    out: &mut dyn Write,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut dyn Write, T) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        write(out, item)?;
    }
    out.write_all(b"]")
}

/// Writes what is known of a statement that ran.
pub(crate) fn summary(
    out: &mut dyn Write,
    summary: &Summary,
    plan: Option<&str>,
) -> io::Result<()> {
    write!(
        out,
        "{{\"rows\": {}, \"milliseconds\": {:.3}, \"notices\": ",
        summary.rows,
        summary.elapsed.as_secs_f64() * 1e3
    )?;
    list(out, &summary.notices, |out, notice| {
        out.write_all(b"{\"code\": ")?;
        string(out, &notice.code)?;
        out.write_all(b", \"message\": ")?;
        string(out, &notice.message)?;
        out.write_all(b"}")
    })?;
    out.write_all(b", \"pages\": {")?;
    for (index, (kind, pages)) in summary.pages.iter().enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        string(out, &kind.to_string())?;
        write!(
            out,
            ": {{\"hits\": {}, \"faults\": {}, \"blocked\": {}, \"evictions\": {}, \"wait_ns\": \
                {}, \"bytes_read\": {}}}",
            pages.hits,
            pages.faults,
            pages.blocked,
            pages.evictions(),
            pages.wait_ns,
            pages.bytes_read
        )?;
    }
    out.write_all(b"}")?;
    if summary.counters.any() {
        out.write_all(b", \"counters\": {")?;
        for (index, (name, count)) in summary.counters.changed().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(out, "{comma}\"{name}\": {count}")?;
        }
        out.write_all(b"}")?;
    }
    if let Some(made) = &summary.commit {
        out.write_all(b", ")?;
        commit(out, made)?;
    }
    if let Some(plan) = plan {
        out.write_all(b", \"plan\": ")?;
        string(out, plan)?;
    }
    out.write_all(b"}")
}

/// Writes what a commit did, as a field.
pub(crate) fn commit(out: &mut dyn Write, commit: &Commit) -> io::Result<()> {
    write!(
        out,
        "\"commit\": {{\"timestamp\": {}, \"log_bytes\": {}, \"waited_ms\": {:.3}, \"group\": {}}}",
        commit.timestamp,
        commit.log_bytes,
        commit.waited.as_secs_f64() * 1e3,
        commit.group
    )
}

fn float(out: &mut dyn Write, x: f64) -> io::Result<()> {
    if x.is_nan() {
        out.write_all(b"\"NaN\"")
    } else if x.is_infinite() {
        out.write_all(if x > 0.0 {
            b"\"Infinity\""
        } else {
            b"\"-Infinity\""
        })
    } else {
        write!(out, "{x:?}")
    }
}

fn map<'a, K: AsRef<str> + 'a>(
    out: &mut dyn Write,
    entries: impl IntoIterator<Item = (&'a K, &'a Value)>,
) -> io::Result<()> {
    out.write_all(b"{")?;
    for (index, (key, item)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
        }
        string(out, key.as_ref())?;
        out.write_all(b": ")?;
        value(out, item)?;
    }
    out.write_all(b"}")
}

fn node(out: &mut dyn Write, node: &Node) -> io::Result<()> {
    write!(out, "{{\"id\": {}, \"labels\": ", node.id)?;
    list(out, &node.labels, |out, label| string(out, label))?;
    out.write_all(b", \"properties\": ")?;
    map(out, &node.properties)?;
    out.write_all(b"}")
}

fn relationship(out: &mut dyn Write, r: &Relationship) -> io::Result<()> {
    write!(out, "{{\"id\": {}, \"type\": ", r.id)?;
    string(out, &r.rel_type)?;
    write!(
        out,
        ", \"start\": {}, \"end\": {}, \"properties\": ",
        r.start, r.end
    )?;
    map(out, &r.properties)?;
    out.write_all(b"}")
}

fn path(out: &mut dyn Write, path: &Path) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, n) in path.nodes.iter().enumerate() {
        if index > 0 {
            out.write_all(b", ")?;
            if let Some(r) = path.relationships.get(index - 1) {
                relationship(out, r)?;
                out.write_all(b", ")?;
            }
        }
        node(out, n)?;
    }
    out.write_all(b"]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::vector::{CoordinateType, Vector};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn text(rows: &[Vec<Value>]) -> String {
        let mut out = Vec::new();
        let mut object = Object::new(&["a".to_owned(), "b\"".to_owned()]);
        for row in rows {
            object.row(&mut out, row).expect("memory");
        }
        object.finish(&mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn every_kind_of_value_is_valid_json() {
        let node = |id| {
            let properties = [(Arc::from("name"), Value::from("A\n"))].into();
            Arc::new(Node {
                id,
                labels: vec![Arc::from("P")],
                properties,
            })
        };
        let knows = Arc::new(Relationship {
            id: 7,
            rel_type: Arc::from("KNOWS"),
            start: 1,
            end: 2,
            properties: BTreeMap::new(),
        });
        let path = Path {
            nodes: vec![node(1), node(2)],
            relationships: vec![Arc::clone(&knows)],
        };
        let numbers = [0.5, 2.0].map(Number::Float);
        let vector = Vector::new(CoordinateType::Float32, numbers).expect("a vector");
        let vector = Value::Stored(Arc::new(PropertyValue::Vector(vector)));
        let rows = vec![
            vec![Value::Integer(i64::MAX), Value::Float(2.0)],
            vec![Value::Float(f64::NAN), Value::Float(1e300)],
            vec![Value::Node(node(1)), Value::Relationship(knows)],
            vec![Value::Path(Arc::new(path)), Value::from(vec![1, 2])],
            vec![vector, Value::Null],
        ];
        let parsed: serde_json::Value = serde_json::from_str(&text(&rows)).expect("JSON");
        assert_eq!(parsed["columns"][1], "b\"");
        assert_eq!(parsed["rows"][0][0], i64::MAX);
        assert!(parsed["rows"][0][1].is_f64(), "2.0 stays a float");
        assert_eq!(parsed["rows"][1][0], "NaN");
        assert_eq!(parsed["rows"][2][0]["properties"]["name"], "A\n");
        assert_eq!(parsed["rows"][2][1]["type"], "KNOWS");
        assert_eq!(parsed["rows"][3][0][1]["id"], 7);
        assert_eq!(parsed["rows"][3][0].as_array().map(Vec::len), Some(3));
        assert_eq!(parsed["rows"][4][0], serde_json::json!([0.5, 2.0]));
    }

    #[test]
    fn no_rows_is_an_empty_list() {
        let parsed: serde_json::Value = serde_json::from_str(&text(&[])).expect("JSON");
        assert_eq!(parsed["rows"], serde_json::json!([]));
    }
}
