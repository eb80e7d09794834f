//! Goal: statements of very many equal parts run in a thread with little stack, or say which limit
//! they pass; they never overflow the stack. Conditions with tens of thousands of terms answer as
//! short ones do. Many columns keep their order.

use graven::{Config, Connection, Database, Params, Value};

/// The stack of a thread by default.
const STACK: usize = 2 << 20;

/// Runs in a thread with that stack, over one node with a relationship to another.
fn on_small_stack(body: impl FnOnce(&Connection) + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let running = thread.spawn(move || {
        let folder = tempfile::tempdir().expect("folder");
        let mut config = Config::default();
        (config.memory, config.create) = (64 << 20, true);
        let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
        let connection = db.connect();
        rows(&connection, "CREATE (:A {a: 1})-[:R {a: 1}]->(:B)").expect("created");
        body(&connection);
    });
    let running = running.expect("a thread");
    running.join().expect("no panic");
}

/// The rows as text, or the code and message of the error.
fn rows(connection: &Connection, text: &str) -> Result<Vec<String>, String> {
    let told = |e: graven::Error| format!("{} {}", e.code(), e.message());
    let result = connection.query(text, &Params::new()).map_err(told)?;
    let shown = result.map(|row| {
        let row = row.map_err(told)?;
        let cells = row.values().iter().map(ToString::to_string);
        Ok(cells.collect::<Vec<_>>().join(" "))
    });
    shown.collect()
}

fn many(count: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(between)
}

/// A statement of so many parts.
type Shape = fn(usize) -> String;

/// Shapes whose parts make no depth.
const FLAT: &[(&str, Shape)] = &[
    ("labels in WHERE", |n| {
        format!("MATCH (n) WHERE n{} RETURN n", ":A".repeat(n))
    }),
    ("labels joined by |", |n| {
        format!("MATCH (n:{}) RETURN n", many(n, "|", |i| format!("A{i}")))
    }),
    ("labels joined by &", |n| {
        format!("MATCH (n:{}) RETURN n", many(n, "&", |i| format!("A{i}")))
    }),
    ("labels", |n| {
        format!("MATCH (n{}) RETURN n", many(n, "", |i| format!(":A{i}")))
    }),
    ("types", |n| {
        let types = many(n, "|", |i| format!("A{i}"));
        format!("MATCH ()-[r:{types}]->() RETURN r")
    }),
    ("property map of a node", |n| {
        let keys = many(n, ", ", |i| format!("p{i}: 1"));
        format!("MATCH (n {{{keys}}}) RETURN n")
    }),
    ("property map of a relationship", |n| {
        let keys = many(n, ", ", |i| format!("p{i}: 1"));
        format!("MATCH ()-[r {{{keys}}}]->() RETURN r")
    }),
    ("AND", |n| {
        let terms = many(n, " AND ", |i| format!("n.p{i} = 1"));
        format!("MATCH (n) WHERE {terms} RETURN n")
    }),
    ("AND of a path of least cost", |n| {
        let terms = many(n, " AND ", |i| format!("n.p{i} = m.a"));
        format!("MATCH (n)-[e* WSHORTEST(a)]->(m) WHERE n.a = 1 AND {terms} RETURN m")
    }),
    ("AND behind WITH", |n| {
        let terms = many(n, " AND ", |i| format!("n.p{i} = 1"));
        format!("MATCH (n) WITH n WHERE {terms} RETURN n")
    }),
    ("OR", |n| {
        let terms = many(n, " OR ", |i| format!("n.p{i} = 1"));
        format!("MATCH (n) WHERE {terms} RETURN n")
    }),
    ("XOR", |n| {
        let terms = many(n, " XOR ", |i| format!("n.p{i} = 1"));
        format!("MATCH (n) WHERE {terms} RETURN n")
    }),
    ("comparisons", |n| {
        format!("RETURN {} AS x", many(n, " < ", |i| i.to_string()))
    }),
    ("branches of CASE", |n| {
        let branches = many(n, " ", |i| format!("WHEN n.b = {i} THEN {i}"));
        format!("MATCH (n) RETURN CASE {branches} END AS x")
    }),
    ("created nodes", |n| {
        format!(
            "CREATE {}",
            many(n, ", ", |i| format!("(n{i}:C {{i: {i}}})"))
        )
    }),
    ("a created path", |n| {
        format!("CREATE (:C){}", many(n, "", |_| "-[:R]->(:C)".to_owned()))
    }),
];

