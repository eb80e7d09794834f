//! A hash table from rows of `N` 64-bit numbers to dense numbers in order of first appearance.
//!
//! # How it works
//! ```text
//! slots: [hash, number + 1] by the upper bits of the hash, linear probing    keys: by number
//! ```
//! A batch of keys is looked up in passes over all of it, each of them free of dependences between
//! rows, so that the memory that many rows need is asked for at once: hashes; the first slot of
//! each; the key that this slot names. Only what is not found by then (new keys, keys that were
//! displaced) goes through the slots one row after the other. Rows that repeat the key before them,
//! as sorted input does, are looked up once.
//!
//! Large slots and keys are asked for in huge pages, for slots are visited at random.
//!
//! Slots hold 32 bits of the hash, and a slot's place comes from the same bits: a larger table is
//! filled from the slots alone, in order.
//!
//! Single keys that lie close together, as ids of nodes do, are not hashed: where slots would have
//! to grow and an array by key from the smallest to the largest takes no more memory, keys go *by
//! place*. Keys far from the others bring the slots back, for good.
//!
//! # Invariants
//! * EX-35 At most five of eight slots are taken, so that every search ends.
//! * EX-50 Keys are found by slots or by place: one of both is empty.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use graven_pagecache::huge_pages;

/// Slots of the smallest table, as a power of two.
const BITS_MIN: u32 = 8;
/// Places that are made beside few others.
const SPARE_MIN: u64 = 256;
/// Not known yet.
const OPEN: u32 = u32::MAX;
/// A free slot. Not zero: memory that the system hands out as zeros and that is read before it is
/// written costs two faults a page, the second of which stops all threads.
const FREE: u64 = u64::MAX;
/// What hashes multiply by.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// See the file header.
pub(super) struct NumberTable<const N: usize> {
    slots: Vec<u64>,
    bits: u32,
    /// By key from `first` on its number, or `OPEN`.
    places: Vec<u32>,
    first: u64,
    /// Keys lay too far apart.
    scattered: bool,
    keys: Vec<[u64; N]>,
    seed: u64,
    /// Of the batch at hand.
    tags: Vec<u32>,
    firsts: Vec<u64>,
}

impl<const N: usize> Default for NumberTable<N> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            bits: 0,
            places: Vec::new(),
            first: 0,
            scattered: N != 1,
            keys: Vec::new(),
            seed: RandomState::default().build_hasher().finish(),
            tags: Vec::new(),
            firsts: Vec::new(),
        }
    }
}

/// Both halves of a product.
#[expect(clippy::cast_possible_truncation, reason = "each half is 64 bits")]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Bits of a number in which it differs from others.
#[inline]
pub(super) fn hash_of(seed: u64, number: u64) -> u32 {
    (fold(seed ^ number, FACTOR) >> 32) as u32
}

fn number(n: usize) -> u32 {
    let number = u32::try_from(n).ok().filter(|number| *number < OPEN - 1);
    number.expect("fewer than 2^32 keys")
}

impl<const N: usize> NumberTable<N> {
    /// Distinct keys.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// All keys by their numbers.
    pub(super) fn keys(&self) -> &[[u64; N]] {
        &self.keys
    }

