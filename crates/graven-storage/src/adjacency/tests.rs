//! Lists against the neighbours they were made of; damaged segments.

use super::decode::{append_narrow, append_wide};
use super::encode::{EncodedBlocks, block_count, encode_prefix};
use super::node_set::NodeSet;
use super::segment::{Found, RawList, Segment, ToOneOutcome};
use crate::{GraphBuilder, NodeId};
use graven_io::{File, MemoryFile};
use proptest::prelude::*;
use std::sync::Arc;

fn raw<'a>(bytes: &'a [u8], neighbours: &[u64]) -> RawList<'a> {
    RawList {
        bytes,
        end: bytes.len(),
        count: neighbours.len(),
        first: neighbours[0],
    }
}

/// Lists of close and far neighbours, parallel ones among them.
fn neighbours() -> impl Strategy<Value = Vec<u64>> {
    (0u32..62, proptest::collection::vec(any::<u64>(), 1..200)).prop_map(|(shift, raw)| {
        let mut list: Vec<u64> = raw
            .iter()
            .map(|value| (value & (u64::MAX >> 1)) >> shift)
            .collect();
        list.sort_unstable();
        list
    })
}

proptest! {
    /// Goal: lists of any width come back, as 64-bit ids and, where they fit, as 32-bit ids.
    #[test]
    fn lists_come_back(list in neighbours()) {
        let mut blocks = EncodedBlocks::default();
        prop_assert_eq!(encode_prefix(&list, usize::MAX, &mut blocks), list.len());
        prop_assert_eq!(blocks.widths.len(), block_count(list.len()));
        let bytes = [&blocks.widths[..], &blocks.blocks].concat();
        let mut wide = Vec::new();
        append_wide(raw(&bytes, &list), u64::MAX, &mut wide).unwrap();
        prop_assert_eq!(&wide, &list);
        let limit = list[list.len() - 1] + 1;
        let mut narrow = Vec::new();
        if limit <= 1 << 32 {
            append_narrow(raw(&bytes, &list), limit, &mut narrow).unwrap();
            prop_assert!(narrow.iter().map(|id| u64::from(*id)).eq(list.iter().copied()));
            narrow.clear();
        }
        prop_assert!(append_narrow(raw(&bytes, &list), limit - 1, &mut narrow).is_err(), "ST-7");
        wide.clear();
        prop_assert!(append_wide(raw(&bytes, &list), limit - 1, &mut wide).is_err(), "ST-7");
    }

    /// Goal: a prefix never takes more bytes than it may, and takes all where they fit.
    #[test]
    fn prefixes_keep_their_limit(list in neighbours(), limit in 4usize..400) {
        let mut blocks = EncodedBlocks::default();
        let taken = encode_prefix(&list, limit, &mut blocks);
        prop_assert!(taken >= 1 && taken <= list.len());
        let bytes = crate::bytes::varint_bytes(taken as u64) + blocks.widths.len() + blocks.blocks.len();
        prop_assert!(bytes <= limit);
    }

    /// Goal (ST-6, ST-7): whatever a segment's bytes are, reading gives an error or neighbours that
    /// exist.
    #[test]
    fn damaged_segments_do_not_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), head: bool, cut: prop::sample::Index) {
        let mut bytes = sample_segment();
        for (at, byte) in changes {
            let range = if head { 200 } else { bytes.len() };
            let at = at.index(range);
            bytes[at] = byte;
        }
        for length in [bytes.len(), cut.index(bytes.len())] {
            let Ok(segment) = Segment::read(&bytes, length) else { continue };
            for node in 0..120 {
                segment.prefetch(node);
                let _ = segment.rank_of(node);
                let _ = segment.node_at_rank(node);
                let _ = segment.relationship_id(node);
                let _ = segment.rank_of_relationship(node);
                if let Ok(Found::List(list)) = segment.find(node) {
                    let mut narrow = Vec::new();
                    if append_narrow(list, 100, &mut narrow).is_ok() {
                        prop_assert!(narrow.iter().all(|id| *id < 100), "ST-7");
                    }
                }
            }
            let _ = segment.for_each_list(|_, _, _| Ok(()));
            if segment.is_head() {
                for part in 0..segment.part_count().min(1000) {
                    let _ = segment.part(part);
                }
            }
        }
    }
}

