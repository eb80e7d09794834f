//! Graven's own policy: a waiting ring, a counting clock, and a distance test without a stack.
//!
//! # How it works
//! Newcomers wait in a FIFO ring of a small share of the cache. One that was used while it waited goes on to
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
//! # Invariants
//! * GR-1 every resident page is on exactly one ring; ghosts weigh at most twice the capacity.
//!
//! # Costs
//! 28 bytes a frame and about 40 bytes a ghost; a hit is one saturating count.
//!
//! # Source
//! Our own; after S. Jiang, X. Zhang, LIRS, SIGMETRICS 2002 (the test), and J. Yang et al., S3-FIFO, SOSP 2023
//! (the waiting ring).

use crate::ghost::Ghost;
use crate::lists::Lists;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const WAITING: usize = 0;
const MAIN: usize = 1;
const MAX_COUNT: u8 = 7;
/// The page goes to main at once.
const PROVEN: Admission = Admission(1);
/// Weight of a new age in the running mean.
const AGE_WEIGHT: f64 = 1.0 / 64.0;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Graven {
    rings: Lists,
    /// Fault number of every frame: loaded or confirmed.
    numbers: Vec<u32>,
    ghosts: Ghost<u32>,
    capacity: u64,
    /// Share of the waiting ring in percent.
    percent: u64,
    /// Hits that move a waiting page to main.
    promote: u8,
    fault: u32,
    /// Running mean of the ages of main's victims, in faults.
    eviction_age: f64,
    warm: bool,
}

impl Graven {
    /// An empty cache of `capacity` whose waiting ring takes `percent` of it; `promote` hits lead to main.
    #[must_use]
    pub fn new(percent: u64, promote: u8, capacity: u64) -> Self {
        Self {
            rings: Lists::new(2),
            numbers: Vec::new(),
            ghosts: Ghost::new(1),
            capacity,
            percent,
            promote,
            fault: 0,
            eviction_age: 0.0,
            warm: false,
        }
    }

    fn waiting_share(&self) -> u64 {
        (self.capacity * self.percent / 100).max(1)
    }

    /// Takes a claimed frame off its ring and remembers its page.
    fn leave(&mut self, frame: FrameIdx) -> Option<(FrameIdx, PageId)> {
        let (ring, page) = self.rings.remove(frame)?;
        let number = self.numbers[frame.0 as usize];
        if ring == MAIN {
            let age = f64::from(self.fault.wrapping_sub(number));
            self.eviction_age += AGE_WEIGHT * (age - self.eviction_age);
        }
        self.ghosts
            .push_with(0, page, self.rings.frame_weight(frame), number);
        self.ghosts.trim(0, 2 * self.capacity);
        Some((frame, page))
    }

    fn evict_waiting<F: Frames + ?Sized>(&mut self, frames: &mut F) -> Option<(FrameIdx, PageId)> {
        for _ in 0..self.rings.len(WAITING) {
            let frame = self.rings.back(WAITING)?;
            if frames.usage(frame) >= self.promote && !frames.is_busy(frame) {
                frames.set_usage(frame, 0);
                self.numbers[frame.0 as usize] = self.fault;
                self.rings.move_front(MAIN, frame);
                if self.rings.weight(WAITING) <= self.waiting_share() {
                    return None;
                }
            } else if frames.try_claim(frame) == Claim::Claimed {
                return self.leave(frame);
            } else {
                self.rings.move_front(WAITING, frame);
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
                    return self.leave(frame);
                }
            } else if !frames.is_busy(frame) {
                frames.set_usage(frame, count - 1);
                self.numbers[frame.0 as usize] = self.fault;
            }
            self.rings.move_front(MAIN, frame);
        }
        None
    }
}

impl<F: Frames + ?Sized> Policy<F> for Graven {
    fn hit_kind(&self) -> HitKind {
        HitKind::Count { max: MAX_COUNT }
    }

    #[inline]
    fn on_miss(&mut self, page: PageId) -> Admission {
        self.fault = self.fault.wrapping_add(1);
        let Some((_, number)) = self.ghosts.take(page) else {
            return Admission::default();
        };
        let distance = f64::from(self.fault.wrapping_sub(number));
        if distance < self.eviction_age {
            PROVEN
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
        hint: Hint,
        admission: Admission,
    ) {
        let at = frame.0 as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, 0);
        }
        self.numbers[at] = self.fault;
        let weight = frames.weight(frame);
        let full = self.rings.weight(WAITING) + u64::from(weight) > self.waiting_share();
        let to_main = admission == PROVEN || (!self.warm && full);
        let ring = if to_main && hint == Hint::Normal {
            MAIN
        } else {
            WAITING
        };
        self.rings.push_front(ring, frame, page, weight);
        frames.set_usage(frame, 0);
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
                .find_map(|ring| self.rings.evict_back(ring, frames))
        })
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.rings.remove(frame);
    }

    fn forget(&mut self, page: PageId) {
        self.ghosts.remove(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.ghosts.trim(0, 2 * capacity);
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("eviction_age_faults", self.eviction_age)]
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.rings.check()?;
        self.ghosts.check()?;
        if self.ghosts.weight(0) > 2 * self.capacity {
            return Err(format!(
                "GR-1: ghosts of {} in {}",
                self.ghosts.weight(0),
                self.capacity
            ));
        }
        Ok(())
    }
}
