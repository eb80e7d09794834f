//! Goal: `EXPLAIN` shows the physical plan that runs, with every choice, and one physical plan
//! serves all runs: with other parameters, after names were added, in transactions and on several
//! threads at once (EX-83 to EX-85).

use graven::{Config, Connection, Database, Params, PlanStep, Value};

fn open(folder: &tempfile::TempDir, threads: usize) -> Database {
    let mut config = Config::default();
    (config.memory, config.create) = (64 << 20, true);
    config.threads = threads;
    let db = Database::open(folder.path().join("physical.graven"), config).expect("opens");
    let connection = db.connect();
    for text in [
        "UNWIND range(0, 99) AS i CREATE (:P {id: i, x: i % 7})",
        "MATCH (a:P), (b:P) WHERE b.id = (a.id * 3 + 1) % 100 OR b.id = (a.id + 1) % 100 \
            CREATE (a)-[:T {since: a.id + b.id}]->(b)",
        "CREATE INDEX FOR (p:P) ON (p.id)",
    ] {
        rows(&connection, text, &Params::new());
    }
    db
}

fn rows(connection: &Connection, text: &str, params: &Params) -> Vec<Vec<Value>> {
    let result = connection.query(text, params);
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    let values = result.map(|row| row.unwrap_or_else(|e| panic!("{text}: {e}")).into_values());
    values.collect()
}

/// The steps of a statement that is explained or profiled, once it has run.
fn steps(connection: &Connection, text: &str) -> PlanStep {
    let params = Params::new().with("id", 5);
    let result = connection.query(text, &params);
    let mut result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    while result.next_row().expect(text).is_some() {}
    result.steps().expect("it is explained or profiled")
}

/// Each step before its inputs: operator, details and rows given.
fn listed(step: &PlanStep, to: &mut Vec<(String, String, Option<u64>)>) {
    let rows = step.did.map(|did| did.rows);
    to.push((step.operator.clone(), step.details.clone(), rows));
    step.inputs.iter().for_each(|input| listed(input, to));
}

/// Statements of which every operator gives rows, and a choice that `EXPLAIN` shows.
const STATEMENTS: &[(&str, &str)] = &[
    ("MATCH (p:P {id: $id}) RETURN p.x", "IndexSeek"),
    (
        "MATCH (a:P)-[k:T]->(b:P) RETURN a.x AS x, count(*) AS n, max(k.since) AS m",
        "max([:T].since)",
    ),
    (
        "MATCH (a:P)-[k:T]->(b:P) RETURN b.id, k.since ORDER BY k.since DESC LIMIT 3",
        "within the bound of TopN",
    ),
    (
        "MATCH (a:P) RETURN a.id, COUNT { (a)-[:T*1..2]->(b) WHERE b.x > a.x - 9 } AS n",
        "Apply",
    ),
    (
        "MATCH (a:P) WITH a.x AS x RETURN x, COUNT { MATCH (b:P) WHERE b.x = x RETURN b } AS n",
        "once for rows alike",
    ),
    (
        "MATCH (a:P) CALL (a) { MATCH (a)-[:T]->(b) RETURN b ORDER BY b.id LIMIT 1 } RETURN b.id",
        "row by row",
    ),
    ("MATCH (a:P) RETURN count(DISTINCT a.x) AS n", "Distinct"),
    (
        "MATCH (a:P) RETURN a.x ORDER BY a.x, a.id SKIP 3 LIMIT 5",
        "TopN",
    ),
    (
        "MATCH (a:P {id: $id})-[:T*1..3]->(b) RETURN count(DISTINCT b) AS n",
        "VarExpand",
    ),
    (
        "MATCH (a:P)-[:T]->(b), (c:P)-[:T]->(b) WHERE a.x = c.x RETURN count(*) AS n",
        "Aggregate",
    ),
    ("UNWIND [1, 2] AS i MERGE (q:P {id: i}) RETURN q.x", "Merge"),
    (
        "MATCH (a:P {id: $id}) SET a.seen = $id CREATE (a)-[:S]->(:R {i: $id}) RETURN a.seen",
        "Create",
    ),
];

