//! How many friends a person is meant to have.
//!
//! # How it works
//! The distribution is that of Facebook in 2011 in a table of quantiles, as multiples of the mean;
//! the mean grows with the number of persons. Each person gets one of `n` equally spaced quantiles
//! by lot, so the distribution is met exactly and only its assignment is random. About one in
//! twenty has no friend: the persons that joined too late to have made one.
//!
//! # Source
//! Johan Ugander, Brian Karrer, Lars Backstrom, Cameron Marlow: The Anatomy of the Facebook Social
//! Graph, 2011 (median 99, mean 190, maximum 5,000). Mean degree after Erling et al.: The LDBC
//! Social Network Benchmark: Interactive Workload, SIGMOD 2015: n^(0.512 - 0.028 log10 n) for all
//! simulated time. Multiples between the published points are read off LDBC's SF10 graph.
//!
//! # Deviations
//! The networks stop at the bulk cut-off, so the mean is a share of that formula: `SHARE / n^FALL`,
//! fitted to the mean degrees of LDBC's SF1 (36.6) and SF10 (58.9) graphs.

use crate::generate::random::{exp, ln};
use graven_types::rng::SplitMix64;

/// Share of the friendships made before the cut-off, at one person.
const SHARE: f64 = 1.057;
/// How the share falls with the number of persons.
const FALL: f64 = 0.0146;

/// Quantile and degree as a multiple of the mean; linear between the rows.
const QUANTILES: [(f64, f64); 31] = [
    (0.0, 0.0),
    (0.05, 0.0),
    (0.06, 0.017),
    (0.08, 0.024),
    (0.1, 0.034),
    (0.15, 0.085),
    (0.2, 0.119),
    (0.25, 0.168),
    (0.3, 0.204),
    (0.35, 0.272),
    (0.4, 0.335),
    (0.45, 0.42),
    (0.5, 0.505),
    (0.55, 0.608),
    (0.6, 0.733),
    (0.65, 0.87),
    (0.7, 1.066),
    (0.75, 1.25),
    (0.8, 1.48),
    (0.85, 1.83),
    (0.9, 2.335),
    (0.925, 2.783),
    (0.95, 3.45),
    (0.96, 3.72),
    (0.97, 4.09),
    (0.98, 4.57),
    (0.985, 4.98),
    (0.99, 5.9),
    (0.995, 12.85),
    (0.999, 21.1),
    (1.0, 25.9),
];

/// The mean number of friends among `persons`.
pub(super) fn mean(persons: u64) -> f64 {
    let n = persons.max(2) as f64;
    SHARE * exp(ln(n) * (0.512 - FALL - 0.028 * ln(n) / ln(10.0)))
}

/// The number of friends each person is meant to have.
pub(super) fn targets(persons: u64, random: &mut SplitMix64) -> Vec<u32> {
    let mean = mean(persons) / table_mean();
    let most = persons.saturating_sub(1) as f64;
    let mut degrees: Vec<u32> = (0..persons)
        .map(|i| {
            let quantile = (i as f64 + 0.5) / persons as f64;
            // A half is rounded by lot, so that small networks keep the mean too.
            let exact = (multiple(quantile) * mean).min(most);
            let whole = exact as u32;
            whole + u32::from(random.unit() < exact - f64::from(whole))
        })
        .collect();
    random.shuffle(&mut degrees);
    degrees
}

fn multiple(quantile: f64) -> f64 {
    let above = QUANTILES
        .iter()
        .position(|(q, _)| *q >= quantile)
        .unwrap_or(30)
        .max(1);
    let ((q0, m0), (q1, m1)) = (QUANTILES[above - 1], QUANTILES[above]);
    m0 + (m1 - m0) * (quantile - q0) / (q1 - q0)
}

fn table_mean() -> f64 {
    QUANTILES
        .windows(2)
        .map(|w| (w[1].0 - w[0].0) * (w[0].1 + w[1].1) / 2.0)
        .sum()
}
