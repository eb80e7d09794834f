//! What is below the newest commits of a version: the file, frozen layers, and the active layer that commits go into some at a time.
//!
//! # How it works
//! A dozen versions, one after the other, differ in their newest commits only ([`super::recent`]) and share all below, with
//! what readers put together of it ([`Views`]).
//!
//! # Concurrency
//! Immutable once a version has it that others see.

use super::FrozenLayer;
use super::views::Views;
use crate::delta::layer::Layer;
use crate::delta::lower::{Lower, View};
use crate::store::Root;
use std::sync::Arc;

/// See the file header.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) root: Arc<Root>,
    pub(crate) frozen: Option<Arc<FrozenLayer>>,
    /// Committed after those and before the active layer, oldest first: what transactions brought that were too large
    /// for it.
    pub(crate) below: Arc<[Arc<Lower>]>,
    pub(crate) active: Layer,
    /// What its readers share.
    pub(crate) views: Views,
}

impl Settled {
    /// What `root` says, nothing on top.
    pub(super) fn of(root: Arc<Root>) -> Settled {
        Settled {
            active: Layer::filtered(root.pages.cache().budget()),
            root,
            frozen: None,
            below: Arc::from([]),
            views: Views::default(),
        }
    }

    /// The same, to be changed.
    pub(super) fn copy(&self) -> Settled {
        Settled {
            root: self.root.clone(),
            frozen: self.frozen.clone(),
            below: self.below.clone(),
            active: self.active.clone(),
            views: Views::default(),
        }
    }

    /// Whether the file says all of it.
    pub(crate) fn is_folded(&self) -> bool {
        self.frozen.is_none() && self.active.is_empty() && self.below.is_empty()
    }

    /// All layers, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = View<'_>> {
        let frozen = self.frozen.iter().flat_map(|it| it.newest_first());
        let below = self.below.iter().rev().map(|lower| lower.view());
        std::iter::once(View::Memory(&self.active))
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
}
