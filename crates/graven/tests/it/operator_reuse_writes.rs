//! Goal: a statement that writes and whose operators are kept with its plan does its work whichever
//! threads run it at the same time, whatever ended the run before and whatever the schema has
//! become since.

use std::thread;
use std::time::Duration;

use graven::{Database, Error, Isolation, Params, Transaction, TransactionOptions, Value};

use crate::graph::{Social, social};

/// The first value of the last row.
fn run(db: &Database, text: &str, params: &Params) -> Result<Option<Value>, Error> {
    let mut last = None;
    for row in db.connect().query(text, params)? {
        last = row?.into_values().into_iter().next();
    }
    Ok(last)
}

fn number(db: &Database, text: &str) -> i64 {
    match run(db, text, &Params::new()).expect(text) {
        Some(Value::Integer(number)) => number,
        other => panic!("{text}: {other:?}"),
    }
}

/// More threads than operators are kept for, all of which meet in one node: most attempts are
/// answered by a conflict.
#[test]
fn threads_that_meet_in_one_node() {
    const THREADS: i64 = 12;
    const ROUNDS: i64 = 25;
    let social = social();
    let db = &social.db;
    run(db, "CREATE (:Counter {n: 0, at: 0})", &Params::new()).expect("created");
    thread::scope(|scope| {
        for client in 0..THREADS {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let params = Params::new().with("by", client).with("at", round);
                    let add = "MATCH (c:Counter) SET c.n = c.n + $by, c.at = $at";
                    run(db, add, &params).expect("added");
                    let create = "CREATE (:Trace {by: $by})-[:AT {round: $at}]->(:End {at: $at})";
                    run(db, create, &params).expect("created");
                }
            });
        }
    });
    let clients: i64 = (0..THREADS).sum();
    assert_eq!(number(db, "MATCH (c:Counter) RETURN c.n"), clients * ROUNDS);
    let traces =
        "MATCH (t:Trace)-[a:AT]->(e:End) WHERE a.round = e.at RETURN sum(t.by) + 1000 * count(*)";
    let wanted = clients * ROUNDS + 1000 * THREADS * ROUNDS;
    assert_eq!(number(db, traces), wanted);
}

/// Errors in the middle, a timeout and a parameter that is missing; what they left is nothing.
#[test]
fn runs_that_fail_leave_nothing() {
    let social = social();
    let db = &social.db;
    let slow = "MATCH (p:Person) SET p.sum = reduce(s = 0, x IN range(1, $n) | s + size([y IN \
        range(1, $n) WHERE y > x])) / $by";
    let sums = "MATCH (p:Person) RETURN sum(p.sum)";
    let ask = |n: i64, by: i64| Params::new().with("n", n).with("by", by);
    for round in 1..4 {
        run(db, slow, &ask(3, 1)).expect("set");
        assert_eq!(number(db, sums), 4 * 3, "round {round}");
        run(db, slow, &ask(3, 0)).expect_err("a division by zero");
        let hurried = db.connect().with_timeout(Some(Duration::from_millis(20)));
        let error = hurried.query(slow, &ask(10_000, 1)).expect_err("too slow");
        assert_eq!(error.code(), "Statement.TimedOut");
        run(db, slow, &Params::new().with("n", 3)).expect_err("a parameter is missing");
        assert_eq!(number(db, sums), 4 * 3, "round {round}");
        run(db, slow, &ask(4, 1)).expect("set");
        assert_eq!(number(db, sums), 4 * 6, "round {round}");
    }
}

#[test]
fn indexes_and_constraints_that_come_between() {
    let social = social();
    let db = &social.db;
    let create = |id: i64| {
        let params = Params::new().with("id", id);
        run(db, "CREATE (:Thing {id: $id})", &params)
    };
    let find = "MATCH (t:Thing {id: 2}) RETURN count(*)";
    create(1).expect("created");
    create(2).expect("created");
    run(
        db,
        "CREATE INDEX things FOR (t:Thing) ON (t.id)",
        &Params::new(),
    )
    .expect("indexed");
    create(2).expect("created");
    assert_eq!(number(db, find), 2);
    run(db, "DROP INDEX things", &Params::new()).expect("dropped");
    create(2).expect("created");
    assert_eq!(number(db, find), 3);
    let unique = "CREATE CONSTRAINT FOR (t:Thing) REQUIRE t.id IS UNIQUE";
    run(db, unique, &Params::new()).expect_err("there are three");
    run(db, "MATCH (t:Thing {id: 2}) DELETE t", &Params::new()).expect("deleted");
    run(db, unique, &Params::new()).expect("one of each");
    create(2).expect("created");
    create(2).expect_err("there is one");
    create(3).expect("created");
    assert_eq!(number(db, find), 1);
}

