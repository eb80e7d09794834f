//! `MATCH (a)-[e:K* WSHORTEST(cost)]->(b)`: paths of least cost, by a call of a procedure.
//!
//! # How it works
//! The other patterns and the start are matched first, with the conditions that do not read what
//! is searched for. For each row the procedure gives the ends with their paths, and a `MATCH` of
//! the end asks the rest.
//!
//! # Cost
//! A search for each row that has a start, whatever is asked of the end.

use std::sync::Arc;

use super::graph::Step;
use super::load::{expr, named, path};
use super::pattern::alternatives;
use super::{Binder, Result};
use crate::ast::{
    self, Clause, ClauseKind, ExprKind, NodePattern, PathPattern, ProcedureCall,
    RelationshipPattern, Weight, Yields,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{BinaryOp, Direction, VarKind};
use crate::token::Span;

/// The procedure.
const PROCEDURE: &str = "graven.weightedPaths";
/// Names of what the text does not name.
const START: &str = "  start";
const END: &str = "  end";

impl Binder<'_> {
    /// Binds a `MATCH` with a pattern of least cost.
    pub(super) fn weighted_match(
        &mut self,
        (optional, patterns): (bool, &[PathPattern]),
        filter: Option<&ast::Expr>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let (searched, others): (Vec<_>, Vec<_>) =
            patterns.iter().partition(|it| it.weighted().is_some());
        let pattern = searched[0];
        let Some((relationship, weight)) = pattern.weighted() else {
            return Ok(());
        };
        let text = self.text;
        let refused = |message: &str| {
            let hint = "write `MATCH p = (a)-[e:K* WSHORTEST(cost)]->(b)`";
            let code = Code::FeatureNotAvailable;
            Err(Diagnostic::new(text, weight.span, code, message).with_hint(hint))
        };
        let [(_, end)] = &pattern.steps[..] else {
            return refused("a path of least cost is along one relationship");
        };
        if searched.len() > 1 || optional || pattern.shortest.is_some() || pattern.filter.is_some()
        {
            let message = "a path of least cost is looked for by a MATCH of its own, which is not \
                optional and selects nothing else";
            return refused(message);
        }
        let bounded = relationship
            .length
            .is_some_and(|length| length.min.is_some_and(|min| min != 1) || length.max.is_some());
        if bounded || relationship.properties.is_some() || relationship.filter.is_some() {
            let message = "a path of least cost has no bounds and no conditions in its brackets";
            return refused(message);
        }
        let types = match &relationship.types {
            None => Vec::new(),
            Some(types) => match alternatives(&self.known(types)) {
                Some(names) => names,
                None => return refused("the types of a path of least cost are names"),
            },
        };
        let at = weight.span;
        let start = pattern.first.name.clone();
        let start = start.unwrap_or_else(|| named(START, at));
        let known = |name: &ast::Name| self.scope.find(&name.text).is_some();
        let in_others = |name: &ast::Name| {
            let mut all = others.iter().flat_map(|other| nodes(other));
            name.text == start.text
                || all.any(|node| node.name.as_ref().is_some_and(|it| it.text == name.text))
        };
        let end_is_bound = end
            .name
            .as_ref()
            .is_some_and(|name| known(name) || in_others(name));
        let yielded = match &end.name {
            Some(name) if !end_is_bound => name.clone(),
            _ => named(END, at),
        };
        // What the search gives is not there before.
        let made: Vec<Arc<str>> = [
            Some(&yielded),
            relationship.name.as_ref(),
            pattern.name.as_ref(),
        ]
        .into_iter()
        .flatten()
        .map(|name| name.text.clone())
        .collect();
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for condition in conjuncts(filter) {
            match condition.reads_only(&|read| made.iter().all(|name| **name != *read)) {
                true => early.push(condition.clone()),
                false => late.push(condition.clone()),
            }
        }
        let first = NodePattern {
            name: Some(start.clone()),
            ..pattern.first.clone()
        };
        let mut patterns: Vec<PathPattern> = others.into_iter().cloned().collect();
        patterns.push(path(first, Vec::new(), pattern.span));
        self.matched(patterns, early, at, steps)?;
        self.search(
            (&start, &yielded),
            (pattern, relationship, weight),
            &types,
            steps,
        )?;
        let last = NodePattern {
            name: Some(yielded.clone()),
            ..end.clone()
        };
        if let Some(name) = end.name.as_ref().filter(|_| end_is_bound) {
            let side = |name: &ast::Name| Box::new(expr(ExprKind::Variable(name.clone()), at));
            let same = ExprKind::Binary {
                op: BinaryOp::Equal,
                left: side(&yielded),
                right: side(name),
            };
            late.push(expr(same, at));
        }
        self.matched(vec![path(last, Vec::new(), pattern.span)], late, at, steps)
    }

    fn matched(
        &mut self,
        patterns: Vec<PathPattern>,
        conditions: Vec<ast::Expr>,
        at: Span,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let kind = ClauseKind::Match {
            optional: false,
            patterns,
            hints: Vec::new(),
            filter: joined(conditions, at),
        };
        self.clause(&Clause { kind, span: at }, false, steps)?;
        Ok(())
    }

    /// The call of the procedure.
    fn search(
        &mut self,
        (start, end): (&ast::Name, &ast::Name),
        (pattern, relationship, weight): (&PathPattern, &RelationshipPattern, &Weight),
        types: &[Arc<str>],
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let at = weight.span;
        let direction = match relationship.direction {
            Direction::Out => "out",
            Direction::In => "in",
            Direction::Both => "both",
        };
        let text = |text: &str| expr(ExprKind::String(text.into()), at);
        let types = types.iter().map(|name| text(name)).collect();
        let args = vec![
            expr(ExprKind::Variable(start.clone()), at),
            expr(ExprKind::List(types), at),
            text(direction),
            text(&weight.key.text),
            expr(ExprKind::Boolean(weight.all), at),
        ];
        let mut call = ProcedureCall::of(PROCEDURE, args, at);
        let mut yields = vec![(named("node", at), Some(end.clone()))];
        let given = [
            ("relationships", &relationship.name),
            ("path", &pattern.name),
        ];
        for (column, name) in given {
            yields.extend(name.iter().map(|it| (named(column, at), Some(it.clone()))));
        }
        call.yields = Yields::Items(yields);
        self.procedure(&call, false, steps)?;
        if let Some(name) = &relationship.name
            && let Some(entry) = self.scope.find(&name.text)
        {
            let var = entry.var;
            self.variables[var.0 as usize].kind = VarKind::RelationshipList;
        }
        Ok(())
    }
}

