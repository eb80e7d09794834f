//! Goal: closing leaves one file, or says that the log is needed; what keeps a log from being made
//! or written to is named.

use crate::naive::Naive;
use crate::transactions::{LogFile, copy, empty, open};
use graven_io::{Fault, FaultPlan, FaultyFile, File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{Error, NodeId, OpenOptions, PropertyValue, Store, TransactionOptions};
use std::sync::Arc;
use std::time::Duration;

fn commit(store: &Arc<Store>, number: i64) -> Result<(), Error> {
    let transaction = store.begin(TransactionOptions::default())?;
    let key = transaction.key("number")?;
    transaction.create_node(&[], &[(key, PropertyValue::Integer(number))])?;
    transaction.commit().map(|_| ())
}

#[test]
fn a_closed_store_needs_no_log_whichever_superblock_is_read() {
    let (data, log) = empty();
    let store = open(Arc::new(data.clone()), Arc::new(log.clone())).unwrap();
    commit(&store, 1).unwrap();
    assert!(store.needs_log());
    let expected = Naive::of(&store.snapshot());
    store.close().unwrap();
    assert!(!store.needs_log());
    assert!(log.is_empty().unwrap(), "the log is gone");
    // A second close, as of a handle that is dropped late, leaves the log of the next life alone.
    let next = open(copy(&data), Arc::new(log.clone())).unwrap();
    commit(&next, 2).unwrap();
    store.close().unwrap();
    assert!(!log.is_empty().unwrap());
    for slot in [0, 64 << 10] {
        let mut bytes = data.to_bytes();
        bytes[slot + 100] ^= 1;
        let damaged = Arc::new(MemoryFile::with_bytes("data", &bytes));
        let store = open(damaged, Arc::new(MemoryFile::new("log"))).unwrap();
        assert!(store.superblock().other_damage.is_some());
        assert!(Naive::of(&store.snapshot()) == expected);
    }
}

#[test]
fn what_does_not_fold_in_time_stays_in_the_log() {
    let (data, log) = empty();
    let opened = || {
        let cache = PageCache::new(Config::new(Budget::new(4 << 20))).unwrap();
        let mut options = OpenOptions::new(Box::new(LogFile(Arc::new(log.clone()))));
        options.fold_on_close = Some(Duration::ZERO);
        Store::open_with(Arc::new(data.clone()), cache, options).unwrap()
    };
    for life in 1..4 {
        let store = opened();
        assert_eq!(store.snapshot().node_count(), life - 1);
        commit(&store, life as i64).unwrap();
        store.close().unwrap();
        assert!(store.needs_log() && !log.is_empty().unwrap());
        let because = store.unfolded_because().unwrap();
        assert!(because.contains("takes longer"), "{because}");
    }
    let missing = open(copy(&data), Arc::new(MemoryFile::new("none")));
    assert!(matches!(missing, Err(Error::LogMissing { .. })));
}

/// A later life of a log says that it is needed before its first commit is acknowledged, with one
/// sync.
#[test]
fn a_log_that_is_used_again_is_needed_again() {
    let (data, log) = empty();
    let faulty = FaultyFile::new(Arc::new(data.clone()), FaultPlan::default());
    let file: Arc<dyn File> = Arc::new(faulty.clone());
    let first = open(file.clone(), Arc::new(log.clone())).unwrap();
    commit(&first, 1).unwrap();
    first.checkpoint(Default::default()).unwrap();
    drop(first);
    let cache = PageCache::new(Config::new(Budget::new(4 << 20))).unwrap();
    let mut options = OpenOptions::new(Box::new(LogFile(Arc::new(log.clone()))));
    options.fold_on_close = None;
    let second = Store::open_with(file, cache, options).unwrap();
    second.close().unwrap();
    assert!(!second.needs_log(), "all of it is in the data file");
    drop(second);
    let third = open(Arc::new(faulty.clone()), Arc::new(log)).unwrap();
    let before = faulty.control().counts().syncs;
    commit(&third, 2).unwrap();
    assert_eq!(faulty.control().counts().syncs, before + 1);
    commit(&third, 3).unwrap();
    assert_eq!(faulty.control().counts().syncs, before + 1, "once");
    let missing = open(copy(&data), Arc::new(MemoryFile::new("none")));
    assert!(matches!(missing, Err(Error::LogMissing { .. })));
}

#[test]
fn a_log_that_finds_no_room_to_be_made_is_a_full_disk() {
    let (data, log) = empty();
    let plan = FaultPlan {
        capacity_bytes: Some(1 << 20),
        ..FaultPlan::default()
    };
    let faulty = FaultyFile::new(Arc::new(log.clone()), plan);
    let store = open(Arc::new(data.clone()), Arc::new(faulty.clone())).unwrap();
    for _ in 0..2 {
        let refused = commit(&store, 1).unwrap_err();
        assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
        assert!(log.is_empty().unwrap(), "half a log takes room for nothing");
    }
    faulty.control().set_plan(FaultPlan::default());
    commit(&store, 1).unwrap();
    store.close().unwrap();
    let again = open(Arc::new(data), Arc::new(MemoryFile::new("none"))).unwrap();
    assert_eq!(again.snapshot().node_count(), 1);
}

#[test]
fn closing_on_a_full_disk_leaves_the_log_and_says_why() {
    let (data, log) = empty();
    let faulty = FaultyFile::new(Arc::new(data.clone()), FaultPlan::default());
    let store = open(Arc::new(faulty.clone()), Arc::new(log.clone())).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let key = transaction.key("text").unwrap();
    for number in 0..500 {
        let text = PropertyValue::String(format!("{number} ").repeat(500).into());
        transaction.create_node(&[], &[(key, text)]).unwrap();
    }
    transaction.commit().unwrap();
    faulty.control().set_plan(FaultPlan {
        capacity_bytes: Some(data.len().unwrap()),
        ..FaultPlan::default()
    });
    store.close().unwrap();
    assert!(store.needs_log());
    let because = store.unfolded_because().unwrap();
    assert!(because.contains("No space left"), "{because}");
    drop(store);
    let again = open(Arc::new(data), Arc::new(log)).unwrap();
    assert_eq!(again.snapshot().node_count(), 500);
    again.close().unwrap();
    assert_eq!(again.unfolded_because(), None);
}

#[test]
fn after_a_failed_log_a_conflict_is_no_answer() {
    let (data, log) = empty();
    let faulty = FaultyFile::new(Arc::new(log), FaultPlan::default());
    let store = open(Arc::new(data), Arc::new(faulty.clone())).unwrap();
    commit(&store, 1).unwrap();
    let write = || {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        let key = transaction.key("number").unwrap();
        let value = PropertyValue::Integer(7);
        transaction
            .set_node_property(NodeId(0), key, &value)
            .unwrap();
        transaction
    };
    // Both begin before the log fails, and change the same node.
    let (one, two) = (write(), write());
    faulty.control().arm(Fault::SyncError, 0);
    let failed = one.commit().unwrap_err();
    assert!(matches!(failed, Error::LogFailed { .. }), "{failed}");
    for late in [two, write()] {
        let refused = late.commit().unwrap_err();
        assert!(matches!(refused, Error::LogFailed { .. }), "{refused}");
        assert!(!refused.is_retryable());
    }
}
