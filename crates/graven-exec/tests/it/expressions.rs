//! Goal: expressions follow openCypher: three-valued logic, equality against equivalence, order
//! across types, numbers, lists, text, conversions, errors. Method: expressions over literals, each
//! evaluated as a constant and, where rows matter, over a column.

use graven_cypher::Span;
use graven_cypher::plan::expression::Quantifier;
use graven_cypher::plan::{BinaryOp as Op, Expr, Operator as P, SortOrder, UnaryOp, VarId};
use graven_exec::{ExecError, Value};
use graven_storage::{GraphBuilder, PropertyValue, Snapshot};

use crate::plans::{
    binary, boolean, call, float, int, list, node, null, property, run, text, unit, var,
};

fn empty() -> Snapshot {
    let mut builder = GraphBuilder::new();
    builder.node(&["A"], &[]);
    builder.open(2 << 20).unwrap().snapshot()
}

fn try_eval(expr: Expr) -> Result<Value, ExecError> {
    let root = node(P::Project {
        input: unit(),
        items: vec![(VarId(0), expr)],
    });
    run(&empty(), root, &[0]).map(|rows| rows[0][0].clone())
}

fn eval(expr: Expr) -> Value {
    try_eval(expr.clone()).unwrap_or_else(|e| panic!("{expr:?}: {e}"))
}

fn integer(value: i64) -> Value {
    Value::Integer(value)
}

fn map(entries: &[(&str, Expr)]) -> Expr {
    Expr::Map(
        entries
            .iter()
            .map(|(k, e)| ((*k).into(), e.clone()))
            .collect(),
    )
}

fn unary(op: UnaryOp, operand: Expr) -> Expr {
    Expr::Unary {
        op,
        operand: Box::new(operand),
        at: Span::default(),
    }
}

fn nan() -> Expr {
    binary(Op::Divide, float(0.0), float(0.0))
}

#[test]
fn logic_has_three_values() {
    let values = [boolean(true), boolean(false), null()];
    let expected = |table: [[i8; 3]; 3], op: Op| {
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                let wanted = match table[i][j] {
                    1 => Value::Boolean(true),
                    0 => Value::Boolean(false),
                    _ => Value::Null,
                };
                assert_eq!(
                    eval(binary(op, a.clone(), b.clone())),
                    wanted,
                    "{a:?} {op:?} {b:?}"
                );
            }
        }
    };
    expected([[1, 0, 2], [0, 0, 0], [2, 0, 2]], Op::And);
    expected([[1, 1, 1], [1, 0, 2], [1, 2, 2]], Op::Or);
    expected([[0, 1, 2], [1, 0, 2], [2, 2, 2]], Op::Xor);
    assert_eq!(eval(unary(UnaryOp::Not, null())), Value::Null);
    assert_eq!(eval(unary(UnaryOp::IsNull, null())), Value::Boolean(true));
    assert!(matches!(
        try_eval(binary(Op::And, int(1), boolean(true))),
        Err(ExecError::Type { .. })
    ));
}

#[test]
fn equality_is_three_valued_and_exact() {
    let big = 9_007_199_254_740_993; // 2^53 + 1 has no float
    let cases = [
        (int(1), float(1.0), Value::Boolean(true)),
        (
            int(big),
            float(9_007_199_254_740_992.0),
            Value::Boolean(false),
        ),
        (text("1"), int(1), Value::Boolean(false)),
        (null(), null(), Value::Null),
        (nan(), nan(), Value::Boolean(false)),
        (
            list(vec![int(1), null()]),
            list(vec![int(1), null()]),
            Value::Null,
        ),
        (
            list(vec![int(1), null()]),
            list(vec![int(2), null()]),
            Value::Boolean(false),
        ),
        (
            list(vec![int(1)]),
            list(vec![int(1), null()]),
            Value::Boolean(false),
        ),
        (
            list(vec![list(vec![int(1)])]),
            list(vec![list(vec![float(1.0)])]),
            Value::Boolean(true),
        ),
        (
            map(&[("a", int(1)), ("b", null())]),
            map(&[("b", null()), ("a", int(1))]),
            Value::Null,
        ),
        (
            map(&[("a", int(1))]),
            map(&[("b", int(1))]),
            Value::Boolean(false),
        ),
        (boolean(true), boolean(true), Value::Boolean(true)),
    ];
    for (a, b, wanted) in cases {
        assert_eq!(
            eval(binary(Op::Equal, a.clone(), b.clone())),
            wanted,
            "{a:?} = {b:?}"
        );
        let negated = match wanted {
            Value::Boolean(t) => Value::Boolean(!t),
            other => other,
        };
        assert_eq!(eval(binary(Op::NotEqual, a, b)), negated);
    }
}

