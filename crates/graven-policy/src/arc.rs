//! ARC: two LRU lists, for pages seen once and more often, with a target learnt from their ghosts.
//!
//! # How it works
//! T1 holds pages seen once, T2 pages seen again ([`crate::adaptive_lists`]). A page found among
//! the ghosts enters T2. Victims come from T1 when it is above its target, else from T2.
//!
//! # Costs
//! 24 bytes a frame and about 36 bytes a ghost, as many ghosts as frames; a hit moves one node.
//!
//! # Source
//! N. Megiddo, D. Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4.

use crate::adaptive_lists::{AdaptiveLists, OFTEN, ONCE};
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The page was a ghost of T1, of T2.
const IN_B1: Admission = Admission(1);
const IN_B2: Admission = Admission(2);

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Arc(AdaptiveLists);

impl Arc {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self(AdaptiveLists::new(capacity))
    }

    /// Takes a victim from T1 or T2, whichever the target says, and remembers it.
    fn replace<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
        incoming: Admission,
    ) -> Option<(FrameIdx, PageId)> {
        let AdaptiveLists { lists, target, .. } = &self.0;
        let once = lists.weight(ONCE) as f64;
        let above = once > *target || (incoming == IN_B2 && once == *target);
        let from_once = lists.len(OFTEN) == 0 || (lists.len(ONCE) > 0 && above);
        let order = if from_once {
            [ONCE, OFTEN]
        } else {
            [OFTEN, ONCE]
        };
        let AdaptiveLists { lists, ghosts, .. } = &mut self.0;
        order.into_iter().find_map(|list| {
            let (frame, page) = lists.evict_back(list, frames)?;
            ghosts.push(list, page, lists.frame_weight(frame));
            Some((frame, page))
        })
    }

    /// Forgets ghosts for a page that was none of them; T1, if it fills the cache, gives a page
    /// that leaves no ghost.
    fn make_room<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        let both = &mut self.0;
        if both.seen_once() >= both.capacity {
            if both.lists.weight(ONCE) >= both.capacity {
                return both.lists.evict_back(ONCE, frames);
            }
            both.ghosts.pop_oldest(ONCE);
        } else if both.all() >= 2 * both.capacity {
            both.ghosts.pop_oldest(OFTEN);
        }
        None
    }
}

impl<F: Frames + ?Sized> Policy<F> for Arc {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    fn on_miss(&mut self, page: PageId) -> Admission {
        match self.0.learn(page) {
            Some(ONCE) => IN_B1,
            Some(_) => IN_B2,
            None => Admission::default(),
        }
    }

    #[inline]
    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        _: Hint,
        admission: Admission,
    ) {
        let list = if admission == Admission::default() {
            ONCE
        } else {
            OFTEN
        };
        let weight = frames.weight(frame);
        self.0.lists.push_front(list, frame, page, weight);
        frames.set_usage(frame, 0);
        self.0.trim();
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.0.lists.holds(frame, page) {
            self.0.lists.move_front(OFTEN, frame);
        }
    }

    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)> {
        if incoming == Admission::default()
            && let Some(victim) = self.make_room(frames)
        {
            return Some(victim);
        }
        let shrinking = self.0.lists.total_weight() > self.0.capacity;
        let victim = self.replace(frames, incoming);
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

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let share = self.0.target / self.0.capacity as f64;
        vec![("target_share_seen_once", share)]
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.0.check()
    }
}
