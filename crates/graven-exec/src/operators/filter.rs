//! Keeps the rows whose predicate is true.

use std::sync::Arc;

use crate::batch::Batch;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// See the file header.
pub(crate) struct Filter {
    input: BoxedOperator,
    predicate: Arc<Compiled>,
}

impl Filter {
    /// Filters `input`.
    pub(crate) fn new(input: BoxedOperator, predicate: Arc<Compiled>) -> Self {
        Self { input, predicate }
    }
}

impl PhysicalOperator for Filter {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while let Some(batch) = self.input.next(rt)? {
            let kept = self.predicate.true_rows(Rows::all(&batch), rt)?;
            if kept.len() == batch.len() {
                return Ok(Some(batch));
            }
            if !kept.is_empty() {
                return Ok(Some(batch.gather(&kept)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
