//! What a layer has entries about: a filter that says "no" for nearly everything else.
//!
//! # How it works
//! A reader of a few entities asks the layers above the file for each of them, and hears nothing
//! nearly always; every look is a descent through a tree of keys. The filter says so with one look
//! at a word: a Bloom filter whose three bits for an entry lie in one word. It is made longer as
//! entries come, by another level eight times as long: later entries go there, and a question looks
//! at each level.
//!
//! Unlike the maps of a layer it is shared by all states of it, one after the other: bits are only
//! ever set. An older state hears "maybe" about what only a newer one has.
//!
//! # Invariants
//! * TX-24: "no" is right for every state of the layer that a reader sees: bits are set before a
//!   state with the entries can be seen.
//!
//! # Concurrency
//! Writers, under the commit lock, set bits with atomic operations; the lock that a version is
//! published under makes readers of the version see them.
//!
//! # Costs
//! Ten bits an entity or key at least, as long as there are levels (4 KiB to 2 MiB), charged to the
//! budget; of a hundred questions about what is not there two to six hear "maybe". A hash for each
//! entry and each question.

use crate::delta::filter_key::FilterHash;
use graven_pagecache::{Budget, Reservation};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Words of the first level, a power of two.
const FIRST_WORDS: usize = 512;
/// How much longer the next one is, as a power of two.
const GROWTH_BITS: u32 = 3;
const LEVELS: usize = 4;
/// Entries after which the next level begins.
const ENTRIES_A_WORD: u64 = 6;

/// See the file header.
#[derive(Debug)]
pub(crate) struct EntryFilter {
    levels: [OnceLock<Box<[AtomicU64]>>; LEVELS],
    /// Entries of all levels, about.
    entries: AtomicU64,
    reservation: Mutex<Reservation>,
}

/// Words of a level.
const fn words_of(level: usize) -> usize {
    FIRST_WORDS << (GROWTH_BITS * level as u32)
}

/// The word and its bits that stand for a hash.
fn place(hash: u64, words: usize) -> (usize, u64) {
    let bits = 1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63);
    ((hash >> 32) as usize & (words - 1), bits)
}

impl EntryFilter {
    /// One that knows of nothing.
    pub(crate) fn new(budget: &Arc<Budget>) -> EntryFilter {
        EntryFilter {
            levels: Default::default(),
            entries: AtomicU64::new(0),
            reservation: Mutex::new(budget.empty_reservation("committed changes")),
        }
    }

    /// Whether there may be entries about this.
    #[inline]
    pub(crate) fn may_have(&self, about: impl Into<FilterHash>) -> bool {
        let FilterHash(hash) = about.into();
        let mut levels = self.levels.iter().map_while(OnceLock::get);
        levels.any(|words| {
            let (word, bits) = place(hash, words.len());
            words[word].load(Relaxed) & bits == bits
        })
    }

    /// Adds that there are entries about this.
    pub(super) fn add(&self, asked: FilterHash) {
        // Also where it says "maybe" for another reason: it will say so for ever.
        if self.may_have(asked) {
            return;
        }
        let FilterHash(hash) = asked;
        let known = self.entries.fetch_add(1, Relaxed);
        let mut room = 0;
        let level = (0..LEVELS - 1).find(|level| {
            room += words_of(*level) as u64 * ENTRIES_A_WORD;
            known < room
        });
        let words = self.level(level.unwrap_or(LEVELS - 1));
        let (word, bits) = place(hash, words.len());
        words[word].fetch_or(bits, Relaxed);
    }

    fn level(&self, level: usize) -> &[AtomicU64] {
        self.levels[level].get_or_init(|| {
            let words = words_of(level);
            self.reservation.lock().force_grow(words as u64 * 8);
            (0..words).map(|_| AtomicU64::new(0)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    //! Goal: what was added may be there (TX-24) at every length, and nearly nothing else.

    use super::*;
    use crate::delta::change::ColumnOf;
    use crate::delta::delta_layer::DeltaLayer;
    use crate::delta::filter_key::FilterKey;
    use crate::ids::KeyId;
    use graven_types::PropertyValue;
    use graven_types::rng::SplitMix64;

    #[test]
    fn what_was_added_may_be_there_and_little_else() {
        let budget = Budget::new(64 << 20);
        let filter = EntryFilter::new(&budget);
        let mut random = SplitMix64::new(5);
        let mut added = Vec::new();
        assert!(!filter.may_have(FilterKey::Node(1)));
        for entries in [100, 4_000, 30_000, 200_000] {
            while added.len() < entries {
                let mut layer = DeltaLayer::default();
                // Neighbours and others.
                let from = random.below(1 << 40);
                for id in from..from + 10 {
                    let of = ColumnOf::Node(KeyId(0));
                    layer.put_value(of, id, PropertyValue::Integer(1));
                    added.push(id);
                }
                layer.add_to(&filter);
            }
            let known = |id: &u64| filter.may_have(FilterKey::Node(*id));
            assert!(added.iter().all(known), "at {entries}");
            let others: Vec<u64> = (0..20_000).map(|at| (1 << 50) + at).collect();
            let wrong = others.iter().filter(|id| known(id)).count();
            assert!(wrong < 20_000 / 15, "{wrong} of 20000 at {entries}");
            let wrong = (others.iter()).filter(|id| filter.may_have(FilterKey::Relationship(**id)));
            assert!(wrong.count() < 20_000 / 15, "at {entries}");
        }
        assert!(
            budget.used() > 200_000,
            "{} bytes are charged",
            budget.used()
        );
        drop(filter);
        assert_eq!(budget.used(), 0);
    }
}
