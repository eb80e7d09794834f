//! Breadth-first searches from both ends that meet in the middle.
//!
//! # How it works
//! The side with the smaller frontier goes one level further. Every node reached keeps the nodes from which it was reached on its
//! level: the first one, or all. At the first level on which the sides meet, every shortest trail passes exactly one
//! of the nodes met, because no trail is shorter than the sum of the levels. Trails are then read off one by one, like the
//! numbers of an odometer; which relationships they are is looked up only then.
//!
//! A side whose origin many rows share is kept from one of them to the next, and the planner says how many there will be: what its
//! levels cost is divided among them when the sides are compared. The next search goes over the levels that are known as if
//! it found them itself, so that its trails are the same whatever rows came before.
//!
//! # Invariants
//! * EX-52 What a search finds depends on its ends alone: levels are complete, the first node by which another was reached is
//!   that with the smallest id, all of them ascend, and so do the nodes met.
//!
//! # Costs
//! A node reached takes about 70 bytes, charged as it is reached; two searches of half the length reach far fewer
//! nodes than one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::Sides;
use crate::error::Result;
use crate::memory::Memory;
use crate::reachability::node_order::Nodes;
use crate::runtime::Runtime;

/// Bytes of a node that has been reached, its place in a frontier included.
const NODE_BYTES: usize = 72;

struct Reached {
    level: u32,
    /// From where; parallel relationships repeat the node.
    first: u64,
    more: Vec<u64>,
}

/// A search from one end.
pub(crate) struct Side {
    origin: u64,
    forward: bool,
    reached: HashMap<u64, Reached, RandomState>,
    /// The nodes of the last level, and the numbers of those of all levels.
    frontier: Vec<u64>,
    sizes: Vec<usize>,
    /// How far the search at hand has come, a level that is there.
    level: u32,
    /// What it is charged.
    bytes: usize,
}

/// Which trails are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// At most so many relationships.
    pub(crate) max: Option<u32>,
    /// All that are shortest, else one.
    pub(crate) all: bool,
    /// Rows that are expected to share the start, and the end.
    pub(crate) sharing: [u32; 2],
}

/// The shortest trails between two different nodes.
pub(crate) struct Meeting {
    sides: [Side; 2],
    /// Nodes on which the sides met and that are not read off yet.
    met: Vec<u64>,
    odometer: Option<Odometer>,
}

/// One trail through `middle`: at each node which of its steps is taken.
struct Odometer {
    middle: u64,
    digits: Vec<Digit>,
}

struct Digit {
    side: usize,
    node: u64,
    step: usize,
}

impl Side {
    fn new(origin: u64, forward: bool) -> Self {
        let mut reached = HashMap::default();
        let start = Reached {
            level: 0,
            first: origin,
            more: Vec::new(),
        };
        reached.insert(origin, start);
        Self {
            origin,
            forward,
            reached,
            frontier: vec![origin],
            sizes: vec![1],
            level: 0,
            bytes: 0,
        }
    }

    /// What it is charged.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it searches from this end, forwards from a start.
    pub(crate) fn is_from(&self, origin: u64, forward: bool) -> bool {
        self.origin == origin && self.forward == forward
    }

    /// Nodes of the level at hand.
    fn size(&self) -> usize {
        self.sizes[self.level as usize]
    }

    /// Whether the frontier is that of the level at hand.
    fn is_at_frontier(&self) -> bool {
        self.level as usize + 1 == self.sizes.len()
    }

    /// Whether the search at hand has reached the node.
    fn has_reached(&self, node: u64) -> bool {
        let reached = self.reached.get(&node);
        reached.is_some_and(|reached| reached.level <= self.level)
    }

