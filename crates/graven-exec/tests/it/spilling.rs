//! Goal: operators that do not fit spill and give the same answer. Method: sorts, groups, distinct
//! rows and joins of more rows than a budget of 1 to 2 MiB holds, computed beside it; plans on
//! random graphs spill in `operators.rs`.

use std::collections::BTreeMap;

use graven_cypher::Span;
use graven_cypher::plan::{
    AggregateCall, AggregateFunction as F, BinaryOp, Expr, Operator as P, PlanNode, SortOrder,
    VarId,
};
use graven_exec::{ExecError, Value};

use crate::model::Model;
use crate::plans::{binary, call, int, node, run_spilling, run_within, unit, var};

const ROWS: i64 = 60_000;

fn unwind(var: u32, rows: i64) -> Box<PlanNode> {
    node(P::Unwind {
        input: unit(),
        list: call("range", vec![int(1), int(rows)]),
        var: VarId(var),
        last: false,
    })
}

/// `(n * 7919) % modulus`: numbers in no order.
fn scattered(of: u32, modulus: i64) -> Expr {
    let times = binary(BinaryOp::Multiply, var(of), int(7919));
    binary(BinaryOp::Modulo, times, int(modulus))
}

fn extend(input: Box<PlanNode>, var: u32, expr: Expr) -> Box<PlanNode> {
    node(P::Extend {
        input,
        items: vec![(VarId(var), expr)],
    })
}

fn empty() -> std::sync::Arc<graven_storage::Store> {
    Model {
        nodes: vec![(false, 0)],
        rels: Vec::new(),
    }
    .store()
}

fn aggregate(function: F, of: u32, distinct: bool) -> AggregateCall {
    AggregateCall {
        function,
        argument: (function != F::CountStar).then(|| var(of)),
        parameter: None,
        distinct,
        at: Span::default(),
    }
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer(i) => *i,
        other => panic!("no integer: {other:?}"),
    }
}

/// Goal: a sort of several runs is stable and exact, with texts and mixed directions, at different
/// sizes of runs.
#[test]
fn sorts_spill() {
    let store = empty();
    let text = call("tostring", vec![scattered(0, 1_000)]);
    let input = extend(unwind(0, ROWS), 1, text);
    let input = extend(input, 2, scattered(0, 10));
    let mut expected: Vec<i64> = (1..=ROWS).collect();
    let key = |n: i64| (n * 7919 % 10, (n * 7919 % 1_000).to_string());
    expected.sort_by(|a, b| key(*b).0.cmp(&key(*a).0).then(key(*a).1.cmp(&key(*b).1)));
    let keys = vec![
        (var(2), SortOrder::Descending),
        (var(1), SortOrder::Ascending),
    ];
    for (budget, spill_at) in [
        (2 << 20, None),
        (8 << 20, Some(1)),
        (8 << 20, Some(300_000)),
    ] {
        let sorted = node(P::Sort {
            input: input.clone(),
            keys: keys.clone(),
        });
        let rows = run_spilling(&store.snapshot(), sorted, &[0, 1], budget, spill_at).unwrap();
        let found: Vec<i64> = rows.iter().map(|row| integer(&row[0])).collect();
        assert_eq!(found, expected, "spill_at {spill_at:?}");
        let top = node(P::TopN {
            input: input.clone(),
            keys: keys.clone(),
            limit: int(20_000),
        });
        let rows = run_spilling(&store.snapshot(), top, &[0], budget, spill_at).unwrap();
        let found: Vec<i64> = rows.iter().map(|row| integer(&row[0])).collect();
        assert_eq!(found, expected[..20_000], "spill_at {spill_at:?}");
    }
}

