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
//! A condition with a subquery is decided as soon as it can be, or waits for a later step
//! (`order/finish.rs`).
//!
//! A node that is found by itself and joined to what was found before by an equality begins a
//! *part* (`plan/join.rs`): its steps cost what they cost alone, once.
//!
//! # Costs
//! The cost of a way is the sum of the rows its steps produce before conditions thin them out, of
//! something for each look-up, and of what subqueries of conditions do.

mod at_random;
mod finish;
mod part;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::access;
use super::expression::Expr;
use super::{Direction, VarId, forced};
use crate::bind::graph::{Edge, QueryGraph};
use crate::cost::{Cost, Hop};
use crate::plan::candidate::{Access, Candidate};
use part::{Found, Part};

/// States kept per size, for patterns of up to [`EXACT`] and [`SMALL`] parts, and larger ones.
const BEAM: [usize; 3] = [64, 12, 2];

/// Largest pattern whose orders are nearly all looked at.
const EXACT: usize = 12;

/// Largest pattern in which seeks are tried in the middle.
const SMALL: usize = 40;

/// A seek that yields at most this many rows may start a second way into a connected pattern.
const SEEK_ROWS_MAX: f64 = 16.0;

/// What it takes to look for one relationship between two nodes, or to look for what is perhaps not
/// there, in rows.
const LOOK_UP: f64 = 0.3;

/// No two nodes that a pattern has found are taken to have a relationship less often by chance.
const CHANCE_MIN: f64 = 1e-6;

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
    /// A part begins with it.
    pub begins_part: bool,
    /// Rows of the part that it belongs to, before and after conditions on it alone.
    pub alone: Option<(f64, f64)>,
    /// The part that it belongs to is joined right behind it: fewer rows go on from there.
    pub ends_part: bool,
    /// Conditions that could be decided now, and wait for a later step.
    pub deferred: BTreeSet<usize>,
}

/// What a condition waits for.
pub(crate) struct Waiting {
    pub variables: BTreeSet<VarId>,
    pub share: f64,
    /// Rows that deciding it for one row takes: those of subqueries.
    pub work: f64,
}

/// Where parts may be found apart and joined.
pub(crate) struct Joinable {
    /// Rows that are handed in to the pattern.
    pub handed_in: f64,
    /// They are joined though that does not pay.
    pub always: bool,
    /// What both sides of each equality read.
    pub equalities: Vec<(BTreeSet<VarId>, BTreeSet<VarId>)>,
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
    /// Relationships that such nodes were found by.
    pub followed: &'a [Edge],
    /// What conditions inside each repetition read of the pattern around it.
    pub inside: &'a [BTreeSet<VarId>],
    /// Edges that are solved already (their relationship is bound).
    pub solved_edges: &'a [usize],
    pub rows: f64,
    /// None where all is found from what is there.
    pub joinable: Option<&'a Joinable>,
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
    /// Small enough to let conditions with subqueries wait.
    defers: bool,
    /// Nodes and relationships of the pattern.
    goal: usize,
}

