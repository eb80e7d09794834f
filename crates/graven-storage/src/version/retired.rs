//! Versions that are not the newest any more, kept until no reader has them.
//!
//! # How it works
//! What only a version knew is freed with it: paths of maps that later commits copied. The last
//! reader of a version would free hundreds of pieces that the threads of commits allocated. It
//! would do so under the locks of their heaps, which these threads need just then. So a version
//! that readers still hold when it is replaced is kept here. The next commits drop those that no
//! reader has any more.
//!
//! # Invariants
//! * TX-23: only versions above the newest root and with little of their own are kept, so neither
//!   pages nor memory wait for the next commit.
//!
//! # Concurrency
//! A mutex that only commits and checkpoints take.
//!
//! # Costs
//! At most [`KEPT_MAX`] versions; readers that hold more free the oldest themselves.

use super::Version;
use parking_lot::Mutex;
use std::sync::Arc;

/// Versions kept.
const KEPT_MAX: usize = 32;
/// Bytes that a version that is kept may have for itself.
const OWN_BYTES_MAX: u64 = 64 << 10;

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct Retired(Mutex<Vec<Arc<Version>>>);

impl Retired {
    /// Keeps those of `gone` that readers have, and drops those that no reader has any more.
    /// `newest` gives the newest version.
    pub(crate) fn keep(&self, gone: Vec<Arc<Version>>, newest: impl FnOnce() -> Arc<Version>) {
        let is_held = |version: &Arc<Version>| Arc::strong_count(version) > 1;
        let (held, mut free): (Vec<_>, Vec<_>) = gone.into_iter().partition(is_held);
        let mut kept = self.0.lock();
        kept.extend(held);
        if !kept.is_empty() {
            let newest = newest();
            let goes = |version: &mut _| !is_held(version) || !is_like(version, &newest);
            free.extend(kept.extract_if(.., goes));
            let over = kept.len().saturating_sub(KEPT_MAX);
            free.extend(kept.drain(..over));
        }
        drop(kept);
        drop(free);
    }

    /// Drops all: the newest version has another root or other frozen layers.
    pub(crate) fn clear(&self) {
        let kept = std::mem::take(&mut *self.0.lock());
        drop(kept);
    }
}

/// Whether a version holds little that the newest does not.
fn is_like(version: &Version, newest: &Version) -> bool {
    let (committed_base, wanted) = (&version.committed_base, &newest.committed_base);
    let same_frozen = match (&committed_base.layers.frozen, &wanted.layers.frozen) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    same_frozen
        && Arc::ptr_eq(&committed_base.root, &wanted.root)
        && Arc::ptr_eq(&committed_base.layers.below, &wanted.layers.below)
        && own_bytes(version, newest) <= OWN_BYTES_MAX
}

/// What a version has that the newest does not, at most: what later commits took away or replaced,
/// by as many bytes as they brought or as there are fewer now.
fn own_bytes(version: &Version, newest: &Version) -> u64 {
    let fewer = version
        .changed_bytes()
        .saturating_sub(newest.changed_bytes());
    let brought = newest.written_bytes.saturating_sub(version.written_bytes);
    fewer + brought
}

#[cfg(test)]
mod tests {
    //! Goal: what a reader holds while commits go on is dropped by a commit, and never outlives a
    //! checkpoint (TX-23).

    use crate::builder::GraphBuilder;
    use crate::checkpoint::CheckpointOptions;
    use crate::ids::NodeId;
    use crate::store::Store;
    use crate::transaction::options::TransactionOptions;
    use graven_io::{File, MemoryFile};
    use graven_pagecache::{Budget, Config, PageCache};
    use std::sync::Arc;

    fn commit(store: &Arc<Store>) {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        transaction.create_node(&[], &[]).unwrap();
        transaction.commit().unwrap();
    }

    fn kept(store: &Store) -> usize {
        store.retired.0.lock().len()
    }

    #[test]
    fn versions_that_readers_hold_are_kept_for_commits_to_drop() {
        let file: Arc<dyn File> = Arc::new(MemoryFile::new("data"));
        GraphBuilder::new().build(file.clone()).unwrap();
        let cache = PageCache::new(Config::new(Budget::new(8 << 20))).unwrap();
        let store = Store::open(file, cache).unwrap();
        commit(&store);
        commit(&store);
        assert_eq!(
            kept(&store),
            1,
            "the one that the last transaction began at"
        );
        let held: Vec<_> = (0..2 * super::KEPT_MAX as u64)
            .map(|_| {
                let snapshot = store.snapshot();
                commit(&store);
                snapshot
            })
            .collect();
        assert_eq!(kept(&store), super::KEPT_MAX);
        for (at, snapshot) in held.iter().enumerate() {
            assert_eq!(snapshot.node_count(), at as u64 + 2, "each sees its own");
        }
        drop(held);
        assert_eq!(kept(&store), super::KEPT_MAX, "readers free nothing");
        commit(&store);
        assert_eq!(kept(&store), 1);
        let snapshot = store.snapshot();
        commit(&store);
        assert_eq!(kept(&store), 1);
        let root = Arc::downgrade(&store.newest_root());
        let options = CheckpointOptions {
            paced: false,
            compact: false,
            until: crate::Until::DONE,
        };
        assert!(store.checkpoint(options).unwrap().is_some());
        assert_eq!(kept(&store), 0, "its pages may be waited for");
        drop(snapshot);
        assert!(root.upgrade().is_none());
    }

    #[test]
    fn versions_that_hold_much_are_not_kept() {
        let file: Arc<dyn File> = Arc::new(MemoryFile::new("data"));
        GraphBuilder::new().build(file.clone()).unwrap();
        let cache = PageCache::new(Config::new(Budget::new(64 << 20))).unwrap();
        let store = Store::open(file, cache).unwrap();
        let set = |bytes: usize| {
            let transaction = store.begin(TransactionOptions::default()).unwrap();
            let key = transaction.key("text").unwrap();
            let text = "x".repeat(bytes).as_str().into();
            if store.snapshot().node_count() == 0 {
                transaction.create_node(&[], &[(key, text)]).unwrap();
            } else {
                transaction
                    .set_node_property(NodeId(0), key, &text)
                    .unwrap();
            }
            transaction.commit().unwrap();
        };
        let (little, much) = (10, 2 * super::OWN_BYTES_MAX as usize);
        for (bytes, wanted) in [(little, 1), (much, 0)] {
            set(bytes);
            store.retired.clear();
            let snapshot = store.snapshot();
            set(bytes);
            assert_eq!(kept(&store), wanted, "{bytes}");
            drop(snapshot);
        }
        // Once the newest commits are put into the active layer, what they replaced is the old
        // version's alone.
        let snapshot = store.snapshot();
        (0..12).for_each(|_| set(little));
        let kept = store.retired.0.lock();
        assert!(kept.iter().all(|it| it.changed_bytes() < much as u64));
        drop(snapshot);
    }
}
