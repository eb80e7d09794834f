//! The contract of operators: pull batches, start again.
//!
//! # Invariants
//! * EX-57 An operator has the state of one run, on one thread at a time. What all runs share lies
//!   in its node of the physical plan ([`crate::physical`]), and the operator never changes it.
//! * EX-92 An operator lets go of a batch before it asks for the next, or charges it: the operator
//!   below charges the values of a batch only until then.

use crate::batch::Batch;
use crate::error::Result;
use crate::query_context::QueryContext;

/// One operator of a running plan.
pub(crate) trait PhysicalOperator: Send {
    /// The next rows, never an empty batch (EX-7); `None` at the end and ever after.
    ///
    /// # Errors
    /// Whatever goes wrong below or in an expression; the statement ends then.
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>>;

    /// Starts again from the first row, with the argument rows that are set by then. Memory held is
    /// given back.
    fn rewind(&mut self);

    /// The operator above reads none of its rows: columns that it adds itself may be missing.
    fn discard_output(&mut self) {}

    /// Bytes written to the temporary file so far, rewinds included.
    fn spilled_bytes(&self) -> u64 {
        0
    }
}

/// An operator of whatever kind.
pub(crate) type BoxedOperator = Box<dyn PhysicalOperator>;
