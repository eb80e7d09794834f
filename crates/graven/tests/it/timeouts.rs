//! Goal: a statement that runs for longer than its timeout ends with an error that says so,
//! wherever it is at work; what it wrote is undone, and the database goes on.

use std::time::Duration;

use graven::{Config, Connection, Database, Error, Params, Value};

use crate::graph::small;

const SHORT: Option<Duration> = Some(Duration::from_millis(60));

struct Place {
    db: Database,
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

/// A database with a clique of twelve nodes, which has more trails than can be walked.
fn clique() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("clique.graven");
    let mut config: Config = small();
    config.create = true;
    let db = Database::open(&path, config).expect("created");
    let place = Place {
        db,
        path,
        _folder: folder,
    };
    let connection = place.db.connect();
    run(&connection, "UNWIND range(1, 12) AS i CREATE (:K {i: i})").expect("nodes");
    run(
        &connection,
        "MATCH (a:K), (b:K) WHERE a.i < b.i CREATE (a)-[:R]->(b)",
    )
    .expect("relationships");
    place
}

/// All rows, and of the last one its first value.
fn run(connection: &Connection, text: &str) -> Result<Option<Value>, Error> {
    let mut last = None;
    for row in connection.query(text, &Params::new())? {
        last = row?.into_values().into_iter().next();
    }
    Ok(last)
}

