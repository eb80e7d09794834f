//! CAR: ARC with clocks in place of its LRU lists, so that a hit sets one bit.
//!
//! # How it works
//! T1 and T2 are clocks with one reference bit; a page of T1 found with its bit set moves to T2. Ghosts and
//! target as in ARC, except that the target moves after the victim was chosen.
//!
//! # Costs
//! 24 bytes a frame and about 36 bytes a ghost, as many ghosts as frames; a hit stores one bit.
//!
//! # Source
//! S. Bansal, D. Modha, "CAR: clock with adaptive replacement", FAST 2004, figure 2.

use crate::ghost::Ghost;
use crate::lists::Lists;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const ONCE: usize = 0;
const OFTEN: usize = 1;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Car {
    lists: Lists,
    ghosts: Ghost,
    capacity: u64,
    /// Target weight of T1.
    target: f64,
}

impl Car {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            lists: Lists::new(2),
            ghosts: Ghost::new(2),
            capacity,
            target: 0.0,
        }
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
        let (_, page) = self.lists.remove(frame)?;
        self.ghosts.push(list, page, self.lists.frame_weight(frame));
        Some((frame, page))
    }

    /// Turns the clocks until a page without its bit is claimed.
    fn replace<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        // Each frame is met at most twice with its bit set (once in T1, once in T2), then without.
        for _ in 0..3 * (self.lists.len(ONCE) + self.lists.len(OFTEN)) {
            let once = self.lists.weight(ONCE) as f64 >= self.target.max(1.0);
            let list = if once || self.lists.len(OFTEN) == 0 {
                ONCE
            } else {
                OFTEN
            };
            let Some(frame) = self.lists.back(list) else {
                break;
            };
            if frames.is_busy(frame) {
                self.lists.move_front(list, frame);
                continue;
            }
            if frames.usage(frame) == 0 {
                if let Some(victim) = self.remembered(frames, frame, list) {
                    return Some(victim);
                }
                self.lists.move_front(list, frame);
            } else {
                frames.set_usage(frame, 0);
                self.lists.move_front(OFTEN, frame);
            }
        }
        // Everything on the list of choice is busy.
        [ONCE, OFTEN]
            .into_iter()
            .find_map(|list| self.lists.evict_back(list, frames))
    }

    fn trim(&mut self) {
        while self.lists.weight(ONCE) + self.ghosts.weight(ONCE) > self.capacity
            && self.ghosts.pop_oldest(ONCE)
        {}
        while self.lists.total_weight() + self.ghosts.weight(ONCE) + self.ghosts.weight(OFTEN)
            > 2 * self.capacity
            && (self.ghosts.pop_oldest(OFTEN) || self.ghosts.pop_oldest(ONCE))
        {}
    }
}

impl<F: Frames + ?Sized> Policy<F> for Car {
    fn hit_kind(&self) -> HitKind {
        HitKind::SetBit
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        let (b1, b2) = (self.ghosts.len(ONCE) as f64, self.ghosts.len(OFTEN) as f64);
        let list = match self.ghosts.remove(page) {
            None => ONCE,
            Some(ONCE) => {
                self.target = (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64);
                OFTEN
            }
            Some(_) => {
                self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
                OFTEN
            }
        };
        self.lists
            .push_front(list, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
        self.trim();
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let shrinking = self.lists.total_weight() > self.capacity;
        let victim = self.replace(frames);
        if shrinking {
            self.trim();
        }
        victim
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn forget(&mut self, page: PageId) {
        self.ghosts.remove(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.target = self.target.min(capacity as f64);
        self.trim();
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()?;
        self.ghosts.check()?;
        let ghosts = self.ghosts.weight(ONCE) + self.ghosts.weight(OFTEN);
        if ghosts > 2 * self.capacity + 8 {
            return Err(format!(
                "PO-5: ghosts of {ghosts} in a cache of {}",
                self.capacity
            ));
        }
        Ok(())
    }
}
