//! Ghosts in 8 bytes each: a table of buckets without links.
//!
//! # How it works
//! The hash of a page names a bucket of eight entries, one cache line. An entry keeps 20 more bits of the hash, the fault
//! number with which the page left, the ring it left, and the low bits of a count of pages that left that ring. A new
//! ghost takes an empty entry or replaces the one with the oldest number. The table is made at the first eviction and
//! made anew, empty, when twice as many frames are in use.
//!
//! # Invariants
//! * GR-4 there are at most three entries a frame, rounded up to a power of two buckets.
//!
//! # Costs
//! 8 bytes a ghost; one cache line a look-up. Two pages are taken for one another about once in 100,000 look-ups.

use super::rings::NUMBER_BITS;
use crate::PageId;

const WAYS: usize = 8;
const TAG_BITS: u32 = 20;
/// Bits of the count of pages that left.
pub(super) const TURN_BITS: u32 = 64 - TAG_BITS - NUMBER_BITS - 1;
const TURN_SHIFT: u32 = NUMBER_BITS;
const RING_SHIFT: u32 = NUMBER_BITS + TURN_BITS;
const TAG_SHIFT: u32 = RING_SHIFT + 1;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;
/// Ghosts a frame.
const GHOSTS_PER_FRAME: usize = 3;

/// What is remembered of a page that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ghost {
    /// Fault number at which it was loaded or last confirmed.
    pub(super) number: u32,
    /// The ring it left.
    pub(super) ring: usize,
    /// Count of pages that had left that ring, in the low [`TURN_BITS`].
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
            number: (word & NUMBER_MASK) as u32,
            ring: (word >> RING_SHIFT & 1) as usize,
            turn: (word >> TURN_SHIFT & ((1 << TURN_BITS) - 1)) as u32,
        })
    }

    /// Remembers `page`; `now` is the fault number, `frames` the frames in use.
    #[inline]
    pub(super) fn put(&mut self, page: PageId, ghost: Ghost, now: u32, frames: usize) {
        if frames > 2 * self.frames {
            self.make(frames);
        }
        let (bucket, tag) = self.place(page);
        let age = |entry: u64| match entry {
            0 => u64::MAX,
            _ if entry >> TAG_SHIFT == tag => u64::MAX - 1,
            _ => u64::from(now).wrapping_sub(entry) & NUMBER_MASK,
        };
        let entries = &mut self.buckets[bucket];
        let oldest = (0..WAYS).max_by_key(|&way| age(entries[way])).unwrap_or(0);
        entries[oldest] = u64::from(ghost.number)
            | u64::from(ghost.turn) << TURN_SHIFT
            | (ghost.ring as u64) << RING_SHIFT
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

    /// Goal: what is put comes back whole and once; the oldest of a full bucket is what is lost.
    #[test]
    fn ghosts_come_back_until_their_bucket_is_full() {
        let mut ghosts = Ghosts::default();
        assert_eq!(ghosts.take(PageId(1)), None);
        let ghost = |number: u32| Ghost {
            number,
            ring: (number % 2) as usize,
            turn: number % 1_000,
        };
        for page in 0..100u32 {
            ghosts.put(PageId(u64::from(page)), ghost(page), page, 1_000);
        }
        let found: Vec<u32> = (0..100)
            .filter(|&page| ghosts.take(PageId(u64::from(page))) == Some(ghost(page)))
            .collect();
        assert_eq!(found.len(), 100);
        assert_eq!(ghosts.take(PageId(7)), None);
        for page in 0..100_000u32 {
            ghosts.put(PageId(u64::from(page)), ghost(page), page, 1_000);
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
