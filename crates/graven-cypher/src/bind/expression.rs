//! Expressions: names to variables, impossible types refused; calls are in `bind/call.rs`,
//! subqueries in `bind/subquery.rs`.
//!
//! # How it works
//! [`Binder::expression`] returns the bound expression with its static type. Patterns are allowed
//! only where a truth value is wanted ([`Binder::predicate`]).

mod elements;
mod operators;

use super::{Binder, Result};
use crate::ast::{self, ExprKind, MapItem, Name};
use crate::bind::made::{Typed, binary, call, unary};
use crate::diagnostic::{Code, closest};
use crate::functions;
use crate::plan::expression::{BinaryOp, Expr, Literal, UnaryOp};
use crate::plan::{ExpectedParameter, VarId, VarKind};
use crate::stop;
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    /// A condition: patterns are allowed, and the value must be able to be a truth value.
    pub(super) fn predicate(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let (bound, ty) = self.truth(expr)?;
        let what = "a condition";
        self.require(ty, TypeSet::BOOLEAN, expr.span, what)?;
        // A list may stand for a truth value where the text does not show that it is one.
        self.expect_parameter(expr, TypeSet::BOOLEAN.or(TypeSet::LIST), what);
        Ok(bound)
    }

    /// The condition of a `WHERE`: its conjuncts are judged apart, in the order that the planner
    /// likes.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let ExprKind::Binary {
            op: BinaryOp::And,
            left,
            right,
        } = &expr.kind
        else {
            return self.predicate(expr);
        };
        let (left, right) = (self.condition(left)?, self.condition(right)?);
        Ok(binary(BinaryOp::And, left, right).standing_at(expr.span))
    }

    fn truth(&mut self, expr: &ast::Expr) -> Result<Typed> {
        let boolean = Type::of(TypeSet::BOOLEAN);
        match &expr.kind {
            ExprKind::Pattern(pattern) => {
                self.has_rows(pattern.span)?;
                Ok((self.pattern_predicate(pattern)?, boolean))
            }
            ExprKind::Binary {
                op: op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor),
                left,
                right,
            } => {
                let bound = self.logical(*op, left, right)?;
                Ok((bound.standing_at(expr.span), boolean))
            }
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => {
                let operand = self.predicate(operand)?;
                Ok((unary(UnaryOp::Not, operand).standing_at(expr.span), boolean))
            }
            _ => self.expression(expr),
        }
    }

    /// Refuses a value that can never be one of `wanted`.
    pub(super) fn require(&self, ty: Type, wanted: TypeSet, span: Span, what: &str) -> Result<()> {
        if ty.set.may_be(wanted) {
            return Ok(());
        }
        let message = format!("{what} must be {wanted}, this is {}", ty.set);
        Err(self.error(span, Code::InvalidArgumentType, message))
    }

    /// As [`Self::require`]; where the value is a parameter, it is looked at before the statement
    /// runs.
    pub(super) fn require_of(
        &mut self,
        expr: &ast::Expr,
        ty: Type,
        wanted: TypeSet,
        what: &str,
    ) -> Result<()> {
        self.expect_parameter(expr, wanted, what);
        self.require(ty, wanted, expr.span, what)
    }

    /// Notes what a parameter must be that stands here.
    pub(super) fn expect_parameter(&mut self, expr: &ast::Expr, wanted: TypeSet, what: &str) {
        let ExprKind::Parameter(name) = &expr.kind else {
            return;
        };
        if wanted == TypeSet::ANY {
            return;
        }
        self.expected.push(ExpectedParameter {
            name: name.text.clone(),
            at: expr.span,
            wanted,
            what: what.into(),
        });
    }

    /// Any expression, with its place in the text.
    pub(super) fn expression(&mut self, expr: &ast::Expr) -> Result<Typed> {
        stop::tick();
        let (bound, ty) = self.bound(expr)?;
        Ok((bound.standing_at(expr.span), ty))
    }

    fn bound(&mut self, expr: &ast::Expr) -> Result<Typed> {
        if let Some(number) = self.named_number(expr) {
            return Ok((
                Expr::Literal(Literal::Float(number)),
                Type::of(TypeSet::FLOAT),
            ));
        }
        if let Some(found) = self.grouped(expr)? {
            return Ok(found);
        }
        if let ExprKind::Variable(name) = &expr.kind
            && self.created_later.contains(&name.text)
            && self.scope.find(&name.text).is_none()
        {
            let message = format!("`{}` is created by this CREATE: it is null here", name.text);
            self.notice_at(name.span, "DeprecatedReferenceInCreate", &message);
            return Ok((Expr::Literal(Literal::Null), Type::of(TypeSet::NULL)));
        }
        if let Some(rewritten) = super::comprehension::with_subquery(expr) {
            return self.expression(&rewritten);
        }
        let any = Type::ANY;
        Ok(match &expr.kind {
            ExprKind::Null => (Expr::Literal(Literal::Null), Type::of(TypeSet::NULL)),
            ExprKind::Boolean(b) => (
                Expr::Literal(Literal::Boolean(*b)),
                Type::of(TypeSet::BOOLEAN),
            ),
            ExprKind::Integer(i) => (
                Expr::Literal(Literal::Integer(*i)),
                Type::of(TypeSet::INTEGER),
            ),
            ExprKind::Float(f) => (Expr::Literal(Literal::Float(*f)), Type::of(TypeSet::FLOAT)),
            ExprKind::String(s) => (
                Expr::Literal(Literal::String(s.clone())),
                Type::of(TypeSet::STRING),
            ),
            ExprKind::Parameter(name) => (self.parameter(name)?, any),
            ExprKind::Variable(name) => {
                let (var, ty) = self.resolve(name)?;
                (Expr::Variable(var), ty)
            }
            ExprKind::List(items) => self.list(items)?,
            ExprKind::Map(entries) => {
                let mut bound = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    bound.push((key.text.clone(), self.expression(value)?.0));
                }
                (Expr::Map(bound), Type::of(TypeSet::MAP))
            }
            ExprKind::MapProjection { base, items } => self.map_projection(base, items)?,
            ExprKind::Property { base, key } => self.property(base, key)?,
            ExprKind::Index { base, index } => self.index(base, index)?,
            ExprKind::Slice { base, from, to } => {
                self.slice(base, from.as_deref(), to.as_deref())?
            }
            ExprKind::Labels { base, labels } => self.has_labels(base, labels)?,
            ExprKind::Unary { op, operand } => self.unary(*op, operand)?,
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Chain { first, rest } => {
                (self.chain(first, rest)?, Type::of(TypeSet::BOOLEAN))
            }
            ExprKind::Case {
                subject,
                branches,
                otherwise,
            } => self.case(subject.as_deref(), branches, otherwise.as_deref())?,
            ExprKind::CaseSubject => {
                let subject = self.case_subjects.last();
                subject.expect("only in a CASE with a subject").clone()
            }
            ExprKind::Concatenate { left, right } => self.concatenation(left, right)?,
            ExprKind::Call {
                name,
                distinct,
                star,
                args,
            } => self.call(expr, name, *distinct, *star, args)?,
            ExprKind::Named { name, .. } => {
                let message = format!(
                    "only a macro takes an argument by its name, as `{}`",
                    name.text
                );
                let error = self.error(expr.span, Code::UnexpectedSyntax, message);
                return Err(error.with_hint("give the value alone, at its place"));
            }
            ExprKind::ListComprehension {
                name,
                list,
                filter,
                map,
            } => {
                let declared = self.declared_element(list);
                let (list, ty) = self.list_operand(list)?;
                self.with_local(name, Type::of(ty.element), |binder, var| {
                    binder.declared.extend(declared.map(|of| (var, of)));
                    let filter = match filter {
                        Some(filter) => Some(Box::new(binder.predicate(filter)?)),
                        None => None,
                    };
                    let (map, element) = match map {
                        Some(map) => {
                            let (map, ty) = binder.expression(map)?;
                            (Some(Box::new(map)), ty.set)
                        }
                        None => (None, ty.element),
                    };
                    Ok((
                        Expr::ListComprehension {
                            var,
                            list: Box::new(list),
                            filter,
                            map,
                            at: Span::default(),
                        },
                        Type::list_of(element),
                    ))
                })?
            }
            ExprKind::Quantifier {
                kind,
                name,
                list,
                predicate,
            } => {
                let declared = self.declared_element(list);
                let (list, ty) = self.list_operand(list)?;
                let list = Box::new(list);
                self.with_local(name, Type::of(ty.element), |binder, var| {
                    binder.declared.extend(declared.map(|of| (var, of)));
                    let predicate = Box::new(binder.predicate(predicate)?);
                    Ok((
                        Expr::Quantifier {
                            kind: *kind,
                            var,
                            list,
                            predicate,
                            at: Span::default(),
                        },
                        Type::of(TypeSet::BOOLEAN),
                    ))
                })?
            }
            ExprKind::Reduce {
                accumulator,
                init,
                name,
                list,
                step,
            } => self.reduce((accumulator, init), (name, list), step)?,
            ExprKind::PatternComprehension {
                pattern,
                filter,
                map,
            } => {
                self.has_rows(expr.span)?;
                self.pattern_comprehension(pattern, filter.as_deref(), map)?
            }
            ExprKind::Pattern(pattern) => {
                let message = "a pattern can only be used as a condition";
                return Err(self
                    .error(pattern.span, Code::UnexpectedSyntax, message)
                    .with_hint(
                        "use it in WHERE, or write exists(pattern), COUNT { pattern } or \
                        [pattern | value]",
                    ));
            }
            ExprKind::Subquery {
                kind,
                query,
                written,
            } => {
                self.has_rows(expr.span)?;
                self.subquery(*kind, query, *written)?
            }
        })
    }

    /// Refuses what runs for each row where no rows are.
    fn has_rows(&self, span: Span) -> Result<()> {
        let Some(what) = self.constant_only else {
            return Ok(());
        };
        let message = format!("{what} cannot use subqueries or patterns");
        let error = self.error(span, Code::NonConstantExpression, message);
        Err(error.with_hint("look for the value first and pass it as a parameter"))
    }

    pub(super) fn parameter(&mut self, name: &Name) -> Result<Expr> {
        self.does_without(&name.text);
        if self.allows_parameter(&name.text) {
            return Ok(Expr::Parameter(name.text.clone(), name.span));
        }
        let message = format!("parameter `${}` was not given", name.text);
        Err(self.error(name.span, Code::MissingParameter, message))
    }

    /// The variable of that name; the use is recorded for subqueries.
    pub(super) fn resolve(&mut self, name: &Name) -> Result<(VarId, Type)> {
        if let Some(entry) = self.scope.find(&name.text) {
            self.uses.push(entry.var);
            return Ok((entry.var, entry.ty));
        }
        let (code, message) = match self.constant_only {
            Some(what) => (
                Code::NonConstantExpression,
                format!("{what} cannot use variables such as `{}`", name.text),
            ),
            None => (
                Code::UndefinedVariable,
                match self.scope.withheld.contains(&name.text) {
                    true => format!("variable `{}` is not taken into the subquery", name.text),
                    false => format!("variable `{}` is not defined", name.text),
                },
            ),
        };
        let error = self.error(name.span, code, message);
        if code == Code::NonConstantExpression {
            return Err(error);
        }
        if self.scope.withheld.contains(&name.text) {
            let text = &name.text;
            let hint = format!(
                "write `CALL ({text}) {{ ... }}`, or begin the subquery with `WITH {text}`, which \
                    takes plain variables only"
            );
            return Err(error.with_hint(hint));
        }
        Err(match closest(&name.text, self.scope.names()) {
            Some(near) => {
                let hint = format!("did you mean `{near}`?");
                error.with_hint(hint)
            }
            None => error.with_hint(
                "variables are bound by MATCH, UNWIND, WITH or YIELD; a value needs quotes or `$`",
            ),
        })
    }

    fn list(&mut self, items: &[ast::Expr]) -> Result<Typed> {
        let mut bound = Vec::with_capacity(items.len());
        let mut element = TypeSet::NULL;
        for item in items {
            let (item, ty) = self.expression(item)?;
            element = match bound.is_empty() {
                true => ty.set,
                false => element.beside(ty.set),
            };
            bound.push(item);
        }
        Ok((Expr::List(bound), Type::list_of(element)))
    }

    pub(super) fn list_operand(&mut self, list: &ast::Expr) -> Result<Typed> {
        let (bound, mut ty) = self.expression(list)?;
        self.require_of(list, ty, TypeSet::LIST, "the list")?;
        if !ty.set.is(TypeSet::LIST) {
            ty.element = TypeSet::ANY;
        }
        Ok((bound, ty))
    }

    /// Runs `body` with a variable of a comprehension, quantifier or `reduce` visible.
    pub(super) fn with_local<T>(
        &mut self,
        name: &Name,
        ty: Type,
        body: impl FnOnce(&mut Self, VarId) -> Result<T>,
    ) -> Result<T> {
        self.notice_shadowing(name);
        let var = self.new_variable(&name.text, VarKind::Value);
        self.scope.locals.push(super::scope::Entry {
            name: name.text.clone(),
            var,
            ty,
        });
        let result = body(self, var);
        self.scope.locals.pop();
        result
    }

    fn property(&mut self, base: &ast::Expr, key: &Name) -> Result<Typed> {
        let (bound, ty) = self.expression(base)?;
        if let Some(field) = self.field_of_struct(base, &key.text, &bound, ty) {
            return Ok(field);
        }
        self.expect_parameter(base, TypeSet::WITH_KEYS, "what has properties");
        if !ty.set.may_be(TypeSet::WITH_KEYS) {
            let code = if ty.set.is(TypeSet::PATH) {
                Code::InvalidArgumentType
            } else {
                Code::ImpossibleAccess
            };
            let message = format!(
                "`.{}` needs a node, a relationship or a map, this is {}",
                key.text, ty.set
            );
            return Err(self.error(base.span, code, message));
        }
        let name = self.key_behind(base, &key.text);
        if ty.set.is(TypeSet::ENTITY) {
            self.notice_unknown_key(&Name {
                text: name.clone(),
                span: key.span,
            });
        }
        Ok((
            Expr::Property {
                base: Box::new(bound),
                key: name,
                at: Span::default(),
            },
            match ty.set.is(TypeSet::ENTITY) {
                true => Type::of(TypeSet::STORED),
                false => Type::ANY,
            },
        ))
    }

    /// A variable as an expression of its own, with what grouping makes of it.
    fn variable(&mut self, name: &Name) -> Result<Typed> {
        self.expression(&ast::Expr {
            kind: ExprKind::Variable(name.clone()),
            span: name.span,
            height: 1,
        })
    }

    fn map_projection(&mut self, base: &Name, items: &[MapItem]) -> Result<Typed> {
        let (subject, ty) = self.variable(base)?;
        let parts = TypeSet::TEMPORAL.or(TypeSet::DURATION);
        let wanted = match ty.set.is(parts) {
            true => parts,
            false => TypeSet::ENTITY.or(TypeSet::MAP),
        };
        self.require(ty, wanted, base.span, "the subject of a map projection")?;
        // What is named counts more than `.*`, wherever that stands.
        let mut takes_all = false;
        let mut entries = Vec::new();
        for item in items {
            match item {
                MapItem::All => takes_all = true,
                MapItem::Property(key) => {
                    if ty.set.is(TypeSet::ENTITY) {
                        self.notice_unknown_key(key);
                    }
                    let value = Expr::Property {
                        base: Box::new(subject.clone()),
                        key: key.text.clone(),
                        at: key.span,
                    };
                    entries.push((key.text.clone(), value));
                }
                MapItem::Entry(key, value) => {
                    entries.push((key.text.clone(), self.expression(value)?.0))
                }
                MapItem::Variable(name) => {
                    entries.push((name.text.clone(), self.variable(name)?.0))
                }
            }
        }
        let all = takes_all.then(|| call("properties", vec![subject.clone()]));
        let merged = match all {
            None => Expr::Map(entries),
            Some(all) if entries.is_empty() => all,
            Some(all) => call(functions::MERGE_MAPS, vec![all, Expr::Map(entries)]),
        };
        let is_null = unary(UnaryOp::IsNull, subject);
        let value = Expr::Case {
            branches: vec![(is_null, Expr::Literal(Literal::Null))],
            otherwise: Some(Box::new(merged)),
            at: Span::default(),
        };
        Ok((value, Type::of(TypeSet::MAP)))
    }
}
