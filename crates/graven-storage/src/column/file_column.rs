//! What the file holds of a column.
//!
//! # How it works
//! Ids are taken run by run, a run being ids that stay in one segment: its page is pinned and
//! checked once; [`FileColumn::prefetch`] loads the pages of a window of ids. Ids that come closely
//! one after the other, in a column larger than a quarter of the memory, are a scan: its pages do
//! not displace what others come back to.

use super::segment::{ColumnSegment, Stored};
use crate::Result;
use crate::overflow_pages;
use crate::pages::Pages;
use crate::segment_map::{Located, SegmentMap};
use graven_pagecache::{PageKind, PagePin, PageRef};
use graven_types::PropertyValue;
use std::ops::Range;
use std::sync::Arc;

/// Ids that have their pages prefetched together.
pub(super) const WINDOW: usize = 1024;
/// A column is scanned if it is larger than this part of the memory limit,
const SCAN_SHARE: u64 = 4;
/// and so many ids in a row span at most [`SCAN_GAP`] times as many.
const SCAN_IDS: usize = 256;
const SCAN_GAP: u64 = 4;
/// Values are looked through one after the other for a wanted one, where they are at most so many
/// times those that are asked for.
const FIND_SHARE: usize = 4;
/// Values of commits are asked room for from so many bytes on; those of the file where they have
/// pages of their own.
pub(super) const LONG_BYTES: u64 = 4 << 10;

/// The values of a property that the file holds.
#[derive(Debug)]
pub(super) struct FileColumn {
    pub(super) pages: Arc<Pages>,
    pub(super) map: SegmentMap,
    pub(super) kind: PageKind,
    /// Bytes of all segments, about.
    pub(super) bytes: u64,
}

