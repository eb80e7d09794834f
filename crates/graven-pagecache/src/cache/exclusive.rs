//! Exclusive guards: the right to change a page's bytes, and new pages that no file knows yet.
//!
//! # How it works
//! A page is locked when no thread pins it: its word goes from RESIDENT to EXCLUSIVE, and
//! optimistic readers under way start again. A guard that lets go after a change leaves the page
//! *dirty*: it raises a flag in the page's slot before it unlocks the word. So a thread that sees
//! the unlocked word sees the flag. A new page gets a frame like a fault, without the read.
//!
//! # Invariants
//! * PC-23: a dirty page leaves its frame only when it has been written or its owner gave it up.
//! * US-9: while a guard exists its word is EXCLUSIVE, and the frame's bytes belong to the guard
//!   alone.
//!
//! # Concurrency
//! A guard holds no lock of the cache. Another thread that needs the page waits for the word to
//! change.
#![expect(unsafe_code, reason = "a guard lends frame memory for writing")]

use crate::cache::frame_pool::Incoming;
use crate::cache::{FileState, PageCache};
use crate::error::{Error, Result};
use crate::page::{self, HEADER_BYTES, LENGTH};
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef};
use crate::slots::{FLAG_DIRTY, NO_IO_QUEUE, PageKey};
use crate::table::Entry;
use crate::word::{self, state};
use graven_policy::Hint;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A locked page: where its word, slot and bytes are. Given back by [`PageCache::unlock_page`].
pub(crate) struct Locked {
    entry: Entry,
    slot: u32,
    start: *mut u8,
    pub(crate) page: PageRef,
}

// SAFETY: US-9: the bytes belong to the holder of this value, on any thread.
unsafe impl Send for Locked {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Locked {}

impl Locked {
    /// The whole page.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: US-9; a frame is as long as its page.
        unsafe { std::slice::from_raw_parts(self.start, self.page.len_bytes()) }
    }

    /// The whole page, for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: US-9; a frame is as long as its page.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.page.len_bytes()) }
    }

    /// Bytes of the payload as the header says.
    pub(crate) fn length(&self) -> usize {
        let length = u32::from_le_bytes(self.bytes()[LENGTH].try_into().expect("four bytes"));
        (length as usize).min(self.page.class().payload_bytes())
    }

    /// Says how many bytes behind the header are payload.
    pub(crate) fn set_length(&mut self, length: usize) {
        assert!(
            length <= self.page.class().payload_bytes(),
            "PC-1: the payload fits behind the header"
        );
        self.bytes_mut()[LENGTH].copy_from_slice(&(length as u32).to_le_bytes());
    }
}

/// The right to change one page; see [`PageCache::pin_exclusive`]. Derefs to the whole room behind
/// the header.
pub struct PageGuard<'a> {
    cache: &'a PageCache,
    locked: Option<Locked>,
    changed: bool,
}

impl PageGuard<'_> {
    fn locked(&self) -> &Locked {
        self.locked.as_ref().expect("held until the drop")
    }

    fn locked_mut(&mut self) -> &mut Locked {
        self.changed = true;
        self.locked.as_mut().expect("held until the drop")
    }

    /// The page.
    #[must_use]
    pub fn page(&self) -> PageRef {
        self.locked().page
    }

    /// Bytes of the payload.
    #[must_use]
    pub fn length(&self) -> usize {
        self.locked().length()
    }

    /// Says how many bytes behind the header are payload.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn set_length(&mut self, length: usize) {
        self.locked_mut().set_length(length);
    }

    /// Says which log position the page must not be written before; see
    /// [`crate::WriteBack::before_write`].
    pub fn set_lsn(&mut self, lsn: u64) {
        page::set_lsn(self.locked_mut().bytes_mut(), lsn);
    }
}

impl Deref for PageGuard<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.locked().bytes()[HEADER_BYTES..]
    }
}

impl DerefMut for PageGuard<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.locked_mut().bytes_mut()[HEADER_BYTES..]
    }
}

