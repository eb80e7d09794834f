//! A batch: about [`BATCH_ROWS`] rows in columns, the unit that operators hand to each other.
//!
//! # How it works
//! Columns are shared (`Arc`), so an operator that keeps a column untouched passes it on without a
//! copy. Which variable lies in which column is fixed by the physical plan (see
//! [`crate::layout`]); a batch itself knows no names.
//!
//! # Invariants
//! * EX-6 All columns of a batch have [`Batch::len`] rows.
//! * EX-7 Operators never hand over an empty batch; the end is `None`.

use std::sync::Arc;

use crate::column::Column;
use crate::value::Value;

/// Rows an operator aims to put into one batch.
pub const BATCH_ROWS: usize = 2048;

/// Rows in columns.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    columns: Vec<Arc<Column>>,
    len: usize,
}

impl Batch {
    /// A batch of these columns.
    ///
    /// # Panics
    /// If a column has another number of rows (EX-6).
    #[must_use]
    pub fn new(columns: Vec<Arc<Column>>, len: usize) -> Self {
        for column in &columns {
            assert_eq!(column.len(), len, "EX-6: columns of one length");
        }
        Self { columns, len }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All columns.
    #[must_use]
    pub fn columns(&self) -> &[Arc<Column>] {
        &self.columns
    }

    /// One column.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    pub fn column(&self, slot: usize) -> &Arc<Column> {
        &self.columns[slot]
    }

    /// The value in one column and row.
    ///
    /// # Panics
    /// If there is no such column or row.
    #[must_use]
    pub fn value(&self, column: usize, row: usize) -> Value {
        self.columns[column].value(row)
    }

    /// The values of one row in column order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.columns.iter().map(|c| c.value(row)).collect()
    }

    /// The rows named by `rows`, in that order.
    #[must_use]
    pub(crate) fn gather(&self, rows: &[u32]) -> Self {
        Self {
            columns: self
                .columns
                .iter()
                .map(|c| Arc::new(c.gather(rows)))
                .collect(),
            len: rows.len(),
        }
    }

    /// Rows `from..to`; the batch itself if that is all of it.
    #[must_use]
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        if from == 0 && to == self.len {
            return self.clone();
        }
        Self {
            columns: self
                .columns
                .iter()
                .map(|c| Arc::new(c.slice(from, to)))
                .collect(),
            len: to - from,
        }
    }

    /// The batch with `column` put into `slot`: in place of another, or as the next one.
    #[must_use]
    pub(crate) fn with_column(mut self, slot: usize, column: Column) -> Self {
        debug_assert_eq!(column.len(), self.len, "EX-6: columns of one length");
        let column = Arc::new(column);
        if slot == self.columns.len() {
            self.columns.push(column);
        } else {
            self.columns[slot] = column;
        }
        self
    }

    /// Batches of one layout, one below the other.
    #[must_use]
    pub(crate) fn concat(parts: &[Self]) -> Self {
        match parts {
            [] => Self::default(),
            [only] => only.clone(),
            [first, ..] => {
                let columns = (0..first.columns.len())
                    .map(|slot| {
                        let columns: Vec<&Column> =
                            parts.iter().map(|p| p.columns[slot].as_ref()).collect();
                        Arc::new(Column::concat(&columns))
                    })
                    .collect();
                Self {
                    columns,
                    len: parts.iter().map(Self::len).sum(),
                }
            }
        }
    }

    /// Heap bytes of all columns, shared ones counted in full.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.columns.iter().map(|c| c.heap_bytes()).sum()
    }
}
