//! A naive interpreter of plans: one row at a time, every operator a few lines over plain vectors.
//!
//! It shares the scalar operations on values with the executor (they have tests of their own) and
//! nothing else.

use std::collections::BTreeMap;

use graven_cypher::plan::{
    AggregateCall, AggregateFunction, BinaryOp, Direction, Expr, Literal, Operator as P, PlanNode,
    RelPattern, SortOrder, UnaryOp, VarId,
};
use graven_exec::Value;
use graven_exec::value::order::{Comparison, compare, total_order};
use graven_exec::value::{arithmetic, equality};
use graven_storage::{NodeId, RelId};

use crate::model::{Model, Wanted};

pub(crate) type Row = BTreeMap<VarId, Value>;

/// Rows of `node`, `argument` being the row of the enclosing apply.
pub(crate) fn rows(node: &PlanNode, argument: &Row, model: &Model) -> Vec<Row> {
    let below = |input: &PlanNode| rows(input, argument, model);
    match &node.op {
        P::Unit => vec![Row::new()],
        P::Argument { vars } => vec![vars.iter().map(|v| (*v, argument[v].clone())).collect()],
        P::AllNodesScan { input, var } => fan(below(input), |_| {
            model.ids().map(|n| vec![(*var, n)]).collect()
        }),
        P::LabelScan { input, var, label } => fan(below(input), |_| {
            let has = |n: &Value| &**label == "A" || (&**label == "B" && model.nodes[id(n)].0);
            model.ids().filter(has).map(|n| vec![(*var, n)]).collect()
        }),
        P::IndexSeek {
            input,
            var,
            label,
            key,
            value,
            any,
        } => fan(below(input), |row| {
            let wanted = eval(value, row, model);
            model
                .ids()
                .filter(|n| &**label == "A" || model.nodes[id(n)].0)
                .filter(|n| {
                    let x = model.property(n, key);
                    match (&wanted, any) {
                        (Value::List(items), true) => {
                            items.iter().any(|w| equality::equals(w, &x) == Some(true))
                        }
                        _ => equality::equals(&wanted, &x) == Some(true),
                    }
                })
                .map(|n| vec![(*var, n)])
                .collect()
        }),
        P::Expand {
            input,
            from,
            rel,
            to,
            pattern,
        } => fan(below(input), |row| {
            around(row, *from, pattern, model)
                .into_iter()
                .map(|(end, r)| bindings(*rel, r, vec![(*to, Value::Node(NodeId(end)))]))
                .collect()
        }),
        P::ExpandInto {
            input,
            from,
            rel,
            to,
            pattern,
        } => fan(below(input), |row| {
            around(row, *from, pattern, model)
                .into_iter()
                .filter(|(end, _)| row[to] == Value::Node(NodeId(*end)))
                .map(|(_, r)| bindings(*rel, r, Vec::new()))
                .collect()
        }),
        P::Filter { input, predicate } => below(input)
            .into_iter()
            .filter(|row| eval(predicate, row, model) == Value::Boolean(true))
            .collect(),
        P::Project { input, items } => below(input)
            .into_iter()
            .map(|row| {
                items
                    .iter()
                    .map(|(v, e)| (*v, eval(e, &row, model)))
                    .collect()
            })
            .collect(),
        P::Extend { input, items } => below(input)
            .into_iter()
            .map(|row| {
                let mut wide = row.clone();
                wide.extend(items.iter().map(|(v, e)| (*v, eval(e, &row, model))));
                wide
            })
            .collect(),
        P::Distinct { input, vars, .. } => {
            let mut kept: Vec<Row> = Vec::new();
            for row in below(input) {
                let row: Row = vars.iter().map(|v| (*v, row[v].clone())).collect();
                if !kept.contains(&row) {
                    kept.push(row);
                }
            }
            kept
        }
        P::Aggregate {
            input,
            keys,
            aggregates,
        } => aggregate(below(input), keys, aggregates, model),
        P::Sort { input, keys } => sorted(below(input), keys, model),
        P::TopN { input, keys, limit } => {
            let mut rows = sorted(below(input), keys, model);
            rows.truncate(count(limit, model));
            rows
        }
        P::Skip { input, count: n } => below(input).into_iter().skip(count(n, model)).collect(),
        P::Limit { input, count: n } => below(input).into_iter().take(count(n, model)).collect(),
        P::Unwind {
            input, list, var, ..
        } => fan(below(input), |row| match eval(list, row, model) {
            Value::Null => Vec::new(),
            Value::List(items) => items.iter().map(|i| vec![(*var, i.clone())]).collect(),
            one => vec![vec![(*var, one)]],
        }),
        P::Apply { input, inner } => fan(below(input), |row| {
            rows(inner, row, model)
                .into_iter()
                .map(|r| r.into_iter().collect())
                .collect()
        }),
        P::Optional {
            input,
            inner,
            nulls,
        } => fan(below(input), |row| {
            let found = rows(inner, row, model);
            if found.is_empty() {
                return vec![nulls.iter().map(|v| (*v, Value::Null)).collect()];
            }
            found.into_iter().map(|r| r.into_iter().collect()).collect()
        }),
        P::SemiApply { input, inner, anti } => below(input)
            .into_iter()
            .filter(|row| rows(inner, row, model).is_empty() == *anti)
            .collect(),
        P::HashJoin { input, build, on } => {
            let built = below(build);
            fan(below(input), |row| {
                built
                    .iter()
                    .filter(|b| {
                        on.iter()
                            .all(|v| equality::equals(&row[v], &b[v]) == Some(true))
                    })
                    .map(|b| b.clone().into_iter().collect())
                    .collect()
            })
        }
        P::CartesianProduct { input, inner } => {
            let right = below(inner);
            fan(below(input), |_| {
                right
                    .iter()
                    .map(|r| r.clone().into_iter().collect())
                    .collect()
            })
        }
        P::Union { inputs } => inputs.iter().flat_map(below).collect(),
        other => panic!("the naive interpreter has no {other:?}"),
    }
}

