//! What the merging of all stores shares: the base, the changes, where pages go, what became of
//! them.

use super::changes::{Changes, Stream};
use super::output::Output;
use crate::Result;
use crate::catalog::value_statistics::Sketch;
use crate::catalog::{Catalog, RelationshipPart, StoreKind};
use crate::data_file::FileRoot;
use crate::directory::SegmentEntry;
use crate::ids::{RelId, StoreId, TypeId};
use crate::overflow_pages::{self, Footprint};
use crate::page_output::PageOutput;
use graven_pagecache::{PageKind, PageRef, Reservation};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Range;

/// A checkpoint while it merges.
pub(crate) struct CheckpointMerge<'a> {
    pub(crate) root: &'a FileRoot,
    pub(crate) changes: &'a dyn Changes,
    pub(crate) output: &'a Output,
    /// Pages of the base that the result does not need.
    pub(crate) freed: Vec<PageRef>,
    pub(crate) catalog: Catalog,
    /// Segments of the stores that changed.
    pub(crate) segments: BTreeMap<StoreId, Vec<SegmentEntry>>,
    /// For lists of segments and freed pages.
    pub(crate) reservation: Reservation,
    /// Pages from this unit on are moved down.
    pub(crate) move_from: u64,
}

/// A store while it is merged.
#[derive(Debug, Default)]
pub(crate) struct StoreChanges {
    pub(crate) added: Footprint,
    pub(crate) removed: Footprint,
    pub(crate) entries: i64,
}

impl CheckpointMerge<'_> {
    /// The segments of a store in the base.
    pub(crate) fn base_segments(&mut self, kind: StoreKind) -> Result<Vec<SegmentEntry>> {
        let mut segments = Vec::new();
        if let Some(store) = self.root.catalog.store(kind) {
            let room = store.segments * size_of::<SegmentEntry>() as u64;
            self.reservation.grow(room)?;
            self.root
                .directory
                .scan(&self.root.pages, store.id, &mut |entry| {
                    segments.push(entry);
                    Ok(())
                })?;
        }
        Ok(segments)
    }

    /// The ids that the bulk load gave relationships of this type.
    pub(crate) fn loaded_ids(&self, rel_type: TypeId) -> Range<u64> {
        let mut extents = self.root.catalog.extents.iter();
        extents
            .find(|extent| extent.rel_type == rel_type)
            .map_or(0..0, |extent| extent.first..extent.first + extent.count)
    }

    /// Whether the base has the relationship: what came and went since may be told as gone.
    pub(crate) fn was_there(&self, loaded: &Range<u64>, id: RelId) -> Result<bool> {
        let kind = StoreKind::Relationships(RelationshipPart::Start);
        match self.root.column(kind) {
            _ if loaded.contains(&id.0) => Ok(true),
            None => Ok(false),
            Some(starts) => starts.has(id.0),
        }
    }

    /// A page of the base is not needed any more.
    pub(crate) fn free(&mut self, page: PageRef, ledger: &mut StoreChanges) -> Result<()> {
        self.reservation.grow(size_of::<PageRef>() as u64)?;
        ledger.removed.add(page);
        self.freed.push(page);
        Ok(())
    }

    /// The chain of a long value is not needed any more.
    pub(crate) fn free_chain(&mut self, head: PageRef, ledger: &mut StoreChanges) -> Result<()> {
        let pages = overflow_pages::pages_of(&self.root.pages, head, PageKind::Overflow)?;
        pages
            .into_iter()
            .try_for_each(|page| self.free(page, ledger))
    }

    pub(crate) fn append(
        &self,
        kind: PageKind,
        payload: &[u8],
        ledger: &mut StoreChanges,
    ) -> Result<PageRef> {
        let page = self.output.append(kind, payload)?;
        ledger.added.add(page);
        Ok(page)
    }

    /// The store of `kind` has these segments now.
    pub(crate) fn put_store(
        &mut self,
        kind: StoreKind,
        segments: Vec<SegmentEntry>,
        ledger: &StoreChanges,
    ) {
        let count = segments.len() as u64;
        let id = self.describe(kind, count, ledger);
        self.segments.insert(id, segments);
    }

    /// Values of the column of `kind` were cut anew.
    pub(crate) fn put_values(&mut self, kind: StoreKind, sketch: Sketch) {
        let of_properties = matches!(
            kind,
            StoreKind::NodeColumn(_) | StoreKind::RelationshipColumn(..)
        );
        let Some(store) = self.catalog.store(kind).filter(|_| of_properties) else {
            return;
        };
        let (id, entries) = (store.id, store.entries);
        let columns = &mut self.catalog.statistics.columns;
        let values = sketch.finish(columns.get(&id), entries);
        columns.insert(id, values);
    }

    /// Updates the description of a store, which gets a number if it is new.
    pub(crate) fn describe(
        &mut self,
        kind: StoreKind,
        segments: u64,
        ledger: &StoreChanges,
    ) -> StoreId {
        let store = self.catalog.stores.of_kind_or_new(kind);
        store.segments = segments;
        store.pages = store.pages + ledger.added.pages - ledger.removed.pages;
        store.bytes = store.bytes + ledger.added.bytes - ledger.removed.bytes;
        store.entries = store.entries.saturating_add_signed(ledger.entries);
        store.id
    }
}

/// Looks at the next change; an error of the stream comes out here.
pub(crate) fn peek<'s, T>(stream: &'s mut Peekable<Stream<'_, T>>) -> Result<Option<&'s T>> {
    if matches!(stream.peek(), Some(Err(_))) {
        return Err(stream
            .next()
            .and_then(Result::err)
            .expect("an error was just seen"));
    }
    Ok(stream.peek().and_then(|item| item.as_ref().ok()))
}

/// Takes the next change if `wanted` holds for it.
pub(crate) fn next_if<T>(
    stream: &mut Peekable<Stream<'_, T>>,
    wanted: impl Fn(&T) -> bool,
) -> Result<Option<T>> {
    match peek(stream)? {
        Some(change) if wanted(change) => stream.next().transpose(),
        _ => Ok(None),
    }
}
