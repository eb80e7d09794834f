//! A barrier: all input is taken in before the first row leaves; and the end of a statement without
//! results.

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::RowBuffer;

/// See the file header. The rows spill where they do not fit.
pub(crate) struct Eager {
    input: BoxedOperator,
    rows: RowBuffer,
    filled: bool,
}

impl Eager {
    /// Takes in `input`.
    pub(crate) fn new(input: BoxedOperator, rt: &QueryContext) -> Self {
        let remedy = "write in parts: CALL {} IN TRANSACTIONS, or several statements";
        Self {
            input,
            rows: RowBuffer::new(rt, "Eager", remedy),
            filled: false,
        }
    }
}

impl PhysicalOperator for Eager {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if !self.filled {
            while let Some(batch) = self.input.next(rt)? {
                self.rows.push(batch)?;
            }
            self.rows.finish()?;
            self.filled = true;
        }
        self.rows.next(rt)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows.clear();
        self.filled = false;
    }

    fn spilled_bytes(&self) -> u64 {
        self.rows.spilled_bytes()
    }
}

/// Runs its input to the end.
pub(crate) struct EmptyResult {
    input: BoxedOperator,
}

impl EmptyResult {
    /// Runs `input`.
    pub(crate) fn new(mut input: BoxedOperator) -> Self {
        input.discard_output();
        Self { input }
    }
}

impl PhysicalOperator for EmptyResult {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while self.input.next(rt)?.is_some() {
            rt.check_cancelled()?;
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