/// Names that only a failed run has brought, and what commits with kept operators have put into the
/// log.
#[test]
fn what_was_committed_is_there_again() {
    let Social { db, path, .. } = &social();
    let create = "CREATE (:Fresh {v: $v, w: 12 / $v})-[:NEW {of: $v}]->(:Fresh:Other)";
    for v in [0, 1, 2, 0, 3, 4] {
        let done = run(db, create, &Params::new().with("v", v));
        assert_eq!(done.is_ok(), v != 0);
    }
    let copy = path.with_file_name("copy.graven");
    for ending in ["", "-wal"] {
        let of = |path: &std::path::Path| format!("{}{ending}", path.display());
        std::fs::copy(of(path), of(&copy)).expect("copied");
    }
    let read = "MATCH (f:Fresh)-[n:NEW]->(:Other) RETURN sum(f.v * n.of) + 100 * sum(f.w)";
    let wanted = 30 + 100 * (12 + 6 + 4 + 3);
    assert_eq!(number(db, read), wanted);
    let again = Database::open(&copy, crate::graph::small()).expect("recovered");
    assert_eq!(number(&again, read), wanted);
}

/// A name that a statement brings about by an expression is known to its next run, and to what it
/// removes.
#[test]
fn names_that_come_while_a_statement_runs() {
    let social = social();
    let db = &social.db;
    let texts = [
        (
            "MATCH (a:P) REMOVE a.baz WITH a, properties(a) AS before SET a['b' + 'az'] = 1 RETURN \
                size(keys(before))",
            [1, 1, 1],
        ),
        (
            "MATCH (a:P) SET a['zi' + 'g'] = 1 REMOVE a.zig RETURN size(keys(a))",
            [2, 2, 2],
        ),
        (
            "MATCH (a:P) SET a += {late: 1} REMOVE a.late, a.baz RETURN size(keys(a))",
            [1, 1, 1],
        ),
    ];
    run(db, "CREATE (:P {id: 1})", &Params::new()).expect("created");
    for (text, wanted) in texts {
        assert_eq!([0; 3].map(|_| number(db, text)), wanted, "{text}");
    }
}

/// Serialisable transactions are told of what was not there: of two that each look for what the
/// other creates, one is refused.
#[test]
fn what_is_not_there_is_read_too() {
    let social = social();
    let db = &social.db;
    run(db, "CREATE (:W {id: 1}), (:W {id: 2})", &Params::new()).expect("created");
    let crossed = [
        (
            "MATCH (:W {id: 1})-[:Here]->() RETURN count(*)",
            "MATCH (:W {id: 2})-[:There]->() RETURN count(*)",
            "MATCH (b:W {id: 2}) CREATE (b)-[:There]->(b)",
            "MATCH (a:W {id: 1}) CREATE (a)-[:Here]->(a)",
        ),
        (
            "MATCH (a:W {id: 1}) RETURN a.near",
            "MATCH (b:W {id: 2}) RETURN b.far",
            "MATCH (b:W {id: 2}) SET b.far = 1",
            "MATCH (a:W {id: 1}) SET a.near = 1",
        ),
    ];
    for (reads_one, reads_two, writes_one, writes_two) in crossed {
        // The second time the names are known, and the third what they name is gone again.
        for round in 0..3 {
            let mut options = TransactionOptions::default();
            options.isolation = Isolation::Serializable;
            let begin = || db.connect().with_options(options.clone()).begin();
            let (mut one, mut two) = (begin().expect("begun"), begin().expect("begun"));
            let ask = |transaction: &mut Transaction, text: &str| {
                let rows = transaction.query(text, &Params::new()).expect(text);
                rows.for_each(|row| drop(row.expect(text)));
            };
            ask(&mut one, reads_one);
            ask(&mut two, reads_two);
            ask(&mut one, writes_one);
            ask(&mut two, writes_two);
            one.commit().expect("the first one");
            let error = two
                .commit()
                .expect_err("the second has read what the first wrote");
            assert!(error.is_retryable(), "{reads_one}, round {round}: {error}");
            if round == 1 {
                let gone = "MATCH (w:W) OPTIONAL MATCH (w)-[r]->() DELETE r SET w.near = null, \
                    w.far = null";
                run(db, gone, &Params::new()).expect("deleted");
            }
        }
    }
}
