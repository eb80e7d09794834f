//! What the values of a property are like: how many there are, how many differ, and how they are
//! spread.
//!
//! # How it works
//! A [`Sketch`] sees values as segments of a column are cut. Distinct values are estimated from the
//! longest runs of zeros in their hashes, a register for each of 256 groups (an error of about 6 %;
//! small numbers are nearly exact). One value in `n` is kept as a *key*, a number that orders as
//! the values of its class do (a text by its first eight bytes); when too many are kept, about
//! every second one goes and `n` doubles. The keys of the class that most values have become 33
//! *bounds*: between two of them lies an equal share of the values.
//!
//! A checkpoint sees the values of the segments that it cuts anew. Registers are united; bounds are
//! those of old and new keys together, weighed by the values they stand for. So counts and bounds
//! follow what is written; values that are gone stay among the distinct ones until all segments
//! have been cut anew.
//!
//! # Invariants
//! * ST-12 The same values in the same order give the same statistics.
//!
//! # On disk
//! In the catalogue, for each column: number of the store, values, class, values of the class,
//! registers that are not zero (their number, then number and content of each), bounds (their
//! number, then 8 bytes each).
//!
//! # Source
//! Flajolet, Fusy, Gandouet and Meunier, "HyperLogLog: the analysis of a near-optimal cardinality
//! estimation algorithm", 2007; Piatetsky-Shapiro and Connell, "Accurate estimation of the number
//! of tuples satisfying a condition", 1984 (bounds of equal shares).

pub(crate) mod sample;

use crate::bytes::{Decoded, Malformed, Reader, put_varint};
use crate::value::encode;
use graven_types::PropertyValue;
use graven_types::rng::mix;

/// Groups of hashes, a power of two.
const REGISTERS: usize = 256;
/// Keys kept at most, and how many bounds are made of them.
const KEYS_MAX: usize = 4096;
const BOUNDS: usize = 33;

/// Class of numbers: their keys are those of floats.
const NUMBERS: u8 = 2;

/// Counts and spread of the values of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueStatistics {
    values: u64,
    class: u8,
    of_class: u64,
    registers: Box<[u8; REGISTERS]>,
    /// Estimated from the registers once: the planner asks for it with each comparison.
    distinct: u64,
    /// Ascending.
    bounds: Vec<u64>,
}

/// Statistics in the making.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    values: u64,
    registers: Box<[u8; REGISTERS]>,
    /// One value in so many is kept, picked by the hash of its number: values may repeat at any
    /// distance.
    stride: u64,
    /// Class, key, hash of the number.
    keys: Vec<(u8, u64, u64)>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            values: 0,
            registers: Box::new([0; REGISTERS]),
            stride: 1,
            keys: Vec::new(),
        }
    }
}

impl Sketch {
    /// Takes a value into account; `None` is one that is not at hand.
    pub(crate) fn add(&mut self, value: Option<&PropertyValue>) {
        let number = self.values;
        self.values += 1;
        let Some(value) = value else { return };
        self.count(hash(value));
        let pick = mix(number);
        if pick.is_multiple_of(self.stride)
            && let Some((class, key)) = key(value)
        {
            self.keys.push((class, key, pick));
            if self.keys.len() >= KEYS_MAX {
                self.stride *= 2;
                let stride = self.stride;
                self.keys.retain(|(.., pick)| pick.is_multiple_of(stride));
            }
        }
    }

    fn count(&mut self, hash: u64) {
        let group = usize::try_from(hash % REGISTERS as u64).expect("few groups");
        let rest = hash / REGISTERS as u64;
        let zeros = (rest | 1 << 56).trailing_zeros() + 1;
        let register = &mut self.registers[group];
        *register = (*register).max(u8::try_from(zeros).expect("at most 57"));
    }

