//! A node that is told to be one of a few known ones narrows the expansion two steps before it.
//!
//! # How it works
//! `(friend)<--(message)-->(place) WHERE place = x OR place = y`, where `x` and `y` are found
//! already, would follow a relationship of every message. But only messages count that are joined
//! to `x` or `y`; the lists of these two say which. So the expansion to `message` gets a condition
//! on its ends ([`ExpandFilter::semi_join_groups`]), and what stood above it stays for those that
//! are left.
//!
//! It is done where the lists of the known nodes are expected to be shorter than what the expansion
//! finds.
//!
//! # Invariants
//! * CY-62 The condition is necessary for what stays above it, so it decides nothing that was not
//!   decided before.

use std::collections::BTreeSet;

use super::push_filters_into_expand::{is_plain, turned};
use crate::plan::expression::{BinaryOp, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{
    Direction, EndJoin, ExpandFilter, JoinKind, Operator, Plan, PlanNode, RelPattern, VarId,
    VarKind, Variable,
};
use crate::schema_view::SchemaView;

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    if plan.writes() {
        return;
    }
    let variables = &plan.variables;
    plan.root
        .visit_mut(&mut |node| narrow(node, variables, schema));
}

fn narrow(node: &mut PlanNode, variables: &[Variable], schema: &dyn SchemaView) {
    let Operator::Filter { input, predicate } = &mut node.op else {
        return;
    };
    let Operator::Expand {
        input,
        from,
        to,
        pattern,
        ..
    } = &mut input.op
    else {
        return;
    };
    let known = known_nodes(predicate, *to, variables);
    let always = schema.joins_always() && !pattern.types.is_empty();
    let entries = mean_entries(pattern, schema).or(always.then_some(0.0));
    let Some(entries) = entries.filter(|_| !known.is_empty()) else {
        return;
    };
    let Some((below, ends, rows)) = expansion_to(input, *from) else {
        return;
    };
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let pays = rows >= entries * known.len() as f64 || always;
    if !pays || !known.iter().all(|var| is_bound(below, *var)) {
        return;
    }
    let plain = RelPattern {
        types: pattern.types.clone(),
        direction: turned(pattern.direction),
        filter: None,
        each: None,
        distinct_from: Vec::new(),
        distinct_ends: Vec::new(),
        disjoint_from: Vec::new(),
        ends: ExpandFilter::default(),
    };
    let joins = known.into_iter().map(|near| EndJoin {
        near,
        pattern: plain.clone(),
        kind: JoinKind::Semi,
    });
    ends.semi_join_groups.push(joins.collect());
}

/// The nodes of which `to` must be one, by some condition of the predicate; none if there is no
/// such condition.
fn known_nodes(predicate: &Expr, to: VarId, variables: &[Variable]) -> BTreeSet<VarId> {
    match predicate {
        Expr::Binary {
            op: BinaryOp::And,
            left,
            right,
            ..
        } => {
            let known = known_nodes(left, to, variables);
            match known.is_empty() {
                true => known_nodes(right, to, variables),
                false => known,
            }
        }
        Expr::Binary {
            op: BinaryOp::Or,
            left,
            right,
            ..
        } => {
            let mut known = known_nodes(left, to, variables);
            let others = known_nodes(right, to, variables);
            let half = known.is_empty() || others.is_empty();
            if half && !mutant::active(Mutant::SemiJoinReductionHalfAnOr) {
                return BTreeSet::new();
            }
            known.extend(others);
            known
        }
        Expr::Binary {
            op: BinaryOp::Equal,
            left,
            right,
            ..
        } => {
            let other = match (&**left, &**right) {
                (Expr::Variable(a), Expr::Variable(b)) if *a == to => *b,
                (Expr::Variable(a), Expr::Variable(b)) if *b == to => *a,
                _ => return BTreeSet::new(),
            };
            let is_node = variables[other.0 as usize].kind == VarKind::Node && other != to;
            is_node.then_some(other).into_iter().collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Relationships of the pattern that a node at its far end has on average; `None` if they were not
/// counted.
fn mean_entries(pattern: &RelPattern, schema: &dyn SchemaView) -> Option<f64> {
    if pattern.types.is_empty() {
        return None;
    }
    let mut mean = 0.0;
    for rel_type in &pattern.types {
        let count = schema.type_count(rel_type)? as f64;
        for (far_is_start, direction) in [(false, Direction::Out), (true, Direction::In)] {
            if pattern.direction == direction || pattern.direction == Direction::Both {
                mean += count / schema.nodes_with(rel_type, far_is_start)?.max(1) as f64;
            }
        }
    }
    Some(mean)
}

/// The expansion that finds `var`, if only filters and expansions lie above it: what lies below,
/// its conditions, its rows.
fn expansion_to(node: &mut PlanNode, var: VarId) -> Option<(&PlanNode, &mut ExpandFilter, f64)> {
    let rows = node.estimated_rows;
    let finds = matches!(&node.op, Operator::Expand { to, .. } if *to == var);
    match &mut node.op {
        Operator::Expand {
            input,
            rel,
            pattern,
            ..
        } => {
            if !finds {
                return expansion_to(input, var);
            }
            let takes = rel.is_none() && is_plain(pattern);
            takes.then_some((&**input, &mut pattern.ends, rows))
        }
        Operator::Filter { input, .. } => expansion_to(input, var),
        _ => None,
    }
}

/// Whether rows of `node` certainly hold `var`.
fn is_bound(node: &PlanNode, var: VarId) -> bool {
    match &node.op {
        Operator::Distinct { vars, .. } | Operator::Argument { vars } => vars.contains(&var),
        Operator::Project { items, .. } => items.iter().any(|(own, _)| *own == var),
        Operator::Filter { input, .. } | Operator::Extend { input, .. } => is_bound(input, var),
        Operator::AllNodesScan { input, var: own }
        | Operator::LabelScan {
            input, var: own, ..
        }
        | Operator::IndexSeek {
            input, var: own, ..
        }
        | Operator::Expand { input, to: own, .. }
        | Operator::VarExpand { input, to: own, .. } => *own == var || is_bound(input, var),
        _ => false,
    }
}
