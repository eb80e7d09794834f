//! Waiting: for a page that another thread brings in, and for a frame when all are in use.
//!
//! # How it works
//! A thread that needs a page of another thread spins 40 times and yields 4 times, then parks at
//! the address of its entry word. The thread that changes the word wakes all threads parked there.
//! A thread that finds no frame is *starving*. It takes its turn in a fair queue, so that frames go
//! to the threads that waited longest, and drives reads under way. It sleeps until an event that
//! may free a frame: a last unpin, an arrival, a failure.
//!
//! # Concurrency
//! Both sides use sequentially consistent accesses: the sleeper makes itself known and then looks
//! at the words again; the waker changes a word and then looks for sleepers. One of them sees the
//! other. The state of starvation is global to the process, because a pin may outlive its cache.

#![expect(unsafe_code, reason = "parking by address is an unsafe interface")]

use crate::cache::PageCache;
use crate::table::Entry;
use crate::word::{self, Word};
use parking_lot::{Condvar, Mutex};
use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, park, unpark_all};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Looks at a word this often before yielding, and yields this often before parking.
const SPINS: u32 = 40;
const YIELDS: u32 = 4;
/// Longest sleep between two looks: reservations that shrink elsewhere wake no thread.
const NAP: Duration = Duration::from_millis(50);

/// Tells starving threads that a frame may have become available.
pub(crate) struct Progress {
    starving: AtomicUsize,
    epoch: Mutex<u64>,
    changed: Condvar,
}

/// See [`Progress`].
pub(crate) static PROGRESS: Progress = Progress {
    starving: AtomicUsize::new(0),
    epoch: Mutex::new(0),
    changed: Condvar::new(),
};

/// Counts a starving thread while it lives.
pub(crate) struct FrameWaiter;

impl Progress {
    /// Something happened that may free a frame.
    #[inline(always)]
    pub(crate) fn made(&self) {
        if self.starving.load(Ordering::SeqCst) > 0 {
            self.announce();
        }
    }

    #[cold]
    fn announce(&self) {
        *self.epoch.lock() += 1;
        self.changed.notify_all();
    }

    pub(crate) fn starve(&self) -> FrameWaiter {
        self.starving.fetch_add(1, Ordering::SeqCst);
        FrameWaiter
    }

    pub(crate) fn epoch(&self) -> u64 {
        *self.epoch.lock()
    }

    /// Sleeps until something happened since `epoch`, at most until `deadline`.
    pub(crate) fn wait(&self, epoch: u64, deadline: Instant) {
        let mut now = self.epoch.lock();
        if *now == epoch {
            let until = deadline.min(Instant::now() + NAP);
            self.changed.wait_until(&mut now, until);
        }
    }
}

impl Drop for FrameWaiter {
    fn drop(&mut self) {
        PROGRESS.starving.fetch_sub(1, Ordering::SeqCst);
    }
}

impl PageCache {
    /// Waits until the word of `entry` is no longer as in `seen`, apart from usage bits.
    pub(crate) fn wait_for_change(&self, entry: Entry, seen: u64, round: &mut u32) {
        *round += 1;
        if *round <= SPINS {
            std::hint::spin_loop();
            return;
        }
        if *round <= SPINS + YIELDS {
            std::thread::yield_now();
            return;
        }
        self.parked().fetch_add(1, Ordering::SeqCst);
        let unchanged = || {
            let now = Word::load(entry.word(), Ordering::SeqCst);
            word::state_of(now) == word::state_of(seen)
                && word::version_of(now) == word::version_of(seen)
        };
        // SAFETY: the closures neither park nor panic; the key is the address of a word of this
        // cache.
        unsafe {
            park(
                key(entry),
                unchanged,
                || {},
                |_, _| {},
                DEFAULT_PARK_TOKEN,
                Some(Instant::now() + NAP),
            )
        };
        self.parked().fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the threads that wait for the word of `entry`, and starving threads.
    pub(crate) fn wake_waiters(&self, entry: Entry) {
        if self.parked().load(Ordering::SeqCst) > 0 {
            // SAFETY: the closure inside `unpark_all` is none of ours; the key is as in
            // `wait_for_change`.
            unsafe { unpark_all(key(entry), DEFAULT_UNPARK_TOKEN) };
        }
        PROGRESS.made();
    }
}

fn key(entry: Entry) -> usize {
    std::ptr::from_ref(entry.word()).addr()
}
