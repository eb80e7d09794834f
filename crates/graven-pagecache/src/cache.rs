//! The page cache: what users call, and the hit paths.
//!
//! # How it works
//! A hit is: directory, chunk, entry word (two loads that stay in the first-level cache and one
//! that does not), one compare-and-swap if the usage count is below the policy's maximum or a pin
//! is taken, one counter of the thread. Everything else is in the parts of the cache, the folder
//! `cache`.
//!
//! # Invariants
//! * PC-20: nothing on the hit path takes a lock, makes a system call, reads a clock or writes
//!   memory that other threads' hits on other pages write.
//! * US-4: a frame's bytes are written only by the owner of the word that names it.
//! * US-8: the fields are dropped in this order: I/O queues (which wait for reads), core with its
//!   arena, tables.
#![expect(unsafe_code, reason = "hits hand out frame memory")]

pub(crate) mod access_sampler;
pub(crate) mod batch;
pub(crate) mod build;
pub(crate) mod compact;
pub(crate) mod evictor;
pub(crate) mod exclusive;
pub(crate) mod fault;
mod files;
pub(crate) mod frame_pool;
pub(crate) mod frames;
pub(crate) mod hits;
pub(crate) mod io_queues;
mod open;
pub(crate) mod pin;
pub mod record;
pub mod residents;
pub(crate) mod resize;
pub(crate) mod running;
pub(crate) mod scan;
pub mod shadow;
pub(crate) mod wait;
pub(crate) mod write_back;

use crate::budget::Budget;
use crate::cache::evictor::EvictorThread;
use crate::cache::fault::Failure;
use crate::cache::files::file_len;
use crate::cache::frame_pool::FramePool;
use crate::cache::frames::LastHitTimes;
use crate::cache::hits::{Batch, HitMode, is_sample};
use crate::cache::io_queues::{IO_QUEUES, IoQueue};
use crate::cache::pin::PagePin;
use crate::cache::running::Owners;
use crate::cache::write_back::WriteBack;
use crate::config::{Evictor, Reserve};
use crate::error::{Error, Result};
use crate::page::{Damage, HEADER_BYTES};
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef, UNIT_SHIFT};
use crate::slots::{PageKey, Slots};
use crate::stats::{Event, Registry};
use crate::table::Tables;
use crate::view::View;
use crate::word;
use crossbeam_queue::ArrayQueue;
use graven_io::File;
use graven_policy::Hint;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// An open file of a cache.
pub(crate) struct FileState {
    pub(crate) id: u16,
    pub(crate) file: Arc<dyn File>,
    pub(crate) io_queues: [IoQueue; IO_QUEUES],
    len: AtomicU64,
    owner: Option<Arc<dyn WriteBack>>,
}

impl FileState {
    pub(crate) fn owner(&self) -> Option<&Arc<dyn WriteBack>> {
        self.owner.as_ref()
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match &self.owner {
            Some(_) => Ok(()),
            None => Err(Error::ReadOnly(self.file.path().to_path_buf())),
        }
    }

    /// A page that the file does not hold yet exists in memory.
    pub(crate) fn extend_to(&self, page: PageRef) {
        let end = page.end_unit() << UNIT_SHIFT;
        self.len.fetch_max(end, Ordering::Relaxed);
    }

    /// Whether the page lies in the file, asking for its length again if it seems not to.
    pub(crate) fn check_range(&self, page: PageRef) -> Result<()> {
        let end = page.end_unit() << UNIT_SHIFT;
        if end <= self.len.load(Ordering::Relaxed) {
            return Ok(());
        }
        let len = file_len(&*self.file)?;
        let len = len.max(self.len.fetch_max(len, Ordering::Relaxed));
        if end <= len {
            return Ok(());
        }
        Err(Error::BeyondEnd {
            file: self.file.path().to_path_buf(),
            page,
            len,
        })
    }

    pub(crate) fn damaged(&self, page: PageRef, kind: PageKind, damage: Damage) -> Error {
        Error::Damaged {
            file: self.file.path().to_path_buf(),
            page,
            kind,
            damage,
        }
    }
}

