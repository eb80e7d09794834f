//! Goal: functions of the program can be called wherever an expression stands, with values of the
//! types that they declare; what goes wrong in one is the error of the statement; plans never
//! outlive a change of the functions; the limits of a statement hold for what functions do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graven::{Config, Connection, Database, Error, Function, Params, Value};

fn opened(memory: u64) -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    (config.create, config.memory) = (true, memory);
    let db = Database::open(folder.path().join("functions.graven"), config).expect("opened");
    (folder, db)
}

fn rows(connection: &Connection, text: &str) -> Result<Vec<Vec<Value>>, Error> {
    let result = connection.query(text, &Params::new())?;
    result
        .map(|row| row.map(graven::Row::into_values))
        .collect()
}

fn one(connection: &Connection, text: &str) -> Value {
    let mut all = rows(connection, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!((all.len(), all[0].len()), (1, 1), "{text}");
    all.remove(0).remove(0)
}

fn code(connection: &Connection, text: &str) -> String {
    let error = rows(connection, text).expect_err(text);
    error.code().to_owned()
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer(i) => *i,
        other => panic!("{other:?}"),
    }
}

fn double() -> Function {
    Function::new("double", &["INT64"], "INT64", |args| {
        let doubled = integer(&args[0]).checked_mul(2);
        doubled.map(Value::Integer).ok_or("too large".to_owned())
    })
}

#[test]
fn functions_are_called_in_every_expression() {
    let (_folder, db) = opened(16 << 20);
    let connection = db.connect();
    connection.create_function(double()).expect("created");
    rows(
        &connection,
        "UNWIND range(1, 50) AS i CREATE (:P {i: i, twice: DOUBLE(i)})",
    )
    .expect("created");
    for (text, wanted) in [
        ("RETURN double(21)", 42),
        ("RETURN Double(double(2)) + double(1)", 10),
        (
            "MATCH (p:P) WHERE double(p.i) = p.twice RETURN count(*)",
            50,
        ),
        ("MATCH (p:P {i: double(4)}) RETURN p.twice", 16),
        ("MATCH (p:P) RETURN sum(double(p.i))", 2550),
        (
            "MATCH (p:P) WITH double(p.i % 3) AS k, count(*) AS n RETURN max(k + n)",
            21,
        ),
        ("MATCH (p:P) RETURN p.i ORDER BY -double(p.i) LIMIT 1", 50),
        ("RETURN reduce(s = 0, x IN [1, 2] | s + double(x))", 6),
        (
            "RETURN [x IN [1, 2, 3] WHERE double(x) > 2 | double(x)][0]",
            4,
        ),
        (
            "RETURN CASE WHEN double(1) = 2 THEN double(5) ELSE 0 END",
            10,
        ),
        (
            "UNWIND [3] AS x CALL (x) { RETURN double(x) AS y } RETURN y",
            6,
        ),
        (
            "MATCH (p:P) WHERE p.i = 7 SET p.i = double(p.i) RETURN p.i",
            14,
        ),
        (
            "MATCH (p:P) WHERE EXISTS { MATCH (q:P) WHERE q.i = double(p.i) } RETURN min(p.i)",
            1,
        ),
    ] {
        assert_eq!(one(&connection, text), Value::Integer(wanted), "{text}");
    }
    assert_eq!(one(&connection, "RETURN double(null)"), Value::Null);
    let mut transaction = connection.begin().expect("begun");
    let row = transaction.query("RETURN double(3) AS x", &Params::new());
    let row = row.expect("runs").next().expect("a row").expect("a row");
    assert_eq!(row.get_by_name("x"), Some(&Value::Integer(6)));
}

