//! Goal: a log that is read in many batches, one put together while the one before is applied, says
//! what was committed: as one layer in memory and as many in temporary pages, with indexes that are
//! older than the log and one that is made in its middle. Method: commits that undo parts of
//! earlier ones, so that ids come late and twice within a batch and between batches.

use crate::naive::Naive;
use crate::transactions::{copy, empty, open, open_spilling};
use graven_storage::{
    CheckpointOptions, GraphBuilder, IndexKind, IndexSpec, NodeId, PropertyValue, RelId,
    SchemaEntity, Store, Transaction, TransactionOptions,
};
use std::sync::Arc;

const COMMITS: u64 = 40;
const NODES: u64 = 25;
/// No checkpoint comes.
const AMPLE: u64 = 256 << 20;
/// Enough for all changes, and for one thread of a checkpoint.
const ONE_THREAD: u64 = 16 << 20;
/// For the batches a quarter of it.
const LITTLE: u64 = 1 << 20;
const SEAL_BYTES: u64 = 48 << 10;
/// Fifty times as much as [`NOT_MUCH`].
const LONG_LOG: u64 = 100 << 20;
const NOT_MUCH: u64 = 2 << 20;

fn text(number: u64) -> PropertyValue {
    PropertyValue::string(&format!("{number} ").repeat(200))
}

fn index(transaction: &Transaction, label: &str, key: &str) {
    let spec = IndexSpec {
        name: None,
        entity: SchemaEntity::Node(transaction.label(label).unwrap()),
        keys: vec![transaction.key(key).unwrap()],
        unique: false,
        kind: IndexKind::Range,
    };
    transaction.create_index(&spec, &|| false).unwrap();
}

pub(crate) fn commit(store: &Arc<Store>, number: u64) {
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let it = &transaction;
    let (odd, all) = (it.label("Odd").unwrap(), it.label("All").unwrap());
    let (key, long) = (it.key("k0").unwrap(), it.key("k1").unwrap());
    let [knows, likes] = ["T0", "T1"].map(|name| it.rel_type(name).unwrap());
    if number == 0 {
        index(it, "All", "k0");
    }
    if number == COMMITS / 2 {
        index(it, "Odd", "k0");
    }
    let first = number * NODES;
    for at in first..first + NODES {
        let labels = [all, odd];
        let labels = &labels[..1 + at as usize % 2];
        let integer = PropertyValue::Integer(at as i64 % 97);
        let node = it.create_node(labels, &[(key, integer), (long, text(at))]);
        assert_eq!(node.unwrap(), NodeId(at));
        let rel_type = if at % 5 == 0 { likes } else { knows };
        let other = NodeId(at * 7 % (at + 1));
        let weight = [(key, PropertyValue::Integer(at as i64))];
        it.create_relationship(NodeId(at), rel_type, other, &weight[..at as usize % 2])
            .unwrap();
    }
    if number == 0 {
        return transaction.commit().map(drop).unwrap();
    }
    // Something of the commit before and something older; what is gone already stays so.
    for (at, old) in [first - 1 - number % NODES, first * 2 / 3]
        .into_iter()
        .enumerate()
    {
        let alive = transaction.snapshot().node_exists(NodeId(old));
        match (number + at as u64) % 4 {
            _ if !alive => {}
            0 => _ = it.detach_delete_node(NodeId(old)).unwrap(),
            1 => _ = it.remove_label(NodeId(old), odd).unwrap(),
            2 => it
                .set_node_property(NodeId(old), key, &PropertyValue::Null)
                .map(drop)
                .unwrap(),
            _ => it
                .set_node_property(NodeId(old), key, &PropertyValue::Integer(-1))
                .map(drop)
                .unwrap(),
        }
        _ = it.delete_relationship(RelId(old)).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn batches_say_what_was_committed() {
    let (data, log) = empty();
    let (there, logged) = (Arc::new(data.clone()), Arc::new(log.clone()));
    let store = open_spilling(there, logged, AMPLE, None, false).unwrap();
    for number in 0..COMMITS {
        commit(&store, number);
    }
    let wanted = Naive::of(&store.snapshot());
    drop(store);
    wanted.check(&open(copy(&data), copy(&log)).unwrap().snapshot());
    let store = open_spilling(copy(&data), copy(&log), LITTLE, Some(SEAL_BYTES), false).unwrap();
    wanted.check(&store.snapshot());
    store.checkpoint(CheckpointOptions::default()).unwrap();
    wanted.check(&store.snapshot());
    assert_eq!(store.check().unwrap().problems, []);
}

/// What layers in temporary pages keep in memory leaves less and less for batches, and is folded
/// into the file where it is too much; the log is opened all the same.
#[test]
fn a_log_is_opened_in_a_fraction_of_its_length() {
    const LONG: usize = 8000;
    const EACH: i64 = 250;
    let (data, log) = empty();
    let (there, logged) = (Arc::new(data.clone()), Arc::new(log.clone()));
    let store = open_spilling(there, logged, AMPLE, None, false).unwrap();
    let commits = LONG_LOG / (EACH as u64 * LONG as u64);
    for _ in 0..commits {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        let key = transaction.key("long").unwrap();
        let value = |at: i64| PropertyValue::string(&at.to_string().repeat(LONG)[..LONG]);
        let values = (0..EACH).map(value).collect();
        transaction
            .create_nodes(&[], EACH as usize, vec![(key, values)])
            .unwrap();
        transaction.commit().unwrap();
    }
    drop(store);
    for memory in [NOT_MUCH, LITTLE] {
        let store = open_spilling(copy(&data), copy(&log), memory, None, false).unwrap();
        assert_eq!(store.snapshot().node_count(), commits * EACH as u64);
    }
}

/// Goal: several threads merge what one merges: the same stores, of the same sizes, in the same
/// order.
#[test]
fn a_checkpoint_by_several_threads_is_like_one_by_one_thread() {
    let made = [ONE_THREAD, AMPLE].map(|memory| {
        let store = GraphBuilder::new().open(memory).unwrap();
        (0..COMMITS).for_each(|number| commit(&store, number));
        let mut options = CheckpointOptions::default();
        options.paced = false;
        store.checkpoint(options).unwrap();
        assert_eq!(store.check().unwrap().problems, []);
        store.info().stores
    });
    assert!(made[0].len() > 10, "{made:?}");
    assert_eq!(made[0], made[1]);
}
