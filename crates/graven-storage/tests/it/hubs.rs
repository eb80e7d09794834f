//! Goal: lists of any length, ids of any size and gaps of any width come back, at the smallest
//! cache. Method: a large star with parallel relationships, ids beyond 2^32 and empty stretches,
//! written by the bulk writer.

use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    Direction, NodeId, RelId, Snapshot, Store, StoreWriter, Sweep, TypeId, WriterOptions,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Writes `pairs` (any order) over `nodes` nodes and opens the result.
fn store(nodes: u64, pairs: &[(u64, u64)]) -> Arc<Store> {
    let file: Arc<dyn File> = Arc::new(MemoryFile::new("hubs.graven"));
    let mut writer = StoreWriter::create(file.clone(), WriterOptions::default()).unwrap();
    let label = writer.intern_label("A");
    let rel_type = writer.intern_type("T");
    writer.add_nodes(nodes, &[label]).unwrap();
    let mut adjacency = writer.adjacency(rel_type).unwrap();
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    for (at, (start, end)) in pairs.iter().enumerate() {
        assert_eq!(
            adjacency.forward(NodeId(*start), NodeId(*end)).unwrap(),
            RelId(at as u64)
        );
    }
    pairs.sort_unstable_by_key(|(start, end)| (*end, *start));
    for (start, end) in &pairs {
        adjacency.reverse(NodeId(*end), NodeId(*start)).unwrap();
    }
    adjacency.finish().unwrap();
    writer.finish().unwrap();
    let cache = PageCache::new(Config::new(Budget::new(1 << 20))).unwrap();
    let store = Store::open(file, cache).unwrap();
    assert_eq!(store.check().unwrap().problems, []);
    store
}

