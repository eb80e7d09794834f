//! Goal: no commit vanishes with a log that went missing, and a database that was closed is one
//! file.

use std::path::Path;

use graven::{Config, Database, Error, Params};

use crate::graph::small;

fn run(db: &Database, statement: &str) -> Result<Vec<Option<i64>>, Error> {
    let mut result = db.connect().query(statement, &Params::new())?;
    let mut rows = Vec::new();
    while let Some(row) = result.next_row()? {
        rows.push(row.values()[0].as_integer());
    }
    Ok(rows)
}

fn open(path: &Path, change: impl FnOnce(&mut Config)) -> Result<Database, Error> {
    let mut config = small();
    config.attach = false;
    change(&mut config);
    Database::open(path, config)
}

fn seen(path: &Path, change: impl FnOnce(&mut Config)) -> Result<Vec<Option<i64>>, Error> {
    let db = open(path, change)?;
    run(&db, "MATCH (n:A) RETURN n.x ORDER BY n.x")
}

fn number(x: i64) -> Option<i64> {
    Some(x)
}

/// A database with one commit that is in the data file and one that is in its log only, as a killed
/// process leaves both, at `killed` and `killed-wal`.
fn killed(folder: &Path) {
    let path = folder.join("live");
    let db = open(&path, |config| config.create = true).expect("made");
    run(&db, "CREATE (:A {x: 1})").expect("committed");
    db.close().expect("closed");
    let db = open(&path, |_| ()).expect("opened");
    run(&db, "CREATE (:A {x: 2})").expect("committed");
    for suffix in ["", "-wal"] {
        let (from, to) = (format!("live{suffix}"), format!("killed{suffix}"));
        std::fs::copy(folder.join(from), folder.join(to)).expect("copied");
    }
    db.close().expect("closed");
}

#[test]
fn a_closed_database_is_one_file_and_its_copy_a_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    killed(folder.path());
    assert!(!at("live-wal").exists());
    std::fs::copy(at("live"), at("copy")).expect("copied");
    for read_only in [true, false] {
        let found = seen(&at("copy"), |config| config.read_only = read_only);
        assert_eq!(found.expect("a database"), [number(1), number(2)]);
    }
    // Copied while it is open and nothing was committed, or after that.
    let db = open(&at("live"), |_| ()).expect("opened");
    std::fs::copy(at("live"), at("before")).expect("copied");
    run(&db, "CREATE (:A {x: 3})").expect("committed");
    std::fs::copy(at("live"), at("after")).expect("copied");
    db.checkpoint().expect("folded");
    std::fs::copy(at("live"), at("folded")).expect("copied");
    assert_eq!(seen(&at("before"), |_| ()).expect("whole").len(), 2);
    for name in ["after", "folded"] {
        let refused = seen(&at(name), |_| ()).expect_err("it may need the log");
        assert_eq!(refused.code(), "Database.LogMissing", "{name}: {refused}");
    }
}

#[test]
fn a_log_that_was_being_made_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    killed(folder.path());
    for length in [0, 100, 5000, 2_101_248] {
        std::fs::copy(at("live"), at("begun")).expect("copied");
        std::fs::write(at("begun-wal"), vec![0; length]).expect("zeros");
        for read_only in [true, false] {
            let found = seen(&at("begun"), |config| config.read_only = read_only);
            assert_eq!(found.expect("whole"), [number(1), number(2)], "{length}");
        }
        let db = open(&at("begun"), |_| ()).expect("opened");
        run(&db, "CREATE (:A {x: 3})").expect("committed");
        db.close().expect("closed");
        let found = seen(&at("begun"), |_| ()).expect("a database");
        assert_eq!(found.len(), 3, "{length}");
        // One that has the commit needs its log.
        std::fs::copy(at("killed"), at("begun")).expect("copied");
        std::fs::write(at("begun-wal"), vec![0; length]).expect("zeros");
        assert!(seen(&at("begun"), |_| ()).is_err(), "{length}");
        std::fs::remove_file(at("begun-wal")).expect("removed");
    }
}

