//! Rows that an operator wants in an order, and rows that come in one.
//!
//! # How it works
//! Three operators ask for an order, and one walk over the plan looks at what is below them:
//!
//! * `ORDER BY` with `LIMIT` keeps only as many rows as are wanted: `Limit(Sort)` becomes `TopN`;
//!   `Limit(Skip(Sort))` becomes `Limit(Skip(TopN(skip + limit)))`, the outer two staying, since
//!   they also judge their counts.
//! * A sort by one property of a node, and `min` and `max` without groups, take the order from an
//!   index: the scan becomes an [`Operator::IndexScan`] in order, the sort goes away, and the first
//!   rows of a sort become a limit, which reads no more than it needs.
//! * `DISTINCT` compares neighbours where equal rows follow each other. An expansion hands out the
//!   rows of one input row together, ends ascending. So if its input has no two rows with the same
//!   values in the wanted variables, equal rows can only be parallel relationships of one input
//!   row, and these are neighbours.
//!
//! What drops rows or computes others from them one by one keeps the order ([`in_input`]).
//!
//! A sort stays where a condition between lets few rows through, since then a scan in the order of
//! the label reads its pages better; where the statement writes, since a sort is a barrier; and
//! where the scan runs once per row, since the order would begin anew with each.
//!
//! # Invariants
//! * CY-63 `runs` stands only where rows that are equal in the variables follow each other,
//!   whatever the graph holds.
//!
//! # Source
//! Selinger et al., "Access Path Selection in a Relational Database Management System", SIGMOD 1979
//! (interesting orders).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::plan::expression::{AggregateFunction, BinaryOp, Expr, Literal};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{
    Direction, IndexOrder, IndexPart, Operator, Plan, PlanNode, SortOrder, VarExpandMode, VarId,
};
use crate::schema_view::SchemaView;
use crate::token::Span;

/// A scan that gives up so many of its rows or more on the way is left alone.
const ROWS_PER_SORTED_MAX: f64 = 10.0;

/// Largest literal bound of rows that is added without overflow.
const ROWS_MAX: i64 = 1 << 60;

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    let schema = Some(schema).filter(|_| !plan.writes());
    visit(&mut plan.root, schema);
}

/// Looks at the operator and those below it; the order of an index is taken only with a schema.
fn visit(node: &mut PlanNode, schema: Option<&dyn SchemaView>) {
    first_rows(node);
    for child in node.op.children_mut() {
        visit(child, schema);
    }
    if let Some(schema) = schema {
        sorted(node, schema);
        extreme(node, schema);
    }
    if let Operator::Distinct { input, vars, runs } = &mut node.op {
        *runs = come_in_runs(input, vars.iter().copied().collect())
            || mutant::active(Mutant::InterestingOrdersDistinctAnywhere);
    }
}

