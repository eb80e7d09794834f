//! Conditions on the far end of an expansion are decided while it is expanded, list by list.
//!
//! # How it works
//! Above an expansion of an unnamed relationship often stand conditions on its far end alone:
//! labels, being another node than one of the row, being joined (or not) to a node of the row. They
//! are moved into the expansion, bottom up, so that rows that they refuse are never made.
//! `(a)--(b)--(c)--(a)` intersects the sorted lists of `b` and `a`, where an expansion followed by
//! a check would make a row for each neighbour of `b`.
//!
//! # Invariants
//! * CY-47 Only in statements that do not write: what is decided early is decided before anything
//!   above has written.
//!
//! # Source
//! Ngo, Porat, Re and Rudra, "Worst-case optimal join algorithms", 2012 (intersection of the lists
//! of all known neighbours of a variable).

use crate::plan::expression::{BinaryOp, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::variables::{conjunction, conjuncts};
use crate::plan::{
    Direction, EndJoin, ExpandFilter, JoinKind, Operator, Plan, PlanNode, RelPattern, VarId,
    VarKind, Variable,
};

pub(crate) fn apply(plan: &mut Plan) {
    if plan.writes() {
        return;
    }
    let variables = &plan.variables;
    plan.root.visit_mut(&mut |node| {
        if !matches!(node.op, Operator::Expand { .. }) && absorb(node, variables) {
            let mut children = node.op.children_mut();
            let expand = children[0].take();
            let rows = node.estimated_rows;
            *node = expand;
            node.estimated_rows = rows;
        }
    });
}

/// Moves what can be moved from `node` into the expansion below it; whether nothing is left of
/// `node`.
fn absorb(node: &mut PlanNode, variables: &[Variable]) -> bool {
    match &mut node.op {
        Operator::Filter { input, predicate } => {
            let Some((to, ends, labels_alone)) = labelled(input) else {
                return false;
            };
            let mut all = Vec::new();
            conjuncts(
                std::mem::replace(predicate, Expr::List(Vec::new())),
                &mut all,
            );
            all.retain(|condition| {
                let takes = !labels_alone || matches!(condition, Expr::HasLabels { .. });
                !(takes && absorb_condition(condition, to, ends, variables))
            });
            let gone = all.is_empty();
            if let Some(left) = conjunction(all) {
                *predicate = left;
            }
            gone
        }
        Operator::ExpandInto {
            input,
            from,
            rel: None,
            to,
            pattern,
        } => {
            let Some((_, end, ends)) = expansion(input) else {
                return false;
            };
            let join = join(*from, *to, end, pattern, JoinKind::Inner);
            join.map(|join| ends.joins.push(join)).is_some()
        }
        Operator::SemiApply { input, inner, anti } => {
            let Operator::ExpandInto {
                input: leaf,
                from,
                rel: None,
                to,
                pattern,
            } = &inner.op
            else {
                return false;
            };
            let at_the_leaf = matches!(leaf.op, Operator::Argument { .. });
            let Some((_, end, ends)) = expansion(input) else {
                return false;
            };
            let kind = match anti {
                true => JoinKind::Anti,
                false => JoinKind::Semi,
            };
            let join = join(*from, *to, end, pattern, kind).filter(|_| at_the_leaf);
            join.map(|join| ends.joins.push(join)).is_some()
        }
        _ => false,
    }
}

/// Near and far end of an expansion that takes conditions, and those it has.
fn expansion(node: &mut PlanNode) -> Option<(VarId, VarId, &mut ExpandFilter)> {
    match &mut node.op {
        Operator::Expand {
            from,
            rel: None,
            to,
            pattern,
            ..
        } if is_plain(pattern) => Some((*from, *to, &mut pattern.ends)),
        _ => None,
    }
}

/// Far end of an expansion, its conditions, and whether it takes labels alone: where relationships
/// are named or looked at.
fn labelled(node: &mut PlanNode) -> Option<(VarId, &mut ExpandFilter, bool)> {
    let takes_all = expansion(node).is_some();
    match &mut node.op {
        Operator::Expand { to, pattern, .. } => {
            let labels_alone = !takes_all && !mutant::active(Mutant::PushFiltersIntoExpandOnNamed);
            Some((*to, &mut pattern.ends, labels_alone))
        }
        _ => None,
    }
}

/// Whether relationships are not looked at one by one.
pub(super) fn is_plain(pattern: &RelPattern) -> bool {
    pattern.filter.is_none() && pattern.distinct_from.is_empty() && pattern.disjoint_from.is_empty()
}

/// Takes a condition on the end alone; whether it was one.
pub(super) fn absorb_condition(
    condition: &Expr,
    to: VarId,
    ends: &mut ExpandFilter,
    variables: &[Variable],
) -> bool {
    match condition {
        Expr::HasLabels { base, labels, .. } if **base == Expr::Variable(to) => {
            ends.labels.extend(labels.iter().cloned());
            true
        }
        Expr::Binary {
            op: BinaryOp::NotEqual,
            left,
            right,
            ..
        } => {
            let (Expr::Variable(left), Expr::Variable(right)) = (&**left, &**right) else {
                return false;
            };
            let other = match (*left == to, *right == to) {
                (true, false) => *right,
                (false, true) => *left,
                _ => return false,
            };
            let is_node = variables[other.0 as usize].kind == VarKind::Node;
            if is_node {
                ends.not_equal.push(other);
            }
            is_node
        }
        _ => false,
    }
}

/// The relationship between `from` and `to` as a condition on `end`, one of the two.
fn join(
    from: VarId,
    to: VarId,
    end: VarId,
    pattern: &RelPattern,
    kind: JoinKind,
) -> Option<EndJoin> {
    let is_shared = !is_plain(pattern) && !mutant::active(Mutant::PushFiltersIntoExpandJoinShared);
    if is_shared || from == to {
        return None;
    }
    let mut pattern = pattern.clone();
    let near = if to == end {
        from
    } else if from == end {
        pattern.direction = turned(pattern.direction);
        to
    } else {
        return None;
    };
    Some(EndJoin {
        near,
        pattern,
        kind,
    })
}

/// The direction seen from the other end.
pub(super) fn turned(direction: Direction) -> Direction {
    match direction {
        Direction::Out => Direction::In,
        Direction::In => Direction::Out,
        Direction::Both => Direction::Both,
    }
}
