//! Up to 64 searches at once, one bit lane each: a sweep over the lists serves all of them.
//!
//! # How it works
//! Three words per node hold, a bit per start: reached so far, reached by the level before, reached
//! by this level. A level visits each node that some lane's frontier contains once and ors the
//! node's lanes into its neighbours; the union of the frontiers is a bitmap, so that all lists of a
//! page are decoded in one run. Closed trails through the starts are seen in the first two levels
//! as in a single search; lanes that are still open then and may have longer ones ask
//! [`closed_trail`] one by one.
//!
//! Words exist for the ids that the pattern's adjacencies can name (as in [`super::visited_set`]);
//! starts outside of them have no relationships and reach at most themselves.
//!
//! # Costs
//! 24 bytes a node of that range, and a bit. A level costs the entries of the union of the
//! frontiers, however many lanes share them, and a pass over all nodes.

use std::ops::{ControlFlow, Range};

use graven_cypher::plan::Direction as PlanDirection;
use graven_storage::{NodeId, NodeSet};

use super::filtered_neighbors::FilteredNeighbors;
use super::node_order::Nodes;
use super::{Bounds, closed_trail};
use crate::error::Result;
use crate::memory::Memory;

/// Searches that run together.
pub(crate) const LANES: usize = 64;

/// See the file header.
#[derive(Default)]
pub(crate) struct MultiSourceBfs {
    /// The node of the first word.
    base: u64,
    reached: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
    /// Bitmap of the nodes that some lane has in its frontier.
    frontier: Vec<u64>,
    /// Starts outside of the words with the lanes that reach them.
    outside: Vec<(u64, u64)>,
    /// A neighbour outside of the words.
    stray: Option<u64>,
}

impl MultiSourceBfs {
    /// Bytes needed for a range of `nodes` ids.
    pub(crate) fn bytes(nodes: u64) -> usize {
        usize::try_from(nodes).unwrap_or(usize::MAX / 64) * 25
    }

    /// Searches from `starts` (lane i from `starts[i]`; `None` reaches nothing) where lists name
    /// ids of `span` only. The caller has charged [`MultiSourceBfs::bytes`].
    ///
    /// # Errors
    /// Storage errors, no memory, cancelled.
    pub(crate) fn run(
        &mut self,
        edges: &FilteredNeighbors<'_>,
        bounds: Bounds,
        starts: &[Option<u64>],
        span: Range<u64>,
        memory: &mut Memory,
    ) -> Result<()> {
        assert!(starts.len() <= LANES, "at most {LANES} lanes");
        let nodes = at(span.end - span.start);
        self.base = span.start;
        self.stray = None;
        for words in [&mut self.reached, &mut self.front, &mut self.next] {
            words.clear();
            words.resize(nodes, 0);
        }
        let undirected = edges.pattern().direction == PlanDirection::Both;
        let (starts, outside): (Vec<_>, Vec<_>) = by_node(starts)
            .into_iter()
            .partition(|(node, _)| span.contains(node));
        self.outside = outside;
        if bounds.min > 0 {
            self.outside.clear();
        }
        let mut closed = 0;
        let mut length = 0;
        self.frontier.clear();
        self.frontier.resize(nodes.div_ceil(64), 0);
        for (node, lanes) in &starts {
            let place = at(*node - span.start);
            self.front[place] = *lanes;
            self.frontier[place / 64] |= 1 << (place % 64);
        }
        while self.frontier.iter().any(|word| *word != 0) && bounds.allows(length + 1) {
            length += 1;
            edges.rt().check_cancelled()?;
            match (undirected, length) {
                (true, 1) => closed |= self.first_level(edges, bounds.allows(2))?,
                (true, 2) if bounds.allows(3) => closed |= self.second_level(edges)?,
                _ => self.level(edges)?,
            }
            if let Some(node) = self.stray {
                return Err(edges.pattern().stray(node));
            }
            if undirected {
                for (node, lanes) in &starts {
                    self.next[at(*node - span.start)] &= !lanes;
                }
            }
            self.advance_level();
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
            self.reached[at(node - span.start)] |= own;
        }
        Ok(())
    }

    /// Lists of the starts: loops and parallel relationships close a trail.
    fn first_level(&mut self, edges: &FilteredNeighbors<'_>, two: bool) -> Result<u64> {
        let mut closed = 0;
        self.visit(edges, |lanes, node, other, _, word, skip_loops| {
            if other == node {
                closed |= if skip_loops { 0 } else { lanes };
            } else {
                closed |= if two { *word & lanes } else { 0 };
                *word |= lanes;
            }
        })?;
        Ok(closed)
    }

