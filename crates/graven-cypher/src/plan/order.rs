//! The order of a pattern: which node is found first, which relationship is followed when.
//!
//! # How it works
//! Dynamic programming over sets of solved parts: a state is the set of nodes and relationships found so far
//! with the cheapest way there; from it a node may be found by an access path, a relationship followed
//! to a new node, or checked between two known ones. States are taken by size; of each size only the
//! cheapest [`BEAM`] survive, which makes small patterns exact and large ones fast. A node in
//! no connection with what is solved is scanned only when nothing else is left or a seek finds it.
//!
//! # Costs
//! The cost of a way is the sum of the rows its steps produce before conditions thin them out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::access::{self, Candidate};
use super::expression::{BinaryOp, Expr};
use super::{Direction, VarId};
use crate::bind::graph::{Edge, QueryGraph};
use crate::cost::{Cost, Hop};

/// States kept per size.
const BEAM: usize = 48;

/// A seek that yields at most this many rows may start a second way into a connected pattern.
const SEEK_ROWS_MAX: f64 = 16.0;

/// One step of the chosen order.
#[derive(Clone, Debug)]
pub(crate) enum OrderStep {
    Find {
        node: VarId,
        by: Candidate,
    },
    /// Follow the edge; `forward` from its `from` end.
    Follow {
        edge: usize,
        forward: bool,
    },
    /// Check the edge between two known nodes.
    Check {
        edge: usize,
    },
}

/// A step and the rows after it, before the conditions that it makes decidable.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    pub step: OrderStep,
    pub rows: f64,
}

/// What a condition waits for.
pub(crate) struct Waiting {
    pub variables: BTreeSet<VarId>,
    pub share: f64,
}

/// A pattern prepared for the search.
pub(crate) struct Problem<'a> {
    pub cost: Cost<'a>,
    pub graph: &'a QueryGraph,
    /// Per condition of the graph what it needs; subqueries are replaced by what they read.
    pub waiting: &'a [Waiting],
    /// Variables bound before the pattern.
    pub bound: &'a BTreeSet<VarId>,
    /// Labels known of nodes bound before.
    pub known_labels: &'a BTreeMap<VarId, Vec<Arc<str>>>,
    /// Edges that are solved already (their relationship is bound).
    pub solved_edges: &'a [usize],
    pub rows: f64,
}

#[derive(Clone)]
struct State {
    nodes: BTreeSet<VarId>,
    edges: BTreeSet<usize>,
    rows: f64,
    cost: f64,
    way: Vec<Ordered>,
}

