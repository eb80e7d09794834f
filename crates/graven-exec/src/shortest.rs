//! Shortest trails between two nodes, one after the other.
//!
//! # How it works
//! Two searches. [`bidirectional_bfs`] finds one or all shortest trails between two different nodes
//! for lower bounds 0 and 1: a shortest walk repeats no node, so it is a trail, and breadth-first
//! searches from both ends that meet find them. [`k_shortest_trails`] finds trails in order of
//! length under any bounds, closed ones included, by walks in one direction that know what is left
//! from a search in the other one.
//!
//! Both keep what they find in memory as long as an operator may, and in temporary pages from then
//! on: [`levels`].
//!
//! # Invariants
//! * EX-16 Trails come in ascending length; each is met once.

pub(crate) mod bidirectional_bfs;
pub(crate) mod distances;
pub(crate) mod k_shortest_trails;
mod levels;
mod path_enumerator;

use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::query_context::QueryContext;
use crate::reachability::filtered_neighbors::FilteredNeighbors;
use crate::spill::Spill;

/// What a search has besides relationships.
pub(crate) struct SearchContext<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) spill: Option<&'a Spill>,
    pub(crate) rt: &'a QueryContext,
}

impl SearchContext<'_> {
    /// Takes so many bytes more.
    ///
    /// # Errors
    /// None if there are temporary pages to go on with; else that the budget has no room.
    fn take(&mut self, bytes: usize) -> Result<(), Option<ExecError>> {
        match self.spill {
            None => self.memory.charge(bytes).map_err(Some),
            Some(_) => self.memory.keeps_more(bytes).then_some(()).ok_or(None),
        }
    }
}

/// The usable relationships from both sides for one row.
pub(crate) struct Sides<'a> {
    /// From the start on.
    pub(crate) forward: FilteredNeighbors<'a>,
    /// From the end back.
    pub(crate) backward: FilteredNeighbors<'a>,
}

impl<'a> Sides<'a> {
    fn edges(&self, forward: bool) -> &FilteredNeighbors<'a> {
        if forward {
            &self.forward
        } else {
            &self.backward
        }
    }

    /// Of the usable relationships by which one side goes from `node` to `other` that with this
    /// number.
    ///
    /// # Errors
    /// What reading gives; the other direction has more relationships between them, so the file
    /// contradicts itself.
    fn between(&self, forward: bool, node: u64, other: u64, number: usize) -> Result<u64> {
        let found = self.edges(forward).between(node, other)?;
        let found = found.get(number).copied();
        // It was met from the other side.
        found.ok_or_else(|| self.edges(forward).contradiction(node, other))
    }
}