#[test]
fn a_log_that_is_cut_off_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    killed(folder.path());
    let log = std::fs::read(at("killed-wal")).expect("a log");
    let data = std::fs::read(at("killed")).expect("a data file");
    let used = log.iter().rposition(|byte| *byte != 0).expect("records");
    for length in [4096, 8192, used / 2, used + 100] {
        std::fs::write(at("killed-wal"), &log[..length]).expect("cut");
        for read_only in [true, false] {
            let refused = seen(&at("killed"), |config| config.read_only = read_only);
            let refused = refused.expect_err("commits may be missing").to_string();
            let told = match length < 4096 {
                true => "no Graven log",
                false => "cut off",
            };
            assert!(refused.contains(told), "{length}: {refused}");
        }
    }
    assert!(std::fs::read(at("killed")).expect("a data file") == data);
    std::fs::write(at("killed-wal"), &log).expect("put back");
    let found = seen(&at("killed"), |_| ()).expect("whole");
    assert_eq!(found, [number(1), number(2)]);
}

/// A log that ends exactly behind a region has lost commits only where it has none that is free.
#[test]
fn a_log_that_is_cut_off_behind_a_region_has_all_or_is_told() {
    const REGION: usize = 1 << 20;
    const BEGINNING: usize = 4096;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let roomy = |config: &mut Config| {
        config.memory = 256 << 20;
        config.create = true;
    };
    let db = open(&at("live"), roomy).expect("made");
    let (mut told, mut commits) = (0, 0);
    for round in 1..=14 {
        for _ in 0..20 {
            let text = "UNWIND range(1, 200) AS x CREATE (:A {x: x, t: 'a text of some length'})";
            run(&db, text).expect("committed");
            commits += 200;
        }
        for suffix in ["", "-wal"] {
            let (from, to) = (format!("live{suffix}"), format!("killed{suffix}"));
            std::fs::copy(at(&from), at(&to)).expect("copied");
        }
        let log = std::fs::read(at("killed-wal")).expect("a log");
        assert_eq!(seen(&at("killed"), |_| ()).expect("whole").len(), commits);
        for end in (BEGINNING + REGION..log.len()).step_by(REGION) {
            std::fs::copy(at("live"), at("killed")).expect("copied");
            std::fs::write(at("killed-wal"), &log[..end]).expect("cut");
            for read_only in [true, false] {
                match seen(&at("killed"), |config| config.read_only = read_only) {
                    Ok(found) => assert_eq!(found.len(), commits, "round {round}, {end}"),
                    Err(refused) => {
                        assert!(refused.message().contains("cut off"), "{end}: {refused}");
                        told += 1;
                    }
                }
            }
        }
    }
    assert!(told > 10, "{told} logs lacked commits");
}

#[test]
fn a_database_that_only_became_shorter_needs_no_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let rows = "UNWIND range(1, 20000) AS x CREATE (:B {x: x, t: 'text ' + x})";
    for statement in ["CREATE (:A {x: 1})", rows, rows, rows] {
        let db = open(&at("live"), |config| config.create = true).expect("opened");
        run(&db, statement).expect("made");
        db.close().expect("closed");
    }
    let db = open(&at("live"), |_| ()).expect("opened");
    let report = db.checkpoint().expect("nothing to fold");
    assert!(report.is_some(), "pages at the end moved down");
    // Killed here, or closed.
    std::fs::copy(at("live"), at("killed")).expect("copied");
    db.close().expect("closed");
    for name in ["killed", "live"] {
        assert_eq!(
            seen(&at(name), |_| ()).expect("a database").len(),
            1,
            "{name}"
        );
    }
}

