//! Temporary pages: rows that an operator keeps beyond its memory, in the cache as long as they
//! fit.
//!
//! # How it works
//! A [`SpillFile`] belongs to a cache. [`SpillFile::owner`] makes a [`TemporaryPages`], one for
//! each operator; its [`TemporaryPages::allocate`] hands out a page to fill. The page counts as any
//! other page of the cache: it is written to the file only when its frame is wanted, and read back
//! when it is pinned again. Freed in time it never touches the disk. The file is made by the first
//! write and unlinked at once, so that nothing is left behind whatever ends the process; it is cut
//! when the last page is freed.
//!
//! A write that fails (a full disk, mostly) is remembered for the owner of the page: its next call
//! returns the error. The pages of other owners and the database go on. A page that cannot be
//! written stays in memory. An owner that then finds no memory gets the error of the full disk,
//! which is the cause.
//!
//! # Invariants
//! * PC-26: the space of a page is handed out again only after the page has left the cache.
//! * PC-27: a failed write reaches the owner of the page and no other owner.
//!
//! # On disk
//! Sealed pages of kind `temporary`, a page of class c at any multiple of 4 KiB. No process but
//! this one reads the file.
//!
//! # Source
//! Laurens Kuiper and others, "Robust External Hash Aggregation in the Solid State Age", ICDE 2024
//! (one buffer pool for data and temporary pages).

mod lazy_file;
mod space;

use crate::budget::Reservation;
use crate::cache::exclusive::Locked;
use crate::cache::pin::PagePin;
use crate::cache::write_back::WriteBack;
use crate::cache::{FileState, PageCache};
use crate::error::{Error, Result};
use crate::page::HEADER_BYTES;
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef, SizeClass};
use graven_io::File;
use lazy_file::LazyFile;
use parking_lot::Mutex;
use space::Space;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Memory of a page's entry among the owners: a hash table is up to half empty.
const OWNER_BYTES: u64 = 40;
/// It is charged in steps.
const CHARGE_BYTES: u64 = 4096;
/// A charge may pass the limit while it is at most this share of it: an operator that writes rows
/// out holds it until that is done.
const BEYOND_SHARE: u64 = 16;

/// How the spill file is opened, at the first write.
pub type OpenSpill = dyn Fn() -> graven_io::Result<Arc<dyn File>> + Send + Sync;

/// The file that temporary pages of one cache are written to.
pub struct SpillFile {
    inner: Arc<Inner>,
}

struct Inner {
    file: Arc<LazyFile>,
    space: Mutex<Space>,
    owners: Mutex<HashMap<u64, Weak<Owner>>>,
    /// The disk was full at the last write.
    full: Mutex<Option<Error>>,
    /// Memory of `owners`. Never taken under their lock: making room writes pages, whose owners are
    /// told.
    charged: Mutex<Reservation>,
    // Its I/O queues wait for reads under way, so it goes before the cache (US-8).
    state: Arc<FileState>,
    cache: Arc<PageCache>,
}

/// What one owner of pages did and suffered.
#[derive(Default)]
struct Owner {
    spilled: AtomicU64,
    read_back: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<Error>>,
}

/// Is told by the cache what became of writes; holds no reference to the cache.
struct Watcher {
    inner: Mutex<Weak<Inner>>,
}

impl SpillFile {
    /// A spill file for `cache`. `open` is called when the first page has to be written; `path` is
    /// for messages; the file never grows beyond `limit` bytes.
    ///
    /// # Errors
    /// [`Error::TooManyFiles`].
    pub fn new(
        cache: &Arc<PageCache>,
        path: impl Into<PathBuf>,
        limit: u64,
        open: Box<OpenSpill>,
    ) -> Result<SpillFile> {
        let file = Arc::new(LazyFile::new(path.into(), open));
        let watcher = Arc::new(Watcher {
            inner: Mutex::new(Weak::new()),
        });
        let lent: Arc<dyn File> = file.clone();
        let id = cache.add_writable_file(lent, watcher.clone())?;
        let inner = Arc::new(Inner {
            cache: Arc::clone(cache),
            file,
            state: cache.file(id)?,
            space: Mutex::new(Space::new(limit)),
            owners: Mutex::default(),
            full: Mutex::default(),
            charged: Mutex::new(cache.budget().empty_reservation("temporary pages")),
        });
        *watcher.inner.lock() = Arc::downgrade(&inner);
        Ok(SpillFile { inner })
    }

