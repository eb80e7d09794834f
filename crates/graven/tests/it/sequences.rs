//! Goal: sequences outlive the process, are part of transactions, backups and exports, and two
//! transactions never take the same number.

use graven::{Config, Connection, Database, Params, Value};

fn open(path: &std::path::Path) -> Database {
    let mut config = Config::default();
    config.create = true;
    Database::open(path, config).unwrap()
}

fn number(connection: &Connection, text: &str) -> Result<i64, String> {
    let mut rows = connection
        .query(text, &Params::new())
        .map_err(|it| it.to_string())?;
    let row = rows.next_row().map_err(|it| it.to_string())?.unwrap();
    match row.values() {
        [Value::Integer(number)] => Ok(*number),
        other => panic!("{text}: {other:?}"),
    }
}

fn done(connection: &Connection, text: &str) {
    for row in connection.query(text, &Params::new()).expect(text) {
        row.expect(text);
    }
}

#[test]
fn a_sequence_outlives_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.graven");
    let next = "RETURN nextval('s') AS x";
    {
        let db = open(&path);
        let connection = db.connect();
        done(&connection, "CREATE SEQUENCE s START 5");
        assert_eq!(number(&connection, next), Ok(5));
        // As a crash would leave it: what was committed is in the log.
        let crashed = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(dir.path()).unwrap() {
            let file = file.unwrap();
            // Not the socket of the owner.
            if !file.file_type().unwrap().is_file() {
                continue;
            }
            std::fs::copy(file.path(), crashed.path().join(file.file_name())).unwrap();
        }
        let db = open(&crashed.path().join("a.graven"));
        assert_eq!(number(&db.connect(), "RETURN currval('s') AS x"), Ok(5));
        assert_eq!(number(&db.connect(), next), Ok(6));
    }
    let db = open(&path);
    assert_eq!(number(&db.connect(), "RETURN currval('s') AS x"), Ok(5));
    done(&db.connect(), "CHECKPOINT");
    assert_eq!(number(&db.connect(), next), Ok(6));
    drop(db);
    let db = open(&path);
    assert_eq!(number(&db.connect(), next), Ok(7));
}

#[test]
fn a_number_that_is_not_committed_is_free_again() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("a.graven"));
    let connection = db.connect();
    done(&connection, "CREATE SEQUENCE s");
    let mut transaction = connection.begin().unwrap();
    let seen = |transaction: &mut graven::Transaction, text: &str| {
        let mut rows = transaction.query(text, &Params::new()).unwrap();
        rows.next_row().unwrap().unwrap().values().to_vec()
    };
    let next = "RETURN nextval('s') AS x";
    assert_eq!(seen(&mut transaction, next), [Value::Integer(1)]);
    assert_eq!(seen(&mut transaction, next), [Value::Integer(2)]);
    let current = "RETURN currval('s') AS x";
    assert_eq!(seen(&mut transaction, current), [Value::Integer(2)]);
    let listed = "CALL graven.sequences() YIELD lastValue";
    assert_eq!(seen(&mut transaction, listed), [Value::Integer(2)]);
    transaction.rollback();
    assert!(number(&connection, current).is_err());
    assert_eq!(number(&connection, next), Ok(1));
}

#[test]
fn no_number_is_taken_twice() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("a.graven"));
    done(&db.connect(), "CREATE SEQUENCE s");
    let take = || {
        let connection = db.connect();
        let take = |_| number(&connection, "RETURN nextval('s') AS x").unwrap();
        (0..50).map(take).collect::<Vec<i64>>()
    };
    let mut taken = std::thread::scope(|scope| {
        let threads = [scope.spawn(take), scope.spawn(take)];
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect::<Vec<_>>()
    });
    taken.sort_unstable();
    assert_eq!(taken, (1..=100).collect::<Vec<i64>>());
}

/// Goal: of two transactions only those meet that change the same sequence.
#[test]
fn sequences_are_in_no_other_transactions_way() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("a.graven"));
    let (one, other) = (db.connect(), db.connect());
    done(&one, "CREATE SEQUENCE s");
    done(&one, "CREATE SEQUENCE t START 10");
    let run = |transaction: &mut graven::Transaction, text: &str| {
        for row in transaction.query(text, &Params::new()).unwrap() {
            row.unwrap();
        }
    };
    let mut writes = one.begin().unwrap();
    run(&mut writes, "CREATE (:A)");
    assert_eq!(number(&other, "RETURN nextval('s') AS x"), Ok(1));
    writes.commit().unwrap();
    let mut takes = one.begin().unwrap();
    run(&mut takes, "RETURN nextval('s') AS x");
    done(&other, "CREATE (:B)");
    assert_eq!(number(&other, "RETURN nextval('t') AS x"), Ok(10));
    takes.commit().unwrap();
    assert_eq!(number(&other, "RETURN currval('s') AS x"), Ok(2));
    assert_eq!(number(&other, "RETURN currval('t') AS x"), Ok(10));
    let mut late = one.begin().unwrap();
    run(&mut late, "RETURN nextval('s') AS x");
    assert_eq!(number(&other, "RETURN nextval('s') AS x"), Ok(3));
    let refused = late.commit().unwrap_err();
    assert_eq!(refused.code(), "Transaction.Conflict", "{refused}");
    assert!(refused.to_string().contains("sequence `s`"), "{refused}");
    assert_eq!(number(&one, "RETURN nextval('s') AS x"), Ok(4));
    drop(db);
    drop((one, other));
    let db = open(&dir.path().join("a.graven"));
    assert_eq!(number(&db.connect(), "RETURN currval('s') AS x"), Ok(4));
    assert_eq!(number(&db.connect(), "RETURN currval('t') AS x"), Ok(10));
}

#[test]
fn an_export_takes_sequences_along() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("a.graven"));
    let connection = db.connect();
    done(&connection, "CREATE SEQUENCE `a b` INCREMENT 2");
    done(&connection, "CREATE SEQUENCE unused START 3 CYCLE");
    done(
        &connection,
        "CREATE NODE TABLE T(id INT64 DEFAULT nextval('a b'), PRIMARY KEY(id))",
    );
    done(&connection, "UNWIND range(1, 3) AS i CREATE (:T)");
    let folder = dir.path().join("out");
    done(
        &connection,
        &format!("EXPORT DATABASE '{}'", folder.display()),
    );
    let copy = open(&dir.path().join("b.graven"));
    let connection = copy.connect();
    done(
        &connection,
        &format!("IMPORT DATABASE '{}'", folder.display()),
    );
    let sum = "MATCH (t:T) RETURN sum(t.id) AS x";
    assert_eq!(number(&connection, sum), Ok(9));
    assert_eq!(number(&connection, "RETURN nextval('a b') AS x"), Ok(7));
    assert_eq!(number(&connection, "RETURN nextval('unused') AS x"), Ok(3));
}

#[test]
fn a_sequence_is_advanced_only_where_writing_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.graven");
    let db = open(&path);
    done(&db.connect(), "CREATE SEQUENCE s");
    drop(db);
    let mut config = Config::default();
    config.read_only = true;
    let db = Database::open(&path, config).unwrap();
    let error = number(&db.connect(), "RETURN nextval('s') AS x").unwrap_err();
    assert!(error.contains("opened for reading only"), "{error}");
}
