//! Goal: `EXPLAIN` estimates rows from what the values of properties are like, forecasts pages and
//! memory, and statistics come with a checkpoint.

use graven::{Config, Connection, Database, Params};

use crate::graph::small;

/// The plan of a statement.
fn explain(connection: &Connection, text: &str) -> String {
    let explained = format!("EXPLAIN {text}");
    let result = connection.query(&explained, &Params::new()).expect(text);
    result.plan().expect("an explained statement has a plan")
}

/// Estimated rows of the first operator of this name.
fn rows(plan: &str, operator: &str) -> f64 {
    let line = plan
        .lines()
        .find(|line| line.trim_start().starts_with(operator));
    let line = line.unwrap_or_else(|| panic!("no {operator} in\n{plan}"));
    let cell = line.split_whitespace().nth(1).expect("estimated rows");
    cell.parse().unwrap_or_else(|_| panic!("{cell} in\n{plan}"))
}

fn near(estimate: f64, truth: f64) {
    assert!(
        (estimate - truth).abs() <= truth / 5.0,
        "{estimate} is not {truth}"
    );
}

#[test]
fn conditions_are_estimated_from_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config: Config = small();
    // What the statement creates stays in memory.
    (config.create, config.memory) = (true, 32 << 20);
    let db = Database::open(folder.path().join("values.graven"), config).expect("created");
    let connection = db.connect();
    let create = "UNWIND range(1, 2000) AS i CREATE (n:P {x: i, c: i % 4, name: 'n' + i}) \
        FOREACH (j IN CASE WHEN i % 2 = 0 THEN [i] ELSE [] END | SET n.half = j) \
        CREATE (n)-[:R {w: i % 100}]->(n)";
    connection.query(create, &Params::new()).expect("created");
    // The values were not counted yet: some of the new nodes and relationships are looked at.
    for (condition, truth) in [
        ("p.x < 200", 200.0),
        ("p.x >= 200 AND p.x < 600", 400.0),
        ("p.c = 2", 500.0),
        ("p.c IN [1, 2]", 1000.0),
        ("p.x = 77", 1.0),
        ("p.half > 0", 1000.0),
    ] {
        let plan = explain(
            &connection,
            &format!("MATCH (p:P) WHERE {condition} RETURN p"),
        );
        near(rows(&plan, "Filter"), truth);
    }
    let plan = explain(&connection, "MATCH ()-[r:R]->(q) WHERE r.w < 25 RETURN q");
    near(rows(&plan, "Expand"), 500.0);
    db.checkpoint().expect("checkpoint");
    for (condition, truth) in [
        ("p.x < 200", 200.0),
        ("200 > p.x", 200.0),
        ("p.x >= 1500", 500.0),
        ("p.c = 2", 500.0),
        ("p.c <> 2", 1500.0),
        ("p.c IN [1, 2]", 1000.0),
        ("p.x = 77", 1.0),
        ("p.half > 0", 1000.0),
        ("p.half < 1000", 500.0),
        ("p.x < $n", 600.0),
        ("p.name STARTS WITH 'n1'", 200.0),
    ] {
        let text = format!("MATCH (p:P) WHERE {condition} RETURN p");
        let explained = format!("EXPLAIN {text}");
        let result = connection.query(&explained, &Params::new().with("n", 5));
        let plan = result.expect(&text).plan().expect("a plan");
        near(rows(&plan, "Filter"), truth);
    }
    let plan = explain(
        &connection,
        "MATCH (p:P)-[r:R]->(q) WHERE r.w < 25 RETURN q",
    );
    near(rows(&plan, "Expand"), 500.0);
    // An index is entered by the same numbers.
    let index = "CREATE INDEX FOR (p:P) ON (p.x)";
    connection.query(index, &Params::new()).expect("index");
    let plan = explain(
        &connection,
        "MATCH (p:P) WHERE p.x >= 100 AND p.x < 300 RETURN p",
    );
    near(rows(&plan, "IndexRange"), 200.0);
    // What a later checkpoint sees is merged in.
    let more = "UNWIND range(2001, 4000) AS i CREATE (:P {x: i})";
    connection.query(more, &Params::new()).expect("created");
    db.checkpoint().expect("checkpoint");
    let plan = explain(&connection, "MATCH (p:P) WHERE p.x >= 3000 RETURN p.c");
    near(rows(&plan, "IndexRange"), 1000.0);
    assert!(plan.contains("pages") && plan.contains("memory"), "{plan}");
    assert!(plan.contains("forecast: "), "{plan}");
    let sorted = explain(&connection, "MATCH (p:P) RETURN p ORDER BY p.name");
    assert!(sorted.contains("KiB kept by operators"), "{sorted}");
}

#[test]
fn a_value_of_a_rare_label_is_expected_once_and_not_less() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config: Config = small();
    config.create = true;
    let db = Database::open(folder.path().join("labels.graven"), config).expect("created");
    let connection = db.connect();
    for create in [
        "UNWIND range(1, 5000) AS i CREATE (:Many {name: 'many ' + i})",
        "UNWIND range(1, 10) AS i CREATE (:Rare {name: 'rare ' + i})",
    ] {
        connection.query(create, &Params::new()).expect("created");
    }
    db.checkpoint().expect("checkpoint");
    let text = "EXPLAIN MATCH (r:Rare) WHERE r.name = $name RETURN r";
    let result = connection.query(text, &Params::new().with("name", "rare 3"));
    let plan = result.expect(text).plan().expect("a plan");
    near(rows(&plan, "Filter"), 1.0);
}

#[test]
fn infinite_values_leave_estimates_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config: Config = small();
    config.create = true;
    let db = Database::open(folder.path().join("infinite.graven"), config).expect("created");
    let connection = db.connect();
    let create = "UNWIND range(1, 100) AS i CREATE (:P {x: toFloat(i)}) CREATE (:P {x: 1.0 / 0.0}) \
        CREATE (:P {x: -1.0 / 0.0})";
    connection.query(create, &Params::new()).expect("created");
    db.checkpoint().expect("checkpoint");
    for condition in ["p.x < 50.0", "p.x > 99.5", "p.x >= -1.0", "p.x = 3.0"] {
        let text = format!("MATCH (p:P) WHERE {condition} RETURN p ORDER BY p.x");
        let plan = explain(&connection, &text);
        let estimate = rows(&plan, "Filter");
        assert!((1.0..=300.0).contains(&estimate), "{plan}");
        assert!(!plan.contains("NaN") && !plan.contains("inf "), "{plan}");
    }
}

#[test]
fn rows_of_procedures_take_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config: Config = small();
    config.create = true;
    let db = Database::open(folder.path().join("procedures.graven"), config).expect("created");
    let text = "CALL db.labels() YIELD label WITH label ORDER BY label RETURN label";
    let plan = explain(&db.connect(), text);
    assert!(!plan.contains(" 0 B kept"), "{plan}");
}
