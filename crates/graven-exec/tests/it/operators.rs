//! Goal: operators agree with a naive interpreter. Method: random plans of up to eight operators,
//! with nested optional, apply and semi-apply trees, on random small multigraphs; rows are compared
//! as multisets. `GRAVEN_PLANS=100000` sets the number of plans, `GRAVEN_SEED` the first seed.

use graven_cypher::Span;
use graven_cypher::plan::{
    AggregateCall, AggregateFunction, BinaryOp, Direction, Expr, Operator as P, PlanNode,
    SortOrder, UnaryOp, VarId,
};
use graven_exec::{ExecError, Value};

use crate::model::{Model, Random, TYPES};
use crate::naive::{Row, rows};
use crate::plans::{
    binary, int, list, node, null, pattern, property, run, run_spilling, run_within, unit, var,
};

/// A plan under construction with what its rows hold.
#[derive(Clone)]
struct Draft {
    root: Box<PlanNode>,
    nodes: Vec<u32>,
    rels: Vec<u32>,
    numbers: Vec<u32>,
}

/// Draws plans.
struct Author {
    random: Random,
    next_var: u32,
}

impl Author {
    fn fresh(&mut self) -> u32 {
        self.next_var += 1;
        self.next_var - 1
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn pick(&mut self, from: &[u32]) -> u32 {
        self.random.pick(from)
    }

    fn start(&mut self) -> Draft {
        let draft = Draft {
            root: unit(),
            nodes: Vec::new(),
            rels: Vec::new(),
            numbers: Vec::new(),
        };
        self.nodes(draft)
    }

    /// A number of the row: a property, a number variable, or a literal.
    fn number(&mut self, draft: &Draft) -> Expr {
        match self.below(4) {
            0 if !draft.rels.is_empty() => property(var(self.pick(&draft.rels)), "w"),
            1 if !draft.numbers.is_empty() => var(self.pick(&draft.numbers)),
            2 => int(i64::try_from(self.below(4)).unwrap()),
            _ if draft.nodes.is_empty() => int(1),
            _ => property(var(self.pick(&draft.nodes)), "x"),
        }
    }

    fn predicate(&mut self, draft: &Draft) -> Expr {
        let op = self
            .random
            .pick(&[BinaryOp::Less, BinaryOp::Equal, BinaryOp::GreaterOrEqual]);
        let simple = binary(op, self.number(draft), self.number(draft));
        match self.below(5) {
            0 => binary(BinaryOp::And, simple, self.predicate(draft)),
            1 => binary(BinaryOp::Or, simple, self.predicate(draft)),
            2 => Expr::Unary {
                op: self
                    .random
                    .pick(&[UnaryOp::Not, UnaryOp::IsNull, UnaryOp::IsNotNull]),
                operand: Box::new(simple),
                at: Span::default(),
            },
            _ => simple,
        }
    }

    fn nodes(&mut self, mut draft: Draft) -> Draft {
        let v = self.fresh();
        let (input, var) = (draft.root.clone(), VarId(v));
        let label = self.random.pick(&["A", "B", "NO_SUCH_LABEL"]);
        draft.root = node(match self.below(4) {
            0 | 1 => P::AllNodesScan { input, var },
            2 => P::LabelScan {
                input,
                var,
                label: label.into(),
            },
            _ => {
                let any = self.below(2) == 0;
                let value = self.number(&draft);
                P::IndexSeek {
                    input,
                    var,
                    label: self.random.pick(&["A", "B"]).into(),
                    key: "x".into(),
                    value: if any {
                        list(vec![value, int(2), null(), int(2)])
                    } else {
                        value
                    },
                    any,
                }
            }
        });
        draft.nodes.push(v);
        draft
    }

    fn expand(&mut self, mut draft: Draft) -> Draft {
        if draft.nodes.is_empty() {
            return self.nodes(draft);
        }
        let types = self
            .random
            .pick(&[vec![], vec![TYPES[0]], vec![TYPES[1], TYPES[2]]]);
        let direction = self
            .random
            .pick(&[Direction::Both, Direction::Out, Direction::In]);
        let mut pattern = pattern(&types, direction);
        if !draft.rels.is_empty() && self.below(2) == 0 {
            pattern.distinct_from = vec![VarId(self.pick(&draft.rels))];
        }
        if self.below(4) == 0 {
            let each = self.fresh();
            pattern.each = Some(VarId(each));
            pattern.filter = Some(binary(
                BinaryOp::Less,
                property(var(each), "w"),
                self.number(&draft),
            ));
        }
        let rel = (self.below(2) == 0).then(|| self.fresh());
        let (from, input) = (VarId(self.pick(&draft.nodes)), draft.root.clone());
        let into = self.below(3) == 0;
        draft.root = if into {
            node(P::ExpandInto {
                input,
                from,
                rel: rel.map(VarId),
                to: VarId(self.pick(&draft.nodes)),
                pattern,
            })
        } else {
            let to = self.fresh();
            draft.nodes.push(to);
            node(P::Expand {
                input,
                from,
                rel: rel.map(VarId),
                to: VarId(to),
                pattern,
            })
        };
        draft.rels.extend(rel);
        draft
    }

    fn aggregate(&mut self, draft: Draft) -> Draft {
        let mut keys = Vec::new();
        let mut after = Draft {
            root: unit(),
            nodes: Vec::new(),
            rels: Vec::new(),
            numbers: Vec::new(),
        };
        if !draft.nodes.is_empty() && self.below(2) == 0 {
            let n = self.pick(&draft.nodes);
            keys.push((VarId(n), var(n)));
            after.nodes.push(n);
        }
        if self.below(2) == 0 {
            let key = self.fresh();
            keys.push((VarId(key), self.number(&draft)));
            after.numbers.push(key);
        }
        let mut aggregates = Vec::new();
        for _ in 0..1 + self.below(3) {
            use AggregateFunction as F;
            let function = self
                .random
                .pick(&[F::CountStar, F::Count, F::Sum, F::Min, F::Max]);
            let argument = (function != F::CountStar).then(|| self.number(&draft));
            let result = self.fresh();
            let call = AggregateCall {
                function,
                argument,
                parameter: None,
                distinct: function != F::CountStar && self.below(2) == 0,
                at: Span::default(),
            };
            aggregates.push((VarId(result), call));
            after.numbers.push(result);
        }
        after.root = node(P::Aggregate {
            input: draft.root,
            keys,
            aggregates,
        });
        after
    }

    /// Sort keys over everything the row holds, so that equal keys mean equal rows.
    fn all_keys(&mut self, draft: &Draft) -> Vec<(Expr, SortOrder)> {
        let mut vars = [
            draft.numbers.clone(),
            draft.nodes.clone(),
            draft.rels.clone(),
        ]
        .concat();
        let turn = usize::try_from(self.below(vars.len() as u64 + 1)).unwrap();
        let last = vars.len().saturating_sub(1);
        vars.rotate_left(turn.min(last));
        let orders = [SortOrder::Ascending, SortOrder::Descending];
        vars.into_iter()
            .map(|v| (var(v), self.random.pick(&orders)))
            .collect()
    }

    fn sort(&mut self, mut draft: Draft) -> Draft {
        let keys = self.all_keys(&draft);
        let limit = int(i64::try_from(self.below(12)).unwrap());
        if self.below(2) == 0 {
            draft.root = node(P::TopN {
                input: draft.root,
                keys,
                limit,
            });
            return draft;
        }
        draft.root = node(P::Sort {
            input: draft.root,
            keys,
        });
        if self.below(2) == 0 {
            draft.root = node(P::Skip {
                input: draft.root,
                count: int(i64::try_from(self.below(4)).unwrap()),
            });
        }
        if self.below(2) == 0 {
            draft.root = node(P::Limit {
                input: draft.root,
                count: limit,
            });
        }
        draft
    }

    /// A nested tree over the draft's variables.
    fn nested(&mut self, mut draft: Draft, depth: u32) -> Draft {
        let known = [
            draft.nodes.clone(),
            draft.rels.clone(),
            draft.numbers.clone(),
        ]
        .concat();
        let mut inner = draft.clone();
        inner.root = node(P::Argument {
            vars: known.iter().map(|v| VarId(*v)).collect(),
        });
        for _ in 0..1 + self.below(3) {
            inner = self.grow(inner, depth + 1);
        }
        let (input, boxed) = (draft.root.clone(), inner.root.clone());
        match self.below(4) {
            0 => {
                draft.root = node(P::SemiApply {
                    input,
                    inner: boxed,
                    anti: self.below(2) == 0,
                });
                return draft;
            }
            1 => {
                draft.root = node(P::Apply {
                    input,
                    inner: boxed,
                })
            }
            _ => {
                let new = [&inner.nodes, &inner.rels, &inner.numbers]
                    .into_iter()
                    .flatten();
                let nulls = new
                    .filter(|v| !known.contains(v))
                    .map(|v| VarId(*v))
                    .collect();
                draft.root = node(P::Optional {
                    input,
                    inner: boxed,
                    nulls,
                });
            }
        }
        for (own, new) in [
            (&mut draft.nodes, inner.nodes),
            (&mut draft.rels, inner.rels),
            (&mut draft.numbers, inner.numbers),
        ] {
            own.extend(new.into_iter().filter(|v| !known.contains(v)));
        }
        draft
    }

    fn join(&mut self, mut draft: Draft) -> Draft {
        let mut other = self.start();
        if self.below(2) == 0 {
            other = self.expand(other);
        }
        if draft.nodes.is_empty() || self.below(2) == 0 {
            draft.root = node(P::CartesianProduct {
                input: draft.root,
                inner: other.root,
            });
        } else {
            // The build side names one of its nodes as the input does.
            let shared = self.pick(&draft.nodes);
            let own = other.nodes[0];
            let mut items: Vec<(VarId, Expr)> = vec![(VarId(shared), var(own))];
            let rest = [other.nodes.split_off(1), other.rels.clone()].concat();
            items.extend(rest.iter().map(|v| (VarId(*v), var(*v))));
            other.nodes = items[1..=rest.len() - other.rels.len()]
                .iter()
                .map(|i| i.0.0)
                .collect();
            draft.root = node(P::HashJoin {
                input: draft.root,
                build: node(P::Project {
                    input: other.root,
                    items,
                }),
                on: vec![VarId(shared)],
            });
        }
        draft.nodes.extend(other.nodes);
        draft.rels.extend(other.rels);
        draft
    }

    fn grow(&mut self, mut draft: Draft, depth: u32) -> Draft {
        match self.below(12) {
            0 if depth == 0 => self.nodes(draft),
            0..=3 => self.expand(draft),
            4 => {
                let predicate = self.predicate(&draft);
                draft.root = node(P::Filter {
                    input: draft.root,
                    predicate,
                });
                draft
            }
            5 => {
                let v = self.fresh();
                let sum = binary(BinaryOp::Add, self.number(&draft), self.number(&draft));
                draft.root = node(P::Extend {
                    input: draft.root,
                    items: vec![(VarId(v), sum)],
                });
                draft.numbers.push(v);
                draft
            }
            6 => {
                let v = self.fresh();
                let items = list(vec![self.number(&draft), int(1)]);
                let list = self.random.pick(&[items, null(), list(vec![]), int(3)]);
                draft.root = node(P::Unwind {
                    input: draft.root,
                    list,
                    var: VarId(v),
                    last: false,
                });
                draft.numbers.push(v);
                draft
            }
            7 => {
                let known = [
                    draft.nodes.clone(),
                    draft.rels.clone(),
                    draft.numbers.clone(),
                ]
                .concat();
                draft.root = node(P::Distinct {
                    input: draft.root,
                    vars: known.iter().map(|v| VarId(*v)).collect(),
                    runs: false,
                });
                draft
            }
            8 => self.sort(draft),
            9 if depth < 2 => self.nested(draft, depth),
            10 if depth == 0 => self.join(draft),
            10 => self.nested_union(draft),
            _ if self.below(3) == 0 => self.aggregate(draft),
            _ => self.expand(draft),
        }
    }

    /// The rows twice, once filtered.
    fn nested_union(&mut self, mut draft: Draft) -> Draft {
        let predicate = self.predicate(&draft);
        let filtered = node(P::Filter {
            input: draft.root.clone(),
            predicate,
        });
        draft.root = node(P::Union {
            inputs: vec![*draft.root, *filtered],
        });
        draft
    }
}

/// Rows without regard to their order.
fn as_multiset(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by(|a, b| {
        a.iter()
            .zip(b)
            .map(|(x, y)| graven_exec::value::order::total_order(x, y))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}

#[test]
fn random_plans_agree_with_the_naive_interpreter() {
    let setting = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |v| v.parse().expect("a number"))
    };
    let first = setting("GRAVEN_SEED", 1);
    for seed in first..first + setting("GRAVEN_PLANS", 4_000) {
        let mut author = Author {
            random: Random::new(seed),
            next_var: 0,
        };
        let model = Model::random(&mut author.random, 6, 8);
        let mut draft = author.start();
        for _ in 0..author.below(7) {
            draft = author.grow(draft, 0);
        }
        let returns = [
            draft.nodes.clone(),
            draft.rels.clone(),
            draft.numbers.clone(),
        ]
        .concat();
        let expected: Vec<Vec<Value>> = rows(&draft.root, &Row::new(), &model)
            .iter()
            .map(|row| returns.iter().map(|v| row[&VarId(*v)].clone()).collect())
            .collect();
        if expected.len() > 20_000 {
            continue;
        }
        let store = model.store();
        // Every third plan spills at every opportunity.
        let found = if seed % 3 == 0 {
            run_spilling(
                &store.snapshot(),
                draft.root.clone(),
                &returns,
                8 << 20,
                Some(1),
            )
        } else {
            run(&store.snapshot(), draft.root.clone(), &returns)
        };
        let found = found.unwrap_or_else(|e| panic!("seed {seed}: {e} in {:#?}", draft.root));
        assert_eq!(
            as_multiset(found),
            as_multiset(expected),
            "seed {seed}: {:#?} in {model:?}",
            draft.root
        );
    }
}

/// Goal: rows beyond one batch are all handed out once, and a sort orders them. Method: 5,000
/// unwound numbers.
#[test]
fn many_rows_pass_through_every_operator() {
    let store = Model {
        nodes: vec![(false, 0)],
        rels: Vec::new(),
    }
    .store();
    let numbers = crate::plans::call("range", vec![int(1), int(5_000)]);
    let unwind = node(P::Unwind {
        input: unit(),
        list: numbers,
        var: VarId(0),
        last: false,
    });
    let sorted = node(P::Sort {
        input: unwind.clone(),
        keys: vec![(var(0), SortOrder::Descending)],
    });
    let rows = run(&store.snapshot(), sorted, &[0]).unwrap();
    assert_eq!(rows.len(), 5_000);
    assert!(
        rows.iter()
            .zip((1..=5_000).rev())
            .all(|(row, i)| row[0] == Value::Integer(i))
    );
    let groups = node(P::Aggregate {
        input: unwind,
        keys: vec![(VarId(1), binary(BinaryOp::Modulo, var(0), int(3_000)))],
        aggregates: vec![(
            VarId(2),
            AggregateCall {
                function: AggregateFunction::Collect,
                argument: Some(var(0)),
                parameter: None,
                distinct: false,
                at: Span::default(),
            },
        )],
    });
    let rows = run(&store.snapshot(), groups, &[1, 2]).unwrap();
    assert_eq!(rows.len(), 3_000);
    let total: usize = rows
        .iter()
        .map(|row| match &row[1] {
            Value::List(items) => items.len(),
            other => panic!("no list: {other:?}"),
        })
        .sum();
    assert_eq!(total, 5_000);
}

/// Goal: what does not fit in the budget fails with the operator, the bytes and a remedy, and holds
/// nothing after.
#[test]
fn buffering_operators_obey_the_budget() {
    let store = Model {
        nodes: vec![(false, 0)],
        rels: Vec::new(),
    }
    .store();
    let unwind = node(P::Unwind {
        input: unit(),
        list: crate::plans::call("range", vec![int(1), int(100_000)]),
        var: VarId(0),
        last: false,
    });
    let plans = [
        (
            "Sort",
            node(P::Sort {
                input: unwind.clone(),
                keys: vec![(var(0), SortOrder::Ascending)],
            }),
        ),
        (
            "Distinct",
            node(P::Distinct {
                input: unwind.clone(),
                vars: vec![VarId(0)],
                runs: false,
            }),
        ),
        (
            "Aggregate",
            node(P::Aggregate {
                input: unwind.clone(),
                keys: vec![(VarId(0), var(0))],
                aggregates: Vec::new(),
            }),
        ),
    ];
    for (operator, plan) in plans {
        match run_within(&store.snapshot(), plan.clone(), &[0], 128 << 10) {
            Err(ExecError::Memory {
                operator: named, ..
            }) => assert_eq!(named, operator),
            other => panic!("{operator}: expected a memory error, got {other:?}"),
        }
        assert_eq!(run(&store.snapshot(), plan, &[0]).unwrap().len(), 100_000);
    }
    let top = node(P::TopN {
        input: unwind,
        keys: vec![(var(0), SortOrder::Descending)],
        limit: int(3),
    });
    let rows = run_within(&store.snapshot(), top, &[0], 512 << 10).unwrap();
    assert_eq!(rows[0][0], Value::Integer(100_000));
}
