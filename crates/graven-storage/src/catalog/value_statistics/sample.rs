//! Statistics of many values from a few of them.
//!
//! # How it works
//! The values looked at are counted exactly; how many of all values differ is what [`grown`] makes
//! of that.

use super::{Sketch, ValueStatistics, hash};
use graven_types::PropertyValue;

/// Values of some nodes or relationships.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    sketch: Sketch,
    hashes: Vec<u64>,
    looked_at: u64,
}

impl Sample {
    /// Takes one into account; `None` has no such property.
    pub(crate) fn add(&mut self, value: Option<&PropertyValue>) {
        self.looked_at += 1;
        if let Some(value) = value {
            self.sketch.add(Some(value));
            self.hashes.push(hash(value));
        }
    }

    /// Statistics of so many, if they are like those looked at; `None` where there was none.
    pub(crate) fn finish(mut self, all: u64) -> Option<ValueStatistics> {
        if self.looked_at == 0 {
            return None;
        }
        let found = self.hashes.len() as u64;
        self.hashes.sort_unstable();
        self.hashes.dedup();
        let distinct = self.hashes.len() as u64;
        let scaled = |count: u64| {
            let scaled = u128::from(count) * u128::from(all) / u128::from(self.looked_at);
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        let seen = self.sketch.finish(None, found);
        let values = scaled(found);
        Some(ValueStatistics {
            values,
            of_class: scaled(seen.of_class).min(values),
            distinct: grown(distinct, found, values).max(1),
            ..seen
        })
    }
}

/// How many different values `to` values have, if `of` values of the same kind have `distinct`:
/// each value is one of a number of possible ones, with the same chance.
#[must_use]
pub fn grown(distinct: u64, of: u64, to: u64) -> u64 {
    if distinct >= of {
        return to;
    }
    let (seen, of, to) = (distinct as f64, of as f64, to as f64);
    let expected = |possible: f64, values: f64| -possible * (-values / possible).exp_m1();
    // The number of possible values lies between those seen and, for one pair of equal ones among
    // all, half of the square.
    let (mut low, mut high) = (seen, of * of);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match expected(middle, of) < seen {
            true => low = middle,
            false => high = middle,
        }
    }
    (expected(high, to).round() as u64).clamp(1, to.max(1.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: keys stay keys, categories stay as many as they are, and what lies between grows as
    /// chance lets it.
    #[test]
    fn different_values_grow_as_their_kind_does() {
        assert_eq!(grown(1000, 1000, 50_000), 50_000);
        assert_eq!(grown(1, 500, 9_000), 1);
        assert_eq!(grown(5, 500, 9_000), 5);
        assert_eq!(grown(0, 0, 10), 10);
        let half = grown(259, 300, 3_000);
        assert!((900..=1000).contains(&half), "{half}");
        let fewer = grown(950, 3_000, 300);
        assert!((240..=280).contains(&fewer), "{fewer}");
    }

    /// Goal: a part stands for all: counts, different values, shares.
    #[test]
    fn a_part_stands_for_all() {
        let mut sample = Sample::default();
        for i in 0..400_i64 {
            // Half of them have the property, a quarter of these one value.
            let value = PropertyValue::Integer(if i % 8 == 0 { 0 } else { i });
            sample.add((i % 2 == 0).then_some(&value));
        }
        let stats = sample.finish(4_000).expect("some were looked at");
        assert_eq!(stats.values(), 2_000);
        assert!(stats.distinct() > 200, "{}", stats.distinct());
        let frequent = stats.share_equal(Some(&PropertyValue::Integer(0)));
        assert!((0.15..0.35).contains(&frequent), "{frequent}");
        assert!(Sample::default().finish(10).is_none());
    }
}
