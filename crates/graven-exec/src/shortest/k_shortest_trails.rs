//! Trails between two nodes in order of length, under any bounds.
//!
//! # How it works
//! Depth-first walks from one end, each over the trails of one length: nothing is kept but the
//! trail at hand and the relationships of its nodes, however many partial trails there are. A
//! partial trail goes on only if the rest of the way, which [`Distances`] from the other end tell,
//! is no longer than what is left. The next walk is for the least length that a partial trail given
//! up could have.
//!
//! Distances are found as they are wanted: a walk goes on without them until that has cost as much
//! as the next level would, which is divided among the rows that share the far end. Where walks
//! find nothing, the next ones look for any trail of several lengths, of twice as many each time,
//! and only then for all of the least length found.
//!
//! # Invariants
//! * EX-56 Trails of one length come in the order of the nodes and relationships along them: that
//!   does not depend on which distances are known.
//!
//! # Costs
//! 16 bytes a relationship that leads on from a node of the trail at hand; distances as
//! [`super::distances`] says; all charged.
//!
//! # Source
//! Korf, "Depth-first iterative-deepening: an optimal admissible tree search", 1985.

use std::collections::HashSet;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::distances::Distances;
use super::{SearchContext, Sides};
use crate::error::Result;
use crate::reachability::node_order::Nodes;

/// What a node of the trail takes besides its relationships.
const FRAME_BYTES: usize = size_of::<Frame>() + 3 * size_of::<u64>();

/// One of so many entries of a list is looked for by itself.
const FEW: usize = 4;

/// Which trails are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// Rows that are expected to share the far end.
    pub(crate) rows: usize,
}

/// See the file header.
pub(crate) struct KShortestTrails {
    start: u64,
    wanted: Wanted,
    distances: Distances,
    /// Lengths of the walk at hand: the trails of one, or any of several.
    least: u32,
    most: u32,
    /// How many lengths a walk is for.
    lengths: u32,
    is_walking: bool,
    /// The distance of the start was known when the walk began.
    was_known: bool,
    /// It has found trails; of several lengths the least; what a trail that it leaves out has at
    /// least.
    has_found: bool,
    shortest: Option<u32>,
    beyond: Option<u32>,
    frames: Vec<Frame>,
    trail: Vec<u64>,
    used: HashSet<u64, RandomState>,
    steps: u32,
}

/// A node of the trail: where it leads, and how much of that is done.
struct Frame {
    relationships: Vec<(u64, u64)>,
    next: usize,
}

impl Frame {
    fn bytes(&self) -> usize {
        FRAME_BYTES + size_of_val(&*self.relationships)
    }
}

impl KShortestTrails {
    /// Prepares walks from `start` to where the distances are from.
    ///
    /// # Errors
    /// Temporary pages cannot be read.
    pub(crate) fn new(start: u64, distances: Distances, wanted: Wanted) -> Result<Self> {
        let left = distances.least(start, u32::MAX)?;
        Ok(Self {
            start,
            wanted,
            distances,
            least: wanted.min,
            most: wanted.min,
            lengths: 1,
            is_walking: false,
            has_found: true,
            was_known: false,
            shortest: None,
            beyond: left.map(|left| left.max(wanted.min)),
            frames: Vec::new(),
            trail: Vec::new(),
            used: HashSet::default(),
            steps: 0,
        })
    }

    /// The distances, for another row.
    pub(crate) fn into_distances(self) -> Distances {
        self.distances
    }

    /// Whether walks go from the start of the pattern.
    fn is_forward(&self) -> bool {
        !self.distances.is_from(self.distances.origin(), true)
    }

