//! CAR: ARC with clocks in place of its LRU lists, so that a hit sets one bit.
//!
//! # How it works
//! T1 and T2 are clocks with one reference bit; a page of T1 found with its bit set moves to T2.
//! Ghosts and target as in ARC ([`crate::adaptive_lists`]), except that the target moves after the
//! victim was chosen.
//!
//! # Costs
//! 24 bytes a frame and about 36 bytes a ghost, as many ghosts as frames; a hit stores one bit.
//!
//! # Source
//! S. Bansal, D. Modha, "CAR: clock with adaptive replacement", FAST 2004, figure 2.

use crate::adaptive_lists::{AdaptiveLists, OFTEN, ONCE};
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Car(AdaptiveLists);

impl Car {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self(AdaptiveLists::new(capacity))
    }

    fn remembered<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
        frame: FrameIdx,
        list: usize,
    ) -> Option<(FrameIdx, PageId)> {
        if frames.try_claim(frame) == Claim::Busy {
            return None;
        }
        let AdaptiveLists { lists, ghosts, .. } = &mut self.0;
        let (_, page) = lists.remove(frame)?;
        ghosts.push(list, page, lists.frame_weight(frame));
        Some((frame, page))
    }

    /// Turns the clocks until a page without its bit is claimed.
    fn replace<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        // Each frame is met at most twice with its bit set (once in T1, once in T2), then without.
        for _ in 0..3 * (self.0.lists.len(ONCE) + self.0.lists.len(OFTEN)) {
            let AdaptiveLists { lists, target, .. } = &mut self.0;
            let once = lists.weight(ONCE) as f64 >= target.max(1.0);
            let list = if once || lists.len(OFTEN) == 0 {
                ONCE
            } else {
                OFTEN
            };
            let Some(frame) = lists.back(list) else {
                break;
            };
            if frames.is_busy(frame) {
                lists.move_front(list, frame);
                continue;
            }
            if frames.usage(frame) == 0 {
                if let Some(victim) = self.remembered(frames, frame, list) {
                    return Some(victim);
                }
                self.0.lists.move_front(list, frame);
            } else {
                frames.set_usage(frame, 0);
                lists.move_front(OFTEN, frame);
            }
        }
        // Everything on the list of choice is busy.
        [ONCE, OFTEN]
            .into_iter()
            .find_map(|list| self.0.lists.evict_back(list, frames))
    }
}

impl<F: Frames + ?Sized> Policy<F> for Car {
    fn hit_kind(&self) -> HitKind {
        HitKind::SetBit
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        let list = self.0.learn(page).map_or(ONCE, |_| OFTEN);
        let weight = frames.weight(frame);
        self.0.lists.push_front(list, frame, page, weight);
        frames.set_usage(frame, 0);
        self.0.trim();
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let shrinking = self.0.lists.total_weight() > self.0.capacity;
        let victim = self.replace(frames);
        if shrinking {
            self.0.trim();
        }
        victim
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.0.lists.remove(frame);
    }

    fn forget(&mut self, page: PageId) {
        self.0.ghosts.remove(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.0.resize(capacity);
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.0.check()
    }
}
