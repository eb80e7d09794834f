//! Counters: what a cache did, per page kind; what one thread did, for a query's profile.
//!
//! # How it works
//! Every thread counts into a block of its own for each cache it uses, with a plain load and store;
//! reports add the blocks up. A [`Scope`] is the difference of the calling thread's own blocks
//! between two moments, so it costs nothing in between.
//!
//! # Concurrency
//! A block is written by its thread alone and read by any thread; sums are exact once the writers
//! are quiet. A thread that ends leaves its block; the next report folds it into the cache's
//! retired sum.
//!
//! # Costs
//! One thread-local look-up, one load, one store a hit; no clock. About 700 bytes a thread and
//! cache.

use crate::page_kind::PageKind;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::ops::{AddAssign, Index};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happened to pages of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindStats {
    /// Accesses that found their page in memory.
    pub hits: u64,
    /// Pages brought in.
    pub faults: u64,
    /// Accesses that waited for their page: faults that block, and pages that others were reading;
    /// not what was read ahead in time.
    pub blocked: u64,
    /// Pages evicted by the background thread.
    pub evictions_background: u64,
    /// Pages evicted by threads that needed room.
    pub evictions_cooperative: u64,
    /// Nanoseconds that threads waited for pages.
    pub wait_ns: u64,
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Bytes of dirty pages written to files.
    pub bytes_written: u64,
}

impl KindStats {
    /// Accesses: hits and faults.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.hits + self.faults
    }

    /// Fraction of accesses that were hits; 1 without accesses.
    #[must_use]
    pub fn hit_ratio(&self) -> f64 {
        if self.accesses() == 0 {
            1.0
        } else {
            self.hits as f64 / self.accesses() as f64
        }
    }

    /// Fraction of accesses that no thread had to wait for; 1 without accesses.
    #[must_use]
    pub fn transactional_hit_ratio(&self) -> f64 {
        if self.accesses() == 0 {
            1.0
        } else {
            1.0 - self.blocked.min(self.accesses()) as f64 / self.accesses() as f64
        }
    }

    /// Evictions by the background evictor and by faults.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions_background + self.evictions_cooperative
    }

    fn since(&self, before: &KindStats) -> KindStats {
        KindStats {
            hits: self.hits.wrapping_sub(before.hits),
            faults: self.faults.wrapping_sub(before.faults),
            blocked: self.blocked.wrapping_sub(before.blocked),
            evictions_background: self
                .evictions_background
                .wrapping_sub(before.evictions_background),
            evictions_cooperative: self
                .evictions_cooperative
                .wrapping_sub(before.evictions_cooperative),
            wait_ns: self.wait_ns.wrapping_sub(before.wait_ns),
            bytes_read: self.bytes_read.wrapping_sub(before.bytes_read),
            bytes_written: self.bytes_written.wrapping_sub(before.bytes_written),
        }
    }
}

impl AddAssign for KindStats {
    fn add_assign(&mut self, other: KindStats) {
        self.hits += other.hits;
        self.faults += other.faults;
        self.blocked += other.blocked;
        self.evictions_background += other.evictions_background;
        self.evictions_cooperative += other.evictions_cooperative;
        self.wait_ns += other.wait_ns;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}

/// [`KindStats`] of every page kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PerKind([KindStats; PageKind::SLOTS]);

impl Default for PerKind {
    fn default() -> PerKind {
        PerKind([KindStats::default(); PageKind::SLOTS])
    }
}

impl PerKind {
    /// Kinds with at least one event, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (PageKind, &KindStats)> {
        PageKind::ALL
            .iter()
            .map(|kind| (*kind, &self.0[kind.index()]))
            .filter(|(_, stats)| **stats != KindStats::default())
    }

    /// Adds events of one kind.
    pub fn add(&mut self, kind: PageKind, stats: KindStats) {
        self.0[kind.index()] += stats;
    }

    /// Sum over all kinds.
    #[must_use]
    pub fn total(&self) -> KindStats {
        let mut total = KindStats::default();
        self.0.iter().for_each(|stats| total += *stats);
        total
    }

    /// What happened between `before` and this.
    #[must_use]
    pub fn since(&self, before: &PerKind) -> PerKind {
        let mut difference = *self;
        for (stats, before) in difference.0.iter_mut().zip(&before.0) {
            *stats = stats.since(before);
        }
        difference
    }
}

