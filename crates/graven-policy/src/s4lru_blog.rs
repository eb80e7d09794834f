//! S4LRU as a blog post told it: a page climbs only when it is hit at the head of its list.
//!
//! # How it works
//! Four lists. A hit moves a page to the head of its own list; only a page that already was the
//! head goes to the head of the next higher list. Lists 1 to 3 hold a quarter of the capacity each
//! and drop their tails to the list below; list 0 takes what is left. Victims come from the lowest
//! list. Nearly LRU in practice.
//!
//! # Costs
//! 24 bytes a frame; a hit moves one to four nodes.
//!
//! # Source
//! The wording of the founding study of this project (document 000), after Q. Huang et al., "An
//! analysis of Facebook photo caching", SOSP 2013, which means something else (see `slru`).

use crate::lists::Lists;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const LISTS: usize = 4;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct S4LruBlog {
    lists: Lists,
    share: u64,
}

impl S4LruBlog {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            lists: Lists::new(LISTS),
            share: (capacity / LISTS as u64).max(1),
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for S4LruBlog {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        self.lists.push_front(0, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if !self.lists.holds(frame, page) {
            return;
        }
        let Some(list) = self.lists.list_of(frame) else {
            return;
        };
        if self.lists.front(list) != Some(frame) {
            self.lists.move_front(list, frame);
            return;
        }
        let above = (list + 1).min(LISTS - 1);
        self.lists.move_front(above, frame);
        for list in (1..=above).rev() {
            while self.lists.weight(list) > self.share {
                let Some(tail) = self.lists.back(list) else {
                    break;
                };
                self.lists.move_front(list - 1, tail);
            }
        }
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        (0..LISTS).find_map(|list| self.lists.evict_back(list, frames))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn resize(&mut self, capacity: u64) {
        self.share = (capacity / LISTS as u64).max(1);
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()
    }
}
