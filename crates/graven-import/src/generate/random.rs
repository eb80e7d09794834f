//! Random numbers and the few functions of them that generators need, the same on every machine.
//!
//! # How it works
//! Streams of SplitMix64. Logarithm and power are computed with the four
//! basic operations only, whose results IEEE 754 fixes to the last bit, instead of the system's
//! mathematical library, whose results differ.
//!
//! # Source
//! Guy L. Steele, Doug Lea, Christine H. Flood: Fast Splittable Pseudorandom Number Generators,
//! OOPSLA 2014.

use graven_types::rng::SplitMix64;

/// The stream of a seed for a purpose; streams of different purposes are independent.
pub(crate) fn stream(seed: u64, purpose: u64) -> SplitMix64 {
    let mut mixed = SplitMix64::new(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
    SplitMix64::new(mixed.bits() ^ purpose)
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

    /// Goal: seed and purpose alone make a stream, and each of them matters.
    #[test]
    fn streams_differ_by_seed_and_purpose() {
        let first = stream(1, 2).bits();
        assert_eq!(stream(1, 2).bits(), first);
        assert_ne!(stream(1, 3).bits(), first);
        assert_ne!(stream(2, 2).bits(), first);
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
