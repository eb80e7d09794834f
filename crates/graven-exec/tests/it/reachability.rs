//! Goal: variable-length patterns agree with naive enumeration of trails. Method: random small
//! multigraphs with loops and parallel relationships; random bounds, directions, type sets,
//! conditions, patterns before and after. `GRAVEN_MULTIGRAPHS=10000` sets the number of graphs,
//! `GRAVEN_SEED` the first seed.

use std::collections::BTreeMap;

use graven_cypher::plan::{
    BinaryOp, Direction, IdForm, Operator, PlanNode, RelPattern, VarExpandMode, VarId,
};
use graven_exec::value::order::total_order;
use graven_exec::{LevelDirection, Tuning, Value};
use graven_storage::{NodeId, RelId, Snapshot};

use crate::model::{Model, Random, TYPES, Wanted};
use crate::plans::{
    Length, binary, boolean, int, list, node, pattern, property, run_tuned, unit, var, var_expand,
};

const START: u32 = 0;
const END: u32 = 1;
const RELS: u32 = 2;
const COUNT: u32 = 3;
const EACH: u32 = 4;
const FIRST: u32 = 5;
const FIRST_REL: u32 = 6;
const TWICE: u32 = 7;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |v| v.parse().expect("a number"))
}

/// One random question.
fn question(random: &mut Random) -> (Wanted, Option<u32>) {
    let (min, max) = random.pick(&[
        (0, Some(0)),
        (0, Some(1)),
        (1, Some(1)),
        (1, Some(2)),
        (1, Some(3)),
        (1, Some(3)),
        (1, Some(4)),
        (1, Some(5)),
        (1, Some(6)),
        (1, None),
        (0, None),
        (0, Some(3)),
        (2, Some(2)),
        (2, Some(3)),
        (3, Some(4)),
        (2, None),
    ]);
    let wanted = Wanted {
        types: random.pick(&[vec![], vec![TYPES[0]], vec![TYPES[0], TYPES[1]]]),
        direction: random.pick(&[
            Direction::Both,
            Direction::Both,
            Direction::Out,
            Direction::In,
        ]),
        below: random.pick(&[None, None, Some(2), Some(3)]),
        excluded: Vec::new(),
        min,
        max: max.unwrap_or(usize::MAX),
    };
    (wanted, max.map(|m| u32::try_from(m).unwrap()))
}

fn rel_pattern(wanted: &Wanted) -> RelPattern {
    let mut pattern = pattern(&wanted.types, wanted.direction);
    if let Some(limit) = wanted.below {
        pattern.each = Some(VarId(EACH));
        pattern.filter = Some(binary(BinaryOp::Less, property(var(EACH), "w"), int(limit)));
    }
    pattern
}

fn all_nodes(var: u32) -> Box<PlanNode> {
    node(Operator::AllNodesScan {
        input: unit(),
        var: VarId(var),
    })
}

/// Rows by the order of their values.
fn in_order(rows: &mut [Vec<Value>]) {
    rows.sort_by(|a, b| total_order(&Value::list(a.clone()), &Value::list(b.clone())));
}

fn node_value(id: u64) -> Value {
    Value::Node(NodeId(id))
}

fn id_of(value: &Value) -> u64 {
    match value {
        Value::Node(id) => id.0,
        Value::Relationship(id) => id.0,
        other => panic!("no id: {other:?}"),
    }
}

fn ids_of(value: &Value) -> Vec<u64> {
    match value {
        Value::List(items) => items.iter().map(id_of).collect(),
        other => panic!("no list: {other:?}"),
    }
}

/// The graph under test, and thresholds that force one side of every choice.
struct Subject<'a> {
    model: &'a Model,
    snapshot: &'a Snapshot,
    tuning: Tuning,
}

