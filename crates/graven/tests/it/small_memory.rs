//! Goal: what does not fit is written out, and gives what it gives in a large memory: groups of
//! pairs that come in runs, which several threads make chunk by chunk; distinct rows, groups, sorts
//! and joins of texts, dates and lists. Method: limits from 1 to 8 MiB on two threads, and one that
//! changes while operators are kept; exports, which are charged.

use graven::{Config, Connection, Database, Params, Value};
use graven_pagecache::PageKind;

fn rows(connection: &Connection, text: &str) -> Vec<Vec<Value>> {
    let result = connection.query(text, &Params::new());
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    let values = |row: Result<graven::Row, graven::Error>| row.expect("a row").into_values();
    result.map(values).collect()
}

fn open(path: &std::path::Path, memory: u64) -> Database {
    let mut config = Config::default();
    (config.memory, config.threads, config.create) = (memory, 2, true);
    Database::open(path, config).expect("opens")
}

#[test]
fn groups_in_runs_that_do_not_fit_are_written_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.graven");
    let db = open(&path, 64 << 20);
    let connection = db.connect();
    rows(&connection, "UNWIND range(1, 300) AS i CREATE (:N {i: i})");
    rows(
        &connection,
        "MATCH (a:N), (b:N) CREATE (a)-[:R {w: b.i}]->(b)",
    );
    // Two rows of each group do not lie side by side, and one run is longer than others together.
    rows(
        &connection,
        "MATCH (a:N {i: 7}), (b:N) UNWIND range(1, 40) AS k CREATE (a)-[:R {w: k}]->(b)",
    );
    db.checkpoint().expect("folds");
    let texts = [
        "MATCH (a:N)-[r:R]->(b:N) WITH a, b, count(*) AS n, min(r.w) AS w \
         RETURN count(*), sum(n), sum(w), max(n)",
        "MATCH (a:N)-[r:R]->(b:N) WITH a, b, collect(r.w) AS w \
         RETURN count(*), sum(size(w)), sum(reduce(s = 0, x IN w | s + x))",
        "MATCH (a:N)-[r:R]->(b:N) WITH a, b, count(*) AS n ORDER BY n DESC, a.i, b.i LIMIT 3 \
            RETURN a.i, b.i, n",
    ];
    let whole: Vec<_> = texts.iter().map(|text| rows(&connection, text)).collect();
    let pairs = [90_000, 90_000 + 12_000].map(Value::Integer);
    assert_eq!(whole[0][0][..2], pairs);
    drop((connection, db));
    for memory in [2 << 20, 3 << 20, 6 << 20] {
        let db = open(&path, memory);
        let connection = db.connect();
        for (text, whole) in texts.iter().zip(&whole) {
            assert_eq!(rows(&connection, text), *whole, "{memory}: {text}");
        }
    }
}

/// Texts of three lengths, dates, lists: more of each than a few MiB hold.
const MAKE: &str = "UNWIND range(1, 24000) AS i WITH i, toString(i * 7919 % 24000) AS s \
     CREATE (:T {i: i, s: s, t: 'text number ' + s, l: 'a long text that goes on and on, whose \
     number is ' + s + \
     ', and which takes a hundred and thirty characters or so with the words that it ends with', \
     d: date({year: 1900}) + duration({days: i * 7919 % 24000}), f: toFloat(i * 7919 % 24000) / 3, \
     a: [s, 'x', 'y'], k: s + 'k'})";