    /// Statistics of the values of these segments, and of those of `before` that lie in others, so
    /// that there are `values` in all.
    pub(crate) fn finish(self, before: Option<&ValueStatistics>, values: u64) -> ValueStatistics {
        let before = before.filter(|_| self.values < values);
        let mut registers = self.registers;
        let mut weighed: Vec<(u8, u64, f64)> = Vec::new();
        let own = self.values as f64 / self.keys.len().max(1) as f64;
        weighed.extend(self.keys.iter().map(|(class, key, _)| (*class, *key, own)));
        if let Some(before) = before {
            for (own, other) in registers.iter_mut().zip(before.registers.iter()) {
                *own = (*own).max(*other);
            }
            let left = (values - self.values) as f64 / before.bounds.len().max(1) as f64;
            let bounds = before.bounds.iter();
            weighed.extend(bounds.map(|key| (before.class, *key, left)));
        }
        let mut weights = [0.0; 256];
        for (class, _, weight) in &weighed {
            weights[usize::from(*class)] += weight;
        }
        let mut class = 0_u8;
        for (number, weight) in (0..=u8::MAX).zip(weights) {
            if weight > weights[usize::from(class)] {
                class = number;
            }
        }
        let of_class = weights[usize::from(class)];
        weighed.retain(|(other, ..)| *other == class);
        weighed.sort_by_key(|(_, key, _)| *key);
        ValueStatistics {
            values,
            class,
            of_class: (of_class.round() as u64).min(values),
            distinct: distinct(&registers, values),
            registers,
            bounds: bounds(&weighed, of_class),
        }
    }
}

/// Keys between which lie equal shares of the weight.
fn bounds(weighed: &[(u8, u64, f64)], total: f64) -> Vec<u64> {
    if weighed.len() <= BOUNDS {
        return weighed.iter().map(|(_, key, _)| *key).collect();
    }
    let mut bounds = Vec::with_capacity(BOUNDS);
    let mut passed = 0.0;
    for (_, key, weight) in weighed {
        passed += weight;
        while bounds.len() + 1 < BOUNDS
            && passed > total * bounds.len() as f64 / (BOUNDS - 1) as f64
        {
            bounds.push(*key);
        }
    }
    bounds.extend(weighed.last().map(|(_, key, _)| *key));
    bounds
}

/// Different values among so many, by the registers of their hashes.
fn distinct(registers: &[u8; REGISTERS], values: u64) -> u64 {
    let groups = REGISTERS as f64;
    let sum: f64 = registers.iter().map(|r| (-f64::from(*r)).exp2()).sum();
    let raw = 0.7213 / (1.0 + 1.079 / groups) * groups * groups / sum;
    let empty = registers.iter().filter(|r| **r == 0).count();
    let estimate = match empty {
        1.. if raw <= 2.5 * groups => groups * (groups / empty as f64).ln(),
        _ => raw,
    };
    (estimate.round() as u64).clamp(1, values.max(1))
}

