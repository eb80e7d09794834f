//! Operators on whole numbers of a declared type of more than 64 bits.
//!
//! # How it works
//! Beyond 64 bits such a number is the text of its digits, which the operators of the language
//! would join or order as a text. So where an operand has such a type, the operator becomes a call
//! of `graven.wide`, which knows both forms.

use std::sync::Arc;

use super::load::{expr, named};
use super::made::{Typed, call};
use super::{Binder, Result};
use crate::ast::{self, ExprKind, Name};
use crate::plan::expression::{BinaryOp, Expr, Literal};
use crate::types::{Type, TypeSet};

/// The type of the results.
pub(super) const INT128: &str = "INT128";

/// The type of the results of what is never negative.
const UINT64: &str = "UINT64";

/// Types of whole numbers that are never negative.
const UNSIGNED: &[&str] = &["UINT8", "UINT16", "UINT32", UINT64];

/// Types of more than 64 bits.
const WIDE: &[&str] = &[INT128, "HUGEINT", UINT64];

/// Types of whole numbers of at most 64 bits.
const WHOLE: &[&str] = &[
    "BIGINT", "INT", "INT16", "INT32", "INT64", "INT8", "INTEGER", "SERIAL", "SMALLINT", "UINT16",
    "UINT32", "UINT8",
];

fn is_one(declared: &str, of: &[&str]) -> bool {
    of.iter().any(|name| declared.eq_ignore_ascii_case(name))
}

/// The type that values of all these types have if they are whole numbers, one of them of more than
/// 64 bits.
pub(super) fn widest(all: &[Option<Arc<str>>]) -> Option<Arc<str>> {
    let is_wide = |of: &Option<Arc<str>>| of.as_ref().is_some_and(|of| is_one(of, WIDE));
    let is_whole = |of: &Option<Arc<str>>| of.as_ref().is_some_and(|of| is_one(of, WHOLE));
    let fits = all.iter().all(|of| is_wide(of) || is_whole(of));
    (fits && all.iter().any(is_wide)).then(|| INT128.into())
}

/// The operator by its sign, if it is one of numbers, and whether it compares.
fn sign(op: BinaryOp) -> Option<(&'static str, bool)> {
    Some(match op {
        BinaryOp::Add => ("+", false),
        BinaryOp::Subtract => ("-", false),
        BinaryOp::Multiply => ("*", false),
        BinaryOp::Divide => ("/", false),
        BinaryOp::Modulo => ("%", false),
        BinaryOp::Less => ("<", true),
        BinaryOp::LessOrEqual => ("<=", true),
        BinaryOp::Greater => (">", true),
        BinaryOp::GreaterOrEqual => (">=", true),
        _ => return None,
    })
}

/// Whether a declared type has more than 64 bits.
pub(super) fn is_wide(of: &str) -> bool {
    is_one(of, WIDE)
}

/// The type of what an operator gives where the declared type of an operand has more than 64 bits.
pub(super) fn wide_result(op: BinaryOp, operands: [&Option<Arc<str>>; 2]) -> Option<&'static str> {
    let computes = sign(op).is_some_and(|(_, compares)| !compares);
    let is = |of: &Option<Arc<str>>, types| of.as_deref().is_some_and(|of| is_one(of, types));
    if !computes || !operands.iter().any(|of| is(of, WIDE)) {
        return None;
    }
    Some(match operands.iter().all(|of| is(of, UNSIGNED)) {
        true => UINT64,
        false => INT128,
    })
}

/// What a number of 128 bits may be.
const FORMS: TypeSet = TypeSet::NUMBER.or(TypeSet::STRING);

fn may_be_number(of: &Typed) -> bool {
    of.1.set.may_be(FORMS)
}

fn computed(sign: &str, a: &Expr, b: &Expr) -> Expr {
    let sign = Expr::Literal(Literal::String(sign.into()));
    call("graven.wide", vec![sign, a.clone(), b.clone()])
}

