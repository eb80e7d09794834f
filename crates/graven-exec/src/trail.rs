//! Trails from one node, one after the other: walks that use no relationship twice.
//!
//! # How it works
//! An iterative depth-first walk. The stack holds, for each node of the current trail, its relationships and how many of
//! them are done; nothing else is kept, so memory follows the length of the trail and the degrees on it.
//!
//! # Invariants
//! * EX-15 Every trail of `min..=max` relationships is met exactly once, as the list of its relationships.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::error::Result;
use crate::memory::Memory;

/// See the file header.
pub(crate) struct Trail {
    min: usize,
    max: usize,
    stack: Vec<Frame>,
    relationships: Vec<u64>,
    used: HashSet<u64, RandomState>,
    /// The node the trail starts at, until the walk has begun; with `min` 0 it is the first end.
    start: Option<u64>,
    /// The node to go on from, where the trail handed out last may grow.
    descend: Option<u64>,
}

struct Frame {
    /// Neighbour and relationship.
    relationships: Vec<(u64, u64)>,
    next: usize,
}

impl Trail {
    /// Trails of `min..=max` relationships from `start`.
    pub(crate) fn new(start: u64, min: u32, max: Option<u32>) -> Self {
        Self {
            min: min as usize,
            max: max.map_or(usize::MAX, |m| m as usize),
            stack: Vec::new(),
            relationships: Vec::new(),
            used: HashSet::default(),
            start: Some(start),
            descend: None,
        }
    }

    /// Relationships of the trail handed out last, in order of travel.
    pub(crate) fn relationships(&self) -> &[u64] {
        &self.relationships
    }

    /// The end of the next trail; `neighbours` gives the usable relationships of a node.
    ///
    /// # Errors
    /// Those of `neighbours`; no memory.
    pub(crate) fn next(
        &mut self,
        mut neighbours: impl FnMut(u64) -> Result<Vec<(u64, u64)>>,
        memory: &mut Memory,
    ) -> Result<Option<u64>> {
        if let Some(start) = self.start.take() {
            self.descend = Some(start);
            if self.min == 0 {
                return Ok(Some(start));
            }
        }
        loop {
            if let Some(node) = self.descend.take()
                && self.relationships.len() < self.max
            {
                let relationships = neighbours(node)?;
                memory.charge(frame_bytes(&relationships))?;
                self.stack.push(Frame {
                    relationships,
                    next: 0,
                });
            } else if let Some(last) = self.relationships.pop() {
                // A trail that cannot grow, or the one that led to a finished frame, is taken back.
                self.used.remove(&last);
            }
            if let Some(end) = self.grow(memory) {
                self.descend = Some(end);
                if self.relationships.len() >= self.min {
                    return Ok(Some(end));
                }
            } else if self.stack.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Adds the next unused relationship of the innermost frame to the trail; without one the frame ends.
    fn grow(&mut self, memory: &mut Memory) -> Option<u64> {
        let frame = self.stack.last_mut()?;
        while let Some((node, relationship)) = frame.relationships.get(frame.next).copied() {
            frame.next += 1;
            if self.used.insert(relationship) {
                self.relationships.push(relationship);
                return Some(node);
            }
        }
        memory.release(frame_bytes(&frame.relationships));
        self.stack.pop();
        None
    }
}

fn frame_bytes(relationships: &[(u64, u64)]) -> usize {
    size_of::<Frame>() + size_of_val(relationships)
}
