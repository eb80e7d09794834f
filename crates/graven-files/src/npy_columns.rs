//! NumPy's arrays beside each other: each file is a column of the source (`BY COLUMN`).
//!
//! # How it works
//! An array of one dimension is a column of its values, one of two dimensions a column of lists.
//! All have the same number of rows. Rows are read from all files in step.

use crate::column::Column;
use crate::datum::{Cells, Datum};
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::npy::Rows;
use crate::ranges::Input;
use graven_types::told;

/// The files of a source, in the order of its columns.
pub(crate) struct Beside {
    files: Vec<(Rows, Vec<Column>)>,
    rows: u64,
}

impl Beside {
    /// Opens all of them.
    pub(crate) fn open(names: &[String], open: &dyn Fn(&str) -> Result<Input>) -> Result<Beside> {
        let mut files = Vec::new();
        let mut counts = Vec::new();
        for name in names {
            let rows = Rows::open(name, open(name)?)?;
            let (columns, count) = rows.describe();
            counts.push(count.unwrap_or(0));
            files.push((rows, columns));
        }
        let rows = counts.first().copied().unwrap_or(0);
        if let Some(at) = counts.iter().position(|count| *count != rows) {
            return Err(Error::File {
                file: names[at].clone(),
                why: told!(
                    "has {} rows, and {} has {rows}: columns are of the same length",
                    counts[at],
                    names[0]
                ),
            });
        }
        Ok(Beside { files, rows })
    }

    /// A column for each file, and the number of rows.
    pub(crate) fn describe(&self) -> (Vec<Column>, Option<u64>) {
        let columns = self.files.iter().enumerate();
        let columns = columns.map(|(at, (_, columns))| Column {
            name: format!("column{at}"),
            kind: match columns.as_slice() {
                [only] => only.kind.clone(),
                several => {
                    let kind = several
                        .first()
                        .map_or(Kind::Null, |column| column.kind.clone());
                    Kind::List(Box::new(kind))
                }
            },
            stated: None,
        });
        (columns.collect(), Some(self.rows))
    }

    /// As [`Rows::next`].
    pub(crate) fn next(
        &mut self,
        (rows, bytes): (usize, usize),
        wanted: &[usize],
    ) -> Result<Option<(Vec<Cells>, usize, u64)>> {
        // Each file gives as many rows as are asked for, whatever bytes they take.
        let widths = wanted.iter().map(|at| 1 + self.files[*at].1.len());
        let of_row = widths.sum::<usize>() * size_of::<Datum>();
        let rows = rows.min(bytes / of_row.max(1)).max(1);
        let mut all = Vec::new();
        let mut read = None;
        for at in wanted {
            let (file, columns) = &mut self.files[*at];
            let places: Vec<usize> = (0..columns.len()).collect();
            let Some((mut cells, len, before)) = file.next((rows, usize::MAX), &places)? else {
                return Ok(None);
            };
            read = Some((len, before));
            all.push(match cells.len() {
                1 => cells.remove(0),
                _ => {
                    let list = |row| Datum::list(cells.iter().map(|cell| cell.get(row)).collect());
                    Cells::Data((0..len).map(list).collect())
                }
            });
        }
        match read {
            Some((len, before)) => Ok(Some((all, len, before))),
            // No column is wanted: rows are counted.
            None => {
                let places: &[usize] = &[];
                let first = self.files.first_mut();
                first.map_or(Ok(None), |(file, _)| file.next((rows, usize::MAX), places))
            }
        }
    }
}
