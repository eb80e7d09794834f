//! Goal: groups of pairs that come in runs, which several threads make chunk by chunk, are written out where they do not
//! fit, and are those of a large memory.

use graven::{Config, Connection, Database, Params, Value};

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
        "MATCH (a:N)-[r:R]->(b:N) WITH a, b, count(*) AS n ORDER BY n DESC, a.i, b.i LIMIT 3 RETURN a.i, b.i, n",
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
