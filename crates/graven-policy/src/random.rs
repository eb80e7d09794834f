//! RANDOM: the victim is a drawn slot.
//!
//! # How it works
//! Slots are drawn until one is resident and can be claimed; after [`DRAWS`] failures (an index
//! space that is mostly empty, or many pins) the slots after the last draw are tried in order.
//!
//! # Costs
//! 8 bytes and 1 bit a frame; nothing on a hit.
//!
//! # Source
//! L. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966 (class 1).

use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use graven_types::rng::SplitMix64;

/// Draws before the slots are tried in order.
const DRAWS: usize = 32;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Random {
    slots: Slots,
    rng: SplitMix64,
}

impl Random {
    /// An empty cache whose draws come from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            slots: Slots::default(),
            rng: SplitMix64::new(seed),
        }
    }

    fn take<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
        frame: FrameIdx,
    ) -> Option<(FrameIdx, PageId)> {
        if !self.slots.contains(frame) || frames.try_claim(frame) == Claim::Busy {
            return None;
        }
        self.slots.remove(frame).map(|page| (frame, page))
    }
}

impl<F: Frames + ?Sized> Policy<F> for Random {
    fn hit_kind(&self) -> HitKind {
        HitKind::None
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        self.slots.insert(frame, page);
        frames.set_usage(frame, 0);
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        if self.slots.resident() == 0 {
            return None;
        }
        let mut at = 0;
        for _ in 0..DRAWS {
            at = self.rng.place(self.slots.len());
            if let Some(victim) = self.take(frames, FrameIdx(at as u32)) {
                return Some(victim);
            }
        }
        for _ in 0..self.slots.resident() {
            let slot = self.slots.next_resident(at)?;
            if let Some(victim) = self.take(frames, FrameIdx(slot as u32)) {
                return Some(victim);
            }
            at = slot + 1;
        }
        None
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.slots.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.slots.check()
    }
}
