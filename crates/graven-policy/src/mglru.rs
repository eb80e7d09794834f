//! Multi-generational LRU: pages wait in four generations; a used one skips ahead when its
//! generation is due.
//!
//! # How it works
//! A newcomer enters the third generation from the front (the second oldest), a scanned page the
//! oldest. Victims come from the oldest: a page with hits moves up by as many generations as it has
//! hits, at most to the youngest, and its count starts anew; a page without leaves. When the oldest
//! generation is empty the next one takes its place and a new youngest one is opened.
//!
//! # Costs
//! 24 bytes a frame; a hit is one saturating count.
//!
//! # Source
//! Y. Zhao, "Multi-Gen LRU" (Linux 6.1, `Documentation/mm/multigen_lru.rst`).
//!
//! # Deviations
//! Ageing is driven by evictions alone; there is no page-table walk and no refault feedback between
//! tiers.

use crate::lists::Lists;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const GENERATIONS: usize = 4;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct MgLru {
    lists: Lists,
    /// List of the oldest generation; the following ones are younger, wrapping around.
    oldest: usize,
}

impl MgLru {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lists: Lists::new(GENERATIONS),
            oldest: 0,
        }
    }

    /// The list of the generation `age` steps younger than the oldest.
    fn younger(&self, age: usize) -> usize {
        (self.oldest + age) % GENERATIONS
    }
}

impl Default for MgLru {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Frames + ?Sized> Policy<F> for MgLru {
    fn hit_kind(&self) -> HitKind {
        HitKind::Count {
            max: GENERATIONS as u8 - 1,
        }
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let list = self.younger(usize::from(hint != Hint::Scan));
        self.lists
            .push_front(list, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let resident: usize = (0..GENERATIONS).map(|list| self.lists.len(list)).sum();
        for _ in 0..2 * resident + GENERATIONS {
            let Some(frame) = self.lists.back(self.oldest) else {
                self.oldest = self.younger(1);
                continue;
            };
            let hits = usize::from(frames.usage(frame));
            if frames.is_busy(frame) {
                self.lists.move_front(self.younger(1), frame);
            } else if hits > 0 {
                frames.set_usage(frame, 0);
                self.lists
                    .move_front(self.younger(hits.min(GENERATIONS - 1)), frame);
            } else if frames.try_claim(frame) == Claim::Claimed {
                return self.lists.remove(frame).map(|(_, page)| (frame, page));
            }
        }
        (0..GENERATIONS).find_map(|age| self.lists.evict_back(self.younger(age), frames))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()
    }
}
