//! The pages of one open file, read through the page cache.

use crate::bytes::{Decoded, Malformed};
use crate::{Error, Result};
use graven_io::File;
use graven_pagecache::page::HEADER_BYTES;
use graven_pagecache::{Budget, FileId, PageCache, PageKind, PagePin, PageRef};
use std::path::Path;
use std::sync::Arc;

/// Pages prefetched together may take this part of the memory limit.
const PREFETCH_SHARE: u64 = 8;

/// One open file within a page cache; leaves the cache when dropped.
#[derive(Debug)]
pub(crate) struct Pages {
    cache: Arc<PageCache>,
    id: FileId,
    file: Arc<dyn File>,
}

impl Pages {
    pub(crate) fn open(file: Arc<dyn File>, cache: Arc<PageCache>) -> Result<Pages> {
        let id = cache.add_file(file.clone())?;
        Ok(Pages { cache, id, file })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    pub(crate) fn cache(&self) -> &Arc<PageCache> {
        &self.cache
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        self.cache.budget()
    }

    #[inline]
    pub(crate) fn pin(&self, page: PageRef, kind: PageKind) -> Result<PagePin> {
        Ok(self.cache.pin(self.id, page, kind)?)
    }

    /// As [`Pages::pin`], for a page of a scan: others' pages stay.
    pub(crate) fn pin_scanned(&self, page: PageRef, kind: PageKind) -> Result<PagePin> {
        Ok(self.cache.pin_scanned(self.id, page, kind)?)
    }

    /// As [`Pages::prefetch`], for pages of a scan.
    pub(crate) fn prefetch_scanned(&self, pages: &[PageRef], kind: PageKind) -> usize {
        self.cache.prefetch_scanned(self.id, pages, kind)
    }

    /// Whether pages of `file` are these.
    pub(crate) fn holds(&self, file: FileId) -> bool {
        self.id == file
    }

    /// Bytes of pages that may be prefetched together.
    pub(crate) fn prefetch_bytes(&self) -> u64 {
        self.budget().limit() / PREFETCH_SHARE
    }

    /// Starts reading; how many of the first pages need no further call.
    pub(crate) fn prefetch(&self, pages: &[PageRef], kind: PageKind) -> usize {
        self.cache.prefetch(self.id, pages, kind)
    }

    /// Whether reading the page has not begun: a hint.
    pub(crate) fn is_absent(&self, page: PageRef) -> bool {
        self.cache.is_absent(self.id, page)
    }

    /// Brings pages into memory in this order, many reads at once.
    pub(crate) fn touch_all(&self, pages: &[PageRef], kind: PageKind) -> Result<()> {
        self.cache
            .pin_many(self.id, pages, kind, |_, _| Ok::<(), crate::Error>(()))
    }

    /// Whether the page is in memory: a hint.
    pub(crate) fn is_resident(&self, page: PageRef) -> bool {
        self.cache.is_resident(self.id, page)
    }

    /// Drops a page that was freed from the cache; `false` while a thread has it pinned.
    pub(crate) fn drop_page(&self, page: PageRef) -> Result<bool> {
        match self.cache.drop_page(self.id, page) {
            Ok(()) => Ok(true),
            Err(graven_pagecache::Error::InUse { .. }) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Turns what a decoder found into an error that names file and page.
    pub(crate) fn checked<T>(
        &self,
        page: PageRef,
        kind: PageKind,
        decoded: Decoded<T>,
    ) -> Result<T> {
        decoded.map_err(|Malformed(what)| Error::Damaged {
            path: self.path().to_path_buf(),
            page,
            kind: kind.name(),
            what,
        })
    }

    /// A page reference read from a page, checked to lie inside what references can name.
    pub(crate) fn reference(raw: u64) -> Decoded<PageRef> {
        PageRef::from_raw(raw)
            .ok_or_else(|| Malformed(format!("page reference {raw:#018x} is malformed")))
    }
}

/// The payload of a pinned page together with the zero bytes behind it: room for reading ahead.
#[inline]
pub(crate) fn padded_payload(pin: &PagePin) -> &[u8] {
    &pin.page()[HEADER_BYTES..]
}

impl Drop for Pages {
    fn drop(&mut self) {
        // A page may still be pinned by a value that outlives the store; the cache then keeps the
        // file.
        let _ = self.cache.remove_file(self.id);
    }
}
