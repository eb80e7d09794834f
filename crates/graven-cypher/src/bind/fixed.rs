//! Operators on numbers of declared types that hold less than 64 bits, or so many digits.
//!
//! # How it works
//! A value is an integer of 64 bits, or a float, whatever type was declared for it. So where both
//! operands have such a type, the type of the result follows from theirs as in Kuzu, and a cast to
//! it stands around the operator: it refuses what the type does not hold, and rounds a `DECIMAL` to
//! its digits. A literal is an `INT64` or a `DOUBLE`: with one as an operand nothing is checked.

use std::sync::Arc;

use super::made::{Typed, binary, call};
use super::wide::{INT128, is_wide, wide_result};
use super::{Binder, Result};
use crate::ast;
use crate::plan::expression::{BinaryOp, Expr, Literal};
use crate::types::{Type, TypeSet};

/// Types of whole numbers: bits, and whether there are negative ones.
const WHOLE: &[(&str, u32, bool)] = &[
    ("INT8", 8, true),
    ("INT16", 16, true),
    ("SMALLINT", 16, true),
    ("INT32", 32, true),
    ("UINT8", 8, false),
    ("UINT16", 16, false),
    ("UINT32", 32, false),
];

/// Most digits of a `DECIMAL`.
const DIGITS_MAX: u32 = 38;

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fixed {
    Whole { bits: u32, signed: bool },
    Decimal { digits: u32, scale: u32 },
}

impl Fixed {
    /// The type that a text names.
    fn read(of: &str) -> Option<Fixed> {
        let upper = of.trim().to_ascii_uppercase();
        if let Some((_, bits, signed)) = WHOLE.iter().find(|(name, ..)| *name == upper) {
            let (bits, signed) = (*bits, *signed);
            return Some(Fixed::Whole { bits, signed });
        }
        let (head, inside) = upper.split_once('(').unwrap_or((&upper, "18, 3)"));
        if !matches!(head.trim(), "DECIMAL" | "NUMERIC" | "DEC") {
            return None;
        }
        let (digits, scale) = inside.strip_suffix(')')?.split_once(',')?;
        let (digits, scale) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
        (scale <= digits && digits <= DIGITS_MAX).then_some(Fixed::Decimal { digits, scale })
    }

    fn name(self) -> Arc<str> {
        match self {
            Fixed::Whole { bits, signed: true } => format!("INT{bits}").into(),
            Fixed::Whole { bits, .. } => format!("UINT{bits}").into(),
            Fixed::Decimal { digits, scale } => format!("DECIMAL({digits}, {scale})").into(),
        }
    }

    /// The type of what an operator gives; none if that is not checked.
    fn computed(op: BinaryOp, a: Fixed, b: Fixed) -> Option<Fixed> {
        use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
        match (a, b) {
            (
                Fixed::Decimal {
                    digits: p,
                    scale: s,
                },
                Fixed::Decimal {
                    digits: q,
                    scale: t,
                },
            ) => {
                let (digits, scale) = match op {
                    Add | Subtract => (p.max(q) + 1, s.max(t) + 1),
                    Multiply => (p + q, s + t),
                    Modulo => (p.max(q), s.max(t)),
                    _ => return None,
                };
                let digits = digits.min(DIGITS_MAX);
                let scale = scale.min(digits);
                Some(Fixed::Decimal { digits, scale })
            }
            (Fixed::Whole { .. }, Fixed::Whole { .. }) => {
                let computes = matches!(op, Add | Subtract | Multiply | Divide | Modulo);
                // Where neither type holds the other one, both become an `INT64`.
                computes.then(|| a.widened(b).or(b.widened(a)))?
            }
            _ => None,
        }
    }

    /// The other type, if it holds all values of this one.
    fn widened(self, into: Fixed) -> Option<Fixed> {
        let (
            Fixed::Whole { bits, signed },
            Fixed::Whole {
                bits: more,
                signed: to_signed,
            },
        ) = (self, into)
        else {
            return None;
        };
        let holds = self == into || bits < more && (signed == to_signed || to_signed);
        holds.then_some(into)
    }
}

