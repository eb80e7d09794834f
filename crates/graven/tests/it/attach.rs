//! Goal: handles on one file, of which the first owns it: statements, transactions, errors and
//! cancelling work through any of them, and when the owner closes another takes over without losing
//! anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use graven::{Config, Database, Params, Value};

use crate::graph::small;

struct Folder {
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

fn folder() -> Folder {
    let folder = tempfile::tempdir().expect("a folder");
    Folder {
        path: folder.path().join("shared.graven"),
        _folder: folder,
    }
}

fn open(folder: &Folder) -> Database {
    let mut config: Config = small();
    config.create = true;
    Database::open(&folder.path, config).expect("opened or attached")
}

fn one(db: &Database, query: &str) -> Value {
    let mut result = db.connect().query(query, &Params::new()).expect(query);
    let row = result.next_row().expect(query).expect("a row");
    row.into_values().remove(0)
}

fn run(db: &Database, query: &str) {
    let result = db.connect().query(query, &Params::new()).expect(query);
    result.for_each(|row| drop(row.expect(query)));
}

#[test]
fn the_second_handle_is_attached_and_sees_the_same_graph() {
    let folder = folder();
    let owner = open(&folder);
    let attached = open(&folder);
    assert_eq!(owner.attached_to(), None);
    assert_eq!(attached.attached_to(), Some(std::process::id()));
    run(
        &attached,
        "CREATE (:Person {name: 'Ada'})-[:KNOWS {since: date('2020-01-02')}]->(:Person {name: \
            'Bo'})",
    );
    assert_eq!(
        one(&owner, "MATCH (n:Person) RETURN count(n)"),
        Value::Integer(2)
    );
    let path = "MATCH p = (:Person {name: 'Ada'})-[k]->() RETURN [p, k, k.since, {a: 1.5, b: \
        [true, null]}]";
    assert_eq!(one(&attached, path), one(&owner, path));
    assert_eq!(
        attached.names().expect("names"),
        owner.names().expect("names")
    );
    let (here, there) = (attached.info().expect("told"), owner.info().expect("info"));
    assert_eq!((here.nodes, here.labels), (there.nodes, there.labels));
    assert_eq!(here.reading.queue, there.reading.queue);
    let error = attached.reading().expect_err("the owner's to tell");
    assert_eq!(error.code(), "Database.Attached");
}

#[test]
fn errors_counters_plans_and_parameters_travel() {
    let folder = folder();
    let _owner = open(&folder);
    let attached = open(&folder);
    let connection = attached.connect();
    let error = connection
        .query("RETURN\n  nonsense(1)", &Params::new())
        .expect_err("no such function");
    assert_eq!(error.position(), Some((2, 3)));
    assert!(error.render().contains('^'), "{}", error.render());
    let mut result = connection
        .query(
            "UNWIND range(1, $n) AS i CREATE (:N {i: i})",
            &Params::new().with("n", 3),
        )
        .expect("created");
    assert!(result.next_row().expect("no rows").is_none());
    let summary = result.summary();
    assert_eq!(summary.counters.nodes_created, 3);
    assert!(summary.commit.is_some());
    let explained = connection
        .query("EXPLAIN MATCH (n:N) RETURN n", &Params::new())
        .expect("a plan");
    assert!(explained.is_explain());
    let plan = explained.plan().expect("text");
    assert!(
        plan.contains("NodesScan") || plan.contains("LabelScan"),
        "{plan}"
    );
    let cast = connection.query("RETURN cast(1 AS INT8) AS a, 1 AS b", &Params::new());
    let declared = cast.expect("a row").declared_types();
    assert_eq!(declared, [Some("INT8".to_owned()), None]);
    let profiled = connection.query("PROFILE MATCH (n:N) RETURN n.i", &Params::new());
    let mut profiled = profiled.expect("rows");
    while profiled.next_row().expect("a row").is_some() {}
    assert!(profiled.plan().expect("text").contains("rows"));
    connection
        .prepare("MATCH (n RETURN n")
        .expect_err("a bracket is missing");
}

#[test]
fn long_results_stream_and_may_be_dropped() {
    let folder = folder();
    let _owner = open(&folder);
    let attached = open(&folder);
    let query = "UNWIND range(1, 200000) AS i RETURN i, 'text ' + toString(i) AS t";
    let mut sum = 0;
    for row in attached
        .connect()
        .query(query, &Params::new())
        .expect(query)
    {
        sum += row
            .expect("a row")
            .get(0)
            .and_then(Value::as_integer)
            .expect("a number");
    }
    assert_eq!(sum, 200_000 * 200_001 / 2);
    for _ in 0..20 {
        let mut result = attached
            .connect()
            .query(query, &Params::new())
            .expect(query);
        result.next_row().expect("a row").expect("a row");
    }
    assert_eq!(one(&attached, "RETURN 1"), Value::Integer(1));
}

#[test]
fn transactions_work_from_any_handle_and_conflict() {
    let folder = folder();
    let owner = open(&folder);
    let attached = open(&folder);
    run(&owner, "CREATE (:Account {balance: 10})");
    let (here, there) = (owner.connect(), attached.connect());
    let mut first = there.begin().expect("begun");
    first
        .query(
            "MATCH (a:Account) SET a.balance = a.balance - 1",
            &Params::new(),
        )
        .expect("set");
    let mut second = here.begin().expect("begun");
    second
        .query(
            "MATCH (a:Account) SET a.balance = a.balance - 2",
            &Params::new(),
        )
        .expect("set");
    assert_eq!(
        one(&owner, "MATCH (a:Account) RETURN a.balance"),
        Value::Integer(10)
    );
    first.commit().expect("the first wins");
    let error = second.commit().expect_err("the second conflicts");
    assert!(error.is_retryable(), "{error}");
    let mut third = there.begin().expect("begun");
    third
        .query("MATCH (a:Account) SET a.balance = 0", &Params::new())
        .expect("set");
    third.rollback();
    assert_eq!(
        one(&attached, "MATCH (a:Account) RETURN a.balance"),
        Value::Integer(9)
    );
}

#[test]
fn statements_elsewhere_can_be_cancelled() {
    let folder = folder();
    let _owner = open(&folder);
    let attached = open(&folder);
    let connection = attached.connect();
    let handle = connection.cancel_handle();
    let done = Arc::<AtomicBool>::default();
    let ended = Arc::clone(&done);
    let canceller = std::thread::spawn(move || {
        // The statement may begin late, and forgets what was asked before.
        while !ended.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(100));
            handle.cancel();
        }
    });
    let query = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(*) AS n";
    let result = connection.query(query, &Params::new());
    let error = result
        .and_then(|mut result| result.next_row())
        .expect_err("cancelled");
    assert_eq!(error.code(), "Statement.Cancelled");
    done.store(true, SeqCst);
    canceller.join().expect("joined");
    assert_eq!(one(&attached, "RETURN 1"), Value::Integer(1));
}

