//! Goal: what was written under a memory limit opens under it: whatever was acknowledged is there
//! after a kill, opened, recovered and checked with the same limit, and in 1 MiB too where names
//! are few. What would not open again is refused when it is committed.
//!
//! Method: generated histories of large values, many rows, names, deletions, schema changes and
//! checkpoints; now and then the files are copied as a kill leaves them.

use std::path::{Path, PathBuf};

use graven::{Config, Connection, Database, Error, Params, Value};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn open(path: &Path, memory: u64) -> Result<Database, Error> {
    let mut config = Config::default();
    (config.memory, config.threads, config.create) = (memory, 2, true);
    Database::open(path, config)
}

fn run(connection: &Connection, text: &str) -> Result<Vec<Value>, Error> {
    let mut last = Vec::new();
    for row in connection.query(text, &Params::new())? {
        last = row?.into_values();
    }
    Ok(last)
}

/// One step of a history.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many nodes with a text of `2^doublings` bytes.
    Texts {
        nodes: u32,
        doublings: u32,
    },
    /// So many small nodes and relationships.
    Rows(u32),
    /// So many new labels, types or keys.
    Labels(u32),
    Types(u32),
    Keys(u32),
    /// A list of so many numbers.
    List(u32),
    Change,
    Delete,
    Index,
    Checkpoint,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (1..6_u32, 3..23_u32).prop_map(|(nodes, doublings)| Step::Texts { nodes, doublings }),
        2 => (1..4_000_u32).prop_map(Step::Rows),
        1 => (1..400_u32).prop_map(Step::Labels),
        1 => (1..400_u32).prop_map(Step::Types),
        1 => (1..400_u32).prop_map(Step::Keys),
        1 => (1..300_000_u32).prop_map(Step::List),
        1 => Just(Step::Change),
        1 => Just(Step::Delete),
        1 => Just(Step::Index),
        1 => Just(Step::Checkpoint),
        2 => Just(Step::Kill),
    ]
}

fn statement(step: Step, number: usize) -> String {
    match step {
        Step::Texts { nodes, doublings } => format!(
            "WITH reduce(t = 'a', i IN range(1, {doublings}) | t + t) AS s UNWIND range(1, \
                {nodes}) AS x CREATE (:N {{s: s + x, x: x}})"
        ),
        Step::Rows(rows) => {
            format!("UNWIND range(1, {rows}) AS x CREATE (:N {{x: x}})-[:R {{t: 'r' + x}}]->(:M)")
        }
        Step::Labels(names) => {
            format!("UNWIND range(1, {names}) AS x CREATE (:$('L{number}_' + x))")
        }
        Step::Types(names) => {
            format!("UNWIND range(1, {names}) AS x CREATE (:M)-[:$('T{number}_' + x)]->(:M)")
        }
        Step::Keys(names) => {
            format!("CREATE (n:M) WITH n UNWIND range(1, {names}) AS x SET n['k{number}_' + x] = x")
        }
        Step::List(items) => format!("CREATE (:N {{l: range(1, {items})}})"),
        Step::Change => "MATCH (n:N) WHERE n.x % 3 = 0 SET n.s = 'changed', n:Changed".to_owned(),
        Step::Delete => "MATCH (n:N) WHERE n.x % 5 = 0 DETACH DELETE n".to_owned(),
        Step::Index => format!("CREATE INDEX index{number} IF NOT EXISTS FOR (n:N) ON (n.x)"),
        Step::Checkpoint | Step::Kill => String::new(),
    }
}

const COUNTED: &str = "MATCH (n) RETURN count(n), count(n.x), sum(n.x)";
const RELATED: &str = "MATCH ()-[r]->() RETURN count(r), count(r.t)";

fn counted(db: &Database) -> Vec<Value> {
    let connection = db.connect();
    let mut all = run(&connection, COUNTED).expect("counted");
    all.extend(run(&connection, RELATED).expect("counted"));
    all
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// Opens what a kill would leave now and compares it with what was acknowledged.
fn reopened(path: &Path, memory: u64, acknowledged: &[Value]) {
    let copy = with_suffix(path, "-copy");
    for suffix in ["", "-wal"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&copy, suffix));
        let _ = std::fs::remove_file(&to);
        if from.exists() {
            std::fs::copy(from, to).expect("copied");
        }
    }
    let db = open(&copy, memory).unwrap_or_else(|e| panic!("opened with {memory}: {e}"));
    assert_eq!(counted(&db), acknowledged, "with {memory}");
    let report = db.check(&mut |_| ()).expect("checked");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    // It goes on: it takes a commit, and folds. There may be no room for another name.
    run(&db.connect(), "CREATE ()").expect("a small commit");
    let written = counted(&db);
    db.close().expect("closed");
    // A checkpoint that finds no commits may still move pages. It leaves nothing that a later
    // opening lacks.
    for _ in 0..2 {
        let db = open(&copy, memory).unwrap_or_else(|e| panic!("opened again with {memory}: {e}"));
        assert_eq!(counted(&db), written, "again with {memory}");
        drop(db.checkpoint());
        db.close().expect("closed again");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_under_a_limit_opens_under_it(
        steps in prop::collection::vec(step(), 4..14),
        memory in prop::sample::select(vec![1_u64, 2, 4, 16]),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history.graven");
        let db = open(&path, memory * MIB).expect("made");
        let connection = db.connect();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Kill => reopened(&path, memory * MIB, &counted(&db)),
                Step::Checkpoint => drop(db.checkpoint()),
                _ => match run(&connection, &statement(*step, number)) {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code(), "Memory.Limit", "{step:?}: {error}"),
                },
            }
        }
        let acknowledged = counted(&db);
        reopened(&path, memory * MIB, &acknowledged);
        let names = |step: &Step| matches!(step, Step::Labels(_) | Step::Types(_) | Step::Keys(_));
        if !steps.iter().any(names) {
            reopened(&path, MIB, &acknowledged);
        }
    }
}