/// Method: the same statement explained, and profiled; each operator that is shown has given rows,
/// so none is shown that does not run.
#[test]
fn explain_and_profile_show_what_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open(&folder, 1);
    let connection = db.connect();
    for (text, choice) in STATEMENTS {
        let (mut explained, mut profiled) = (Vec::new(), Vec::new());
        listed(
            &steps(&connection, &format!("EXPLAIN {text}")),
            &mut explained,
        );
        listed(
            &steps(&connection, &format!("PROFILE {text}")),
            &mut profiled,
        );
        let shown = |steps: &[(String, String, Option<u64>)]| {
            let shown = steps
                .iter()
                .map(|(operator, details, _)| (operator.clone(), details.clone()));
            shown.collect::<Vec<_>>()
        };
        assert_eq!(shown(&explained), shown(&profiled), "{text}");
        let chosen =
            |(operator, details): &(String, String)| operator == choice || details.contains(choice);
        assert!(
            shown(&explained).iter().any(chosen),
            "{text}: {explained:#?}"
        );
        for (operator, details, rows) in &profiled {
            let gave = rows.is_some_and(|rows| rows > 0);
            assert!(gave, "{text}: {operator} {details} gave nothing");
        }
    }
}

/// Names that come to be between two runs of one prepared statement, outside of transactions and
/// inside: the plan kept from before does not know them.
#[test]
fn plans_learn_names_that_were_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open(&folder, 1);
    let connection = db.connect();
    let params = Params::new().with("id", 5);
    let text = "MATCH (p:P {id: $id}) RETURN properties(p).late AS a, p.late AS b, p:Late AS c";
    let prepared = connection.prepare(text).expect("valid");
    let ask = || -> Vec<Vec<Value>> {
        let result = prepared.query(&params).expect("runs");
        result
            .map(|row| row.expect("a row").into_values())
            .collect()
    };
    let before = vec![vec![Value::Null, Value::Null, Value::Boolean(false)]];
    assert_eq!((ask(), ask()), (before.clone(), before.clone()));
    let mut transaction = connection.begin().expect("begun");
    let inside = |transaction: &mut graven::Transaction, text: &str| -> Vec<Vec<Value>> {
        let result = transaction.query(text, &params).expect("runs");
        result
            .map(|row| row.expect("a row").into_values())
            .collect()
    };
    assert_eq!(inside(&mut transaction, text), before);
    inside(
        &mut transaction,
        "MATCH (p:P {id: $id}) SET p.late = 7, p:Late",
    );
    let after = vec![vec![
        Value::Integer(7),
        Value::Integer(7),
        Value::Boolean(true),
    ]];
    assert_eq!(inside(&mut transaction, text), after);
    assert_eq!(inside(&mut transaction, text), after);
    assert_eq!(ask(), before);
    transaction.commit().expect("committed");
    assert_eq!((ask(), ask()), (after.clone(), after));
}

/// Threads with connections of their own run one kept plan at the same time, with parameters of
/// their own, some of them in a list.
#[test]
fn threads_run_one_plan_with_their_own_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open(&folder, 2);
    let text = "MATCH (p:P {id: $id})-[k:T]->(q) WHERE NOT p.id IN [$id + 100, $other] \
        RETURN p.id, count(*), min(k.since) >= $id, [$id, 1]";
    std::thread::scope(|scope| {
        for thread in 0..4_i64 {
            let connection = db.connect();
            scope.spawn(move || {
                for round in 0..50_i64 {
                    let id = (thread * 25 + round) % 100;
                    let params = Params::new().with("id", id).with("other", id - 1);
                    let found = rows(&connection, text, &params);
                    let [row] = found.as_slice() else {
                        panic!("{id}: {found:?}");
                    };
                    assert_eq!(row[0], Value::Integer(id));
                    assert_eq!(
                        row[3],
                        Value::List(vec![Value::Integer(id), Value::Integer(1)])
                    );
                    let other = rows(&connection, text, &params.with("other", id));
                    assert_eq!(other, Vec::<Vec<Value>>::new(), "{id}");
                }
            });
        }
    });
}
