//! Patterns to operators, in the order that `plan/order.rs` found.
//!
//! # How it works
//! A relationship that is bound already gives its ends first. Then every step of the order becomes
//! one operator ([`relationships`] for those that follow one), and every condition is put right
//! after the step that makes it decidable, or after a later one where the order says that its
//! subquery waits. What differs each time is decided for each match, on top of all. Shortest paths
//! that must pass conditions come last ([`tested`]).
//!
//! # Invariants
//! * CY-69 Every condition of a pattern is applied by its end: none waits for what never comes.

mod relationships;
mod tested;

use crate::plan::join::Pending;
use std::collections::BTreeSet;

use super::builder::{Builder, Partial, node};
use super::expression::{Expr, UnaryOp};
use super::forced::{self, Joins};
use super::join::Split;
use super::mutant::{self, Mutant};
use super::order::{self, Joinable, OrderStep, Ordered, Problem, Waiting};
use super::share::{Owners, Pattern, shares};
use super::{Operator, VarId, VarKind};
use crate::bind::graph::{Edge, QueryGraph};
use crate::bind::unary;
use crate::plan::candidate::Access;

impl Builder<'_> {
    /// Puts the operators that find a pattern on top.
    pub(crate) fn pattern(&mut self, partial: &mut Partial, mut graph: QueryGraph) {
        each_conditions(&mut graph);
        let tested = tested::take(&mut graph, &|condition| self.needs(condition));
        // What differs each time is decided for each match.
        let differs =
            |it: &mut Expr| self.differs(it) && !mutant::active(Mutant::ConditionsDifferEarly);
        let differing: Vec<_> = graph.predicates.extract_if(.., differs).collect();
        let works = self.cheap_first(&mut graph);
        let needs: Vec<BTreeSet<VarId>> = graph.predicates.iter().map(|p| self.needs(p)).collect();
        let conditions = graph.predicates.iter().cloned().map(Some).collect();
        let mut pending = Pending {
            conditions,
            needs,
            works,
            deferred: BTreeSet::new(),
        };
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
        let joins = forced::joins(self.cost.schema.joins_always());
        let way = self.order(partial, &graph, &pending, &solved, joins);
        self.parts(partial, &graph, way, &mut solved, &mut pending);
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
        self.followed.extend(graph.edges);
        for tested in tested {
            self.tested(partial, tested);
        }
        for condition in differing {
            self.filter(partial, condition);
        }
    }

    /// The steps of an order, with a hash join wherever a part begins that is found by itself.
    fn parts(
        &mut self,
        partial: &mut Partial,
        graph: &QueryGraph,
        mut way: Vec<Ordered>,
        solved: &mut Vec<usize>,
        pending: &mut Pending,
    ) {
        let free = partial.bound.is_empty();
        loop {
            let split = self.join_split(partial, graph, pending, &way, solved, free);
            let Some(split) = split else {
                return self.steps(partial, graph, way, solved, pending);
            };
            let rest = way.split_off(split.to);
            let second = way.split_off(split.at);
            self.joined(partial, graph, (way, second), split, solved, pending);
            way = rest;
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
        let last = second.last().expect("a part has a step");
        let (rows, left) = (last.rows, last.left);
        let second = second.into_iter().map(|ordered| {
            let (rows, left) = ordered.alone.unwrap_or((ordered.rows, ordered.left));
            Ordered {
                rows,
                left,
                ..ordered
            }
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
        partial.root.estimated_rows = left;
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
        for Ordered {
            step,
            rows,
            left,
            deferred,
            ..
        } in way
        {
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
            pending.deferred = deferred;
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
        joins: Joins,
    ) -> Vec<Ordered> {
        let owners = Owners {
            variables: &self.variables,
            labels: &self.labels,
            pattern: Some(Pattern::of(graph)),
        };
        let waiting: Vec<Waiting> = shares(&self.cost, &owners, &graph.predicates)
            .into_iter()
            .zip(&pending.needs)
            .zip(&pending.works)
            .map(|((share, needs), work)| Waiting {
                variables: needs.clone(),
                share,
                work: *work,
            })
            .collect();
        let always = joins == Joins::Always;
        let handed_in = match joins {
            Joins::Never => None,
            _ => self.joins(partial, always),
        };
        let joinable = handed_in.map(|handed_in| Joinable {
            handed_in,
            always,
            equalities: self.equalities(pending),
        });
        let found = graph.variables();
        let inside = graph.edges.iter().map(|edge| {
            let repeated = edge.repeated.iter();
            let conditions = repeated.flat_map(|repeated| repeated.conditions());
            let read = conditions.flat_map(|condition| self.needs(condition));
            read.filter(|var| found.contains(var)).collect()
        });
        let inside: Vec<BTreeSet<VarId>> = inside.collect();
        let problem = Problem {
            cost: crate::cost::Cost {
                schema: self.cost.schema,
            },
            graph,
            waiting: &waiting,
            bound: &partial.bound,
            known_labels: &self.labels,
            followed: &self.followed,
            inside: &inside,
            solved_edges: solved,
            rows: partial.rows(),
            joinable: joinable.as_ref(),
        };
        problem
            .solve()
            .expect("a way exists: edges whose conditions wait are checked by `bind`")
    }

    /// Puts every condition on top that can be decided now.
    fn decidable(&mut self, partial: &mut Partial, pending: &mut Pending) {
        // Plain conditions first: they are cheaper than subqueries.
        for with_subquery in [false, true] {
            for idx in 0..pending.conditions.len() {
                let ready = pending.needs[idx].is_subset(&partial.bound)
                    && !pending.deferred.contains(&idx);
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
