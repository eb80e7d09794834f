//! Values that are not asked for: branches of `CASE`, later arguments of `coalesce`, operands of
//! `AND` and `OR` beside one that decides.
//!
//! # How it works
//! A subquery of an expression is computed before the expression. While a part of an expression is
//! bound that not every row asks for, the condition for it stands in [`Binder::guards`]; a subquery
//! in it runs only where the condition is true. What is computed elsewhere in its place (no row, 0,
//! an empty list) is not looked at.
//!
//! # Invariants
//! * CY-68 A guard is false only where the value is not asked for, and fails only where the
//!   expression does.
//!
//! # Costs
//! A guard is judged once for each row and subquery below it.

use super::comprehension::needs_graph;
use super::{Binder, Result};
use crate::ast;
use crate::bind::made::{binary, call, unary};
use crate::plan::VarId;
use crate::plan::expression::{BinaryOp, Expr, Literal, UnaryOp};

/// The subject of a `CASE` that is computed once, and the variable that stands for it.
type Subject = (VarId, Expr);

/// The branch with this condition is taken.
pub(super) fn taken(condition: &Expr, subject: Option<&Subject>) -> Expr {
    with_subject(is_true(condition.clone()), subject)
}

/// The branch with this condition is not taken, and the one behind it may be.
pub(super) fn passed(condition: &Expr, subject: Option<&Subject>) -> Expr {
    let taken = is_true(condition.clone());
    with_subject(unary(UnaryOp::Not, taken), subject)
}

fn with_subject(body: Expr, subject: Option<&Subject>) -> Expr {
    match subject {
        None => body,
        Some((var, value)) => Expr::Let {
            var: *var,
            value: Box::new(value.clone()),
            body: Box::new(body),
        },
    }
}

fn is_true(condition: Expr) -> Expr {
    or_else(condition, false)
}

fn or_else(condition: Expr, of_null: bool) -> Expr {
    let of_null = Expr::Literal(Literal::Boolean(of_null));
    call("coalesce", vec![condition, of_null])
}

impl Binder<'_> {
    /// `AND`, `OR`, `XOR`: an operand without a subquery, or the first one, tells whether the other
    /// is asked for.
    pub(super) fn logical(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr> {
        let lazy = matches!(op, BinaryOp::And | BinaryOp::Or);
        if lazy && needs_graph(left) && !needs_graph(right) {
            let right = self.predicate(right)?;
            let left = self.guarded(op, &right, left)?;
            return Ok(binary(op, left, right));
        }
        let bound = self.predicate(left)?;
        let right = match lazy && needs_graph(right) {
            true => self.guarded(op, &bound, right)?,
            false => self.predicate(right)?,
        };
        Ok(binary(op, bound, right))
    }

    /// An operand that is asked for unless `first` decides.
    fn guarded(&mut self, op: BinaryOp, first: &Expr, operand: &ast::Expr) -> Result<Expr> {
        // The other operand may decide where this one fails.
        if !never_fails(first) {
            return self.predicate(operand);
        }
        let guard = match op {
            BinaryOp::And => or_else(first.clone(), true),
            _ => unary(UnaryOp::Not, is_true(first.clone())),
        };
        self.guards.push(guard);
        let bound = self.predicate(operand);
        self.guards.pop();
        bound
    }
}

/// Whether computing it gives a value of any row.
fn never_fails(expr: &Expr) -> bool {
    use BinaryOp::{
        And, Contains, EndsWith, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual, Or,
        StartsWith, Xor,
    };
    let here = match expr {
        Expr::Literal(_) | Expr::Variable(_) | Expr::Parameter(..) | Expr::HasLabels { .. } => true,
        Expr::Property { base, .. } => matches!(**base, Expr::Variable(_)),
        Expr::Unary { op, .. } => {
            matches!(op, UnaryOp::Not | UnaryOp::IsNull | UnaryOp::IsNotNull)
        }
        Expr::Binary { op, .. } => matches!(
            op,
            And | Or
                | Xor
                | Equal
                | NotEqual
                | Less
                | LessOrEqual
                | Greater
                | GreaterOrEqual
                | StartsWith
                | EndsWith
                | Contains
        ),
        _ => false,
    };
    let mut all = here;
    expr.for_each_child(&mut |child| all &= never_fails(child));
    all
}
