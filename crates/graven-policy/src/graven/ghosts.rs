//! Ghosts in 8 bytes each: a table of buckets without links.
//!
//! # How it works
//! The hash of a page names a bucket of eight entries, one cache line. An entry keeps 22 more bits
//! of the hash, the time with which the page left, the ring it left, the kind it was of, and the
//! low bits of a count of pages that left that ring; in large caches the count is one of so many
//! pages that it does not come round while a ghost lives. A new ghost takes an empty entry or
//! replaces the page that left first, as far as its time and the age at which its ring is left
//! tell. The table is made at the first eviction and made anew, empty, when twice as many frames
//! are in use.
//!
//! # Invariants
//! * GR-4 there are at most three entries a frame, rounded up to a power of two buckets.
//!
//! # Costs
//! 8 bytes a ghost; one cache line a look-up. Two pages are taken for one another about once in
//! 500,000 look-ups.

use super::reuse_estimator::{KIND_BITS, Kind};
use super::rings::TIME_BITS;
use crate::PageId;

const WAYS: usize = 8;
const TAG_BITS: u32 = 22;
/// Bits of the count of pages that left.
const TURN_BITS: u32 = 64 - TAG_BITS - TIME_BITS - 1 - KIND_BITS;
const TURN_SHIFT: u32 = TIME_BITS;
const RING_SHIFT: u32 = TIME_BITS + TURN_BITS;
const KIND_SHIFT: u32 = RING_SHIFT + 1;
const TAG_SHIFT: u32 = KIND_SHIFT + KIND_BITS;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// Up to twice so many frames pages are counted one by one; in a table for 2^n times as many, 2^n
/// at a time.
const TURN_FRAMES: usize = 1 << 13;
/// Ghosts a frame.
const GHOSTS_PER_FRAME: usize = 3;

/// What is remembered of a page that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ghost {
    /// When it was loaded or last confirmed.
    pub(super) time: u32,
    /// The ring it left.
    pub(super) ring: usize,
    /// What was known of it when it left.
    pub(super) kind: Kind,
    /// Count of pages that had left that ring; from the table, what it keeps of it
    /// ([`Ghosts::turns_since`]).
    pub(super) turn: u32,
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    /// 0 is an empty entry; tags are never 0.
    buckets: Vec<[u64; WAYS]>,
    /// Frames it was made for.
    frames: usize,
}