#[derive(Clone)]
struct State {
    nodes: BTreeSet<VarId>,
    edges: BTreeSet<usize>,
    rows: f64,
    cost: f64,
    way: Vec<Ordered>,
    part: Option<Part>,
    /// Conditions that could be decided, and wait.
    deferred: BTreeSet<usize>,
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
        let goal = self.graph.nodes.len() + self.graph.edges.len();
        let search = Search {
            problem: self,
            info,
            small: goal <= SMALL,
            defers: goal <= EXACT,
            goal,
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
            part: None,
            deferred: BTreeSet::new(),
        };
        if let Some(dice) = forced::dice() {
            return search.walk(start, dice);
        }
        let beam = BEAM[usize::from(goal > EXACT) + usize::from(goal > SMALL)];
        let mut by_size: BTreeMap<usize, Vec<State>> = BTreeMap::new();
        by_size.insert(start.nodes.len() + start.edges.len(), vec![start]);
        while let Some((size, mut states)) = by_size.pop_first() {
            states.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            if size == goal {
                return states.into_iter().next().map(|s| s.way);
            }
            // What a part costs is known behind it, and so is what conditions cost that wait.
            // A state that defers a condition looks cheap until it pays: it displaces no other one.
            let mut seen = [BTreeSet::new(), BTreeSet::new()];
            for state in states {
                let seen = &mut seen[usize::from(!state.deferred.is_empty())];
                let found = (state.nodes.clone(), state.edges.clone());
                let key = (found, state.part.is_some(), state.deferred.clone());
                if seen.len() >= beam || !seen.insert(key) {
                    continue;
                }
                for next in search.successors(&state, false) {
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

    /// States after one more step; `any`: also by steps that cannot be worth it.
    fn successors(&self, state: &State, any: bool) -> Vec<State> {
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
                (true, true) => self.check(state, idx, &available, &mut next),
                (true, false) | (false, true) if edge.shortest.is_some() => {}
                (true, false) => self.follow(state, (idx, true), &available, &mut next),
                (false, true) => self.follow(state, (idx, false), &available, &mut next),
                (false, false) => {}
            }
        }
        let stuck = next.is_empty() || any;
        for &node in &self.problem.graph.nodes {
            let tried = stuck || (self.small && self.info[&node].sought);
            if state.nodes.contains(&node) || !tried {
                continue;
            }
            for candidate in self.candidates(node, &available, any) {
                let seek = candidate.access.is_seek();
                let few = seek && candidate.rows <= SEEK_ROWS_MAX;
                let joins = self.may_begin_part(&candidate, &available);
                if joins {
                    let by = candidate.clone();
                    self.find(state, (node, by, Found::Once), &available, &mut next);
                }
                if (stuck || few) && !(joins && self.always()) {
                    let how = if joins { Found::Again } else { Found::Unjoined };
                    self.find(state, (node, candidate, how), &available, &mut next);
                }
            }
        }
        next
    }

    fn candidates(&self, node: VarId, available: &BTreeSet<VarId>, any: bool) -> Vec<Candidate> {
        let labels = &self.info[&node].labels;
        let found = access::candidates(
            &self.problem.cost,
            node,
            &self.problem.graph.predicates,
            labels,
            available,
        );
        let mut found = match any {
            true => found,
            false => access::hinted(found, node, &self.problem.graph.hints),
        };
        // What the value is equal to may have more values than the index.
        for candidate in &mut found {
            if let (Access::Index { label, .. }, [condition, ..]) =
                (&candidate.access, &candidate.covers[..])
            {
                let share = self.problem.waiting[*condition].share;
                let rows = self.problem.cost.nodes(Some(label)) * share;
                candidate.rows = candidate.rows.min(rows);
            }
        }
        found
    }

    fn find(
        &self,
        state: &State,
        (node, by, how): (VarId, Candidate, Found),
        before: &BTreeSet<VarId>,
        out: &mut Vec<State>,
    ) {
        let rows = state.rows * by.rows.max(0.01);
        let mut next = state.clone();
        next.nodes.insert(node);
        let mut work = rows;
        if let Some(part) = next.part.take() {
            self.settle(&mut next, &part);
        }
        if how == Found::Once {
            // Then all rows look for it.
            next.part = Some(self.begin_part(state, before));
            next.cost += state.rows;
        } else if by.access.is_seek() {
            work += state.rows * LOOK_UP;
        } else if how == Found::Again {
            work = work.max(self.scanned(state, by.rows));
        }
        let covered = by.covers.clone();
        let step = OrderStep::Find {
            node,
            by: Box::new(by),
        };
        self.finish(next, (step, &covered), (rows, work), before, out);
    }

    fn follow(
        &self,
        state: &State,
        (idx, forward): (usize, bool),
        before: &BTreeSet<VarId>,
        out: &mut Vec<State>,
    ) {
        let edge = &self.problem.graph.edges[idx];
        let (near, far) = if forward {
            (edge.from, edge.to)
        } else {
            (edge.to, edge.from)
        };
        let (fan, covered) = self.fan_seen(state, edge, (near, far), forward);
        let rows = state.rows * fan.max(0.01);
        let mut next = state.clone();
        next.nodes.insert(far);
        next.edges.insert(idx);
        self.leave_part(&mut next, idx, &[near]);
        let work = rows + state.rows * LOOK_UP;
        let step = OrderStep::Follow { edge: idx, forward };
        self.finish(next, (step, &covered), (rows, work), before, out);
    }

    /// How many relationships lead from `near` to `far`, as a node with many is reached more often,
    /// and the conditions that this counts.
    fn fan_seen(
        &self,
        state: &State,
        edge: &Edge,
        (near, far): (VarId, VarId),
        forward: bool,
    ) -> (f64, Vec<usize>) {
        let (fan, covered) = self.fan(edge, near, far, forward);
        let own = state.edges.iter();
        let own = own.map(|idx| &self.problem.graph.edges[*idx]);
        let known = || own.clone().chain(self.problem.followed);
        if edge.length.is_some() || !known().any(|it| it.from == near || it.to == near) {
            return (fan, covered);
        }
        let hop = self.hop(edge, near, far, forward);
        let cost = &self.problem.cost;
        let fan = match known().find(|known| self.is_back(known, near, hop)) {
            Some(back) => cost.fanout_back(hop, fan, edge.differs(back)),
            None => cost.fanout_of_reached(hop, fan),
        };
        (fan, covered)
    }

    /// The share of rows that have a relationship between two nodes that are known. Both ends were
    /// found by way of each other, so it is likelier than between any two nodes: friends have
    /// friends in common, and a reply has the tag of its message. How much likelier no statistic
    /// tells; the root lies between chance and certainty.
    fn share_checked(&self, state: &State, edge: &Edge) -> f64 {
        let chance = |(near, far): (VarId, VarId), forward| {
            let nodes = self.problem.cost.nodes(self.info[&far].label.as_deref());
            let (fan, _) = self.fan_seen(state, edge, (near, far), forward);
            fan / nodes.max(1.0)
        };
        let (from, to) = (edge.from, edge.to);
        let chance = chance((from, to), true).max(chance((to, from), false));
        match chance < 1.0 {
            true => chance.max(CHANCE_MIN).sqrt(),
            false => chance,
        }
    }

    fn check(&self, state: &State, idx: usize, before: &BTreeSet<VarId>, out: &mut Vec<State>) {
        let edge = &self.problem.graph.edges[idx];
        let rows = state.rows * self.share_checked(state, edge);
        // One look at the shorter list for a single relationship, half a search for a longer one.
        let work = if edge.length.is_some() {
            let (fan, _) = self.fan(edge, edge.from, edge.to, true);
            state.rows * (1.0 + fan / 2.0)
        } else {
            state.rows * LOOK_UP
        };
        let mut next = state.clone();
        next.edges.insert(idx);
        self.leave_part(&mut next, idx, &[edge.from, edge.to]);
        let step = OrderStep::Check { edge: idx };
        self.finish(next, (step, &[]), (rows, work), before, out);
    }

    /// Whether `known`, one of whose ends is `near`, is like the relationships of `hop` there.
    fn is_back(&self, known: &Edge, near: VarId, hop: Hop<'_>) -> bool {
        let direction = match (known.direction, known.from == near) {
            (Direction::Out, false) => Direction::In,
            (Direction::In, false) => Direction::Out,
            (direction, _) => direction,
        };
        let meets = known.from == near || known.to == near;
        let same = direction == hop.direction || known.direction == Direction::Both;
        let mut types = known.types.iter();
        meets && same && known.length.is_none() && types.any(|it| hop.types.contains(it))
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