    /// What hashes are made different by.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        let index = self.slots.len() * 8 + self.places.capacity() * 4;
        index + self.keys.capacity() * size_of::<[u64; N]>()
    }

    /// Bytes of the table while and after `rows` more keys are added.
    pub(super) fn bytes_with(&self, rows: usize) -> usize {
        let keys = self.keys.len() + rows;
        let mut bytes = self.bytes();
        // What grows stays until its larger copy is filled; places may have to, whatever their
        // number.
        if keys > self.room() {
            bytes += 8 << bits_for(keys);
        }
        if keys > self.keys.capacity() {
            bytes += keys.max(2 * self.keys.capacity()).max(4) * size_of::<[u64; N]>();
        }
        bytes
    }

    /// Keeps the keys alone: none is looked up or added any more. The memory of the slots is for
    /// another table.
    pub(super) fn end(&mut self) -> Vec<u64> {
        (self.tags, self.firsts, self.places) = (Vec::new(), Vec::new(), Vec::new());
        std::mem::take(&mut self.slots)
    }

    /// Makes sure that so many keys more fit; `slots` is memory for them.
    pub(super) fn expect(&mut self, rows: usize, slots: Vec<u64>) {
        self.keys.reserve(rows);
        if self.slots.is_empty() && self.places.is_empty() && rows > 0 {
            self.bits = bits_for(rows);
            self.slots = slots;
            self.slots.clear();
            self.slots.resize(1 << self.bits, FREE);
        }
    }

    /// Keys that the slots have room for (EX-35).
    fn room(&self) -> usize {
        self.slots.len() / 8 * 5
    }

    /// The number of each key, unknown keys added.
    pub(super) fn insert(&mut self, keys: &[[u64; N]], out: &mut Vec<u32>) {
        out.clear();
        let runs = 1 + keys.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if runs * 2 > keys.len() {
            self.insert_all(keys, out);
            return;
        }
        let firsts: Vec<[u64; N]> = keys.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
        let mut numbers = Vec::with_capacity(firsts.len());
        self.insert_all(&firsts, &mut numbers);
        for (run, number) in keys.chunk_by(|a, b| a == b).zip(numbers) {
            out.resize(out.len() + run.len(), number);
        }
    }

    fn insert_all(&mut self, keys: &[[u64; N]], out: &mut Vec<u32>) {
        self.make_room(keys);
        if !self.places.is_empty() {
            out.extend(keys.iter().map(|key| {
                let place = &mut self.places[at(key[0] - self.first)];
                if *place == OPEN {
                    *place = number(self.keys.len());
                    self.keys.push(*key);
                }
                *place
            }));
            return;
        }
        let (shift, mask) = (32 - self.bits, self.slots.len() - 1);
        let (mut tags, mut firsts) = (
            std::mem::take(&mut self.tags),
            std::mem::take(&mut self.firsts),
        );
        tags.clear();
        tags.extend(keys.iter().map(|key| self.tag(key)));
        firsts.clear();
        let slots = &self.slots[..];
        firsts.extend(tags.iter().map(|tag| slots[(tag >> shift) as usize & mask]));
        let known = firsts.iter().zip(&tags).zip(keys);
        out.extend(known.map(|((slot, tag), key)| {
            let number = (*slot as u32).wrapping_sub(1);
            let found = (slot >> 32) as u32 == *tag
                && self
                    .keys
                    .get(number as usize)
                    .is_some_and(|known| known == key);
            if found { number } else { OPEN }
        }));
        for (row, number) in out.iter_mut().enumerate() {
            if *number == OPEN {
                *number = self.find_or_add(tags[row], &keys[row]);
            }
        }
        (self.tags, self.firsts) = (tags, firsts);
    }

    /// The number of a key; `None` if it is unknown.
    pub(super) fn find(&self, key: &[u64; N]) -> Option<u32> {
        if self.slots.is_empty() {
            let place = self.places.get(at(key[0].wrapping_sub(self.first)));
            return place.copied().filter(|place| *place != OPEN);
        }
        self.search(self.tag(key), key).ok()
    }

    /// The number of a key, or the free slot where its search has ended.
    fn search(&self, tag: u32, key: &[u64; N]) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = (tag >> (32 - self.bits)) as usize;
        loop {
            let slot = self.slots[at];
            if slot == FREE {
                return Err(at);
            }
            let number = (slot as u32).wrapping_sub(1);
            if (slot >> 32) as u32 == tag && self.keys[number as usize] == *key {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    fn find_or_add(&mut self, tag: u32, key: &[u64; N]) -> u32 {
        match self.search(tag, key) {
            Ok(number) => number,
            Err(at) => {
                let next = number(self.keys.len());
                self.slots[at] = u64::from(tag) << 32 | u64::from(next + 1);
                self.keys.push(*key);
                next
            }
        }
    }

    fn tag(&self, key: &[u64; N]) -> u32 {
        const LAST: u64 = 0xd6e8_feb8_6659_fd93;
        let mixed = key
            .iter()
            .fold(self.seed, |hash, part| fold(hash ^ part, FACTOR));
        (fold(mixed ^ FACTOR, LAST) >> 32) as u32
    }

    /// Makes sure that these keys fit.
    fn make_room(&mut self, more: &[[u64; N]]) {
        let keys = self.keys.len() + more.len();
        self.reserve(more.len());
        if !self.places.is_empty() {
            let last = self.first + (self.places.len() - 1) as u64;
            if more.iter().all(|key| (self.first..=last).contains(&key[0])) {
                return;
            }
        } else if keys <= self.room() {
            return;
        }
        let bits = bits_for(keys);
        if !self.scattered && self.go_by_place(more, 2 << bits) {
            return;
        }
        self.scattered |= !self.places.is_empty();
        let by_place = !std::mem::take(&mut self.places).is_empty();
        let old = self.replace_slots(bits);
        if by_place {
            self.put_all();
        }
        for slot in old.into_iter().filter(|slot| *slot != FREE) {
            self.put(slot);
        }
    }

    /// Memory for so many keys more.
    pub(super) fn reserve(&mut self, more: usize) {
        if self.keys.len() + more > self.keys.capacity() {
            self.keys.reserve(more);
            huge_pages::prefer(&self.keys);
        }
    }

    /// Adds a key that is known to be new, without a slot; its number.
    #[inline]
    pub(super) fn push(&mut self, key: [u64; N]) -> u32 {
        let number = number(self.keys.len());
        self.keys.push(key);
        number
    }

    /// Adds keys that are known to be new, without slots.
    pub(super) fn append(&mut self, keys: &[[u64; N]]) {
        self.reserve(keys.len());
        self.keys.extend_from_slice(keys);
    }

    /// Gives slots to keys that have none.
    pub(super) fn make_slots(&mut self) {
        self.replace_slots(bits_for(self.keys.len()));
        self.put_all();
    }

    /// Free slots; what the old ones held.
    fn replace_slots(&mut self, bits: u32) -> Vec<u64> {
        self.bits = bits;
        let mut slots = huge_pages::with_capacity(1 << bits);
        slots.resize(1 << bits, FREE);
        std::mem::replace(&mut self.slots, slots)
    }

    /// Puts all keys into slots.
    fn put_all(&mut self) {
        for (known, next) in (0..self.keys.len()).zip(1_u64..) {
            let tag = self.tag(&self.keys[known]);
            self.put(u64::from(tag) << 32 | next);
        }
    }

    /// Puts what a slot holds into the first free one.
    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = (slot >> (64 - self.bits)) as usize;
        while self.slots[at] != FREE {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Goes by place if that takes no more than `places_max` places for all keys so far and these.
    fn go_by_place(&mut self, more: &[[u64; N]], places_max: u64) -> bool {
        let all = self.keys.iter().chain(more).map(|key| key[0]);
        let (first, last) = all.fold((u64::MAX, 0), |(first, last), key| {
            (first.min(key), last.max(key))
        });
        let span = last.saturating_sub(first);
        if first > last || span >= places_max {
            return false;
        }
        let spare = places_max - 1 - span;
        if !self.places.is_empty() && spare < span / 2 {
            // It would have to grow again and again.
            return false;
        }
        // Some room on both sides: keys that come later seldom lie within those of the beginning.
        let slack = spare.min(span.max(SPARE_MIN)) / 2;
        self.first = first.saturating_sub(slack);
        let places = last.saturating_add(slack) - self.first;
        self.slots = Vec::new();
        self.places = vec![OPEN; at(places.min(places_max - 1)) + 1];
        for (key, number) in self.keys.iter().zip(0..) {
            self.places[at(key[0] - self.first)] = number;
        }
        true
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "targets have 64-bit addresses"
)]
#[inline]
fn at(place: u64) -> usize {
    place as usize
}

/// The size of a table, as a power of two, that has room for so many keys, and for some more.
fn bits_for(keys: usize) -> u32 {
    let slots = (keys * 2).next_power_of_two();
    let bits = slots.ilog2().max(BITS_MIN);
    assert!(bits <= 32, "EX-35: a table of {keys} keys");
    bits
}

#[cfg(test)]
mod tests {
    //! Numbers of keys against a map, over many batches: repeated keys, runs, growth.

    use std::collections::HashMap;

    use graven_types::rng::SplitMix64;

    use super::*;

    fn check<const N: usize>(distinct: u64, run: usize, begin: u64) {
        let mut table = NumberTable::<N>::default();
        let mut model: HashMap<[u64; N], u32> = HashMap::new();
        let mut random = SplitMix64::new(0x1234_5678);
        let mut out = Vec::new();
        for rows in [1, 2, 100, 2048, 2048, 2048, 7, 2048] {
            let mut keys = Vec::new();
            while keys.len() < rows {
                let drawn = random.below(distinct);
                let key =
                    std::array::from_fn(|part| begin.wrapping_add(drawn << (32 * (part % 2))));
                keys.resize((keys.len() + run).min(rows), key);
            }
            let bound = table.bytes_with(rows);
            table.insert(&keys, &mut out);
            assert!(table.bytes() <= bound, "{} of {bound}", table.bytes());
            for (key, number) in keys.iter().zip(&out) {
                let next = u32::try_from(model.len()).unwrap();
                assert_eq!(*model.entry(*key).or_insert(next), *number);
                assert_eq!(table.find(key), Some(*number));
                assert_eq!(table.keys()[*number as usize], *key);
            }
            assert_eq!(table.len(), model.len());
        }
        let largest = [u64::MAX; N];
        assert_eq!(table.find(&largest), model.get(&largest).copied());
    }

    #[test]
    fn numbers_are_dense() {
        for distinct in [1, 5, 1000, 20_000, 1 << 30] {
            for run in [1, 3, 50] {
                for begin in [0, 1 << 40, u64::MAX - 10_000] {
                    check::<1>(distinct, run, begin);
                    check::<2>(distinct, run, begin);
                }
            }
        }
        assert_eq!(NumberTable::<1>::default().find(&[1]), None);
    }

    /// Close keys go by place, also later ones next to them; far ones bring the slots back, and no
    /// number changes.
    #[test]
    fn close_keys_go_by_place() {
        let mut table = NumberTable::<1>::default();
        let (mut out, mut all) = (Vec::new(), Vec::new());
        let mut insert = |table: &mut NumberTable<1>, keys: Vec<u64>| {
            let keys: Vec<[u64; 1]> = keys.into_iter().map(|key| [key]).collect();
            let bound = table.bytes_with(keys.len());
            table.insert(&keys, &mut out);
            assert!(table.bytes() <= bound, "{} of {bound}", table.bytes());
            all.extend(keys);
            for (key, number) in all.iter().zip(0..) {
                assert_eq!(table.find(key), Some(number), "{key:?}");
            }
        };
        insert(&mut table, (5000..7000).rev().collect());
        assert!(!table.places.is_empty() && table.slots.is_empty());
        assert_eq!(table.find(&[1]), None);
        insert(&mut table, (7000..9000).collect());
        insert(&mut table, (3000..5000).rev().collect());
        assert!(!table.places.is_empty());
        insert(&mut table, vec![u64::MAX, 0]);
        assert!(table.places.is_empty() && !table.slots.is_empty());
        insert(&mut table, (20_000..60_000).collect());
        assert!(table.places.is_empty());
        assert_eq!(table.find(&[1]), None);
    }
}
