//! One property of nodes, or of the relationships of one type.
//!
//! # How it works
//! A column is a sequence of segments ([`segment`]) found through a [`SegmentMap`].
//! [`Column::gather`] takes ids in any order: it prefetches the pages of a window of ids, then
//! reads run by run, a run being ids that stay in one segment, whose page is pinned and checked
//! once. Ids that come closely one after the other, in a column larger than a quarter of the
//! memory, are a scan: its pages do not displace what others come back to. What was changed since
//! the segments were written comes from the column's overlay.

mod bits;
pub(crate) mod cutter;
mod front_coding;
mod plain_texts;
pub(crate) mod segment;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use crate::Result;
use crate::delta::change::ColumnOf;
use crate::delta::overlay::{ColumnOverlay, Top};
use crate::overflow_pages;
use crate::pages::Pages;
use crate::segment_map::{Located, SegmentMap};
use graven_pagecache::{PageKind, PagePin, PageRef};
use graven_types::PropertyValue;
use segment::{ColumnSegment, Stored};
use std::ops::Range;
use std::sync::Arc;

/// Ids whose pages are prefetched together.
const WINDOW: usize = 1024;
/// Values of commits are asked room for from so many bytes on; those of the file where they have
/// pages of their own.
const LONG_BYTES: u64 = 4 << 10;
/// See [`Column::each`].
const EACH_BYTES: u64 = 256 << 10;
/// A column is scanned if it is larger than this part of the memory limit,
const SCAN_SHARE: u64 = 4;
/// and so many ids in a row span at most [`SCAN_GAP`] times as many.
const SCAN_IDS: usize = 256;
const SCAN_GAP: u64 = 4;
/// Values are looked through one after the other for a wanted one, where they are at most so many
/// times those that are asked for.
const FIND_SHARE: usize = 4;

#[derive(Debug)]
struct Inner {
    pages: Arc<Pages>,
    map: SegmentMap,
    kind: PageKind,
    /// Bytes of all segments, about.
    bytes: u64,
}

/// One property of nodes, or of the relationships of one type; cheap to clone.
#[derive(Clone, Debug)]
pub struct Column {
    /// `None` if nothing in the file has the property.
    base: Option<Arc<Inner>>,
    /// `None` if nothing is changed since.
    overlay: Option<Arc<ColumnOverlay>>,
}

/// Where a reader is: the page that the last id was found in, and whether it scans.
#[derive(Default)]
struct Current {
    page: Option<(Located, PagePin)>,
    is_scan: bool,
}

/// Whether many ids come closely one after the other.
fn are_dense(ids: &[u64]) -> bool {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return false;
    };
    ids.len() >= SCAN_IDS && *last > *first && last - first < ids.len() as u64 * SCAN_GAP
}

/// Whether there is room for a value from commits, which is there already.
fn has_room(value: &PropertyValue, room: &mut dyn FnMut(u64) -> bool) -> bool {
    let bytes = value.heap_bytes();
    bytes < LONG_BYTES || room(bytes)
}

impl Column {
    pub(crate) fn new(pages: Arc<Pages>, map: SegmentMap, kind: PageKind, bytes: u64) -> Column {
        Column {
            base: Some(Arc::new(Inner {
                pages,
                map,
                kind,
                bytes,
            })),
            overlay: None,
        }
    }

    /// `base` with changes on top.
    pub(crate) fn with_overlay(base: Option<Column>, overlay: ColumnOverlay) -> Column {
        Column {
            base: base.and_then(|column| column.base),
            overlay: Some(Arc::new(overlay)),
        }
    }

    /// `committed_base` with more changes on top.
    pub(crate) fn with_top(committed_base: Option<Column>, of: ColumnOf, top: Top) -> Column {
        let (base, overlay) = committed_base.map_or((None, None), |it| (it.base, it.overlay));
        let overlay = ColumnOverlay::with_top(overlay.as_deref(), of, top);
        Column {
            base,
            overlay: Some(Arc::new(overlay)),
        }
    }

