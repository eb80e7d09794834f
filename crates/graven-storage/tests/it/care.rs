//! Goal: checkpoints of an open store keep everything committed, beside writers and readers; a backup is the database; a
//! salvage copies all but what a damaged page held, and says which that was.

use crate::damage::{answers, open, sample};
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    CheckpointOptions, Direction, GraphBuilder, NodeId, PropertyValue, Store, TransactionOptions,
};
use std::sync::Arc;

fn cache() -> Arc<PageCache> {
    PageCache::new(Config::new(Budget::new(8 << 20))).unwrap()
}

fn unpaced() -> CheckpointOptions {
    let mut options = CheckpointOptions::default();
    options.paced = false;
    options
}

/// Every writer makes a node with a relationship to node 0, `count` times.
fn write(store: &Arc<Store>, writer: i64, count: i64) {
    for number in 0..count {
        loop {
            let transaction = store.begin(TransactionOptions::default()).unwrap();
            let label = transaction.label("Written").unwrap();
            let (id, of) = (
                transaction.key("number").unwrap(),
                transaction.key("writer").unwrap(),
            );
            let rel_type = transaction.rel_type("POINTS").unwrap();
            let properties = [
                (id, PropertyValue::Integer(number)),
                (of, PropertyValue::Integer(writer)),
            ];
            let node = transaction.create_node(&[label], &properties).unwrap();
            let since = [(id, PropertyValue::Integer(number))];
            transaction
                .create_relationship(node, rel_type, NodeId(0), &since)
                .unwrap();
            match transaction.commit() {
                Ok(_) => break,
                Err(error) if error.is_retryable() => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn checkpoints_run_beside_writers_and_readers() {
    let mut builder = GraphBuilder::new();
    builder.node(&["Hub"], &[]);
    let file = MemoryFile::new("busy.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    let store = Store::open(Arc::new(file.clone()), cache()).unwrap();
    let old = store.snapshot();
    let mut checkpoints = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                scope.spawn({
                    let store = store.clone();
                    move || write(&store, writer, 300)
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            checkpoints += u64::from(store.checkpoint(unpaced()).unwrap().is_some());
            let now = store.snapshot();
            let label = now.catalog().label("Written");
            let nodes = label.map_or(0, |label| now.nodes_with_label(label).unwrap().count());
            let rel_type = now.catalog().rel_type("POINTS");
            let into = rel_type.map_or(0, |of| {
                now.adjacency(of, Direction::In)
                    .unwrap()
                    .degree(NodeId(0))
                    .unwrap()
            });
            assert_eq!(nodes, into, "a snapshot sees whole transactions");
        }
    });
    checkpoints += u64::from(store.checkpoint(unpaced()).unwrap().is_some());
    assert!(checkpoints > 0);
    assert_eq!(
        old.node_count(),
        1,
        "an old snapshot reads what it always read"
    );
    assert_eq!(store.check().unwrap().problems, []);
    let before = answers(&store).unwrap();
    drop(old);
    let again = Store::open(Arc::new(file), cache()).unwrap();
    assert_eq!(again.snapshot().node_count(), 901);
    assert_eq!(answers(&again).unwrap(), before);
    assert_eq!(again.check().unwrap().problems, []);
}

#[test]
fn a_backup_is_the_database() {
    let store = open(&sample(), &cache()).unwrap();
    write(&store, 7, 20);
    let out = MemoryFile::new("backup.graven");
    let report = store.backup(Arc::new(out.clone()), cache()).unwrap();
    assert_eq!(report.check.problems, []);
    let copy = Store::open(Arc::new(out.clone()), cache()).unwrap();
    assert_eq!(answers(&copy).unwrap(), answers(&store).unwrap());
    // The original goes on, the copy stays; a copy of the copy is the same again.
    write(&store, 8, 20);
    store.checkpoint(unpaced()).unwrap();
    assert_eq!(
        copy.snapshot().node_count() + 20,
        store.snapshot().node_count()
    );
    let second = MemoryFile::new("second.graven");
    copy.backup(Arc::new(second.clone()), cache()).unwrap();
    let second = Store::open(Arc::new(second), cache()).unwrap();
    assert_eq!(answers(&second).unwrap(), answers(&copy).unwrap());
    store.backup(Arc::new(out), cache()).unwrap_err();
}

/// What a salvage of `bytes` copied: nodes, relationships, values; and what was lost.
fn salvage(bytes: &[u8]) -> Option<(u64, u64, u64, usize)> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("damaged.graven", bytes));
    let (store, lost) = Store::open_damaged(file, cache()).ok()?;
    let out = MemoryFile::new("salvaged.graven");
    let report = store.salvage(Arc::new(out.clone())).unwrap();
    let copy = Store::open(Arc::new(out), cache()).unwrap();
    assert_eq!(copy.check().unwrap().problems, []);
    assert_eq!(copy.snapshot().node_count(), report.nodes);
    let lost = lost.len() + report.lost.len();
    Some((report.nodes, report.relationships, report.values, lost))
}

#[test]
fn a_salvage_copies_what_can_be_read() {
    let mut bytes = sample();
    let intact = salvage(&bytes).unwrap();
    assert_eq!(intact.3, 0, "nothing is lost of an intact file");
    let (mut whole, mut partly) = (0, 0);
    for page in 0..bytes.len() / 4096 {
        let at = page * 4096 + 100;
        bytes[at] ^= 1;
        if let Some(found) = salvage(&bytes) {
            assert!(found.0 <= intact.0 && found.1 <= intact.1 && found.2 <= intact.2);
            match (found.0, found.1, found.2) == (intact.0, intact.1, intact.2) {
                true => whole += 1,
                false => {
                    assert!(found.3 > 0, "what is lost is told: page {page}");
                    partly += 1;
                }
            }
        }
        bytes[at] ^= 1;
    }
    assert!(
        whole > 3 && partly > 3,
        "{whole} pages without loss, {partly} with"
    );
}