#[test]
fn comparisons_across_types_are_unknown() {
    let cases = [
        (int(1), float(1.5), Op::Less, Value::Boolean(true)),
        (text("a"), text("b"), Op::Less, Value::Boolean(true)),
        (
            boolean(false),
            boolean(true),
            Op::Less,
            Value::Boolean(true),
        ),
        (int(1), text("1"), Op::Less, Value::Null),
        (nan(), int(1), Op::Less, Value::Boolean(false)),
        (nan(), int(1), Op::GreaterOrEqual, Value::Boolean(false)),
        (
            list(vec![int(1), int(2)]),
            list(vec![int(1), null()]),
            Op::GreaterOrEqual,
            Value::Null,
        ),
        (
            list(vec![int(1), int(2)]),
            list(vec![int(3), null()]),
            Op::GreaterOrEqual,
            Value::Boolean(false),
        ),
        (
            list(vec![int(1)]),
            list(vec![int(1), int(0)]),
            Op::Less,
            Value::Boolean(true),
        ),
        (int(i64::MAX), float(9.3e18), Op::Less, Value::Boolean(true)),
    ];
    for (a, b, op, wanted) in cases {
        assert_eq!(
            eval(binary(op, a.clone(), b.clone())),
            wanted,
            "{a:?} {op:?} {b:?}"
        );
    }
    let chain = |middle| Expr::Chain {
        first: Box::new(int(1)),
        rest: vec![(Op::Less, middle), (Op::LessOrEqual, int(3))],
        at: Span::default(),
    };
    assert_eq!(eval(chain(int(3))), Value::Boolean(true));
    assert_eq!(eval(chain(int(4))), Value::Boolean(false));
    assert_eq!(eval(chain(null())), Value::Null);
}

#[test]
fn integers_overflow_with_an_error() {
    let cases = [
        binary(Op::Add, int(i64::MAX), int(1)),
        binary(Op::Subtract, int(i64::MIN), int(1)),
        binary(Op::Multiply, int(i64::MAX), int(2)),
        binary(Op::Divide, int(i64::MIN), int(-1)),
        binary(Op::Divide, int(1), int(0)),
        binary(Op::Modulo, int(1), int(0)),
        call("abs", vec![int(i64::MIN)]),
    ];
    for expr in cases {
        assert!(
            matches!(try_eval(expr.clone()), Err(ExecError::Arithmetic { .. })),
            "{expr:?}"
        );
    }
    assert_eq!(eval(binary(Op::Divide, int(7), int(-2))), integer(-3));
    assert_eq!(eval(binary(Op::Modulo, int(-7), int(3))), integer(-1));
    assert_eq!(eval(binary(Op::Power, int(2), int(3))), Value::Float(8.0));
    assert_eq!(eval(binary(Op::Add, text("a"), int(1))), Value::text("a1"));
    assert_eq!(eval(binary(Op::Add, null(), int(1))), Value::Null);
    for op in [Op::Add, Op::Subtract, Op::Multiply] {
        let day = || call("duration", vec![text("P1D")]);
        assert_eq!(eval(binary(op, null(), day())), Value::Null, "{op:?}");
        assert_eq!(eval(binary(op, day(), null())), Value::Null, "{op:?}");
    }
    assert_eq!(
        eval(binary(Op::Add, list(vec![int(1)]), int(2))),
        Value::list(vec![integer(1), integer(2)])
    );
    assert!(matches!(
        try_eval(binary(Op::Subtract, text("a"), int(1))),
        Err(ExecError::Type { .. })
    ));
}

