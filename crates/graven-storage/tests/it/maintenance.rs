//! Goal: checkpoints of an open store keep everything committed, beside writers and readers; a
//! backup is the database; a salvage copies all but what a damaged page held, and says which that
//! was.

use crate::damage::{answers, open, sample};
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    CheckpointOptions, ConstraintKind, ConstraintSpec, Direction, Error, GraphBuilder, IndexKind,
    IndexSpec, NodeId, PropertyValue, SchemaEntity, Store, StoreWriter, TransactionOptions, Until,
    WriterOptions,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn cache() -> Arc<PageCache> {
    PageCache::new(Config::new(Budget::new(8 << 20))).unwrap()
}

fn unpaced() -> CheckpointOptions {
    let mut options = CheckpointOptions::default();
    options.paced = false;
    options
}

/// Every writer makes a node with a relationship to node 0, `count` times.
fn write(store: &Arc<Store>, writer: i64, count: i64) {
    for number in 0..count {
        loop {
            let transaction = store.begin(TransactionOptions::default()).unwrap();
            let label = transaction.label("Written").unwrap();
            let (id, of) = (
                transaction.key("number").unwrap(),
                transaction.key("writer").unwrap(),
            );
            let rel_type = transaction.rel_type("POINTS").unwrap();
            let properties = [
                (id, PropertyValue::Integer(number)),
                (of, PropertyValue::Integer(writer)),
            ];
            let node = transaction.create_node(&[label], &properties).unwrap();
            let since = [(id, PropertyValue::Integer(number))];
            transaction
                .create_relationship(node, rel_type, NodeId(0), &since)
                .unwrap();
            match transaction.commit() {
                Ok(_) => break,
                Err(error) if error.is_retryable() => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn checkpoints_run_beside_writers_and_readers() {
    let mut builder = GraphBuilder::new();
    builder.node(&["Hub"], &[]);
    let file = MemoryFile::new("busy.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    let store = Store::open(Arc::new(file.clone()), cache()).unwrap();
    let old = store.snapshot();
    let mut checkpoints = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                scope.spawn({
                    let store = store.clone();
                    move || write(&store, writer, 300)
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            checkpoints += u64::from(store.checkpoint(unpaced()).unwrap().is_some());
            let now = store.snapshot();
            let label = now.catalog().label("Written");
            let nodes = label.map_or(0, |label| now.nodes_with_label(label).unwrap().count());
            let rel_type = now.catalog().rel_type("POINTS");
            let into = rel_type.map_or(0, |of| {
                now.adjacency(of, Direction::In)
                    .unwrap()
                    .degree(NodeId(0))
                    .unwrap()
            });
            assert_eq!(nodes, into, "a snapshot sees whole transactions");
        }
    });
    checkpoints += u64::from(store.checkpoint(unpaced()).unwrap().is_some());
    assert!(checkpoints > 0);
    assert_eq!(
        old.node_count(),
        1,
        "an old snapshot reads what it always read"
    );
    assert_eq!(store.check().unwrap().problems, []);
    let before = answers(&store).unwrap();
    drop(old);
    let again = Store::open(Arc::new(file), cache()).unwrap();
    assert_eq!(again.snapshot().node_count(), 901);
    assert_eq!(answers(&again).unwrap(), before);
    assert_eq!(again.check().unwrap().problems, []);
}

#[test]
fn a_backup_is_the_database() {
    let store = open(&sample(), &cache()).unwrap();
    write(&store, 7, 20);
    let out = MemoryFile::new("backup.graven");
    let report = store.backup(Arc::new(out.clone()), cache()).unwrap();
    assert_eq!(report.check.problems, []);
    let copy = Store::open(Arc::new(out.clone()), cache()).unwrap();
    assert_eq!(answers(&copy).unwrap(), answers(&store).unwrap());
    // The original goes on, the copy stays; a copy of the copy is the same again.
    write(&store, 8, 20);
    store.checkpoint(unpaced()).unwrap();
    assert_eq!(
        copy.snapshot().node_count() + 20,
        store.snapshot().node_count()
    );
    let second = MemoryFile::new("second.graven");
    copy.backup(Arc::new(second.clone()), cache()).unwrap();
    let second = Store::open(Arc::new(second), cache()).unwrap();
    assert_eq!(answers(&second).unwrap(), answers(&copy).unwrap());
    store.backup(Arc::new(out), cache()).unwrap_err();
}

/// Goal: a checkpoint, a backup and one that is brought up to date end when they are not wanted any
/// more; nothing is lost, and what was begun cannot be opened.
#[test]
fn what_is_not_wanted_any_more_is_given_up() {
    let store = open(&sample(), &cache()).unwrap();
    write(&store, 7, 20);
    let flag = Arc::new(AtomicBool::new(true));
    let until = Until {
        moment: None,
        cancelled: Some(flag.clone()),
    };
    let mut options = unpaced();
    options.until = until.clone();
    let given_up = store.checkpoint(options.clone()).unwrap_err();
    assert!(matches!(given_up, Error::Stopped), "{given_up}");
    let whole = MemoryFile::new("whole.graven");
    store.backup(Arc::new(whole.clone()), cache()).unwrap();
    write(&store, 8, 20);
    let all = answers(&store).unwrap();
    let part = MemoryFile::new("part.graven");
    let given_up = store.backup_until(Arc::new(part.clone()), cache(), &until);
    assert!(matches!(given_up, Err(Error::Stopped)), "{given_up:?}");
    assert!(Store::open(Arc::new(part), cache()).is_err());
    let given_up = store.backup_since(Arc::new(whole.clone()), cache(), &until);
    assert!(matches!(given_up, Err(Error::Stopped)), "{given_up:?}");
    assert_eq!(answers(&store).unwrap(), all);
    flag.store(false, Ordering::Relaxed);
    store.checkpoint(options).unwrap().expect("changes");
    assert_eq!(answers(&store).unwrap(), all);
    store
        .backup_until(Arc::new(MemoryFile::new("again.graven")), cache(), &until)
        .unwrap();
}

/// Goal: a backup that is brought up to date is what a whole one would be, costs what changed, and
/// is no database until it is complete; a backup of another database is refused.
#[test]
fn a_backup_can_be_brought_up_to_date() {
    let mut builder = GraphBuilder::new();
    for number in 0..20_000i64 {
        let text = PropertyValue::string(&format!("text {number}"));
        builder.node(
            &["N"],
            &[("i", PropertyValue::Integer(number)), ("t", text)],
        );
    }
    let file = MemoryFile::new("original.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    let store = Store::open(Arc::new(file), cache()).unwrap();
    let copy = MemoryFile::new("backup.graven");
    let whole = store.backup(Arc::new(copy.clone()), cache()).unwrap();
    let unchanged = store
        .backup_since(Arc::new(copy.clone()), cache(), &Until::DONE)
        .unwrap();
    assert_eq!(unchanged.written, 0);
    assert!(whole.written > 0);
    for round in 0..3 {
        write(&store, round, 30);
        let before = copy.to_bytes();
        let report = store
            .backup_since(Arc::new(copy.clone()), cache(), &Until::DONE)
            .unwrap();
        assert_eq!(report.check.problems, []);
        assert!(
            report.written > 0 && report.written < report.bytes / 2,
            "{report:?}"
        );
        let restored = Store::open(Arc::new(copy.clone()), cache()).unwrap();
        assert_eq!(answers(&restored).unwrap(), answers(&store).unwrap());
        assert_eq!(
            restored.snapshot().node_count(),
            20_000 + (round as u64 + 1) * 30
        );
        drop(restored);
        // From the state of the round before, changed since by another store.
        let strayed = MemoryFile::with_bytes("strayed.graven", &before);
        let other = Store::open(Arc::new(strayed.clone()), cache()).unwrap();
        write(&other, 99, 10);
        other.checkpoint(unpaced()).unwrap();
        drop(other);
        store
            .backup_since(Arc::new(strayed.clone()), cache(), &Until::DONE)
            .unwrap();
        let strayed = Store::open(Arc::new(strayed), cache()).unwrap();
        assert_eq!(answers(&strayed).unwrap(), answers(&store).unwrap());
    }
    let foreign = MemoryFile::new("foreign.graven");
    let other = StoreWriter::create(Arc::new(foreign.clone()), WriterOptions::default()).unwrap();
    other.finish().unwrap();
    let error = store
        .backup_since(Arc::new(foreign), cache(), &Until::DONE)
        .unwrap_err();
    assert!(matches!(error, Error::Incomplete { .. }), "{error}");
}

/// What a salvage of `bytes` copied: nodes, relationships, values; and what was lost.
fn salvage(bytes: &[u8]) -> Option<(u64, u64, u64, usize)> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("damaged.graven", bytes));
    let (store, lost) = Store::open_damaged(file, cache()).ok()?;
    let out = MemoryFile::new("salvaged.graven");
    let report = store.salvage(Arc::new(out.clone())).unwrap();
    let copy = Store::open(Arc::new(out), cache()).unwrap();
    assert_eq!(copy.check().unwrap().problems, []);
    assert_eq!(copy.snapshot().node_count(), report.nodes);
    let lost = lost.len() + report.lost.len();
    Some((report.nodes, report.relationships, report.values, lost))
}

#[test]
fn a_salvage_copies_what_can_be_read() {
    let mut bytes = sample();
    let intact = salvage(&bytes).unwrap();
    assert_eq!(intact.3, 0, "nothing is lost of an intact file");
    let (mut whole, mut partly) = (0, 0);
    for page in 0..bytes.len() / 4096 {
        let at = page * 4096 + 100;
        bytes[at] ^= 1;
        if let Some(found) = salvage(&bytes) {
            assert!(found.0 <= intact.0 && found.1 <= intact.1 && found.2 <= intact.2);
            match (found.0, found.1, found.2) == (intact.0, intact.1, intact.2) {
                true => whole += 1,
                false => {
                    assert!(found.3 > 0, "what is lost is told: page {page}");
                    partly += 1;
                }
            }
        }
        bytes[at] ^= 1;
    }
    assert!(
        whole > 3 && partly > 3,
        "{whole} pages without loss, {partly} with"
    );
}

/// Goal: a damaged page never keeps the database from opening unless it is the catalogue's, which
/// is said. What is read then is right or an error, and the rest can be written to.
#[test]
fn a_database_with_a_damaged_page_opens() {
    let mut bytes = sample();
    let expected = answers(&open(&bytes, &cache()).unwrap()).unwrap();
    let nodes = open(&bytes, &cache()).unwrap().snapshot().node_count();
    let (mut closed, mut lost_labels, mut written) = (0, 0, 0);
    for page in 0..bytes.len() / 4096 {
        let at = page * 4096 + 100;
        bytes[at] ^= 1;
        let opened = open(&bytes, &cache());
        bytes[at] ^= 1;
        let store = match opened {
            Ok(store) => store,
            Err(error) => {
                assert!(matches!(error, Error::CatalogueLost { .. }), "{error}");
                assert!(error.to_string().contains("graven salvage"), "{error}");
                closed += 1;
                continue;
            }
        };
        let snapshot = store.snapshot();
        assert_eq!(snapshot.node_count(), nodes);
        match snapshot.all_nodes() {
            Ok(all) => assert_eq!(all.count(), nodes),
            Err(error) => {
                assert!(matches!(error, Error::LabelsLost { .. }), "{error}");
                lost_labels += 1;
                let labels = snapshot.labels_of(NodeId(3));
                assert!(matches!(labels, Err(Error::LabelsLost { .. })));
            }
        }
        match answers(&store) {
            Ok(found) => assert_eq!(found, expected),
            Err(error) => assert!(error.is_damage(), "{error}"),
        }
        // Nothing is lost by writing: either it works, or it says why not.
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        let key = transaction.key("later").unwrap();
        let set = transaction.set_node_property(NodeId(3), key, &PropertyValue::Integer(1));
        let done = set.and_then(|()| transaction.commit().map(|_| ()));
        let done = done.and_then(|()| store.checkpoint(unpaced()).map(|_| ()));
        match done {
            Ok(()) => {
                let column = store.snapshot().node_column(key).unwrap();
                assert_eq!(column.get(3).unwrap(), PropertyValue::Integer(1));
                assert_eq!(store.snapshot().node_count(), nodes);
                written += 1;
            }
            Err(error) => assert!(error.is_damage(), "{error}"),
        }
    }
    assert!(closed <= 2, "{closed} pages keep it from opening");
    assert!(lost_labels > 0 && written > 5, "{lost_labels} {written}");
}

/// Goal: a salvage has the indexes and constraints of the original under their names, as far as
/// they hold on what could be copied; the others are told.
#[test]
fn a_salvage_has_the_schema_too() {
    let file = MemoryFile::new("schema.graven");
    GraphBuilder::new().build(Arc::new(file.clone())).unwrap();
    let store = Store::open(Arc::new(file.clone()), cache()).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let label = transaction.label("N").unwrap();
    let rel_type = transaction.rel_type("T").unwrap();
    let (one, two) = (
        transaction.key("one").unwrap(),
        transaction.key("two").unwrap(),
    );
    let of_nodes = SchemaEntity::Node(label);
    let constraint = |name: &str, kind, keys: &[_]| ConstraintSpec {
        name: Some(name.to_owned()),
        kind,
        entity: of_nodes,
        keys: keys.to_vec(),
    };
    let index = |name: &str, entity, keys: &[_]| IndexSpec {
        name: Some(name.to_owned()),
        entity,
        keys: keys.to_vec(),
        unique: false,
        kind: IndexKind::Range,
    };
    let constraints = [
        constraint("only_one", ConstraintKind::Unique, &[one]),
        constraint("has_two", ConstraintKind::Exists, &[two]),
        constraint("both", ConstraintKind::NodeKey, &[one, two]),
    ];
    for spec in &constraints {
        transaction.create_constraint(spec, &|| false).unwrap();
    }
    let on_relationships = SchemaEntity::Relationship(rel_type);
    for spec in [
        index("composite", of_nodes, &[two, one]),
        index("rels", on_relationships, &[one]),
    ] {
        transaction.create_index(&spec, &|| false).unwrap();
    }
    for number in 0..1000i64 {
        let properties = [
            (one, PropertyValue::Integer(number)),
            (two, PropertyValue::string(&format!("value {number}"))),
        ];
        let node = transaction.create_node(&[label], &properties).unwrap();
        let end = NodeId(node.0 / 2);
        transaction
            .create_relationship(node, rel_type, end, &properties[..1])
            .unwrap();
    }
    transaction.commit().unwrap();
    store.checkpoint(unpaced()).unwrap();
    drop(store);
    let salvage = |bytes: &[u8]| {
        let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("damaged.graven", bytes));
        let (store, _) = Store::open_damaged(file, cache()).unwrap();
        let out = MemoryFile::new("salvaged.graven");
        let report = store.salvage(Arc::new(out.clone())).unwrap();
        (report, Store::open(Arc::new(out), cache()).unwrap())
    };
    let mut bytes = file.to_bytes();
    let (report, copy) = salvage(&bytes);
    assert_eq!(
        (report.lost.len(), report.indexes, report.constraints),
        (0, 2, 3)
    );
    assert_eq!(
        (report.nodes, report.relationships, report.values),
        (1000, 1000, 3000)
    );
    assert_eq!(copy.check().unwrap().problems, []);
    let names = |store: &Store| {
        let snapshot = store.snapshot();
        let indexes = snapshot
            .catalog()
            .indexes()
            .iter()
            .map(|it| it.name.to_string());
        let constraints = snapshot.catalog().constraints().iter();
        let mut names: Vec<String> = constraints
            .map(|it| it.name.to_string())
            .chain(indexes)
            .collect();
        names.sort();
        names
    };
    let expected = [
        "both",
        "both",
        "composite",
        "has_two",
        "only_one",
        "only_one",
        "rels",
    ];
    assert_eq!(names(&copy), expected);
    let duplicate = copy.begin(TransactionOptions::default()).unwrap();
    let refused = duplicate.create_node(&[label], &[(one, PropertyValue::Integer(7))]);
    assert!(matches!(refused, Err(Error::Duplicate { .. })));
    drop(duplicate);
    // A page with values of `two` is lost: it is no longer everywhere.
    let mut partly = 0;
    for page in 1..bytes.len() / 4096 {
        let at = page * 4096 + 200;
        let opened = |bytes: &[u8]| {
            let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("damaged.graven", bytes));
            Store::open(file, cache())
        };
        bytes[at] ^= 1;
        // Where the nodes are lost with them, nothing is left that the constraint could be broken
        // by.
        let lost = opened(&bytes).is_ok_and(|store| {
            let snapshot = store.snapshot();
            let column = snapshot.node_column(two).unwrap();
            snapshot.all_nodes().is_ok() && (0..1000).any(|id| column.get(id).is_err())
        });
        if lost {
            let (report, copy) = salvage(&bytes);
            let told: Vec<&str> = report.lost.iter().map(|lost| lost.place.as_str()).collect();
            assert!(told.contains(&"constraint has_two"), "{told:?}");
            assert!(told.contains(&"constraint both"), "{told:?}");
            assert_eq!(names(&copy), ["composite", "only_one", "only_one", "rels"]);
            partly += 1;
        }
        bytes[at] ^= 1;
    }
    assert!(partly > 0);
}

/// Goal: of a log that is damaged a salvage has what was committed before, in order and whole, and
/// says that the rest is lost.
#[test]
fn a_damaged_log_is_salvaged_up_to_the_damage() {
    let (data, log) = (MemoryFile::new("data"), MemoryFile::new("log"));
    GraphBuilder::new().build(Arc::new(data.clone())).unwrap();
    let store = crate::transactions::open(Arc::new(data.clone()), Arc::new(log.clone())).unwrap();
    write(&store, 7, 400);
    let (data, log) = (data.to_bytes(), log.to_bytes());
    drop(store);
    let used = log.iter().rposition(|byte| *byte != 0).unwrap();
    let mut before = 0;
    for percent in [20, 50, 80] {
        let mut damaged = log.clone();
        damaged[used * percent / 100..][..600].fill(0xA5);
        let file =
            |bytes: &[u8]| -> Arc<dyn File> { Arc::new(MemoryFile::with_bytes("file", bytes)) };
        let options = || {
            let place = crate::transactions::LogFile(file(&damaged));
            let mut options = graven_storage::OpenOptions::new(Box::new(place));
            options.read_only = Some("the test only reads".to_owned());
            options
        };
        let error = Store::open_with(file(&data), cache(), options()).unwrap_err();
        assert!(matches!(error, Error::Log { .. }), "{error}");
        let (store, lost) = Store::open_with_damaged_log(file(&data), cache(), options()).unwrap();
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].why, error.to_string());
        let out = MemoryFile::new("salvaged");
        let report = store.salvage(Arc::new(out.clone())).unwrap();
        assert_eq!(report.lost, []);
        assert!(report.nodes > before && report.nodes < 400, "{report:?}");
        assert_eq!(report.relationships, report.nodes, "whole transactions");
        before = report.nodes;
        let copy = Store::open(Arc::new(out), cache()).unwrap();
        assert_eq!(copy.check().unwrap().problems, []);
        let snapshot = copy.snapshot();
        let key = snapshot.catalog().key("number").unwrap();
        let column = snapshot.node_column(key).unwrap();
        for node in 0..report.nodes {
            let number = PropertyValue::Integer(node as i64);
            assert_eq!(column.get(node).unwrap(), number);
        }
    }
}

