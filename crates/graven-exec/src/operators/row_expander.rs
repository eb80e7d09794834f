//! Input rows of which each becomes any number of output rows, cut into batches.
//!
//! # How it works
//! [`RowExpander`] keeps the current input batch and the row being worked on. The operator using it
//! appends `(input row, new values)` pairs until a batch is full; the input columns are then
//! gathered once.

use std::sync::Arc;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::operator::BoxedOperator;
use crate::query_context::QueryContext;

/// A batch with so many values in its lists is handed over, however few rows it has.
pub(crate) const LISTED_MAX: usize = 64 << 10;

/// The input of an operator that turns one row into many.
pub(crate) struct RowExpander {
    input: BoxedOperator,
    batch: Batch,
    row: usize,
}

impl RowExpander {
    /// Reads from `input`.
    pub(crate) fn new(input: BoxedOperator) -> Self {
        Self {
            input,
            batch: Batch::default(),
            row: 0,
        }
    }

    /// Makes sure that there is a current row; false at the end of the input. `fresh` is called on
    /// each new batch.
    pub(crate) fn advance(
        &mut self,
        rt: &QueryContext,
        fresh: impl FnOnce(&Batch) -> Result<()>,
    ) -> Result<bool> {
        if self.row < self.batch.len() {
            return Ok(true);
        }
        rt.check_cancelled()?;
        self.batch = Batch::default();
        self.row = 0;
        let Some(batch) = self.input.next(rt)? else {
            return Ok(false);
        };
        fresh(&batch)?;
        self.batch = batch;
        Ok(true)
    }

    /// The current input batch.
    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The nodes found for its rows as a batch, their column in `slot`, if they fill one or the
    /// rows are at their end: an output batch belongs to one input batch.
    pub(crate) fn found(
        &self,
        slot: usize,
        rows: &[u32],
        ids: &mut Vec<u64>,
        rt: &QueryContext,
    ) -> Option<Batch> {
        self.found_as(slot, rows, ids, Column::Nodes, rt)
    }

    /// As [`RowExpander::found`] for a column of any kind of ids.
    pub(crate) fn found_as(
        &self,
        slot: usize,
        rows: &[u32],
        ids: &mut Vec<u64>,
        column: fn(Vec<u64>) -> Column,
        rt: &QueryContext,
    ) -> Option<Batch> {
        let rows_done = self.row == self.batch.len();
        (ids.len() == rt.batch_rows() || (rows_done && !ids.is_empty()))
            .then(|| gather_with(&self.batch, rows, [(slot, column(std::mem::take(ids)))]))
    }

    /// The current row of it.
    pub(crate) fn row(&self) -> usize {
        self.row
    }

    /// Goes to the next row.
    pub(crate) fn step(&mut self) {
        self.row += 1;
    }

    /// Goes past all rows of the batch.
    pub(crate) fn skip_batch(&mut self) {
        self.row = self.batch.len();
    }

    /// Starts again.
    pub(crate) fn rewind(&mut self) {
        self.input.rewind();
        self.batch = Batch::default();
        self.row = 0;
    }
}

/// The input rows repeated as `rows` says, with new columns put into their slots.
pub(crate) fn gather_with(
    batch: &Batch,
    rows: &[u32],
    added: impl IntoIterator<Item = (usize, Column)>,
) -> Batch {
    // Rows that each have one output row stay where they are.
    let same = rows.len() == batch.len() && (0..).zip(rows).all(|(at, row)| at == *row);
    let added = added.into_iter();
    let mut columns: Vec<Arc<Column>> =
        Vec::with_capacity(batch.columns().len() + added.size_hint().0);
    columns.extend(batch.columns().iter().map(|column| match same {
        true => Arc::clone(column),
        false => Arc::new(match &**column {
            Column::Constant(value, _) => Column::Constant(value.clone(), rows.len()),
            other => other.gather(rows),
        }),
    }));
    for (slot, column) in added {
        if slot == columns.len() {
            columns.push(Arc::new(column));
        } else {
            columns[slot] = Arc::new(column);
        }
    }
    Batch::new(columns, rows.len())
}
