//! Bound query to operator tree, clause by clause.
//!
//! # How it works
//! Each clause puts operators on top of the plan so far. Patterns are ordered by `plan/order.rs`
//! and turned into operators by `plan/patterns.rs`; subqueries of an expression are attached below
//! the operator that evaluates it (CY-21) by `plan/subqueries.rs`. The rules of `plan/rules` then
//! rewrite the whole tree.
//!
//! # Invariants
//! * CY-40 Inside a subquery the variables it imports stay in every row, also above its
//!   projections, up to its last clause.

mod projection;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::expression::{AggregateCall, AggregateFunction, Expr};
use super::share::{Owners, share};
use super::variables::also;
use super::{Operator, PlanNode, VarId, VarKind, Variable};
use crate::bind::graph::{BoundQuery, Branch, Edge, QueryGraph, Step, Subquery};
use crate::cost::{Cost, MOST};
use crate::diagnostic::Notice;
use crate::token::Span;

pub(crate) struct Builder<'a> {
    pub cost: Cost<'a>,
    pub variables: Vec<Variable>,
    pub subqueries: BTreeMap<VarId, Subquery>,
    /// What is asked of records that `LOAD CSV` reads.
    pub known_columns: BTreeSet<VarId>,
    pub notices: Vec<Notice>,
    /// Labels that bound nodes are known to have.
    pub labels: BTreeMap<VarId, Vec<Arc<str>>>,
    /// Relationships by which nodes were found.
    pub followed: Vec<Edge>,
    /// Rows that the enclosing operators are expected to hand in to the inner tree at hand, all in
    /// all; 1 outside of any.
    pub handed_in: f64,
    /// The tree at hand is an inner one.
    pub is_inner: bool,
    /// The statement changes something.
    pub writes: bool,
}

/// A plan in the making: the operators so far and the variables of their rows.
pub(crate) struct Partial {
    pub root: PlanNode,
    pub bound: BTreeSet<VarId>,
}

impl Partial {
    pub(crate) fn rows(&self) -> f64 {
        self.root.estimated_rows
    }

    /// Puts an operator on top.
    pub(crate) fn push(&mut self, rows: f64, op: impl FnOnce(Box<PlanNode>) -> Operator) {
        let below = std::mem::replace(&mut self.root, node(Operator::Unit, 1.0));
        self.root = node(op(Box::new(below)), rows);
    }
}

/// An operator without its final id.
pub(crate) fn node(op: Operator, rows: f64) -> PlanNode {
    PlanNode {
        id: 0,
        op,
        estimated_rows: rows,
    }
}

