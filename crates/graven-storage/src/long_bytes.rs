//! The bytes of a long value in memory, which the budget knows of while they are there.
//!
//! # How it works
//! The store reads a long value whole, to hand it out, to merge it or to check it, and mostly
//! decodes it beside its bytes. What that takes is asked of the budget before: page caches shrink,
//! and statements that need the memory wait for it. Where the budget refuses, the value is read all
//! the same: what was written under a limit is merged, checked and recovered under it. What a
//! statement gets of it is charged by the statement.
//!
//! # Invariants
//! * LV-1 Bytes from [`LONG`] on are reserved while they are held, where the budget has room.

use graven_pagecache::{Budget, Reservation};
use std::ops::Deref;
use std::sync::Arc;

/// Fewer bytes are not worth a reservation.
const LONG: usize = 64 << 10;

/// Reserves `bytes`, if they are many and there is room.
pub(crate) fn held(budget: &Arc<Budget>, bytes: usize) -> Option<Reservation> {
    if bytes < LONG {
        return None;
    }
    budget.reserve_briefly("long values", bytes as u64)
}

/// See the file header.
#[derive(Debug)]
pub(crate) struct LongBytes {
    bytes: Vec<u8>,
    _held: Option<Reservation>,
}

impl LongBytes {
    /// Room for `bytes`.
    pub(crate) fn with_room(budget: &Arc<Budget>, bytes: usize) -> LongBytes {
        let held = held(budget, bytes);
        LongBytes {
            bytes: Vec::with_capacity(bytes),
            _held: held,
        }
    }

    /// Adds `part`.
    pub(crate) fn extend(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }
}

impl Deref for LongBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