fn tuning(random: &mut Random) -> Tuning {
    let mut tuning = Tuning::default();
    tuning.dense_nodes = random.pick(&[0, tuning.dense_nodes]);
    tuning.sparse_share = random.pick(&[1, 2, 64]);
    tuning.byte_nodes = random.pick(&[0, tuning.byte_nodes]);
    tuning.lanes_min = random.pick(&[1, 8, usize::MAX]);
    tuning.spill_at = random.pick(&[None, Some(0), Some(200)]);
    tuning.level_direction = random.pick(&[
        LevelDirection::Cheaper,
        LevelDirection::TopDown,
        LevelDirection::BottomUp,
        LevelDirection::Switching,
    ]);
    tuning
}

impl Subject<'_> {
    fn run(&self, plan: Box<PlanNode>, returns: &[u32]) -> Vec<Vec<Value>> {
        run_tuned(self.snapshot, plan, returns, self.tuning).unwrap()
    }
}

fn reachable(min: usize) -> VarExpandMode {
    VarExpandMode::Reachable { proven: min <= 1 }
}

/// Trails, their ends, and bound ends, from every node.
fn check_rows(on: &Subject<'_>, wanted: &Wanted, max: Option<u32>) {
    let model = on.model;
    let min = u32::try_from(wanted.min).unwrap();
    let length = |mode| Length { min, max, mode };
    let rows = |rels, to, mode, input, returns: &[u32]| {
        let plan = var_expand(input, START, rels, to, rel_pattern(wanted), length(mode));
        let mut rows = on.run(plan, returns);
        in_order(&mut rows);
        rows
    };
    let trails: Vec<_> = rows(
        Some(RELS),
        (END, false),
        VarExpandMode::Trails,
        all_nodes(START),
        &[START, END, RELS],
    );
    let mut found: BTreeMap<u64, Vec<(u64, Vec<u64>)>> = BTreeMap::new();
    for row in &trails {
        let trail = (id_of(&row[1]), ids_of(&row[2]));
        found.entry(id_of(&row[0])).or_default().push(trail);
    }
    for start in 0..model.nodes.len() as u64 {
        let mut found = found.remove(&start).unwrap_or_default();
        found.sort();
        assert_eq!(
            found,
            model.trails(start, wanted),
            "trails from {start}: {wanted:?} in {model:?}"
        );
    }
    for mode in [
        reachable(wanted.min),
        VarExpandMode::Reachable { proven: false },
    ] {
        let ends = rows(
            None,
            (END, false),
            mode.clone(),
            all_nodes(START),
            &[START, END],
        );
        let mut expected = Vec::new();
        for start in 0..model.nodes.len() as u64 {
            let ends = model.ends(start, wanted);
            expected.extend(
                ends.into_iter()
                    .map(|end| vec![node_value(start), node_value(end)]),
            );
        }
        in_order(&mut expected);
        assert_eq!(ends, expected, "ends {mode:?}: {wanted:?} in {model:?}");
        // Every pair of nodes: the same pairs survive.
        let pairs = node(Operator::AllNodesScan {
            input: all_nodes(START),
            var: VarId(END),
        });
        let into = rows(None, (END, true), mode.clone(), pairs, &[START, END]);
        assert_eq!(
            into, expected,
            "bound ends {mode:?}: {wanted:?} in {model:?}"
        );
    }
    let pairs = node(Operator::AllNodesScan {
        input: all_nodes(START),
        var: VarId(END),
    });
    let returns = &[START, END, RELS];
    let into = rows(
        Some(RELS),
        (END, true),
        VarExpandMode::Trails,
        pairs,
        returns,
    );
    assert_eq!(
        into, trails,
        "trails to bound ends: {wanted:?} in {model:?}"
    );
}

