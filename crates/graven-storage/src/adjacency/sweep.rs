//! Visiting the lists of many nodes, page by page, with the pages ahead on their way.
//!
//! # How it works
//! ```text
//! nodes -> fill chunk B, prefetch its pages -> visit chunk A (each page pinned once) -> swap
//! ```
//! A chunk ends after [`CHUNK_NODES`] nodes or when its segments fill the window, so what is
//! prefetched stays within a quarter of the memory limit and is used before it can be evicted
//! again.
//!
//! With changes on top of the file, nodes that the file does not know stay in the chunks as well,
//! and a cursor runs beside the sweep that knows the next node whose list is changed.

use super::list::List;
use super::list::Merged;
use super::segment::Segment;
use super::{Adjacency, ReadContext};
use crate::adjacency::order::Sweep;
use crate::delta::changed_lists::Cursor;
use crate::ids::NodeId;
use crate::segment_map::{Located, SegmentMap};
use graven_pagecache::{PageKind, PageRef, SizeClass};
use std::ops::{ControlFlow, Range};

/// Nodes gathered ahead.
const CHUNK_NODES: usize = 4096;

/// Lists whose first bytes are loaded ahead of their visit.
const PREFETCH_DISTANCE: usize = 4;

/// Nodes that are visited together, with the segments that hold their lists; `None`: no segment
/// does.
#[derive(Default)]
struct Chunk {
    nodes: Vec<u64>,
    segments: Vec<(Option<Located>, Range<usize>)>,
}

/// Where nodes come from and what becomes of those without a segment.
struct Source<'a, I> {
    nodes: I,
    /// The node that did not fit the chunk before.
    pending: Option<(u64, Lookup)>,
    map: Option<&'a SegmentMap>,
    keep_all: bool,
}

/// The segment of a node, or where the first segment begins for nodes before that.
type Lookup = Result<Located, u64>;

fn ids_of(place: &Lookup) -> Range<u64> {
    match place {
        Ok(located) => located.first..located.end,
        Err(first) => 0..*first,
    }
}

impl Chunk {
    /// Takes nodes until the chunk is full.
    fn fill(
        &mut self,
        source: &mut Source<'_, impl Iterator<Item = NodeId>>,
        context: &ReadContext,
        window: usize,
    ) -> crate::Result<()> {
        self.nodes.clear();
        self.segments.clear();
        let mut ids = 0..0;
        let mut current = None;
        if let Some((node, place)) = source.pending.take() {
            self.nodes.push(node);
            ids = ids_of(&place);
            current = Some(place);
        }
        let mut start = 0;
        while self.nodes.len() < CHUNK_NODES {
            let Some(NodeId(node)) = source.nodes.next() else {
                break;
            };
            if ids.contains(&node) {
                self.nodes.push(node);
                continue;
            }
            let place = match source.map {
                Some(map) => map.floor(&context.pages, node)?,
                None => Err(u64::MAX),
            };
            if place.is_err() && !source.keep_all {
                continue;
            }
            if let Some(before) = current.take() {
                self.segments.push((before.ok(), start..self.nodes.len()));
                start = self.nodes.len();
                if self.segments.len() == window {
                    source.pending = Some((node, place));
                    return Ok(());
                }
            }
            self.nodes.push(node);
            ids = ids_of(&place);
            current = Some(place);
        }
        if let Some(before) = current {
            self.segments.push((before.ok(), start..self.nodes.len()));
        }
        Ok(())
    }

    fn prefetch(&self, context: &ReadContext, scratch: &mut Vec<PageRef>) {
        scratch.clear();
        scratch.extend(
            self.segments
                .iter()
                .filter_map(|(located, _)| Some(located.as_ref()?.page)),
        );
        context.pages.prefetch(scratch, PageKind::Adjacency);
    }
}

