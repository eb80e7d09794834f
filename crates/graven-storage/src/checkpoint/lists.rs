//! Merging one direction of one relationship type.
//!
//! # How it works
//! Segments without changes stay as they are. In a touched one, lists without changes are copied as
//! encoded; the others are decoded, merged and encoded, and all of them run through one builder,
//! which starts a segment when one is full. What is left over behind a run of touched segments
//! takes in the next one if both fit one.
//!
//! Of a long list only the parts whose range of neighbours has changes are decoded; it is one list
//! again, without a head, when it fits.
//!
//! # Invariants
//! * CK-3: relationship ids stay with their relationships; parallel ones stand in ascending order
//!   of their ids in both directions, so that reverse lists need no ids.
//!
//! # Costs
//! Memory: one page, one segment being filled, at most [`PENDING_MAX`] neighbours of one node.

use super::changes::{AdjacencyChange, Stream};
use super::merge::{Counts, MergedStore, StoreChanges, StoreMerge, next_if, peek};
use crate::Result;
use crate::adjacency::build::{SEGMENT_BYTES, SegmentBuilder, head_payload, single_list_bytes};
use crate::adjacency::decode::{append_wide, encoded_bytes};
use crate::adjacency::encode::{EncodedBlocks, encode_prefix};
use crate::adjacency::segment::{Found, ListPart, RUN_BYTES, RawList, Segment};
use crate::bytes::Malformed;
use crate::catalog::StoreKind;
use crate::directory::SegmentEntry;
use crate::ids::{Direction, TypeId};
use crate::pages::padded_payload;
use graven_pagecache::{PageKind, PageRef};
use std::iter::Peekable;
use std::ops::Range;

const KIND: PageKind = PageKind::Adjacency;
/// Neighbours gathered before a long list is written in parts.
const PENDING_MAX: usize = 1 << 16;
/// Fewer neighbours than this between kept parts join the part behind them.
const SMALL_PART: usize = 2048;

type Entries<'a> = Peekable<Stream<'a, AdjacencyChange>>;

/// Merges `changes` into the adjacency of `rel_type` and `direction`; nothing if there are none.
pub(super) fn merge(
    merge: &mut StoreMerge<'_>,
    rel_type: TypeId,
    direction: Direction,
    changes: Stream<'_, AdjacencyChange>,
) -> Result<Option<MergedStore>> {
    let kind = StoreKind::Adjacency(rel_type, direction);
    let mut changes = changes.peekable();
    if peek(&mut changes)?.is_none() {
        return Ok(None);
    }
    let old = merge.base_segments(kind)?;
    let mut lists = ListFold {
        loaded: merge.loaded_ids(rel_type),
        merge,
        direction,
        open: SegmentBuilder::new(direction),
        open_first: None,
        segments: Vec::with_capacity(old.len()),
        ledger: StoreChanges::default(),
        counts: Counts::default(),
        list: OpenList::default(),
        scratch: EncodedBlocks::default(),
    };
    let first = old.first().map_or(u64::MAX, |entry| entry.first);
    lists.new_lists(&mut changes, first)?;
    for (at, entry) in old.iter().enumerate() {
        let end = old.get(at + 1).map_or(u64::MAX, |next| next.first);
        lists.segment(entry, end, &mut changes)?;
    }
    lists.new_lists(&mut changes, u64::MAX)?;
    lists.write_segment()?;
    let (mut segments, mut ledger, counts) = (lists.segments, lists.ledger, lists.counts);
    if direction == Direction::Out {
        fill_extras(&mut segments);
    }
    ledger.entries = counts.relationships;
    Ok(Some(MergedStore {
        kind,
        segments,
        changes: ledger,
        sketch: None,
        counts,
    }))
}

/// A segment without ids of the bulk load gets the number of the one behind it, so that numbers
/// ascend.
fn fill_extras(segments: &mut [SegmentEntry]) {
    let mut behind = u64::MAX;
    for segment in segments.iter_mut().rev() {
        segment.extra = segment.extra.min(behind);
        behind = segment.extra;
    }
}

