//! Which transactions run, and which of them used a page last: what a policy with `running=N` asks.
//!
//! # How it works
//! A transaction that runs has a place in a table of the process; its number names the place and a
//! serial. A thread says which transaction it works for ([`RunningTransaction::works`]). A cache
//! whose policy scores running transactions notes that number for every page that the thread uses,
//! by frame. Such a transaction runs if its number still stands in the table.
//!
//! # Invariants
//! * PC-34: a number that ended is never taken for one that runs, until 2^24 others have begun.
//!
//! # Concurrency
//! One store a hit, one compare-and-swap a transaction; answers are hints, as usage counts are.
//! A thread whose last transaction has ended notes a number that does not run.
//!
//! # Costs
//! 4 bytes a frame while such a policy is set; nothing otherwise: transactions get no number, and
//! hits do not come here.
//!
//! # Deviations
//! Beyond 256 at a time, transactions have no number. Helper threads of a parallel statement note
//! none either.

use crate::slots::Growing;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Transactions that have a number at a time.
const PLACES: usize = 256;
const PLACE_BITS: u32 = PLACES.trailing_zeros();

static RUNNING: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];
static SERIAL: AtomicU32 = AtomicU32::new(1);
/// Caches whose policy scores running transactions.
static SCORING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// A transaction that runs, until it is dropped.
#[derive(Debug)]
pub struct RunningTransaction(u32);

impl RunningTransaction {
    /// A transaction begins; none where no cache of this process scores them, or too many run.
    #[must_use]
    pub fn begin() -> Option<RunningTransaction> {
        if SCORING.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        for step in 0..PLACES as u32 {
            let place = serial.wrapping_add(step) % PLACES as u32;
            // Never 0, which stands for an empty place.
            let number = (serial << PLACE_BITS).max(1 << PLACE_BITS) | place;
            let free = RUNNING[place as usize].compare_exchange(
                0,
                number,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if free.is_ok() {
                return Some(RunningTransaction(number));
            }
        }
        None
    }

    /// From now on the calling thread works for this transaction, until another says the same.
    pub fn works(&self) {
        CURRENT.set(self.0);
    }
}

impl Drop for RunningTransaction {
    fn drop(&mut self) {
        RUNNING[self.0 as usize % PLACES].store(0, Ordering::Relaxed);
    }
}

/// The transaction that used each page last, by first unit of the frame.
pub(crate) struct Owners {
    by_frame: Growing<AtomicU32>,
    scores: AtomicBool,
}

impl Owners {
    pub(crate) fn new() -> Owners {
        Owners {
            by_frame: Growing::new(),
            scores: AtomicBool::new(false),
        }
    }

    /// Whether the policy asks.
    pub(crate) fn set_scoring(&self, scores: bool) {
        if self.scores.swap(scores, Ordering::SeqCst) != scores {
            match scores {
                true => SCORING.fetch_add(1, Ordering::SeqCst),
                false => SCORING.fetch_sub(1, Ordering::SeqCst),
            };
        }
    }

    /// The page in `frame` is used by the transaction of the calling thread.
    pub(crate) fn own(&self, frame: u32) {
        let current = CURRENT.get();
        let owner = self.by_frame.get(frame as usize);
        if owner.load(Ordering::Relaxed) != current {
            owner.store(current, Ordering::Relaxed);
        }
    }

    /// A page comes into `frame`, used by the calling thread or, read ahead or by a scan, by no
    /// transaction.
    pub(crate) fn enter(&self, frame: u32, is_used: bool) {
        if self.scores.load(Ordering::Relaxed) {
            let current = if is_used { CURRENT.get() } else { 0 };
            let owner = self.by_frame.get(frame as usize);
            owner.store(current, Ordering::Relaxed);
        }
    }

    /// Whether the transaction that used the page in `frame` last still runs.
    pub(crate) fn is_running(&self, frame: u32) -> bool {
        let owner = self.by_frame.get(frame as usize).load(Ordering::Relaxed);
        owner != 0 && RUNNING[owner as usize % PLACES].load(Ordering::Relaxed) == owner
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        self.set_scoring(false);
    }
}
