//! Visiting the lists of a set of nodes in several adjacencies, in whatever order needs fewest
//! reads.
//!
//! # How it works
//! The segments that hold lists of the set are found first, in all adjacencies. Those whose pages
//! are in memory are visited first, so that no page is thrown out just before it is wanted; the
//! others follow in ascending or descending order, their reads submitted well ahead of the visit
//! and merged where they are neighbours. In each page the set is intersected with the bitmaps of
//! the groups, and the lists found are decoded in one run ([`crate::bitpack::run`]), or only looked
//! into ([`super::set_probe`]). A page whose lists have one neighbour each is read like a column.
//!
//! ```text
//! set -> tasks (adjacency, page) -> resident ones | absent ones, reading ahead -> pin -> items -> work: decode, visit
//! ```
//!
//! # Costs
//! 24 bytes a segment of a stretch; a stretch is limited to four times the pages that the memory
//! limit holds.

use super::Adjacency;
use super::decode::NARROW_LIMIT;
use super::list::List;
use super::node_set::NodeSet;
use super::segment::{Segment, ToOneOutcome};
use super::set_changes;
use crate::adjacency::order::Sweep;
use crate::bitpack::run::{Item, Source, Stop, decode_run};
use crate::ids::NodeId;
use crate::{Error, Result};
use graven_pagecache::{PageKind, PagePin, PageRef};
use std::ops::ControlFlow;

/// Segments gathered at once, at least and at most.
const STRETCH_MIN: u64 = 64;
const STRETCH_MAX: u64 = 8192;
/// A stretch holds so many times the smallest pages that the memory limit has room for.
const STRETCH_SHARE: u64 = 4;
/// Part of the memory limit that is read ahead.
const AHEAD_SHARE: u64 = 4;
/// Pages read ahead at most.
const AHEAD_MAX: u64 = 256;
/// Reads are submitted in so many portions of what is read ahead.
const PORTIONS: usize = 2;

/// A segment to visit.
#[derive(Clone, Copy)]
struct Task {
    adjacency: usize,
    page: PageRef,
}

/// What is done with the lists of a page.
pub(super) trait PageVisitor {
    /// Does it for `items` of adjacency number `adjacency` from number `from` on, as far as the
    /// kernels go. Names are distances from node `first`.
    fn run(
        &mut self,
        adjacency: usize,
        first: u64,
        source: Source<'_>,
        items: &[Item],
        from: usize,
    ) -> Stop;

    /// Does it for the nodes of the set in a segment that has no list of several neighbours.
    fn only(&mut self, _: usize, _: &Segment<'_>, _: NodeSet<'_>, _: u32) -> ToOneOutcome {
        ToOneOutcome::Group(0)
    }

    /// Does it for one list, with every check: long lists, wide blocks, damage.
    fn list(&mut self, adjacency: usize, list: &List<'_>) -> Result<ControlFlow<()>>;
}

/// Hands lists out decoded.
struct Visiting<'v, F> {
    visit: &'v mut F,
    scratch: Vec<u32>,
    careful: Vec<u32>,
}

impl<F> PageVisitor for Visiting<'_, F>
where
    F: FnMut(usize, NodeId, &[u32]) -> ControlFlow<()>,
{
    #[inline]
    fn run(
        &mut self,
        adjacency: usize,
        first: u64,
        source: Source<'_>,
        items: &[Item],
        from: usize,
    ) -> Stop {
        let visit = &mut self.visit;
        decode_run(source, items, from, &mut self.scratch, &mut |name, list| {
            visit(adjacency, NodeId(first + u64::from(name)), list).is_continue()
        })
    }

    #[inline]
    fn only(
        &mut self,
        adjacency: usize,
        segment: &Segment<'_>,
        nodes: NodeSet<'_>,
        limit: u32,
    ) -> ToOneOutcome {
        let visit = &mut self.visit;
        segment.for_each_only(nodes, limit, |node, only| {
            visit(adjacency, NodeId(node), &[only]).is_continue()
        })
    }

    fn list(&mut self, adjacency: usize, list: &List<'_>) -> Result<ControlFlow<()>> {
        let node = list.node();
        Ok((self.visit)(
            adjacency,
            node,
            list.decode(&mut self.careful)?,
        ))
    }
}