/// Keeps pages of files in memory within a budget; see the crate's documentation.
pub struct PageCache {
    base: *mut u8,
    hit_mode: AtomicU64,
    /// [`HitMode::threshold`] of it.
    hit_threshold: AtomicU64,
    tables: ManuallyDrop<Tables>,
    counters: Registry,
    slots: Arc<Slots>,
    stamps: Arc<LastHitTimes>,
    owners: Arc<Owners>,
    frame_pool: ManuallyDrop<Mutex<FramePool>>,
    files: RwLock<Vec<Option<Arc<FileState>>>>,
    budget: Arc<Budget>,
    evictor_kind: Evictor,
    reserve: Reserve,
    evictor: OnceLock<Option<EvictorThread>>,
    verify: bool,
    frame_wait: Duration,
    seed: u64,
    spec: Mutex<String>,
    version: AtomicU32,
    failures: Mutex<VecDeque<Failure>>,
    shortage: Mutex<()>,
    parked: AtomicUsize,
    ahead_bytes: AtomicU64,
    ahead_refused: AtomicU32,
    published: ArrayQueue<Batch>,
    totals: Totals,
    log: RwLock<Option<Arc<crate::cache::record::TraceRecorder>>>,
    watching: RwLock<Option<Arc<crate::cache::access_sampler::AccessSampler>>>,
    dirty_bytes: AtomicU64,
    /// Threads that write dirty pages.
    writing: AtomicUsize,
}

/// Sums that belong to no page kind.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) reads: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) applied: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) contended: AtomicU64,
}

// SAFETY: the frame memory behind `base` is accessed by the rules of the entry words (US-4, US-6,
// US-7); all other fields are `Send` and `Sync`.
unsafe impl Send for PageCache {}
// SAFETY: as above.
unsafe impl Sync for PageCache {}

impl PageCache {
    /// Pins a page for reading, bringing it in if need be.
    ///
    /// # Errors
    /// [`Error::Io`] when the read fails, [`Error::Damaged`] when the page is not what it should
    /// be, [`Error::AllPinned`] when no frame comes free within the configured wait,
    /// [`Error::BeyondEnd`], [`Error::UnknownFile`].
    #[inline(always)]
    pub fn pin(&self, file: FileId, page: PageRef, kind: PageKind) -> Result<PagePin> {
        let word = self.tables.lookup(file.0, page.unit());
        let seen = word.load(Ordering::Relaxed);
        if word::is_pinnable_as(seen, page.raw()) {
            let mode = self.hit_mode();
            if word::try_pin(word, seen, mode.usage_max()) {
                self.count_hit(mode, seen, PageKey::new(file.0, page.unit()), kind);
                // SAFETY: the pin was taken with the word unchanged, so it names the page's frame;
                // tables and frames stay as long as pins exist (see `Drop`).
                return Ok(unsafe { self.pinned_at(word, seen) });
            }
        }
        self.pin_slowly(file, page, kind, Hint::Normal)
    }

