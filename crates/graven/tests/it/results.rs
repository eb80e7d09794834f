//! Goal: values leave complete and owned, results stream and can be dropped or cancelled, summaries
//! count.

use std::sync::Arc;

use graven::{Params, Value};

use crate::graph::social;

#[test]
fn nodes_relationships_and_paths_are_complete() {
    let social = social();
    let rows = social
        .rows("MATCH p = (a:Person {name: 'Ada'})-[r:KNOWS]->(b {name: 'Bo'}) RETURN a, r, p");
    let [row] = rows.as_slice() else {
        panic!("one row")
    };
    let Some(Value::Node(ada)) = row.get_by_name("a") else {
        panic!("a node")
    };
    assert_eq!(ada.labels, [Arc::from("Person")]);
    assert_eq!(ada.properties.get("id"), Some(&Value::Integer(1)));
    let Some(Value::Relationship(knows)) = row.get_by_name("r") else {
        panic!("a relationship")
    };
    assert_eq!(&*knows.rel_type, "KNOWS");
    assert_eq!(knows.start, ada.id);
    assert_eq!(knows.properties.get("since"), Some(&Value::Integer(2001)));
    let Some(Value::Path(path)) = row.get_by_name("p") else {
        panic!("a path")
    };
    assert_eq!(path.nodes.len(), 2);
    assert_eq!(path.relationships[0].id, knows.id);
    assert!(
        Value::Path(Arc::clone(path))
            .to_string()
            .contains("-[:KNOWS {since: 2001}]->")
    );
}

#[test]
fn values_outlive_their_database() {
    let value = {
        let social = social();
        social.value("MATCH (m:Message) RETURN m")
    };
    let Value::Node(message) = value else {
        panic!("a node")
    };
    assert_eq!(message.labels.len(), 2);
    assert_eq!(message.properties.get("length"), Some(&Value::Float(2.0)));
}

#[test]
fn parameters_of_every_kind_come_back() {
    let social = social();
    let list = Value::from(vec![Value::Null, Value::from(true), Value::from("x")]);
    let params = Params::new()
        .with("a", 1)
        .with("b", 1.5)
        .with("c", "text")
        .with("d", list.clone());
    let rows = social.rows_with("RETURN $a, $b, $c, $d, {k: $a}", &params);
    assert_eq!(rows[0].get(0), Some(&Value::Integer(1)));
    assert_eq!(rows[0].get(1), Some(&Value::Float(1.5)));
    assert_eq!(rows[0].get(2), Some(&Value::from("text")));
    assert_eq!(rows[0].get(3), Some(&list));
    assert!(
        matches!(rows[0].get(4), Some(Value::Map(m)) if m.get("k") == Some(&Value::Integer(1)))
    );
}

#[test]
fn results_stream_and_may_be_dropped() {
    let social = social();
    let connection = social.db.connect();
    // A hundred million rows: only a result that streams gives its first ones now.
    let text = "UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN a, b";
    let mut result = connection.query(text, &Params::new()).expect("runs");
    assert_eq!(result.columns(), ["a", "b"]);
    for _ in 0..5000 {
        assert!(result.next_row().expect("a row").is_some());
    }
    assert_eq!(result.summary().rows, 5000);
    drop(result);
    assert_eq!(social.rows("RETURN 1").len(), 1);
}

#[test]
fn a_statement_can_be_cancelled_from_another_thread() {
    let social = social();
    let connection = social.db.connect();
    let handle = connection.cancel_handle();
    let text = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(*)";
    let mut result = connection.query(text, &Params::new()).expect("starts");
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(move || result.next_row());
        while !running.is_finished() {
            handle.cancel();
            std::thread::yield_now();
        }
        running.join().expect("no panic")
    });
    assert_eq!(
        outcome.expect_err("cancelled").code(),
        "Statement.Cancelled"
    );
    let next = connection
        .query("RETURN 1", &Params::new())
        .expect("runs")
        .next_row();
    assert!(next.expect("not cancelled").is_some());
}

#[test]
fn prepared_statements_run_again_with_other_values() {
    let social = social();
    let prepared = social
        .db
        .connect()
        .prepare("MATCH (p:Person {id: $id}) RETURN p.name")
        .expect("valid");
    for (id, name) in [(1, "Ada"), (4, "Di"), (1, "Ada")] {
        let mut result = prepared.query(&Params::new().with("id", id)).expect("runs");
        let row = result.next_row().expect("reads").expect("a row");
        assert_eq!(row.get(0).and_then(Value::as_str), Some(name));
    }
    assert!(social.db.connect().prepare("MATCH (p RETURN p").is_err());
}

#[test]
fn explain_shows_the_plan_and_profile_what_it_did() {
    let social = social();
    let question = "MATCH (p:Person {id: 1})-[:KNOWS*1..3]-(f:Person) RETURN count(DISTINCT f)";
    let explained = social
        .db
        .connect()
        .query(&format!("EXPLAIN {question}"), &Params::new());
    let mut explained = explained.expect("valid");
    assert!(explained.is_explain() && explained.next_row().expect("no rows").is_none());
    let plan = explained.plan().expect("a plan");
    assert!(
        plan.contains("IndexSeek") && plan.contains("-[:KNOWS*1..3]-"),
        "{plan}"
    );

    let profiled = social
        .db
        .connect()
        .query(&format!("PROFILE {question}"), &Params::new());
    let mut profiled = profiled.expect("valid");
    assert_eq!(
        profiled
            .next_row()
            .expect("runs")
            .and_then(|r| r.get(0).cloned()),
        Some(Value::Integer(4))
    );
    assert!(profiled.next_row().expect("one row").is_none());
    let plan = profiled.plan().expect("a profile");
    assert!(plan.contains("hits") && plan.lines().count() > 3, "{plan}");
    assert!(profiled.summary().pages.total().accesses() > 0);
    assert!(
        social
            .db
            .connect()
            .query(question, &Params::new())
            .expect("runs")
            .plan()
            .is_none()
    );
}