/// The only neighbour of each of a set of nodes as the column reader has them, and where it
/// stopped.
fn only_neighbours(segment: &Segment<'_>, set: NodeSet<'_>) -> (Vec<(u64, u32)>, ToOneOutcome) {
    let mut found = Vec::new();
    let stop = segment.for_each_only(set, 300, |node, only| {
        found.push((node, only));
        true
    });
    (found, stop)
}

/// Goal: a segment of lists of one neighbour each is read like a column, for all of its nodes and
/// for some, until the closure has enough.
#[test]
fn sole_lists_are_read_like_a_column() {
    let ends = |node: u64| (node % 3 != 1 || (64..128).contains(&node)).then_some(node * 7 % 300);
    let links = (0..300).filter_map(|node| Some((node, ends(node)?)));
    let bytes = segment_of(300, links);
    let segment = Segment::read(&bytes, bytes.len()).unwrap();
    assert!(segment.is_sole());
    for words in [
        [u64::MAX; 5],
        [0x8421_0F0F_1248_0011; 5],
        [0, u64::MAX, 1, 0, 0],
    ] {
        let set = NodeSet::new(NodeId(0), &words);
        let (found, stop) = only_neighbours(&segment, set);
        let wanted = (0..300).filter(|node| set.contains(NodeId(*node)));
        let wanted = wanted.filter_map(|node| Some((node, ends(node)? as u32)));
        assert!(found.into_iter().eq(wanted));
        assert_eq!(stop, ToOneOutcome::Done);
    }
    let all = NodeSet::new(NodeId(0), &[u64::MAX; 5]);
    let mut visits = 0;
    let stop = segment.for_each_only(all, 300, |_, _| {
        visits += 1;
        visits < 100
    });
    assert_eq!((stop, visits), (ToOneOutcome::Enough, 100));
    let low = segment.for_each_only(all, 299, |_, _| true);
    assert!(matches!(low, ToOneOutcome::Group(_)), "ST-7");
    assert!(
        !Segment::read(&sample_segment(), sample_segment().len())
            .unwrap()
            .is_sole()
    );
}

proptest! {
    /// Goal (ST-6, ST-7): what the column reader makes of a damaged segment it has in common with
    /// the careful reader; the rest it leaves.
    #[test]
    fn damaged_sole_lists_are_left_to_the_careful_reader(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), head: bool) {
        let mut bytes = segment_of(300, (0..300).map(|node| (node, node * 7 % 300)));
        for (at, byte) in changes {
            let at = at.index(if head { 200 } else { bytes.len() });
            bytes[at] = byte;
        }
        let Ok(segment) = Segment::read(&bytes, bytes.len()) else { return Ok(()) };
        if segment.is_sole() {
            let words = vec![u64::MAX; 5];
            let (found, _) = only_neighbours(&segment, NodeSet::new(NodeId(segment.first_node()), &words));
            for (node, only) in found {
                prop_assert!(only < 300, "ST-7");
                if let Ok(Found::List(list)) = segment.find(node) {
                    prop_assert_eq!((list.count, list.first), (1, u64::from(only)));
                }
            }
        }
    }
}

/// The payload of a forward segment of 100 nodes.
fn sample_segment() -> Vec<u8> {
    segment_of(100, (0..600).map(|id| (id * id % 97, id * 31 % 89)))
}

/// The payload of the first forward segment of so many nodes with these relationships.
fn segment_of(nodes: u64, links: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
    let mut builder = GraphBuilder::new();
    for _ in 0..nodes {
        builder.node(&[], &[]);
    }
    for (from, to) in links {
        builder.relationship(NodeId(from), "T", NodeId(to), &[]);
    }
    let file = MemoryFile::new("sample.graven");
    builder.build(Arc::new(file.clone())).unwrap();
    let length = file.len().unwrap();
    let bytes = file.to_bytes();
    (0..length as usize / 4096)
        .map(|unit| &bytes[unit * 4096..(unit + 1) * 4096])
        .find(|page| page[28] == graven_pagecache::PageKind::Adjacency as u8)
        .map(|page| page[64..].to_vec())
        .expect("there is an adjacency page")
}
