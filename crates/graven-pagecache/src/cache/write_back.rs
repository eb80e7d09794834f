//! Writing back: dirty pages go to their file before their frames go to other pages.
//!
//! # How it works
//! A victim search that comes upon a dirty page passes it over like a pinned one and puts it on a
//! list of pages that are *due*; so clean victims go first, and policies need to know nothing. Due
//! pages are written without any lock of the cache held, in the order of the file: by the
//! background evictor once a batch is due, or by a thread that found no frame. A page is locked for
//! as long as sealing it takes and pinned while it is written: readers go on, writers wait. Once
//! written it is clean, and the next search takes it.
//!
//! The owner of the file is asked before each write (a log may have to go first) and told of each
//! result. A page whose write failed stays dirty and in memory; nothing else is disturbed.
//!
//! # Invariants
//! * PC-24: a page is clean only if its file holds what its frame holds: the flag falls while a pin
//!   keeps writers out, after a successful write of bytes sealed under the lock.
//! * PC-25: no write happens under a lock of the cache but the queue of threads that wait for
//!   frames.
#![expect(unsafe_code, reason = "pages are written from frame memory")]

use crate::cache::wait::PROGRESS;
use crate::cache::{FileState, PageCache};
use crate::error::{Error, Result};
use crate::page::{self, PageHeader};
use crate::page_ref::{FileId, PageRef, SizeClass};
use crate::slots::{FLAG_DIRTY, FLAG_DUE, PageKey};
use crate::stats::Event;
use crate::word::{self, state};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many due pages are written in the background without waiting for a need.
pub(crate) const DUE_BATCH: usize = 8;

/// The owner of a file that is written through the cache.
pub trait WriteBack: Send + Sync {
    /// Called before a dirty page is written, without any lock held: the place to make the log
    /// durable up to `lsn`.
    ///
    /// # Errors
    /// The page stays dirty and in memory; [`WriteBack::failed`] is not called.
    fn before_write(&self, page: PageRef, lsn: u64) -> Result<(), graven_io::Error> {
        let _ = (page, lsn);
        Ok(())
    }

    /// The page has been written. Durable only after the file is synced.
    fn written(&self, page: PageRef) {
        let _ = page;
    }

    /// The write failed with `error`; the page stays dirty and in memory until its owner gives it
    /// up.
    fn failed(&self, page: PageRef, error: &Error) {
        let _ = (page, error);
    }

    /// Whether writing `page` is worth trying; `false` after a failure that will not pass.
    fn wants(&self, page: PageRef) -> bool {
        let _ = page;
        true
    }
}

impl PageCache {
    /// Writes all dirty pages of `file` in the order of their offsets; returns how many. Syncing is
    /// the caller's.
    ///
    /// # Errors
    /// The first write that failed, [`Error::InUse`] for a dirty page that stays pinned or locked.
    pub fn flush(&self, id: FileId) -> Result<u64> {
        let file = self.file(id)?;
        let frame_pool = self.frame_pool().lock();
        let slots = 0..frame_pool.slots().count();
        let dirty = slots.filter_map(|slot| {
            let bound = frame_pool.slots().get(slot);
            let page = bound.page().filter(|page| page.file() == id.0)?;
            let class = SizeClass::new(bound.place().class())?;
            bound
                .has(FLAG_DIRTY)
                .then(|| PageRef::new(class, page.unit()))
        });
        let mut dirty: Vec<PageRef> = dirty.collect();
        drop(frame_pool);
        dirty.sort_unstable_by_key(|page| page.unit());
        let mut written = 0;
        for page in dirty {
            if let Some(locked) = self.lock_page(&file, page)? {
                written += u64::from(self.write_locked(&file, &locked)?);
            }
        }
        Ok(written)
    }

