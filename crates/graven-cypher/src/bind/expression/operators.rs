//! Operators of expressions, `CASE` among them, and the types that they take and give.

use std::ops::ControlFlow;

use crate::ast::{self, ExprKind};
use crate::bind::comprehension::needs_graph;
use crate::bind::fixed::{held, rest};
use crate::bind::made::{Typed, binary, call, unary};
use crate::bind::{Binder, Result, guard};
use crate::diagnostic::Code;
use crate::functions;
use crate::plan::VarKind;
use crate::plan::expression::{BinaryOp, Expr, Literal, UnaryOp};
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Typed> {
        let boolean = Type::of(TypeSet::BOOLEAN);
        match op {
            UnaryOp::Not => Ok((unary(op, self.predicate(operand)?), boolean)),
            UnaryOp::IsNull | UnaryOp::IsNotNull => {
                Ok((unary(op, self.expression(operand)?.0), boolean))
            }
            UnaryOp::Minus | UnaryOp::Plus => {
                let typed = self.expression(operand)?;
                if let (UnaryOp::Minus, Some(wide)) = (op, self.wide_negated(operand, &typed)) {
                    return Ok(wide);
                }
                let (bound, ty) = typed;
                let wanted = TypeSet::NUMBER.or(TypeSet::DURATION);
                let what = "the operand of a sign";
                match op {
                    // What comes as a parameter stays as it is.
                    UnaryOp::Plus => {
                        self.require(ty, wanted.or(TypeSet::TEMPORAL), operand.span, what)?;
                    }
                    _ => self.require_of(operand, ty, wanted, what)?,
                }
                let of = match op {
                    UnaryOp::Minus => self.declared_of_one("-", operand),
                    _ => None,
                };
                Ok(held(of, (unary(op, bound), ty)))
            }
        }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Typed> {
        use BinaryOp::{
            Add, And, Divide, In, Modulo, Multiply, Or, Power, RegexMatch, Subtract, Xor,
        };
        if matches!(op, And | Or | Xor) {
            let bound = self.logical(op, left, right)?;
            return Ok((bound, Type::of(TypeSet::BOOLEAN)));
        }
        let (a, b) = (self.operand_of(op, left)?, self.operand_of(op, right)?);
        let ((a, left_ty), (b, right_ty)) = match self.by_declared_types(op, (left, a), (right, b))
        {
            ControlFlow::Break(done) => return Ok(done),
            ControlFlow::Continue(operands) => operands,
        };
        let ty = match op {
            Subtract | Multiply | Divide | Modulo | Power => {
                let what = "an operand of arithmetic";
                let (first, second) = operands(op, left_ty.set);
                self.require_of(left, left_ty, first, what)?;
                self.require_of(right, right_ty, second, what)?;
                self.check_overflow(op, (&a, &b), left.span.to(right.span))?;
                arithmetic(op, left_ty, right_ty)
            }
            Add => {
                let wanted = addends(left_ty.set);
                self.require_of(right, right_ty, wanted, "what is added here")?;
                self.check_overflow(op, (&a, &b), left.span.to(right.span))?;
                addition(left_ty, right_ty)
            }
            In => {
                self.require_of(right, right_ty, TypeSet::LIST, "the right side of IN")?;
                Type::of(TypeSet::BOOLEAN)
            }
            RegexMatch => {
                self.require_of(left, left_ty, TypeSet::STRING, "the left side of =~")?;
                self.require_of(right, right_ty, TypeSet::STRING, "the right side of =~")?;
                Type::of(TypeSet::BOOLEAN)
            }
            _ => Type::of(TypeSet::BOOLEAN),
        };
        let of = self.declared_result(op, left, right);
        let value = match op {
            Modulo => rest(of.as_deref(), a, b),
            _ => binary(op, a, b),
        };
        Ok(held(of, (value, ty)))
    }

    /// An operand; that of an operator on texts is a text.
    fn operand_of(&mut self, op: BinaryOp, operand: &ast::Expr) -> Result<Typed> {
        use BinaryOp::{Contains, EndsWith, RegexMatch, StartsWith};
        let on_texts = matches!(op, Contains | EndsWith | RegexMatch | StartsWith);
        match on_texts && self.is_read_as_text(TypeSet::STRING, operand) {
            true => self.as_text(operand),
            false => self.expression(operand),
        }
    }

    /// The operator where the declared type of an operand says what it does; otherwise the operands
    /// as it takes them.
    fn by_declared_types(
        &self,
        op: BinaryOp,
        (left, a): (&ast::Expr, Typed),
        (right, b): (&ast::Expr, Typed),
    ) -> ControlFlow<Typed, (Typed, Typed)> {
        let (a, b) = self.text_compared(op, (left, a), (right, b));
        match self.wide(op, (left, &a), (right, &b)) {
            Some(wide) => ControlFlow::Break(wide),
            None => {
                let (a, b) = self.json_compared(op, (left, a), (right, b));
                ControlFlow::Continue(self.maps_compared(op, (left, a), (right, b)))
            }
        }
    }

    /// `a < b <= c`. Where an operand is a number of 128 bits or JSON, or a text beside a value of
    /// another declared type, each comparison stands by itself.
    pub(super) fn chain(
        &mut self,
        first: &ast::Expr,
        rest: &[(BinaryOp, ast::Expr)],
    ) -> Result<Expr> {
        let (start, ty) = self.expression(first)?;
        let mut bound = Vec::with_capacity(rest.len());
        for (op, operand) in rest {
            bound.push((*op, operand, self.expression(operand)?));
        }
        let mut operands = std::iter::once(first).chain(rest.iter().map(|(_, operand)| operand));
        let has_text = (operands.clone()).any(|of| matches!(of.kind, ExprKind::String(_)));
        let is_read = |of| has_text && self.read_beside(of).is_some();
        if operands.any(|of| self.is_wide(of) || self.is_json(of) || is_read(of)) {
            return Ok(self.links((first, (start, ty)), bound));
        }
        let rest = bound.into_iter().map(|(op, _, (operand, _))| (op, operand));
        Ok(Expr::Chain {
            first: Box::new(start),
            rest: rest.collect(),
            at: Span::default(),
        })
    }

    /// The comparisons of a chain; an operand of two of them is computed once, where the first one
    /// is judged.
    fn links(
        &mut self,
        (mut left, mut a): (&ast::Expr, Typed),
        rest: Vec<(BinaryOp, &ast::Expr, Typed)>,
    ) -> Expr {
        let last = rest.len() - 1;
        let mut links = Vec::with_capacity(rest.len());
        for (at, (op, right, (mut value, ty))) in rest.into_iter().enumerate() {
            let mut once = None;
            if at < last && !matches!(value, Expr::Literal(_) | Expr::Variable(_)) {
                let var = self.new_variable("  operand", VarKind::Value);
                once = Some((var, std::mem::replace(&mut value, Expr::Variable(var))));
            }
            let b = (value, ty);
            let link = match self.by_declared_types(op, (left, a), (right, b.clone())) {
                ControlFlow::Break((link, _)) => link,
                ControlFlow::Continue(((a, _), (b, _))) => binary(op, a, b),
            };
            links.push((once, link.standing_at(left.span.to(right.span))));
            (left, a) = (right, b);
        }
        let all = links.into_iter().rev().fold(None, |later, (once, link)| {
            let body = match later {
                Some(later) => binary(BinaryOp::And, link, later),
                None => link,
            };
            Some(match once {
                Some((var, value)) => Expr::Let {
                    var,
                    value: Box::new(value),
                    body: Box::new(body),
                },
                None => body,
            })
        });
        all.expect("a chain has comparisons")
    }

    /// Refuses arithmetic of two integers of the text that leaves the range.
    fn check_overflow(&self, op: BinaryOp, operands: (&Expr, &Expr), span: Span) -> Result<()> {
        let (Expr::Literal(Literal::Integer(a)), Expr::Literal(Literal::Integer(b))) = operands
        else {
            return Ok(());
        };
        let result = match op {
            BinaryOp::Add => a.checked_add(*b),
            BinaryOp::Subtract => a.checked_sub(*b),
            BinaryOp::Multiply => a.checked_mul(*b),
            _ => return Ok(()),
        };
        if result.is_some() {
            return Ok(());
        }
        let message = format!(
            "the result of {} does not fit in 64 bits",
            span.slice(self.text)
        );
        Err(self.error(span, Code::IntegerOverflow, message))
    }

    /// `left || right`: two texts or two lists.
    pub(super) fn concatenation(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<Typed> {
        let (mut a, mut b) = (self.expression(left)?, self.expression(right)?);
        let is_list = |binder: &Self, of, ty: Type| {
            ty.set.is(TypeSet::LIST) || binder.declared_element(of).is_some()
        };
        if !is_list(self, left, a.1) && !is_list(self, right, b.1) {
            for (of, bound) in [(left, &mut a), (right, &mut b)] {
                if self.is_declared_other(of) {
                    *bound = self.text_of(of, bound.0.clone());
                }
            }
        }
        let ((a, left_ty), (b, right_ty)) = (a, b);
        let wanted = TypeSet::STRING.or(TypeSet::LIST);
        self.require_of(left, left_ty, wanted, "an operand of `||`")?;
        self.require_of(right, right_ty, wanted, "an operand of `||`")?;
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
    pub(in crate::bind) fn named_number(&self, expr: &ast::Expr) -> Option<f64> {
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
    pub(super) fn alternative(&mut self, expr: &ast::Expr) -> Result<Typed> {
        let (bound, ty) = self.expression(expr)?;
        Ok(match ty.set == TypeSet::NULL {
            true => (bound, Type::ANY),
            false => (bound, ty),
        })
    }

    pub(super) fn case(
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

fn arithmetic(op: BinaryOp, left: Type, right: Type) -> Type {
    if op == BinaryOp::Power {
        return Type::of(TypeSet::FLOAT);
    }
    if left.set.is(TypeSet::INTEGER) && right.set.is(TypeSet::INTEGER) {
        return Type::of(TypeSet::INTEGER);
    }
    if let Some(number) = number_of(left, right) {
        return number;
    }
    Type::of(TypeSet::NUMBER.or(TypeSet::DURATION).or(TypeSet::TEMPORAL))
}

/// What arithmetic gives of two numbers of which one is a float, or may be.
fn number_of(left: Type, right: Type) -> Option<Type> {
    if !left.set.is(TypeSet::NUMBER) || !right.set.is(TypeSet::NUMBER) {
        return None;
    }
    let float = left.set.is(TypeSet::FLOAT) || right.set.is(TypeSet::FLOAT);
    Some(Type::of(if float {
        TypeSet::FLOAT
    } else {
        TypeSet::NUMBER
    }))
}

/// Of which kinds the operands of arithmetic are, where the left one is of `left`.
fn operands(op: BinaryOp, left: TypeSet) -> (TypeSet, TypeSet) {
    use TypeSet as T;
    let timed = T::DURATION.or(T::TEMPORAL);
    match op {
        BinaryOp::Subtract if left == T::NULL => (T::ANY, T::NUMBER.or(T::DURATION)),
        BinaryOp::Subtract if left.is(T::NUMBER) => (T::NUMBER, T::NUMBER),
        BinaryOp::Subtract if left.is(T::DURATION) => (timed, T::DURATION),
        BinaryOp::Subtract if left.is(timed) => (timed, timed.or(T::INTEGER)),
        BinaryOp::Subtract => (T::NUMBER.or(timed), T::NUMBER.or(timed)),
        BinaryOp::Multiply if left.is(T::DURATION) => (T::DURATION, T::NUMBER),
        BinaryOp::Multiply => (T::NUMBER.or(T::DURATION), T::NUMBER.or(T::DURATION)),
        BinaryOp::Divide => (T::NUMBER.or(T::DURATION), T::NUMBER),
        _ => (T::NUMBER, T::NUMBER),
    }
}

/// What can be added to a value of these kinds.
fn addends(left: TypeSet) -> TypeSet {
    let joined = TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::LIST);
    if left.is(TypeSet::STRING) {
        return joined;
    }
    if left.is(TypeSet::INTEGER) {
        return joined.or(TypeSet::TEMPORAL);
    }
    if left.is(TypeSet::NUMBER) {
        return joined;
    }
    if left.is(TypeSet::DURATION) {
        return TypeSet::TEMPORAL.or(TypeSet::DURATION).or(TypeSet::LIST);
    }
    if left.is(TypeSet::TEMPORAL) {
        return TypeSet::INTEGER.or(TypeSet::DURATION).or(TypeSet::LIST);
    }
    let holds = TypeSet::BOOLEAN
        .or(TypeSet::MAP)
        .or(TypeSet::ENTITY)
        .or(TypeSet::PATH)
        .or(TypeSet::POINT)
        .or(TypeSet::VECTOR);
    match left.is(holds) {
        true => TypeSet::LIST,
        false => TypeSet::ANY,
    }
}

fn addition(left: Type, right: Type) -> Type {
    let both = |set: TypeSet| left.set.is(set) && right.set.is(set);
    let either = |set: TypeSet| left.set.is(set) || right.set.is(set);
    let may_be_list = left.set.may_be(TypeSet::LIST) || right.set.may_be(TypeSet::LIST);
    if both(TypeSet::INTEGER) {
        Type::of(TypeSet::INTEGER)
    } else if let Some(number) = number_of(left, right) {
        number
    } else if either(TypeSet::STRING) && !may_be_list {
        Type::of(TypeSet::STRING)
    } else if both(TypeSet::LIST) {
        left.or(right)
    } else if either(TypeSet::LIST) {
        Type::of(TypeSet::LIST)
    } else {
        let sums = TypeSet::NUMBER.or(TypeSet::STRING).or(TypeSet::LIST);
        Type::of(sums.or(TypeSet::TEMPORAL).or(TypeSet::DURATION))
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