    /// The relationships of the next trail, in order of travel.
    pub(crate) fn next(
        &mut self,
        edges: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<Option<Vec<u64>>> {
        loop {
            let arrived = if self.is_walking {
                self.go_on(means)?
            } else if self.begin() {
                Some(self.start)
            } else {
                return Ok(None);
            };
            let Some(node) = arrived else { continue };
            if self.arrive(node, edges, means)? {
                let mut trail = self.trail.clone();
                if !self.is_forward() {
                    trail.reverse();
                }
                return Ok(Some(trail));
            }
        }
    }

    /// Begins the next walk; false if there are no more trails.
    fn begin(&mut self) -> bool {
        if let Some(shortest) = self.shortest {
            (self.least, self.most) = (shortest, shortest);
        } else {
            let Some(least) = self.beyond.filter(|least| *least <= self.wanted.max) else {
                return false;
            };
            self.lengths = match self.was_known && !self.has_found {
                true => self.lengths.saturating_mul(2),
                false => 1,
            };
            self.was_known = self.distances.knows(self.start);
            self.least = least;
            self.most = least.saturating_add(self.lengths - 1).min(self.wanted.max);
        }
        (self.has_found, self.shortest, self.beyond) = (false, None, None);
        self.is_walking = true;
        true
    }

    /// Takes the next relationship, or one back; where the trail ends then.
    fn go_on(&mut self, means: &mut SearchContext<'_>) -> Result<Option<u64>> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(1024) {
            means.rt.check_cancelled()?;
        }
        // The trail is one longer than there are frames if its end leads nowhere.
        if self.trail.len() == self.frames.len()
            && let Some(last) = self.trail.pop()
        {
            self.used.remove(&last);
        }
        let Some(frame) = self.frames.last_mut() else {
            self.is_walking = false;
            return Ok(None);
        };
        while let Some((node, relationship)) = frame.relationships.get(frame.next).copied() {
            frame.next += 1;
            if self.used.insert(relationship) {
                self.trail.push(relationship);
                return Ok(Some(node));
            }
        }
        means.memory.release(frame.bytes());
        self.frames.pop();
        Ok(None)
    }

    /// Looks where a trail may go on from this node, at which it has arrived; whether it is one
    /// that is wanted.
    fn arrive(
        &mut self,
        node: u64,
        edges: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<bool> {
        let length = u32::try_from(self.trail.len()).unwrap_or(u32::MAX);
        if node == self.distances.origin() && (self.least..=self.most).contains(&length) {
            if self.least == self.most {
                self.has_found = true;
                self.leave_out(length.saturating_add(1));
                return Ok(true);
            }
            // Only shorter ones matter now.
            self.shortest = Some(length);
            match length == self.least {
                true => self.stop(means),
                false => self.most = length - 1,
            }
            return Ok(false);
        }
        if length >= self.most || !self.may_go_on(node, length)? {
            return Ok(false);
        }
        if !self.distances.knows(node) {
            self.distances.miss(self.wanted.rows, edges, means)?;
            if !self.may_go_on(node, length)? {
                return Ok(false);
            }
        }
        let relationships = self.onward(node, length, edges)?;
        let frame = Frame {
            relationships,
            next: 0,
        };
        means.memory.charge(frame.bytes())?;
        self.frames.push(frame);
        Ok(false)
    }

    /// The relationships by which a trail of this length may go on from `node`, ascending by where
    /// they lead.
    fn onward(&mut self, node: u64, length: u32, edges: &Sides<'_>) -> Result<Vec<(u64, u64)>> {
        let edges = edges.edges(self.is_forward());
        let (mut others, mut entries) = (Vec::new(), 0);
        let mut onward = Vec::new();
        if edges.is_plain() {
            // Which relationships these are is asked only where they lead on.
            edges.visit(Nodes::List(&[node]), |_, _, ids| {
                entries += ids.len();
                ids.for_each(|other| others.push(other));
                ControlFlow::Continue(())
            })?;
        } else {
            onward = edges.relationships(node)?;
            others.extend(onward.iter().map(|(other, _)| *other));
        }
        others.sort_unstable();
        others.dedup();
        let mut leading = Vec::new();
        for other in others {
            if self.may_go_on(other, length + 1)? {
                leading.push(other);
            }
        }
        if edges.is_plain() && leading.len() <= entries / FEW {
            for other in &leading {
                let between = edges.between(node, *other)?.into_iter();
                onward.extend(between.map(|relationship| (*other, relationship)));
            }
        } else if edges.is_plain() {
            onward = edges.relationships(node)?;
        }
        onward.retain(|(other, relationship)| {
            leading.binary_search(other).is_ok() && !self.used.contains(relationship)
        });
        onward.sort_unstable();
        onward.shrink_to_fit();
        Ok(onward)
    }

    /// Whether a trail of this length that ends at `node` may become one that is wanted; if not,
    /// for which length it may.
    fn may_go_on(&mut self, node: u64, length: u32) -> Result<bool> {
        let left = self.most.saturating_sub(length);
        let Some(least) = self.distances.least(node, left)? else {
            return Ok(false);
        };
        let least = length.saturating_add(least);
        if least > self.most {
            self.leave_out(least);
        }
        Ok(least <= self.most)
    }

    /// A trail of this length, or a longer one, may be left out.
    fn leave_out(&mut self, length: u32) {
        self.beyond = Some(self.beyond.map_or(length, |known| known.min(length)));
    }

    /// Ends the walk.
    fn stop(&mut self, means: &mut SearchContext<'_>) {
        for frame in self.frames.drain(..) {
            means.memory.release(frame.bytes());
        }
        self.trail.clear();
        self.used.clear();
        self.is_walking = false;
    }
}
