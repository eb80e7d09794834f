//! Goal: after a power cut at any operation on data file or log, every acknowledged commit is
//! there, the one that was under way whole or not at all, and nothing else. Method: a seeded
//! history on faulty files, the cut at every operation in turn, several images of each.

use crate::naive::Naive;
use crate::transactions::{base, open};
use graven_io::{Crash, CrashOutcome, Fault, FaultPlan, FaultyFile, File, MemoryFile};
use graven_storage::{Durability, NodeId, PropertyValue, Store, TransactionOptions};
use std::sync::Arc;

const COMMITS: u64 = 12;

struct Files {
    data: FaultyFile,
    log: FaultyFile,
}

impl Files {
    fn new() -> Files {
        let data = MemoryFile::new("data");
        base().build(Arc::new(data.clone())).unwrap();
        let faulty = |file| FaultyFile::new(Arc::new(file), FaultPlan::default());
        Files {
            data: faulty(data),
            log: faulty(MemoryFile::new("log")),
        }
    }

    fn open(&self) -> graven_storage::Result<Arc<Store>> {
        open(Arc::new(self.data.clone()), Arc::new(self.log.clone()))
    }

    /// What a power cut leaves, opened.
    fn crashed(&self, crash: Crash) -> Arc<Store> {
        let image = |file: &FaultyFile| -> Arc<dyn File> {
            let bytes = file.control().crash_image(crash).unwrap();
            Arc::new(MemoryFile::with_bytes("image", &bytes))
        };
        open(image(&self.data), image(&self.log))
            .unwrap_or_else(|error| panic!("{crash:?}: {error}"))
    }
}

/// Commit number `number`; the graph afterwards.
fn commit(store: &Arc<Store>, number: u64) -> graven_storage::Result<Naive> {
    let transaction = store.begin(TransactionOptions::default().durability(Durability::Full))?;
    let (label, key) = (transaction.label("New")?, transaction.key("number")?);
    let rel_type = transaction.rel_type("NEXT")?;
    // Every third one takes several frames.
    let text = "x".repeat(if number % 3 == 2 { 200_000 } else { 10 });
    let properties = [
        (key, PropertyValue::Integer(number as i64)),
        (transaction.key("text")?, PropertyValue::string(&text)),
    ];
    let node = transaction.create_node(&[label], &properties)?;
    transaction.create_relationship(NodeId(number % 5), rel_type, node, &[])?;
    transaction.set_node_property(NodeId(3), key, &PropertyValue::Integer(number as i64))?;
    if number == 6 {
        transaction.detach_delete_node(NodeId(7))?;
    }
    let after = Naive::of(&transaction.snapshot());
    transaction.commit()?;
    Ok(after)
}

#[test]
fn acknowledged_commits_survive_a_power_cut_anywhere() {
    let mut cuts = 0;
    for on_log in [false, true] {
        for after in 0.. {
            let files = Files::new();
            let store = files.open().unwrap();
            let faulty = if on_log { &files.log } else { &files.data };
            faulty.control().arm(Fault::PowerOff, after);
            let mut states = vec![Naive::of(&store.snapshot())];
            let mut in_doubt = None;
            for number in 0..COMMITS {
                // What the commit would make, for when it fails in the middle.
                match commit(&store, number) {
                    Ok(state) => states.push(state),
                    Err(error) => {
                        in_doubt = Some(error);
                        break;
                    }
                }
            }
            let struck = faulty.control().counts().injected > 0;
            files.data.control().power_off();
            files.log.control().power_off();
            drop(store);
            let last = states.last().unwrap();
            for (seed, survival) in [
                CrashOutcome::None,
                CrashOutcome::All,
                CrashOutcome::Prefix,
                CrashOutcome::Any,
            ]
            .into_iter()
            .enumerate()
            {
                let crash = Crash {
                    seed: seed as u64 + 10 * after,
                    survival,
                };
                let found = Naive::of(&files.crashed(crash).snapshot());
                let whole = found == *last;
                // The one under way has one node more than what was acknowledged.
                let one_more = in_doubt.is_some() && found.nodes.len() + 1 > last.nodes.len();
                assert!(
                    whole
                        || one_more
                            && found.nodes.values().any(|node| node
                                .properties
                                .values()
                                .any(|value| *value
                                    == PropertyValue::Integer(states.len() as i64 - 1))),
                    "cut {after} on {} ({crash:?}): {} nodes, acknowledged {}",
                    if on_log { "log" } else { "data" },
                    found.nodes.len(),
                    last.nodes.len()
                );
                cuts += 1;
            }
            if !struck {
                break;
            }
        }
    }
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn a_failed_sync_stops_writes_and_says_what_is_unknown() {
    let files = Files::new();
    let store = files.open().unwrap();
    commit(&store, 0).unwrap();
    let before = Naive::of(&store.snapshot());
    files.log.control().arm(Fault::SyncError, 0);
    let error = commit(&store, 1).unwrap_err();
    assert_eq!(
        error.durable(),
        Some(graven_storage::Durable::Unknown),
        "{error}"
    );
    let error = commit(&store, 2).unwrap_err();
    assert_eq!(
        error.durable(),
        Some(graven_storage::Durable::No),
        "{error}"
    );
    assert!(error.to_string().contains("opened again"), "{error}");
    // Readers go on, and see nothing of either.
    assert_eq!(Naive::of(&store.snapshot()), before);
}

#[test]
fn without_its_log_a_database_is_not_opened() {
    let files = Files::new();
    let store = files.open().unwrap();
    commit(&store, 0).unwrap();
    drop(store);
    let error = open(
        Arc::new(files.data.clone()),
        Arc::new(MemoryFile::new("lost")),
    )
    .unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}
