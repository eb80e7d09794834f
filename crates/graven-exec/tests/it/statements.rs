//! Planner and executor together: pairs of statements that must answer the same are asked on random
//! small multigraphs.
//!
//! One of each pair is planned with a rewrite (reachability, its fused count, an index, another
//! order of the pattern, a subquery as a join), the other is worded so that the rewrite cannot
//! apply.

mod pairs;

use std::sync::Arc;

use graven_cypher::plan::{Operator, Plan};
use graven_cypher::{IndexView, Named, ParameterNames, SchemaView, parse_and_plan};
use graven_exec::{
    ExecContext, ExecError, Execution, ListAccess, Params, PhysicalPlan, PhysicalPlans, Tuning,
    Value, execute, execute_kept,
};
use graven_pagecache::Budget;
use graven_storage::{GraphBuilder, PropertyValue, Snapshot, Uniqueness};

use crate::model::{Model, Random, Rel};
use crate::plans::Spilling;
use pairs::PAIRS;

/// Counts that differ between labels and types, so that orders differ; the answer must not.
pub(crate) struct Schema {
    pub(crate) seed: u64,
    /// What counts are multiplied by.
    pub(crate) scale: u64,
    pub(crate) threads: usize,
}

impl Schema {
    fn about(&self, name: &str) -> u64 {
        let salt: u64 = name.bytes().map(u64::from).sum();
        self.scale * (1 + Random::new(self.seed ^ salt).below(50))
    }
}

impl SchemaView for Schema {
    fn node_count(&self) -> u64 {
        60 * self.scale
    }
    fn label_count(&self, label: &str) -> Option<u64> {
        Some(self.about(label))
    }
    fn type_count(&self, rel_type: &str) -> Option<u64> {
        Some(self.about(rel_type))
    }
    fn nodes_with(&self, rel_type: &str, start: bool) -> Option<u64> {
        Some(self.about(rel_type) / if start { 2 } else { 3 })
    }
    fn relationship_count(&self) -> u64 {
        100 * self.scale
    }
    fn threads(&self) -> usize {
        self.threads
    }
    fn pattern_count(&self, start: Option<&str>, rel_type: Option<&str>, end: Option<&str>) -> u64 {
        self.about(start.unwrap_or(""))
            + self.about(rel_type.unwrap_or(""))
            + self.about(end.unwrap_or(""))
    }
    fn knows_key(&self, _: &str) -> bool {
        true
    }
    fn index(&self, label: &str, key: &str) -> Option<IndexView> {
        match (label, key) {
            ("A", "id") => Some(IndexView {
                unique: true,
                distinct: 20,
            }),
            ("A", "x") => Some(IndexView {
                unique: false,
                distinct: 5,
            }),
            _ => None,
        }
    }
    fn names(&self, _: Named) -> Vec<String> {
        Vec::new()
    }
}

/// The model's graph with a unique property `id`, the position of the node.
pub(crate) fn graph(model: &Model) -> Snapshot {
    let mut builder = GraphBuilder::new();
    let mut ids = Vec::new();
    for (position, (b, x)) in (0..).zip(&model.nodes) {
        let labels: &[&str] = if *b { &["A", "B"] } else { &["A"] };
        let x = if *x < 0 {
            PropertyValue::Null
        } else {
            PropertyValue::Integer(*x)
        };
        ids.push(builder.node(
            labels,
            &[("x", x), ("id", PropertyValue::Integer(position))],
        ));
    }
    for rel in &model.rels {
        let end = |node: u64| ids[usize::try_from(node).unwrap()];
        let weight = PropertyValue::Integer(rel.weight);
        builder.relationship(end(rel.start), rel.kind, end(rel.end), &[("w", weight)]);
    }
    builder.index("A", "x", Uniqueness::Any);
    builder.index("A", "id", Uniqueness::Unique);
    builder
        .open(4 << 20)
        .expect("a small graph opens")
        .snapshot()
}

