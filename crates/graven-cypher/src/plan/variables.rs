//! Variables of bound expressions: which are read, replacing them, and whether a value is random.

use std::collections::BTreeSet;

use super::VarId;
use super::expression::{BinaryOp, Expr};
use crate::functions;
use crate::stop;
use crate::token::Span;

impl Expr {
    /// Visits the direct sub-expressions.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        stop::tick();
        match self {
            Expr::Literal(_) | Expr::Parameter(..) | Expr::Variable(_) => {}
            Expr::Property { base, .. } | Expr::HasLabels { base, .. } => visit(base),
            Expr::Unary { operand, .. } => visit(operand),
            Expr::Index { base, index, .. } => [base, index].into_iter().for_each(|e| visit(e)),
            Expr::Slice { base, from, to, .. } => {
                visit(base);
                from.iter().chain(to).for_each(|e| visit(e));
            }
            Expr::List(items) | Expr::Call { args: items, .. } => items.iter().for_each(visit),
            Expr::Map(entries) => entries.iter().for_each(|(_, e)| visit(e)),
            Expr::Binary { left, right, .. } => [left, right].into_iter().for_each(|e| visit(e)),
            Expr::Chain { first, rest, .. } => {
                visit(first);
                rest.iter().for_each(|(_, e)| visit(e));
            }
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                for (when, then) in branches {
                    visit(when);
                    visit(then);
                }
                otherwise.iter().for_each(|e| visit(e));
            }
            Expr::Let { value, body, .. } => [value, body].into_iter().for_each(|e| visit(e)),
            Expr::ListComprehension {
                list, filter, map, ..
            } => {
                visit(list);
                filter.iter().chain(map).for_each(|e| visit(e));
            }
            Expr::Quantifier {
                list, predicate, ..
            } => [list, predicate].into_iter().for_each(|e| visit(e)),
            Expr::Reduce {
                init, list, step, ..
            } => [init, list, step].into_iter().for_each(|e| visit(e)),
        }
    }

    /// As [`Expr::for_each_child`], for changing them.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        stop::tick();
        match self {
            Expr::Literal(_) | Expr::Parameter(..) | Expr::Variable(_) => {}
            Expr::Property { base, .. } | Expr::HasLabels { base, .. } => visit(base),
            Expr::Unary { operand, .. } => visit(operand),
            Expr::Index { base, index, .. } => [base, index].into_iter().for_each(|e| visit(e)),
            Expr::Slice { base, from, to, .. } => {
                visit(base);
                from.iter_mut().chain(to).for_each(|e| visit(e));
            }
            Expr::List(items) | Expr::Call { args: items, .. } => items.iter_mut().for_each(visit),
            Expr::Map(entries) => entries.iter_mut().for_each(|(_, e)| visit(e)),
            Expr::Binary { left, right, .. } => [left, right].into_iter().for_each(|e| visit(e)),
            Expr::Chain { first, rest, .. } => {
                visit(first);
                rest.iter_mut().for_each(|(_, e)| visit(e));
            }
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                for (when, then) in branches {
                    visit(when);
                    visit(then);
                }
                otherwise.iter_mut().for_each(|e| visit(e));
            }
            Expr::Let { value, body, .. } => [value, body].into_iter().for_each(|e| visit(e)),
            Expr::ListComprehension {
                list, filter, map, ..
            } => {
                visit(list);
                filter.iter_mut().chain(map).for_each(|e| visit(e));
            }
            Expr::Quantifier {
                list, predicate, ..
            } => [list, predicate].into_iter().for_each(|e| visit(e)),
            Expr::Reduce {
                init, list, step, ..
            } => [init, list, step].into_iter().for_each(|e| visit(e)),
        }
    }

    /// Row variables the expression reads; those of its own comprehensions are not among them.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        let mut own = BTreeSet::new();
        collect(self, &mut read, &mut own);
        &read - &own
    }
}

// Every variable has an id of its own in the whole statement, so a comprehension's variable can
// simply be taken out at the end.
fn collect(expr: &Expr, read: &mut BTreeSet<VarId>, own: &mut BTreeSet<VarId>) {
    match expr {
        Expr::Variable(var) => {
            read.insert(*var);
        }
        Expr::Let { var, .. }
        | Expr::ListComprehension { var, .. }
        | Expr::Quantifier { var, .. } => {
            own.insert(*var);
        }
        Expr::Reduce {
            accumulator, var, ..
        } => own.extend([*accumulator, *var]),
        _ => {}
    }
    expr.for_each_child(&mut |child| collect(child, read, own));
}

/// Whether evaluating the expression twice may give two values. Of functions of the program
/// nothing is known.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    calls(expr, &|name| {
        functions::find(name).is_none_or(|known| !known.deterministic)
    })
}

/// Whether a function of the language gives another value each time.
pub(crate) fn is_random(expr: &Expr) -> bool {
    calls(expr, &|name| {
        functions::find(name).is_some_and(|known| !known.deterministic)
    })
}

/// Whether a function is called whose name is one of these.
fn calls(expr: &Expr, is_one: &dyn Fn(&str) -> bool) -> bool {
    if let Expr::Call { name, .. } = expr
        && is_one(name)
    {
        return true;
    }
    let mut found = false;
    expr.for_each_child(&mut |child| found |= calls(child, is_one));
    found
}

/// Whether a sequence is advanced.
pub(crate) fn advances_sequence(expr: &Expr) -> bool {
    calls(expr, &|name| name == functions::NEXT_VALUE)
}

/// Replaces every read of `from` by `to`.
pub(crate) fn substitute(expr: &mut Expr, from: VarId, to: &Expr) {
    if matches!(expr, Expr::Variable(var) if *var == from) {
        *expr = to.clone();
        return;
    }
    expr.for_each_child_mut(&mut |child| substitute(child, from, to));
}

/// Splits a condition at its `AND`s.
pub(crate) fn conjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr {
        Expr::Binary {
            op: BinaryOp::And,
            left,
            right,
            ..
        } => {
            conjuncts(*left, out);
            conjuncts(*right, out);
        }
        other => out.push(other),
    }
}

/// Joins conditions by `AND`, as a flat tree; `None` if there are none.
pub(crate) fn conjunction(conditions: Vec<Expr>) -> Option<Expr> {
    joined(BinaryOp::And, conditions)
}

/// Joins operands of an associative operator, in order, into a tree of logarithmic height; `None`
/// if there are none.
pub(crate) fn joined(op: BinaryOp, mut operands: Vec<Expr>) -> Option<Expr> {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => both(op, left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop()
}

/// Adds one more condition behind those of a conjunction. Conditions that are added one by one make
/// a tree of logarithmic height: full trees from left to right, each lower than the one before.
pub(crate) fn also(conditions: &mut Expr, last: Expr) {
    if let Expr::Binary {
        op: BinaryOp::And,
        left,
        right,
        ..
    } = conditions
        && edge(left, |left, _| left) > edge(right, |_, right| right)
    {
        return also(right, last);
    }
    let before = std::mem::replace(conditions, Expr::List(Vec::new()));
    *conditions = both(BinaryOp::And, before, last);
}

/// How many `AND`s lie along one edge of a condition; in a full tree the edges are equal.
fn edge(mut condition: &Expr, side: for<'e> fn(&'e Expr, &'e Expr) -> &'e Expr) -> usize {
    let mut length = 0;
    while let Expr::Binary {
        op: BinaryOp::And,
        left,
        right,
        ..
    } = condition
    {
        length += 1;
        condition = side(left, right);
    }
    length
}

fn both(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
        at: Span::default(),
    }
}
