//! Up to 64 searches at once, one bit lane each: a sweep over the lists serves all of them.
//!
//! # How it works
//! Three words per node hold, a bit per start: reached so far, reached by the level before, reached by this level.
//! A level visits each node that some lane's frontier contains once and ors the node's lanes into its neighbours.
//! Closed trails through the starts are seen in the first two levels as in a single search; lanes that are still
//! open then and may have longer ones ask [`closed_trail`] one by one.
//!
//! # Costs
//! 24 bytes a node. A level costs the entries of the union of the frontiers, however many lanes share them, and a
//! pass over all nodes.

use std::ops::ControlFlow;

use graven_cypher::plan::Direction as PlanDirection;

use super::edges::Edges;
use super::node_order::Nodes;
use super::{Bounds, closed_trail};
use crate::error::Result;
use crate::memory::Memory;

/// Searches that run together.
pub(crate) const LANES: usize = 64;

/// See the file header.
#[derive(Default)]
pub(crate) struct Lanes {
    reached: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
    frontier: Vec<u64>,
}

impl Lanes {
    /// Bytes needed for nodes below `node_limit`.
    pub(crate) fn bytes(node_limit: u64) -> usize {
        usize::try_from(node_limit).unwrap_or(usize::MAX / 64) * 32
    }

    /// Searches from `starts` (lane i from `starts[i]`; `None` reaches nothing). The caller has charged
    /// [`Lanes::bytes`].
    ///
    /// # Errors
    /// Storage errors, no memory, cancelled.
    pub(crate) fn run(
        &mut self,
        edges: &Edges<'_>,
        bounds: Bounds,
        starts: &[Option<u64>],
        node_limit: u64,
        memory: &mut Memory,
    ) -> Result<()> {
        assert!(starts.len() <= LANES, "at most {LANES} lanes");
        let nodes = at(node_limit);
        for words in [&mut self.reached, &mut self.front, &mut self.next] {
            words.clear();
            words.resize(nodes, 0);
        }
        let undirected = edges.pattern().direction == PlanDirection::Both;
        let starts = by_node(starts);
        let mut closed = 0;
        let mut length = 0;
        self.frontier.clear();
        self.frontier.extend(starts.iter().map(|(node, _)| *node));
        for (node, lanes) in &starts {
            self.front[at(*node)] = *lanes;
        }
        while !self.frontier.is_empty() && bounds.allows(length + 1) {
            length += 1;
            edges.rt().check_cancelled()?;
            match (undirected, length) {
                (true, 1) => closed |= self.first_level(edges, bounds.allows(2))?,
                (true, 2) if bounds.allows(3) => closed |= self.second_level(edges)?,
                _ => self.level(edges)?,
            }
            if undirected {
                for (node, lanes) in &starts {
                    self.next[at(*node)] &= !lanes;
                }
            }
            self.settle();
        }
        for (node, lanes) in starts {
            let mut own = if bounds.min == 0 { lanes } else { 0 };
            if undirected {
                own |= lanes & closed;
                // The lanes of one start are closed together or not at all.
                if own == 0
                    && bounds.allows(4)
                    && closed_trail::exists(edges, node, bounds.max, memory)?
                {
                    own = lanes;
                }
            }
            self.reached[at(node)] |= own;
        }
        Ok(())
    }

    /// Lists of the starts: loops and parallel relationships close a trail.
    fn first_level(&mut self, edges: &Edges<'_>, two: bool) -> Result<u64> {
        let (front, next) = (&self.front, &mut self.next);
        let mut closed = 0;
        edges.visit(Nodes::List(&self.frontier), |node, skip_loops, ids| {
            let lanes = front[at(node)];
            ids.for_each(|other| {
                if other == node {
                    closed |= if skip_loops { 0 } else { lanes };
                } else {
                    let word = &mut next[at(other)];
                    closed |= if two { *word & lanes } else { 0 };
                    *word |= lanes;
                }
            });
            ControlFlow::Continue(())
        })?;
        Ok(closed)
    }

    /// Lists of the starts' neighbours: a relationship between two of them closes a triangle.
    fn second_level(&mut self, edges: &Edges<'_>) -> Result<u64> {
        let (front, next) = (&self.front, &mut self.next);
        let mut closed = 0;
        edges.visit(Nodes::List(&self.frontier), |node, _, ids| {
            let lanes = front[at(node)];
            ids.for_each(|other| {
                let touching = if other == node { 0 } else { front[at(other)] };
                closed |= touching & lanes;
                next[at(other)] |= lanes;
            });
            ControlFlow::Continue(())
        })?;
        Ok(closed)
    }

    fn level(&mut self, edges: &Edges<'_>) -> Result<()> {
        let (front, next) = (&self.front, self.next.as_mut_slice());
        edges.visit(Nodes::List(&self.frontier), |node, _, ids| {
            let lanes = front[at(node)];
            ids.for_each(|other| next[at(other)] |= lanes);
            ControlFlow::Continue(())
        })
    }

    /// What is new in this level becomes the next frontier.
    fn settle(&mut self) {
        self.frontier.clear();
        let words = self
            .reached
            .iter_mut()
            .zip(&mut self.front)
            .zip(&mut self.next);
        for (node, ((reached, front), next)) in words.enumerate() {
            let new = *next & !*reached;
            *reached |= new;
            *front = new;
            *next = 0;
            if new != 0 {
                self.frontier.push(node as u64);
            }
        }
    }

    /// Lanes that have reached each node.
    pub(crate) fn reached(&mut self) -> &mut [u64] {
        &mut self.reached
    }

    /// Nodes of the ranges that each lane has reached.
    ///
    /// Counts all lanes at once: bit `i` of plane `p` is bit `p` of lane `i`'s counter.
    pub(crate) fn counts(&self, ranges: &[(u64, u64)]) -> [u64; LANES] {
        const PLANES: usize = 8;
        let mut counts = [0; LANES];
        let mut planes = [0_u64; PLANES];
        let mut flush = |planes: &mut [u64; PLANES]| {
            for (p, plane) in planes.iter_mut().enumerate() {
                let mut bits = std::mem::take(plane);
                while bits != 0 {
                    counts[bits.trailing_zeros() as usize] += 1 << p;
                    bits &= bits - 1;
                }
            }
        };
        for (from, to) in ranges {
            for words in self.reached[at(*from)..at(*to)].chunks((1 << PLANES) - 1) {
                for word in words {
                    let mut carry = *word;
                    for plane in &mut planes {
                        let sum = *plane ^ carry;
                        carry &= *plane;
                        *plane = sum;
                        if carry == 0 {
                            break;
                        }
                    }
                }
                flush(&mut planes);
            }
        }
        counts
    }
}

/// The distinct start nodes, ascending, each with its lanes.
fn by_node(starts: &[Option<u64>]) -> Vec<(u64, u64)> {
    let mut lanes: Vec<(u64, u64)> = starts
        .iter()
        .enumerate()
        .filter_map(|(lane, node)| node.map(|n| (n, 1 << lane)))
        .collect();
    lanes.sort_unstable();
    lanes.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 |= later.1;
        }
        same
    });
    lanes
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "targets have 64-bit addresses"
)]
#[inline]
fn at(node: u64) -> usize {
    node as usize
}
