//! Goal: subqueries in transactions commit batch by batch, keep what was committed when a later
//! batch fails, report what became of each batch, stay inside the memory budget, and are refused
//! where they cannot stand.

use std::fmt::Write as _;

use graven::{Config, Connection, Database, Params, Value};

fn open(folder: &tempfile::TempDir, memory: u64) -> Database {
    let mut config = Config::default();
    config.memory = memory;
    config.create = true;
    Database::open(folder.path().join("test.graven"), config).expect("opens")
}

fn empty() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("folder");
    let db = open(&folder, 32 << 20);
    (folder, db)
}

fn rows(connection: &Connection, text: &str) -> Vec<Vec<Value>> {
    let result = connection.query(text, &Params::new());
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    result.map(|row| row.expect("row").into_values()).collect()
}

fn number(connection: &Connection, text: &str) -> i64 {
    rows(connection, text)[0][0].as_integer().expect("a number")
}

fn fails(connection: &Connection, text: &str) -> String {
    let error = connection.query(text, &Params::new()).err();
    let error = error.unwrap_or_else(|| panic!("{text} works"));
    error.code().to_owned()
}

#[test]
fn batches_are_committed_one_after_the_other() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let text =
        "UNWIND range(1, 2500) AS i CALL (i) { CREATE (:A {i: i}) } IN TRANSACTIONS OF 100 ROWS";
    let result = connection.query(text, &Params::new()).expect("runs");
    let summary = result.summary();
    assert_eq!(summary.counters.nodes_created, 2500);
    assert!(
        summary.commit.is_some_and(|c| c.timestamp >= 25),
        "{summary:?}"
    );
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 2500);
    // What is above sees all that was committed, and what the subquery returned.
    let text = "UNWIND range(1, 50) AS i CALL (i) { CREATE (b:B {i: i}) RETURN b } IN TRANSACTIONS \
        OF 7 ROWS \
                WITH b WHERE b.i % 2 = 0 MATCH (all:B) RETURN count(DISTINCT b) AS even, \
                count(DISTINCT all) AS all";
    let both = [Value::Integer(25), Value::Integer(50)];
    assert_eq!(rows(&connection, text), [both]);
    // Two of them, and one without input, importing by WITH, concurrent ones.
    let text = "UNWIND range(1, 10) AS i CALL { WITH i CREATE (c:C {i: i}) RETURN c } IN 4 \
        CONCURRENT TRANSACTIONS OF 3 ROWS \
                CALL (c) { SET c.j = c.i + 1 RETURN c.j AS j } IN TRANSACTIONS OF 2 ROWS RETURN \
                sum(j)";
    assert_eq!(rows(&connection, text), [[Value::Integer(65)]]);
    rows(&connection, "CALL { CREATE (:D) } IN TRANSACTIONS");
    assert_eq!(number(&connection, "MATCH (d:D) RETURN count(d)"), 1);
    // The rows are those of the state before: what batches create is not met again.
    rows(
        &connection,
        "MATCH (a:A) CALL (a) { CREATE (:A {of: a.i}) } IN TRANSACTIONS OF 10 ROWS",
    );
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 5000);
    rows(
        &connection,
        "MATCH (a:A) CALL (a) { DETACH DELETE a } IN TRANSACTIONS OF 512 ROWS",
    );
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 0);
}

