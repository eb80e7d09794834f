//! Bulk writing of the adjacency of one relationship type: forward and reverse, both in sorted
//! order.
//!
//! # How it works
//! The neighbours of the current node are gathered; when the node changes, its list is encoded and
//! added to the open segment, which is written when the next list would not fit. A list that does
//! not fit an empty segment is written as parts while it arrives, then a head.
//!
//! # Concurrency
//! The two directions are independent values: two threads may write them, in any order. The one
//! that is finished last is compared with the other.
//!
//! # Costs
//! Memory: one segment and at most [`PENDING_MAX`] neighbours per direction.

use super::build::{SEGMENT_BYTES, SegmentBuilder, head_payload, single_list_bytes};
use super::encode::{EncodedBlocks, encode_prefix};
use super::segment::ListPart;
use crate::directory::SegmentEntry;
use crate::ids::{Direction, NodeId, RelId, TypeId};
use crate::labels::LabelRuns;
use crate::page_output::PageOutput;
use crate::sink::PageStream;
use crate::writer::shared::{Degrees, FinishedDirection, PatternCounts, Shared, StoreBuild};
use crate::{Error, Result};
use graven_pagecache::{PageKind, PageRef};
use std::sync::Arc;

/// Neighbours gathered before a long list starts to be written in parts.
const PENDING_MAX: usize = 1 << 16;

/// Writes both directions of one relationship type, by one thread.
#[derive(Debug)]
pub struct AdjacencyWriter {
    forward: ForwardWriter,
    reverse: ReverseWriter,
}

/// Writes the relationships of a type by their starts.
#[derive(Debug)]
pub struct ForwardWriter {
    out: DirectionWriter,
    labels: Arc<LabelRuns>,
    counts: PatternCounts,
    /// Sum over hashed (start, end) pairs: equal to that of the other direction if both got the
    /// same relationships.
    sum: u64,
    count: u64,
}

/// Writes the relationships of a type by their ends.
#[derive(Debug)]
pub struct ReverseWriter {
    into: DirectionWriter,
    labels: Arc<LabelRuns>,
    sum: u64,
    count: u64,
}

impl AdjacencyWriter {
    pub(crate) fn new(forward: ForwardWriter, reverse: ReverseWriter) -> AdjacencyWriter {
        AdjacencyWriter { forward, reverse }
    }

    /// The id of the first relationship; the others follow in the order of their forward pairs.
    pub(crate) fn first_relationship(&self) -> u64 {
        self.forward.out.first_relationship
    }

    /// Adds the relationship from `start` to `end`, as [`ForwardWriter::push`].
    ///
    /// # Errors
    /// As there.
    pub fn forward(&mut self, start: NodeId, end: NodeId) -> Result<RelId> {
        self.forward.push(start, end)
    }

    /// Adds the same relationships ascending by (end, start), as [`ReverseWriter::push`].
    ///
    /// # Errors
    /// As there.
    pub fn reverse(&mut self, end: NodeId, start: NodeId) -> Result<()> {
        self.reverse.push(end, start)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the directions got different relationships; what writing gives.
    pub fn finish(self) -> Result<()> {
        self.forward.finish()?;
        self.reverse.finish()
    }
}

impl ForwardWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        rel_type: TypeId,
        store: StoreBuild,
        first_relationship: u64,
        labels: Arc<LabelRuns>,
    ) -> ForwardWriter {
        ForwardWriter {
            out: DirectionWriter::new(shared, rel_type, store, Direction::Out, first_relationship),
            labels,
            counts: PatternCounts::default(),
            sum: 0,
            count: 0,
        }
    }

    /// Adds the relationship from `start` to `end`; pairs ascend by (start, end), equal ones are
    /// parallel relationships. Gives the id.
    ///
    /// # Errors
    /// [`Error::Order`]; [`Error::NoSuchNode`]; what writing gives.
    pub fn push(&mut self, start: NodeId, end: NodeId) -> Result<RelId> {
        let start_set = self.labels.set_of_existing(start)?;
        let end_set = self.labels.set_of_existing(end)?;
        self.counts.add(start_set, end_set);
        self.out.push(start.0, end.0)?;
        self.sum = self.sum.wrapping_add(pair_hash(start.0, end.0));
        let id = RelId(self.out.first_relationship + self.count);
        self.count += 1;
        Ok(id)
    }

    /// Writes what is left; the next type may begin.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the other direction is finished and got other relationships; what
    /// writing gives.
    pub fn finish(self) -> Result<()> {
        let (count, first) = (self.count, self.out.first_relationship);
        let (shared, rel_type) = (self.out.shared.clone(), self.out.rel_type);
        let half = self.out.finish(count, self.sum)?;
        shared.finish_forward(rel_type, first, count, self.counts);
        shared.finish_direction(rel_type, half)
    }
}

