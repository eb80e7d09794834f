//! Goal: labels and types that an expression gives mean what they would mean written down, wherever
//! they stand, and are refused where they name nothing.

use graven::{Config, Database, Params, Value};
use tempfile::TempDir;

/// A database in a folder that goes with it.
struct Own {
    db: Database,
    _dir: TempDir,
}

impl std::ops::Deref for Own {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.db
    }
}

fn database() -> Own {
    let dir = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let db = Database::open(dir.path().join("own.graven"), config).expect("opened");
    ask(
        &db,
        "CREATE (a:A {id: 1})-[:R {w: 1}]->(:A:B {id: 2})-[:S {w: 2}]->(:B {id: 3})-[:T {w: \
            3}]->(a), ({id: 4})",
        &Params::new(),
    );
    Own { db, _dir: dir }
}

fn ask(db: &Database, text: &str, params: &Params) -> String {
    let mut result = db.connect().query(text, params).expect(text);
    let mut rows = Vec::new();
    while let Some(row) = result.next_row().expect(text) {
        rows.push(
            row.values()
                .iter()
                .map(Value::to_string)
                .collect::<Vec<_>>()
                .join(","),
        );
    }
    rows.join(" ")
}

fn answer(db: &Database, text: &str) -> String {
    ask(db, text, &Params::new())
}

fn refused(db: &Database, text: &str, params: &Params, parts: &[&str]) {
    let error = db.connect().query(text, params).and_then(|mut result| {
        while result.next_row()?.is_some() {}
        Ok(())
    });
    let error = error.expect_err(text);
    let error = format!("{} {error}", error.code());
    for part in parts {
        assert!(error.contains(part), "{text}: {part:?} is not in {error:?}");
    }
}

#[test]
fn a_computed_label_is_a_condition_like_any_other() {
    let db = database();
    for (text, expected) in [
        ("MATCH (n:$('A')) RETURN n.id ORDER BY n.id", "1 2"),
        ("MATCH (n:$(['A', 'B'])) RETURN n.id ORDER BY n.id", "2"),
        ("MATCH (n:$all(['A', 'B'])) RETURN n.id ORDER BY n.id", "2"),
        (
            "MATCH (n:$any(['A', 'B'])) RETURN n.id ORDER BY n.id",
            "1 2 3",
        ),
        (
            "MATCH (n:$any(['A', 'Nobody'])) RETURN n.id ORDER BY n.id",
            "1 2",
        ),
        ("MATCH (n:!$('A')) RETURN n.id ORDER BY n.id", "3 4"),
        ("MATCH (n:A&$('B')) RETURN n.id", "2"),
        ("MATCH (n:A&!$('B')) RETURN n.id", "1"),
        ("MATCH (n IS $('B')) WHERE n:$('A') RETURN n.id", "2"),
        (
            "UNWIND ['A', 'B'] AS l MATCH (n:$(l)) RETURN l, n.id ORDER BY l, n.id",
            "\"A\",1 \"A\",2 \"B\",2 \"B\",3",
        ),
        (
            "UNWIND ['A', 'B'] AS l MATCH (n:$(toUpper(l))&A) RETURN n.id ORDER BY n.id",
            "1 2 2",
        ),
        ("WITH ['A', 'B'] AS l MATCH (n:$all(l)) RETURN n.id", "2"),
        (
            "WITH ['A', 'B'] AS l MATCH (n:$any(l)) RETURN count(n)",
            "3",
        ),
        ("WITH [] AS l MATCH (n:$all(l)) RETURN count(n)", "4"),
        ("WITH [] AS l MATCH (n:$any(l)) RETURN count(n)", "0"),
        ("WITH '' AS l MATCH (n:$(l)) RETURN count(n)", "0"),
        ("MATCH (m {id: 2}) MATCH (n:$(labels(m))) RETURN n.id", "2"),
        ("OPTIONAL MATCH (n:Nobody) WITH n RETURN n:$('A')", "null"),
        (
            "MATCH (n) WHERE n:$(['B']) RETURN [x IN ['A', 'B'] WHERE n:$(x)] AS l ORDER BY n.id",
            "[\"A\", \"B\"] [\"B\"]",
        ),
        ("MATCH ()-[r:$('R')]->() RETURN r.w", "1"),
        (
            "MATCH ()-[r:$any(['R', 'S'])]->() RETURN r.w ORDER BY r.w",
            "1 2",
        ),
        ("MATCH ()-[r:$all(['R', 'S'])]->() RETURN count(r)", "0"),
        ("MATCH ()-[r:!$('R')]->() RETURN r.w ORDER BY r.w", "2 3"),
        (
            "UNWIND ['R', 'T'] AS t MATCH ()-[r:$(t)]->() RETURN t, r.w",
            "\"R\",1 \"T\",3",
        ),
        (
            "WITH ['R', 'S'] AS t MATCH ({id: 1})-[r:$any(t)*1..3]->(n) RETURN n.id ORDER BY n.id",
            "2 3",
        ),
        (
            "WITH 'R' AS t MATCH (a)-[r WHERE r:$(t)]->(b) RETURN b.id",
            "2",
        ),
        (
            "WITH ['R', 'S'] AS t MATCH p = shortestPath(({id: 1})-[:$any(t)*]->({id: 3})) RETURN \
                length(p)",
            "2",
        ),
        ("RETURN COUNT { WITH 'A' AS x MATCH (:$(x)) }", "2"),
        ("RETURN EXISTS { (:$('Nobody')) }", "false"),
    ] {
        assert_eq!(answer(&db, text), expected, "{text}");
    }
}

