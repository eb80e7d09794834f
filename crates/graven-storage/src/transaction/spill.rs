//! Transactions that are larger than their share of memory.
//!
//! # How it works
//! The layer that a transaction writes to is charged as it grows. When it passes its share of the limit, or the budget has
//! no more, it is sealed: written to temporary pages ([`crate::delta::lower`]), and an empty one goes on top of it. The
//! transaction's readers see one stack. Temporary pages are pages of the cache like any other: written to the spill file
//! only when their frames are wanted, freed with the transaction, gone with the process.
//!
//! # Concurrency
//! Under the transaction's state lock, so that nobody writes meanwhile; readers see the stack before or after.

use super::{CHARGE_BYTES, LIMIT_SHARE, State, Transaction};
use crate::delta::layer::Layer;
use crate::delta::lower::{Lower, Net, View};
use crate::store::Store;
use crate::{Error, Result};
use graven_pagecache::TemporaryPages;
use std::sync::Arc;

/// A layer smaller than this is not worth a page of its own for every store.
const SEAL_BYTES_MIN: u64 = 64 << 10;

/// How layers are sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing {
    /// Sealed layers of one tier that are merged into one of the next.
    pub(crate) tier: usize,
    /// Threads that write.
    pub(crate) threads: usize,
}

impl Sealing {
    /// For transactions, whose readers look into all layers.
    pub(crate) const TRANSACTION: Sealing = Sealing {
        tier: 8,
        threads: 1,
    };
}

/// `below` with `layer`, sealed, on top; as many layers become one as their age allows.
pub(crate) fn sealed_onto(
    store: &Store,
    pages: &TemporaryPages,
    how: Sealing,
    below: &[Arc<Lower>],
    layer: &Layer,
) -> Result<Arc<[Arc<Lower>]>> {
    let mut below = below.to_vec();
    let views = vec![View::Memory(layer)];
    let sealed = Net { views }.seal(pages, store.budget(), how.threads)?;
    below.push(Arc::new(Lower::Sealed(sealed)));
    while let Some(from) = same_tier(&below, how.tier) {
        let views = below[from..].iter().map(|lower| lower.view()).collect();
        let merged = Net { views }.seal(pages, store.budget(), how.threads)?;
        below.truncate(from);
        below.push(Arc::new(Lower::Sealed(merged)));
    }
    Ok(below.into())
}

/// Where the newest layers begin that are of one tier, if they are enough to be merged.
fn same_tier(below: &[Arc<Lower>], count: usize) -> Option<usize> {
    let from = below.len().checked_sub(count)?;
    let tier = |lower: &Arc<Lower>| match &**lower {
        Lower::Memory { .. } => None,
        Lower::Sealed(sealed) => Some(sealed.tier),
    };
    let newest = tier(below.last()?)?;
    let same = below[from..]
        .iter()
        .all(|lower| tier(lower) == Some(newest));
    same.then_some(from)
}

impl Transaction {
    /// Charges the memory of the layer to the budget; seals it where that is too much.
    pub(super) fn charge(&self, state: &mut State) -> Result<()> {
        let bytes = self.own.layer().bytes();
        if bytes > self.store.seal_bytes() && self.seal(state)? {
            return Ok(());
        }
        if bytes <= state.reservation.bytes() {
            return Ok(());
        }
        let budget = self.store.budget().limit();
        let limit = budget / LIMIT_SHARE;
        if bytes > limit {
            return Err(Error::TransactionTooLarge {
                bytes,
                limit,
                budget,
            });
        }
        let wanted = bytes.next_multiple_of(CHARGE_BYTES).min(limit);
        match state.reservation.resize(wanted.max(bytes)) {
            Ok(()) => Ok(()),
            Err(error) => match bytes >= SEAL_BYTES_MIN && self.seal(state)? {
                true => Ok(()),
                false => Err(error.into()),
            },
        }
    }

    /// Puts the layer into temporary pages; `false` for a store that has none.
    fn seal(&self, state: &mut State) -> Result<bool> {
        let Some(pages) = self.store.temporary_pages() else {
            return Ok(false);
        };
        let (layer, below) = self.own.look(Layer::clone);
        let below = sealed_onto(&self.store, &pages, Sealing::TRANSACTION, &below, &layer)?;
        self.own.set_layers(below, Layer::default());
        let bytes = state.reservation.bytes();
        state.reservation.shrink(bytes);
        Ok(true)
    }
}
