//! Computed columns: in place of the row (project) or in addition to it (extend).

use crate::batch::Batch;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// Rows with exactly the computed columns.
pub(crate) struct Project {
    input: BoxedOperator,
    items: Vec<Compiled>,
}

impl Project {
    /// Projects `input` to `items`.
    pub(crate) fn new(input: BoxedOperator, items: Vec<Compiled>) -> Self {
        Self { input, items }
    }
}

impl Operator for Project {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        let columns = self
            .items
            .iter()
            .map(|item| item.column(Rows::all(&batch), rt))
            .collect::<Result<_>>()?;
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}

/// Rows with the computed columns added. All items see the row as it came in.
pub(crate) struct Extend {
    input: BoxedOperator,
    items: Vec<(usize, Compiled)>,
}

impl Extend {
    /// Adds `items`, each with its column.
    pub(crate) fn new(input: BoxedOperator, items: Vec<(usize, Compiled)>) -> Self {
        Self { input, items }
    }
}

impl Operator for Extend {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        let mut columns = batch.columns().to_vec();
        for (slot, item) in &self.items {
            let column = item.column(Rows::all(&batch), rt)?;
            if *slot == columns.len() {
                columns.push(column);
            } else {
                columns[*slot] = column;
            }
        }
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