#[test]
fn a_parameter_in_the_place_of_a_label_is_looked_for_as_if_it_were_written() {
    let db = database();
    answer(&db, "CREATE INDEX FOR (n:A) ON (n.id)");
    let text = "MATCH (n:$($l) {id: 2}) RETURN count(n)";
    let statement = db.connect().prepare(text).expect("valid");
    for (label, expected) in [("A", "1"), ("B", "1"), ("C", "0"), ("A", "1")] {
        let params = Params::new().with("l", label);
        assert_eq!(ask(&db, text, &params), expected, "{label}");
        let mut result = statement.query(&params).expect("runs");
        let row = result.next_row().expect("runs").expect("one row");
        assert_eq!(row.values()[0].to_string(), expected, "{label}, prepared");
    }
    for (labels, expected) in [(vec!["A", "B"], "1"), (vec!["A", "C"], "0"), (vec![], "1")] {
        assert_eq!(
            ask(&db, text, &Params::new().with("l", labels.clone())),
            expected,
            "{labels:?}"
        );
    }
    let plan = |params: &Params| {
        let result = db.connect().query(&format!("EXPLAIN {text}"), params);
        result.expect("a plan").plan().expect("explained")
    };
    let named = plan(&Params::new().with("l", "A"));
    assert!(
        named.contains("n:A") && !named.contains("AllNodesScan"),
        "{named}"
    );
    assert!(plan(&Params::new().with("l", "a b")).contains("`a b`"));
    refused(
        &db,
        &format!("EXPLAIN {text}"),
        &Params::new().with("l", 1),
        &["SyntaxError", "`$l` is Integer"],
    );
}

