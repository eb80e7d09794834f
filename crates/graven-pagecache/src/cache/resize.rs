//! Changing a running cache: its limit, its policy, its files; and what it holds.
//!
//! # How it works
//! Lowering the limit evicts and gives extents back until reservations fit, under load, and puts
//! the old limit back if that does not succeed in time. Raising it maps more address space behind
//! the arena. A new policy is told of every resident page under the frame pool lock, then takes the
//! old one's place. Operators that reserve from a full budget get memory by the same path
//! ([`Reclaim`]), down to a floor.
//!
//! # Invariants
//! * PC-21: a failed resize leaves the limit as it was.
//! * PC-22: the cache never gives up its last frames to other reservations, also not to those that
//!   pass the limit: an eighth of the limit, at least 128 KiB, stays. A fault in a cache without
//!   frames would wait for one that no thread holds. Lowering the limit alone takes them.
//! * PC-28: what a word said before the frame pool lock was taken is a hint: frames change hands
//!   under that lock alone. So a thread that gives up a page compares, under the lock, the name of
//!   the page in the slot.

use crate::budget::Reclaim;
use crate::cache::PageCache;
use crate::cache::build::build_policy;
use crate::cache::frame_pool::{By, FramePool, Incoming};
use crate::cache::wait::PROGRESS;
use crate::config::BUDGET_BYTES_MIN;
use crate::error::{Error, Result};
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef, SizeClass};
use crate::pools::PoolUse;
use crate::slots::{FLAG_DIRTY, FLAG_ORDERED, PageKey};
use crate::stats::CacheStats;
use crate::word::{self, state};
use graven_io::Wait;
use graven_policy::{Admission, FrameIdx, Hint, PageId};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Overdraft of small pools in bytes, and the share that larger ones get.
const OVERDRAFT_BYTES: u64 = 1 << 20;
const OVERDRAFT_SHARE: u64 = 64;

/// What of the limit stays with the cache, and at least how much.
const KEPT_SHARE: u64 = 8;
const KEPT_BYTES_MIN: u64 = 128 << 10;

/// What of the limit may stay warm, and at most how much.
const WARM_SHARE: u64 = 8;
const WARM_BYTES_MAX: u64 = 512 << 10;

/// Bytes by which frames may pass the limit when every frame is pinned by threads that want one
/// more.
pub(crate) fn overdraft_bytes(limit: u64) -> u64 {
    (limit / OVERDRAFT_SHARE).max(OVERDRAFT_BYTES)
}

/// Bytes of frames given back to the budget that may stay with the cache.
pub(crate) fn warm_max(limit: u64) -> u64 {
    (limit / WARM_SHARE).min(WARM_BYTES_MAX)
}

/// Bytes charged at once for what grows with the arena but is not counted piece by piece.
pub(crate) fn fixed_bytes(arena_bytes: u64) -> u64 {
    // Four bytes for every unit lead from frames to slots; the cache itself is a few tens of KiB.
    (16 << 10) + arena_bytes / crate::UNIT_BYTES as u64 * 4
}

/// What becomes of dirty pages when pages are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dirty {
    Keep,
    Discard,
}

/// What is pinned.
#[derive(Default)]
pub(crate) struct Pinned {
    pub(crate) pages: u64,
    pub(crate) bytes: u64,
    pub(crate) per_kind: Vec<(PageKind, u64)>,
}

impl PageCache {
    /// Sets the memory limit of the cache's budget; shrinking gives memory back to the system
    /// before it returns.
    ///
    /// # Errors
    /// [`Error::TooSmall`] below 1 MiB; [`Error::CannotShrink`] naming the holders when pins or
    /// operators keep too much; [`Error::Map`]. The limit is unchanged then.
    pub fn resize(&self, bytes: u64) -> Result<()> {
        if bytes < BUDGET_BYTES_MIN {
            return Err(Error::TooSmall {
                bytes,
                minimum: BUDGET_BYTES_MIN,
            });
        }
        let from = self.budget().limit();
        if bytes > from && !self.is_synchronous() {
            let mut frame_pool = self.frame_pool().lock();
            let before = frame_pool.arena.capacity_bytes();
            frame_pool.arena.grow(bytes + overdraft_bytes(bytes))?;
            // The arena keeps its addresses when the limit falls, so growing back costs nothing.
            let more = fixed_bytes(frame_pool.arena.capacity_bytes()) - fixed_bytes(before);
            frame_pool.bookkeeping.force_grow(more);
        }
        self.set_limit(bytes);
        if let Err(error) = self.shrink_to_limit(from, bytes) {
            self.set_limit(from);
            return Err(error);
        }
        let mut frame_pool = self.frame_pool().lock();
        frame_pool.arena.set_warm_max(warm_max(bytes));
        frame_pool.told = self.capacity();
        frame_pool.policy.resize(self.capacity());
        PROGRESS.made();
        Ok(())
    }

