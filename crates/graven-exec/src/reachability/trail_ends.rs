//! Ends of trails by walking the trails, where breadth-first search is not equivalent.
//!
//! # How it works
//! Depth-first with relationship uniqueness; memory holds the relationships of the nodes on the
//! current trail and the marks of the ends. Once every node that could be an end is marked, nothing
//! is left to find.

use super::Bounds;
use super::filtered_neighbors::FilteredNeighbors;
use super::visited_set::VisitedSet;
use crate::error::Result;
use crate::memory::Memory;
use crate::trail::Trail;

/// Marks the ends of all trails from `start` within `bounds`.
pub(super) fn mark(
    edges: &FilteredNeighbors<'_>,
    start: u64,
    bounds: Bounds,
    marks: &mut VisitedSet,
    memory: &mut Memory,
) -> Result<()> {
    let mut trail = Trail::new(start, bounds.min, bounds.max);
    while let Some(end) = trail.next(|node| edges.relationships(node), memory)? {
        edges.rt().check_cancelled()?;
        marks.mark(end, memory)?;
    }
    Ok(())
}
