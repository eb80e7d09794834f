//! One adjacency segment while it is filled, and the head of a long list.
//!
//! # How it works
//! Encoded lists are gathered with their nodes; [`SegmentBuilder::payload`] puts the tables in
//! front of them. Bulk writing and checkpoints use the same builder, so both write the same
//! segments.

use super::decode::encoded_bytes;
use super::encode::EncodedBlocks;
use super::segment::{
    ENCODING_HEAD, ENCODING_LISTS, GROUP_BYTES, GROUP_NODES, HEADER_BYTES, ListPart, PART_BYTES,
    RUN_BYTES, RawList, SLOT_BYTES,
};
use crate::bytes::{Decoded, put_varint, varint_bytes};
use crate::ids::Direction;
use graven_pagecache::SizeClass;

/// Size of full segments.
pub(crate) const SEGMENT_CLASS: SizeClass = SizeClass::KIB_16;
/// Largest payload of a segment.
pub(crate) const SEGMENT_BYTES: usize = SEGMENT_CLASS.payload_bytes();
/// Nodes without list that a segment spans before it is ended instead.
pub(crate) const GAP_MAX: u64 = 1 << 14;

#[derive(Debug)]
struct PendingList {
    node: u64,
    count: usize,
    first: u64,
    widths: usize,
    end: usize,
}

/// A segment while it is filled.
#[derive(Debug)]
pub(crate) struct SegmentBuilder {
    direction: Direction,
    lists: Vec<PendingList>,
    data: Vec<u8>,
    runs: Vec<(u32, u64)>,
    list_head_bytes: usize,
    first_min: u64,
    first_max: u64,
    relationships: u64,
}

