//! The layers that a checkpoint folds.

use std::sync::Arc;

use graven_pagecache::Reservation;

use super::layer::Layer;
use super::lower::{Lower, Net, View};

/// What a checkpoint folds into the file, with the memory it takes.
#[derive(Debug)]
pub(crate) struct FrozenLayer {
    /// Layers below, oldest first.
    pub(crate) below: Arc<[Arc<Lower>]>,
    pub(crate) layer: Layer,
    pub(crate) _reservation: Arc<Reservation>,
}

impl FrozenLayer {
    /// All layers, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = View<'_>> {
        let below = self.below.iter().rev().map(|lower| lower.view());
        std::iter::once(View::Memory(&self.layer)).chain(below)
    }

    /// All layers as one set of changes.
    pub(crate) fn net(&self) -> Net<'_> {
        let mut views: Vec<View<'_>> = self.newest_first().collect();
        views.reverse();
        Net { views }
    }
}
