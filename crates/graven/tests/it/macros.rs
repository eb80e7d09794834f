//! Goal: a call of a macro means the macro that is there when the statement runs: whatever was
//! prepared before, whatever another transaction has not committed, whatever functions the program
//! adds.

use graven::{Config, Connection, Database, Error, Function, Params, Prepared, Value};

fn opened() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let db = Database::open(folder.path().join("macros.graven"), config).expect("opened");
    (folder, db)
}

fn first(rows: Result<graven::QueryResult, Error>) -> Result<Value, String> {
    let row = rows.and_then(|mut rows| rows.next_row());
    let row = row.map_err(|error| error.code().to_owned())?;
    Ok(row.map_or(Value::Null, |row| row.into_values().remove(0)))
}

fn one(connection: &Connection, text: &str) -> Result<Value, String> {
    first(connection.query(text, &Params::new()))
}

fn done(connection: &Connection, text: &str) {
    let ran = connection.query(text, &Params::new());
    let ran = ran.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    ran.unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn number(number: i64) -> Result<Value, String> {
    Ok(Value::Integer(number))
}

fn unknown() -> Result<Value, String> {
    Err("SyntaxError.UnknownFunction".to_owned())
}

#[test]
fn a_prepared_statement_calls_the_macro_that_is_there() {
    let (_folder, db) = opened();
    let (connection, other) = (db.connect(), db.connect());
    done(&connection, "CREATE MACRO inner(x) AS x + 1");
    done(&connection, "CREATE MACRO outer(x, y := 2) AS inner(x) * y");
    let prepare = |text: &str| connection.prepare(text).expect(text);
    let direct = prepare("RETURN inner($n) AS x");
    let through = prepare("RETURN outer($n) AS x");
    let within = prepare("UNWIND [$n] AS n CALL (n) { RETURN inner(n) AS x } RETURN x");
    let run = |prepared: &Prepared| first(prepared.query(&Params::new().with("n", 10)));
    for _ in 0..3 {
        assert_eq!(run(&direct), number(11));
        assert_eq!(run(&through), number(22));
        assert_eq!(run(&within), number(11));
    }
    done(&other, "DROP MACRO inner");
    for prepared in [&direct, &through, &within] {
        assert_eq!(run(prepared), unknown());
    }
    done(&other, "CREATE MACRO inner(x) AS x * 100");
    assert_eq!(run(&direct), number(1000));
    assert_eq!(run(&through), number(2000));
    assert_eq!(run(&within), number(1000));
    done(&other, "DROP MACRO outer");
    done(&other, "CREATE MACRO outer(x) AS x");
    assert_eq!(run(&through), number(10));
    done(&other, "DROP MACRO inner");
    done(&other, "CREATE MACRO inner(x, y) AS x + y");
    let error = Err("SyntaxError.InvalidNumberOfArguments".to_owned());
    assert_eq!(run(&direct), error);
}

#[test]
fn rows_that_are_being_read_keep_their_macro() {
    let (_folder, db) = opened();
    let connection = db.connect();
    done(&connection, "CREATE MACRO m(x) AS x + 1");
    let text = "UNWIND range(1, 10000) AS i RETURN m(i) AS x";
    let mut rows = connection.query(text, &Params::new()).expect("runs");
    assert!(rows.next_row().expect("a row").is_some());
    done(&connection, "DROP MACRO m");
    done(&connection, "CREATE MACRO m(x) AS 1 / 0");
    assert_eq!(rows.filter(|row| row.is_ok()).count(), 9_999);
}

#[test]
fn a_macro_is_part_of_its_transaction() {
    let (_folder, db) = opened();
    let (connection, other) = (db.connect(), db.connect());
    done(&connection, "CREATE MACRO old() AS 1");
    let (made, old) = ("RETURN made() AS x", "RETURN old() AS x");
    assert_eq!(one(&connection, old), number(1));
    for commits in [false, true] {
        let mut transaction = connection.begin().expect("begun");
        let mut run = |text: &str| first(transaction.query(text, &Params::new()));
        assert_eq!(run("CREATE MACRO made() AS 2"), Ok(Value::Null));
        assert_eq!(run("DROP MACRO old"), Ok(Value::Null));
        assert_eq!(run("CREATE MACRO old() AS made() + 1"), Ok(Value::Null));
        assert_eq!(run(made), number(2), "the transaction sees it");
        assert_eq!(run(old), number(3), "the transaction sees it");
        for connection in [&connection, &other] {
            assert_eq!(one(connection, made), unknown(), "it is not committed");
            assert_eq!(one(connection, old), number(1), "it is not committed");
        }
        match commits {
            true => drop(transaction.commit().expect("committed")),
            false => transaction.rollback(),
        }
        for connection in [&connection, &other] {
            let (made, old) = (one(connection, made), one(connection, old));
            match commits {
                true => assert_eq!((made, old), (number(2), number(3))),
                false => assert_eq!((made, old), (unknown(), number(1))),
            }
        }
    }
}

#[test]
fn a_function_of_the_program_comes_before_a_macro() {
    let (_folder, db) = opened();
    let (connection, other) = (db.connect(), db.connect());
    let gives = |number: i64| {
        let function = Function::new("f", &[], "INT64", move |_| Ok(Value::Integer(number)));
        connection.create_function(function).expect("created");
    };
    let text = "RETURN f() AS x";
    done(&connection, "CREATE MACRO f() AS 1");
    done(&connection, "CREATE MACRO calls() AS f() * 10");
    let prepared = connection.prepare(text).expect("prepared");
    let through = connection.prepare("RETURN calls() AS x").expect("prepared");
    let run = |prepared: &Prepared| first(prepared.query(&Params::new()));
    for round in 2..5 {
        let all = |own: i64, of_other: i64| {
            assert_eq!(one(&connection, text), number(own));
            assert_eq!(run(&prepared), number(own));
            assert_eq!(run(&through), number(own * 10));
            assert_eq!(one(&other, text), number(of_other));
        };
        all(1, 1);
        gives(round);
        all(round, 1);
        done(&connection, "DROP MACRO f");
        assert_eq!(run(&prepared), number(round));
        assert_eq!(one(&other, text), unknown());
        done(&connection, "CREATE MACRO f() AS 1");
        all(round, 1);
        connection.remove_function("f").expect("removed");
        all(1, 1);
    }
}
