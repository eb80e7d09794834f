//! A hash table of nodes, for searches that reach little of a large graph.

use std::collections::HashSet;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::{Dense, at};
use crate::error::Result;
use crate::memory::Memory;
use crate::reachability::filtered_neighbors::{FilteredNeighbors, Neighbours};
use crate::reachability::node_order::Nodes;
use crate::tuning::Tuning;

/// Bytes that an entry of the hash table takes, with slack for its growth.
const SPARSE_ENTRY: u64 = 32;

/// Ids in a hash table.
pub(super) type Ids = HashSet<u64, RandomState>;

/// A hash table.
#[derive(Default)]
pub(crate) struct Sparse {
    old: Ids,
    fresh: Ids,
    nodes: u64,
    tuning: Tuning,
    /// Entries that are charged for.
    room: usize,
}

impl Dense for Sparse {
    #[inline]
    fn mark_fresh(&mut self, node: u64) {
        if !self.old.contains(&node) {
            self.fresh.insert(node);
        }
    }

    #[inline]
    fn is_old(&self, node: u64) -> bool {
        self.old.contains(&node)
    }

    #[inline]
    fn is_fresh(&self, node: u64) -> bool {
        self.fresh.contains(&node)
    }
}

/// How a level on a hash table ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lists are visited.
    Done,
    /// The table may not grow; lists come part by part, so no prefix of the nodes is certainly
    /// done.
    Full,
}

impl Sparse {
    /// No marks, in no memory yet, of a search among so many nodes.
    pub(super) fn new(nodes: u64, tuning: Tuning) -> Self {
        Self {
            nodes,
            tuning,
            ..Self::default()
        }
    }

    /// Forgets all marks; room for the first ones is charged.
    pub(super) fn clear(&mut self, memory: &mut Memory) -> Result<()> {
        self.old.clear();
        self.fresh.clear();
        if self.room == 0 {
            let room = self.limit().min(16 << 10);
            memory.charge(room * at(SPARSE_ENTRY))?;
            self.room = room;
        }
        Ok(())
    }

    /// Takes room for more entries, as long as that is smaller than a dense form; whether it is.
    pub(super) fn grow(&mut self, memory: &mut Memory) -> Result<bool> {
        let may_grow = self.room < self.limit();
        if may_grow {
            let room = (4 * self.room).min(self.limit());
            memory.charge((room - self.room) * at(SPARSE_ENTRY))?;
            self.room = room;
        }
        Ok(may_grow)
    }

    /// Whether the entries take all the room.
    pub(super) fn is_full(&self) -> bool {
        self.old.len() + self.fresh.len() >= self.room
    }

    /// The old and the fresh nodes; their bytes are given back.
    pub(super) fn take(&mut self, memory: &mut Memory) -> (Ids, Ids) {
        memory.release(self.room * at(SPARSE_ENTRY));
        self.room = 0;
        (
            std::mem::take(&mut self.old),
            std::mem::take(&mut self.fresh),
        )
    }

    /// Takes back what the running level has marked.
    pub(super) fn forget_fresh(&mut self) {
        self.fresh.clear();
    }

    /// Removes every mark of the node.
    pub(super) fn unmark(&mut self, node: u64) {
        self.fresh.remove(&node);
        self.old.remove(&node);
    }

    /// Fresh nodes become old ones; they go to `frontier`, for which there is room, ascending.
    pub(super) fn advance(&mut self, frontier: &mut Vec<u64>) -> u64 {
        frontier.extend(self.fresh.drain());
        frontier.sort_unstable();
        self.old.extend(frontier.iter());
        frontier.len() as u64
    }

    /// Nodes that this level has marked.
    pub(super) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// Marked nodes in `from..to`.
    pub(super) fn count(&self, from: u64, to: u64) -> u64 {
        self.marked(from, to).count() as u64
    }

    /// Appends up to `room` marked nodes in `from..to`, ascending; where to go on, if there are
    /// more.
    pub(super) fn collect(
        &self,
        from: u64,
        to: u64,
        room: usize,
        out: &mut Vec<u64>,
    ) -> Option<u64> {
        // The table is small: gather what lies in the range and sort it.
        let (before, full) = (out.len(), out.len() + room);
        out.extend(self.marked(from, to));
        out[before..].sort_unstable();
        let next = out.get(full).copied();
        out.truncate(full);
        next
    }

    fn marked(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let only_fresh = self.fresh.iter().filter(|n| !self.old.contains(n));
        let marked = self.old.iter().chain(only_fresh).copied();
        marked.filter(move |n| (from..to).contains(n))
    }

    /// Entries from which a dense form is smaller.
    fn limit(&self) -> usize {
        at(self.nodes / self.tuning.sparse_share)
    }

    /// Visits the relationships of `nodes` until the table would pass its limit.
    pub(in crate::reachability) fn expand(
        &mut self,
        edges: &FilteredNeighbors<'_>,
        nodes: Nodes<'_>,
        mut visit: impl FnMut(&mut Self, u64, bool, Neighbours<'_>),
    ) -> Result<Stop> {
        let limit = self.limit().min(self.room);
        let mut full = false;
        edges.visit(nodes, |node, skip_loops, ids| {
            if self.old.len() + self.fresh.len() + ids.len() > limit {
                full = true;
                return ControlFlow::Break(());
            }
            visit(self, node, skip_loops, ids);
            ControlFlow::Continue(())
        })?;
        Ok(if full { Stop::Full } else { Stop::Done })
    }
}
