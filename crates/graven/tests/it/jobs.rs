//! Goal: statements run in the background once, again and again, or until they return 0, with the
//! rights of the one that asks; they keep no database open.

use std::time::{Duration, Instant};

use graven::{Access, Config, Connection, Database, Params, Role};

/// How long something in the background may take.
const PATIENCE: Duration = Duration::from_secs(60);

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
