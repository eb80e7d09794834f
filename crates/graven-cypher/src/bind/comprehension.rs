//! Comprehensions and quantifiers whose body looks into the graph for each element.
//!
//! # How it works
//! A body is computed over a batch of elements, where no subquery can run. So
//! `[x IN list WHERE p | e]` with a pattern or subquery in `p` or `e` is read as
//! `COLLECT { UNWIND list AS x WITH * WHERE p RETURN e }`, and `all(x IN list WHERE p)` as
//! `all(x IN COLLECT { UNWIND list AS x RETURN p } WHERE x)`; a null list stays null. Lists with an
//! aggregate in them are left as they are, because an aggregate belongs to the clause around.

use crate::ast::{
    Clause, ClauseKind, Expr, ExprKind, Name, Projection, ProjectionItem, Query, SingleQuery,
    SubqueryKind,
};
use crate::bind::aggregate::contains_aggregate;
use crate::plan::expression::UnaryOp;
use crate::token::Span;

/// The same meaning with a subquery around the body, where the body needs one.
pub(super) fn with_subquery(expr: &Expr) -> Option<Expr> {
    let make = |kind| Expr {
        kind,
        span: expr.span,
        height: expr.height,
    };
    let rewritten = match &expr.kind {
        ExprKind::ListComprehension {
            name,
            list,
            filter,
            map,
        } => {
            let bodies = [filter, map];
            if !bodies.iter().any(|b| b.as_deref().is_some_and(needs_graph))
                || contains_aggregate(list)
            {
                return None;
            }
            let value = match map {
                Some(map) => (**map).clone(),
                None => variable(name),
            };
            let collected = collect(expr, name, list, filter.as_deref().cloned(), value);
            (list, collected)
        }
        ExprKind::Quantifier {
            kind,
            name,
            list,
            predicate,
        } => {
            if !needs_graph(predicate) || contains_aggregate(list) {
                return None;
            }
            // Negated twice: a pattern is allowed there, and what is unknown stays so.
            let not = |operand| {
                make(ExprKind::Unary {
                    op: UnaryOp::Not,
                    operand: Box::new(operand),
                })
            };
            let truth = not(not((**predicate).clone()));
            let truths = collect(expr, name, list, None, truth);
            let quantifier = make(ExprKind::Quantifier {
                kind: *kind,
                name: name.clone(),
                list: Box::new(truths),
                predicate: Box::new(variable(name)),
            });
            (list, quantifier)
        }
        _ => return None,
    };
    let (list, value) = rewritten;
    // The list is asked for twice to see whether it is null: not where that would double work again
    // and again.
    if matches!(list.kind, ExprKind::List(_)) || needs_graph(list) {
        return Some(value);
    }
    let is_null = make(ExprKind::Unary {
        op: UnaryOp::IsNull,
        operand: list.clone(),
    });
    Some(make(ExprKind::Case {
        subject: None,
        branches: vec![(is_null, make(ExprKind::Null))],
        otherwise: Some(Box::new(value)),
    }))
}

fn variable(name: &Name) -> Expr {
    Expr {
        kind: ExprKind::Variable(name.clone()),
        span: name.span,
        height: 1,
    }
}

/// Whether a pattern or a subquery is somewhere in the expression.
pub(super) fn needs_graph(expr: &Expr) -> bool {
    let here = matches!(
        expr.kind,
        ExprKind::Pattern(_) | ExprKind::PatternComprehension { .. } | ExprKind::Subquery { .. }
    );
    let mut found = here;
    expr.children(&mut |child| found |= needs_graph(child));
    found
}

/// `COLLECT { UNWIND list AS name [WITH * WHERE filter] RETURN value }`.
fn collect(whole: &Expr, name: &Name, list: &Expr, filter: Option<Expr>, value: Expr) -> Expr {
    let span = whole.span;
    let clause = |kind| Clause { kind, span };
    let projection = |star: Option<Span>, items| Projection {
        distinct: false,
        star,
        items,
        order: Vec::new(),
        skip: None,
        limit: None,
    };
    let mut clauses = vec![clause(ClauseKind::Unwind {
        list: list.clone(),
        name: name.clone(),
    })];
    if filter.is_some() {
        clauses.push(clause(ClauseKind::With {
            projection: projection(Some(span), Vec::new()),
            filter,
        }));
    }
    let alias = Some(Name {
        text: "value".into(),
        span,
    });
    let item = ProjectionItem {
        expr: value,
        alias,
        spread: None,
    };
    clauses.push(clause(ClauseKind::Return(projection(None, vec![item]))));
    let query = Query {
        first: SingleQuery { clauses },
        unions: Vec::new(),
    };
    Expr {
        kind: ExprKind::Subquery {
            kind: SubqueryKind::Collect,
            query: Box::new(query),
            written: false,
        },
        span,
        height: whole.height,
    }
}
