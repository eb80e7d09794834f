//! When a checkpoint was under way, so that a commit can say how long one worked beside it.
//!
//! # Concurrency
//! Three numbers, written by the one checkpoint and read by commits without a lock: an interval
//! that is looked at while it changes may be told too short, never wrong in a way that matters to
//! more than a line of text.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The newest checkpoint, in nanoseconds since the first was asked about.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    origin: OnceLock<Instant>,
    began: AtomicU64,
    /// 0 while it works.
    ended: AtomicU64,
}

impl Activity {
    fn at(&self, instant: Instant) -> u64 {
        let origin = *self.origin.get_or_init(Instant::now);
        // Never 0, which says that something has not happened.
        1 + instant.saturating_duration_since(origin).as_nanos() as u64
    }

    /// A checkpoint begins; it ends when the result is dropped.
    pub(crate) fn begin(&self) -> Working<'_> {
        self.began.store(self.at(Instant::now()), Relaxed);
        self.ended.store(0, Relaxed);
        Working(self)
    }

    /// Whether one works.
    pub(crate) fn is_working(&self) -> bool {
        self.began.load(Relaxed) > 0 && self.ended.load(Relaxed) == 0
    }

    /// How much of the time from `from` until now a checkpoint worked.
    pub(crate) fn since(&self, from: Instant) -> Duration {
        let began = self.began.load(Relaxed);
        if began == 0 {
            return Duration::ZERO;
        }
        let ended = match self.ended.load(Relaxed) {
            0 => self.at(Instant::now()),
            ended => ended,
        };
        Duration::from_nanos(ended.saturating_sub(began.max(self.at(from))))
    }
}

/// A checkpoint at work.
#[derive(Debug)]
pub(crate) struct Working<'a>(&'a Activity);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.ended.store(self.0.at(Instant::now()), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn the_time_beside_a_checkpoint_is_told() {
        let activity = Activity::default();
        let start = Instant::now();
        assert_eq!(activity.since(start), Duration::ZERO);
        assert!(!activity.is_working());
        let working = activity.begin();
        assert!(activity.is_working());
        sleep(Duration::from_millis(2));
        let beside = activity.since(start);
        assert!(beside >= Duration::from_millis(2) && beside <= start.elapsed());
        drop(working);
        assert!(!activity.is_working());
        let whole = activity.since(start);
        sleep(Duration::from_millis(2));
        assert_eq!(activity.since(start), whole, "it has ended");
        assert_eq!(activity.since(Instant::now()), Duration::ZERO);
    }
}