/// Counts of ends with and without conditions on the end, searched one by one and in shared sweeps.
fn check_counts(on: &Subject<'_>, wanted: &Wanted, max: Option<u32>, random: &mut Random) {
    let model = on.model;
    let repeats = random.pick(&[1_usize, 12, 70]);
    let only_b = random.below(2) == 0;
    let with_x = random.pick(&[None, Some(2)]);
    // Every node as often as asked, so that batches reach the size from which sweeps are shared.
    let starts = node(Operator::Unwind {
        input: all_nodes(START),
        list: list(
            (0..repeats)
                .map(|i| int(i64::try_from(i).unwrap()))
                .collect(),
        ),
        var: VarId(TWICE),
        last: false,
    });
    let count = node(Operator::ReachableCount {
        input: starts,
        from: VarId(START),
        to: VarId(END),
        pattern: rel_pattern(wanted),
        min: u32::try_from(wanted.min).unwrap(),
        max,
        end_labels: if only_b { vec!["B".into()] } else { Vec::new() },
        end_filter: with_x.map(|x| binary(BinaryOp::Less, property(var(END), "x"), int(x))),
        count: VarId(COUNT),
    });
    let rows = on.run(count, &[START, COUNT]);
    assert_eq!(rows.len(), repeats * model.nodes.len());
    for row in rows {
        let start = id_of(&row[0]);
        let expected = model
            .ends(start, wanted)
            .into_iter()
            .filter(|end| {
                let (b, x) = model.nodes[usize::try_from(*end).unwrap()];
                (b || !only_b) && with_x.is_none_or(|limit| x >= 0 && x < limit)
            })
            .count();
        let expected = Value::Integer(i64::try_from(expected).unwrap());
        assert_eq!(
            row[1], expected,
            "count from {start}, B {only_b}, x {with_x:?}, {repeats} repeats: {wanted:?} in \
                {model:?}"
        );
    }
}

/// A pattern before: `(f)-[r]-(s)-[*]-(e)` where the variable part must differ from `r`, single or
/// list.
fn check_after_other(on: &Subject<'_>, wanted: &Wanted, max: Option<u32>, random: &mut Random) {
    let model = on.model;
    let single = random.below(2) == 0;
    let before = Wanted {
        types: Vec::new(),
        direction: random.pick(&[Direction::Both, Direction::Out]),
        below: None,
        excluded: Vec::new(),
        min: 1,
        max: if single { 1 } else { 2 },
    };
    let mut pattern = rel_pattern(wanted);
    let input = if single {
        pattern.distinct_from = vec![VarId(FIRST_REL)];
        node(Operator::Expand {
            input: all_nodes(FIRST),
            from: VarId(FIRST),
            rel: Some(VarId(FIRST_REL)),
            to: VarId(START),
            pattern: rel_pattern(&before),
        })
    } else {
        pattern.disjoint_from = vec![VarId(FIRST_REL)];
        let length = Length {
            min: 1,
            max: Some(2),
            mode: VarExpandMode::Trails,
        };
        var_expand(
            all_nodes(FIRST),
            FIRST,
            Some(FIRST_REL),
            (START, false),
            rel_pattern(&before),
            length,
        )
    };
    let length = Length {
        min: u32::try_from(wanted.min).unwrap(),
        max,
        mode: reachable(wanted.min),
    };
    let plan = var_expand(input, START, None, (END, false), pattern, length);
    let mut found: Vec<(u64, Vec<u64>, u64)> = on
        .run(plan, &[FIRST, FIRST_REL, END])
        .iter()
        .map(|row| {
            let rels = match &row[1] {
                Value::Relationship(RelId(id)) => vec![*id],
                list => ids_of(list),
            };
            (id_of(&row[0]), rels, id_of(&row[2]))
        })
        .collect();
    found.sort();
    let mut expected = Vec::new();
    for first in 0..model.nodes.len() as u64 {
        for (start, rels) in model.trails(first, &before) {
            let mut wanted = wanted.clone();
            wanted.excluded.clone_from(&rels);
            let ends = model.ends(start, &wanted);
            expected.extend(ends.into_iter().map(|end| (first, rels.clone(), end)));
        }
    }
    expected.sort();
    assert_eq!(found, expected, "after {before:?}: {wanted:?} in {model:?}");
}

