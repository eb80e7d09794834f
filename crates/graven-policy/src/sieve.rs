//! SIEVE: a FIFO whose hand sifts out unvisited pages without moving the others.
//!
//! # How it works
//! The hand starts at the oldest page and walks to newer ones: a visited page loses its bit, the
//! first unvisited one is evicted and the hand stays at the next newer page; past the newest it
//! wraps to the oldest. New pages enter at the newest end, unvisited.
//!
//! # Costs
//! 24 bytes a frame; a hit stores one bit.
//!
//! # Source
//! Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. Rashmi, "SIEVE is simpler than LRU", NSDI 2024,
//! algorithm 1.

use crate::lists::Lists;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Sieve {
    queue: Lists,
    /// Where the next sweep starts; `None` for the oldest.
    hand: Option<FrameIdx>,
}

impl Sieve {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queue: Lists::new(1),
            hand: None,
        }
    }
}

impl Default for Sieve {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Frames + ?Sized> Policy<F> for Sieve {
    fn hit_kind(&self) -> HitKind {
        HitKind::SetBit
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        self.queue.push_front(0, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let mut at = self.hand.or_else(|| self.queue.back(0))?;
        for _ in 0..2 * self.queue.len(0) {
            if frames.usage(at) == 0 {
                if frames.try_claim(at) == Claim::Claimed {
                    self.hand = self.queue.newer(at);
                    return self.queue.remove(at).map(|(_, page)| (at, page));
                }
            } else if !frames.is_busy(at) {
                frames.set_usage(at, 0);
            }
            at = self.queue.newer(at).or_else(|| self.queue.back(0))?;
        }
        self.hand = Some(at);
        None
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        if self.hand == Some(frame) {
            self.hand = self.queue.newer(frame);
        }
        self.queue.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.queue.check()?;
        match self.hand {
            Some(hand) if self.queue.list_of(hand).is_none() => Err(format!(
                "the hand is at frame {}, which is not queued",
                hand.0
            )),
            _ => Ok(()),
        }
    }
}
