//! Merging a column: touched segments are decoded, merged with the changes and cut anew.
//!
//! # How it works
//! Changes are given one after the other, ascending by id ([`ColumnMerge::change`]), so that
//! several columns may be merged from one pass over what changed. Segments without changes stay as
//! they are. Those behind each other that have some run through one [`Cutter`], so that they come
//! out full; what is left over at the end of such a run takes in the next segment if both fit one.
//! Long values stay in their chains.

use super::changes::Stream;
use super::merge::{Counts, MergedStore, StoreChanges, StoreMerge};
use crate::Result;
use crate::bytes::Malformed;
use crate::catalog::StoreKind;
use crate::column::cutter::{Cutter, make_cell};
use crate::column::segment::{Cell, ColumnSegment};
use crate::directory::SegmentEntry;
use crate::pages::Pages;
use graven_pagecache::PageKind;
use graven_types::PropertyValue;
use std::iter::Peekable;

/// Merges `changes` into the column of `kind`; nothing if they change nothing.
pub(super) fn merge(
    merge: &mut StoreMerge<'_>,
    kind: StoreKind,
    page_kind: PageKind,
    changes: Stream<'_, (u64, PropertyValue)>,
) -> Result<Option<MergedStore>> {
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return Ok(None);
    }
    let mut column = ColumnMerge::new(merge, kind, page_kind, Cutter::default())?;
    for change in changes {
        let (id, value) = change?;
        column.change(id, value)?;
    }
    column.finish()
}

/// The values of a segment and the first id behind it.
pub(crate) fn decode_cells(
    pages: &Pages,
    kind: PageKind,
    entry: &SegmentEntry,
) -> Result<(Vec<(u64, Cell)>, u64)> {
    let pin = pages.pin(entry.page, kind)?;
    let segment = pages.checked(entry.page, kind, ColumnSegment::read(&pin))?;
    let mut cells = Vec::with_capacity(segment.count());
    for (rank, id) in segment.ids().enumerate() {
        cells.push((id, pages.checked(entry.page, kind, segment.cell(rank))?));
    }
    Ok((cells, segment.end()))
}

/// A column while it is merged.
pub(super) struct ColumnMerge<'m, 'a> {
    merge: &'m mut StoreMerge<'a>,
    kind: StoreKind,
    page_kind: PageKind,
    cutter: Cutter,
    /// Segments of the base that the changes have not reached, the next one first.
    ahead: Peekable<std::vec::IntoIter<SegmentEntry>>,
    /// The one that they have reached.
    open: Option<OpenSegment>,
    segments: Vec<SegmentEntry>,
    ledger: StoreChanges,
    /// Values of a full segment hereabouts.
    full: u64,
    changed: bool,
}

/// A segment of the base whose values are merged with changes.
struct OpenSegment {
    entry: SegmentEntry,
    /// The first id behind its values.
    end: u64,
    /// Values that the changes have not reached.
    cells: Peekable<std::vec::IntoIter<(u64, Cell)>>,
    merged: Vec<(u64, Cell)>,
    /// Whether a change made a difference.
    changed: bool,
}

impl<'m, 'a> ColumnMerge<'m, 'a> {
    pub(super) fn new(
        merge: &'m mut StoreMerge<'a>,
        kind: StoreKind,
        page_kind: PageKind,
        cutter: Cutter,
    ) -> Result<ColumnMerge<'m, 'a>> {
        let segments = merge.base_segments(kind)?;
        Ok(ColumnMerge {
            merge,
            kind,
            page_kind,
            cutter,
            segments: Vec::with_capacity(segments.len()),
            ahead: segments.into_iter().peekable(),
            open: None,
            ledger: StoreChanges::default(),
            full: 0,
            changed: false,
        })
    }

    /// The value of `id` now, Null if it has none; ids ascend.
    pub(super) fn change(&mut self, id: u64, value: PropertyValue) -> Result<()> {
        if self.ahead.peek().is_some_and(|next| next.first <= id) {
            self.seek(Some(id))?;
        }
        match &mut self.open {
            Some(open) if id < open.end => self.merge_into_open(id, value),
            _ if value.is_null() => Ok(()),
            Some(_) => {
                self.leave(true)?;
                self.add(id, value)
            }
            None => self.add(id, value),
        }
    }

    /// The merged column; nothing if it is as it was.
    pub(super) fn finish(mut self) -> Result<Option<MergedStore>> {
        self.seek(None)?;
        self.leave(false)?;
        self.end_run()?;
        Ok(self.changed.then(|| MergedStore {
            kind: self.kind,
            segments: self.segments,
            changes: self.ledger,
            sketch: self.cutter.take_sketch(),
            counts: Counts::default(),
        }))
    }

