//! The cache's frames as a policy sees them.
//!
//! # How it works
//! Usage counts live in the entry words, so a hit touches nothing else; stamps live in an array by
//! frame that exists only while a policy wants stamps. A claim is one compare-and-swap on the entry
//! word. A page that was read ahead and not used yet is spared once, so that a batch is not evicted
//! before its first use. A dirty page is busy like a pinned one, and put on the list of pages to be
//! written.
//!
//! # Concurrency
//! Used under the frame pool lock. Words change under it all the time; answers are snapshots.

use crate::cache::running::Owners;
use crate::page_ref::{SizeClass, UNIT_BYTES};
use crate::pools::PoolState;
use crate::slots::{FLAG_AHEAD, FLAG_DIRTY, FLAG_DUE, FLAG_SPARED, Growing, Slots};
use crate::word::{self, state};
use graven_policy::{Claim, FrameIdx, Frames};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most pages that may be due.
pub(crate) const DUE_MAX: usize = 64;

/// Coarse times of last hits, by first unit of the frame.
pub(crate) struct LastHitTimes {
    pub(crate) epoch: AtomicU32,
    by_frame: Growing<AtomicU32>,
}

impl LastHitTimes {
    pub(crate) fn new() -> LastHitTimes {
        LastHitTimes {
            epoch: AtomicU32::new(1),
            by_frame: Growing::new(),
        }
    }

    /// The page in `frame` is used now.
    #[inline]
    pub(crate) fn stamp(&self, frame: u32) {
        let now = self.epoch.load(Ordering::Relaxed);
        let stamp = self.by_frame.get(frame as usize);
        if stamp.load(Ordering::Relaxed) != now {
            stamp.store(now, Ordering::Relaxed);
        }
    }
}

/// Implements [`Frames`] over slots and entry words.
pub(crate) struct SlotFrames {
    pub(crate) slots: Arc<Slots>,
    pub(crate) stamps: Arc<LastHitTimes>,
    pub(crate) owners: Arc<Owners>,
    /// Fixed pools, where the cache has them.
    pub(crate) pools: Option<PoolState>,
    /// Claims of pages of running transactions that are still to fail.
    pub(crate) pass_over: u32,
    /// Frames weigh 1 instead of their bytes: in the synchronous mode they are all alike, as in a
    /// simulation.
    pub(crate) alike: bool,
    /// Slots of dirty pages that a victim search came upon.
    pub(crate) due: Vec<u32>,
}

impl SlotFrames {
    /// A dirty page's frame was wanted: it is to be written soon.
    pub(crate) fn note_due(&mut self, slot: u32) {
        if self.due.len() < DUE_MAX && !self.slots.get(slot).raise(FLAG_DUE) {
            self.due.push(slot);
        }
    }

    /// Whether the page in `slot` is of another pool than the one that victims come from.
    fn is_of_other_pool(&self, slot: u32) -> bool {
        self.pools.as_ref().is_some_and(|pools| {
            let class = SizeClass::new(self.slots.get(slot).place().class());
            class.is_some_and(|class| pools.passes_over(class))
        })
    }

    fn word(&self, frame: FrameIdx) -> Option<(u64, &'static std::sync::atomic::AtomicU64)> {
        let slot = self.slots.get(frame.0);
        let word = slot.entry()?.word();
        // Acquired, so that flags raised before the last unlocking are seen (PC-23).
        let value = word.load(Ordering::Acquire);
        (word::address_of(value) == slot.place()).then_some((value, word))
    }
}

impl Frames for SlotFrames {
    fn frame_count(&self) -> usize {
        self.slots.count() as usize
    }

    fn usage(&self, frame: FrameIdx) -> u8 {
        self.word(frame)
            .map_or(0, |(value, _)| word::usage_of(value))
    }

    fn set_usage(&self, frame: FrameIdx, usage: u8) {
        if let Some((_, word)) = self.word(frame) {
            word::set_usage(word, self.slots.get(frame.0).place(), usage);
        }
    }

    fn stamp(&self, frame: FrameIdx) -> u32 {
        let place = self.slots.get(frame.0).place();
        self.stamps
            .by_frame
            .get(place.frame() as usize)
            .load(Ordering::Relaxed)
    }

    fn epoch(&self) -> u32 {
        self.stamps.epoch.load(Ordering::Relaxed)
    }

    fn weight(&self, frame: FrameIdx) -> u32 {
        if self.alike {
            return 1;
        }
        (UNIT_BYTES as u32) << self.slots.get(frame.0).place().class()
    }

    fn is_busy(&self, frame: FrameIdx) -> bool {
        if self.is_of_other_pool(frame.0) {
            return true;
        }
        self.word(frame).is_none_or(|(value, _)| {
            // A simulation's newcomer is there at once; here the policy hears of it while it is
            // being read.
            let is_newcomer = self.alike && word::state_of(value) == state::READING;
            !word::is_claimable(value) && !is_newcomer
        })
    }

    fn try_claim(&mut self, frame: FrameIdx) -> Claim {
        let Some((value, word)) = self.word(frame) else {
            return Claim::Busy;
        };
        if !word::is_claimable(value) || self.is_of_other_pool(frame.0) {
            return Claim::Busy;
        }
        let slot = self.slots.get(frame.0);
        if self.pass_over > 0 && self.owners.is_running(slot.place().frame()) {
            self.pass_over -= 1;
            return Claim::Busy;
        }
        if slot.has(FLAG_AHEAD) && !slot.raise(FLAG_SPARED) {
            return Claim::Busy;
        }
        if slot.has(FLAG_DIRTY) {
            self.note_due(frame.0);
            return Claim::Busy;
        }
        debug_assert_ne!(word::state_of(value), state::CLAIMED);
        if word::claim(word, value) {
            Claim::Claimed
        } else {
            Claim::Busy
        }
    }

    fn pass_over_running(&mut self, pages: u32) {
        self.pass_over = pages;
    }
}
