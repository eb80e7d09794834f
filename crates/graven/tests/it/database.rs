//! Goal: opening says what is wrong with what it was given; settings change while queries run.

use graven::{Config, Database, IoMode, Params, Value};

use crate::graph::{small, social};

/// As [`small`], and makes a database where there is none.
fn making() -> Config {
    let mut config = small();
    config.create = true;
    config
}

fn refused(path: &std::path::Path) -> graven::Error {
    Database::open(path, small()).expect_err("this is no database")
}

#[test]
fn what_is_no_database_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("none.graven");
    let error = refused(&missing);
    assert_eq!(error.code(), "Database.NotFound");
    assert!(error.message().contains("graven import"), "{error}");
    assert!(!missing.exists(), "a failed open leaves nothing behind");

    let error = refused(folder.path());
    assert_eq!(error.code(), "Database.NotADatabase");

    for (name, content) in [
        ("empty", &b""[..]),
        ("text", b"id|name\n1|Ada\n"),
        ("long", &[7; 300_000]),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        let error = refused(&path);
        assert_eq!(error.code(), "Database.NotADatabase", "{name}: {error}");
        assert!(error.message().contains(name), "{error}");
    }
}

#[test]
fn a_cut_off_file_is_damaged_and_never_half_read() {
    let social = social();
    let bytes = std::fs::read(&social.path).expect("read");
    let cut = social.path.with_file_name("cut.graven");
    std::fs::write(&cut, &bytes[..bytes.len() - 4096]).expect("written");
    assert_eq!(refused(&cut).code(), "Database.Damaged");
}

#[test]
fn an_empty_database_is_made_where_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new.graven");
    let mut config = small();
    config.create = true;
    config.read_only = true;
    let error = Database::open(&path, config.clone()).expect_err("read-only creates nothing");
    assert_eq!(error.code(), "Database.NotFound");
    config.read_only = false;
    let db = Database::open(&path, config).expect("created");
    let row = db
        .connect()
        .query("MATCH (n) RETURN count(n)", &Params::new());
    let row = row
        .and_then(|mut r| r.next_row())
        .expect("runs")
        .expect("one row");
    assert_eq!(row.get(0), Some(&Value::Integer(0)));
    drop(db);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("listed").count(),
        1,
        "no leftovers"
    );
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let social = social();
    drop(social.db);
    let mut config = small();
    config.memory = 1000;
    assert_eq!(
        Database::open(&social.path, config)
            .expect_err("too small")
            .code(),
        "Config.Invalid"
    );
    let mut config = small();
    config.policy = "guess".into();
    let error = Database::open(&social.path, config).expect_err("no such policy");
    assert_eq!(error.code(), "Config.Invalid");
    assert!(error.message().contains("guess"), "{error}");
}

#[test]
fn memory_and_policy_change_while_results_are_open() {
    let social = social();
    let mut open = social
        .db
        .connect()
        .query(
            "MATCH (a:Person)-[:KNOWS]-(b) RETURN a.name, b.name",
            &Params::new(),
        )
        .expect("runs");
    assert!(open.next_row().expect("a row").is_some());
    social.db.set_memory(2 << 20).expect("shrunk");
    assert_eq!(social.db.memory(), 2 << 20);
    for spec in ["lru", "random", "gclock:max=3", "clock"] {
        social
            .db
            .set_policy(spec)
            .unwrap_or_else(|e| panic!("{spec}: {e}"));
    }
    assert!(social.db.set_policy("gclock:max=99").is_err());
    social.db.set_memory(8 << 20).expect("grown");
    assert_eq!(open.count(), 7, "eight rows in all");
}

#[test]
fn buffered_reads_give_the_same_answers() {
    let social = social();
    let mut config: Config = small();
    config.io = IoMode::Buffered;
    drop(social.db);
    let db = Database::open(&social.path, config).expect("opened");
    assert_eq!(db.reading().expect("ours").mode, "buffered");
    let rows = db
        .connect()
        .query("MATCH (p:Person) RETURN p.name", &Params::new())
        .expect("runs");
    assert_eq!(rows.count(), 4);
}