/// Goal: every aggregate function survives being written out and merged, with and without
/// `DISTINCT`.
#[test]
fn groups_spill() {
    let store = empty();
    let input = extend(unwind(0, ROWS), 1, scattered(0, 20_011));
    let input = extend(input, 2, binary(BinaryOp::Modulo, var(0), int(7)));
    let calls = [
        aggregate(F::CountStar, 0, false),
        aggregate(F::Sum, 0, false),
        aggregate(F::Min, 0, false),
        aggregate(F::Max, 0, false),
        aggregate(F::Avg, 0, false),
        aggregate(F::StDevP, 0, false),
        aggregate(F::Collect, 0, false),
        aggregate(F::Sum, 2, true),
        aggregate(F::Count, 2, true),
    ];
    let mut expected: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for n in 1..=ROWS {
        expected.entry(n * 7919 % 20_011).or_default().push(n);
    }
    for (budget, spill_at) in [(2 << 20, None), (8 << 20, Some(1)), (64 << 20, None)] {
        let aggregates = calls.iter().zip(3..).map(|(c, v)| (VarId(v), c.clone()));
        let plan = node(P::Aggregate {
            input: input.clone(),
            keys: vec![(VarId(1), var(1))],
            aggregates: aggregates.collect(),
        });
        let returns: Vec<u32> = std::iter::once(1).chain(3..12).collect();
        let rows = run_spilling(&store.snapshot(), plan, &returns, budget, spill_at).unwrap();
        assert_eq!(rows.len(), expected.len());
        for row in rows {
            let members = &expected[&integer(&row[0])];
            let count = i64::try_from(members.len()).unwrap();
            let sum: i64 = members.iter().sum();
            assert_eq!(integer(&row[1]), count);
            assert_eq!(integer(&row[2]), sum);
            assert_eq!(row[3], Value::Integer(members[0]));
            assert_eq!(row[4], Value::Integer(*members.last().unwrap()));
            let mean = sum as f64 / count as f64;
            let squares: f64 = members.iter().map(|m| (*m as f64 - mean).powi(2)).sum();
            for (value, right) in [(&row[5], mean), (&row[6], (squares / count as f64).sqrt())] {
                match value {
                    Value::Float(f) => assert!((f - right).abs() < 1e-6, "{f} {right}"),
                    other => panic!("no float: {other:?}"),
                }
            }
            let list = members.iter().map(|m| Value::Integer(*m)).collect();
            assert_eq!(row[7], Value::list(list), "in the order of the rows");
            let mut sevens: Vec<i64> = members.iter().map(|m| m % 7).collect();
            sevens.sort_unstable();
            sevens.dedup();
            assert_eq!(integer(&row[8]), sevens.iter().sum::<i64>());
            assert_eq!(integer(&row[9]), i64::try_from(sevens.len()).unwrap());
        }
    }
}

/// Goal: long lists in few groups are written in pieces and come back whole; one that cannot fit is
/// an error that names operator and remedy.
#[test]
fn long_lists_spill_until_one_does_not_fit() {
    let store = empty();
    let input = extend(unwind(0, ROWS), 1, scattered(0, 8));
    let plan = |input: Box<PlanNode>| {
        node(P::Aggregate {
            input,
            keys: vec![(VarId(1), var(1))],
            aggregates: vec![(VarId(2), aggregate(F::Collect, 0, false))],
        })
    };
    let rows = run_spilling(
        &store.snapshot(),
        plan(input),
        &[1, 2],
        2 << 20,
        Some(700_000),
    )
    .unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let Value::List(items) = &row[1] else {
            panic!("no list");
        };
        assert_eq!(items.len(), 7_500);
        assert!(items.windows(2).all(|w| integer(&w[0]) < integer(&w[1])));
    }
    let one = extend(unwind(0, 1_000_000), 1, int(1));
    let error = run_spilling(&store.snapshot(), plan(one), &[2], 4 << 20, None).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(
            error,
            ExecError::Memory {
                operator: "Aggregate",
                ..
            }
        ),
        "{text}"
    );
    assert!(
        text.contains("raise --memory, or group or collect fewer rows"),
        "{text}"
    );
}

/// Goal: distinct rows and a count of distinct values beyond the memory.
#[test]
fn distinct_rows_spill() {
    let store = empty();
    let input = extend(unwind(0, ROWS), 1, scattered(0, 25_013));
    let distinct = |vars: Vec<VarId>| {
        node(P::Distinct {
            input: input.clone(),
            vars,
            runs: false,
        })
    };
    for (budget, spill_at) in [(1 << 20, None), (8 << 20, Some(1))] {
        let plan = distinct(vec![VarId(1)]);
        let rows = run_spilling(&store.snapshot(), plan, &[1], budget, spill_at).unwrap();
        let mut found: Vec<i64> = rows.iter().map(|row| integer(&row[0])).collect();
        found.sort_unstable();
        assert_eq!(found, (0..25_013).collect::<Vec<_>>());
        let count = node(P::Aggregate {
            input: input.clone(),
            keys: Vec::new(),
            aggregates: vec![(VarId(2), aggregate(F::Count, 1, true))],
        });
        let rows = run_spilling(&store.snapshot(), count, &[2], budget, spill_at).unwrap();
        assert_eq!(rows, [[Value::Integer(25_013)]]);
    }
}

