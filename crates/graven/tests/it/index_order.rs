//! Goal: what an index finds and in which order is what a scan finds and a sort orders, over values
//! of every kind, before and after a checkpoint and with changes on top; and the plans really use
//! the index.

use graven::{Config, Connection, Database, Params};

fn texts(connection: &Connection, text: &str) -> Vec<String> {
    let result = connection.query(text, &Params::new());
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    result
        .map(|row| {
            let row = row.unwrap_or_else(|e| panic!("{text}: {e}"));
            row.values()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" | ")
        })
        .collect()
}

fn plan(connection: &Connection, text: &str) -> String {
    let result = connection.query(&format!("EXPLAIN {text}"), &Params::new());
    result
        .unwrap_or_else(|e| panic!("{text}: {}", e.render()))
        .plan()
        .expect("a plan")
}

/// Values of every kind that a property can hold; `k` is indexed, `j` holds the same and is not.
const VALUES: &str = "CASE i % 18 \
    WHEN 0 THEN i WHEN 1 THEN i / 7.0 WHEN 2 THEN 'text ' + toString(i % 11) WHEN 3 THEN i % 3 = 0 \
    WHEN 4 THEN null WHEN 5 THEN 0.0 / 0.0 WHEN 6 THEN date({year: 2000 + i % 9}) WHEN 7 THEN \
    duration({days: i % 40, months: i % 3}) \
    WHEN 8 THEN point({x: i % 5, y: i}) WHEN 9 THEN [i % 4, 'a'] WHEN 10 THEN ['a', i % 6] WHEN 11 \
    THEN localtime({hour: i % 24}) \
    WHEN 12 THEN datetime({year: 1990 + i % 30, timezone: '+02:00'}) WHEN 13 THEN time({hour: i % \
    23, timezone: '+01:00'}) \
    WHEN 14 THEN localdatetime({year: 1990 + i % 30}) WHEN 15 THEN vector([i % 5, -i], 2, INTEGER) \
    WHEN 16 THEN vector([x IN range(0, 300) | CASE x WHEN 299 THEN i % 7 ELSE 0.5 END], 301, FLOAT) \
    ELSE -i END";

/// Long texts of which an index keeps only the beginning.
const LONG: &str = "reduce(s = '', x IN range(1, 1100) | s + 'y') + toString((i * 7) % 13)";

fn compare(connection: &Connection) {
    for (order, used) in [("", "ascending"), (" DESC", "descending")] {
        let ask = |key: &str, more: &str| {
            format!(
                "MATCH (n:A) RETURN toString(n.{key} IS NULL) AS gone, n.{key} AS v ORDER BY \
                    n.{key}{order}{more}"
            )
        };
        for more in ["", " LIMIT 7", " SKIP 3 LIMIT 40"] {
            let plan = plan(connection, &ask("k", more));
            assert!(plan.contains("IndexScan") && plan.contains(used), "{plan}");
            assert!(!plan.contains("Sort") && !plan.contains("TopN"), "{plan}");
            let (found, expected) = (
                texts(connection, &ask("k", more)),
                texts(connection, &ask("j", more)),
            );
            assert_eq!(found, expected, "{order}{more}");
        }
        for condition in [
            "> 20",
            ">= 3 AND n.KEY < 500",
            "<= 'text 5'",
            "STARTS WITH 'text 1'",
            "STARTS WITH 'yyy'",
            "> date('2003-05-01')",
            "< [2]",
            ">= ['a', 3]",
            "< duration('P30D')",
            "> point({x: 1, y: 1})",
            "> vector([2, 0], 2, INTEGER)",
        ] {
            let ask = |key: &str| {
                let condition = condition.replace("KEY", key);
                format!(
                    "MATCH (n:A) WHERE n.{key} {condition} RETURN n.{key} AS v ORDER BY \
                        n.{key}{order}"
                )
            };
            let plan = plan(connection, &ask("k"));
            assert!(
                plan.contains("IndexScan") && !plan.contains("Sort"),
                "{plan}"
            );
            assert_eq!(
                texts(connection, &ask("k")),
                texts(connection, &ask("j")),
                "{condition}{order}"
            );
        }
    }
    for condition in [
        "> 20",
        "< [2]",
        ">= ['a', 3]",
        "< duration('P30D')",
        "<= duration('P30D') AND n.KEY >= duration('P1D')",
        "> point({x: 1, y: 1})",
        "<= vector([2, 0], 2, INTEGER)",
    ] {
        let ask = |key: &str| {
            let condition = condition.replace("KEY", key);
            format!("MATCH (n:A) WHERE n.{key} {condition} RETURN n.i AS i ORDER BY i")
        };
        let plan = plan(connection, &ask("k"));
        assert!(plan.contains("IndexRange"), "{plan}");
        assert_eq!(
            texts(connection, &ask("k")),
            texts(connection, &ask("j")),
            "{condition}"
        );
    }
    for function in ["min", "max"] {
        for condition in [
            "",
            "WHERE n.KEY < 90",
            "WHERE n.KEY STARTS WITH 'text'",
            "WHERE n.KEY > 1000000",
        ] {
            let ask = |key: &str| {
                let condition = condition.replace("KEY", key);
                format!("MATCH (n:A) {condition} RETURN {function}(n.{key})")
            };
            let plan = plan(connection, &ask("k"));
            assert!(
                plan.contains("IndexScan") && plan.contains("Limit"),
                "{plan}"
            );
            assert_eq!(
                texts(connection, &ask("k")),
                texts(connection, &ask("j")),
                "{function} {condition}"
            );
        }
    }
}

