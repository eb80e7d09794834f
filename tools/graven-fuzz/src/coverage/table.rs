//! A table of counts with names for its rows and columns.

use std::fmt;

pub(super) struct Table {
    title: &'static str,
    rows: Vec<String>,
    columns: Vec<String>,
    /// A count, or why there can be none.
    cells: Vec<Vec<Result<u64, &'static str>>>,
}

impl Table {
    pub(super) fn new(
        title: &'static str,
        rows: Vec<String>,
        columns: Vec<String>,
        cell: impl Fn(usize, usize) -> Result<u64, &'static str>,
    ) -> Table {
        let line = |row| (0..columns.len()).map(|column| cell(row, column)).collect();
        Table {
            title,
            cells: (0..rows.len()).map(line).collect(),
            rows,
            columns,
        }
    }

    /// Cells at zero, in words.
    pub(super) fn holes(&self) -> Vec<String> {
        let mut holes = Vec::new();
        for (name, line) in self.rows.iter().zip(&self.cells) {
            for (column, cell) in self.columns.iter().zip(line) {
                if *cell == Ok(0) {
                    holes.push(format!("{}: {name}, {column}", self.title));
                }
            }
        }
        holes
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let first = self.rows.iter().map(String::len).max().unwrap_or(0);
        write!(f, "{:first$}", "")?;
        for column in &self.columns {
            write!(f, "  {column:>7}")?;
        }
        writeln!(f)?;
        for (name, line) in self.rows.iter().zip(&self.cells) {
            write!(f, "{name:first$}")?;
            for (column, cell) in self.columns.iter().zip(line) {
                let text = cell.map_or_else(|_| "-".to_owned(), |count| count.to_string());
                write!(f, "  {text:>width$}", width = column.len().max(7))?;
            }
            writeln!(f)?;
        }
        let cells = self.cells.iter().flatten();
        let mut reasons: Vec<&str> = cells.filter_map(|cell| cell.err()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            writeln!(f, "-: {reason}")?;
        }
        writeln!(f)
    }
}