/// The list being put together.
#[derive(Debug, Default)]
struct OpenList {
    node: u64,
    neighbours: Vec<u64>,
    /// Their ids, in forward lists.
    ids: Vec<u64>,
    parts: Vec<ListPart>,
    in_parts: u64,
    /// First number of the parts for the directory.
    extra: Option<u64>,
    /// A neighbour of a reverse list and how many of its entries are still to go.
    removing: (u64, u64),
}

struct ListFold<'f, 'a> {
    merge: &'f mut StoreMerge<'a>,
    direction: Direction,
    loaded: Range<u64>,
    open: SegmentBuilder,
    /// The first id of the bulk load in the open segment.
    open_first: Option<u64>,
    segments: Vec<SegmentEntry>,
    ledger: StoreChanges,
    counts: Counts,
    list: OpenList,
    scratch: EncodedBlocks,
}

impl ListFold<'_, '_> {
    fn is_forward(&self) -> bool {
        self.direction == Direction::Out
    }

    fn segment(&mut self, entry: &SegmentEntry, end: u64, changes: &mut Entries<'_>) -> Result<()> {
        let touched = peek(changes)?.is_some_and(|change| change.node.0 < end);
        let small = !self.open.is_empty()
            && self.open.bytes() * 2 < SEGMENT_BYTES
            && self.open.bytes() + entry.page.len_bytes() <= SEGMENT_BYTES;
        if !touched && !small {
            return self.keep(entry);
        }
        let pages = self.merge.root.pages.clone();
        let pin = pages.pin(entry.page, KIND)?;
        let read = Segment::read(padded_payload(&pin), pin.len());
        let segment = pages.checked(entry.page, KIND, read)?;
        if segment.is_head() {
            return self.head(entry, &segment, end, changes);
        }
        let mut lists: Vec<(u64, RawList<'_>, u64)> = Vec::new();
        let nodes = entry.first..end;
        let walked = segment.for_each_list(|node, list, before| {
            // What is written next is in the order of its nodes.
            let follows = lists.last().is_none_or(|(last, ..)| *last < node);
            if !follows || !nodes.contains(&node) {
                let what = format!("a list of node {node}, out of order among those of {nodes:?}");
                return Err(Malformed(what));
            }
            lists.push((node, list, before));
            Ok(())
        });
        pages.checked(entry.page, KIND, walked)?;
        for (node, list, before) in lists {
            self.new_lists(changes, node)?;
            if peek(changes)?.is_some_and(|change| change.node.0 == node) {
                self.begin(node);
                let (neighbours, ids) = self.decode(entry.page, &segment, list, before)?;
                for (at, neighbour) in neighbours.iter().enumerate() {
                    self.old(*neighbour, ids.get(at).copied(), changes)?;
                }
                self.finish(list.count as u64, changes)?;
            } else {
                self.copy(entry.page, &segment, node, list, before)?;
            }
        }
        self.merge.free(entry.page, &mut self.ledger)?;
        self.new_lists(changes, end)
    }

    fn keep(&mut self, entry: &SegmentEntry) -> Result<()> {
        self.write_segment()?;
        self.segments.push(*entry);
        Ok(())
    }

    /// Lists of nodes below `end` that have none in the base.
    fn new_lists(&mut self, changes: &mut Entries<'_>, end: u64) -> Result<()> {
        while let Some(node) = peek(changes)?
            .map(|change| change.node.0)
            .filter(|node| *node < end)
        {
            self.begin(node);
            self.finish(0, changes)?;
        }
        Ok(())
    }

    /// A long list.
    fn head(
        &mut self,
        entry: &SegmentEntry,
        head: &Segment<'_>,
        end: u64,
        changes: &mut Entries<'_>,
    ) -> Result<()> {
        let node = head.first_node();
        self.new_lists(changes, node)?;
        if peek(changes)?.is_none_or(|change| change.node.0 != node) {
            self.keep(entry)?;
            return self.new_lists(changes, end);
        }
        self.begin(node);
        self.list.extra = Some(entry.extra);
        let pages = self.merge.root.pages.clone();
        let count = head.part_count();
        for index in 0..count {
            let part = pages.checked(entry.page, KIND, head.part(index))?;
            let (behind, last) = if index + 1 < count {
                let next = pages.checked(entry.page, KIND, head.part(index + 1))?;
                (next.before, next.first_neighbour)
            } else {
                (head.relationships(), u64::MAX)
            };
            let pending = self.list.neighbours.len();
            let removing = self.list.removing.1 > 0 && self.list.removing.0 == part.first_neighbour;
            let changed = peek(changes)?
                .is_some_and(|change| change.node.0 == node && change.neighbour.0 <= last);
            if changed || removing || pending > 0 && pending < SMALL_PART {
                self.part(&part, changes)?;
            } else {
                while !self.list.neighbours.is_empty() {
                    self.write_part()?;
                }
                self.keep_part(part, behind.saturating_sub(part.before))?;
            }
        }
        self.merge.free(entry.page, &mut self.ledger)?;
        self.finish(head.relationships(), changes)?;
        self.new_lists(changes, end)
    }

    /// A part with changes.
    fn part(&mut self, part: &ListPart, changes: &mut Entries<'_>) -> Result<()> {
        let pages = self.merge.root.pages.clone();
        let pin = pages.pin(part.page, KIND)?;
        let read = Segment::read(padded_payload(&pin), pin.len());
        let segment = pages.checked(part.page, KIND, read)?;
        let found = pages.checked(part.page, KIND, segment.find(self.list.node))?;
        let Found::List(list) = found else {
            let what = format!("part of the list of node {} is none", self.list.node);
            return pages.checked(part.page, KIND, Err(Malformed(what)));
        };
        let (neighbours, ids) = self.decode(part.page, &segment, list, 0)?;
        for (at, neighbour) in neighbours.iter().enumerate() {
            self.old(*neighbour, ids.get(at).copied(), changes)?;
        }
        self.merge.free(part.page, &mut self.ledger)
    }

    fn keep_part(&mut self, part: ListPart, count: u64) -> Result<()> {
        if self.list.parts.is_empty() {
            self.write_segment()?;
        }
        self.list.parts.push(ListPart {
            before: self.list.in_parts,
            ..part
        });
        self.list.in_parts += count;
        Ok(())
    }

    /// The neighbours of a list, and their ids if it is a forward one.
    fn decode(
        &self,
        page: PageRef,
        segment: &Segment<'_>,
        list: RawList<'_>,
        before: u64,
    ) -> Result<(Vec<u64>, Vec<u64>)> {
        let pages = &self.merge.root.pages;
        let mut neighbours = Vec::with_capacity(list.count);
        let decoded = append_wide(list, u64::MAX, &mut neighbours);
        pages.checked(page, KIND, decoded)?;
        let mut ids = Vec::new();
        if self.is_forward() {
            let mut runs = Vec::new();
            let end = before + list.count as u64;
            let read = segment.for_each_run(before..end, |position, id| runs.push((position, id)));
            pages.checked(page, KIND, read)?;
            for (at, (position, id)) in runs.iter().enumerate() {
                let until = runs.get(at + 1).map_or(end, |next| next.0);
                ids.extend((0..until - position).map(|offset| id.wrapping_add(offset)));
            }
        }
        Ok((neighbours, ids))
    }

    /// A list without changes.
    fn copy(
        &mut self,
        page: PageRef,
        segment: &Segment<'_>,
        node: u64,
        list: RawList<'_>,
        before: u64,
    ) -> Result<()> {
        let pages = self.merge.root.pages.clone();
        let encoded = pages.checked(page, KIND, encoded_bytes(list))?;
        let mut runs = Vec::new();
        if self.is_forward() {
            let ranks = before..before + list.count as u64;
            let read = segment.for_each_run(ranks, |position, id| runs.push((position, id)));
            pages.checked(page, KIND, read)?;
        }
        let size = (list.count, list.first);
        if !self.open.has_room(node, size, encoded, runs.len()) {
            self.write_segment()?;
        }
        let start = self.open.relationships();
        for (at, (position, id)) in runs.iter().enumerate() {
            let end = runs
                .get(at + 1)
                .map_or(before + list.count as u64, |next| next.0);
            self.open.run(start + position - before, *id);
            self.loaded_run(*id, id.wrapping_add(end - position));
        }
        pages.checked(page, KIND, self.open.copy(node, list))
    }

    /// Remembers the first id of the bulk load among `first..end`.
    fn loaded_run(&mut self, first: u64, end: u64) {
        let from = first.max(self.loaded.start);
        if self.open_first.is_none() && from < end.min(self.loaded.end) {
            self.open_first = Some(from);
        }
    }

    fn begin(&mut self, node: u64) {
        self.list = OpenList {
            node,
            neighbours: std::mem::take(&mut self.list.neighbours),
            ids: std::mem::take(&mut self.list.ids),
            parts: std::mem::take(&mut self.list.parts),
            ..OpenList::default()
        };
        debug_assert!(self.list.neighbours.is_empty() && self.list.parts.is_empty());
    }

    fn push(&mut self, neighbour: u64, id: u64) -> Result<()> {
        self.list.neighbours.push(neighbour);
        if self.is_forward() {
            self.list.ids.push(id);
        }
        if self.list.neighbours.len() > PENDING_MAX {
            self.write_part()?;
        }
        Ok(())
    }

    /// An entry of the base: the changes before it are made first, and it may be gone itself.
    fn old(&mut self, neighbour: u64, id: Option<u64>, changes: &mut Entries<'_>) -> Result<()> {
        let node = self.list.node;
        let Some(id) = id else {
            return self.old_reverse(neighbour, changes);
        };
        let mut removed = false;
        while let Some(change) = next_if(changes, |change| {
            change.node.0 == node && (change.neighbour.0, change.relationship.0) <= (neighbour, id)
        })? {
            if (change.neighbour.0, change.relationship.0) == (neighbour, id) {
                removed = !change.added;
            } else if change.added {
                self.push(change.neighbour.0, change.relationship.0)?;
            }
        }
        if removed {
            return Ok(());
        }
        self.push(neighbour, id)
    }

    fn old_reverse(&mut self, neighbour: u64, changes: &mut Entries<'_>) -> Result<()> {
        let node = self.list.node;
        if self.list.removing.0 != neighbour {
            self.list.removing = (neighbour, 0);
        }
        while let Some(change) = next_if(changes, |change| {
            change.node.0 == node && change.neighbour.0 <= neighbour
        })? {
            if change.added {
                self.push(change.neighbour.0, 0)?;
            } else if change.neighbour.0 == neighbour
                && self.merge.was_there(&self.loaded, change.relationship)?
            {
                self.list.removing.1 += 1;
            }
        }
        if self.list.removing.1 > 0 {
            self.list.removing.1 -= 1;
            return Ok(());
        }
        self.push(neighbour, 0)
    }

    /// Ends the list of a node that had `before` entries.
    fn finish(&mut self, before: u64, changes: &mut Entries<'_>) -> Result<()> {
        let node = self.list.node;
        while let Some(change) = next_if(changes, |change| change.node.0 == node)? {
            if change.added {
                self.push(change.neighbour.0, change.relationship.0)?;
            }
        }
        let degree = self.list.in_parts + self.list.neighbours.len() as u64;
        self.counts.relationships += degree as i64 - before as i64;
        self.counts.lists += i64::from(degree > 0) - i64::from(before > 0);
        self.counts.degree_max = self.counts.degree_max.max(degree);
        let square = |degree: u64| i128::from(degree) * i128::from(degree);
        self.counts.squares += square(degree) - square(before);
        if self.list.parts.is_empty() && self.add_whole()? {
            return Ok(());
        }
        while !self.list.neighbours.is_empty() {
            self.write_part()?;
        }
        self.write_head(degree)
    }

    /// Adds the list to the open segment; `false` if it does not fit one.
    fn add_whole(&mut self) -> Result<bool> {
        if self.list.neighbours.is_empty() {
            return Ok(true);
        }
        let runs = SegmentBuilder::runs_of(&self.list.ids);
        let Some(limit) = room(runs) else {
            return Ok(false);
        };
        let taken = encode_prefix(&self.list.neighbours, limit, &mut self.scratch);
        if taken < self.list.neighbours.len() {
            return Ok(false);
        }
        self.add_encoded(taken)?;
        self.list.neighbours.clear();
        self.list.ids.clear();
        Ok(true)
    }

    /// Adds the first `count` neighbours, whose blocks are in `scratch`, to the open segment.
    fn add_encoded(&mut self, count: usize) -> Result<()> {
        let (node, size) = (self.list.node, (count, self.list.neighbours[0]));
        let encoded = self.scratch.widths.len() + self.scratch.blocks.len();
        let runs = SegmentBuilder::runs_of(&self.list.ids[..count.min(self.list.ids.len())]);
        if !self.open.has_room(node, size, encoded, runs) {
            self.write_segment()?;
        }
        if self.is_forward() {
            let start = self.open.relationships();
            for at in 0..count {
                let id = self.list.ids[at];
                self.open.run(start + at as u64, id);
                if self.open_first.is_none() && self.loaded.contains(&id) {
                    self.open_first = Some(id);
                }
            }
        }
        self.open.push(node, size, &self.scratch);
        Ok(())
    }

    fn write_segment(&mut self) -> Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let page = self
            .merge
            .append(KIND, &self.open.payload(), &mut self.ledger)?;
        let extra = match self.direction {
            Direction::Out => self.open_first.unwrap_or(u64::MAX),
            Direction::In => self.open.relationships(),
        };
        self.segments.push(SegmentEntry {
            first: self.open.first_node(),
            page,
            extra,
        });
        self.open.clear();
        self.open_first = None;
        Ok(())
    }

