//! The order of a pattern: which node is found first, which relationship is followed when.
//!
//! # How it works
//! Dynamic programming over sets of solved parts: a state is the set of nodes and relationships
//! found so far with the cheapest way there; from it a node may be found by an access path, a
//! relationship followed to a new node, or checked between two known ones. States are taken by
//! size; of each size only the cheapest survive ([`BEAM`]), which makes small patterns exact and
//! large ones fast. A node in no connection with what is solved is scanned only when nothing else
//! is left or a seek finds it.
//!
//! # Costs
//! The cost of a way is the sum of the rows its steps produce before conditions thin them out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::access::{self, LIST_LENGTH};
use super::expression::{BinaryOp, Expr};
use super::{Direction, VarId, VarKind, Variable};
use crate::bind::graph::{Edge, QueryGraph};
use crate::cost::{Cost, Hop, Owner};
use crate::plan::candidate::Candidate;
use crate::stop;

/// States kept per size, for patterns of up to 12 and [`SMALL`] parts, and larger ones.
const BEAM: [usize; 3] = [64, 12, 2];

/// Largest pattern in which seeks are tried in the middle.
const SMALL: usize = 40;

/// A seek that yields at most this many rows may start a second way into a connected pattern.
const SEEK_ROWS_MAX: f64 = 16.0;

/// What it takes to look for one relationship between two nodes, in rows.
const CHECK_WORK: f64 = 0.3;

/// One step of the chosen order.
#[derive(Clone, Debug)]
pub(crate) enum OrderStep {
    Find {
        node: VarId,
        by: Box<Candidate>,
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

/// A step and the rows after it.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    pub step: OrderStep,
    /// Before the conditions that it makes decidable.
    pub rows: f64,
    /// After them.
    pub left: f64,
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
    /// What conditions inside each repetition read of the pattern around it.
    pub inside: &'a [BTreeSet<VarId>],
    /// Edges that are solved already (their relationship is bound).
    pub solved_edges: &'a [usize],
    pub rows: f64,
}

/// What the search asks about a node again and again.
struct NodeInfo {
    /// Conditions that are one label each.
    labels: Vec<(usize, Arc<str>)>,
    /// The rarest label known of it, or a likely one.
    label: Option<Arc<str>>,
    /// Some condition compares its id or a property.
    sought: bool,
}

/// A problem with what is known of its nodes.
struct Search<'p> {
    problem: &'p Problem<'p>,
    info: BTreeMap<VarId, NodeInfo>,
    /// Small enough to try seeks anywhere.
    small: bool,
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
    /// The cheapest order found; `None` if the pattern's conditions wait for each other in a
    /// circle.
    pub(crate) fn solve(&self) -> Option<Vec<Ordered>> {
        let info = self
            .graph
            .nodes
            .iter()
            .map(|node| (*node, self.info(*node)))
            .collect();
        let search = Search {
            problem: self,
            info,
            small: self.graph.nodes.len() + self.graph.edges.len() <= SMALL,
        };
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
        let beam = match goal {
            0..=12 => BEAM[0],
            13..=SMALL => BEAM[1],
            _ => BEAM[2],
        };
        let mut by_size: BTreeMap<usize, Vec<State>> = BTreeMap::new();
        by_size.insert(start.nodes.len() + start.edges.len(), vec![start]);
        while let Some((size, mut states)) = by_size.pop_first() {
            states.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            if size == goal {
                return states.into_iter().next().map(|s| s.way);
            }
            let mut seen: BTreeSet<(BTreeSet<VarId>, BTreeSet<usize>)> = BTreeSet::new();
            for state in states {
                if seen.len() >= beam || !seen.insert((state.nodes.clone(), state.edges.clone())) {
                    continue;
                }
                for next in search.successors(&state) {
                    by_size
                        .entry(next.nodes.len() + next.edges.len())
                        .or_default()
                        .push(next);
                }
            }
        }
        None
    }