#[test]
fn many_threads_share_a_database() {
    let social = social();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let connection = social.db.connect();
                for id in 1..=4 {
                    let text =
                        "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f) RETURN count(DISTINCT f)";
                    let mut result = connection
                        .query(text, &Params::new().with("id", id))
                        .expect("runs");
                    let row = result.next_row().expect("reads").expect("one row");
                    // Only Di lies on no triangle, so the others are counted themselves.
                    let expected = if id == 4 { 3 } else { 4 };
                    assert_eq!(row.get(0), Some(&Value::Integer(expected)), "start {id}");
                }
            });
        }
    });
}

#[test]
fn two_databases_share_a_budget() {
    let (one, other) = (social(), social());
    drop((one.db, other.db));
    let budget = graven::pagecache::Budget::new(4 << 20);
    let open = |path: &std::path::Path| {
        let mut config = Config::default();
        config.budget = Some(std::sync::Arc::clone(&budget));
        Database::open(path, config).expect("opened")
    };
    for db in [open(&one.path), open(&other.path)] {
        let result = db
            .connect()
            .query("MATCH (p:Person) RETURN p", &Params::new());
        assert_eq!(result.expect("runs").count(), 4);
        assert!(budget.used() > 0 && budget.used() <= budget.limit());
    }
}

#[test]
fn info_adds_up() {
    let social = social();
    let info = social.db.info().expect("ours");
    assert_eq!((info.nodes, info.relationships), (5, 8));
    assert_eq!(
        info.file_bytes,
        std::fs::metadata(&social.path).expect("exists").len()
    );
    let label = |name: &str| info.labels.iter().find(|l| l.0 == name).map(|l| l.1);
    assert_eq!((label("Person"), label("Message")), (Some(4), Some(1)));
    let knows = info
        .types
        .iter()
        .find(|t| t.name == "KNOWS")
        .expect("listed");
    assert_eq!(knows.relationships, 4);
    assert!(knows.adjacency_bytes > 0);
    assert!(info.stores.iter().map(|s| s.bytes).sum::<u64>() <= info.file_bytes);
    assert!(
        info.stores.iter().any(|s| s.name == "index Person(id)"),
        "{:?}",
        info.stores
    );
    assert_eq!(info.superblock_damage, None);
    let halved = social.path.with_file_name("halved.graven");
    let mut bytes = std::fs::read(&social.path).expect("read");
    bytes[..4096].fill(0);
    std::fs::write(&halved, bytes).expect("written");
    let half = Database::open(&halved, small()).expect("the other one is whole");
    let damage = half.info().expect("ours").superblock_damage;
    assert!(damage.is_some(), "one of the two is gone");
    let names = social.db.names().expect("ours");
    assert!(names.keys.contains(&"since".to_owned()) && names.types.len() == 2);
}

#[test]
fn a_check_passes_and_finds_every_damaged_store() {
    let social = social();
    let report = social.db.check(&mut |_| {}).expect("ours");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert!(
        report
            .checked
            .contains(&("KNOWS, both directions".to_owned(), 4)),
        "{report:?}"
    );
    assert!(
        report.checked.contains(&("index Person(id)".to_owned(), 4)),
        "{report:?}"
    );
    // A flipped bit anywhere behind the superblocks is either found by the check, refused at
    // opening, or lies in space that holds nothing.
    let bytes = std::fs::read(&social.path).expect("read");
    let flipped = social.path.with_file_name("flipped.graven");
    let mut found = 0;
    for page in (0..bytes.len()).step_by(4096).skip(1) {
        let mut damaged = bytes.clone();
        damaged[page + 70] ^= 1;
        std::fs::write(&flipped, &damaged).expect("written");
        match Database::open(&flipped, small()) {
            Ok(db) => {
                found += usize::from(!db.check(&mut |_| {}).expect("ours").problems.is_empty())
            }
            Err(error) => {
                assert_eq!(error.code(), "Database.Damaged", "{error}");
                found += 1;
            }
        }
    }
    assert!(found >= 6, "only {found} damaged pages were found");
}

