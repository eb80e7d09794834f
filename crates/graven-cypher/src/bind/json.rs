//! Values of JSON: which expressions are texts of JSON, and how others become JSON.
//!
//! # How it works
//! JSON is a declared type (`bind/declared.rs`): of columns, casts and functions of Kuzu. What is
//! of it goes into lists and objects as it is; other values become JSON. Structs and lists that
//! stand in the statement keep the order of their keys, and so do values of a declared `STRUCT`.

use super::made::{Typed, call};
use super::{Binder, Result};
use crate::ast::{self, ExprKind};
use crate::diagnostic::Code;
use crate::plan::expression::{BinaryOp, Expr, Literal};
use crate::types::{Type, TypeSet};

/// The declared type of texts of JSON.
pub(super) const JSON: &str = "JSON";

const OBJECT: &str = "graven.json.object";
const ARRAY: &str = "graven.json.array";
const OF: &str = "graven.json.of";
/// Values of the type `JSON` stay as they are.
const OF_TYPE: &str = "graven.json.of_type";

/// Functions that give a text of JSON, by their lower-case names.
pub(super) const GIVING: &[&str] = &["graven.json", "graven.json.mergepatch", ARRAY, OBJECT, OF];

fn text(of: &str) -> Expr {
    Expr::Literal(Literal::String(of.into()))
}

fn made(function: &str, args: Vec<Expr>) -> Typed {
    (call(function, args), Type::of(TypeSet::STRING))
}

impl Binder<'_> {
    /// A call of a function that takes any values and makes JSON of them; none if it is another
    /// one.
    pub(super) fn json_call(
        &mut self,
        whole: &ast::Expr,
        function: &str,
        args: &[ast::Expr],
    ) -> Result<Option<Typed>> {
        match function {
            OF => self.as_json(&args[0]).map(Some),
            ARRAY => self.json_array(args).map(Some),
            OBJECT => {
                if !args.len().is_multiple_of(2) {
                    let message = "json_object takes a value for each key";
                    let code = Code::InvalidNumberOfArguments;
                    return Err(self.error(whole.span, code, message));
                }
                let mut bound = Vec::with_capacity(args.len());
                for (idx, arg) in args.iter().enumerate() {
                    bound.push(match idx % 2 {
                        0 => call("cast", vec![self.expression(arg)?.0, text("STRING")]),
                        _ => self.as_json(arg)?.0,
                    });
                }
                Ok(Some(made(OBJECT, bound)))
            }
            _ => Ok(None),
        }
    }

    fn json_array(&mut self, items: &[ast::Expr]) -> Result<Typed> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(self.as_json(item)?.0);
        }
        Ok(made(ARRAY, bound))
    }

    /// The value of an expression as JSON.
    fn as_json(&mut self, of: &ast::Expr) -> Result<Typed> {
        match &of.kind {
            ExprKind::Map(entries) => {
                let mut bound = Vec::with_capacity(2 * entries.len());
                for (key, value) in entries {
                    bound.push(text(&key.text));
                    bound.push(self.as_json(value)?.0);
                }
                return Ok(made(OBJECT, bound));
            }
            ExprKind::List(items) => return self.json_array(items),
            _ => {}
        }
        let declared = self.declared_type(of);
        let (bound, ty) = self.expression(of)?;
        Ok(match declared {
            Some(declared) if is_json(&declared) => (bound, ty),
            Some(declared) if declared.contains(['(', '[']) => {
                made(OF_TYPE, vec![bound, text(&declared)])
            }
            _ => made(OF, vec![bound]),
        })
    }

    /// Whether the declared type of an expression is JSON.
    pub(super) fn is_json(&self, of: &ast::Expr) -> bool {
        self.declared_type(of).is_some_and(|it| is_json(&it))
    }

    /// The operands of a comparison, one of which may be JSON: it is compared as a number or truth
    /// with one of these, and as its text with others, which become JSON if they are no texts.
    pub(super) fn json_compared(
        &self,
        op: BinaryOp,
        (left, a): (&ast::Expr, Typed),
        (right, b): (&ast::Expr, Typed),
    ) -> (Typed, Typed) {
        use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let compares = matches!(
            op,
            Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual
        );
        let is = |of: &ast::Expr| compares && self.is_json(of);
        match (is(left), is(right)) {
            (true, false) => beside(a, b),
            (false, true) => {
                let (b, a) = beside(b, a);
                (a, b)
            }
            _ => (a, b),
        }
    }
}

/// A value of JSON and another one as values that can be compared.
fn beside(json: Typed, other: Typed) -> (Typed, Typed) {
    let cast = |(bound, _), of: &str, set| (call("cast", vec![bound, text(of)]), Type::of(set));
    let set = other.1.set;
    if set.is(TypeSet::INTEGER) {
        (cast(json, "INT64", TypeSet::INTEGER), other)
    } else if set.is(TypeSet::NUMBER) {
        (cast(json, "DOUBLE", TypeSet::FLOAT), other)
    } else if set.is(TypeSet::BOOLEAN) {
        (cast(json, "BOOL", TypeSet::BOOLEAN), other)
    } else if set.is(TypeSet::STRING) {
        // A text is compared as it is, whether it is one of JSON or not.
        (json, other)
    } else {
        (json, made(OF_TYPE, vec![other.0, text(JSON)]))
    }
}

fn is_json(declared: &str) -> bool {
    declared.eq_ignore_ascii_case(JSON)
}
