//! The relationships of a pattern to operators: followed from a node, looked up between two, or
//! found by what is asked of them.
//!
//! # How it works
//! Conditions on a single relationship alone go into the expansion itself. Relationships of one
//! `MATCH` must differ: each expansion names the earlier ones with types that overlap its own.

use crate::plan::ExpandFilter;
use crate::plan::join::Pending;

use crate::bind::graph::{Edge, QueryGraph};
use crate::bind::{binary, call, unary};
use crate::functions;
use crate::plan::access::list_length;
use crate::plan::builder::{Builder, Partial};
use crate::plan::candidate::{Subject, comparison};
use crate::plan::expression::{BinaryOp, Expr, Literal, UnaryOp};
use crate::plan::mutant::{self, Mutant};
use crate::plan::variables::{conjunction, substitute};
use crate::plan::{Direction, Operator, RelPattern, VarExpandMode, VarKind};
use crate::token::Span;

impl Builder<'_> {
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of the order with everything it touches"
    )]
    pub(super) fn follow(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        idx: usize,
        forward: bool,
        solved: &[usize],
        rows: f64,
        pending: &mut Pending,
    ) {
        let edge = &graph.edges[idx];
        let (from, to) = if forward {
            (edge.from, edge.to)
        } else {
            (edge.to, edge.from)
        };
        if let Some(repeated) = &edge.repeated {
            let others = solved.iter().map(|other| &graph.edges[*other]);
            return self.repeat(partial, edge, repeated, (forward, false), others, rows);
        }
        let pattern = self.rel_pattern(partial, graph, idx, forward, solved, pending);
        let (rel, length) = (edge.rel, edge.length);
        let found = match length.is_some() && !forward {
            true => self.new_variable("  reversed", VarKind::RelationshipList),
            false => rel,
        };
        match length {
            None => partial.push(rows, |input| Operator::Expand {
                input,
                from,
                rel: Some(rel),
                to,
                pattern,
            }),
            Some((min, max)) => partial.push(rows, |input| Operator::VarExpand {
                input,
                from,
                rels: Some(found),
                to,
                into: false,
                pattern,
                min,
                max,
                mode: VarExpandMode::Trails,
            }),
        }
        partial.bound.extend([rel, to]);
        if found != rel {
            // A list found from its far end is turned round, so that its value does not depend on
            // the plan; the rule on unused relationships takes this away where nothing reads the
            // list.
            let items = vec![(rel, call("reverse", vec![Expr::Variable(found)]))];
            partial.push(rows, |input| Operator::Extend { input, items });
        }
    }

    pub(super) fn check(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        idx: usize,
        solved: &[usize],
        rows: f64,
        pending: &mut Pending,
    ) {
        let edge = &graph.edges[idx];
        if let Some(repeated) = &edge.repeated {
            let others = solved.iter().map(|other| &graph.edges[*other]);
            return self.repeat(partial, edge, repeated, (true, true), others, rows);
        }
        let (from, to, rel) = (edge.from, edge.to, edge.rel);
        let pattern = self.rel_pattern(partial, graph, idx, true, solved, pending);
        match edge.length {
            None => partial.push(rows, |input| Operator::ExpandInto {
                input,
                from,
                rel: Some(rel),
                to,
                pattern,
            }),
            Some((min, max)) => partial.push(rows, |input| Operator::VarExpand {
                input,
                from,
                rels: Some(rel),
                to,
                into: true,
                pattern,
                min,
                max,
                mode: edge
                    .shortest
                    .map_or(VarExpandMode::Trails, VarExpandMode::Shortest),
            }),
        }
        partial.bound.insert(rel);
        if let Some(single) = edge.single {
            let items = vec![(single, call("head", vec![Expr::Variable(rel)]))];
            partial.push(rows, |input| Operator::Extend { input, items });
            partial.bound.insert(single);
        }
    }

    pub(super) fn rel_pattern(
        &mut self,
        partial: &Partial,
        graph: &QueryGraph,
        idx: usize,
        forward: bool,
        solved: &[usize],
        pending: &mut Pending,
    ) -> RelPattern {
        let edge = &graph.edges[idx];
        let mut conditions = edge.filters.clone();
        if edge.length.is_none() {
            conditions.extend(self.relationship_conditions(partial, edge, pending));
        }
        let (mut distinct_from, mut disjoint_from) = (Vec::new(), Vec::new());
        for &other in solved {
            let other = &graph.edges[other];
            if !edge.differs(other) {
                continue;
            }
            match other.length {
                None => distinct_from.push(other.rel),
                Some(_) => disjoint_from.push(other.rel),
            }
        }
        let direction = match (edge.direction, forward) {
            (Direction::Out, false) => Direction::In,
            (Direction::In, false) => Direction::Out,
            (direction, _) => direction,
        };
        let filter = conjunction(conditions);
        RelPattern {
            types: edge.types.clone(),
            direction,
            each: filter.as_ref().map(|_| edge.each),
            filter,
            distinct_from,
            distinct_ends: Vec::new(),
            disjoint_from,
            ends: ExpandFilter::default(),
        }
    }

    /// Takes the conditions that only wait for this relationship; they are decided while expanding.
    fn relationship_conditions(
        &self,
        partial: &Partial,
        edge: &Edge,
        pending: &mut Pending,
    ) -> Vec<Expr> {
        let mut taken = Vec::new();
        for (slot, needs) in pending.conditions.iter_mut().zip(&pending.needs) {
            let only = needs.contains(&edge.rel)
                && needs
                    .iter()
                    .all(|v| *v == edge.rel || partial.bound.contains(v));
            let plain = slot.as_ref().is_some_and(|c| !self.has_subquery(c));
            if only
                && plain
                && let Some(mut condition) = slot.take()
            {
                substitute(&mut condition, edge.rel, &Expr::Variable(edge.each));
                taken.push(condition);
            }
        }
        taken
    }

    /// Finds a single relationship that is not bound yet by its id, where the rows so far tell
    /// that; its ends are those of a bound one.
    pub(super) fn seek_relationship(
        &mut self,
        partial: &mut Partial,
        edge: &mut Edge,
        pending: &mut Pending,
    ) {
        let single = edge.length.is_none() && edge.repeated.is_none() && edge.filters.is_empty();
        if edge.bound || !single || partial.bound.contains(&edge.rel) {
            return;
        }
        let waiting = pending.conditions.iter().enumerate();
        let mut waiting = waiting.filter_map(|(idx, condition)| Some((idx, condition.as_ref()?)));
        let found = waiting.find_map(|(idx, condition)| {
            match comparison(condition, edge.rel, &partial.bound)? {
                (Subject::Id(form), op, value)
                    if matches!(op, BinaryOp::Equal | BinaryOp::In)
                        || mutant::active(Mutant::RelationshipSeekAnyComparison) =>
                {
                    Some((idx, form, op == BinaryOp::In, value))
                }
                _ => None,
            }
        });
        let Some((idx, form, any, value)) = found else {
            return;
        };
        pending.conditions[idx] = None;
        let each = if any { list_length(&value) } else { 1.0 };
        let (rows, var) = (partial.rows() * each, edge.rel);
        partial.push(rows, |input| Operator::RelationshipByIdSeek {
            input,
            var,
            form,
            value,
            any,
        });
        partial.bound.insert(var);
        edge.bound = true;
    }

    /// Relationships that are bound, or found by their ids, differ from those before them in the
    /// same `MATCH`.
    pub(super) fn unlike_others(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        idx: usize,
        solved: &[usize],
    ) {
        let edge = &graph.edges[idx];
        for other in solved.iter().map(|other| &graph.edges[*other]) {
            if edge.differs(other) {
                let (one, other) = (Expr::Variable(edge.rel), Expr::Variable(other.rel));
                self.filter(partial, binary(BinaryOp::NotEqual, one, other));
            }
        }
    }

    /// Binds or checks the ends of a relationship that is bound already.
    pub(super) fn ends_of_bound(&mut self, partial: &mut Partial, edge: &Edge) {
        let rel = Expr::Variable(edge.rel);
        let mut conditions = vec![unary(UnaryOp::IsNotNull, rel.clone())];
        if self.variables[edge.rel.0 as usize].kind != VarKind::Relationship {
            // Any other value is no relationship of a pattern, and begins nowhere.
            let wanted = Expr::Literal(Literal::String("RELATIONSHIP".into()));
            conditions.push(call(functions::IS_TYPED, vec![rel.clone(), wanted]));
        }
        if !edge.types.is_empty() {
            let names = edge
                .types
                .iter()
                .map(|t| Expr::Literal(Literal::String(t.clone())))
                .collect();
            conditions.push(binary(
                BinaryOp::In,
                call("type", vec![rel.clone()]),
                Expr::List(names),
            ));
        }
        if self.writes {
            // A relationship that was deleted before begins nowhere.
            let start = call("startnode", vec![rel.clone()]);
            conditions.push(unary(UnaryOp::IsNotNull, start));
        }
        for condition in conditions {
            self.filter(partial, condition);
        }
        let start = call("startnode", vec![rel.clone()]);
        let end = call("endnode", vec![rel]);
        let (from, to) = match edge.direction {
            Direction::Out => (start, end),
            Direction::In => (end, start),
            Direction::Both => {
                let loops = binary(BinaryOp::Equal, start.clone(), end.clone());
                let there = Expr::List(vec![start.clone(), end.clone()]);
                let back = Expr::List(vec![end, start]);
                let list = Expr::Case {
                    branches: vec![(loops, Expr::List(vec![there.clone()]))],
                    otherwise: Some(Box::new(Expr::List(vec![there, back]))),
                    at: Span::default(),
                };
                let pair = self.new_variable("  ends", VarKind::Value);
                let rows = partial.rows() * 2.0;
                partial.push(rows, |input| Operator::Unwind {
                    input,
                    list,
                    var: pair,
                    last: false,
                });
                partial.bound.insert(pair);
                let at = |idx| Expr::Index {
                    base: Box::new(Expr::Variable(pair)),
                    index: Box::new(Expr::Literal(Literal::Integer(idx))),
                    at: Span::default(),
                };
                (at(0), at(1))
            }
        };
        for (node, value) in [(edge.from, from), (edge.to, to)] {
            if partial.bound.insert(node) {
                let rows = partial.rows();
                partial.push(rows, |input| Operator::Extend {
                    input,
                    items: vec![(node, value)],
                });
            } else {
                self.filter(
                    partial,
                    binary(BinaryOp::Equal, Expr::Variable(node), value),
                );
            }
        }
    }
}