#[test]
fn users_outlive_recovery_checkpoint_backup_and_salvage() {
    use graven_storage::{Role, UserDescription};
    let (data, log) = (MemoryFile::new("u.graven"), MemoryFile::new("u.graven-wal"));
    GraphBuilder::new().build(Arc::new(data.clone())).unwrap();
    let reopen =
        || crate::transactions::open(Arc::new(data.clone()), Arc::new(log.clone())).unwrap();
    let user = |name: &str, role| UserDescription {
        name: name.into(),
        role,
        password: "hash".into(),
        suspended: false,
        change_required: false,
        home: Some("shop".into()),
    };
    let change = |store: &Arc<Store>, role, dropped| {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        transaction.put_user(user("ada", role)).unwrap();
        transaction.put_user(user("bob", Role::Reader)).unwrap();
        assert_eq!(transaction.drop_user("bob").unwrap(), dropped);
        assert!(!transaction.drop_user("eve").unwrap());
        transaction.commit().unwrap();
    };
    let users = |store: &Arc<Store>| store.snapshot().catalog().users().to_vec();
    let store = reopen();
    let undone = store.begin(TransactionOptions::default()).unwrap();
    undone.put_user(user("eve", Role::Admin)).unwrap();
    undone.rollback();
    // It holds the store, whose idle log would write where the next one does.
    drop(undone);
    change(&store, Role::Writer, true);
    drop(store);
    // From the log alone, then from the file alone, then from both.
    let store = reopen();
    assert_eq!(users(&store), [user("ada", Role::Writer)]);
    store.checkpoint(unpaced()).unwrap();
    drop(store);
    let store = reopen();
    assert_eq!(users(&store), [user("ada", Role::Writer)]);
    change(&store, Role::Admin, true);
    drop(store);
    let store = reopen();
    assert_eq!(users(&store), [user("ada", Role::Admin)]);
}
