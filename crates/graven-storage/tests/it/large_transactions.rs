//! Goal: a transaction may be larger than memory where it can spill, takes little memory, and says
//! so where it cannot.

use crate::naive::Naive;
use crate::transactions::{CACHE_BYTES, base, copy, empty, open_spilling};
use graven_io::{File, MemoryFile};
use graven_storage::{
    CheckpointOptions, Direction, Error, GraphBuilder, IndexKind, IndexSpec, KeyId, LabelId,
    NodeId, PropertyValue, SchemaEntity, Snapshot, Transaction, TransactionOptions, TypeId,
};
use std::ops::Bound;
use std::sync::Arc;

#[test]
fn a_transaction_that_is_too_large_says_so() {
    let store = GraphBuilder::new().open(2 << 20).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let key = transaction.key("text").unwrap();
    let text = [(key, PropertyValue::string(&"long ".repeat(2000)))];
    let error = (0..1000).find_map(|_| transaction.create_node(&[], &text).err());
    assert!(
        matches!(
            error,
            Some(Error::TransactionTooLarge { limit: 524_288, .. })
        ),
        "{error:?}"
    );
    transaction.rollback();
    assert_eq!(store.snapshot().node_count(), 0);
}

/// Goal: a transaction several times the memory limit is right for its own readers, for later ones,
/// after a checkpoint and after its log was read again; rolled back it leaves nothing. Peak memory
/// stays within the limit.
#[test]
fn a_transaction_may_be_larger_than_memory() {
    const NODES: u64 = 12_000;
    const MEMORY: u64 = 2 << 20;
    let (data, log) = empty();
    let open = |data: Arc<dyn File>, log: Arc<dyn File>| {
        open_spilling(data, log, MEMORY, None, true).unwrap()
    };
    let store = open(Arc::new(data.clone()), Arc::new(log.clone()));
    let fill = |transaction: &Transaction| {
        let (label, other) = (
            transaction.label("L").unwrap(),
            transaction.label("M").unwrap(),
        );
        let (key, text) = (
            transaction.key("x").unwrap(),
            transaction.key("text").unwrap(),
        );
        let next = transaction.rel_type("NEXT").unwrap();
        let spec = IndexSpec {
            name: None,
            entity: SchemaEntity::Node(label),
            keys: vec![key],
            unique: true,
            kind: IndexKind::Range,
        };
        transaction.create_index(&spec, &|| false).unwrap();
        let mut nodes = Vec::new();
        for number in 0..NODES as i64 {
            let properties = [
                (key, PropertyValue::Integer(number)),
                (
                    text,
                    PropertyValue::string(&format!("some text of {number}")),
                ),
            ];
            nodes.push(transaction.create_node(&[label], &properties).unwrap());
        }
        for node in nodes.iter().step_by(1000) {
            transaction
                .create_relationship(*node, next, nodes[1], &[])
                .unwrap();
        }
        for at in 0..NODES as usize {
            // All over the place, so that layers overlap.
            let spread = |step: usize| nodes[at * step % nodes.len() / 100 * 100 + 1 + at % 99];
            let (from, to) = (spread(7919), spread(31));
            transaction
                .create_relationship(from, next, to, &[])
                .unwrap();
            if at % 3 == 0 {
                transaction
                    .set_node_property(from, key, &PropertyValue::Integer(-(at as i64) - 1))
                    .unwrap();
            }
            if at % 100 == 0 {
                transaction.add_label(to, other).unwrap();
            }
        }
        for node in nodes.iter().step_by(100) {
            transaction.detach_delete_node(*node).unwrap();
        }
        // Many at once, also after some of them went to temporary pages.
        for first in (1..20).map(|at| at * 10 * NODES as i64) {
            let keys: Vec<_> = (first..first + 500).map(PropertyValue::Integer).collect();
            let texts = vec![PropertyValue::string(&"long text ".repeat(20)); 500];
            let columns = vec![(key, keys), (text, texts)];
            let made = transaction.create_nodes(&[label], 500, columns).unwrap();
            for node in made {
                transaction.delete_node(NodeId(node)).unwrap();
            }
        }
        let duplicate = [(key, PropertyValue::Integer(-1))];
        assert!(matches!(
            transaction.create_node(&[label], &duplicate),
            Err(Error::Duplicate { .. })
        ));
    };
    let sum = |snapshot: &Snapshot| {
        let catalog = snapshot.catalog();
        let (label, key) = (catalog.label("L").unwrap(), catalog.key("x").unwrap());
        let ids: Vec<u64> = snapshot
            .nodes_with_label(label)
            .unwrap()
            .iter()
            .map(|n| n.0)
            .collect();
        let mut values = Vec::new();
        assert!(
            snapshot
                .node_column(key)
                .unwrap()
                .gather_i64(&ids, &mut values)
                .unwrap()
        );
        let range = snapshot.index(label, key).unwrap();
        let indexed = range.range(Bound::Unbounded, Bound::Unbounded).unwrap();
        let out = snapshot.adjacency(TypeId(0), Direction::Out).unwrap();
        let into = snapshot.adjacency(TypeId(0), Direction::In).unwrap();
        let (mut starts, mut ends) = (0, 0);
        for id in &ids {
            starts += out.degree(NodeId(*id)).unwrap();
            ends += into.degree(NodeId(*id)).unwrap();
        }
        assert_eq!(starts, ends);
        let values: i64 = values.into_iter().flatten().sum();
        (
            ids.len(),
            values,
            indexed.count(),
            starts,
            snapshot.node_count(),
        )
    };
    let rolled_back = store.begin(TransactionOptions::default()).unwrap();
    fill(&rolled_back);
    rolled_back.rollback();
    assert_eq!(store.snapshot().node_count(), 0);
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    fill(&transaction);
    let inside = sum(&transaction.snapshot());
    assert_eq!(inside.0, NODES as usize - NODES as usize / 100);
    assert_eq!(inside.2, inside.0);
    let committed = transaction.commit().unwrap();
    assert!(committed.log_bytes > 256 << 10);
    assert_eq!(sum(&store.snapshot()), inside);
    let (crashed_data, crashed_log) = (copy(&data), copy(&log));
    store.checkpoint(CheckpointOptions::default()).unwrap();
    assert_eq!(sum(&store.snapshot()), inside);
    drop(store);
    let again = open(crashed_data, crashed_log);
    assert_eq!(sum(&again.snapshot()), inside);
    again.checkpoint(CheckpointOptions::default()).unwrap();
    let report = again.check().unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// Goal: a transaction that creates nodes of different labels in turn, many times more of them than
/// memory holds runs of, is right for its own readers, for later ones, after a crash, and folded
/// into the file.
#[test]
fn nodes_of_labels_in_turn_take_little_memory() {
    const PAIRS: i64 = 60_000;
    const MEMORY: u64 = 2 << 20;
    let (data, log) = empty();
    let open = |data: Arc<dyn File>, log: Arc<dyn File>| {
        open_spilling(data, log, MEMORY, None, true).unwrap()
    };
    let store = open(Arc::new(data.clone()), Arc::new(log.clone()));
    let look = |snapshot: &Snapshot| {
        let catalog = snapshot.catalog();
        let [a, b] = ["A", "B"].map(|name| catalog.label(name).unwrap());
        let key = catalog.key("x").unwrap();
        let ids = |label| snapshot.nodes_with_label(label).unwrap();
        let (of_a, of_b) = (ids(a), ids(b));
        assert_eq!(
            of_a.count() + of_b.count(),
            snapshot.all_nodes().unwrap().count()
        );
        let mut values = Vec::new();
        let numbers: Vec<u64> = of_b.iter().map(|node| node.0).collect();
        let column = snapshot.node_column(key).unwrap();
        assert!(column.gather_i64(&numbers, &mut values).unwrap());
        for node in numbers.iter().step_by(97) {
            assert_eq!(snapshot.labels_of(NodeId(*node)).unwrap(), [b]);
            assert!(of_a.contains(NodeId(node - 1)));
        }
        let values: i64 = values.into_iter().flatten().sum();
        (of_a.count(), of_b.count(), values, snapshot.node_count())
    };
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let [a, b] = ["A", "B"].map(|name| transaction.label(name).unwrap());
    let key = transaction.key("x").unwrap();
    for number in 0..PAIRS {
        let value = [(key, PropertyValue::Integer(number))];
        transaction.create_node(&[a], &[]).unwrap();
        transaction.create_node(&[b], &value).unwrap();
    }
    // Some change afterwards, in layers of their own.
    transaction.remove_label(NodeId(10), a).unwrap();
    transaction.delete_node(NodeId(12)).unwrap();
    let pairs = PAIRS as u64;
    let wanted = (pairs - 1, pairs, PAIRS * (PAIRS - 1) / 2, 2 * pairs - 1);
    let inside = transaction.snapshot();
    assert_eq!(inside.node_count(), wanted.3);
    assert_eq!(inside.labels_of(NodeId(10)).unwrap(), []);
    transaction.add_label(NodeId(10), a).unwrap();
    transaction.commit().unwrap();
    assert_eq!(look(&store.snapshot()), wanted);
    let (crashed_data, crashed_log) = (copy(&data), copy(&log));
    store.checkpoint(CheckpointOptions::default()).unwrap();
    assert_eq!(look(&store.snapshot()), wanted);
    drop(store);
    let again = open(crashed_data, crashed_log);
    assert_eq!(look(&again.snapshot()), wanted);
    again.checkpoint(CheckpointOptions::default()).unwrap();
    assert_eq!(look(&again.snapshot()), wanted);
    let report = again.check().unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// Goal: a large commit is in the data file after the next clean close, whether the process that
/// closes made it or recovered it. No later opening reads its log again.
#[test]
fn a_large_commit_is_folded_in_at_the_latest_by_a_close() {
    for crashed in [false, true] {
        let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
        base().build(Arc::new(data.clone())).unwrap();
        let open = |data: Arc<dyn File>, log: Arc<dyn File>, own_checkpoints| {
            open_spilling(data, log, CACHE_BYTES, Some(2000), own_checkpoints).unwrap()
        };
        let store = open(Arc::new(data.clone()), Arc::new(log.clone()), !crashed);
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        for number in 0..200 {
            let properties = [(KeyId(0), PropertyValue::Integer(number))];
            transaction.create_node(&[LabelId(0)], &properties).unwrap();
        }
        transaction.commit().unwrap();
        let expected = Naive::of(&store.snapshot());
        let (data, log) = match crashed {
            false => {
                store.close().unwrap();
                (copy(&data), copy(&log))
            }
            true => {
                let (data, log) = (copy(&data), copy(&log));
                let again = open(data.clone(), log.clone(), true);
                expected.check(&again.snapshot());
                again.close().unwrap();
                (data, log)
            }
        };
        let found = open(data, log, false);
        let position = found.superblock().superblock.log;
        assert!(position.position > 0, "{position:?}");
        assert_eq!(position.position, position.clean_end, "{position:?}");
        expected.check(&found.snapshot());
    }
}
