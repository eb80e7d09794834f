//! Goal: a serialisable transaction that commits would have answered the same after all commits
//! before it, and is not refused for what it did not read. Method: two transactions step by step on
//! one thread. `cargo xtask fuzz` does the same with random ones.

use graven::{Database, Isolation, Params, Transaction, TransactionOptions};

use crate::graph::social;

fn begin(db: &Database) -> Transaction {
    let options = TransactionOptions::default().isolation(Isolation::Serializable);
    db.connect().begin_with(options).expect("begun")
}

fn ask(transaction: &mut Transaction, text: &str) -> Vec<graven::Row> {
    let result = transaction.query(text, &Params::new());
    let rows = result.and_then(Iterator::collect);
    rows.unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Whether a transaction that asks `read` and then writes something of its own may commit when
/// `write` was committed meanwhile.
fn commits(read: &str, write: &str) -> bool {
    let social = social();
    let mut one = begin(&social.db);
    ask(&mut one, read);
    social.rows(write);
    ask(&mut one, "CREATE (:Note)");
    match one.commit() {
        Ok(_) => true,
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            false
        }
    }
}

#[test]
fn planning_reads_nothing() {
    let created = "CREATE (:Person {id: 9})";
    assert!(commits("RETURN 1", created));
    assert!(commits("MATCH (p:Person {id: 1}) RETURN p.name", created));
    assert!(commits("MATCH (p:Person {id: 1}) SET p.x = 1", created));
    assert!(!commits("MATCH (p:Person {id: 9}) RETURN p.name", created));
    assert!(!commits("MATCH (p:Person) RETURN count(*)", created));
    assert!(!commits("MATCH (n) RETURN count(*)", created));
}

#[test]
fn counting_what_hangs_on_a_node_does_not_read_all_nodes() {
    let created = "CREATE (:Other)";
    let connected = "MATCH (a:Person {id: 1}), (b:Person {id: 4}) CREATE (a)-[:KNOWS]->(b)";
    for count in [
        "MATCH (p:Person {id: 1})-[:KNOWS]-(m) RETURN count(*)",
        "MATCH (p:Person {id: 1})-[:KNOWS]->(m)-[:KNOWS]->(n) RETURN count(*)",
        "MATCH (p:Person {id: 1})-[:KNOWS*1..2]-(m) RETURN count(DISTINCT m)",
    ] {
        assert!(commits(count, created), "{count}");
        assert!(!commits(count, connected), "{count}");
    }
}

#[test]
fn a_new_type_is_met_by_a_pattern_without_types() {
    let connected = "MATCH (a:Person {id: 1}), (b:Person {id: 4}) CREATE (a)-[:TRUSTS]->(b)";
    let elsewhere = "CREATE (:Other)-[:KNOWS]->(:Other)";
    for read in [
        "MATCH (p:Person {id: 1})-[r]-(m:Person) RETURN r",
        "MATCH (p:Person {id: 1})-[r]->() RETURN count(r)",
        "MATCH (p:Person {id: 1}) RETURN EXISTS { (p)-->(:Person {id: 4}) }",
        "MATCH (p:Person {id: 4})<-[*1..2]-(m) RETURN count(DISTINCT m)",
        "MATCH p = shortestPath((:Person {id: 1})-[*]->(:Person {id: 4})) RETURN length(p)",
    ] {
        assert!(!commits(read, connected), "{read}");
        assert!(commits(read, elsewhere), "{read}");
    }
    let of_a_type = "MATCH (p:Person {id: 1})-[r:LIKES]->() RETURN count(r)";
    assert!(commits(of_a_type, connected));
}

#[test]
fn all_properties_of_a_node_are_read_where_it_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = graven::Config::default();
    config.create = true;
    let db = Database::open(folder.path().join("bare.graven"), config).expect("opened");
    let connection = db.connect();
    let run = |text: &str| connection.query(text, &Params::new()).expect("it runs");
    run("CREATE (:Bare)");
    let mut one = begin(&db);
    ask(&mut one, "MATCH (n) RETURN properties(n)");
    ask(&mut one, "CREATE ()");
    run("MATCH (n:Bare) SET n.x = 1");
    assert!(one.commit().is_err_and(|e| e.is_retryable()));
}
