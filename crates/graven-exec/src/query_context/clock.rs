//! What `date()` and its kin mean by now.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

/// A moment of the system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since 1970 UTC.
    pub(crate) seconds: i64,
    /// Nanoseconds of the second.
    pub(crate) nanoseconds: u32,
}

impl Moment {
    /// The present one.
    pub(crate) fn now() -> Self {
        Self::of(SystemTime::now())
    }

    fn of(time: SystemTime) -> Self {
        let since = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: since.subsec_nanos(),
        }
    }
}

/// What `date()` and its kin mean by now. What time it was when the statement began is found out
/// when it is first asked for.
#[derive(Debug)]
pub(crate) struct Clocks {
    begun: Instant,
    statement: OnceLock<Moment>,
    transaction: Option<Moment>,
}

impl Clocks {
    /// A statement that began then, in a transaction that began at that time.
    pub(super) fn new(begun: Instant, transaction: Option<SystemTime>) -> Self {
        Self {
            begun,
            statement: OnceLock::new(),
            transaction: transaction.map(Moment::of),
        }
    }

    /// When the statement began.
    pub(crate) fn statement(&self) -> Moment {
        *self.statement.get_or_init(|| {
            let now = SystemTime::now();
            Moment::of(now.checked_sub(self.begun.elapsed()).unwrap_or(now))
        })
    }

    /// When the transaction began.
    pub(crate) fn transaction(&self) -> Moment {
        self.transaction.unwrap_or_else(|| self.statement())
    }
}
