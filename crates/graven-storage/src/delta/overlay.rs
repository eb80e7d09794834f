//! The part of the stack of layers that concerns one store, as its readers hold it.
//!
//! # How it works
//! An overlay keeps the maps of the committed layers that have entries for its store, newest first,
//! and what is on top of them ([`Top`]): the newest commits, which are asked only about what they
//! touched, and the reader's own transaction, whose map is looked up anew at every use, so that
//! later writes are seen. A store that no layer knows has no overlay, which is what its readers
//! test. The maps of committed layers are shared by the readers of some versions, the top is put on
//! for each of them.
//!
//! # Concurrency
//! The lock of the own layer is held for single look-ups and for taking copies of maps (a few
//! pointers), never while a page is pinned or a caller's code runs.

mod adjacency;
mod column;
mod index;

use super::committed::CommittedLayers;
use super::counts::Counts;
use super::delta_layer::DeltaLayer;
use super::immutable_delta::DeltaView;
use super::merged_delta::MergedDelta;
use crate::Result;
use crate::catalog::IndexDescription;
use crate::delta::filter_key::{FilterHash, FilterKey};
use crate::transaction::write_set::WriteSet;
use crate::version::commit_tail::CommitTail;
pub(super) use adjacency::put_over;
pub(crate) use adjacency::{AdjacencyOverlay, Changes, Edges};
pub(crate) use column::ColumnOverlay;
pub(crate) use index::{IndexEntries, IndexOverlay, IndexParts};
use std::sync::Arc;

/// The committed layers and the own transaction of one reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'a> {
    pub(crate) committed_base: &'a CommittedLayers,
    pub(crate) commit_tail: Option<&'a Arc<CommitTail>>,
    pub(crate) write_set: Option<&'a Arc<WriteSet>>,
}

impl<'a> Stack<'a> {
    /// Committed layers, newest first, the newest commits as one.
    fn committed(&self) -> impl Iterator<Item = DeltaView<'a>> + use<'a> {
        let commit_tail = self
            .commit_tail
            .map(|commit_tail| DeltaView::Memory(commit_tail.layer()));
        commit_tail
            .into_iter()
            .chain(self.committed_base.newest_first())
    }

    /// By how much all layers change the number of nodes.
    pub(crate) fn nodes(&self) -> i64 {
        let write_set = self.write_set.map_or(0, |write_set| {
            let (newest, below) = write_set.look(|layer| layer.counts.nodes);
            let below = below.iter().map(|lower| lower.view().counts().nodes);
            newest + below.sum::<i64>()
        });
        let committed_base = self.committed_base.newest_first();
        let committed_base: i64 = committed_base.map(|layer| layer.counts().nodes).sum();
        write_set
            + self
                .commit_tail
                .map_or(0, |commit_tail| commit_tail.nodes())
            + committed_base
    }

    /// By how much all layers change a count.
    pub(crate) fn counted(&self, count: impl Fn(&Counts) -> i64) -> i64 {
        let write_set = self.write_set.map_or(0, |write_set| {
            let (newest, below) = write_set.look(|layer| count(&layer.counts));
            let below = below.iter().map(|lower| count(lower.view().counts()));
            newest + below.sum::<i64>()
        });
        let commit_tail = self
            .commit_tail
            .into_iter()
            .flat_map(|it| it.newest_first());
        let commit_tail: i64 = commit_tail.map(|layer| count(&layer.counts)).sum();
        let committed_base = self.committed_base.newest_first();
        let committed_base: i64 = committed_base.map(|layer| count(layer.counts())).sum();
        write_set + commit_tail + committed_base
    }