    fn info(&self, node: VarId) -> NodeInfo {
        let labels = label_conditions(&self.graph.predicates, node);
        let mut names: Vec<Arc<str>> = labels.iter().map(|(_, label)| label.clone()).collect();
        names.extend(self.known_labels.get(&node).into_iter().flatten().cloned());
        let label = match self.cost.rarest(names.iter().map(|name| &**name)) {
            Some(label) => Some(Arc::from(label)),
            None => self.likely_label(node),
        };
        let sought = self
            .graph
            .predicates
            .iter()
            .any(|p| matches!(p, Expr::Binary { .. }) && p.variables().contains(&node));
        NodeInfo {
            labels,
            label,
            sought,
        }
    }

    /// For estimates alone: a label of this pattern that nearly every end of a relationship here
    /// has.
    fn likely_label(&self, node: VarId) -> Option<Arc<str>> {
        let all = |label: &Expr| match label {
            Expr::HasLabels { labels, .. } => labels.first().cloned(),
            _ => None,
        };
        let mut candidates: Vec<Arc<str>> = self.graph.predicates.iter().filter_map(all).collect();
        candidates.extend(self.known_labels.values().flatten().cloned());
        candidates.sort();
        candidates.dedup();
        let schema = self.cost.schema;
        for edge in &self.graph.edges {
            let [rel_type] = &edge.types[..] else {
                continue;
            };
            if edge.from != node && edge.to != node {
                continue;
            }
            let out = (edge.from == node) == (edge.direction != Direction::In);
            let count = |label: Option<&str>| match out {
                true => schema.pattern_count(label, Some(rel_type), None),
                false => schema.pattern_count(None, Some(rel_type), label),
            };
            let total = count(None) as f64;
            let likely =
                |label: &&Arc<str>| total > 0.0 && count(Some(label)) as f64 >= total * 0.95;
            if let Some(label) = candidates.iter().find(likely) {
                return Some(label.clone());
            }
        }
        None
    }
}

