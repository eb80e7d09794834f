//! Goal: the anomalies that LDBC's ACID tests look for: none at serialisable, write skew alone at
//! snapshot isolation. Method: the interleaving that shows each anomaly, step by step on one
//! thread, at both levels.

use graven_storage::{
    Direction, GraphBuilder, Isolation, KeyId, LabelId, Neighbour, NodeId, PropertyValue, Snapshot,
    Store, Transaction, TransactionOptions, TypeId,
};
use std::sync::Arc;

const LEVELS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

/// Four persons with `version` 0; 0 knows 1, 1 knows 2.
struct Persons {
    store: Arc<Store>,
    level: Isolation,
}

const VERSION: KeyId = KeyId(0);
const PERSON: LabelId = LabelId(0);
const KNOWS: TypeId = TypeId(0);
const PERSONS: [NodeId; 4] = [NodeId(0), NodeId(1), NodeId(2), NodeId(3)];

impl Persons {
    fn new(level: Isolation) -> Persons {
        let mut graph = GraphBuilder::new();
        for _ in PERSONS {
            graph.node(&["Person"], &[("version", PropertyValue::Integer(0))]);
        }
        for start in 0..2 {
            graph.relationship(PERSONS[start], "KNOWS", PERSONS[start + 1], &[]);
        }
        let store = graph.open(4 << 20).unwrap();
        Persons { store, level }
    }

    fn begin(&self) -> Transaction {
        let options = TransactionOptions::default().isolation(self.level);
        self.store.begin(options).unwrap()
    }
}

fn version(snapshot: &Snapshot, node: NodeId) -> i64 {
    match snapshot.node_column(VERSION).unwrap().get(node.0).unwrap() {
        PropertyValue::Integer(version) => version,
        other => panic!("{other:?}"),
    }
}

fn write(transaction: &Transaction, node: NodeId, version: i64) {
    let value = PropertyValue::Integer(version);
    transaction
        .set_node_property(node, VERSION, &value)
        .unwrap();
}

fn friends(snapshot: &Snapshot, node: NodeId) -> Vec<NodeId> {
    let mut list = Vec::new();
    let out = snapshot.adjacency(KNOWS, Direction::Out).unwrap();
    out.neighbours(node, &mut list).unwrap();
    list.into_iter()
        .map(|Neighbour { node, .. }| node)
        .collect()
}

#[test]
fn atomicity() {
    for level in LEVELS {
        let persons = Persons::new(level);
        for commit in [true, false] {
            let before = persons.store.snapshot().node_count();
            let it = persons.begin();
            let new = it
                .create_node(&[PERSON], &[(VERSION, PropertyValue::Integer(7))])
                .unwrap();
            it.create_relationship(PERSONS[0], KNOWS, new, &[]).unwrap();
            write(&it, PERSONS[0], 7);
            if commit {
                it.commit().unwrap();
            } else {
                it.rollback();
            }
            let after = persons.store.snapshot();
            assert_eq!(after.node_count(), before + u64::from(commit));
            assert_eq!(after.node_exists(new), commit);
            assert_eq!(friends(&after, PERSONS[0]).contains(&new), commit);
            assert_eq!(version(&after, PERSONS[0]), 7);
        }
    }
}

/// G0: dirty write. Of two transactions that write the same persons one fails.
#[test]
fn no_dirty_write() {
    for level in LEVELS {
        let persons = Persons::new(level);
        let (one, other) = (persons.begin(), persons.begin());
        write(&one, PERSONS[0], 1);
        write(&other, PERSONS[1], 2);
        write(&other, PERSONS[0], 2);
        write(&one, PERSONS[1], 1);
        one.commit().unwrap();
        assert!(other.commit().unwrap_err().is_retryable());
        let after = persons.store.snapshot();
        assert_eq!(
            (version(&after, PERSONS[0]), version(&after, PERSONS[1])),
            (1, 1)
        );
    }
}

/// G1a, G1b: no transaction reads aborted or intermediate versions.
#[test]
fn no_aborted_or_intermediate_read() {
    for level in LEVELS {
        let persons = Persons::new(level);
        let (writer, reader) = (persons.begin(), persons.begin());
        write(&writer, PERSONS[0], 99);
        assert_eq!(version(&reader.snapshot(), PERSONS[0]), 0);
        assert_eq!(version(&persons.store.snapshot(), PERSONS[0]), 0);
        write(&writer, PERSONS[0], 100);
        writer.rollback();
        assert_eq!(version(&reader.snapshot(), PERSONS[0]), 0);
        assert_eq!(version(&persons.store.snapshot(), PERSONS[0]), 0);
    }
}