#[test]
fn without_its_log_a_database_opens_only_when_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    killed(folder.path());
    std::fs::rename(at("killed-wal"), at("away")).expect("moved");
    for read_only in [true, false] {
        let refused = seen(&at("killed"), |config| config.read_only = read_only);
        let refused = refused.expect_err("the log is missing");
        assert_eq!(refused.code(), "Database.LogMissing", "{refused}");
        for word in [
            "killed-wal",
            "put the log back",
            "--without-log",
            "graven salvage",
        ] {
            assert!(refused.message().contains(word), "{word}: {refused}");
        }
        // With the word it opens, and reading changes nothing.
        let found = seen(&at("killed"), |config| {
            config.read_only = read_only;
            config.without_log = true;
        });
        assert_eq!(found.expect("it was said so"), [number(1)]);
    }
    // Salvaging says what it cannot know.
    let report = Database::salvage(at("killed"), at("salvaged"), small()).expect("salvaged");
    assert!(
        report
            .lost
            .iter()
            .any(|lost| lost.place.contains("since the last checkpoint")
                && lost.why.contains("killed-wal")),
        "{:?}",
        report.lost
    );
    // Nothing was written since: the log brings the commit back.
    std::fs::copy(at("away"), at("killed-wal")).expect("copied");
    let found = seen(&at("killed"), |config| config.read_only = true);
    assert_eq!(found.expect("its log"), [number(1), number(2)]);
    // Written to without it, it has a life of its own, in which the log has no place.
    std::fs::remove_file(at("killed-wal")).expect("removed");
    let db = open(&at("killed"), |config| config.without_log = true).expect("it was said so");
    run(&db, "CREATE (:A {x: 3})").expect("committed");
    db.close().expect("closed");
    assert_eq!(
        seen(&at("killed"), |_| ()).expect("whole"),
        [number(1), number(3)]
    );
    std::fs::copy(at("away"), at("killed-wal")).expect("copied");
    let refused = seen(&at("killed"), |_| ()).expect_err("the log of another life");
    assert_eq!(refused.code(), "Database.Damaged", "{refused}");
}

/// What has not fitted the time stays in the log, and nothing is lost.
#[test]
fn a_log_that_stays_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    killed(folder.path());
    let path = folder.path().join("killed");
    assert_eq!(
        seen(&path, |config| config.read_only = true)
            .expect("both")
            .len(),
        2
    );
    assert!(
        folder.path().join("killed-wal").exists(),
        "reading folds nothing"
    );
    assert_eq!(seen(&path, |_| ()).expect("both").len(), 2);
    assert!(!folder.path().join("killed-wal").exists());
    assert_eq!(seen(&path, |_| ()).expect("both").len(), 2);
}

/// A data file that is moved while it is open finds the log of another one at its old name: it says
/// what happened, and neither loses anything.
#[test]
fn where_another_log_lies_none_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let (name, moved) = (folder.path().join("name"), folder.path().join("moved"));
    let first = open(&name, |config| config.create = true).expect("made");
    std::fs::rename(&name, &moved).expect("moved");
    let second = open(&name, |config| config.create = true).expect("made");
    run(&second, "CREATE (:A {x: 2})").expect("committed");
    let refused = run(&first, "CREATE (:A {x: 1})").expect_err("the log of another");
    assert_eq!(refused.code(), "Database.LogOccupied", "{refused}");
    for word in [
        "name-wal",
        "by the name that it has now",
        "nothing was written",
    ] {
        assert!(refused.message().contains(word), "{word}: {refused}");
    }
    run(&second, "CREATE (:A {x: 3})").expect("nothing happened to it");
    drop((first, second));
    let found = seen(&name, |_| ()).expect("whole");
    assert_eq!(found, [number(2), number(3)]);
    assert_eq!(seen(&moved, |_| ()).expect("whole"), []);
    // Not a log at all.
    std::fs::write(folder.path().join("moved-wal"), "a note").expect("written");
    let db = open(&moved, |_| ()).expect("opens");
    let refused = run(&db, "CREATE (:A {x: 1})").expect_err("a note");
    assert_eq!(refused.code(), "Database.LogOccupied", "{refused}");
}