impl Search<'_> {
    /// Variables available in a state.
    fn available(&self, state: &State) -> BTreeSet<VarId> {
        let mut available = self.problem.bound.clone();
        available.extend(&state.nodes);
        for edge in state.edges.iter().map(|&e| &self.problem.graph.edges[e]) {
            available.extend(edge.made());
        }
        available
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let available = self.available(state);
        let mut next = Vec::new();
        for (idx, edge) in self.problem.graph.edges.iter().enumerate() {
            let waits = edge.filters.iter().any(|f| {
                !f.variables()
                    .iter()
                    .all(|v| *v == edge.each || available.contains(v))
            });
            let waits = waits || !self.problem.inside[idx].is_subset(&available);
            if state.edges.contains(&idx) || waits {
                continue;
            }
            match (
                state.nodes.contains(&edge.from),
                state.nodes.contains(&edge.to),
            ) {
                (true, true) => next.push(self.check(state, idx, &available)),
                (true, false) | (false, true) if edge.shortest.is_some() => {}
                (true, false) => next.push(self.follow(state, idx, true, &available)),
                (false, true) => next.push(self.follow(state, idx, false, &available)),
                (false, false) => {}
            }
        }
        let stuck = next.is_empty();
        for &node in &self.problem.graph.nodes {
            let tried = stuck || (self.small && self.info[&node].sought);
            if state.nodes.contains(&node) || !tried {
                continue;
            }
            for candidate in self.candidates(node, &available) {
                let seek = candidate.access.is_seek();
                if stuck || (seek && candidate.rows <= SEEK_ROWS_MAX) {
                    next.push(self.find(state, node, candidate, &available));
                }
            }
        }
        next
    }

    fn candidates(&self, node: VarId, available: &BTreeSet<VarId>) -> Vec<Candidate> {
        let labels = &self.info[&node].labels;
        let found = access::candidates(
            &self.problem.cost,
            node,
            &self.problem.graph.predicates,
            labels,
            available,
        );
        access::hinted(found, node, &self.problem.graph.hints)
    }

    fn find(&self, state: &State, node: VarId, by: Candidate, before: &BTreeSet<VarId>) -> State {
        let rows = state.rows * by.rows.max(0.01);
        let mut next = state.clone();
        next.nodes.insert(node);
        let covered = by.covers.clone();
        self.finish(
            next,
            OrderStep::Find {
                node,
                by: Box::new(by),
            },
            rows,
            rows,
            before,
            &covered,
        )
    }

    fn follow(&self, state: &State, idx: usize, forward: bool, before: &BTreeSet<VarId>) -> State {
        let edge = &self.problem.graph.edges[idx];
        let (near, far) = if forward {
            (edge.from, edge.to)
        } else {
            (edge.to, edge.from)
        };
        let (mut fan, covered) = self.fan(edge, near, far, forward);
        let graph = self.problem.graph;
        let reached = |idx: &usize| graph.edges[*idx].from == near || graph.edges[*idx].to == near;
        if edge.length.is_none() && state.edges.iter().any(reached) {
            fan = self
                .problem
                .cost
                .fanout_of_reached(self.hop(edge, near, far, forward), fan);
        }
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
        let edge = &self.problem.graph.edges[idx];
        let (fan, _) = self.fan(edge, edge.from, edge.to, true);
        let ends = self
            .problem
            .cost
            .nodes(self.info[&edge.to].label.as_deref())
            .max(1.0);
        let rows = state.rows * (fan / ends).clamp(0.001, 1.0_f64.max(fan / ends));
        // One look at the shorter list for a single relationship, half a search for a longer one.
        let work = if edge.length.is_some() {
            state.rows * (1.0 + fan / 2.0)
        } else {
            state.rows * CHECK_WORK
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
        next.cost += work;
        let after = self.available(&next);
        let mut share = 1.0;
        for (idx, waiting) in self.problem.waiting.iter().enumerate() {
            let decidable =
                waiting.variables.is_subset(&after) && !waiting.variables.is_subset(before);
            if decidable && !covered.contains(&idx) {
                share *= waiting.share;
            }
        }
        next.rows = (rows * share).max(1e-3);
        next.way.push(Ordered {
            step,
            rows,
            left: next.rows,
        });
        next
    }

    /// The edge as it is followed.
    fn hop<'s>(&'s self, edge: &'s Edge, near: VarId, far: VarId, forward: bool) -> Hop<'s> {
        let direction = match (edge.direction, forward) {
            (Direction::Out, false) => Direction::In,
            (Direction::In, false) => Direction::Out,
            (direction, _) => direction,
        };
        let labels = self.info[&far].labels.iter().map(|(_, label)| &**label);
        Hop {
            types: &edge.types,
            direction,
            near: self.info[&near].label.as_deref(),
            far: self.problem.cost.rarest(labels),
        }
    }

    /// Ends per near node, and the label condition of the far end that the number already contains.
    fn fan(&self, edge: &Edge, near: VarId, far: VarId, forward: bool) -> (f64, Vec<usize>) {
        let far_labels = &self.info[&far].labels;
        let hop = self.hop(edge, near, far, forward);
        let far_label = hop.far;
        let fan = match edge.length {
            None => self.problem.cost.fanout(hop),
            Some((min, max)) => self.problem.cost.trails(hop, min, max),
        };
        let covered = far_labels
            .iter()
            .filter(|(_, label)| Some(&**label) == far_label)
            .map(|(idx, _)| *idx)
            .collect();
        (fan, covered)
    }
}

/// Conditions that say nothing but that `node` has one label.
pub(crate) fn label_conditions(conditions: &[Expr], node: VarId) -> Vec<(usize, Arc<str>)> {
    let mut found = Vec::new();
    for (idx, condition) in conditions.iter().enumerate() {
        if let Expr::HasLabels { base, labels, .. } = condition
            && **base == Expr::Variable(node)
            && let [label] = &labels[..]
        {
            found.push((idx, label.clone()));
        }
    }
    found
}

/// What variables are, as far as shares depend on it.
pub(crate) struct Owners<'a> {
    pub variables: &'a [Variable],
    /// Labels that nodes are known to have.
    pub labels: &'a BTreeMap<VarId, Vec<Arc<str>>>,
    /// The pattern at hand.
    pub pattern: Option<Pattern<'a>>,
}

/// What a pattern says of its variables.
pub(crate) struct Pattern<'a> {
    /// The first label of each test of a node.
    tested: BTreeMap<VarId, Vec<&'a str>>,
    edges: &'a [Edge],
}

