//! GCLOCK: one arm (or a random start for every eviction) sweeps saturating usage counts.
//!
//! # How it works
//! A hit raises the frame's usage while it is below `max`. A sweep looks at count `k` of a resident frame:
//! when `k <= threshold` it claims the frame, otherwise it stores `k - 1`; the arm moves on in both cases.
//! A newcomer starts with `init`. Scanned and read-ahead pages start with 0.
//! `max=1,init=0,threshold=0` is CLOCK; `max=4,init=1,threshold=1` is what Neo4j does.
//!
//! # Concurrency
//! Counts live with the frames; a hit is one relaxed update without the policy's lock.
//!
//! # Costs
//! 8 bytes and 1 bit a frame; a hit is one saturating count; an eviction looks at up to
//! `2 * max * resident` frames, amortised at the number of hits since the last visit.
//!
//! # Source
//! A. J. Smith, "Sequentiality and prefetching in database systems", ACM TODS 3(3), 1978 (GCLOCK);
//! V. Nicola, A. Dan, D. Dias, "Analysis of the generalized clock buffer replacement scheme", SIGMETRICS 1992.

use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use graven_random::SplitMix64;

/// Where a sweep starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arm {
    /// One arm for all evictions, which keeps its place.
    Global,
    /// Every eviction starts at a random slot, as threads that evict for themselves do.
    Thread,
}

/// Parameters of [`GClock`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GClockConfig {
    /// Largest usage count a hit may reach, 1..=7.
    pub max: u8,
    /// Usage of a newcomer, 0..=7.
    pub init: u8,
    /// Largest usage at which a frame is evicted, 0..=7.
    pub threshold: u8,
    /// Where a sweep starts.
    pub arm: Arm,
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct GClock {
    config: GClockConfig,
    /// Largest count any frame can hold, which bounds the rounds of a sweep.
    highest: u8,
    slots: Slots,
    /// Next slot the global arm looks at.
    arm: usize,
    rng: SplitMix64,
}

impl GClock {
    /// An empty clock; `seed` feeds the starts of [`Arm::Thread`].
    #[must_use]
    pub fn new(config: GClockConfig, seed: u64) -> Self {
        let highest = config.max.max(config.init);
        Self {
            config,
            highest,
            slots: Slots::default(),
            arm: 0,
            rng: SplitMix64::new(seed),
        }
    }

    /// Says that somebody stores counts up to `highest` (history policies).
    pub(crate) fn with_highest(mut self, highest: u8) -> Self {
        self.highest = self.highest.max(highest);
        self
    }

    /// Puts a page into a slot with a usage count of the caller's choice.
    #[inline]
    pub(crate) fn load<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        usage: u8,
    ) {
        self.slots.insert(frame, page);
        frames.set_usage(frame, usage);
    }

    /// The usage a newcomer starts with.
    #[inline]
    pub(crate) fn initial_usage(&self, hint: Hint) -> u8 {
        if hint == Hint::Normal {
            self.config.init
        } else {
            0
        }
    }

    /// One eviction; PO-4: at most `2 * highest * resident` looks.
    #[inline]
    pub(crate) fn sweep<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
    ) -> Option<(FrameIdx, PageId)> {
        let mut at = match self.config.arm {
            Arm::Global => self.arm,
            Arm::Thread => self.rng.place(self.slots.len()),
        };
        let looks = 2 * usize::from(self.highest.max(1)) * self.slots.resident();
        let mut victim = None;
        for _ in 0..looks {
            let slot = self.slots.next_resident(at)?;
            at = slot + 1;
            let frame = FrameIdx(slot as u32);
            let usage = frames.usage(frame);
            if usage <= self.config.threshold {
                if frames.try_claim(frame) == Claim::Claimed {
                    let page = self.slots.remove(frame);
                    victim = page.map(|page| (frame, page));
                    break;
                }
            } else if !frames.is_busy(frame) {
                frames.set_usage(frame, usage - 1);
            }
        }
        if self.config.arm == Arm::Global {
            self.arm = at;
        }
        victim
    }
}

impl<F: Frames + ?Sized> Policy<F> for GClock {
    fn hit_kind(&self) -> HitKind {
        HitKind::Count {
            max: self.config.max,
        }
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let usage = self.initial_usage(hint);
        self.load(frames, frame, page, usage);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.sweep(frames)
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.slots.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, frames: &F) -> Result<(), String> {
        self.slots.check()?;
        for slot in (0..self.slots.len()).filter(|&slot| self.slots.contains(FrameIdx(slot as u32)))
        {
            let usage = frames.usage(FrameIdx(slot as u32));
            if usage > self.highest {
                return Err(format!(
                    "slot {slot}: usage {usage} is above {}",
                    self.highest
                ));
            }
        }
        Ok(())
    }
}
