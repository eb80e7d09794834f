//! Operators of expressions, `CASE` among them, and the types that they take and give.

use crate::ast::{self, ExprKind};
use crate::bind::comprehension::needs_graph;
use crate::bind::made::{Typed, binary, call, unary};
use crate::bind::{Binder, Result, guard};
use crate::functions;
use crate::plan::VarKind;
use crate::plan::expression::{BinaryOp, Expr, UnaryOp};
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Typed> {
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

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Typed> {
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
    pub(super) fn concatenation(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<Typed> {
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
    pub(super) fn named_number(&self, expr: &ast::Expr) -> Option<f64> {
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

/// Whether a value may as well be asked for several times.
fn is_at_hand(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Parameter(..) | Expr::Variable(_) => true,
        Expr::Property { base, .. } => matches!(**base, Expr::Variable(_)),
        _ => false,
    }
}
