//! Subqueries of expressions: `EXISTS {}`, `COUNT {}`, `COLLECT {}`, pattern predicates and
//! comprehensions.
//!
//! # How it works
//! A condition that is an existence test alone becomes a semi-join. Any other use is computed
//! before the expression: a count of at most one row, a count, or a collected list, joined to the
//! row by `Apply`. Values are collected as one-element lists, since `collect` skips null and a
//! comprehension must not. A subquery of a branch that not every row takes begins with a filter by
//! its guard, so that it does not run, nor fail, for the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::builder::{Builder, Partial, aggregate_call, node};
use super::expression::{AggregateFunction, BinaryOp, Expr, Literal, UnaryOp};
use super::order::{Ordered, Problem, Waiting, label_conditions};
use super::share::{Owners, Pattern, shares};
use super::{Operator, VarId, VarKind};
use crate::bind::binary;
use crate::bind::graph::{Edge, QueryGraph, Step, Subquery, SubqueryValue};
use crate::cost::Cost;
use crate::plan::variables::is_volatile;
use crate::token::Span;

/// What is known of the row around a subquery.
struct Around {
    /// Labels of its nodes.
    labels: BTreeMap<VarId, Vec<Arc<str>>>,
    /// Relationships that they were found by.
    followed: Vec<Edge>,
}

