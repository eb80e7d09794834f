//! LFU: the page with the fewest hits since it came in leaves.
//!
//! # How it works
//! Counts start at 1 and are forgotten on eviction. Among equal counts the page that *reached* its
//! count first leaves: the order is (count, moment of reaching it). Scanned pages start at 0.
//!
//! # Costs
//! About 60 bytes a frame (an ordered set); a hit moves an entry in logarithmic time.
//!
//! # Source
//! A. Aho, P. Denning, J. Ullman, "Principles of optimal page replacement", JACM 18(1), 1971.
//!
//! # Deviations
//! Counts without memory ("in-cache LFU"): variants that remember counts of evicted pages or break
//! ties by recency give other numbers.

use std::collections::BTreeSet;

use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
#[derive(Debug, Default)]
pub struct Lfu {
    slots: Slots,
    /// Count and moment of every frame.
    keys: Vec<(u64, u64)>,
    order: BTreeSet<(u64, u64, u32)>,
    moment: u64,
}

impl Lfu {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn place(&mut self, frame: FrameIdx, count: u64) {
        self.moment += 1;
        self.keys[frame.0 as usize] = (count, self.moment);
        self.order.insert((count, self.moment, frame.0));
    }

    fn unplace(&mut self, frame: FrameIdx) -> u64 {
        let (count, moment) = self.keys[frame.0 as usize];
        self.order.remove(&(count, moment, frame.0));
        count
    }
}

impl<F: Frames + ?Sized> Policy<F> for Lfu {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        self.slots.insert(frame, page);
        if self.keys.len() < self.slots.len() {
            self.keys.resize(self.slots.len(), (0, 0));
        }
        frames.set_usage(frame, 0);
        self.place(frame, u64::from(hint != Hint::Scan));
    }

    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.slots.contains(frame) && self.slots.page(frame) == page {
            let count = self.unplace(frame);
            self.place(frame, count + 1);
        }
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let claimed = |&&(_, _, frame): &&(u64, u64, u32)| {
            frames.try_claim(FrameIdx(frame)) == Claim::Claimed
        };
        let &(count, moment, frame) = self.order.iter().find(claimed)?;
        self.order.remove(&(count, moment, frame));
        let frame = FrameIdx(frame);
        self.slots.remove(frame).map(|page| (frame, page))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        if self.slots.remove(frame).is_some() {
            self.unplace(frame);
        }
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.slots.check()?;
        let consistent = self.order.iter().all(|&(count, moment, frame)| {
            self.slots.contains(FrameIdx(frame)) && self.keys[frame as usize] == (count, moment)
        });
        if !consistent || self.order.len() != self.slots.resident() {
            return Err(format!(
                "{} ordered frames, {} resident ones, consistent: {consistent}",
                self.order.len(),
                self.slots.resident()
            ));
        }
        Ok(())
    }
}