impl Binder<'_> {
    /// Whether the declared type of an expression has more than 64 bits.
    pub(super) fn is_wide(&self, of: &ast::Expr) -> bool {
        self.operand(of).is_some_and(|of| is_wide(&of))
    }

    /// The declared type of an operand; what cannot have one is not asked for it.
    pub(super) fn operand(&self, of: &ast::Expr) -> Option<Arc<str>> {
        let is_plain = matches!(
            of.kind,
            ExprKind::Integer(_) | ExprKind::Float(_) | ExprKind::String(_)
        );
        match is_plain {
            true => None,
            false => self.declared_type(of),
        }
    }

    /// The operator as one of numbers of 128 bits; none if no operand has such a type.
    pub(super) fn wide(
        &self,
        op: BinaryOp,
        (left, a): (&ast::Expr, &Typed),
        (right, b): (&ast::Expr, &Typed),
    ) -> Option<Typed> {
        let (sign, compares) = sign(op)?;
        if !may_be_number(a) || !may_be_number(b) {
            return None;
        }
        let declared = [self.operand(left), self.operand(right)];
        if !declared.iter().flatten().any(|of| is_wide(of)) {
            return None;
        }
        let value = computed(sign, &a.0, &b.0);
        if compares {
            return Some((value, Type::of(TypeSet::BOOLEAN)));
        }
        let value = match wide_result(op, declared.each_ref()) {
            Some(UINT64) => {
                let of = Expr::Literal(Literal::String(UINT64.into()));
                call("cast", vec![value, of])
            }
            _ => value,
        };
        Some((value, Type::of(FORMS)))
    }

    /// A key to sort by: numbers of 128 bits by a form that sorts as they do.
    pub(super) fn sort_key(&self, key: &ast::Expr, bound: Expr) -> Expr {
        match self.is_wide(key) {
            true => computed("order", &bound, &Expr::Literal(Literal::Integer(0))),
            false => bound,
        }
    }

    /// An aggregate of numbers of 128 bits as one of the list of them; none if it is another call.
    pub(super) fn wide_aggregate(
        &self,
        name: &Name,
        distinct: bool,
        args: &[ast::Expr],
    ) -> Option<ast::Expr> {
        let lower = name.text.to_ascii_lowercase();
        let [of] = args else {
            return None;
        };
        if !matches!(&*lower, "sum" | "min" | "max" | "avg") || !self.is_wide(of) {
            return None;
        }
        let at = name.span;
        let made = |function: &str, distinct, args: Vec<ast::Expr>| {
            let height = args.iter().map(|arg| arg.height).max().unwrap_or(0);
            let call = ExprKind::Call {
                name: named(function, at),
                distinct,
                star: false,
                args,
            };
            ast::Expr {
                height: height.saturating_add(1),
                ..expr(call, at)
            }
        };
        let all = made("collect", distinct, vec![of.clone()]);
        let aggregate = expr(ExprKind::String(lower.into()), at);
        Some(made("graven.wideOf", false, vec![all, aggregate]))
    }

    /// `abs` of a number of 128 bits; none if the argument is none.
    pub(super) fn wide_abs(&mut self, of: &ast::Expr) -> Result<Option<Typed>> {
        if !self.is_wide(of) {
            return Ok(None);
        }
        let (bound, _) = self.expression(of)?;
        let value = computed("abs", &bound, &Expr::Literal(Literal::Integer(0)));
        Ok(Some((value, Type::of(FORMS))))
    }

    /// The number with the other sign; none if it is no number of 128 bits.
    pub(super) fn wide_negated(&self, operand: &ast::Expr, bound: &Typed) -> Option<Typed> {
        if !may_be_number(bound) || !self.is_wide(operand) {
            return None;
        }
        let zero = Expr::Literal(Literal::Integer(0));
        Some((computed("-", &zero, &bound.0), Type::of(FORMS)))
    }
}