    /// Writes the pages that are due; whether any became clean.
    pub(crate) fn write_due(&self) -> bool {
        let mut due: Vec<(PageKey, PageRef)> = {
            let mut frame_pool = self.frame_pool().lock();
            let due = std::mem::take(&mut frame_pool.frames.due);
            let pages = due.into_iter().filter_map(|slot| {
                let bound = frame_pool.slots().get(slot);
                bound.lower(FLAG_DUE);
                let (page, class) = (bound.page()?, SizeClass::new(bound.place().class())?);
                Some((page, PageRef::new(class, page.unit())))
            });
            pages.collect()
        };
        if due.is_empty() {
            return false;
        }
        due.sort_unstable_by_key(|(page, _)| page.0);
        self.writing().fetch_add(1, Ordering::SeqCst);
        let mut any = false;
        for (key, page) in due {
            // Errors have reached the owner.
            any |= self.write_if_idle(key, page).unwrap_or(false);
        }
        self.writing().fetch_sub(1, Ordering::SeqCst);
        PROGRESS.made();
        any
    }

    /// Writes a page unless a thread uses it or has removed it.
    fn write_if_idle(&self, key: PageKey, page: PageRef) -> Result<bool> {
        let file = self.file(FileId(key.file()))?;
        if !file.owner().is_some_and(|owner| owner.wants(page)) {
            return Ok(false);
        }
        let entry = self.tables().entry(file.id, page.unit())?;
        let seen = entry.word().load(Ordering::Acquire);
        if word::state_of(seen) != state::RESIDENT
            || !word::is_class(seen, page.class().index())
            || !word::try_lock(entry.word(), seen)
        {
            return Ok(false);
        }
        self.write_locked(&file, &self.locked(entry, page))
    }

    /// Seals and writes a page that the caller has locked, and lets it go; whether there was
    /// something to write.
    fn write_locked(
        &self,
        file: &Arc<FileState>,
        locked: &crate::cache::exclusive::Locked,
    ) -> Result<bool> {
        let page = locked.page;
        let entry = self.tables().entry(file.id, page.unit())?;
        let slot = self
            .slots()
            .of_frame(word::address_of(entry.word().load(Ordering::Relaxed)).frame())
            .expect("PC-15: an owned word names a frame");
        let bound = self.slots().get(slot);
        let (Some(kind), Some(owner), true) = (bound.kind(), file.owner(), bound.has(FLAG_DIRTY))
        else {
            self.unlock_page(locked, false);
            return Ok(false);
        };
        let start = self.frame_start(bound.place().frame());
        let lsn = {
            // SAFETY: US-9: the word is EXCLUSIVE by this thread.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, page.len_bytes()) };
            let header = PageHeader::read(bytes);
            let length = (header.length as usize).min(page.class().payload_bytes());
            page::seal(bytes, page, kind, header.lsn, length);
            header.lsn
        };
        // From here on a pin keeps the page and its bytes as they are.
        word::publish(entry.word(), 1);
        self.wake_waiters(entry);
        // SAFETY: US-6: this thread holds a pin.
        let bytes = unsafe { std::slice::from_raw_parts(start, page.len_bytes()) };
        let result = owner.before_write(page, lsn).map(|()| {
            file.file
                .write_all_at(bytes, page.offset_bytes())
                .map_err(|source| {
                    let error = self.write_error(file, page, source);
                    owner.failed(page, &error);
                    error
                })
        });
        let result = match result {
            Ok(Ok(())) => {
                if bound.lower(FLAG_DIRTY) {
                    self.uncount_dirty(page.len_bytes() as u64);
                }
                let bytes = page.len_bytes() as u64;
                self.counters().count(kind, Event::BytesWritten, bytes);
                owner.written(page);
                Ok(true)
            }
            Ok(Err(error)) => Err(error),
            Err(source) => Err(self.write_error(file, page, source)),
        };
        word::unpin(entry.word());
        self.wake_waiters(entry);
        result
    }

    fn write_error(&self, file: &FileState, page: PageRef, source: graven_io::Error) -> Error {
        Error::Io {
            file: file.file.path().to_path_buf(),
            page,
            operation: "write",
            source: Arc::new(source),
        }
    }
}