#[test]
fn what_was_committed_stays_when_a_batch_fails() {
    let (folder, db) = empty();
    let connection = db.connect();
    let part = "UNWIND range(1, 10) AS i CALL (i) { CREATE (a:A {i: i}) WITH a, 1 / (6 - i) AS x \
        SET a.x = x RETURN x }";
    assert_eq!(
        fails(
            &connection,
            &format!("{part} IN TRANSACTIONS OF 2 ROWS RETURN x")
        ),
        "ArithmeticError.InvalidValue"
    );
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 4);
    drop((connection, db));
    let db = open(&folder, 32 << 20);
    let connection = db.connect();
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 4);
    rows(&connection, "MATCH (a) DELETE a");

    let asked = "RETURN i, x, s.started AS started, s.committed AS committed, s.errorMessage IS \
        NULL AS fine, \
                 s.transactionId IS NULL AS unnamed";
    // Each batch has its own id, also if it failed; one that was not begun has none.
    let text = "UNWIND range(1, 6) AS i CALL (i) { CREATE (:F {x: 1 / (i % 2)}) } IN TRANSACTIONS \
        OF 1 ROW \
                ON ERROR CONTINUE REPORT STATUS AS s RETURN count(DISTINCT s.transactionId)";
    assert_eq!(number(&connection, text), 6);
    rows(&connection, "MATCH (f:F) DELETE f");
    let truth = |rows: Vec<Vec<Value>>| {
        rows.into_iter()
            .map(|row| {
                row.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect::<Vec<_>>()
    };
    let text =
        format!("{part} IN TRANSACTIONS OF 2 ROWS ON ERROR CONTINUE REPORT STATUS AS s {asked}");
    let told = truth(rows(&connection, &text));
    assert_eq!(told[4], "5 null true false false false");
    assert_eq!(told[5], "6 null true false false false");
    assert_eq!(told[6], "7 -1 true true true false");
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 8);
    rows(&connection, "MATCH (a) DELETE a");
    let text =
        format!("{part} IN TRANSACTIONS OF 2 ROWS REPORT STATUS AS s ON ERROR BREAK {asked}");
    let told = truth(rows(&connection, &text));
    assert_eq!(told[3], "4 0 true true true false");
    assert_eq!(told[4], "5 null true false false false");
    assert_eq!(told[9], "10 null false false true true");
    assert_eq!(number(&connection, "MATCH (a:A) RETURN count(a)"), 4);
}

#[test]
fn they_are_refused_where_they_cannot_stand() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let refused = [
        "CALL { CALL { CREATE (:A) } IN TRANSACTIONS } IN TRANSACTIONS",
        "CALL { CALL { CREATE (:A) } IN TRANSACTIONS }",
        "CREATE (a:A) WITH a CALL (a) { SET a.x = 1 } IN TRANSACTIONS",
        "CALL { CREATE (a:A) RETURN 1 AS a } IN TRANSACTIONS RETURN a UNION RETURN 2 AS a",
        "RETURN EXISTS { CALL { MATCH (n) RETURN n } IN TRANSACTIONS RETURN n }",
    ];
    for text in refused {
        assert_eq!(
            fails(&connection, text),
            "SyntaxError.InvalidClauseComposition",
            "{text}"
        );
    }
    let call = "UNWIND [1] AS i CALL (i) { CREATE (:A) } IN TRANSACTIONS";
    for (end, code) in [
        (" OF 0 ROWS", "SyntaxError.NegativeIntegerArgument"),
        (" OF -1 ROWS", "SyntaxError.NegativeIntegerArgument"),
        (" OF 'x' ROWS", "SyntaxError.InvalidArgumentType"),
        (" OF i ROWS", "SyntaxError.NonConstantExpression"),
        (
            " OF COUNT { (:A) } ROWS",
            "SyntaxError.NonConstantExpression",
        ),
        (
            " ON ERROR RETRY FOR COUNT { (:A) } SECONDS THEN FAIL",
            "SyntaxError.NonConstantExpression",
        ),
        (
            " REPORT STATUS AS s RETURN s",
            "SyntaxError.UnexpectedSyntax",
        ),
        (
            " ON ERROR BREAK REPORT STATUS AS i RETURN i",
            "SyntaxError.VariableAlreadyBound",
        ),
        (" OF 1 ROW OF 2 ROWS", "SyntaxError.UnexpectedSyntax"),
    ] {
        assert_eq!(fails(&connection, &format!("{call}{end}")), code, "{end}");
    }
    let mut transaction = connection.begin().expect("begins");
    let error = transaction
        .query(call, &Params::new())
        .expect_err("refused");
    assert_eq!(error.code(), "Transaction.ImplicitOnly");
    transaction.rollback();
    assert_eq!(number(&connection, "MATCH (n) RETURN count(n)"), 0);
}

#[test]
fn a_file_larger_than_the_memory_is_loaded_in_batches() {
    const LINES: usize = 60_000;
    let folder = tempfile::tempdir().expect("folder");
    let db = open(&folder, 12 << 20);
    let connection = db.connect();
    let mut text = String::from("id,name\n");
    for line in 0..LINES {
        let _ = writeln!(
            text,
            "{line},\"a name that takes some room, number {line} of many others like it\""
        );
    }
    let file = folder.path().join("lines.csv");
    std::fs::write(&file, text).expect("writes");
    let params = Params::new()
        .with("url", format!("file://{}", file.display()))
        .with("n", 2000);
    let load = "LOAD CSV WITH HEADERS FROM $url AS line CALL (line) { CREATE (:P {id: \
        toInteger(line.id), name: line.name}) } \
                IN TRANSACTIONS OF $n ROWS";
    let result = connection
        .query(load, &params)
        .unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(result.summary().counters.nodes_created, LINES as u64);
    drop(result);
    assert_eq!(
        number(&connection, "MATCH (p:P) RETURN count(DISTINCT p.id)"),
        LINES as i64
    );
}

