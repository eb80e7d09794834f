//! The ids of the relationships of many nodes as runs, without a look at their neighbours.
//!
//! # How it works
//! Ids follow from the place of a relationship in its segment ([`super::segment`]), so all that is
//! read of a list is how long it is. Pages are visited as [`super::sweep`] does.
//!
//! # Costs
//! A few instructions a list, whatever it holds.

use super::list::{IdCursor, List};
use super::segment::Segment;
use super::{Adjacency, ReadContext};
use crate::Result;
use crate::adjacency::order::Sweep;
use crate::ids::{Direction, NodeId};
use graven_pagecache::PageRef;
use std::ops::{ControlFlow, Range};

/// Ids of a list that are looked at together where they do not follow from its place.
const TOGETHER: usize = 4096;

impl Adjacency {
    /// Calls `visit` with the place of each of `nodes`, which ascend, that has a list, and with the
    /// ids of the relationships of that list, run by run in its order, until it breaks.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    ///
    /// # Panics
    /// On the reverse direction, whose lists hold no ids.
    pub fn sweep_ids(
        &self,
        nodes: &[u64],
        mut visit: impl FnMut(usize, Range<u64>) -> ControlFlow<()>,
    ) -> Result<()> {
        let context = self.context();
        assert!(
            context.direction == Direction::Out,
            "reverse lists hold no relationship ids"
        );
        let mut place = 0;
        let mut place_of = |node: u64| {
            while nodes[place] != node {
                place += 1;
            }
            place
        };
        let all = nodes.iter().map(|node| NodeId(*node));
        if self.overlay.is_some() {
            return self.sweep(all, Sweep::Up, |node, list| {
                let place = place_of(node.0);
                list.for_each_run(&mut |ids| visit(place, ids))
            });
        }
        self.sweep_pages(all, Sweep::Up, false, |located, run| {
            let Some((segment, page)) = located else {
                return Ok(ControlFlow::Continue(()));
            };
            let mut visit = |node, ids| visit(place_of(node), ids);
            match segment.is_head() {
                true => decode_whole_lists(context, segment, page, run, &mut visit),
                false => {
                    let visited = ids_in_page(segment, run, &mut visit);
                    context.checked(page, visited)
                }
            }
        })
    }
}

/// Lists that span several pages.
fn decode_whole_lists(
    context: &ReadContext,
    segment: &Segment<'_>,
    page: PageRef,
    nodes: &[u64],
    visit: &mut impl FnMut(u64, Range<u64>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    for node in nodes {
        if let Some(list) = List::find(context, page, segment, *node)?
            && list.for_each_run(&mut |ids| visit(*node, ids))?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Lists of one page.
fn ids_in_page(
    segment: &Segment<'_>,
    nodes: &[u64],
    visit: &mut impl FnMut(u64, Range<u64>) -> ControlFlow<()>,
) -> crate::bytes::Decoded<ControlFlow<()>> {
    // The ranks that the run of ids at hand has, and its first id.
    let (mut run, mut first) = (0..0, 0);
    segment.for_each_rank(nodes, |node, mut ranks| {
        while !ranks.is_empty() {
            if !run.contains(&ranks.start) {
                let (start, behind, id) = segment.run_at(ranks.start)?;
                (run, first) = (start..behind, id);
            }
            let to = run.end.min(ranks.end);
            let ids = first + (ranks.start - run.start)..first + (to - run.start);
            if visit(node, ids).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            ranks.start = to;
        }
        Ok(ControlFlow::Continue(()))
    })
}

impl List<'_> {
    /// Calls `visit` with the ids of all relationships of a forward list, run by run, until it
    /// breaks.
    fn for_each_run(
        &self,
        visit: &mut impl FnMut(Range<u64>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut ids: Vec<u64> = Vec::new();
        let mut cursor = IdCursor::default();
        for from in (0..self.len()).step_by(TOGETHER) {
            ids.clear();
            let some = from..self.len().min(from + TOGETHER);
            self.append_relationships_at(&mut cursor, some, &mut ids)?;
            for run in ids.chunk_by(|id, next| id.checked_add(1) == Some(*next)) {
                if visit(run[0]..run[0] + run.len() as u64).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