impl Adjacency {
    /// Calls `visit` with the number of the adjacency, the node and the neighbours of every list
    /// that one of `adjacencies` has for a node of the set, until it breaks.
    ///
    /// Lists come page by page, in no promised order of nodes; `order` says from which end absent
    /// pages are read. The adjacencies belong to one snapshot.
    ///
    /// # Errors
    /// [`Error::Wide`] if node ids need 64 bits; what pinning gives; [`Error::Damaged`].
    #[inline]
    pub fn sweep_set<F>(
        adjacencies: &[&Adjacency],
        nodes: NodeSet<'_>,
        order: Sweep,
        mut visit: F,
    ) -> Result<()>
    where
        F: FnMut(usize, NodeId, &[u32]) -> ControlFlow<()>,
    {
        if adjacencies.iter().any(|it| it.overlay.is_some()) {
            return set_changes::sweep(adjacencies, nodes, order, &mut visit);
        }
        Adjacency::sweep_stored_set(adjacencies, nodes, order, &mut visit)
    }

    /// As [`Adjacency::sweep_set`] for what the file says.
    #[inline]
    pub(super) fn sweep_stored_set<F>(
        adjacencies: &[&Adjacency],
        nodes: NodeSet<'_>,
        order: Sweep,
        visit: &mut F,
    ) -> Result<()>
    where
        F: FnMut(usize, NodeId, &[u32]) -> ControlFlow<()>,
    {
        let mut work = Visiting {
            visit,
            scratch: Vec::new(),
            careful: Vec::new(),
        };
        Adjacency::work_through(adjacencies, nodes, order, &mut work)
    }

    /// Does `work` with the lists of `nodes` in all `adjacencies`, as the file has them, until it
    /// breaks.
    #[inline]
    pub(super) fn work_through(
        adjacencies: &[&Adjacency],
        nodes: NodeSet<'_>,
        order: Sweep,
        work: &mut impl PageVisitor,
    ) -> Result<()> {
        let mut items = Vec::new();
        let mut plan = Plan::new(adjacencies, nodes, order)?;
        while plan.next_stretch()? {
            for at in 0..plan.tasks.len() {
                plan.read_ahead(at)?;
                let task = plan.tasks[at];
                let adjacency = adjacencies[task.adjacency];
                if adjacency
                    .visit_page(&task, nodes, &mut items, work)?
                    .is_break()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Does `work` with the lists of `nodes` in one page.
    #[inline]
    fn visit_page(
        &self,
        task: &Task,
        nodes: NodeSet<'_>,
        items: &mut Vec<Item>,
        work: &mut impl PageVisitor,
    ) -> Result<ControlFlow<()>> {
        let context = self.context();
        let pin = context.pages.pin(task.page, PageKind::Adjacency)?;
        let segment = context.checked(task.page, context.segment(&pin))?;
        let first = segment.first_node();
        if segment.is_head() {
            return if nodes.contains(NodeId(first)) {
                self.visit_slow(task, &segment, first, work)
            } else {
                Ok(ControlFlow::Continue(()))
            };
        }
        let mut group = 0;
        if segment.is_sole() && context.limit <= NARROW_LIMIT {
            match work.only(task.adjacency, &segment, nodes, context.limit as u32) {
                ToOneOutcome::Done => return Ok(ControlFlow::Continue(())),
                ToOneOutcome::Enough => return Ok(ControlFlow::Break(())),
                ToOneOutcome::Group(left) => group = left,
            }
        }
        items.clear();
        context.checked(task.page, segment.gather(nodes, group, items))?;
        let mut from = 0;
        while from < items.len() {
            let stop = if context.limit <= NARROW_LIMIT {
                let source = segment.source(context.limit as u32);
                work.run(task.adjacency, first, source, items, from)
            } else {
                Stop::Careful(from)
            };
            let at = match stop {
                Stop::Done => break,
                Stop::Enough => return Ok(ControlFlow::Break(())),
                Stop::Careful(at) => at,
            };
            let node = first + u64::from(items[at].name);
            if self.visit_slow(task, &segment, node, work)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            from = at + 1;
        }
        Ok(ControlFlow::Continue(()))
    }

    #[cold]
    #[inline(never)]
    fn visit_slow(
        &self,
        task: &Task,
        segment: &Segment<'_>,
        node: u64,
        work: &mut impl PageVisitor,
    ) -> Result<ControlFlow<()>> {
        match List::find(self.context(), task.page, segment, node)? {
            Some(list) => work.list(task.adjacency, &list),
            None => Ok(ControlFlow::Continue(())),
        }
    }
}

/// What to visit, a stretch at a time.
struct Plan<'a> {
    adjacencies: &'a [&'a Adjacency],
    nodes: NodeSet<'a>,
    order: Sweep,
    /// Adjacency and node from which the next stretch goes on.
    cursor: (usize, u64),
    /// Most tasks of a stretch.
    room: usize,
    /// Those in memory first.
    tasks: Vec<Task>,
    absent: Vec<Task>,
    /// Tasks that were in memory.
    resident: usize,
    /// Pins of the last of them while reads are under way already.
    held: Vec<PagePin>,
    /// Tasks below this have been read ahead or were in memory.
    submitted: usize,
    /// Pages read ahead at most.
    ahead: usize,
    pages: Vec<PageRef>,
}

impl<'a> Plan<'a> {
    fn new(adjacencies: &'a [&'a Adjacency], nodes: NodeSet<'a>, order: Sweep) -> Result<Plan<'a>> {
        if adjacencies.iter().any(|adjacency| !adjacency.narrow) {
            return Err(Error::Wide);
        }
        let limit = adjacencies
            .first()
            .map_or(0, |adjacency| adjacency.context().pages.budget().limit());
        let page = super::build::SEGMENT_CLASS.bytes() as u64;
        let room = (limit / page * STRETCH_SHARE).clamp(STRETCH_MIN, STRETCH_MAX);
        let ahead = (limit / AHEAD_SHARE / page).clamp(1, AHEAD_MAX);
        Ok(Plan {
            adjacencies,
            nodes,
            order,
            cursor: (0, 0),
            room: room as usize,
            tasks: Vec::new(),
            absent: Vec::new(),
            resident: 0,
            held: Vec::new(),
            submitted: 0,
            ahead: ahead as usize,
            pages: Vec::new(),
        })
    }

