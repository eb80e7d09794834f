//! One property of nodes, or of the relationships of one type.
//!
//! # How it works
//! A column is a sequence of segments ([`segment`]) found through a [`SegmentMap`].
//! [`Column::gather`] takes ids in any order: a window of them at a time is read from the file
//! ([`file_column`]). What was changed since the segments were written comes from the column's
//! overlay.

mod bits;
pub(crate) mod cutter;
mod front_coding;
mod plain_texts;
pub(crate) mod segment;
pub(crate) mod writer;

mod file_column;
#[cfg(test)]
mod tests;

use crate::Result;
use crate::delta::change::ColumnOf;
use crate::delta::overlay::{ColumnOverlay, Top};
use crate::pages::Pages;
use crate::segment_map::SegmentMap;
pub use file_column::is_consecutive;
use file_column::{Current, FileColumn, Run, WINDOW, has_room};
use graven_pagecache::PageKind;
use graven_types::PropertyValue;
use std::ops::Range;
use std::sync::Arc;

/// See [`Column::each`].
const EACH_BYTES: u64 = 256 << 10;

/// One property of nodes, or of the relationships of one type; cheap to clone.
#[derive(Clone, Debug)]
pub struct Column {
    /// `None` if nothing in the file has the property.
    base: Option<Arc<FileColumn>>,
    /// `None` if nothing is changed since.
    overlay: Option<Arc<ColumnOverlay>>,
}

impl Column {
    pub(crate) fn new(pages: Arc<Pages>, map: SegmentMap, kind: PageKind, bytes: u64) -> Column {
        Column {
            base: Some(Arc::new(FileColumn {
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
