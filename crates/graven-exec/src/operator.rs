//! The contract of operators: pull batches, start again, rest until the statement is run again.
//!
//! # Invariants
//! * EX-57 An operator that rests holds no memory of the budget, nothing of what it read and no
//!   view of the data; renewed, it does what one made for the new run would do.

use crate::batch::Batch;
use crate::error::Result;
use crate::runtime::Runtime;

/// One operator of a running plan.
pub(crate) trait Operator: Send {
    /// The next rows, never an empty batch (EX-7); `None` at the end and ever after.
    ///
    /// # Errors
    /// Whatever goes wrong below or in an expression; the statement ends then.
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>>;

    /// Starts again from the first row, with the argument rows that are set by then. Memory held is
    /// given back.
    fn rewind(&mut self);

    /// The operator above reads none of its rows: columns that it adds itself may be missing.
    fn runs_unseen(&mut self) {}

    /// Ends a run: lets go of all that belongs to it. Whether the operator can be renewed for
    /// another run of the same plan in the same database, which knows the same names then; if not,
    /// it must not be used any more.
    fn rest(&mut self) -> bool {
        false
    }

    /// Makes an operator that rests ready for another run.
    ///
    /// # Errors
    /// As making it.
    fn renew(&mut self, _rt: &Runtime) -> Result<()> {
        Ok(())
    }

    /// Bytes written to the temporary file so far, rewinds included.
    fn spilled_bytes(&self) -> u64 {
        0
    }
}

/// An operator of whatever kind.
pub(crate) type BoxedOperator = Box<dyn Operator>;
