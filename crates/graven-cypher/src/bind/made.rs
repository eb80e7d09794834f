//! Expressions that the binder makes.

use crate::ast::{self, ExprKind};
use crate::plan::Expr;
use crate::plan::expression::BinaryOp;
use crate::plan::expression::UnaryOp;
use crate::token::Span;
use crate::types::Type;
use std::sync::Arc;

/// The bound call of a known function.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call {
        name: Arc::from(name),
        args,
        at: Span::default(),
    }
}

/// The cast of a value to a type, as a statement has it.
pub(super) fn cast_as(value: ast::Expr, of: Arc<str>) -> ast::Expr {
    let span = value.span;
    let height = value.height.saturating_add(1);
    let of = ast::Expr {
        kind: ExprKind::String(of),
        span,
        height: 1,
    };
    let name = ast::Name {
        text: "cast".into(),
        span,
    };
    let kind = ExprKind::Call {
        name,
        distinct: false,
        star: false,
        args: vec![value, of],
    };
    ast::Expr { kind, span, height }
}

/// The bound unary operation.
pub(crate) fn unary(op: UnaryOp, operand: Expr) -> Expr {
    Expr::Unary {
        op,
        operand: Box::new(operand),
        at: Span::default(),
    }
}

/// The bound binary operation.
pub(crate) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
        at: Span::default(),
    }
}

/// A bound expression and what it may hold.
pub(crate) type Typed = (Expr, Type);
