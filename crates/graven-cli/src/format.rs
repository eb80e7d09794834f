//! Results on standard output: which form, and how rows flow into it.

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod table;

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use graven::Value;

/// Form of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people
    Table,
    /// One object: {"columns": [...], "rows": [[...]]}
    Json,
    /// Comma-separated values with a header line
    Csv,
}

impl Format {
    /// The form asked for, or a table on a terminal and CSV elsewhere.
    pub(crate) fn or_default(choice: Option<Format>) -> Format {
        choice.unwrap_or_else(|| {
            if io::stdout().is_terminal() {
                Format::Table
            } else {
                Format::Csv
            }
        })
    }

    /// A writer of results in this form.
    pub(crate) fn writer(self, columns: &[String]) -> Box<dyn RowWriter> {
        match self {
            Format::Table => Box::new(table::Table::new(columns)),
            Format::Json => Box::new(json::Object::new(columns)),
            Format::Csv => Box::new(csv::Lines::new(columns)),
        }
    }
}

/// Takes rows one by one; what it prints grows as they come.
pub(crate) trait RowWriter {
    /// Takes a row.
    fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()>;
    /// Writes what is still held back.
    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()>;
}
