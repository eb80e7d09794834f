//! Where frames go: regions of the file, which of them are free, and how the file grows and
//! shrinks.
//!
//! # How it works
//! The file is a header and regions of equal size ("slots"). Used regions form a queue by sequence
//! number; the last one is being filled. A frame that does not fit its rest goes to the first free
//! slot. Cutting the log ([`Space::release_before`]) moves regions from the front of the queue to
//! the free ones.
//!
//! # Invariants
//! * LG-6: [`Space::fits`] says yes only if the frames that wait and the new bytes fit, whatever
//!   way they are cut, into regions that exist and are written with zeros; the last free region is
//!   kept back.

use std::collections::VecDeque;

use crate::Lsn;
use crate::layout::{FILE_HEADER_BYTES, FRAME_BYTES_MAX, FRAME_CONTENT_MAX, FRAME_HEADER_BYTES};

/// Regions kept back for records that help to free others.
const RESERVE_REGIONS: u64 = 1;

/// A region in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UsedRegion {
    pub(crate) slot: u32,
    pub(crate) sequence: u64,
    pub(crate) first: Lsn,
}

/// The place of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Placement {
    /// Byte of the file.
    pub(crate) offset: u64,
    /// The region that begins with this frame, if one does; its header stands one sector in front
    /// of the frame.
    pub(crate) begins: Option<UsedRegion>,
}

/// Which bytes of the file are free.
#[derive(Debug)]
pub(crate) struct Space {
    sector_bytes: u64,
    region_bytes: u64,
    slots: u32,
    used: VecDeque<UsedRegion>,
    free: VecDeque<u32>,
    /// Next byte of the region that is being filled.
    cursor: u64,
    next_sequence: u64,
}

impl Space {
    /// A file of `slots` free regions.
    pub(crate) fn new(sector_bytes: u64, region_bytes: u64, slots: u32) -> Space {
        Space {
            sector_bytes,
            region_bytes,
            slots,
            used: VecDeque::new(),
            free: (0..slots).collect(),
            cursor: region_bytes,
            next_sequence: 1,
        }
    }

    /// A file with regions in use, the last of them up to `cursor`.
    pub(crate) fn with_used(mut self, used: Vec<UsedRegion>, cursor: u64, next: u64) -> Space {
        self.free
            .retain(|slot| used.iter().all(|region| region.slot != *slot));
        if !used.is_empty() {
            self.cursor = cursor;
        }
        self.used = used.into();
        self.next_sequence = next;
        self
    }

    /// First byte of a region.
    pub(crate) fn slot_offset(&self, slot: u32) -> u64 {
        FILE_HEADER_BYTES + u64::from(slot) * self.region_bytes
    }

    /// Bytes of the file that `slots` regions make.
    pub(crate) fn file_bytes(&self, slots: u32) -> u64 {
        self.slot_offset(slots)
    }

    pub(crate) fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    pub(crate) fn free_regions(&self) -> u64 {
        self.free.len() as u64
    }

    pub(crate) fn used_regions(&self) -> u64 {
        self.used.len() as u64
    }

    /// Bytes that stream content of `bytes` may take at most, cut into frames.
    pub(crate) fn worst_case(&self, bytes: u64) -> u64 {
        let frames = bytes / FRAME_CONTENT_MAX as u64 + 1;
        bytes + frames * (FRAME_HEADER_BYTES as u64 + self.sector_bytes)
    }

    /// Whether `bytes` bytes of frames fit; with `whole` the last free region may be used too.
    pub(crate) fn fits(&self, bytes: u64, whole: Reserve) -> bool {
        let waste = FRAME_BYTES_MAX as u64;
        let rest = (self.region_bytes - self.cursor).saturating_sub(waste);
        let kept = match whole {
            Reserve::Keep => RESERVE_REGIONS,
            Reserve::Use => 0,
        };
        let regions = self.free_regions().saturating_sub(kept);
        bytes <= rest + regions * (self.region_bytes - self.sector_bytes - waste)
    }

    /// Whether it is time to add a region in the background: the next one would be the last but the
    /// reserve.
    pub(crate) fn running_low(&self) -> bool {
        self.free_regions() <= RESERVE_REGIONS && self.cursor > self.region_bytes / 2
    }