#[test]
fn relationships_that_go_under_other_labels_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::open(folder.path().join("counts.graven"), making()).expect("new");
    let run = |statement: &str| {
        let result = db.connect().query(statement, &Params::new());
        for row in result.expect(statement) {
            row.expect(statement);
        }
    };
    run("UNWIND range(1, 3) AS i CREATE (:A {u: i})-[:S {z: i}]->(:B {u: i})");
    db.checkpoint().expect("made");
    run("MATCH (n:A) REMOVE n:A");
    run("CREATE INDEX b FOR (n:B) ON (n.u)");
    run("MATCH ()-[r:S]->() WHERE r.z < 3 DELETE r");
    let check = || db.check(&mut |_| {}).expect("ours");
    assert_eq!(check().problems, Vec::<String>::new());
    // One that comes under some labels and goes under others, with another that stays.
    run("CREATE (:A {u: 4})-[:T]->(:B {u: 4})");
    run("MATCH (n:A {u: 4}) REMOVE n:A SET n:Z");
    run("MATCH (:Z)-[r:T]->() DELETE r");
    run("MATCH (n:Z), (m:B {u: 4}) CREATE (n)-[:T]->(m)");
    let report = check();
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(
        report
            .checked
            .contains(&("S, both directions".to_owned(), 1))
    );
    db.checkpoint().expect("made");
    assert_eq!(check().problems, Vec::<String>::new());
}

#[test]
fn one_writer_or_many_readers() {
    let social = social();
    let mut alone = small();
    alone.attach = false;
    let error = Database::open(&social.path, alone.clone()).expect_err("it is open");
    assert_eq!(error.code(), "Database.InUse");
    assert!(error.message().contains("process"), "{error}");
    let mut reading = alone.clone();
    reading.read_only = true;
    let error = Database::open(&social.path, reading.clone()).expect_err("its owner writes");
    assert_eq!(error.code(), "Database.InUse");
    drop(social.db);
    let readers = [(); 2].map(|()| Database::open(&social.path, reading.clone()).expect("shared"));
    let error = Database::open(&social.path, alone).expect_err("it is read");
    assert_eq!(error.code(), "Database.InUse");
    let refused = readers[0]
        .connect()
        .query("CREATE (:Person)", &Params::new());
    assert_eq!(
        refused.err().map(|e| e.code().to_owned()).as_deref(),
        Some("Database.ReadOnly")
    );
}

/// A file that another process writes to is not read page by page: it would be copied without what
/// is in its log, and with pages of different states.
#[test]
fn what_is_in_use_is_not_salvaged() {
    let social = social();
    let out = social.path.with_file_name("copy.graven");
    let error = Database::salvage(&social.path, &out, small()).expect_err("it is in use");
    assert_eq!(error.code(), "Database.InUse", "{error}");
    assert!(error.message().contains("graven backup"), "{error}");
    assert!(!out.exists(), "a failed salvage leaves nothing behind");
    drop(social.db);
    let report = Database::salvage(&social.path, &out, small()).expect("it is not open any more");
    assert!(report.lost.is_empty(), "{:?}", report.lost);
}

/// A missing file is reported as missing; the error of a salvage does not advise a salvage.
#[test]
fn a_salvage_that_can_copy_nothing_says_why() {
    let social = social();
    let out = social.path.with_file_name("copy.graven");
    let error = Database::salvage(out.with_file_name("mistyped.graven"), &out, small());
    let error = error.expect_err("there is no such file");
    assert_eq!(error.code(), "Database.NotFound", "{error}");
    assert!(error.message().contains("does not exist"), "{error}");
    social.db.close().expect("closed");
    drop(social.db);
    let cut = std::fs::OpenOptions::new().write(true).open(&social.path);
    cut.and_then(|file| file.set_len(5000)).expect("cut off");
    let error = Database::salvage(&social.path, &out, small()).expect_err("nothing is left");
    assert!(error.message().contains("restore a backup"), "{error}");
    let advice = "copy what an older state of the file has with `graven salvage`";
    assert!(!error.message().contains(advice), "{error}");
}

