//! One adjacency segment: the lists of a range of nodes in one page.
//!
//! # How it works
//! Nodes are taken in groups of 64. A group holds a bitmap of its nodes that have a list, the
//! number of relationships before it in the segment, and the number of its first slot; a slot is
//! the position of a list. So the list of a node is found with a bit count and two loads, and nodes
//! without a list cost two bits. Relationship ids follow from the position of a relationship in the
//! segment by *runs*: each run says which id the relationship at a position has, those behind it
//! count up. Bulk writing makes one run; checkpoints that insert relationships make more.
//!
//! A list too long for a segment has a *head*: a segment of its own that holds the references of
//! the parts, each a segment with a piece of the list.
//!
//! # Invariants
//! * ST-5: neighbours of a list ascend; equal ones are parallel relationships, in ascending order
//!   of their ids.
//! * ST-6: [`Segment::read`] checks every table against the page's length, so that look-ups index
//!   freely.
//!
//! # On disk
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 1 | encoding: 1 lists, 2 head of a long list |
//! | 1 | 1 | `first_bytes`: size of the first neighbour of each list, 1..=8 |
//! | 2 | 2 | zero |
//! | 4 | 4 | nodes covered |
//! | 8 | 8 | first node |
//! | 16 | 8 | base: subtracted from first neighbours |
//! | 24 | 8 | relationships |
//! | 32 | 4 | lists |
//! | 36 | 4 | offset of the lists |
//! | 40 | 4 | end of the lists |
//! | 44 | 4 | runs of relationship ids |
//! | 48 | 16 | zero |
//! | 64 | 16 each | groups: bitmap (8), relationships before (4), first slot (4) |
//! | | 2 each | slots: position of a list behind the offset of the lists |
//! | | 12 each | runs: position (4), id (8); none in reverse segments |
//! | | | lists, see [`super::encode`] |
//!
//! A head has the same first 64 bytes (nodes covered 1, lists = number of parts), then 24 bytes a
//! part: first neighbour (8), page (8), relationships before it (8).

mod ids;
mod ranks;

use super::node_set::NodeSet;
use crate::bitpack::run::{Item, Source};
use crate::bytes::{Decoded, Malformed, Reader};
use crate::pages::Pages;
use graven_pagecache::PageRef;

pub(crate) const ENCODING_LISTS: u8 = 1;
pub(crate) const ENCODING_HEAD: u8 = 2;
pub(crate) const HEADER_BYTES: usize = 64;
pub(crate) const GROUP_NODES: u64 = 64;
pub(crate) const GROUP_BYTES: usize = 16;
pub(crate) const SLOT_BYTES: usize = 2;
pub(crate) const RUN_BYTES: usize = 12;
pub(crate) const PART_BYTES: usize = 24;

/// Cache lines of a list loaded ahead: a list of 80 neighbours.
#[cfg(target_arch = "x86_64")]
const TOUCHED_LINES: usize = 2;

/// A part of a long list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListPart {
    pub(crate) first_neighbour: u64,
    pub(crate) page: PageRef,
    /// Relationships of the list before this part.
    pub(crate) before: u64,
}

/// A segment whose tables were checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    bytes: &'a [u8],
    encoding: u8,
    first_bytes: usize,
    first_node: u64,
    node_count: u64,
    base: u64,
    relationships: u64,
    lists: usize,
    slots: usize,
    runs: usize,
    run_count: usize,
    data: usize,
    data_end: usize,
}

/// Where a list lies and how long it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawList<'a> {
    /// The segment's bytes from the widths on, up to the end of the page: decoders may read ahead.
    pub(crate) bytes: &'a [u8],
    /// Bytes of `bytes` that belong to lists.
    pub(crate) end: usize,
    pub(crate) count: usize,
    pub(crate) first: u64,
}

/// The list of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    Nothing,
    List(RawList<'a>),
    Head,
}