impl FileColumn {
    /// Hands `ids` in runs to `take` until it gives `false`; whether it never did. Each segment is
    /// pinned and checked once a run.
    pub(super) fn runs(
        &self,
        ids: &[u64],
        mut take: impl FnMut(Run<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let mut current = Current::default();
        for window in ids.chunks(WINDOW) {
            let is_dense = are_dense(window);
            current.is_scan = is_dense && self.is_large();
            self.prefetch(window, is_dense)?;
            let mut from = 0;
            while from < window.len() {
                let goes_on = match self.locate(window[from], &mut current)? {
                    None => {
                        let ids = &window[from..=from];
                        from += 1;
                        take(Run::Nowhere { ids })?
                    }
                    Some((located, pin)) => {
                        let covered = located.first..located.end;
                        let rest = &window[from..];
                        let len = rest.iter().take_while(|id| covered.contains(id)).count();
                        from += len;
                        let read = ColumnSegment::read(pin);
                        let segment = self.pages.checked(located.page, self.kind, read)?;
                        take(Run::Here {
                            segment: &segment,
                            page: located.page,
                            ids: &rest[..len],
                        })?
                    }
                };
                if !goes_on {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// As [`Column::find_text`]; always `true`.
    pub(super) fn find_text(&self, ids: &[u64], text: &str, out: &mut Vec<u32>) -> Result<bool> {
        let mut begin = 0;
        self.runs(ids, |run| {
            let start = begin;
            begin += run.ids().len() as u32;
            let Run::Here { segment, page, ids } = run else {
                return Ok(true);
            };
            let rank_of = |id: &u64| segment.rank(*id);
            let ends = ids.iter().find_map(rank_of);
            let Some((first, last)) = ends.zip(ids.iter().rev().find_map(rank_of)) else {
                return Ok(true);
            };
            // All between them are looked at, if they are not many more.
            let mut found = Vec::new();
            let texts = last - first < FIND_SHARE * ids.len() && {
                let add = |rank, is| found.push((rank, is));
                let all = segment.find_texts(first..last + 1, text, add);
                self.pages.checked(page, self.kind, all)?
            };
            if texts && found.is_empty() {
                return Ok(true);
            }
            for (at, id) in (start..).zip(ids) {
                let Some(rank) = segment.rank(*id) else {
                    continue;
                };
                let known = match texts {
                    true => match found.binary_search_by_key(&rank, |(rank, _)| *rank) {
                        Ok(place) => found[place].1.then_some(true),
                        Err(_) => Some(false),
                    },
                    false => None,
                };
                let is_text = match known {
                    Some(known) => known,
                    // One of another length is not it.
                    None => match self
                        .stored(segment, rank, page, &mut |bytes| bytes == text.len() as u64)?
                    {
                        Some(PropertyValue::String(own)) => *own == *text,
                        _ => false,
                    },
                };
                if is_text {
                    out.push(at);
                }
            }
            Ok(true)
        })
    }

    /// Appends the values of `ids`; `false` if some have none or none that is an integer.
    pub(super) fn integers_of(&self, ids: &[u64], out: &mut Vec<i64>) -> Result<bool> {
        out.reserve(ids.len());
        self.runs(ids, |run| {
            let Run::Here { segment, page, ids } = run else {
                return Ok(false);
            };
            if !segment.is_integer() {
                return Ok(false);
            }
            let mut reader = segment.integers();
            for id in ids {
                let Some(rank) = segment.rank(*id) else {
                    return Ok(false);
                };
                out.push(self.pages.checked(page, self.kind, reader.get(rank))?);
            }
            Ok(true)
        })
    }

    /// As [`FileColumn::integers_of`] for ids one after the other; segments that have no value for
    /// some of their ids are given up.
    pub(super) fn integers_in(&self, ids: Range<u64>, out: &mut Vec<i64>) -> Result<bool> {
        let ends = [ids.start, ids.end - 1];
        out.reserve((ids.end - ids.start) as usize);
        let is_dense = ids.end - ids.start >= SCAN_IDS as u64;
        let mut current = Current {
            page: None,
            is_scan: is_dense && self.is_large(),
        };
        self.prefetch(&ends, is_dense)?;
        let mut from = ids.start;
        while from < ids.end {
            let Some((located, pin)) = self.locate(from, &mut current)? else {
                return Ok(false);
            };
            let to = located.end.min(ids.end);
            let read = ColumnSegment::read(pin);
            let segment = self.pages.checked(located.page, self.kind, read)?;
            if !segment.is_integer() {
                return Ok(false);
            }
            let appended = segment.append_integers(from..to, out);
            if !self.pages.checked(located.page, self.kind, appended)? {
                return Ok(false);
            }
            from = to;
        }
        Ok(true)
    }

    /// Whether a scan of the column would displace much of what is in memory.
    fn is_large(&self) -> bool {
        self.bytes > self.pages.budget().limit() / SCAN_SHARE
    }

    /// Adds the pages behind `last` to those wanted, as many as a request carries, unless half of
    /// them are on their way.
    fn look_ahead(&self, last: Located, wanted: &mut Vec<PageRef>) -> Result<()> {
        let FileColumn { pages, map, .. } = self;
        let most = pages.prefetch_bytes();
        let most = most.min(pages.file().request_bytes());
        let needed = wanted.iter().any(|page| pages.is_absent(*page));
        let (mut bytes, mut end, before) = (0, last.end, wanted.len());
        while bytes < most && end != u64::MAX {
            let Ok(located) = map.floor(pages, end)? else {
                break;
            };
            bytes += located.page.len_bytes() as u64;
            end = located.end;
            wanted.push(located.page);
        }
        let middle = wanted.get(before + (wanted.len() - before) / 2);
        if !needed && !middle.is_some_and(|page| pages.is_absent(*page)) {
            wanted.truncate(before);
        }
        Ok(())
    }

    /// Starts reading the pages of `ids` if they are more than one. A scan of a file with
    /// expensive requests also reads the pages after them.
    fn prefetch(&self, ids: &[u64], is_dense: bool) -> Result<()> {
        let FileColumn {
            pages, map, kind, ..
        } = self;
        if ids.len() < 2 {
            return Ok(());
        }
        let mut wanted = Vec::new();
        let mut bytes = 0;
        let mut last: Option<Located> = None;
        for id in ids {
            if last.is_some_and(|last| (last.first..last.end).contains(id)) {
                continue;
            }
            if let Ok(located) = map.floor(pages, *id)? {
                bytes += located.page.len_bytes() as u64;
                // A page that is alone is read when it is needed.
                if let Some(before) = last.replace(located) {
                    if wanted.is_empty() {
                        wanted.push(before.page);
                    }
                    wanted.push(located.page);
                }
            }
            if bytes > pages.prefetch_bytes() {
                break;
            }
        }
        if is_dense
            && pages.file().request_bytes() > 0
            && let Some(last) = last
        {
            if wanted.is_empty() {
                wanted.push(last.page);
            }
            self.look_ahead(last, &mut wanted)?;
        }
        if wanted.len() > 1 {
            wanted.sort_unstable_by_key(|page| page.unit());
            wanted.dedup();
            if is_dense && self.is_large() {
                pages.prefetch_scanned(&wanted, *kind);
            } else {
                pages.prefetch(&wanted, *kind);
            }
        }
        Ok(())
    }

    /// The place of the segment that `id` belongs to, which stays pinned in `current`; none before
    /// the first one.
    fn locate<'c>(
        &self,
        id: u64,
        current: &'c mut Current,
    ) -> Result<Option<&'c (Located, PagePin)>> {
        let FileColumn {
            pages, map, kind, ..
        } = self;
        if !current
            .page
            .as_ref()
            .is_some_and(|(located, _)| (located.first..located.end).contains(&id))
        {
            // The old page is let go before the next one is pinned.
            current.page = None;
            let Ok(located) = map.floor(pages, id)? else {
                return Ok(None);
            };
            let pin = if current.is_scan {
                pages.pin_scanned(located.page, *kind)?
            } else {
                pages.pin(located.page, *kind)?
            };
            current.page = Some((located, pin));
        }
        Ok(current.page.as_ref())
    }

    /// The segment and rank of the value of `id`; its page stays in `current`.
    pub(super) fn find<'c>(
        &self,
        id: u64,
        current: &'c mut Current,
    ) -> Result<Option<(ColumnSegment<'c>, usize, PageRef)>> {
        let Some((located, pin)) = self.locate(id, current)? else {
            return Ok(None);
        };
        let segment = ColumnSegment::read(pin);
        let segment = self.pages.checked(located.page, self.kind, segment)?;
        Ok(segment.rank(id).map(|rank| (segment, rank, located.page)))
    }

    pub(super) fn value(
        &self,
        id: u64,
        current: &mut Current,
        room: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<PropertyValue>> {
        match self.find(id, current)? {
            Some((segment, rank, page)) => self.stored(&segment, rank, page, room),
            None => Ok(Some(PropertyValue::Null)),
        }
    }

    /// The value of `rank` in the segment on `page`; `None` if there is no `room` for it.
    pub(super) fn stored(
        &self,
        segment: &ColumnSegment<'_>,
        rank: usize,
        page: PageRef,
        room: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<PropertyValue>> {
        let FileColumn { pages, kind, .. } = self;
        match pages.checked(page, *kind, segment.value(rank))? {
            Stored::Value(value) => Ok(has_room(&value, room).then_some(value)),
            Stored::Overflow(head) => {
                if !room(overflow_pages::length(pages, head, PageKind::Overflow)?) {
                    return Ok(None);
                }
                let bytes = overflow_pages::read(pages, head, PageKind::Overflow, |_| ())?;
                // The items of a list take more than their bytes.
                let items = segment.bytes_of_items(&bytes);
                let items = pages.checked(head, PageKind::Overflow, items)?;
                if items > bytes.len() as u64 && !room(items) {
                    return Ok(None);
                }
                let value = pages.checked(head, PageKind::Overflow, segment.long_value(&bytes));
                value.map(Some)
            }
        }
    }
}

/// Consecutive ids with values in one segment, if they have any.
pub(super) enum Run<'a> {
    Here {
        segment: &'a ColumnSegment<'a>,
        page: PageRef,
        ids: &'a [u64],
    },
    /// Before the first segment.
    Nowhere { ids: &'a [u64] },
}

impl Run<'_> {
    pub(super) fn ids(&self) -> &[u64] {
        match self {
            Run::Here { ids, .. } | Run::Nowhere { ids } => ids,
        }
    }
}

/// Where a reader is: the page that the last id was found in, and whether it scans.
#[derive(Default)]
pub(super) struct Current {
    page: Option<(Located, PagePin)>,
    is_scan: bool,
}

/// Whether many ids come closely one after the other.
pub(super) fn are_dense(ids: &[u64]) -> bool {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return false;
    };
    ids.len() >= SCAN_IDS && *last > *first && last - first < ids.len() as u64 * SCAN_GAP
}

/// Whether each id is the one before plus one.
#[must_use]
pub fn is_consecutive(ids: &[u64]) -> bool {
    /// Ids that are looked at together, without a way out between them.
    const TOGETHER: usize = 64;
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return false;
    };
    if last.checked_sub(*first) != Some(ids.len() as u64 - 1) || *last == u64::MAX {
        return false;
    }
    let follow = |(from, ids): (u64, &[u64])| {
        let wanted = (from..).zip(ids);
        !wanted.fold(false, |other, (wanted, id)| other | (wanted != *id))
    };
    let starts = (*first..).step_by(TOGETHER);
    starts.zip(ids.chunks(TOGETHER)).all(follow)
}

/// Whether there is room for a value from commits, which is there already.
pub(super) fn has_room(value: &PropertyValue, room: &mut dyn FnMut(u64) -> bool) -> bool {
    let bytes = value.heap_bytes();
    bytes < LONG_BYTES || room(bytes)
}
