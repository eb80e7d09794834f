//! What a cache holds at the moment, page by page.

use crate::cache::PageCache;
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef, SizeClass};
use crate::slots::{FLAG_AHEAD, FLAG_DIRTY};
use crate::word;
use std::sync::atomic::Ordering;

/// A page in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resident {
    /// The file it belongs to.
    pub file: FileId,
    /// The page.
    pub page: PageRef,
    /// What it holds.
    pub kind: PageKind,
    /// A thread has it pinned.
    pub pinned: bool,
    /// The file does not hold yet what the page holds.
    pub dirty: bool,
    /// It was read ahead and no thread has used it yet.
    pub ahead: bool,
}

impl PageCache {
    /// All pages in memory, in no order; those that come and go meanwhile may be missing.
    #[must_use]
    pub fn residents(&self) -> Vec<Resident> {
        let frame_pool = self.frame_pool().lock();
        let slots = frame_pool.slots();
        let resident = |slot: u32| {
            let bound = slots.get(slot);
            let seen = bound.entry()?.word().load(Ordering::Acquire);
            let (key, class) = (bound.page()?, SizeClass::new(bound.place().class())?);
            Some(Resident {
                file: FileId(key.file()),
                page: PageRef::new(class, key.unit()),
                kind: bound.kind()?,
                pinned: word::pins_of(seen) > 0,
                dirty: bound.has(FLAG_DIRTY),
                ahead: bound.has(FLAG_AHEAD),
            })
        };
        (0..slots.count()).filter_map(resident).collect()
    }
}
