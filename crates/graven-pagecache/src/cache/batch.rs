//! Batches: many misses submitted before the first is awaited.
//!
//! # How it works
//! [`PageCache::prefetch`] reserves the words of absent pages, binds them to frames under one lock
//! of the frame pool and hands all reads to one I/O queue. It never waits for a frame: where none
//! is free it stops. Pages read ahead and not used yet may fill a quarter of the budget. A victim
//! search spares each of them once; after repeated refusals, the pages that no thread has used
//! count as ordinary pages. [`PageCache::pin_many`] keeps such a window in front of the page it
//! pins.
//!
//! # Invariants
//! * PC-19: bytes read ahead and not used yet never pass a quarter of the budget.
//!
//! # Concurrency
//! The I/O queue is locked before the words are bound. So a thread that finds one of the pages
//! READING can wait for the submission by locking the I/O queue.

use crate::cache::frame_pool::{By, FramePool, Incoming};
use crate::cache::io_queues::IoQueueGuard;
use crate::cache::pin::PagePin;
use crate::cache::{FileState, PageCache};
use crate::error::{Error, Result};
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef};
use crate::slots::{FLAG_AHEAD, PageKey};
use crate::stats::Event;
use crate::table::Entry;
use crate::word::{self, state};
use graven_io::Wait;
use graven_policy::{Hint, PageId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most pages submitted at once.
const BATCH_PAGES_MAX: usize = 256;

/// So many refusals in a row and pages that were read ahead in vain are forgotten.
const REFUSALS_FORGIVEN: u32 = 32;

/// A reserved page that waits for a frame.
struct Wanted {
    page: PageRef,
    entry: Entry,
}

impl PageCache {
    /// Starts reading those of `pages` that are not in memory, all in one submission, neighbouring
    /// ones merged; does not wait. Returns how many leading elements of `pages` have been dealt
    /// with: fewer than all where memory is short, and the caller goes on with those it has.
    ///
    /// Errors show when the pages are pinned.
    pub fn prefetch(&self, file: FileId, pages: &[PageRef], kind: PageKind) -> usize {
        self.read_ahead(file, pages, kind, Hint::Prefetch)
            .unwrap_or(0)
    }

    /// Pins `pages` one after another in the order given and hands each to `visit`; reads of the
    /// following pages are under way meanwhile, at most a quarter of the budget.
    ///
    /// # Errors
    /// As [`PageCache::pin`], or what `visit` returns.
    pub fn pin_many<E: From<Error>>(
        &self,
        file: FileId,
        pages: &[PageRef],
        kind: PageKind,
        mut visit: impl FnMut(usize, PagePin) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ahead = 0;
        let mut window = 0;
        for (index, page) in pages.iter().enumerate() {
            // Another batch goes out when half of the last one has been used.
            if ahead < pages.len() && ahead <= index + window / 2 {
                let from = ahead.max(index);
                let dealt = self.read_ahead(file, &pages[from..], kind, Hint::Normal)?;
                window = (from + dealt - index).max(1);
                ahead = from + dealt;
            }
            visit(index, self.pin(file, *page, kind)?)?;
        }
        Ok(())
    }

    /// Reading ahead was refused: collects what has arrived, and at times counts pages that arrived
    /// and were never used as ordinary ones, so that a sweep that ended early does not hinder the
    /// next for ever. Whether it is worth trying again.
    fn reset_readahead(&self) -> bool {
        self.drive_all(Wait::None);
        if !self.ahead_refused().is_multiple_of(REFUSALS_FORGIVEN) {
            return false;
        }
        let _core = self.frame_pool().lock();
        for slot in 0..self.slots().count() {
            let bound = self.slots().get(slot);
            let Some(entry) = bound.entry() else { continue };
            let has_arrived =
                word::state_of(entry.word().load(Ordering::Acquire)) == state::ARRIVED;
            if has_arrived && bound.lower(FLAG_AHEAD) {
                self.ahead_done((crate::UNIT_BYTES as u64) << bound.place().class());
            }
        }
        true
    }

    /// Submits the absent ones of the first pages; returns how many pages were looked at.
    pub(crate) fn read_ahead(
        &self,
        id: FileId,
        pages: &[PageRef],
        kind: PageKind,
        hint: Hint,
    ) -> Result<usize> {
        if self.is_synchronous() || self.shortage().is_locked() {
            return Ok(0);
        }
        let absent = |page: &PageRef| {
            let word = self.tables().lookup(id.0, page.unit());
            word.load(Ordering::Relaxed) == 0
        };
        let Some(first) = pages.iter().position(absent) else {
            return Ok(pages.len());
        };
        let file = self.file(id)?;
        let mut wanted = Vec::new();
        let mut dealt = first;
        for page in &pages[first..] {
            if absent(page) {
                let bytes = page.len_bytes() as u64;
                if wanted.len() == BATCH_PAGES_MAX || file.check_range(*page).is_err() {
                    break;
                }
                // Without memory for the table, the thread that pins the page gets the error; words
                // reserved so far go on.
                let Ok(entry) = self.tables().entry(id.0, page.unit()) else {
                    break;
                };
                if !(self.ahead_begun(bytes) || self.reset_readahead() && self.ahead_begun(bytes)) {
                    break;
                }
                self.tables().enter(entry);
                if word::reserve(entry.word(), self.next_version()) {
                    wanted.push(Wanted { page: *page, entry });
                } else {
                    self.ahead_done(bytes);
                    self.leave(entry);
                }
            }
            dealt += 1;
        }
        let placed = self.submit_wanted(&file, &wanted, kind, hint);
        match wanted.get(placed) {
            // Pages behind the first that found no frame count as not dealt with.
            Some(missing) => Ok(pages
                .iter()
                .position(|page| *page == missing.page)
                .unwrap_or(0)),
            None => Ok(dealt),
        }
    }

    /// Binds as many of `wanted` as find frames and submits their reads; the rest becomes absent
    /// again.
    fn submit_wanted(
        &self,
        file: &Arc<FileState>,
        wanted: &[Wanted],
        kind: PageKind,
        hint: Hint,
    ) -> usize {
        if wanted.is_empty() {
            return 0;
        }
        let Ok(mut io_queue) = file.lock_io_queue() else {
            self.cancel(wanted);
            return 0;
        };
        let mut slots = Vec::with_capacity(wanted.len());
        let mut frame_pool = self.frame_pool().lock();
        for wanted in wanted {
            match self.place_ahead(&mut frame_pool, file, &io_queue, wanted, kind, hint) {
                Some(slot) => slots.push(slot),
                None => break,
            }
        }
        let writes_itself = self.call_evictor(&frame_pool);
        drop(frame_pool);
        if writes_itself {
            self.write_due();
        }
        let placed = slots.len();
        self.cancel(&wanted[placed..]);
        slots.sort_unstable_by_key(|slot| self.slots().get(*slot).page().map(|page| page.0));
        if !slots.is_empty() {
            let submitted = self.submit(&mut io_queue, &slots);
            drop(io_queue);
            if submitted.is_err() {
                // The thread that pins one of the pages reads it alone and gets the error.
                slots.iter().for_each(|slot| self.fail_read(*slot, None));
            }
        }
        // Threads that parked while the words were reserved can drive the I/O queue now.
        wanted[..placed]
            .iter()
            .for_each(|wanted| self.wake_waiters(wanted.entry));
        let bytes: usize = wanted[..placed]
            .iter()
            .map(|wanted| wanted.page.len_bytes())
            .sum();
        let mode = self.hit_mode();
        for wanted in &wanted[..placed] {
            let key = PageKey::new(file.id, wanted.page.unit());
            if mode.is_recorded() {
                self.record(key, || Some(kind), true);
            }
            if mode.watches(key) {
                self.note(key, wanted.page.class().index(), hint == Hint::Scan);
            }
        }
        self.counters().count(kind, Event::Fault, placed as u64);
        self.counters().count(kind, Event::BytesRead, bytes as u64);
        placed
    }

    fn place_ahead(
        &self,
        frame_pool: &mut FramePool,
        file: &FileState,
        io_queue: &IoQueueGuard<'_>,
        wanted: &Wanted,
        kind: PageKind,
        hint: Hint,
    ) -> Option<u32> {
        let key = PageKey::new(file.id, wanted.page.unit());
        let admission = frame_pool.policy.on_miss(PageId(key.0));
        let slot = self.take_frame(frame_pool, wanted.page.class(), admission, By::Fault)?;
        let incoming = Incoming {
            key,
            entry: wanted.entry,
            class: wanted.page.class(),
            kind,
            hint,
            flags: FLAG_AHEAD,
            io_queue: io_queue.index,
        };
        frame_pool.bind_page(slot, &incoming, admission);
        Some(slot)
    }

    fn cancel(&self, wanted: &[Wanted]) {
        for wanted in wanted {
            self.ahead_done(wanted.page.len_bytes() as u64);
            self.abandon(wanted.entry);
        }
    }
}