impl Adjacency {
    /// Calls `visit` with the list of each of `nodes` that has one, until it breaks.
    ///
    /// `nodes` ascend for [`Sweep::Up`] and descend for [`Sweep::Down`]; out of order the sweep is
    /// right but slow.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`]; what `visit` returns.
    #[inline]
    pub fn sweep<F>(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        order: Sweep,
        mut visit: F,
    ) -> crate::Result<()>
    where
        F: FnMut(NodeId, &List<'_>) -> crate::Result<ControlFlow<()>>,
    {
        let Some(overlay) = self.overlay.as_deref() else {
            let context = self.context();
            return self.sweep_pages(nodes, order, false, |located, run| match located {
                Some(place) => visit_run(context, place, run, &mut visit),
                None => Ok(ControlFlow::Continue(())),
            });
        };
        let edges = overlay.edges();
        let (mut cursor, mut merged) = (Cursor::new(&edges, order), Merged::default());
        self.sweep_pages(nodes, order, true, |located, run| {
            let nowhere = (Segment::NONE, PageRef::new(SizeClass::MIN, 0));
            let place = located.unwrap_or(nowhere);
            overlay.note_all(run);
            visit_changed(
                self.context(),
                place,
                run,
                &mut cursor,
                &mut merged,
                &mut visit,
            )
        })
    }

    /// Calls `visit` with each segment of the file that may hold lists of some of `nodes`, and
    /// these, until it breaks; with `keep_all` also with nodes that no segment can have a list of.
    #[inline]
    pub(super) fn sweep_pages(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        order: Sweep,
        keep_all: bool,
        mut visit: impl FnMut(Option<(&Segment<'_>, PageRef)>, &[u64]) -> crate::Result<ControlFlow<()>>,
    ) -> crate::Result<()> {
        if self.inner.map.is_none() && !keep_all {
            return Ok(());
        }
        let context = self.context();
        let window = context.window();
        let mut source = Source {
            nodes,
            pending: None,
            map: self.inner.map.as_ref(),
            keep_all,
        };
        let mut pages = Vec::with_capacity(window);
        let (mut current, mut next) = (Chunk::default(), Chunk::default());
        let mut previous: Option<u64> = None;
        current.fill(&mut source, context, window)?;
        current.prefetch(context, &mut pages);
        while !current.nodes.is_empty() {
            next.fill(&mut source, context, window)?;
            next.prefetch(context, &mut pages);
            for (located, range) in &current.segments {
                let run = &current.nodes[range.clone()];
                debug_assert!(
                    run.iter().all(|node| {
                        let before = previous.replace(*node);
                        before.is_none_or(|before| match order {
                            Sweep::Up => before <= *node,
                            Sweep::Down => before >= *node,
                        })
                    }),
                    "nodes are swept in order"
                );
                let flow = match located {
                    None => visit(None, run)?,
                    Some(located) => {
                        let pin = context.pages.pin(located.page, PageKind::Adjacency)?;
                        let segment = context.checked(located.page, context.segment(&pin))?;
                        visit(Some((&segment, located.page)), run)?
                    }
                };
                if flow.is_break() {
                    return Ok(());
                }
            }
            std::mem::swap(&mut current, &mut next);
        }
        Ok(())
    }
}

/// Visits the lists of `run` in one segment.
#[inline(always)]
fn visit_run(
    context: &ReadContext,
    (segment, page): (&Segment<'_>, PageRef),
    run: &[u64],
    visit: &mut impl FnMut(NodeId, &List<'_>) -> crate::Result<ControlFlow<()>>,
) -> crate::Result<ControlFlow<()>> {
    for (at, &node) in run.iter().enumerate() {
        if let Some(ahead) = run.get(at + PREFETCH_DISTANCE) {
            segment.prefetch(*ahead);
        }
        if let Some(list) = List::find(context, page, segment, node)?
            && visit(NodeId(node), &list)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// As [`visit_run`] where some lists may be changed.
fn visit_changed(
    context: &ReadContext,
    (segment, page): (&Segment<'_>, PageRef),
    run: &[u64],
    cursor: &mut Cursor<'_>,
    merged: &mut Merged,
    visit: &mut impl FnMut(NodeId, &List<'_>) -> crate::Result<ControlFlow<()>>,
) -> crate::Result<ControlFlow<()>> {
    for &node in run {
        let base = List::find(context, page, segment, node)?;
        let list = if cursor.at(NodeId(node))? {
            merged.fill(context, base.as_ref(), &cursor.list(node)?)?;
            // Nothing may be left of it.
            (!merged.nodes.is_empty()).then(|| merged.list(context, node))
        } else {
            base
        };
        if let Some(list) = list
            && visit(NodeId(node), &list)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
