//! W-TinyLFU: a small LRU window; its victims enter the main part only if they are asked for more
//! often than the page they would replace.
//!
//! # How it works
//! Window: LRU of 1 % of the capacity. Main: segmented LRU with 80 % protected. A sketch counts all
//! accesses of the recent past. When room is needed and the window is full, its oldest page is the
//! candidate: it replaces the oldest page on probation if the sketch has seen it more often, else
//! it leaves itself.
//!
//! # Costs
//! 24 bytes a frame and 8 to 16 bytes for the sketch; a hit moves one or two nodes and counts in
//! four rows.
//!
//! # Source
//! G. Einziger, R. Friedman, B. Manes, "TinyLFU: a highly efficient cache admission policy", ACM
//! TOS 13(4), 2017.
//!
//! # Deviations
//! The window is fixed at 1 %; Caffeine's hill climbing is left out.

use crate::lists::Lists;
use crate::sketch::Sketch;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct WTinyLfu {
    lists: Lists,
    sketch: Sketch,
    window_share: u64,
    protected_share: u64,
    capacity: u64,
}

impl WTinyLfu {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        let mut policy = Self {
            lists: Lists::new(3),
            // Sizes in bytes are counted as pages of 4 KiB.
            sketch: Sketch::new(if capacity >= 1 << 20 {
                capacity >> 12
            } else {
                capacity
            }),
            window_share: 0,
            protected_share: 0,
            capacity,
        };
        policy.set_capacity(capacity);
        policy
    }

    fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.window_share = (capacity / 100).max(1);
        self.protected_share = (capacity - self.window_share) * 8 / 10;
    }

    /// Moves the oldest of the window to probation while the window is above its share.
    #[inline]
    fn spill_window(&mut self) {
        while self.lists.weight(WINDOW) > self.window_share && self.lists.len(WINDOW) > 1 {
            let Some(oldest) = self.lists.back(WINDOW) else {
                break;
            };
            self.lists.move_front(PROBATION, oldest);
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for WTinyLfu {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        if hint == Hint::Normal {
            self.sketch.add(page);
        }
        self.lists
            .push_front(WINDOW, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
        self.spill_window();
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if !self.lists.holds(frame, page) {
            return;
        }
        self.sketch.add(page);
        if self.lists.list_of(frame) == Some(WINDOW) {
            self.lists.move_front(WINDOW, frame);
            return;
        }
        self.lists.move_front(PROTECTED, frame);
        while self.lists.weight(PROTECTED) > self.protected_share {
            let Some(oldest) = self.lists.back(PROTECTED) else {
                break;
            };
            self.lists.move_front(PROBATION, oldest);
        }
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let main = if self.lists.len(PROBATION) > 0 {
            PROBATION
        } else {
            PROTECTED
        };
        // Full is where another page of the oldest one's size would not fit: shares of bytes are
        // rarely whole pages.
        let oldest = self.lists.back(WINDOW).filter(|oldest| {
            let weight = self.lists.weight(WINDOW) + u64::from(frames.weight(*oldest));
            weight > self.window_share
        });
        if let Some(candidate) = oldest {
            let admitted = self.lists.back(main).is_some_and(|victim| {
                let estimate = |frame| self.sketch.estimate(self.lists.page(frame));
                estimate(candidate) > estimate(victim)
            });
            if !admitted {
                if let Some(victim) = self.lists.evict_back(WINDOW, frames) {
                    return Some(victim);
                }
            } else if let Some(victim) = self.lists.evict_back(main, frames) {
                self.lists.move_front(PROBATION, candidate);
                return Some(victim);
            }
        }
        [main, PROTECTED, WINDOW, PROBATION]
            .into_iter()
            .find_map(|list| self.lists.evict_back(list, frames))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn resize(&mut self, capacity: u64) {
        self.set_capacity(capacity);
        self.spill_window();
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()
    }
}
