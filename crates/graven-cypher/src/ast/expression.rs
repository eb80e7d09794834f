//! Expressions.
//!
//! # Invariants
//! See CY-10 and CY-11 of the syntax tree.

use std::sync::Arc;

use super::{LabelExpr, Name, PathPattern, Query};
use crate::plan::expression::{BinaryOp, Quantifier, UnaryOp};
use crate::stop;
use crate::token::Span;

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    pub height: u16,
}

/// What an expression computes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    String(Arc<str>),
    Parameter(Name),
    Variable(Name),
    List(Vec<Expr>),
    Map(Vec<(Name, Expr)>),
    MapProjection {
        base: Name,
        items: Vec<MapItem>,
    },
    Property {
        base: Box<Expr>,
        key: Name,
    },
    Index {
        base: Box<Expr>,
        index: Box<Expr>,
    },
    Slice {
        base: Box<Expr>,
        from: Option<Box<Expr>>,
        to: Option<Box<Expr>>,
    },
    Labels {
        base: Box<Expr>,
        labels: LabelExpr,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `a < b <= c`, at least two comparisons.
    Chain {
        first: Box<Expr>,
        rest: Vec<(BinaryOp, Expr)>,
    },
    /// With a subject the conditions of the branches read it as [`ExprKind::CaseSubject`].
    Case {
        subject: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// The subject of the innermost `CASE` around this condition.
    CaseSubject,
    /// `left || right`.
    Concatenate {
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `name(args)`; `count(*)` has `star`.
    Call {
        name: Name,
        distinct: bool,
        star: bool,
        args: Vec<Expr>,
    },
    /// `name := value`, an argument of a call.
    Named {
        name: Name,
        value: Box<Expr>,
    },
    ListComprehension {
        name: Name,
        list: Box<Expr>,
        filter: Option<Box<Expr>>,
        map: Option<Box<Expr>>,
    },
    PatternComprehension {
        pattern: Box<PathPattern>,
        filter: Option<Box<Expr>>,
        map: Box<Expr>,
    },
    Quantifier {
        kind: Quantifier,
        name: Name,
        list: Box<Expr>,
        predicate: Box<Expr>,
    },
    Reduce {
        accumulator: Name,
        init: Box<Expr>,
        name: Name,
        list: Box<Expr>,
        step: Box<Expr>,
    },
    /// A pattern used as a predicate.
    Pattern(Box<PathPattern>),
    /// `EXISTS {}`, `COUNT {}`, `COLLECT {}`; not `written`: another form is read as one.
    Subquery {
        kind: SubqueryKind,
        query: Box<Query>,
        written: bool,
    },
}

/// Which subquery expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubqueryKind {
    Exists,
    Count,
    Collect,
}

/// One item of a map projection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MapItem {
    /// `.key`
    Property(Name),
    /// `.*`
    All,
    /// `key: value`
    Entry(Name, Expr),
    /// `variable`
    Variable(Name),
}

impl Expr {
    /// Whether every name that it reads is `allowed`; what binds names of its own is not looked
    /// into.
    pub(crate) fn reads_only(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        match &self.kind {
            ExprKind::Variable(name) => return allowed(&name.text),
            ExprKind::MapProjection { .. }
            | ExprKind::ListComprehension { .. }
            | ExprKind::Quantifier { .. }
            | ExprKind::Reduce { .. }
            | ExprKind::Pattern(_)
            | ExprKind::PatternComprehension { .. }
            | ExprKind::Subquery { .. } => return false,
            _ => {}
        }
        let mut all = true;
        self.children(&mut |child| all = all && child.reads_only(allowed));
        all
    }

    /// Whether a subquery, a pattern as a condition, or a pattern comprehension is in it.
    pub(crate) fn has_subquery(&self) -> bool {
        if matches!(
            self.kind,
            ExprKind::Pattern(_)
                | ExprKind::PatternComprehension { .. }
                | ExprKind::Subquery { .. }
        ) {
            return true;
        }
        let mut found = false;
        self.children(&mut |child| found = found || child.has_subquery());
        found
    }

    /// Visits the direct sub-expressions, those inside patterns included, those inside subqueries
    /// not.
    pub(crate) fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        stop::tick();
        match &self.kind {
            ExprKind::Null
            | ExprKind::Boolean(_)
            | ExprKind::Integer(_)
            | ExprKind::Float(_)
            | ExprKind::String(_)
            | ExprKind::Parameter(_)
            | ExprKind::Variable(_)
            | ExprKind::CaseSubject
            | ExprKind::Subquery { .. } => {}
            ExprKind::List(items) | ExprKind::Call { args: items, .. } => {
                items.iter().for_each(visit)
            }
            ExprKind::Map(entries) => entries.iter().for_each(|(_, value)| visit(value)),
            ExprKind::MapProjection { items, .. } => items.iter().for_each(|item| {
                if let MapItem::Entry(_, value) = item {
                    visit(value);
                }
            }),
            ExprKind::Property { base, .. } => visit(base),
            ExprKind::Named { value, .. } => visit(value),
            ExprKind::Labels { base, labels } => {
                visit(base);
                labels.expressions(visit);
            }
            ExprKind::Unary { operand, .. } => visit(operand),
            ExprKind::Index { base, index } => [base, index].into_iter().for_each(|e| visit(e)),
            ExprKind::Slice { base, from, to } => {
                visit(base);
                from.iter().chain(to).for_each(|e| visit(e));
            }
            ExprKind::Binary { left, right, .. } | ExprKind::Concatenate { left, right } => {
                [left, right].into_iter().for_each(|e| visit(e))
            }
            ExprKind::Chain { first, rest } => {
                visit(first);
                rest.iter().for_each(|(_, e)| visit(e));
            }
            ExprKind::Case {
                subject,
                branches,
                otherwise,
            } => {
                subject.iter().for_each(|e| visit(e));
                for (when, then) in branches {
                    visit(when);
                    visit(then);
                }
                otherwise.iter().for_each(|e| visit(e));
            }
            ExprKind::ListComprehension {
                list, filter, map, ..
            } => {
                visit(list);
                filter.iter().chain(map).for_each(|e| visit(e));
            }
            ExprKind::PatternComprehension {
                pattern,
                filter,
                map,
            } => {
                pattern.expressions(visit);
                filter.iter().for_each(|e| visit(e));
                visit(map);
            }
            ExprKind::Quantifier {
                list, predicate, ..
            } => {
                visit(list);
                visit(predicate);
            }
            ExprKind::Reduce {
                init, list, step, ..
            } => {
                [init, list, step].into_iter().for_each(|e| visit(e));
            }
            ExprKind::Pattern(pattern) => pattern.expressions(visit),
        }
    }
}
