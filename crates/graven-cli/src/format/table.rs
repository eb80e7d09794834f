//! Results as a table for people.
//!
//! # How it works
//! Column widths need rows to measure, so rows are held back up to [`HELD_ROWS`] or [`HELD_BYTES`];
//! then they are printed and later rows follow under the same heading, with these widths or wider
//! ones. Memory stays bounded, and the first screen of a long result does not wait for its last
//! row.

use std::io::{self, Write};

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, Width, presets,
};
use graven::Value;

use super::RowWriter;

/// Rows that decide the column widths.
const HELD_ROWS: usize = 1000;
/// Bytes of text in them, about.
const HELD_BYTES: usize = 1 << 20;

/// Writes a table.
pub(crate) struct Table {
    columns: Vec<String>,
    held: Vec<Vec<Value>>,
    held_bytes: usize,
    widths: Option<Vec<u16>>,
    bottom: String,
    rows: u64,
}

impl Table {
    pub(crate) fn new(columns: &[String]) -> Self {
        Table {
            columns: columns.to_vec(),
            held: Vec::new(),
            held_bytes: 0,
            widths: None,
            bottom: String::new(),
            rows: 0,
        }
    }

    fn print_held(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut grid = Grid::new();
        grid.load_preset(presets::UTF8_FULL_CONDENSED);
        // A terminal that does not know its width is none to fit into.
        if grid.width().is_none_or(|width| width > 0) {
            grid.set_content_arrangement(ContentArrangement::Dynamic);
        }
        if self.widths.is_none() {
            grid.set_header(self.columns.iter().map(|c| printable(c)));
        }
        self.held_bytes = 0;
        for row in self.held.drain(..) {
            grid.add_row(row.iter().map(cell));
        }
        let first = self.widths.is_none();
        if let Some(widths) = &self.widths {
            let at_least = widths
                .iter()
                .map(|w| ColumnConstraint::LowerBoundary(Width::Fixed(*w)));
            grid.set_constraints(at_least);
        } else {
            let padding = 2;
            let contents = grid.column_max_content_widths().into_iter();
            self.widths = Some(contents.map(|w| w.saturating_add(padding)).collect());
        }
        // The frame is one around all parts: its bottom line waits for the end, its top line comes
        // once.
        let text = grid.to_string();
        let (body, bottom) = text.rsplit_once('\n').unwrap_or((&text, ""));
        bottom.clone_into(&mut self.bottom);
        let body = if first {
            body
        } else {
            body.split_once('\n').map_or("", |(_, rest)| rest)
        };
        writeln!(out, "{body}")
    }
}

impl RowWriter for Table {
    fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        self.held.push(values.to_vec());
        self.rows += 1;
        self.held_bytes += values.iter().map(text_bytes).sum::<usize>();
        if self.held.len() >= HELD_ROWS || self.held_bytes >= HELD_BYTES {
            self.print_held(out)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        if !self.held.is_empty() || self.widths.is_none() {
            self.print_held(out)?;
        }
        writeln!(out, "{}", self.bottom)?;
        match self.rows {
            1 => writeln!(out, "1 row"),
            n => writeln!(out, "{n} rows"),
        }
    }
}

/// About how long a value is as text.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::List(items) => items.iter().map(text_bytes).sum(),
        Value::Map(entries) => entries.values().map(text_bytes).sum(),
        Value::Node(node) => node.properties.values().map(text_bytes).sum(),
        _ => 16,
    }
}

/// Numbers stand right, text without quotes.
fn cell(value: &Value) -> Cell {
    match value {
        Value::String(text) => Cell::new(printable(text)),
        Value::Integer(_) | Value::Float(_) => {
            Cell::new(value.to_string()).set_alignment(CellAlignment::Right)
        }
        other => Cell::new(other.to_string()),
    }
}

/// Control characters would move the cursor of the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_have_one_heading_and_a_count() {
        let mut out = Vec::new();
        let mut table = Table::new(&["n".into()]);
        for n in 0..2500i64 {
            table.row(&mut out, &[Value::from(n)]).expect("memory");
        }
        table.finish(&mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.ends_with("2500 rows\n"));
        assert_eq!(text.matches(" n ").count(), 1);
        assert_eq!(text.lines().filter(|l| l.contains(" 2499 ")).count(), 1);
    }

    #[test]
    fn an_empty_result_shows_its_columns() {
        let mut out = Vec::new();
        Table::new(&["name".into()])
            .finish(&mut out)
            .expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.contains("name") && text.contains("0 rows"), "{text}");
    }
}
