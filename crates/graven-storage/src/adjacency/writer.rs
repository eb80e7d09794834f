//! Bulk writing of the adjacency of one relationship type: forward, then reverse, both in sorted order.
//!
//! # How it works
//! The neighbours of the current node are gathered; when the node changes, its list is encoded and added to the
//! open segment, which is written when the next list would not fit. A list that does not fit an empty segment is
//! written as parts while it arrives, then a head.
//!
//! # Costs
//! Memory: one segment and at most [`PENDING_MAX`] neighbours per direction.

use super::encode::{EncodedBlocks, encode_prefix};
use super::segment::{
    ENCODING_HEAD, ENCODING_LISTS, GROUP_BYTES, GROUP_NODES, HEADER_BYTES, PART_BYTES, Part,
    RUN_BYTES, SLOT_BYTES,
};
use crate::bytes::{put_varint, varint_bytes};
use crate::catalog::{StoreKind, TypeStatistics};
use crate::directory::SegmentEntry;
use crate::ids::{Direction, NodeId, RelId, TypeId};
use crate::labels::LabelRuns;
use crate::writer::shared::{PatternCounts, Shared, StoreBuild};
use crate::{Error, Result};
use foldhash::HashMap;
use graven_pagecache::{PageKind, PageRef, SizeClass};
use std::sync::Arc;

/// Size of full segments.
pub(super) const SEGMENT_CLASS: SizeClass = SizeClass::KIB_64;
/// Largest payload of a segment.
const SEGMENT_BYTES: usize = SEGMENT_CLASS.payload_bytes();
/// Neighbours gathered before a long list starts to be written in parts.
const PENDING_MAX: usize = 1 << 16;
/// Nodes without list that a segment spans before it is ended instead.
const GAP_MAX: u64 = 1 << 14;

/// Writes both directions of one relationship type.
#[derive(Debug)]
pub struct AdjacencyWriter {
    shared: Arc<Shared>,
    rel_type: TypeId,
    out: DirectionWriter,
    into: DirectionWriter,
    first_relationship: u64,
    forward_count: u64,
    reverse_count: u64,
    labels: Arc<LabelRuns>,
    counts: PatternCounts,
    /// Sums over hashed (start, end) pairs of each direction: equal if both got the same relationships.
    sums: [u64; 2],
    statistics: TypeStatistics,
}

