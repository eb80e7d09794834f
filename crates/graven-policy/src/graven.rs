//! Graven's own policy: a waiting ring of learnt size, a counting clock, and a distance test without a stack.
//!
//! # How it works
//! Newcomers wait in a FIFO ring of a share of the cache. One that was used while it waited goes on to
//! the main ring, a clock with counts up to 7; the others leave. Faults are numbered. Every resident page
//! carries the fault number at which it was loaded, or last *confirmed*: found used by the main ring's arm.
//! A page that leaves becomes a ghost with that number.
//!
//! When a ghost faults, the faults since its number estimate the distance between its uses; the main ring's
//! *eviction age*, the running mean of the same measure over the pages that the arm evicts, tells how long
//! main keeps an unused page. A shorter distance than that age is the test of LIRS: the page would have
//! outlived the page that main evicts now, so it enters main at once. Any other page waits again.
//!
//! ```text
//!   fault --no ghost, or too old--> waiting ring --used--> main ring --count 0--> ghost
//!     \----ghost younger than the eviction age-----------/   |
//!                                    waiting ring --unused--> ghost
//! ```
//!
//! The waiting ring's share moves by what a few more frames would have gained. A page that faults as one of the last few
//! (3 % of the frames) to have left a ring would have been a hit had that ring been so much longer: left the waiting
//! ring, the share grows; left main, it shrinks. Besides it shrinks a little with every page that leaves the waiting
//! ring unused, so that in loops and scans, where neither ring's last pages come back, main gets nearly everything; with
//! strong recency the ring takes up to four fifths.
//!
//! # Invariants
//! * GR-1 every resident page is on exactly one ring.
//! * GR-2 to GR-4 stand in `graven/rings.rs` and `graven/ghosts.rs`.
//!
//! # Costs
//! 16 bytes a frame, and 8 bytes a ghost, 3 to 6 ghosts a frame; a hit is one saturating count.
//!
//! # Source
//! Our own; after S. Jiang, X. Zhang, LIRS, SIGMETRICS 2002 (the test); J. Yang et al., S3-FIFO, SOSP 2023
//! (the waiting ring); N. Megiddo, D. Modha, ARC, FAST 2003 (a share that moves by ghosts).

mod ghosts;
mod rings;

use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use ghosts::{Ghost, Ghosts, TURN_BITS};
use rings::{NUMBER_BITS, Rings};

const WAITING: usize = 0;
const MAIN: usize = 1;
const MAX_COUNT: u8 = 7;
/// The page goes to main at once.
const PROVEN: Admission = Admission(1);
/// Weight of a new age in the running mean.
const AGE_WEIGHT: f64 = 1.0 / 16.0;
/// A page is proven below this share of the eviction age.
const PROVEN_SHARE: f64 = 0.9;
/// A return counts for the share if so many pages, as a share of the frames, left the same ring since.
const NEAR_SHARE: f64 = 0.03;
/// Frames by which such a return moves the share.
const STEP: f64 = 8.0;
/// Frames by which a page that leaves the waiting ring unused lowers the share.
const DRIFT: f64 = 0.005;
/// Bounds of the share.
const SHARE_MIN: f64 = 0.005;
const SHARE_MAX: f64 = 0.8;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Graven {
    rings: Rings,
    ghosts: Ghosts,
    capacity: u64,
    /// Share of the waiting ring.
    share: f64,
    /// Whether the share moves.
    adapts: bool,
    /// Hits that move a waiting page to main.
    promote: u8,
    fault: u32,
    /// Pages that left each ring.
    left: [u32; 2],
    /// Running mean of the ages of main's victims, in faults.
    eviction_age: f64,
    warm: bool,
}

impl Graven {
    /// An empty cache of `capacity` whose waiting ring takes `percent` of it, at first or, unless it `adapts`, for good;
    /// `promote` hits lead to main.
    #[must_use]
    pub fn new(percent: u64, adapts: bool, promote: u8, capacity: u64) -> Self {
        Self {
            rings: Rings::new(),
            ghosts: Ghosts::default(),
            capacity,
            share: percent as f64 / 100.0,
            adapts,
            promote,
            fault: 0,
            left: [0; 2],
            eviction_age: 0.0,
            warm: false,
        }
    }

    /// Weight of the waiting ring's share, in whole frames of the mean weight, so that frames of one size are counted
    /// alike whatever they weigh.
    fn waiting_share(&self) -> u64 {
        let weight = self.rings.weight(WAITING) + self.rings.weight(MAIN);
        let frame = (weight / self.frames_in_use().max(1) as u64).max(1);
        let frames = self.capacity as f64 * self.share / frame as f64;
        (frames as u64).max(1) * frame
    }

    fn frames_in_use(&self) -> usize {
        self.rings.len(WAITING) + self.rings.len(MAIN)
    }

    /// Faults since `number`.
    fn since(&self, number: u32) -> u32 {
        self.fault.wrapping_sub(number) & ((1 << NUMBER_BITS) - 1)
    }

    /// Moves the share by so many frames.
    fn move_share(&mut self, frames: f64) {
        if self.adapts {
            let share = self.share + frames / self.frames_in_use().max(1) as f64;
            self.share = share.clamp(SHARE_MIN, SHARE_MAX);
        }
    }