/// What keeps rows, each of them several times what a limit of 1 MiB has room for.
const KEEPING: [&str; 22] = [
    "MATCH (n:T) WITH DISTINCT n.t AS x RETURN count(*), min(x), max(x)",
    "MATCH (n:T) WITH DISTINCT n.l AS x RETURN count(*), min(x), max(x)",
    "MATCH (n:T) WITH DISTINCT n.d AS x RETURN count(*), min(x), max(x)",
    "MATCH (n:T) WITH DISTINCT n.a AS x RETURN count(*), min(x), max(x)",
    "MATCH (n:T) WITH DISTINCT [n.t, n.i] AS x RETURN count(*), min(x), max(x)",
    "MATCH (n:T) WITH DISTINCT {a: n.l, b: n.i} AS x RETURN count(*), min(x.a), max(x.a)",
    "MATCH (n:T) WITH DISTINCT n.t AS x, n.i AS y, n.l AS z RETURN count(*), sum(y), min(z)",
    "MATCH (n:T) WITH DISTINCT n.l AS x ORDER BY x DESC SKIP 9 RETURN count(*), min(x), max(x)",
    "MATCH (n:T) WITH n.l AS x, count(*) AS c RETURN count(*), sum(c), min(x)",
    "MATCH (n:T) WITH n.l AS x, sum(n.i) AS c, max(n.l) AS y RETURN count(*), sum(c), min(x), \
        max(y)",
    "MATCH (n:T) WITH n.t AS x, collect(n.l) AS c RETURN count(*), sum(size(c)), min(x)",
    "MATCH (n:T) WITH n.i % 30 AS x, collect(DISTINCT n.l) AS c RETURN count(*), sum(size(c)), \
        min(x)",
    "MATCH (n:T) WITH n.i % 30 AS x, count(DISTINCT n.t) AS c, count(DISTINCT n.l) AS d RETURN \
        count(*), sum(c), sum(d)",
    "MATCH (n:T) RETURN count(DISTINCT n.l)",
    "MATCH (n:T) RETURN count(DISTINCT n.l), count(DISTINCT n.t), sum(DISTINCT n.i), max(n.l)",
    "MATCH (n:T) UNWIND [n.l, n.t, n.i % 100] AS x RETURN count(DISTINCT x), count(DISTINCT [x]), \
        count(*)",
    "CALL () { MATCH (n:T) RETURN n.l AS x UNION MATCH (n:T) RETURN n.t AS x } RETURN count(*), \
        min(x), max(x)",
    "MATCH (n:T) WITH n.l AS x, n.a AS y ORDER BY n.t DESC, x SKIP 100 RETURN count(*), min(x), \
        max(y)",
    "MATCH (n:T) WITH n.l AS x, n.t AS y ORDER BY y DESC, x LIMIT 9000 RETURN count(*), min(x), \
        min(y)",
    "MATCH (a:T), (b:T) WHERE a.l = b.l RETURN count(*), min(b.l)",
    "MATCH (a:T) WHERE EXISTS { MATCH (b:T) WHERE b.s + 'k' = a.k } RETURN count(*), min(a.l)",
    "MATCH (a:T) WHERE a.i <= 2 CALL (a) { MATCH (n:T) RETURN DISTINCT n.l AS x } RETURN a.i AS i, \
        count(*), min(x) ORDER BY i",
];

/// A database of these texts.
fn texts(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("texts.graven");
    let db = open(&path, 64 << 20);
    rows(&db.connect(), MAKE);
    db.checkpoint().expect("folds");
    path
}

#[test]
fn texts_dates_and_lists_that_do_not_fit_are_written_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = texts(folder.path());
    let whole: Vec<_> = {
        let connection = open(&path, 256 << 20).connect();
        KEEPING.map(|text| rows(&connection, text)).into()
    };
    for memory in [1, 2, 3, 4, 8] {
        let connection = open(&path, memory << 20).connect();
        for (text, whole) in KEEPING.iter().zip(&whole) {
            assert_eq!(rows(&connection, text), *whole, "{memory} MiB: {text}");
        }
    }
}

#[test]
fn what_is_written_waits_within_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = texts(folder.path());
    let db = open(&path, 4 << 20);
    let connection = db.connect();
    let set = "MATCH (n:T) WHERE n.i <= 6000 WITH n, n.l AS l MATCH (m:T {i: n.i + 6000}) SET m.of \
        = l RETURN count(*)";
    rows(&connection, "CREATE INDEX FOR (n:T) ON (n.i)");
    assert_eq!(rows(&connection, set), [[Value::Integer(6000)]]);
    let one_each =
        "MATCH (n:T) WHERE n.i <= 6000 WITH DISTINCT n.l AS l CREATE (:T {l: l}) RETURN count(*)";
    assert_eq!(rows(&connection, one_each), [[Value::Integer(6000)]]);
}

#[test]
fn a_single_value_that_does_not_fit_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open(&texts(folder.path()), 2 << 20);
    let text = "MATCH (n:T) RETURN size(collect(n.l))";
    let error = db.connect().query(text, &Params::new());
    let error = error.and_then(|result| result.collect::<Result<Vec<_>, _>>());
    let error = error.expect_err("a list of 4 MiB").render().to_string();
    assert!(error.contains("Aggregate needs"), "{error}");
    assert!(error.contains("group or collect fewer rows"), "{error}");
}