/// A pattern after: `(s)-[*]-(e)-[r]-(n)`, each end expanded once per start.
fn check_before_other(on: &Subject<'_>, wanted: &Wanted, max: Option<u32>) {
    let model = on.model;
    let length = Length {
        min: u32::try_from(wanted.min).unwrap(),
        max,
        mode: reachable(wanted.min),
    };
    let ends = var_expand(
        all_nodes(START),
        START,
        None,
        (END, false),
        rel_pattern(wanted),
        length,
    );
    let plan = node(Operator::Expand {
        input: ends,
        from: VarId(END),
        rel: Some(VarId(FIRST_REL)),
        to: VarId(FIRST),
        pattern: pattern(&["S"], Direction::Out),
    });
    let mut found: Vec<(u64, u64, u64, u64)> = on
        .run(plan, &[START, END, FIRST_REL, FIRST])
        .iter()
        .map(|r| (id_of(&r[0]), id_of(&r[1]), id_of(&r[2]), id_of(&r[3])))
        .collect();
    found.sort_unstable();
    let mut expected = Vec::new();
    for start in 0..model.nodes.len() as u64 {
        for end in model.ends(start, wanted) {
            for (id, rel) in (0..).zip(&model.rels) {
                if rel.kind == "S" && rel.start == end {
                    expected.push((start, end, id, rel.end));
                }
            }
        }
    }
    expected.sort_unstable();
    assert_eq!(found, expected, "before S: {wanted:?} in {model:?}");
}

#[test]
fn variable_length_patterns_agree_with_trail_enumeration() {
    let graphs = setting("GRAVEN_MULTIGRAPHS", 1_500);
    let first = setting("GRAVEN_SEED", 1);
    for seed in first..first + graphs {
        let mut random = Random::new(seed);
        let mut model = Model::random(&mut random, 7, 10);
        if random.below(8) == 0 {
            // Marks begin at the first node with relationships: further on than one word of a
            // bitmap.
            model = model.among_isolated(64 + random.below(30), random.below(3));
        }
        let store = model.store();
        let snapshot = store.snapshot();
        for _ in 0..3 {
            let (wanted, max) = question(&mut random);
            // Ten parallel relationships have millions of trails: nothing to learn from them.
            if !model.has_few_trails(&wanted, 2_000) {
                continue;
            }
            let on = Subject {
                model: &model,
                snapshot: &snapshot,
                tuning: tuning(&mut random),
            };
            check_rows(&on, &wanted, max);
            check_counts(&on, &wanted, max, &mut random);
            check_after_other(&on, &wanted, max, &mut random);
            check_before_other(&on, &wanted, max);
        }
    }
}

/// Goal: the start is counted exactly when a closed trail fits. Method: the smallest graphs of each
/// kind.
#[test]
fn the_start_counts_exactly_on_closed_trails() {
    let graph = |rels: &[(u64, u64)]| Model {
        nodes: vec![(false, 0); 6],
        rels: rels
            .iter()
            .map(|(start, end)| crate::model::Rel {
                start: *start,
                kind: "R",
                end: *end,
                weight: 0,
            })
            .collect(),
    };
    let cases: [(&str, Model, u32); 6] = [
        ("a loop", graph(&[(0, 0), (0, 1)]), 1),
        ("two parallel relationships", graph(&[(0, 1), (0, 1)]), 2),
        ("two opposite relationships", graph(&[(0, 1), (1, 0)]), 2),
        ("a triangle", graph(&[(0, 1), (0, 2), (1, 2)]), 3),
        ("a square", graph(&[(0, 1), (0, 3), (1, 2), (2, 3)]), 4),
        (
            "a pentagon",
            graph(&[(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)]),
            5,
        ),
    ];
    for (what, model, shortest) in cases {
        let store = model.store();
        for max in 1..7 {
            let plan = var_expand(
                node(Operator::NodeByIdSeek {
                    form: IdForm::Number,
                    input: unit(),
                    var: VarId(START),
                    value: int(0),
                    any: false,
                }),
                START,
                None,
                (END, false),
                pattern(&[], Direction::Both),
                Length {
                    min: 1,
                    max: Some(max),
                    mode: reachable(1),
                },
            );
            let rows = run_tuned(&store.snapshot(), plan, &[END], Tuning::default()).unwrap();
            let counted = rows.contains(&vec![node_value(0)]);
            assert_eq!(counted, max >= shortest, "{what}, at most {max}");
        }
    }
}

