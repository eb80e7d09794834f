//! Goal: room for a long value is asked for before it is read, whether it is in the file or in
//! commits, and a reader that visits values has few of them in memory at a time.

use crate::transactions::{empty, open_spilling};
use graven_storage::{CheckpointOptions, Column, Error, NodeId, PropertyValue, TransactionOptions};
use std::sync::Arc;

const LONG: usize = 100_000;
const NODES: u64 = 40;

fn long(at: u64) -> PropertyValue {
    PropertyValue::string(&format!("{at}{}", "x".repeat(LONG)))
}

/// Values of ids in turn: long, short, none.
fn value(at: u64) -> PropertyValue {
    match at % 3 {
        0 => long(at),
        1 => PropertyValue::string("short"),
        _ => PropertyValue::Null,
    }
}

fn check(column: &Column) {
    let ids: Vec<u64> = (0..NODES).collect();
    // Room for three.
    let (mut asked, mut found) = (Vec::new(), Vec::new());
    let mut room = |bytes| {
        asked.push(bytes);
        asked.len() <= 3
    };
    let done = column.gather_some(&ids, &mut room, &mut found).unwrap();
    // Ids 0, 3 and 6 are long; where values of commits lie between, those before the first one
    // refused are there.
    assert_eq!((done, found.len()), (9, 9), "up to the fourth");
    assert!(
        asked
            .iter()
            .all(|bytes| (LONG as u64..LONG as u64 + 100).contains(bytes))
    );
    for (at, found) in (0..).zip(&found) {
        assert_eq!(*found, value(at), "{at}");
    }
    assert_eq!(column.get_with_room(0, &mut |_| false).unwrap(), None);
    assert_eq!(
        column.get_with_room(1, &mut |_| false).unwrap(),
        Some(value(1))
    );
    // Integers are looked for without reading what is long.
    let mut integers = Vec::new();
    assert!(!column.gather_i64(&ids, &mut integers).unwrap());
    assert!(integers.is_empty());
    let mut visited = 0;
    let all = column.each(&ids, |id, found| {
        assert_eq!((id, found), (visited, &value(id)));
        visited += 1;
        Ok::<(), Error>(())
    });
    all.unwrap();
    assert_eq!(visited, NODES);
}

#[test]
fn room_is_asked_for_before_a_long_value_is_read() {
    let (data, log) = empty();
    let store = open_spilling(Arc::new(data), Arc::new(log), 16 << 20, None, false).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let key = transaction.key("text").unwrap();
    for at in 0..NODES {
        let values = [(key, value(at))];
        let values = &values[..usize::from(!value(at).is_null())];
        assert_eq!(transaction.create_node(&[], values).unwrap(), NodeId(at));
    }
    transaction.commit().unwrap();
    check(&store.snapshot().node_column(key).unwrap());
    store.checkpoint(CheckpointOptions::default()).unwrap();
    check(&store.snapshot().node_column(key).unwrap());
    // Some in commits, some in the file.
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    for at in (0..NODES).step_by(2) {
        transaction
            .set_node_property(NodeId(at), key, &value(at))
            .unwrap();
    }
    transaction.commit().unwrap();
    let snapshot = store.snapshot();
    let column = snapshot.node_column(key).unwrap();
    let ids: Vec<u64> = (0..NODES).collect();
    for most in 0..16 {
        let (mut asked, mut found) = (0, Vec::new());
        let mut room = |_| {
            asked += 1;
            asked <= most
        };
        let done = column.gather_some(&ids, &mut room, &mut found).unwrap();
        assert_eq!(done, found.len());
        for (at, found) in (0..).zip(&found) {
            assert_eq!(*found, value(at), "{at} of {done}");
        }
        let is_long = |value: &&PropertyValue| matches!(value, PropertyValue::String(text) if text.len() >= LONG);
        let long = found.iter().filter(is_long);
        assert!(long.count() <= most, "{most}");
    }
}