#[test]
fn computed_labels_are_written() {
    let db = database();
    for (text, expected) in [
        ("CREATE (n:$('X')) RETURN labels(n)", "[\"X\"]"),
        (
            "UNWIND ['P', 'Q'] AS l CREATE (n:$(l):Z {l: l}) RETURN labels(n)",
            "[\"Z\", \"P\"] [\"Z\", \"Q\"]",
        ),
        ("MATCH (n:P) RETURN n.l", "\"P\""),
        (
            "WITH ['Y1', 'Y2'] AS l CREATE (n:$(l)) RETURN n:Y1 AND n:Y2",
            "true",
        ),
        ("WITH [] AS l CREATE (n:$(l)) RETURN labels(n)", "[]"),
        (
            "UNWIND ['N1', 'N2', 'N1'] AS l MERGE (n:$(l) {k: 1}) RETURN count(DISTINCT n)",
            "2",
        ),
        (
            "UNWIND ['N1', 'N2', 'N3'] AS l MERGE (n:$(l) {k: 1}) ON CREATE SET n:$(l + 'new') \
                RETURN labels(n)",
            "[\"N1\"] [\"N2\"] [\"N3\", \"N3new\"]",
        ),
        (
            "MATCH (n {id: 4}) SET n:$(['G', 'H']):I RETURN labels(n)",
            "[\"G\", \"H\", \"I\"]",
        ),
        (
            "MATCH (n {id: 4}) WITH n, 'H' AS l REMOVE n:$(l) RETURN labels(n)",
            "[\"G\", \"I\"]",
        ),
        (
            "MATCH (n {id: 4}) REMOVE n:$(labels(n)), n:Nobody:$('Nobody') RETURN labels(n)",
            "[]",
        ),
        (
            "CREATE (a {l: 'Own'}), (b:$(a.l)) RETURN labels(b)",
            "[\"Own\"]",
        ),
        (
            "WITH 'Late' AS l CREATE (n:$(l)) WITH n MATCH (m:Late) RETURN count(m)",
            "1",
        ),
        (
            "WITH 'Later' AS l CREATE (n:$(l)) WITH n, l MATCH (m:$(l)) RETURN n = m, m:Later",
            "true,true",
        ),
        (
            "MATCH (n {id: 4}) WITH n, 'k' AS key SET n[key + '1'] = 5 RETURN n.k1",
            "5",
        ),
        (
            "MATCH (n {id: 4}) WITH n, 'k1' AS key REMOVE n[key] RETURN n.k1",
            "null",
        ),
    ] {
        assert_eq!(answer(&db, text), expected, "{text}");
    }
}

#[test]
fn computed_types_are_written_and_followed_in_the_same_statement() {
    let db = database();
    for (text, expected) in [
        (
            "MATCH (a {id: 1}), (b {id: 4}) CREATE (a)-[r:$('U')]->(b) RETURN type(r)",
            "\"U\"",
        ),
        (
            "MATCH (a {id: 1}), (b {id: 4}) UNWIND ['V1', 'V2'] AS t CREATE (b)-[r:$(t)]->(a) \
                RETURN type(r)",
            "\"V1\" \"V2\"",
        ),
        (
            "MATCH (a {id: 4}) UNWIND ['W1', 'W2', 'W1'] AS t MERGE (a)-[r:$(t)]->(x:X) RETURN \
                count(DISTINCT r)",
            "2",
        ),
        (
            "MATCH (a {id: 4})-[r]->(:X) RETURN type(r) ORDER BY type(r)",
            "\"W1\" \"W2\"",
        ),
        (
            "WITH ['Z1'] AS t CREATE (c:C)-[:$(t)]->(:C) WITH c MATCH (c)-[r]->() RETURN type(r)",
            "\"Z1\"",
        ),
        (
            "WITH 'Z2' AS t CREATE (c:C)-[:$(t)]->(:C) WITH c MATCH (c)-[r:Z2]->() RETURN type(r)",
            "\"Z2\"",
        ),
    ] {
        assert_eq!(answer(&db, text), expected, "{text}");
    }
}

#[test]
fn what_names_no_label_is_refused() {
    let db = database();
    let none = Params::new();
    for text in [
        "WITH null AS l MATCH (n:$(l)) RETURN n",
        "WITH 1 AS l CREATE (n:$(toFloat(l)))",
        "WITH ['A', null] AS l CREATE (n:$(l))",
        "UNWIND [1] AS l MATCH (n) SET n:$(l)",
        "UNWIND [null] AS l MATCH (n) REMOVE n:$(l)",
        "UNWIND [null] AS t CREATE ()-[:$(t)]->()",
    ] {
        refused(&db, text, &none, &["InvalidArgumentType", "String"]);
    }
    refused(
        &db,
        "MATCH (n:$($l)) RETURN n",
        &Params::new().with("l", 1),
        &["SyntaxError", "`$l` is Integer"],
    );
    refused(
        &db,
        "MATCH (n:$(1)) RETURN n",
        &none,
        &["SyntaxError.InvalidArgumentType"],
    );
    refused(
        &db,
        "UNWIND [''] AS l CREATE (n:$(l))",
        &none,
        &["Schema.InvalidName", "empty"],
    );
    refused(
        &db,
        "UNWIND [''] AS l MATCH (n) SET n:$(l)",
        &none,
        &["Schema.InvalidName", "empty"],
    );
    refused(
        &db,
        "WITH ['A', 'B'] AS t CREATE ()-[:$(t)]->()",
        &none,
        &["exactly one type"],
    );
    refused(
        &db,
        "WITH [] AS t CREATE ()-[:$(t)]->()",
        &none,
        &["exactly one type"],
    );
    refused(
        &db,
        "CREATE ()-[:$any(['A', 'B'])]->()",
        &none,
        &["NoSingleRelationshipType"],
    );
    refused(
        &db,
        "CREATE (:$any(['A', 'B']))",
        &none,
        &["not conditions"],
    );
    refused(
        &db,
        "MATCH (n:$l) RETURN n",
        &none,
        &["in parentheses: `$($l)`"],
    );
    refused(
        &db,
        "MATCH (n:$(m)) RETURN n",
        &none,
        &["UndefinedVariable"],
    );
    assert_eq!(answer(&db, "MATCH (n) RETURN count(n)"), "4");
}