#[test]
fn the_order_of_an_index_is_that_of_a_sort() {
    let folder = tempfile::tempdir().expect("folder");
    let mut config = Config::default();
    config.memory = 32 << 20;
    config.create = true;
    let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
    let connection = db.connect();
    let run = |text: &str| drop(texts(&connection, text));
    // Others, so that the label is a way to find some.
    run("UNWIND range(1, 3000) AS i CREATE (:Other)");
    run("CREATE INDEX FOR (n:A) ON (n.k)");
    run(&format!(
        "UNWIND range(1, 900) AS i WITH i, {VALUES} AS v CREATE (:A {{i: i, k: v, j: v}})"
    ));
    run(&format!(
        "UNWIND range(1, 30) AS i WITH i, {LONG} AS v CREATE (:A {{i: i, k: v, j: v}})"
    ));
    compare(&connection);
    db.checkpoint().expect("checkpoint");
    compare(&connection);
    // Changes on top of the folded index: new values, other values, nodes gone.
    run(&format!(
        "UNWIND range(1000, 1300) AS i WITH i, {VALUES} AS v CREATE (:A {{i: i, k: v, j: v}})"
    ));
    run("MATCH (n:A) WHERE n.i % 5 = 0 DETACH DELETE n");
    run("MATCH (n:A) WHERE n.i % 7 = 0 SET n.k = n.i % 50, n.j = n.i % 50");
    compare(&connection);
    db.checkpoint().expect("checkpoint");
    compare(&connection);
    // All nodes in the index: nothing is read besides.
    run("MATCH (n:A) SET n.k = n.i, n.j = n.i");
    db.checkpoint().expect("checkpoint");
    compare(&connection);
}

#[test]
fn an_index_over_several_properties_is_used_by_its_first_ones() {
    let folder = tempfile::tempdir().expect("folder");
    let mut config = Config::default();
    config.memory = 32 << 20;
    config.create = true;
    let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
    let connection = db.connect();
    let run = |text: &str| drop(texts(&connection, text));
    run("UNWIND range(1, 3000) AS i CREATE (:Other)");
    run("CREATE INDEX three FOR (n:A) ON (n.a, n.b, n.c)");
    run(
        "UNWIND range(1, 2000) AS i CREATE (:A {a: i % 10, b: CASE WHEN i % 3 = 0 THEN 'b' + \
            toString(i % 40) ELSE i % 40 END, \
         c: CASE i % 8 WHEN 0 THEN null ELSE i % 100 END, x: i % 10, y: CASE WHEN i % 3 = 0 THEN \
         'b' + toString(i % 40) ELSE i % 40 END, \
         z: CASE i % 8 WHEN 0 THEN null ELSE i % 100 END})",
    );
    let conditions = [
        ("n.A = 3 AND n.B > 10 AND n.C IS NOT NULL", true),
        ("n.A = 3 AND n.B >= 10 AND n.B < 21 AND n.C > 50", true),
        ("n.A = 3 AND n.B STARTS WITH 'b1' AND n.C < 90", true),
        ("n.A = 4 AND n.B = 14 AND n.C = 34", true),
        ("n.A = 4.0 AND n.B = 14 AND n.C > 20 AND n.C <= 74", true),
        ("n.A = 4 AND n.B IS NOT NULL AND n.C IS NOT NULL", true),
        ("n.A = null AND n.B = 14 AND n.C = 34", true),
        ("n.A > 3 AND n.B > 3 AND n.C > 20", true),
        // A node without `c` is not in the index.
        ("n.A = 3 AND n.B > 10", false),
        ("n.B = 3 AND n.C > 10", false),
    ];
    for checkpoint in [false, true] {
        if checkpoint {
            db.checkpoint().expect("checkpoint");
        }
        for (condition, used) in conditions {
            let ask = |keys: [&str; 3]| {
                let key = |name: &str, own: &str| (format!("n.{name}"), format!("n.{own}"));
                let names = ["A", "B", "C"].into_iter().zip(keys);
                let condition = names.fold(condition.to_owned(), |text, (name, own)| {
                    let (from, to) = key(name, own);
                    text.replace(&from, &to)
                });
                format!(
                    "MATCH (n:A) WHERE {condition} RETURN count(n), sum(n.z), min(id(n)), \
                        max(id(n))"
                )
            };
            let with = ask(["a", "b", "c"]);
            let plan = plan(&connection, &with);
            assert_eq!(plan.contains("IndexScan"), used, "{with}\n{plan}");
            assert_eq!(
                texts(&connection, &with),
                texts(&connection, &ask(["x", "y", "z"])),
                "{with}"
            );
        }
        let ask = |b: &str| {
            format!(
                "MATCH (n:A) WHERE n.a = 3 AND n.{b} > 4 AND n.c >= 0 RETURN n.{b} AS v ORDER BY \
                    n.{b} DESC LIMIT 9"
            )
        };
        assert!(plan(&connection, &ask("b")).contains("descending"));
        assert_eq!(texts(&connection, &ask("b")), texts(&connection, &ask("y")));
    }
}
