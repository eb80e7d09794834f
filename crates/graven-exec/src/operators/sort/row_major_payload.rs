//! The columns of sorted rows side by side: where rows lie far apart, one wait brings all that is
//! to be had of a row.
//!
//! # How it works
//! Once the order of many rows is known, their columns of plain numbers are copied into one array,
//! row by row, in the order of the input. Rows are gathered from there some at a time, so that what
//! the first column of them has brought into the cache is still there for the others.

use std::sync::Arc;

use crate::batch::Batch;
use crate::column::Column;
use crate::threads::{cut, on_threads};
use crate::value::Value;

/// A single column gains nothing.
const COLUMNS_FROM: usize = 2;
/// Rows gathered together.
const TOGETHER: usize = 256;

/// What a column is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    Nodes,
    Relationships,
    Integers,
}

impl Plain {
    fn of(column: &Column) -> Option<Self> {
        match column {
            Column::Nodes(_) => Some(Self::Nodes),
            Column::Relationships(_) => Some(Self::Relationships),
            Column::Integers(_) => Some(Self::Integers),
            _ => None,
        }
    }

    /// That of a column over all batches.
    fn of_all(slot: usize, batches: &[Batch]) -> Option<Self> {
        let mut forms = batches.iter().map(|batch| Self::of(batch.column(slot)));
        let first = forms.next()??;
        forms.all(|form| form == Some(first)).then_some(first)
    }
}

/// See the file header.
pub(super) struct RowMajorPayload {
    columns: Vec<(usize, Plain)>,
    /// The row that each batch begins with.
    starts: Vec<usize>,
    cells: Vec<u64>,
}

impl RowMajorPayload {
    /// The columns of `slots` that can be put side by side; none if they are too few.
    pub(super) fn columns(
        slots: impl Iterator<Item = usize>,
        batches: &[Batch],
    ) -> Option<Vec<usize>> {
        let plain = slots.filter(|slot| Plain::of_all(*slot, batches).is_some());
        let plain: Vec<usize> = plain.collect();
        (plain.len() >= COLUMNS_FROM).then_some(plain)
    }

    /// What they take.
    pub(super) fn bytes(columns: &[usize], rows: usize) -> usize {
        8 * columns.len() * rows
    }

    /// Takes these columns out of the batches; nulls stay there.
    pub(super) fn take(columns: &[usize], batches: &mut [Batch], threads: usize) -> Self {
        let forms = columns.iter().map(|slot| {
            let form = Plain::of_all(*slot, batches).expect("asked before");
            (*slot, form)
        });
        let width = columns.len();
        let mut rows = 0;
        let starts = batches.iter().map(|batch| {
            rows += batch.len();
            rows - batch.len()
        });
        let mut row_major_payload = Self {
            columns: forms.collect(),
            starts: starts.collect(),
            cells: Vec::new(),
        };
        row_major_payload.cells = vec![0; rows * width];
        let mut left = &mut row_major_payload.cells[..];
        let parts = cut(batches, threads).into_iter().map(|batches| {
            let cells = batches.iter().map(|batch| batch.len() * width).sum();
            let own;
            (own, left) = std::mem::take(&mut left).split_at_mut(cells);
            (batches, own)
        });
        on_threads(parts.collect(), |(batches, cells)| {
            let mut left = cells;
            for batch in batches {
                let (own, behind) = left.split_at_mut(batch.len() * width);
                left = behind;
                for (at, slot) in columns.iter().enumerate() {
                    let cells = own.iter_mut().skip(at).step_by(width);
                    match &**batch.column(*slot) {
                        Column::Nodes(ids) | Column::Relationships(ids) => {
                            cells.zip(ids).for_each(|(cell, id)| *cell = *id);
                        }
                        Column::Integers(numbers) => {
                            let numbers = numbers.iter().map(|number| number.cast_unsigned());
                            cells.zip(numbers).for_each(|(cell, number)| *cell = number);
                        }
                        _ => unreachable!("plain columns"),
                    }
                }
            }
        });
        for batch in batches {
            let gone = Arc::new(Column::Constant(Value::Null, batch.len()));
            let left = batch.columns().iter().enumerate();
            let left = left.map(|(slot, column)| match columns.contains(&slot) {
                true => Arc::clone(&gone),
                false => Arc::clone(column),
            });
            *batch = Batch::new(left.collect(), batch.len());
        }
        row_major_payload
    }

    /// The columns, each with its slot, of rows named by batch and row within it.
    pub(super) fn gather(&self, at: &[(u32, u32)]) -> Vec<(usize, Column)> {
        let width = self.columns.len();
        let mut gathered = vec![Vec::with_capacity(at.len()); width];
        let mut first_cells = Vec::with_capacity(TOGETHER);
        for some in at.chunks(TOGETHER) {
            first_cells.clear();
            first_cells.extend(
                some.iter()
                    .map(|(batch, row)| (self.starts[*batch as usize] + *row as usize) * width),
            );
            for (column, out) in gathered.iter_mut().enumerate() {
                out.extend(first_cells.iter().map(|first| self.cells[first + column]));
            }
        }
        let columns = self.columns.iter().zip(gathered);
        let columns = columns.map(|((slot, form), cells)| {
            let column = match form {
                Plain::Nodes => Column::Nodes(cells),
                Plain::Relationships => Column::Relationships(cells),
                Plain::Integers => {
                    Column::Integers(cells.into_iter().map(u64::cast_signed).collect())
                }
            };
            (*slot, column)
        });
        columns.collect()
    }
}

#[cfg(test)]
mod tests {
    //! Rows come back from side by side as they were.

    use super::*;

    fn batch(first: i64, rows: i64) -> Batch {
        let numbers = first..first + rows;
        let ids = numbers.clone().map(|number| number.cast_unsigned() * 3);
        let columns = [
            Column::Nodes(ids.clone().collect()),
            Column::Floats(numbers.clone().map(|_| 0.5).collect()),
            Column::Integers(numbers.map(|number| -number).collect()),
            Column::Relationships(ids.collect()),
        ];
        let columns = columns.into_iter().map(Arc::new).collect();
        Batch::new(columns, usize::try_from(rows).unwrap())
    }

    #[test]
    fn rows_come_back() {
        for threads in [1, 3] {
            let mut batches: Vec<Batch> = (0..5).map(|at| batch(at * 100, 20 * at + 1)).collect();
            let before = batches.clone();
            let columns = RowMajorPayload::columns(0..4, &batches).unwrap();
            assert_eq!(columns, [0, 2, 3], "numbers of 64 bits");
            let row_major_payload = RowMajorPayload::take(&columns, &mut batches, threads);
            assert!(matches!(**batches[0].column(2), Column::Constant(..)));
            assert!(matches!(**batches[0].column(1), Column::Floats(_)));
            let at = [(4, 80), (0, 0), (2, 7), (4, 79), (3, 60), (0, 0)];
            for (slot, column) in row_major_payload.gather(&at) {
                for (row, (batch, of_batch)) in at.iter().enumerate() {
                    let wanted = before[*batch as usize].value(slot, *of_batch as usize);
                    assert!(column.value(row) == wanted, "column {slot}, row {row}");
                }
            }
        }
        let others = Batch::new(vec![Arc::new(Column::Integers(vec![1]))], 1);
        assert!(RowMajorPayload::columns(0..1, std::slice::from_ref(&others)).is_none());
        let mixed = Batch::new(vec![Arc::new(Column::Floats(vec![1.0]))], 1);
        assert!(RowMajorPayload::columns(0..1, &[others, mixed]).is_none());
    }
}
