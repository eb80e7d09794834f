//! Times the three-hop question through a prepared plan: one start a statement, and many starts a
//! statement.
//!
//! ```text
//! graven import sf10.graven --ldbc DIR
//! cargo run --release -p graven-exec --example three_hop -- sf10.graven DIR/three-hop-params.csv \
//!     DIR/three-hop-expected.csv 16 [top-down|bottom-up]
//! ```
//! Prints starts a second of CPU time of the one thread, which neighbours on the machine disturb
//! least.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use graven_cypher::Span;
use graven_cypher::plan::{Direction, Expr, Operator, Plan, PlanMode, PlanNode, RelPattern, VarId};
use graven_exec::{ExecContext, LevelDirection, Params, Tuning, Value, execute};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{Snapshot, Store};

type Failure = Box<dyn std::error::Error>;

fn node(id: u32, op: Operator) -> Box<PlanNode> {
    Box::new(PlanNode {
        id,
        op,
        estimated_rows: 1.0,
    })
}

/// `UNWIND $ids AS id MATCH (p:Person {id: id})-[:KNOWS*1..3]-(f:Person)
/// RETURN id, count(DISTINCT f)`
fn plan() -> Arc<Plan> {
    let [id, person, end, count] = [0, 1, 2, 3].map(VarId);
    let unwind = node(
        2,
        Operator::Unwind {
            input: node(3, Operator::Unit),
            list: Expr::Parameter("ids".into(), Span::default()),
            var: id,
            last: false,
        },
    );
    let seek = node(
        1,
        Operator::IndexSeek {
            input: unwind,
            var: person,
            label: "Person".into(),
            key: "id".into(),
            value: Expr::Variable(id),
            any: false,
        },
    );
    let root = node(
        0,
        Operator::ReachableCount {
            input: seek,
            from: person,
            to: end,
            pattern: RelPattern {
                types: vec!["KNOWS".into()],
                direction: Direction::Both,
                filter: None,
                each: None,
                distinct_from: Vec::new(),
                distinct_ends: Vec::new(),
                disjoint_from: Vec::new(),
                ends: graven_cypher::plan::ExpandFilter::default(),
            },
            min: 1,
            max: Some(3),
            end_labels: vec!["Person".into()],
            end_filter: None,
            count,
        },
    );
    Arc::new(Plan {
        root: *root,
        variables: Vec::new(),
        columns: vec![("id".into(), id), ("count".into(), count)],
        declared: Vec::new(),
        mode: PlanMode::Execute,
        notices: Vec::new(),
        planned_for: std::collections::BTreeMap::new(),
        expected: Vec::new(),
        estimates: Vec::new(),
    })
}

fn column(path: &str, name: &str) -> Result<Vec<i64>, Failure> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let head = lines.next().ok_or("an empty table")?;
    let at = head
        .split(',')
        .position(|c| c == name)
        .ok_or("no such column")?;
    lines
        .map(|line| Ok(line.split(',').nth(at).ok_or("a short line")?.parse()?))
        .collect()
}

fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

struct Run {
    snapshot: Snapshot,
    budget: Arc<Budget>,
    tuning: Tuning,
    plan: Arc<Plan>,
}

impl Run {
    fn ask(&self, ids: &[i64], answers: &mut HashMap<i64, i64>) -> Result<(), Failure> {
        let ids = Value::list(ids.iter().map(|i| Value::Integer(*i)).collect());
        let params: Params = [("ids".into(), ids)].into_iter().collect();
        let mut context = ExecContext::new(Arc::clone(&self.budget));
        context.tuning = self.tuning;
        let plan = Arc::clone(&self.plan);
        let mut execution = execute(plan, self.snapshot.clone(), Arc::new(params), context)?;
        while let Some(batch) = execution.next_batch()? {
            for row in 0..batch.len() {
                if let (Value::Integer(id), Value::Integer(n)) =
                    (batch.value(0, row), batch.value(1, row))
                {
                    answers.insert(id, n);
                }
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, params, expected, mebibytes, rest @ ..] = args.as_slice() else {
        return Err("usage: three_hop FILE PARAMS EXPECTED MEBIBYTES [top-down|bottom-up]".into());
    };
    let budget = Budget::new(mebibytes.parse::<u64>()? << 20);
    let cache = PageCache::new(Config::new(Arc::clone(&budget)))?;
    let file = graven_io::open(
        std::path::Path::new(file),
        &graven_io::OpenOptions::default(),
    )?;
    let store = Store::open(file, cache)?;
    let mut tuning = Tuning::default();
    match rest.first().map(String::as_str) {
        Some("top-down") => tuning.level_direction = LevelDirection::TopDown,
        Some("bottom-up") => tuning.level_direction = LevelDirection::BottomUp,
        Some("switching") => tuning.level_direction = LevelDirection::Switching,
        _ => {}
    }
    let run = Run {
        snapshot: store.snapshot(),
        budget,
        tuning,
        plan: plan(),
    };
    let ids = column(params, "personId")?;
    for starts in [1, 64, 320] {
        let mut answers = HashMap::new();
        run.ask(&ids[..ids.len().min(starts)], &mut answers)?;
        let mut best = Duration::MAX;
        for _ in 0..4 {
            let before = thread_time();
            for part in ids.chunks(starts) {
                run.ask(part, &mut answers)?;
            }
            best = best.min(thread_time() - before);
        }
        let wrong = column(expected, "personId")?
            .iter()
            .zip(column(expected, "count_1_to_3")?)
            .filter(|(id, count)| answers.get(id) != Some(count))
            .count();
        let each = best / u32::try_from(ids.len())?;
        println!(
            "{starts:4} starts a statement: {:8.0} starts/s of CPU time, {each:?} each, {wrong} \
                wrong",
            1.0 / each.as_secs_f64()
        );
    }
    Ok(())
}
