//! Statistics behind verdicts: paired rounds, a bootstrap interval of their ratio, and a noise band
//! from A/A rounds.
//!
//! # How it works
//! Two settings are measured in turn, round after round, so that what slows the machine down for a
//! while meets both. The quotient of a round is `a / b` in that round; what counts is the geometric
//! mean of the quotients. [`ratio`] draws rounds with repetition a thousand times and takes the
//! 2.5th and 97.5th percentile of the means. Few rounds vary less among themselves than new rounds
//! would, so both ends move outwards by Student's factor for that number of rounds: the *interval*.
//! Five rounds make it 1.6 times as wide as the percentiles alone.
//!
//! One setting is measured twice in every round (A/A). Its quotients would all be 1 on a quiet
//! machine; the end of their interval that is farther from 1 is the *noise band*: what this
//! machine, in this run, shows between equals, and at least [`NOISE_MIN`]. [`judge`] widens the
//! interval by the band. A claim is confirmed if all of the widened interval fulfils it, refuted if
//! none of it does, else undecided.
//!
//! # Invariants
//! * RO-1 the same rounds and seed give the same interval.
//! * RO-2 with fewer than [`ROUNDS_MIN`] rounds, or without A/A rounds, every timed claim is
//!   undecided.
//!
//! # Source
//! T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69(4),
//! 2015: percentiles of few values are too narrow, by `t / z * sqrt(n / (n - 1))`.

use graven_types::rng::SplitMix64;
use serde::Serialize;

/// Fewer rounds than these say nothing.
pub const ROUNDS_MIN: usize = 3;
/// Draws of the bootstrap.
const DRAWS: usize = 1_000;
/// Share of the draws beyond each end of an interval.
const TAIL: f64 = 0.025;
const SEED: u64 = 1;
/// No machine is quieter than this from one run to the next, whatever its A/A rounds say.
const NOISE_MIN: f64 = 1.02;
/// The 97.5th percentile of the normal distribution.
const NORMAL: f64 = 1.960;
/// The 97.5th percentile of Student's distribution, from two degrees of freedom on.
const STUDENT: [f64; 19] = [
    4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
    2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
];

/// A mean with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The mean.
    pub mean: f64,
    /// Upper end.
    pub high: f64,
}

/// What a claim says of a quotient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// Between these.
    Within(f64, f64),
}

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Standing {
    /// It holds.
    Confirmed,
    /// It does not hold.
    Refuted,
    /// The interval, widened by the noise, crosses the line.
    Undecided,
}

impl Interval {
    /// The interval with both ends moved outwards by a factor, as noise bands are.
    #[must_use]
    pub fn widened(self, band: f64) -> Self {
        Self {
            low: self.low / band,
            high: self.high * band,
            ..self
        }
    }
}

/// The interval of the geometric mean of `a / b` over paired rounds; none with fewer than
/// [`ROUNDS_MIN`] pairs of positive numbers.
#[must_use]
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Interval> {
    let pairs = a.iter().zip(b).filter(|(a, b)| **a > 0.0 && **b > 0.0);
    let logs: Vec<f64> = pairs.map(|(a, b)| (a / b).ln()).collect();
    let interval = mean(&logs)?;
    Some(Interval {
        low: interval.low.exp(),
        mean: interval.mean.exp(),
        high: interval.high.exp(),
    })
}

/// The interval of the mean of some rounds; none with fewer than [`ROUNDS_MIN`].
#[must_use]
pub fn mean(rounds: &[f64]) -> Option<Interval> {
    if rounds.len() < ROUNDS_MIN {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = (0..rounds.len()).map(|_| rounds[random.place(rounds.len())]);
            drawn.sum::<f64>() / rounds.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((DRAWS - 1) as f64 * share).round() as usize];
    let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
    let factor = few_rounds(rounds.len());
    Some(Interval {
        low: mean - (mean - at(TAIL)) * factor,
        mean,
        high: mean + (at(1.0 - TAIL) - mean) * factor,
    })
}

/// By what factor the percentiles of so many rounds are too narrow.
fn few_rounds(rounds: usize) -> f64 {
    let student = STUDENT.get(rounds - ROUNDS_MIN).unwrap_or(&NORMAL);
    student / NORMAL * (rounds as f64 / (rounds as f64 - 1.0)).sqrt()
}

/// The factor, at least [`NOISE_MIN`], by which equals differ: from rounds of one setting measured
/// twice. None with fewer than [`ROUNDS_MIN`] of them.
#[must_use]
pub fn noise_band(first: &[f64], second: &[f64]) -> Option<f64> {
    let interval = ratio(first, second)?;
    Some(interval.high.max(1.0 / interval.low).max(NOISE_MIN))
}

/// How a claim about a quotient stands, given its interval and the noise band.
#[must_use]
pub fn judge(claim: Claim, interval: Option<Interval>, band: Option<f64>) -> Standing {
    let (Some(interval), Some(band)) = (interval, band) else {
        return Standing::Undecided;
    };
    let Interval { low, high, .. } = interval.widened(band);
    let (holds, fails) = match claim {
        Claim::Above(line) => (low > line, high <= line),
        Claim::Below(line) => (high < line, low >= line),
        Claim::Within(from, to) => (from < low && high < to, high <= from || to <= low),
    };
    match (holds, fails) {
        (true, _) => Standing::Confirmed,
        (_, true) => Standing::Refuted,
        _ => Standing::Undecided,
    }
}

