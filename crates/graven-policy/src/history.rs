//! History: Neo4j's clock whose recently evicted pages return with a boosted count.
//!
//! # How it works
//! The clock of `neo4j` (newcomers at 1, evict at 1 or 0, counts up to `max`). Evicted pages are
//! remembered; one that faults again is forgotten there and starts at 7. The memory holds `size`
//! percent of the cache's pages (as many by default), in one of three forms:
//! * `exact` - a queue of ids with an index; the oldest id leaves when it is full.
//! * `bitset` - ids are hashed to bits; a queue remembers the order and every insertion clears the
//!   bits of the ids that it pushes out. Two ids on one bit boost or forget each other.
//! * `cleaned` - the same, but bits are cleared by a cleaner that wakes when the queue is 1/8 too
//!   long.
//!
//! The share of set bits, which is the chance that a page never seen counts as a returning one, is
//! reported as `false_return_rate`.
//!
//! # Costs
//! 8 bytes and 1 bit a frame for the clock; 36 bytes a page for `exact`, 4 bytes and 8 bits for the
//! others. Nothing but the count on a hit.
//!
//! # Source
//! T. Elding Larsson, L. Gustavsson, "Cache replacement policies and their impact on graph database
//! operations", master's thesis, Lund University, 2021, sections 3.4.6 and 4.3.5, listing B.6.
//!
//! # Deviations
//! The thesis's two bitsets differ in how concurrent writers of one word lose bits; a policy runs
//! under its lock here, so what is left of the difference is when bits are cleared.

use std::collections::VecDeque;

use crate::gclock::{Arm, GClock};
use crate::ghost::Ghost;
use crate::neo4j::neo4j;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// Usage of a page that returns.
const BOOSTED: u8 = 7;

/// Bits per remembered page.
const BITS_PER_PAGE: u64 = 8;

/// How evicted pages are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// By id.
    Exact,
    /// By hashed bits, cleared at every insertion.
    Bitset,
    /// By hashed bits, cleared now and then.
    Cleaned,
}

/// Hashed bits with a queue of their order.
#[derive(Debug)]
struct HashedBits {
    words: Vec<u64>,
    /// Bit numbers in order of insertion.
    queue: VecDeque<u32>,
    /// How far the queue may exceed the capacity before bits are cleared.
    slack: u64,
}

impl HashedBits {
    fn new(capacity: u64, slack: u64) -> Self {
        let bits = (capacity.max(8) * BITS_PER_PAGE)
            .next_power_of_two()
            .min(1 << 32);
        Self {
            words: vec![0; (bits / 64) as usize],
            queue: VecDeque::new(),
            slack,
        }
    }

    fn bit(&self, page: PageId) -> u32 {
        let bits = self.words.len() as u64 * 64;
        let hash = page
            .0
            .wrapping_add(0x9E37_79B9_7F4A_7C15)
            .wrapping_mul(0xD6E8_FEB8_6659_FD93);
        ((hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32 & (bits - 1)) as u32
    }

    fn set(&mut self, bit: u32, on: bool) {
        let word = &mut self.words[bit as usize / 64];
        let mask = 1 << (bit % 64);
        *word = if on { *word | mask } else { *word & !mask };
    }

    fn add(&mut self, page: PageId, capacity: u64) {
        let bit = self.bit(page);
        self.set(bit, true);
        self.queue.push_back(bit);
        if self.queue.len() as u64 > capacity + self.slack {
            self.shrink(capacity);
        }
    }

    fn shrink(&mut self, capacity: u64) {
        while self.queue.len() as u64 > capacity {
            if let Some(bit) = self.queue.pop_front() {
                self.set(bit, false);
            }
        }
    }

    fn take(&mut self, page: PageId) -> bool {
        let bit = self.bit(page);
        let found = self.words[bit as usize / 64] >> (bit % 64) & 1 == 1;
        self.set(bit, false);
        found
    }

    fn share_set(&self) -> f64 {
        let set: u32 = self.words.iter().map(|word| word.count_ones()).sum();
        f64::from(set) / (self.words.len() * 64) as f64
    }
}

#[derive(Debug)]
enum Remembered {
    Exact(Ghost),
    Hashed(HashedBits),
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct History {
    clock: GClock,
    /// Weight of the pages that are remembered.
    capacity: u64,
    /// The same in percent of the cache.
    size: u64,
    memory: Memory,
    remembered: Remembered,
    /// Weight of a page, as far as known: the hashed forms count pages.
    page_weight: u64,
}

fn remembered_weight(capacity: u64, percent: u64) -> u64 {
    (u128::from(capacity) * u128::from(percent) / 100).max(1) as u64
}

impl History {
    /// An empty cache of `capacity` whose hits count up to `max`; it remembers `size` percent of
    /// that.
    #[must_use]
    pub fn new(max: u8, memory: Memory, size: u64, arm: Arm, capacity: u64, seed: u64) -> Self {
        let clock = neo4j(max, arm, seed).with_highest(BOOSTED);
        let capacity = remembered_weight(capacity, size);
        let remembered = Self::empty_memory(memory, capacity);
        Self {
            clock,
            capacity,
            size,
            memory,
            remembered,
            page_weight: 1,
        }
    }

