//! Transactions that are larger than their share of memory.
//!
//! # How it works
//! The layer that a transaction writes to is charged as it grows. When it passes its share of the
//! limit, or the budget has no more, it is spilled: written to temporary pages
//! ([`crate::delta::immutable_delta`]), and an empty one goes on top of it. The transaction's
//! readers see one stack. Temporary pages are pages of the cache like any other: written to the
//! spill file only when their frames are wanted, freed with the transaction, gone with the process.
//!
//! # Concurrency
//! Under the transaction's state lock, so that no other thread writes; readers see the stack before
//! or after.

use super::{CHARGE_BYTES, LIMIT_SHARE, State, Transaction};
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::immutable_delta::{DeltaView, ImmutableDelta};
use crate::delta::merged_delta::MergedDelta;
use crate::store::Store;
use crate::{Error, Result};
use graven_pagecache::TemporaryPages;
use std::sync::Arc;

/// A layer smaller than this is not worth a page of its own for every store.
const SPILL_BYTES_MIN: u64 = 64 << 10;

/// How layers are spilled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing {
    /// Spilled layers of one tier that are merged into one of the next.
    pub(crate) tier: usize,
    /// Threads that write.
    pub(crate) threads: usize,
}

impl Sealing {
    /// For transactions, whose readers look into all layers.
    pub(crate) const TRANSACTION: Sealing = Sealing {
        tier: 8,
        threads: 2,
    };
}

/// `below` with `layer`, spilled, on top; as many layers become one as their age allows.
pub(crate) fn sealed_onto(
    store: &Store,
    pages: &TemporaryPages,
    how: Sealing,
    below: &[Arc<ImmutableDelta>],
    layer: &DeltaLayer,
) -> Result<Arc<[Arc<ImmutableDelta>]>> {
    let mut below = below.to_vec();
    let views = vec![DeltaView::Memory(layer)];
    let spilled = MergedDelta { views }.spill(pages, store.budget(), how.threads)?;
    below.push(Arc::new(ImmutableDelta::Spilled(spilled)));
    merge_tiers(store, pages, how, below)
}

/// `below`, where as many layers became one as their age allows.
pub(crate) fn merge_tiers(
    store: &Store,
    pages: &TemporaryPages,
    how: Sealing,
    mut below: Vec<Arc<ImmutableDelta>>,
) -> Result<Arc<[Arc<ImmutableDelta>]>> {
    while let Some(from) = same_tier(&below, how.tier) {
        merge_from(store, pages, how, &mut below, from)?;
    }
    Ok(below.into())
}

/// All of `below` as one layer.
pub(crate) fn merged(
    store: &Store,
    pages: &TemporaryPages,
    how: Sealing,
    below: &[Arc<ImmutableDelta>],
) -> Result<Arc<[Arc<ImmutableDelta>]>> {
    let mut below = below.to_vec();
    if below.len() > 1 {
        merge_from(store, pages, how, &mut below, 0)?;
    }
    Ok(below.into())
}

/// The layers from number `from` on become one.
fn merge_from(
    store: &Store,
    pages: &TemporaryPages,
    how: Sealing,
    below: &mut Vec<Arc<ImmutableDelta>>,
    from: usize,
) -> Result<()> {
    let views = below[from..].iter().map(|lower| lower.view()).collect();
    let merged = MergedDelta { views }.spill(pages, store.budget(), how.threads)?;
    below.truncate(from);
    below.push(Arc::new(ImmutableDelta::Spilled(merged)));
    Ok(())
}

