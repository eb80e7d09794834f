//! Trails from one node, one after the other: walks that use no relationship twice.
//!
//! # How it works
//! An iterative depth-first walk. The stack holds, for each node of the current trail, its
//! relationships and how many of them are done; nothing else is kept, so memory follows the length
//! of the trail and the degrees on it. Where that is too much the relationships of the nodes
//! farthest back are forgotten, and read again when the walk comes back to them.
//!
//! # Invariants
//! * EX-15 Every trail of `min..=max` relationships is met exactly once, as the list of its
//!   relationships.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::error::Result;
use crate::memory::Memory;

/// See the file header.
pub(crate) struct Trail {
    min: usize,
    max: usize,
    stack: Vec<Frame>,
    /// The lowest frames, so many, whose relationships are forgotten, and the bytes of the other
    /// ones' relationships.
    forgotten: usize,
    held: usize,
    relationships: Vec<u64>,
    used: HashSet<u64, RandomState>,
    /// The node the trail starts at, until the walk has begun; with `min` 0 it is the first end.
    start: Option<u64>,
    /// The node to go on from, where the trail handed out last may grow.
    descend: Option<u64>,
}

struct Frame {
    node: u64,
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
            forgotten: 0,
            held: 0,
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
    /// Those of `neighbours`; no memory for the trail itself.
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
                self.make_room(FRAME_BYTES + size_of_val(&*relationships), memory)?;
                self.held += size_of_val(&*relationships);
                self.stack.push(Frame {
                    node,
                    relationships,
                    next: 0,
                });
            } else if let Some(last) = self.relationships.pop() {
                // A trail that cannot grow, or the one that led to a finished frame, is taken back.
                self.used.remove(&last);
            }
            if self.forgotten > 0 && self.forgotten == self.stack.len() {
                self.forgotten -= 1;
                let relationships = neighbours(self.stack[self.forgotten].node)?;
                self.make_room(size_of_val(&*relationships), memory)?;
                self.held += size_of_val(&*relationships);
                self.stack[self.forgotten].relationships = relationships;
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

    /// Charges `bytes`, and forgets relationships for that.
    fn make_room(&mut self, bytes: usize, memory: &mut Memory) -> Result<()> {
        while !memory.keeps_more(bytes) {
            let keep = self.held / 2;
            if self.held == 0 {
                return memory.charge(bytes);
            }
            while self.held > keep {
                let frame = &mut self.stack[self.forgotten];
                let relationships = std::mem::take(&mut frame.relationships);
                self.forgotten += 1;
                self.held -= size_of_val(&*relationships);
                memory.release(size_of_val(&*relationships));
            }
        }
        Ok(())
    }

    /// Adds the next unused relationship of the innermost frame to the trail; without one the frame
    /// ends.
    fn grow(&mut self, memory: &mut Memory) -> Option<u64> {
        let frame = self.stack.last_mut()?;
        while let Some((node, relationship)) = frame.relationships.get(frame.next).copied() {
            frame.next += 1;
            if self.used.insert(relationship) {
                self.relationships.push(relationship);
                return Some(node);
            }
        }
        let list = size_of_val(&*frame.relationships);
        self.held -= list;
        memory.release(FRAME_BYTES + list);
        self.stack.pop();
        None
    }
}

/// A frame, its relationship in the trail and among those used.
const FRAME_BYTES: usize = size_of::<Frame>() + 3 * size_of::<u64>();