    /// Gathers tasks; `false` if there are none left.
    fn next_stretch(&mut self) -> Result<bool> {
        self.tasks.clear();
        self.absent.clear();
        let (mut number, mut from) = self.cursor;
        while let Some(adjacency) = self.adjacencies.get(number) {
            let context = adjacency.context();
            let Some(map) = &adjacency.inner.map else {
                (number, from) = (number + 1, 0);
                continue;
            };
            while self.tasks.len() + self.absent.len() < self.room {
                let Some(node) = self.nodes.next(from) else {
                    from = u64::MAX;
                    break;
                };
                let located = match map.floor(&context.pages, node)? {
                    Ok(located) => located,
                    Err(first) => {
                        from = first;
                        if first == u64::MAX {
                            break;
                        }
                        continue;
                    }
                };
                let task = Task {
                    adjacency: number,
                    page: located.page,
                };
                if context.pages.is_resident(located.page) {
                    self.tasks.push(task);
                } else {
                    self.absent.push(task);
                }
                from = located.end;
                if from == u64::MAX {
                    break;
                }
            }
            if from == u64::MAX {
                (number, from) = (number + 1, 0);
            } else {
                break;
            }
        }
        self.cursor = (number, from);
        if self.order == Sweep::Down {
            self.tasks.reverse();
            self.absent.reverse();
        }
        self.resident = self.tasks.len();
        self.submitted = self.resident;
        self.tasks.append(&mut self.absent);
        Ok(!self.tasks.is_empty())
    }

    /// Submits the reads of pages ahead of task `at` where a portion of them fits.
    fn read_ahead(&mut self, at: usize) -> Result<()> {
        let (len, portion) = (self.tasks.len(), (self.ahead / PORTIONS).max(1));
        if at >= self.resident {
            self.held.clear();
        }
        if self.submitted >= len {
            return Ok(());
        }
        if at < self.resident {
            if at + portion < self.resident {
                return Ok(());
            }
            if self.held.is_empty() {
                // What is read now must not push out what is visited next.
                for task in &self.tasks[at..self.resident] {
                    let pages = &self.adjacencies[task.adjacency].context().pages;
                    if pages.is_resident(task.page) {
                        self.held.push(pages.pin(task.page, PageKind::Adjacency)?);
                    }
                }
            }
        }
        let from = self.submitted.max(at);
        let to = (at + self.ahead).min(len);
        if from + portion > to && to < len {
            return Ok(());
        }
        self.pages.clear();
        self.pages
            .extend(self.tasks[from..to].iter().map(|task| task.page));
        let pages = &self.adjacencies[self.tasks[at].adjacency].context().pages;
        self.submitted = from + pages.prefetch(&self.pages, PageKind::Adjacency);
        Ok(())
    }
}