impl Builder<'_> {
    /// Variables that must be there before an expression can be computed: those it reads, and for
    /// each of its subqueries what that imports.
    pub(crate) fn needs(&self, expr: &Expr) -> BTreeSet<VarId> {
        let mut needs = BTreeSet::new();
        for var in expr.variables() {
            match self.subqueries.get(&var) {
                Some(subquery) => {
                    // What it imports of other subqueries comes from the same row.
                    let imports = subquery.imports.iter();
                    needs.extend(imports.filter(|var| !self.subqueries.contains_key(var)));
                }
                None => {
                    needs.insert(var);
                }
            }
        }
        needs
    }

    /// Whether the expression contains a subquery that is not computed yet.
    pub(crate) fn has_subquery(&self, expr: &Expr) -> bool {
        expr.variables()
            .iter()
            .any(|var| self.subqueries.contains_key(var))
    }

    /// Whether it may have another value each time, also because of a subquery.
    pub(crate) fn differs(&self, expr: &Expr) -> bool {
        let variables = expr.variables();
        let mut asked = variables.iter().filter_map(|var| self.subqueries.get(var));
        is_volatile(expr) || asked.any(|subquery| subquery.differs)
    }

    /// Puts the conditions of a pattern in the order of what their subqueries are expected to do
    /// for a row of it, which it gives.
    pub(crate) fn cheap_first(&self, graph: &mut QueryGraph) -> Vec<f64> {
        if !graph.predicates.iter().any(|it| self.has_subquery(it)) {
            return vec![0.0; graph.predicates.len()];
        }
        let around = Around {
            labels: self.labels_with(graph),
            followed: self.followed.iter().chain(&graph.edges).cloned().collect(),
        };
        let conditions = std::mem::take(&mut graph.predicates).into_iter();
        let mut weighed: Vec<(f64, Expr)> = conditions
            .map(|condition| (self.work_of_subqueries(&condition, &around), condition))
            .collect();
        weighed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (works, conditions) = weighed.into_iter().unzip();
        graph.predicates = conditions;
        works
    }

    /// Labels that nodes are known to have, also by this pattern.
    fn labels_with(&self, graph: &QueryGraph) -> BTreeMap<VarId, Vec<Arc<str>>> {
        let mut labels = self.labels.clone();
        for node in &graph.nodes {
            let own = label_conditions(&graph.predicates, *node).into_iter();
            labels
                .entry(*node)
                .or_default()
                .extend(own.map(|(_, label)| label));
        }
        labels
    }

    /// Rows that the subqueries of a condition are expected to make for one row.
    fn work_of_subqueries(&self, condition: &Expr, around: &Around) -> f64 {
        let variables = condition.variables();
        let asked = variables.iter().filter_map(|var| self.subqueries.get(var));
        asked.map(|subquery| self.work_of(subquery, around)).sum()
    }

    /// Rows of all steps by which the patterns of a subquery are found for one row. Subqueries in
    /// it count as one row each.
    fn work_of(&self, subquery: &Subquery, around: &Around) -> f64 {
        /// No subquery is taken for more expensive.
        const WORK_MAX: f64 = 1e6;
        let mut work = 1.0;
        for branch in &subquery.query.branches {
            let mut bound: BTreeSet<VarId> = subquery.imports.iter().copied().collect();
            let mut rows: f64 = 1.0;
            for step in &branch.steps {
                let (Step::Match(graph) | Step::OptionalMatch(graph)) = step else {
                    continue;
                };
                let way = self.way_of(graph, &bound, rows, around);
                work += way.iter().map(|ordered| ordered.rows).sum::<f64>();
                rows = way.last().map_or(rows, |last| last.left).max(1.0);
                bound.extend(graph.variables());
            }
        }
        work.min(WORK_MAX)
    }

    /// The cheapest way to find a pattern of a subquery; none where a pattern waits for what is not
    /// known here.
    fn way_of(
        &self,
        graph: &QueryGraph,
        bound: &BTreeSet<VarId>,
        rows: f64,
        around: &Around,
    ) -> Vec<Ordered> {
        let needs: Vec<BTreeSet<VarId>> = graph.predicates.iter().map(|p| self.needs(p)).collect();
        let found = graph.variables();
        let mut bound = bound.clone();
        // What other clauses make is there.
        bound.extend(needs.iter().flatten().filter(|var| !found.contains(*var)));
        let edges = graph.edges.iter().enumerate();
        let solved: Vec<usize> = edges.filter(|(_, e)| e.bound).map(|(idx, _)| idx).collect();
        let ends = solved.iter().map(|idx| &graph.edges[*idx]);
        bound.extend(ends.flat_map(|edge| [edge.from, edge.to]));
        let owners = Owners {
            variables: &self.variables,
            labels: &around.labels,
            pattern: Some(Pattern::of(graph)),
        };
        let waiting = shares(&self.cost, &owners, &graph.predicates)
            .into_iter()
            .zip(needs);
        let waiting = waiting.map(|(share, variables)| Waiting {
            variables,
            share,
            work: 0.0,
        });
        let waiting: Vec<Waiting> = waiting.collect();
        let inside = vec![BTreeSet::new(); graph.edges.len()];
        let problem = Problem {
            cost: Cost {
                schema: self.cost.schema,
            },
            graph,
            waiting: &waiting,
            bound: &bound,
            known_labels: &around.labels,
            followed: &around.followed,
            inside: &inside,
            solved_edges: &solved,
            rows,
            joinable: None,
        };
        problem.solve().unwrap_or_default()
    }

    /// Handles a condition that is `EXISTS` or `NOT EXISTS` alone.
    pub(crate) fn semi_apply(&mut self, partial: &mut Partial, predicate: &Expr) -> bool {
        let (var, anti) = match predicate {
            Expr::Variable(var) => (*var, false),
            Expr::Unary {
                op: UnaryOp::Not,
                operand,
                ..
            } => match **operand {
                Expr::Variable(var) => (var, true),
                _ => return false,
            },
            _ => return false,
        };
        let exists = self
            .subqueries
            .get(&var)
            .is_some_and(|s| matches!(s.kind, SubqueryValue::Exists) && s.guard.is_none());
        if !exists {
            return false;
        }
        let Subquery { query, imports, .. } = self.subqueries.remove(&var).expect("just seen");
        self.attach_imports(partial, &imports);
        let inner = self.for_rows(partial.rows(), |own| own.query(query, &imports));
        let rows = partial.rows() * 0.5;
        partial.push(rows, |input| Operator::SemiApply {
            input,
            inner: Box::new(inner.root),
            anti,
        });
        true
    }

    /// Computes the subqueries of expressions below the operator that will evaluate them.
    pub(crate) fn attach<'e>(
        &mut self,
        partial: &mut Partial,
        exprs: impl IntoIterator<Item = &'e mut Expr>,
    ) {
        let wanted: BTreeSet<VarId> = exprs.into_iter().flat_map(|e| e.variables()).collect();
        for var in wanted {
            if let Some(subquery) = self.subqueries.remove(&var) {
                self.compute(partial, var, subquery);
                partial.bound.insert(var);
            }
        }
    }

    /// Computes the subqueries that a subquery reads.
    fn attach_imports(&mut self, partial: &mut Partial, imports: &[VarId]) {
        let mut read: Vec<Expr> = imports.iter().map(|var| Expr::Variable(*var)).collect();
        self.attach(partial, read.iter_mut());
    }

    fn compute(&mut self, partial: &mut Partial, var: VarId, subquery: Subquery) {
        let Subquery {
            kind,
            query,
            imports,
            guard,
            ..
        } = subquery;
        self.attach_imports(partial, &imports);
        let mut inner = self.for_rows(partial.rows(), |own| own.query(query, &imports));
        if let Some(predicate) = guard {
            let row = match imports.is_empty() {
                true => Operator::Unit,
                false => Operator::Argument { vars: imports },
            };
            let input = Box::new(node(row, 1.0));
            let asked = Box::new(node(Operator::Filter { input, predicate }, 1.0));
            let rows = inner.rows();
            inner.push(rows, |inner| Operator::Apply {
                input: asked,
                inner,
            });
        }
        let (call, result, value) = match kind {
            SubqueryValue::Count => (
                aggregate_call(AggregateFunction::CountStar, None),
                var,
                None,
            ),
            SubqueryValue::Exists => {
                let count = Expr::Literal(Literal::Integer(1));
                inner.push(1.0, |input| Operator::Limit { input, count });
                let found = self.new_variable("  found", VarKind::Value);
                let zero = Expr::Literal(Literal::Integer(0));
                let value = binary(BinaryOp::Greater, Expr::Variable(found), zero);
                (
                    aggregate_call(AggregateFunction::CountStar, None),
                    found,
                    Some(value),
                )
            }
            SubqueryValue::Collect(mut item) => {
                self.attach(&mut inner, [&mut item]);
                let list = self.new_variable("  collected", VarKind::Value);
                let wrapped = self.new_variable("  wrapped", VarKind::Value);
                let first = Expr::Index {
                    base: Box::new(Expr::Variable(wrapped)),
                    index: Box::new(Expr::Literal(Literal::Integer(0))),
                    at: Span::default(),
                };
                let value = Expr::ListComprehension {
                    var: wrapped,
                    list: Box::new(Expr::Variable(list)),
                    filter: None,
                    map: Some(Box::new(first)),
                    at: Span::default(),
                };
                let call = aggregate_call(AggregateFunction::Collect, Some(Expr::List(vec![item])));
                (call, list, Some(value))
            }
        };
        inner.push(1.0, |input| Operator::Aggregate {
            input,
            keys: Vec::new(),
            aggregates: vec![(result, call)],
        });
        let rows = partial.rows();
        partial.push(rows, |input| Operator::Apply {
            input,
            inner: Box::new(inner.root),
        });
        if let Some(value) = value {
            partial.push(rows, |input| Operator::Extend {
                input,
                items: vec![(var, value)],
            });
        }
    }
}
