//! Goal: procedures read and change the settings of the database they are called on.

use graven::{Params, Value};

use crate::graph::social;

#[test]
fn the_cache_is_resized_and_its_policy_changed_by_call() {
    let social = social();
    let rows = social.rows("CALL graven.cache.resize('8MiB')");
    assert_eq!(
        rows[0].get_by_name("before"),
        Some(&Value::Integer(4 << 20))
    );
    assert_eq!(rows[0].get_by_name("after"), Some(&Value::Integer(8 << 20)));
    assert_eq!(social.db.memory(), 8 << 20);
    let rows = social.rows("CALL graven.cache.setPolicy('lru') YIELD after RETURN after");
    assert!(
        matches!(rows[0].get(0), Some(Value::String(s)) if s.contains("lru")),
        "{rows:?}"
    );
    let error = social
        .db
        .connect()
        .query("CALL graven.cache.resize('3 apples')", &Params::new())
        .and_then(|r| r.collect::<Result<Vec<_>, _>>())
        .expect_err("no size");
    assert_eq!(error.code(), "ProcedureError.ProcedureFailed");
    assert!(error.message().contains("3 apples"), "{error}");
}

#[test]
fn names_are_listed() {
    let social = social();
    let labels = social.rows("CALL db.labels() YIELD label RETURN label ORDER BY label");
    let labels: Vec<&str> = labels.iter().filter_map(|r| r.get(0)?.as_str()).collect();
    assert_eq!(labels, ["Message", "Person", "Post"]);
    assert_eq!(social.rows("CALL db.relationshipTypes()").len(), 2);
    assert_eq!(social.rows("CALL db.propertyKeys()").len(), 4);
    assert!(social.rows("CALL graven.procedures()").len() >= 7);
}

#[test]
fn statistics_name_kinds_of_pages() {
    let social = social();
    social.rows("MATCH (p:Person)-[:KNOWS]-(f) RETURN p.name, f.name");
    let rows = social.rows("CALL graven.cache.stats()");
    let kinds: Vec<&str> = rows
        .iter()
        .filter_map(|r| r.get_by_name("kind")?.as_str())
        .collect();
    assert!(!kinds.is_empty());
    let faults: i64 = rows
        .iter()
        .filter_map(|r| r.get_by_name("faults")?.as_integer())
        .sum();
    assert!(faults > 0, "{rows:?}");
}