    /// The budget's limit, and that of pools.
    fn set_limit(&self, bytes: u64) {
        self.budget().set_limit(bytes);
        let mut frame_pool = self.frame_pool().lock();
        if let Some(pools) = &mut frame_pool.frames.pools {
            pools.set_limit(bytes);
            frame_pool.set_aside();
        }
    }

    fn shrink_to_limit(&self, from: u64, to: u64) -> Result<()> {
        let deadline = Instant::now() + self.frame_wait();
        let _starving = PROGRESS.starve();
        loop {
            let epoch = PROGRESS.epoch();
            let mut frame_pool = self.frame_pool().lock();
            if self.budget().used() > to {
                let empty = self.tables().empty_pieces();
                frame_pool.empty_pieces.extend(empty);
            }
            self.settle(&mut frame_pool, 0, By::Fault);
            drop(frame_pool);
            let used = self.budget().used();
            if used <= to {
                return Ok(());
            }
            if self.drive_all(Wait::AtLeast(1)) || self.write_due() {
                continue;
            }
            if Instant::now() >= deadline {
                return Err(Error::CannotShrink {
                    from,
                    to,
                    used,
                    holders: self.holders(),
                });
            }
            PROGRESS.wait(epoch, deadline);
        }
    }

    /// Changes the replacement policy while running; no page is lost.
    ///
    /// # Errors
    /// [`Error::Policy`]; the old policy stays then.
    pub fn set_policy(&self, spec: &str) -> Result<()> {
        let (mut policy, mode) =
            build_policy(spec, self.capacity(), self.seed(), self.is_synchronous())?;
        let mut frame_pool = self.frame_pool().lock();
        for slot in 0..frame_pool.slots().count() {
            let bound = frame_pool.slots().get(slot);
            if let Some(page) = bound.page()
                && bound.has(FLAG_ORDERED)
            {
                let admission = policy.on_miss(PageId(page.0));
                policy.on_load(
                    &frame_pool.frames,
                    FrameIdx(slot),
                    PageId(page.0),
                    Hint::Normal,
                    admission,
                );
            }
        }
        frame_pool.policy = policy;
        self.owners().set_scoring(mode.is_owned());
        frame_pool.told = self.capacity();
        self.set_hit_mode(mode);
        spec.clone_into(&mut self.spec().lock());
        Ok(())
    }

    /// Drops every page that is neither in use nor dirty; returns how many those were. Memory stays
    /// with the cache.
    pub fn drop_all(&self) -> u64 {
        // Reads under way first; others may go on submitting, so not for ever.
        for _ in 0..256 {
            if !self.drive_all(Wait::AtLeast(1)) {
                break;
            }
        }
        let mut frame_pool = self.frame_pool().lock();
        let slots = 0..frame_pool.slots().count();
        slots
            .filter(|slot| self.remove_unused(&mut frame_pool, *slot, Dirty::Keep))
            .count() as u64
    }

    /// Drops a page that has been freed in its file, dirty or not, together with what the policy
    /// remembers of it.
    ///
    /// # Errors
    /// [`Error::InUse`] while it is pinned; [`Error::UnknownFile`].
    pub fn drop_page(&self, file: FileId, page: PageRef) -> Result<()> {
        let state = self.file(file)?;
        let entry = self.tables().entry(file.0, page.unit())?;
        let key = PageKey::new(file.0, page.unit());
        let mut round = 0;
        loop {
            let seen = entry.word().load(Ordering::Acquire);
            match word::state_of(seen) {
                state::ABSENT => break,
                state::RESIDENT | state::ARRIVED => {
                    self.remove_named(key, seen);
                }
                _ if word::pins_of(seen) > 0 => {
                    return Err(Error::InUse {
                        what: page.to_string(),
                        pinned_pages: 1,
                    });
                }
                _ => self.await_change(&state, entry, seen, &mut round)?,
            }
        }
        self.forget_page(key);
        Ok(())
    }