/// How several claims that belong together stand: all of them, as a chain of `and`.
#[must_use]
pub fn all(standings: impl IntoIterator<Item = Standing>) -> Standing {
    standings
        .into_iter()
        .fold(Standing::Confirmed, |sum, one| match (sum, one) {
            (Standing::Refuted, _) | (_, Standing::Refuted) => Standing::Refuted,
            (Standing::Undecided, _) | (_, Standing::Undecided) => Standing::Undecided,
            _ => Standing::Confirmed,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a machine whose speed wanders by a factor that both settings meet, and noise that
    /// each has for itself.
    fn rounds(count: usize, speed: f64, own_noise: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut random = SplitMix64::new(seed);
        let mut unit = || random.below(1 << 20) as f64 / f64::from(1 << 20);
        (0..count)
            .map(|_| {
                let weather = 0.3 + unit();
                let mut noisy = |speed: f64| speed * weather * (1.0 + own_noise * (unit() - 0.5));
                (noisy(speed), noisy(1.0))
            })
            .unzip()
    }

    /// Goal: what moves the whole machine cancels in pairs, and the interval holds the truth.
    #[test]
    fn pairs_cancel_what_both_meet() {
        let (a, b) = rounds(7, 1.2, 0.0, 3);
        let interval = ratio(&a, &b).expect("seven rounds");
        assert!((interval.low - 1.2).abs() < 1e-9 && (interval.high - 1.2).abs() < 1e-9);
        assert_eq!(ratio(&a, &b), ratio(&a, &b), "RO-1");
        let (a, b) = rounds(9, 1.2, 0.2, 4);
        let interval = ratio(&a, &b).expect("nine rounds");
        assert!(interval.low < 1.2 && 1.2 < interval.high, "{interval:?}");
    }

    /// Goal: two runs on a noisy machine never give opposite verdicts on a true claim far from the
    /// line, a false one, and one that lies on the line.
    #[test]
    fn verdicts_do_not_flip() {
        for seed in 0..60 {
            let verdict = |speed: f64, line: f64| {
                let (a, b) = rounds(7, speed, 0.2, seed);
                let (first, second) = rounds(7, 1.0, 0.2, seed + 1_000);
                judge(
                    Claim::Above(line),
                    ratio(&a, &b),
                    noise_band(&first, &second),
                )
            };
            assert_ne!(verdict(1.5, 1.1), Standing::Refuted, "seed {seed}");
            assert_ne!(verdict(1.0, 1.4), Standing::Confirmed, "seed {seed}");
        }
        let decided = |speed: f64, line: f64| {
            let undecided = (0..60).filter(|&seed| {
                let (a, b) = rounds(7, speed, 0.2, seed);
                judge(Claim::Above(line), ratio(&a, &b), Some(1.05)) == Standing::Undecided
            });
            60 - undecided.count()
        };
        assert!(decided(1.5, 1.1) == 60, "a clear case is decided");
        assert!(decided(1.0, 1.0) < 15, "equals are not told apart");
    }

    /// Goal: the three outcomes, at the line and around it.
    #[test]
    fn lines_and_intervals() {
        let interval = |low: f64, high: f64| {
            Some(Interval {
                low,
                mean: f64::midpoint(low, high),
                high,
            })
        };
        let above = |low, high, band| judge(Claim::Above(1.0), interval(low, high), Some(band));
        assert_eq!(above(1.1, 1.2, 1.05), Standing::Confirmed);
        assert_eq!(above(1.1, 1.2, 1.2), Standing::Undecided);
        assert_eq!(above(0.7, 0.8, 1.05), Standing::Refuted);
        assert_eq!(above(0.9, 1.1, 1.0), Standing::Undecided);
        let alone = |interval, band| judge(Claim::Above(1.0), interval, band);
        assert_eq!(alone(None, Some(1.0)), Standing::Undecided);
        assert_eq!(alone(interval(2.0, 3.0), None), Standing::Undecided, "RO-2");
        let within = |low, high| judge(Claim::Within(0.8, 1.25), interval(low, high), Some(1.0));
        assert_eq!(within(0.9, 1.1), Standing::Confirmed);
        assert_eq!(within(1.3, 1.4), Standing::Refuted);
        assert_eq!(within(1.2, 1.4), Standing::Undecided);
        assert_eq!(
            judge(Claim::Below(0.3), interval(0.1, 0.2), Some(1.1)),
            Standing::Confirmed
        );
        assert_eq!(
            all([Standing::Confirmed, Standing::Undecided]),
            Standing::Undecided
        );
        assert_eq!(
            all([Standing::Refuted, Standing::Undecided]),
            Standing::Refuted
        );
        assert_eq!(ratio(&[1.0, 2.0], &[1.0, 1.0]), None, "too few rounds");
        assert_eq!(noise_band(&[1.0, 2.0], &[1.0, 1.0]), None, "RO-2");
        let quiet = noise_band(&[1.0; 5], &[1.0; 5]);
        assert_eq!(quiet, Some(NOISE_MIN), "no machine is that quiet");
    }

    /// Goal: intervals of few rounds hold the truth about as often as they say, 95 times in 100.
    /// Without Student's factor those of three rounds hold it about 75 times.
    #[test]
    fn intervals_of_few_rounds_hold_the_truth() {
        for count in [3, 5, 9] {
            let held = (0..400).filter(|&seed| {
                let mut random = SplitMix64::new(seed);
                let mut unit = || random.below(1 << 20) as f64 / f64::from(1 << 20);
                // The sum of twelve is close to a normal distribution around zero.
                let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
                let rounds: Vec<f64> = (0..count).map(|_| normal()).collect();
                mean(&rounds).is_some_and(|interval| interval.low <= 0.0 && interval.high >= 0.0)
            });
            let held = held.count();
            assert!(held >= 360, "{held} of 400 intervals of {count} rounds");
        }
    }
}