impl Binder<'_> {
    /// The declared type of what an operator gives.
    pub(super) fn declared_result(
        &self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Option<Arc<str>> {
        let (left, right) = (self.operand(left), self.operand(right));
        if let Some(wide) = wide_result(op, [&left, &right]) {
            return Some(wide.into());
        }
        Some(Fixed::computed(op, Fixed::read(&left?)?, Fixed::read(&right?)?)?.name())
    }

    /// Digits behind the point of a decimal; none if it has no such type.
    pub(super) fn decimal_scale(&self, of: &ast::Expr) -> Option<u32> {
        match Fixed::read(&self.operand(of)?)? {
            Fixed::Decimal { scale, .. } => Some(scale),
            Fixed::Whole { .. } => None,
        }
    }

    /// An expression as a text; that of a decimal has all digits of its type.
    pub(super) fn as_text(&mut self, of: &ast::Expr) -> Result<Typed> {
        let (value, _) = self.expression(of)?;
        Ok(self.text_of(of, value))
    }

    /// As [`Self::as_text`], of what is bound.
    pub(super) fn text_of(&self, of: &ast::Expr, value: Expr) -> Typed {
        let text = match self.decimal_scale(of) {
            Some(scale) => format!("DECIMAL TEXT({scale})").into(),
            None => "STRING".into(),
        };
        let text = call("cast", vec![value, Expr::Literal(Literal::String(text))]);
        (text, Type::of(TypeSet::STRING))
    }

    /// The declared type of what a sign or a function of one number gives.
    pub(super) fn declared_of_one(&self, function: &str, of: &ast::Expr) -> Option<Arc<str>> {
        let of = self.operand(of)?;
        if is_wide(&of) {
            let gives = matches!(function, "-" | "abs" | "sum");
            return gives.then(|| INT128.into());
        }
        let made = match (function, Fixed::read(&of)?) {
            // The negative of what has no sign is an `INT64`.
            ("-", Fixed::Whole { signed: false, .. }) => return None,
            ("-" | "abs", given) => given,
            ("floor" | "ceil", Fixed::Decimal { digits, .. }) => {
                Fixed::Decimal { digits, scale: 0 }
            }
            ("sum", Fixed::Decimal { scale, .. }) => Fixed::Decimal {
                digits: DIGITS_MAX,
                scale,
            },
            _ => return None,
        };
        Some(made.name())
    }
}

/// The rest of a division of two decimals: that of whole numbers of their last digits, since no
/// float holds most decimals.
pub(super) fn rest(of: Option<&str>, a: Expr, b: Expr) -> Expr {
    let Some(Fixed::Decimal { scale, .. }) = of.and_then(Fixed::read) else {
        return binary(BinaryOp::Modulo, a, b);
    };
    let power = 10_f64.powi(i32::try_from(scale).unwrap_or(i32::MAX));
    let power = || Expr::Literal(Literal::Float(power));
    let whole = |of| call("round", vec![binary(BinaryOp::Multiply, of, power())]);
    let rest = binary(BinaryOp::Modulo, whole(a), whole(b));
    binary(BinaryOp::Divide, rest, power())
}

/// What is computed, as a value of the type that its operands give it.
pub(super) fn held(of: Option<Arc<str>>, (value, ty): Typed) -> Typed {
    let set = match of.as_deref().and_then(Fixed::read) {
        None => return (value, ty),
        Some(Fixed::Whole { .. }) => TypeSet::INTEGER,
        Some(Fixed::Decimal { .. }) => TypeSet::NUMBER,
    };
    let of = Expr::Literal(Literal::String(of.unwrap_or_default()));
    (call("cast", vec![value, of]), Type::of(set))
}

#[cfg(test)]
mod tests {
    use super::Fixed;
    use crate::plan::expression::BinaryOp::{self, Add, Divide, Multiply};

    /// Goal: the type of a result is that of Kuzu; where it is `INT64` or `DOUBLE` there is none.
    #[test]
    fn results_have_types() {
        let of = |op: BinaryOp, a: &str, b: &str| {
            let found = Fixed::computed(op, Fixed::read(a)?, Fixed::read(b)?)?;
            Some(found.name().to_string())
        };
        for (op, a, b, result) in [
            (Add, "INT8", "int8", "INT8"),
            (Add, "INT8", "INT16", "INT16"),
            (Divide, "UINT8", "INT16", "INT16"),
            (Add, "DECIMAL(18, 1)", "DECIMAL(5, 2)", "DECIMAL(19, 3)"),
            (Multiply, "DECIMAL(4,1)", "NUMERIC(4, 1)", "DECIMAL(8, 2)"),
            (Multiply, "DECIMAL", "DECIMAL(38, 4)", "DECIMAL(38, 7)"),
        ] {
            assert_eq!(of(op, a, b).as_deref(), Some(result), "{a} {b}");
        }
        for (a, b) in [("INT8", "UINT8"), ("INT64", "INT8"), ("DECIMAL", "INT8")] {
            assert_eq!(of(Add, a, b), None, "{a} {b}");
        }
        assert_eq!(Fixed::read("DECIMAL(5, 6)"), None);
    }
}