pub(crate) fn contains(plan: &Plan, operator: &str) -> bool {
    let mut found = false;
    plan.root
        .visit(&mut |node| found |= node.op.name() == operator);
    found
}

fn answer(snapshot: &Snapshot, plan: Plan, params: &Params, tuning: Tuning) -> Vec<String> {
    let mut context = ExecContext::new(Budget::new(64 << 20));
    context.tuning = tuning;
    let mut rows = rows_of(snapshot, plan, params, context);
    rows.sort();
    rows
}

/// As [`answer`] where operators spill whatever they can.
fn answer_spilling(
    snapshot: &Snapshot,
    plan: Plan,
    params: &Params,
    tuning: Tuning,
) -> Vec<String> {
    let spilling = Spilling::within(16 << 20);
    let mut context = spilling.context(None);
    context.tuning = tuning;
    context.tuning.spill_at = Some(1);
    let mut rows = rows_of(snapshot, plan, params, context);
    spilling.check();
    rows.sort();
    rows
}

/// Every way to find lists and ends in turn.
fn tuning(round: usize) -> Tuning {
    let mut tuning = Tuning::default();
    (tuning.threads, tuning.morsel_nodes) = (3, 2);
    // Every other time others help with the first rows that are divided.
    tuning.parallel_after = std::time::Duration::from_micros([0, 50][round % 2]);
    tuning.parallel_min_remaining = std::time::Duration::from_micros([0, 0, 3000][round / 3 % 3]);
    let accesses = [ListAccess::Cheaper, ListAccess::Whole, ListAccess::Stored];
    tuning.list_access = accesses[round % accesses.len()];
    tuning.reached_longer = [4, 0][round % 2];
    tuning
}

fn answer_within(snapshot: &Snapshot, plan: Plan, params: &Params, budget: u64) -> Vec<String> {
    let mut rows = rows_in_order(snapshot, plan, params, budget);
    rows.sort();
    rows
}

fn rows_in_order(snapshot: &Snapshot, plan: Plan, params: &Params, budget: u64) -> Vec<String> {
    let mut context = ExecContext::new(Budget::new(budget));
    context.tuning = tuning(0);
    rows_of(snapshot, plan, params, context)
}

pub(crate) fn rows_of(
    snapshot: &Snapshot,
    plan: Plan,
    params: &Params,
    context: ExecContext,
) -> Vec<String> {
    let columns = plan.columns.len();
    let mut execution = execute(
        Arc::new(plan),
        snapshot.clone(),
        Arc::new(params.clone()),
        context,
    )
    .expect("starts");
    let mut rows = Vec::new();
    while let Some(batch) = execution.next_batch().expect("runs") {
        rows.extend((0..batch.len()).map(|row| format!("{:?}", &batch.row(row)[..columns])));
    }
    rows
}

#[test]
fn equal_statements_give_equal_answers() {
    let mut random = Random::new(0x57a7_e3e7);
    // Statistics are random, so an operator need not be chosen every time, but sometimes it must.
    let mut seen = vec![false; PAIRS.len()];
    for round in 0..120 {
        let model = Model::random(&mut random, 7, 11);
        let snapshot = graph(&model);
        let nodes = model.nodes.len() as u64;
        let id =
            |random: &mut Random| Value::Integer(i64::try_from(random.below(nodes + 1)).unwrap());
        let mut params = Params::new();
        params.insert("s".into(), id(&mut random));
        params.insert("t".into(), id(&mut random));
        let ids = (0..4).map(|_| id(&mut random)).collect();
        params.insert("ids".into(), Value::list(ids));
        let schema = Schema {
            seed: random.below(u64::MAX),
            scale: 1,
            threads: 1,
        };
        for (pair, (operator, first, second)) in PAIRS.iter().enumerate() {
            let planned = |text: &str| {
                parse_and_plan(text, &schema, &ParameterNames::Any)
                    .unwrap_or_else(|e| panic!("{}", e.render()))
            };
            let (one, other) = (planned(first), planned(second));
            seen[pair] |= contains(&one, operator);
            let texts = (
                graven_cypher::explain::explain(&one),
                graven_cypher::explain::explain(&other),
            );
            let answers = (
                match round % 4 {
                    3 => answer_spilling(&snapshot, one, &params, tuning(round)),
                    _ => answer(&snapshot, one, &params, tuning(round)),
                },
                answer(&snapshot, other, &params, tuning(0)),
            );
            assert_eq!(
                answers.0, answers.1,
                "round {round}, {params:?}\n{model:?}\n{first}\n{}\n{second}\n{}",
                texts.0, texts.1
            );
        }
    }
    for ((operator, first, _), seen) in PAIRS.iter().zip(seen) {
        assert!(seen, "{first}: never planned with {operator}");
    }
}