    /// The value of `id`, Null if it has none.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn get(&self, id: u64) -> Result<PropertyValue> {
        let value = self.get_with_room(id, &mut |_| true)?;
        Ok(value.unwrap_or(PropertyValue::Null))
    }

    /// As [`Column::get`]; `None` if there is no `room` for the value, as [`Column::gather_some`]
    /// asks.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn get_with_room(
        &self,
        id: u64,
        room: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<PropertyValue>> {
        if let Some(overlay) = self.overlay.as_ref().filter(|it| !it.lacks(id))
            && let Some(value) = overlay.reader(&[id]).get(id)?
        {
            return Ok(has_room(&value, room).then_some(value));
        }
        match &self.base {
            None => Ok(Some(PropertyValue::Null)),
            Some(base) => base.value(id, &mut Current::default(), room),
        }
    }

    /// Whether `id` has a value.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn has(&self, id: u64) -> Result<bool> {
        if let Some(overlay) = self.overlay.as_ref().filter(|it| !it.lacks(id))
            && let Some(value) = overlay.reader(&[id]).get(id)?
        {
            return Ok(!value.is_null());
        }
        match &self.base {
            None => Ok(false),
            Some(base) => Ok(base.find(id, &mut Current::default())?.is_some()),
        }
    }

    /// Appends the values of `ids`, in any order, to `out`; Null where there is none.
    ///
    /// # Errors
    /// As [`Column::get`]; `out` may then have some of the values.
    pub fn gather(&self, ids: &[u64], out: &mut Vec<PropertyValue>) -> Result<()> {
        self.gather_some(ids, &mut |_| true, out).map(|_| ())
    }

    /// As [`Column::gather`], as long as there is room; how many of `ids` that were. `room` is
    /// asked with the bytes of each long value: before it is read from the file, or when it is read
    /// from commits that are not in the file yet.
    ///
    /// # Errors
    /// As [`Column::gather`].
    pub fn gather_some(
        &self,
        ids: &[u64],
        room: &mut dyn FnMut(u64) -> bool,
        out: &mut Vec<PropertyValue>,
    ) -> Result<usize> {
        out.reserve(ids.len());
        let begin = out.len();
        let Some(overlay) = self.changes_of(ids) else {
            self.gather_base(ids, room, &mut |value| out.push(value))?;
            return Ok(out.len() - begin);
        };
        let mut reader = overlay.reader(ids);
        let (mut untouched, mut places) = (Vec::new(), Vec::new());
        for id in ids {
            match reader.get(*id)? {
                Some(value) if has_room(&value, room) => out.push(value),
                Some(_) => break,
                None => {
                    untouched.push(*id);
                    places.push(out.len());
                    out.push(PropertyValue::Null);
                }
            }
        }
        let mut filled = places.iter();
        let whole = self.gather_base(&untouched, room, &mut |value| {
            if let Some(place) = filled.next() {
                out[*place] = value;
            }
        })?;
        if !whole && let Some(place) = filled.next() {
            out.truncate(*place);
        }
        Ok(out.len() - begin)
    }

    /// Calls `take` with each of `ids` and its value, in order. At most [`EACH_BYTES`] of long
    /// values are in memory at a time, or one that is longer.
    ///
    /// # Errors
    /// As [`Column::get`]; what `take` gives.
    pub fn each<E: From<crate::Error>>(
        &self,
        ids: &[u64],
        mut take: impl FnMut(u64, &PropertyValue) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (mut left, mut values) = (ids, Vec::new());
        while !left.is_empty() {
            values.clear();
            let mut bytes = 0;
            let mut room = |more: u64| {
                let first = bytes == 0;
                bytes += more;
                first || bytes <= EACH_BYTES
            };
            let window = &left[..left.len().min(WINDOW)];
            let done = self.gather_some(window, &mut room, &mut values)?;
            if done == 0 {
                values.push(self.get(left[0])?);
            }
            for (id, value) in left.iter().zip(&values) {
                take(*id, value)?;
            }
            left = &left[values.len()..];
        }
        Ok(())
    }

    /// The changes, where some of `ids` may be among them.
    fn changes_of(&self, ids: &[u64]) -> Option<&ColumnOverlay> {
        self.overlay.as_deref().filter(|it| it.may_have(ids))
    }

    /// Whether there was room for all.
    fn gather_base(
        &self,
        ids: &[u64],
        room: &mut dyn FnMut(u64) -> bool,
        take: &mut impl FnMut(PropertyValue),
    ) -> Result<bool> {
        let Some(base) = &self.base else {
            ids.iter().for_each(|_| take(PropertyValue::Null));
            return Ok(true);
        };
        base.runs(ids, |run| {
            let Run::Here { segment, page, ids } = run else {
                run.ids().iter().for_each(|_| take(PropertyValue::Null));
                return Ok(true);
            };
            for id in ids {
                match segment.rank(*id) {
                    Some(rank) => match base.stored(segment, rank, page, room)? {
                        Some(value) => take(value),
                        None => return Ok(false),
                    },
                    None => take(PropertyValue::Null),
                }
            }
            Ok(true)
        })
    }

    /// Appends the places of those of `ids`, which ascend, whose value is this text, without
    /// reading others into values. If some may have been changed since the file was written:
    /// `false`, and nothing was appended.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn find_text(&self, ids: &[u64], text: &str, out: &mut Vec<u32>) -> Result<bool> {
        match (&self.base, self.changes_of(ids)) {
            (_, Some(_)) => Ok(false),
            (None, None) => Ok(true),
            (Some(base), None) => base.find_text(ids, text, out),
        }
    }

    /// As [`Column::gather`] for integers. If some value is of another type: `false`, and `out` is
    /// as before.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn gather_i64(&self, ids: &[u64], out: &mut Vec<Option<i64>>) -> Result<bool> {
        let before = out.len();
        out.reserve(ids.len());
        let (Some(base), None) = (&self.base, self.changes_of(ids)) else {
            return self.gather_i64_layered(ids, out);
        };
        let whole = base.runs(ids, |run| {
            let Run::Here { segment, page, ids } = run else {
                out.resize(out.len() + run.ids().len(), None);
                return Ok(true);
            };
            if !segment.is_integer() {
                out.resize(out.len() + ids.len(), None);
                return Ok(ids.iter().all(|id| segment.rank(*id).is_none()));
            }
            let mut reader = segment.integers();
            for id in ids {
                let value = segment.rank(*id).map(|rank| reader.get(rank));
                out.push(base.pages.checked(page, base.kind, value.transpose())?);
            }
            Ok(true)
        })?;
        if !whole {
            out.truncate(before);
        }
        Ok(whole)
    }

    /// Appends the values of `ids`, in any order, if each of them has one and all are integers. If
    /// not: `false`, and `out` is as before.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn gather_integers(&self, ids: &[u64], out: &mut Vec<i64>) -> Result<bool> {
        let before = out.len();
        let whole = match (&self.base, self.changes_of(ids)) {
            (Some(base), None) => {
                let quickly = is_consecutive(ids)
                    && base.integers_in(ids[0]..ids[0] + ids.len() as u64, out)?;
                if !quickly {
                    out.truncate(before);
                }
                quickly || base.integers_of(ids, out)?
            }
            (None, None) => ids.is_empty(),
            _ => {
                let mut found = Vec::new();
                let integers = self.gather_i64_layered(ids, &mut found)?;
                out.extend(found.iter().map_while(|value| *value));
                integers && out.len() == before + ids.len()
            }
        };
        if !whole {
            out.truncate(before);
        }
        Ok(whole)
    }

    /// As [`Column::gather_integers`] of ids that follow each other, which are told by their range.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn gather_integers_in(&self, ids: Range<u64>, out: &mut Vec<i64>) -> Result<bool> {
        if ids.is_empty() {
            return Ok(true);
        }
        let before = out.len();
        let overlay = self.overlay.as_ref();
        let changed = overlay.is_some_and(|it| it.may_have_in(ids.start, ids.end - 1));
        let whole = match &self.base {
            Some(base) if !changed => base.integers_in(ids, out)?,
            _ => false,
        };
        if !whole {
            out.truncate(before);
        }
        Ok(whole)
    }

    fn gather_i64_layered(&self, ids: &[u64], out: &mut Vec<Option<i64>>) -> Result<bool> {
        let before = out.len();
        let mut values = Vec::new();
        for window in ids.chunks(WINDOW) {
            values.clear();
            // No integer is long.
            if self.gather_some(window, &mut |_| false, &mut values)? < window.len() {
                out.truncate(before);
                return Ok(false);
            }
            for value in &values {
                match value {
                    PropertyValue::Null => out.push(None),
                    PropertyValue::Integer(value) => out.push(Some(*value)),
                    _ => {
                        out.truncate(before);
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
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

/// Ids one after the other whose values lie in one segment, if they have any.
enum Run<'a> {
    Here {
        segment: &'a ColumnSegment<'a>,
        page: PageRef,
        ids: &'a [u64],
    },
    /// Before the first segment.
    Nowhere { ids: &'a [u64] },
}

impl Run<'_> {
    fn ids(&self) -> &[u64] {
        match self {
            Run::Here { ids, .. } | Run::Nowhere { ids } => ids,
        }
    }
}

impl Inner {
    /// Hands `ids` in runs to `take` until it gives `false`; whether it never did. Each segment is
    /// pinned and checked once a run.
    fn runs(&self, ids: &[u64], mut take: impl FnMut(Run<'_>) -> Result<bool>) -> Result<bool> {
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
    fn find_text(&self, ids: &[u64], text: &str, out: &mut Vec<u32>) -> Result<bool> {
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
    fn integers_of(&self, ids: &[u64], out: &mut Vec<i64>) -> Result<bool> {
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

    /// As [`Inner::integers_of`] for ids one after the other; segments that have no value for some
    /// of their ids are given up.
    fn integers_in(&self, ids: Range<u64>, out: &mut Vec<i64>) -> Result<bool> {
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
        let Inner { pages, map, .. } = self;
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

    /// Starts reading the pages of `ids` if they are more than one; in a scan of a file whose
    /// requests are dear, those behind them as well.
    fn prefetch(&self, ids: &[u64], is_dense: bool) -> Result<()> {
        let Inner {
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
        let Inner {
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
    fn find<'c>(
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

    fn value(
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
    fn stored(
        &self,
        segment: &ColumnSegment<'_>,
        rank: usize,
        page: PageRef,
        room: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<PropertyValue>> {
        let Inner { pages, kind, .. } = self;
        match pages.checked(page, *kind, segment.value(rank))? {
            Stored::Value(value) => Ok(Some(value)),
            Stored::Overflow(head) => {
                if !room(overflow_pages::length(pages, head, PageKind::Overflow)?) {
                    return Ok(None);
                }
                let bytes = overflow_pages::read(pages, head, PageKind::Overflow, |_| ())?;
                let value = pages.checked(head, PageKind::Overflow, segment.long_value(&bytes));
                value.map(Some)
            }
        }
    }
}
