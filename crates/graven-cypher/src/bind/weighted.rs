//! `MATCH (a)-[e:K* WSHORTEST(cost)]->(b)`: paths of least cost, by a call of a procedure.
//!
//! # How it works
//! The other patterns and the starts are matched first. Then each pattern of least cost is searched
//! for in turn: for each row the procedure gives the ends with their paths, and a `MATCH` of the
//! end asks the rest. A condition is asked as soon as all that it reads is there. An end that is
//! bound before is an argument of the search. `cost(e)` asks which variable `e` is.
//!
//! # Invariants
//! * CY-76 A hidden name, which no text can have, belongs to one pattern and goes out of scope
//!   behind it.
//!
//! # Cost
//! A search for each row that has a start; it ends early where the end is bound before.

use std::sync::Arc;

use super::graph::Step;
use super::load::{expr, named, path};
use super::made::Typed;
use super::pattern::alternatives;
use super::{Binder, Result};
use crate::ast::{
    self, Clause, ClauseKind, ExprKind, Hint, Name, NodePattern, PathPattern, ProcedureCall,
    RelationshipPattern, Weight, Yields,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{BinaryOp, Direction, VarKind};
use crate::token::Span;

/// The procedure.
const PROCEDURE: &str = "graven.weightedPaths";
/// Hidden names begin with these, and end with the place of their pattern.
const START: &str = "  start";
const END: &str = "  end";

/// A pattern of least cost.
struct Searched<'a> {
    pattern: &'a PathPattern,
    relationship: &'a RelationshipPattern,
    weight: &'a Weight,
    types: Vec<Arc<str>>,
    start: NodePattern,
    /// Whether an earlier search gives the start.
    start_is_found: bool,
    end: NodePattern,
    /// What the procedure gives as the end: another name where the end is bound before.
    found: Name,
}

impl Searched<'_> {
    fn end_is_bound(&self) -> bool {
        self.end.name.as_ref() != Some(&self.found)
    }

    /// Names that the search gives.
    fn given(&self) -> impl Iterator<Item = &Name> {
        let named = [&self.relationship.name, &self.pattern.name];
        named.into_iter().flatten().chain([&self.found])
    }
}

