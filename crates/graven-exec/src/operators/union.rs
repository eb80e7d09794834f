//! Rows of all inputs, one input after the other.

use std::sync::Arc;

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// See the file header.
pub(crate) struct Union {
    /// Inputs, each with the columns of its rows in the order of the output.
    inputs: Vec<(BoxedOperator, Arc<[usize]>)>,
    current: usize,
}

impl Union {
    /// Rows of `inputs`.
    pub(crate) fn new(inputs: Vec<(BoxedOperator, Arc<[usize]>)>) -> Self {
        Self { inputs, current: 0 }
    }
}

impl PhysicalOperator for Union {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while let Some((input, slots)) = self.inputs.get_mut(self.current) {
            if let Some(batch) = input.next(rt)? {
                let columns = slots.iter().map(|s| Arc::clone(batch.column(*s))).collect();
                return Ok(Some(Batch::new(columns, batch.len())));
            }
            self.current += 1;
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        for (input, _) in &mut self.inputs {
            input.rewind();
        }
        self.current = 0;
    }
}
