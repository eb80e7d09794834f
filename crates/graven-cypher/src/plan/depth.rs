//! How deep a plan may be: a statement with more steps one after the other is refused.
//!
//! # How it works
//! Clauses, parts of a pattern and subqueries become operators on top of each other, and every pass
//! over a plan, the operators themselves included, calls itself once for each, and for each level
//! of an expression that it meets there. The tree that the builder made is measured, and again what
//! the rules made of it; one that is too deep is taken apart without recursion.
//!
//! # Invariants
//! * CY-65 No plan is deeper than [`OPERATORS_MAX`], so walking a plan, running it and dropping it
//!   do not overflow a stack of 2 MiB. Unoptimised builds take up to 4.8 KiB of it for an operator
//!   and 1.7 KiB for a level of an expression.

use super::builder::node;
use super::{Expr, Operator, PlanNode};
use crate::diagnostic::{Code, Diagnostic};
use crate::token::Span;

/// Most operators from the root of a plan to a leaf.
pub(super) const OPERATORS_MAX: usize = 360;

/// So many levels of an expression take as much stack as an operator.
const LEVELS_OF_AN_OPERATOR: usize = 3;

/// Hands the tree back if it is not too deep.
pub(crate) fn checked(root: PlanNode) -> Result<PlanNode, Diagnostic> {
    if depth(&root) <= OPERATORS_MAX {
        return Ok(root);
    }
    take_apart(root);
    let message = format!(
        "the statement has too many steps one after the other: its plan is more than \
            {OPERATORS_MAX} operators deep"
    );
    Err(
        Diagnostic::new("", Span::default(), Code::StatementTooLong, message)
            .with_hint("send several statements, UNWIND a list parameter, or use IN with a list"),
    )
}

/// The longest way from the root to a leaf; the expressions of an operator count at its place.
fn depth(root: &PlanNode) -> usize {
    let mut deepest = 0;
    let mut open = vec![(root, 1)];
    while let Some((node, depth)) = open.pop() {
        let mut levels = 0;
        node.op
            .for_each_expr(&mut |expr| levels = levels.max(height(expr)));
        deepest = deepest.max(depth + levels / LEVELS_OF_AN_OPERATOR);
        let below = node.op.children().into_iter();
        open.extend(below.map(|node| (node, depth + 1)));
    }
    deepest
}

/// Levels of an expression, of which the parser allows only so many.
fn height(expr: &Expr) -> usize {
    let mut below = 0;
    expr.for_each_child(&mut |child| below = below.max(height(child)));
    below + 1
}

fn take_apart(root: PlanNode) {
    let mut open = vec![root];
    while let Some(mut taken) = open.pop() {
        for below in taken.op.children_mut() {
            open.push(std::mem::replace(below, node(Operator::Unit, 0.0)));
        }
    }
}
