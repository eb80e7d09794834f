//! Positions of relationships in a segment by the nodes of their lists, and nodes by positions.
//!
//! # How it works
//! A group says how many relationships come before it; those of the lists before a slot are added,
//! of which each begins with how many it has.

use super::{
    Found, GROUP_BYTES, GROUP_NODES, HEADER_BYTES, SLOT_BYTES, Segment, u16_at, u32_at, u64_at,
};
use crate::bytes::{Decoded, Malformed};
use std::ops::{ControlFlow, Range};

impl<'a> Segment<'a> {
    /// Relationships in the lists of these slots; their entries are not read.
    fn count_in_slots(&self, slots: Range<usize>) -> Decoded<u64> {
        let data = &self.bytes[..self.data_end];
        let known = slots.start.min(self.lists)..slots.end.min(self.lists);
        let place_of = |slot: usize| self.slots.saturating_add(slot * SLOT_BYTES);
        let Some(table) = self.bytes.get(place_of(known.start)..place_of(known.end)) else {
            return Err(Malformed(format!("slots from {} on", self.slots)));
        };
        let mut count = 0;
        for (slot, place) in known.zip(table.chunks_exact(SLOT_BYTES)) {
            let at = self.data + usize::from(u16::from_le_bytes([place[0], place[1]]));
            count += match data.get(at) {
                Some(byte) if (1..0x80).contains(byte) => u64::from(*byte),
                _ => self.list_in_slot(slot)?.count as u64,
            };
        }
        if slots.end > self.lists && !slots.is_empty() {
            return Err(Malformed(format!(
                "slot {} of {}",
                slots.end - 1,
                self.lists
            )));
        }
        Ok(count)
    }

