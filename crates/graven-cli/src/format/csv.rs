//! Results as comma-separated values: a header line, then a line a row, quoted where need be.
//!
//! # How it works
//! Null is an empty field, text stands as it is, nodes, lists and maps are JSON text. A text that
//! is empty is written as `""`, so that it can be told from null. Fields are written as they are
//! made ([`Quoting`]): none is a second time in memory.

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
                let mut quoting = Quoting::new(out);
                json::value(&mut quoting, value)?;
                quoting.end()
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
    if text.is_empty() {
        return out.write_all(b"\"\"");
    }
    let mut quoting = Quoting::new(out);
    quoting.write_all(text.as_bytes())?;
    quoting.end()
}

/// Longest beginning of a field that is held back.
const HELD_BYTES: usize = 4 << 10;

/// Passes a field on in quotes, as it comes; one that is short and needs none goes without them.
struct Quoting<'a> {
    out: &'a mut dyn Write,
    held: Vec<u8>,
    quotes: bool,
}

impl<'a> Quoting<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        Quoting {
            out,
            held: Vec::new(),
            quotes: false,
        }
    }

    /// Passes on what needs quotes, each quote twice.
    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.split_inclusive(|byte| *byte == b'"') {
            self.out.write_all(part)?;
            if part.last() == Some(&b'"') {
                self.out.write_all(b"\"")?;
            }
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        match self.quotes {
            true => self.out.write_all(b"\""),
            false => self.out.write_all(&self.held),
        }
    }
}

impl Write for Quoting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.quotes {
            let special = |byte: &u8| matches!(byte, b'"' | b',' | b'\n' | b'\r');
            if self.held.len() + bytes.len() <= HELD_BYTES && !bytes.iter().any(special) {
                self.held.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            self.quotes = true;
            self.out.write_all(b"\"")?;
            let held = std::mem::take(&mut self.held);
            self.pass(&held)?;
        }
        self.pass(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
            [Value::from("plain"), Value::from(vec![7])],
        ];
        for row in &rows {
            lines.row(&mut out, row).expect("memory");
        }
        lines.finish(&mut out).expect("memory");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "a,\"b,c\"\n\"x\"\"y\",\n\"\",\"[1, 2]\"\n1.0,\"two\nlines\"\nplain,[7]\n"
        );
    }
}
