//! Breadth-first searches from both ends that meet in the middle.
//!
//! # How it works
//! The side with the smaller frontier goes one level further. Every node reached keeps the nodes
//! from which it was reached on its level: the first one, or all. At the first level on which the
//! sides meet, every shortest trail passes exactly one of the nodes met, because no trail is
//! shorter than the sum of the levels. Trails are then read off one by one
//! ([`super::path_enumerator`]).
//!
//! Where that takes more memory than an operator should have, both searches begin anew with levels
//! that are written to temporary pages ([`super::levels`]), and go the same way.
//!
//! A side whose origin many rows share is kept from one of them to the next, and the planner says
//! how many there will be: what its levels cost is divided among them when the sides are compared.
//! The next search goes over the levels that are known as if it found them itself, so that its
//! trails are the same whatever rows came before.
//!
//! # Invariants
//! * EX-52 What a search finds depends on its ends alone, not on rows before and not on the memory:
//!   levels are complete, the first node by which another was reached is that with the smallest id,
//!   all of them ascend, and so do the nodes met.
//!
//! # Costs
//! A node reached takes about 70 bytes, charged as it is reached, or three bits for any number of
//! nodes, and 8 bytes on disk for each reached; two searches of half the length reach far fewer
//! nodes than one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::levels::{Fresh, Levels};
use super::path_enumerator::{PathEnumerator, Steps, sources};
use super::{SearchContext, Sides};
use crate::error::Result;
use crate::memory::Memory;
use crate::reachability::node_order::Nodes;
use crate::spill::IdRun;

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
pub(crate) struct BidirectionalBfs {
    searched: Searched,
    /// Nodes on which the sides met and that are not read off yet.
    met: MeetingNodes,
    odometer: PathEnumerator,
}

/// Both sides.
enum Searched {
    InMemory([Side; 2]),
    Written([Levels; 2]),
}

/// Nodes, the last one first.
#[derive(Default)]
struct MeetingNodes {
    ids: Vec<u64>,
    /// Parts of these, so many, come behind.
    written: Option<IdRun>,
    parts: usize,
}

impl MeetingNodes {
    fn pop(&mut self) -> Result<Option<u64>> {
        if let Some(written) = &self.written
            && self.ids.is_empty()
            && self.parts > 0
        {
            self.parts -= 1;
            written.read(self.parts, &mut self.ids)?;
        }
        Ok(self.ids.pop())
    }
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

