//! ARC: two LRU lists, for pages seen once and more often, with a target learnt from their ghosts.
//!
//! # How it works
//! T1 holds pages seen once, T2 pages seen again; B1 and B2 are their ghosts. A fault found in B1 raises the
//! target `p` of T1 by `max(1, |B2| / |B1|)`, one found in B2 lowers it by `max(1, |B1| / |B2|)`; the page
//! enters T2. Victims come from T1 when it is above `p`, else from T2.
//!
//! # Invariants
//! * AR-1 T1 and B1 together hold at most the capacity, all four at most twice the capacity (in pages of one
//!   size; with sizes one page more).
//!
//! # Costs
//! 24 bytes a frame and about 36 bytes a ghost, as many ghosts as frames; a hit moves one node.
//!
//! # Source
//! N. Megiddo, D. Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4.

use crate::ghost::Ghost;
use crate::lists::Lists;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const ONCE: usize = 0;
const OFTEN: usize = 1;
/// The page was a ghost of T1, of T2.
const IN_B1: Admission = Admission(1);
const IN_B2: Admission = Admission(2);

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Arc {
    lists: Lists,
    ghosts: Ghost,
    capacity: u64,
    /// Target weight of T1.
    target: f64,
}

impl Arc {
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

    fn seen_once(&self) -> u64 {
        self.lists.weight(ONCE) + self.ghosts.weight(ONCE)
    }

    fn all(&self) -> u64 {
        self.seen_once() + self.lists.weight(OFTEN) + self.ghosts.weight(OFTEN)
    }

    /// Takes a victim from T1 or T2, whichever the target says, and remembers it.
    fn replace<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
        incoming: Admission,
    ) -> Option<(FrameIdx, PageId)> {
        let once = self.lists.weight(ONCE) as f64;
        let above = once > self.target || (incoming == IN_B2 && once == self.target);
        let from_once = self.lists.len(OFTEN) == 0 || (self.lists.len(ONCE) > 0 && above);
        let order = if from_once {
            [ONCE, OFTEN]
        } else {
            [OFTEN, ONCE]
        };
        order.into_iter().find_map(|list| {
            let (frame, page) = self.lists.evict_back(list, frames)?;
            self.ghosts.push(list, page, self.lists.frame_weight(frame));
            Some((frame, page))
        })
    }

    /// Restores AR-1 after changes of size.
    fn trim(&mut self) {
        while self.seen_once() > self.capacity && self.ghosts.pop_oldest(ONCE) {}
        while self.all() > 2 * self.capacity
            && (self.ghosts.pop_oldest(OFTEN) || self.ghosts.pop_oldest(ONCE))
        {}
    }
}

impl<F: Frames + ?Sized> Policy<F> for Arc {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    fn on_miss(&mut self, page: PageId) -> Admission {
        let (b1, b2) = (self.ghosts.len(ONCE) as f64, self.ghosts.len(OFTEN) as f64);
        match self.ghosts.remove(page) {
            Some(ONCE) => {
                self.target = (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64);
                IN_B1
            }
            Some(_) => {
                self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
                IN_B2
            }
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
        self.lists
            .push_front(list, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
        self.trim();
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.lists.holds(frame, page) {
            self.lists.move_front(OFTEN, frame);
        }
    }

    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)> {
        if incoming == Admission::default() {
            if self.seen_once() >= self.capacity {
                if self.lists.weight(ONCE) >= self.capacity {
                    // T1 fills the cache: its victim leaves without a ghost.
                    if let Some(victim) = self.lists.evict_back(ONCE, frames) {
                        return Some(victim);
                    }
                } else {
                    self.ghosts.pop_oldest(ONCE);
                }
            } else if self.all() >= 2 * self.capacity {
                self.ghosts.pop_oldest(OFTEN);
            }
        }
        let shrinking = self.lists.total_weight() > self.capacity;
        let victim = self.replace(frames, incoming);
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

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("target_share_seen_once", self.target / self.capacity as f64)]
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()?;
        self.ghosts.check()?;
        let ghosts = self.ghosts.weight(ONCE) + self.ghosts.weight(OFTEN);
        if ghosts > 2 * self.capacity + 8 {
            return Err(format!(
                "AR-1: ghosts of {ghosts} in a cache of {}",
                self.capacity
            ));
        }
        Ok(())
    }
}