    fn add(&mut self, id: u64, value: PropertyValue) -> Result<()> {
        let cell = make_cell(self.merge.output, value, &mut self.ledger.added)?;
        self.ledger.entries += 1;
        self.changed = true;
        self.push(id, cell)
    }

    fn push(&mut self, id: u64, cell: Cell) -> Result<()> {
        if !self.cutter.spans(id) {
            self.end_run()?;
        }
        if self.cutter.push(id, cell) {
            self.cut()?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<()> {
        if let Some(cut) = self.cutter.cut() {
            let page = self
                .merge
                .append(self.page_kind, &cut.payload, &mut self.ledger)?;
            self.full = self.full.max(cut.count);
            self.segments.push(SegmentEntry {
                first: cut.first,
                page,
                extra: cut.count,
            });
        }
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        while !self.cutter.is_empty() {
            self.cut()?;
        }
        self.full = 0;
        Ok(())
    }

    /// Whether the segment behind a run is small enough to join what is left of it.
    fn takes_in(&self, entry: &SegmentEntry) -> bool {
        let left = self.cutter.len() as u64;
        left > 0
            && left * 2 < self.full
            && left + entry.extra <= self.full
            && self.cutter.spans(entry.first)
    }

    /// Moves to the segment that is responsible for `id`, or to the end, past those without
    /// changes.
    fn seek(&mut self, id: Option<u64>) -> Result<()> {
        let begins = |entry: &SegmentEntry| id.is_none_or(|id| entry.first <= id);
        while let Some(entry) = self.ahead.next_if(begins) {
            self.leave(false)?;
            let next = self.ahead.peek();
            if id.is_some_and(|id| next.is_none_or(|next| id < next.first)) {
                self.open(entry)?;
            } else if self.takes_in(&entry) {
                self.open(entry)?;
                self.leave(true)?;
            } else {
                self.keep(entry)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, entry: SegmentEntry) -> Result<()> {
        self.end_run()?;
        self.segments.push(entry);
        Ok(())
    }

    fn open(&mut self, entry: SegmentEntry) -> Result<()> {
        let pages = &self.merge.root.pages;
        let (cells, end) = decode_cells(pages, self.page_kind, &entry)?;
        let first = cells.first().map_or(entry.first, |(id, _)| *id);
        let behind = self.ahead.peek().map_or(u64::MAX, |next| next.first);
        if first < entry.first || end > behind {
            let what = format!(
                "values of the ids {first} to {end} where those of {} to {behind} are",
                entry.first
            );
            return pages.checked(entry.page, self.page_kind, Err(Malformed(what)));
        }
        self.full = self.full.max(cells.len() as u64);
        self.open = Some(OpenSegment {
            entry,
            end,
            merged: Vec::with_capacity(cells.len() + 8),
            cells: cells.into_iter().peekable(),
            changed: false,
        });
        Ok(())
    }

    /// Writes the open segment anew if a change, or `cut_anew`, asks for it.
    fn leave(&mut self, cut_anew: bool) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        if !open.changed && !cut_anew {
            return self.keep(open.entry);
        }
        self.changed = true;
        self.merge.free(open.entry.page, &mut self.ledger)?;
        for (id, cell) in open.merged.into_iter().chain(open.cells) {
            self.push(id, cell)?;
        }
        Ok(())
    }

    /// A change among the values of the open segment.
    fn merge_into_open(&mut self, id: u64, value: PropertyValue) -> Result<()> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        while let Some(cell) = open.cells.next_if(|(before, _)| *before < id) {
            open.merged.push(cell);
        }
        let old = open.cells.next_if(|(same, _)| *same == id);
        if matches!(&old, Some((_, Cell::Value(old))) if *old == value && same_form(old, &value)) {
            open.merged.extend(old);
            return Ok(());
        }
        open.changed |= old.is_some() || !value.is_null();
        if let Some((_, old)) = old {
            self.ledger.entries -= 1;
            if let Cell::Overflow(_, head) = old {
                self.merge.free_chain(head, &mut self.ledger)?;
            }
        }
        if !value.is_null() {
            let cell = make_cell(self.merge.output, value, &mut self.ledger.added)?;
            self.ledger.entries += 1;
            open.merged.push((id, cell));
        }
        Ok(())
    }
}

/// Whether equal values are stored as the same bytes: `0.0` and `-0.0` are not, nor is anything
/// that may hold them.
fn same_form(a: &PropertyValue, b: &PropertyValue) -> bool {
    match (a, b) {
        (PropertyValue::Float(a), PropertyValue::Float(b)) => a.to_bits() == b.to_bits(),
        (PropertyValue::Vector(a), PropertyValue::Vector(b)) => a.bytes() == b.bytes(),
        (PropertyValue::List(_) | PropertyValue::Point(_), _) => false,
        _ => true,
    }
}