    /// Goes one level further; false if its nodes are to be written to temporary pages.
    fn advance(
        &mut self,
        sides: &Sides<'_>,
        all: bool,
        means: &mut SearchContext<'_>,
    ) -> Result<bool> {
        let is_known = !self.is_at_frontier();
        self.level += 1;
        if is_known {
            return Ok(true);
        }
        means.rt.check_cancelled()?;
        let level = self.level;
        let mut frontier = std::mem::take(&mut self.frontier);
        frontier.sort_unstable();
        let (mut next, mut refused) = (Vec::new(), None);
        let (reached, bytes) = (&mut self.reached, &mut self.bytes);
        let mut take = |more: usize| match means.take(more) {
            Ok(()) => {
                *bytes += more;
                ControlFlow::Continue(())
            }
            Err(refusal) => {
                refused = Some(refusal);
                ControlFlow::Break(())
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
                        flow = take(NODE_BYTES);
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
                            flow = take(2 * size_of::<u64>());
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
        if let Some(refusal) = refused {
            return refusal.map_or(Ok(false), Err);
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
        Ok(true)
    }

    /// From where a node was reached, parallel relationships repeated.
    fn before(&self, node: u64) -> Vec<u64> {
        let Some(reached) = self.reached.get(&node) else {
            return Vec::new();
        };
        let mut before = Vec::with_capacity(1 + reached.more.len());
        before.push(reached.first);
        before.extend_from_slice(&reached.more);
        before
    }
}

impl Steps for [Side; 2] {
    fn before(&self, side: usize, node: u64, _: u32, _: &Sides<'_>) -> Result<Vec<u64>> {
        Ok(self[side].before(node))
    }

    fn level(&self, side: usize) -> u32 {
        self[side].level
    }
}

impl Steps for [Levels; 2] {
    fn before(&self, side: usize, node: u64, level: u32, edges: &Sides<'_>) -> Result<Vec<u64>> {
        let mut before = Vec::new();
        for source in sources(side, node, edges)? {
            if before.last() == Some(&source) || self[side].contains(level - 1, source)? {
                before.push(source);
            }
        }
        Ok(before)
    }

    fn level(&self, side: usize) -> u32 {
        self[side].last()
    }
}

impl Wanted {
    /// The side that goes on from levels of these sizes; `None` if there are no trails.
    fn nearer(self, length: u32, sizes: [usize; 2]) -> Option<usize> {
        let is_over = sizes.contains(&0) || self.max.is_some_and(|max| length >= max);
        // What each costs a row, both times the product of the numbers of rows.
        let rows = self.sharing.map(|rows| rows.max(1) as usize);
        let costs = (sizes[0] * rows[1], sizes[1] * rows[0]);
        (!is_over).then_some(usize::from(costs.1 < costs.0))
    }
}

impl BidirectionalBfs {
    /// Searches between `start` and `end`, which differ; `kept` is what an earlier row left of one
    /// side.
    pub(crate) fn search(
        (start, end): (u64, u64),
        kept: Option<Side>,
        wanted: Wanted,
        edges: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<Self> {
        let mut sides = [Side::new(start, true), Side::new(end, false)];
        if let Some(kept) = kept {
            let own = usize::from(!kept.forward);
            sides[own] = Side { level: 0, ..kept };
        }
        loop {
            let [from, to] = &sides;
            let mut met = MeetingNodes::default();
            if let Some(nearer) = wanted.nearer(from.level + to.level, [from.size(), to.size()]) {
                if !sides[nearer].advance(edges, wanted.all, means)? {
                    drop(sides);
                    means.memory.clear();
                    return Self::search_written((start, end), wanted, edges, means);
                }
                met.ids = meet(&sides);
                if met.ids.is_empty() {
                    continue;
                }
            }
            return Ok(Self {
                searched: Searched::InMemory(sides),
                met,
                odometer: PathEnumerator::default(),
            });
        }
    }

    /// As [`BidirectionalBfs::search`] with levels in temporary pages.
    fn search_written(
        (start, end): (u64, u64),
        wanted: Wanted,
        edges: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<Self> {
        let span = edges.forward.pattern().span()?;
        let spill = means.spill.expect("levels are written");
        let mut fresh = Fresh::new(&span, means.memory)?;
        let mut sides = [
            Levels::new(start, &span, spill, means.memory)?,
            Levels::new(end, &span, spill, means.memory)?,
        ];
        loop {
            let sizes = [0, 1].map(|side: usize| sides[side].frontier().len());
            let mut met = MeetingNodes::default();
            if let Some(nearer) = wanted.nearer(sides[0].last() + sides[1].last(), sizes) {
                sides[nearer].advance(edges.edges(nearer == 0), &mut fresh, means)?;
                let (frontier, far) = (sides[nearer].frontier(), &sides[1 - nearer]);
                let (mut ids, mut nodes) = (spill.ids(), Vec::new());
                for part in 0..frontier.parts() {
                    frontier.read(part, &mut nodes)?;
                    let mut both = nodes.iter().filter(|node| far.has_reached(**node));
                    both.try_for_each(|node| ids.push(*node))?;
                }
                let ids = ids.finish()?;
                if ids.len() == 0 {
                    continue;
                }
                means.memory.charge(ids.heap_bytes())?;
                met.parts = ids.parts();
                met.written = Some(ids);
            }
            return Ok(Self {
                searched: Searched::Written(sides),
                met,
                odometer: PathEnumerator::default(),
            });
        }
    }

    /// The side of the start (`forward`) or of the end, for another row, if it is in memory.
    pub(crate) fn into_side(self, forward: bool) -> Option<Side> {
        match self.searched {
            Searched::InMemory([start, end]) => Some(if forward { start } else { end }),
            Searched::Written(_) => None,
        }
    }

    /// The relationships of the next trail, in order of travel.
    pub(crate) fn next(
        &mut self,
        edges: &Sides<'_>,
        memory: &mut Memory,
    ) -> Result<Option<Vec<u64>>> {
        let (odometer, met) = (&mut self.odometer, &mut self.met);
        let is_there = match &self.searched {
            Searched::InMemory(sides) => next(odometer, met, sides, edges, memory),
            Searched::Written(sides) => next(odometer, met, sides, edges, memory),
        }?;
        is_there.then(|| odometer.trail(edges)).transpose()
    }
}

/// Finds the nodes that both sides have reached on their last levels.
fn meet(sides: &[Side; 2]) -> Vec<u64> {
    let [from, to] = sides;
    let (near, far) = match (from.is_at_frontier(), to.is_at_frontier()) {
        (true, true) if from.frontier.len() > to.frontier.len() => (to, from),
        (true, _) => (from, to),
        (false, _) => (to, from),
    };
    let nodes = near.frontier.iter().copied();
    let mut met: Vec<u64> = nodes.filter(|node| far.has_reached(*node)).collect();
    met.sort_unstable();
    met
}

/// Goes on to the next trail; whether there is one.
fn next(
    odometer: &mut PathEnumerator,
    met: &mut MeetingNodes,
    steps: &impl Steps,
    edges: &Sides<'_>,
    memory: &mut Memory,
) -> Result<bool> {
    if odometer.turn(steps, edges, memory)? {
        return Ok(true);
    }
    match met.pop()? {
        Some(middle) => odometer.begin(middle, steps, edges, memory).map(|()| true),
        None => Ok(false),
    }
}