#[test]
fn conditions_labels_keys_and_creations_may_be_many() {
    on_small_stack(|connection| {
        for (name, shape) in FLAT {
            if let Err(error) = rows(connection, &shape(5000)) {
                panic!("{name}: {error}");
            }
        }
    });
}

/// Shapes as deep as they are long: how many parts run, how many do not, and the limit that the
/// error names.
const DEEP: &[(&str, Shape, usize, usize, &str)] = &[
    (
        "sum",
        |n| {
            format!(
                "MATCH (n) RETURN {} AS x",
                many(n, " + ", |_| "n.a".to_owned())
            )
        },
        398,
        5000,
        "400",
    ),
    (
        "texts",
        |n| format!("RETURN {} AS x", many(n, " + ", |_| "'a'".to_owned())),
        399,
        5000,
        "400",
    ),
    (
        "NOT",
        |n| format!("RETURN {} true AS x", "NOT ".repeat(n)),
        399,
        5000,
        "400",
    ),
    (
        "elements",
        |n| format!("MATCH (n) RETURN n.b{} AS x", "[0]".repeat(n)),
        390,
        5000,
        "400",
    ),
    (
        "properties",
        |n| format!("MATCH (n) RETURN n.b{} AS x", ".b".repeat(n)),
        390,
        5000,
        "400",
    ),
    (
        "WITH",
        |n| format!("{} RETURN x", many(n, " ", |i| format!("WITH {i} AS x"))),
        199,
        5000,
        "200",
    ),
    (
        "projections with everything",
        |n| {
            let clause =
                |i| format!("WITH DISTINCT {i} AS x ORDER BY x SKIP 0 LIMIT 5 WHERE x >= 0");
            format!("{} RETURN x", many(n, " ", clause))
        },
        50,
        150,
        "360",
    ),
    (
        "UNWIND over a sum",
        |n| {
            let sum = many(n, " + ", |_| "1".to_owned());
            let lists = many(180, " ", |i| format!("UNWIND [1] AS x{i}"));
            format!("UNWIND [{sum}] AS x {lists} RETURN x")
        },
        390,
        5000,
        "400",
    ),
    (
        "SET",
        |n| format!("MATCH (n) {}", many(n, " ", |i| format!("SET n.b = {i}"))),
        199,
        5000,
        "200",
    ),
    (
        "SET in FOREACH",
        |n| {
            let items = many(n, " ", |i| format!("SET n.b = {i}"));
            format!("MATCH (n) FOREACH (x IN [1] | {items})")
        },
        350,
        5000,
        "360",
    ),
    (
        "nodes",
        |n| {
            let nodes = many(n, ", ", |i| format!("(n{i}:None)"));
            format!("MATCH {nodes} RETURN 1 AS x")
        },
        300,
        5000,
        "300",
    ),
    (
        "a path",
        |n| format!("MATCH (n){} RETURN 1 AS x", "-->()".repeat(n)),
        150,
        5000,
        "150",
    ),
    (
        "named paths",
        |n| {
            format!(
                "MATCH {} RETURN *",
                many(n, ", ", |i| format!("p{i} = (n)"))
            )
        },
        350,
        5000,
        "360",
    ),
    (
        "patterns as conditions",
        |n| {
            let terms = many(n, " AND ", |_| "(n)-->()".to_owned());
            format!("MATCH (n) WHERE {terms} RETURN n")
        },
        350,
        5000,
        "360",
    ),
    (
        "creations that read each other",
        |n| {
            let clause = |i| format!("CREATE (n{} {{p: n{i}.p}})", i + 1);
            format!("CREATE (n0) {}", many(n, " ", clause))
        },
        350,
        3000,
        "360",
    ),
    (
        "CREATE",
        |n| many(n, " ", |i| format!("CREATE (n{i}:C)")),
        4000,
        5000,
        "4000",
    ),
    (
        "subqueries side by side",
        |n| {
            format!(
                "RETURN {}",
                many(n, ", ", |i| format!("COUNT {{ MATCH (n) }} AS c{i}"))
            )
        },
        340,
        2000,
        "360",
    ),
    (
        "UNION",
        |n| many(n, " UNION ", |i| format!("RETURN {i} AS x")),
        4000,
        5000,
        "4000",
    ),
];

