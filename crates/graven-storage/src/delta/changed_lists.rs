//! A walk over the changed lists of one direction of one type, beside a sweep: which node comes
//! next, and what changed there.
//!
//! # How it works
//! Going up, every map of changes has a place of its own: where its first entry lies of a node that
//! was not asked for yet. Only maps whose place the sweep has passed are looked into, and a block
//! of a spilled map that was decoded serves all nodes in it. So a map costs something for the nodes
//! that it knows, and next to nothing for the others: a large transaction has many spilled layers,
//! each of which knows other nodes. Going down, which searches do now and then, every question is a
//! look-up in each map.
//!
//! # Costs
//! A decoded block of 32 entries for each spilled map.

use super::immutable_delta::DeltaPart;
use super::overlay::{Changes, Edges, put_over};
use super::spilled_run::SealedRange;
use crate::Result;
use crate::adjacency::Sweep;
use crate::delta::change::list_of;
use crate::delta::change::{Change, EdgeKey};
use crate::ids::NodeId;
use std::ops::Bound;

/// The node whose list is changed, ahead of or at the node a sweep visits.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    edges: &'a Edges,
    order: Sweep,
    /// Where it stands in each map, oldest first; going up only.
    places: Vec<Place<'a>>,
    /// `None`: none any more.
    ahead: Option<u64>,
    /// The node visited last.
    last: Option<u64>,
}

/// Where a walk up stands in one map.
#[derive(Debug)]
struct Place<'a> {
    map: &'a DeltaPart<EdgeKey, Change>,
    /// Of a spilled map: from where on its entries were not asked for.
    range: Option<SealedRange<EdgeKey, Change>>,
    ahead: Ahead,
    /// The node whose entries were taken from `range` last.
    taken: Option<u64>,
}

/// The next node that a map knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ahead {
    /// Not looked for.
    Unknown,
    Node(u64),
    Nothing,
}

