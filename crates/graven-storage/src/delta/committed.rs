//! The layers of committed changes on top of the file.

use std::sync::Arc;

use super::delta_layer::DeltaLayer;
use super::frozen_layer::FrozenLayer;
use super::immutable_delta::{DeltaView, ImmutableDelta};

/// What a checkpoint merges, what came after it, and the layer that commits go to.
#[derive(Clone, Debug)]
pub(crate) struct CommittedLayers {
    pub(crate) frozen: Option<Arc<FrozenLayer>>,
    /// Committed after those and before the active layer, oldest first: what transactions brought
    /// that were too large for it.
    pub(crate) below: Arc<[Arc<ImmutableDelta>]>,
    pub(crate) active: DeltaLayer,
}

impl CommittedLayers {
    /// Whether the file says all of it.
    pub(crate) fn is_merged(&self) -> bool {
        self.frozen.is_none() && self.active.is_empty() && self.below.is_empty()
    }

    /// All layers, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = DeltaView<'_>> {
        let frozen = self.frozen.iter().flat_map(|it| it.newest_first());
        let below = self.below.iter().rev().map(|lower| lower.view());
        std::iter::once(DeltaView::Memory(&self.active))
            .chain(below)
            .chain(frozen)
    }

    /// Whether any node came, went or has other labels than in the file.
    #[inline]
    pub(crate) fn has_nodes(&self) -> bool {
        !self.active.nodes.is_empty()
            || self.below.iter().any(|lower| lower.view().has_nodes())
            || (self.frozen.as_ref())
                .is_some_and(|frozen| frozen.newest_first().any(|layer| layer.has_nodes()))
    }

    /// Maps of a store that have entries, newest first, if there are any.
    pub(super) fn maps<T>(&self, get: impl Fn(DeltaView<'_>) -> Option<T>) -> Option<Arc<[T]>> {
        let maps: Vec<T> = self.newest_first().filter_map(get).collect();
        (!maps.is_empty()).then(|| maps.into())
    }
}
