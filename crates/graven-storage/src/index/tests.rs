//! Indexes of several levels against a sorted list: seeks, ranges, many nodes a key, keys that were
//! cut.

use super::key::{KEY_BYTES_MAX, key_bytes};
use crate::{GraphBuilder, NodeId, Uniqueness};
use graven_types::PropertyValue;
use std::ops::Bound;
use std::sync::Arc;

/// Values of every class; some keys are shared by many nodes, some share more than what is kept of
/// a key.
fn value(number: u64) -> PropertyValue {
    let long = "long ".repeat(KEY_BYTES_MAX / 4);
    match number % 6 {
        0 => PropertyValue::Integer((number / 40) as i64 - 30),
        1 => PropertyValue::Float((number / 12) as f64 / 2.0),
        2 => PropertyValue::string(&format!("person {}", number * 7919 % 1000)),
        3 => PropertyValue::Boolean(number % 4 == 1),
        4 => PropertyValue::string(&format!("{long}{}", number % 5)),
        _ => PropertyValue::Date(number as i64 % 50),
    }
}

fn sorted(count: u64) -> Vec<(Vec<u8>, NodeId)> {
    let key = |number| key_bytes(&value(number)).expect("every value has a key");
    let mut entries: Vec<_> = (0..count)
        .map(|number| (key(number), NodeId(number)))
        .collect();
    entries.sort();
    entries
}

fn open(count: u64) -> (Arc<crate::Store>, super::Index) {
    let mut builder = GraphBuilder::new();
    for number in 0..count {
        builder.node(&["A"], &[("x", value(number))]);
    }
    builder.index("A", "x", Uniqueness::Any);
    let store = builder.open(1 << 20).unwrap();
    let snapshot = store.snapshot();
    let (label, key) = (
        snapshot.catalog().label("A").unwrap(),
        snapshot.catalog().key("x").unwrap(),
    );
    (store, snapshot.index(label, key).unwrap())
}

#[test]
fn seeks_and_ranges_agree_with_a_sorted_list() {
    const COUNT: u64 = 3000;
    let entries = sorted(COUNT);
    let (store, index) = open(COUNT);
    assert!(index.description().height >= 1, "several levels");
    assert_eq!(store.check().unwrap().problems, []);
    for number in (0..COUNT).step_by(17) {
        let key = key_bytes(&value(number)).unwrap();
        let expected: Vec<NodeId> = entries
            .iter()
            .filter(|entry| entry.0 == key)
            .map(|entry| entry.1)
            .collect();
        assert_eq!(index.seek(&value(number)).unwrap(), expected, "{number}");
        let mut found = vec![7];
        let whole = index.find(&value(number), 8, &mut found).unwrap();
        assert_eq!(whole, expected.len() <= 8 && key.len() < KEY_BYTES_MAX);
        let nodes = found[1..].iter().map(|id| NodeId(*id));
        assert!(nodes.eq(expected.into_iter().filter(|_| whole)), "{number}");
    }
    for (count, most) in [(1, 8), (40, 0), (700, 8), (COUNT, 50)] {
        // In no order, some twice, and some that no node has.
        let sought: Vec<PropertyValue> = (0..count)
            .map(|at| match at % 9 {
                7 => PropertyValue::string(&format!("nobody {at}")),
                8 => PropertyValue::Null,
                _ => value(at * 1_009 % COUNT),
            })
            .collect();
        for table in [None, index.hashed_keys().unwrap()] {
            let each = index.find_each(&sought, most, table.as_ref()).unwrap();
            for (place, value) in sought.iter().enumerate() {
                let mut found = Vec::new();
                let whole = index.find(value, most, &mut found).unwrap();
                assert_eq!(each.of(place), whole.then_some(&found[..]), "{value:?}");
            }
        }
    }
    for (low, high) in [
        (6, 1206),
        (8, 902),
        (2, 2),
        (5, 299),
        (3, 9),
        (4, 10),
        (10, 4),
    ] {
        for exclusive in [false, true] {
            let (low, high) = (value(low), value(high));
            let bounds = (key_bytes(&low).unwrap(), key_bytes(&high).unwrap());
            let inside = |key: &Vec<u8>| {
                if exclusive {
                    *key > bounds.0 && *key < bounds.1
                } else {
                    *key >= bounds.0 && *key <= bounds.1
                }
            };
            let same_class = super::class_bounds(&bounds.0) == super::class_bounds(&bounds.1);
            let expected: Vec<&(Vec<u8>, NodeId)> = entries
                .iter()
                .filter(|entry| same_class && inside(&entry.0))
                .collect();
            let (from, to) = match exclusive {
                true => (Bound::Excluded(&low), Bound::Excluded(&high)),
                false => (Bound::Included(&low), Bound::Included(&high)),
            };
            let mut found: Vec<NodeId> = index
                .range(from, to)
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let mut expected: Vec<NodeId> = expected.into_iter().map(|entry| entry.1).collect();
            // Keys that were cut compare equal in the index: their nodes come in node order.
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{low:?} {high:?} {exclusive}");
        }
    }
    let text = index
        .range(Bound::Included(&value(2)), Bound::Unbounded)
        .unwrap()
        .count();
    let after = key_bytes(&value(2)).unwrap();
    assert_eq!(
        text,
        entries
            .iter()
            .filter(|entry| entry.0 >= after && entry.0[0] == after[0])
            .count()
    );
}

#[test]
fn unique_indexes_refuse_a_second_node() {
    let mut builder = GraphBuilder::new();
    builder.node(&["A"], &[("x", PropertyValue::Integer(1))]);
    builder.node(&["A"], &[("x", PropertyValue::Float(1.0))]);
    builder.index("A", "x", Uniqueness::Unique);
    let error = builder.open(1 << 20).unwrap_err();
    assert!(
        matches!(
            error,
            crate::Error::NotUnique {
                first: 0,
                second: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn nothing_equals_null_or_nan() {
    let (_store, index) = open(100);
    for value in [PropertyValue::Null, PropertyValue::Float(f64::NAN)] {
        assert_eq!(index.seek(&value).unwrap(), []);
        assert_eq!(
            index
                .range(Bound::Included(&value), Bound::Unbounded)
                .unwrap()
                .count(),
            0
        );
    }
    assert_eq!(
        index
            .range(Bound::Unbounded, Bound::Unbounded)
            .unwrap()
            .count(),
        100
    );
}
