//! Constraints, and the keys of the indexes below them.
//!
//! Goal: what a constraint asks for holds at once, between transactions and for long values.

use graven_storage::{
    CheckpointOptions, ConstraintKind, ConstraintSpec, Error, GraphBuilder, KeyId, LabelId,
    PropertyType, PropertyValue, RelationshipEnds, SchemaEntity, Snapshot, Store,
    TransactionOptions,
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

/// Many nodes at once are compared when the statement ends: with each other, with those of earlier
/// batches, and with what is committed, in the file or not.
#[test]
fn many_keys_are_compared_when_the_statement_ends() {
    let names = |numbers: std::ops::Range<u32>| -> Vec<PropertyValue> {
        let name = |number| PropertyValue::string(&format!("name {}", number * 7_919 % 10_007));
        numbers.map(name).collect()
    };
    let (store, label, key) = people();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let create = |it: &graven_storage::Transaction, names: Vec<PropertyValue>| {
        it.create_nodes(&[label], names.len(), vec![(key, names)])
    };
    let check = |it: &graven_storage::Transaction| it.check_unique_keys(|| Ok::<_, Error>(()));
    let first = begin();
    create(&first, names(0..500)).unwrap();
    // It may be interrupted, and is made up for.
    let stop = || Err(Error::TransactionEnded { how: "interrupted" });
    let stopped = first.check_unique_keys(stop);
    assert!(matches!(stopped, Err(Error::TransactionEnded { .. })));
    create(&first, names(500..5_000)).unwrap();
    check(&first).unwrap();
    // One that came alone, and one that is taken back.
    create(&first, names(5_000..5_001)).unwrap();
    let wrong = create(&first, names(5_001..5_002)).unwrap()[0];
    first.delete_node(graven_storage::NodeId(wrong)).unwrap();
    create(&first, names(5_001..5_100)).unwrap();
    first.commit().unwrap();
    for folded in [false, true] {
        if folded {
            store.checkpoint(CheckpointOptions::default()).unwrap();
        }
        let twice = [
            [names(6_000..6_100), names(6_000..6_001)],
            [names(6_000..6_100), names(6_050..6_200)],
            [names(6_000..6_100), names(4_999..5_070)],
            [names(6_000..6_100), names(5_099..5_170)],
        ];
        for (at, [fresh, known]) in twice.into_iter().enumerate() {
            let it = begin();
            let all = [fresh.clone(), known.clone()].concat();
            let made = create(&it, all).and_then(|_| check(&it));
            let Err(Error::Duplicate { values, .. }) = made else {
                panic!("{at} {folded}: {made:?}");
            };
            assert!(known.contains(&values[0]), "{at} {folded}: {values:?}");
            // It is not forgotten.
            assert!(matches!(it.commit(), Err(Error::Duplicate { .. })));
            // In two batches; the commit would find it, too.
            let it = begin();
            create(&it, fresh).unwrap();
            let made = create(&it, known).and_then(|_| it.commit().map(|_| ()));
            assert!(
                matches!(made, Err(Error::Duplicate { .. })),
                "{at} {folded}"
            );
        }
    }
    // Of two transactions at once the later one fails.
    let (one, other) = (begin(), begin());
    create(&one, names(7_000..7_100)).unwrap();
    create(&other, names(7_099..7_200)).unwrap();
    one.commit().unwrap();
    assert!(other.commit().unwrap_err().is_retryable());
    assert_eq!(store.snapshot().node_count(), 5_200);
    assert_eq!(store.check().unwrap().problems, []);
}

fn typed(entity: SchemaEntity, key: KeyId, of: &str) -> ConstraintSpec {
    ConstraintSpec {
        name: None,
        kind: ConstraintKind::Typed {
            of: PropertyType::parse(of).unwrap(),
            default: Some("1 + 1".into()),
        },
        entity,
        keys: vec![key],
    }
}

/// Types are checked for what is there, for what is written, for nodes that get the label, and for
/// relationships; after a checkpoint as before.
#[test]
fn types_of_properties_hold() {
    let store = GraphBuilder::new().open(CACHE_BYTES).unwrap();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let first = begin();
    let (label, key) = (first.label("P").unwrap(), first.key("age").unwrap());
    let rel_type = first.rel_type("T").unwrap();
    let old = first
        .create_node(&[label], &[(key, PropertyValue::string("old"))])
        .unwrap();
    first.commit().unwrap();
    let spec = typed(SchemaEntity::Node(label), key, "INT8");
    let refused = begin().create_constraint(&spec, &|| false);
    assert!(
        matches!(refused, Err(Error::WrongType { .. })),
        "{refused:?}"
    );
    let mending = begin();
    mending.set_node_property(old, key, &7i64.into()).unwrap();
    mending.create_constraint(&spec, &|| false).unwrap();
    let same =
        mending.create_constraint(&typed(SchemaEntity::Node(label), key, "FLOAT"), &|| false);
    assert!(matches!(same, Err(Error::SchemaExists { .. })), "{same:?}");
    let needed = typed(SchemaEntity::Relationship(rel_type), key, "FLOAT NOT NULL");
    mending.create_constraint(&needed, &|| false).unwrap();
    mending.commit().unwrap();
    for folded in [false, true] {
        if folded {
            store.checkpoint(CheckpointOptions::default()).unwrap();
        }
        let wrong = begin();
        wrong.set_node_property(old, key, &200i64.into()).unwrap();
        assert!(matches!(wrong.commit(), Err(Error::WrongType { .. })));
        let wrong = begin();
        let other = wrong.create_node(&[], &[(key, 1.5.into())]).unwrap();
        wrong.add_label(other, label).unwrap();
        assert!(matches!(wrong.commit(), Err(Error::WrongType { .. })));
        let wrong = begin();
        wrong.create_relationship(old, rel_type, old, &[]).unwrap();
        assert!(matches!(wrong.commit(), Err(Error::MissingProperty { .. })));
        let right = begin();
        let free = right.create_node(&[], &[(key, 1.5.into())]).unwrap();
        right
            .create_node(&[label], &[(key, (-128i64).into())])
            .unwrap();
        right
            .create_relationship(old, rel_type, free, &[(key, 1.5.into())])
            .unwrap();
        right.commit().unwrap();
        let late = begin();
        late.add_label(free, label).unwrap();
        assert!(matches!(late.commit(), Err(Error::WrongType { .. })));
    }
    let kept = store.snapshot().catalog().constraints().to_vec();
    assert_eq!(kept[0].kind, spec.kind);
    assert_eq!(kept[1].kind, needed.kind);
}

/// Ends of relationships and their number are checked, also against labels that another
/// transaction takes away and relationships that another one makes.
#[test]
fn ends_of_relationships_hold() {
    let store = GraphBuilder::new().open(CACHE_BYTES).unwrap();
    let begin = || store.begin(TransactionOptions::default()).unwrap();
    let first = begin();
    let (from, to) = (first.label("A").unwrap(), first.label("B").unwrap());
    let rel_type = first.rel_type("T").unwrap();
    let a = first.create_node(&[from], &[]).unwrap();
    let b = first.create_node(&[to], &[]).unwrap();
    let spec = ConstraintSpec {
        name: None,
        kind: ConstraintKind::Ends(RelationshipEnds {
            pairs: vec![(from, to)],
            one_out: true,
            one_in: false,
        }),
        entity: SchemaEntity::Relationship(rel_type),
        keys: Vec::new(),
    };
    first.create_constraint(&spec, &|| false).unwrap();
    first.commit().unwrap();
    let turned = begin();
    turned.create_relationship(b, rel_type, a, &[]).unwrap();
    assert!(matches!(turned.commit(), Err(Error::WrongEnds { .. })));
    // Each of two transactions sees a graph in which its change is allowed.
    let (joining, relabelling, also) = (begin(), begin(), begin());
    joining.create_relationship(a, rel_type, b, &[]).unwrap();
    also.create_relationship(a, rel_type, b, &[]).unwrap();
    relabelling.remove_label(b, to).unwrap();
    joining.commit().unwrap();
    assert!(relabelling.commit().unwrap_err().is_retryable());
    assert!(also.commit().unwrap_err().is_retryable());
    for folded in [false, true] {
        if folded {
            store.checkpoint(CheckpointOptions::default()).unwrap();
        }
        let relabelling = begin();
        relabelling.remove_label(b, to).unwrap();
        assert!(matches!(relabelling.commit(), Err(Error::WrongEnds { .. })));
        let more = begin();
        more.create_relationship(a, rel_type, b, &[]).unwrap();
        assert!(matches!(more.commit(), Err(Error::WrongEnds { .. })));
    }
    let (relabelling, joining) = (begin(), begin());
    let c = relabelling.create_node(&[from], &[]).unwrap();
    relabelling.commit().unwrap();
    joining.commit().unwrap();
    let (relabelling, joining) = (begin(), begin());
    relabelling.remove_label(c, from).unwrap();
    joining.create_relationship(c, rel_type, b, &[]).unwrap();
    relabelling.commit().unwrap();
    assert!(joining.commit().unwrap_err().is_retryable());
}
