//! One row without columns.

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::Operator;
use crate::runtime::Runtime;

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
