//! Results as comma-separated values: a header line, then a line a row, quoted where need be.
//!
//! # How it works
//! Null is an empty field, text stands as it is, nodes, lists and maps are JSON text. A text that is empty is
//! written as `""`, so that it can be told from null.

use std::io::{self, Write};

use graven::Value;

use super::{RowWriter, json};

/// Writes lines.
pub(crate) struct Lines {
    head: Option<Vec<String>>,
}

impl Lines {
    pub(crate) fn new(columns: &[String]) -> Self {
        Lines {
            head: Some(columns.to_vec()),
        }
    }

    fn head(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self.head.take() {
            Some(columns) if !columns.is_empty() => {
                line(out, &columns, |out, name| field(out, name))
            }
            _ => Ok(()),
        }
    }
}

impl RowWriter for Lines {
    fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        self.head(out)?;
        line(out, values, |out, value| match value {
            Value::Null => Ok(()),
            Value::String(text) => field(out, text),
            Value::List(_)
            | Value::Map(_)
            | Value::Node(_)
            | Value::Relationship(_)
            | Value::Path(_) => {
                let mut text = Vec::new();
                json::value(&mut text, value)?;
                field(out, &String::from_utf8_lossy(&text))
            }
            other => field(out, &other.to_string()),
        })
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.head(out)
    }
}

fn line<T>(
    out: &mut dyn Write,
    cells: &[T],
    mut write: impl FnMut(&mut dyn Write, &T) -> io::Result<()>,
) -> io::Result<()> {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        write(out, cell)?;
    }
    out.write_all(b"\n")
}

fn field(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let plain = !text.is_empty() && !text.contains(['"', ',', '\n', '\r']);
    if plain {
        return out.write_all(text.as_bytes());
    }
    write!(out, "\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_need_be() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&["a".into(), "b,c".into()]);
        let rows = [
            [Value::from("x\"y"), Value::Null],
            [Value::from(""), Value::from(vec![1, 2])],
            [Value::Float(1.0), Value::from("two\nlines")],
        ];
        for row in &rows {
            lines.row(&mut out, row).expect("memory");
        }
        lines.finish(&mut out).expect("memory");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "a,\"b,c\"\n\"x\"\"y\",\n\"\",\"[1, 2]\"\n1.0,\"two\nlines\"\n"
        );
    }
}