    /// Another handle of this file, as [`crate::Budget::handle`].
    #[must_use]
    pub fn handle(&self) -> SpillFile {
        SpillFile {
            inner: Arc::clone(&self.inner),
        }
    }

    /// A spill file at `path`, unlinked as soon as it is made.
    ///
    /// # Errors
    /// As [`SpillFile::new`].
    pub fn at(cache: &Arc<PageCache>, path: impl Into<PathBuf>, limit: u64) -> Result<SpillFile> {
        let path = path.into();
        let place = path.clone();
        let open = move || lazy_file::open_unlinked(&place);
        SpillFile::new(cache, path, limit, Box::new(open))
    }

    /// An owner of temporary pages, such as an operator.
    #[must_use]
    pub fn owner(&self) -> TemporaryPages {
        TemporaryPages {
            inner: Arc::clone(&self.inner),
            owner: Arc::default(),
        }
    }

    /// What the last write failed with, if the disk was full then and its pages are still in
    /// memory.
    #[must_use]
    pub fn full(&self) -> Option<Error> {
        self.inner.full.lock().clone()
    }

    /// Bytes of the file that are in use, written or not.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.inner.space.lock().used_bytes()
    }

    /// Bytes of the file on disk now.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.inner.file.len().unwrap_or(0)
    }
}

impl fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillFile")
            .field("path", &self.inner.file.path())
            .field("used_bytes", &self.used_bytes())
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Only pages keep this alive, so none is left; a file that cannot be forgotten is no harm.
        let _ = self.cache.remove_file(FileId(self.state.id));
    }
}

impl WriteBack for Watcher {
    fn written(&self, page: PageRef) {
        if let Some(inner) = self.spill() {
            *inner.full.lock() = None;
        }
        if let Some(owner) = self.owner(page) {
            let bytes = page.len_bytes() as u64;
            owner.spilled.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn failed(&self, page: PageRef, error: &Error) {
        if let (true, Some(inner)) = (error.is_storage_full(), self.spill()) {
            *inner.full.lock() = Some(error.clone());
        }
        if let Some(owner) = self.owner(page) {
            owner.failure.lock().get_or_insert_with(|| error.clone());
            owner.has_failed.store(true, Ordering::Release);
        }
    }

    fn wants(&self, page: PageRef) -> bool {
        self.owner(page)
            .is_some_and(|owner| !owner.has_failed.load(Ordering::Acquire))
    }
}

impl Watcher {
    fn spill(&self) -> Option<Arc<Inner>> {
        self.inner.lock().upgrade()
    }

    fn owner(&self, page: PageRef) -> Option<Arc<Owner>> {
        let inner = self.spill()?;
        let owner = inner.owners.lock().get(&page.unit()).cloned();
        owner?.upgrade()
    }
}

/// Keeps temporary pages for one operator. Cheap to clone; clones are the same owner.
#[derive(Clone)]
pub struct TemporaryPages {
    inner: Arc<Inner>,
    owner: Arc<Owner>,
}

impl TemporaryPages {
    /// A new page of `class`, pinned exclusively, to be filled.
    ///
    /// # Errors
    /// An earlier write of this owner's pages that failed; [`Error::SpillLimit`]; as
    /// [`PageCache::pin`] where there is no frame.
    pub fn allocate(&self, class: SizeClass) -> Result<TemporaryWriter> {
        self.check()?;
        self.allocate_unchecked(class)
            .map_err(|error| self.inner.why(error))
    }

    fn allocate_unchecked(&self, class: SizeClass) -> Result<TemporaryWriter> {
        let inner = &self.inner;
        inner.charge()?;
        let (page, limit) = {
            let mut space = inner.space.lock();
            (space.take(class), space.limit())
        };
        let page = page.ok_or_else(|| Error::SpillLimit {
            file: inner.file.path().to_path_buf(),
            limit,
        })?;
        let owner = Arc::downgrade(&self.owner);
        inner.owners.lock().insert(page.unit(), owner);
        match inner
            .cache
            .create_locked(&inner.state, page, PageKind::Temporary)
        {
            Ok(locked) => Ok(TemporaryWriter {
                pages: self.clone(),
                locked: Some(locked),
            }),
            Err(error) => {
                inner.release(page);
                Err(error)
            }
        }
    }

    /// The error of a write that failed since.
    ///
    /// # Errors
    /// That error.
    pub fn check(&self) -> Result<()> {
        if !self.owner.has_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match &*self.owner.failure.lock() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Bytes written because the memory was wanted for something else.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.owner.spilled.load(Ordering::Relaxed)
    }

    /// Bytes read back.
    #[must_use]
    pub fn read_back_bytes(&self) -> u64 {
        self.owner.read_back.load(Ordering::Relaxed)
    }

    /// The cache the pages lie in.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        &self.inner.cache
    }

    /// Starts reading those of `pages` that are not in memory.
    pub fn prefetch<'a>(&self, pages: impl IntoIterator<Item = &'a TemporaryPage>) {
        let absent: Vec<PageRef> = pages.into_iter().map(|page| page.page).collect();
        let id = FileId(self.inner.state.id);
        self.inner.cache.prefetch(id, &absent, PageKind::Temporary);
    }
}

