//! Goal: statements run in the background once, again and again, or until they return 0, with the
//! rights of the one that asks; they keep no database open. Those that are cancelled or replaced
//! stop, their threads are bounded, and a user has no hand in the jobs of another one.

use std::time::{Duration, Instant};

use graven::{Access, Config, Connection, Database, Params, Role};

/// How long something in the background may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many jobs may be waiting or running, and how many that have ended are kept.
const JOBS_MAX: usize = 64;

/// A statement that writes after a long time.
const LONG: &str = "UNWIND range(1, 300) AS a UNWIND range(1, 300) AS b \
    UNWIND range(1, 300) AS c UNWIND range(1, 300) AS d UNWIND range(1, 300) AS e \
    WITH max(a * b % 7 + c * d + e) AS n CREATE (:Late {n: n})";

fn config() -> Config {
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    config
}

/// The values of the first column.
fn texts(connection: &Connection, text: &str) -> Vec<String> {
    let rows = connection.query(text, &Params::new()).expect(text);
    let rows: Result<Vec<_>, _> = rows.collect();
    let rows = rows.expect(text);
    rows.iter().map(|row| row.values()[0].to_string()).collect()
}

/// Waits until the statement gives this.
fn becomes(connection: &Connection, text: &str, wanted: &[&str]) {
    let begun = Instant::now();
    loop {
        let found = texts(connection, text);
        if found == wanted {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}: {found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The rows of a statement, or what its error says.
fn told(connection: &Connection, text: &str) -> Result<usize, String> {
    let rows = connection.query(text, &Params::new());
    let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    rows.map(|rows| rows.len())
        .map_err(|error| error.to_string())
}

/// Starts a job as soon as there are few enough.
fn starts(connection: &Connection, text: &str) {
    let begun = Instant::now();
    while let Err(error) = told(connection, text) {
        assert!(error.contains("no more are taken"), "{text}: {error}");
        assert!(begun.elapsed() < PATIENCE, "{text}: {error}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn statements_run_in_the_background() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::open(folder.path().join("jobs.graven"), config()).expect("opens");
    let connection = db.connect();
    let submit = "CALL apoc.periodic.submit('once', 'CREATE (:J {k: $k})', {params: {k: 7}}) \
        YIELD name, rate RETURN [name, rate]";
    assert_eq!(texts(&connection, submit), ["[\"once\", 0]"]);
    becomes(&connection, "MATCH (j:J) RETURN j.k", &["7"]);
    texts(
        &connection,
        "CALL apoc.periodic.repeat('again', 'MERGE (r:R) SET r.n = coalesce(r.n, 0) + 1', 1) \
            YIELD rate RETURN rate",
    );
    becomes(&connection, "MATCH (r:R) RETURN r.n >= 2", &["true"]);
    let listed = "CALL apoc.periodic.list() YIELD name, done WHERE name <> 'down' \
        RETURN name + ' ' + toString(done) ORDER BY name";
    becomes(&connection, listed, &["\"again false\"", "\"once true\""]);
    let cancel = "CALL apoc.periodic.cancel('again') YIELD cancelled RETURN cancelled";
    assert_eq!(texts(&connection, cancel), ["true"]);
    assert!(texts(&connection, cancel).is_empty());
    becomes(&connection, listed, &["\"once true\""]);
    texts(&connection, "UNWIND range(1, 3) AS i CREATE (:D)");
    texts(
        &connection,
        "CALL apoc.periodic.countdown('down', \
            'MATCH (d:D) WITH d LIMIT 1 DELETE d RETURN count(*)', 0) YIELD name RETURN name",
    );
    becomes(&connection, "MATCH (d:D) RETURN count(d)", &["0"]);
    let wrong = "CALL apoc.periodic.submit('wrong', 'RETUR') YIELD name RETURN name";
    assert!(connection.query(wrong, &Params::new()).is_err());
    let reader = db
        .connect()
        .with_access(Access::without_files(Role::Reader));
    let refused = reader.query("CALL apoc.periodic.submit('a', 'RETURN 1')", &Params::new());
    let refused = refused.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    assert_eq!(
        refused.map_err(|e| e.code().to_owned()),
        Err("Security.Forbidden".into())
    );
}

#[test]
fn what_waits_keeps_no_database_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jobs.graven");
    let db = Database::open(&path, config()).expect("opens");
    let connection = db.connect();
    let repeat = "CALL apoc.periodic.repeat('again', 'MERGE (r:R) SET r.n = 1', 3600) \
        YIELD name RETURN name";
    texts(&connection, repeat);
    becomes(&connection, "MATCH (r:R) RETURN r.n", &["1"]);
    drop((connection, db));
    let begun = Instant::now();
    let mut config = config();
    config.attach = false;
    // The job may have the database for a moment more.
    let again = loop {
        match Database::open(&path, config.clone()) {
            Ok(db) => break db,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(texts(&again.connect(), "MATCH (r:R) RETURN r.n"), ["1"]);
    let listed = "CALL apoc.periodic.list() YIELD name RETURN name";
    assert!(texts(&again.connect(), listed).is_empty());
}

#[test]
fn what_is_cancelled_or_replaced_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config();
    // Many may run for a moment.
    config.memory = 128 << 20;
    let db = Database::open(folder.path().join("jobs.graven"), config).expect("opens");
    let connection = db.connect();
    let running = "SHOW TRANSACTIONS YIELD currentQuery \
        WHERE currentQuery STARTS WITH 'UNWIND range(1, 300)' RETURN count(*)";
    let long = format!("CALL apoc.periodic.submit('long', '{LONG}') YIELD name RETURN name");
    let cancel = "CALL apoc.periodic.cancel('long') YIELD cancelled RETURN cancelled";
    for _ in 0..100 {
        starts(&connection, &long);
        assert_eq!(texts(&connection, cancel), ["true"]);
    }
    becomes(&connection, running, &["0"]);
    // One that has begun stops, too: the other one takes its place.
    starts(&connection, &long);
    becomes(&connection, running, &["1"]);
    starts(
        &connection,
        "CALL apoc.periodic.submit('long', 'CREATE (:Short)') YIELD name RETURN name",
    );
    becomes(&connection, running, &["0"]);
    becomes(&connection, "MATCH (s:Short) RETURN count(s)", &["1"]);
    assert_eq!(texts(&connection, "MATCH (l:Late) RETURN count(l)"), ["0"]);
    // Not one thread of all these is left, and there are no more than the most.
    let repeat = |nth: usize| {
        format!("CALL apoc.periodic.repeat('r{nth}', 'RETURN 1', 3600) YIELD name RETURN name")
    };
    for nth in 0..JOBS_MAX {
        starts(&connection, &repeat(nth));
    }
    let refused = told(&connection, &repeat(JOBS_MAX)).expect_err("there are too many");
    assert!(refused.contains("no more are taken"), "{refused}");
    for nth in 0..JOBS_MAX {
        let cancel = format!("CALL apoc.periodic.cancel('r{nth}') YIELD name RETURN name");
        assert_eq!(told(&connection, &cancel), Ok(1));
    }
    // Of those that have ended, the latest are kept.
    for nth in 0..100 {
        starts(
            &connection,
            &format!("CALL apoc.periodic.submit('s{nth}', 'RETURN 1') YIELD name RETURN name"),
        );
    }
    let list = "CALL apoc.periodic.list() YIELD name, done WHERE";
    becomes(
        &connection,
        &format!("{list} NOT done RETURN count(*)"),
        &["0"],
    );
    let kept = JOBS_MAX.to_string();
    let all = texts(&connection, &format!("{list} done RETURN count(*)"));
    assert_eq!(all, [kept]);
    let last = texts(
        &connection,
        &format!("{list} name IN ['s0', 's99'] RETURN name"),
    );
    assert_eq!(last, ["\"s99\""]);
}

#[test]
fn a_job_is_that_of_its_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::open(folder.path().join("jobs.graven"), config()).expect("opens");
    let of = |name: &str, role| {
        let access = Access::without_files(role).with_user(name);
        db.connect().with_access(access)
    };
    let (ada, bob) = (of("ada", Role::Admin), of("bob", Role::Writer));
    let repeat = |name: &str| {
        format!("CALL apoc.periodic.repeat('{name}', 'RETURN 1', 3600) YIELD name RETURN name")
    };
    let cancel = |name: &str| format!("CALL apoc.periodic.cancel('{name}') YIELD name RETURN name");
    let list = "CALL apoc.periodic.list() YIELD name RETURN name";
    assert_eq!(told(&ada, &repeat("a")), Ok(1));
    assert_eq!(told(&bob, &repeat("b")), Ok(1));
    assert_eq!(texts(&bob, list), ["\"b\""]);
    assert_eq!(told(&bob, &cancel("a")), Ok(0));
    let refused = told(&bob, &repeat("a")).expect_err("it is the job of another user");
    assert!(refused.contains("another user"), "{refused}");
    assert_eq!(texts(&ada, list), ["\"a\"", "\"b\""]);
    assert_eq!(told(&bob, &repeat("b")), Ok(1));
    assert_eq!(told(&ada, &cancel("b")), Ok(1));
    assert!(texts(&bob, list).is_empty());
    assert_eq!(told(&ada, &cancel("a")), Ok(1));
}
