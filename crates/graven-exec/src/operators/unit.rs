//! One row without columns; and no row at all.

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::PhysicalOperator;
use crate::query_context::QueryContext;

/// No rows.
pub(crate) struct Nothing;

impl PhysicalOperator for Nothing {
    fn next(&mut self, _: &QueryContext) -> Result<Option<Batch>> {
        Ok(None)
    }

    fn rewind(&mut self) {}
}

/// See the file header.
#[derive(Default)]
pub(crate) struct Unit {
    done: bool,
}

impl PhysicalOperator for Unit {
    fn next(&mut self, _: &QueryContext) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        Ok(Some(Batch::new(Vec::new(), 1)))
    }

    fn rewind(&mut self) {
        self.done = false;
    }
}