impl fmt::Debug for TemporaryPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemporaryPages")
            .field("spilled_bytes", &self.spilled_bytes())
            .field("read_back_bytes", &self.read_back_bytes())
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Charges the memory for one more page.
    fn charge(&self) -> Result<()> {
        let pages = self.owners.lock().len() as u64 + 1;
        let wanted = (pages * OWNER_BYTES).next_multiple_of(CHARGE_BYTES);
        let mut charged = self.charged.lock();
        let Some(more) = wanted.checked_sub(charged.bytes()).filter(|more| *more > 0) else {
            return Ok(());
        };
        let refused = charged.grow(more);
        if refused.is_err() && wanted <= charged.budget().limit() / BEYOND_SHARE {
            charged.force_grow(more);
            return Ok(());
        }
        Ok(refused?)
    }

    /// A lack of memory comes from the full disk where what should have gone there lies in memory.
    fn why(&self, error: Error) -> Error {
        match &*self.full.lock() {
            Some(full) if error.is_memory_limit() => full.clone(),
            _ => error,
        }
    }

    /// Gives the space of a page back that is not in the cache any more.
    fn release(&self, page: PageRef) {
        let none_left = {
            let mut owners = self.owners.lock();
            owners.remove(&page.unit());
            if owners.is_empty() {
                owners.shrink_to_fit();
            }
            owners.is_empty()
        };
        if none_left {
            *self.full.lock() = None;
            let mut charged = self.charged.lock();
            let bytes = charged.bytes();
            charged.shrink(bytes);
        }
        let mut space = self.space.lock();
        space.give(page);
        if space.used_bytes() == 0 {
            // Disk space goes back. The lock keeps allocations out, and a failure costs only space.
            let _ = self.file.cut();
        }
    }
}

/// A temporary page being filled: no other thread sees it. Derefs to the room after the header.
pub struct TemporaryWriter {
    pages: TemporaryPages,
    locked: Option<Locked>,
}

impl TemporaryWriter {
    fn locked(&self) -> &Locked {
        self.locked.as_ref().expect("held until finished")
    }

