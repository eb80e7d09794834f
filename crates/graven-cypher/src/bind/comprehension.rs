//! Comprehensions and quantifiers whose body looks into the graph for each element.
//!
//! # How it works
//! A body is computed over a batch of elements, where no subquery can run. So
//! `[x IN list WHERE p | e]` with a pattern or subquery in `p` or `e` is read as
//! `COLLECT { UNWIND list AS x WITH * WHERE p RETURN e }`, and `all(x IN list WHERE p)` as
//! `all(x IN COLLECT { UNWIND list AS x RETURN p } WHERE x)`; a null list stays null, which a
//! `CASE` around it says. A list that looks into the graph itself is computed once, in a `WITH` of
//! one row more. Lists with an aggregate in them are left as they are, because an aggregate belongs
//! to the clause around.

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
    let Some(source) = source(list) else {
        return Some(value);
    };
    if needs_graph(source) {
        return once(expr, list);
    }
    let is_null = make(ExprKind::Unary {
        op: UnaryOp::IsNull,
        operand: Box::new(source.clone()),
    });
    Some(make(ExprKind::Case {
        subject: None,
        branches: vec![(is_null, make(ExprKind::Null))],
        otherwise: Some(Box::new(value)),
    }))
}

/// What is null where this list is; none where it never is.
fn source(list: &Expr) -> Option<&Expr> {
    match &list.kind {
        ExprKind::List(_) | ExprKind::PatternComprehension { .. } => None,
        ExprKind::Subquery {
            kind: SubqueryKind::Collect,
            ..
        } => None,
        ExprKind::ListComprehension { list, .. } => source(list),
        _ => Some(list),
    }
}

/// `COLLECT { WITH list AS name RETURN [x IN name ...] }[0]`: the list is computed once, and asked
/// for twice.
fn once(expr: &Expr, list: &Expr) -> Option<Expr> {
    let name = Name {
        text: "  list".into(),
        span: list.span,
    };
    let mut over = expr.clone();
    match &mut over.kind {
        ExprKind::ListComprehension { list, .. } | ExprKind::Quantifier { list, .. } => {
            **list = variable(&name);
        }
        _ => return None,
    }
    let span = expr.span;
    let clause = |kind| Clause { kind, span };
    let columns = |expr, name| {
        let item = ProjectionItem {
            expr,
            alias: Some(name),
            spread: None,
        };
        projection(None, vec![item])
    };
    let clauses = vec![
        clause(ClauseKind::With {
            projection: columns(list.clone(), name.clone()),
            filter: None,
        }),
        clause(ClauseKind::Return(columns(with_subquery(&over)?, name))),
    ];
    let make = |kind| Expr {
        kind,
        span,
        height: expr.height,
    };
    Some(make(ExprKind::Index {
        base: Box::new(collected(clauses, expr)),
        index: Box::new(make(ExprKind::Integer(0))),
    }))
}

fn projection(star: Option<Span>, items: Vec<ProjectionItem>) -> Projection {
    Projection {
        distinct: false,
        star,
        items,
        order: Vec::new(),
        skip: None,
        limit: None,
    }
}

/// `COLLECT { clauses }` in the place of an expression.
fn collected(clauses: Vec<Clause>, whole: &Expr) -> Expr {
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
        span: whole.span,
        height: whole.height,
    }
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
    collected(clauses, whole)
}