impl<'a> Place<'a> {
    fn new(map: &'a DeltaPart<EdgeKey, Change>) -> Place<'a> {
        Place {
            map,
            range: None,
            ahead: Ahead::Unknown,
            taken: None,
        }
    }

    /// The first node not below `node` that the map knows; no smaller one is asked for afterwards.
    fn next(&mut self, node: u64) -> Result<Option<u64>> {
        match self.ahead {
            Ahead::Node(ahead) if ahead >= node => return Ok(Some(ahead)),
            Ahead::Nothing => return Ok(None),
            Ahead::Node(_) | Ahead::Unknown => {}
        }
        let first = list_of(node).0;
        let found = match (self.map, &mut self.range) {
            (DeltaPart::Memory(..), _) => self
                .map
                .next(Bound::Included(&first))?
                .map(|(key, _)| key.0),
            (DeltaPart::Spilled(map), range) => {
                let range = match range {
                    Some(range) => {
                        range.seek(&first)?;
                        range
                    }
                    None => range.insert(map.range(Bound::Included(&first))?),
                };
                range.peek()?.map(|(key, _)| key.0)
            }
        };
        self.ahead = found.map_or(Ahead::Nothing, Ahead::Node);
        Ok(found)
    }

    /// Puts what the map says of the list of `node`, for which [`Place::next`] was called, over
    /// `changes`.
    fn take(&mut self, node: u64, changes: &mut Changes) -> Result<()> {
        if self.taken == Some(node) {
            // Its entries lie behind.
            *self = Place::new(self.map);
            self.next(node)?;
        }
        if self.ahead != Ahead::Node(node) {
            return Ok(());
        }
        let Some(range) = &mut self.range else {
            return self
                .map
                .visit(Bound::Included(&list_of(node).0), &mut |key, change| {
                    let of_node = key.0 == node;
                    if of_node {
                        put_over(changes, key, *change);
                    }
                    of_node
                });
        };
        (self.taken, self.ahead) = (Some(node), Ahead::Unknown);
        while let Some((key, change)) = range.peek()?.filter(|(key, _)| key.0 == node) {
            put_over(changes, key, *change);
            range.next();
        }
        Ok(())
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(edges: &'a Edges, order: Sweep) -> Cursor<'a> {
        let maps = edges.maps.iter().filter(|_| order == Sweep::Up);
        Cursor {
            edges,
            order,
            places: maps.map(Place::new).collect(),
            ahead: None,
            last: None,
        }
    }

    /// Whether the list of `node` is changed; cheap for nodes in the order of the sweep.
    #[inline]
    pub(crate) fn at(&mut self, NodeId(node): NodeId) -> Result<bool> {
        let up = self.order == Sweep::Up;
        let known = match (self.last, self.ahead) {
            (None, _) => false,
            (Some(last), ahead) if up => last <= node && ahead.is_none_or(|ahead| ahead >= node),
            (Some(last), ahead) => last >= node && ahead.is_none_or(|ahead| ahead <= node),
        };
        if !known {
            self.ahead = match up {
                true => self.next(node)?,
                false => self.edges.previous(node)?,
            };
        }
        self.last = Some(node);
        Ok(self.ahead == Some(node))
    }

    /// The first node not below `node` whose list is changed; cheap if nodes ascend.
    pub(crate) fn next(&mut self, node: u64) -> Result<Option<u64>> {
        if self.last.is_some_and(|last| last > node) {
            self.places = self.edges.maps.iter().map(Place::new).collect();
        }
        self.last = Some(node);
        let mut first: Option<u64> = None;
        for place in &mut self.places {
            first = first.into_iter().chain(place.next(node)?).min();
        }
        Ok(first)
    }

    /// What changed in the list of `node`, which it is [`Cursor::at`].
    pub(crate) fn list(&mut self, node: u64) -> Result<Changes> {
        if self.order == Sweep::Down {
            return self.edges.list(node);
        }
        let mut changes = Changes::new();
        for place in &mut self.places {
            place.take(node, &mut changes)?;
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::delta_layer::EdgeMap;
    use crate::delta::spilled_run::SealedWriter;
    use graven_pagecache::{Budget, Config, PageCache, SpillFile};
    use graven_types::rng::SplitMix64;
    use std::sync::Arc;

    /// Layers of changes in memory and in pages, some of nodes apart, some of the same ones.
    fn layers(random: &mut SplitMix64, spill: &SpillFile) -> Edges {
        let mut maps = Vec::new();
        for _ in 0..random.below(6) {
            let (first, span) = (random.below(3000), 1 + random.below(3000));
            let mut map = EdgeMap::default();
            for _ in 0..random.below(2000) {
                let node = first + random.below(span) / 7 * 7;
                let change = match random.below(4) {
                    0 => Change::Removed,
                    _ => Change::Added,
                };
                map.insert((node, random.below(5), random.below(9)), change);
            }
            if random.once_in(3) {
                maps.push(DeltaPart::Memory(map, None));
                continue;
            }
            let pages = spill.owner();
            let mut writer = SealedWriter::new(&pages);
            for (key, change) in map.iter() {
                writer.push(key, change).expect("written");
            }
            maps.push(DeltaPart::Spilled(Arc::new(
                writer.finish().expect("written"),
            )));
        }
        Edges { maps }
    }

    /// A walk says what looking up each node says, however nodes follow each other.
    #[test]
    fn walks_agree_with_look_ups() {
        let cache = PageCache::new(Config::new(Budget::new(16 << 20))).expect("a cache");
        // The cache has room for all of it, so that no file is made.
        let spill = SpillFile::at(&cache, "walks-tmp", u64::MAX).expect("a file");
        let mut random = SplitMix64::new(7);
        let (mut changed, mut nodes) = (0, 0);
        for round in 0..60 {
            let edges = layers(&mut random, &spill);
            let order = [Sweep::Up, Sweep::Up, Sweep::Down][round % 3];
            let mut cursor = Cursor::new(&edges, order);
            let step = 1 + random.below(40);
            let mut node = if order == Sweep::Up { 0 } else { 6500 };
            for _ in 0..1500 {
                let expected = edges.list(node).expect("read");
                let at = cursor.at(NodeId(node)).expect("read");
                assert_eq!(
                    at,
                    edges.next(node).expect("read") == Some(node),
                    "node {node}"
                );
                if at {
                    assert_eq!(cursor.list(node).expect("read"), expected, "node {node}");
                    changed += 1;
                }
                nodes += 1;
                // Some twice, and some out of order.
                let jump = random.below(step);
                let back = random.once_in(50);
                node = match (order == Sweep::Up) != back {
                    true => node + jump,
                    false => node.saturating_sub(jump),
                };
            }
        }
        assert!(
            changed > 1000 && changed < nodes / 2,
            "{changed} of {nodes}"
        );
    }
}