impl Ghosts {
    #[inline]
    fn place(&self, page: PageId) -> (usize, u64) {
        let hash = page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hash = (hash ^ hash >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bucket = (hash >> 32) as usize & (self.buckets.len() - 1);
        let tag = (hash & ((1 << TAG_BITS) - 1)).max(1);
        (bucket, tag)
    }

    /// Pages that count as one.
    fn turn_shift(&self) -> u32 {
        (self.frames / TURN_FRAMES).max(1).ilog2()
    }

    /// How many pages have left the ring of a ghost from the table since it did, `left` having left
    /// by now.
    #[inline]
    pub(super) fn turns_since(&self, ghost: Ghost, left: u32) -> u32 {
        let shift = self.turn_shift();
        ((left >> shift).wrapping_sub(ghost.turn) & ((1 << TURN_BITS) - 1)) << shift
    }

    /// Forgets `page` and says what was remembered.
    #[inline]
    pub(super) fn take(&mut self, page: PageId) -> Option<Ghost> {
        if self.buckets.is_empty() {
            return None;
        }
        let (bucket, tag) = self.place(page);
        let entry = self.buckets[bucket]
            .iter_mut()
            .find(|entry| **entry >> TAG_SHIFT == tag)?;
        let word = std::mem::take(entry);
        Some(Ghost {
            time: (word & TIME_MASK) as u32,
            ring: (word >> RING_SHIFT & 1) as usize,
            kind: Kind::from_number(word >> KIND_SHIFT),
            turn: (word >> TURN_SHIFT & ((1 << TURN_BITS) - 1)) as u32,
        })
    }

    /// Remembers `page`; it is `now`, pages leave the rings at `leaving` ages, and `frames` are in
    /// use.
    #[inline]
    pub(super) fn put(
        &mut self,
        page: PageId,
        ghost: Ghost,
        now: u32,
        leaving: [u32; 2],
        frames: usize,
    ) {
        if frames > 2 * self.frames {
            self.make(frames);
        }
        let (bucket, tag) = self.place(page);
        let age = |entry: u64| match entry {
            0 => u64::MAX,
            _ if entry >> TAG_SHIFT == tag => u64::MAX - 1,
            _ => {
                let ring = (entry >> RING_SHIFT & 1) as usize;
                let age = u64::from(now).wrapping_sub(entry) & TIME_MASK;
                age.saturating_sub(u64::from(leaving[ring]))
            }
        };
        let turn = ghost.turn >> self.turn_shift() & ((1 << TURN_BITS) - 1);
        let entries = &mut self.buckets[bucket];
        let oldest = (0..WAYS).max_by_key(|&way| age(entries[way])).unwrap_or(0);
        entries[oldest] = u64::from(ghost.time)
            | u64::from(turn) << TURN_SHIFT
            | (ghost.ring as u64) << RING_SHIFT
            | ghost.kind.number() << KIND_SHIFT
            | tag << TAG_SHIFT;
    }

    #[cold]
    fn make(&mut self, frames: usize) {
        self.frames = frames.max(1);
        let buckets = (GHOSTS_PER_FRAME * self.frames)
            .div_ceil(WAYS)
            .next_power_of_two();
        self.buckets = vec![[0; WAYS]; buckets];
    }

    /// Checks GR-4.
    pub(super) fn check(&self) -> Result<(), String> {
        let limit = (GHOSTS_PER_FRAME * self.frames)
            .div_ceil(WAYS)
            .next_power_of_two();
        if self.buckets.len() > limit {
            return Err(format!(
                "GR-4: {} buckets for {} frames",
                self.buckets.len(),
                self.frames
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: in a large cache, too, a page that left long ago does not look as if it had just left.
    #[test]
    fn counts_do_not_come_round_while_a_ghost_lives() {
        for frames in [1_000usize, 100_000, 1 << 20, 1 << 25] {
            let mut ghosts = Ghosts::default();
            let ghost = Ghost {
                time: 0,
                ring: 0,
                kind: Kind::NONE,
                turn: 12_345,
            };
            ghosts.put(PageId(1), ghost, 0, [0; 2], frames);
            let kept = ghosts.take(PageId(1)).unwrap();
            for since in [0, 1, 2, 4, 6].map(|times| times * frames as u32 + frames as u32 / 50) {
                let told = ghosts.turns_since(kept, ghost.turn + since);
                let off = told.abs_diff(since) as usize;
                assert!(off <= frames / TURN_FRAMES, "{frames} {since} {told}");
            }
        }
    }

    /// Goal: what is put comes back whole and once; the oldest of a full bucket is what is lost.
    #[test]
    fn ghosts_come_back_until_their_bucket_is_full() {
        let mut ghosts = Ghosts::default();
        assert_eq!(ghosts.take(PageId(1)), None);
        let ghost = |time: u32| Ghost {
            time,
            ring: (time % 2) as usize,
            kind: Kind::used((time % 4) as u8),
            turn: time % 1_000,
        };
        for page in 0..100u32 {
            ghosts.put(PageId(u64::from(page)), ghost(page), page, [0; 2], 1_000);
        }
        let found: Vec<u32> = (0..100)
            .filter(|&page| ghosts.take(PageId(u64::from(page))) == Some(ghost(page)))
            .collect();
        assert_eq!(found.len(), 100);
        assert_eq!(ghosts.take(PageId(7)), None);
        for page in 0..100_000u32 {
            ghosts.put(PageId(u64::from(page)), ghost(page), page, [0; 2], 1_000);
        }
        ghosts.check().unwrap();
        let recent = (99_000..100_000u32)
            .filter(|&page| ghosts.take(PageId(u64::from(page))).is_some())
            .count();
        let old = (0..90_000u32)
            .filter(|&page| ghosts.take(PageId(u64::from(page))).is_some())
            .count();
        assert!(recent > 990 && old < 20, "{recent} {old}");
    }
}
