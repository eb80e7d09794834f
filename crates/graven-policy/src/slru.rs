//! Segmented LRU: segments of equal share; a hit moves a page to the next higher one.
//!
//! # How it works
//! A hit in segment `k` moves the page to the head of segment `min(k + 1, top)`. A segment above
//! its share drops its tail to the head of the next lower one, and so on; a cascade that reaches
//! segment 0 trims it to its share, and what falls out leaves the cache ([`Policy::has_surplus`]).
//! A newcomer enters the lowest segment with room, so that warming up fills all of them, else
//! segment 0.
//!
//! # Costs
//! 24 bytes a frame; a hit moves one node per segment of the cascade.
//!
//! # Source
//! R. Karedla, J. Love, B. Wherry, "Caching strategies to improve disk system performance", IEEE
//! Computer 27(3), 1994; four segments: Q. Huang et al., "An analysis of Facebook photo caching",
//! SOSP 2013.

use crate::lists::Lists;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Slru {
    lists: Lists,
    segments: usize,
    share: u64,
    /// A cascade reached segment 0 while it was above its share.
    overflowed: bool,
}

impl Slru {
    /// An empty cache of `capacity` with `segments` segments.
    #[must_use]
    pub fn new(segments: usize, capacity: u64) -> Self {
        let share = (capacity / segments as u64).max(1);
        Self {
            lists: Lists::new(segments),
            segments,
            share,
            overflowed: false,
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for Slru {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let weight = frames.weight(frame);
        let has_room = |&s: &usize| self.lists.weight(s) + u64::from(weight) <= self.share;
        let segment = match hint {
            Hint::Normal => (0..self.segments).find(has_room).unwrap_or(0),
            Hint::Scan | Hint::Prefetch => 0,
        };
        self.lists.push_front(segment, frame, page, weight);
        frames.set_usage(frame, 0);
        self.overflowed = false;
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if !self.lists.holds(frame, page) {
            return;
        }
        let Some(from) = self.lists.list_of(frame) else {
            return;
        };
        let to = (from + 1).min(self.segments - 1);
        self.lists.move_front(to, frame);
        let mut segment = to;
        while segment > 0 && self.lists.weight(segment) > self.share {
            while self.lists.weight(segment) > self.share {
                let Some(tail) = self.lists.back(segment) else {
                    break;
                };
                self.lists.move_front(segment - 1, tail);
            }
            segment -= 1;
            self.overflowed |= segment == 0;
        }
    }

    fn has_surplus(&self) -> bool {
        self.overflowed && self.lists.weight(0) > self.share
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        (0..self.segments).find_map(|segment| self.lists.evict_back(segment, frames))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn resize(&mut self, capacity: u64) {
        self.share = (capacity / self.segments as u64).max(1);
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()
    }
}
