//! `ORDER BY`, `min` and `max` on an indexed property take the order from the index.
//!
//! # How it works
//! Where one property of a node is the whole sort key, the node is found by a label or by an index
//! that begins with that property, and nothing between changes the order of rows, the scan becomes
//! an [`Operator::IndexScan`] in order, a sort goes away, and the first rows of a sort become a
//! limit, which reads no more than it needs. `min` and `max` without groups read the first row of
//! such a scan.
//!
//! It stays as it is where a condition between lets few rows through, since then a scan in the
//! order of the label reads its pages better; where the statement writes, since a sort is a
//! barrier; and where the scan runs once per row, since the order would begin anew with each.

use std::sync::Arc;

use crate::plan::expression::{AggregateFunction, Expr, Literal};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{IndexOrder, IndexPart, Operator, Plan, PlanNode, SortOrder, VarId};
use crate::schema_view::SchemaView;

/// A scan that gives up so many of its rows or more on the way is left alone.
const ROWS_PER_SORTED_MAX: f64 = 10.0;

/// Largest literal bound of rows that is added without overflow.
const ROWS_MAX: i64 = 1 << 60;

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    if plan.writes() {
        return;
    }
    plan.root.visit_mut(&mut |node| {
        sorted(node, schema);
        extreme(node, schema);
    });
}

fn sorted(node: &mut PlanNode, schema: &dyn SchemaView) {
    let (input, keys, limit) = match &mut node.op {
        Operator::Sort { input, keys } => (input, keys, None),
        Operator::TopN { input, keys, limit } => (input, keys, Some(limit)),
        _ => return,
    };
    let [(Expr::Property { base, key, .. }, direction)] = &keys[..] else {
        return;
    };
    let (Expr::Variable(var), true) = (&**base, limit.as_deref().is_none_or(is_small)) else {
        return;
    };
    let order = IndexOrder {
        direction: *direction,
        nulls: !mutant::active(Mutant::IndexOrderWithoutNulls),
    };
    let rows = input.estimated_rows;
    if !ordered(input, *var, key, order, rows, schema) {
        return;
    }
    let limit = limit.map(|limit| limit.clone());
    let below = take(input);
    node.op = match limit {
        Some(count) => Operator::Limit {
            input: Box::new(below),
            count,
        },
        None => {
            node.estimated_rows = below.estimated_rows;
            below.op
        }
    };
}

/// Whether the bound can be computed without overflow, whatever the parameters are.
fn is_small(limit: &Expr) -> bool {
    match limit {
        Expr::Binary { left, right, .. } => [left, right]
            .into_iter()
            .all(|side| matches!(&**side, Expr::Literal(Literal::Integer(n)) if *n < ROWS_MAX)),
        _ => true,
    }
}

/// `min` and `max` alone, without groups.
fn extreme(node: &mut PlanNode, schema: &dyn SchemaView) {
    let Operator::Aggregate {
        input,
        keys,
        aggregates,
    } = &mut node.op
    else {
        return;
    };
    let ([], [(_, call)]) = (&keys[..], &aggregates[..]) else {
        return;
    };
    let direction = match call.function {
        AggregateFunction::Min => SortOrder::Ascending,
        AggregateFunction::Max => SortOrder::Descending,
        _ => return,
    };
    let Some(Expr::Property { base, key, .. }) = &call.argument else {
        return;
    };
    let Expr::Variable(var) = **base else { return };
    let order = IndexOrder {
        direction,
        nulls: false,
    };
    let rows = input.estimated_rows;
    if ordered(input, var, key, order, rows, schema) {
        let below = take(input);
        **input = PlanNode {
            id: 0,
            op: Operator::Limit {
                input: Box::new(below),
                count: Expr::Literal(Literal::Integer(1)),
            },
            estimated_rows: 1.0,
        };
    }
}

/// Makes the scan below give its rows in order, if it can; `rows` are those that leave the
/// pipeline.
fn ordered(
    node: &mut PlanNode,
    var: VarId,
    key: &Arc<str>,
    order: IndexOrder,
    rows: f64,
    schema: &dyn SchemaView,
) -> bool {
    let found = node.estimated_rows;
    match &mut node.op {
        Operator::Filter { input, .. } | Operator::SemiApply { input, .. } => {
            ordered(input, var, key, order, rows, schema)
        }
        Operator::Extend { input, items } => {
            items.iter().all(|(own, _)| *own != var)
                && ordered(input, var, key, order, rows, schema)
        }
        Operator::Project { input, items } => {
            let from = items.iter().find(|(own, _)| *own == var);
            let Some((_, Expr::Variable(from))) = from else {
                return false;
            };
            ordered(input, *from, key, order, rows, schema)
        }
        Operator::LabelScan {
            input,
            var: scanned,
            label,
        } => {
            let right = *scanned == var && matches!(input.op, Operator::Unit);
            if !right || schema.index(label, key).is_none() || rows * ROWS_PER_SORTED_MAX < found {
                return false;
            }
            let input = Box::new(take(input));
            node.op = Operator::IndexScan {
                input,
                var,
                label: label.clone(),
                keys: vec![key.clone()],
                equal: Vec::new(),
                part: IndexPart::All,
                order: Some(order),
            };
            true
        }
        Operator::IndexRange {
            input,
            var: scanned,
            label,
            key: indexed,
            low,
            high,
        } => {
            let right = *scanned == var && indexed == key && matches!(input.op, Operator::Unit);
            if !right || rows * ROWS_PER_SORTED_MAX < found {
                return false;
            }
            node.op = Operator::IndexScan {
                input: Box::new(take(input)),
                var,
                label: label.clone(),
                keys: vec![key.clone()],
                equal: Vec::new(),
                part: IndexPart::Range {
                    low: low.take(),
                    high: high.take(),
                },
                order: Some(order),
            };
            true
        }
        Operator::IndexScan {
            input,
            var: scanned,
            keys,
            equal,
            part,
            order: own,
            ..
        } => {
            let right = *scanned == var
                && keys.get(equal.len()) == Some(key)
                && !matches!(part, IndexPart::All)
                && matches!(input.op, Operator::Unit);
            if right && rows * ROWS_PER_SORTED_MAX >= found {
                *own = Some(order);
            }
            own.is_some() && right
        }
        _ => false,
    }
}

fn take(node: &mut PlanNode) -> PlanNode {
    let unit = PlanNode {
        id: 0,
        op: Operator::Unit,
        estimated_rows: 1.0,
    };
    std::mem::replace(node, unit)
}
