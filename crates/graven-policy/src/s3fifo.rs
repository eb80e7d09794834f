//! S3-FIFO: a small FIFO for newcomers, a main FIFO with reinsertion, a ghost FIFO.
//!
//! # How it works
//! Newcomers enter the small queue (a tenth of the capacity), or the main one if their ghost is
//! found. Hits count up to 3. A victim of the small queue with two hits or more moves to main, else
//! it leaves and becomes a ghost (ghosts: nine tenths of the capacity). A victim of main with hits
//! re-enters with one less. Until the first eviction newcomers go to main once the small queue is
//! full.
//!
//! # Costs
//! 24 bytes a frame and about 32 bytes a frame for the ghosts; a hit is one saturating count.
//!
//! # Source
//! J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. Rashmi, "FIFO queues are all you need for cache eviction",
//! SOSP 2023, algorithm 1.

use crate::ghost::Ghost;
use crate::lists::Lists;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const SMALL: usize = 0;
const MAIN: usize = 1;
const COUNT_MAX: u8 = 3;
/// Hits that save a page of the small queue.
const PROMOTE: u8 = 2;
/// The page was a ghost.
const RETURNING: Admission = Admission(1);

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct S3Fifo {
    queues: Lists,
    ghosts: Ghost,
    small_share: u64,
    main_share: u64,
    ghost_share: u64,
    warm: bool,
}

impl S3Fifo {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        let mut policy = Self {
            queues: Lists::new(2),
            ghosts: Ghost::new(1),
            small_share: 0,
            main_share: 0,
            ghost_share: 0,
            warm: false,
        };
        policy.set_capacity(capacity);
        policy
    }

    fn set_capacity(&mut self, capacity: u64) {
        self.small_share = (capacity / 10).max(1);
        self.main_share = capacity - self.small_share;
        self.ghost_share = capacity * 9 / 10;
    }

    fn evict_main<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        for _ in 0..(usize::from(COUNT_MAX) + 1) * self.queues.len(MAIN) {
            let frame = self.queues.back(MAIN)?;
            let count = frames.usage(frame);
            if count == 0 {
                if frames.try_claim(frame) == Claim::Claimed {
                    return self.queues.remove(frame).map(|(_, page)| (frame, page));
                }
            } else if !frames.is_busy(frame) {
                frames.set_usage(frame, count - 1);
            }
            self.queues.move_front(MAIN, frame);
        }
        None
    }

    fn evict_small<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        for _ in 0..self.queues.len(SMALL) {
            let frame = self.queues.back(SMALL)?;
            if frames.usage(frame) >= PROMOTE && !frames.is_busy(frame) {
                self.queues.move_front(MAIN, frame);
                frames.set_usage(frame, 0);
            } else if frames.try_claim(frame) == Claim::Claimed {
                let (_, page) = self.queues.remove(frame)?;
                self.ghosts.push(0, page, self.queues.frame_weight(frame));
                self.ghosts.trim(0, self.ghost_share);
                return Some((frame, page));
            } else {
                self.queues.move_front(SMALL, frame);
            }
        }
        None
    }
}

impl<F: Frames + ?Sized> Policy<F> for S3Fifo {
    fn hit_kind(&self) -> HitKind {
        HitKind::Count { max: COUNT_MAX }
    }

    #[inline]
    fn on_miss(&mut self, page: PageId) -> Admission {
        if self.ghosts.remove(page).is_some() {
            RETURNING
        } else {
            Admission::default()
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
        let weight = frames.weight(frame);
        let full = self.queues.weight(SMALL) + u64::from(weight) > self.small_share;
        let to_main = admission == RETURNING || (!self.warm && full);
        self.queues
            .push_front(if to_main { MAIN } else { SMALL }, frame, page, weight);
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.warm = true;
        for _ in 0..2 {
            let main = self.queues.weight(MAIN) > self.main_share || self.queues.len(SMALL) == 0;
            let victim = if main {
                self.evict_main(frames)
            } else {
                self.evict_small(frames)
            };
            if victim.is_some() {
                return victim;
            }
        }
        // Everything in the queue of choice is busy.
        [SMALL, MAIN]
            .into_iter()
            .find_map(|queue| self.queues.evict_back(queue, frames))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.queues.remove(frame);
    }

    fn forget(&mut self, page: PageId) {
        self.ghosts.remove(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.set_capacity(capacity);
        self.ghosts.trim(0, self.ghost_share);
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.queues.check()?;
        self.ghosts.check()?;
        if self.ghosts.weight(0) > self.ghost_share {
            return Err(format!(
                "PO-5: ghosts of {} above {}",
                self.ghosts.weight(0),
                self.ghost_share
            ));
        }
        Ok(())
    }
}
