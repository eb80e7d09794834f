//! One row without columns; and no row at all.

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::Operator;
use crate::runtime::Runtime;

/// No rows.
pub(crate) struct Nothing;

impl Operator for Nothing {
    fn next(&mut self, _: &Runtime) -> Result<Option<Batch>> {
        Ok(None)
    }

    fn rewind(&mut self) {}
}

/// See the file header.
#[derive(Default)]
pub(crate) struct Unit {
    done: bool,
}

impl Operator for Unit {
    fn next(&mut self, _: &Runtime) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        Ok(Some(Batch::new(Vec::new(), 1)))
    }

    fn rewind(&mut self) {
        self.done = false;
    }
}