/// A backup has no log. What a killed owner left in its own is in a backup all the same where the
/// database may only be read, and so can make no checkpoint.
#[test]
fn what_is_only_read_is_backed_up_with_its_log() {
    let social = social();
    let created = "UNWIND range(1, 100) AS i CREATE (:Late {i: i})";
    let made = social.db.connect().query(created, &Params::new());
    assert_eq!(made.expect("runs").count(), 0);
    // As a killed process leaves it.
    let folder = social.path.with_file_name("crashed");
    std::fs::create_dir(&folder).expect("made");
    let crashed = folder.join("social.graven");
    for suffix in ["", "-wal"] {
        let name = |path: &std::path::Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&social.path), name(&crashed)).expect("copied");
    }
    let before = std::fs::read(&crashed).expect("read");
    let mut reading = small();
    reading.read_only = true;
    let db = Database::open(&crashed, reading).expect("opens");
    let (copy, newer) = (folder.join("copy.graven"), folder.join("newer.graven"));
    db.backup(&copy).expect("copied");
    db.backup_since(&newer, &copy).expect("copied");
    for copy in [copy, newer] {
        let db = Database::open(&copy, small()).expect("opens");
        let count = "MATCH (l:Late) RETURN sum(l.i)";
        let mut result = db.connect().query(count, &Params::new()).expect("runs");
        let row = result.next_row().expect("reads").expect("one row");
        assert_eq!(
            row.get(0),
            Some(&Value::Integer(5050)),
            "{}",
            copy.display()
        );
    }
    assert_eq!(std::fs::read(&crashed).expect("read"), before);
    let mut left: Vec<_> = std::fs::read_dir(&folder)
        .expect("read")
        .map(|entry| entry.expect("read").file_name())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            "copy.graven",
            "newer.graven",
            "social.graven",
            "social.graven-wal"
        ]
    );
}

#[test]
fn commits_are_there_after_opening_again() {
    let social = social();
    let count = |db: &Database| {
        let mut result = db
            .connect()
            .query(
                "MATCH (p:Person {name: 'Eve'}) RETURN count(p)",
                &Params::new(),
            )
            .expect("runs");
        let row = result.next_row().expect("reads").expect("one row");
        row.get(0).cloned()
    };
    let wal = social.path.with_file_name("social.graven-wal");
    assert!(!wal.exists(), "reading leaves no trace");
    let created = social
        .db
        .connect()
        .query("CREATE (:Person {name: 'Eve', id: 5})", &Params::new())
        .expect("runs");
    assert_eq!(created.count(), 0);
    assert_eq!(count(&social.db), Some(Value::Integer(1)));
    assert!(wal.exists());
    social.db.close().expect("closed");
    assert!(!wal.exists(), "what is closed is one file");
    let mut reading = small();
    reading.read_only = true;
    for config in [reading, small()] {
        let db = Database::open(&social.path, config).expect("opened");
        assert_eq!(count(&db), Some(Value::Integer(1)));
        db.close().expect("closed");
    }
}

#[test]
fn a_closed_database_is_free_for_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("closed.graven");
    let db = Database::open(&path, making()).expect("new");
    let connection = db.connect();
    connection
        .query("CREATE (:A)", &Params::new())
        .expect("run");
    let result = connection.query("MATCH (n) RETURN n", &Params::new());
    let result = result.expect("run");
    let clone = db.clone();
    db.close().expect("closed");
    // As long as something is open no other process may write where it reads.
    let mut alone = small();
    alone.attach = false;
    let refused = Database::open(&path, alone.clone()).expect_err("a result is open");
    assert_eq!(refused.code(), "Database.InUse");
    drop(result);
    db.close().expect("closed again");
    let other = Database::open(&path, alone).expect("it is free");
    other
        .connect()
        .query("CREATE (:A)", &Params::new())
        .expect("run");
    for closed in [&db, &clone] {
        let refused = closed.connect().query("RETURN 1", &Params::new());
        assert_eq!(refused.expect_err("closed").code(), "Database.Closed");
        assert_eq!(
            closed.cache().expect_err("closed").code(),
            "Database.Closed"
        );
    }
    let refused = connection.query("MATCH (n) RETURN n", &Params::new());
    assert_eq!(refused.expect_err("closed").code(), "Database.Closed");
}

