//! Layers whose lists of neighbours are made at the end: what recovery reads.
//!
//! # How it works
//! Entering every relationship into two ordered maps by itself is most of what reading a log of relationships costs. So
//! they are only kept by their ids, which ascend; when the layer is complete, its lists are sorted at once and
//! entered in order, or written to temporary pages without ever being a map ([`super::lower`]).
//!
//! # Costs
//! An entry is packed into one integer: node, neighbour, relationship. That is 8 bytes, or 16 in large graphs, for each
//! direction, and as many for the one that is being sorted. Sorting is a few passes over them, by the digits of the ends alone, for relationships come by their ids.

use super::layer::{Change, EdgeKey, Layer, RelationshipChange, counted, slot_bytes};
use crate::ids::{Direction, RelId, TypeId};
use std::collections::BTreeMap;

/// A relationship and its entries in the lists that are being made, one of them twice while it is sorted.
const UNLISTED_BYTES: u64 =
    slot_bytes(size_of::<RelationshipChange>()) + 3 * size_of::<u128>() as u64;

/// Fewer entries than this are sorted by comparing them.
const RADIX_MIN: usize = 1024;
/// Bits of a digit.
const DIGIT: u32 = 11;

/// Where the parts of an entry lie in one integer: node, neighbour, relationship, and whether it comes.
#[derive(Clone, Copy, Debug)]
struct Packing {
    node_bits: u32,
    id_bits: u32,
    /// Ids are told from here on.
    first: u64,
}

impl Packing {
    /// One that every relationship of `layer` fits, and how many there are of each type.
    fn of(layer: &Layer) -> (Packing, BTreeMap<TypeId, usize>) {
        let (mut nodes, mut first, mut last) = (0, None, 0);
        let mut counts = BTreeMap::new();
        let mut run = (TypeId(0), 0);
        for (id, it) in layer.relationships.iter() {
            nodes |= it.start.0 | it.end.0;
            first.get_or_insert(id);
            last = id;
            if it.rel_type != run.0 {
                *counts.entry(run.0).or_default() += run.1;
                run = (it.rel_type, 0);
            }
            run.1 += 1;
        }
        *counts.entry(run.0).or_default() += run.1;
        counts.retain(|_, count| *count > 0);
        let first = first.unwrap_or(0);
        let packing = Packing {
            node_bits: u64::BITS - nodes.leading_zeros(),
            id_bits: u64::BITS - (last - first).leading_zeros(),
            first,
        };
        (packing, counts)
    }

    /// Bits behind those of the ends.
    fn low_bits(&self) -> u32 {
        self.id_bits + 1
    }

    fn bits(&self) -> u32 {
        2 * self.node_bits + self.low_bits()
    }
}

/// An entry of a list in one integer, or as it is.
trait Packed: Ord + Copy {
    fn pack(packing: Packing, key: EdgeKey, change: Change) -> Self;
    fn unpack(self, packing: Packing) -> (EdgeKey, Change);
    fn digit(self, shift: u32) -> usize;
}

macro_rules! packed {
    ($integer:ty) => {
        impl Packed for $integer {
            fn pack(packing: Packing, key: EdgeKey, change: Change) -> $integer {
                let ends = <$integer>::from(key.0) << packing.node_bits | <$integer>::from(key.1);
                let id = <$integer>::from(key.2 - packing.first);
                let added = <$integer>::from(change == Change::Added);
                (ends << packing.id_bits | id) << 1 | added
            }

            fn unpack(self, packing: Packing) -> (EdgeKey, Change) {
                let low = |value: $integer, bits: u32| (value & ((1 << bits) - 1)) as u64;
                let id = packing.first + low(self >> 1, packing.id_bits);
                let ends = self >> packing.low_bits();
                let node = low(ends >> packing.node_bits, packing.node_bits);
                let key = (node, low(ends, packing.node_bits), id);
                match self & 1 {
                    0 => (key, Change::Removed),
                    _ => (key, Change::Added),
                }
            }

            fn digit(self, shift: u32) -> usize {
                (self >> shift) as usize & ((1 << DIGIT) - 1)
            }
        }
    };
}

packed!(u64);
packed!(u128);