impl ReverseWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        rel_type: TypeId,
        store: StoreBuild,
        labels: Arc<LabelRuns>,
    ) -> ReverseWriter {
        ReverseWriter {
            into: DirectionWriter::new(shared, rel_type, store, Direction::In, 0),
            labels,
            sum: 0,
            count: 0,
        }
    }

    /// Adds a relationship of the other direction; pairs ascend by (end, start).
    ///
    /// # Errors
    /// As [`ForwardWriter::push`].
    pub fn push(&mut self, end: NodeId, start: NodeId) -> Result<()> {
        self.labels.set_of_existing(end)?;
        self.into.push(end.0, start.0)?;
        self.sum = self.sum.wrapping_add(pair_hash(start.0, end.0));
        self.count += 1;
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`ForwardWriter::finish`].
    pub fn finish(self) -> Result<()> {
        let (shared, rel_type) = (self.into.shared.clone(), self.into.rel_type);
        let half = self.into.finish(self.count, self.sum)?;
        shared.finish_direction(rel_type, half)
    }
}

/// A hash of a pair whose sum over all relationships does not depend on their order.
pub(crate) fn pair_hash(start: u64, end: u64) -> u64 {
    let mut hash = start.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ end.rotate_left(32);
    hash = (hash ^ (hash >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 29))
        .wrapping_mul(0x94d0_49bb_1331_11eb)
        .wrapping_add(end);
    hash ^ (hash >> 32)
}

/// One direction while it is written.
#[derive(Debug)]
struct DirectionWriter {
    shared: Arc<Shared>,
    pages: PageStream,
    store: StoreBuild,
    rel_type: TypeId,
    direction: Direction,
    /// The node whose neighbours are gathered, and those.
    node: Option<u64>,
    pending: Vec<u64>,
    /// Parts written for the node so far and their relationships.
    parts: Vec<ListPart>,
    in_parts: u64,
    open: SegmentBuilder,
    /// Position in the store of the open segment's first relationship and of the next one.
    segment_start: u64,
    next: u64,
    /// The id of the first relationship; without meaning in the other direction.
    first_relationship: u64,
    scratch: EncodedBlocks,
    degrees: Degrees,
}

impl DirectionWriter {
    fn new(
        shared: Arc<Shared>,
        rel_type: TypeId,
        store: StoreBuild,
        direction: Direction,
        first_relationship: u64,
    ) -> DirectionWriter {
        DirectionWriter {
            pages: shared.stream(),
            shared,
            store,
            rel_type,
            direction,
            node: None,
            pending: Vec::new(),
            parts: Vec::new(),
            in_parts: 0,
            open: SegmentBuilder::new(direction),
            segment_start: 0,
            next: 0,
            first_relationship,
            scratch: EncodedBlocks::default(),
            degrees: Degrees::default(),
        }
    }

    fn push(&mut self, node: u64, neighbour: u64) -> Result<()> {
        if self.node != Some(node) {
            self.finish_node()?;
            if self.node.is_some_and(|before| before > node) {
                return Err(self.order(node, neighbour));
            }
            self.node = Some(node);
        } else if self.pending.last().is_some_and(|last| *last > neighbour) {
            return Err(self.order(node, neighbour));
        }
        self.pending.push(neighbour);
        if self.pending.len() > PENDING_MAX {
            self.write_part()?;
        }
        Ok(())
    }

    fn order(&self, node: u64, neighbour: u64) -> Error {
        Error::Order {
            store: self.shared.store_name(self.store.kind),
            last: format!(
                "({}, {})",
                self.node.unwrap_or(0),
                self.pending.last().unwrap_or(&0)
            ),
            got: format!("({node}, {neighbour})"),
        }
    }

