//! What commits change, one at a time.

use std::sync::Arc;

use graven_pagecache::Reservation;

use super::commit_tokens::CommitTokens;
use super::conflicts::Conflicts;
use crate::delta::redo::NamesLogged;
use crate::version::Version;

/// What commits change, one at a time.
#[derive(Debug)]
pub(crate) struct Commits {
    pub(crate) applied: Arc<Version>,
    pub(crate) conflicts: Conflicts,
    pub(crate) logged: NamesLogged,
    pub(crate) clients: CommitTokens,
    /// Memory of the active layer.
    pub(crate) reservation: Reservation,
}
