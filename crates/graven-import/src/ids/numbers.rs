//! A hash table from numbers of a table to node ordinals.
//!
//! # How it works
//! Slots of number and ordinal lie one after the other; a number stands in the first free slot from
//! its own on, so a look-up mostly reads one line of the cache. Many look-ups go in two passes
//! ([`Numbers::first`], then [`Numbers::found`]): the first decides nothing, so the processor asks
//! for the memory of many at once; how far a search goes it would guess, often wrong. The slots are
//! asked for in huge pages. They grow by half, so that few of them are free.
//!
//! # Invariants
//! - IM-5 At most [`TAKEN`] eighths of the slots are taken, so that every search ends.
//!
//! # Costs
//! 18 to 28 bytes a number, and the old slots while they grow.

use graven_pagecache::huge_pages;

/// A slot with this ordinal is free.
const FREE: u32 = u32::MAX;
/// Slots of the smallest table.
const SLOTS_MIN: usize = 64;
/// Eighths of the slots that may be taken.
const TAKEN: usize = 7;

/// A number and its ordinal, or a free slot: its number is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    number: i64,
    ordinal: u32,
}

/// See the file header.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    slots: Vec<Slot>,
    len: usize,
}

/// The slot of a number, of so many.
///
/// Each number of slots has a hash of its own: numbers that come in the order of the slots of
/// another table, as when this one grows, would all go to its first slots.
fn home(number: i64, slots: usize) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    const LAST: u64 = 0xd6e8_feb8_6659_fd93;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    };
    let seed = LAST.wrapping_mul(2 * slots as u64 + 1);
    let hash = fold(fold(number as u64 ^ LAST, FACTOR) ^ seed, LAST);
    // The upper half of a product spreads the hash over any number of slots.
    ((u128::from(hash) * slots as u128) >> 64) as usize
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the slots while and after one number more is added.
    pub(super) fn bytes_with_one_more(&self) -> u64 {
        let grown = if self.is_full() { self.grown() } else { 0 };
        ((self.slots.len() + grown) * size_of::<Slot>()) as u64
    }

    /// The slot where the search of a number begins.
    pub(super) fn first(&self, number: i64) -> Slot {
        let free = Slot {
            number: 0,
            ordinal: FREE,
        };
        let slot = self.slots.get(home(number, self.slots.len()));
        slot.copied().unwrap_or(free)
    }

    /// The ordinal of a number, of which the first slot is known.
    pub(super) fn found(&self, first: Slot, number: i64) -> Option<u32> {
        match first {
            Slot { ordinal: FREE, .. } => None,
            slot if slot.number == number => Some(slot.ordinal),
            _ => self.get(number),
        }
    }

    /// The ordinal of a number.
    pub(super) fn get(&self, number: i64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = &self.slots[self.search(number)];
        (slot.ordinal != FREE).then_some(slot.ordinal)
    }

    /// Adds a number; false if it is there already.
    pub(super) fn insert(&mut self, number: i64, ordinal: u32) -> bool {
        if self.is_full() {
            self.grow();
        }
        let at = self.search(number);
        if self.slots[at].ordinal != FREE {
            return false;
        }
        self.slots[at] = Slot { number, ordinal };
        self.len += 1;
        true
    }

    /// All numbers with their ordinals, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, u32)> {
        let taken = self.slots.iter().filter(|slot| slot.ordinal != FREE);
        taken.map(|slot| (slot.number, slot.ordinal))
    }

    fn is_full(&self) -> bool {
        self.len >= self.slots.len() / 8 * TAKEN
    }

    /// Slots of the next larger table.
    fn grown(&self) -> usize {
        (self.slots.len() / 2 * 3)
            .next_multiple_of(8)
            .max(SLOTS_MIN)
    }

    /// Where the number is, or the free slot where its search has ended.
    fn search(&self, number: i64) -> usize {
        let mut at = home(number, self.slots.len());
        loop {
            let slot = &self.slots[at];
            if slot.number == number || slot.ordinal == FREE {
                return at;
            }
            at = if at + 1 == self.slots.len() {
                0
            } else {
                at + 1
            };
        }
    }

    fn grow(&mut self) {
        let count = self.grown();
        let mut slots = huge_pages::with_capacity(count);
        let free = Slot {
            number: 0,
            ordinal: FREE,
        };
        slots.resize(count, free);
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old.into_iter().filter(|slot| slot.ordinal != FREE) {
            let at = self.search(slot.number);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::rng::SplitMix64;
    use std::collections::HashMap;

    /// Goal: numbers in the order of another table's slots do not crowd. Method: those of a large
    /// table go to fresh ones, in parts, and the slots that searches read are counted.
    #[test]
    fn the_order_of_another_table_does_no_harm() {
        let mut all = Numbers::default();
        (0..200_000).for_each(|number| assert!(all.insert(number, number as u32)));
        for parts in [1, 4] {
            let mut part = Numbers::default();
            let mut steps = 0;
            for (number, ordinal) in all.iter().filter(|(number, _)| number % parts == 0) {
                part.insert(number, ordinal);
                let slots = part.slots.len();
                steps += (part.search(number) + slots - home(number, slots)) % slots;
            }
            let mean = steps / part.len();
            assert!(mean < 20, "{mean} slots for each of {}", part.len());
        }
    }

    /// Goal: numbers of every kind are found, none that was not added is, and none is added twice.
    #[test]
    fn numbers_are_found_as_in_a_map() {
        let mut random = SplitMix64::new(5);
        for bits in [3, 10, 30, 64] {
            let (mut numbers, mut map) = (Numbers::default(), HashMap::new());
            assert_eq!(numbers.found(numbers.first(0), 0), None);
            for ordinal in 0..5000 {
                let number = (random.bits() >> (64 - bits)) as i64;
                let is_new = !map.contains_key(&number);
                assert_eq!(numbers.insert(number, ordinal), is_new, "{number}");
                map.entry(number).or_insert(ordinal);
                let other = (random.bits() >> (64 - bits)) as i64;
                let known = map.get(&other).copied();
                assert_eq!(numbers.get(other), known, "{other}");
                assert_eq!(numbers.found(numbers.first(other), other), known, "{other}");
            }
            assert_eq!(numbers.len(), map.len());
            assert_eq!(numbers.iter().collect::<HashMap<_, _>>(), map);
        }
    }
}