#[test]
fn branches_not_taken_are_not_computed() {
    let divided = |x| binary(Op::Divide, int(6), x);
    let case = Expr::Case {
        branches: vec![(binary(Op::Equal, var(0), int(0)), int(-1))],
        otherwise: Some(Box::new(divided(var(0)))),
        at: Span::default(),
    };
    let guarded = binary(
        Op::And,
        binary(Op::NotEqual, var(0), int(0)),
        binary(Op::Greater, divided(var(0)), int(2)),
    );
    let rows = node(P::Unwind {
        input: unit(),
        list: list(vec![int(0), int(2), int(3), null()]),
        var: VarId(0),
        last: false,
    });
    let plan = node(P::Extend {
        input: rows,
        items: vec![(VarId(1), case), (VarId(2), guarded)],
    });
    let found = run(&empty(), plan, &[1, 2]).unwrap();
    let expected = [
        [integer(-1), Value::Boolean(false)],
        [integer(3), Value::Boolean(true)],
        [integer(2), Value::Boolean(false)],
        [Value::Null, Value::Null],
    ];
    assert_eq!(found, expected.map(Vec::from));
}

#[test]
fn lists_are_indexed_sliced_and_searched() {
    let items = || list(vec![int(1), int(2), int(3), int(4)]);
    let index = |i| Expr::Index {
        base: Box::new(items()),
        index: Box::new(int(i)),
        at: Span::default(),
    };
    assert_eq!(eval(index(0)), integer(1));
    assert_eq!(eval(index(-1)), integer(4));
    assert_eq!(eval(index(4)), Value::Null);
    let slice = |from: Option<Expr>, to: Option<Expr>| Expr::Slice {
        base: Box::new(items()),
        from: from.map(Box::new),
        to: to.map(Box::new),
        at: Span::default(),
    };
    let ints = |v: &[i64]| Value::list(v.iter().copied().map(Value::Integer).collect());
    assert_eq!(eval(slice(Some(int(1)), Some(int(3)))), ints(&[2, 3]));
    assert_eq!(eval(slice(Some(int(-2)), None)), ints(&[3, 4]));
    assert_eq!(eval(slice(Some(int(3)), Some(int(1)))), ints(&[]));
    assert_eq!(eval(slice(Some(null()), Some(int(1)))), Value::Null);
    let inside = |needle, haystack| eval(binary(Op::In, needle, haystack));
    assert_eq!(inside(int(2), items()), Value::Boolean(true));
    assert_eq!(inside(int(5), items()), Value::Boolean(false));
    assert_eq!(inside(int(5), list(vec![null()])), Value::Null);
    assert_eq!(inside(null(), list(vec![])), Value::Boolean(false));
    assert_eq!(inside(null(), items()), Value::Null);
    assert_eq!(
        eval(call("range", vec![int(3), int(0), int(-2)])),
        ints(&[3, 1])
    );
    assert_eq!(eval(call("range", vec![int(2), int(1)])), ints(&[]));
    assert_eq!(eval(call("tail", vec![items()])), ints(&[2, 3, 4]));
    assert_eq!(eval(call("size", vec![text("gr\u{e4}f")])), integer(4));
}

#[test]
fn list_bodies_see_outer_rows_and_nest() {
    // [x IN [1, 2, 3] WHERE x > v | [y IN [x, v] | x * y]] over rows v = 0, 1, 2
    let inner = Expr::ListComprehension {
        var: VarId(3),
        list: Box::new(list(vec![var(2), var(0)])),
        filter: None,
        map: Some(Box::new(binary(Op::Multiply, var(2), var(3)))),
        at: Span::default(),
    };
    let outer = Expr::ListComprehension {
        var: VarId(2),
        list: Box::new(list(vec![int(1), int(2), int(3)])),
        filter: Some(Box::new(binary(Op::Greater, var(2), var(0)))),
        map: Some(Box::new(inner)),
        at: Span::default(),
    };
    let total = Expr::Reduce {
        accumulator: VarId(4),
        init: Box::new(var(0)),
        var: VarId(5),
        list: Box::new(call("range", vec![int(1), var(0)])),
        step: Box::new(binary(
            Op::Add,
            binary(Op::Multiply, var(4), int(10)),
            var(5),
        )),
        at: Span::default(),
    };
    let plan = node(P::Extend {
        input: node(P::Unwind {
            input: unit(),
            list: list(vec![int(0), int(1), int(2)]),
            var: VarId(0),
            last: false,
        }),
        items: vec![(VarId(1), outer), (VarId(6), total)],
    });
    let rows = run(&empty(), plan, &[1, 6]).unwrap();
    let shown: Vec<String> = rows.iter().map(|r| format!("{} {}", r[0], r[1])).collect();
    assert_eq!(
        shown,
        [
            "[[1, 0], [4, 0], [9, 0]] 0",
            "[[4, 2], [9, 3]] 11",
            "[[9, 6]] 212"
        ]
    );
}