#[test]
fn a_link_leads_to_the_log_beside_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (real, linked) = (folder.path().join("real"), folder.path().join("linked"));
    for folder in [&real, &linked] {
        std::fs::create_dir(folder).expect("made");
    }
    let (path, link) = (real.join("a.graven"), linked.join("b.graven"));
    std::os::unix::fs::symlink("../real/a.graven", &link).expect("linked");
    let (log, kept) = (real.join("a.graven-wal"), real.join("kept"));
    let count = |path: &std::path::Path| {
        let db = Database::open(path, making()).expect("opened");
        let connection = db.connect();
        let made = connection.query("CREATE (:A)", &Params::new());
        made.expect("run");
        assert!(!linked.join("b.graven-wal").exists());
        std::fs::copy(&log, &kept).expect("it is beside the file");
        let mut result = connection
            .query("MATCH (n:A) RETURN count(*)", &Params::new())
            .expect("run");
        let row = result.next_row().expect("run").expect("one");
        row.values()[0].as_integer()
    };
    // It is made where the link points to.
    for (at, path) in [&link, &path, &link].into_iter().enumerate() {
        assert_eq!(count(path), Some(at as i64 + 1));
    }
    // A log without its database is not written over.
    std::fs::remove_file(&path).expect("removed");
    std::fs::rename(&kept, &log).expect("as a killed process leaves it");
    let refused = Database::open(&path, making()).expect_err("its log is there");
    assert_eq!(refused.code(), "Database.Exists");
    assert!(!path.exists(), "nothing was made");
}

#[test]
fn a_backup_never_replaces_what_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let db = Database::open(at("a"), making()).expect("new");
    let run = |db: &Database, statement: &str| {
        let done = db.connect().query(statement, &Params::new());
        done.expect(statement);
    };
    run(&db, "CREATE (:A)");
    std::os::unix::fs::symlink(at("a"), at("link")).expect("linked");
    std::fs::hard_link(at("a"), at("hard")).expect("linked");
    for name in ["a", "link", "hard"] {
        let refused = db.backup_since(at(name), at(name)).expect_err("itself");
        assert_eq!(refused.code(), "Database.Exists", "{name}: {refused}");
    }
    db.backup(at("copy")).expect("copied");
    let copy = Database::open(at("copy"), small()).expect("opened");
    run(&copy, "CREATE (:Mine)");
    for out in ["copy", "other"] {
        let refused = db
            .backup_since(at(out), at("copy"))
            .expect_err("it is open");
        assert_eq!(refused.code(), "Database.InUse", "{refused}");
    }
    drop(copy);
    // What the copy had of its own goes, and it can be written to.
    db.backup_since(at("copy"), at("copy")).expect("renewed");
    assert!(!at("copy-wal").exists());
    let copy = Database::open(at("copy"), small()).expect("opened");
    run(&copy, "CREATE (:Mine)");
    let mut all = copy
        .connect()
        .query("MATCH (n) RETURN count(*)", &Params::new());
    let row = all
        .as_mut()
        .expect("run")
        .next_row()
        .expect("run")
        .expect("one");
    assert_eq!(row.values()[0].as_integer(), Some(2));
}

#[test]
fn the_log_of_another_copy_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let db = Database::open(at("a"), making()).expect("new");
    db.connect()
        .query("CREATE (:A)", &Params::new())
        .expect("run");
    db.backup(at("one")).expect("copied");
    std::fs::copy(at("one"), at("two")).expect("copied");
    for name in ["one", "two"] {
        let copy = Database::open(at(name), small()).expect("opened");
        for _ in 0..3 {
            let made = copy.connect().query("CREATE (:B)", &Params::new());
            made.expect("run");
        }
        // As a process that was killed leaves it.
        std::fs::copy(at(name), at(&format!("{name}-killed"))).expect("copied");
        let log = std::fs::copy(
            at(&format!("{name}-wal")),
            at(&format!("{name}-killed-wal")),
        );
        log.expect("copied");
    }
    let whole = Database::open(at("one-killed"), small());
    drop(whole.expect("its own log"));
    std::fs::copy(at("two-killed-wal"), at("one-killed-wal")).expect("copied");
    let refused = Database::open(at("one-killed"), small()).expect_err("another's log");
    assert_eq!(refused.code(), "Database.Damaged", "{refused}");
}