#[test]
fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let of = |end: &str| {
        format!(
            "UNWIND [1, 0, 2] AS x CALL (x) {{ CREATE (:R {{x: 4 / x}}) }} IN TRANSACTIONS OF 1 \
                ROW {end}"
        )
    };
    let status = "REPORT STATUS AS s RETURN s.committed AS c, s.started AS t";
    let flags = |pairs: [(bool, bool); 3]| -> Vec<Vec<Value>> {
        let row = |(c, t): &(bool, bool)| vec![Value::Boolean(*c), Value::Boolean(*t)];
        pairs.iter().map(row).collect()
    };
    // A division by zero stays one, however long there is time.
    for time in ["", "FOR 3600 SECONDS ", "FOR 0.5 + 1 SEC "] {
        let text = of(&format!("ON ERROR RETRY {time}THEN CONTINUE {status}"));
        let found = rows(&connection, &text);
        assert_eq!(
            found,
            flags([(true, true), (false, true), (true, true)]),
            "{text}"
        );
    }
    let text = of(&format!("ON ERROR RETRY THEN BREAK {status}"));
    let found = rows(&connection, &text);
    assert_eq!(found, flags([(true, true), (false, true), (false, false)]));
    for end in ["ON ERROR RETRY", "ON ERROR RETRY FOR 1 SECOND THEN FAIL"] {
        assert_eq!(
            fails(&connection, &of(end)),
            "ArithmeticError.InvalidValue",
            "{end}"
        );
    }
    for end in [
        "FOR -1 SECONDS",
        "FOR 'a' SECONDS",
        "FOR x SECONDS",
        "FOR 1 MINUTE",
    ] {
        let code = fails(
            &connection,
            &of(&format!("ON ERROR RETRY {end} THEN CONTINUE")),
        );
        assert!(
            code.starts_with("ArgumentError") || code.starts_with("SyntaxError"),
            "{end}: {code}"
        );
    }
    // A time that is none is pointed at, also where it is a literal.
    for time in ["-1", "null", "1e400"] {
        let text = of(&format!("ON ERROR RETRY FOR {time} SECONDS THEN CONTINUE"));
        let error = connection
            .query(&text, &Params::new())
            .expect_err("no time");
        let column = text.find(time).expect("there") + 1;
        let place = Some((1, u32::try_from(column).expect("short")));
        assert_eq!(error.position(), place, "{text}: {error}");
    }
    // What does not fit now might later: it is tried until the time is up, and the next batch goes
    // on.
    let text = "UNWIND [1, 30000000, 2] AS n CALL (n) { WITH collect(n)[0] AS m CREATE (:M {x: \
        reduce(s = 'ab', i IN range(1, m) | s + s)}) } \
                IN TRANSACTIONS OF 1 ROW ON ERROR RETRY FOR 0.01 SECONDS THEN CONTINUE REPORT \
                STATUS AS s RETURN s.committed";
    let found = rows(&connection, text);
    let wanted = [true, false, true].map(|it| vec![Value::Boolean(it)]);
    assert_eq!(found, wanted);
}

/// A column that repeats a variable of the row is one of the subquery's, which is null where the
/// subquery failed; one that is not read is not asked for.
#[test]
fn a_variable_of_the_row_can_be_returned() {
    let (_folder, db) = empty();
    let connection = db.connect();
    let call = "UNWIND [1, 0] AS v CALL (v) { RETURN v AS w, 1 / v AS z } \
        IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE";
    let told = rows(&connection, &format!("{call} RETURN v, w, z"));
    let one = Value::Integer(1);
    assert_eq!(told[0], [one.clone(), one.clone(), one.clone()]);
    assert_eq!(told[1], [Value::Integer(0), Value::Null, Value::Null]);
    let told = rows(&connection, &format!("{call} RETURN 1 AS one"));
    assert_eq!(told, [[one.clone()], [one]]);
}
