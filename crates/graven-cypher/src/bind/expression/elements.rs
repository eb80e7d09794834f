//! Parts of lists and maps by their places and keys, and `reduce`, which goes through a list.
//!
//! # How it works
//! What the text shows to have neither places nor keys is refused, and so is an index that can be
//! neither. The accumulator of `reduce` is of the kind that it begins with, and each step must be
//! able to give a value of that kind; null at its beginning says nothing.

use crate::ast::{self, ExprKind, Name};
use crate::bind::made::{Typed, call};
use crate::bind::{Binder, Result};
use crate::diagnostic::Code;
use crate::plan::expression::{Expr, Literal};
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    /// `base[index]`: a place of a list, or a key.
    pub(super) fn index(&mut self, base: &ast::Expr, index: &ast::Expr) -> Result<Typed> {
        let (list, ty) = self.expression(base)?;
        let (place, place_ty) = self.expression(index)?;
        let is_other = self.is_declared_other(base);
        if place_ty.set.is(TypeSet::INTEGER)
            && !ty.set.is(TypeSet::LIST)
            && (is_other || self.is_declared_text(base))
        {
            let list = match is_other {
                true => self.text_of(base, list).0,
                false => list,
            };
            let from_list = Expr::Literal(Literal::Boolean(false));
            let character = call("graven.element", vec![list, place, from_list]);
            return Ok((character, Type::of(TypeSet::STRING)));
        }
        let wanted = if place_ty.set.is(TypeSet::STRING) {
            TypeSet::WITH_KEYS
        } else if place_ty.set.is(TypeSet::NUMBER) {
            TypeSet::LIST
        } else {
            TypeSet::WITH_KEYS.or(TypeSet::LIST)
        };
        let what = "what has elements by this index";
        self.require_access(base, ty, wanted, what)?;
        self.expect_parameter(base, wanted, what);
        let wanted = if ty.set.is(TypeSet::LIST) {
            TypeSet::INTEGER
        } else if ty.set.is(TypeSet::WITH_KEYS) {
            TypeSet::STRING
        } else {
            TypeSet::INTEGER.or(TypeSet::STRING)
        };
        self.require_access(index, place_ty, wanted, "the index")?;
        self.is_key(index)?;
        if let ExprKind::String(text) = &index.kind
            && ty.set.is(TypeSet::ENTITY)
        {
            self.notice_unknown_key(&Name {
                text: text.clone(),
                span: index.span,
            });
        }
        self.expect_parameter(index, wanted, "the index");
        let element = match ty.set.is(TypeSet::LIST) {
            true => Type::of(ty.element),
            false => Type::ANY,
        };
        let value = Expr::Index {
            base: Box::new(list),
            index: Box::new(place),
            at: Span::default(),
        };
        Ok((value, element))
    }

    /// Refuses the empty text as a key.
    pub(in crate::bind) fn is_key(&self, index: &ast::Expr) -> Result<()> {
        if !matches!(&index.kind, ExprKind::String(text) if text.is_empty()) {
            return Ok(());
        }
        let message = "an empty text is no name of a property key";
        Err(self.error(index.span, Code::UnexpectedSyntax, message))
    }

    /// Of a variable this is found out while the statement runs, as the openCypher suite has it.
    fn require_access(&self, of: &ast::Expr, ty: Type, wanted: TypeSet, what: &str) -> Result<()> {
        if ty.set.may_be(wanted) || matches!(of.kind, ExprKind::Variable(_)) {
            return Ok(());
        }
        let message = format!("{what} must be {wanted}, this is {}", ty.set);
        Err(self.error(of.span, Code::ImpossibleAccess, message))
    }

    /// `base[from..to]`.
    pub(super) fn slice(
        &mut self,
        base: &ast::Expr,
        from: Option<&ast::Expr>,
        to: Option<&ast::Expr>,
    ) -> Result<Typed> {
        if self.is_declared_text(base) {
            let mut end = |end: Option<&ast::Expr>, open| match end {
                Some(end) => self.expression(end).map(|(end, _)| end),
                None => Ok(Expr::Literal(Literal::Integer(open))),
            };
            let ends = [end(from, 1)?, end(to, -1)?];
            let (text, _) = self.expression(base)?;
            let args = std::iter::once(text).chain(ends).collect();
            return Ok((call("graven.slice", args), Type::of(TypeSet::STRING)));
        }
        let (list, ty) = self.list_operand(base)?;
        let mut bound = |bound: Option<&ast::Expr>| -> Result<Option<Box<Expr>>> {
            let Some(expr) = bound else { return Ok(None) };
            let (value, ty) = self.expression(expr)?;
            self.require_of(expr, ty, TypeSet::INTEGER, "a bound of a slice")?;
            Ok(Some(Box::new(value)))
        };
        let (from, to) = (bound(from)?, bound(to)?);
        let value = Expr::Slice {
            base: Box::new(list),
            from,
            to,
            at: Span::default(),
        };
        Ok((value, Type::list_of(ty.element)))
    }

    /// `reduce(accumulator = init, name IN list | step)`.
    pub(super) fn reduce(
        &mut self,
        (accumulator, init): (&Name, &ast::Expr),
        (name, list): (&Name, &ast::Expr),
        step: &ast::Expr,
    ) -> Result<Typed> {
        let (init, init_ty) = self.expression(init)?;
        let kind = match init_ty.set {
            TypeSet::NULL => TypeSet::ANY,
            number if number.is(TypeSet::NUMBER) => TypeSet::NUMBER,
            other => other,
        };
        let declared = self.declared_element(list);
        let (list, ty) = self.list_operand(list)?;
        self.with_local(accumulator, Type::of(kind), |binder, accumulator| {
            binder.with_local(name, Type::of(ty.element), |binder, var| {
                binder.declared.extend(declared.map(|of| (var, of)));
                let (value, step_ty) = binder.expression(step)?;
                binder.require(step_ty, kind, step.span, "what each step of `reduce` gives")?;
                let reduced = Expr::Reduce {
                    accumulator,
                    init: Box::new(init),
                    var,
                    list: Box::new(list),
                    step: Box::new(value),
                    at: Span::default(),
                };
                Ok((reduced, Type::of(kind)))
            })
        })
    }
}
