//! What the statements of a transaction know of it: whether it has failed or ended.

use crate::error::Error;
use crate::statements::Sitting;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What becomes of a transaction, as its statements with rows left see it.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    pub(crate) failed: AtomicBool,
    pub(crate) ended: AtomicBool,
}

/// Says on drop that the transaction has ended.
#[derive(Debug, Default)]
pub(crate) struct Ends(pub(crate) Arc<Fate>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::SeqCst);
    }
}

/// What a statement with rows left knows of its transaction.
#[derive(Debug)]
pub(crate) struct Within {
    pub(crate) fate: Arc<Fate>,
    pub(crate) sitting: Option<Sitting>,
}

impl Within {
    pub(crate) fn new(sitting: Sitting, fate: &Arc<Fate>) -> Self {
        Within {
            fate: Arc::clone(fate),
            sitting: Some(sitting),
        }
    }

    /// Refuses to go on where the transaction has ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.fate.ended.load(Ordering::SeqCst) {
            true => Err(Error::new(
                "Transaction.Ended",
                "the transaction ended before all rows of this statement were read",
            )),
            false => Ok(()),
        }
    }

    /// The statement has no more rows; if it failed, its transaction has (TX-40).
    pub(crate) fn ended(&mut self, well: bool) {
        self.sitting = None;
        if !well {
            self.fate.failed.store(true, Ordering::SeqCst);
        }
    }
}