impl Index<PageKind> for PerKind {
    type Output = KindStats;

    fn index(&self, kind: PageKind) -> &KindStats {
        &self.0[kind.index()]
    }
}

impl AddAssign<&PerKind> for PerKind {
    fn add_assign(&mut self, other: &PerKind) {
        for (stats, other) in self.0.iter_mut().zip(&other.0) {
            *stats += *other;
        }
    }
}

/// What a page cache is made of and did since it was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Events by page kind.
    pub per_kind: PerKind,
    /// Pages in memory.
    pub resident_pages: u64,
    /// Bytes of those pages.
    pub resident_bytes: u64,
    /// Pages that are pinned.
    pub pinned_pages: u64,
    /// Bytes of those pages.
    pub pinned_bytes: u64,
    /// Bytes of pages whose files do not hold them yet.
    pub dirty_bytes: u64,
    /// Bytes of memory taken for frames.
    pub frame_bytes: u64,
    /// Bytes of those that hold no page.
    pub free_bytes: u64,
    /// Bytes of page tables.
    pub table_bytes: u64,
    /// Bytes of frame and policy bookkeeping.
    pub bookkeeping_bytes: u64,
    /// Reads handed to files; neighbouring pages travel in one.
    pub reads: u64,
    /// Bytes of those reads.
    pub read_bytes: u64,
    /// Frames moved to make room for larger ones.
    pub relocations: u64,
    /// Hits handed to an ordered policy, and those dropped because its lock was taken.
    pub policy_hits_applied: u64,
    /// See [`CacheStats::policy_hits_applied`].
    pub policy_hits_dropped: u64,
    /// Hits that had to wait for the policy's lock (protocol `locked`).
    pub policy_lock_waits: u64,
    /// The policy in use, with its parameters.
    pub policy: String,
}

/// The events of a thread's counter block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum Event {
    /// Kept apart from the others, see [`Counters::changes`].
    Hit,
    Fault,
    Blocked,
    EvictionBackground,
    EvictionCooperative,
    WaitNs,
    BytesRead,
    BytesWritten,
}

const EVENTS: usize = 8;

/// Counters of one thread for one cache.
pub(crate) struct Counters {
    cache: u64,
    hits: [AtomicU64; PageKind::SLOTS],
    /// Events counted besides hits, whatever they were.
    others: AtomicU64,
    events: [[AtomicU64; EVENTS]; PageKind::SLOTS],
}

impl Counters {
    fn new(cache: u64) -> Counters {
        Counters {
            cache,
            hits: [const { AtomicU64::new(0) }; PageKind::SLOTS],
            others: AtomicU64::new(0),
            events: [const { [const { AtomicU64::new(0) }; EVENTS] }; PageKind::SLOTS],
        }
    }

    /// Adds to a counter; only the owning thread calls this, so load and store suffice.
    #[inline]
    pub(crate) fn add(&self, kind: PageKind, event: Event, amount: u64) {
        let add = |counter: &AtomicU64, amount: u64| {
            let sum = counter.load(Ordering::Relaxed).wrapping_add(amount);
            counter.store(sum, Ordering::Relaxed);
        };
        if event == Event::Hit {
            return add(&self.hits[kind.index()], amount);
        }
        add(&self.events[kind.index()][event as usize], amount);
        add(&self.others, 1);
    }

    /// As long as this stays, all counters do. A hit counts itself; a second counter for it would
    /// cost each hit a store.
    fn changes(&self) -> u64 {
        let hits = self.hits.iter().map(|hits| hits.load(Ordering::Relaxed));
        hits.fold(self.others.load(Ordering::Relaxed), u64::wrapping_add)
    }

    #[inline]
    fn read(&self) -> PerKind {
        PerKind(std::array::from_fn(|kind| {
            let get = |event: Event| self.events[kind][event as usize].load(Ordering::Relaxed);
            KindStats {
                hits: self.hits[kind].load(Ordering::Relaxed),
                faults: get(Event::Fault),
                blocked: get(Event::Blocked),
                evictions_background: get(Event::EvictionBackground),
                evictions_cooperative: get(Event::EvictionCooperative),
                wait_ns: get(Event::WaitNs),
                bytes_read: get(Event::BytesRead),
                bytes_written: get(Event::BytesWritten),
            }
        }))
    }
}

