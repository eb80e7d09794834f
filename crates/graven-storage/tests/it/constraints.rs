//! Constraints, and the keys of the indexes below them.
//!
//! Goal: what a constraint asks for holds at once, between transactions and for long values.

use graven_storage::{
    CheckpointOptions, ConstraintKind, ConstraintSpec, Error, GraphBuilder, KeyId, LabelId,
    PropertyValue, SchemaEntity, Snapshot, Store, TransactionOptions,
};
use std::sync::Arc;

/// Memory of the store.
const CACHE_BYTES: u64 = 8 << 20;

/// A store in memory with unique names.
fn people() -> (Arc<Store>, LabelId, KeyId) {
    let store = GraphBuilder::new().open(CACHE_BYTES).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let (label, key) = (
        transaction.label("Person").unwrap(),
        transaction.key("name").unwrap(),
    );
    let spec = ConstraintSpec {
        name: Some("one_name".to_owned()),
        kind: ConstraintKind::NodeKey,
        entity: SchemaEntity::Node(label),
        keys: vec![key],
    };
    transaction.create_constraint(&spec, &|| false).unwrap();
    transaction.commit().unwrap();
    (store, label, key)
}

#[test]
fn constraints_hold_at_once_and_between_transactions() {
    let (store, label, key) = people();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let ada = [(key, PropertyValue::string("Ada"))];
    let (one, other) = (begin(), begin());
    let node = one.create_node(&[label], &ada).unwrap();
    assert!(matches!(
        one.create_node(&[label], &ada),
        Err(Error::Duplicate { .. })
    ));
    other.create_node(&[label], &ada).unwrap();
    one.commit().unwrap();
    assert!(other.commit().unwrap_err().is_retryable());
    let third = begin();
    assert!(matches!(
        third.create_node(&[label], &ada),
        Err(Error::Duplicate { .. })
    ));
    third
        .set_node_property(node, key, &PropertyValue::Null)
        .unwrap();
    assert!(matches!(third.commit(), Err(Error::MissingProperty { .. })));
    assert!(matches!(
        third.commit(),
        Err(Error::TransactionEnded { .. })
    ));
    let fourth = begin();
    fourth.drop_constraint("one_name").unwrap();
    fourth.create_node(&[label], &ada).unwrap();
    fourth.commit().unwrap();
    assert_eq!(store.snapshot().node_count(), 2);
    assert!(store.snapshot().catalog().constraints().is_empty());
}

/// A change after the end of a cut key leaves the index's entries as they are. Every reader finds
/// it all the same.
#[test]
fn long_keys_that_differ_at_their_end_are_told_apart() {
    let (store, label, key) = people();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let long = |end: u32| PropertyValue::string(&format!("{}{end}", "x".repeat(1000)));
    let creating = begin();
    let node = creating.create_node(&[label], &[(key, long(1))]).unwrap();
    creating.commit().unwrap();
    for folded in [false, true] {
        if folded {
            let options = CheckpointOptions::default();
            store.checkpoint(options).unwrap();
        }
        let (before, after) = if folded { (2, 3) } else { (1, 2) };
        let changing = begin();
        changing.set_node_property(node, key, &long(after)).unwrap();
        let is_found = |view: &Snapshot, wanted: [bool; 2]| {
            let index = view.index(label, key).unwrap();
            for (end, there) in [before, after].into_iter().zip(wanted) {
                let found = index.seek(&long(end)).unwrap();
                assert_eq!(found, if there { vec![node] } else { vec![] }, "{end}");
            }
        };
        is_found(&changing.snapshot(), [false, true]);
        is_found(&store.snapshot(), [true, false]);
        changing.commit().unwrap();
        is_found(&store.snapshot(), [false, true]);
    }
}
