//! Moving pages from the tail of the file into free units before it, so that the tail can be cut
//! off.
//!
//! # How it works
//! A page holds its own place in its header only, so the payload of a segment is copied and the
//! directory gets the new place. Heads of long lists and columns with long values hold references:
//! they are written anew if what they refer to moves. Those are looked for only in stores that have
//! more pages than segments.

use super::columns::decode_cells;
use super::merge::{CheckpointMerge, StoreChanges};
use crate::Result;
use crate::adjacency::build::head_payload;
use crate::adjacency::segment::Segment;
use crate::catalog::{StoreDescription, StoreKind};
use crate::column::segment::{Cell, encode};
use crate::directory::SegmentEntry;
use crate::overflow_pages;
use crate::page_output::PageOutput;
use crate::pages::padded_payload;
use graven_pagecache::{PageKind, PageRef};

/// The page kind of the segments of a store.
pub(crate) fn page_kind(kind: StoreKind) -> PageKind {
    match kind {
        StoreKind::NodeLabels | StoreKind::NodeColumn(_) => PageKind::NodeColumn,
        StoreKind::Adjacency(..) => PageKind::Adjacency,
        StoreKind::RelationshipColumn(..) | StoreKind::Relationships(_) => {
            PageKind::RelationshipColumn
        }
        StoreKind::Index(_) => PageKind::IndexLeaf,
    }
}

/// Moves the pages of a segment of the base that lie too high; where the segment is then.
pub(super) fn segment(
    merge: &mut CheckpointMerge<'_>,
    store: &StoreDescription,
    entry: SegmentEntry,
    ledger: &mut StoreChanges,
) -> Result<SegmentEntry> {
    if store.pages > store.segments {
        let referring = match store.kind {
            StoreKind::Adjacency(..) => head(merge, &entry, ledger)?,
            StoreKind::NodeColumn(_) | StoreKind::RelationshipColumn(..) => {
                long_values(merge, page_kind(store.kind), &entry, ledger)?
            }
            _ => None,
        };
        if let Some(moved) = referring {
            return Ok(moved);
        }
    }
    let kind = page_kind(store.kind);
    let page = copy(merge, kind, entry.page, ledger)?;
    Ok(SegmentEntry { page, ..entry })
}

/// Copies a page that lies too high to a lower place, if there is one.
fn copy(
    merge: &mut CheckpointMerge<'_>,
    kind: PageKind,
    page: PageRef,
    ledger: &mut StoreChanges,
) -> Result<PageRef> {
    if page.unit() < merge.move_from {
        return Ok(page);
    }
    let pin = merge.root.pages.pin(page, kind)?;
    let Some(moved) = merge.output.append_below(merge.move_from, kind, &pin)? else {
        return Ok(page);
    };
    ledger.added.add(moved);
    merge.own.free(page, ledger)?;
    Ok(moved)
}

/// A head some of whose parts were moved; `None` if it is none or they stay.
fn head(
    merge: &mut CheckpointMerge<'_>,
    entry: &SegmentEntry,
    ledger: &mut StoreChanges,
) -> Result<Option<SegmentEntry>> {
    let kind = PageKind::Adjacency;
    let pages = merge.root.pages.clone();
    let (node, count, mut parts) = {
        let pin = pages.pin(entry.page, kind)?;
        let read = Segment::read(padded_payload(&pin), pin.len());
        let segment = pages.checked(entry.page, kind, read)?;
        if !segment.is_head() {
            return Ok(None);
        }
        let parts = (0..segment.part_count())
            .map(|index| segment.part(index))
            .collect();
        let parts: Vec<_> = pages.checked(entry.page, kind, parts)?;
        (segment.first_node(), segment.relationships(), parts)
    };
    if parts.iter().all(|part| part.page.unit() < merge.move_from) {
        return Ok(None);
    }
    for part in &mut parts {
        part.page = copy(merge, kind, part.page, ledger)?;
    }
    let page = merge
        .output
        .append(kind, &head_payload(node, count, &parts))?;
    ledger.added.add(page);
    merge.own.free(entry.page, ledger)?;
    Ok(Some(SegmentEntry { page, ..*entry }))
}

/// A column segment some of whose long values were moved; `None` if there are none or they stay.
fn long_values(
    merge: &mut CheckpointMerge<'_>,
    kind: PageKind,
    entry: &SegmentEntry,
    ledger: &mut StoreChanges,
) -> Result<Option<SegmentEntry>> {
    let (mut cells, _) = decode_cells(&merge.root.pages, kind, entry)?;
    let pages = merge.root.pages.clone();
    let mut moved = false;
    for (_, cell) in &mut cells {
        let Cell::Overflow(_, head) = cell else {
            continue;
        };
        let mut lies_high = false;
        let bytes = overflow_pages::read(&pages, *head, PageKind::Overflow, |page| {
            lies_high |= page.unit() >= merge.move_from;
        })?;
        if lies_high {
            merge.own.free_chain(*head, ledger)?;
            *head =
                overflow_pages::write(merge.output, PageKind::Overflow, &bytes, &mut ledger.added)?;
            moved = true;
        }
    }
    // A damaged segment may have no cell at all.
    if !moved {
        return Ok(None);
    }
    let Some(payload) = encode(&cells) else {
        return Ok(None);
    };
    let page = merge.output.append(kind, &payload)?;
    ledger.added.add(page);
    merge.own.free(entry.page, ledger)?;
    Ok(Some(SegmentEntry { page, ..*entry }))
}
