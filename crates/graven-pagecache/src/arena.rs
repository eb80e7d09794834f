//! The arena: one region of memory shared out to frames of all size classes.
//!
//! # How it works
//! The region is divided into extents of 64 KiB. An extent is *committed* when its bytes have been
//! reserved from the budget; only committed extents hold frames. Inside an extent, frames are
//! blocks of a buddy system: a block of order `k` is `4 KiB << k` long and aligned to its length.
//! Frames larger than an extent are runs of neighbouring extents. A wholly free extent can be
//! decommitted: its memory goes back to the system and its bytes to the budget. Freed blocks change
//! their size class by merging and splitting, without any system call.
//!
//! Small statements take memory from the cache and give it back many times a second. So the first
//! extents given back stay *warm*: the budget has their bytes, the system does not, and they are
//! committed again without a system call and still in one piece with their huge page. What is warm
//! is bounded ([`Arena::set_warm_max`]).
//!
//! Extents are committed lowest first and given back highest first, so in a region of huge pages at
//! most one is in use in part: up to 2 MiB, and what is warm, more are resident than charged.
//!
//! # Invariants
//! * PC-13: the free blocks of an extent do not overlap and their units add up to its free count.
//! * PC-14: committed bytes equal the bytes reserved for frames.
//!
//! # Concurrency
//! Owned by the frame pool, under its lock.
//!
//! # Costs
//! Off the hit path and, while the mix of sizes is steady, off the miss path.

use crate::error::Result;
use crate::memory::{Backing, Region};
use crate::page_ref::{UNIT_BYTES, UNIT_SHIFT};
use crate::word::FRAME_BITS;
use std::collections::BTreeSet;

/// Order of an extent: 64 KiB.
const EXTENT_ORDER: u32 = 4;

#[derive(Clone, Copy, Debug)]
struct Extent {
    committed: bool,
    free_units: u32,
}

/// Memory for frames; see the head of this file.
#[derive(Debug)]
pub(crate) struct Arena {
    region: Region,
    extent_order: u32,
    extents: Vec<Extent>,
    /// Free blocks by order, as first unit; a whole free extent is a block of the extent order.
    free: Vec<BTreeSet<u32>>,
    uncommitted: BTreeSet<u32>,
    /// Uncommitted extents whose memory the system has not got back.
    warm: BTreeSet<u32>,
    warm_max: usize,
    free_units: u64,
}

impl Arena {
    /// An arena that can hold `bytes` bytes of frames.
    ///
    /// # Errors
    /// [`crate::Error::Map`].
    pub(crate) fn new(bytes: u64, backing: Backing) -> Result<Arena> {
        let region = Region::new(usize::try_from(bytes).unwrap_or(usize::MAX), backing)?;
        let mut arena = Arena {
            region,
            extent_order: EXTENT_ORDER,
            extents: Vec::new(),
            free: vec![BTreeSet::new(); EXTENT_ORDER as usize + 1],
            uncommitted: BTreeSet::new(),
            warm: BTreeSet::new(),
            warm_max: 0,
            free_units: 0,
        };
        arena.list_new_extents();
        Ok(arena)
    }

    /// Makes room for `bytes` bytes of frames; less is no change.
    ///
    /// # Errors
    /// [`crate::Error::Map`].
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<()> {
        self.region
            .grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        self.list_new_extents();
        Ok(())
    }

    fn list_new_extents(&mut self) {
        let units_max = (self.region.mapped() >> UNIT_SHIFT).min(1 << FRAME_BITS);
        let count = units_max >> self.extent_order;
        for extent in self.extents.len()..count {
            self.extents.push(Extent {
                committed: false,
                free_units: 0,
            });
            self.uncommitted.insert(extent as u32);
        }
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.region.base()
    }

    pub(crate) fn extent_order(&self) -> u32 {
        self.extent_order
    }

    pub(crate) fn extent_bytes(&self) -> u64 {
        (UNIT_BYTES as u64) << self.extent_order
    }

    fn extent_units(&self) -> u32 {
        1 << self.extent_order
    }

    pub(crate) fn extent_count(&self) -> u32 {
        self.extents.len() as u32
    }

    /// Bytes of all extents, committed or not.
    pub(crate) fn capacity_bytes(&self) -> u64 {
        u64::from(self.extent_count()) * self.extent_bytes()
    }

