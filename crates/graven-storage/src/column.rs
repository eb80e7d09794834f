//! One property of nodes, or of the relationships of one type.
//!
//! # How it works
//! A column is a sequence of segments ([`segment`]) found through a [`SegmentMap`]. [`Column::gather`] takes ids in
//! any order: it prefetches the pages of a window of ids, then reads value by value, keeping a page pinned while
//! ids stay in it.

mod bits;
mod front_coding;
pub(crate) mod segment;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use crate::Result;
use crate::chain;
use crate::pages::Pages;
use crate::segment_map::{Located, SegmentMap};
use crate::value::PropertyValue;
use graven_pagecache::{PageKind, PagePin, PageRef};
use segment::{ColumnSegment, Stored};
use std::sync::Arc;

/// Ids whose pages are prefetched together.
const WINDOW: usize = 1024;
/// Pages prefetched together may take this part of the memory limit.
const PREFETCH_SHARE: u64 = 8;

#[derive(Debug)]
struct Inner {
    pages: Arc<Pages>,
    map: SegmentMap,
    kind: PageKind,
}

/// One property of nodes, or of the relationships of one type; cheap to clone.
#[derive(Clone, Debug)]
pub struct Column {
    inner: Arc<Inner>,
}

/// The page that the last id was found in.
type Current = Option<(Located, PagePin)>;

impl Column {
    pub(crate) fn new(pages: Arc<Pages>, map: SegmentMap, kind: PageKind) -> Column {
        Column {
            inner: Arc::new(Inner { pages, map, kind }),
        }
    }

    /// The value of `id`, Null if it has none.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn get(&self, id: u64) -> Result<PropertyValue> {
        let mut current = None;
        self.value(id, &mut current)
    }

    /// Whether `id` has a value.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn has(&self, id: u64) -> Result<bool> {
        let mut current = None;
        Ok(self.find(id, &mut current)?.is_some())
    }

    /// Appends the values of `ids`, in any order, to `out`; Null where there is none.
    ///
    /// # Errors
    /// As [`Column::get`]; `out` may then have some of the values.
    pub fn gather(&self, ids: &[u64], out: &mut Vec<PropertyValue>) -> Result<()> {
        out.reserve(ids.len());
        let mut current = None;
        for window in ids.chunks(WINDOW) {
            self.prefetch(window)?;
            for id in window {
                out.push(self.value(*id, &mut current)?);
            }
        }
        Ok(())
    }

    /// As [`Column::gather`] for integers. If some value is of another type: `false`, and `out` is as before.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn gather_i64(&self, ids: &[u64], out: &mut Vec<Option<i64>>) -> Result<bool> {
        let before = out.len();
        out.reserve(ids.len());
        let mut current = None;
        for window in ids.chunks(WINDOW) {
            self.prefetch(window)?;
            for id in window {
                let Some((segment, rank, page)) = self.find(*id, &mut current)? else {
                    out.push(None);
                    continue;
                };
                if !segment.is_integer() {
                    out.truncate(before);
                    return Ok(false);
                }
                let value = segment.integer(rank);
                out.push(Some(self.inner.pages.checked(
                    page,
                    self.inner.kind,
                    value,
                )?));
            }
        }
        Ok(true)
    }

    /// Starts reading the pages of `ids` if they are more than one.
    fn prefetch(&self, ids: &[u64]) -> Result<()> {
        let Inner { pages, map, kind } = &*self.inner;
        let mut wanted = Vec::new();
        let mut bytes = 0;
        let mut last: Option<Located> = None;
        for id in ids {
            if last.is_some_and(|last| (last.first..last.end).contains(id)) {
                continue;
            }
            if let Ok(located) = map.floor(pages, *id)? {
                bytes += located.page.len_bytes() as u64;
                wanted.push(located.page);
                last = Some(located);
            }
            if bytes > pages.budget().limit() / PREFETCH_SHARE {
                break;
            }
        }
        if wanted.len() > 1 {
            wanted.sort_unstable_by_key(|page| page.unit());
            wanted.dedup();
            pages.prefetch(&wanted, *kind);
        }
        Ok(())
    }

    /// The segment and rank of the value of `id`; its page stays in `current`.
    fn find<'c>(
        &self,
        id: u64,
        current: &'c mut Current,
    ) -> Result<Option<(ColumnSegment<'c>, usize, PageRef)>> {
        let Inner { pages, map, kind } = &*self.inner;
        if !current
            .as_ref()
            .is_some_and(|(located, _)| (located.first..located.end).contains(&id))
        {
            // The old page is let go before the next one is pinned.
            *current = None;
            let Ok(located) = map.floor(pages, id)? else {
                return Ok(None);
            };
            *current = Some((located, pages.pin(located.page, *kind)?));
        }
        let (located, pin) = current.as_ref().expect("just set");
        let segment = pages.checked(located.page, *kind, ColumnSegment::read(pin))?;
        Ok(segment.rank(id).map(|rank| (segment, rank, located.page)))
    }

    fn value(&self, id: u64, current: &mut Current) -> Result<PropertyValue> {
        let Inner { pages, kind, .. } = &*self.inner;
        let Some((segment, rank, page)) = self.find(id, current)? else {
            return Ok(PropertyValue::Null);
        };
        match pages.checked(page, *kind, segment.value(rank))? {
            Stored::Value(value) => Ok(value),
            Stored::Overflow(head) => {
                let bytes = chain::read(pages, head, PageKind::Overflow, |_| ())?;
                pages.checked(head, PageKind::Overflow, segment.long_value(&bytes))
            }
        }
    }
}