#[test]
fn a_barrier_stands_between_computed_labels_and_their_readers() {
    let db = database();
    for id in 0..40 {
        ask(&db, "CREATE (:Row {id: $i})", &Params::new().with("i", id));
    }
    let text = "MATCH (r:Row) MATCH (n:Row) WITH r, n, 'Row' AS l CREATE (:$(l)) RETURN count(*)";
    assert_eq!(answer(&db, text), "1600");
    let text = "MATCH (r:Row) WITH r, CASE WHEN r.id % 2 = 0 THEN 'Even' ELSE 'Odd' END AS l SET \
        r:$(l) WITH r MATCH (o:Odd) RETURN count(*)";
    assert_eq!(answer(&db, text), "2656800");
}

#[test]
fn labels_of_rows_are_looked_for_by_label_and_index() {
    let db = database();
    answer(&db, "CREATE INDEX FOR (n:L1) ON (n.k)");
    answer(&db, "CREATE INDEX FOR (n:L3) ON (n.other)");
    answer(
        &db,
        "UNWIND range(0, 5999) AS i WITH i, 'L' + toString(i % 4) AS l CREATE (n:$(l) {k: i % 500, \
            i: i}) WITH n WHERE n.i % 3 = 0 SET n:Third",
    );
    let plan = |text: &str| {
        let result = db
            .connect()
            .query(&format!("EXPLAIN {text}"), &Params::new());
        result.expect("a plan").plan().expect("explained")
    };
    // Labels of rows give what they give written down, with an index and without one.
    for label in ["L0", "L1", "L2", "L3", "Third", "Nobody"] {
        for rest in [
            "{k: 3}) RETURN count(n), sum(n.i)",
            "{k: 3, i: 1003}) RETURN count(n), sum(n.i)",
            "{other: 3}) RETURN count(n), sum(n.i)",
            "{k: null}) RETURN count(n), sum(n.i)",
            ") WHERE n.k < 7 AND n.i > 1000 RETURN count(n), sum(n.i)",
            ":Third) RETURN count(n), sum(n.i)",
        ] {
            let computed =
                format!("UNWIND ['{label}', '{label}'] AS l WITH DISTINCT l MATCH (n:$(l) {rest}");
            let written = format!("MATCH (n:{label} {rest}");
            assert_eq!(answer(&db, &computed), answer(&db, &written), "{computed}");
        }
    }
    let text = "UNWIND ['L0', 'L1'] AS l MATCH (n:$(l) {k: 3}) RETURN n.i";
    assert!(plan(text).contains("ComputedLabelScan"), "{}", plan(text));
    assert!(
        plan(text).contains("(n:$(l)) k = 3 if indexed"),
        "{}",
        plan(text)
    );
    let all =
        "UNWIND [['L0', 'Third'], [], ['Third', 'L1']] AS l MATCH (n:$(l)) RETURN l, count(n)";
    assert_eq!(
        answer(&db, all),
        "[\"L0\", \"Third\"],500 [],6004 [\"Third\", \"L1\"],500"
    );
    // Whatever is merged is found by the rows after it.
    for (label, key) in [("L1", "k"), ("L2", "k"), ("New", "k")] {
        let text = format!(
            "UNWIND range(1, 300) AS i WITH '{label}' AS l, 10000 + i % 7 AS k MERGE (n:$(l) \
                {{{key}: k}}) RETURN count(DISTINCT n)"
        );
        assert_eq!(answer(&db, &text), "7", "{text}");
    }
}