    /// The policy forgets what it remembers of a page that left.
    pub(crate) fn forget_page(&self, page: PageKey) {
        self.frame_pool().lock().policy.forget(PageId(page.0));
    }

    /// Forgets `file` and drops its pages, dirty ones too ([`PageCache::flush`] comes first). No
    /// thread may use `id` during or after this call.
    ///
    /// # Errors
    /// [`Error::InUse`] while a page of it is pinned; [`Error::UnknownFile`].
    pub fn remove_file(&self, id: FileId) -> Result<()> {
        let file = self.file(id)?;
        for index in 0..file.io_queues.len() {
            while file.io_queues[index].in_flight() > 0 {
                self.poll(&file, index as u16, Wait::AtLeast(1), || false)?;
            }
        }
        let mut frame_pool = self.frame_pool().lock();
        let mut left = 0;
        for slot in 0..frame_pool.slots().count() {
            let is_of_file = frame_pool
                .slots()
                .get(slot)
                .page()
                .is_some_and(|page| page.file() == id.0);
            if is_of_file && !self.remove_unused(&mut frame_pool, slot, Dirty::Discard) {
                left += 1;
            }
        }
        if left > 0 {
            return Err(Error::InUse {
                what: file.file.path().display().to_string(),
                pinned_pages: left,
            });
        }
        self.forget_file(id);
        self.tables().remove_file(id.0);
        Ok(())
    }

    /// Removes `page`, dirty or not, if it still lies in the frame that `seen`, its word a moment
    /// ago, names, and no thread uses it. Returns whether it did. That frame may hold another page
    /// by now, which stays (PC-28).
    pub(crate) fn remove_named(&self, page: PageKey, seen: u64) -> bool {
        let mut frame_pool = self.frame_pool().lock();
        let slot = frame_pool.slots().of_frame(word::address_of(seen).frame());
        slot.is_some_and(|slot| {
            frame_pool.slots().get(slot).page() == Some(page)
                && self.remove_unused(&mut frame_pool, slot, Dirty::Discard)
        })
    }

    /// Removes the page in `slot` if no thread uses it.
    pub(crate) fn remove_unused(
        &self,
        frame_pool: &mut FramePool,
        slot: u32,
        dirty: Dirty,
    ) -> bool {
        let bound = frame_pool.slots().get(slot);
        let (Some(entry), place) = (bound.entry(), bound.place()) else {
            return false;
        };
        let seen = entry.word().load(Ordering::Acquire);
        if word::address_of(seen) != place
            || !word::is_claimable(seen)
            || dirty == Dirty::Keep && bound.has(FLAG_DIRTY)
            || !word::claim(entry.word(), seen)
        {
            return false;
        }
        self.remove_owned(frame_pool, slot);
        true
    }