/// Goal: however levels are run, they reach the same nodes, also where frontiers and unreached
/// nodes fill many words of a bitmap and a level changes sides in its middle. Method: graphs of
/// hundreds of nodes with hubs, two types, both forms of dense marks, against a plain breadth-first
/// search.
#[test]
fn levels_from_either_side_reach_the_same() {
    for seed in 0..12 {
        let mut random = Random::new(1000 + seed);
        let mut model = Model::random(&mut random, 1, 0);
        let nodes = 300 + random.below(600);
        model.nodes = vec![(false, -1); usize::try_from(nodes).unwrap()];
        for _ in 0..nodes * 3 {
            // Small ids are hubs; some nodes stay alone.
            let hub = random.below(nodes) * random.below(nodes) / nodes;
            model.rels.push(crate::model::Rel {
                start: hub,
                kind: TYPES[usize::from(random.below(8) == 0)],
                end: random.below(nodes),
                weight: 0,
            });
        }
        let store = model.store();
        let snapshot = store.snapshot();
        for direction in [Direction::Both, Direction::Out, Direction::In] {
            for max in [3, 4, 9] {
                let wanted = Wanted {
                    types: vec![TYPES[0], TYPES[1]],
                    direction,
                    below: None,
                    excluded: Vec::new(),
                    min: 0,
                    max,
                };
                let count = |level_direction, byte_nodes| {
                    let mut tuning = Tuning::default();
                    tuning.level_direction = level_direction;
                    tuning.byte_nodes = byte_nodes;
                    tuning.lanes_min = usize::MAX;
                    let plan = node(Operator::ReachableCount {
                        input: all_nodes(START),
                        from: VarId(START),
                        to: VarId(END),
                        pattern: rel_pattern(&wanted),
                        min: 0,
                        max: Some(u32::try_from(max).unwrap()),
                        end_labels: Vec::new(),
                        end_filter: None,
                        count: VarId(COUNT),
                    });
                    let mut rows = run_tuned(&snapshot, plan, &[START, COUNT], tuning).unwrap();
                    in_order(&mut rows);
                    rows
                };
                let expected: Vec<Vec<Value>> = model
                    .distances(&wanted)
                    .map(|(start, reached)| {
                        vec![
                            node_value(start),
                            Value::Integer(i64::try_from(reached).unwrap()),
                        ]
                    })
                    .collect();
                for level_direction in [
                    LevelDirection::Cheaper,
                    LevelDirection::TopDown,
                    LevelDirection::BottomUp,
                    LevelDirection::Switching,
                ] {
                    for byte_nodes in [0, 1 << 20] {
                        assert_eq!(
                            count(level_direction, byte_nodes),
                            expected,
                            "{level_direction:?}, {byte_nodes}, {wanted:?}, seed {seed}"
                        );
                    }
                }
            }
        }
    }
}

/// Goal: a condition that is never true and an unknown type reach nothing but, from 0, the start
/// itself.
#[test]
fn nothing_to_follow_reaches_nothing() {
    let mut random = Random::new(7);
    let model = Model::random(&mut random, 6, 10);
    let store = model.store();
    for min in [0, 1] {
        let mut never = pattern(&[], Direction::Both);
        never.each = Some(VarId(EACH));
        never.filter = Some(boolean(false));
        for pattern in [never, pattern(&["NO_SUCH_TYPE"], Direction::Both)] {
            let length = Length {
                min,
                max: Some(3),
                mode: reachable(1),
            };
            let plan = var_expand(all_nodes(START), START, None, (END, false), pattern, length);
            let rows =
                run_tuned(&store.snapshot(), plan, &[START, END], Tuning::default()).unwrap();
            let expected = if min == 0 { model.nodes.len() } else { 0 };
            assert_eq!(rows.len(), expected);
            assert!(rows.iter().all(|row| row[0] == row[1]));
        }
    }
}