/// The conditions joined by `AND`, in pairs: they make little depth.
fn joined(mut conditions: Vec<ast::Expr>, at: Span) -> Option<ast::Expr> {
    while conditions.len() > 1 {
        let mut pairs = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut rest = conditions.into_iter();
        while let Some(left) = rest.next() {
            let Some(right) = rest.next() else {
                pairs.push(left);
                break;
            };
            let height = left.height.max(right.height).saturating_add(1);
            let (left, right) = (Box::new(left), Box::new(right));
            let op = BinaryOp::And;
            let kind = ExprKind::Binary { op, left, right };
            pairs.push(ast::Expr {
                kind,
                span: at,
                height,
            });
        }
        conditions = pairs;
    }
    conditions.pop()
}

fn nodes(pattern: &PathPattern) -> impl Iterator<Item = &NodePattern> {
    let further = pattern.steps.iter().map(|(_, node)| node);
    std::iter::once(&pattern.first).chain(further)
}

/// The parts of a condition that `AND` joins.
fn conjuncts(of: Option<&ast::Expr>) -> Vec<&ast::Expr> {
    let mut left: Vec<&ast::Expr> = of.into_iter().collect();
    let mut found = Vec::new();
    while let Some(next) = left.pop() {
        match &next.kind {
            ExprKind::Binary {
                op: BinaryOp::And,
                left: first,
                right,
            } => left.extend([&**right, &**first]),
            _ => found.push(next),
        }
    }
    found
}
