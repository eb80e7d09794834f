//! What commits change, one at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

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
    /// Memory of the active layer, and of what newer commits replaced in it.
    pub(crate) reservation: Reservation,
    /// Memory of the schema.
    pub(crate) schema: Reservation,
    /// See [`Commits::settle`]; belongs to `reservation`.
    pub(crate) replaced: VecDeque<Replaced>,
}

/// Bytes that a commit replaced, and the version before it.
#[derive(Debug)]
pub(crate) struct Replaced {
    before: Weak<Version>,
    bytes: u64,
}

/// Most versions in the list; with more of them, bytes stay charged for longer.
const REPLACED_MAX: usize = 4096;

impl Commits {
    /// Gives back what is charged beyond the `held` bytes of the newest version, once no version
    /// holds it that is as old as `before`, or older (TX-26). Merged, changes take less than one by
    /// one: they share chunks, and newer values replace older ones.
    pub(crate) fn settle(&mut self, before: &Arc<Version>, held: u64) {
        let waiting: u64 = self.replaced.iter().map(|it| it.bytes).sum();
        if self.replaced.len() < REPLACED_MAX {
            let bytes = self.reservation.bytes().saturating_sub(held + waiting);
            self.replaced.push_back(Replaced {
                before: Arc::downgrade(before),
                bytes,
            });
        }
        while let Some(oldest) = self.replaced.front()
            && oldest.before.strong_count() == 0
        {
            let bytes = oldest.bytes.min(self.reservation.bytes());
            self.reservation.shrink(bytes);
            self.replaced.pop_front();
        }
    }

    /// Charges a schema of so many bytes that is there, whether there is room for it or not.
    pub(crate) fn charge_schema(&mut self, bytes: u64) {
        let held = self.schema.bytes();
        self.schema.force_grow(bytes.saturating_sub(held));
        self.schema.shrink(held.saturating_sub(bytes));
    }

    /// The reservation, for another owner; the next one is `next`.
    pub(crate) fn replace_reservation(&mut self, next: Reservation) -> Reservation {
        self.replaced.clear();
        std::mem::replace(&mut self.reservation, next)
    }
}
