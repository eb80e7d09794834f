//! Faults: bringing one page in, and pinning what is not simply there.
//!
//! # How it works
//! [`PageCache::pin_slowly`] looks at the entry word until it can take a pin:
//! * ABSENT: reserve the word, find a frame, read with one `pread`, verify, publish with the pin
//!   taken;
//! * ARRIVED: verify in this thread, whose caches want the bytes next, and publish with the pin
//!   taken;
//! * RESIDENT with as many pins as fit: wait for one to be given back, no longer than for a frame;
//! * READING in an I/O queue: drive the I/O queue; READING by a thread, RESERVED, EXCLUSIVE,
//!   CLAIMED: wait for a change.
//!
//! Where a file keeps copies nearer than its source ([`graven_io::File::forget`]), a damaged page
//! is read again from the source, up to [`AGAIN`] times.
//!
//! A read that fails or a page that is damaged leaves the word zero, the frame free and the error
//! in a short list. The threads that waited for this very attempt find it there: they know its
//! version.
//!
//! # Invariants
//! * PC-18: every path out of a fault publishes or clears the word it reserved.
//! * US-7: between `start_read` and `publish` the frame belongs to the thread that reads into it.
#![expect(unsafe_code, reason = "a fault reads into frame memory")]

use crate::budget::Holder;
use crate::cache::frame_pool::{By, Incoming};
use crate::cache::pin::PagePin;
use crate::cache::wait::PROGRESS;
use crate::cache::{FileState, PageCache};
use crate::error::{Error, Result};
use crate::page::{self, Damage};
use crate::page_kind::PageKind;
use crate::page_ref::{PageRef, SizeClass};
use crate::slots::{FLAG_AHEAD, NO_IO_QUEUE, PageKey};
use crate::stats::Event;
use crate::table::Entry;
use crate::word::{self, state};
use graven_io::Wait;
use graven_policy::{Admission, Hint, PageId};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Failures remembered for the threads that waited.
const FAILURES: usize = 64;

/// Why an attempt to bring a page in failed.
pub(crate) struct Failure {
    page: PageKey,
    version: u32,
    error: Error,
}

/// Measures waiting from its first use.
#[derive(Default)]
struct Stopwatch(Option<Instant>);

impl Stopwatch {
    fn start(&mut self) {
        self.0.get_or_insert_with(Instant::now);
    }

    fn ns(&self) -> u64 {
        self.0.map_or(0, |start| {
            u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
        })
    }
}

/// Further reads of a page that came damaged from a file with a source.
const AGAIN: usize = 3;

impl PageCache {
    /// Pins a page in whatever state it is.
    #[cold]
    #[inline(never)]
    pub(crate) fn pin_slowly(
        &self,
        id: crate::FileId,
        page: PageRef,
        kind: PageKind,
        hint: Hint,
    ) -> Result<PagePin> {
        let file = self.file(id)?;
        file.check_range(page)?;
        let entry = self.tables().entry(id.0, page.unit())?;
        let mut watch = Stopwatch::default();
        let pin = self.pin_entry(&file, entry, (page, kind, hint), &mut watch);
        if watch.0.is_some() {
            self.counters().count(kind, Event::WaitNs, watch.ns());
            self.counters().count(kind, Event::Blocked, 1);
        }
        pin
    }

