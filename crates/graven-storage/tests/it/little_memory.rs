//! Goal: clients whose transactions are each as large as the memory that they share never leave a
//! database that has no memory for a checkpoint: once they are gone it takes commits again, and it
//! opens again in the same memory.
//!
//! Method: several threads commit as fast as they can; some commits are refused for want of memory,
//! nothing else goes wrong.

use crate::transactions::{copy, empty, open_spilling};
use graven_storage::{
    CheckpointOptions, Error, IndexKind, IndexSpec, PropertyValue, SchemaEntity, Store,
    TransactionOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const MEMORY: u64 = 1 << 20;
const CLIENTS: u64 = 4;
const ROUNDS: u64 = 30;
/// Of one transaction.
const NODES: u64 = 3000;

fn commit(store: &Arc<Store>, first: u64, count: u64) -> graven_storage::Result<()> {
    let transaction = store.begin(TransactionOptions::default())?;
    let label = transaction.label("A")?;
    let (number, text) = (transaction.key("i")?, transaction.key("s")?);
    for at in first..first + count {
        let properties = [
            (number, PropertyValue::Integer(at as i64)),
            (text, PropertyValue::string("a text of some length")),
        ];
        transaction.create_node(&[label], &properties)?;
    }
    transaction.commit().map(|_| ())
}

#[test]
fn an_idle_database_comes_back() {
    let (data, log) = empty();
    let (there, logged) = (Arc::new(data.clone()), Arc::new(log.clone()));
    let store = open_spilling(there, logged, MEMORY, None, true).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let spec = IndexSpec {
        name: None,
        entity: SchemaEntity::Node(transaction.label("A").unwrap()),
        keys: vec![transaction.key("i").unwrap()],
        unique: false,
        kind: IndexKind::Range,
    };
    transaction.create_index(&spec, &|| false).unwrap();
    transaction.commit().unwrap();
    let committed = AtomicU64::new(0);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (store, committed) = (&store, &committed);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    match commit(store, client * 1_000_000 + round * NODES, NODES) {
                        Ok(()) => committed.fetch_add(NODES, Ordering::Relaxed),
                        Err(error) => {
                            assert!(
                                error.is_memory() || matches!(error, Error::Conflict { .. }),
                                "{error}"
                            );
                            0
                        }
                    };
                }
            });
        }
    });
    let mut committed = committed.into_inner();
    assert!(committed > NODES, "some commits get through");
    for count in [1; 100].into_iter().chain([NODES]) {
        commit(&store, 0, count).unwrap();
        committed += count;
    }
    assert_eq!(store.snapshot().node_count(), committed);
    // What a killed process leaves: all that the file may have is in the log before.
    let log = copy(&log);
    let data = copy(&data);
    drop(store);
    let store = open_spilling(data, log, MEMORY, None, true).unwrap();
    assert_eq!(store.snapshot().node_count(), committed);
    store.checkpoint(CheckpointOptions::default()).unwrap();
    assert_eq!(store.check().unwrap().problems, []);
}