impl ValueStatistics {
    /// Values, nulls aside.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.values
    }

    /// Different values, an estimate.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Share of the values that equal one; without it, a usual one.
    #[must_use]
    pub fn share_equal(&self, value: Option<&PropertyValue>) -> f64 {
        let usual = 1.0 / self.distinct() as f64;
        let Some((class, key)) = value.and_then(key) else {
            return usual;
        };
        if class != self.class {
            return usual * self.share_of_others();
        }
        // What is frequent is several bounds.
        let met = self.bounds.iter().filter(|bound| **bound == key).count();
        let frequent = match met {
            0 | 1 => 0.0,
            met => (met as f64 / (self.bounds.len() - 1) as f64).min(1.0),
        };
        let outside = self.bounds.first().is_some_and(|first| key < *first)
            || self.bounds.last().is_some_and(|last| key > *last);
        match outside {
            true => 1.0 / self.values.max(1) as f64,
            false => frequent.max(usual),
        }
    }

    /// Share of the values between two, each of which may be missing.
    #[must_use]
    pub fn share_between(&self, low: Option<&PropertyValue>, high: Option<&PropertyValue>) -> f64 {
        let place = |value: &PropertyValue| match key(value) {
            Some((class, key)) if class == self.class => Some(self.place(key)),
            _ => None,
        };
        let low = low.map_or(Some(0.0), place);
        let high = high.map_or(Some(1.0), place);
        let least = 1.0 / self.values.max(1) as f64;
        match (low, high) {
            (Some(low), Some(high)) => {
                let of_class = self.of_class as f64 / self.values.max(1) as f64;
                ((high - low) * of_class).clamp(least, 1.0)
            }
            _ => self.share_of_others().max(least),
        }
    }

    /// Share of values of other classes.
    fn share_of_others(&self) -> f64 {
        1.0 - self.of_class as f64 / self.values.max(1) as f64
    }

    /// Share of the values of the class below a key.
    fn place(&self, key: u64) -> f64 {
        let below = self.bounds.partition_point(|bound| *bound < key);
        let (Some(before), Some(behind)) = (below.checked_sub(1), self.bounds.get(below)) else {
            return if below == 0 { 0.0 } else { 1.0 };
        };
        let number = |key: u64| match self.class {
            NUMBERS => number_of(key),
            _ => key as f64,
        };
        let (low, high) = (number(self.bounds[before]), number(*behind));
        let inside = (number(key) - low) / (high - low);
        // No number where the two are the same or one of them is infinite, or none itself in a
        // damaged file.
        let inside = match inside.is_nan() {
            true => 0.5,
            false => inside.clamp(0.0, 1.0),
        };
        (before as f64 + inside) / (self.bounds.len() - 1).max(1) as f64
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.values);
        out.push(self.class);
        put_varint(out, self.of_class);
        let set = self.registers.iter().filter(|register| **register > 0);
        put_varint(out, set.count() as u64);
        for (number, register) in (0..=u8::MAX).zip(self.registers.iter()) {
            if *register > 0 {
                out.extend([number, *register]);
            }
        }
        put_varint(out, self.bounds.len() as u64);
        for bound in &self.bounds {
            out.extend(bound.to_le_bytes());
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let values = reader.varint()?;
        let class = reader.u8()?;
        let of_class = reader.varint()?;
        let mut registers = Box::new([0; REGISTERS]);
        for _ in 0..reader.length()? {
            let number = usize::from(reader.u8()?);
            registers[number] = reader.u8()?;
        }
        let count = reader.length()?;
        let mut bounds = Vec::new();
        for _ in 0..count {
            bounds.push(reader.u64()?);
        }
        if !bounds.is_sorted() || of_class > values {
            return Err(Malformed::new(
                "statistics of values that contradict themselves",
            ));
        }
        Ok(Self {
            values,
            class,
            of_class,
            distinct: distinct(&registers, values),
            registers,
            bounds,
        })
    }
}

/// Class and order of a value; none for those that are not ordered.
fn key(value: &PropertyValue) -> Option<(u8, u64)> {
    let signed = |number: i64| number.cast_unsigned() ^ 1 << 63;
    Some(match value {
        PropertyValue::Boolean(value) => (1, u64::from(*value)),
        PropertyValue::Integer(value) => (NUMBERS, key_of(*value as f64)),
        PropertyValue::Float(value) if !value.is_nan() => (NUMBERS, key_of(*value)),
        PropertyValue::String(text) => {
            let mut first = [0; 8];
            let length = text.len().min(8);
            first[..length].copy_from_slice(&text.as_bytes()[..length]);
            (3, u64::from_be_bytes(first))
        }
        PropertyValue::Date(days) => (4, signed(*days)),
        PropertyValue::LocalTime(time) => (5, signed(*time)),
        PropertyValue::Time(time) => {
            let utc = time.nanosecond_of_day - i64::from(time.offset_seconds) * 1_000_000_000;
            (6, signed(utc))
        }
        PropertyValue::LocalDateTime(time) => (7, signed(time.seconds)),
        PropertyValue::DateTime(time) => (8, signed(time.seconds)),
        _ => return None,
    })
}

