//! Goal: look-ups of a key find the entities that have the value now. Before them come thousands of
//! commits without a read between them, with many entities under each of a few keys. Method: random
//! small commits; sometimes every key is asked for, in a transaction with changes of its own and
//! outside.

use crate::transactions::{empty, open};
use graven_storage::{
    CheckpointOptions, IndexKind, IndexSpec, KeyId, LabelId, NodeId, PropertyValue, SchemaEntity,
    Snapshot, Transaction, TransactionOptions,
};
use graven_types::rng::SplitMix64;
use std::collections::BTreeMap;
use std::sync::Arc;

const VALUES: u64 = 5;
const NODES: usize = 300;

/// Values of the nodes that have the label; some have none.
type Model = BTreeMap<u64, Option<u64>>;

fn check(model: &Model, snapshot: &Snapshot, when: &str) {
    let index = snapshot.index(LabelId(0), KeyId(0)).expect("made");
    let column = snapshot.node_column(KeyId(0));
    for value in 0..VALUES {
        let of_model = model.iter().filter(|(_, of)| **of == Some(value));
        let expected: Vec<u64> = of_model.map(|(id, _)| *id).collect();
        let wanted = PropertyValue::Integer(value as i64);
        let sought = index.seek(&wanted).expect("read");
        let sought: Vec<u64> = sought.iter().map(|node| node.0).collect();
        assert_eq!(sought, expected, "sought {value} {when}");
        let mut found = Vec::new();
        assert!(index.find(&wanted, NODES * 4, &mut found).expect("read"));
        assert_eq!(found, expected, "found {value} {when}");
    }
    for (id, value) in model {
        let expected = value.map_or(PropertyValue::Null, |it| PropertyValue::Integer(it as i64));
        let column = column.as_ref().expect("a node has one");
        assert_eq!(column.get(*id).expect("read"), expected, "{id} {when}");
        assert!(snapshot.has_label(NodeId(*id), LabelId(0)).expect("read"));
    }
    let all = snapshot.nodes_with_label(LabelId(0)).expect("read");
    let all: Vec<u64> = all.iter().map(|node| node.0).collect();
    assert_eq!(all, model.keys().copied().collect::<Vec<u64>>(), "{when}");
}

/// One change of the graph, and of its model.
fn change(transaction: &Transaction, model: &mut Model, random: &mut SplitMix64) {
    let some = |model: &Model, random: &mut SplitMix64| {
        let at = random.below(model.len().max(1) as u64) as usize;
        model.keys().nth(at).copied()
    };
    let value = random.below(VALUES + 1);
    let value = (value < VALUES).then_some(value);
    let stored = value.map_or(PropertyValue::Null, |it| PropertyValue::Integer(it as i64));
    match (random.below(10), some(model, random)) {
        (0, Some(id)) => {
            transaction.delete_node(NodeId(id)).expect("deleted");
            model.remove(&id);
        }
        (1, Some(id)) => {
            transaction
                .remove_label(NodeId(id), LabelId(0))
                .expect("taken");
            model.remove(&id);
        }
        (2.., Some(id)) if model.len() >= NODES / 2 + random.below(NODES as u64 / 2) as usize => {
            let set = transaction.set_node_property(NodeId(id), KeyId(0), &stored);
            set.expect("set");
            model.insert(id, value);
        }
        _ => {
            let made = transaction.create_node(&[LabelId(0)], &[(KeyId(0), stored)]);
            model.insert(made.expect("made").0, value);
        }
    }
}

#[test]
fn keys_are_found_after_thousands_of_unread_commits() {
    for seed in 0..6 {
        let mut random = SplitMix64::new(seed);
        let (data, log) = empty();
        let store = open(Arc::new(data), Arc::new(log)).expect("opened");
        let begin = || store.begin(TransactionOptions::default()).expect("begun");
        let mut model = Model::new();
        let transaction = begin();
        assert_eq!(transaction.label("L").expect("named"), LabelId(0));
        assert_eq!(transaction.key("k").expect("named"), KeyId(0));
        let spec = IndexSpec {
            name: None,
            entity: SchemaEntity::Node(LabelId(0)),
            keys: vec![KeyId(0)],
            unique: false,
            kind: IndexKind::Range,
        };
        transaction.create_index(&spec, &|| false).expect("made");
        transaction.commit().expect("committed");
        let mut asked = 0;
        for commit in 0..2500 {
            let transaction = begin();
            let mut changed = model.clone();
            for _ in 0..=random.below(5) {
                change(&transaction, &mut changed, &mut random);
            }
            let asks = random.once_in(150);
            if asks {
                asked += 1;
                let when = format!("in transaction {commit} of seed {seed}");
                check(&changed, &transaction.snapshot(), &when);
            }
            if random.once_in(8) {
                drop(transaction);
            } else {
                transaction.commit().expect("committed");
                model = changed;
            }
            if asks {
                let when = format!("after commit {commit} of seed {seed}");
                check(&model, &store.snapshot(), &when);
            }
            if random.once_in(1000) {
                store
                    .checkpoint(CheckpointOptions::default())
                    .expect("made");
            }
        }
        assert!(asked > 5, "{asked}");
    }
}