impl AdjacencyWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        rel_type: TypeId,
        first_relationship: u64,
        labels: Arc<LabelRuns>,
    ) -> AdjacencyWriter {
        let writer = |direction| {
            let store = shared.new_store(StoreKind::Adjacency(rel_type, direction));
            DirectionWriter::new(shared.clone(), store, direction, first_relationship)
        };
        AdjacencyWriter {
            out: writer(Direction::Out),
            into: writer(Direction::In),
            shared,
            rel_type,
            first_relationship,
            forward_count: 0,
            reverse_count: 0,
            counts: PatternCounts::default(),
            labels,
            sums: [0; 2],
            statistics: TypeStatistics::default(),
        }
    }

    /// Adds the relationship from `start` to `end`; pairs ascend by (start, end), equal ones are parallel
    /// relationships. All forward pairs come before the first [`AdjacencyWriter::reverse`]. Gives the id.
    ///
    /// # Errors
    /// [`Error::Order`]; [`Error::NoSuchNode`]; what writing gives.
    ///
    /// # Panics
    /// After the first [`AdjacencyWriter::reverse`].
    pub fn forward(&mut self, start: NodeId, end: NodeId) -> Result<RelId> {
        assert!(
            self.reverse_count == 0,
            "forward pairs come before reverse ones"
        );
        let start_set = self.labels.set_of_existing(start)?;
        let end_set = self.labels.set_of_existing(end)?;
        self.counts.add(start_set, end_set);
        self.out.push(start.0, end.0)?;
        self.sums[0] = self.sums[0].wrapping_add(pair_hash(start.0, end.0));
        let id = RelId(self.first_relationship + self.forward_count);
        self.forward_count += 1;
        Ok(id)
    }

    /// Adds the same relationships ascending by (end, start).
    ///
    /// # Errors
    /// As [`AdjacencyWriter::forward`].
    pub fn reverse(&mut self, end: NodeId, start: NodeId) -> Result<()> {
        if self.reverse_count == 0 {
            self.out.finish_direction()?;
        }
        self.labels.set_of_existing(end)?;
        self.into.push(end.0, start.0)?;
        self.sums[1] = self.sums[1].wrapping_add(pair_hash(start.0, end.0));
        self.reverse_count += 1;
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if the directions got different relationships; what writing gives.
    pub fn finish(mut self) -> Result<()> {
        self.out.finish_direction()?;
        self.into.finish_direction()?;
        if self.forward_count != self.reverse_count || self.sums[0] != self.sums[1] {
            return Err(Error::Incomplete {
                store: format!("adjacency of {}", self.shared.type_name(self.rel_type)),
                what: format!(
                    "{} relationships forward, {} in reverse, not the same ones",
                    self.forward_count, self.reverse_count
                ),
            });
        }
        self.statistics.relationships = self.forward_count;
        (self.statistics.start_nodes, self.statistics.out_degree_max) = self.out.degrees();
        (self.statistics.end_nodes, self.statistics.in_degree_max) = self.into.degrees();
        self.shared.finish_store(self.out.store);
        self.shared.finish_store(self.into.store);
        self.shared.finish_adjacency(
            self.rel_type,
            self.first_relationship,
            self.statistics,
            self.counts,
        );
        Ok(())
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

#[derive(Debug)]
struct PendingList {
    node: u64,
    count: usize,
    first: u64,
    widths: usize,
    end: usize,
}

/// One direction while it is written.
#[derive(Debug)]
struct DirectionWriter {
    shared: Arc<Shared>,
    store: StoreBuild,
    direction: Direction,
    /// The node whose neighbours are gathered, and those.
    node: Option<u64>,
    pending: Vec<u64>,
    /// Parts written for the node so far and their relationships.
    parts: Vec<Part>,
    in_parts: u64,
    /// The open segment.
    lists: Vec<PendingList>,
    data: Vec<u8>,
    list_head_bytes: usize,
    first_min: u64,
    first_max: u64,
    relationships: u64,
    /// Position in the store of the open segment's first relationship and of the next one.
    segment_start: u64,
    next: u64,
    first_relationship: u64,
    scratch: EncodedBlocks,
    list_count: u64,
    degree_max: u64,
}

impl DirectionWriter {
    fn new(
        shared: Arc<Shared>,
        store: StoreBuild,
        direction: Direction,
        first_relationship: u64,
    ) -> DirectionWriter {
        DirectionWriter {
            shared,
            store,
            direction,
            node: None,
            pending: Vec::new(),
            parts: Vec::new(),
            in_parts: 0,
            lists: Vec::new(),
            data: Vec::new(),
            list_head_bytes: 0,
            first_min: u64::MAX,
            first_max: 0,
            relationships: 0,
            segment_start: 0,
            next: 0,
            first_relationship,
            scratch: EncodedBlocks::default(),
            list_count: 0,
            degree_max: 0,
        }
    }

    fn degrees(&self) -> (u64, u64) {
        (self.list_count, self.degree_max)
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
        self.list_count += 1;
        self.degree_max = self.degree_max.max(degree);
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
        let first = self.pending[0];
        let count = self.pending.len();
        let added = varint_bytes(count as u64) + blocks.widths.len() + blocks.blocks.len();
        let gap = self.lists.last().map_or(0, |last| node - last.node);
        if !self.lists.is_empty()
            && (gap > GAP_MAX || self.bytes_with(node, first, added) > SEGMENT_BYTES)
        {
            self.write_segment()?;
        }
        let widths = self.data.len();
        self.data.extend_from_slice(&blocks.widths);
        self.data.extend_from_slice(&blocks.blocks);
        self.lists.push(PendingList {
            node,
            count,
            first,
            widths,
            end: self.data.len(),
        });
        self.list_head_bytes += varint_bytes(count as u64);
        (self.first_min, self.first_max) = self.first_range(first);
        self.relationships += count as u64;
        self.next += count as u64;
        Ok(())
    }

    /// Bytes of the open segment if a list of `node` with `added` bytes besides its first neighbour joined it.
    fn bytes_with(&self, node: u64, first: u64, added: usize) -> usize {
        let first_node = self.lists.first().map_or(node, |list| list.node);
        let groups = ((node - first_node) / GROUP_NODES + 1) as usize;
        let lists = self.lists.len() + 1;
        let (low, high) = self.first_range(first);
        self.table_bytes(groups, lists)
            + self.list_head_bytes
            + lists * first_bytes(high - low)
            + self.data.len()
            + added
    }

    /// Smallest and largest first neighbour of the open segment's lists and `other`.
    fn first_range(&self, other: u64) -> (u64, u64) {
        (self.first_min.min(other), self.first_max.max(other))
    }

    fn table_bytes(&self, groups: usize, lists: usize) -> usize {
        let runs = usize::from(self.direction == Direction::Out);
        HEADER_BYTES + groups * GROUP_BYTES + lists * SLOT_BYTES + runs * RUN_BYTES
    }

    fn write_segment(&mut self) -> Result<()> {
        let Some(first) = self.lists.first() else {
            return Ok(());
        };
        let (first_node, start) = (first.node, self.segment_start);
        let payload = self.segment_payload(self.first_relationship + start);
        let page = self.append(&payload)?;
        let extra = self.extra(start, self.relationships);
        self.store.add_segment(
            SegmentEntry {
                first: first_node,
                page,
                extra,
            },
            self.relationships,
        );
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
        let page = self.shared.sink.append(PageKind::Adjacency, payload)?;
        self.store.footprint.add(page);
        Ok(page)
    }

    fn clear_segment(&mut self) {
        self.lists.clear();
        self.data.clear();
        self.list_head_bytes = 0;
        (self.first_min, self.first_max) = (u64::MAX, 0);
        self.relationships = 0;
        self.segment_start = self.next;
    }

    /// The bytes of the open segment; its first relationship has the id `first_id`.
    fn segment_payload(&self, first_id: u64) -> Vec<u8> {
        let first_node = self.lists[0].node;
        let node_count = self.lists[self.lists.len() - 1].node - first_node + 1;
        let groups = node_count.div_ceil(GROUP_NODES) as usize;
        let (base, high) = self.first_range(self.lists[0].first);
        let first_bytes = first_bytes(high - base);
        let data = self.table_bytes(groups, self.lists.len());
        let mut out = header(ENCODING_LISTS, first_bytes, node_count, first_node);
        out[16..24].copy_from_slice(&base.to_le_bytes());
        out[24..32].copy_from_slice(&self.relationships.to_le_bytes());
        out[32..36].copy_from_slice(&(self.lists.len() as u32).to_le_bytes());
        out[36..40].copy_from_slice(&(data as u32).to_le_bytes());
        let mut lists = self.lists.iter().enumerate().peekable();
        let mut before = 0u32;
        for group in 0..groups as u64 {
            let end = first_node + (group + 1) * GROUP_NODES;
            let (rank, mut slot, mut bitmap) = (before, self.lists.len(), 0u64);
            while let Some((index, list)) = lists.next_if(|(_, list)| list.node < end) {
                slot = slot.min(index);
                bitmap |= 1 << ((list.node - first_node) % GROUP_NODES);
                before += list.count as u32;
            }
            let slot = if bitmap == 0 {
                lists.peek().map_or(self.lists.len(), |next| next.0)
            } else {
                slot
            };
            out.extend_from_slice(&bitmap.to_le_bytes());
            out.extend_from_slice(&rank.to_le_bytes());
            out.extend_from_slice(&(slot as u32).to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(self.data.len() + self.lists.len() * 4);
        for list in &self.lists {
            out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            put_varint(&mut bytes, list.count as u64);
            bytes.extend_from_slice(&(list.first - base).to_le_bytes()[..first_bytes]);
            bytes.extend_from_slice(&self.data[list.widths..list.end]);
        }
        if self.direction == Direction::Out {
            out[44..48].copy_from_slice(&1u32.to_le_bytes());
            out.extend_from_slice(&0u32.to_le_bytes());
            out.extend_from_slice(&first_id.to_le_bytes());
        }
        debug_assert_eq!(out.len(), data, "ST-6");
        out.extend_from_slice(&bytes);
        let end = out.len() as u32;
        out[40..44].copy_from_slice(&end.to_le_bytes());
        assert!(out.len() <= SEGMENT_BYTES, "ST-6: a segment fits its page");
        out
    }

    /// Writes as many of the gathered neighbours as fit a segment of their own.
    fn write_part(&mut self) -> Result<()> {
        let node = self.node.expect("neighbours belong to a node");
        if self.parts.is_empty() {
            self.write_segment()?;
        }
        let mut blocks = std::mem::take(&mut self.scratch);
        let taken = encode_prefix(
            &self.pending,
            SEGMENT_BYTES - single_list_bytes(),
            &mut blocks,
        );
        let part = self.pending.drain(..taken).collect::<Vec<_>>();
        let rest = std::mem::replace(&mut self.pending, part);
        self.add_list(node, &blocks)?;
        self.scratch = blocks;
        let part = std::mem::replace(&mut self.pending, rest);
        let payload = self.segment_payload(self.first_relationship + self.segment_start);
        let page = self.append(&payload)?;
        self.parts.push(Part {
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
        let mut out = header(ENCODING_HEAD, 8, 1, node);
        out[24..32].copy_from_slice(&count.to_le_bytes());
        out[32..36].copy_from_slice(&(parts.len() as u32).to_le_bytes());
        let end = ((HEADER_BYTES + parts.len() * PART_BYTES) as u32).to_le_bytes();
        out[36..40].copy_from_slice(&end);
        out[40..44].copy_from_slice(&end);
        for part in &parts {
            out.extend_from_slice(&part.first_neighbour.to_le_bytes());
            out.extend_from_slice(&part.page.raw().to_le_bytes());
            out.extend_from_slice(&part.before.to_le_bytes());
        }
        let page = self.append(&out)?;
        let extra = self.extra(self.next - count, count);
        self.store.add_segment(
            SegmentEntry {
                first: node,
                page,
                extra,
            },
            count,
        );
        Ok(())
    }

    fn finish_direction(&mut self) -> Result<()> {
        self.finish_node()?;
        self.node = None;
        self.write_segment()
    }
}

fn header(encoding: u8, first_bytes: usize, node_count: u64, first_node: u64) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES];
    out[0] = encoding;
    out[1] = first_bytes as u8;
    out[4..8].copy_from_slice(&(node_count as u32).to_le_bytes());
    out[8..16].copy_from_slice(&first_node.to_le_bytes());
    out
}

/// Bytes of a segment with one list besides count, widths and blocks.
const fn single_list_bytes() -> usize {
    HEADER_BYTES + GROUP_BYTES + SLOT_BYTES + RUN_BYTES + 8
}

/// Bytes that hold `value`, at least 1.
fn first_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(8)
}

/// Counts of relationships by the label sets of their ends.
pub(crate) type SetPairs = HashMap<(u32, u32), u64>;
