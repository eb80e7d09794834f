//! Graven's own policy: newcomers wait for as long as a learnt share of the time that main's next
//! victim went unused.
//!
//! # How it works
//! Newcomers wait in a FIFO ring. One that was used while it waited goes on to the main ring, a
//! clock that remembers uses. Time is counted in faults (in large caches: in ticks of some faults).
//! Every resident page carries the time at which it was loaded, or last *confirmed*: moved to main,
//! or kept by main's arm. A page that leaves becomes a ghost with that time.
//!
//! ```text
//!   fault --no ghost, or not worth it--> waiting ring --used, worth it--> main ring --unused--> ghost
//!     \----came back soon, worth it----------/  \--otherwise, and waited long enough--> ghost
//! ```
//!
//! *The victim.* The arm turns until it stands at main's candidate, an unused page of which no
//! earlier use is remembered (or not worth it). The waiting ring's candidate is its oldest page.
//! Both have an age; the waiting one leaves when it is older than *patience* times main's. With
//! patience 1 the two rings together are one clock; near 0 everything but a few newcomers belongs
//! to main, as loops and scans want it. So no ring has a size. A main ring full of pages of
//! yesterday gives them up by itself, since no other page's age grows as theirs.
//!
//! *Patience* moves by what a few more frames would have gained. A page that faults as one of the
//! last few (3 % of the frames) to have left a ring would have been a hit had that ring been so
//! much longer: left the waiting ring, patience grows; left main, it shrinks, in both cases by as
//! much as the recent returns of both kinds speak one language. Besides it shrinks a little with
//! every page that leaves the waiting ring unused.
//!
//! *Pages worth it.* The main ring is for pages that will be used within a turn of its arm. How
//! likely that is, is learnt for each kind of page (see `graven/reuse.rs`). It is compared with
//! how likely main's candidates, which would leave instead, come back within a turn. This decides
//! three things. First, whether a use while waiting leads to main (not where two uses in a row are
//! all that a page ever sees). Second, whether the arm keeps an unused page for its earlier uses
//! (not where the popular pages change). Third, where the kind does twice as well as the
//! candidates, whether a page that returns goes to main at once.
//!
//! *Other pages that return to main at once.* The time since a ghost's own is the distance between
//! its uses. If that is below a share of the age of main's candidate, the page enters main: it
//! would have outlived that candidate (the test of LIRS, without its stack). The share is learnt
//! too: it grows with each returned page that is used before the arm meets it, and shrinks with
//! each that is not. So about half of them are. Any other page waits again.
//!
//! *How much a use is worth.* While patience is near 0, the use of a page is no news about its
//! next: one hit in the short waiting ring does not lead to main, and main remembers up to 7 uses.
//! Otherwise one may, and 3 are remembered.
//!
//! # Invariants
//! * GR-1 every resident page is on exactly one ring.
//! * GR-2 to GR-4 stand in `graven/rings.rs` and `graven/ghosts.rs`.
//!
//! # Costs
//! 16 bytes a frame, and 8 bytes a ghost, 3 to 6 ghosts a frame; a hit is one saturating count.
//! With what is learnt by kinds, a replay of `arc-OLTP` in 5 % of its pages takes a quarter more
//! instructions than without.
//!
//! # Source
//! Our own; after S. Jiang, X. Zhang, LIRS, SIGMETRICS 2002 (the test); J. Yang et al., S3-FIFO,
//! SOSP 2023 (the waiting ring); N. Megiddo, D. Modha, ARC, FAST 2003 (a balance that moves by
//! ghosts); A. Jain, C. Lin, Hawkeye, ISCA 2016 (learning by class which pages will be used in
//! time, also from pages that were not kept).

mod ghosts;
mod reuse_estimator;
mod rings;

use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use ghosts::{Ghost, Ghosts};
use reuse_estimator::{Kind, ReuseEstimator};
use rings::{Rings, TIME_BITS};

