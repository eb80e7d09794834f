//! Where pages are written to that have no place yet, or have one that was reserved.

use graven_pagecache::{PageKind, PageRef, SizeClass};

use crate::Result;

/// Where new pages go: behind each other in bulk writing, into free space in a checkpoint.
pub(crate) trait PageOutput {
    /// Writes `payload` as a page of `kind` and tells where it went.
    fn append(&self, kind: PageKind, payload: &[u8]) -> Result<PageRef>;
}

/// Takes pages whose places were reserved before their content was known.
pub(crate) trait ReservedPages {
    /// A place for a page.
    fn reserve(&self, class: SizeClass) -> Result<PageRef>;

    /// Writes `payload` to a reserved place; the reference with its seal.
    fn write(&self, page: PageRef, kind: PageKind, payload: &[u8]) -> Result<PageRef>;
}