#[test]
fn quantifiers_know_the_unknown() {
    use Quantifier::{All, Any, None, Single};
    let ask = |kind, items: Vec<Expr>| {
        eval(Expr::Quantifier {
            kind,
            var: VarId(0),
            list: Box::new(list(items)),
            predicate: Box::new(binary(Op::Greater, var(0), int(1))),
            at: Span::default(),
        })
    };
    let (yes, no) = (Value::Boolean(true), Value::Boolean(false));
    assert_eq!(ask(All, vec![]), yes);
    assert_eq!(ask(All, vec![int(2), null()]), Value::Null);
    assert_eq!(ask(All, vec![int(1), null()]), no);
    assert_eq!(ask(Any, vec![int(2), null()]), yes);
    assert_eq!(ask(Any, vec![int(1), null()]), Value::Null);
    assert_eq!(ask(None, vec![int(1)]), yes);
    assert_eq!(ask(None, vec![int(2), null()]), no);
    assert_eq!(ask(Single, vec![int(2), int(1)]), yes);
    assert_eq!(ask(Single, vec![int(2), int(3), null()]), no);
    assert_eq!(ask(Single, vec![int(2), null()]), Value::Null);
}

#[test]
fn functions_convert_and_handle_text() {
    let cases = [
        (call("tointeger", vec![text("42")]), integer(42)),
        (call("tointeger", vec![text(" 42 ")]), Value::Null),
        (call("tofloat", vec![text(" 42 ")]), Value::Float(42.0)),
        (call("tointeger", vec![text("1.7")]), integer(1)),
        (call("tointeger", vec![text("x")]), Value::Null),
        (call("tointeger", vec![float(-1.9)]), integer(-1)),
        (call("tofloat", vec![text("2.5")]), Value::Float(2.5)),
        (call("toboolean", vec![text("TRUE")]), Value::Boolean(true)),
        (call("tostring", vec![float(1.0)]), Value::text("1.0")),
        (call("tostring", vec![float(1e21)]), Value::text("1.0E21")),
        (
            call("substring", vec![text("hello"), int(1), int(3)]),
            Value::text("ell"),
        ),
        (
            call("split", vec![text("a,b"), text(",")]),
            Value::list(vec![Value::text("a"), Value::text("b")]),
        ),
        (call("left", vec![text("hello"), int(2)]), Value::text("he")),
        (
            call("right", vec![text("hello"), int(2)]),
            Value::text("lo"),
        ),
        (
            call("replace", vec![text("aba"), text("a"), text("c")]),
            Value::text("cbc"),
        ),
        (call("coalesce", vec![null(), int(1), int(2)]), integer(1)),
        (call("reverse", vec![text("abc")]), Value::text("cba")),
        (call("round", vec![float(-1.5)]), Value::Float(-1.0)),
        (call("sign", vec![float(-0.5)]), integer(-1)),
        (
            binary(Op::StartsWith, text("abc"), text("ab")),
            Value::Boolean(true),
        ),
        (binary(Op::Contains, text("abc"), int(1)), Value::Null),
        (
            binary(Op::RegexMatch, text("abc"), text("a.c")),
            Value::Boolean(true),
        ),
        (
            binary(Op::RegexMatch, text("abcd"), text("a.c")),
            Value::Boolean(false),
        ),
        (property(map(&[("a", int(1))]), "a"), integer(1)),
        (property(map(&[("a", int(1))]), "b"), Value::Null),
        (property(null(), "b"), Value::Null),
    ];
    for (expr, wanted) in cases {
        assert_eq!(eval(expr.clone()), wanted, "{expr:?}");
    }
    assert!(matches!(
        try_eval(property(int(1), "a")),
        Err(ExecError::Type { .. })
    ));
    assert!(matches!(
        try_eval(Expr::Parameter("p".into(), Span::default())),
        Err(ExecError::MissingParameter { .. })
    ));
}

