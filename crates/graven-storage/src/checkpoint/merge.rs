//! What the merging of all stores shares: the base, the changes, where pages go, what became of
//! them.
//!
//! # How it works
//! Columns and adjacencies know nothing of each other, so several threads may each merge one
//! ([`StoreMerge`]); what comes of it ([`MergedStore`]) goes to the catalogue store by store, in
//! the order in which one thread would have merged them.

use super::changes::{Changes, Stream};
use super::output::{Output, class_for};
use crate::Result;
use crate::catalog::value_statistics::Sketch;
use crate::catalog::{Catalog, RelationshipPart, StoreKind};
use crate::data_file::FileRoot;
use crate::directory::SegmentEntry;
use crate::ids::{RelId, StoreId, TypeId};
use crate::overflow_pages::{self, Footprint};
use graven_pagecache::{PageKind, PageRef, Reservation};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Range;

/// Pages for which a thread takes room at a time, at most: about what a lane holds.
const STRIDE_MAX: usize = 16;

/// A checkpoint while it merges.
pub(crate) struct CheckpointMerge<'a> {
    pub(crate) root: &'a FileRoot,
    pub(crate) changes: &'a dyn Changes,
    pub(crate) output: &'a Output,
    /// What this thread merges itself, and what other threads have freed.
    pub(crate) own: StoreMerge<'a>,
    pub(crate) catalog: Catalog,
    /// Segments of the stores that changed.
    pub(crate) segments: BTreeMap<StoreId, Vec<SegmentEntry>>,
    /// There are vectors among the values that were written.
    pub(crate) vectors: bool,
    /// Pages from this unit on are moved down.
    pub(crate) move_from: u64,
}

/// A thread that merges stores.
pub(crate) struct StoreMerge<'a> {
    pub(crate) root: &'a FileRoot,
    pub(crate) output: &'a Output,
    /// Pages of the base that the result does not need.
    freed: Vec<PageRef>,
    /// For lists of segments and freed pages.
    reservation: Reservation,
    /// Room taken for pages to come, the next one last.
    ahead: Vec<PageRef>,
    /// For how many pages it was taken last, and may be at most.
    stride: (usize, usize),
}

/// What merging a direction of an adjacency did to its counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) relationships: i64,
    pub(crate) lists: i64,
    /// Longest of the lists that changed.
    pub(crate) degree_max: u64,
    /// By how much the sum of the squares of their lengths grew.
    pub(crate) squares: i128,
}

/// Columns or an adjacency with their changes in them.
pub(crate) struct MergedStore {
    pub(crate) kind: StoreKind,
    pub(crate) segments: Vec<SegmentEntry>,
    pub(crate) changes: StoreChanges,
    /// What the values are like that were cut anew; only of properties.
    pub(crate) sketch: Option<Sketch>,
    /// Of an adjacency.
    pub(crate) counts: Counts,
}

/// A store while it is merged.
#[derive(Debug, Default)]
pub(crate) struct StoreChanges {
    pub(crate) added: Footprint,
    pub(crate) removed: Footprint,
    pub(crate) entries: i64,
}

impl<'a> StoreMerge<'a> {
    /// `several`: other threads merge, too.
    pub(crate) fn new(root: &'a FileRoot, output: &'a Output, several: bool) -> StoreMerge<'a> {
        StoreMerge {
            root,
            output,
            freed: Vec::new(),
            reservation: root.pages.budget().empty_reservation("checkpoint"),
            ahead: Vec::new(),
            stride: (0, if several { STRIDE_MAX } else { 1 }),
        }
    }

    /// For a store that the same thread merges at the same time; to be joined afterwards.
    pub(super) fn another(&self) -> StoreMerge<'a> {
        StoreMerge::new(self.root, self.output, self.stride.1 > 1)
    }

    /// Memory for what is kept until the checkpoint ends.
    pub(crate) fn charge(&mut self, bytes: u64) -> Result<()> {
        Ok(self.reservation.grow(bytes)?)
    }

    /// The pages that are not needed any more, which are forgotten here.
    pub(crate) fn take_freed(&mut self) -> Vec<PageRef> {
        std::mem::take(&mut self.freed)
    }

    /// Takes over what the merge of another store has freed and charged.
    pub(super) fn join(&mut self, other: StoreMerge<'_>) {
        self.freed.extend(other.freed);
        let bytes = other.reservation.bytes();
        drop(other.reservation);
        self.reservation.force_grow(bytes);
    }

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

    /// Writes a page of a store. Room for the pages of a large one is taken ahead, so that they lie
    /// behind each other though other threads write, too.
    pub(crate) fn append(
        &mut self,
        kind: PageKind,
        payload: &[u8],
        ledger: &mut StoreChanges,
    ) -> Result<PageRef> {
        let class = class_for(payload)?;
        if self.ahead.last().is_some_and(|page| page.class() != class) {
            self.end_run();
        }
        if self.ahead.is_empty() {
            self.stride.0 = (2 * self.stride.0).clamp(1, self.stride.1);
            self.ahead = self.output.reserve_run(class, self.stride.0)?;
        }
        let place = self.ahead.pop().expect("just taken");
        let page = self.output.write(place, kind, payload)?;
        ledger.added.add(page);
        Ok(page)
    }

    /// Gives room back that was taken ahead: a store is merged, or its pages change their size.
    pub(crate) fn end_run(&mut self) {
        self.output.give_back(&mut self.ahead);
        self.stride.0 = 0;
    }
}

impl CheckpointMerge<'_> {
    /// The store has these segments now.
    pub(crate) fn put(&mut self, merged: MergedStore) {
        let kind = merged.kind;
        let id = self.describe(kind, merged.segments.len() as u64, &merged.changes);
        self.segments.insert(id, merged.segments);
        let (Some(sketch), Some(store)) = (merged.sketch, self.catalog.store(kind)) else {
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
        self.vectors |= ledger.added.vectors;
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
