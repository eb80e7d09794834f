//! Parts of a pattern that only an equality joins: each is matched by itself, and a hash join
//! brings them together.
//!
//! # How it works
//! An order of steps that begins anew in the middle, with a node found without anything known
//! before, falls into parts where that pays (`plan/order/part.rs`). If conditions say `left =
//! right` with one side computable from what is before that place, and one from the steps behind it
//! that do not look back, both sides become variables to join on. What follows these steps goes on
//! from the joined rows, and may be joined again. The conditions stay and judge the joined rows, so
//! that what a hash table takes for equal and the language does not (null, not a number) is told
//! apart.
//!
//! In an inner tree (`OPTIONAL MATCH`, a subquery) the rows that are handed in, and what is found
//! from them, are such a first part: the second one is found once and joined with all of them,
//! instead of being looked for again for each. Rows without a match are the business of the
//! operator around the tree.
//!
//! # Invariants
//! * CY-55 No relationship of one part must differ from one of the other.
//! * CY-64 The second part does not depend on when it is found, which may be before the first one:
//!   nothing below writes, and in an inner tree nothing is written at all. Volatile conditions
//!   stand above the whole pattern.

use std::collections::BTreeSet;

use super::VarId;
use super::builder::{Builder, Partial};
use super::expression::{BinaryOp, Expr};
use super::mutant::{self, Mutant};
use super::order::{OrderStep, Ordered};
use crate::bind::graph::QueryGraph;

/// Conditions not applied yet, with the variables they wait for.
pub(super) struct Pending {
    pub(super) conditions: Vec<Option<Expr>>,
    pub(super) needs: Vec<BTreeSet<VarId>>,
    /// Rows that the subqueries of each make for one row.
    pub(super) works: Vec<f64>,
    /// Those that could be decided, and wait for a later step.
    pub(super) deferred: BTreeSet<usize>,
}

impl Pending {
    /// Drops the equalities.
    pub(super) fn forget_equalities(&mut self) {
        for condition in &mut self.conditions {
            let equals = |e: &Expr| {
                matches!(
                    e,
                    Expr::Binary {
                        op: BinaryOp::Equal,
                        ..
                    }
                )
            };
            condition.take_if(|condition| equals(condition));
        }
    }

    /// Drops the conditions that read nothing but `node`.
    pub(super) fn forget_alone(&mut self, node: VarId) {
        for (condition, needs) in self.conditions.iter_mut().zip(&self.needs) {
            if needs.iter().eq([&node]) {
                *condition = None;
            }
        }
    }
}

/// Where an order falls into parts, and what must be equal.
pub(super) struct Split {
    /// First step of the second part.
    pub at: usize,
    /// The step behind it.
    pub to: usize,
    /// Expressions over the first and the second part.
    pub keys: Vec<(Expr, Expr)>,
    /// Whether the first part is expected to be the smaller one.
    pub first_is_smaller: bool,
}