impl Problem<'_> {
    /// The cheapest order found; `None` if the pattern's conditions wait for each other in a circle.
    pub(crate) fn solve(&self) -> Option<Vec<Ordered>> {
        let nodes: BTreeSet<VarId> = self
            .graph
            .nodes
            .iter()
            .copied()
            .filter(|n| self.bound.contains(n))
            .collect();
        let edges: BTreeSet<usize> = self.solved_edges.iter().copied().collect();
        let start = State {
            nodes,
            edges,
            rows: self.rows.max(1.0),
            cost: 0.0,
            way: Vec::new(),
        };
        let goal = self.graph.nodes.len() + self.graph.edges.len();
        let mut by_size: BTreeMap<usize, Vec<State>> = BTreeMap::new();
        by_size.insert(start.nodes.len() + start.edges.len(), vec![start]);
        while let Some((size, mut states)) = by_size.pop_first() {
            states.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            if size == goal {
                return states.into_iter().next().map(|s| s.way);
            }
            let mut seen: BTreeSet<(BTreeSet<VarId>, BTreeSet<usize>)> = BTreeSet::new();
            for state in states {
                if seen.len() >= BEAM || !seen.insert((state.nodes.clone(), state.edges.clone())) {
                    continue;
                }
                for next in self.successors(&state) {
                    by_size
                        .entry(next.nodes.len() + next.edges.len())
                        .or_default()
                        .push(next);
                }
            }
        }
        None
    }

    /// Variables available in a state.
    fn available(&self, state: &State) -> BTreeSet<VarId> {
        let mut available = self.bound.clone();
        available.extend(&state.nodes);
        available.extend(state.edges.iter().map(|&e| self.graph.edges[e].rel));
        available
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let available = self.available(state);
        let mut next = Vec::new();
        for (idx, edge) in self.graph.edges.iter().enumerate() {
            let waits = edge.filters.iter().any(|f| {
                !f.variables()
                    .iter()
                    .all(|v| *v == edge.each || available.contains(v))
            });
            if state.edges.contains(&idx) || waits {
                continue;
            }
            match (
                state.nodes.contains(&edge.from),
                state.nodes.contains(&edge.to),
            ) {
                (true, true) => next.push(self.check(state, idx, &available)),
                (true, false) => next.push(self.follow(state, idx, true, &available)),
                (false, true) => next.push(self.follow(state, idx, false, &available)),
                (false, false) => {}
            }
        }
        let stuck = next.is_empty();
        for &node in &self.graph.nodes {
            if state.nodes.contains(&node) {
                continue;
            }
            for candidate in self.candidates(node, &available) {
                let seek = !matches!(
                    candidate.access,
                    access::Access::All | access::Access::Label(_)
                );
                if stuck || (seek && candidate.rows <= SEEK_ROWS_MAX) {
                    next.push(self.find(state, node, candidate, &available));
                }
            }
        }
        next
    }

    fn candidates(&self, node: VarId, available: &BTreeSet<VarId>) -> Vec<Candidate> {
        let labels = label_conditions(&self.graph.predicates, node);
        access::candidates(&self.cost, node, &self.graph.predicates, &labels, available)
    }

    fn find(&self, state: &State, node: VarId, by: Candidate, before: &BTreeSet<VarId>) -> State {
        let rows = state.rows * by.rows.max(0.01);
        let mut next = state.clone();
        next.nodes.insert(node);
        let covered = by.covers.clone();
        self.finish(
            next,
            OrderStep::Find { node, by },
            rows,
            rows,
            before,
            &covered,
        )
    }

    fn follow(&self, state: &State, idx: usize, forward: bool, before: &BTreeSet<VarId>) -> State {
        let edge = &self.graph.edges[idx];
        let (near, far) = if forward {
            (edge.from, edge.to)
        } else {
            (edge.to, edge.from)
        };
        let (fan, covered) = self.fan(edge, near, far, forward);
        let rows = state.rows * fan.max(0.01);
        let mut next = state.clone();
        next.nodes.insert(far);
        next.edges.insert(idx);
        self.finish(
            next,
            OrderStep::Follow { edge: idx, forward },
            rows,
            rows,
            before,
            &covered,
        )
    }

    fn check(&self, state: &State, idx: usize, before: &BTreeSet<VarId>) -> State {
        let edge = &self.graph.edges[idx];
        let (fan, _) = self.fan(edge, edge.from, edge.to, true);
        let ends = self.cost.nodes(self.label_of(edge.to).as_deref()).max(1.0);
        let rows = state.rows * (fan / ends).clamp(0.001, 1.0_f64.max(fan / ends));
        // One look at the shorter list for a single relationship, half a search for a longer one.
        let work = if edge.length.is_some() {
            state.rows * (1.0 + fan / 2.0)
        } else {
            state.rows
        };
        let mut next = state.clone();
        next.edges.insert(idx);
        self.finish(
            next,
            OrderStep::Check { edge: idx },
            rows,
            work,
            before,
            &[],
        )
    }

    fn finish(
        &self,
        mut next: State,
        step: OrderStep,
        rows: f64,
        work: f64,
        before: &BTreeSet<VarId>,
        covered: &[usize],
    ) -> State {
        next.way.push(Ordered { step, rows });
        next.cost += work;
        let after = self.available(&next);
        let mut share = 1.0;
        for (idx, waiting) in self.waiting.iter().enumerate() {
            let decidable =
                waiting.variables.is_subset(&after) && !waiting.variables.is_subset(before);
            if decidable && !covered.contains(&idx) {
                share *= waiting.share;
            }
        }
        next.rows = (rows * share).max(1e-3);
        next
    }

    /// Ends per near node, and the label condition of the far end that the number already contains.
    fn fan(&self, edge: &Edge, near: VarId, far: VarId, forward: bool) -> (f64, Vec<usize>) {
        let near_label = self.label_of(near);
        let far_labels = label_conditions(&self.graph.predicates, far);
        let names: Vec<Arc<str>> = far_labels.iter().map(|(_, label)| label.clone()).collect();
        let far_label = self.cost.rarest(&names);
        let direction = match (edge.direction, forward) {
            (Direction::Out, false) => Direction::In,
            (Direction::In, false) => Direction::Out,
            (direction, _) => direction,
        };
        let hop = Hop {
            types: &edge.types,
            direction,
            near: near_label.as_deref(),
            far: far_label,
        };
        let fan = match edge.length {
            None => self.cost.fanout(hop),
            Some((min, max)) => self.cost.trails(hop, min, max),
        };
        let covered = far_labels
            .iter()
            .filter(|(_, label)| Some(&**label) == far_label)
            .map(|(idx, _)| *idx)
            .collect();
        (fan, covered)
    }

    fn label_of(&self, node: VarId) -> Option<String> {
        let mut labels: Vec<Arc<str>> = label_conditions(&self.graph.predicates, node)
            .into_iter()
            .map(|(_, label)| label)
            .collect();
        labels.extend(self.known_labels.get(&node).into_iter().flatten().cloned());
        self.cost.rarest(&labels).map(str::to_owned)
    }
}

/// Conditions that say nothing but that `node` has one label.
pub(crate) fn label_conditions(conditions: &[Expr], node: VarId) -> Vec<(usize, Arc<str>)> {
    let mut found = Vec::new();
    for (idx, condition) in conditions.iter().enumerate() {
        if let Expr::HasLabels { base, labels } = condition
            && **base == Expr::Variable(node)
            && let [label] = &labels[..]
        {
            found.push((idx, label.clone()));
        }
    }
    found
}

/// Share of rows a condition leaves.
pub(crate) fn share(cost: &Cost<'_>, condition: &Expr) -> f64 {
    match condition {
        Expr::HasLabels { labels, .. } => labels.iter().map(|l| cost.label_share(l)).product(),
        Expr::Binary { op, left, right } => match op {
            BinaryOp::Equal => 0.1,
            BinaryOp::In => 0.2,
            BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual => 0.3,
            BinaryOp::NotEqual => 0.9,
            BinaryOp::StartsWith
            | BinaryOp::EndsWith
            | BinaryOp::Contains
            | BinaryOp::RegexMatch => 0.1,
            BinaryOp::And => share(cost, left) * share(cost, right),
            BinaryOp::Or => (share(cost, left) + share(cost, right)).min(1.0),
            _ => 0.5,
        },
        _ => 0.5,
    }
}
