//! The lists of neighbours that many relationships make.
//!
//! # How it works
//! Entering every relationship into two ordered maps by itself is most of what reading a log of
//! relationships costs. So they are only kept in the order of their ids; when a batch is complete,
//! its lists are sorted at once and entered in order, or written to temporary pages without ever
//! being a map ([`super::spilled_batch`]).
//!
//! # Costs
//! An entry is packed into one integer: node, neighbour, relationship. That is 8 bytes, or 16 in
//! large graphs, for each direction, and as many for the one that is being sorted. Sorting is a few
//! passes over them, by the digits of the ends alone, for relationships come by their ids.

use super::relationship_block::Relationships;
use crate::delta::change::{Change, EdgeKey};
use crate::ids::{Direction, TypeId};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The bytes that the entries of a relationship take where they are packed into so many bits, each
/// of them twice while it is sorted.
const fn entries_bytes(bits: u32) -> u64 {
    4 * match bits {
        0..=64 => size_of::<u64>() as u64,
        65..=128 => size_of::<u128>() as u64,
        _ => size_of::<(EdgeKey, Change)>() as u64,
    }
}

/// Fewer entries than this are sorted by comparing them.
const RADIX_MIN: usize = 1024;
/// Bits of a digit.
const DIGIT: u32 = 11;

/// Where the parts of an entry lie in one integer: node, neighbour, relationship, and whether it
/// comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    node_bits: u32,
    id_bits: u32,
    /// Ids are told from here on.
    first: u64,
}

impl Packing {
    /// How entries of the lists of these are packed; `None` where there are none.
    pub(super) fn of(relationships: &Relationships) -> Option<Packing> {
        let it = relationships;
        (it.len > 0).then(|| Packing::new(it.nodes, it.first, it.last))
    }

    /// For relationships with these ids; `nodes` has the bits of all ends.
    pub(super) fn new(nodes: u64, first: u64, last: u64) -> Packing {
        Packing {
            node_bits: u64::BITS - nodes.leading_zeros(),
            id_bits: u64::BITS - (last - first).leading_zeros(),
            first,
        }
    }

    /// What making the lists takes for each relationship.
    pub(super) fn entries_bytes(&self) -> u64 {
        entries_bytes(self.bits())
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

    /// Sorts by the bits from `low` on.
    fn sort(&mut self, low: u32) {
        let high = self.packing.bits();
        match &mut self.entries {
            Entries::Narrow(entries) => sort(entries, low, high),
            Entries::Wide(entries) => sort(entries, low, high),
            Entries::Plain(entries) => entries.sort_unstable_by_key(|(key, _)| *key),
        }
    }

    /// Hands over all entries, ascending; sorted only now.
    pub(crate) fn visit<E>(
        mut self,
        visit: impl FnMut(EdgeKey, Change) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort(self.packing.low_bits());
        self.visit_as_they_lie(visit)
    }

    fn visit_as_they_lie<E>(
        self,
        mut visit: impl FnMut(EdgeKey, Change) -> Result<(), E>,
    ) -> Result<(), E> {
        let packing = self.packing;
        let mut visit = |(key, change)| visit(key, change);
        match self.entries {
            Entries::Narrow(it) => it.into_iter().try_for_each(|e| visit(e.unpack(packing))),
            Entries::Wide(it) => it.into_iter().try_for_each(|e| visit(e.unpack(packing))),
            Entries::Plain(it) => it.into_iter().try_for_each(visit),
        }
    }
}

/// Puts entries in order, by digits if they are many and can be packed; of equal keys the one that
/// came later stays behind the other.
pub(super) fn sort_edges(entries: &mut Vec<(EdgeKey, Change)>) {
    let (mut nodes, mut first, mut last) = (0, u64::MAX, 0);
    let mut ids_ascend = true;
    for ((node, other, id), _) in entries.iter() {
        nodes |= node | other;
        ids_ascend &= *id >= last;
        (first, last) = (first.min(*id), last.max(*id));
    }
    let many = entries.len() >= RADIX_MIN;
    let packing = many.then(|| Packing::new(nodes, first, last));
    let Some(packing) = packing.filter(|it| it.bits() <= u128::BITS) else {
        entries.sort_by_key(|(key, _)| *key);
        return;
    };
    let mut list = List::new(packing, entries.len());
    entries
        .drain(..)
        .for_each(|(key, change)| list.push(key, change));
    // The lowest bit is the change, which is no part of the key.
    list.sort(if ids_ascend { packing.low_bits() } else { 1 });
    let visited = list.visit_as_they_lie(|key, change| {
        entries.push((key, change));
        Ok::<(), Infallible>(())
    });
    let Ok(()) = visited;
}

/// The lists of relationships in both directions, still to be made.
#[derive(Debug)]
pub(crate) struct UnsortedAdjacency<'a> {
    relationships: &'a Relationships,
    packing: Packing,
    /// Relationships of each type.
    counts: BTreeMap<TypeId, usize>,
}

