//! Patterns to operators, in the order that `plan/order.rs` found.
//!
//! # How it works
//! A relationship that is bound already gives its ends first. Then every step of the order becomes
//! one operator, and every condition is put right after the step that makes it decidable;
//! conditions on a single relationship alone go into the expansion itself. Relationships of one
//! `MATCH` must differ: each expansion names the earlier ones whose types overlap with its own.
//!
//! # Invariants
//! * CY-69 Every condition of a pattern is applied by its end: none waits for what never comes.

use crate::plan::join::Pending;
use crate::plan::join::overlap;
use std::collections::BTreeSet;

use super::access::list_length;
use super::builder::{Builder, Partial, node};
use super::expression::{BinaryOp, Expr, Literal, UnaryOp};
use super::join::Split;
use super::mutant::{self, Mutant};
use super::order::{self, OrderStep, Ordered, Owners, Pattern, Problem, Waiting};
use super::variables::{conjunction, substitute};
use super::{Direction, Operator, RelPattern, VarExpandMode, VarId, VarKind};
use crate::bind::graph::{Edge, QueryGraph};
use crate::bind::{binary, call, unary};
use crate::diagnostic;
use crate::plan::candidate::{Access, Subject, comparison};
use crate::token::Span;

impl Builder<'_> {
    /// Puts the operators that find a pattern on top.
    pub(crate) fn pattern(&mut self, partial: &mut Partial, mut graph: QueryGraph) {
        each_conditions(&mut graph);
        let needs: Vec<BTreeSet<VarId>> = graph.predicates.iter().map(|p| self.needs(p)).collect();
        let conditions = graph.predicates.iter().cloned().map(Some).collect();
        let mut pending = Pending { conditions, needs };
        let mut solved: Vec<usize> = Vec::new();
        self.bound_alone(partial, &graph);
        self.decidable(partial, &mut pending);
        for idx in 0..graph.edges.len() {
            self.seek_relationship(partial, &mut graph.edges[idx], &mut pending);
            if graph.edges[idx].bound {
                self.ends_of_bound(partial, &graph.edges[idx]);
                self.unlike_others(partial, &graph, idx, &solved);
                solved.push(idx);
                self.decidable(partial, &mut pending);
            }
        }
        let mut way = self.order(partial, &graph, &pending, &solved);
        let split = self.join_split(partial, &graph, &pending, &way);
        self.notice_product(partial, &graph, &way, split.as_ref());
        match split {
            None => self.steps(partial, &graph, way, &mut solved, &mut pending),
            Some(split) => {
                let second = way.split_off(split.at);
                self.joined(
                    partial,
                    &graph,
                    (way, second),
                    split,
                    &mut solved,
                    &mut pending,
                );
            }
        }
        for (path, parts) in graph.paths {
            let rows = partial.rows();
            partial.push(rows, |input| Operator::BuildPath { input, path, parts });
            partial.bound.insert(path);
        }
        self.decidable(partial, &mut pending);
        debug_assert!(
            pending.conditions.iter().all(Option::is_none),
            "CY-69: a condition of a pattern is lost"
        );
        for node in &graph.nodes {
            let labels = order::label_conditions(&graph.predicates, *node)
                .into_iter()
                .map(|(_, label)| label);
            self.labels.entry(*node).or_default().extend(labels);
        }
    }

    /// Two parts of the pattern, each by itself, and the hash join of their rows.
    fn joined(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        (first, second): (Vec<Ordered>, Vec<Ordered>),
        split: Split,
        solved: &mut Vec<usize>,
        pending: &mut Pending,
    ) {
        let rows_before = first.last().map_or(partial.rows(), |last| last.left);
        let rows = second.last().map_or(rows_before, |last| last.rows);
        let second = second.into_iter().map(|ordered| Ordered {
            rows: ordered.rows / rows_before.max(1.0),
            left: ordered.left / rows_before.max(1.0),
            ..ordered
        });
        let mut build = Partial {
            root: node(Operator::Unit, 1.0),
            bound: BTreeSet::new(),
        };
        self.steps(partial, graph, first, solved, pending);
        self.steps(&mut build, graph, second.collect(), solved, pending);
        let (mut own, mut others, mut on) = (Vec::new(), Vec::new(), Vec::new());
        for (left, right) in split.keys {
            let key = self.new_variable("  joined on", VarKind::Value);
            own.push((key, left));
            others.push((key, right));
            on.push(key);
        }
        if mutant::active(Mutant::HashJoinUnjudged) {
            pending.forget_equalities();
        }
        for (side, items) in [(&mut *partial, own), (&mut build, others)] {
            let rows = side.rows();
            side.push(rows, |input| Operator::Extend { input, items });
            side.bound.extend(&on);
        }
        if split.first_is_smaller {
            std::mem::swap(partial, &mut build);
        }
        let Partial { root, bound } = build;
        partial.push(rows, |input| Operator::HashJoin {
            input,
            build: Box::new(root),
            on,
        });
        partial.bound.extend(bound);
        self.decidable(partial, pending);
    }

    /// One operator for each step, and every condition as soon as it is decidable.
    fn steps(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        way: Vec<Ordered>,
        solved: &mut Vec<usize>,
        pending: &mut Pending,
    ) {
        for Ordered { step, rows, left } in way {
            match step {
                OrderStep::Find { node, by } => {
                    let by = *by;
                    for covered in by.covers {
                        pending.conditions[covered] = None;
                    }
                    if mutant::active(Mutant::SeekCoversOthers) && by.access.is_seek() {
                        pending.forget_alone(node);
                    }
                    partial.push(rows, |input| find(input, node, by.access));
                    partial.bound.insert(node);
                }
                OrderStep::Follow { edge, forward } => {
                    self.follow(partial, graph, edge, forward, solved, rows, pending);
                    solved.push(edge);
                }
                OrderStep::Check { edge } => {
                    self.check(partial, graph, edge, solved, rows, pending);
                    solved.push(edge);
                }
            }
            self.decidable(partial, pending);
            // Conditions taken one by one do not know what the step has counted already.
            partial.root.estimated_rows = left;
        }
    }

    /// A node that is bound and stands alone in the pattern must be there: null is no match, and no
    /// relationship shows it.
    fn bound_alone(&mut self, partial: &mut Partial, graph: &QueryGraph) {
        for node in &graph.nodes {
            let alone = !graph.edges.iter().any(|e| e.from == *node || e.to == *node);
            if alone && partial.bound.contains(node) {
                let there = unary(UnaryOp::IsNotNull, Expr::Variable(*node));
                self.filter(partial, there);
            }
        }
    }

    fn order(
        &mut self,
        partial: &Partial,
        graph: &QueryGraph,
        pending: &Pending,
        solved: &[usize],
    ) -> Vec<Ordered> {
        let owners = Owners {
            variables: &self.variables,
            labels: &self.labels,
            pattern: Some(Pattern::of(graph)),
        };
        let waiting: Vec<Waiting> = graph
            .predicates
            .iter()
            .zip(&pending.needs)
            .map(|(condition, needs)| Waiting {
                variables: needs.clone(),
                share: order::share(&self.cost, &owners, condition),
            })
            .collect();
        let problem = Problem {
            cost: crate::cost::Cost {
                schema: self.cost.schema,
            },
            graph,
            waiting: &waiting,
            bound: &partial.bound,
            known_labels: &self.labels,
            solved_edges: solved,
            rows: partial.rows(),
        };
        problem
            .solve()
            .expect("a way exists: edges whose conditions wait are checked by `bind`")
    }

    /// Tells the user where every row of one part meets every row of another.
    fn notice_product(
        &mut self,
        partial: &Partial,
        graph: &QueryGraph,
        way: &[Ordered],
        split: Option<&Split>,
    ) {
        let unconnected = way
            .iter()
            .filter(|o| matches!(&o.step, OrderStep::Find { by, .. } if matches!(by.access, Access::All | Access::Label(_))))
            .count();
        let repeated = unconnected > 1
            || (unconnected == 1 && graph.nodes.iter().any(|n| partial.bound.contains(n)));
        if repeated && split.is_none() && !is_connected(graph, &partial.bound) {
            let message = "parts of the pattern are not connected: every row of one is combined \
                with every row of the other";
            let notice =
                diagnostic::notice("", Span::default(), "CartesianProduct", message.to_owned());
            let notice = super::Notice {
                position: None,
                ..notice
            };
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
        }
    }

    /// Puts every condition on top that can be decided now.
    fn decidable(&mut self, partial: &mut Partial, pending: &mut Pending) {
        // Plain conditions first: they are cheaper than subqueries.
        for with_subquery in [false, true] {
            for idx in 0..pending.conditions.len() {
                let ready = pending.needs[idx].is_subset(&partial.bound);
                let Some(condition) = pending.conditions[idx].as_ref().filter(|_| ready) else {
                    continue;
                };
                if self.has_subquery(condition) == with_subquery {
                    let condition = pending.conditions[idx].take().expect("just seen");
                    self.filter(partial, condition);
                }
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of the order with everything it touches"
    )]
    fn follow(
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

    fn check(
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

    fn rel_pattern(
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
            if other.group != edge.group || !overlap(&edge.types, &other.types) {
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
            ends: super::ExpandFilter::default(),
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
    fn seek_relationship(&mut self, partial: &mut Partial, edge: &mut Edge, pending: &mut Pending) {
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
    fn unlike_others(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        idx: usize,
        solved: &[usize],
    ) {
        let edge = &graph.edges[idx];
        for other in solved.iter().map(|other| &graph.edges[*other]) {
            if other.group == edge.group && overlap(&edge.types, &other.types) {
                let (one, other) = (Expr::Variable(edge.rel), Expr::Variable(other.rel));
                self.filter(partial, binary(BinaryOp::NotEqual, one, other));
            }
        }
    }

    /// Binds or checks the ends of a relationship that is bound already.
    fn ends_of_bound(&mut self, partial: &mut Partial, edge: &Edge) {
        let rel = Expr::Variable(edge.rel);
        let mut conditions = vec![unary(UnaryOp::IsNotNull, rel.clone())];
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

fn find(input: Box<super::PlanNode>, var: VarId, access: Access) -> Operator {
    match access {
        Access::All => Operator::AllNodesScan { input, var },
        Access::Label(label) => Operator::LabelScan { input, var, label },
        Access::Index {
            label,
            key,
            value,
            any,
        } => Operator::IndexSeek {
            input,
            var,
            label,
            key,
            value,
            any,
        },
        Access::Range {
            label,
            key,
            low,
            high,
        } => Operator::IndexRange {
            input,
            var,
            label,
            key,
            low,
            high,
        },
        Access::Scan {
            label,
            keys,
            equal,
            part,
        } => Operator::IndexScan {
            input,
            var,
            label,
            keys,
            equal,
            part,
            order: None,
        },
        Access::Computed { names, equal } => Operator::ComputedLabelScan {
            input,
            var,
            names,
            equal,
        },
        Access::Id { form, value, any } => Operator::NodeByIdSeek {
            input,
            var,
            form,
            value,
            any,
        },
    }
}

/// Conditions on the list of a variable-length relationship that are conditions on each of them.
/// `SHORTEST` and its kin select before the `WHERE` behind them; `shortestPath()` does not.
fn each_conditions(graph: &mut QueryGraph) {
    let after = !mutant::active(Mutant::ConditionsBeforeShortest);
    let selects = |edge: &Edge| after && edge.shortest.is_some_and(|shortest| shortest.closed);
    let conditions = std::mem::take(&mut graph.predicates);
    for condition in conditions {
        if !graph.decided_on_each(&condition, |edge| !selects(edge)) {
            graph.predicates.push(condition);
        }
    }
}

/// Whether every node of the pattern is reached from every other one, or from a node of the row.
fn is_connected(graph: &QueryGraph, bound: &BTreeSet<VarId>) -> bool {
    let mut reached: BTreeSet<VarId> = graph.nodes.iter().copied().collect();
    reached.retain(|node| bound.contains(node));
    if reached.is_empty() {
        reached.extend(graph.nodes.first());
    }
    loop {
        let before = reached.len();
        for edge in &graph.edges {
            if reached.contains(&edge.from) || reached.contains(&edge.to) {
                reached.extend([edge.from, edge.to]);
            }
        }
        if reached.len() == before {
            return graph.nodes.iter().all(|node| reached.contains(node));
        }
    }
}
