//! Results as a table for people.
//!
//! # How it works
//! Column widths need rows to measure, so rows are held back up to [`HELD_ROWS`], or as long as
//! their lines, each as wide as all columns, take no more than [`HELD_BYTES`]; then they are
//! printed and later rows follow under the same heading, with these widths or wider ones. Memory
//! stays bounded, and the first screen of a long result does not wait for its last row. A cell
//! shows no more of a value than leaves its row room in that, and says where it is cut.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, Width, presets,
};
use graven::Value;

use super::RowWriter;

/// Rows that decide the column widths.
const HELD_ROWS: usize = 1000;
/// Bytes of their lines, about.
const HELD_BYTES: usize = 1 << 20;
/// Lines that a cell shows at most.
const LINES_MAX: usize = 1000;
/// Characters of a line that a cell shows however many columns and lines there are.
const WIDTH_MIN: usize = 80;
/// Characters of a line that a cell shows at most: the grid counts them in 16 bits.
const WIDTH_MAX: usize = 1 << 15;
/// Widest column that later rows keep to.
const WIDTH_KEPT_MAX: u16 = 200;
/// What follows the part of a value that a cell shows.
const CUT: &str = "\u{2026} (cut here: --format csv or json writes the whole value)";

/// Writes a table.
pub(crate) struct Table {
    columns: Vec<String>,
    held: Vec<Vec<Shown>>,
    /// Lines of what is held, and how wide its columns are.
    lines: usize,
    widest: Vec<usize>,
    widths: Option<Vec<u16>>,
    bottom: String,
    rows: u64,
}

impl Table {
    pub(crate) fn new(columns: &[String]) -> Self {
        Table {
            columns: columns.to_vec(),
            held: Vec::new(),
            lines: 0,
            widest: vec![0; columns.len()],
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
            let kept = contents.map(|width| width.saturating_add(padding).min(WIDTH_KEPT_MAX));
            self.widths = Some(kept.collect());
        }
        self.lines = 0;
        let kept = self.widths.iter().flatten();
        self.widest = kept.map(|width| usize::from(*width)).collect();
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
        let row = shown(values);
        self.rows += 1;
        let lines = row.iter().map(|shown| shown.lines).max().unwrap_or(1);
        let widths = || row.iter().map(|shown| shown.width);
        let width: usize = (self.widest.iter().zip(widths()))
            .map(|(widest, own)| own.max(*widest))
            .sum();
        if !self.held.is_empty() && (self.lines + lines) * width > HELD_BYTES {
            self.print_held(out)?;
        }
        self.lines += lines;
        for (widest, own) in self.widest.iter_mut().zip(widths()) {
            *widest = own.max(*widest);
        }
        self.held.push(row);
        if self.held.len() >= HELD_ROWS {
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

/// A row as it is shown: its lines, each as wide as all columns, take no more than [`HELD_BYTES`],
/// or little more where there are thousands of columns.
fn shown(values: &[Value]) -> Vec<Shown> {
    let columns = values.len().max(1);
    let lines_max = (HELD_BYTES / columns / WIDTH_MIN).clamp(1, LINES_MAX);
    let bytes_max = (HELD_BYTES / columns).max(WIDTH_MIN);
    let mut row: Vec<Shown> = (values.iter())
        .map(|value| Shown::new(value, bytes_max, lines_max))
        .collect();
    let lines = row.iter().map(|shown| shown.lines).max().unwrap_or(1);
    let width_max = (HELD_BYTES / columns / lines).clamp(WIDTH_MIN, WIDTH_MAX);
    for shown in &mut row {
        shown.narrow(width_max);
    }
    row
}

/// A value as a cell shows it.
struct Shown {
    text: String,
    is_number: bool,
    lines: usize,
    /// Characters of its longest line.
    width: usize,
}

impl Shown {
    fn new(value: &Value, bytes_max: usize, lines_max: usize) -> Self {
        let mut text = Text {
            text: String::new(),
            bytes_max,
            lines_left: lines_max,
        };
        let is_cut = match value {
            Value::String(whole) => text.write_str(whole),
            other => write!(text, "{other}"),
        }
        .is_err();
        let mut text = text.text;
        if let Value::String(_) = value {
            text = printable(&text);
        }
        if is_cut {
            text.push_str(CUT);
        }
        Shown {
            is_number: matches!(value, Value::Integer(_) | Value::Float(_)),
            lines: text.split('\n').count(),
            width: width(&text),
            text,
        }
    }

    /// Cuts lines that are longer.
    fn narrow(&mut self, width_max: usize) {
        if self.width <= width_max + CUT.chars().count() {
            return;
        }
        let mut text = String::new();
        for (number, line) in self.text.split('\n').enumerate() {
            if number > 0 {
                text.push('\n');
            }
            let end = line.char_indices().nth(width_max).map(|(at, _)| at);
            text.push_str(end.map_or(line, |end| &line[..end]));
            text.push_str(end.map_or("", |_| CUT));
        }
        self.width = width(&text);
        self.text = text;
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

/// Characters of the longest line.
fn width(text: &str) -> usize {
    let lines = text.split('\n').map(|line| line.chars().count());
    lines.max().unwrap_or(0)
}

/// Takes text up to so many bytes and lines; then it fails, so that no more of a value is written.
struct Text {
    text: String,
    bytes_max: usize,
    lines_left: usize,
}

impl fmt::Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = part.floor_char_boundary(self.bytes_max - self.text.len());
        let mut breaks = part[..room].match_indices('\n');
        let end = match breaks.nth(self.lines_left - 1) {
            Some((at, _)) => at,
            None => room,
        };
        self.text.push_str(&part[..end]);
        self.lines_left -= part[..end].matches('\n').count();
        match end == part.len() {
            true => Ok(()),
            false => Err(fmt::Error),
        }
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
        // Sixteen thousand times the text.
        let shared = Value::from(vec![text.clone(); 1 << 14]);
        for value in [text, shared] {
            let mut out = Vec::new();
            let mut table = Table::new(&["t".into()]);
            table.row(&mut out, &[value]).expect("memory");
            table.finish(&mut out).expect("memory");
            let text = String::from_utf8(out).expect("UTF-8");
            let shown = text.matches('\u{e9}').count();
            assert!((WIDTH_MAX - 2..=WIDTH_MAX).contains(&shown), "{shown}");
            assert!(text.contains(CUT));
        }
    }

    /// Goal: neither many lines beside a long one, nor one wide row among others, make much text.
    #[test]
    fn lines_are_as_wide_as_their_columns_and_still_few() {
        let (tall, wide) = (
            Value::from("\n".repeat(1 << 18)),
            Value::from("x".repeat(1 << 15)),
        );
        let long = Value::from("y".repeat(1 << 20));
        let short = Value::from("z");
        for rows in [
            vec![vec![tall, wide]],
            (0..1000)
                .map(|at| match at {
                    500 => vec![long.clone(), short.clone()],
                    _ => vec![short.clone(), short.clone()],
                })
                .collect(),
        ] {
            let mut out = Vec::new();
            let mut table = Table::new(&["a".into(), "b".into()]);
            for row in &rows {
                table.row(&mut out, row).expect("memory");
            }
            table.finish(&mut out).expect("memory");
            assert!(out.len() < 12 << 20, "{}", out.len());
            let text = String::from_utf8(out).expect("UTF-8");
            assert!(text.contains("cut here"));
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
