//! Merging one column: touched segments are decoded, merged with the changes and cut anew.
//!
//! # How it works
//! Segments without changes stay as they are. Those behind each other that have some run through
//! one [`Cutter`], so that they come out full; what is left over at the end of such a run takes in
//! the next segment if both fit one. Long values stay in their chains.

use super::changes::Stream;
use super::merge::{Counts, MergedStore, StoreChanges, StoreMerge, next_if, peek};
use crate::Result;
use crate::catalog::StoreKind;
use crate::column::cutter::{Cutter, make_cell};
use crate::column::segment::{Cell, ColumnSegment};
use crate::directory::SegmentEntry;
use crate::pages::Pages;
use graven_pagecache::PageKind;
use graven_types::PropertyValue;
use std::iter::Peekable;

type Values<'a> = Peekable<Stream<'a, (u64, PropertyValue)>>;

/// Merges `changes` into the column of `kind`; nothing if they change nothing.
pub(super) fn merge(
    merge: &mut StoreMerge<'_>,
    kind: StoreKind,
    page_kind: PageKind,
    changes: Stream<'_, (u64, PropertyValue)>,
) -> Result<Option<MergedStore>> {
    let mut changes = changes.peekable();
    if peek(&mut changes)?.is_none() {
        return Ok(None);
    }
    let old = merge.base_segments(kind)?;
    let mut column = ColumnFold {
        merge,
        page_kind,
        cutter: Cutter::default(),
        segments: Vec::with_capacity(old.len()),
        ledger: StoreChanges::default(),
        full: 0,
        changed: false,
    };
    let first = old.first().map_or(u64::MAX, |entry| entry.first);
    column.add_until(&mut changes, first)?;
    for (at, entry) in old.iter().enumerate() {
        let end = old.get(at + 1).map_or(u64::MAX, |next| next.first);
        column.segment(entry, end, &mut changes)?;
    }
    column.add_until(&mut changes, u64::MAX)?;
    column.end_run()?;
    let merged = column.changed.then(|| MergedStore {
        kind,
        segments: column.segments,
        changes: column.ledger,
        sketch: Some(column.cutter.take_sketch()),
        counts: Counts::default(),
    });
    Ok(merged)
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

struct ColumnFold<'f, 'a> {
    merge: &'f mut StoreMerge<'a>,
    page_kind: PageKind,
    cutter: Cutter,
    segments: Vec<SegmentEntry>,
    ledger: StoreChanges,
    /// Values of a full segment hereabouts.
    full: u64,
    changed: bool,
}

impl ColumnFold<'_, '_> {
    /// Takes the changes below `end` as new values.
    fn add_until(&mut self, changes: &mut Values<'_>, end: u64) -> Result<()> {
        while let Some((id, value)) = next_if(changes, |(id, _)| *id < end)? {
            self.add(id, value)?;
        }
        Ok(())
    }

    fn add(&mut self, id: u64, value: PropertyValue) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
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

    /// A segment of the base, responsible for the ids from its first to before `end`.
    fn segment(&mut self, entry: &SegmentEntry, end: u64, changes: &mut Values<'_>) -> Result<()> {
        let touched = peek(changes)?.is_some_and(|(id, _)| *id < end);
        let takes_in = !touched && self.takes_in(entry);
        if !touched && !takes_in {
            self.end_run()?;
            self.segments.push(*entry);
            return Ok(());
        }
        let (cells, segment_end) = decode_cells(&self.merge.root.pages, self.page_kind, entry)?;
        self.full = self.full.max(cells.len() as u64);
        let (merged, mut changed) = self.merge(cells, segment_end, changes)?;
        while next_if(changes, |(id, value)| *id < end && value.is_null())?.is_some() {}
        changed |= takes_in || peek(changes)?.is_some_and(|(id, _)| *id < end);
        if !changed {
            self.end_run()?;
            self.segments.push(*entry);
            return Ok(());
        }
        self.changed = true;
        self.merge.free(entry.page, &mut self.ledger)?;
        for (id, cell) in merged {
            self.push(id, cell)?;
        }
        self.add_until(changes, end)
    }

    /// The values of a segment with the changes below `end` in them, and whether any made a
    /// difference.
    fn merge(
        &mut self,
        cells: Vec<(u64, Cell)>,
        end: u64,
        changes: &mut Values<'_>,
    ) -> Result<(Vec<(u64, Cell)>, bool)> {
        let mut merged = Vec::with_capacity(cells.len() + 8);
        let mut changed = false;
        let mut cells = cells.into_iter().peekable();
        while let Some((id, value)) = next_if(changes, |(id, _)| *id < end)? {
            while let Some(cell) = cells.next_if(|(before, _)| *before < id) {
                merged.push(cell);
            }
            let old = cells.next_if(|(same, _)| *same == id);
            if matches!(&old, Some((_, Cell::Value(old))) if *old == value && same_form(old, &value))
            {
                merged.extend(old);
                continue;
            }
            changed |= old.is_some() || !value.is_null();
            if let Some((_, old)) = old {
                self.ledger.entries -= 1;
                if let Cell::Overflow(_, head) = old {
                    self.merge.free_chain(head, &mut self.ledger)?;
                }
            }
            if !value.is_null() {
                let cell = make_cell(self.merge.output, value, &mut self.ledger.added)?;
                self.ledger.entries += 1;
                merged.push((id, cell));
            }
        }
        merged.extend(cells);
        Ok((merged, changed))
    }
}

/// Whether equal values are stored as the same bytes: `0.0` and `-0.0` are not, nor is anything
/// that may hold them.
fn same_form(a: &PropertyValue, b: &PropertyValue) -> bool {
    match (a, b) {
        (PropertyValue::Float(a), PropertyValue::Float(b)) => a.to_bits() == b.to_bits(),
        (PropertyValue::List(_) | PropertyValue::Point(_), _) => false,
        _ => true,
    }
}