const WAITING: usize = 0;
const MAIN: usize = 1;
const COUNT_MAX: u8 = 7;
/// An [`Admission`] is the number of a kind, and this bit if the page goes to main at once.
const PROVEN: u64 = 1 << 8;
/// Ticks while as many pages fault as there are frames in use, in large caches; in others every
/// fault is one.
const TICKS: u32 = 1 << 13;
/// How often as well as main's candidates a kind of returning pages has to do to enter main at
/// once.
const RETURN_FACTOR: f64 = 2.0;
/// No page that returns later, as a share of the candidate's age, enters main at once.
const SHARE_MAX: f64 = 2.0;
/// Weight of a new age in the running mean.
const AGE_WEIGHT: f64 = 1.0 / 8.0;
/// Share of the candidate's age below which a returning page is proven: at first, its factor, its
/// bounds.
const PROVEN_SHARE: f64 = 0.7;
const PROVEN_STEP: f64 = 1.02;
const PROVEN_MIN: f64 = 0.2;
const PROVEN_MAX: f64 = 0.95;
/// A return counts for patience if so many pages, as a share of the frames, left the same ring
/// since.
const NEAR_SHARE: f64 = 0.03;
/// Such returns remembered, as the factor by which each weakens the earlier ones.
const EVIDENCE_KEPT: f64 = 0.98;
/// Excess of one kind of return over the other, in standard deviations, that is taken for chance.
const EVIDENCE_CHANCE: f64 = 0.5;
/// A return moves the logarithm of patience by at most this, over the root of the number of frames.
const STEP: f64 = 4.0;
/// A page that leaves the waiting ring unused lowers it by this, over the number of frames.
const DRIFT: f64 = 0.3;
const PATIENCE_MIN: f64 = 0.002;
/// Below this patience a hit in the waiting ring tells little.
const IMPATIENT: f64 = 0.012;
/// Largest count that main's arm remembers otherwise.
const PATIENT_COUNT: u8 = 3;
/// The waiting ring's share of the capacity while the cache fills, in percent.
const FILLING_PERCENT: u64 = 5;

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Graven {
    rings: Rings,
    ghosts: Ghosts,
    capacity: u64,
    patience: f64,
    /// Whether patience moves.
    adapts: bool,
    /// Near returns from each ring, the older the less.
    evidence: [f64; 2],
    proven_share: f64,
    reuse: ReuseEstimator,
    now: u32,
    /// Faults since the last tick.
    faults: u32,
    /// Pages that left each ring.
    left: [u32; 2],
    /// Running mean of the age of main's candidate, in ticks.
    age: f64,
    warm: bool,
}

impl Graven {
    /// An empty cache of `capacity` whose patience is `percent` at first or, unless it `adapts`,
    /// for good.
    #[must_use]
    pub fn new(percent: u64, adapts: bool, capacity: u64) -> Self {
        Self {
            rings: Rings::new(),
            ghosts: Ghosts::default(),
            capacity,
            patience: percent as f64 / 100.0,
            adapts,
            evidence: [0.0; 2],
            proven_share: PROVEN_SHARE,
            reuse: ReuseEstimator::new(),
            now: 0,
            faults: 0,
            left: [0; 2],
            age: 0.0,
            warm: false,
        }
    }

    fn frames_in_use(&self) -> f64 {
        (self.rings.len(WAITING) + self.rings.len(MAIN)).max(1) as f64
    }

    /// Faults a tick, less one.
    fn faults_between(&self) -> u32 {
        (self.rings.len(WAITING) + self.rings.len(MAIN)) as u32 / TICKS
    }

    fn time(&self) -> u32 {
        self.now & ((1 << TIME_BITS) - 1)
    }

    /// Ticks since `time`.
    fn since(&self, time: u32) -> f64 {
        f64::from(self.now.wrapping_sub(time) & ((1 << TIME_BITS) - 1))
    }

    fn scale_patience(&mut self, factor: f64) {
        if self.adapts {
            self.patience = (self.patience * factor).clamp(PATIENCE_MIN, 1.0);
        }
    }

    fn scale_proven_share(&mut self, factor: f64) {
        self.proven_share = (self.proven_share * factor).clamp(PROVEN_MIN, PROVEN_MAX);
    }

    /// A page came back that would still be there if its ring had been a little longer.
    fn learn(&mut self, ring: usize) {
        self.evidence[ring] += 1.0;
        let [waiting, main] = self.evidence;
        let (excess, deviation) = (waiting - main, (waiting + main).sqrt());
        let strength = (excess.abs() / deviation - EVIDENCE_CHANCE).max(0.0) / deviation;
        let step = STEP / self.frames_in_use().sqrt();
        self.scale_patience((excess.signum() * strength * step).exp());
        self.evidence = [waiting * EVIDENCE_KEPT, main * EVIDENCE_KEPT];
    }

