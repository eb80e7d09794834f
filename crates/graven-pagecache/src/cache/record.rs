//! Recording: which pages are asked for, in order, while a cache is in use.
//!
//! # How it works
//! One bit of the word that every hit reads anyway (`hits.rs`) says whether the cache is recorded.
//! So a cache that is not recorded pays nothing. A recorded hit goes through the slow half of the
//! hit path into a list of its thread. The list is appended to the common log every 64 accesses.
//! Faults and pages read ahead are recorded where they are counted. With a sample of one page in
//! `n`, the page's hash decides before anything else is done.
//!
//! # Concurrency
//! Accesses of a thread are in order; those of different threads interleave in stretches of 64.

use crate::PageKind;
use crate::cache::PageCache;
use crate::slots::PageKey;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Accesses that a thread keeps before it appends them.
const STRETCH: usize = 64;

/// One recorded access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedAccess {
    /// File in the cache.
    pub file: u16,
    /// First 4 KiB unit of the page.
    pub unit: u64,
    /// What the page holds, as far as known.
    pub kind: Option<PageKind>,
    /// The thread, numbered as they appear.
    pub thread: u16,
    /// What [`set_query`] said on the thread.
    pub query: u32,
    /// Whether the page had to be read.
    pub faulted: bool,
}

/// A recording under way; ends when it is dropped.
pub struct Recording {
    cache: Arc<PageCache>,
    log: Arc<TraceRecorder>,
}

/// The common log of a recording.
pub(crate) struct TraceRecorder {
    number: u64,
    one_in: u64,
    limit: usize,
    accesses: Mutex<Vec<RecordedAccess>>,
    threads: Mutex<Vec<Arc<Mutex<Vec<RecordedAccess>>>>>,
}

/// The list of a thread and the recording it belongs to.
struct Part {
    number: u64,
    thread: u16,
    list: Arc<Mutex<Vec<RecordedAccess>>>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static PART: RefCell<Option<Part>> = const { RefCell::new(None) };
    static QUERY: Cell<u32> = const { Cell::new(0) };
}

/// From now on, accesses of the calling thread are recorded as those of `query`.
pub fn set_query(query: u32) {
    QUERY.set(query);
}

impl Recording {
    /// Starts to record one page in `one_in` (1 for all), up to `limit` accesses; replaces a
    /// recording under way.
    #[must_use]
    pub fn start(cache: &Arc<PageCache>, one_in: u32, limit: usize) -> Recording {
        let log = Arc::new(TraceRecorder {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            one_in: u64::from(one_in.max(1)),
            limit,
            accesses: Mutex::default(),
            threads: Mutex::default(),
        });
        cache.set_log(Some(Arc::clone(&log)));
        Recording {
            cache: Arc::clone(cache),
            log,
        }
    }

    /// Ends the recording and gives what was recorded. Other threads' accesses of this moment may
    /// be missing.
    #[must_use]
    pub fn finish(self) -> Vec<RecordedAccess> {
        self.cache.set_log(None);
        let mut accesses = std::mem::take(&mut *self.log.accesses.lock());
        for list in self.log.threads.lock().iter() {
            accesses.append(&mut list.lock());
        }
        accesses
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.cache.set_log(None);
    }
}

impl TraceRecorder {
    /// Whether a page belongs to the sample.
    fn samples(&self, page: PageKey) -> bool {
        self.one_in == 1
            || (page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).is_multiple_of(self.one_in)
    }

    fn push(&self, page: PageKey, kind: Option<PageKind>, faulted: bool) {
        PART.with_borrow_mut(|part| {
            let part = match part {
                Some(part) if part.number == self.number => part,
                _ => part.insert(self.join()),
            };
            let mut list = part.list.lock();
            list.push(RecordedAccess {
                file: page.file(),
                unit: page.unit(),
                kind,
                thread: part.thread,
                query: QUERY.get(),
                faulted,
            });
            if list.len() >= STRETCH {
                let mut all = self.accesses.lock();
                if all.len() < self.limit {
                    all.append(&mut list);
                } else {
                    list.clear();
                }
            }
        });
    }

    fn join(&self) -> Part {
        let list = Arc::new(Mutex::new(Vec::with_capacity(STRETCH)));
        let mut threads = self.threads.lock();
        threads.push(Arc::clone(&list));
        Part {
            number: self.number,
            thread: (threads.len() - 1) as u16,
            list,
        }
    }
}

impl PageCache {
    /// Records an access if the cache is recorded and samples the page; only then `kind` is called.
    pub(crate) fn record(
        &self,
        page: PageKey,
        kind: impl FnOnce() -> Option<PageKind>,
        faulted: bool,
    ) {
        let log = self.log().read();
        if let Some(log) = log.as_ref().filter(|log| log.samples(page)) {
            log.push(page, kind(), faulted);
        }
    }

    fn set_log(&self, log: Option<Arc<TraceRecorder>>) {
        let is_recorded = log.is_some();
        *self.log().write() = log;
        self.set_recorded(is_recorded);
    }
}