/// Each row joined with each of its bindings.
fn fan(rows: Vec<Row>, more: impl Fn(&Row) -> Vec<Vec<(VarId, Value)>>) -> Vec<Row> {
    let mut wide = Vec::new();
    for row in rows {
        for bindings in more(&row) {
            let mut row = row.clone();
            row.extend(bindings);
            wide.push(row);
        }
    }
    wide
}

fn bindings(rel: Option<VarId>, id: u64, mut more: Vec<(VarId, Value)>) -> Vec<(VarId, Value)> {
    more.extend(rel.map(|v| (v, Value::Relationship(RelId(id)))));
    more
}

fn around(row: &Row, from: VarId, pattern: &RelPattern, model: &Model) -> Vec<(u64, u64)> {
    let Value::Node(from) = row[&from] else {
        return Vec::new();
    };
    let excluded = pattern
        .distinct_from
        .iter()
        .filter_map(|v| match &row[v] {
            Value::Relationship(r) => Some(r.0),
            _ => None,
        })
        .collect();
    let wanted = Wanted {
        types: crate::model::TYPES
            .into_iter()
            .filter(|t| pattern.types.iter().any(|p| **p == **t))
            .collect(),
        direction: pattern.direction,
        below: None,
        excluded,
        min: 1,
        max: 1,
    };
    assert!(wanted.direction != Direction::In || pattern.direction == Direction::In);
    let mut found = model.around(from.0, &wanted);
    if let (Some(filter), Some(each)) = (&pattern.filter, pattern.each) {
        found.retain(|(_, r)| {
            let mut row = row.clone();
            row.insert(each, Value::Relationship(RelId(*r)));
            eval(filter, &row, model) == Value::Boolean(true)
        });
    }
    found
}

fn id(node: &Value) -> usize {
    match node {
        Value::Node(n) => usize::try_from(n.0).unwrap(),
        other => panic!("no node: {other:?}"),
    }
}

fn count(expr: &Expr, model: &Model) -> usize {
    match eval(expr, &Row::new(), model) {
        Value::Integer(n) => usize::try_from(n).unwrap(),
        other => panic!("no count: {other:?}"),
    }
}