#[test]
fn an_attached_handle_takes_over_when_the_owner_closes() {
    let folder = folder();
    let owner = open(&folder);
    let attached = open(&folder);
    let third = open(&folder);
    run(&attached, "CREATE (:N {i: 1})");
    let mut open_transaction = attached.connect().begin().expect("begun");
    open_transaction
        .query("CREATE (:N {i: 2})", &Params::new())
        .expect("created");
    drop(owner);
    let error = open_transaction.commit().expect_err("its owner has gone");
    assert_eq!(error.code(), "Transaction.OwnerLost");
    assert!(error.is_retryable());
    run(&attached, "CREATE (:N {i: 3})");
    assert_eq!(attached.attached_to(), None, "it has taken over");
    run(&third, "CREATE (:N {i: 4})");
    assert_eq!(third.attached_to(), Some(std::process::id()));
    let all = "MATCH (n:N) WITH n.i AS i ORDER BY i RETURN collect(i)";
    assert_eq!(one(&third, all), Value::from(vec![1, 3, 4]));
    drop(attached);
    assert_eq!(one(&third, all), Value::from(vec![1, 3, 4]));
}

#[test]
fn an_attached_process_can_have_a_copy_made() {
    let folder = folder();
    let _owner = open(&folder);
    let attached = open(&folder);
    run(&attached, "UNWIND range(1, 3) AS i CREATE (:N {i: i})");
    let copy = folder.path.with_file_name("copy.graven");
    let bytes = attached.backup(&copy).expect("copied");
    assert_eq!(bytes, std::fs::metadata(&copy).expect("there").len());
    let error = attached.backup(&copy).expect_err("there already");
    assert!(error.message().contains("exists already"), "{error}");
    run(&attached, "CREATE (:N {i: 4})");
    let (_, changed) = attached
        .backup_since(&copy, &copy)
        .expect("brought up to date");
    assert!(changed > 0);
    let restored = Database::open(&copy, small()).expect("opened");
    assert_eq!(
        one(&restored, "MATCH (n:N) RETURN sum(n.i)"),
        Value::Integer(10)
    );
}

#[test]
fn a_reader_may_attach_but_not_write() {
    let folder = folder();
    let owner = open(&folder);
    run(&owner, "CREATE (:N)");
    let mut config = small();
    config.read_only = true;
    let reader = Database::open(&folder.path, config).expect("attached");
    assert_eq!(
        one(&reader, "MATCH (n:N) RETURN count(n)"),
        Value::Integer(1)
    );
    let error = reader
        .connect()
        .query("CREATE (:N)", &Params::new())
        .expect_err("reading only");
    assert_eq!(error.code(), "Database.ReadOnly");
}

#[test]
fn a_process_that_may_not_attach_is_told_that_the_file_is_in_use() {
    let folder = folder();
    let _owner = open(&folder);
    let mut config = small();
    config.attach = false;
    let error = Database::open(&folder.path, config).expect_err("in use");
    assert_eq!(error.code(), "Database.InUse");
}