    /// A page that left comes back: learns from where, and says whether it goes to main at once.
    fn returns(&mut self, ghost: Ghost) -> Admission {
        let turns = self.ghosts.turns_since(ghost, self.left[ghost.ring]);
        if f64::from(turns) <= 1.0 + NEAR_SHARE * self.frames_in_use() {
            self.learn(ghost.ring);
        }
        let distance = self.since(ghost.time);
        let stay = if ghost.ring == MAIN {
            1.0
        } else {
            self.patience
        };
        if ghost.kind != Kind::NONE && distance < (1.0 + stay) * self.age {
            self.reuse.missed(ghost.kind);
        }
        let share = distance / self.age.max(1.0);
        let kind = Kind::returned(share);
        let proven = share < self.proven_share
            || share < SHARE_MAX && self.reuse.are_better(kind, RETURN_FACTOR);
        Admission(kind.number() | if proven { PROVEN } else { 0 })
    }

    /// A page of main was met by the arm, or left.
    fn end_trial(&mut self, kind: Kind, used: bool) {
        let in_use = self.frames_in_use();
        self.reuse.tried(kind, used, in_use);
        if kind.is_return() {
            self.scale_proven_share(if used { PROVEN_STEP } else { 1.0 / PROVEN_STEP });
        }
    }

    /// Takes a claimed frame off its ring and remembers its page.
    fn leave<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        frame: FrameIdx,
    ) -> Option<(FrameIdx, PageId)> {
        let (time, kind) = (self.rings.time(frame), self.rings.kind(frame));
        let (credit, count) = (self.rings.credit(frame), frames.usage(frame));
        let in_use = self.frames_in_use();
        let (ring, page) = self.rings.remove(frame, frames.weight(frame))?;
        let kind = if ring == MAIN {
            self.end_trial(kind, false);
            match credit {
                0 => Kind::CANDIDATE,
                _ => Kind::remembered(credit),
            }
        } else {
            self.scale_patience(1.0 - (DRIFT / in_use).min(0.5));
            match count {
                0 => kind,
                _ => Kind::used(count),
            }
        };
        self.reuse.tried(kind, false, in_use);
        let turn = self.left[ring];
        self.left[ring] = self.left[ring].wrapping_add(1);
        let ghost = Ghost {
            time,
            ring,
            kind,
            turn,
        };
        let leaving = [(self.patience * self.age) as u32, self.age as u32];
        self.ghosts
            .put(page, ghost, self.now, leaving, in_use as usize);
        Some((frame, page))
    }

    /// Whether a page of the waiting ring's end, used `count` times, goes on to main; ends its
    /// trial if it was used.
    fn goes_on(&mut self, frame: FrameIdx, count: u8) -> bool {
        if count == 0 {
            return false;
        }
        let in_use = self.frames_in_use();
        self.reuse.tried(self.rings.kind(frame), true, in_use);
        self.rings.set_trial(frame, Kind::NONE, 0);
        let enough = if self.patience < IMPATIENT { 2 } else { 1 };
        count >= enough && self.reuse.are_better(Kind::used(count), 1.0)
    }

    /// Moves used pages at the waiting ring's end to main; its oldest unused page that is not busy
    /// is the candidate.
    fn waiting_candidate<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        looks: &mut usize,
    ) -> Option<FrameIdx> {
        for _ in 0..self.rings.len(WAITING).min(*looks) {
            *looks -= 1;
            let frame = self.rings.back(WAITING)?;
            let count = frames.usage(frame);
            let ring = if frames.is_busy(frame) {
                WAITING
            } else if self.goes_on(frame, count) {
                self.rings.set_trial(frame, Kind::used(count), 0);
                self.rings.set_time(frame, self.time());
                frames.set_usage(frame, 0);
                MAIN
            } else {
                return Some(frame);
            };
            self.rings.move_front(ring, frame, frames.weight(frame));
        }
        None
    }

    /// Turns main's arm to a page that is not busy, not used, and not worth keeping for earlier
    /// uses.
    fn main_candidate<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        looks: &mut usize,
    ) -> Option<FrameIdx> {
        let remembered = if self.patience < IMPATIENT {
            COUNT_MAX
        } else {
            PATIENT_COUNT
        };
        for _ in 0..((usize::from(remembered) + 1) * self.rings.len(MAIN)).min(*looks) {
            *looks -= 1;
            let frame = self.rings.back(MAIN)?;
            let count = frames.usage(frame);
            if !frames.is_busy(frame) {
                let credit = self.rings.credit(frame);
                let kind = match count {
                    0 if credit == 0 => return Some(frame),
                    0 => Kind::remembered(credit),
                    _ => Kind::NONE,
                };
                if count == 0 && !self.reuse.are_better(kind, 1.0) {
                    return Some(frame);
                }
                self.end_trial(self.rings.kind(frame), count > 0);
                let credit = (credit + count).min(remembered).max(1) - 1;
                self.rings.set_trial(frame, kind, credit);
                frames.set_usage(frame, 0);
                self.rings.set_time(frame, self.time());
            }
            self.rings.move_front(MAIN, frame, frames.weight(frame));
        }
        None
    }

    /// The candidate that is to leave.
    fn candidate<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        looks: &mut usize,
    ) -> Option<(usize, FrameIdx)> {
        let waiting = self.waiting_candidate(frames, looks);
        let Some(main) = self.main_candidate(frames, looks) else {
            return waiting.map(|frame| (WAITING, frame));
        };
        let age = self.since(self.rings.time(main));
        self.age += AGE_WEIGHT * (age - self.age);
        match waiting {
            Some(frame) if self.since(self.rings.time(frame)) >= self.patience * age => {
                Some((WAITING, frame))
            }
            _ => Some((MAIN, main)),
        }
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
}

