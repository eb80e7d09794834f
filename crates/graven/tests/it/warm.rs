//! Goal: a warm set brings back what was in memory, by ranges of ids: after a checkpoint that moved
//! pages, in a backup, and from one opening to the next; it stops at the budget and replaces
//! nothing but another set.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use graven::{Config, Database, Params, Value};

const HOT: &str = "MATCH (i:Item) RETURN sum(i.n)";

fn open(path: &Path, memory: u64, keep_warm: bool) -> Database {
    let mut config = Config::default();
    config.memory = memory;
    config.create = true;
    config.keep_warm = keep_warm;
    Database::open(path, config).expect("opened")
}

fn run(db: &Database, text: &str, params: &Params) -> Vec<Value> {
    let mut result = db.connect().query(text, params).expect(text);
    let row = result.next_row().expect("a row");
    row.map_or_else(Vec::new, |row| row.values().to_vec())
}

fn with_file(db: &Database, procedure: &str, file: &Path) -> Vec<Value> {
    let params = Params::new().with("file", file.to_str().expect("text"));
    run(db, &format!("CALL {procedure}($file)"), &params)
}

/// Pages that a statement brings in.
fn faults(db: &Database, text: &str) -> u64 {
    let count = || {
        let cache = db.cache().expect("here");
        cache.stats().per_kind.total().faults
    };
    let before = count();
    run(db, text, &Params::new());
    count() - before
}

/// A database of many items, closed.
fn items(folder: &Path) -> PathBuf {
    let path = folder.join("items.graven");
    let db = open(&path, 64 << 20, false);
    for from in (0..60_000).step_by(10_000) {
        let load = "UNWIND range($from, $from + 9999) AS n CREATE (:Item {n: n * 7919 % 1000003, \
            text: 'item ' + (n * 7919 % 1000003) + ' ' + (n * 104729 % 15485863) + ' ' + (n * \
            1299709 % 32452843)})";
        run(&db, load, &Params::new().with("from", i64::from(from)));
    }
    db.close().expect("closed");
    path
}

#[test]
fn a_set_survives_checkpoints_and_backups() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = items(folder.path());
    let (set, copy) = (
        folder.path().join("hot.warm"),
        folder.path().join("copy.graven"),
    );
    let db = open(&path, 64 << 20, false);
    run(&db, HOT, &Params::new());
    let saved = with_file(&db, "graven.cache.save", &set);
    assert!(saved[2].as_integer() > Some(10), "{saved:?}");
    // Pages are written elsewhere.
    run(
        &db,
        "MATCH (i:Item) WHERE i.n % 3 = 0 SET i.n = i.n + 1",
        &Params::new(),
    );
    db.checkpoint().expect("a checkpoint");
    db.backup(&copy).expect("a backup");
    db.close().expect("closed");
    for path in [&path, &copy] {
        let cold = faults(&open(path, 64 << 20, false), HOT);
        let db = open(path, 64 << 20, false);
        let loaded = with_file(&db, "graven.cache.load", &set);
        assert_eq!(loaded[3], Value::Boolean(false), "{loaded:?}");
        let warm = faults(&db, HOT);
        assert!(
            warm * 4 < cold,
            "{}: {cold} cold, {warm} warm",
            path.display()
        );
    }
}

#[test]
fn loading_stops_at_the_budget() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = items(folder.path());
    let set = folder.path().join("all.warm");
    let db = open(&path, 64 << 20, false);
    run(
        &db,
        "MATCH (i:Item) RETURN sum(i.n + size(i.text))",
        &Params::new(),
    );
    with_file(&db, "graven.cache.save", &set);
    db.close().expect("closed");
    let db = open(&path, 1 << 20, false);
    let loaded = with_file(&db, "graven.cache.load", &set);
    assert_eq!(loaded[3], Value::Boolean(true), "{loaded:?}");
    let cache = db.cache().expect("here");
    assert_eq!(cache.stats().per_kind.total().evictions(), 0, "{loaded:?}");
    assert!(loaded[1].as_integer() < loaded[0].as_integer());
}

#[test]
fn what_was_in_memory_is_read_again_after_the_next_opening() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = items(folder.path());
    let kept = folder.path().join("items.graven-warm");
    let cold = faults(&open(&path, 64 << 20, false), HOT);
    let db = open(&path, 64 << 20, true);
    run(&db, HOT, &Params::new());
    db.close().expect("closed");
    let set = std::fs::read_to_string(&kept).expect("kept");
    assert!(set.contains("node property n\n"), "{set}");
    let db = open(&path, 64 << 20, true);
    // It is read beside the statements.
    let begun = Instant::now();
    while db.cache().expect("here").stats().per_kind.total().faults < cold / 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is read");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(db);
    assert!(
        kept.exists(),
        "written again where the last handle is dropped"
    );
    // One that cannot be read costs nothing but warmth, and is replaced no more than any other
    // file.
    std::fs::write(&kept, "something else").expect("written");
    let db = open(&path, 64 << 20, true);
    run(&db, HOT, &Params::new());
    db.close().expect("closed");
    assert_eq!(
        std::fs::read_to_string(&kept).expect("there"),
        "something else"
    );
}

#[test]
fn what_is_no_set_is_told_by_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open(&folder.path().join("empty.graven"), 4 << 20, false);
    let file = folder.path().join("other");
    std::fs::write(&file, "graven warm set 1\nstore x\n7 5\n").expect("written");
    let ask = |procedure: &str| {
        let params = Params::new().with("file", file.to_str().expect("text"));
        let text = format!("CALL {procedure}($file)");
        let mut result = db
            .connect()
            .query(&text, &params)
            .map_err(|e| e.to_string())?;
        result.next_row().map(|_| ()).map_err(|e| e.to_string())
    };
    let error = ask("graven.cache.load").unwrap_err();
    assert!(
        error.contains("line 3: `7 5`") && error.contains("other"),
        "{error}"
    );
    std::fs::write(&file, "a letter").expect("written");
    let error = ask("graven.cache.save").unwrap_err();
    assert!(error.contains("no warm set"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "a letter");
}
