//! Pins: the right to read a page's bytes for as long as one holds it.
//!
//! # How it works
//! A pin is the address of the page and of its entry word. Dropping it gives the pin back with one
//! atomic subtraction. It holds no counted reference to the cache, because counting would make
//! every pin of every thread write one shared line; a cache that is dropped while pins exist leaks
//! its memory instead (see `PageCache`'s `Drop`).
//!
//! # Invariants
//! * US-6: while a pin exists its page is not evicted, moved or written, and its frame stays
//!   mapped; so the bytes are immutable and may be borrowed.
#![expect(unsafe_code, reason = "a pin lends frame memory")]

use crate::cache::wait::PROGRESS;
use crate::page::{HEADER_BYTES, LENGTH, PageHeader};
use crate::page_ref::{SizeClass, UNIT_BYTES};
use crate::word;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

/// Keeps a page in memory and lends its bytes.
pub struct PagePin {
    word: &'static AtomicU64,
    start: *const u8,
    class: u8,
}

// SAFETY: US-6: the bytes are immutable while the pin exists, whichever thread holds it; giving the
// pin back is one atomic operation.
unsafe impl Send for PagePin {}
// SAFETY: as above: shared access only reads immutable bytes.
unsafe impl Sync for PagePin {}

impl PagePin {
    /// Wraps a pin that the caller has taken in `word`.
    ///
    /// # Safety
    /// The caller took one pin, `start` is the page's frame and `class` its class, and US-6 holds
    /// from now on.
    #[inline(always)]
    pub(crate) unsafe fn new(word: &'static AtomicU64, start: *const u8, class: u8) -> PagePin {
        PagePin { word, start, class }
    }

    /// The whole page, header included.
    #[must_use]
    #[inline]
    pub fn page(&self) -> &[u8] {
        // SAFETY: US-6; a frame of class c is `4 KiB << c` initialised bytes.
        unsafe { std::slice::from_raw_parts(self.start, UNIT_BYTES << self.class) }
    }

    /// Size class of the page.
    #[must_use]
    pub fn class(&self) -> SizeClass {
        SizeClass::new(self.class).unwrap_or(SizeClass::MAX)
    }

    /// The page's header.
    #[must_use]
    pub fn header(&self) -> PageHeader {
        PageHeader::read(self.page())
    }
}

/// The payload: the bytes behind the header, as many as the header says.
impl Deref for PagePin {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let page = self.page();
        let length = u32::from_le_bytes(page[LENGTH].try_into().expect("four bytes")) as usize;
        // Verification has checked the length; without it, it may be anything.
        &page[HEADER_BYTES..HEADER_BYTES + length.min(page.len() - HEADER_BYTES)]
    }
}

impl Drop for PagePin {
    #[inline(always)]
    fn drop(&mut self) {
        word::unpin(self.word);
        PROGRESS.made();
    }
}

impl fmt::Debug for PagePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagePin")
            .field("header", &self.header())
            .finish()
    }
}