thread_local! {
    /// The block used last: (cache, block). The block is kept alive by `BLOCKS`.
    static CURRENT: Cell<(u64, *const Counters)> = const { Cell::new((0, std::ptr::null())) };
    static BLOCKS: RefCell<Blocks> = const { RefCell::new(Blocks { thread: 0, blocks: Vec::new(), gone: None }) };
}

/// The counters of one thread.
struct Blocks {
    /// Number of the thread, given to no other one; 0 until it is first needed.
    thread: u64,
    blocks: Vec<Arc<Counters>>,
    /// Changes and sums of caches that are gone: scopes that began before must not see less than
    /// then.
    gone: Option<Box<(u64, PerKind)>>,
}

impl Blocks {
    /// Blocks of caches that are gone are ours alone: keeps their sums.
    fn forget_gone(&mut self) {
        let gone = &mut self.gone;
        self.blocks.retain(|block| {
            let used = Arc::strong_count(block) > 1;
            if !used {
                let (changes, sums) = &mut **gone.get_or_insert_default();
                *changes = changes.wrapping_add(block.changes());
                *sums += &block.read();
            }
            used
        });
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // Later calls on this thread must not use the blocks that go away now.
        let _ = CURRENT.try_with(|current| current.set((0, std::ptr::null())));
    }
}

/// All counter blocks of one cache.
pub(crate) struct Registry {
    cache: u64,
    blocks: Mutex<Vec<Arc<Counters>>>,
    retired: Mutex<PerKind>,
    /// For threads whose thread-local storage is being torn down.
    orphan: Counters,
}

impl Registry {
    pub(crate) fn new() -> Registry {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let cache = NEXT.fetch_add(1, Ordering::Relaxed);
        Registry {
            cache,
            blocks: Mutex::new(Vec::new()),
            retired: Mutex::new(PerKind::default()),
            orphan: Counters::new(cache),
        }
    }

    /// Number of this cache, unlike any other of the process.
    pub(crate) fn cache(&self) -> u64 {
        self.cache
    }

    /// Counts for the calling thread.
    #[inline]
    pub(crate) fn count(&self, kind: PageKind, event: Event, amount: u64) {
        let (cache, block) = CURRENT.with(Cell::get);
        if cache == self.cache {
            // SAFETY: the block of a current cache is kept alive by this thread's `BLOCKS`, whose
            // destructor resets `CURRENT` first.
            unsafe { &*block }.add(kind, event, amount);
        } else {
            self.count_slowly(kind, event, amount);
        }
    }

    #[cold]
    fn count_slowly(&self, kind: PageKind, event: Event, amount: u64) {
        let counted = BLOCKS.try_with(|blocks| {
            let mut blocks = blocks.borrow_mut();
            let mut all = blocks.blocks.iter();
            let known = all.find(|block| block.cache == self.cache).cloned();
            let block = known.unwrap_or_else(|| {
                blocks.forget_gone();
                let block = Arc::new(Counters::new(self.cache));
                blocks.blocks.push(Arc::clone(&block));
                self.blocks.lock().push(Arc::clone(&block));
                block
            });
            CURRENT.with(|current| current.set((self.cache, Arc::as_ptr(&block))));
            block.add(kind, event, amount);
        });
        if counted.is_err() {
            self.orphan.add(kind, event, amount);
        }
    }

    /// Sum over all threads.
    pub(crate) fn sum(&self) -> PerKind {
        let mut blocks = self.blocks.lock();
        let mut retired = self.retired.lock();
        blocks.retain(|block| {
            let ended = Arc::strong_count(block) == 1;
            if ended {
                *retired += &block.read();
            }
            !ended
        });
        let mut sum = *retired;
        blocks.iter().for_each(|block| sum += &block.read());
        sum += &self.orphan.read();
        sum
    }
}

/// What the calling thread does from now on, over all caches.
///
/// A scope may be paused and started again, also on another thread; that costs little where nothing
/// has been counted meanwhile.
#[derive(Clone, Debug)]
pub struct Scope {
    before: PerKind,
    at: Moment,
}

/// Events that a thread has counted, and the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Moment {
    thread: u64,
    changes: u64,
}

impl Scope {
    /// Starts counting.
    #[must_use]
    pub fn start() -> Scope {
        Scope {
            before: this_thread(),
            at: moment(),
        }
    }