#[test]
fn order_by_puts_all_values_in_one_order() {
    let mixed = list(vec![
        null(),
        int(2),
        nan(),
        float(1.5),
        boolean(false),
        text("a"),
        list(vec![int(1)]),
        map(&[("a", int(1))]),
    ]);
    let sorted = |order| {
        let plan = node(P::Sort {
            input: node(P::Unwind {
                input: unit(),
                list: mixed.clone(),
                var: VarId(0),
                last: false,
            }),
            keys: vec![(var(0), order)],
        });
        let rows = run(&empty(), plan, &[0]).unwrap();
        rows.iter().map(|r| r[0].to_string()).collect::<Vec<_>>()
    };
    let ascending = ["{a: 1}", "[1]", "a", "false", "1.5", "2", "NaN", "null"];
    assert_eq!(sorted(SortOrder::Ascending), ascending);
    let mut descending = ascending;
    descending.reverse();
    assert_eq!(sorted(SortOrder::Descending), descending);
}

#[test]
fn distinct_takes_equivalent_values_for_one() {
    let plan = node(P::Distinct {
        input: node(P::Unwind {
            input: unit(),
            list: list(vec![
                int(1),
                float(1.0),
                null(),
                null(),
                nan(),
                nan(),
                float(0.0),
                float(-0.0),
                list(vec![int(1), null()]),
                list(vec![float(1.0), null()]),
                text("1"),
            ]),
            var: VarId(0),
            last: false,
        }),
        vars: vec![VarId(0)],
        runs: false,
    });
    let rows = run(&empty(), plan, &[0]).unwrap();
    let shown: Vec<String> = rows.iter().map(|r| r[0].to_string()).collect();
    assert_eq!(shown, ["1", "null", "NaN", "0.0", "[1, null]", "1"]);
}

#[test]
fn stored_types_pass_through_and_are_written_as_text() {
    use graven_types::{DateTime, Duration, LocalDateTime};
    let values = [
        (PropertyValue::Date(0), "1970-01-01"),
        (PropertyValue::Date(-719_529), "-0001-12-31"),
        (PropertyValue::Date(19_782), "2024-02-29"),
        (PropertyValue::LocalTime(3_661_500_000_000), "01:01:01.5"),
        (
            PropertyValue::LocalDateTime(LocalDateTime {
                seconds: 86_400,
                nanoseconds: 0,
            }),
            "1970-01-02T00:00",
        ),
        (
            PropertyValue::DateTime(DateTime {
                seconds: 0,
                nanoseconds: 0,
                offset_seconds: 3_600,
                zone: Some("Europe/Berlin".into()),
            }),
            "1970-01-01T01:00+01:00[Europe/Berlin]",
        ),
        (
            PropertyValue::Duration(Duration {
                months: 14,
                days: 3,
                seconds: 3_725,
                nanoseconds: 500_000_000,
            }),
            "P1Y2M3DT1H2M5.5S",
        ),
    ];
    let mut builder = GraphBuilder::new();
    for (value, _) in &values {
        builder.node(&["A"], &[("v", value.clone())]);
    }
    let snapshot = builder.open(2 << 20).unwrap().snapshot();
    let plan = node(P::Extend {
        input: node(P::AllNodesScan {
            input: unit(),
            var: VarId(0),
        }),
        items: vec![(VarId(1), call("tostring", vec![property(var(0), "v")]))],
    });
    let rows = run(&snapshot, plan, &[1]).unwrap();
    for (row, (_, wanted)) in rows.iter().zip(&values) {
        assert_eq!(row[0], Value::text(wanted));
    }
}
