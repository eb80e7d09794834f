//! Goal: a scan finds every node of a label once for every row, also where the nodes lie in more
//! ranges than are made at a time.

use graven::{Config, Database, Params};

#[test]
fn nodes_of_labels_in_turn_are_scanned_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    config.memory = 16 << 20;
    let db = Database::open(folder.path().join("turns.graven"), config).expect("a database");
    let connection = db.connect();
    let number = |text: &str| {
        let row = connection
            .query(text, &Params::new())
            .expect("runs")
            .next_row();
        let number = row.expect("runs").and_then(|row| row.get(0)?.as_integer());
        number.expect("a number")
    };
    let create = "UNWIND range(1, 30000) AS n CREATE (:Odd {n: 2 * n - 1}), (:Even {n: 2 * n}) \
        RETURN count(*)";
    assert_eq!(number(create), 30_000);
    let odd = 30_000 * 30_000;
    assert_eq!(number("MATCH (a:Odd) RETURN sum(a.n)"), odd);
    assert_eq!(
        number("UNWIND [1, 2, 3] AS x MATCH (a:Odd) RETURN sum(a.n * x)"),
        6 * odd
    );
    assert_eq!(
        number("UNWIND [1, 2] AS x MATCH (a) RETURN count(a)"),
        120_000
    );
    let joined = "MATCH (a:Odd), (b:Even) WHERE a.n + 1 = b.n RETURN count(*)";
    assert_eq!(number(joined), 30_000);
    let distinct = "MATCH (a:Odd) WITH a LIMIT 20000 RETURN count(DISTINCT a)";
    assert_eq!(number(distinct), 20_000);
}