    /// A page that left comes back: learns from where, and says whether it goes to main at once.
    fn returns(&mut self, ghost: Ghost) -> Admission {
        let turns = self.left[ghost.ring].wrapping_sub(ghost.turn) & ((1 << TURN_BITS) - 1);
        if f64::from(turns) <= 1.0 + NEAR_SHARE * self.frames_in_use() as f64 {
            self.move_share(if ghost.ring == WAITING { STEP } else { -STEP });
        }
        if f64::from(self.since(ghost.number)) < PROVEN_SHARE * self.eviction_age {
            PROVEN
        } else {
            Admission::default()
        }
    }

    /// Takes a claimed frame off its ring and remembers its page.
    fn leave<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        frame: FrameIdx,
    ) -> Option<(FrameIdx, PageId)> {
        let number = self.rings.number(frame);
        let in_use = self.frames_in_use();
        let (ring, page) = self.rings.remove(frame, frames.weight(frame))?;
        if ring == MAIN {
            let age = f64::from(self.since(number));
            self.eviction_age += AGE_WEIGHT * (age - self.eviction_age);
        } else {
            self.move_share(-DRIFT);
        }
        let turn = self.left[ring] & ((1 << TURN_BITS) - 1);
        self.left[ring] = self.left[ring].wrapping_add(1);
        let ghost = Ghost { number, ring, turn };
        self.ghosts.put(page, ghost, self.fault, in_use);
        Some((frame, page))
    }

    fn evict_waiting<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        for _ in 0..self.rings.len(WAITING) {
            let frame = self.rings.back(WAITING)?;
            if frames.usage(frame) >= self.promote && !frames.is_busy(frame) {
                frames.set_usage(frame, 0);
                self.rings.set_number(frame, self.number());
                self.rings.move_front(MAIN, frame, frames.weight(frame));
                if self.rings.weight(WAITING) <= self.waiting_share() {
                    return None;
                }
            } else if frames.try_claim(frame) == Claim::Claimed {
                return self.leave(frames, frame);
            } else {
                self.rings.move_front(WAITING, frame, frames.weight(frame));
            }
        }
        None
    }

    fn evict_main<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        for _ in 0..(usize::from(MAX_COUNT) + 1) * self.rings.len(MAIN) {
            let frame = self.rings.back(MAIN)?;
            let count = frames.usage(frame);
            if count == 0 {
                if frames.try_claim(frame) == Claim::Claimed {
                    return self.leave(frames, frame);
                }
            } else if !frames.is_busy(frame) {
                frames.set_usage(frame, count - 1);
                self.rings.set_number(frame, self.number());
            }
            self.rings.move_front(MAIN, frame, frames.weight(frame));
        }
        None
    }

    /// Evicts the oldest of a ring that can be claimed, whatever its count.
    fn evict_any<F: Frames + ?Sized>(
        &mut self,
        ring: usize,
        frames: &mut F,
    ) -> Option<(FrameIdx, PageId)> {
        let mut at = self.rings.back(ring);
        while let Some(frame) = at {
            if frames.try_claim(frame) == Claim::Claimed {
                return self.leave(frames, frame);
            }
            at = self.rings.newer(frame);
        }
        None
    }

    fn number(&self) -> u32 {
        self.fault & ((1 << NUMBER_BITS) - 1)
    }
}

impl<F: Frames + ?Sized> Policy<F> for Graven {
    fn hit_kind(&self) -> HitKind {
        HitKind::Count { max: MAX_COUNT }
    }

    #[inline]
    fn on_miss(&mut self, page: PageId) -> Admission {
        self.fault = self.fault.wrapping_add(1);
        match self.ghosts.take(page) {
            Some(ghost) => self.returns(ghost),
            None => Admission::default(),
        }
    }

    #[inline]
    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        hint: Hint,
        admission: Admission,
    ) {
        let weight = frames.weight(frame);
        let full = self.rings.weight(WAITING) + u64::from(weight) > self.waiting_share();
        let to_main = admission == PROVEN || (!self.warm && full);
        let ring = if to_main && hint == Hint::Normal {
            MAIN
        } else {
            WAITING
        };
        self.rings
            .push_front(ring, frame, page, self.number(), weight);
        // A proven page is worth one turn of the arm more than one that was there while the cache filled.
        let proven = ring == MAIN && admission == PROVEN;
        frames.set_usage(frame, u8::from(proven));
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.warm = true;
        let waiting =
            self.rings.weight(WAITING) >= self.waiting_share() || self.rings.len(MAIN) == 0;
        let first = if waiting {
            self.evict_waiting(frames)
        } else {
            None
        };
        first.or_else(|| self.evict_main(frames)).or_else(|| {
            // Everything that either ring would give up is busy.
            [WAITING, MAIN]
                .into_iter()
                .find_map(|ring| self.evict_any(ring, frames))
        })
    }

    fn on_remove(&mut self, frames: &F, frame: FrameIdx, _: PageId) {
        self.rings.remove(frame, frames.weight(frame));
    }

    fn forget(&mut self, page: PageId) {
        self.ghosts.take(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("eviction_age_faults", self.eviction_age),
            ("waiting_share", self.share),
        ]
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        self.rings.check(frames)?;
        self.ghosts.check()
    }
}
