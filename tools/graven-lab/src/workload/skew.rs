//! Pages by Zipf's law.

use graven_types::rng::{SplitMix64, mix};

/// Ranks by Zipf's law, by rejection, without a table.
#[derive(Clone, Debug)]
pub(super) struct Skew {
    pub(super) pages: u64,
    pub(super) alpha: f64,
    /// Integral of the density's hat up to the last rank, and at the first.
    pub(super) bounds: (f64, f64),
}

impl Skew {
    pub(super) fn new(pages: u64, alpha: f64) -> Self {
        let mut skew = Self {
            pages,
            alpha,
            bounds: (0.0, 0.0),
        };
        skew.bounds = (skew.integral(pages as f64 + 0.5), skew.integral(1.5) - 1.0);
        skew
    }

    pub(super) fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.alpha) * log;
        // (e^p - 1) / p, continuous at 0.
        let factor = if power.abs() > 1e-8 {
            power.exp_m1() / power
        } else {
            1.0 + power / 2.0
        };
        log * factor
    }

    pub(super) fn inverse(&self, y: f64) -> f64 {
        let scaled = (y * (1.0 - self.alpha)).max(-1.0);
        let factor = if scaled.abs() > 1e-8 {
            scaled.ln_1p() / scaled
        } else {
            1.0 - scaled / 2.0
        };
        (y * factor).exp()
    }

    /// A page: a rank, scattered over the store.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> u64 {
        let (high, low) = self.bounds;
        loop {
            let y = high + random.unit() * (low - high);
            let x = self.inverse(y);
            let rank = (x + 0.5).floor().clamp(1.0, self.pages as f64);
            if y >= self.integral(rank + 0.5) - (-self.alpha * rank.ln()).exp() {
                return scatter(rank as u64 - 1, self.pages);
            }
        }
    }
}

/// A permutation of `0..pages`: a Feistel network walked until it lands inside.
pub(super) fn scatter(rank: u64, pages: u64) -> u64 {
    let half = (64 - (pages - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut at = rank;
    loop {
        let (mut left, mut right) = (at >> half, at & mask);
        for round in 0..3 {
            (left, right) = (right, left ^ (mix(right ^ (round << 40)) & mask));
        }
        at = left << half | right;
        if at < pages {
            return at;
        }
    }
}