impl SegmentBuilder {
    pub(crate) fn new(direction: Direction) -> SegmentBuilder {
        SegmentBuilder {
            direction,
            lists: Vec::new(),
            data: Vec::new(),
            runs: Vec::new(),
            list_head_bytes: 0,
            first_min: u64::MAX,
            first_max: 0,
            relationships: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    pub(crate) fn relationships(&self) -> u64 {
        self.relationships
    }

    /// The first node; the builder is not empty.
    pub(crate) fn first_node(&self) -> u64 {
        self.lists[0].node
    }

    /// Bytes of the payload so far.
    pub(crate) fn bytes(&self) -> usize {
        let (Some(first), Some(last)) = (self.lists.first(), self.lists.last()) else {
            return HEADER_BYTES;
        };
        let groups = ((last.node - first.node) / GROUP_NODES + 1) as usize;
        self.table_bytes(groups, self.lists.len(), self.runs.len())
            + self.list_head_bytes
            + self.lists.len() * first_bytes(self.first_max - self.first_min)
            + self.data.len()
    }

    /// Whether a list of `node` with `count` neighbours from `first` on, `encoded` bytes of widths
    /// and blocks and at most `runs` more runs has room.
    pub(crate) fn has_room(
        &self,
        node: u64,
        (count, first): (usize, u64),
        encoded: usize,
        runs: usize,
    ) -> bool {
        let Some(first_list) = self.lists.first() else {
            return true;
        };
        if node - self.lists[self.lists.len() - 1].node > GAP_MAX {
            return false;
        }
        let groups = ((node - first_list.node) / GROUP_NODES + 1) as usize;
        let lists = self.lists.len() + 1;
        let (low, high) = (self.first_min.min(first), self.first_max.max(first));
        let bytes = self.table_bytes(groups, lists, self.runs.len() + runs)
            + self.list_head_bytes
            + lists * first_bytes(high - low)
            + self.data.len()
            + varint_bytes(count as u64)
            + encoded;
        bytes <= SEGMENT_BYTES
    }

    /// The relationship at the next position has the id `id`; those behind it count up until the
    /// next call.
    pub(crate) fn run(&mut self, position: u64, id: u64) {
        let position = position as u32;
        let follows = (self.runs.last())
            .is_some_and(|(start, first)| id == first.wrapping_add(u64::from(position - start)));
        if !follows {
            self.runs.push((position, id));
        }
    }

    /// Runs that [`SegmentBuilder::run`] would add for a list with `ids`.
    pub(crate) fn runs_of(ids: &[u64]) -> usize {
        let breaks = ids.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        breaks + usize::from(!ids.is_empty())
    }

    /// Adds a list; its ids, if this is a forward segment, were told with [`SegmentBuilder::run`]
    /// before.
    pub(crate) fn push(&mut self, node: u64, (count, first): (usize, u64), blocks: &EncodedBlocks) {
        let widths = self.data.len();
        self.data.extend_from_slice(&blocks.widths);
        self.data.extend_from_slice(&blocks.blocks);
        self.pushed(node, count, first, widths);
    }

    /// Adds a list as it stands in another segment.
    pub(crate) fn copy(&mut self, node: u64, list: RawList<'_>) -> Decoded<()> {
        let widths = self.data.len();
        self.data
            .extend_from_slice(&list.bytes[..encoded_bytes(list)?]);
        self.pushed(node, list.count, list.first, widths);
        Ok(())
    }

    fn pushed(&mut self, node: u64, count: usize, first: u64, widths: usize) {
        self.lists.push(PendingList {
            node,
            count,
            first,
            widths,
            end: self.data.len(),
        });
        self.list_head_bytes += varint_bytes(count as u64);
        self.first_min = self.first_min.min(first);
        self.first_max = self.first_max.max(first);
        self.relationships += count as u64;
    }

    fn table_bytes(&self, groups: usize, lists: usize, runs: usize) -> usize {
        HEADER_BYTES + groups * GROUP_BYTES + lists * SLOT_BYTES + runs * RUN_BYTES
    }

    pub(crate) fn clear(&mut self) {
        self.lists.clear();
        self.data.clear();
        self.runs.clear();
        self.list_head_bytes = 0;
        (self.first_min, self.first_max) = (u64::MAX, 0);
        self.relationships = 0;
    }

    /// The segment's bytes; the builder is not empty.
    pub(crate) fn payload(&self) -> Vec<u8> {
        let first_node = self.lists[0].node;
        let node_count = self.lists[self.lists.len() - 1].node - first_node + 1;
        let groups = node_count.div_ceil(GROUP_NODES) as usize;
        let base = self.first_min;
        let first_bytes = first_bytes(self.first_max - base);
        let data = self.table_bytes(groups, self.lists.len(), self.runs.len());
        let mut out = header(ENCODING_LISTS, first_bytes, node_count, first_node);
        out[16..24].copy_from_slice(&base.to_le_bytes());
        out[24..32].copy_from_slice(&self.relationships.to_le_bytes());
        out[32..36].copy_from_slice(&(self.lists.len() as u32).to_le_bytes());
        out[36..40].copy_from_slice(&(data as u32).to_le_bytes());
        out[44..48].copy_from_slice(&(self.runs.len() as u32).to_le_bytes());
        self.put_groups(first_node, groups, &mut out);
        let mut bytes = Vec::with_capacity(self.data.len() + self.lists.len() * 4);
        for list in &self.lists {
            out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            put_varint(&mut bytes, list.count as u64);
            bytes.extend_from_slice(&(list.first - base).to_le_bytes()[..first_bytes]);
            bytes.extend_from_slice(&self.data[list.widths..list.end]);
        }
        for (position, id) in &self.runs {
            out.extend_from_slice(&position.to_le_bytes());
            out.extend_from_slice(&id.to_le_bytes());
        }
        debug_assert_eq!(out.len(), data, "ST-6");
        debug_assert_eq!(
            self.direction == Direction::Out,
            !self.runs.is_empty(),
            "forward segments know their ids"
        );
        out.extend_from_slice(&bytes);
        let end = out.len() as u32;
        out[40..44].copy_from_slice(&end.to_le_bytes());
        assert!(out.len() <= SEGMENT_BYTES, "ST-6: a segment fits its page");
        out
    }

    fn put_groups(&self, first_node: u64, groups: usize, out: &mut Vec<u8>) {
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
            if bitmap == 0 {
                slot = lists.peek().map_or(self.lists.len(), |next| next.0);
            }
            out.extend_from_slice(&bitmap.to_le_bytes());
            out.extend_from_slice(&rank.to_le_bytes());
            out.extend_from_slice(&(slot as u32).to_le_bytes());
        }
    }
}

/// The head of a list of `count` relationships in `parts`.
pub(crate) fn head_payload(node: u64, count: u64, parts: &[ListPart]) -> Vec<u8> {
    let mut out = header(ENCODING_HEAD, 8, 1, node);
    out[24..32].copy_from_slice(&count.to_le_bytes());
    out[32..36].copy_from_slice(&(parts.len() as u32).to_le_bytes());
    let end = ((HEADER_BYTES + parts.len() * PART_BYTES) as u32).to_le_bytes();
    out[36..40].copy_from_slice(&end);
    out[40..44].copy_from_slice(&end);
    for part in parts {
        out.extend_from_slice(&part.first_neighbour.to_le_bytes());
        out.extend_from_slice(&part.page.raw().to_le_bytes());
        out.extend_from_slice(&part.before.to_le_bytes());
    }
    out
}

fn header(encoding: u8, first_bytes: usize, node_count: u64, first_node: u64) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES];
    out[0] = encoding;
    out[1] = first_bytes as u8;
    out[4..8].copy_from_slice(&(node_count as u32).to_le_bytes());
    out[8..16].copy_from_slice(&first_node.to_le_bytes());
    out
}

/// Bytes of a segment with one list besides count, widths, blocks and runs behind the first.
pub(crate) const fn single_list_bytes() -> usize {
    HEADER_BYTES + GROUP_BYTES + SLOT_BYTES + RUN_BYTES + 8
}

/// Bytes that hold `value`, at least 1.
fn first_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(8)
}
