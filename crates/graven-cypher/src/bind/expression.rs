//! Expressions: names to variables, impossible types refused; calls are in `bind/call.rs`,
//! subqueries in `bind/subquery.rs`.
//!
//! # How it works
//! [`Binder::expression`] returns the bound expression with its static type. Patterns are allowed
//! only where a truth value is wanted ([`Binder::predicate`]).

use crate::bind::made::Typed;
use crate::bind::made::binary;
use crate::bind::made::call;
use crate::bind::made::unary;

use super::comprehension::needs_graph;
use super::{Binder, Result, guard};
use crate::ast::{self, ExprKind, MapItem, Name};
use crate::diagnostic::{Code, closest};
use crate::functions;
use crate::plan::expression::{BinaryOp, Expr, Literal, UnaryOp};
use crate::plan::{VarId, VarKind};
use crate::stop;
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    /// A condition: patterns are allowed, and the value must be able to be a truth value.
    pub(super) fn predicate(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let (bound, ty) = self.truth(expr)?;
        self.require(ty, TypeSet::BOOLEAN, expr.span, "a condition")?;
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
            ExprKind::Index { base, index } => {
                let (base, ty) = self.expression(base)?;
                let index = self.expression(index)?.0;
                let element = if ty.set.is(TypeSet::LIST) {
                    Type::of(ty.element)
                } else {
                    any
                };
                (
                    Expr::Index {
                        base: Box::new(base),
                        index: Box::new(index),
                        at: Span::default(),
                    },
                    element,
                )
            }
            ExprKind::Slice { base, from, to } => {
                let (base, ty) = self.list_operand(base)?;
                let from = self.optional(from.as_deref())?;
                let to = self.optional(to.as_deref())?;
                (
                    Expr::Slice {
                        base: Box::new(base),
                        from,
                        to,
                        at: Span::default(),
                    },
                    Type::list_of(ty.element),
                )
            }
            ExprKind::Labels { base, labels } => self.has_labels(base, labels)?,
            ExprKind::Unary { op, operand } => self.unary(*op, operand)?,
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Chain { first, rest } => {
                let first = Box::new(self.expression(first)?.0);
                let mut bound = Vec::with_capacity(rest.len());
                for (op, operand) in rest {
                    bound.push((*op, self.expression(operand)?.0));
                }
                (
                    Expr::Chain {
                        first,
                        rest: bound,
                        at: Span::default(),
                    },
                    Type::of(TypeSet::BOOLEAN),
                )
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
            ExprKind::ListComprehension {
                name,
                list,
                filter,
                map,
            } => {
                let (list, ty) = self.list_operand(list)?;
                self.with_local(name, Type::of(ty.element), |binder, var| {
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
                let (list, ty) = self.list_operand(list)?;
                let list = Box::new(list);
                self.with_local(name, Type::of(ty.element), |binder, var| {
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
            } => {
                let init = Box::new(self.expression(init)?.0);
                let (list, ty) = self.list_operand(list)?;
                let list = Box::new(list);
                self.with_local(accumulator, any, |binder, accumulator| {
                    binder.with_local(name, Type::of(ty.element), |binder, var| {
                        let step = Box::new(binder.expression(step)?.0);
                        Ok((
                            Expr::Reduce {
                                accumulator,
                                init,
                                var,
                                list,
                                step,
                                at: Span::default(),
                            },
                            any,
                        ))
                    })
                })?
            }
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

    fn optional(&mut self, expr: Option<&ast::Expr>) -> Result<Option<Box<Expr>>> {
        expr.map(|e| self.expression(e).map(|(e, _)| Box::new(e)))
            .transpose()
    }

    pub(super) fn parameter(&mut self, name: &Name) -> Result<Expr> {
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
            element = element.or(ty.set);
            bound.push(item);
        }
        Ok((Expr::List(bound), Type::list_of(element)))
    }

    fn list_operand(&mut self, list: &ast::Expr) -> Result<Typed> {
        let (bound, mut ty) = self.expression(list)?;
        self.require(ty, TypeSet::LIST, list.span, "the list")?;
        if !ty.set.is(TypeSet::LIST) {
            ty.element = TypeSet::ANY;
        }
        Ok((bound, ty))
    }

    /// Runs `body` with a variable of a comprehension, quantifier or `reduce` visible.
    fn with_local<T>(
        &mut self,
        name: &Name,
        ty: Type,
        body: impl FnOnce(&mut Self, VarId) -> Result<T>,
    ) -> Result<T> {
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
        let holders = TypeSet::ENTITY
            .or(TypeSet::MAP)
            .or(TypeSet::TEMPORAL)
            .or(TypeSet::DURATION)
            .or(TypeSet::POINT);
        if let Some(field) = self.field_of_struct(base, &key.text, &bound, ty) {
            return Ok(field);
        }
        if !ty.set.may_be(holders) {
            let code = if ty.set.is(TypeSet::PATH) {
                Code::InvalidArgumentType
            } else {
                Code::PropertyOfNonMap
            };
            let message = format!(
                "`.{}` needs a node, a relationship or a map, this is {}",
                key.text, ty.set
            );
            return Err(self.error(base.span, code, message));
        }
        if ty.set.is(TypeSet::ENTITY) {
            self.notice_unknown_key(key);
        }
        Ok((
            Expr::Property {
                base: Box::new(bound),
                key: key.text.clone(),
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
        self.require(
            ty,
            TypeSet::ENTITY.or(TypeSet::MAP),
            base.span,
            "the subject of a map projection",
        )?;
        // What is named counts more than `.*`, wherever that stands.
        let mut takes_all = false;
        let mut entries = Vec::new();
        for item in items {
            match item {
                MapItem::All => takes_all = true,
                MapItem::Property(key) => {
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

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Typed> {
        let span = operand.span;
        let boolean = Type::of(TypeSet::BOOLEAN);
        match op {
            UnaryOp::Not => Ok((unary(op, self.predicate(operand)?), boolean)),
            UnaryOp::IsNull | UnaryOp::IsNotNull => {
                Ok((unary(op, self.expression(operand)?.0), boolean))
            }
            UnaryOp::Minus | UnaryOp::Plus => {
                let (bound, ty) = self.expression(operand)?;
                self.require(
                    ty,
                    TypeSet::NUMBER.or(TypeSet::DURATION),
                    span,
                    "the operand of a sign",
                )?;
                Ok((unary(op, bound), ty))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Typed> {
        use BinaryOp::{Add, And, Divide, In, Modulo, Multiply, Or, Power, Subtract, Xor};
        if matches!(op, And | Or | Xor) {
            let bound = self.logical(op, left, right)?;
            return Ok((bound, Type::of(TypeSet::BOOLEAN)));
        }
        let (a, left_ty) = self.expression(left)?;
        let (b, right_ty) = self.expression(right)?;
        let ty = match op {
            Subtract | Multiply | Divide | Modulo | Power => {
                let what = "an operand of arithmetic";
                let (first, second) = operands(op, left_ty.set);
                self.require(left_ty, first, left.span, what)?;
                self.require(right_ty, second, right.span, what)?;
                arithmetic(op, left_ty, right_ty)
            }
            Add => {
                let wanted = addends(left_ty.set);
                self.require(right_ty, wanted, right.span, "what is added here")?;
                addition(left_ty, right_ty)
            }
            In => {
                self.require(right_ty, TypeSet::LIST, right.span, "the right side of IN")?;
                Type::of(TypeSet::BOOLEAN)
            }
            _ => Type::of(TypeSet::BOOLEAN),
        };
        Ok((binary(op, a, b), ty))
    }

    /// `left || right`: two texts or two lists.
    fn concatenation(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<Typed> {
        let (a, left_ty) = self.expression(left)?;
        let (b, right_ty) = self.expression(right)?;
        let wanted = TypeSet::STRING.or(TypeSet::LIST);
        self.require(left_ty, wanted, left.span, "an operand of `||`")?;
        self.require(right_ty, wanted, right.span, "an operand of `||`")?;
        for kind in [TypeSet::STRING, TypeSet::LIST] {
            if left_ty.set.is(kind) {
                let what = format!("what `||` joins to {kind}");
                self.require(right_ty, kind, right.span, &what)?;
            }
        }
        let both = |set: TypeSet| left_ty.set.is(set) && right_ty.set.is(set);
        let ty = if both(TypeSet::STRING) {
            Type::of(TypeSet::STRING)
        } else if both(TypeSet::LIST) {
            left_ty.or(right_ty)
        } else {
            Type::ANY
        };
        Ok((call(functions::CONCATENATE, vec![a, b]), ty))
    }

    /// `Infinity`, `INF` and `NaN`, where no variable is called so.
    fn named_number(&self, expr: &ast::Expr) -> Option<f64> {
        let ExprKind::Variable(name) = &expr.kind else {
            return None;
        };
        let is = |word: &str| name.text.eq_ignore_ascii_case(word);
        let number = match (is("inf") || is("infinity"), is("nan")) {
            (true, _) => f64::INFINITY,
            (_, true) => f64::NAN,
            _ => return None,
        };
        self.scope.find(&name.text).is_none().then_some(number)
    }

    /// A value of which another one may come instead: beside null, which is of every type, nothing
    /// is known.
    fn alternative(&mut self, expr: &ast::Expr) -> Result<Typed> {
        let (bound, ty) = self.expression(expr)?;
        Ok(match ty.set == TypeSet::NULL {
            true => (bound, Type::ANY),
            false => (bound, ty),
        })
    }

    fn case(
        &mut self,
        subject: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Typed> {
        let mut subject = subject.map(|s| self.expression(s)).transpose()?;
        // What takes work is computed once.
        let mut once = None;
        if let Some((value, _)) = &mut subject
            && !is_at_hand(value)
        {
            let var = self.new_variable("  subject", VarKind::Value);
            once = Some((var, std::mem::replace(value, Expr::Variable(var))));
        }
        let mut bound = Vec::with_capacity(branches.len());
        let mut ty: Option<Type> = None;
        let values = branches.iter().map(|(_, then)| then).chain(otherwise);
        let conditions = branches.iter().map(|(when, _)| when);
        let lazy = values
            .chain(conditions)
            .any(needs_graph)
            .then(|| once.clone());
        let guards = self.guards.len();
        for (when, then) in branches {
            let outer = self.case_subjects.len();
            self.case_subjects.extend(subject.clone());
            let condition = self.predicate(when);
            self.case_subjects.truncate(outer);
            let condition = condition?;
            if let Some(subject) = &lazy {
                self.guards.push(guard::taken(&condition, subject.as_ref()));
            }
            let (then, then_ty) = self.alternative(then)?;
            if let Some(subject) = &lazy {
                self.guards.pop();
                self.guards
                    .push(guard::passed(&condition, subject.as_ref()));
            }
            ty = Some(ty.map_or(then_ty, |ty| ty.or(then_ty)));
            bound.push((condition, then));
        }
        let otherwise = match otherwise {
            Some(expr) => {
                let (expr, other_ty) = self.alternative(expr)?;
                ty = ty.map(|ty| ty.or(other_ty));
                Some(Box::new(expr))
            }
            None => None,
        };
        self.guards.truncate(guards);
        let mut case = Expr::Case {
            branches: bound,
            otherwise,
            at: Span::default(),
        };
        if let Some((var, subject)) = once {
            case = Expr::Let {
                var,
                value: Box::new(subject),
                body: Box::new(case),
            };
        }
        Ok((case, ty.unwrap_or(Type::ANY)))
    }
}

/// Whether a value may as well be asked for several times.
fn is_at_hand(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Parameter(..) | Expr::Variable(_) => true,
        Expr::Property { base, .. } => matches!(**base, Expr::Variable(_)),
        _ => false,
    }
}

fn arithmetic(op: BinaryOp, left: Type, right: Type) -> Type {
    if op == BinaryOp::Power {
        return Type::of(TypeSet::FLOAT);
    }
    if left.set.is(TypeSet::INTEGER) && right.set.is(TypeSet::INTEGER) {
        return Type::of(TypeSet::INTEGER);
    }
    if left.set.is(TypeSet::NUMBER) && right.set.is(TypeSet::NUMBER) {
        return Type::of(TypeSet::NUMBER);
    }
    Type::of(TypeSet::NUMBER.or(TypeSet::DURATION).or(TypeSet::TEMPORAL))
}

/// Of which kinds the operands of arithmetic are, where the left one is of `left`.
fn operands(op: BinaryOp, left: TypeSet) -> (TypeSet, TypeSet) {
    use TypeSet as T;
    let timed = T::DURATION.or(T::TEMPORAL);
    match op {
        _ if left == T::NULL => (T::ANY, T::NUMBER.or(timed)),
        BinaryOp::Subtract if left.is(T::NUMBER) => (T::NUMBER, T::NUMBER),
        BinaryOp::Subtract if left.is(timed) => (timed, T::DURATION),
        BinaryOp::Subtract => (T::NUMBER.or(timed), T::NUMBER.or(T::DURATION)),
        BinaryOp::Multiply if left.is(T::DURATION) => (T::DURATION, T::NUMBER),
        BinaryOp::Multiply => (T::NUMBER.or(T::DURATION), T::NUMBER.or(T::DURATION)),
        BinaryOp::Divide => (T::NUMBER.or(T::DURATION), T::NUMBER),
        _ => (T::NUMBER, T::NUMBER),
    }
}

/// What can be added to a value of these kinds.
fn addends(left: TypeSet) -> TypeSet {
    // Text and temporal values are joined too, but a truth value is no text.
    let joined = TypeSet::STRING.or(TypeSet::NUMBER);
    let timed = TypeSet::TEMPORAL.or(TypeSet::DURATION).or(TypeSet::POINT);
    if left.is(joined) {
        return joined.or(timed).or(TypeSet::LIST);
    }
    let holds = TypeSet::BOOLEAN
        .or(TypeSet::MAP)
        .or(TypeSet::ENTITY)
        .or(TypeSet::PATH);
    match left.is(holds) {
        true => TypeSet::LIST,
        false => TypeSet::ANY,
    }
}

fn addition(left: Type, right: Type) -> Type {
    let both = |set: TypeSet| left.set.is(set) && right.set.is(set);
    if both(TypeSet::INTEGER) {
        Type::of(TypeSet::INTEGER)
    } else if both(TypeSet::NUMBER) {
        Type::of(TypeSet::NUMBER)
    } else if both(TypeSet::STRING) {
        Type::of(TypeSet::STRING)
    } else if both(TypeSet::LIST) {
        left.or(right)
    } else {
        let sums = TypeSet::NUMBER.or(TypeSet::STRING).or(TypeSet::LIST);
        Type::of(sums.or(TypeSet::TEMPORAL).or(TypeSet::DURATION))
    }
}
