//! Distinct rows over some columns where equal rows follow each other (CY-63): each row is compared
//! with the one before it.

use std::sync::Arc;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// See the file header.
pub(crate) struct AdjacentDistinct {
    input: BoxedOperator,
    slots: Arc<[usize]>,
    /// The columns of the batch before, whose last row is compared with the first one of the next.
    before: Option<(Vec<Arc<Column>>, usize)>,
}

impl AdjacentDistinct {
    /// Distinct rows over the columns `slots` of `input`.
    pub(crate) fn new(input: BoxedOperator, slots: Arc<[usize]>) -> Self {
        Self {
            input,
            slots,
            before: None,
        }
    }
}

/// Whether two rows have the same value in a column.
fn same((a, row): (&Column, usize), (b, other): (&Column, usize)) -> bool {
    match (a, b) {
        (Column::Nodes(a), Column::Nodes(b))
        | (Column::Relationships(a), Column::Relationships(b)) => a[row] == b[other],
        (a, b) => *a.get(row) == *b.get(other),
    }
}

/// Takes out of `differs` the rows from the second on that have the same value as the one before
/// them.
fn compare(column: &Column, differs: &mut [bool]) {
    match column {
        Column::Nodes(ids) | Column::Relationships(ids) => {
            for (differs, pair) in differs[1..].iter_mut().zip(ids.windows(2)) {
                *differs |= pair[0] != pair[1];
            }
        }
        column => {
            for (row, differs) in differs.iter_mut().enumerate().skip(1) {
                *differs = *differs || !same((column, row - 1), (column, row));
            }
        }
    }
}

impl PhysicalOperator for AdjacentDistinct {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while let Some(batch) = self.input.next(rt)? {
            rt.check_cancelled()?;
            if batch.is_empty() {
                continue;
            }
            let slots = self.slots.iter();
            let keys: Vec<_> = slots.map(|slot| Arc::clone(batch.column(*slot))).collect();
            let rows = batch.len();
            let mut differs = vec![false; rows];
            differs[0] = match &self.before {
                None => true,
                Some((before, rows)) => {
                    let mut pairs = before.iter().zip(&keys);
                    !pairs.all(|(before, key)| same((before, rows - 1), (key, 0)))
                }
            };
            for key in &keys {
                compare(key, &mut differs);
            }
            let kept: Vec<u32> = (0..)
                .zip(differs)
                .filter_map(|(row, differs)| differs.then_some(row))
                .collect();
            self.before = Some((keys.clone(), rows));
            let batch = Batch::new(keys, rows);
            if kept.len() == rows {
                return Ok(Some(batch));
            }
            if !kept.is_empty() {
                return Ok(Some(batch.gather(&kept)));
            }
        }
        self.before = None;
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.before = None;
    }
}
