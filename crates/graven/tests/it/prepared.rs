//! Goal: a prepared statement that has run before answers as if it had not: its operators, which
//! are kept between runs, know nothing of the runs before, whatever was read of them and whatever
//! has changed since.

use graven::{Connection, Params, Prepared, Value};

use crate::graph::{Social, social};

/// Statements whose operators can be kept, and some whose cannot.
const STATEMENTS: [&str; 26] = [
    "MATCH (p:Person {id: $id}) RETURN p.name AS name, p.id + $more AS id",
    "MATCH (p:Person {id: $id})-[k:KNOWS]-(f:Person) RETURN f.name, k.since, $id AS own",
    "MATCH (p:Person {id: $id})-[k:KNOWS]->(f) WHERE k.since > $more RETURN f.name",
    "MATCH (p:Person {id: $id})<-[k:KNOWS]-(f) WHERE k.since > $more RETURN f.name, f.id",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f)-[:KNOWS]-(g) RETURN f.name, g.name ORDER BY f.name, \
        g.name",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f)-[:KNOWS]-(g), (p)-[:KNOWS]-(g) RETURN f.name, g.name",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f:Friend) RETURN f.name",
    "MATCH (p:Friend {id: $id}) RETURN p.name",
    "MATCH (p:Person {id: $id})-[:MEETS]-(f) RETURN f.name",
    "MATCH (p:Person {id: $id})--(f) RETURN f.name ORDER BY f.name",
    "MATCH (p:Person) WHERE p.id >= $id AND p.id < $id + 3 RETURN p.name ORDER BY p.name DESC",
    "MATCH (p:Person) WHERE p.id IN $ids RETURN p.name",
    "MATCH (p:Person) WHERE p.id IN [$id, $more] RETURN p.name, [$id, 7] AS both",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f) RETURN count(DISTINCT f.id) AS friends, max(f.id) + \
        $more AS most",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f) RETURN f.id % 2 AS odd, collect(f.name) AS names, \
        count(*) AS n",
    "MATCH (p:Person {id: $id})-[:KNOWS*1..2]-(f) RETURN DISTINCT f.name",
    "MATCH (p:Person {id: $id})-[k:KNOWS*0..2]->(f) RETURN f.name, size(k)",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f) RETURN f.name ORDER BY f.id DESC SKIP $skip LIMIT 2",
    "MATCH (p:Person {id: $id})-[:KNOWS]-(f) WITH f LIMIT $limit RETURN f.name, f.nickname",
    "MATCH (p:Person {id: $id}) OPTIONAL MATCH (p)-[:LIKES]->(m) RETURN p.name, m.length, m.title",
    "MATCH (p:Person {id: $id}) RETURN CASE WHEN p.id > $more THEN $ids ELSE p.name END AS x, \
        -$more AS less",
    "MATCH (p:Person {id: $id}) RETURN [x IN $ids WHERE x <> p.id | x + $more] AS xs, {id: $id, \
        name: p.name} AS m",
    "MATCH (p:Person {id: $id}) RETURN p, $ids[$skip] AS at, all(x IN $ids WHERE x > $skip) AS all",
    "UNWIND $ids AS id MATCH (p:Person {id: id}) RETURN p.name",
    "MATCH (p:Person) RETURN p.name, p.nickname, p.id = $id AS is",
    "MATCH (p:Person {id: $id}) RETURN 1 / ($more - 1) AS x, p.name",
];

/// What is done between runs: other values and lists, new labels, types and properties, nodes and
/// relationships that come and go, indexes.
const CHANGES: [&str; 9] = [
    "RETURN 1",
    "MATCH (p:Person {id: 2}) SET p:Friend, p.nickname = 'Bobo'",
    "MATCH (a:Person {id: 1}), (d:Person {id: 4}) CREATE (a)-[:MEETS {since: 2020}]->(d)",
    "CREATE INDEX FOR (p:Friend) ON (p.id)",
    "MATCH (a:Person {id: 1})-[k:KNOWS]-(:Person {id: 3}) DELETE k",
    "MATCH (a:Person {id: 4}), (b:Person {id: 2}) CREATE (a)-[:KNOWS {since: 2021}]->(b), \
        (:Person:Friend {id: 5, name: 'Ed'})",
    "MATCH (p:Person {id: 3}) SET p.name = 'Cyd', p.id = 6 REMOVE p:Person",
    "MATCH (m:Message) SET m.title = 'Post', m.length = null",
    "MATCH (p:Person {id: 2}) DETACH DELETE p",
];

fn params(round: usize) -> Params {
    let id = i64::try_from(round % 5 + 1).expect("small");
    let ids = [vec![1, 2, 3], vec![], vec![4, 4, 9, 1]];
    Params::new()
        .with("id", id)
        .with("more", [0, 2001, 1][round % 3])
        .with("skip", [0, 1][round % 2])
        .with("limit", [2, 0, 1][round % 3])
        .with("ids", ids[round % 3].clone())
}

type Answer = Result<Vec<Vec<Value>>, String>;

fn sorted(rows: Result<graven::QueryResult, graven::Error>, text: &str) -> Answer {
    let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let mut rows: Vec<_> = match rows {
        Ok(rows) => rows.into_iter().map(graven::Row::into_values).collect(),
        Err(error) => return Err(error.code().to_owned()),
    };
    if !text.contains("ORDER BY") {
        rows.sort_by_key(|row| format!("{row:?}"));
    }
    Ok(rows)
}

/// The statement, whose operators may be kept, and one that has never run.
fn both(prepared: &Prepared, connection: &Connection, text: &str, round: usize) {
    let params = params(round);
    let again = sorted(prepared.query(&params), text);
    let fresh = sorted(connection.query(text, &params), text);
    assert_eq!(again, fresh, "{text} in round {round}");
}

fn prepare_all(social: &Social) -> Vec<(Prepared, &'static str)> {
    let connection = social.db.connect();
    let prepare = |text| (connection.prepare(text).expect("valid"), text);
    STATEMENTS.into_iter().map(prepare).collect()
}

#[test]
fn runs_know_nothing_of_each_other() {
    let social = social();
    let connection = social.db.connect();
    let prepared = prepare_all(&social);
    for (step, change) in CHANGES.iter().enumerate() {
        social.rows(change);
        for (statement, text) in &prepared {
            for round in 0..6 {
                both(statement, &connection, text, step + round);
            }
        }
    }
}

#[test]
fn results_that_were_not_read_to_their_end_leave_nothing() {
    let social = social();
    let connection = social.db.connect();
    for (statement, text) in &prepare_all(&social) {
        for round in 0..6 {
            for read in 0..3 {
                let Ok(mut result) = statement.query(&params(round)) else {
                    continue;
                };
                for _ in 0..read {
                    let _ = result.next_row();
                }
            }
            both(statement, &connection, text, round + 1);
        }
    }
}

#[test]
fn two_results_of_one_statement_are_open_at_once() {
    let social = social();
    let connection = social.db.connect();
    for (statement, text) in &prepare_all(&social) {
        both(statement, &connection, text, 0);
        let (one, other) = (statement.query(&params(1)), statement.query(&params(2)));
        both(statement, &connection, text, 3);
        assert_eq!(
            sorted(other, text),
            sorted(connection.query(text, &params(2)), text)
        );
        assert_eq!(
            sorted(one, text),
            sorted(connection.query(text, &params(1)), text)
        );
        both(statement, &connection, text, 4);
    }
}