    pub(crate) fn is_committed(&self, extent: u32) -> bool {
        self.extents[extent as usize].committed
    }

    /// Units of `extent` that no frame occupies.
    pub(crate) fn free_units_of(&self, extent: u32) -> u32 {
        self.extents[extent as usize].free_units
    }

    /// Bytes in committed extents that no frame occupies.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_units << UNIT_SHIFT
    }

    /// A free block of `order` (at most the extent order) in committed memory, lowest address
    /// first.
    pub(crate) fn take(&mut self, order: u32) -> Option<u32> {
        debug_assert!(order <= self.extent_order);
        let from =
            (order..=self.extent_order).find(|from| !self.free[*from as usize].is_empty())?;
        let unit = self.free[from as usize].pop_first()?;
        for half in (order..from).rev() {
            self.free[half as usize].insert(unit + (1 << half));
        }
        self.count_taken(unit, 1 << order);
        Some(unit)
    }

    /// Gives a block back, merging it with its free neighbours.
    pub(crate) fn put(&mut self, unit: u32, order: u32) {
        self.count_put(unit, 1 << order);
        // A run of extents goes back extent by extent.
        let part = order.min(self.extent_order);
        for index in 0..1 << (order - part) {
            self.insert_merged(unit + (index << part), part);
        }
    }

    fn insert_merged(&mut self, mut unit: u32, mut order: u32) {
        while order < self.extent_order && self.free[order as usize].remove(&(unit ^ (1 << order)))
        {
            unit &= !(1 << order);
            order += 1;
        }
        let new = self.free[order as usize].insert(unit);
        debug_assert!(new, "PC-13: a block is freed once");
    }

    fn count_taken(&mut self, unit: u32, units: u32) {
        self.free_units -= u64::from(units);
        for (extent, part) in self.parts(unit, units) {
            self.extents[extent as usize].free_units -= part;
        }
    }

    fn count_put(&mut self, unit: u32, units: u32) {
        self.free_units += u64::from(units);
        for (extent, part) in self.parts(unit, units) {
            self.extents[extent as usize].free_units += part;
        }
    }

    /// The extents that `units` units from `unit` lie in, with the units in each.
    fn parts(&self, unit: u32, units: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (order, whole) = (self.extent_order, self.extent_units());
        let first = unit >> order;
        let count = units.div_ceil(whole);
        (first..first + count).map(move |extent| (extent, units.min(whole)))
    }

    /// Sets how many bytes given back may stay with the arena; what is warm already and more than
    /// that goes.
    pub(crate) fn set_warm_max(&mut self, bytes: u64) {
        self.warm_max = (bytes / self.extent_bytes()) as usize;
        self.cool_down();
    }

    fn cool_down(&mut self) {
        while self.warm.len() > self.warm_max
            && let Some(extent) = self.warm.pop_last()
        {
            let offset = (extent as usize) << (self.extent_order + UNIT_SHIFT);
            self.region.discard(offset, self.extent_bytes() as usize);
        }
    }

    /// Commits the lowest warm extent, or else the lowest uncommitted one; the caller has reserved
    /// its bytes.
    pub(crate) fn commit(&mut self) -> bool {
        let lowest = self.warm.first().or(self.uncommitted.first());
        match lowest.copied() {
            Some(extent) => {
                self.commit_extent(extent);
                true
            }
            None => false,
        }
    }

    fn commit_extent(&mut self, extent: u32) {
        self.warm.remove(&extent);
        let was_uncommitted = self.uncommitted.remove(&extent);
        debug_assert!(was_uncommitted, "PC-14: an extent is committed once");
        self.extents[extent as usize].committed = true;
        self.count_put(extent << self.extent_order, self.extent_units());
        self.insert_merged(extent << self.extent_order, self.extent_order);
    }

    /// Whether an extent could still be committed.
    pub(crate) fn can_commit(&self) -> bool {
        !self.uncommitted.is_empty()
    }

    /// Gives one wholly free extent up; returns its bytes, which the caller gives back to the
    /// budget. The highest one goes first; the system gets the memory of what is more than may stay
    /// warm.
    pub(crate) fn decommit(&mut self) -> Option<u64> {
        let unit = self.free[self.extent_order as usize].pop_last()?;
        let extent = unit >> self.extent_order;
        self.count_taken(unit, self.extent_units());
        self.extents[extent as usize].committed = false;
        self.uncommitted.insert(extent);
        self.warm.insert(extent);
        self.cool_down();
        Some(self.extent_bytes())
    }

    /// Where the fewest bytes would have to be committed for a run of `order`, and how many.
    pub(crate) fn find_run(&self, order: u32) -> Option<(u32, u64)> {
        let length = 1 << (order - self.extent_order);
        let whole = self.extent_units();
        let mut best: Option<(u32, u64)> = None;
        let (mut usable, mut missing) = (0, 0);
        for (index, extent) in self.extents.iter().enumerate() {
            if extent.committed && extent.free_units < whole {
                (usable, missing) = (0, 0);
                continue;
            }
            missing += u64::from(!extent.committed);
            if usable == length {
                missing -= u64::from(!self.extents[index - length as usize].committed);
            } else {
                usable += 1;
            }
            let first = (index as u32 + 1).wrapping_sub(length);
            if usable == length && best.is_none_or(|(_, least)| missing < least) {
                best = Some((first, missing));
            }
        }
        best.map(|(first, missing)| (first, missing * self.extent_bytes()))
    }

    /// Takes the run of `order` at extent `first`, found by [`Arena::find_run`]; the caller has
    /// reserved what was missing.
    pub(crate) fn take_run(&mut self, first: u32, order: u32) -> u32 {
        let length = 1 << (order - self.extent_order);
        for extent in first..first + length {
            if !self.is_committed(extent) {
                self.commit_extent(extent);
            }
            let was_free =
                self.free[self.extent_order as usize].remove(&(extent << self.extent_order));
            assert!(was_free, "PC-13: a run is made of free extents");
        }
        let unit = first << self.extent_order;
        self.count_taken(unit, 1 << order);
        unit
    }

    /// Free units among `units` units from `unit`, not counting blocks that reach beyond.
    pub(crate) fn free_units_in(&self, unit: u32, units: u32) -> u32 {
        let inside = |order: &usize| {
            self.free[*order].range(unit..unit + units).count() as u32 * (1 << *order)
        };
        (0..self.free.len())
            .filter(|order| 1 << *order <= units)
            .map(|order| inside(&order))
            .sum()
    }

    /// Takes the free blocks that lie in `units` units from `unit` out of circulation.
    pub(crate) fn isolate(&mut self, unit: u32, units: u32) -> Vec<(u32, u32)> {
        let mut taken = Vec::new();
        for order in 0..=self.extent_order {
            let inside: Vec<u32> = self.free[order as usize]
                .range(unit..unit + units)
                .copied()
                .collect();
            for block in inside {
                self.free[order as usize].remove(&block);
                self.count_taken(block, 1 << order);
                taken.push((block, order));
            }
        }
        taken
    }

    /// Recounts everything.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let mut counted = vec![0; self.extents.len()];
        for (order, blocks) in self.free.iter().enumerate() {
            for block in blocks {
                counted[(block >> self.extent_order) as usize] += 1 << order;
            }
        }
        for (index, extent) in self.extents.iter().enumerate() {
            if extent.free_units != counted[index] {
                return Err(format!(
                    "PC-13: extent {index} counts {} free units, has {}",
                    extent.free_units, counted[index]
                ));
            }
            if extent.committed == self.uncommitted.contains(&(index as u32)) {
                return Err(format!(
                    "PC-14: extent {index} is committed and uncommitted"
                ));
            }
        }
        if self.warm.len() > self.warm_max || !self.warm.is_subset(&self.uncommitted) {
            return Err(format!(
                "PC-14: {} warm extents, at most {}",
                self.warm.len(),
                self.warm_max
            ));
        }
        let sum: u64 = counted.iter().map(|units| u64::from(*units)).sum();
        if sum != self.free_units {
            Err(format!(
                "PC-13: {sum} free units, {} counted",
                self.free_units
            ))
        } else {
            Ok(())
        }
    }

    /// Bytes of committed extents.
    pub(crate) fn committed_bytes(&self) -> u64 {
        (self.extents.len() - self.uncommitted.len()) as u64 * self.extent_bytes()
    }
}
