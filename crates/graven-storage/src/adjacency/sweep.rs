//! Visiting the lists of many nodes, page by page, with the pages ahead on their way.
//!
//! # How it works
//! ```text
//! nodes -> fill chunk B, prefetch its pages -> visit chunk A (each page pinned once) -> swap
//! ```
//! A chunk ends after [`CHUNK_NODES`] nodes or when its segments fill the window, so what is prefetched stays
//! within a quarter of the memory limit and is used before it can be evicted again.

use super::list::List;
use super::{Adjacency, Reach};
use crate::Result;
use crate::ids::NodeId;
use crate::segment_map::{Located, SegmentMap};
use graven_pagecache::{PageKind, PageRef};
use std::ops::{ControlFlow, Range};

/// Nodes gathered ahead.
const CHUNK_NODES: usize = 4096;

/// Lists whose first bytes are loaded ahead of their visit.
const TOUCH_AHEAD: usize = 4;

/// Order in which a sweep gets and visits its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// Ascending ids.
    Up,
    /// Descending ids.
    Down,
}

/// Nodes that are visited together, with the segments that hold their lists.
#[derive(Default)]
struct Chunk {
    nodes: Vec<u64>,
    segments: Vec<(Located, Range<usize>)>,
}

impl Chunk {
    /// Takes nodes from `nodes` until the chunk is full. `pending` holds the node that did not fit any more.
    fn fill(
        &mut self,
        nodes: &mut impl Iterator<Item = NodeId>,
        pending: &mut Option<(u64, Located)>,
        map: &SegmentMap,
        reach: &Reach,
        window: usize,
    ) -> Result<()> {
        self.nodes.clear();
        self.segments.clear();
        let mut ids = 0..0;
        let mut located = None;
        if let Some((node, place)) = pending.take() {
            self.nodes.push(node);
            ids = place.first..place.end;
            located = Some(place);
        }
        let mut start = 0;
        while self.nodes.len() < CHUNK_NODES {
            let Some(NodeId(node)) = nodes.next() else {
                break;
            };
            if ids.contains(&node) {
                self.nodes.push(node);
                continue;
            }
            let Ok(place) = map.floor(&reach.pages, node)? else {
                continue;
            };
            if let Some(before) = located.take() {
                self.segments.push((before, start..self.nodes.len()));
                start = self.nodes.len();
                if self.segments.len() == window {
                    *pending = Some((node, place));
                    return Ok(());
                }
            }
            self.nodes.push(node);
            ids = place.first..place.end;
            located = Some(place);
        }
        if let Some(before) = located {
            self.segments.push((before, start..self.nodes.len()));
        }
        Ok(())
    }

    fn prefetch(&self, reach: &Reach, scratch: &mut Vec<PageRef>) {
        scratch.clear();
        scratch.extend(self.segments.iter().map(|(located, _)| located.page));
        reach.pages.prefetch(scratch, PageKind::Adjacency);
    }
}

impl Adjacency {
    /// Calls `visit` with the list of each of `nodes` that has one, until it breaks.
    ///
    /// `nodes` ascend for [`Sweep::Up`] and descend for [`Sweep::Down`]; out of order the sweep is right but slow.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`]; what `visit` returns.
    #[inline]
    pub fn sweep<F>(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        order: Sweep,
        mut visit: F,
    ) -> Result<()>
    where
        F: FnMut(NodeId, &List<'_>) -> Result<ControlFlow<()>>,
    {
        let Some(map) = &self.inner.map else {
            return Ok(());
        };
        let reach = self.reach();
        let window = reach.window();
        let mut nodes = nodes;
        let mut pages = Vec::with_capacity(window);
        let mut pending = None;
        let (mut current, mut next) = (Chunk::default(), Chunk::default());
        let mut previous: Option<u64> = None;
        current.fill(&mut nodes, &mut pending, map, reach, window)?;
        current.prefetch(reach, &mut pages);
        while !current.nodes.is_empty() {
            next.fill(&mut nodes, &mut pending, map, reach, window)?;
            next.prefetch(reach, &mut pages);
            for (located, range) in &current.segments {
                let pin = reach.pages.pin(located.page, PageKind::Adjacency)?;
                let segment = reach.checked(located.page, reach.segment(&pin))?;
                let run = &current.nodes[range.clone()];
                for (at, &node) in run.iter().enumerate() {
                    if let Some(ahead) = run.get(at + TOUCH_AHEAD) {
                        segment.touch(*ahead);
                    }
                    debug_assert!(
                        previous.is_none_or(|previous| match order {
                            Sweep::Up => previous <= node,
                            Sweep::Down => previous >= node,
                        }),
                        "nodes are swept in order"
                    );
                    previous = Some(node);
                    if let Some(list) = List::find(reach, located.page, &segment, node)?
                        && visit(NodeId(node), &list)?.is_break()
                    {
                        return Ok(());
                    }
                }
            }
            std::mem::swap(&mut current, &mut next);
        }
        Ok(())
    }
}
