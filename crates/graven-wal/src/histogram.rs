//! Distributions of times and sizes: counts in buckets that grow with the value.
//!
//! # How it works
//! Values below 8 have a bucket each; above, every power of two is cut into 8 buckets, so a
//! percentile is at most an eighth too large.
//!
//! # Concurrency
//! One relaxed atomic addition a value.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const STEPS: u64 = 8;
const BUCKETS: usize = 62 * STEPS as usize;

/// Counts of values, filled by many threads.
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    /// Counts `value`.
    pub fn add(&self, value: u64) {
        self.buckets[bucket(value)].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
        self.max.fetch_max(value, Relaxed);
    }

    /// What was counted so far.
    pub fn view(&self) -> HistogramView {
        HistogramView {
            buckets: self.buckets.iter().map(|b| b.load(Relaxed)).collect(),
            sum: self.sum.load(Relaxed),
            max: self.max.load(Relaxed),
        }
    }
}

/// What a [`Histogram`] had counted at one time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistogramView {
    buckets: Vec<u64>,
    sum: u64,
    max: u64,
}

impl HistogramView {
    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Sum of all values.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The largest value since the beginning.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Mean of all values; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }

    /// A value that the share `share` (0 to 1) of all values does not exceed; 0 without any.
    #[must_use]
    pub fn percentile(&self, share: f64) -> u64 {
        let rank = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return top(index).min(self.max);
            }
        }
        0
    }

    /// What was counted between `earlier` and `self`; the maximum is that of the whole time.
    #[must_use]
    pub fn since(&self, earlier: &HistogramView) -> HistogramView {
        let old = |index: usize| earlier.buckets.get(index).copied().unwrap_or(0);
        HistogramView {
            buckets: (0..)
                .zip(&self.buckets)
                .map(|(index, &count)| count - old(index))
                .collect(),
            sum: self.sum - earlier.sum,
            max: self.max,
        }
    }
}

fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let power = u64::from(value.ilog2());
    let step = (value >> (power - 3)) - STEPS;
    ((power - 2) * STEPS + step) as usize
}

/// Largest value of a bucket.
fn top(index: usize) -> u64 {
    let (power, step) = (index as u64 / STEPS, index as u64 % STEPS);
    if power == 0 {
        return step;
    }
    ((STEPS + step + 1) << (power - 1)).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        for value in (0..5000).chain([1 << 20, (1 << 40) + 12_345, u64::MAX]) {
            let index = bucket(value);
            assert!(index < BUCKETS && top(index) >= value, "{value}");
            assert!(top(index) - value <= value / 8, "{value}");
        }
    }

    #[test]
    fn percentiles_of_what_was_added_since() {
        let histogram = Histogram::default();
        histogram.add(1_000_000);
        let before = histogram.view();
        (1..=100).for_each(|v| histogram.add(v));
        let view = histogram.view().since(&before);
        assert_eq!((view.count(), view.sum()), (100, 5050));
        assert!((50..=56).contains(&view.percentile(0.5)));
        assert!((99..=111).contains(&view.percentile(0.99)));
        assert_eq!(HistogramView::default().percentile(0.5), 0);
    }
}
