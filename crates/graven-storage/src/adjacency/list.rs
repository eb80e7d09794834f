//! The neighbours of one node as a sweep hands them out: decoded on demand.

use super::ReadContext;
use super::decode;
use super::segment::{Found, ListPart, RawList, Segment};
use crate::bitpack::BLOCK;
use crate::bytes::{Decoded, Malformed};
use crate::ids::{Direction, NodeId, RelId};
use crate::{Error, Result};
use graven_pagecache::Reservation;
use graven_pagecache::{PageKind, PageRef};
use std::ops::{ControlFlow, Range};

/// A whole list, decoded, with the changes in it.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) nodes: Vec<u64>,
    /// As many as nodes in a forward list, none in a reverse one.
    pub(super) relationships: Vec<RelId>,
    pub(super) base_nodes: Vec<u64>,
    pub(super) base_relationships: Vec<RelId>,
    pub(super) charged: Option<Reservation>,
}

/// The neighbours of one node, ascending; parallel relationships repeat their neighbour.
#[derive(Debug)]
pub struct List<'a> {
    pub(super) context: &'a ReadContext,
    pub(super) page: PageRef,
    pub(super) segment: &'a Segment<'a>,
    pub(super) node: u64,
    pub(super) body: Body<'a>,
}

/// Where a reader of relationship ids stands, so that lists that follow each other need not be
/// counted from the start of their segment each time.
#[derive(Clone, Debug, Default)]
pub struct IdCursor {
    last: Option<Read>,
}

/// A list whose ids were read.
#[derive(Clone, Debug)]
struct Read {
    page: PageRef,
    node: u64,
    /// Relationships of its segment before and up to its end.
    ranks: Range<u64>,
    /// The run of ids that holds the last of them: its positions, its first id.
    run: (Range<u64>, u64),
}

/// Where the neighbours are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    Here(RawList<'a>),
    Parts,
    Merged(&'a Merged),
}