    /// Counters and sizes.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let pinned = self.pinned();
        let frame_pool = self.frame_pool().lock();
        let totals = self.totals();
        CacheStats {
            per_kind: self.counters().sum(),
            resident_pages: frame_pool.resident_pages,
            resident_bytes: frame_pool.resident_bytes,
            pinned_pages: pinned.pages,
            pinned_bytes: pinned.bytes,
            dirty_bytes: self.dirty_bytes(),
            frame_bytes: frame_pool.held.bytes(),
            free_bytes: frame_pool.free_bytes(),
            table_bytes: self.tables().charged_bytes(),
            bookkeeping_bytes: frame_pool.bookkeeping.bytes(),
            reads: totals.reads.load(Ordering::Relaxed),
            read_bytes: totals.read_bytes.load(Ordering::Relaxed),
            relocations: frame_pool.relocations,
            policy_hits_applied: totals.applied.load(Ordering::Relaxed),
            policy_hits_dropped: totals.dropped.load(Ordering::Relaxed),
            policy_lock_waits: totals.contended.load(Ordering::Relaxed),
            policy: self.spec().lock().clone(),
        }
    }

    /// Recounts every structure; for tests and `graven check`. Exact only while no other thread
    /// uses the cache.
    ///
    /// # Errors
    /// A sentence naming the broken invariant.
    pub fn check(&self) -> std::result::Result<(), String> {
        let frame_pool = self.frame_pool().lock();
        frame_pool.check()?;
        for slot in 0..frame_pool.slots().count() {
            let bound = frame_pool.slots().get(slot);
            let (Some(page), Some(entry)) = (bound.page(), bound.entry()) else {
                continue;
            };
            let word = entry.word().load(Ordering::Acquire);
            if word::address_of(word) != bound.place() {
                return Err(format!(
                    "PC-9: slot {slot} holds {page:?}, whose word {word:#x} names another frame"
                ));
            }
            let found = self.tables().lookup(page.file(), page.unit());
            if !std::ptr::eq(found, entry.word()) {
                return Err(format!("PC-9: {page:?} is not found by its own name"));
            }
        }
        Ok(())
    }

    /// What is pinned now.
    pub(crate) fn pinned(&self) -> Pinned {
        let mut pinned = Pinned::default();
        let mut bytes = [0; PageKind::SLOTS];
        for slot in 0..self.slots().count() {
            let bound = self.slots().get(slot);
            let Some(entry) = bound.entry() else { continue };
            if word::pins_of(entry.word().load(Ordering::Acquire)) > 0 {
                let size = (crate::UNIT_BYTES as u64) << bound.place().class();
                pinned.pages += 1;
                pinned.bytes += size;
                bytes[bound.kind().map_or(0, PageKind::index)] += size;
            }
        }
        let of_kind = |kind: &PageKind| (*kind, bytes[kind.index()]);
        pinned.per_kind = PageKind::ALL
            .iter()
            .map(of_kind)
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        pinned
    }

    /// Pages whose reads are under way.
    pub(crate) fn reading_pages(&self) -> usize {
        let is_reading = |slot: u32| {
            let entry = self.slots().get(slot).entry();
            entry.is_some_and(|entry| {
                word::state_of(entry.word().load(Ordering::Acquire)) == state::READING
            })
        };
        (0..self.slots().count())
            .filter(|slot| is_reading(*slot))
            .count()
    }

    /// A frame beyond the limit, for a thread that waits in vain: the threads that pin all frames
    /// may be waiting for one more each, or other reservations left none (PC-22). Paid back by the
    /// next faults that find something to evict.
    pub(crate) fn overdraw(&self, incoming: &Incoming, admission: Admission) -> Option<u32> {
        let mut frame_pool = self.frame_pool().lock();
        let limit = self.budget().limit();
        let bytes = frame_pool.arena.extent_bytes();
        let is_beyond = self.budget().used() + bytes > limit + overdraft_bytes(limit)
            && frame_pool.held.bytes() + bytes > self.frames_kept();
        if incoming.class > SizeClass::KIB_64
            || self.is_synchronous()
            || is_beyond
            || !frame_pool.arena.can_commit()
        {
            return None;
        }
        frame_pool.held.force_grow(bytes);
        frame_pool.arena.commit();
        let slot = frame_pool.form(incoming.class)?;
        frame_pool.bind_page(slot, incoming, admission);
        Some(slot)
    }
}

impl Reclaim for PageCache {
    fn reclaim(&self, bytes: u64) -> u64 {
        if self.is_synchronous() {
            return 0;
        }
        let floor = self.frames_kept();
        let mut given = 0;
        loop {
            given += self.reclaim_clean(bytes - given, floor);
            // Dirty pages stand in the way: written, they can go.
            if given >= bytes || !self.write_due() {
                return given;
            }
        }
    }
}

impl PageCache {
    /// Bytes of frames that the cache keeps (PC-22).
    pub(crate) fn frames_kept(&self) -> u64 {
        (self.budget().limit() / KEPT_SHARE).max(KEPT_BYTES_MIN)
    }

    /// Gives back what needs no writing, down to `floor` bytes of frames.
    fn reclaim_clean(&self, bytes: u64, floor: u64) -> u64 {
        let mut given = 0;
        let mut frame_pool = self.frame_pool().lock();
        frame_pool.others_want(bytes);
        frame_pool.want_to_give();
        while given < bytes {
            if self.give_back_piece(&mut frame_pool) {
                given += crate::table::PIECE_BYTES;
            } else if frame_pool.held.bytes() >= floor + frame_pool.arena.extent_bytes()
                && self.shrink_by_extent(&mut frame_pool, By::Fault)
            {
                given += frame_pool.arena.extent_bytes();
            } else {
                break;
            }
        }
        frame_pool.want_any();
        given
    }

    /// How full each pool is; nothing where sizes share one budget.
    #[must_use]
    pub fn pools(&self) -> Vec<PoolUse> {
        let frame_pool = self.frame_pool().lock();
        let pools = frame_pool.frames.pools.as_ref();
        pools.map_or_else(Vec::new, |pools| pools.uses().to_vec())
    }
}