fn list(snapshot: &Snapshot, direction: Direction, node: u64) -> Vec<u64> {
    let adjacency = snapshot.adjacency(TypeId(0), direction).unwrap();
    let mut out = Vec::new();
    adjacency
        .sweep(std::iter::once(NodeId(node)), Sweep::Up, |_, list| {
            list.decode_wide(&mut out)?;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    out
}

#[test]
fn long_lists_are_chains() {
    const LEAVES: u64 = 300_000;
    let mut pairs: Vec<(u64, u64)> = (1..=LEAVES).map(|leaf| (7, leaf)).collect();
    pairs.extend((1..=LEAVES).step_by(3).map(|leaf| (7, leaf)));
    pairs.extend([(7, 7), (3, 9), (8, 4)]);
    let store = store(LEAVES + 1, &pairs);
    let snapshot = store.snapshot();
    pairs.sort_unstable();
    let expected: Vec<u64> = pairs
        .iter()
        .filter(|pair| pair.0 == 7)
        .map(|pair| pair.1)
        .collect();
    assert_eq!(list(&snapshot, Direction::Out, 7), expected);
    assert_eq!(list(&snapshot, Direction::Out, 3), [9]);
    assert_eq!(list(&snapshot, Direction::Out, 8), [4]);
    let out = snapshot.adjacency(TypeId(0), Direction::Out).unwrap();
    let into = snapshot.adjacency(TypeId(0), Direction::In).unwrap();
    assert_eq!(out.degree(NodeId(7)).unwrap(), expected.len() as u64);
    for leaf in [1, 2, 7, 64, LEAVES - 2, LEAVES] {
        let mut neighbours = Vec::new();
        into.neighbours(NodeId(leaf), &mut neighbours).unwrap();
        for neighbour in neighbours {
            let (_, start, end) = snapshot
                .relationship_endpoints(neighbour.relationship)
                .unwrap();
            assert_eq!((start, end), (neighbour.node, NodeId(leaf)));
            assert_eq!(pairs[neighbour.relationship.0 as usize], (start.0, end.0));
        }
    }
    let found = out
        .with_list(NodeId(7), |list| {
            let mut blocks = 0;
            let flow = list.for_each_block(|_| {
                blocks += 1;
                if blocks == 3 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            assert!(flow.is_break());
            assert_eq!(list.positions(NodeId(1))?, 0..2);
            assert!(list.contains(NodeId(LEAVES))?);
            list.contains(NodeId(0))
        })
        .unwrap();
    assert_eq!(found, Some(false));
}

#[test]
fn ids_beyond_32_bits_and_wide_gaps() {
    const NODES: u64 = 1 << 40;
    let far = NODES - 1;
    let mut pairs = vec![(0, far), (0, 1), (0, 1), (far, 0), (far, far), (1 << 35, 5)];
    pairs.extend((0..200).map(|step| (77, step * step * step * 100_000)));
    pairs.extend((0..5000).map(|step| (step * 1000, step)));
    let store = store(NODES, &pairs);
    let snapshot = store.snapshot();
    let mut starts: Vec<u64> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
    starts.sort_unstable();
    starts.dedup();
    pairs.sort_unstable();
    for node in starts.iter().step_by(37).chain([&0, &77, &far]) {
        let out: Vec<u64> = pairs
            .iter()
            .filter(|pair| pair.0 == *node)
            .map(|pair| pair.1)
            .collect();
        assert_eq!(list(&snapshot, Direction::Out, *node), out);
        let into: Vec<u64> = pairs
            .iter()
            .filter(|pair| pair.1 == *node)
            .map(|pair| pair.0)
            .collect();
        assert_eq!(list(&snapshot, Direction::In, *node), into);
    }
    let out = snapshot.adjacency(TypeId(0), Direction::Out).unwrap();
    assert!(!out.ids_fit_u32());
    let refused = out
        .with_list(NodeId(0), |list| list.decode(&mut Vec::new()).map(|_| ()))
        .unwrap_err();
    assert!(matches!(refused, graven_storage::Error::Wide));
}

/// Goal: every way of pushing out of order or against the rules is refused.
#[test]
fn wrong_order_is_refused() {
    let start = || {
        let file: Arc<dyn File> = Arc::new(MemoryFile::new("order.graven"));
        let mut writer = StoreWriter::create(file, WriterOptions::default()).unwrap();
        let rel_type = writer.intern_type("T");
        writer.add_nodes(10, &[]).unwrap();
        let adjacency = writer.adjacency(rel_type).unwrap();
        (writer, adjacency)
    };
    let (_writer, mut adjacency) = start();
    adjacency.forward(NodeId(5), NodeId(2)).unwrap();
    assert!(adjacency.forward(NodeId(5), NodeId(1)).is_err());
    assert!(adjacency.forward(NodeId(4), NodeId(9)).is_err());
    let (_writer, mut adjacency) = start();
    assert!(adjacency.forward(NodeId(5), NodeId(10)).is_err());
    let (_writer, mut adjacency) = start();
    adjacency.forward(NodeId(5), NodeId(2)).unwrap();
    adjacency.reverse(NodeId(2), NodeId(6)).unwrap();
    assert!(adjacency.finish().is_err(), "the directions differ");
    let (writer, adjacency) = start();
    drop(adjacency);
    assert!(writer.finish().is_err(), "a writer was not finished");
}

/// Goal: eight threads that sweep in both directions through a cache of 1 MiB read what one thread
/// reads.
#[test]
fn many_threads_share_a_small_cache() {
    let pairs: Vec<(u64, u64)> = (0..400_000u64)
        .map(|at| (at * 2_654_435_761 % 50_000, at * 40_503 % 49_999))
        .collect();
    let store = store(50_000, &pairs);
    let sum = |direction, order| {
        let adjacency = store.snapshot().adjacency(TypeId(0), direction).unwrap();
        let (mut sum, mut scratch) = (0u64, Vec::new());
        let visit = |node: NodeId, list: &graven_storage::List<'_>| {
            for neighbour in list.decode(&mut scratch)? {
                sum = sum.wrapping_add(node.0.wrapping_mul(u64::from(*neighbour)));
            }
            Ok(ControlFlow::Continue(()))
        };
        match order {
            Sweep::Up => adjacency
                .sweep((0..50_000).step_by(3).map(NodeId), order, visit)
                .unwrap(),
            Sweep::Down => adjacency
                .sweep((0..16_667).rev().map(|at| NodeId(at * 3)), order, visit)
                .unwrap(),
        }
        sum
    };
    let mut words = vec![0_u64; 50_000 / 64 + 1];
    (0..50_000)
        .step_by(3)
        .for_each(|node| words[node / 64] |= 1 << (node % 64));
    let both = |order| {
        let [out, into] = [Direction::Out, Direction::In]
            .map(|direction| store.snapshot().adjacency(TypeId(0), direction).unwrap());
        let mut sums = [0_u64; 2];
        let set = graven_storage::NodeSet::new(NodeId(0), &words);
        graven_storage::Adjacency::sweep_set(&[&out, &into], set, order, |side, node, list| {
            for neighbour in list {
                sums[side] = sums[side].wrapping_add(node.0.wrapping_mul(u64::from(*neighbour)));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        sums
    };
    let expected = [Direction::Out, Direction::In].map(|direction| sum(direction, Sweep::Up));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let order = if thread % 2 == 0 {
                Sweep::Up
            } else {
                Sweep::Down
            };
            let (sum, both) = (&sum, &both);
            scope.spawn(move || {
                for _ in 0..3 {
                    assert_eq!(both(order), expected);
                    assert_eq!(
                        [Direction::Out, Direction::In].map(|direction| sum(direction, order)),
                        expected
                    );
                }
            });
        }
    });
}

/// Goal: how entries are spread over nodes is told node by node, by some nodes and by segment,
/// without leaving any out.
#[test]
fn entries_are_spread_over_nodes() {
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    for node in 0..5000_u64 {
        let degree = (60_000 / (node + 1)).max(node % 3);
        pairs.extend((0..degree).map(|end| (node, (node * 31 + end) % 20_000)));
    }
    pairs.sort_unstable();
    let store = store(20_000, &pairs);
    let snapshot = store.snapshot();
    for (direction, of) in [(Direction::Out, 0), (Direction::In, 1)] {
        let mut degrees = vec![0_u64; 20_000];
        for pair in &pairs {
            degrees[[pair.0, pair.1][of] as usize] += 1;
        }
        let adjacency = snapshot.adjacency(TypeId(0), direction).unwrap();
        for most in [0, 100, 5000, u64::MAX] {
            for nodes in [0..20_000, 1000..3001] {
                let mut told: Vec<(std::ops::Range<u64>, u64)> = Vec::new();
                let tell = |nodes, entries| told.push((nodes, entries));
                adjacency.spread(nodes.clone(), most, tell).unwrap();
                let mut next = nodes.start;
                for (of, entries) in &told {
                    assert!(next <= of.start && of.start < of.end && of.end <= nodes.end);
                    assert!(*entries <= most || of.end - of.start == 1);
                    let own = &degrees[of.start as usize..of.end as usize];
                    // What begins before the nodes or ends behind them counts as a whole.
                    if of.start > nodes.start && of.end < nodes.end {
                        assert_eq!(own.iter().sum::<u64>(), *entries, "{direction:?} {of:?}");
                    }
                    let between = &degrees[next as usize..of.start as usize];
                    assert!(between.iter().all(|degree| *degree == 0));
                    next = of.end;
                }
                let behind = &degrees[next as usize..nodes.end as usize];
                assert!(behind.iter().all(|degree| *degree == 0));
            }
        }
    }
}