/// Where the newest layers begin that are of one tier, if they are enough to be merged.
fn same_tier(below: &[Arc<ImmutableDelta>], count: usize) -> Option<usize> {
    let from = below.len().checked_sub(count)?;
    let tier = |lower: &Arc<ImmutableDelta>| match &**lower {
        ImmutableDelta::Memory { .. } => None,
        ImmutableDelta::Spilled(spilled) => Some(spilled.tier),
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
        self.charge_layer(state)
            .map_err(|error| self.store.lacks(error))
    }

    fn charge_layer(&self, state: &mut State) -> Result<()> {
        let bytes = self.write_set.layer().bytes();
        if bytes > self.store.spill_bytes() && self.spill(state)? {
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
            Err(error) => match bytes >= SPILL_BYTES_MIN && self.spill(state)? {
                true => Ok(()),
                false => Err(error.into()),
            },
        }
    }

    /// Puts the layer into temporary pages; `false` for a store that has none.
    fn spill(&self, state: &mut State) -> Result<bool> {
        let Some(pages) = self.store.temporary_pages() else {
            return Ok(false);
        };
        self.check_deferred_at_once(state)?;
        let (layer, below) = self.write_set.look(DeltaLayer::clone);
        let below = sealed_onto(&self.store, &pages, Sealing::TRANSACTION, &below, &layer)?;
        self.write_set.set_layers(below, DeltaLayer::default());
        let bytes = state.reservation.bytes();
        state.reservation.shrink(bytes);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: opened for reading only, where no checkpoint merges anything, what a log says is one
    //! layer that says the same.

    use super::*;
    use crate::{GraphBuilder, LogPlace, NodeId, OpenOptions, PropertyValue, TransactionOptions};
    use graven_io::{File, MemoryFile};
    use graven_pagecache::{Budget, Config, PageCache, SpillFile};
    use std::path::{Path, PathBuf};

    /// Enough for all changes, and enough for recovering them in parts.
    const AMPLE: u64 = 64 << 20;
    const LITTLE: u64 = 4 << 20;
    const COMMITS: u64 = 30;
    const NODES: u64 = 1000;

    #[derive(Debug)]
    struct InMemory(MemoryFile);

    impl LogPlace for InMemory {
        fn path(&self) -> PathBuf {
            Path::to_path_buf(self.0.path())
        }

        fn existing(&self) -> Result<Option<Arc<dyn File>>> {
            Ok((self.0.len()? > 0).then(|| Arc::new(self.0.clone()) as Arc<dyn File>))
        }

        fn create(&self) -> Result<Arc<dyn File>> {
            Ok(Arc::new(self.0.clone()))
        }

        fn remove(&self) {
            self.0.set_len(0).unwrap();
        }
    }

    fn open(data: &MemoryFile, log: &MemoryFile, memory: u64, read_only: bool) -> Arc<Store> {
        let cache = PageCache::new(Config::new(Budget::new(memory))).unwrap();
        let spilled: Arc<dyn File> = Arc::new(MemoryFile::new("temporary"));
        let place = Box::new(move || Ok(spilled.clone()));
        let spill = SpillFile::new(&cache, "temporary", u64::MAX, place).unwrap();
        let mut options = OpenOptions::new(Box::new(InMemory(log.clone())));
        options.spill = Some(Arc::new(spill));
        options.own_checkpoints = false;
        options.read_only = read_only.then(|| "the test only reads".to_owned());
        Store::open_with(Arc::new(data.clone()), cache, options).unwrap()
    }

    fn text(node: u64) -> PropertyValue {
        PropertyValue::string(&format!("{node}").repeat(40))
    }

    fn copy(file: &MemoryFile) -> MemoryFile {
        MemoryFile::with_bytes("copy", &file.to_bytes())
    }

    #[test]
    fn what_is_only_read_is_one_layer() {
        let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
        GraphBuilder::new().build(Arc::new(data.clone())).unwrap();
        let written = open(&data, &log, AMPLE, false);
        for commit in 0..COMMITS {
            let transaction = written.begin(TransactionOptions::default()).unwrap();
            let key = transaction.key("text").unwrap();
            let first = commit * NODES;
            let texts = (first..first + NODES).map(text).collect();
            transaction
                .create_nodes(&[], NODES as usize, vec![(key, texts)])
                .unwrap();
            let before = first / 2;
            transaction
                .set_node_property(NodeId(before), key, &"changed".into())
                .unwrap();
            transaction.commit().unwrap();
        }
        let (data, log) = (copy(&data), copy(&log));
        let layers = |store: &Store| store.commits().applied.committed_base.layers.below.len();
        let recovered = open(&copy(&data), &copy(&log), LITTLE, false);
        assert!(layers(&recovered) > 1, "there is something to merge");
        let read = open(&data, &log, LITTLE, true);
        assert_eq!(layers(&read), 1);
        let snapshot = read.snapshot();
        assert_eq!(snapshot.node_count(), COMMITS * NODES);
        let key = snapshot.catalog().key("text").unwrap();
        let column = snapshot.node_column(key).unwrap();
        for node in 0..COMMITS * NODES {
            let changed = node % (NODES / 2) == 0 && node < COMMITS * NODES / 2;
            let expected = if changed {
                "changed".into()
            } else {
                text(node)
            };
            assert_eq!(column.get(node).unwrap(), expected, "{node}");
        }
    }
}