    /// Lists of the starts' neighbours: a relationship between two of them closes a triangle.
    fn second_level(&mut self, edges: &FilteredNeighbors<'_>) -> Result<u64> {
        let mut closed = 0;
        self.visit(edges, |lanes, node, other, front, word, _| {
            let touching = if other == node { 0 } else { front };
            closed |= touching & lanes;
            *word |= lanes;
        })?;
        Ok(closed)
    }

    /// As [`MultiSourceBfs::visit`], without looking at the level before: it is another cache miss
    /// for every neighbour.
    fn level(&mut self, edges: &FilteredNeighbors<'_>) -> Result<()> {
        let (base, front, next) = (self.base, &self.front[..], &mut self.next[..]);
        let nodes = Nodes::Bits(NodeSet::new(NodeId(base), &self.frontier));
        let stray = &mut self.stray;
        edges.visit(nodes, |node, _, ids| {
            let lanes = front[at(node - base)];
            ids.for_each(|other| match next.get_mut(at(other.wrapping_sub(base))) {
                Some(word) => *word |= lanes,
                None => *stray = Some(other),
            });
            ControlFlow::Continue(())
        })
    }

    /// Visits the lists of the frontier: the node's lanes, the node, a neighbour, the neighbour's
    /// lanes of the level before and of this one, whether loops are skipped.
    #[inline]
    fn visit(
        &mut self,
        edges: &FilteredNeighbors<'_>,
        mut each: impl FnMut(u64, u64, u64, u64, &mut u64, bool),
    ) -> Result<()> {
        let (base, front, next) = (self.base, &self.front[..], &mut self.next[..]);
        let nodes = Nodes::Bits(NodeSet::new(NodeId(base), &self.frontier));
        let stray = &mut self.stray;
        // The frontier's nodes lie in the range; neighbours are looked at.
        edges.visit(nodes, |node, skip_loops, ids| {
            let lanes = front[at(node - base)];
            ids.for_each(|other| {
                let place = at(other.wrapping_sub(base));
                match (front.get(place), next.get_mut(place)) {
                    (Some(front), Some(word)) => each(lanes, node, other, *front, word, skip_loops),
                    _ => *stray = Some(other),
                }
            });
            ControlFlow::Continue(())
        })
    }

    /// What is new in this level becomes the next frontier.
    fn advance_level(&mut self) {
        let words = self
            .reached
            .chunks_mut(64)
            .zip(self.front.chunks_mut(64))
            .zip(self.next.chunks_mut(64));
        for (bits, ((reached, front), next)) in self.frontier.iter_mut().zip(words) {
            *bits = 0;
            let nodes = reached.iter_mut().zip(front).zip(next);
            for (place, ((reached, front), next)) in nodes.enumerate() {
                let new = *next & !*reached;
                *reached |= new;
                *front = new;
                *next = 0;
                *bits |= u64::from(new != 0) << place;
            }
        }
    }

    /// Ids that some lane may have reached, besides [`MultiSourceBfs::outside`].
    pub(crate) fn span(&self) -> Range<u64> {
        self.base..self.base + self.reached.len() as u64
    }

    /// Starts outside of the span that reach themselves.
    pub(crate) fn outside(&self) -> Vec<u64> {
        self.outside.iter().map(|(node, _)| *node).collect()
    }

    /// Whether a lane has reached the node, which lies in the span.
    pub(crate) fn is_reached(&self, node: u64) -> bool {
        self.reached[at(node - self.base)] != 0
    }

    /// No lane shall have reached the node.
    pub(crate) fn clear(&mut self, node: u64) {
        match self
            .outside
            .iter_mut()
            .find(|(outside, _)| *outside == node)
        {
            Some((_, lanes)) => *lanes = 0,
            None => self.reached[at(node - self.base)] = 0,
        }
    }

    /// Lane `lane` shall not have reached the node, wherever it lies.
    pub(crate) fn clear_lane(&mut self, node: u64, lane: usize) {
        let place = at(node.wrapping_sub(self.base));
        let outside = self.outside.iter_mut();
        let outside = outside.filter(|(outside, _)| *outside == node);
        for lanes in outside
            .map(|(_, lanes)| lanes)
            .chain(self.reached.get_mut(place))
        {
            *lanes &= !(1 << lane);
        }
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
        let span = self.span();
        for (from, to) in ranges {
            for (_, lanes) in self
                .outside
                .iter()
                .filter(|(node, _)| (*from..*to).contains(node))
            {
                planes[0] = *lanes;
                flush(&mut planes);
            }
            let (from, to) = (span.start.max(*from), span.end.min(*to));
            if from >= to {
                continue;
            }
            for words in
                self.reached[at(from - self.base)..at(to - self.base)].chunks((1 << PLANES) - 1)
            {
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
