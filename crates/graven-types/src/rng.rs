//! Seeded random numbers, the same on every machine: SplitMix64.
//!
//! # How it works
//! A counter that grows by an odd constant, through a function that scrambles its bits ([`mix`]).
//! Every seed is a good one, a copy goes on as its original does, and a number costs two
//! multiplications.
//!
//! # Deviations
//! None from the published generator; golden hit counts and generated networks depend on that.
//!
//! # Source
//! G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
//! figure 16 (with the mixing constants of its 64-bit variant 13). D. Lemire, "Fast random integer
//! generation in an interval", TOMACS 2019 (numbers below a limit, without the paper's rejection of
//! the last bias).

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..limit`; 0 for a limit of 0. The bias is below `limit / 2^64`.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A place among `length`; 0 where there is none.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number in `0.0..1.0`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// True with the given probability; takes no number for 0.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.place(last + 1));
        }
    }
}

/// Random bits as a number in `0.0..1.0`.
#[must_use]
pub const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Scrambles: every bit of the result depends on every bit of `bits`, and no two numbers give the
/// same.
#[must_use]
pub const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the stream is the published one (first outputs for seed 1234567, as in the reference C
    /// code).
    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    /// Goal: numbers below a limit stay below it and reach both ends; a limit of 0 is none to
    /// divide by.
    #[test]
    fn below_covers_its_range() {
        let mut random = SplitMix64::new(1);
        let mut seen = [false; 3];
        for _ in 0..100 {
            seen[random.place(3)] = true;
            assert!(random.unit() < 1.0);
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!(random.below(0), 0);
    }

    /// Goal: shuffling keeps every item and moves some.
    #[test]
    fn a_shuffle_keeps_all() {
        let mut items: Vec<u32> = (0..100).collect();
        SplitMix64::new(2).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..100));
    }
}
