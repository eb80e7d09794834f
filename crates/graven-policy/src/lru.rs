//! LRU: the page that was not used for the longest time leaves.
//!
//! # How it works
//! One list in order of the last hit. Scanned pages wait on a list of their own, first in, first
//! out, until an ordinary hit; victims come from it while it holds more than 1/16 of the capacity,
//! so that a scan passes through a small part of the cache.
//!
//! # Costs
//! 24 bytes a frame; a hit moves one node.
//!
//! # Source
//! R. Mattson, J. Gecsei, D. Slutz, I. Traiger, "Evaluation techniques for storage hierarchies",
//! IBM Systems Journal 9(2), 1970.

use crate::lists::Lists;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const RECENT: usize = 0;
const SCANNED: usize = 1;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Lru {
    lists: Lists,
    scan_share: u64,
}

impl Lru {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            lists: Lists::new(2),
            scan_share: capacity / 16,
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for Lru {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let list = if hint == Hint::Scan { SCANNED } else { RECENT };
        self.lists
            .push_front(list, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.lists.holds(frame, page) {
            self.lists.move_front(RECENT, frame);
        }
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let over = self.lists.weight(SCANNED) > self.scan_share;
        let (first, second) = if over {
            (SCANNED, RECENT)
        } else {
            (RECENT, SCANNED)
        };
        self.lists
            .evict_back(first, frames)
            .or_else(|| self.lists.evict_back(second, frames))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn resize(&mut self, capacity: u64) {
        self.scan_share = capacity / 16;
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()
    }
}