#[test]
fn what_a_statement_gives_is_of_the_declared_types() {
    let (_folder, db) = opened(16 << 20);
    let connection = db.connect();
    connection.create_function(double()).expect("created");
    let show = |args: &[Value]| Ok(Value::from(format!("{:?}", args[0])));
    let shows = |name: &str, kind: &str| {
        let function = Function::new(name, &[kind], "STRING", show).with_nulls();
        connection.create_function(function).expect("created");
    };
    shows("shows_float", "DOUBLE");
    shows("shows_any", "ANY");
    for (text, shown) in [
        ("RETURN shows_float(2)", "Float(2.0)"),
        ("RETURN shows_any(null)", "Null"),
    ] {
        assert_eq!(one(&connection, text), Value::from(shown), "{text}");
    }
    let text = "RETURN shows_any([1, {a: date('2020-01-01')}])";
    let nested = one(&connection, text);
    assert!(
        nested.as_str().is_some_and(|text| text.contains("Date")),
        "{nested:?}"
    );
    // What the text tells is refused before anything runs, the rest when the value is met.
    for (text, wanted) in [
        ("RETURN double('a')", "SyntaxError.InvalidArgumentType"),
        (
            "UNWIND [1, 'a'] AS x RETURN double(x)",
            "TypeError.InvalidArgumentValue",
        ),
        (
            "RETURN double(1, 2)",
            "SyntaxError.InvalidNumberOfArguments",
        ),
        (
            "CREATE (n:P) RETURN shows_any(n)",
            "SyntaxError.InvalidArgumentType",
        ),
        ("CREATE (n:P) RETURN shows_any([n])", "Function.Failed"),
    ] {
        assert_eq!(code(&connection, text), wanted, "{text}");
    }
    let wrong = Function::new("wrong", &[], "INT64", |_| Ok(Value::from("text")));
    connection.create_function(wrong).expect("created");
    let error = rows(&connection, "RETURN wrong()").expect_err("declared otherwise");
    assert_eq!(error.code(), "Function.Failed");
    assert!(error.message().contains("INT64"), "{error}");
}

#[test]
fn fields_of_a_struct_keep_their_names() {
    let (_folder, db) = opened(16 << 20);
    let connection = db.connect();
    let kinds = &["STRUCT(fromX INT64, y DOUBLE)"];
    let same = Function::new("same", kinds, "ANY", |args| Ok(args[0].clone()));
    connection.create_function(same).expect("created");
    assert_eq!(
        one(&connection, "RETURN same({fromX: '7', y: 1}).fromX"),
        Value::Integer(7)
    );
}

#[test]
fn an_error_of_a_function_is_one_of_the_statement() {
    let (_folder, db) = opened(16 << 20);
    let connection = db.connect();
    let fails = Function::new("fails", &["INT64"], "ANY", |args| match integer(&args[0]) {
        3 => Err("three is no number for me".to_owned()),
        other => Ok(Value::Integer(other)),
    });
    connection.create_function(fails).expect("created");
    let text = "UNWIND range(1, 5) AS i CREATE (:P {i: fails(i)})";
    let error = rows(&connection, text).expect_err("it fails at three");
    assert_eq!(error.code(), "Function.Failed");
    assert!(
        error.message().contains("fails() failed: three is no"),
        "{error}"
    );
    assert_eq!(error.position(), Some((1, 40)));
    assert_eq!(
        one(&connection, "MATCH (n) RETURN count(n)"),
        Value::Integer(0)
    );
    let decided = "UNWIND [1, 3] AS i WITH i WHERE i = 3 OR fails(i) = 1 RETURN count(*)";
    assert_eq!(one(&connection, decided), Value::Integer(2));
}

#[test]
fn names_of_the_language_are_refused() {
    let (_folder, db) = opened(16 << 20);
    let connection = db.connect();
    let named = |name: &str| {
        let function = Function::new(name, &[], "ANY", |_| Ok(Value::Null));
        let created = connection.create_function(function);
        created.map_err(|error| error.code().to_owned())
    };
    let own = [
        "count",
        "toUpper",
        "COALESCE",
        "list_len",
        "array_len",
        "list_filter",
        "cast",
        "any",
        "reduce",
        "exists",
        "date_part",
        "shortestPath",
        "linenumber",
        "concat",
        "struct_pack",
        "levenshtein",
        "",
        "a b",
        "1a",
        "a(",
        "graven.concatenate",
    ];
    for name in own {
        assert_eq!(named(name), Err("Function.Invalid".to_owned()), "{name}");
    }
    for name in ["mine", "my.own", "sinh"] {
        assert_eq!(named(name), Ok(()), "{name}");
        assert_eq!(one(&connection, &format!("RETURN {name}()")), Value::Null);
    }
    assert_eq!(named("MINE"), Err("Function.Exists".to_owned()));
    let untyped = Function::new("typed", &["WHOLE"], "ANY", |_| Ok(Value::Null));
    let error = connection
        .create_function(untyped)
        .expect_err("no such type");
    assert_eq!(error.code(), "Function.Invalid");
    let error = connection
        .remove_function("size")
        .expect_err("not of the program");
    assert_eq!(error.code(), "Function.NotFound");
}

