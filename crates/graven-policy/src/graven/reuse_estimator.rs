//! How often pages of a kind are used within a turn of main's arm, learnt by kind.
//!
//! # How it works
//! A kind is what is known of a page when it is decided whether it stays: how often it was used
//! while it waited, how many earlier uses main still remembers of it, or how soon it came back. For
//! every kind the table counts pages that were on trial and those of them that were used within a
//! turn. A page that stays is counted when the arm meets it; one that leaves counts as unused until
//! it comes back in time, which its ghost knows. So kinds that are never kept are learnt about too.
//! A kind is worth keeping if its rate is above that of main's candidates, the pages it would
//! displace.
//!
//! # Costs
//! 16 bytes a kind; a few floating-point operations a trial, none on a hit.
//!
//! # Source
//! A. Jain, C. Lin, Hawkeye, ISCA 2016 (keep what would have been used in time, learnt by class,
//! also for what was not kept); N. Beckmann, H. Chen, A. Cidon, LHD, NSDI 2018 (rates learnt by
//! class and age).

/// A kind of page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(u8);

/// Bits of a kind's number.
pub(super) const KIND_BITS: u32 = 4;
const KINDS: usize = 13;
/// Trials that the first guess counts for.
const GUESS_TRIALS: f64 = 8.0;
/// Trials after which a trial counts e times less: so many per frame, and at least so many.
const MEMORY_PER_FRAME: f64 = 4.0;
const MEMORY_MIN: f64 = 20.0;
/// No kind is worth keeping below this rate.
const RATE_MIN: f64 = 0.15;

impl Kind {
    /// Nothing is known.
    pub(super) const NONE: Kind = Kind(0);
    /// Left main, unused for a turn, with no earlier use remembered.
    pub(super) const CANDIDATE: Kind = Kind(1);

    /// Used `count` times, at least once, while it waited.
    pub(super) fn used(count: u8) -> Kind {
        Kind(1 + count.clamp(1, 3))
    }

    /// Unused for a turn of main's arm, with `credit` earlier uses, at least one, still remembered.
    pub(super) fn remembered(credit: u8) -> Kind {
        Kind(4 + credit.clamp(1, 3))
    }

    /// Came back after this share of the age of main's candidate: below a quarter, a half, one,
    /// two, or later.
    pub(super) fn returned(share: f64) -> Kind {
        let later = [0.25, 0.5, 1.0, 2.0].iter().filter(|&&at| share >= at);
        Kind(8 + later.count() as u8)
    }

    pub(super) fn is_return(self) -> bool {
        self.0 >= 8
    }

    pub(super) fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The kind of a number, of which only [`KIND_BITS`] are looked at.
    pub(super) fn from_number(number: u64) -> Kind {
        Kind((number as u8 & ((1 << KIND_BITS) - 1)).min(KINDS as u8 - 1))
    }

    /// Its rate before anything is known.
    fn guess(self) -> f64 {
        match self.0 {
            1 => 0.2,
            11.. => 0.1,
            _ => 0.4,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Trials {
    all: f64,
    used: f64,
}

/// The table.
#[derive(Debug)]
pub(super) struct ReuseEstimator {
    trials: [Trials; KINDS],
}

impl ReuseEstimator {
    pub(super) fn new() -> Self {
        let first = |number| Trials {
            all: GUESS_TRIALS,
            used: GUESS_TRIALS * Kind(number as u8).guess(),
        };
        Self {
            trials: std::array::from_fn(first),
        }
    }

    /// A page's trial, if it was on one, ended in a cache of `frames`.
    #[inline]
    pub(super) fn tried(&mut self, kind: Kind, used: bool, frames: f64) {
        if kind == Kind::NONE {
            return;
        }
        let kept = 1.0 - 1.0 / (MEMORY_PER_FRAME * frames).max(MEMORY_MIN);
        let trials = &mut self.trials[usize::from(kind.0)];
        trials.all = trials.all * kept + 1.0;
        trials.used = trials.used * kept + f64::from(u8::from(used));
    }

    /// A page that left, and was counted as unused, came back in time.
    #[inline]
    pub(super) fn missed(&mut self, kind: Kind) {
        self.trials[usize::from(kind.0)].used += 1.0;
    }

    fn rate(&self, kind: Kind) -> f64 {
        let trials = self.trials[usize::from(kind.0)];
        trials.used / trials.all
    }

    /// Whether pages of the kind are used at least `factor` times as often as main's candidates.
    #[inline]
    pub(super) fn are_better(&self, kind: Kind, factor: f64) -> bool {
        let rate = self.rate(kind);
        rate >= RATE_MIN && rate >= factor * self.rate(Kind::CANDIDATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a kind's worth follows what its pages did, compared with what main's candidates did.
    #[test]
    fn worth_follows_what_was_used() {
        let mut reuse = ReuseEstimator::new();
        let once = Kind::used(1);
        assert!(reuse.are_better(once, 1.0));
        for _ in 0..200 {
            reuse.tried(once, false, 10.0);
        }
        assert!(!reuse.are_better(once, 1.0));
        // They left, but half of them came back in time.
        for turn in 0..200 {
            reuse.tried(once, false, 10.0);
            if turn % 2 == 0 {
                reuse.missed(once);
            }
        }
        assert!(reuse.are_better(once, 1.0));
        assert!(!reuse.are_better(once, 3.0));
        for _ in 0..200 {
            reuse.tried(Kind::CANDIDATE, true, 10.0);
        }
        assert!(!reuse.are_better(once, 1.0));
    }

    /// Goal: kinds are told apart and survive their number.
    #[test]
    fn kinds_have_numbers_of_their_own() {
        let mut kinds = vec![Kind::NONE, Kind::CANDIDATE];
        kinds.extend((1..=3).map(Kind::used));
        kinds.extend((1..=3).map(Kind::remembered));
        kinds.extend([0.0, 0.25, 0.7, 1.0, 9.0].map(Kind::returned));
        for (number, kind) in kinds.iter().enumerate() {
            assert_eq!(kind.number(), number as u64);
            assert_eq!(Kind::from_number(kind.number()), *kind);
            assert_eq!(kind.is_return(), number >= 8);
        }
        assert_eq!(kinds.len(), KINDS);
        assert_eq!(Kind::used(7), Kind::used(3));
    }
}