/// What one start or one chunk of rows needs is given back before the next one: many of them run in
/// little memory.
#[test]
fn many_starts_and_long_lists_run_in_little_memory() {
    let rel = |start, end| Rel {
        start,
        kind: "R",
        end,
        weight: 0,
    };
    let schema = Schema {
        seed: 1,
        scale: 1,
        threads: 1,
    };
    let plan = |text: &str| {
        parse_and_plan(text, &schema, &ParameterNames::Any)
            .unwrap_or_else(|e| panic!("{}", e.render()))
    };
    // No start lies on a closed trail, so a longer one is looked for from each.
    let pairs = Model {
        nodes: vec![(false, 0); 1_200],
        rels: (0..600).map(|i| rel(2 * i, 2 * i + 1)).collect(),
    };
    let text = "MATCH (p:A) WITH p LIMIT 5000 MATCH (p)-[:R*1..4]-(f) \
        WITH p, count(DISTINCT f) AS c RETURN sum(c)";
    let reach = plan(text);
    assert!(contains(&reach, "ReachableCount"), "{text}");
    let rows = answer_within(&graph(&pairs), reach, &Params::new(), 512 << 10);
    assert_eq!(rows, ["[Integer(1200)]"]);
    // The lists of one batch of rows are far larger than the budget.
    let lists = Model {
        nodes: vec![(false, 0); 600],
        rels: (0..300)
            .flat_map(|i| (0..300).map(move |j| rel(i, 300 + j)))
            .collect(),
    };
    let expand = plan("MATCH (p:A)-[:R]->(f) RETURN count(*)");
    let rows = answer_within(&graph(&lists), expand, &Params::new(), 64 << 10);
    assert_eq!(rows, ["[Integer(90000)]"]);
}

/// A short statement cannot make a value that breaks the stack, the memory limit or the patience of
/// its user.
#[test]
fn accumulators_are_bounded() {
    let schema = Schema {
        seed: 1,
        scale: 1,
        threads: 1,
    };
    let model = Model {
        nodes: vec![(false, 0)],
        rels: Vec::new(),
    };
    let snapshot = graph(&model);
    let run = |text: &str| {
        let plan = parse_and_plan(text, &schema, &ParameterNames::Any)
            .unwrap_or_else(|e| panic!("{}", e.render()));
        let context = ExecContext::new(Budget::new(4 << 20));
        execute(Arc::new(plan), snapshot.clone(), Arc::default(), context)
            .and_then(|mut execution| execution.next_batch())
            .map(|batch| batch.expect("a row").row(0)[0].clone())
    };
    for (text, code) in [
        (
            "RETURN reduce(a = [], x IN range(1, 100000) | [a])",
            "ArgumentError",
        ),
        (
            "RETURN reduce(a = {}, x IN range(1, 100000) | {b: a})",
            "ArgumentError",
        ),
        (
            "RETURN reduce(a = [], x IN range(1, 60) | [a, a])",
            "OutOfMemory",
        ),
        (
            "RETURN reduce(a = 'x', x IN range(1, 60) | a + a)",
            "OutOfMemory",
        ),
    ] {
        let error = run(text).expect_err(text);
        assert_eq!(error.code(), code, "{text}: {error}");
    }
    let text = "RETURN size(reduce(a = [], x IN range(1, 1000) | a + [[x, [x]]]))";
    assert_eq!(run(text).unwrap(), Value::Integer(1000));
}

