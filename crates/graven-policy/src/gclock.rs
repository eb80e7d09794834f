//! GCLOCK: one arm (or a random start for every eviction) sweeps saturating usage counts.
//!
//! # How it works
//! A hit raises the frame's usage while it is below `max`. A sweep looks at count `k` of a resident
//! frame: when `k <= threshold` it claims the frame, otherwise it stores `k - 1`; the arm moves on
//! in both cases. A newcomer starts with `init`. Scanned and read-ahead pages start with 0.
//! `max=1,init=0,threshold=0` is CLOCK; `max=4,init=1,threshold=1` is what Neo4j does; with `max=0`
//! hits do nothing.
//!
//! Scanned pages are also queued in order of loading. While the queue weighs more than `scan`
//! percent of the capacity, victims come from it and the arm stands still, so a scan ages no other
//! page. A queued page that an ordinary access used leaves the queue and is the arm's. With
//! `scan=0`, as Neo4j has it, the arm alone chooses.
//!
//! # Invariants
//! * GC-1 the queue has at most as many entries as there are slots, and weighs what its entries
//!   weigh.
//!
//! # Concurrency
//! Counts live with the frames; a hit is one relaxed update without the policy's lock.
//!
//! # Costs
//! 8 bytes and 1 bit a frame, 16 bytes a scanned page; a hit is one saturating count; an eviction
//! looks at up to `2 * max * resident` frames, amortised at the number of hits since the last
//! visit.
//!
//! # Source
//! A. J. Smith, "Sequentiality and prefetching in database systems", ACM TODS 3(3), 1978 (GCLOCK);
//! V. Nicola, A. Dan, D. Dias, "Analysis of the generalized clock buffer replacement scheme",
//! SIGMETRICS 1992. The queue of scanned pages is our own; the idea is that of the small ring that
//! PostgreSQL gives to a sequential scan.

use std::collections::VecDeque;

use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use graven_types::rng::SplitMix64;

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
    /// Largest usage count a hit may reach, 0..=7.
    pub max: u8,
    /// Usage of a newcomer, 0..=7.
    pub init: u8,
    /// Largest usage at which a frame is evicted, 0..=7.
    pub threshold: u8,
    /// Where a sweep starts.
    pub arm: Arm,
    /// Share of the capacity, in percent, above which scanned pages leave first; 0 for never.
    pub scan: u8,
}

/// A page that a scan brought in.
#[derive(Clone, Copy, Debug)]
struct Scanned {
    page: PageId,
    frame: FrameIdx,
    weight: u32,
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
    capacity: u64,
    /// Scanned pages, oldest first; entries whose page left otherwise are stale.
    scanned: VecDeque<Scanned>,
    scanned_weight: u64,
}

impl GClock {
    /// An empty clock for `capacity`; `seed` feeds the starts of [`Arm::Thread`].
    #[must_use]
    pub fn new(config: GClockConfig, capacity: u64, seed: u64) -> Self {
        let highest = config.max.max(config.init);
        Self {
            config,
            highest,
            slots: Slots::default(),
            arm: 0,
            rng: SplitMix64::new(seed),
            capacity,
            scanned: VecDeque::new(),
            scanned_weight: 0,
        }
    }

    /// Says that a history policy stores counts up to `highest`.
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

    /// Queues a scanned page; the oldest entry goes where stale ones crowd the queue.
    fn queue(&mut self, scanned: Scanned) {
        self.scanned_weight += u64::from(scanned.weight);
        self.scanned.push_back(scanned);
        if self.scanned.len() > self.slots.len() {
            self.unqueue();
        }
    }

    fn unqueue(&mut self) -> Option<Scanned> {
        let oldest = self.scanned.pop_front()?;
        self.scanned_weight -= u64::from(oldest.weight);
        Some(oldest)
    }