/// Goal: a join whose build side does not fit, with keys of very different frequency.
#[test]
fn joins_spill() {
    let store = empty();
    // Key 0 has 10,001 rows on the build side, the others one or none.
    let skewed = Expr::Case {
        branches: vec![(binary(BinaryOp::LessOrEqual, var(0), int(10_000)), int(0))],
        otherwise: Some(Box::new(var(0))),
        at: Span::default(),
    };
    let build = extend(unwind(0, 40_000), 1, skewed);
    let input = extend(
        unwind(2, 100),
        1,
        binary(BinaryOp::Multiply, var(2), int(390)),
    );
    let zero = extend(
        node(P::Unwind {
            input: unit(),
            list: call("range", vec![int(0), int(0)]),
            var: VarId(2),
            last: false,
        }),
        1,
        int(0),
    );
    let input = node(P::Union {
        inputs: vec![*input, *zero],
    });
    let join = node(P::HashJoin {
        input,
        build,
        on: vec![VarId(1)],
    });
    // Multiples of 390 above 10,000, and the frequent key.
    let expected = (1..=100).filter(|n| n * 390 > 10_000).count() + 10_000;
    for (budget, spill_at) in [(1 << 20, None), (8 << 20, Some(1)), (64 << 20, None)] {
        let rows =
            run_spilling(&store.snapshot(), join.clone(), &[0, 2], budget, spill_at).unwrap();
        assert_eq!(rows.len(), expected, "budget {budget}");
        for row in &rows {
            let (build, input) = (integer(&row[0]), integer(&row[1]));
            assert!(build == input * 390 || input == 0 && build <= 10_000);
        }
    }
}

/// Goal: a join in an inner tree finds the rows of its build side for each outer row, in their
/// order and with those that find none, also where the build side does not fit.
#[test]
fn joins_of_inner_trees_spill() {
    let store = empty();
    // Keys 0 to 3,999 have ten rows each.
    let build = extend(
        unwind(0, 40_000),
        1,
        binary(BinaryOp::Modulo, var(0), int(4000)),
    );
    let outer = extend(
        unwind(2, 5000),
        1,
        binary(BinaryOp::Multiply, var(2), int(3)),
    );
    let inner = node(P::HashJoin {
        input: node(P::Argument {
            vars: vec![VarId(1)],
        }),
        build,
        on: vec![VarId(1)],
    });
    let optional = node(P::Optional {
        input: outer,
        inner,
        nulls: vec![VarId(0)],
    });
    let matched = (1..=5000).filter(|n| n * 3 < 4000).count();
    for (budget, spill_at) in [(1 << 20, None), (8 << 20, Some(1)), (64 << 20, None)] {
        let plan = optional.clone();
        let rows = run_spilling(&store.snapshot(), plan, &[2, 0], budget, spill_at).unwrap();
        assert_eq!(rows.len(), 9 * matched + 5000, "budget {budget}");
        let mut last = 0;
        for row in &rows {
            let outer = integer(&row[0]);
            assert!(outer >= last, "outer rows come in order");
            last = outer;
            match &row[1] {
                Value::Null => assert!(outer * 3 >= 4000, "{outer}"),
                found => assert_eq!(integer(found) % 4000, outer * 3),
            }
        }
    }
}

/// Goal: a range of any length is unwound without being made; a list that cannot fit is refused
/// with a remedy.
#[test]
fn ranges_are_counted_off() {
    let store = empty();
    let count = |input| {
        node(P::Aggregate {
            input,
            keys: Vec::new(),
            aggregates: vec![(VarId(9), aggregate(F::Max, 0, false))],
        })
    };
    let rows = run_within(
        &store.snapshot(),
        count(unwind(0, 20_000_000)),
        &[9],
        64 << 10,
    );
    assert_eq!(rows.unwrap(), [[Value::Integer(20_000_000)]]);
    let list = call("size", vec![call("range", vec![int(1), int(20_000_000)])]);
    let plan = extend(unit(), 0, list);
    let error = run_within(&store.snapshot(), plan, &[0], 16 << 20).unwrap_err();
    assert!(error.to_string().contains("make shorter lists"), "{error}");
    let top = node(P::TopN {
        input: unwind(0, 10),
        keys: vec![(var(0), SortOrder::Ascending)],
        limit: binary(BinaryOp::Add, int(i64::MAX), int(i64::MAX)),
    });
    let rows = run_within(&store.snapshot(), top, &[0], 1 << 20).unwrap();
    assert_eq!(
        rows.len(),
        10,
        "the sum of SKIP and LIMIT is beyond all numbers"
    );
}
