//! What is below the newest commits of a version: the file, frozen layers, and the active layer
//! that commits go into some at a time.
//!
//! # How it works
//! A dozen versions, one after the other, differ in their newest commits only
//! ([`super::commit_tail`]) and share all below, with what readers put together of it ([`Views`]).
//!
//! # Concurrency
//! Immutable once a version has it that others see.

use super::views::Views;
use crate::data_file::FileRoot;
use crate::delta::committed::CommittedLayers;
use crate::delta::delta_layer::DeltaLayer;
use std::sync::Arc;

/// See the file header.
#[derive(Debug)]
pub(crate) struct CommittedBase {
    pub(crate) root: Arc<FileRoot>,
    pub(crate) layers: CommittedLayers,
    /// What its readers share.
    pub(crate) views: Views,
}

impl CommittedBase {
    /// What `root` says, nothing on top.
    pub(super) fn of(root: Arc<FileRoot>) -> CommittedBase {
        CommittedBase {
            layers: CommittedLayers {
                frozen: None,
                below: Arc::from([]),
                active: DeltaLayer::filtered(root.pages.cache().budget()),
            },
            root,
            views: Views::default(),
        }
    }

    /// The same, to be changed.
    pub(super) fn copy(&self) -> CommittedBase {
        CommittedBase {
            root: self.root.clone(),
            layers: self.layers.clone(),
            views: Views::default(),
        }
    }
}