    /// The oldest scanned page that was not used otherwise, while they have more than their share;
    /// looks at each once.
    fn evict_scanned<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        let share = self.capacity * u64::from(self.config.scan) / 100;
        for _ in 0..self.scanned.len() {
            if self.scanned_weight <= share {
                break;
            }
            let oldest = self.unqueue()?;
            let frame = oldest.frame;
            let is_stale = !self.slots.contains(frame) || self.slots.page(frame) != oldest.page;
            if is_stale || frames.usage(frame) > 0 {
                continue;
            }
            if frames.try_claim(frame) == Claim::Claimed {
                return self.slots.remove(frame).map(|page| (frame, page));
            }
            self.queue(oldest);
        }
        None
    }

    /// One eviction; PO-4: at most `2 * highest * resident` looks.
    #[inline]
    pub(crate) fn sweep<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
    ) -> Option<(FrameIdx, PageId)> {
        if !self.scanned.is_empty()
            && let Some(victim) = self.evict_scanned(frames)
        {
            return Some(victim);
        }
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
        match self.config.max {
            0 => HitKind::None,
            max => HitKind::Count { max },
        }
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let usage = self.initial_usage(hint);
        self.load(frames, frame, page, usage);
        if hint == Hint::Scan && self.config.scan > 0 {
            let weight = frames.weight(frame);
            self.queue(Scanned {
                page,
                frame,
                weight,
            });
        }
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.sweep(frames)
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.slots.remove(frame);
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        self.slots.check()?;
        let queued: u64 = self.scanned.iter().map(|s| u64::from(s.weight)).sum();
        if queued != self.scanned_weight || self.scanned.len() > self.slots.len() {
            return Err(format!(
                "GC-1: {} scanned pages of {queued}, counted {}, in {} slots",
                self.scanned.len(),
                self.scanned_weight,
                self.slots.len()
            ));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::Simulator;

    const FRAMES: usize = 64;
    const HOT: u32 = 48;

    /// Hits among the hot pages after a scan of twenty times the cache.
    fn hot_hits_after_scan(scan: u8) -> u64 {
        let config = GClockConfig {
            max: 3,
            init: 1,
            threshold: 1,
            arm: Arm::Global,
            scan,
        };
        let clock = GClock::new(config, FRAMES as u64, 1);
        let pages = HOT + 20 * FRAMES as u32;
        let mut simulator = Simulator::new(clock, pages as usize, FRAMES);
        for _ in 0..4 {
            simulator.replay(&(0..HOT).collect::<Vec<_>>());
        }
        simulator.replay_hinted((HOT..pages).map(|page| (page, Hint::Scan)));
        simulator.check().expect("sound");
        let before = simulator.outcome().hits;
        simulator.replay(&(0..HOT).collect::<Vec<_>>());
        simulator.outcome().hits - before
    }

    /// Goal: a scan, however long, displaces no hot page; without the queue the arm evicts nearly
    /// all of them.
    #[test]
    fn a_scan_passes_through_its_share() {
        assert_eq!(hot_hits_after_scan(6), u64::from(HOT));
        assert!(hot_hits_after_scan(0) < u64::from(HOT) / 4);
    }

    /// Goal: a scanned page that is used otherwise is an ordinary page from then on.
    #[test]
    fn a_scanned_page_that_is_used_stays() {
        let config = GClockConfig {
            max: 3,
            init: 1,
            threshold: 1,
            arm: Arm::Global,
            scan: 25,
        };
        let mut simulator = Simulator::new(GClock::new(config, 16, 1), 200, 16);
        simulator.replay_hinted((0..16).map(|page| (page, Hint::Scan)));
        simulator.replay(&[3, 3, 3]);
        simulator.replay_hinted((16..40).map(|page| (page, Hint::Scan)));
        let before = simulator.outcome().hits;
        simulator.replay(&[3]);
        assert_eq!(simulator.outcome().hits, before + 1);
        simulator.check().expect("sound");
    }
}