/// How far [`Segment::for_each_only`] came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToOneOutcome {
    Done,
    /// The closure wants no more.
    Enough,
    /// This group and those behind it are left.
    Group(u64),
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl<'a> Segment<'a> {
    /// A segment without lists, for lists that no page holds.
    pub(crate) const NONE: &'static Segment<'static> = &Segment {
        bytes: &[],
        encoding: ENCODING_LISTS,
        first_bytes: 1,
        first_node: 0,
        node_count: 0,
        base: 0,
        relationships: 0,
        lists: 0,
        slots: 0,
        runs: 0,
        run_count: 0,
        data: 0,
        data_end: 0,
    };

    /// Checks the tables of the segment at the start of `bytes`: a payload of `length` bytes and
    /// what follows it in the page.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8], length: usize) -> Decoded<Segment<'a>> {
        if length < HEADER_BYTES || bytes.len() < length {
            return Err(Malformed(format!("segment of {length} bytes")));
        }
        let lists = u32_at(bytes, 32) as usize;
        let node_count = u64::from(u32_at(bytes, 4));
        let encoding = bytes[0];
        let groups = node_count.div_ceil(GROUP_NODES) as usize;
        let run_count = u32_at(bytes, 44) as usize;
        let slots = HEADER_BYTES + groups.saturating_mul(GROUP_BYTES);
        let runs = slots.saturating_add(lists.saturating_mul(SLOT_BYTES));
        let segment = Segment {
            bytes,
            encoding,
            first_bytes: usize::from(bytes[1]),
            first_node: u64_at(bytes, 8),
            node_count,
            base: u64_at(bytes, 16),
            relationships: u64_at(bytes, 24),
            lists,
            slots,
            runs,
            run_count,
            data: u32_at(bytes, 36) as usize,
            data_end: u32_at(bytes, 40) as usize,
        };
        let tables_end = match encoding {
            ENCODING_LISTS => runs.saturating_add(run_count.saturating_mul(RUN_BYTES)),
            ENCODING_HEAD => HEADER_BYTES.saturating_add(lists.saturating_mul(PART_BYTES)),
            other => return Err(Malformed(format!("unknown adjacency encoding {other}"))),
        };
        let fits = tables_end <= segment.data
            && segment.data <= segment.data_end
            && segment.data_end <= length
            && (1..=8).contains(&segment.first_bytes)
            && segment.first_node.checked_add(node_count).is_some();
        if fits {
            Ok(segment)
        } else {
            Err(Malformed(format!(
                "tables end at {tables_end}, lists at {}..{} of {length} bytes",
                segment.data, segment.data_end
            )))
        }
    }

    pub(crate) fn first_node(&self) -> u64 {
        self.first_node
    }

    pub(crate) fn end_node(&self) -> u64 {
        self.first_node + self.node_count
    }

    pub(crate) fn relationships(&self) -> u64 {
        self.relationships
    }

    pub(crate) fn is_head(&self) -> bool {
        self.encoding == ENCODING_HEAD
    }

    /// The list of `node`, which may lie outside the segment.
    #[inline(always)]
    pub(crate) fn find(&self, node: u64) -> Decoded<Found<'a>> {
        let index = node.wrapping_sub(self.first_node);
        if index >= self.node_count {
            return Ok(Found::Nothing);
        }
        if self.encoding == ENCODING_HEAD {
            return Ok(Found::Head);
        }
        let group = HEADER_BYTES + (index / GROUP_NODES) as usize * GROUP_BYTES;
        let bitmap = u64_at(self.bytes, group);
        let bit = 1u64 << (index % GROUP_NODES);
        if bitmap & bit == 0 {
            return Ok(Found::Nothing);
        }
        let before = (bitmap & (bit - 1)).count_ones() as usize;
        let slot = u32_at(self.bytes, group + 12) as usize + before;
        self.list_in_slot(slot).map(Found::List)
    }

    /// Groups of nodes.
    fn groups(&self) -> u64 {
        self.node_count.div_ceil(GROUP_NODES)
    }

    /// Whether no list has more than one neighbour, as that of a message's author.
    pub(crate) fn is_sole(&self) -> bool {
        self.encoding == ENCODING_LISTS && self.relationships == self.lists as u64
    }

    /// Calls `visit` with each of `nodes` that has a list and its only neighbour, group by group,
    /// until it returns `false`. A group with anything else, or with a neighbour that is not below
    /// `limit`, is where it stops.
    #[inline]
    pub(crate) fn for_each_only(
        &self,
        nodes: NodeSet<'_>,
        limit: u32,
        mut visit: impl FnMut(u64, u32) -> bool,
    ) -> ToOneOutcome {
        let mask = u64::MAX >> (64 - 8 * self.first_bytes);
        let mut ends = [0_u32; GROUP_NODES as usize];
        for number in 0..self.groups() {
            let start = self.first_node + number * GROUP_NODES;
            let group = HEADER_BYTES + number as usize * GROUP_BYTES;
            let bitmap = u64_at(self.bytes, group);
            let mut found = bitmap & nodes.window(start);
            if found == 0 {
                continue;
            }
            let first_slot = u32_at(self.bytes, group + 12) as usize;
            let behind = first_slot + bitmap.count_ones() as usize;
            if behind > self.lists {
                return ToOneOutcome::Group(number);
            }
            let table = &self.bytes[self.slots + first_slot * SLOT_BYTES..]
                [..(behind - first_slot) * SLOT_BYTES];
            let mut sound = true;
            for (end, slot) in ends.iter_mut().zip(table.chunks_exact(SLOT_BYTES)) {
                let at = self.data + usize::from(u16::from_le_bytes([slot[0], slot[1]]));
                let Some([count, first @ ..]) =
                    self.bytes.get(at..).and_then(<[u8]>::first_chunk::<9>)
                else {
                    return ToOneOutcome::Group(number);
                };
                let first = (u64::from_le_bytes(*first) & mask).wrapping_add(self.base);
                sound &= *count == 1
                    && first < u64::from(limit)
                    && at + self.first_bytes < self.data_end;
                *end = first as u32;
            }
            if !sound {
                return ToOneOutcome::Group(number);
            }
            if found == u64::MAX {
                for (node, end) in (start..).zip(&ends) {
                    if !visit(node, *end) {
                        return ToOneOutcome::Enough;
                    }
                }
                continue;
            }
            while found != 0 {
                let bit = found.trailing_zeros();
                found &= found - 1;
                let before = (bitmap & ((1 << bit) - 1)).count_ones() as usize;
                if !visit(start + u64::from(bit), ends[before]) {
                    return ToOneOutcome::Enough;
                }
            }
        }
        ToOneOutcome::Done
    }

    /// Appends the lists of those of `nodes` that have one, from group number `from` on, named by
    /// their distance to the first node.
    #[inline]
    pub(crate) fn gather(&self, nodes: NodeSet<'_>, from: u64, out: &mut Vec<Item>) -> Decoded<()> {
        for number in from..self.groups() {
            let start = number * GROUP_NODES;
            let wanted = nodes.window(self.first_node + start);
            if wanted == 0 {
                continue;
            }
            let group = HEADER_BYTES + number as usize * GROUP_BYTES;
            let bitmap = u64_at(self.bytes, group);
            let first_slot = u32_at(self.bytes, group + 12) as usize;
            let mut found = bitmap & wanted;
            let behind = first_slot + bitmap.count_ones() as usize;
            if behind > self.lists {
                return Err(Malformed(format!("slot {behind} of {}", self.lists)));
            }
            while found != 0 {
                let bit = found.trailing_zeros();
                found &= found - 1;
                let before = (bitmap & ((1 << bit) - 1)).count_ones() as usize;
                let slot = self.slots + (first_slot + before) * SLOT_BYTES;
                out.push(Item {
                    name: start as u32 + bit,
                    at: self.data as u32 + u32::from(u16_at(self.bytes, slot)),
                });
            }
        }
        Ok(())
    }

    /// The lists as a run decodes them; neighbours must be below `limit`, at most 2^31.
    pub(crate) fn source(&self, limit: u32) -> Source<'a> {
        Source {
            bytes: self.bytes,
            end: self.data_end,
            first_bytes: self.first_bytes,
            base: self.base,
            limit,
        }
    }

    /// Asks the processor to load the start of the list of `node`, if it has one.
    #[inline]
    pub(crate) fn prefetch(&self, node: u64) {
        let index = node.wrapping_sub(self.first_node);
        if index >= self.node_count || self.encoding == ENCODING_HEAD || self.lists == 0 {
            return;
        }
        let group = HEADER_BYTES + (index / GROUP_NODES) as usize * GROUP_BYTES;
        let bit = 1u64 << (index % GROUP_NODES);
        let before = (u64_at(self.bytes, group) & (bit - 1)).count_ones() as usize;
        let slot = u32_at(self.bytes, group + 12) as usize + before;
        let at = self.slots + slot.min(self.lists - 1) * SLOT_BYTES;
        let list = self.data + usize::from(u16_at(self.bytes, at));
        #[cfg(target_arch = "x86_64")]
        for line in 0..TOUCHED_LINES {
            let address = self.bytes.as_ptr().wrapping_add(list + line * 64);
            // SAFETY: prefetching reads nothing and may be given any address.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                    address.cast(),
                )
            };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = list;
    }

    #[inline(always)]
    fn list_in_slot(&self, slot: usize) -> Decoded<RawList<'a>> {
        if slot >= self.lists {
            return Err(Malformed(format!("slot {slot} of {}", self.lists)));
        }
        let at = self.data + usize::from(u16_at(self.bytes, self.slots + slot * SLOT_BYTES));
        let data = &self.bytes[..self.data_end];
        let (count, start) = match data.get(at) {
            Some(byte) if *byte < 0x80 => (u64::from(*byte), at + 1),
            _ => {
                let mut reader = Reader::starting_at(data, at);
                (reader.varint()?, reader.position())
            }
        };
        let widths = start + self.first_bytes;
        let left = self.data_end.checked_sub(widths);
        let blocks = count
            .saturating_sub(1)
            .div_ceil(crate::bitpack::BLOCK as u64);
        if count == 0 || left.is_none_or(|left| blocks > left as u64) {
            return Err(Malformed(format!(
                "list of {count} neighbours at offset {at}"
            )));
        }
        // Eight bytes at once where they are there: so many as there are would go through memory,
        // which costs more than all else here.
        let first = match self.bytes[start..].first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * self.first_bytes)),
            None => {
                let bytes = data[start..widths].iter().rev();
                bytes.fold(0, |first, byte| first << 8 | u64::from(*byte))
            }
        };
        let first = first.wrapping_add(self.base);
        Ok(RawList {
            bytes: &self.bytes[widths..],
            end: self.data_end - widths,
            count: count as usize,
            first,
        })
    }

    /// Nodes with a list, ascending, each with its list and the relationships before it.
    pub(crate) fn for_each_list(
        &self,
        mut visit: impl FnMut(u64, RawList<'a>, u64) -> Decoded<()>,
    ) -> Decoded<()> {
        let mut slot = 0;
        let mut before = 0u64;
        for group in 0..self.node_count.div_ceil(GROUP_NODES) {
            let at = HEADER_BYTES + group as usize * GROUP_BYTES;
            let (mut bitmap, rank, first_slot) = (
                u64_at(self.bytes, at),
                u32_at(self.bytes, at + 8),
                u32_at(self.bytes, at + 12),
            );
            if u64::from(rank) != before || first_slot as usize != slot {
                return Err(Malformed(format!(
                    "group {group} starts at relationship {rank}, slot {first_slot}; expected \
                        {before}, {slot}"
                )));
            }
            while bitmap != 0 {
                let index = group * GROUP_NODES + u64::from(bitmap.trailing_zeros());
                if index >= self.node_count {
                    return Err(Malformed(format!("node {index} of {}", self.node_count)));
                }
                let list = self.list_in_slot(slot)?;
                visit(self.first_node + index, list, before)?;
                before += list.count as u64;
                slot += 1;
                bitmap &= bitmap - 1;
            }
        }
        if slot == self.lists && before == self.relationships {
            return Ok(());
        }
        Err(Malformed(format!(
            "{slot} lists with {before} relationships, the header says {} and {}",
            self.lists, self.relationships
        )))
    }

    /// Number of parts of a head.
    pub(crate) fn part_count(&self) -> usize {
        self.lists
    }

    /// A part of a head.
    pub(crate) fn part(&self, index: usize) -> Decoded<ListPart> {
        if index >= self.lists || !self.is_head() {
            return Err(Malformed(format!("part {index} of {}", self.lists)));
        }
        let at = HEADER_BYTES + index * PART_BYTES;
        Ok(ListPart {
            first_neighbour: u64_at(self.bytes, at),
            page: Pages::reference(u64_at(self.bytes, at + 8))?,
            before: u64_at(self.bytes, at + 16),
        })
    }
}
