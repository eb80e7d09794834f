//! Compaction: making a block or an extent of the arena whole by moving what lies in it.
//!
//! # How it works
//! Victims in the policy's order free enough bytes, but rarely next to each other. The block that
//! has the most free units already and holds nothing pinned is taken out of circulation, its pages
//! move to free blocks elsewhere (a copy under an exclusive lock; slot and policy order stay), and
//! where no block is free they are evicted.
//!
//! # Invariants
//! * PC-16: moving a page changes its frame and version, nothing else; readers under way start
//!   again.
//!
//! # Costs
//! A copy of the pages moved: 5 us per 64 KiB. Needed only when the mix of sizes changes or memory
//! shrinks.
#![expect(unsafe_code, reason = "moving a page copies frame memory")]

use crate::cache::PageCache;
use crate::cache::frame_pool::{By, FramePool};
use crate::page_ref::SizeClass;
use crate::slots::{FLAG_DIRTY, FLAG_ORDERED};
use crate::word::{self, FrameAddress, state};
use graven_policy::{Admission, FrameIdx, PageId};
use std::sync::atomic::Ordering;

/// Most candidates looked at for one block.
const CANDIDATES: usize = 16;

impl PageCache {
    /// Frees one extent and gives it back to the budget.
    pub(crate) fn shrink_by_extent(&self, frame_pool: &mut FramePool, by: By) -> bool {
        if give_back_extent(frame_pool) {
            return true;
        }
        frame_pool.dissolve_free();
        while !give_back_extent(frame_pool) {
            if frame_pool.arena.free_bytes() >= frame_pool.arena.extent_bytes() {
                let order = frame_pool.arena.extent_order();
                if self.make_aligned(frame_pool, order) && give_back_extent(frame_pool) {
                    return true;
                }
            }
            match self.evict_one(frame_pool, Admission::default(), by) {
                Some(slot) => frame_pool.dissolve(slot),
                None => return false,
            }
        }
        true
    }

    /// Makes a block of `class` free where enough bytes are free but scattered.
    pub(crate) fn make_block(&self, frame_pool: &mut FramePool, class: SizeClass) -> bool {
        let order = u32::from(class.index());
        if order <= frame_pool.arena.extent_order() {
            return self.make_aligned(frame_pool, order);
        }
        let length = 1 << (order - frame_pool.arena.extent_order());
        let Some(last) = frame_pool.arena.extent_count().checked_sub(length) else {
            return false;
        };
        let committed = |first: &u32| {
            (*first..first + length).all(|extent| frame_pool.arena.is_committed(extent))
        };
        let free = |first: u32| {
            (first..first + length)
                .map(|extent| frame_pool.arena.free_units_of(extent))
                .sum::<u32>()
        };
        let step = (length as usize / 4).max(1);
        let windows = (0..=last)
            .step_by(step)
            .filter(committed)
            .map(|first| (free(first), first));
        let windows = largest(windows);
        windows.into_iter().any(|first| {
            self.evacuate(
                frame_pool,
                first << frame_pool.arena.extent_order(),
                1 << order,
            )
        })
    }

    /// Makes an aligned block of `order`, at most an extent, free.
    fn make_aligned(&self, frame_pool: &mut FramePool, order: u32) -> bool {
        let arena = &frame_pool.arena;
        let whole = 1 << arena.extent_order();
        let extents = (0..arena.extent_count())
            .filter(|extent| arena.is_committed(*extent) && arena.free_units_of(*extent) < whole)
            .map(|extent| (arena.free_units_of(extent), extent));
        let extents = largest(extents);
        let blocks = extents.into_iter().flat_map(|extent| {
            let first = extent << frame_pool.arena.extent_order();
            (first..first + whole).step_by(1 << order)
        });
        let mut best: Vec<(u32, u32)> = blocks
            .filter_map(|unit| {
                self.movable_units(frame_pool, unit, 1 << order)
                    .map(|units| (units, unit))
            })
            .collect();
        best.sort_unstable();
        best.truncate(CANDIDATES);
        best.into_iter()
            .any(|(_, unit)| self.evacuate(frame_pool, unit, 1 << order))
    }