impl<F: Frames + ?Sized> Policy<F> for Graven {
    fn hit_kind(&self) -> HitKind {
        HitKind::Count { max: COUNT_MAX }
    }

    #[inline]
    fn on_miss(&mut self, page: PageId) -> Admission {
        self.faults += 1;
        if self.faults > self.faults_between() {
            self.faults = 0;
            self.now = self.now.wrapping_add(1);
        }
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
        let waiting = self.rings.weight(WAITING) + u64::from(weight);
        let filling = !self.warm
            && self.rings.len(WAITING) > 0
            && waiting > self.capacity * FILLING_PERCENT / 100;
        let proven = admission.0 & PROVEN != 0;
        let to_main = (proven || filling) && hint == Hint::Normal;
        let ring = if to_main { MAIN } else { WAITING };
        self.rings
            .push_front(ring, frame, page, self.time(), weight);
        self.rings
            .set_trial(frame, Kind::from_number(admission.0), 0);
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.warm = true;
        let resident = self.rings.len(WAITING) + self.rings.len(MAIN);
        let mut looks = 2 * usize::from(COUNT_MAX) * resident;
        while let Some((ring, frame)) = self.candidate(frames, &mut looks) {
            if frames.try_claim(frame) == Claim::Claimed {
                return self.leave(frames, frame);
            }
            // It may not leave now, and is asked again after a turn.
            self.rings.move_front(ring, frame, frames.weight(frame));
        }
        [WAITING, MAIN]
            .into_iter()
            .find_map(|ring| self.evict_any(ring, frames))
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
        let age = self.age * f64::from(1 + self.faults_between());
        let waiting = self.rings.len(WAITING) as f64 / self.frames_in_use();
        vec![
            ("candidate_age_faults", age),
            ("patience", self.patience),
            ("proven_share", self.proven_share),
            ("waiting_share", waiting),
        ]
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        self.rings.check(frames)?;
        self.ghosts.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belady::{self, Bypass};
    use crate::gclock::Arm;
    use crate::neo4j::neo4j;
    use crate::simulator::replay;
    use graven_types::rng::SplitMix64;

    /// Goal: where the popular pages change, earlier uses do not keep a page: at least a fifth of
    /// the way from Neo4j's clock to the optimum is closed.
    #[test]
    fn yesterdays_popularity_is_given_up() {
        let mut random = SplitMix64::new(1);
        let pages: Vec<u32> = (0..200_000)
            .map(|at| at / 100 + (5_000f64.powf(random.unit()) as u32))
            .collect();
        let (unique, capacity) = (7_000, 500);
        let clock = replay(neo4j(4, Arm::Global, 1), &pages, unique, capacity).hits as f64;
        let best = belady::hits(&pages, unique, capacity, Bypass::Never) as f64;
        let policy = Graven::new(2, true, capacity as u64);
        let hits = replay(policy, &pages, unique, capacity).hits as f64;
        let closed = (hits - clock) / (best - clock);
        assert!(closed > 0.2, "{closed}");
    }
}