    /// The committed layers as one set of changes.
    pub(crate) fn net(&self) -> MergedDelta<'a> {
        let mut views: Vec<DeltaView<'a>> = self.committed().collect();
        views.reverse();
        MergedDelta { views }
    }

    /// What the newest layer that knows it says of what is asked `about`.
    #[inline]
    pub(crate) fn find<T>(
        &self,
        about: FilterKey<'_>,
        get: impl Fn(DeltaView<'_>) -> Option<T>,
    ) -> Option<T> {
        if let Some(write_set) = self.write_set {
            let (found, below) = write_set.look(|layer| get(DeltaView::Memory(layer)));
            let older = || below.iter().rev().find_map(|lower| get(lower.view()));
            if let Some(found) = found.or_else(older) {
                return Some(found);
            }
        }
        let about = FilterHash::from(about);
        let commit_tail = self
            .commit_tail
            .filter(|commit_tail| commit_tail.touches(about));
        let mut newest = commit_tail
            .into_iter()
            .flat_map(|commit_tail| commit_tail.newest_first());
        newest
            .find_map(|layer| get(DeltaView::Memory(layer)))
            .or_else(|| {
                let committed_base = self.committed_base.newest_first();
                committed_base.filter(|it| it.may_have(about)).find_map(get)
            })
    }

    /// As [`Stack::find`] where a look may fail.
    pub(crate) fn try_find<T>(
        &self,
        about: FilterKey<'_>,
        get: impl Fn(DeltaView<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.find(about, |view| get(view).transpose()).transpose()
    }

    /// Calls `visit` with every layer, oldest first.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(DeltaView<'_>)) {
        let committed_base: Vec<DeltaView<'_>> = self.committed_base.newest_first().collect();
        committed_base.into_iter().rev().for_each(&mut visit);
        self.for_each_newest(visit);
    }

    /// As [`Stack::for_each`] with what is on top of the committed layers.
    pub(crate) fn for_each_newest(&self, mut visit: impl FnMut(DeltaView<'_>)) {
        let commit_tail = self
            .commit_tail
            .map(|commit_tail| commit_tail.oldest_first());
        for layer in commit_tail.into_iter().flatten() {
            visit(DeltaView::Memory(layer));
        }
        if let Some(write_set) = self.write_set {
            let (layer, below) = write_set.look(DeltaLayer::clone);
            below.iter().for_each(|lower| visit(lower.view()));
            visit(DeltaView::Memory(&layer));
        }
    }

    /// As [`Stack::for_each`], the newest commits as one.
    pub(crate) fn for_each_merged(&self, mut visit: impl FnMut(DeltaView<'_>)) {
        let committed: Vec<DeltaView<'_>> = self.committed().collect();
        committed.into_iter().rev().for_each(&mut visit);
        let write_set = Stack {
            commit_tail: None,
            ..*self
        };
        write_set.for_each_newest(visit);
    }
}

/// What one reader sees on top of the committed layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Top {
    /// The newest commits, if they have to do with the store.
    commit_tail: Option<Arc<CommitTail>>,
    write_set: Option<Arc<WriteSet>>,
}

impl Top {
    pub(crate) const NOTHING: Top = Top {
        commit_tail: None,
        write_set: None,
    };

    /// Whether `stack` has anything on top that has to do with a store.
    #[inline]
    pub(crate) fn is_any(stack: Stack<'_>, store: FilterKey<'_>) -> bool {
        stack.write_set.is_some()
            || stack
                .commit_tail
                .is_some_and(|commit_tail| commit_tail.touches(store))
    }

    /// As [`Top::is_any`] for an index: its own entries, and the values that tell those under one
    /// cut key apart, which change without them.
    pub(crate) fn is_any_of_index(stack: Stack<'_>, index: &IndexDescription) -> bool {
        stack.write_set.is_some() || stack.commit_tail.is_some_and(|it| it.touches_index(index))
    }

    /// What `stack` has on top that has to do with a store.
    pub(crate) fn of(stack: Stack<'_>, store: FilterKey<'_>) -> Top {
        Top::where_touched(stack, |commit_tail| commit_tail.touches(store))
    }

    /// What `stack` has on top that has to do with an index.
    pub(crate) fn of_index(stack: Stack<'_>, index: &IndexDescription) -> Top {
        Top::where_touched(stack, |commit_tail| commit_tail.touches_index(index))
    }

    fn where_touched(stack: Stack<'_>, touched: impl FnOnce(&CommitTail) -> bool) -> Top {
        Top {
            commit_tail: stack.commit_tail.filter(|it| touched(it)).cloned(),
            write_set: stack.write_set.cloned(),
        }
    }

    /// Maps of the own transaction that have entries, newest first.
    fn own_maps<T>(&self, get: impl Fn(DeltaView<'_>) -> Option<T>) -> Vec<T> {
        let Some(write_set) = &self.write_set else {
            return Vec::new();
        };
        let (newest, below) = write_set.look(|layer| get(DeltaView::Memory(layer)));
        let older = below.iter().rev().filter_map(|lower| get(lower.view()));
        newest.into_iter().chain(older).collect()
    }

    /// All maps on top that have entries, newest first, the newest commits as one.
    fn maps<T>(&self, get: impl Fn(DeltaView<'_>) -> Option<T>) -> Vec<T> {
        let mut maps = self.own_maps(&get);
        let commit_tail = self.commit_tail.as_deref().map(CommitTail::layer);
        maps.extend(commit_tail.and_then(|layer| get(DeltaView::Memory(layer))));
        maps
    }
}