#[test]
fn changed_users_are_counted_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = graven::Config::default();
    config.create = true;
    let db = graven::Database::open(folder.path().join("users.graven"), config).expect("opened");
    let changed = |text: &str| {
        let mut result = db.connect().query(text, &Params::new()).expect(text);
        while result.next_row().expect(text).is_some() {}
        result.summary().counters.changed().collect::<Vec<_>>()
    };
    let one = vec![("users_changed", 1)];
    assert_eq!(changed("CREATE USER ada SET PASSWORD 'secret'"), one);
    assert_eq!(
        changed("CREATE USER ada IF NOT EXISTS SET PASSWORD 'x'"),
        []
    );
    assert_eq!(changed("ALTER USER ada SET STATUS SUSPENDED"), one);
    assert_eq!(changed("GRANT ROLE writer TO ada"), one);
    assert_eq!(changed("RENAME USER ada TO eve"), one);
    assert_eq!(changed("RENAME USER ada IF EXISTS TO bob"), []);
    assert_eq!(changed("RENAME USER eve TO ada"), one);
    assert_eq!(changed("DROP USER ada"), one);
    assert_eq!(changed("DROP USER ada IF EXISTS"), []);
}

#[test]
fn what_exists_already_is_told_by_its_name_or_by_what_it_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = graven::Config::default();
    config.create = true;
    let db = graven::Database::open(folder.path().join("s.graven"), config).expect("opened");
    let code = |text: &str| {
        let ran = db.connect().query(text, &Params::new());
        ran.map_or_else(|error| error.code().to_owned(), |_| "done".to_owned())
    };
    for (text, wanted) in [
        ("CREATE INDEX a FOR (n:T) ON (n.x)", "done"),
        ("CREATE INDEX a FOR (n:T) ON (n.x)", "Schema.Exists"),
        ("CREATE INDEX b FOR (n:T) ON (n.x)", "Schema.IndexExists"),
        ("CREATE INDEX FOR (n:T) ON (n.x)", "Schema.IndexExists"),
        ("CREATE INDEX a FOR (n:T) ON (n.y)", "Schema.IndexNameTaken"),
        ("CREATE INDEX FOR (n:T) ON (n.z)", "done"),
        ("CREATE INDEX FOR (n:T) ON (n.z)", "Schema.Exists"),
        ("CREATE INDEX IF NOT EXISTS FOR (n:T) ON (n.z)", "done"),
        ("CREATE INDEX a IF NOT EXISTS FOR (n:T) ON (n.y)", "done"),
        (
            "CREATE CONSTRAINT c FOR (n:U) REQUIRE n.x IS UNIQUE",
            "done",
        ),
        (
            "CREATE CONSTRAINT c FOR (n:U) REQUIRE n.x IS UNIQUE",
            "Schema.SameConstraintExists",
        ),
        (
            "CREATE CONSTRAINT d FOR (n:U) REQUIRE n.x IS UNIQUE",
            "Schema.ConstraintExists",
        ),
        (
            "CREATE CONSTRAINT c FOR (n:U) REQUIRE n.y IS UNIQUE",
            "Schema.ConstraintNameTaken",
        ),
        (
            "CREATE CONSTRAINT a FOR (n:U) REQUIRE n.y IS UNIQUE",
            "Schema.IndexNameTaken",
        ),
        (
            "CREATE CONSTRAINT e FOR (n:T) REQUIRE n.x IS UNIQUE",
            "Schema.IndexBlocksConstraint",
        ),
        (
            "CREATE INDEX c FOR (n:U) ON (n.x)",
            "Schema.ConstraintNameTaken",
        ),
        (
            "CREATE INDEX f FOR (n:U) ON (n.x)",
            "Schema.ConstraintBlocksIndex",
        ),
        ("DROP INDEX nothing", "Schema.NotFound"),
        ("DROP USER nothing", "Schema.UserNotFound"),
    ] {
        assert_eq!(code(text), wanted, "{text}");
    }
}

/// Goal: few rows that a condition leaves wait for others, but leave in their order, and before the
/// error of a later row.
#[test]
fn rows_that_wait_leave_before_an_error() {
    let social = social();
    let connection = social.db.connect();
    let text = "UNWIND range(0, 99999) AS i WITH i WHERE CASE WHEN i = 50000 THEN 1 / (i - 50000) \
        = 1 ELSE i % 1000 = 3 END RETURN i";
    let (mut got, mut failed) = (Vec::new(), false);
    for row in connection.query(text, &Params::new()).unwrap() {
        match row {
            Ok(row) => got.push(row.values()[0].clone()),
            Err(error) => {
                failed = true;
                assert!(error.to_string().contains("zero"), "{error}");
            }
        }
    }
    assert!(failed && got.len() > 45, "{failed}, {} rows", got.len());
    let expected: Vec<Value> = (0..got.len() as i64)
        .map(|k| (k * 1000 + 3).into())
        .collect();
    assert_eq!(got, expected);
}
