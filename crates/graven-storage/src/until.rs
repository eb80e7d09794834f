//! How long a long piece of work is wanted: until a moment, or until its caller gives up.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// See the file header; by default for ever.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// The moment.
    pub moment: Option<Instant>,
    /// Set by whatever does not want the work any more.
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl Until {
    /// As long as it takes.
    pub const DONE: Until = Until {
        moment: None,
        cancelled: None,
    };

    /// Whether the work is not wanted any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let cancelled = self.cancelled.as_ref();
        cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.moment.is_some_and(|moment| Instant::now() > moment)
    }

    /// Fails where the work is not wanted any more.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn check(&self) -> Result<()> {
        match self.is_over() {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }
}
