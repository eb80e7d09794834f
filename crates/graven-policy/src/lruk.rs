//! LRU-K: the page whose K-th last use is oldest leaves.
//!
//! # How it works
//! Every page keeps the times of its last `k` uses, counted in accesses. Pages used fewer than `k`
//! times come first, in order of their last use; then the others by their `k`-th last use. The
//! times of evicted pages are kept for as many pages as the cache holds.
//!
//! # Costs
//! About 100 bytes a frame and 80 a ghost; a hit moves an entry of an ordered set in logarithmic
//! time.
//!
//! # Source
//! E. O'Neil, P. O'Neil, G. Weikum, "The LRU-K page replacement algorithm for database disk
//! buffering", SIGMOD 1993.
//!
//! # Deviations
//! No period for correlated references (the cache counts one hit per pin); the time history is kept
//! is bounded in pages instead of in seconds.

use std::collections::BTreeSet;

use crate::ghost::Ghost;
use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// Largest `k`.
pub const K_MAX: usize = 4;

/// Times of the last uses, newest first; 0 for none.
type Times = [u64; K_MAX];

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct LruK {
    k: usize,
    capacity: u64,
    slots: Slots,
    times: Vec<Times>,
    /// (K-th last use, last use, frame).
    order: BTreeSet<(u64, u64, u32)>,
    ghosts: Ghost<Times>,
    now: u64,
}

impl LruK {
    /// An empty cache of `capacity` that remembers `k` uses, 1..=4.
    ///
    /// # Panics
    /// When `k` is out of range.
    #[must_use]
    pub fn new(k: usize, capacity: u64) -> Self {
        assert!((1..=K_MAX).contains(&k), "k is {k}, not 1..={K_MAX}");
        Self {
            k,
            capacity,
            slots: Slots::default(),
            times: Vec::new(),
            order: BTreeSet::new(),
            ghosts: Ghost::new(1),
            now: 0,
        }
    }

    fn key(&self, frame: FrameIdx) -> (u64, u64, u32) {
        let times = self.times[frame.0 as usize];
        (times[self.k - 1], times[0], frame.0)
    }

    fn used(&mut self, times: Times) -> Times {
        self.now += 1;
        let mut after = [self.now; K_MAX];
        after[1..].copy_from_slice(&times[..K_MAX - 1]);
        after
    }
}

impl<F: Frames + ?Sized> Policy<F> for LruK {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        self.slots.insert(frame, page);
        if self.times.len() < self.slots.len() {
            self.times.resize(self.slots.len(), [0; K_MAX]);
        }
        frames.set_usage(frame, 0);
        let before = self
            .ghosts
            .take(page)
            .map_or([0; K_MAX], |(_, times)| times);
        let times = if hint == Hint::Scan {
            before
        } else {
            self.used(before)
        };
        self.times[frame.0 as usize] = times;
        self.order.insert(self.key(frame));
    }

    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.slots.contains(frame) && self.slots.page(frame) == page {
            self.order.remove(&self.key(frame));
            self.times[frame.0 as usize] = self.used(self.times[frame.0 as usize]);
            self.order.insert(self.key(frame));
        }
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let claimed = |key: &&(u64, u64, u32)| frames.try_claim(FrameIdx(key.2)) == Claim::Claimed;
        let key = *self.order.iter().find(claimed)?;
        self.order.remove(&key);
        let frame = FrameIdx(key.2);
        let page = self.slots.remove(frame)?;
        self.ghosts
            .push_with(0, page, frames.weight(frame), self.times[frame.0 as usize]);
        self.ghosts.trim(0, self.capacity);
        Some((frame, page))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        if self.slots.remove(frame).is_some() {
            self.order.remove(&self.key(frame));
        }
    }

    fn forget(&mut self, page: PageId) {
        self.ghosts.remove(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.ghosts.trim(0, capacity);
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.slots.check()?;
        self.ghosts.check()?;
        let ordered = self.order.iter().filter(|key| {
            self.slots.contains(FrameIdx(key.2)) && self.key(FrameIdx(key.2)) == **key
        });
        let ordered = ordered.count();
        if ordered != self.slots.resident() || ordered != self.order.len() {
            return Err(format!(
                "{ordered} ordered frames, {} resident",
                self.slots.resident()
            ));
        }
        if self.ghosts.weight(0) > self.capacity {
            return Err(format!("PO-5: ghosts of {}", self.ghosts.weight(0)));
        }
        Ok(())
    }
}