impl Drop for PageGuard<'_> {
    fn drop(&mut self) {
        if let Some(locked) = self.locked.take() {
            self.cache.unlock_page(&locked, self.changed);
        }
    }
}

impl PageCache {
    /// Locks a page for writing, bringing it in if need be and waiting for pins to be given back.
    /// What is changed reaches the file by [`PageCache::flush`] or when the page is evicted.
    ///
    /// # Errors
    /// As [`PageCache::pin`]; [`Error::InUse`] when others keep the page pinned for longer than a
    /// fault waits for a frame; [`Error::ReadOnly`] for a file added by [`PageCache::add_file`].
    pub fn pin_exclusive(
        &self,
        id: FileId,
        page: PageRef,
        kind: PageKind,
    ) -> Result<PageGuard<'_>> {
        let file = self.file(id)?;
        file.check_writable()?;
        loop {
            drop(self.pin(id, page, kind)?);
            if let Some(locked) = self.lock_page(&file, page)? {
                return Ok(PageGuard {
                    cache: self,
                    locked: Some(locked),
                    changed: false,
                });
            }
        }
    }

    /// Makes `page` in memory, empty and locked, without reading it; its old content, if any, is
    /// lost.
    ///
    /// # Errors
    /// As [`PageCache::pin_exclusive`].
    pub fn create_page(&self, id: FileId, page: PageRef, kind: PageKind) -> Result<PageGuard<'_>> {
        let file = self.file(id)?;
        file.check_writable()?;
        Ok(PageGuard {
            locked: Some(self.create_locked(&file, page, kind)?),
            cache: self,
            changed: true,
        })
    }

    /// Locks a resident page once no thread pins it; `None` if it left memory.
    pub(crate) fn lock_page(&self, file: &FileState, page: PageRef) -> Result<Option<Locked>> {
        let entry = self.tables().entry(file.id, page.unit())?;
        let started = Instant::now();
        let mut round = 0;
        loop {
            let seen = entry.word().load(Ordering::Acquire);
            match word::state_of(seen) {
                state::ABSENT | state::ARRIVED => return Ok(None),
                // A page of another size took its place in the file: this one left.
                state::RESIDENT if !word::is_class(seen, page.class().index()) => return Ok(None),
                state::RESIDENT => {
                    if word::try_lock(entry.word(), seen) {
                        return Ok(Some(self.locked(entry, page)));
                    }
                }
                _ if word::is_readable(seen) => {
                    if started.elapsed() > self.frame_wait() {
                        return Err(Error::InUse {
                            what: page.to_string(),
                            pinned_pages: 1,
                        });
                    }
                    self.wait_for_change(entry, seen, &mut round);
                }
                _ => self.await_change(file, entry, seen, &mut round)?,
            }
        }
    }

    /// The page whose word the caller has made EXCLUSIVE.
    pub(crate) fn locked(&self, entry: Entry, page: PageRef) -> Locked {
        let frame = word::address_of(entry.word().load(Ordering::Relaxed)).frame();
        let slot = self.slots().of_frame(frame);
        Locked {
            entry,
            slot: slot.expect("PC-15: an owned word names a frame"),
            start: self.frame_start(frame),
            page,
        }
    }

    /// Lets a locked page go, dirty if it was changed.
    pub(crate) fn unlock_page(&self, locked: &Locked, changed: bool) {
        if changed && !self.slots().get(locked.slot).raise(FLAG_DIRTY) {
            self.count_dirty(locked.page.len_bytes() as u64);
        }
        let place = self.slots().get(locked.slot).place();
        word::unlock(locked.entry.word(), place, state::RESIDENT);
        self.wake_waiters(locked.entry);
    }

    /// Finds a frame for `page` and hands it out locked, with an empty payload.
    pub(crate) fn create_locked(
        &self,
        file: &FileState,
        page: PageRef,
        kind: PageKind,
    ) -> Result<Locked> {
        let entry = self.tables().entry(file.id, page.unit())?;
        loop {
            let version = self.next_version();
            self.tables().enter(entry);
            if word::reserve(entry.word(), version) {
                break;
            }
            self.leave(entry);
            self.discard_page(file, page)?;
        }
        let incoming = Incoming {
            key: PageKey::new(file.id, page.unit()),
            entry,
            class: page.class(),
            kind,
            hint: Hint::Normal,
            flags: 0,
            io_queue: NO_IO_QUEUE,
        };
        if let Err(error) = self.place_or_wait(&incoming) {
            self.abandon(entry);
            return Err(error);
        }
        file.extend_to(page);
        word::hold(entry.word());
        let mut locked = self.locked(entry, page);
        page::begin(locked.bytes_mut(), page, kind);
        Ok(locked)
    }

    /// Drops a page without writing it, waiting for others' short work on it.
    ///
    /// # Errors
    /// A queue of reads that cannot be driven; [`Error::InUse`] while the page stays pinned.
    pub(crate) fn discard_page(&self, file: &FileState, page: PageRef) -> Result<()> {
        let entry = self.tables().entry(file.id, page.unit())?;
        let key = PageKey::new(file.id, page.unit());
        let started = Instant::now();
        let mut round = 0;
        loop {
            let seen = entry.word().load(Ordering::Acquire);
            match word::state_of(seen) {
                state::ABSENT => return Ok(()),
                state::RESIDENT | state::ARRIVED => {
                    self.remove_named(key, seen);
                }
                _ if word::is_readable(seen) && started.elapsed() > self.frame_wait() => {
                    return Err(Error::InUse {
                        what: page.to_string(),
                        pinned_pages: 1,
                    });
                }
                _ if word::is_readable(seen) => self.wait_for_change(entry, seen, &mut round),
                _ => self.await_change(file, entry, seen, &mut round)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Config, Evictor, SizeClass, WriteBack};
    use graven_io::MemoryFile;
    use std::sync::Arc;

    struct Owner;

    impl WriteBack for Owner {}

    fn page(number: u64) -> PageRef {
        PageRef::new(SizeClass::KIB_64, number * SizeClass::KIB_64.units())
    }

    fn create(cache: &PageCache, id: FileId, page: PageRef, content: u8) {
        let mut guard = cache.create_page(id, page, PageKind::Adjacency).unwrap();
        guard[..100].fill(content);
        guard.set_length(100);
    }

    /// Goal: a thread gives a page up by a word that it read before it took the frame pool lock. A
    /// dirty page that got the frame after that read stays. Method: the steps of `discard_page` and
    /// `drop_page` with an eviction and a new page between them.
    #[test]
    fn giving_a_page_up_spares_the_next_page_of_its_frame() {
        let mut config = Config::new(Budget::new(1 << 20));
        config.evictor = Evictor::Cooperative;
        let cache = PageCache::new(config).unwrap();
        let file = Arc::new(MemoryFile::new("pages"));
        let id = cache.add_writable_file(file, Arc::new(Owner)).unwrap();
        let word = |page: PageRef| {
            let entry = cache.tables().entry(id.0, page.unit()).unwrap();
            entry.word().load(Ordering::Acquire)
        };
        create(&cache, id, page(0), 1);
        cache.flush(id).unwrap();
        let seen = word(page(0));
        assert_eq!(cache.drop_all(), 1, "evicted: it was clean");
        create(&cache, id, page(1), 2);
        assert_eq!(word::address_of(word(page(1))), word::address_of(seen));

        assert!(!cache.remove_named(PageKey::new(id.0, page(0).unit()), seen));
        cache.drop_page(id, page(0)).unwrap();
        assert_eq!(cache.stats().dirty_bytes, SizeClass::KIB_64.bytes() as u64);
        let pin = cache.pin(id, page(1), PageKind::Adjacency).unwrap();
        assert_eq!(pin[..], [2; 100]);
        drop(pin);

        let seen = word(page(1));
        assert!(cache.remove_named(PageKey::new(id.0, page(1).unit()), seen));
        assert_eq!(cache.stats().dirty_bytes, 0);
        cache.check().unwrap();
    }
}