#[test]
fn deep_shapes_run_up_to_a_limit_that_the_error_names() {
    on_small_stack(|connection| {
        for (name, shape, most, beyond, limit) in DEEP {
            if let Err(error) = rows(connection, &shape(*most)) {
                panic!("{name}, {most}: {error}");
            }
            let error = rows(connection, &shape(*beyond)).expect_err(name);
            let told = ["SyntaxError.NestingTooDeep", "SyntaxError.StatementTooLong"];
            assert!(
                told.iter().any(|code| error.starts_with(code)),
                "{name}: {error}"
            );
            assert!(error.contains(limit), "{name}: {error}");
        }
        // The connection is as good as new.
        assert_eq!(rows(connection, "RETURN 1"), Ok(vec!["1".to_owned()]));
    });
}

#[test]
fn conditions_of_20_000_terms_answer_as_short_ones() {
    const TERMS: usize = 20_000;
    on_small_stack(|connection| {
        rows(connection, "UNWIND range(0, 20000) AS i CREATE (:T {i: i})").expect("created");
        let count = |condition: &str| {
            let text = format!("MATCH (n:T) WHERE {condition} RETURN count(n) AS x");
            rows(connection, &text).unwrap_or_else(|e| panic!("{e}"))
        };
        let terms = |operator: &str, term: fn(usize) -> String| many(TERMS, operator, term);
        let bounds = "n.i > 19990 AND ".to_owned();
        assert_eq!(
            count(&(bounds.clone() + &terms(" AND ", |i| format!("n.i <> {i}")))),
            ["1"]
        );
        assert_eq!(
            count(&(bounds + "(" + &terms(" OR ", |i| format!("n.i = {i}")) + ")")),
            ["9"]
        );
        assert_eq!(count(&terms(" XOR ", |i| format!("{i} < 0"))), ["0"]);
        // Null, true and false, one of them at the very end.
        let value = |text: String| rows(connection, &format!("RETURN {text} AS x"));
        for (operator, common, last, expected) in [
            ("AND", "true", "null", "null"),
            ("AND", "null", "true", "null"),
            ("AND", "null", "false", "false"),
            ("OR", "false", "null", "null"),
            ("OR", "null", "false", "null"),
            ("OR", "null", "true", "true"),
            ("XOR", "false", "true", "true"),
            ("XOR", "false", "null", "null"),
        ] {
            let text = format!("{common} {operator} ").repeat(TERMS) + last;
            assert_eq!(
                value(text),
                Ok(vec![expected.to_owned()]),
                "{common} {operator} {last}"
            );
        }
        // What a term before has decided, none behind it can spoil.
        for place in [0, 1, 4097, TERMS - 1] {
            let before = "n.i >= 0 AND ".repeat(place);
            let behind = "1 / (n.i - 7) >= 0 AND ".repeat(3);
            assert_eq!(
                count(&format!("{before} n.i <> 7 AND {behind} n.i < 7")),
                ["6"]
            );
        }
        // Nor can one before it; where none decides, it is an error.
        let failing = "1 / 0 = 1 AND ".repeat(TERMS);
        assert_eq!(
            value(failing.clone() + "false"),
            Ok(vec!["false".to_owned()])
        );
        assert!(value(failing + "true").is_err());
    });
}

#[test]
fn columns_stay_in_order_where_they_are_many_and_sorted_by_the_last() {
    const COLUMNS: usize = 5000;
    on_small_stack(|connection| {
        let columns = many(COLUMNS, ", ", |i| format!("x * {i} AS c{i}"));
        let text = format!(
            "UNWIND [1, 2] AS x RETURN {columns} ORDER BY c{} DESC",
            COLUMNS - 1
        );
        let result = connection.query(&text, &Params::new()).expect("it runs");
        let rows: Vec<Vec<Value>> = result
            .map(|row| row.expect("a row").into_values())
            .collect();
        for (row, x) in rows.iter().zip([2, 1]) {
            let expected: Vec<Value> = (0..COLUMNS as i64).map(|i| Value::from(x * i)).collect();
            assert!(*row == expected, "columns of x = {x}");
        }
        assert_eq!(rows.len(), 2);
    });
}
