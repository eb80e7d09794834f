//! What can wait: syncs of commits acknowledged early, new regions, telling the durable LSN.
//!
//! # How it works
//! Each piece of work has a time at which it is due; one thread sleeps until the earliest. A log
//! without the thread keeps the list all the same and does it when told to, in a fixed order, which
//! makes simulations repeatable.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::shared_log::SharedLog;

/// Loss bound of commits without durability.
const OFF_DELAY: Duration = Duration::from_secs(1);
/// How long after a sync an idle log tells the durable LSN.
const STATE_DELAY: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct Due {
    sync_at: Option<Instant>,
    marker_at: Option<Instant>,
    /// Frames that had been written when `marker_at` was set: later ones tell by themselves.
    state_frames: u64,
    grow: bool,
    stop: bool,
}

impl Due {
    fn next(&self) -> Option<Instant> {
        [self.sync_at, self.marker_at].into_iter().flatten().min()
    }
}

#[derive(Debug)]
struct Shared {
    inner: Arc<SharedLog>,
    due: Mutex<Due>,
    wake: Condvar,
}

/// The work that can wait, and the thread that does it; stopped and joined at the latest on drop,
/// the work left undone.
#[derive(Debug)]
pub(crate) struct Background {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    pub(crate) fn start(inner: Arc<SharedLog>, with_thread: bool) -> Background {
        let shared = Arc::new(Shared {
            inner,
            due: Mutex::default(),
            wake: Condvar::new(),
        });
        let thread = with_thread.then(|| {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("graven-wal".to_owned())
                .spawn(move || shared.run())
                .expect("the system starts a thread")
        });
        Background {
            shared,
            thread: Mutex::new(thread),
        }
    }

    /// Ends the thread: nothing is written in the background any more.
    pub(crate) fn stop(&self) {
        self.shared.change(|due| due.stop = true);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A panic there has been reported; the log goes on without it.
            let _ = thread.join();
        }
    }

    /// Adds a region soon.
    pub(crate) fn grow(&self) {
        self.shared.change(|due| due.grow = true);
    }

    /// Syncs within `delay`.
    pub(crate) fn sync_within(&self, delay: Duration) {
        let at = Instant::now() + delay;
        let mut due = self.shared.lock();
        if due.sync_at.is_none_or(|set| at < set) {
            due.sync_at = Some(at);
            self.shared.wake.notify_one();
        }
    }

    /// Writes and syncs within a second.
    pub(crate) fn write_within_a_second(&self) {
        self.sync_within(OFF_DELAY);
    }

    /// Tells the durable LSN if nothing is written for a while.
    pub(crate) fn write_durable_marker_soon(&self) {
        let mut due = self.shared.lock();
        if due.marker_at.is_none() {
            due.marker_at = Some(Instant::now() + STATE_DELAY);
            due.state_frames = self.shared.inner.frames_written();
            self.shared.wake.notify_one();
        }
    }

    /// Does everything that is due now or later.
    pub(crate) fn run_all(&self) {
        let mut due = std::mem::take(&mut *self.shared.lock());
        due.state_frames = self.shared.inner.frames_written();
        self.shared.work(&due);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Due)) {
        change(&mut self.lock());
        self.wake.notify_one();
    }

    fn run(&self) {
        let mut due = self.lock();
        while !due.stop {
            let now = Instant::now();
            let next = due.next();
            if due.grow || next.is_some_and(|at| at <= now) {
                let work = take_due(&mut due, now);
                drop(due);
                self.work(&work);
                due = self.lock();
                continue;
            }
            due = match next {
                Some(at) => {
                    let waited = self.wake.wait_timeout(due, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.wake.wait(due).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn work(&self, due: &Due) {
        if due.grow {
            self.inner.grow_if_low();
        }
        if due.sync_at.is_some() {
            self.inner.sync_appended();
        }
        if due.marker_at.is_some() && self.inner.lacks_durable_marker() {
            if self.inner.frames_written() == due.state_frames {
                self.inner.write_durable_marker();
            } else {
                let mut later = self.lock();
                later.marker_at.get_or_insert(Instant::now() + STATE_DELAY);
                later.state_frames = self.inner.frames_written();
            }
        }
    }
}

/// Moves what is due at `now` out of the list.
fn take_due(due: &mut Due, now: Instant) -> Due {
    let take = |at: &mut Option<Instant>| at.take_if(|at| *at <= now);
    Due {
        sync_at: take(&mut due.sync_at),
        marker_at: take(&mut due.marker_at),
        state_frames: due.state_frames,
        grow: std::mem::take(&mut due.grow),
        stop: false,
    }
}