    /// Runs `reader` over a page without pinning it; what it returns was read from one intact
    /// version of the page. The closure may run several times, sees nonsense in the runs that do
    /// not count, and must do nothing but compute: no I/O, no allocation, loops bounded by the
    /// page's size.
    ///
    /// # Errors
    /// As [`PageCache::pin`]; [`Damage::OutOfBounds`] if the closure reached beyond an intact
    /// page's payload.
    #[inline(always)]
    pub fn read<T>(
        &self,
        file: FileId,
        page: PageRef,
        kind: PageKind,
        mut reader: impl FnMut(&View<'_>) -> T,
    ) -> Result<T> {
        let word = self.tables.lookup(file.0, page.unit());
        let seen = word.load(Ordering::Acquire);
        if word::is_readable_as(seen, page.raw()) {
            let start = self
                .frame_start(word::frame_of(seen) as u32)
                .wrapping_add(HEADER_BYTES);
            // SAFETY: US-1: the word names a frame of this class, frames stay mapped while the
            // cache lives, and the cache is borrowed for the whole call.
            let view = unsafe { View::new(start, page.class().payload_bytes()) };
            let value = reader(&view);
            if word::is_same(word, seen) && view.overrun().is_none() {
                self.counters.count(kind, Event::Hit, 1);
                if seen < self.hit_threshold.load(Ordering::Relaxed) {
                    self.note_use(word, seen, PageKey::new(file.0, page.unit()));
                }
                return Ok(value);
            }
        }
        self.read_pinned(file, page, kind, &mut reader)
    }

    /// Reads under a pin: what did not succeed optimistically.
    #[cold]
    #[inline(never)]
    fn read_pinned<T>(
        &self,
        file: FileId,
        page: PageRef,
        kind: PageKind,
        reader: &mut impl FnMut(&View<'_>) -> T,
    ) -> Result<T> {
        let pin = self.pin_slowly(file, page, kind, Hint::Normal)?;
        let payload = &pin.page()[HEADER_BYTES..];
        // SAFETY: US-1: the pin keeps the payload in place for as long as the view lives.
        let view = unsafe { View::new(payload.as_ptr(), payload.len()) };
        let value = reader(&view);
        match view.overrun() {
            None => Ok(value),
            Some(overrun) => Err(self.overrun(file, page, kind, overrun)),
        }
    }

    fn overrun(
        &self,
        file: FileId,
        page: PageRef,
        kind: PageKind,
        (offset, length): (usize, usize),
    ) -> Error {
        match self.file(file) {
            Ok(file) => file.damaged(page, kind, Damage::OutOfBounds { offset, length }),
            Err(error) => error,
        }
    }

    /// Whether the page is in memory and verified: a hint that may be outdated at once.
    #[must_use]
    pub fn is_resident(&self, file: FileId, page: PageRef) -> bool {
        let word = self.tables.lookup(file.0, page.unit());
        word::is_readable(word.load(Ordering::Relaxed))
    }

    /// Whether the page is neither in memory nor on its way: a hint that may be outdated at once.
    #[must_use]
    pub fn is_absent(&self, file: FileId, page: PageRef) -> bool {
        let word = self.tables.lookup(file.0, page.unit());
        word.load(Ordering::Relaxed) == 0
    }

    /// The budget this cache counts against.
    #[must_use]
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// A pin taken in `word`, seen as `seen`.
    ///
    /// # Safety
    /// The caller took the pin, and `seen` was the word at that moment.
    #[inline(always)]
    pub(crate) unsafe fn pinned_at(&self, word: &AtomicU64, seen: u64) -> PagePin {
        // SAFETY: US-3: words stay mapped while pins exist, because the cache leaks them otherwise.
        let word: &'static AtomicU64 = unsafe { &*std::ptr::from_ref(word) };
        let start = self.frame_start(word::frame_of(seen) as u32);
        // SAFETY: as promised by the caller.
        unsafe { PagePin::new(word, start, word::address_of(seen).class()) }
    }

    /// Counts a hit on the page whose word was `seen`.
    #[inline(always)]
    pub(crate) fn count_hit(&self, mode: HitMode, seen: u64, page: PageKey, kind: PageKind) {
        self.counters.count(kind, Event::Hit, 1);
        self.tell_more(mode, seen, page);
    }

    /// What an optimistic hit does besides counting itself, if it must do something.
    #[inline(always)]
    fn note_use(&self, word: &AtomicU64, seen: u64, page: PageKey) {
        let mode = self.hit_mode();
        if mode != HitMode::SAMPLED && mode != HitMode::STAMP {
            word::touch(word, seen, mode.usage_max());
        }
        self.tell_more(mode, seen, page);
    }

    /// Tells policy and observers of a hit that is counted, where they ask for more than usage
    /// bits.
    #[inline(always)]
    fn tell_more(&self, mode: HitMode, seen: u64, page: PageKey) {
        let frame = word::frame_of(seen) as u32;
        let needed = match mode {
            HitMode::STAMP => return self.stamps.stamp(frame),
            HitMode::SAMPLED => is_sample(),
            _ => mode.is_more() && !mode.passes_by(page),
        };
        if needed {
            self.more_than_usage(mode, frame, page);
        }
    }

    #[inline(always)]
    pub(crate) fn hit_mode(&self) -> HitMode {
        HitMode(self.hit_mode.load(Ordering::Relaxed))
    }

    /// The watch under way.
    pub(crate) fn watching(
        &self,
    ) -> &RwLock<Option<Arc<crate::cache::access_sampler::AccessSampler>>> {
        &self.watching
    }

    /// The recording under way.
    pub(crate) fn log(&self) -> &RwLock<Option<Arc<crate::cache::record::TraceRecorder>>> {
        &self.log
    }

    /// First byte of the frame at unit `frame`.
    #[inline(always)]
    pub(crate) fn frame_start(&self, frame: u32) -> *mut u8 {
        self.base.wrapping_add((frame as usize) << UNIT_SHIFT)
    }

    /// The version of the next load: never zero, unlike recent ones.
    pub(crate) fn next_version(&self) -> u32 {
        loop {
            let version =
                self.version.fetch_add(1, Ordering::Relaxed) & ((1 << word::VERSION_BITS) - 1);
            if version != 0 {
                return version;
            }
        }
    }

    /// Bytes are about to be read ahead; `false` when a quarter of the budget already is.
    pub(crate) fn ahead_begun(&self, bytes: u64) -> bool {
        let room = self.budget.limit() / 4;
        let add = |ahead: u64| (ahead + bytes <= room).then_some(ahead + bytes);
        self.ahead_bytes
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, add)
            .is_ok()
    }

    /// How often reading ahead was refused in a row, this time included.
    pub(crate) fn ahead_refused(&self) -> u32 {
        self.ahead_refused.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn ahead_done(&self, bytes: u64) {
        let before = self.ahead_bytes.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(
            before >= bytes,
            "PC-19: {bytes} of {before} bytes read ahead are used"
        );
    }

    pub(crate) fn id(&self) -> u64 {
        self.counters.cache()
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(crate) fn counters(&self) -> &Registry {
        &self.counters
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(crate) fn stamps(&self) -> &LastHitTimes {
        &self.stamps
    }

    pub(crate) fn owners(&self) -> &Owners {
        &self.owners
    }

    pub(crate) fn frame_pool(&self) -> &Mutex<FramePool> {
        &self.frame_pool
    }

    pub(crate) fn evictor(&self) -> Option<&EvictorThread> {
        self.evictor.get().and_then(Option::as_ref)
    }

    pub(crate) fn failures(&self) -> &Mutex<VecDeque<Failure>> {
        &self.failures
    }

    pub(crate) fn shortage(&self) -> &Mutex<()> {
        &self.shortage
    }

    pub(crate) fn parked(&self) -> &AtomicUsize {
        &self.parked
    }

    pub(crate) fn published(&self) -> &ArrayQueue<Batch> {
        &self.published
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    pub(crate) fn count_reads(&self, reads: u64, bytes: u64) {
        self.totals.reads.fetch_add(reads, Ordering::Relaxed);
        self.totals.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn writing(&self) -> &AtomicUsize {
        &self.writing
    }

    pub(crate) fn count_dirty(&self, bytes: u64) {
        self.dirty_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn uncount_dirty(&self, bytes: u64) {
        self.dirty_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn dirty_bytes(&self) -> u64 {
        self.dirty_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn reserve(&self) -> Reserve {
        self.reserve
    }

    pub(crate) fn frame_wait(&self) -> Duration {
        self.frame_wait
    }

    pub(crate) fn verifies(&self) -> bool {
        self.verify
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn spec(&self) -> &Mutex<String> {
        &self.spec
    }

    /// What policies are told of the room there is: bytes, or frames in the synchronous mode.
    pub(crate) fn capacity(&self) -> u64 {
        match self.evictor_kind {
            Evictor::Synchronous { frames, .. } => u64::from(frames),
            Evictor::Background | Evictor::Cooperative => self.budget.limit(),
        }
    }

    pub(crate) fn is_synchronous(&self) -> bool {
        matches!(self.evictor_kind, Evictor::Synchronous { .. })
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        drop(self.evictor.take());
        // US-8: reads under way end before the memory they write to goes.
        self.files.write().clear();
        if self.pinned().pages > 0 {
            // Pins lend bytes of the arena and give themselves back in the tables: leave both in
            // place.
            return;
        }
        // SAFETY: neither is used after this; no pin, file or cache is left that could use them.
        unsafe {
            ManuallyDrop::drop(&mut self.frame_pool);
            ManuallyDrop::drop(&mut self.tables);
        }
    }
}

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache")
            .field("policy", &*self.spec.lock())
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