impl<'a> UnsortedAdjacency<'a> {
    /// `None` if there are no relationships.
    pub(crate) fn of(relationships: &'a Relationships) -> Option<UnsortedAdjacency<'a>> {
        let packing = Packing::of(relationships)?;
        let (mut counts, mut run) = (BTreeMap::new(), (TypeId(0), 0));
        relationships.for_each(|(_, it)| {
            if it.rel_type != run.0 {
                *counts.entry(run.0).or_default() += run.1;
                run = (it.rel_type, 0);
            }
            run.1 += 1;
        });
        *counts.entry(run.0).or_default() += run.1;
        counts.retain(|_, count| *count > 0);
        Some(UnsortedAdjacency {
            relationships,
            packing,
            counts,
        })
    }

    /// The lists of one direction, per type. Those of the other have the ends exchanged (TX-1).
    pub(crate) fn lists(&self, direction: Direction) -> Vec<(TypeId, List)> {
        let counts = self.counts.iter();
        let new =
            |(rel_type, count): (&TypeId, &usize)| (*rel_type, List::new(self.packing, *count));
        let mut lists: Vec<(TypeId, List)> = counts.map(new).collect();
        let mut at = 0;
        self.relationships.for_each(|(id, it)| {
            if lists[at].0 != it.rel_type {
                at = lists.partition_point(|(rel_type, _)| *rel_type < it.rel_type);
            }
            let (node, other) = match direction {
                Direction::Out => (it.start.0, it.end.0),
                Direction::In => (it.end.0, it.start.0),
            };
            lists[at].1.push((node, other, *id), it.change);
        });
        lists
    }
}

#[cfg(test)]
mod tests {
    //! Goal: lists come out in their order, whatever their entries are packed into. That they are
    //! the right ones: [`super::super::batch`].

    use super::*;
    use crate::delta::batch::Batch;
    use crate::delta::change::RelationshipChange;
    use crate::ids::{NodeId, RelId};
    use graven_types::rng::SplitMix64;

    /// Every packing gives back what it got, in its order.
    #[test]
    fn entries_of_any_size_are_sorted() {
        for (shift, id_shift) in [(0, 0), (20, 3), (40, 20), (62, 61)] {
            let mut batch = Batch::default();
            let mut random = SplitMix64::new(5);
            let mut wanted = Vec::new();
            for at in 0..5000u64 {
                let id = 9 + (at << id_shift);
                if id >> id_shift != at + (9 >> id_shift) {
                    break;
                }
                let it = RelationshipChange {
                    rel_type: TypeId(1),
                    start: NodeId(random.below(1 << 14) << shift >> (shift / 8)),
                    end: NodeId(random.below(64) << shift >> (shift / 8)),
                    change: if at % 3 == 0 {
                        Change::Removed
                    } else {
                        Change::Added
                    },
                };
                wanted.push(((it.end.0, it.start.0, id), it.change));
                batch.put_relationship(RelId(id), it);
            }
            let whole = batch.finish();
            wanted.sort_by_key(|(key, _)| *key);
            let (rel_type, list) = UnsortedAdjacency::of(&whole.relationships)
                .unwrap()
                .lists(Direction::In)
                .remove(0);
            assert_eq!(rel_type, TypeId(1));
            let mut entries = Vec::new();
            let Ok(()) = list.visit(|key, change| {
                entries.push((key, change));
                Ok::<(), Infallible>(())
            });
            assert_eq!(entries, wanted);
        }
    }

    /// Entries in any order, some keys twice: the order is that of keys, then that of coming.
    #[test]
    fn entries_that_come_in_any_order_are_sorted() {
        for (count, shift, ascending) in [
            (40, 0, false),
            (5000, 0, true),
            (5000, 0, false),
            (5000, 30, false),
            (5000, 50, false),
        ] {
            let mut random = SplitMix64::new(count ^ shift);
            let mut entries: Vec<(EdgeKey, Change)> = (0..count)
                .map(|at| {
                    let id = if ascending { at } else { random.below(3) };
                    let ends = (random.below(40) << shift, random.below(30) << shift);
                    let change = match random.below(2) {
                        0 => Change::Added,
                        _ => Change::Removed,
                    };
                    ((ends.0, ends.1, id << shift), change)
                })
                .collect();
            let mut wanted = entries.clone();
            wanted.sort_by_key(|(key, _)| *key);
            sort_edges(&mut entries);
            assert_eq!(entries, wanted, "{count} {shift} {ascending}");
        }
    }
}
