//! A walk over all parts of a query: lists of clauses, paths, and expressions with the place that
//! each stands in.
//!
//! # How it works
//! Parts come before what they are part of, so that a visitor may replace what it is given.

use crate::query::{
    Call, Change, Clause, Expr, Length, NodePattern, Part, Path, Projection, Query,
};

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    MatchWhere,
    MatchProperty,
    Unwind,
    WithItem,
    WithWhere,
    ReturnItem,
    OrderBy,
    Aggregate,
    SetValue,
    CreateProperty,
    MergeProperty,
    ForeachList,
    /// Condition or value for each item of a list.
    EachItem,
    /// `WHERE` of a subquery of an expression.
    SubqueryWhere,
}

impl Place {
    pub(crate) const ALL: [Place; 14] = [
        Place::MatchWhere,
        Place::MatchProperty,
        Place::Unwind,
        Place::WithItem,
        Place::WithWhere,
        Place::ReturnItem,
        Place::OrderBy,
        Place::Aggregate,
        Place::SetValue,
        Place::CreateProperty,
        Place::MergeProperty,
        Place::ForeachList,
        Place::EachItem,
        Place::SubqueryWhere,
    ];
}

/// What is done with the parts of a query.
pub(crate) trait Visitor {
    fn clauses(&mut self, _clauses: &mut Vec<Clause>) {}
    /// A path of a `MATCH` or an expression.
    fn path(&mut self, _path: &mut Path) {}
    fn expr(&mut self, _expr: &mut Expr, _place: Place) {}
}

pub(crate) fn query(query: &mut Query, v: &mut dyn Visitor) {
    for clauses in &mut query.branches {
        list(clauses, v);
    }
}

/// An expression that stands in this place, and all in it.
pub(crate) fn expression(e: &mut Expr, place: Place, v: &mut dyn Visitor) {
    expr(e, place, v);
}

fn list(clauses: &mut Vec<Clause>, v: &mut dyn Visitor) {
    for part in clauses.iter_mut() {
        clause(part, v);
    }
    v.clauses(clauses);
}

fn clause(clause: &mut Clause, v: &mut dyn Visitor) {
    match clause {
        Clause::Match { paths, filter, .. } => {
            for p in paths {
                path(p, Place::MatchProperty, v);
                v.path(p);
            }
            optional(filter, Place::MatchWhere, v);
        }
        Clause::Unwind(list, _) => expr(list, Place::Unwind, v),
        Clause::With(p) => projection(p, Place::WithItem, v),
        Clause::Return(p) => projection(p, Place::ReturnItem, v),
        Clause::Filter(condition) => expr(condition, Place::MatchWhere, v),
        Clause::Star | Clause::Delete { .. } => {}
        Clause::Call(Call { query: inner, .. }) => query(inner, v),
        Clause::Create(paths) => {
            for p in paths {
                path(p, Place::CreateProperty, v);
            }
        }
        Clause::Change(all) => changes(all, v),
        Clause::Merge {
            path: merged,
            on_create,
            on_match,
        } => {
            path(merged, Place::MergeProperty, v);
            changes(on_create, v);
            changes(on_match, v);
        }
        Clause::Foreach(_, items, inner) => {
            expr(items, Place::ForeachList, v);
            list(inner, v);
        }
    }
}

fn changes(changes: &mut [Change], v: &mut dyn Visitor) {
    for change in changes {
        if let Change::Compute(_, _, value) = change {
            expr(value, Place::SetValue, v);
        }
    }
}

fn projection(p: &mut Projection, place: Place, v: &mut dyn Visitor) {
    for item in &mut p.items {
        expr(&mut item.expr, place, v);
    }
    for (by, _) in &mut p.order {
        expr(by, Place::OrderBy, v);
    }
    optional(&mut p.filter, Place::WithWhere, v);
}

fn optional(e: &mut Option<Expr>, place: Place, v: &mut dyn Visitor) {
    if let Some(e) = e {
        expr(e, place, v);
    }
}

fn node(node: &mut NodePattern, place: Place, v: &mut dyn Visitor) {
    for (_, value) in &mut node.properties {
        expr(value, place, v);
    }
}

fn path(path: &mut Path, place: Place, v: &mut dyn Visitor) {
    node(&mut path.start, place, v);
    for (rel, end) in &mut path.steps {
        for (_, value) in &mut rel.properties {
            expr(value, place, v);
        }
        if let Length::Group(group) = &mut rel.length {
            node(&mut group.start, place, v);
            for (rel, end) in &mut group.steps {
                for (_, value) in &mut rel.properties {
                    expr(value, place, v);
                }
                node(end, place, v);
            }
            optional(&mut group.filter, Place::MatchWhere, v);
        }
        node(end, place, v);
    }
}

fn paths(paths: &mut [Path], filter: &mut Option<Box<Expr>>, v: &mut dyn Visitor) {
    for p in paths {
        path(p, Place::MatchProperty, v);
        v.path(p);
    }
    if let Some(filter) = filter {
        expr(filter, Place::SubqueryWhere, v);
    }
}

fn expr(e: &mut Expr, place: Place, v: &mut dyn Visitor) {
    let each = Place::EachItem;
    match e {
        Expr::Literal(_) | Expr::Var(_) | Expr::Poison(_) | Expr::Random(_) => {}
        Expr::Property(a, _)
        | Expr::Not(a)
        | Expr::IsNull(a)
        | Expr::IsNotNull(a)
        | Expr::HasLabel(a, _)
        | Expr::Slice(a, ..)
        | Expr::Hidden(a, _)
        | Expr::Later(a, ..)
        | Expr::Shifted(a, ..) => expr(a, place, v),
        Expr::Binary(_, a, b) | Expr::Index(a, b) | Expr::DaysBetween(a, b) => {
            expr(a, place, v);
            expr(b, place, v);
        }
        Expr::Call(_, items) | Expr::List(items) => {
            for item in items {
                expr(item, place, v);
            }
        }
        Expr::Map(entries) => {
            for (_, value) in entries {
                expr(value, place, v);
            }
        }
        Expr::MapOf(_, parts) => {
            for part in parts {
                if let Part::Entry(_, value) = part {
                    expr(value, place, v);
                }
            }
        }
        Expr::Comprehension(_, list, filter, item) => {
            expr(list, place, v);
            for part in [filter, item].into_iter().flatten() {
                expr(part, each, v);
            }
        }
        Expr::Quantified(_, _, list, condition) => {
            expr(list, place, v);
            expr(condition, each, v);
        }
        Expr::Reduce(_, first, _, list, body) => {
            expr(first, place, v);
            expr(list, place, v);
            expr(body, each, v);
        }
        Expr::Case(a, b, c) => [a, b, c].into_iter().for_each(|e| expr(e, place, v)),
        Expr::Choice(a, b, c, d) => [a, b, c, d].into_iter().for_each(|e| expr(e, place, v)),
        Expr::Exists(all, filter) | Expr::CountOf(all, filter) => paths(all, filter, v),
        Expr::CollectOf(all, filter, item) => {
            paths(all, filter, v);
            expr(item, each, v);
        }
        Expr::Sub(_, inner) => query(inner, v),
        Expr::Pattern(p) => paths(std::slice::from_mut(&mut **p), &mut None, v),
        Expr::PatternComprehension(p, filter, item) => {
            paths(std::slice::from_mut(&mut **p), filter, v);
            expr(item, each, v);
        }
        Expr::Aggregate(_, _, of) => {
            if let Some(of) = of {
                expr(of, Place::Aggregate, v);
            }
        }
    }
    v.expr(e, place);
}