/// Sorts by the bits from `low` to `high`; those that agree in them stay as they come.
fn sort<P: Packed>(entries: &mut Vec<P>, low: u32, high: u32) {
    if entries.len() < RADIX_MIN {
        // Ids ascend, so the bits below say nothing else.
        entries.sort_unstable();
        return;
    }
    let mut sorted = entries.clone();
    for shift in (low..high).step_by(DIGIT as usize) {
        let mut places = [0usize; 1 << DIGIT];
        entries
            .iter()
            .for_each(|entry| places[entry.digit(shift)] += 1);
        if places.contains(&entries.len()) {
            continue;
        }
        let mut behind = 0;
        for place in &mut places {
            behind += std::mem::replace(place, behind);
        }
        for entry in entries.iter() {
            let place = &mut places[entry.digit(shift)];
            sorted[*place] = *entry;
            *place += 1;
        }
        std::mem::swap(entries, &mut sorted);
    }
}

/// Entries of the lists of one direction and type.
enum Entries {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
    /// Ids beyond what 128 bits hold.
    Plain(Vec<(EdgeKey, Change)>),
}

/// The lists of one direction and type, ascending.
pub(crate) struct List {
    packing: Packing,
    entries: Entries,
}

impl List {
    fn new(packing: Packing, count: usize) -> List {
        let entries = match packing.bits() {
            0..=64 => Entries::Narrow(Vec::with_capacity(count)),
            65..=128 => Entries::Wide(Vec::with_capacity(count)),
            _ => Entries::Plain(Vec::with_capacity(count)),
        };
        List { packing, entries }
    }

    fn push(&mut self, key: EdgeKey, change: Change) {
        match &mut self.entries {
            Entries::Narrow(entries) => entries.push(u64::pack(self.packing, key, change)),
            Entries::Wide(entries) => entries.push(u128::pack(self.packing, key, change)),
            Entries::Plain(entries) => entries.push((key, change)),
        }
    }

    fn sort(&mut self) {
        let (low, high) = (self.packing.low_bits(), self.packing.bits());
        match &mut self.entries {
            Entries::Narrow(entries) => sort(entries, low, high),
            Entries::Wide(entries) => sort(entries, low, high),
            Entries::Plain(entries) => entries.sort_unstable_by_key(|(key, _)| *key),
        }
    }

    /// All entries, ascending; sorted only now.
    pub(crate) fn into_entries(mut self) -> Box<dyn Iterator<Item = (EdgeKey, Change)> + Send> {
        self.sort();
        let packing = self.packing;
        match self.entries {
            Entries::Narrow(it) => Box::new(it.into_iter().map(move |e| e.unpack(packing))),
            Entries::Wide(it) => Box::new(it.into_iter().map(move |e| e.unpack(packing))),
            Entries::Plain(it) => Box::new(it.into_iter()),
        }
    }
}

impl Layer {
    /// Whether its lists are still to be made.
    pub(crate) fn is_unlisted(&self) -> bool {
        self.adjacency.is_empty() && !self.relationships.is_empty()
    }

    /// Enters relationships that `give` hands over, best by ascending ids, without their lists.
    pub(crate) fn put_unlisted<T>(
        &mut self,
        give: impl FnOnce(&mut dyn FnMut(RelId, RelationshipChange)) -> T,
    ) -> T {
        debug_assert!(self.adjacency.is_empty(), "lists are made at the end");
        let (mut more, mut undone) = (0, Vec::new());
        let given = counted(&mut self.relationships, &mut self.bytes, |relationships| {
            let mut filler = relationships.filler();
            give(&mut |id, change| match filler.put(id.0, change) {
                None => more += UNLISTED_BYTES,
                // Ids are never used again, so what is here already was added here and goes now (TX-4).
                Some(_) => undone.push(id.0),
            })
        });
        self.bytes += more;
        for id in undone {
            let gone = counted(&mut self.relationships, &mut self.bytes, |relationships| {
                relationships.remove(id)
            });
            if gone.is_some() {
                self.bytes = self.bytes.saturating_sub(UNLISTED_BYTES);
            }
        }
        given
    }