    /// Starts again: what this thread did since the last [`Scope::add_to`] does not count.
    pub fn start_again(&mut self) {
        let now = moment();
        if now != self.at {
            self.before = this_thread();
            self.at = now;
        }
    }

    /// Adds what this thread did since the scope was started to `total`; to be called on the same
    /// thread. It has to be started again to go on.
    pub fn add_to(&mut self, total: &mut PerKind) {
        let at = moment();
        if at == self.at {
            return;
        }
        let now = this_thread();
        for (kind, (now, before)) in now.0.iter().zip(&self.before.0).enumerate() {
            if now != before {
                total.0[kind] += now.since(before);
            }
        }
        self.before = now;
        self.at = at;
    }

    /// What this thread did since [`Scope::start`]; to be called on the same thread.
    #[must_use]
    pub fn finish(self) -> PerKind {
        let mut seen = PerKind::default();
        self.finish_into(&mut seen);
        seen
    }

    /// Adds what this thread did since [`Scope::start`] to `total`; to be called on the same
    /// thread. Kinds without events cost a comparison.
    pub fn finish_into(mut self, total: &mut PerKind) {
        self.add_to(total);
    }
}

/// Where the counters of this thread are.
fn moment() -> Moment {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    BLOCKS.with(|blocks| {
        let mut blocks = blocks.borrow_mut();
        if blocks.thread == 0 {
            blocks.thread = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        let gone = blocks.gone.as_ref().map_or(0, |gone| gone.0);
        let changes = blocks
            .blocks
            .iter()
            .fold(gone, |sum, block| sum.wrapping_add(block.changes()));
        Moment {
            thread: blocks.thread,
            changes,
        }
    })
}

fn this_thread() -> PerKind {
    BLOCKS.with(|blocks| {
        let blocks = blocks.borrow();
        let gone = blocks.gone.as_ref().map(|gone| gone.1);
        // Most threads use one cache.
        let Some((first, rest)) = blocks.blocks.split_first() else {
            return gone.unwrap_or_default();
        };
        let mut sum = first.read();
        rest.iter().for_each(|block| sum += &block.read());
        if let Some(gone) = gone {
            sum += &gone;
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: sums over threads are exact, also of threads that ended, and scopes see their own
    /// thread only.
    #[test]
    fn counts_of_all_threads_add_up() {
        let registry = Registry::new();
        let other = Registry::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let scope = Scope::start();
                    for _ in 0..1000 {
                        registry.count(PageKind::Adjacency, Event::Hit, 1);
                        other.count(PageKind::Adjacency, Event::Fault, 1);
                    }
                    let seen = scope.finish();
                    assert_eq!(seen[PageKind::Adjacency].hits, 1000);
                    assert_eq!(seen[PageKind::Adjacency].faults, 1000);
                });
            }
        });
        assert_eq!(registry.sum()[PageKind::Adjacency].hits, 4000);
        assert_eq!(registry.sum().total().faults, 0);
        assert_eq!(other.sum()[PageKind::Adjacency].faults, 4000);
        assert_eq!(registry.sum().iter().count(), 1);
    }

    /// Goal: a scope that goes on in another thread counts what it does there, also where that
    /// thread lies where the first one lay and has counted as much.
    #[test]
    fn scopes_go_on_in_other_threads() {
        let registry = Registry::new();
        let hit = |kind| registry.count(kind, Event::Hit, 1);
        for _ in 0..8 {
            let mut scope = std::thread::scope(|threads| {
                let first = threads.spawn(|| {
                    hit(PageKind::Adjacency);
                    Scope::start()
                });
                first.join().unwrap()
            });
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    hit(PageKind::NodeColumn);
                    scope.start_again();
                    hit(PageKind::NodeColumn);
                    let mut seen = PerKind::default();
                    scope.add_to(&mut seen);
                    assert_eq!(seen.total().hits, 1, "{seen:?}");
                    assert_eq!(seen[PageKind::NodeColumn].hits, 1);
                });
            });
        }
    }

    /// Goal: what was counted for a cache that is gone does not go away while a scope runs.
    #[test]
    fn scopes_outlive_caches() {
        let registry = Registry::new();
        registry.count(PageKind::Adjacency, Event::Hit, 5);
        let scope = Scope::start();
        drop(registry);
        Registry::new().count(PageKind::Adjacency, Event::Hit, 2);
        assert_eq!(scope.finish()[PageKind::Adjacency].hits, 2);
    }
}