impl<'a> Pattern<'a> {
    pub(crate) fn of(graph: &'a QueryGraph) -> Pattern<'a> {
        let mut tested: BTreeMap<VarId, Vec<&str>> = BTreeMap::new();
        for condition in &graph.predicates {
            if let Expr::HasLabels { base, labels, .. } = condition
                && let Expr::Variable(var) = **base
                && let Some(label) = labels.first()
            {
                tested.entry(var).or_default().push(label);
            }
        }
        Pattern {
            tested,
            edges: &graph.edges,
        }
    }
}

impl Owners<'_> {
    fn of<'o>(&'o self, cost: &Cost<'_>, var: VarId) -> Option<Owner<'o>> {
        match self.variables.get(var.0 as usize)?.kind {
            VarKind::Node => {
                let known = self.labels.get(&var).into_iter().flatten();
                let known = known.map(|label| &**label);
                let tested = self.pattern.as_ref().and_then(|it| it.tested.get(&var));
                let tested = tested.into_iter().flatten().copied();
                Some(Owner::Node(cost.rarest(known.chain(tested))))
            }
            VarKind::Relationship => {
                let edge = self.pattern.as_ref()?.edges.iter().find(|edge| {
                    [Some(edge.rel), Some(edge.each), edge.single].contains(&Some(var))
                })?;
                match &edge.types[..] {
                    [only] => Some(Owner::Relationship(only)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// How many different values an expression has, if that is known.
    pub(crate) fn domain(&self, cost: &Cost<'_>, expr: &Expr) -> Option<f64> {
        match expr {
            Expr::Variable(var) => match self.of(cost, *var)? {
                Owner::Node(label) => Some(cost.nodes(label)),
                Owner::Relationship(rel_type) => cost.relationships(rel_type),
            },
            Expr::Property { base, key, .. } => {
                let Expr::Variable(var) = **base else {
                    return None;
                };
                cost.property_values(self.of(cost, var)?, key)
            }
            Expr::Literal(_) | Expr::Parameter(..) => Some(1.0),
            _ => None,
        }
    }

    /// Share of rows that a comparison with a property leaves, if anything is known of the
    /// property.
    fn compared(&self, cost: &Cost<'_>, op: BinaryOp, left: &Expr, right: &Expr) -> Option<f64> {
        let (var, key, op, value) = match (left, right) {
            (Expr::Property { base, key, .. }, value) => (base, key, op, value),
            (value, Expr::Property { base, key, .. }) => (base, key, turned(op)?, value),
            _ => return None,
        };
        let Expr::Variable(var) = **var else {
            return None;
        };
        let value = match value {
            Expr::Literal(value) => Some(value),
            // Neither side is known.
            Expr::Property { .. } if op != BinaryOp::Equal => return None,
            _ => None,
        };
        let owner = self.of(cost, var)?;
        if op == BinaryOp::In {
            let values = match right {
                Expr::List(items) => items.len() as f64,
                _ => LIST_LENGTH,
            };
            let one = cost.property_share(owner, key, BinaryOp::Equal, None)?;
            return Some((one * values).min(1.0));
        }
        cost.property_share(owner, key, op, value)
    }
}

/// The comparison seen from the other side.
fn turned(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal | BinaryOp::NotEqual => op,
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        _ => return None,
    })
}

/// Share of rows a condition leaves.
pub(crate) fn share(cost: &Cost<'_>, owners: &Owners<'_>, condition: &Expr) -> f64 {
    stop::tick();
    if let Expr::Binary {
        op, left, right, ..
    } = condition
        && let Some(share) = owners.compared(cost, *op, left, right)
    {
        return share;
    }
    let share = |condition: &Expr| share(cost, owners, condition);
    match condition {
        Expr::HasLabels { labels, .. } => labels.iter().map(|l| cost.label_share(l)).product(),
        Expr::Binary {
            op, left, right, ..
        } => match op {
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
            BinaryOp::And => share(left) * share(right),
            BinaryOp::Or => (share(left) + share(right)).min(1.0),
            _ => 0.5,
        },
        _ => 0.5,
    }
}