    fn empty_memory(memory: Memory, pages: u64) -> Remembered {
        match memory {
            Memory::Exact => Remembered::Exact(Ghost::new(1)),
            Memory::Bitset => Remembered::Hashed(HashedBits::new(pages, 0)),
            Memory::Cleaned => Remembered::Hashed(HashedBits::new(pages, pages / 8)),
        }
    }

    fn pages(&self) -> u64 {
        (self.capacity / self.page_weight).max(1)
    }

    fn remember(&mut self, page: PageId, weight: u32) {
        let pages = self.pages();
        match &mut self.remembered {
            Remembered::Exact(ghost) => {
                ghost.push(0, page, weight);
                ghost.trim(0, self.capacity);
            }
            Remembered::Hashed(bits) => bits.add(page, pages),
        }
    }

    fn take(&mut self, page: PageId) -> bool {
        match &mut self.remembered {
            Remembered::Exact(ghost) => ghost.remove(page).is_some(),
            Remembered::Hashed(bits) => bits.take(page),
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for History {
    fn hit_kind(&self) -> HitKind {
        Policy::<F>::hit_kind(&self.clock)
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let weight = u64::from(frames.weight(frame).max(1));
        if weight > self.page_weight && self.memory != Memory::Exact {
            // The hashed forms are sized in pages of the largest size seen, so that they stay
            // bounded.
            self.page_weight = weight;
            self.remembered = Self::empty_memory(self.memory, self.pages());
        }
        // The look-up comes after the eviction that made room: the victim may have pushed this page
        // out.
        let returned = self.take(page);
        let usage = match hint {
            Hint::Normal if returned => BOOSTED,
            _ => self.clock.initial_usage(hint),
        };
        self.clock.load(frames, frame, page, usage);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let (frame, page) = self.clock.sweep(frames)?;
        self.remember(page, frames.weight(frame));
        Some((frame, page))
    }

    fn on_remove(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        self.clock.on_remove(frames, frame, page);
    }

    fn forget(&mut self, page: PageId) {
        self.take(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = remembered_weight(capacity, self.size);
        let capacity = self.capacity;
        match &mut self.remembered {
            Remembered::Exact(ghost) => ghost.trim(0, capacity),
            Remembered::Hashed(_) => {
                self.remembered = Self::empty_memory(self.memory, self.pages());
            }
        }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        match &self.remembered {
            Remembered::Exact(ghost) => vec![("ghosts", ghost.len(0) as f64)],
            Remembered::Hashed(bits) => vec![("false_return_rate", bits.share_set())],
        }
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        self.clock.check(frames)?;
        match &self.remembered {
            Remembered::Exact(ghost) if ghost.weight(0) > self.capacity => Err(format!(
                "PO-5: ghosts of {} in a memory of {}",
                ghost.weight(0),
                self.capacity
            )),
            Remembered::Exact(ghost) => ghost.check(),
            Remembered::Hashed(bits) if bits.queue.len() as u64 > self.pages() + bits.slack => {
                Err(format!(
                    "PO-5: {} hashed ghosts for {} pages",
                    bits.queue.len(),
                    self.pages()
                ))
            }
            Remembered::Hashed(_) => Ok(()),
        }
    }
}