/// What the variable is called in the input of an operator that hands on the rows of its input in
/// their order, each at most once; none if it is another operator, or computes the variable.
fn in_input(op: &Operator, var: VarId) -> Option<VarId> {
    match op {
        Operator::Filter { .. } | Operator::SemiApply { .. } => Some(var),
        Operator::Extend { items, .. } => items.iter().all(|(own, _)| *own != var).then_some(var),
        Operator::Project { items, .. } => {
            let item = items.iter().find(|(own, _)| *own == var);
            item.and_then(|(_, item)| match item {
                Expr::Variable(from) => Some(*from),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Makes the sort below a limit a top-n.
fn first_rows(node: &mut PlanNode) {
    let Operator::Limit { input, count } = &mut node.op else {
        return;
    };
    let (limit, skipped) = (count.clone(), input.estimated_rows);
    if matches!(input.op, Operator::Sort { .. }) {
        node.op = top(input, limit);
        return;
    }
    let Operator::Skip {
        input: sorted,
        count: skip,
    } = &mut input.op
    else {
        return;
    };
    if matches!(sorted.op, Operator::Sort { .. }) {
        let both = Expr::Binary {
            op: BinaryOp::Add,
            left: Box::new(skip.clone()),
            right: Box::new(limit.clone()),
            at: Span::default(),
        };
        let without_skip = mutant::active(Mutant::InterestingOrdersWithoutSkip);
        sorted.op = top(sorted, if without_skip { limit } else { both });
        let rows = skipped.min(sorted.estimated_rows);
        sorted.estimated_rows = node.estimated_rows.max(rows);
    }
}

/// The sort as a top-n.
fn top(sort: &mut PlanNode, limit: Expr) -> Operator {
    match std::mem::replace(&mut sort.op, Operator::Unit) {
        Operator::Sort { input, keys } => Operator::TopN { input, keys, limit },
        other => other,
    }
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
        nulls: !mutant::active(Mutant::InterestingOrdersWithoutNulls),
    };
    let rows = input.estimated_rows;
    if !ordered(input, *var, key, order, rows, schema) {
        return;
    }
    let limit = limit.map(|limit| limit.clone());
    let below = input.take();
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
        input.push(1.0, |input| Operator::Limit {
            input,
            count: Expr::Literal(Literal::Integer(1)),
        });
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
    if let Some(var) = in_input(&node.op, var) {
        let input = node.op.children_mut().swap_remove(0);
        return ordered(input, var, key, order, rows, schema);
    }
    let pays = rows * ROWS_PER_SORTED_MAX >= node.estimated_rows;
    let (input, label, part) = match &mut node.op {
        Operator::LabelScan {
            input,
            var: scanned,
            label,
        } if *scanned == var && pays && schema.index(label, key).is_some() => {
            (input, label, IndexPart::All)
        }
        Operator::IndexRange {
            input,
            var: scanned,
            label,
            key: indexed,
            low,
            high,
        } if *scanned == var && pays && indexed == key && matches!(input.op, Operator::Unit) => {
            let (low, high) = (low.take(), high.take());
            (input, label, IndexPart::Range { low, high })
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
            if right && pays {
                *own = Some(order);
            }
            return own.is_some() && right;
        }
        _ => return false,
    };
    if !matches!(input.op, Operator::Unit) {
        return false;
    }
    node.op = Operator::IndexScan {
        input: Box::new(input.take()),
        var,
        label: label.clone(),
        keys: vec![key.clone()],
        equal: Vec::new(),
        part,
        order: Some(order),
    };
    true
}

/// Whether rows that are equal in `vars` follow each other.
fn come_in_runs(node: &PlanNode, mut vars: BTreeSet<VarId>) -> bool {
    let below = vars.iter().map(|var| in_input(&node.op, *var));
    let below: Option<BTreeSet<VarId>> = below.collect();
    if let (Some(below), false) = (below, vars.is_empty()) {
        return come_in_runs(node.op.children()[0], below);
    }
    let Operator::Expand {
        input,
        rel,
        to,
        pattern,
        ..
    } = &node.op
    else {
        return has_no_equal(node, &vars);
    };
    let one_list = pattern.types.len() == 1 && pattern.direction != Direction::Both;
    let reads_ends = vars.remove(to) | rel.is_some_and(|rel| vars.remove(&rel));
    (one_list || !reads_ends) && has_no_equal(input, &vars)
}

/// Whether no two rows are equal in `vars`.
fn has_no_equal(node: &PlanNode, vars: &BTreeSet<VarId>) -> bool {
    use Operator as O;
    match &node.op {
        O::Unit => true,
        O::Filter { input, .. } | O::SemiApply { input, .. } | O::Extend { input, .. } => {
            has_no_equal(input, vars)
        }
        O::Project { input, items } => {
            let kept = items.iter().filter(|(var, _)| vars.contains(var));
            let kept = kept.filter_map(|(_, item)| match item {
                Expr::Variable(var) => Some(*var),
                _ => None,
            });
            has_no_equal(input, &kept.collect())
        }
        // Each node once for each row of the input.
        O::AllNodesScan { input, var }
        | O::LabelScan { input, var, .. }
        | O::IndexSeek { input, var, .. }
        | O::IndexRange { input, var, .. }
        | O::IndexScan { input, var, .. }
        | O::NodeByIdSeek { input, var, .. }
        | O::RelationshipByIdSeek { input, var, .. } => {
            vars.contains(var) && has_no_equal(input, vars)
        }
        O::VarExpand {
            input,
            to,
            into: false,
            mode: VarExpandMode::Reachable { .. },
            ..
        } => vars.contains(to) && has_no_equal(input, vars),
        O::Distinct { vars: keys, .. } => keys.iter().all(|key| vars.contains(key)),
        O::Aggregate { keys, .. } => keys.iter().all(|(key, _)| vars.contains(key)),
        _ => false,
    }
}
