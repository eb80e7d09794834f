//! Goal: a transaction that met a conflict and is run again finds the commit that it met.

use crate::transactions::{base, open};
use graven_io::{FaultPlan, FaultyFile, MemoryFile};
use graven_storage::{KeyId, NodeId, PropertyValue, Snapshot, Transaction, TransactionOptions};
use std::sync::Arc;
use std::time::Duration;

/// What a commit conflicts with can be seen as soon as the conflict is told, however slow the
/// device is.
#[test]
fn a_conflict_is_told_when_it_can_be_seen() {
    let data = MemoryFile::new("data");
    base().build(Arc::new(data.clone())).unwrap();
    let slow = FaultPlan {
        latency: Duration::from_millis(5),
        ..FaultPlan::default()
    };
    let log = FaultyFile::new(Arc::new(MemoryFile::new("log")), slow);
    let store = open(Arc::new(data), Arc::new(log)).unwrap();
    let seen = |snapshot: &Snapshot| snapshot.node_column(KeyId(0)).unwrap().get(0).unwrap();
    for round in 0..20 {
        let [one, other] = [1, 2].map(|side| {
            let it = store.begin(TransactionOptions::default()).unwrap();
            let value = PropertyValue::Integer(10 * round + side);
            it.set_node_property(NodeId(0), KeyId(0), &value).unwrap();
            (it, value)
        });
        let commit = |(it, _): &(Transaction, PropertyValue), theirs: &PropertyValue| {
            let outcome = it.commit();
            if let Err(error) = &outcome {
                assert!(error.is_retryable(), "{error}");
                assert_eq!(seen(&store.snapshot()), *theirs, "round {round}");
            }
            outcome.is_ok()
        };
        let both = std::thread::scope(|scope| {
            let beside = scope.spawn(|| commit(&other, &one.1));
            (commit(&one, &other.1), beside.join().unwrap())
        });
        assert!(both.0 != both.1, "one of the two");
    }
}
