//! The rows of one chunk: files that lie beside each other, a row of each at a time.
//!
//! # Invariants
//! * GA-3 A column is read only if its file has the type that the YAML declares; delimited text and
//!   JSON have no types, and their values are read as what is declared.
//! * GA-4 Each file of a chunk has as many rows as the counts say, no fewer and no more.
//!
//! # Costs
//! A batch of each file.

use std::path::{Path, PathBuf};

use graven::PropertyValue;
use graven_files::{
    Cells, Chunk, Datum, Fault, Format, Kind, Options, Reader, Source, describe, literal,
    open_local,
};

use super::types::read_as;
use crate::error::{Error, Result};

/// Rows of a batch, and about its bytes at most.
const BATCH: (usize, usize) = (1024, 1 << 20);

/// A column that is wanted.
pub(super) struct Wanted {
    pub(super) name: String,
    /// The kind that the YAML declares.
    pub(super) kind: Kind,
    /// What its text stands for.
    pub(super) text: Option<Kind>,
}

impl Wanted {
    /// A column of GraphAr's own numbers.
    pub(super) fn number(name: &str) -> Wanted {
        Wanted {
            name: name.to_owned(),
            kind: Kind::Integer,
            text: None,
        }
    }
}

/// The rows of a file.
pub(super) struct Rows {
    path: PathBuf,
    reader: Reader,
    /// The names of the columns, as rows have them.
    names: Vec<String>,
    batch: Option<Chunk>,
    /// The next row of the batch.
    at: usize,
    /// Rows that were read.
    row: u64,
}

impl Rows {
    /// Opens a file for these columns, and those of `optional` that it has: they come last.
    pub(super) fn open(
        path: PathBuf,
        format: Format,
        wanted: &[Wanted],
        optional: &[Wanted],
    ) -> Result<Rows> {
        if !path.is_file() {
            let message = "is missing: by the counts there are rows for it".to_owned();
            return Err(Error::File { path, message });
        }
        let source = Source::Files(vec![path.to_string_lossy().into_owned()]);
        let options = Options {
            format: Some(format),
            header: (format == Format::Csv).then_some(true),
            ..Options::default()
        };
        let mut description = describe(&source, &open_local, &options, None)?;
        let mut names = Vec::new();
        let all = wanted.iter().map(|column| (column, false));
        for (column, is_optional) in all.chain(optional.iter().map(|column| (column, true))) {
            let found = description.columns.iter_mut();
            let mut found = found.filter(|found| found.name == column.name);
            let Some(found) = found.next() else {
                if is_optional {
                    continue;
                }
                let message = format!("has no column {}, which the YAML declares", column.name);
                return Err(Error::File { path, message });
            };
            let kind = match format {
                Format::Parquet => read_as(&column.kind, &found.kind),
                _ => Some(column.kind.clone()),
            };
            let Some(kind) = kind else {
                let message = format!(
                    "the column {} holds {}, and the YAML declares what is {} here: correct its \
                     data_type",
                    column.name, found.kind, column.kind
                );
                return Err(Error::File { path, message });
            };
            found.kind = column.text.clone().unwrap_or(kind);
            names.push(column.name.clone());
        }
        let reader = Reader::new(source, options, description, &names, Vec::new())?;
        Ok(Rows {
            path,
            reader,
            names,
            batch: None,
            at: 0,
            row: 0,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the columns, as rows have them.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The next row, or none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<Datum>>> {
        while self.batch.as_ref().is_none_or(|batch| self.at >= batch.len) {
            self.at = 0;
            self.batch = self.reader.next(&open_local, BATCH.0, BATCH.1)?;
            if self.batch.is_none() {
                return Ok(None);
            }
        }
        let Some(batch) = &self.batch else {
            return Ok(None);
        };
        let row = batch.columns.iter().map(|cells: &Cells| cells.get(self.at));
        let row = row.collect();
        self.at += 1;
        self.row += 1;
        Ok(Some(row))
    }

    /// The next row, which is there by the counts.
    pub(super) fn counted(&mut self, rows: u64, by: &Path) -> Result<Vec<Datum>> {
        match self.next()? {
            Some(row) => Ok(row),
            None => Err(Error::File {
                path: self.path.clone(),
                message: format!(
                    "has {} rows, and by {} it has {rows}",
                    self.row,
                    by.display()
                ),
            }),
        }
    }

    /// Ends the file, which has no more rows by the counts.
    pub(super) fn end(&mut self, by: &Path) -> Result<()> {
        match self.next()? {
            None => Ok(()),
            Some(_) => Err(Error::File {
                path: self.path.clone(),
                message: format!(
                    "has more than the {} rows of {}",
                    self.row - 1,
                    by.display()
                ),
            }),
        }
    }

    /// The error of a value in the row that was read last.
    pub(super) fn fault(&self, column: &str, value: &Datum, why: impl Into<String>) -> Error {
        let mut shown = String::new();
        literal::write(&mut shown, value);
        let fault = Fault {
            file: self.path.to_string_lossy().into_owned(),
            row: self.row,
            line: None,
            column: Some(column.to_owned()),
            value: Some(Fault::shown(&shown)),
            why: why.into(),
        };
        Error::Rows(fault.into())
    }

    /// A number of GraphAr's own in the row that was read last.
    pub(super) fn number(&self, column: &str, value: &Datum) -> Result<u64> {
        let number = match value {
            Datum::Value(PropertyValue::Integer(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fault(column, value, "is no number from 0 on"))
    }
}

/// A count, as eight bytes from the lowest on.
pub(super) fn count(path: &Path) -> Result<u64> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let wrong = |message: String| Error::File {
        path: path.to_owned(),
        message,
    };
    let length = bytes.len();
    let bytes: [u8; 8] = bytes
        .try_into()
        .map_err(|_| wrong(format!("has {length} bytes, and a count has 8")))?;
    let count = i64::from_le_bytes(bytes);
    u64::try_from(count).map_err(|_| wrong(format!("holds {count}, and a count is not negative")))
}