/// The rewrite is not tried where it would be wrong.
#[test]
fn trails_stay_where_rows_count() {
    let schema = Schema {
        seed: 1,
        scale: 1,
        threads: 1,
    };
    for text in [
        "MATCH (p:A {id: 1})-[:R*1..3]-(f) RETURN count(f)",
        "MATCH (p:A {id: 1})-[:R*1..3]-(f) RETURN f LIMIT 3",
        "MATCH (p:A {id: 1})-[:R*1..3]-(f) WITH f LIMIT 3 RETURN DISTINCT f",
        "MATCH (p:A {id: 1})-[:R*1..3]-(f) RETURN count(DISTINCT f), count(*)",
    ] {
        let plan = parse_and_plan(text, &schema, &ParameterNames::Any).expect("valid");
        plan.root.visit(&mut |node| {
            if let Operator::VarExpand { mode, .. } = &node.op {
                assert_eq!(*mode, graven_cypher::plan::VarExpandMode::Trails, "{text}");
            }
            assert_ne!(node.op.name(), "ReachableCount", "{text}");
        });
    }
}

#[test]
fn threads_change_no_row_and_no_order() {
    const MORE: &[&str] = &[
        "MATCH (a:A)-[:R]-(b) RETURN b.x AS k, count(*), count(b.id), min(a.id), max(b.x)",
        "MATCH (a:A)-[:R]-(b) RETURN b.x AS k, sum(a.id), avg(b.id), collect(b.id)",
        "MATCH (a)-[:R|S]-(b) RETURN count(*), min(b.x), max(a.x)",
        "MATCH (a:B)-[:S]->(b)-[:R]-(c) RETURN count(*)",
        "MATCH (a:A)-[:R]-(b) RETURN a.id, b.id, b.x ORDER BY b.x",
        "MATCH (a:A)-[:R]-(b) RETURN a.id, b.id, b.x ORDER BY b.x LIMIT 5",
        "MATCH (a:A)-[:R]-(b) RETURN DISTINCT b.x, a.x",
        "MATCH (a:A)-[:R]-(b) RETURN a.id, b.id SKIP 1 LIMIT 3",
        "MATCH (a) WHERE a.x > 100 RETURN count(*), min(a.x)",
        "MATCH (a:A)-[:R]-(b) RETURN a.id UNION ALL MATCH (a:B)-[:S]-(b) RETURN b.id AS `a.id`",
        "MATCH (a:A {id: $s})-[:R]-(b)-[:R|S]-(c)-[:R]-(d) RETURN b.id, c.id, d.id",
        "MATCH (a:A {id: $s})-[:R]-(b)-[:R|S]-(c)-[:R]-(d) RETURN b.id, count(*), sum(d.id), \
            collect(c.id)",
        "MATCH (a:A {id: $s})-[:R]-(b)-[:R|S]-(c)-[:R]-(d) RETURN b.x, d.x ORDER BY d.x DESC LIMIT \
            7",
        "MATCH (a:A {id: $s})-[:R|S]-(b) WITH DISTINCT b MATCH (b)-[:R]-(c)-[:S]-(d) RETURN \
            DISTINCT c.x, d.x",
        "MATCH (a:A) WITH a ORDER BY a.x LIMIT 20 MATCH (a)-[:R]-(c)-[:R]-(d) RETURN a.id, c.x, \
            count(DISTINCT d.x) AS n",
        "MATCH (a:A) WITH a.x AS x, collect(a) AS l UNWIND l AS a MATCH (a)-[:R|S]-(c) OPTIONAL \
            MATCH (c)-[:S]->(d) RETURN x, c.id, d.id",
        "MATCH (a:A)-[:R]-(b) WITH b.x AS x, count(*) AS n, max(b.id) AS m MATCH (c:A {id: \
            m})-[:R]-(d)-[:R]-(e) RETURN x, n, e.id ORDER BY n, x",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c) RETURN count(DISTINCT c.x)",
    ];
    let mut random = Random::new(0x3a7e_11e1);
    let (mut parallel, mut divided) = (0, 0);
    for round in 0..25 {
        let model = Model::random(&mut random, 12, 30);
        let snapshot = graph(&model);
        let mut params = Params::new();
        params.insert("s".into(), Value::Integer(1));
        params.insert("t".into(), Value::Integer(2));
        params.insert("ids".into(), Value::list(vec![Value::Integer(3)]));
        let seed = random.below(u64::MAX);
        let firsts = PAIRS.iter().map(|(_, first, _)| first);
        for text in firsts.chain(MORE) {
            let planned = |threads| {
                let scale = 1_000_000;
                let schema = Schema {
                    seed,
                    scale,
                    threads,
                };
                parse_and_plan(text, &schema, &ParameterNames::Any)
                    .unwrap_or_else(|e| panic!("{}", e.render()))
            };
            let plan = planned(3);
            parallel += usize::from(contains(&plan, "Parallel"));
            divided += usize::from(contains(&plan, "Exchange"));
            let shown = graven_cypher::explain::explain(&plan);
            let mut context = ExecContext::new(Budget::new(64 << 20));
            context.tuning = tuning(round);
            let several = rows_of(&snapshot, plan, &params, context);
            let one = rows_in_order(&snapshot, planned(1), &params, 64 << 20);
            assert_eq!(several, one, "{model:?}\n{text}\n{shown}");
        }
    }
    assert!(parallel > 200, "only {parallel} plans were parallel");
    assert!(divided > 200, "only {divided} plans had rows to divide");
}