    /// The lists of both directions (TX-1), per type.
    pub(crate) fn lists(&self) -> Vec<((TypeId, Direction), List)> {
        let (packing, counts) = Packing::of(self);
        let new = |(rel_type, count)| {
            let [out, into] = [(); 2].map(|()| List::new(packing, count));
            (rel_type, out, into)
        };
        let mut lists: Vec<(TypeId, List, List)> = counts.into_iter().map(new).collect();
        let mut at = 0;
        for (id, it) in self.relationships.iter() {
            if lists[at].0 != it.rel_type {
                at = lists.partition_point(|(rel_type, ..)| *rel_type < it.rel_type);
            }
            let (_, out, into) = &mut lists[at];
            out.push((it.start.0, it.end.0, id), it.change);
            into.push((it.end.0, it.start.0, id), it.change);
        }
        let both = lists.into_iter().flat_map(|(rel_type, out, into)| {
            let ways = [(Direction::Out, out), (Direction::In, into)];
            ways.map(|(direction, list)| ((rel_type, direction), list))
        });
        both.collect()
    }

    /// Makes the lists (TX-1).
    pub(crate) fn enter_lists(&mut self) {
        if !self.is_unlisted() {
            return;
        }
        for (of, list) in self.lists() {
            self.adjacency.insert(of, list.into_entries().collect());
        }
        let count = self.relationships.len() as u64;
        self.bytes += count * (super::layer::RELATIONSHIP_BYTES - UNLISTED_BYTES);
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a layer whose lists are made at the end is the one that gets every relationship by itself, also where some
    //! are added and go again.

    use super::*;
    use crate::ids::NodeId;

    /// Every packing gives back what it got, in its order.
    #[test]
    fn entries_of_any_size_are_sorted() {
        for (shift, id_shift) in [(0, 0), (20, 3), (40, 20), (62, 61)] {
            let mut layer = Layer::default();
            let mut seed = 5u64;
            let mut wanted = Vec::new();
            layer.put_unlisted(|put| {
                for at in 0..5000u64 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let id = 9 + (at << id_shift);
                    if id >> id_shift != at + (9 >> id_shift) {
                        break;
                    }
                    let it = RelationshipChange {
                        rel_type: TypeId(1),
                        start: NodeId((seed >> 50) << shift >> (shift / 8)),
                        end: NodeId((seed >> 30 & 63) << shift >> (shift / 8)),
                        change: if at % 3 == 0 {
                            Change::Removed
                        } else {
                            Change::Added
                        },
                    };
                    wanted.push(((it.end.0, it.start.0, id), it.change));
                    put(RelId(id), it);
                }
            });
            wanted.sort_by_key(|(key, _)| *key);
            let into = layer.lists().remove(1);
            assert_eq!(into.0, (TypeId(1), Direction::In));
            let list = into.1;
            assert_eq!(list.into_entries().collect::<Vec<_>>(), wanted);
        }
    }

    #[test]
    fn lists_made_at_the_end_are_those_made_one_by_one() {
        let (mut one_by_one, mut at_the_end) = (Layer::default(), Layer::default());
        let mut seed = 11u64;
        for round in 0..60u64 {
            let mut given = Vec::new();
            for step in 0..round * 3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let relationship = RelationshipChange {
                    rel_type: TypeId((seed >> 60) as u32 % 3),
                    start: NodeId(seed >> 40 & 8191),
                    end: NodeId(seed >> 50 & 31),
                    change: match round % 7 {
                        0 => Change::Removed,
                        _ => Change::Added,
                    },
                };
                given.push((RelId(round * 1000 + step), relationship));
            }
            // Some of what came before goes again.
            let known: Vec<u64> = one_by_one.relationships.ids().step_by(13).collect();
            if round % 5 == 4 {
                given.splice(
                    0..0,
                    known.into_iter().map(|id| {
                        let before = *one_by_one.relationships.get(id).expect("known");
                        (RelId(id), before)
                    }),
                );
            }
            for (id, change) in &given {
                one_by_one.put_relationship(*id, *change);
            }
            at_the_end.put_unlisted(|put| given.iter().for_each(|(id, change)| put(*id, *change)));
        }
        assert!(at_the_end.is_unlisted());
        at_the_end.enter_lists();
        assert!(!at_the_end.is_unlisted());
        let by_id = |layer: &Layer| -> Vec<(u64, RelationshipChange)> {
            layer
                .relationships
                .iter()
                .map(|(id, it)| (id, *it))
                .collect()
        };
        assert_eq!(by_id(&one_by_one), by_id(&at_the_end));
        assert_eq!(one_by_one.adjacency, at_the_end.adjacency);
        assert_eq!(one_by_one.bytes(), at_the_end.bytes());
    }
}