    fn finish_node(&mut self) -> Result<()> {
        let Some(node) = self.node else { return Ok(()) };
        if self.pending.is_empty() && self.parts.is_empty() {
            return Ok(());
        }
        let degree = self.in_parts + self.pending.len() as u64;
        let degrees = &mut self.degrees;
        degrees.lists += 1;
        degrees.most = degrees.most.max(degree);
        degrees.squares = (degrees.squares).saturating_add(degree.saturating_mul(degree));
        if self.parts.is_empty() {
            let fixed = single_list_bytes();
            let mut blocks = std::mem::take(&mut self.scratch);
            let taken = encode_prefix(&self.pending, SEGMENT_BYTES - fixed, &mut blocks);
            if taken == self.pending.len() {
                self.add_list(node, &blocks)?;
                self.scratch = blocks;
                self.pending.clear();
                return Ok(());
            }
            self.scratch = blocks;
        }
        while !self.pending.is_empty() {
            self.write_part()?;
        }
        self.write_head(node)
    }

    /// Adds the gathered list to the open segment, which is written first if there is no room.
    fn add_list(&mut self, node: u64, blocks: &EncodedBlocks) -> Result<()> {
        let list = (self.pending.len(), self.pending[0]);
        let encoded = blocks.widths.len() + blocks.blocks.len();
        if !self.open.has_room(node, list, encoded, 0) {
            self.write_segment()?;
        }
        if self.direction == Direction::Out {
            let position = self.open.relationships();
            self.open.run(position, self.first_relationship + self.next);
        }
        self.open.push(node, list, blocks);
        self.next += list.0 as u64;
        Ok(())
    }

    fn write_segment(&mut self) -> Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let (first, relationships) = (self.open.first_node(), self.open.relationships());
        let page = self.append(&self.open.payload())?;
        let extra = self.extra(self.segment_start, relationships);
        let entry = SegmentEntry { first, page, extra };
        self.store.add_segment(entry, relationships);
        self.clear_segment();
        Ok(())
    }

    fn extra(&self, start: u64, relationships: u64) -> u64 {
        match self.direction {
            Direction::Out => self.first_relationship + start,
            Direction::In => relationships,
        }
    }

    fn append(&mut self, payload: &[u8]) -> Result<PageRef> {
        let page = self.pages.append(PageKind::Adjacency, payload)?;
        self.store.footprint.add(page);
        Ok(page)
    }

    fn clear_segment(&mut self) {
        self.open.clear();
        self.segment_start = self.next;
    }

    /// Writes as many of the gathered neighbours as fit a segment of their own.
    fn write_part(&mut self) -> Result<()> {
        let node = self.node.expect("neighbours belong to a node");
        if self.parts.is_empty() {
            self.write_segment()?;
        }
        let mut blocks = std::mem::take(&mut self.scratch);
        let limit = SEGMENT_BYTES - single_list_bytes();
        let taken = encode_prefix(&self.pending, limit, &mut blocks);
        let part = self.pending.drain(..taken).collect::<Vec<_>>();
        let rest = std::mem::replace(&mut self.pending, part);
        self.add_list(node, &blocks)?;
        self.scratch = blocks;
        let part = std::mem::replace(&mut self.pending, rest);
        let page = self.append(&self.open.payload())?;
        self.parts.push(ListPart {
            first_neighbour: part[0],
            page,
            before: self.in_parts,
        });
        self.in_parts += part.len() as u64;
        self.clear_segment();
        Ok(())
    }

    fn write_head(&mut self, node: u64) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        let count = std::mem::take(&mut self.in_parts);
        let page = self.append(&head_payload(node, count, &parts))?;
        let extra = self.extra(self.next - count, count);
        let entry = SegmentEntry {
            first: node,
            page,
            extra,
        };
        self.store.add_segment(entry, count);
        Ok(())
    }

    /// Writes what is left of `count` relationships; their pairs add up to `sum`.
    fn finish(mut self, count: u64, sum: u64) -> Result<FinishedDirection> {
        self.finish_node()?;
        self.write_segment()?;
        drop(self.pages);
        self.shared.finish_store(self.store);
        Ok(FinishedDirection {
            direction: self.direction,
            degrees: self.degrees,
            count,
            sum,
        })
    }
}