    fn pin_entry(
        &self,
        file: &FileState,
        entry: Entry,
        (page, kind, hint): (PageRef, PageKind, Hint),
        watch: &mut Stopwatch,
    ) -> Result<PagePin> {
        let word = entry.word();
        let key = PageKey::new(file.id, page.unit());
        let mut round = 0;
        loop {
            let seen = word.load(Ordering::Acquire);
            match word::state_of(seen) {
                state::ABSENT => {
                    watch.start();
                    if let Some(pin) = self.fault(file, entry, page, kind, hint)? {
                        return Ok(pin);
                    }
                }
                _ if word::is_pinnable(seen) => {
                    self.check_class(file, seen, page, kind)?;
                    let mode = self.hit_mode().under(hint);
                    if word::try_pin(word, seen, mode.usage_max()) {
                        self.count_hit(mode, seen, key, kind);
                        // SAFETY: the pin was taken; the frame of a resident page is as its word
                        // says.
                        return Ok(unsafe { self.pinned_at(word, seen) });
                    }
                }
                state::ARRIVED => {
                    self.check_class(file, seen, page, kind)?;
                    if word::begin_verify(word, seen) {
                        return self.admit(file, entry, page, kind);
                    }
                }
                _ if word::is_readable(seen) => {
                    // No pin fits any more, and this thread may hold all of them: do not wait for
                    // ever.
                    watch.start();
                    if u128::from(watch.ns()) > self.frame_wait().as_nanos() {
                        return Err(Error::TooManyPins {
                            file: file.file.path().to_path_buf(),
                            page,
                            pins: word::pins_of(seen),
                        });
                    }
                    self.wait_for_change(entry, seen, &mut round);
                }
                _ => {
                    watch.start();
                    self.await_change(file, entry, seen, &mut round)?;
                    if word.load(Ordering::Acquire) == 0
                        && let Some(error) = self.failure(key, word::version_of(seen))
                    {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn check_class(
        &self,
        file: &FileState,
        word: u64,
        page: PageRef,
        kind: PageKind,
    ) -> Result<()> {
        if word::is_class(word, page.class().index()) {
            return Ok(());
        }
        let found = SizeClass::new(word::address_of(word).class()).expect("frames have a class");
        Err(file.damaged(
            page,
            kind,
            Damage::Class {
                expected: page.class(),
                found,
            },
        ))
    }

    /// Waits for another thread's work on a page, driving its I/O queue if it has one.
    pub(crate) fn await_change(
        &self,
        file: &FileState,
        entry: Entry,
        seen: u64,
        round: &mut u32,
    ) -> Result<()> {
        if word::state_of(seen) == state::READING
            && let Some(slot) = self.slots().of_frame(word::address_of(seen).frame())
        {
            let io_queue = self.slots().get(slot).io_queue();
            let is_same_state = || {
                let now = entry.word().load(Ordering::Acquire);
                word::state_of(now) == state::READING
                    && word::version_of(now) == word::version_of(seen)
            };
            if io_queue != NO_IO_QUEUE && is_same_state() {
                return self
                    .poll(file, io_queue, Wait::AtLeast(1), || !is_same_state())
                    .map(|_| ());
            }
        }
        self.wait_for_change(entry, seen, round);
        Ok(())
    }

    /// Brings an absent page in; `None` if another thread was earlier.
    fn fault(
        &self,
        file: &FileState,
        entry: Entry,
        page: PageRef,
        kind: PageKind,
        hint: Hint,
    ) -> Result<Option<PagePin>> {
        let version = self.next_version();
        self.tables().enter(entry);
        if !word::reserve(entry.word(), version) {
            self.leave(entry);
            return Ok(None);
        }
        let key = PageKey::new(file.id, page.unit());
        let incoming = Incoming {
            key,
            entry,
            class: page.class(),
            kind,
            hint,
            flags: 0,
            io_queue: NO_IO_QUEUE,
        };
        let slot = match self.place_or_wait(&incoming) {
            Ok(slot) => slot,
            Err(error) => {
                self.remember(key, version, &error);
                self.abandon(entry);
                return Err(error);
            }
        };
        self.counters().count(kind, Event::Fault, 1);
        let mode = self.hit_mode();
        if mode.is_recorded() {
            self.record(key, || Some(kind), true);
        }
        if mode.watches(key) {
            self.note(key, page.class().index(), hint == Hint::Scan);
        }
        self.counters()
            .count(kind, Event::BytesRead, page.len_bytes() as u64);
        self.count_reads(1, page.len_bytes() as u64);
        let start = self.frame_start(self.slots().get(slot).place().frame());
        // SAFETY: US-7: the word is READING and this thread put it there. Optimistic readers of the
        // frame's former page may still look at the bytes, with atomic loads whose results they
        // will discard.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, page.len_bytes()) };
        if let Err(source) = file.file.read_exact_at(bytes, page.offset_bytes()) {
            let error = Error::Io {
                file: file.file.path().to_path_buf(),
                page,
                operation: "read",
                source: Arc::new(source),
            };
            self.fail_read(slot, Some(error.clone()));
            return Err(error);
        }
        self.admit(file, entry, page, kind).map(Some)
    }

    /// Verifies a page whose word the caller owns (EXCLUSIVE or READING) and publishes it with one
    /// pin.
    fn admit(
        &self,
        file: &FileState,
        entry: Entry,
        page: PageRef,
        kind: PageKind,
    ) -> Result<PagePin> {
        let word = entry.word();
        let place = word::address_of(word.load(Ordering::Relaxed));
        let slot = self
            .slots()
            .of_frame(place.frame())
            .expect("PC-15: an owned word names a frame");
        let start = self.frame_start(place.frame());
        if self.verifies() {
            // SAFETY: US-7: the word is owned by this thread, so no other thread writes the frame.
            let bytes = unsafe { std::slice::from_raw_parts(start, page.len_bytes()) };
            let mut verified = page::verify(bytes, page, Some(kind));
            // A copy that lies nearer than the source may be what is wrong, or its answer was.
            for _ in 0..AGAIN {
                if verified.is_ok() || !file.file.forget(page.offset_bytes(), page.len_bytes()) {
                    break;
                }
                self.count_reads(1, page.len_bytes() as u64);
                // SAFETY: as above; no other slice of the frame is used any more.
                let again = unsafe { std::slice::from_raw_parts_mut(start, page.len_bytes()) };
                if file.file.read_exact_at(again, page.offset_bytes()).is_err() {
                    break;
                }
                verified = page::verify(again, page, Some(kind));
            }
            if let Err(damage) = verified {
                let error = file.damaged(page, kind, damage);
                self.fail_read(slot, Some(error.clone()));
                return Err(error);
            }
        }
        if self.slots().get(slot).lower(FLAG_AHEAD) {
            self.ahead_done(page.len_bytes() as u64);
        }
        word::publish(word, 1);
        self.wake_waiters(entry);
        // SAFETY: published with one pin, which this value now stands for.
        Ok(unsafe { PagePin::new(word, start, page.class().index()) })
    }

    /// A read into `slot` failed: the page becomes absent, its frame free; waiters find `error`.
    pub(crate) fn fail_read(&self, slot: u32, error: Option<Error>) {
        let bound = self.slots().get(slot);
        if let (Some(error), Some(page), Some(entry)) = (error, bound.page(), bound.entry()) {
            let version = word::version_of(entry.word().load(Ordering::Relaxed));
            self.remember(page, version, &error);
        }
        self.remove_owned(&mut self.frame_pool().lock(), slot);
        PROGRESS.made();
    }

    /// Makes a reserved word absent again.
    pub(crate) fn abandon(&self, entry: Entry) {
        word::clear(entry.word());
        self.leave(entry);
        self.wake_waiters(entry);
    }

    /// A word did not become, or is no longer, anything but zero.
    pub(crate) fn leave(&self, entry: Entry) {
        if let Some(piece) = self.tables().leave(entry) {
            self.frame_pool().lock().empty_pieces.push(piece);
        }
    }

    fn remember(&self, page: PageKey, version: u32, error: &Error) {
        let mut failures = self.failures().lock();
        if failures.len() == FAILURES {
            failures.pop_front();
        }
        failures.push_back(Failure {
            page,
            version,
            error: error.clone(),
        });
    }

    fn failure(&self, page: PageKey, version: u32) -> Option<Error> {
        let failures = self.failures().lock();
        let found = failures
            .iter()
            .rev()
            .find(|failure| failure.page == page && failure.version == version);
        found.map(|failure| failure.error.clone())
    }

    /// Finds a frame for `incoming`, waiting for one if need be, and binds the page to it.
    pub(crate) fn place_or_wait(&self, incoming: &Incoming) -> Result<u32> {
        let admission = self
            .frame_pool()
            .lock()
            .policy
            .on_miss(PageId(incoming.key.0));
        while !self.shortage().is_locked() {
            if let Some(slot) = self.place_now(incoming, admission) {
                return Ok(slot);
            }
            // Dirty pages stand in the way: written, they can go.
            if !self.write_due() {
                break;
            }
        }
        // Waiting threads are served in order.
        let turn = self.shortage().lock();
        let starving = PROGRESS.starve();
        let start = Instant::now();
        let mut deadline = start + self.frame_wait();
        let slot = loop {
            let epoch = PROGRESS.epoch();
            let mut frame_pool = self.frame_pool().lock();
            if let Some(slot) =
                self.take_frame(&mut frame_pool, incoming.class, admission, By::Fault)
            {
                frame_pool.bind_page(slot, incoming, admission);
                break Ok(slot);
            }
            let has_frames = frame_pool.held.bytes() > 0;
            drop(frame_pool);
            if self.write_due() || self.drive_all(Wait::AtLeast(1)) {
                continue;
            }
            let is_late = Instant::now() >= deadline;
            if is_late && (self.reading_pages() > 0 || self.writing().load(Ordering::SeqCst) > 0) {
                // Frames of reads and writes under way come free or become victims soon.
                deadline += self.frame_wait();
            } else if is_late || !has_frames {
                if let Some(slot) = self.overdraw(incoming, admission) {
                    break Ok(slot);
                }
                if is_late {
                    break Err(self.all_pinned(incoming.class, start));
                }
            }
            PROGRESS.wait(epoch, deadline);
        };
        drop(starving);
        parking_lot::MutexGuard::unlock_fair(turn);
        slot
    }

    /// Binds the page to a frame if there is one to be had now.
    fn place_now(&self, incoming: &Incoming, admission: Admission) -> Option<u32> {
        let mut frame_pool = self.frame_pool().lock();
        let slot = self.take_frame(&mut frame_pool, incoming.class, admission, By::Fault)?;
        frame_pool.bind_page(slot, incoming, admission);
        let writes_itself = self.call_evictor(&frame_pool);
        drop(frame_pool);
        if writes_itself {
            self.write_due();
        }
        Some(slot)
    }

    fn all_pinned(&self, class: SizeClass, start: Instant) -> Error {
        let pinned = self.pinned();
        Error::AllPinned {
            wanted: class.bytes(),
            waited_ms: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
            pinned_pages: pinned.pages,
            pinned_bytes: pinned.bytes,
            limit: self.budget().limit(),
            holders: self.holders(),
        }
    }

    /// What holds memory: pinned bytes by page kind, then reservations.
    pub(crate) fn holders(&self) -> Vec<Holder> {
        let pinned = self.pinned().per_kind;
        let pins = pinned.into_iter().map(|(kind, bytes)| Holder {
            tag: kind.pinned_tag(),
            bytes,
        });
        pins.chain(self.budget().holders()).collect()
    }
}