impl<'a> List<'a> {
    /// The list of `node` in `segment`, if it has one.
    #[inline(always)]
    pub(super) fn find(
        context: &'a ReadContext,
        page: PageRef,
        segment: &'a Segment<'a>,
        node: u64,
    ) -> Result<Option<List<'a>>> {
        let body = match context.checked(page, segment.find(node))? {
            Found::Nothing => return Ok(None),
            Found::List(raw) => Body::Here(raw),
            Found::Head => Body::Parts,
        };
        Ok(Some(List {
            context,
            page,
            segment,
            node,
            body,
        }))
    }

    /// The node whose neighbours these are.
    #[must_use]
    pub fn node(&self) -> NodeId {
        NodeId(self.node)
    }

    /// Number of neighbours, parallel relationships counted each.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match self.body {
            Body::Here(raw) => raw.count,
            Body::Parts => self.segment.relationships() as usize,
            Body::Merged(merged) => merged.nodes.len(),
        }
    }

    /// Never: nodes without neighbours have no list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbour of a list that has just one; `None` for longer lists, and for changed ones.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    #[inline]
    pub fn only(&self) -> Result<Option<u64>> {
        match self.body {
            Body::Here(raw) if raw.count == 1 => {
                let known = match raw.first < self.context.limit {
                    true => Ok(Some(raw.first)),
                    false => Err(decode::outside(raw.first, self.context.limit)),
                };
                self.context.checked(self.page, known)
            }
            _ => Ok(None),
        }
    }

    /// Decodes the whole list into `scratch`, whose content is replaced; it only grows, so keep it
    /// between lists.
    ///
    /// # Errors
    /// [`Error::Wide`] if node ids need 64 bits; [`Error::Damaged`]; for long lists what pinning
    /// gives.
    #[inline]
    pub fn decode<'s>(&self, scratch: &'s mut Vec<u32>) -> Result<&'s [u32]> {
        if !self.context.narrow {
            return Err(Error::Wide);
        }
        if let Body::Here(raw) = self.body
            && let Some(count) = decode::narrow_into(raw, self.context.limit, scratch)
        {
            return Ok(&scratch[..count]);
        }
        self.decode_slowly(scratch)?;
        Ok(scratch)
    }

    /// What the vector kernels do not take: long lists, wide blocks, damage.
    #[cold]
    #[inline(never)]
    fn decode_slowly(&self, scratch: &mut Vec<u32>) -> Result<()> {
        scratch.clear();
        match self.body {
            Body::Here(raw) => self.context.checked(
                self.page,
                decode::append_narrow(raw, self.context.limit, scratch),
            ),
            Body::Parts => self.for_each_part(0, |_, page, _, raw| {
                let decoded = decode::append_narrow(raw, self.context.limit, scratch);
                self.context
                    .checked(page, decoded)
                    .map(|()| ControlFlow::Continue(()))
            }),
            Body::Merged(merged) => {
                for node in &merged.nodes {
                    scratch.push(u32::try_from(*node).map_err(|_| Error::Wide)?);
                }
                Ok(())
            }
        }
    }

    /// As [`List::decode`] for node ids of any size.
    ///
    /// # Errors
    /// [`Error::Damaged`]; for long lists what pinning gives.
    pub fn decode_wide<'s>(&self, scratch: &'s mut Vec<u64>) -> Result<&'s [u64]> {
        scratch.clear();
        let limit = self.context.limit;
        match self.body {
            Body::Here(raw) => {
                self.context
                    .checked(self.page, decode::append_wide(raw, limit, scratch))?;
            }
            Body::Parts => self.for_each_part(0, |_, page, _, raw| {
                let decoded = decode::append_wide(raw, limit, scratch);
                self.context
                    .checked(page, decoded)
                    .map(|()| ControlFlow::Continue(()))
            })?,
            Body::Merged(merged) => scratch.extend_from_slice(&merged.nodes),
        }
        Ok(scratch)
    }

    /// Calls `visit` with up to 33 neighbours at a time, decoded just before, until it breaks;
    /// tells whether it did.
    ///
    /// # Errors
    /// As [`List::decode`].
    #[inline]
    pub fn for_each_block(
        &self,
        mut visit: impl FnMut(&[u32]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        if !self.context.narrow {
            return Err(Error::Wide);
        }
        let limit = self.context.limit;
        match self.body {
            Body::Here(raw) => self
                .context
                .checked(self.page, decode::for_each_narrow(raw, limit, &mut visit)),
            Body::Parts => {
                let mut flow = ControlFlow::Continue(());
                self.for_each_part(0, |_, page, _, raw| {
                    flow = self
                        .context
                        .checked(page, decode::for_each_narrow(raw, limit, &mut visit))?;
                    Ok(flow)
                })?;
                Ok(flow)
            }
            Body::Merged(merged) => {
                let mut block = [0; BLOCK];
                for nodes in merged.nodes.chunks(BLOCK) {
                    for (slot, node) in block.iter_mut().zip(nodes) {
                        *slot = u32::try_from(*node).map_err(|_| Error::Wide)?;
                    }
                    if visit(&block[..nodes.len()]).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    /// Whether `node` is a neighbour.
    ///
    /// # Errors
    /// As [`List::decode_wide`].
    pub fn contains(&self, node: NodeId) -> Result<bool> {
        Ok(!self.positions(node)?.is_empty())
    }

    /// Where in the list `node` stands: a range of positions, empty if it is no neighbour.
    ///
    /// # Errors
    /// As [`List::decode_wide`].
    pub fn positions(&self, node: NodeId) -> Result<Range<usize>> {
        let mut search = Search {
            wanted: node.0,
            next: 0,
            found: 0..0,
        };
        let limit = self.context.limit;
        match self.body {
            Body::Here(raw) => {
                let _ = (self.context).checked(self.page, search.run(raw, limit))?;
            }
            Body::Parts => {
                let start = self.part_before(node.0)?;
                self.for_each_part(start, |part, page, _, raw| {
                    search.next = part.before as usize;
                    self.context.checked(page, search.run(raw, limit))
                })?;
            }
            Body::Merged(merged) => {
                let _ = search.feed(&merged.nodes);
            }
        }
        Ok(search.found)
    }

    /// Id of the relationship at `position` of a forward list.
    ///
    /// # Errors
    /// [`Error::Damaged`]; for long lists what pinning gives.
    ///
    /// # Panics
    /// On reverse lists (they hold no ids: see [`Adjacency::neighbours`]) and behind the end of the
    /// list.
    pub fn relationship(&self, position: usize) -> Result<RelId> {
        let mut ids = Vec::with_capacity(1);
        self.append_relationships(position..position + 1, &mut ids)?;
        Ok(ids[0])
    }

    /// Appends the ids of the relationships at `positions` of a forward list.
    ///
    /// # Errors
    /// As [`List::relationship`].
    ///
    /// # Panics
    /// As [`List::relationship`].
    pub fn append_relationships(
        &self,
        positions: Range<usize>,
        out: &mut Vec<RelId>,
    ) -> Result<()> {
        self.append_relationships_at(&mut IdCursor::default(), positions, out)
    }

    /// As [`List::append_relationships`], quicker where `cursor` comes from the lists just before.
    ///
    /// # Errors
    /// As [`List::relationship`].
    ///
    /// # Panics
    /// As [`List::relationship`].
    pub fn append_relationships_at<T: From<RelId>>(
        &self,
        cursor: &mut IdCursor,
        positions: Range<usize>,
        out: &mut Vec<T>,
    ) -> Result<()> {
        assert!(
            self.context.direction == Direction::Out,
            "reverse lists hold no relationship ids"
        );
        assert!(
            positions.end <= self.len(),
            "position {} of {}",
            positions.end,
            self.len()
        );
        match self.body {
            Body::Here(raw) => {
                let last = cursor.last.take().filter(|last| last.page == self.page);
                let rank = match &last {
                    Some(last) => (self.segment).rank_after(self.node, last.node, &last.ranks),
                    None => self.segment.rank_of(self.node),
                };
                let rank = self.context.checked(self.page, rank)?;
                let mut run = last.map_or((0..0, 0), |last| last.run);
                let decoded = append_ids(self.segment, rank, positions, &mut run, out);
                self.context.checked(self.page, decoded)?;
                cursor.last = Some(Read {
                    page: self.page,
                    node: self.node,
                    ranks: rank..rank + raw.count as u64,
                    run,
                });
                Ok(())
            }
            Body::Parts => {
                let wanted = positions.start as u64..positions.end as u64;
                let start = self.last_part(|part| part.before <= wanted.start)?;
                self.for_each_part(start, |part, page, segment, raw| {
                    let from = wanted.start.max(part.before) - part.before;
                    let to = wanted
                        .end
                        .min(part.before + raw.count as u64)
                        .saturating_sub(part.before);
                    if from >= to {
                        return Ok(ControlFlow::Break(()));
                    }
                    let range = from as usize..to as usize;
                    let rank = segment.rank_of(self.node);
                    let decoded =
                        rank.and_then(|rank| append_ids(segment, rank, range, &mut (0..0, 0), out));
                    self.context
                        .checked(page, decoded)
                        .map(|()| ControlFlow::Continue(()))
                })
            }
            Body::Merged(merged) => {
                let ids = merged.relationships[positions].iter();
                out.extend(ids.map(|id| T::from(*id)));
                Ok(())
            }
        }
    }

    /// The last part that can hold the first occurrence of `neighbour`.
    fn part_before(&self, neighbour: u64) -> Result<usize> {
        self.last_part(|part| part.first_neighbour < neighbour)
    }

    /// The last part for which `is_before` holds (it holds for a prefix of the parts), or the
    /// first.
    fn last_part(&self, is_before: impl Fn(&ListPart) -> bool) -> Result<usize> {
        let (mut low, mut high) = (0, self.segment.part_count());
        while low < high {
            let middle = low.midpoint(high);
            let part = self.context.checked(self.page, self.segment.part(middle))?;
            if is_before(&part) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        Ok(low.saturating_sub(1))
    }

    /// Pins the parts from `start` on one after the other until `visit` breaks; those ahead are
    /// prefetched.
    fn for_each_part(
        &self,
        start: usize,
        mut visit: impl FnMut(ListPart, PageRef, &Segment<'_>, RawList<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let window = self.context.window();
        let mut ahead = start;
        let mut before = None;
        for index in start..self.segment.part_count() {
            if index + window / 2 >= ahead {
                let end = (index + window).min(self.segment.part_count());
                let pages: Decoded<Vec<PageRef>> = (ahead.max(index)..end)
                    .map(|part| Ok(self.segment.part(part)?.page))
                    .collect();
                self.context.pages.prefetch(
                    &self.context.checked(self.page, pages)?,
                    PageKind::Adjacency,
                );
                ahead = end;
            }
            let part = self.context.checked(self.page, self.segment.part(index))?;
            let pin = self.context.pages.pin(part.page, PageKind::Adjacency)?;
            let segment = self
                .context
                .checked(part.page, self.context.segment(&pin))?;
            let raw = match self.context.checked(part.page, segment.find(self.node))? {
                Found::List(raw) => raw,
                Found::Nothing | Found::Head => {
                    let what = format!("part {index} of the list of node {} is none", self.node);
                    return self.context.checked(part.page, Err(Malformed(what)));
                }
            };
            if before.is_some_and(|expected| expected != part.before)
                || raw.first != part.first_neighbour
            {
                let what = format!(
                    "part {index} of the list of node {} does not fit",
                    self.node
                );
                return self.context.checked(self.page, Err(Malformed(what)));
            }
            before = Some(part.before + raw.count as u64);
            if visit(part, part.page, &segment, raw)?.is_break() {
                return Ok(());
            }
        }
        if before.is_some_and(|seen| seen != self.segment.relationships()) {
            let what = format!("the parts of node {} are incomplete", self.node);
            return self.context.checked(self.page, Err(Malformed(what)));
        }
        Ok(())
    }
}

/// Appends the ids of relationships; `run` is one of the segment, and the last one used afterwards.
fn append_ids<T: From<RelId>>(
    segment: &Segment<'_>,
    rank: u64,
    positions: Range<usize>,
    run: &mut (Range<u64>, u64),
    out: &mut Vec<T>,
) -> Decoded<()> {
    let (mut at, end) = (rank + positions.start as u64, rank + positions.end as u64);
    while at < end {
        if !run.0.contains(&at) {
            let (start, behind, first) = segment.run_at(at)?;
            *run = (start..behind, first);
        }
        let (ranks, first) = &*run;
        let to = ranks.end.min(end);
        let ids = first + (at - ranks.start)..first + (to - ranks.start);
        out.extend(ids.map(|id| T::from(RelId(id))));
        at = to;
    }
    Ok(())
}

/// Search for one neighbour in blocks that arrive in order.
struct Search {
    wanted: u64,
    next: usize,
    found: Range<usize>,
}

impl Search {
    fn run(&mut self, raw: RawList<'_>, limit: u64) -> Decoded<ControlFlow<()>> {
        match limit <= decode::NARROW_LIMIT {
            true => decode::for_each_narrow(raw, limit, &mut |block| self.feed(block)),
            false => decode::for_each_wide(raw, limit, &mut |block| self.feed(block)),
        }
    }

    fn feed<T: Copy + Into<u64>>(&mut self, block: &[T]) -> ControlFlow<()> {
        let wanted = self.wanted;
        if block.last().is_some_and(|last| (*last).into() < wanted) {
            self.next += block.len();
            return ControlFlow::Continue(());
        }
        let before = block.partition_point(|neighbour| (*neighbour).into() < wanted);
        let behind = block.partition_point(|neighbour| (*neighbour).into() <= wanted);
        if before < behind {
            if self.found.is_empty() {
                self.found.start = self.next + before;
            }
            self.found.end = self.next + behind;
        }
        self.next += block.len();
        if behind < block.len() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
