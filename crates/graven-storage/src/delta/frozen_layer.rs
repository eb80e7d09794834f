//! The layers that a checkpoint merges.

use std::sync::Arc;

use graven_pagecache::Reservation;

use super::delta_layer::DeltaLayer;
use super::immutable_delta::{DeltaView, ImmutableDelta};
use super::merged_delta::MergedDelta;

/// What a checkpoint merges into the file, with the memory it takes.
#[derive(Debug)]
pub(crate) struct FrozenLayer {
    /// Layers below, oldest first.
    pub(crate) below: Arc<[Arc<ImmutableDelta>]>,
    pub(crate) layer: DeltaLayer,
    pub(crate) _reservation: Arc<Reservation>,
}

impl FrozenLayer {
    /// All layers, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = DeltaView<'_>> {
        let below = self.below.iter().rev().map(|lower| lower.view());
        std::iter::once(DeltaView::Memory(&self.layer)).chain(below)
    }

    /// All layers as one set of changes.
    pub(crate) fn net(&self) -> MergedDelta<'_> {
        let mut views: Vec<DeltaView<'_>> = self.newest_first().collect();
        views.reverse();
        MergedDelta { views }
    }
}