/// Temporary pages read so far.
fn read_back(db: &Database) -> u64 {
    let stats = db.cache().expect("own").stats();
    let mut kinds = stats.per_kind.iter();
    let temporary = kinds.find(|(kind, _)| *kind == PageKind::Temporary);
    temporary.map_or(0, |(_, stats)| stats.accesses())
}

/// Where there is little they spill, where there is much they do not, whatever it was when they
/// were made.
#[test]
fn kept_operators_follow_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = texts(folder.path());
    let mut config = Config::default();
    (config.memory, config.threads) = (32 << 20, 1);
    let db = Database::open(&path, config).expect("opens");
    let connection = db.connect();
    let text = "MATCH (n:T) WITH DISTINCT n.l AS x RETURN count(*), min(x)";
    let prepared = connection.prepare(text).expect("prepared");
    let ask = || {
        let rows = prepared.query(&Params::new()).expect("runs");
        let values = rows.map(|row| row.expect("a row").into_values());
        values.collect::<Vec<_>>()
    };
    let whole = ask();
    for (memory, spills) in [(1, true), (32, false), (2, true), (24, false)] {
        db.set_memory(memory << 20).expect("room");
        let before = read_back(&db);
        assert_eq!(ask(), whole, "{memory} MiB");
        assert_eq!(rows(&connection, text), whole, "{memory} MiB");
        assert_eq!(read_back(&db) > before, spills, "{memory} MiB");
    }
}

/// The error of an export, which has to be that of the memory limit.
fn no_room_for(connection: &Connection, text: &str) {
    let error = connection.query(text, &Params::new());
    let error = error.and_then(|result| result.collect::<Result<Vec<_>, _>>());
    let error = error.expect_err(text);
    assert!(error.code().starts_with("Memory."), "{text}: {error}");
    let said = error.render().to_string();
    assert!(said.contains("export asked for"), "{text}: {said}");
}

#[test]
fn what_an_export_keeps_is_charged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.graven");
    let db = open(&path, 64 << 20);
    let make = "UNWIND range(1, 60000) AS i CREATE (:N {i: i})-[:R]->(:N)";
    rows(&db.connect(), make);
    db.checkpoint().expect("folds");
    drop(db);
    let db = open(&path, 4 << 20);
    let connection = db.connect();
    for form in ["cypher", "graphml"] {
        let before = std::fs::read_dir(folder.path()).expect("a folder").count();
        let to = folder.path().join(format!("{form}.txt"));
        let export = |query: &str| {
            let name = to.to_str().expect("a name");
            format!("CALL apoc.export.{form}.query('{query}', '{name}', {{}}) YIELD nodes, source")
        };
        // The ids of what is exported do not fit.
        no_room_for(&connection, &export("MATCH (n) RETURN n"));
        no_room_for(&connection, &export("MATCH p = ()-->() RETURN p"));
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            before
        );
        let some = export("MATCH (n:N) RETURN n LIMIT 2000") + " RETURN nodes";
        assert_eq!(rows(&connection, &some), [[Value::Integer(2000)]], "{form}");
    }
    // A file of all needs no ids.
    let all = format!(
        "CALL apoc.export.json.all('{}', {{}}) YIELD nodes, relationships \
            RETURN nodes, relationships",
        folder.path().join("all.json").display()
    );
    let counts = [120_000, 60_000].map(Value::Integer);
    assert_eq!(rows(&connection, &all), [counts]);
}

#[test]
fn the_text_of_an_export_is_charged_while_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, forms) = (texts(folder.path()), ["json", "csv", "graphml", "cypher"]);
    let little = open(&path, 4 << 20);
    for form in forms {
        let all = format!("CALL apoc.export.{form}.all(null, {{stream: true}}) YIELD nodes");
        no_room_for(&little.connect(), &all);
    }
    drop(little);
    let db = open(&path, 16 << 20);
    let connection = db.connect();
    for form in forms {
        let some = format!(
            "CALL apoc.export.{form}.query('MATCH (n:T) RETURN n LIMIT 2000', null, \
                {{stream: true}}) YIELD source RETURN source"
        );
        let mut found = connection.query(&some, &Params::new()).expect(form);
        assert!(found.next_row().expect(form).is_some());
        let held = || {
            let holders = db.info().expect("known").holders;
            let of_export = holders.into_iter().find(|(name, _)| name == "export");
            of_export.map_or(0, |(_, bytes)| bytes)
        };
        let bytes = held();
        assert!(bytes > 500_000, "{form}: {bytes}");
        assert!(found.next_row().expect(form).is_none());
        drop(found);
        assert_eq!(held(), 0, "{form}");
    }
}
