//! Shortest trails between two nodes, one after the other.
//!
//! # How it works
//! Two searches. [`meeting`] finds one or all shortest trails between two different nodes for lower bounds 0 and 1: a
//! shortest walk repeats no node, so it is a trail, and breadth-first searches from both ends that meet find them.
//! [`ordered`] finds trails in order of length under any bounds, closed ones included: partial trails are
//! extended in order of their length and the distance that is left, which a search from the far end tells.
//!
//! # Invariants
//! * EX-16 Trails come in ascending length; each is met once.

pub(crate) mod meeting;
pub(crate) mod ordered;

use crate::error::Result;
use crate::reachability::edges::Edges;

/// The usable relationships from both sides for one row.
pub(crate) struct Sides<'a> {
    /// From the start on.
    pub(crate) forward: Edges<'a>,
    /// From the end back.
    pub(crate) backward: Edges<'a>,
}

impl<'a> Sides<'a> {
    fn edges(&self, forward: bool) -> &Edges<'a> {
        if forward {
            &self.forward
        } else {
            &self.backward
        }
    }

    /// Neighbours and relationships of `node`, seen from one side.
    fn relationships(&self, forward: bool, node: u64) -> Result<Vec<(u64, u64)>> {
        self.edges(forward).relationships(node)
    }

    /// Of the usable relationships by which one side goes from `node` to `other` that with this number.
    ///
    /// # Errors
    /// What reading gives.
    fn between(&self, forward: bool, node: u64, other: u64, number: usize) -> Result<u64> {
        let found = self.edges(forward).between(node, other)?;
        let found = found.get(number).copied();
        Ok(found.expect("EX-16: it was met before"))
    }
}