/// Orders as the float does.
fn key_of(number: f64) -> u64 {
    // Zeros are one number.
    let bits = (number + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

fn number_of(key: u64) -> f64 {
    f64::from_bits(match key >> 63 {
        0 => !key,
        _ => key & !(1 << 63),
    })
}

fn hash(value: &PropertyValue) -> u64 {
    match value {
        PropertyValue::Integer(number) => mix(number.cast_unsigned() ^ 0x51),
        PropertyValue::Boolean(value) => mix(u64::from(*value) ^ 0xb001),
        PropertyValue::Float(number) => mix(number.to_bits() ^ 0xf1),
        PropertyValue::String(text) => hash_bytes(text.as_bytes()),
        PropertyValue::Bytes(bytes) => hash_bytes(bytes),
        other => {
            let mut bytes = Vec::new();
            encode::put_value(&mut bytes, other);
            hash_bytes(&bytes)
        }
    }
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 32;
    }
    mix(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = PropertyValue>) -> ValueStatistics {
        let mut sketch = Sketch::default();
        for value in values {
            sketch.add(Some(&value));
        }
        let count = sketch.values;
        sketch.finish(None, count)
    }

    fn near(estimate: f64, truth: f64, error: f64) {
        assert!(
            (estimate - truth).abs() <= error,
            "{estimate} is not {truth}"
        );
    }

    /// Goal: distinct values and shares of ranges and single values are near the truth, over sizes
    /// from a few to many.
    #[test]
    fn estimates_are_near_the_truth() {
        for count in [1_i64, 3, 40, 1000, 100_000] {
            let stats = of((0..count).map(|i| PropertyValue::Integer(i * 7 % count)));
            near(stats.distinct() as f64 / count as f64, 1.0, 0.2);
            let (low, high) = (count / 4, count / 2);
            let (low, high) = (PropertyValue::Integer(low), PropertyValue::Integer(high));
            let truth = 0.25;
            if count > 100 {
                near(stats.share_between(Some(&low), Some(&high)), truth, 0.03);
                near(stats.share_between(None, Some(&low)), truth, 0.03);
                near(stats.share_between(Some(&high), None), 0.5, 0.03);
            }
        }
        // Half of the values are one.
        let skewed =
            of((0..10_000).map(|i| PropertyValue::Integer(if i % 2 == 0 { 5 } else { i })));
        near(
            skewed.share_equal(Some(&PropertyValue::Integer(5))),
            0.5,
            0.1,
        );
        assert!(skewed.share_equal(Some(&PropertyValue::Integer(77))) < 0.01);
        assert!(skewed.share_equal(Some(&PropertyValue::Integer(-9))) < 0.001);
        let words = of((0..5000).map(|i| PropertyValue::string(&format!("{:04}", i % 500))));
        near(words.distinct() as f64, 500.0, 60.0);
        let half = PropertyValue::string("0250");
        near(words.share_between(None, Some(&half)), 0.5, 0.05);
        // A text compares with no number.
        assert!(words.share_between(Some(&PropertyValue::Integer(1)), None) < 0.001);
    }

    /// Goal: infinite values among the bounds leave every share a share.
    #[test]
    fn shares_of_infinite_values_are_shares() {
        let spread = (0..100).map(|i| PropertyValue::Float(f64::from(i)));
        let ends = [f64::NEG_INFINITY, f64::INFINITY].map(PropertyValue::Float);
        let stats = of(spread.chain(ends));
        for at in [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.0,
            50.0,
            98.5,
            f64::MAX,
            f64::INFINITY,
        ] {
            let at = PropertyValue::Float(at);
            for share in [
                stats.share_between(None, Some(&at)),
                stats.share_between(Some(&at), None),
                stats.share_between(Some(&at), Some(&at)),
                stats.share_equal(Some(&at)),
            ] {
                assert!((0.0..=1.0).contains(&share), "{share} at {at:?}");
            }
        }
    }

    /// Goal: statistics of old and new segments together are those of all values, and come back
    /// from their bytes.
    #[test]
    fn segments_cut_anew_are_merged() {
        let old = of((0..30_000).map(PropertyValue::Integer));
        let mut sketch = Sketch::default();
        for value in 30_000..40_000 {
            sketch.add(Some(&PropertyValue::Integer(value)));
        }
        let merged = sketch.finish(Some(&old), 40_000);
        assert_eq!(merged.values(), 40_000);
        near(merged.distinct() as f64 / 40_000.0, 1.0, 0.2);
        let at = PropertyValue::Integer(30_000);
        near(merged.share_between(None, Some(&at)), 0.75, 0.05);
        let mut bytes = Vec::new();
        merged.encode(&mut bytes);
        let back = ValueStatistics::decode(&mut Reader::new(&bytes)).expect("whole");
        assert_eq!(back, merged);
        for end in 0..bytes.len() {
            assert!(ValueStatistics::decode(&mut Reader::new(&bytes[..end])).is_err());
        }
    }
}