#[test]
fn plans_do_not_outlive_functions() {
    let (_folder, db) = opened(16 << 20);
    let (first, second) = (db.connect(), db.connect());
    let gives = |connection: &Connection, number: i64| {
        let function = Function::new("f", &[], "INT64", move |_| Ok(Value::Integer(number)));
        connection.create_function(function).expect("created");
    };
    gives(&first, 1);
    let text = "RETURN f() AS x";
    assert_eq!(one(&first, text), Value::Integer(1));
    assert_eq!(code(&second, text), "SyntaxError.UnknownFunction");
    gives(&second, 2);
    let prepared = first.prepare(text).expect("prepared");
    let run = || {
        let rows = prepared.query(&Params::new())?;
        let rows = rows.map(|row| row.map(graven::Row::into_values));
        rows.collect::<Result<Vec<_>, Error>>()
    };
    for _ in 0..3 {
        assert_eq!(one(&first, text), Value::Integer(1));
        assert_eq!(one(&second, text), Value::Integer(2));
        assert_eq!(run().expect("runs"), [[Value::Integer(1)]]);
    }
    // Clones share them, whatever their settings are.
    let clone = first.clone().with_timeout(Some(Duration::from_secs(60)));
    clone.remove_function("F").expect("removed");
    let error = run().expect_err("it is gone");
    assert_eq!(error.code(), "SyntaxError.UnknownFunction");
    gives(&first, 3);
    assert_eq!(run().expect("runs"), [[Value::Integer(3)]]);
    assert_eq!(one(&clone, text), Value::Integer(3));
    let nested = "CALL apoc.cypher.run('RETURN f() AS x', {}) YIELD value RETURN value.x";
    assert_eq!(one(&first, nested), Value::Integer(3));
}

#[test]
fn a_statement_that_runs_keeps_its_functions_and_lets_them_go() {
    let (_folder, db) = opened(16 << 20);
    let connection = db.connect();
    let held = Arc::new(());
    let other = Arc::clone(&held);
    let same = Function::new("same", &["ANY"], "ANY", move |args| {
        let _ = &other;
        Ok(args[0].clone())
    });
    connection.create_function(same).expect("created");
    let mut result = connection
        .query(
            "UNWIND range(1, 10000) AS i RETURN same(i) AS x",
            &Params::new(),
        )
        .expect("runs");
    assert!(result.next().is_some_and(|row| row.is_ok()));
    connection.remove_function("same").expect("removed");
    assert_eq!(result.filter(|row| row.is_ok()).count(), 9_999);
    assert_eq!(Arc::strong_count(&held), 1, "nothing keeps it");
}

#[test]
fn limits_hold_for_functions() {
    let (_folder, db) = opened(4 << 20);
    let connection = db.connect();
    let long = |_: &[Value]| Ok(Value::from("x".repeat(64 << 10)));
    let text = Function::new("long", &["INT64"], "STRING", long);
    connection.create_function(text).expect("created");
    let all = "RETURN size([i IN range(1, 1000) | long(i)])";
    assert_eq!(code(&connection, all), "Memory.Limit");
    assert_eq!(
        one(
            &connection,
            "UNWIND range(1, 1000) AS i RETURN sum(size(long(i)))"
        ),
        Value::Integer(1000 * (64 << 10))
    );
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let slow = Function::new("slow", &["INT64"], "INT64", move |args| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(5));
        Ok(args[0].clone())
    });
    connection.create_function(slow).expect("created");
    let brief = connection
        .clone()
        .with_timeout(Some(Duration::from_millis(100)));
    let text = "UNWIND range(1, 1000) AS i RETURN sum(slow(i))";
    assert_eq!(code(&brief, text), "Statement.TimedOut");
    assert!(calls.load(Ordering::Relaxed) < 1000);
    let cancel = connection.cancel_handle();
    let stop = Function::new("stop", &["INT64"], "INT64", move |args| {
        cancel.cancel();
        Ok(args[0].clone())
    });
    connection.create_function(stop).expect("created");
    let text = "UNWIND range(1, 1000) AS i RETURN sum(stop(i))";
    assert_eq!(code(&connection, text), "Statement.Cancelled");
}

#[test]
fn functions_are_called_from_all_threads_of_a_statement() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    (config.create, config.threads) = (true, 4);
    config.tuning.force_parallel = true;
    config.tuning.parallel_after = Duration::ZERO;
    let db = Database::open(folder.path().join("threads.graven"), config).expect("opened");
    let connection = db.connect();
    connection.create_function(double()).expect("created");
    rows(
        &connection,
        "UNWIND range(1, 20000) AS i CREATE (:P {i: i})",
    )
    .expect("created");
    assert_eq!(
        one(
            &connection,
            "MATCH (p:P) WHERE double(p.i) % 3 = 0 RETURN sum(double(p.i))"
        ),
        Value::Integer(133_326_666)
    );
}