    /// How many regions to add at once: a part of what is in use, so that growing gets rarer.
    pub(crate) fn growth(&self) -> u32 {
        (self.used.len() as u32 / 8).clamp(1, 16)
    }

    /// Regions that were added at the end of the file.
    pub(crate) fn grown(&mut self, count: u32) {
        self.free.extend(self.slots..self.slots + count);
        self.slots += count;
    }

    /// The place for a frame of `bytes` bytes that begins at `first`.
    ///
    /// # Panics
    /// No region is free: `fits` was not asked (LG-6).
    pub(crate) fn place(&mut self, bytes: u64, first: Lsn) -> Placement {
        let mut begins = None;
        if self.cursor + bytes > self.region_bytes {
            let slot = self.free.pop_front().expect("LG-6: room was reserved");
            let region = UsedRegion {
                slot,
                sequence: self.next_sequence,
                first,
            };
            self.next_sequence += 1;
            self.used.push_back(region);
            self.cursor = self.sector_bytes;
            begins = Some(region);
        }
        let region = self.used.back().expect("a region is being filled");
        let offset = self.slot_offset(region.slot) + self.cursor;
        self.cursor += bytes;
        assert!(
            self.cursor <= self.region_bytes,
            "LG-6: frame in its region"
        );
        Placement { offset, begins }
    }

    /// Frees the regions that hold nothing from `lsn` on; how many.
    pub(crate) fn release_before(&mut self, lsn: Lsn) -> u64 {
        let mut released = 0;
        while self.used.get(1).is_some_and(|next| next.first <= lsn) {
            self.free.extend(self.used.pop_front().map(|r| r.slot));
            released += 1;
        }
        released
    }

    /// Gives up free regions at the end of the file while more than `keep` are free; the new number
    /// of slots if it changed.
    pub(crate) fn shrink(&mut self, keep: u64) -> Option<u32> {
        let before = self.slots;
        while self.free_regions() > keep.max(RESERVE_REGIONS + 1) {
            let last = self.slots - 1;
            let Some(at) = self.free.iter().position(|&slot| slot == last) else {
                break;
            };
            self.free.remove(at);
            self.slots = last;
        }
        (self.slots != before).then_some(self.slots)
    }
}

/// Whether the region that is kept back may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reserve {
    Keep,
    Use,
}

#[cfg(test)]
mod tests {
    //! Goal: whatever `fits` promises, `place` keeps, for any sequence of frames.
    use super::*;
    use crate::layout::REGION_BYTES_MIN;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_fits_is_placed(frames in proptest::collection::vec(1u64..=128, 1..400), slots in 2u32..6) {
            let mut space = Space::new(512, REGION_BYTES_MIN, slots);
            let (mut first, mut places) = (Lsn(0), Vec::new());
            for sectors in frames {
                let bytes = sectors * 512;
                if !space.fits(bytes, Reserve::Keep) {
                    break;
                }
                let place = space.place(bytes, first);
                places.push((place.offset, bytes));
                first.0 += bytes;
            }
            prop_assert!(space.free_regions() >= RESERVE_REGIONS);
            places.sort_unstable();
            prop_assert!(places.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
            let end = space.file_bytes(slots);
            prop_assert!(places.iter().all(|p| p.0 >= FILE_HEADER_BYTES + 512 && p.0 + p.1 <= end));
        }
    }

    #[test]
    fn regions_are_used_again_and_the_end_is_given_up() {
        let mut space = Space::new(512, REGION_BYTES_MIN, 8);
        let mut lsn = Lsn(0);
        let mut begun = Vec::new();
        for _ in 0..24 {
            let place = space.place(FRAME_BYTES_MAX as u64, lsn);
            begun.extend(place.begins);
            lsn.0 += FRAME_CONTENT_MAX as u64;
        }
        assert_eq!(begun.len(), 8);
        assert_eq!(space.release_before(begun[6].first), 6);
        assert_eq!(space.free_regions(), 6);
        assert_eq!(space.shrink(2), None, "the last slot is in use");
        assert_eq!(space.release_before(lsn), 1);
        assert_eq!(space.used_regions(), 1);
        let place = space.place(REGION_BYTES_MIN - 512, lsn);
        assert_eq!(place.begins.map(|r| (r.slot, r.sequence)), Some((0, 9)));
        assert_eq!(space.release_before(lsn), 1);
        assert_eq!(space.shrink(3), Some(4));
    }
}