    /// Ends the writing: the first `length` bytes are the payload. The page may be evicted from now
    /// on.
    ///
    /// # Panics
    /// If `length` is more than there is room.
    #[must_use]
    pub fn finish(mut self, length: usize) -> TemporaryPage {
        let mut locked = self.locked.take().expect("held until finished");
        locked.set_length(length);
        self.pages.inner.cache.unlock_page(&locked, true);
        TemporaryPage {
            page: locked.page,
            pages: self.pages.clone(),
        }
    }
}

impl Deref for TemporaryWriter {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.locked().bytes()[HEADER_BYTES..]
    }
}

impl DerefMut for TemporaryWriter {
    fn deref_mut(&mut self) -> &mut [u8] {
        let locked = self.locked.as_mut().expect("held until finished");
        &mut locked.bytes_mut()[HEADER_BYTES..]
    }
}

impl Drop for TemporaryWriter {
    fn drop(&mut self) {
        if self.locked.is_some() {
            let unfinished = TemporaryWriter {
                pages: self.pages.clone(),
                locked: self.locked.take(),
            };
            // Freed like any other.
            drop(unfinished.finish(0));
        }
    }
}

/// A temporary page that has been filled. Dropping it frees it.
pub struct TemporaryPage {
    page: PageRef,
    pages: TemporaryPages,
}

impl TemporaryPage {
    /// The page's bytes, read back if they have been written out.
    ///
    /// # Errors
    /// As [`PageCache::pin`].
    pub fn pin(&self) -> Result<TemporaryPin<'_>> {
        Ok(TemporaryPin {
            pin: self.raw_pin()?,
            _page: self,
        })
    }

    /// The page together with its bytes; both go when it is dropped.
    ///
    /// # Errors
    /// As [`PageCache::pin`]; the page is freed then.
    pub fn into_pinned(self) -> Result<PinnedTemporary> {
        Ok(PinnedTemporary {
            pin: self.raw_pin()?,
            page: self,
        })
    }

    /// The cache that it is a page of.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        self.pages.cache()
    }

    /// Size class.
    #[must_use]
    pub fn class(&self) -> SizeClass {
        self.page.class()
    }

    fn raw_pin(&self) -> Result<PagePin> {
        let inner = &self.pages.inner;
        let id = FileId(inner.state.id);
        if !inner.cache.is_resident(id, self.page) {
            let bytes = self.page.len_bytes() as u64;
            self.pages
                .owner
                .read_back
                .fetch_add(bytes, Ordering::Relaxed);
        }
        inner.cache.pin(id, self.page, PageKind::Temporary)
    }
}

impl Drop for TemporaryPage {
    fn drop(&mut self) {
        let inner = &self.pages.inner;
        match inner.cache.discard_page(&inner.state, self.page) {
            Ok(()) => {
                let key = crate::slots::PageKey::new(inner.state.id, self.page.unit());
                inner.cache.forget_page(key);
                inner.release(self.page);
            }
            // Without the certainty that the page left, its space stays taken until the file goes
            // (PC-26).
            Err(_) => {
                inner.owners.lock().remove(&self.page.unit());
            }
        }
    }
}

impl fmt::Debug for TemporaryPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TemporaryPage({})", self.page)
    }
}

/// Bytes of a temporary page, for as long as it is borrowed.
#[derive(Debug)]
pub struct TemporaryPin<'a> {
    pin: PagePin,
    _page: &'a TemporaryPage,
}

impl Deref for TemporaryPin<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pin
    }
}

/// A temporary page and its bytes.
#[derive(Debug)]
pub struct PinnedTemporary {
    // Dropped before the page, which waits for pins to go.
    pin: PagePin,
    page: TemporaryPage,
}

impl PinnedTemporary {
    /// Keeps the page, gives the pin back.
    #[must_use]
    pub fn unpin(self) -> TemporaryPage {
        self.page
    }
}

impl Deref for PinnedTemporary {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pin
    }
}
