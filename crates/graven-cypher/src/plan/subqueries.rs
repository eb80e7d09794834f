//! Subqueries of expressions: `EXISTS {}`, `COUNT {}`, `COLLECT {}`, pattern predicates and
//! comprehensions.
//!
//! # How it works
//! A condition that is an existence test alone becomes a semi-join. Any other use is computed
//! before the expression: a count of at most one row, a count, or a collected list, joined to the
//! row by `Apply`. Values are collected as one-element lists, since `collect` skips null and a
//! comprehension must not. A subquery of a branch that not every row takes begins with a filter by
//! its guard, so that it does not run, nor fail, for the others.

use std::collections::BTreeSet;

use super::builder::{Builder, Partial, aggregate_call, node};
use super::expression::{AggregateFunction, BinaryOp, Expr, Literal, UnaryOp};
use super::{Operator, VarId, VarKind};
use crate::bind::binary;
use crate::bind::graph::{BoundQuery, Step, Subquery, SubqueryValue};
use crate::cost::Hop;
use crate::plan::Direction;
use crate::token::Span;

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

    /// Rows that the subqueries of a condition are expected to find for one row, along each
    /// relationship from what is known.
    pub(crate) fn work_of_subqueries(&self, condition: &Expr) -> f64 {
        let variables = condition.variables();
        let asked = variables.iter().filter_map(|var| self.subqueries.get(var));
        asked.map(|subquery| self.work_of(&subquery.query)).sum()
    }

    fn work_of(&self, query: &BoundQuery) -> f64 {
        /// No subquery is taken for more expensive.
        const WORK_MAX: f64 = 1000.0;
        let steps = query.branches.iter().flat_map(|branch| &branch.steps);
        let mut work = 1.0;
        for step in steps {
            let (Step::Match(graph) | Step::OptionalMatch(graph)) = step else {
                continue;
            };
            let mut rows = 1.0;
            for edge in &graph.edges {
                rows *= self.cost.fanout(Hop {
                    types: &edge.types,
                    direction: Direction::Both,
                    near: None,
                    far: None,
                });
                work += rows;
            }
        }
        work.min(WORK_MAX)
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