impl Builder<'_> {
    pub(crate) fn new_variable(&mut self, name: &str, kind: VarKind) -> VarId {
        let id = VarId(self.variables.len() as u32);
        self.variables.push(Variable {
            name: name.into(),
            kind,
        });
        id
    }

    /// Plans a query on top of a leaf; `carry` are the imports of the subquery it is (CY-40).
    pub(crate) fn query(&mut self, mut query: BoundQuery, carry: &[VarId]) -> Partial {
        if query.branches.len() == 1 {
            let branch = query.branches.pop().expect("one branch");
            return self.branch(branch, carry);
        }
        let outputs: Vec<VarId> = query.columns.iter().map(|(_, var)| *var).collect();
        let mut inputs = Vec::with_capacity(query.branches.len());
        let mut rows = 0.0;
        for branch in query.branches {
            let own = branch.columns.clone();
            let mut partial = self.branch(branch, carry);
            let items = outputs
                .iter()
                .zip(own)
                .map(|(out, own)| (*out, Expr::Variable(own)))
                .collect();
            rows += partial.rows();
            partial.push(partial.rows(), |input| Operator::Project { input, items });
            inputs.push(partial.root);
        }
        let bound: BTreeSet<VarId> = outputs.iter().copied().collect();
        let mut partial = Partial {
            root: node(Operator::Union { inputs }, rows),
            bound,
        };
        if !query.all {
            partial.push(rows, |input| Operator::Distinct {
                input,
                vars: outputs,
                runs: false,
            });
        }
        partial
    }

    fn branch(&mut self, branch: Branch, carry: &[VarId]) -> Partial {
        let leaf = match carry {
            [] => Operator::Unit,
            vars => Operator::Argument {
                vars: vars.to_vec(),
            },
        };
        let mut partial = Partial {
            root: node(leaf, 1.0),
            bound: carry.iter().copied().collect(),
        };
        let last = branch.steps.len().saturating_sub(1);
        for (idx, step) in branch.steps.into_iter().enumerate() {
            // What the last step drops is joined again from outside; it keeps what it reads itself.
            let own = match &step {
                Step::Project(projection) if idx == last => self.carried_within(projection, carry),
                _ => carry.to_vec(),
            };
            self.step(&mut partial, step, &own);
        }
        partial
    }

    pub(crate) fn step(&mut self, partial: &mut Partial, step: Step, carry: &[VarId]) {
        match step {
            Step::Match(graph) => self.pattern(partial, graph),
            Step::OptionalMatch(graph) => self.optional(partial, graph),
            Step::Select {
                graph,
                from,
                to,
                lengths,
                count,
                conditions,
            } => {
                self.selected(partial, graph, |input| Operator::SelectPaths {
                    input,
                    from,
                    to,
                    lengths,
                    count,
                    ordered: false,
                });
                for condition in conditions {
                    self.filter(partial, condition);
                }
            }
            Step::Unwind { mut list, var } => {
                self.attach(partial, [&mut list]);
                let length = match &list {
                    Expr::List(items) => items.len() as f64,
                    _ => 10.0,
                };
                let rows = partial.rows() * length;
                partial.push(rows, |input| Operator::Unwind {
                    input,
                    list,
                    var,
                    last: false,
                });
                partial.bound.insert(var);
            }
            Step::Project(projection) => self.projection(partial, *projection, carry),
            Step::Procedure {
                name,
                mut args,
                yields,
                filter,
                writes,
                at,
            } => {
                self.attach(partial, args.iter_mut());
                let rows = partial.rows() * 10.0;
                partial.bound.extend(yields.iter().map(|(_, var)| *var));
                partial.push(rows, |input| Operator::Procedure {
                    input,
                    name,
                    args,
                    yields,
                    writes,
                    at,
                });
                if let Some(filter) = filter {
                    self.filter(partial, filter);
                }
            }
            Step::Call {
                query,
                copied,
                imports,
                transactions,
                optional,
            } => {
                let columns: Vec<VarId> = query.columns.iter().map(|(_, var)| *var).collect();
                let rows = match transactions {
                    None => partial.rows(),
                    // Each batch sees what those before it have changed.
                    Some(_) => 1.0,
                };
                let mut inner = self.for_rows(rows, |own| own.query(query, &imports));
                if !copied.is_empty() {
                    let rows = inner.rows();
                    inner.push(rows, |input| Operator::Extend {
                        input,
                        items: copied,
                    });
                }
                if columns.is_empty() {
                    // A subquery that returns nothing runs to its end and leaves the row as it is.
                    let ran = self.new_variable("  ran", VarKind::Value);
                    let count = aggregate_call(AggregateFunction::CountStar, None);
                    inner.push(1.0, |input| Operator::Aggregate {
                        input,
                        keys: Vec::new(),
                        aggregates: vec![(ran, count)],
                    });
                }
                let results = match optional {
                    true => inner.rows().max(1.0),
                    false => inner.rows(),
                };
                let rows = partial.rows() * results;
                let inner = Box::new(inner.root);
                partial.bound.extend(columns.iter().copied());
                match transactions {
                    None if optional => partial.push(rows, |input| Operator::Optional {
                        input,
                        inner,
                        nulls: columns,
                    }),
                    None => partial.push(rows, |input| Operator::Apply { input, inner }),
                    Some(mut batches) => {
                        batches.columns = columns;
                        batches.optional = optional;
                        partial.bound.extend(batches.status);
                        partial.push(rows, |input| Operator::InTransactions {
                            input,
                            inner,
                            batches,
                        });
                    }
                }
            }
            Step::LoadCsv {
                mut url,
                headers,
                mut terminator,
                var,
                record,
                at,
            } => {
                let known_columns = |var: VarId| self.known_columns.contains(&var).then_some(var);
                let (line, file) = (known_columns(record.line), known_columns(record.file));
                self.attach(partial, std::iter::once(&mut url).chain(&mut terminator));
                let rows = partial.rows() * 1000.0;
                partial.push(rows, |input| Operator::LoadCsv {
                    input,
                    url,
                    headers,
                    terminator,
                    var,
                    line,
                    file,
                    at,
                });
                partial.bound.insert(var);
                partial.bound.extend(line.into_iter().chain(file));
            }
            Step::LoadFrom {
                source,
                yields,
                bounds,
                rows,
                filter,
                at,
            } => {
                let rows = partial.rows() * rows.map_or(1000.0, |rows| rows as f64);
                partial.bound.extend(yields.iter().map(|(_, var)| *var));
                partial.push(rows, |input| Operator::LoadFrom {
                    input,
                    source,
                    yields,
                    bounds,
                    at,
                });
                for condition in filter {
                    self.filter(partial, condition);
                }
            }
            Step::CopyTo {
                query,
                file,
                options,
                at,
            } => {
                let columns = query.columns.clone();
                *partial = self.query(query, &[]);
                partial.push(0.0, |input| Operator::CopyTo {
                    input,
                    columns,
                    file,
                    options,
                    at,
                });
            }
            Step::Schema(command) => {
                partial.push(0.0, |input| Operator::Schema { input, command });
            }
            step => self.write(partial, step),
        }
    }

    /// The start of an inner tree that looks for a pattern: what the pattern reads of the row.
    pub(crate) fn inner(&self, partial: &Partial, graph: &QueryGraph) -> Partial {
        let mut read: BTreeSet<VarId> = graph.nodes.iter().copied().collect();
        for edge in &graph.edges {
            read.insert(edge.rel);
            for filter in &edge.filters {
                read.extend(filter.variables());
                read.extend(self.needs(filter));
            }
            if let Some(repeated) = &edge.repeated {
                read.extend(repeated.conditions().flat_map(|p| self.needs(p)));
            }
        }
        for predicate in &graph.predicates {
            read.extend(self.needs(predicate));
        }
        let vars: Vec<VarId> = read.intersection(&partial.bound).copied().collect();
        let leaf = match vars.is_empty() {
            true => Operator::Unit,
            false => Operator::Argument { vars: vars.clone() },
        };
        Partial {
            root: node(leaf, 1.0),
            bound: vars.into_iter().collect(),
        }
    }

    /// Plans an inner tree that is run for so many rows.
    pub(crate) fn for_rows<T>(&mut self, rows: f64, plan: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.handed_in, self.is_inner);
        self.handed_in = (self.handed_in * rows.max(1.0)).min(MOST);
        self.is_inner = true;
        let planned = plan(self);
        (self.handed_in, self.is_inner) = before;
        planned
    }

    /// Puts those matches of a pattern on top that `select` selects, row by row.
    pub(crate) fn selected(
        &mut self,
        partial: &mut Partial,
        graph: QueryGraph,
        select: impl FnOnce(Box<PlanNode>) -> Operator,
    ) {
        let mut inner = self.inner(partial, &graph);
        let found = graph.variables();
        self.for_rows(partial.rows(), |own| own.pattern(&mut inner, graph));
        let rows = inner.rows();
        inner.push(rows, select);
        let rows = partial.rows() * inner.rows();
        partial.bound.extend(found);
        partial.push(rows, |input| Operator::Apply {
            input,
            inner: Box::new(inner.root),
        });
    }

    fn optional(&mut self, partial: &mut Partial, graph: QueryGraph) {
        let mut inner = self.inner(partial, &graph);
        let named = graph.variables();
        self.for_rows(partial.rows(), |own| own.pattern(&mut inner, graph));
        let nulls: Vec<VarId> = named.difference(&partial.bound).copied().collect();
        let rows = partial.rows() * inner.rows().max(1.0);
        partial.bound.extend(&nulls);
        partial.push(rows, |input| Operator::Optional {
            input,
            inner: Box::new(inner.root),
            nulls,
        });
    }

    /// Puts a condition on top, as a semi-join where it is a subquery alone.
    pub(crate) fn filter(&mut self, partial: &mut Partial, predicate: Expr) {
        if self.semi_apply(partial, &predicate) {
            return;
        }
        let mut predicate = predicate;
        self.attach(partial, [&mut predicate]);
        let owners = Owners {
            variables: &self.variables,
            labels: &self.labels,
            pattern: None,
        };
        let rows = partial.rows() * share(&self.cost, &owners, &predicate);
        // Neighbouring filters are one operator.
        if let Operator::Filter {
            predicate: below, ..
        } = &mut partial.root.op
        {
            also(below, predicate);
            partial.root.estimated_rows = rows;
            return;
        }
        partial.push(rows, |input| Operator::Filter { input, predicate });
    }
}

/// What a tree takes from the row that it is run for.
fn taken(tree: &PlanNode) -> BTreeSet<VarId> {
    let (mut arguments, mut bound) = (BTreeSet::new(), BTreeSet::new());
    tree.visit(&mut |node| match &node.op {
        Operator::Argument { vars } => arguments.extend(vars),
        op => {
            bound.append(&mut op.binds());
            // These two hand something of their own to their inner trees.
            match op {
                Operator::Repeat { repeat, .. } => bound.extend([repeat.entry]),
                Operator::Foreach { var, .. } => bound.extend([*var]),
                _ => {}
            }
        }
    });
    &arguments - &bound
}

/// An aggregate without a second argument.
pub(crate) fn aggregate_call(function: AggregateFunction, argument: Option<Expr>) -> AggregateCall {
    AggregateCall {
        function,
        argument,
        parameter: None,
        distinct: false,
        at: Span::default(),
    }
}