/// G1c: two transactions do not each read what the other writes.
#[test]
fn no_circular_information_flow() {
    for level in LEVELS {
        let persons = Persons::new(level);
        let (one, other) = (persons.begin(), persons.begin());
        write(&one, PERSONS[0], 1);
        write(&other, PERSONS[1], 2);
        let seen = (
            version(&one.snapshot(), PERSONS[1]),
            version(&other.snapshot(), PERSONS[0]),
        );
        assert_eq!(seen, (0, 0));
        one.commit().unwrap();
        // Each read what the other overwrote, so they cannot both be in one order.
        assert_eq!(other.commit().is_ok(), level == Isolation::Snapshot);
    }
}

/// IMP, PMP, OTV, FR: a transaction sees one state, however often and whatever it reads.
#[test]
fn reads_come_from_one_state() {
    for level in LEVELS {
        let persons = Persons::new(level);
        let reader = persons.begin();
        let read = || {
            let snapshot = reader.snapshot();
            let versions: Vec<i64> = PERSONS
                .iter()
                .map(|node| version(&snapshot, *node))
                .collect();
            let all = snapshot.nodes_with_label(PERSON).unwrap().count();
            (versions, friends(&snapshot, PERSONS[0]), all)
        };
        let first = read();
        for round in 1..4 {
            let writer = persons.begin();
            PERSONS.iter().for_each(|node| write(&writer, *node, round));
            let new = writer.create_node(&[PERSON], &[]).unwrap();
            writer
                .create_relationship(PERSONS[0], KNOWS, new, &[])
                .unwrap();
            writer.commit().unwrap();
            assert_eq!(read(), first);
            let now = persons.store.snapshot();
            let versions: Vec<i64> = PERSONS.iter().map(|node| version(&now, *node)).collect();
            assert_eq!(versions, [round; 4]);
        }
        reader.commit().unwrap();
    }
}

/// LU: concurrent increments are all kept, by trying again those that conflict.
#[test]
fn no_lost_update() {
    for level in LEVELS {
        let persons = Persons::new(level);
        const THREADS: i64 = 4;
        const ROUNDS: i64 = 25;
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        loop {
                            let it = persons.begin();
                            write(&it, PERSONS[0], version(&it.snapshot(), PERSONS[0]) + 1);
                            let new = it.create_node(&[PERSON], &[]).unwrap();
                            it.create_relationship(PERSONS[0], KNOWS, new, &[]).unwrap();
                            match it.commit() {
                                Ok(_) => break,
                                Err(error) => assert!(error.is_retryable(), "{error}"),
                            }
                        }
                    }
                });
            }
        });
        let after = persons.store.snapshot();
        assert_eq!(version(&after, PERSONS[0]), THREADS * ROUNDS);
        assert_eq!(
            friends(&after, PERSONS[0]).len() as i64,
            THREADS * ROUNDS + 1
        );
    }
}

/// WS: each of two transactions checks a condition over a pair and writes one side.
#[test]
fn write_skew_only_at_snapshot_isolation() {
    for level in LEVELS {
        let persons = Persons::new(level);
        let (one, other) = (persons.begin(), persons.begin());
        for (it, own) in [(&one, PERSONS[0]), (&other, PERSONS[1])] {
            let snapshot = it.snapshot();
            assert_eq!(
                version(&snapshot, PERSONS[0]) + version(&snapshot, PERSONS[1]),
                0
            );
            write(it, own, -1);
        }
        one.commit().unwrap();
        match other.commit() {
            Ok(_) => assert_eq!(level, Isolation::Snapshot),
            Err(error) => assert!(error.is_retryable() && level == Isolation::Serializable),
        }
    }
}

/// Phantoms: what a serialisable transaction read by label, list or existence is validated.
#[test]
fn no_phantoms_when_serialisable() {
    type Read = fn(&Snapshot);
    let reads: [Read; 4] = [
        |it| drop(it.nodes_with_label(PERSON)),
        |it| drop(it.all_nodes()),
        |it| drop(friends(it, PERSONS[3])),
        |it| {
            assert!(
                it.adjacency(KNOWS, Direction::In)
                    .unwrap()
                    .degree(PERSONS[0])
                    .is_ok()
            )
        },
    ];
    for (number, read) in reads.into_iter().enumerate() {
        let persons = Persons::new(Isolation::Serializable);
        let (one, other) = (persons.begin(), persons.begin());
        read(&one.snapshot());
        write(&one, PERSONS[2], 1);
        other.create_node(&[PERSON], &[]).unwrap();
        other
            .create_relationship(PERSONS[3], KNOWS, PERSONS[0], &[])
            .unwrap();
        other.commit().unwrap();
        assert!(one.commit().unwrap_err().is_retryable(), "read {number}");
    }
}
