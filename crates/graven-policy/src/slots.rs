//! Resident pages by slot, for policies that sweep the frames in index order.
//!
//! # How it works
//! One page id per slot and one bit per slot that says whether it is resident, so that a sweep
//! passes 64 empty slots in one step: with many size classes in one index space most slots are
//! empty.
//!
//! # Invariants
//! * SL-1 the number of set bits is `resident`; no bit is set at or beyond `pages.len()`.
//!
//! # Costs
//! 8 bytes and 1 bit a slot.

use crate::{FrameIdx, PageId};

/// Which page each slot holds.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pages: Vec<u64>,
    bits: Vec<u64>,
    resident: usize,
}

impl Slots {
    /// Highest slot ever used plus one; slots beyond it were never resident.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// How many slots hold a page.
    pub(crate) fn resident(&self) -> usize {
        self.resident
    }

    /// Whether `frame` holds a page.
    #[inline]
    pub(crate) fn contains(&self, frame: FrameIdx) -> bool {
        let slot = frame.0 as usize;
        slot < self.pages.len() && self.bits[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// The page in a resident slot.
    #[inline]
    pub(crate) fn page(&self, frame: FrameIdx) -> PageId {
        debug_assert!(
            self.contains(frame),
            "SL-1: slot {} is not resident",
            frame.0
        );
        PageId(self.pages[frame.0 as usize])
    }

    /// Puts `page` into an empty slot.
    #[inline]
    pub(crate) fn insert(&mut self, frame: FrameIdx, page: PageId) {
        let slot = frame.0 as usize;
        if slot >= self.pages.len() {
            self.pages.resize(slot + 1, 0);
            self.bits.resize(slot / 64 + 1, 0);
        }
        assert!(!self.contains(frame), "SL-1: slot {slot} is loaded twice");
        self.pages[slot] = page.0;
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.resident += 1;
    }

    /// Empties a slot and says which page it held; `None` when it held none.
    #[inline]
    pub(crate) fn remove(&mut self, frame: FrameIdx) -> Option<PageId> {
        if !self.contains(frame) {
            return None;
        }
        let slot = frame.0 as usize;
        self.bits[slot / 64] &= !(1 << (slot % 64));
        self.resident -= 1;
        Some(PageId(self.pages[slot]))
    }

    /// The first resident slot at or after `from`, wrapping to slot 0 at the end; `None` when all
    /// are empty.
    #[inline]
    pub(crate) fn next_resident(&self, from: usize) -> Option<usize> {
        let from = if from >= self.pages.len() { 0 } else { from };
        let word = *self.bits.get(from / 64)? >> (from % 64);
        if word & 1 == 1 {
            return Some(from);
        }
        self.search(from, word)
    }

    #[cold]
    fn search(&self, from: usize, first: u64) -> Option<usize> {
        if self.resident == 0 {
            return None;
        }
        if first != 0 {
            return Some(from + first.trailing_zeros() as usize);
        }
        let words = self.bits.len();
        (1..=words)
            .map(|step| (from / 64 + step) % words)
            .find_map(|at| {
                let word = self.bits[at];
                (word != 0).then(|| at * 64 + word.trailing_zeros() as usize)
            })
    }

    /// Recounts SL-1.
    pub(crate) fn check(&self) -> Result<(), String> {
        let set: usize = self
            .bits
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum();
        if set != self.resident {
            return Err(format!(
                "SL-1: {set} slots are marked resident, {} are counted",
                self.resident
            ));
        }
        match self.next_resident(0) {
            None if set > 0 => Err("SL-1: no resident slot is found".to_string()),
            _ if self.bits.len() != self.pages.len().div_ceil(64) => Err(format!(
                "SL-1: {} bit words for {} slots",
                self.bits.len(),
                self.pages.len()
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the search for resident slots wraps, crosses word borders and ends on an empty set.
    #[test]
    fn next_resident_wraps_and_skips() {
        let mut slots = Slots::default();
        assert_eq!(slots.next_resident(0), None);
        for slot in [3, 64, 200] {
            slots.insert(FrameIdx(slot), PageId(u64::from(slot)));
        }
        assert_eq!(slots.next_resident(0), Some(3));
        assert_eq!(slots.next_resident(4), Some(64));
        assert_eq!(slots.next_resident(65), Some(200));
        assert_eq!(slots.next_resident(201), Some(3));
        assert_eq!(slots.remove(FrameIdx(3)), Some(PageId(3)));
        assert_eq!(slots.remove(FrameIdx(3)), None);
        assert_eq!(slots.next_resident(201), Some(64));
        assert_eq!(slots.next_resident(150), Some(200));
        slots.check().unwrap();
    }
}