    /// Calls `visit` with each of `nodes`, which ascend, that has a list, and the positions of its
    /// relationships in the segment, until it breaks.
    #[inline]
    pub(crate) fn for_each_rank(
        &self,
        nodes: &[u64],
        mut visit: impl FnMut(u64, Range<u64>) -> Decoded<ControlFlow<()>>,
    ) -> Decoded<ControlFlow<()>> {
        let mut number = u64::MAX;
        let (mut bitmap, mut first_slot) = (0, 0);
        // The slot that comes next, and the relationships before it.
        let (mut slot, mut rank) = (0, 0);
        for node in nodes {
            let index = node.wrapping_sub(self.first_node);
            if index >= self.node_count {
                continue;
            }
            if index / GROUP_NODES != number {
                number = index / GROUP_NODES;
                let group = HEADER_BYTES + number as usize * GROUP_BYTES;
                bitmap = u64_at(self.bytes, group);
                first_slot = u32_at(self.bytes, group + 12) as usize;
                (slot, rank) = (first_slot, u64::from(u32_at(self.bytes, group + 8)));
            }
            let bit = 1_u64 << (index % GROUP_NODES);
            if bitmap & bit == 0 {
                continue;
            }
            let own = first_slot + (bitmap & (bit - 1)).count_ones() as usize;
            while slot <= own {
                let behind = rank + self.count_in_slot(slot)?;
                if slot == own && visit(*node, rank..behind)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                (slot, rank) = (slot + 1, behind);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Relationships in the list of a slot.
    #[inline]
    fn count_in_slot(&self, slot: usize) -> Decoded<u64> {
        if slot < self.lists {
            let at = self.data + usize::from(u16_at(self.bytes, self.slots + slot * SLOT_BYTES));
            if let Some(count) = self.bytes[..self.data_end].get(at)
                && (1..0x80).contains(count)
            {
                return Ok(u64::from(*count));
            }
        }
        Ok(self.list_in_slot(slot)?.count as u64)
    }

    /// Calls `visit` with ranges of nodes, ascending, and the relationships that their lists have:
    /// groups, and nodes where a group has more than `most`.
    pub(crate) fn spread(&self, most: u64, visit: &mut dyn FnMut(Range<u64>, u64)) -> Decoded<()> {
        if self.is_head() {
            visit(self.first_node..self.end_node(), self.relationships);
            return Ok(());
        }
        let groups = self.node_count.div_ceil(GROUP_NODES) as usize;
        let before = |group: usize| match group < groups {
            true => u64::from(u32_at(self.bytes, HEADER_BYTES + group * GROUP_BYTES + 8)),
            false => self.relationships,
        };
        for group in 0..groups {
            let first = self.first_node + group as u64 * GROUP_NODES;
            let end = self.end_node().min(first + GROUP_NODES);
            let relationships = before(group + 1).saturating_sub(before(group));
            if relationships <= most {
                visit(first..end, relationships);
                continue;
            }
            for node in first..end {
                if let Found::List(list) = self.find(node)? {
                    visit(node..node + 1, list.count as u64);
                }
            }
        }
        Ok(())
    }

    /// As [`Segment::rank_of`], counted from a node with known ranks, if that lies in the same
    /// group before this one.
    pub(crate) fn rank_after(&self, node: u64, known: u64, ranks: &Range<u64>) -> Decoded<u64> {
        let index = node.wrapping_sub(self.first_node);
        let from = known.wrapping_sub(self.first_node);
        if index >= self.node_count || from >= index || from / GROUP_NODES != index / GROUP_NODES {
            return self.rank_of(node);
        }
        let group = HEADER_BYTES + (index / GROUP_NODES) as usize * GROUP_BYTES;
        let bitmap = u64_at(self.bytes, group);
        let before =
            |index: u64| (bitmap & ((1u64 << (index % GROUP_NODES)) - 1)).count_ones() as usize;
        let first_slot = u32_at(self.bytes, group + 12) as usize;
        let between = first_slot + before(from + 1)..first_slot + before(index);
        Ok(ranks.end + self.count_in_slots(between)?)
    }

    /// Relationships in the segment before the list of `node`.
    pub(crate) fn rank_of(&self, node: u64) -> Decoded<u64> {
        let index = node.wrapping_sub(self.first_node);
        if index >= self.node_count {
            return Err(Malformed(format!("node {node} outside its segment")));
        }
        let group = HEADER_BYTES + (index / GROUP_NODES) as usize * GROUP_BYTES;
        let earlier = u64_at(self.bytes, group) & ((1u64 << (index % GROUP_NODES)) - 1);
        let first_slot = u32_at(self.bytes, group + 12) as usize;
        let before = first_slot..first_slot + earlier.count_ones() as usize;
        Ok(u64::from(u32_at(self.bytes, group + 8)) + self.count_in_slots(before)?)
    }

    /// The node with the list that holds the relationship at position `rank` of the
    /// segment, and its place in the list.
    pub(crate) fn node_at_rank(&self, rank: u64) -> Decoded<(u64, u64)> {
        let groups = self.node_count.div_ceil(GROUP_NODES) as usize;
        let (mut low, mut high) = (0, groups);
        while low < high {
            let middle = low.midpoint(high);
            if u64::from(u32_at(self.bytes, HEADER_BYTES + middle * GROUP_BYTES + 8)) <= rank {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // Groups without lists have the count of the one before them or the one behind them, so the
        // last group that starts at or before `rank` is the one with the list.
        if let Some(group) = low.checked_sub(1) {
            let at = HEADER_BYTES + group * GROUP_BYTES;
            let mut bitmap = u64_at(self.bytes, at);
            let mut before = u64::from(u32_at(self.bytes, at + 8));
            let first_slot = u32_at(self.bytes, at + 12) as usize;
            for slot in first_slot..first_slot + bitmap.count_ones() as usize {
                let count = self.list_in_slot(slot)?.count as u64;
                if rank < before + count {
                    let index = group as u64 * GROUP_NODES + u64::from(bitmap.trailing_zeros());
                    return Ok((self.first_node + index, rank - before));
                }
                before += count;
                bitmap &= bitmap - 1;
            }
        }
        Err(Malformed(format!("no relationship at position {rank}")))
    }
}