impl Builder<'_> {
    /// Rows that are handed in to the pattern, where a part that is found once may serve them all;
    /// `None` where no part may be found apart from the others.
    pub(super) fn joins(&self, partial: &Partial, always: bool) -> Option<f64> {
        let is_inner = !partial.bound.is_empty() && (self.is_inner || always);
        if is_inner && self.writes || partial.root.writes() {
            return None;
        }
        Some(if is_inner { self.handed_in } else { 1.0 })
    }

    /// The first place where the order is to be split, if there is one; `solved` are the edges that
    /// were found before, `free`: nothing was.
    pub(super) fn join_split(
        &self,
        partial: &Partial,
        graph: &QueryGraph,
        pending: &Pending,
        way: &[Ordered],
        solved: &[usize],
        free: bool,
    ) -> Option<Split> {
        let mut before: BTreeSet<VarId> = partial.bound.clone();
        let mut rows = partial.rows();
        for at in 0..way.len() {
            if at > 0 {
                before.extend(found(graph, &way[at - 1].step));
                rows = way[at - 1].left;
            }
            if !way[at].begins_part {
                continue;
            }
            let part = self.second_part(graph, pending, way, at, &before, solved);
            let Some((to, keys)) = part else {
                continue;
            };
            let second_rows = way[to - 1].alone.map_or(rows, |(_, left)| left);
            return Some(Split {
                at,
                to,
                keys,
                first_is_smaller: free && rows < second_rows,
            });
        }
        None
    }

    /// The steps from `at` on that need nothing of those before: up to the next node that is found
    /// by itself, or where the order says so. The step behind them, and the equalities.
    fn second_part(
        &self,
        graph: &QueryGraph,
        pending: &Pending,
        way: &[Ordered],
        at: usize,
        before: &BTreeSet<VarId>,
        solved: &[usize],
    ) -> Option<(usize, Vec<(Expr, Expr)>)> {
        let mut after = BTreeSet::new();
        let mut best = None;
        for (to, ordered) in way.iter().enumerate().skip(at) {
            if to > at && matches!(ordered.step, OrderStep::Find { .. }) {
                break;
            }
            after.extend(found(graph, &ordered.step));
            if !stands_alone(graph, &ordered.step, &after)
                || !after.is_disjoint(before)
                || shares_relationships(graph, solved, &way[..at], &ordered.step)
            {
                break;
            }
            let keys = self.keys(pending, before, &after);
            if !keys.is_empty() {
                best = Some((to + 1, keys));
            }
            if ordered.ends_part {
                break;
            }
        }
        best
    }

    /// Equalities that rows may be joined on, of two sides that both read something.
    fn equal_sides<'p>(&self, pending: &'p Pending) -> Vec<(&'p Expr, &'p Expr)> {
        let mut sides = Vec::new();
        for condition in pending.conditions.iter().flatten() {
            if let Expr::Binary {
                op: BinaryOp::Equal,
                left,
                right,
                ..
            } = condition
                && !self.has_subquery(condition)
                && !left.variables().is_empty()
                && !right.variables().is_empty()
            {
                sides.push((&**left, &**right));
            }
        }
        sides
    }

    /// What both sides of each such equality read.
    pub(super) fn equalities(&self, pending: &Pending) -> Vec<(BTreeSet<VarId>, BTreeSet<VarId>)> {
        let sides = self.equal_sides(pending).into_iter();
        sides
            .map(|(left, right)| (left.variables(), right.variables()))
            .collect()
    }

    /// Equalities between the two parts.
    fn keys(
        &self,
        pending: &Pending,
        before: &BTreeSet<VarId>,
        after: &BTreeSet<VarId>,
    ) -> Vec<(Expr, Expr)> {
        let mut keys = Vec::new();
        for (left, right) in self.equal_sides(pending) {
            let (of_left, of_right) = (left.variables(), right.variables());
            if of_left.is_subset(before) && of_right.is_subset(after) {
                keys.push((left.clone(), right.clone()));
            } else if of_right.is_subset(before) && of_left.is_subset(after) {
                keys.push((right.clone(), left.clone()));
            }
        }
        keys
    }
}

/// Variables that a step binds.
fn found(graph: &QueryGraph, step: &OrderStep) -> Vec<VarId> {
    match step {
        OrderStep::Find { node, .. } => vec![*node],
        OrderStep::Follow { edge, .. } | OrderStep::Check { edge } => {
            let edge = &graph.edges[*edge];
            [edge.from, edge.to]
                .into_iter()
                .chain(edge.made())
                .collect()
        }
    }
}

/// Whether a step of the second part needs nothing of the first.
fn stands_alone(graph: &QueryGraph, step: &OrderStep, after: &BTreeSet<VarId>) -> bool {
    match step {
        OrderStep::Find { by, .. } => by.access.reads().is_subset(after),
        OrderStep::Follow { edge, .. } | OrderStep::Check { edge } => {
            let edge = &graph.edges[*edge];
            let filters = edge.filters.iter();
            let mut read = filters.flat_map(|filter| filter.variables());
            let own = read.all(|var| var == edge.each || after.contains(&var));
            // What repeats may read what is around it.
            own && edge.repeated.iter().all(|repeated| {
                let inside = repeated.graph.variables();
                let each = repeated.graph.edges.iter().map(|edge| edge.each);
                let inside: BTreeSet<VarId> = inside.into_iter().chain(each).collect();
                let mut read = repeated.conditions().flat_map(Expr::variables);
                read.all(|var| inside.contains(&var))
            })
        }
    }
}

/// CY-55; relationships that are bound or solved already belong to the first part.
fn shares_relationships(
    graph: &QueryGraph,
    solved: &[usize],
    first: &[Ordered],
    step: &OrderStep,
) -> bool {
    let edge = |step: &OrderStep| match step {
        OrderStep::Follow { edge, .. } | OrderStep::Check { edge } => Some(*edge),
        OrderStep::Find { .. } => None,
    };
    if mutant::active(Mutant::HashJoinSharedRelationships) {
        return false;
    }
    let Some(own) = edge(step) else { return false };
    let bound = (0..graph.edges.len()).filter(|idx| graph.edges[*idx].bound);
    let mut others = first
        .iter()
        .filter_map(|ordered| edge(&ordered.step))
        .chain(solved.iter().copied())
        .chain(bound);
    others.any(|other| graph.edges[other].differs(&graph.edges[own]))
}
