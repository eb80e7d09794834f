//! When a statement must have ended.

use crate::error::ExecError;
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// What a statement's long work asks now and then: whether it has to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancellation {
    deadline: Option<Deadline>,
    cancel: Arc<AtomicBool>,
}

impl Cancellation {
    /// At this moment, or when the flag is set.
    pub(crate) fn new(deadline: Option<Deadline>, cancel: Arc<AtomicBool>) -> Self {
        Self { deadline, cancel }
    }

    /// # Errors
    /// As [`Deadline::check`].
    pub(crate) fn check(&self) -> Result<()> {
        Deadline::check(self.deadline, &self.cancel)
    }
}

/// When a statement must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    /// For a statement that begins now; none where the moment lies beyond what the clock can tell.
    #[must_use]
    pub fn after(timeout: Duration) -> Option<Self> {
        let at = Instant::now().checked_add(timeout)?;
        Some(Self { at, timeout })
    }

    /// The time that is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Whether a statement with this deadline and this flag may go on.
    ///
    /// # Errors
    /// [`ExecError::Cancelled`] if the flag is set; [`ExecError::TimedOut`] if its time is over.
    pub fn check(deadline: Option<Self>, cancel: &AtomicBool) -> Result<()> {
        if cancel.load(Ordering::Relaxed) {
            return Err(ExecError::Cancelled);
        }
        match deadline {
            Some(Self { at, timeout }) if Instant::now() >= at => {
                Err(ExecError::TimedOut { timeout })
            }
            _ => Ok(()),
        }
    }
}