    /// Units of pages in a range if all of them lie inside it and could move now.
    fn movable_units(&self, frame_pool: &FramePool, first: u32, units: u32) -> Option<u32> {
        let (mut at, mut occupied) = (first, 0);
        while at < first + units {
            let Some(slot) = frame_pool.slots().of_frame(at) else {
                at += 1;
                continue;
            };
            let bound = frame_pool.slots().get(slot);
            let length = 1 << bound.place().class();
            let word = bound.entry()?.word().load(Ordering::Relaxed);
            if !word::is_claimable(word) || length > units {
                return None;
            }
            occupied += length;
            at += length;
        }
        // A range inside a larger frame has neither frames nor free units of its own.
        (occupied + frame_pool.arena.free_units_in(first, units) == units).then_some(occupied)
    }

    /// Empties a range; whether it is free now.
    fn evacuate(&self, frame_pool: &mut FramePool, first: u32, units: u32) -> bool {
        let mut blocks = frame_pool.arena.isolate(first, units);
        let mut at = first;
        let mut emptied: u32 = blocks.iter().map(|(_, order)| 1 << order).sum();
        while at < first + units {
            let Some(slot) = frame_pool.slots().of_frame(at) else {
                at += 1;
                continue;
            };
            let place = frame_pool.slots().get(slot).place();
            if 1 << place.class() > units || !self.vacate(frame_pool, slot) {
                break;
            }
            blocks.push((place.frame(), u32::from(place.class())));
            emptied += 1 << place.class();
            at += 1 << place.class();
        }
        for (unit, order) in blocks {
            frame_pool.arena.put(unit, order);
        }
        emptied == units
    }

    /// Moves the page in `slot` to another frame, or evicts it; its block then belongs to no page.
    fn vacate(&self, frame_pool: &mut FramePool, slot: u32) -> bool {
        let bound = frame_pool.frames.slots.get(slot);
        let Some(entry) = bound.entry() else {
            return false;
        };
        let word = entry.word();
        let seen = word.load(Ordering::Acquire);
        let from = bound.place();
        if word::address_of(seen) != from || !word::is_claimable(seen) {
            return false;
        }
        let order = u32::from(from.class());
        let target = if order <= frame_pool.arena.extent_order() {
            frame_pool.arena.take(order)
        } else {
            None
        };
        let Some(unit) = target else {
            return self.evict_slot(frame_pool, slot, seen);
        };
        let was = word::state_of(seen);
        let locked = if was == state::RESIDENT {
            word::try_lock(word, seen)
        } else {
            word::begin_verify(word, seen)
        };
        if !locked {
            frame_pool.arena.put(unit, u32::from(from.class()));
            return false;
        }
        let to = FrameAddress::new(from.class(), unit);
        let bytes = crate::UNIT_BYTES << from.class();
        // SAFETY: US-4: the word is EXCLUSIVE, so this thread owns the old frame's bytes; the new
        // block was taken from the arena and no page has it; both lie in the region.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.frame_start(from.frame()),
                self.frame_start(unit),
                bytes,
            )
        };
        frame_pool.frames.slots.displace(from);
        frame_pool.frames.slots.place(slot, to);
        word::unlock(word, to, was);
        frame_pool.relocations += 1;
        self.wake_waiters(entry);
        true
    }

    fn evict_slot(&self, frame_pool: &mut FramePool, slot: u32, seen: u64) -> bool {
        let bound = frame_pool.frames.slots.get(slot);
        let (Some(entry), Some(page)) = (bound.entry(), bound.page()) else {
            return false;
        };
        if bound.has(FLAG_DIRTY) {
            frame_pool.frames.note_due(slot);
            return false;
        }
        if !word::claim(entry.word(), seen) {
            return false;
        }
        let bound = frame_pool.frames.slots.get(slot);
        let place = bound.place();
        if bound.lower(FLAG_ORDERED) {
            frame_pool
                .policy
                .on_remove(&frame_pool.frames, FrameIdx(slot), PageId(page.0));
        }
        self.empty_frame(frame_pool, slot, Some(By::Fault));
        frame_pool.forget_frame(slot, place);
        true
    }
}

/// The places with the most free units, best first.
fn largest(places: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut best: Vec<(u32, u32)> = Vec::with_capacity(CANDIDATES + 1);
    for place in places {
        if best.len() == CANDIDATES && best.last().is_some_and(|worst| place.0 <= worst.0) {
            continue;
        }
        let at = best.partition_point(|better| better.0 >= place.0);
        best.insert(at, place);
        best.truncate(CANDIDATES);
    }
    best.into_iter().map(|(_, place)| place).collect()
}

fn give_back_extent(frame_pool: &mut FramePool) -> bool {
    match frame_pool.arena.decommit() {
        Some(bytes) => {
            frame_pool.held.shrink(bytes);
            true
        }
        None => false,
    }
}