fn sorted(mut rows: Vec<Row>, keys: &[(Expr, SortOrder)], model: &Model) -> Vec<Row> {
    rows.sort_by(|a, b| {
        for (key, order) in keys {
            let ordering = total_order(&eval(key, a, model), &eval(key, b, model));
            let ordering = match order {
                SortOrder::Ascending => ordering,
                SortOrder::Descending => ordering.reverse(),
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        std::cmp::Ordering::Equal
    });
    rows
}

fn aggregate(
    rows: Vec<Row>,
    keys: &[(VarId, Expr)],
    aggregates: &[(VarId, AggregateCall)],
    model: &Model,
) -> Vec<Row> {
    let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
    if keys.is_empty() {
        groups.push((Row::new(), Vec::new()));
    }
    for row in rows {
        let key: Row = keys
            .iter()
            .map(|(v, e)| (*v, eval(e, &row, model)))
            .collect();
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, members)) => members.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    for (key, members) in &mut groups {
        for (var, call) in aggregates {
            key.insert(*var, one_aggregate(members, call, model));
        }
    }
    groups.into_iter().map(|(row, _)| row).collect()
}

fn one_aggregate(members: &[Row], call: &AggregateCall, model: &Model) -> Value {
    let integer = |n: usize| Value::Integer(i64::try_from(n).unwrap());
    let Some(argument) = &call.argument else {
        return integer(members.len());
    };
    let mut values: Vec<Value> = Vec::new();
    for row in members {
        let value = eval(argument, row, model);
        let repeated = call.distinct && values.contains(&value);
        if !(value.is_null() || repeated) {
            values.push(value);
        }
    }
    match call.function {
        AggregateFunction::Count => integer(values.len()),
        AggregateFunction::Sum => values.iter().fold(Value::Integer(0), |sum, v| {
            arithmetic::add(&sum, v).unwrap()
        }),
        AggregateFunction::Min => values.into_iter().min_by(total_order).unwrap_or_default(),
        AggregateFunction::Max => values.into_iter().max_by(total_order).unwrap_or_default(),
        AggregateFunction::Collect => Value::list(values),
        other => panic!("the naive interpreter has no {other:?}"),
    }
}

/// The subset of expressions that random plans use.
pub(crate) fn eval(expr: &Expr, row: &Row, model: &Model) -> Value {
    match expr {
        Expr::Literal(Literal::Null) => Value::Null,
        Expr::Literal(Literal::Integer(i)) => Value::Integer(*i),
        Expr::Literal(Literal::Boolean(b)) => Value::Boolean(*b),
        Expr::Variable(v) => row[v].clone(),
        Expr::Property { base, key, .. } => model.property(&eval(base, row, model), key),
        Expr::List(items) => Value::list(items.iter().map(|i| eval(i, row, model)).collect()),
        Expr::Unary { op, operand, .. } => {
            let value = eval(operand, row, model);
            match op {
                UnaryOp::IsNull => Value::Boolean(value.is_null()),
                UnaryOp::IsNotNull => Value::Boolean(!value.is_null()),
                UnaryOp::Not => match value {
                    Value::Boolean(b) => Value::Boolean(!b),
                    other => other,
                },
                other => panic!("the naive interpreter has no {other:?}"),
            }
        }
        Expr::Binary {
            op, left, right, ..
        } => {
            let (a, b) = (eval(left, row, model), eval(right, row, model));
            let truth = |v: &Value| match v {
                Value::Boolean(b) => Some(*b),
                _ => None,
            };
            let ordered = |test: fn(std::cmp::Ordering) -> bool| match compare(&a, &b) {
                Comparison::Ordered(o) => Value::Boolean(test(o)),
                Comparison::Unordered => Value::Boolean(false),
                Comparison::Unknown => Value::Null,
            };
            match op {
                BinaryOp::And => equality::and(truth(&a), truth(&b)).into(),
                BinaryOp::Or => equality::or(truth(&a), truth(&b)).into(),
                BinaryOp::Equal => equality::equals(&a, &b).into(),
                BinaryOp::NotEqual => equality::equals(&a, &b).map(|t| !t).into(),
                BinaryOp::Less => ordered(std::cmp::Ordering::is_lt),
                BinaryOp::GreaterOrEqual => ordered(std::cmp::Ordering::is_ge),
                BinaryOp::Add => arithmetic::add(&a, &b).unwrap(),
                other => panic!("the naive interpreter has no {other:?}"),
            }
        }
        other => panic!("the naive interpreter has no {other:?}"),
    }
}

impl Model {
    fn ids(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.nodes.len() as u64).map(|n| Value::Node(NodeId(n)))
    }

    fn property(&self, base: &Value, key: &str) -> Value {
        let number = match (base, key) {
            (Value::Node(_), "x") => self.nodes[id(base)].1,
            (Value::Relationship(r), "w") => self.rels[usize::try_from(r.0).unwrap()].weight,
            _ => return Value::Null,
        };
        if number < 0 {
            Value::Null
        } else {
            Value::Integer(number)
        }
    }
}