/// Goal: runs of one logical plan start from one physical plan, and answer as a run with a plan
/// of its own does.
#[test]
fn runs_share_a_physical_plan() {
    let mut random = Random::new(0x9a7c);
    let model = Model::random(&mut random, 7, 11);
    let snapshot = graph(&model);
    let schema = Schema {
        seed: 1,
        scale: 1,
        threads: 1,
    };
    let text = "MATCH (a:A {id: $s})-[r]->(b) RETURN b.x, r.w ORDER BY b.x, r.w LIMIT 3";
    let plan = parse_and_plan(text, &schema, &ParameterNames::Any);
    let plan = Arc::new(plan.unwrap_or_else(|e| panic!("{}", e.render())));
    let plans = PhysicalPlans::default();
    let mut known: Option<Arc<PhysicalPlan>> = None;
    for id in 0..5 {
        let params = Arc::new(Params::from([("s".into(), Value::Integer(id))]));
        let rows = |execution: Result<Execution, ExecError>| {
            let mut execution = execution.expect("starts");
            let mut rows = Vec::new();
            while let Some(batch) = execution.next_batch().expect("runs") {
                rows.extend((0..batch.len()).map(|row| format!("{:?}", batch.row(row))));
            }
            (rows, Arc::clone(execution.physical()))
        };
        let context = ExecContext::new(Budget::new(64 << 20));
        let (plan, snapshot) = (Arc::clone(&plan), snapshot.clone());
        let alone = execute(
            Arc::clone(&plan),
            snapshot.clone(),
            Arc::clone(&params),
            context.clone(),
        );
        let (alone, own) = rows(alone);
        let (together, kept) = rows(execute_kept(plan, &plans, snapshot, params, context));
        assert_eq!(alone, together);
        assert!(!Arc::ptr_eq(&own, &kept));
        let known = known.get_or_insert(Arc::clone(&kept));
        assert!(Arc::ptr_eq(known, &kept));
    }
}