fn count(db: &Database, text: &str) -> i64 {
    match run(&db.connect(), text).expect(text) {
        Some(Value::Integer(count)) => count,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn statements_that_take_too_long_are_ended() {
    let place = clique();
    let hurried = place.db.connect().with_timeout(SHORT);
    assert_eq!(hurried.timeout(), SHORT);
    for text in [
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(*)",
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN a, b",
        "MATCH p = (:K {i: 1})-[:R*]-(:K) RETURN count(p)",
        "MATCH (a:K), (b:K), (c:K), (d:K), (e:K), (f:K), (g:K), (h:K), (i:K), (j:K) RETURN \
            count(*)",
        "MATCH (a:K)--(b)--(c)--(d)--(e)--(f)--(g)--(h)--(i) RETURN count(*), a.i + i.i AS k ORDER \
            BY k LIMIT 1",
        "RETURN reduce(s = 0, x IN range(1, 20000) | s + size([y IN range(1, 10000) WHERE y > x]))",
        "UNWIND range(1, 100000000) AS x RETURN collect(DISTINCT x % 7)",
        "MATCH (a:K) CALL { WITH a MATCH p = (a)-[:R*]-(:K) RETURN count(p) AS n } RETURN sum(n)",
    ] {
        let error = run(&hurried, text).expect_err(text);
        assert_eq!(error.code(), "Statement.TimedOut", "{text}: {error}");
        assert!(error.message().contains("60 ms"), "{error}");
        assert!(error.is_retryable(), "{error}");
        // The connection goes on, and so does one without a timeout.
        let rested = hurried.clone().with_timeout(None);
        assert_eq!(
            run(&rested, "RETURN 1").expect("runs"),
            Some(Value::Integer(1))
        );
        assert_eq!(count(&place.db, "MATCH (k:K) RETURN count(k)"), 12);
    }
}

#[test]
fn an_index_that_takes_too_long_is_not_there() {
    let place = clique();
    let hurried = place
        .db
        .connect()
        .with_timeout(Some(Duration::from_nanos(1)));
    for text in [
        "CREATE INDEX slow FOR (k:K) ON (k.i)",
        "CREATE CONSTRAINT slow FOR (k:K) REQUIRE k.i IS UNIQUE",
        "CREATE CONSTRAINT slow FOR (k:K) REQUIRE k.i IS NOT NULL",
    ] {
        let error = run(&hurried, text).expect_err(text);
        assert_eq!(error.code(), "Statement.TimedOut", "{text}: {error}");
        run(&place.db.connect(), text).expect("nothing of that name is there");
        let drop = match text.contains("INDEX") {
            true => "DROP INDEX slow",
            false => "DROP CONSTRAINT slow",
        };
        run(&place.db.connect(), drop).expect("dropped");
    }
}

#[test]
fn a_checkpoint_and_copies_that_take_too_long_are_given_up() {
    let place = clique();
    let folder = place.path.parent().expect("a folder");
    let whole = folder.join("whole.graven");
    place.db.backup(&whole).expect("copied");
    run(&place.db.connect(), "CREATE (:New)").expect("committed");
    let files = || std::fs::read_dir(folder).expect("a folder").count();
    let before = files();
    let hurried = place
        .db
        .connect()
        .with_timeout(Some(Duration::from_nanos(1)));
    let (out, whole) = (folder.join("out.graven"), whole.display());
    for text in [
        "CALL graven.checkpoint()".to_owned(),
        format!("CALL graven.backup('{}')", out.display()),
        format!("CALL graven.backup('{}', '{whole}')", out.display()),
        format!("CALL graven.publish('file://{}')", out.display()),
    ] {
        let error = run(&hurried, &text).expect_err(&text);
        assert_eq!(error.code(), "Statement.TimedOut", "{text}: {error}");
        assert_eq!(files(), before, "{text}");
    }
    assert_eq!(count(&place.db, "MATCH (n) RETURN count(n)"), 13);
    run(&place.db.connect(), "CALL graven.checkpoint()").expect("folded");
    place.db.backup(&out).expect("copied");
}

#[test]
fn what_they_wrote_is_undone() {
    let place = clique();
    let hurried = place.db.connect().with_timeout(SHORT);
    let endless = "UNWIND range(1, 1000000000) AS i CREATE (:T {i: i})";
    let error = run(&hurried, endless).expect_err("too long");
    assert_eq!(error.code(), "Statement.TimedOut", "{error}");
    assert_eq!(count(&place.db, "MATCH (t:T) RETURN count(t)"), 0);
    // In a transaction it fails the transaction.
    let mut transaction = hurried.begin().expect("begun");
    let error = transaction.query(endless, &Params::new()).map(drop);
    assert_eq!(error.expect_err("too long").code(), "Statement.TimedOut");
    assert!(transaction.has_failed());
    transaction.rollback();
    assert_eq!(count(&place.db, "MATCH (t:T) RETURN count(t)"), 0);
    // Where it had time enough, it may be given less later, and more.
    let create = "CREATE (:T {i: 0})";
    let mut transaction = place.db.connect().begin().expect("begun");
    transaction.query(create, &Params::new()).expect("created");
    transaction.set_timeout(Some(Duration::from_secs(3600)));
    transaction.query(create, &Params::new()).expect("created");
    transaction.set_timeout(SHORT);
    let error = transaction.query(endless, &Params::new()).map(drop);
    assert_eq!(error.expect_err("too long").code(), "Statement.TimedOut");
    transaction.rollback();
    // Batches committed before stay, and an error that may be passed over is not one of these.
    let batches = "UNWIND range(1, 1000000000) AS i CALL { WITH i CREATE (:T {i: i}) } IN \
        TRANSACTIONS OF 10 ROWS ON ERROR CONTINUE";
    let error = run(&hurried, batches).expect_err("too long");
    assert_eq!(error.code(), "Statement.TimedOut", "{error}");
    assert_eq!(count(&place.db, "MATCH (t:T) RETURN count(t)") % 10, 0);
    run(&place.db.connect(), "CREATE (:T)").expect("writes go on");
}

#[test]
fn a_timeout_goes_along_to_the_owner() {
    let place = clique();
    let mut config = small();
    config.timeout = SHORT;
    let attached = Database::open(&place.path, config).expect("attached");
    assert!(attached.attached_to().is_some());
    let endless = "MATCH p = (:K {i: 1})-[:R*]-(:K) RETURN count(p)";
    let error = run(&attached.connect(), endless).expect_err("too long");
    assert_eq!(error.code(), "Statement.TimedOut", "{error}");
    let mut transaction = attached.connect().begin().expect("begun");
    let error = transaction.query(endless, &Params::new()).map(drop);
    assert_eq!(error.expect_err("too long").code(), "Statement.TimedOut");
    transaction.rollback();
    assert_eq!(count(&place.db, "MATCH (k:K) RETURN count(k)"), 12);
}

#[test]
fn time_enough_is_no_error() {
    let place = clique();
    for timeout in [None, Some(Duration::from_secs(3600)), Some(Duration::MAX)] {
        let connection = place.db.connect().with_timeout(timeout);
        let counted = run(&connection, "MATCH (k:K) RETURN count(k)").expect("in time");
        assert_eq!(counted, Some(Value::Integer(12)), "{timeout:?}");
    }
}

/// A round whose time is over when it begins makes a batch all the same (EX-82): one row, divided,
/// whose rows fill many rounds, of which the later ones have no time.
#[test]
fn rounds_without_time_get_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config: Config = small();
    config.create = true;
    config.memory = 1 << 20;
    config.threads = 2;
    config.tuning.force_parallel = true;
    config.tuning.parallel_after = Duration::ZERO;
    let db = Database::open(folder.path().join("rounds.graven"), config).expect("created");
    let connection = db.connect().with_timeout(Some(Duration::from_secs(30)));
    run(&connection, "CREATE (:Hub {i: 1})").expect("a node");
    run(
        &connection,
        "MATCH (h:Hub) UNWIND range(1, 9000) AS i CREATE (h)-[:R]->(:Leaf {i: i})",
    )
    .expect("relationships");
    let text = "MATCH (h:Hub) WITH DISTINCT h MATCH (h)-[:R]->(b) RETURN b.i, toString(b.i) AS t";
    let plan = connection.query(&format!("EXPLAIN {text}"), &Params::new());
    let plan = plan.expect("a plan").plan().expect("explained");
    assert!(plan.contains("Exchange"), "{plan}");
    let rows = connection.query(text, &Params::new()).expect("runs");
    let rows = rows.collect::<Result<Vec<_>, _>>().expect("rows");
    assert_eq!(rows.len(), 9000);
}
