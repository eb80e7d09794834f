//! Sorts fixed-size entries by a key of 64 or 128 bits, in place: most significant digit first.
//!
//! # How it works
//! A slice of entries is dealt into 256 buckets by the eight highest bits in which its keys differ,
//! each entry swapped to its bucket; each bucket is sorted in the same way. Short slices, and those
//! whose keys are all alike, are sorted by comparison.
//!
//! # Costs
//! About three passes over the entries a digit; no memory beside the counts. Keys of nodes differ
//! in few bits, so there are few digits. A comparison sort of a million keys takes four times as
//! many instructions.
//!
//! # Source
//! P. M. McIlroy, K. Bostic, M. D. McIlroy, "Engineering Radix Sort", 1993 (American flag sort).

use std::cmp::Ordering;
use std::ops::{BitOr, BitXor, Shr};

const DIGIT_BITS: u32 = 8;
const BUCKETS: usize = 1 << DIGIT_BITS;
/// Slices up to this length are sorted by comparison.
const SHORT: usize = 48;

/// The bits of a key.
pub(crate) trait Bits:
    Copy + Default + Ord + BitOr<Output = Self> + BitXor<Output = Self> + Shr<u32, Output = Self>
{
    /// Bits up to the highest that is set.
    fn width(self) -> u32;
    /// The lowest digit.
    fn digit(self) -> usize;
}

impl Bits for u64 {
    fn width(self) -> u32 {
        Self::BITS - self.leading_zeros()
    }

    fn digit(self) -> usize {
        self as usize % BUCKETS
    }
}

impl Bits for u128 {
    fn width(self) -> u32 {
        Self::BITS - self.leading_zeros()
    }

    fn digit(self) -> usize {
        self as usize % BUCKETS
    }
}

/// Sorts `entries` by `key`, entries with equal keys by `tie`.
pub(crate) fn sort<T: Copy, K: Bits>(
    entries: &mut [T],
    key: &impl Fn(&T) -> K,
    tie: &impl Fn(&T, &T) -> Ordering,
) {
    let Some(first) = entries.first().map(key) else {
        return;
    };
    if entries.len() <= SHORT {
        return entries.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then_with(|| tie(a, b)));
    }
    let differing = entries
        .iter()
        .fold(K::default(), |bits, e| bits | (key(e) ^ first));
    if differing == K::default() {
        return entries.sort_unstable_by(tie);
    }
    let shift = differing.width().saturating_sub(DIGIT_BITS);
    let digit = |entry: &T| (key(entry) >> shift).digit();
    let mut ends = [0; BUCKETS];
    entries.iter().for_each(|entry| ends[digit(entry)] += 1);
    let mut starts = [0; BUCKETS];
    let mut end = 0;
    for (start, bucket_end) in starts.iter_mut().zip(&mut ends) {
        *start = end;
        end += *bucket_end;
        *bucket_end = end;
    }
    let mut next = starts;
    for bucket in 0..BUCKETS {
        while next[bucket] < ends[bucket] {
            let mut entry = entries[next[bucket]];
            loop {
                let target = digit(&entry);
                let place = next[target];
                next[target] += 1;
                if target == bucket {
                    entries[place] = entry;
                    break;
                }
                std::mem::swap(&mut entry, &mut entries[place]);
            }
        }
    }
    for (start, end) in starts.into_iter().zip(ends) {
        sort(&mut entries[start..end], key, tie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::rng::SplitMix64;

    #[test]
    fn keys_of_any_width_are_sorted_as_by_comparison() {
        let mut random = SplitMix64::new(7);
        for bits in [0, 1, 5, 8, 17, 64, 65, 100, 128] {
            for length in [0, 1, 2, SHORT, SHORT + 1, 1000, 20_000] {
                let mut entries: Vec<(u128, u64)> = (0..length)
                    .map(|_| {
                        let wide = u128::from(random.bits()) << 64 | u128::from(random.bits());
                        let mask = u128::MAX.checked_shr(128 - bits).unwrap_or(0);
                        (wide & mask, random.below(3))
                    })
                    .collect();
                let mut expected = entries.clone();
                expected.sort_unstable();
                sort(&mut entries, &|e| e.0, &|a, b| a.1.cmp(&b.1));
                assert!(entries == expected, "{length} keys of {bits} bits");
            }
        }
    }

    #[test]
    fn keys_that_share_their_middle_are_sorted() {
        let mut entries: Vec<u128> = (0..5000u128)
            .map(|i| (i % 7) << 120 | 0xabcd << 60 | (i * 2_654_435_761 % 5000))
            .collect();
        let mut expected = entries.clone();
        expected.sort_unstable();
        sort(&mut entries, &|e| *e, &|_, _| Ordering::Equal);
        assert_eq!(entries, expected);
    }
}
