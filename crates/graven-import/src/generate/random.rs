//! Random numbers and the few functions of them that generators need, the same on every machine.
//!
//! # How it works
//! SplitMix64: a counter through a mixing function. Logarithm and power are computed with the four
//! basic operations only, whose results IEEE 754 fixes to the last bit, instead of the system's
//! mathematical library, whose results differ.
//!
//! # Source
//! Guy L. Steele, Doug Lea, Christine H. Flood: Fast Splittable Pseudorandom Number Generators,
//! OOPSLA 2014. Daniel Lemire: Fast Random Integer Generation in an Interval, TOMACS 2019.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A stream for a seed and a purpose; streams of different purposes are independent.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut mixed = Self(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(mixed.next() ^ purpose)
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..limit`; 0 for a limit of 0. The bias is below `limit / 2^64`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number in `0.0..1.0`, a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles in place (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Natural logarithm of a positive number, within 1e-12.
pub(crate) fn ln(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    let (mut mantissa, mut exponent) = (x, 0.0);
    while mantissa > 1.5 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    while mantissa < 0.75 {
        mantissa *= 2.0;
        exponent -= 1.0;
    }
    // ln m = 2 atanh((m - 1) / (m + 1)), and the quotient is at most a fifth.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let (square, mut power, mut sum, mut odd) = (t * t, t, 0.0, 1.0);
    while odd < 40.0 {
        sum += power / odd;
        power *= square;
        odd += 2.0;
    }
    exponent * LN_2 + 2.0 * sum
}

/// e to the power of `x`, within a relative 1e-12 for moderate `x`.
pub(crate) fn exp(x: f64) -> f64 {
    let halvings = 20;
    let small = x / f64::from(1 << halvings);
    let mut result = 1.0 + small + small * small / 2.0 + small * small * small / 6.0;
    for _ in 0..halvings {
        result *= result;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_fixed() {
        let mut random = Random::new(1, 2);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        let mut again = Random::new(1, 2);
        assert!(first.iter().all(|x| *x == again.next()));
        assert_ne!(Random::new(1, 3).next(), first[0]);
        assert_ne!(Random::new(2, 2).next(), first[0]);
        assert!((0..1000).all(|_| random.below(7) < 7 && random.unit() < 1.0));
    }

    #[test]
    fn logarithm_and_power() {
        for x in [1e-9, 0.3, 0.75, 1.0, 1.4999, 2.0, 65_645.0, 1e12] {
            assert!(
                (ln(x) - x.ln()).abs() < 1e-12 * x.ln().abs().max(1.0),
                "{x}"
            );
            assert!((exp(ln(x)) / x - 1.0).abs() < 1e-8, "{x}");
        }
    }
}
