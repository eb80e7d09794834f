//! Goal: of a file whose end is missing everything before the cut is salvaged, as it was; what is
//! lost is told; and where nothing can be found any more, what is left is told.

use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    CheckpointOptions, Direction, Error, GraphBuilder, NodeId, PropertyValue, SalvageReport, Store,
    TransactionOptions, TypeId, Uniqueness,
};
use std::sync::Arc;

const NODES: u64 = 12_000;

fn cache() -> Arc<PageCache> {
    PageCache::new(Config::new(Budget::new(16 << 20))).unwrap()
}

/// What node `node` is called, after the changes or before them.
fn name(node: u64, round: u64) -> String {
    format!("{:x}", (node + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8)
        + &"+".repeat(round as usize)
}

fn end(node: u64) -> u64 {
    node * 7919 % NODES
}

/// A bulk load: every node has its number and its name, and leads to one other.
fn loaded() -> MemoryFile {
    let mut builder = GraphBuilder::new();
    for node in 0..NODES {
        let properties = [
            ("number", PropertyValue::Integer(node as i64)),
            ("name", PropertyValue::string(&name(node, 0))),
        ];
        let labels: &[&str] = if node % 3 == 0 { &["A"] } else { &["A", "B"] };
        builder.node(labels, &properties);
    }
    for node in 0..NODES {
        let number = [("from", PropertyValue::Integer(node as i64))];
        builder.relationship(NodeId(node), "LEADS", NodeId(end(node)), &number);
    }
    builder.index("A", "number", Uniqueness::Unique);
    let file = MemoryFile::new("loaded.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    file
}

/// The same with names changed by `rounds` checkpoints, each of which writes all of them anew.
fn changed(rounds: u64) -> MemoryFile {
    let file = loaded();
    let store = Store::open(Arc::new(file.clone()), cache()).unwrap();
    for round in 1..=rounds {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        let key = transaction.key("name").unwrap();
        for node in (0..NODES).step_by(5) {
            let text = PropertyValue::string(&name(node, round));
            transaction
                .set_node_property(NodeId(node), key, &text)
                .unwrap();
        }
        transaction.commit().unwrap();
        let mut options = CheckpointOptions::default();
        options.paced = false;
        store.checkpoint(options).unwrap();
    }
    store.close().unwrap();
    file
}

fn salvage(bytes: &[u8]) -> Result<(Arc<Store>, SalvageReport), Error> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("cut.graven", bytes));
    // What a cut takes may be room that the newest superblock has given up.
    let opened = Store::open(file.clone(), cache());
    assert!(
        matches!(opened, Ok(_) | Err(Error::Truncated { .. })),
        "{opened:?}"
    );
    let (store, lost) = Store::open_damaged(file, cache())?;
    let out = MemoryFile::new("salvaged.graven");
    let mut report = store.salvage(Arc::new(out.clone()))?;
    report.lost.extend(lost);
    let copy = Store::open(Arc::new(out), cache())?;
    assert_eq!(copy.check()?.problems, []);
    Ok((copy, report))
}

/// Every value and every relationship of the copy is one that was there; names after `rounds`
/// rounds.
fn verify(copy: &Store, rounds: u64) {
    let snapshot = copy.snapshot();
    let key = |name: &str| snapshot.node_column(snapshot.catalog().key(name).unwrap());
    let (numbers, names) = (key("number"), key("name"));
    let lists = snapshot.adjacency(TypeId(0), Direction::Out).unwrap();
    let from = snapshot.catalog().key("from").unwrap();
    let from = snapshot.relationship_column(TypeId(0), from);
    for node in 0..snapshot.node_count() {
        let value = |column: &Option<graven_storage::Column>, id| {
            let value = column.as_ref().map(|column| column.get(id).unwrap());
            value.filter(|value| !value.is_null())
        };
        if let Some(number) = value(&numbers, node) {
            assert_eq!(number, PropertyValue::Integer(node as i64));
        }
        if let Some(found) = value(&names, node) {
            let round = if node % 5 == 0 { rounds } else { 0 };
            assert_eq!(found, PropertyValue::string(&name(node, round)), "{node}");
        }
        let mut ends = Vec::new();
        lists.neighbours(NodeId(node), &mut ends).unwrap();
        assert!(ends.len() <= 1, "{ends:?}");
        for it in ends {
            assert_eq!(it.node.0, end(node));
            if let Some(number) = value(&from, it.relationship.0) {
                assert_eq!(number, PropertyValue::Integer(node as i64));
            }
        }
    }
}

#[test]
fn what_lies_before_the_cut_is_salvaged() {
    for rounds in [0, 1, 2, 5] {
        let bytes = changed(rounds).to_bytes();
        let mut before = 0;
        for percent in [25, 50, 75, 99] {
            let (copy, report) = salvage(&bytes[..bytes.len() * percent / 100]).unwrap();
            let what = format!("{percent} % after {rounds} rounds: {report:?}");
            assert_eq!(report.nodes, NODES, "{what}");
            let found = report.values + report.relationships;
            assert!(found >= before, "more is left of more: {what}");
            before = found;
            // Two properties of nodes, one of relationships.
            assert_eq!(report.lost.is_empty(), found == 4 * NODES, "{what}");
            verify(&copy, rounds);
        }
        assert!(before > 2 * NODES, "most is left: {before}");
    }
}

/// Goal: without a catalogue nothing is copied and what is left is told, whatever else is intact.
#[test]
fn without_a_catalogue_what_is_left_is_told() {
    let file = loaded();
    let mut bytes = file.to_bytes();
    let length = bytes.len();
    bytes[4096..16 * 4096].fill(0);
    bytes.truncate(length * 3 / 4);
    let error = salvage(&bytes).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("pages of the file are intact ("), "{error}");
    assert!(error.contains("restore a backup"), "{error}");
    bytes.truncate(17 * 4096);
    let error = salvage(&bytes).map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("no page of the file") || error.contains("2 pages of the file"),
        "{error}"
    );
}