    /// Goes one level further.
    fn advance(
        &mut self,
        sides: &Sides<'_>,
        all: bool,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<()> {
        let is_known = !self.is_at_frontier();
        self.level += 1;
        if is_known {
            return Ok(());
        }
        rt.check_cancelled()?;
        let level = self.level;
        let mut frontier = std::mem::take(&mut self.frontier);
        frontier.sort_unstable();
        let (mut next, mut refused) = (Vec::new(), None);
        let (reached, bytes) = (&mut self.reached, &mut self.bytes);
        let mut take = |memory: &mut Memory, more: usize| {
            let charged = memory.charge(more);
            *bytes += if charged.is_ok() { more } else { 0 };
            refused = charged.err();
            match refused {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        };
        let edges = sides.edges(self.forward);
        edges.visit(Nodes::List(&frontier), |node, skip_loops, ids| {
            let mut flow = ControlFlow::Continue(());
            ids.for_each(|neighbour| {
                if flow.is_break() || skip_loops && neighbour == node {
                    return;
                }
                match reached.entry(neighbour) {
                    Entry::Vacant(entry) => {
                        flow = take(memory, NODE_BYTES);
                        entry.insert(Reached {
                            level,
                            first: node,
                            more: Vec::new(),
                        });
                        next.push(neighbour);
                    }
                    Entry::Occupied(mut entry) if entry.get().level == level => {
                        let known = entry.get_mut();
                        if all {
                            flow = take(memory, 2 * size_of::<u64>());
                            known.more.push(node);
                        } else {
                            known.first = known.first.min(node);
                        }
                    }
                    Entry::Occupied(_) => {}
                }
            });
            flow
        })?;
        if let Some(refused) = refused {
            return Err(refused);
        }
        if all {
            for node in &next {
                if let Some(Reached { first, more, .. }) = self.reached.get_mut(node)
                    && !more.is_empty()
                {
                    more.push(*first);
                    more.sort_unstable();
                    *first = more.remove(0);
                }
            }
        }
        self.sizes.push(next.len());
        self.frontier = next;
        Ok(())
    }

    /// From where a node was reached, and by which of the relationships from there.
    fn step(&self, node: u64, step: usize) -> Option<(u64, usize)> {
        let reached = self.reached.get(&node)?;
        let Some(last) = step.checked_sub(1) else {
            return Some((reached.first, 0));
        };
        let from = *reached.more.get(last)?;
        let before = reached.more[..last].iter().rev();
        let mut parallel = before.take_while(|other| **other == from).count();
        parallel += usize::from(parallel == last && reached.first == from);
        Some((from, parallel))
    }

    fn is_origin(&self, node: u64) -> bool {
        node == self.origin
    }
}

impl Meeting {
    /// Searches between `start` and `end`, which differ; `kept` is what an earlier row left of one side.
    pub(crate) fn search(
        (start, end): (u64, u64),
        kept: Option<Side>,
        wanted: Wanted,
        edges: &Sides<'_>,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<Self> {
        let mut sides = [Side::new(start, true), Side::new(end, false)];
        if let Some(kept) = kept {
            let own = usize::from(!kept.forward);
            sides[own] = Side { level: 0, ..kept };
        }
        let mut meeting = Self {
            sides,
            met: Vec::new(),
            odometer: None,
        };
        let rows = wanted.sharing.map(|rows| rows.max(1) as usize);
        loop {
            let [from, to] = &meeting.sides;
            let length = from.level + to.level;
            let is_over = from.size() == 0 || to.size() == 0;
            if is_over || wanted.max.is_some_and(|max| length >= max) {
                return Ok(meeting);
            }
            // What each costs a row, both times the product of the numbers of rows.
            let costs = (from.size() * rows[1], to.size() * rows[0]);
            let nearer = usize::from(costs.1 < costs.0);
            meeting.sides[nearer].advance(edges, wanted.all, memory, rt)?;
            meeting.meet();
            if !meeting.met.is_empty() {
                return Ok(meeting);
            }
        }
    }

    /// Finds the nodes that both sides have reached on their last levels.
    fn meet(&mut self) {
        let [from, to] = &self.sides;
        let (near, far) = match (from.is_at_frontier(), to.is_at_frontier()) {
            (true, true) if from.frontier.len() > to.frontier.len() => (to, from),
            (true, _) => (from, to),
            (false, _) => (to, from),
        };
        let nodes = near.frontier.iter().copied();
        self.met = nodes.filter(|node| far.has_reached(*node)).collect();
        self.met.sort_unstable();
    }

    /// The side of the start (`forward`) or of the end, for another row.
    pub(crate) fn into_side(self, forward: bool) -> Side {
        let [start, end] = self.sides;
        if forward { start } else { end }
    }

    /// The relationships of the next trail, in order of travel.
    pub(crate) fn next(&mut self, edges: &Sides<'_>) -> Result<Option<Vec<u64>>> {
        let turned = self.odometer.take().and_then(|o| self.turned(o));
        let odometer = match turned {
            Some(odometer) => odometer,
            None => {
                let Some(middle) = self.met.pop() else {
                    return Ok(None);
                };
                self.completed(Odometer {
                    middle,
                    digits: Vec::new(),
                })
            }
        };
        let mut back = Vec::new();
        let mut on = Vec::new();
        for digit in &odometer.digits {
            let side = &self.sides[digit.side];
            let (from, parallel) = side.step(digit.node, digit.step).expect("a step taken");
            let relationship = edges.between(side.forward, from, digit.node, parallel)?;
            if digit.side == 0 {
                back.push(relationship);
            } else {
                on.push(relationship);
            }
        }
        back.reverse();
        back.extend(on);
        self.odometer = Some(odometer);
        Ok(Some(back))
    }

    /// The next combination of steps; `None` after the last one.
    fn turned(&self, mut odometer: Odometer) -> Option<Odometer> {
        while let Some(mut digit) = odometer.digits.pop() {
            digit.step += 1;
            if self.sides[digit.side]
                .step(digit.node, digit.step)
                .is_some()
            {
                odometer.digits.push(digit);
                return Some(self.completed(odometer));
            }
        }
        None
    }

    /// Adds first steps until both origins are reached: back to the start, then on to the end.
    fn completed(&self, mut odometer: Odometer) -> Odometer {
        let (mut side, mut node) = match odometer.digits.last() {
            None => (0, odometer.middle),
            Some(last) => {
                let next = self.sides[last.side].step(last.node, last.step);
                (last.side, next.map_or(last.node, |(node, _)| node))
            }
        };
        loop {
            if self.sides[side].is_origin(node) {
                if side == 1 {
                    return odometer;
                }
                (side, node) = (1, odometer.middle);
                continue;
            }
            odometer.digits.push(Digit {
                side,
                node,
                step: 0,
            });
            let Some((next, _)) = self.sides[side].step(node, 0) else {
                return odometer;
            };
            node = next;
        }
    }
}
