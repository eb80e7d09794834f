//! Results as a table for people.
//!
//! # How it works
//! Column widths need rows to measure, so rows are held back up to [`HELD_ROWS`] or [`HELD_BYTES`];
//! then they are printed and later rows follow under the same heading, with these widths or wider
//! ones. Memory stays bounded, and the first screen of a long result does not wait for its last
//! row. A cell shows no more of a value than there is room for in that, and says where it is cut.

use std::fmt::{self, Write as _};
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
/// Bytes that a cell shows however many columns there are.
const CELL_BYTES_MIN: usize = 1 << 10;
/// What follows the part of a value that a cell shows.
const CUT: &str = "\u{2026} (cut here: --format csv or json writes the whole value)";

/// Writes a table.
pub(crate) struct Table {
    columns: Vec<String>,
    held: Vec<Vec<Shown>>,
    /// Bytes that a cell shows at most.
    cell_bytes: usize,
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
            cell_bytes: (HELD_BYTES / columns.len().max(1)).max(CELL_BYTES_MIN),
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
            grid.add_row(row.into_iter().map(Shown::cell));
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
        let row = values
            .iter()
            .map(|value| Shown::new(value, self.cell_bytes));
        let row: Vec<Shown> = row.collect();
        self.rows += 1;
        self.held_bytes += row.iter().map(|shown| shown.text.len()).sum::<usize>();
        self.held.push(row);
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

/// A value as a cell shows it.
struct Shown {
    text: String,
    is_number: bool,
}

impl Shown {
    fn new(value: &Value, bytes_max: usize) -> Self {
        let mut text = Text {
            text: String::new(),
            bytes_max,
        };
        let written = match value {
            Value::String(whole) => text.write_str(whole),
            other => write!(text, "{other}"),
        };
        let mut text = text.text;
        if let Value::String(_) = value {
            text = printable(&text);
        }
        if written.is_err() {
            text.push_str(CUT);
        }
        Shown {
            text,
            is_number: matches!(value, Value::Integer(_) | Value::Float(_)),
        }
    }

    /// Numbers stand right, text without quotes.
    fn cell(self) -> Cell {
        let cell = Cell::new(self.text);
        match self.is_number {
            true => cell.set_alignment(CellAlignment::Right),
            false => cell,
        }
    }
}

/// Takes text up to so many bytes; then it fails, so that no more of a value is written.
struct Text {
    text: String,
    bytes_max: usize,
}

impl fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.bytes_max - self.text.len();
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.text.push_str(&part[..part.floor_char_boundary(room)]);
        Err(fmt::Error)
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
    fn a_cell_shows_the_beginning_of_a_value_that_is_too_long() {
        let text = Value::from("\u{e9}".repeat(HELD_BYTES));
        let shared = vec![text.clone(); 1 << 10];
        // Four thousand million times the text.
        let shared = Value::from(vec![
            Value::from(vec![Value::from(shared); 1 << 10]);
            1 << 12
        ]);
        for value in [text, shared] {
            let mut out = Vec::new();
            let mut table = Table::new(&["t".into()]);
            table.row(&mut out, &[value]).expect("memory");
            table.finish(&mut out).expect("memory");
            let text = String::from_utf8(out).expect("UTF-8");
            let shown = text.matches('\u{e9}').count();
            assert!(
                (HELD_BYTES / 2 - 2..=HELD_BYTES / 2).contains(&shown),
                "{shown}"
            );
            assert!(text.contains(CUT));
        }
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