    /// Writes as many of the gathered neighbours as fit a segment of their own.
    fn write_part(&mut self) -> Result<()> {
        if self.list.parts.is_empty() {
            self.write_segment()?;
        }
        let mut count = self.list.neighbours.len();
        loop {
            let ids = &self.list.ids[..count.min(self.list.ids.len())];
            match room(SegmentBuilder::runs_of(ids)) {
                None => count = (count / 2).max(1),
                Some(limit) => {
                    let neighbours = &self.list.neighbours[..count];
                    let taken = encode_prefix(neighbours, limit, &mut self.scratch);
                    if taken == count {
                        break;
                    }
                    count = taken;
                }
            }
        }
        self.add_encoded(count)?;
        let page = self
            .merge
            .append(KIND, &self.open.payload(), &mut self.ledger)?;
        self.list.extra = match (self.list.extra, self.open_first) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (known, found) => known.or(found),
        };
        self.list.parts.push(ListPart {
            first_neighbour: self.list.neighbours[0],
            page,
            before: self.list.in_parts,
        });
        self.list.in_parts += count as u64;
        self.list.neighbours.drain(..count);
        self.list.ids.drain(..count.min(self.list.ids.len()));
        self.open.clear();
        self.open_first = None;
        Ok(())
    }

    fn write_head(&mut self, count: u64) -> Result<()> {
        let payload = head_payload(self.list.node, count, &self.list.parts);
        let page = self.merge.append(KIND, &payload, &mut self.ledger)?;
        let extra = match self.direction {
            Direction::Out => self.list.extra.unwrap_or(u64::MAX),
            Direction::In => count,
        };
        self.segments.push(SegmentEntry {
            first: self.list.node,
            page,
            extra,
        });
        self.list.parts.clear();
        Ok(())
    }
}

/// Bytes for count, widths and blocks of a list alone in a segment with `runs` runs.
fn room(runs: usize) -> Option<usize> {
    (SEGMENT_BYTES + RUN_BYTES)
        .checked_sub(single_list_bytes() + runs * RUN_BYTES)
        .filter(|room| *room > 64)
}