impl Binder<'_> {
    /// Binds a `MATCH` with patterns of least cost.
    pub(super) fn weighted_match(
        &mut self,
        (optional, patterns): (bool, &[PathPattern]),
        hints: &[Hint],
        filter: Option<&ast::Expr>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let (mut next, searches) = self.searches(optional, patterns)?;
        let mut conditions = conjuncts(filter);
        let mut hints = hints.to_vec();
        for (idx, search) in searches.iter().enumerate() {
            let at = search.weight.span;
            if search.start_is_found {
                next.push(path(search.start.clone(), Vec::new(), at));
            }
            if search.end_is_bound() {
                let end = NodePattern {
                    name: search.end.name.clone(),
                    labels: None,
                    properties: None,
                    filter: None,
                    span: at,
                };
                next.push(path(end, Vec::new(), at));
            }
            // What this search and those after it give is not there yet.
            let is_there = |read: &str| {
                let mut later = searches[idx..].iter().flat_map(Searched::given);
                later.all(|name| *name.text != *read)
            };
            let (early, late): (Vec<_>, Vec<_>) = conditions
                .into_iter()
                .partition(|condition| condition.reads_only(&is_there));
            conditions = late;
            let is_here = |name: &Name| next.iter().flat_map(nodes).any(|it| *it == *name);
            let here = hints.extract_if(.., |hint| hint.variables.iter().all(is_here));
            let here = here.collect();
            self.matched((next, here), early, at, steps)?;
            self.search(search, steps)?;
            next = vec![path(search.end.clone(), Vec::new(), at)];
        }
        if let Some(name) = hints.iter().flat_map(|hint| &hint.variables).next() {
            self.resolve(name)?;
            let message = format!(
                "a hint on `{}` is of no use to a path of least cost",
                name.text
            );
            let error = self.error(name.span, Code::FeatureNotAvailable, message);
            return Err(
                error.with_hint("give hints on where the path starts and on other patterns")
            );
        }
        let at = self.clause_span;
        self.matched((next, Vec::new()), conditions, at, steps)?;
        let hidden = |name: &str| name.starts_with(START) || name.starts_with(END);
        self.scope.row.retain(|entry| !hidden(&entry.name));
        Ok(())
    }

    /// What is matched before all searches, and the searches in their order.
    fn searches<'a>(
        &mut self,
        optional: bool,
        patterns: &'a [PathPattern],
    ) -> Result<(Vec<PathPattern>, Vec<Searched<'a>>)> {
        let others = patterns.iter().filter(|it| it.weighted().is_none());
        let mut first: Vec<PathPattern> = others.cloned().collect();
        let mut searches: Vec<Searched<'a>> = Vec::new();
        for pattern in patterns {
            let Some((relationship, weight)) = pattern.weighted() else {
                continue;
            };
            let mut search = self.searched(pattern, relationship, weight, optional)?;
            let is_found = |name: &Option<Name>| {
                let mut found = searches.iter().flat_map(Searched::given);
                name.as_ref().is_some_and(|name| found.any(|it| it == name))
            };
            search.start_is_found = is_found(&search.start.name);
            if !search.start_is_found {
                first.push(path(search.start.clone(), Vec::new(), pattern.span));
            }
            let is_bound = |name: &Name| {
                let in_first = first.iter().flat_map(nodes).any(|it| it == name);
                in_first || self.scope.find(&name.text).is_some()
            };
            match &search.end.name {
                None => search.end.name = Some(search.found.clone()),
                Some(name) if is_bound(name) || is_found(&search.end.name) => {}
                Some(name) => search.found = name.clone(),
            }
            searches.push(search);
        }
        Ok((first, searches))
    }

    /// A pattern of least cost, where it is one that is looked for.
    fn searched<'a>(
        &mut self,
        pattern: &'a PathPattern,
        relationship: &'a RelationshipPattern,
        weight: &'a Weight,
        optional: bool,
    ) -> Result<Searched<'a>> {
        let (text, at) = (self.text, weight.span);
        let refused = |message: &str, hint: &str| {
            let code = Code::FeatureNotAvailable;
            Err(Diagnostic::new(text, at, code, message).with_hint(hint))
        };
        let form = "write `MATCH p = (a)-[e:K* WSHORTEST(cost)]->(b)`";
        let [(_, end)] = &pattern.steps[..] else {
            return refused("a path of least cost is along one relationship", form);
        };
        if optional || pattern.shortest.is_some() || pattern.filter.is_some() {
            let message = "a path of least cost is looked for by a MATCH that is not optional and \
                selects nothing else";
            return refused(message, form);
        }
        let least = relationship.length.and_then(|length| length.min);
        if least.is_some_and(|least| least != 1) {
            let message = "a path of least cost has one relationship at least, no other number";
            return refused(message, "write `1..4`, or leave the bounds out");
        }
        if relationship.properties.is_some() || relationship.filter.is_some() {
            let message = "a path of least cost has no conditions in its brackets";
            let hint = "give the relationships that may be followed a type of their own";
            return refused(message, hint);
        }
        let types = match &relationship.types {
            None => Vec::new(),
            Some(types) => match alternatives(&self.known(types)) {
                Some(names) => names,
                None => return refused("the types of a path of least cost are names", form),
            },
        };
        // The place in the text tells one pattern from another.
        let own = |kind: &str| named(&format!("{kind} {}", at.start), at);
        let name = pattern.first.name.clone();
        let start = NodePattern {
            name: Some(name.unwrap_or_else(|| own(START))),
            ..pattern.first.clone()
        };
        Ok(Searched {
            pattern,
            relationship,
            weight,
            types,
            start,
            start_is_found: false,
            end: end.clone(),
            found: own(END),
        })
    }

    fn matched(
        &mut self,
        (patterns, hints): (Vec<PathPattern>, Vec<Hint>),
        conditions: Vec<&ast::Expr>,
        at: Span,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let conditions = conditions.into_iter().cloned().collect();
        let kind = ClauseKind::Match {
            optional: false,
            patterns,
            hints,
            filter: joined(conditions, at),
        };
        self.clause(&Clause { kind, span: at }, false, steps)?;
        Ok(())
    }

    /// The call of the procedure.
    fn search(&mut self, of: &Searched<'_>, steps: &mut Vec<Step>) -> Result<()> {
        let at = of.weight.span;
        let direction = match of.relationship.direction {
            Direction::Out => "out",
            Direction::In => "in",
            Direction::Both => "both",
        };
        let text = |text: &str| expr(ExprKind::String(text.into()), at);
        let types = of.types.iter().map(|name| text(name)).collect();
        let node = |name: &Name| expr(ExprKind::Variable(name.clone()), at);
        let mut args: Vec<ast::Expr> = of.start.name.iter().map(node).collect();
        args.extend([
            expr(ExprKind::List(types), at),
            text(direction),
            text(&of.weight.key.text),
            expr(ExprKind::Boolean(of.weight.all), at),
        ]);
        let most = of.relationship.length.and_then(|length| length.max);
        args.push(match most {
            Some(most) => expr(ExprKind::Integer(most.into()), at),
            None => expr(ExprKind::Null, at),
        });
        if of.end_is_bound() {
            args.extend(of.end.name.iter().map(node));
        }
        let mut call = ProcedureCall::of(PROCEDURE, args, at);
        let mut yields = vec![(named("node", at), Some(of.found.clone()))];
        let given = [
            ("relationships", &of.relationship.name),
            ("path", &of.pattern.name),
        ];
        for (column, name) in given {
            yields.extend(name.iter().map(|it| (named(column, at), Some(it.clone()))));
        }
        call.yields = Yields::Items(yields);
        self.procedure(&call, false, steps)?;
        if let Some(name) = &of.relationship.name
            && let Some(entry) = self.scope.find(&name.text)
        {
            let var = entry.var;
            self.variables[var.0 as usize].kind = VarKind::RelationshipList;
            self.walks.entry(var).or_default().weight = Some(of.weight.key.text.clone());
        }
        Ok(())
    }

    /// `cost(e)` of a path of least cost: what its relationships have as the property, added up.
    pub(super) fn cost_of_path(
        &mut self,
        name: &Name,
        args: &[ast::Expr],
    ) -> Result<Option<Typed>> {
        let [path] = args else { return Ok(None) };
        let ExprKind::Variable(of) = &path.kind else {
            return Ok(None);
        };
        let is_cost = name.text.eq_ignore_ascii_case("cost");
        let Some(entry) = self.scope.find(&of.text).filter(|_| is_cost) else {
            return Ok(None);
        };
        let walk = self.walks.get(&entry.var);
        let Some(key) = walk.and_then(|walk| walk.weight.clone()) else {
            return Ok(None);
        };
        let at = name.span;
        let [sum, each] = ["  s", "  x"].map(|name| named(name, at));
        let boxed = |kind| Box::new(expr(kind, at));
        let own = ExprKind::Index {
            base: boxed(ExprKind::Variable(each.clone())),
            index: boxed(ExprKind::String(key)),
        };
        let step = ExprKind::Binary {
            op: BinaryOp::Add,
            left: boxed(ExprKind::Variable(sum.clone())),
            right: boxed(own),
        };
        let all = ExprKind::Reduce {
            accumulator: sum,
            init: boxed(ExprKind::Float(0.0)),
            name: each,
            list: Box::new(path.clone()),
            step: boxed(step),
        };
        self.expression(&expr(all, at)).map(Some)
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

/// Names of the nodes of a pattern.
fn nodes(pattern: &PathPattern) -> impl Iterator<Item = &Name> {
    let further = pattern.steps.iter().map(|(_, node)| node);
    let all = std::iter::once(&pattern.first).chain(further);
    all.filter_map(|node| node.name.as_ref())
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
