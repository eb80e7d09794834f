//! Order-preserving bytes of values: comparing keys byte by byte compares the values.
//!
//! # How it works
//! A tag per class of comparable values, then the value such that no key is a prefix of another
//! one's bytes, so keys of several properties may be put one behind the other. Integers and floats
//! are one class: the float nearest to the number, then how far the number lies from it. Null and
//! NaN have no key: nothing equals them.
//!
//! # Invariants
//! * ST-10: keys compare as their values; equal keys are equal values (`1` and `1.0` are).
//!
//! # On disk
//! | tag | class | content, big-endian |
//! | --- | --- | --- |
//! | 0x10 | point | coordinate system (4), coordinates as numbers without distance |
//! | 0x14 | datetime | seconds (8, sign flipped), nanoseconds (4), offset (4, sign flipped), zone as text |
//! | 0x18 | local datetime | seconds (8, sign flipped), nanoseconds (4) |
//! | 0x1c | date | days (8, sign flipped) |
//! | 0x20 | time | nanoseconds in UTC (8, sign flipped), offset (4, sign flipped) |
//! | 0x24 | local time | nanoseconds (8, sign flipped) |
//! | 0x28 | duration | months, days, seconds (8 each, sign flipped), nanoseconds (4) |
//! | 0x2c | vector | type (1), dimension (2), per coordinate 8: integer, sign flipped, or float |
//! | 0x30 | list | per element 1 and its key, then 0 |
//! | 0x40 | string | bytes, 0x00 as 0x00 0xff; then 0x00 0x00 |
//! | 0x44 | bytes | as string |
//! | 0x50 / 0x51 | false / true | |
//! | 0x60 | number | float (8: sign flipped, all bits if negative), distance (2, offset 0x8000) |

use graven_types::PropertyValue;
use graven_types::vector::Number;

/// Keys are cut to this many bytes in an index; longer ones are compared by their values.
pub(crate) const KEY_BYTES_MAX: usize = 1024;

/// Order-preserving bytes of `value`, for sorting before [`crate::IndexWriter::push`]; `None` for
/// values that no index holds: null, NaN and lists that contain them.
#[must_use]
pub fn key_bytes(value: &PropertyValue) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(16);
    put_key(&mut out, value).then_some(out)
}

/// The first byte of the keys that compare with `value`, and the first byte behind them.
pub(crate) fn class_bounds(key: &[u8]) -> (u8, u8) {
    match key[0] {
        0x50 | 0x51 => (0x50, 0x52),
        tag => (tag, tag + 1),
    }
}

/// Adds the key of a value; `false` if it has none, and then some bytes may be added.
pub(crate) fn put_key(out: &mut Vec<u8>, value: &PropertyValue) -> bool {
    match value {
        PropertyValue::Null => return false,
        PropertyValue::Boolean(value) => out.push(0x50 + u8::from(*value)),
        PropertyValue::Integer(value) => {
            let nearest = *value as f64;
            let distance = i128::from(*value) - nearest as i128;
            put_number(out, nearest, distance as i16);
        }
        PropertyValue::Float(value) if value.is_nan() => return false,
        PropertyValue::Float(value) => put_number(out, *value, 0),
        PropertyValue::String(text) => put_escaped(out, 0x40, text.as_bytes()),
        PropertyValue::Bytes(bytes) => put_escaped(out, 0x44, bytes),
        PropertyValue::List(values) => {
            out.push(0x30);
            for value in values.iter() {
                out.push(1);
                if !put_key(out, value) {
                    return false;
                }
            }
            out.push(0);
        }
        PropertyValue::Date(days) => put_signed(out, 0x1c, &[*days]),
        PropertyValue::LocalTime(nanoseconds) => put_signed(out, 0x24, &[*nanoseconds]),
        PropertyValue::Time(time) => {
            let utc = time.nanosecond_of_day - i64::from(time.offset_seconds) * 1_000_000_000;
            put_signed(out, 0x20, &[utc]);
            out.extend_from_slice(&flip32(time.offset_seconds));
        }
        PropertyValue::LocalDateTime(time) => {
            put_signed(out, 0x18, &[time.seconds]);
            out.extend_from_slice(&time.nanoseconds.to_be_bytes());
        }
        PropertyValue::DateTime(time) => {
            put_signed(out, 0x14, &[time.seconds]);
            out.extend_from_slice(&time.nanoseconds.to_be_bytes());
            out.extend_from_slice(&flip32(time.offset_seconds));
            let zone = time.zone.as_deref().unwrap_or_default();
            put_escaped(out, 0x40, zone.as_bytes());
        }
        PropertyValue::Duration(span) => {
            put_signed(out, 0x28, &[span.months, span.days, span.seconds]);
            out.extend_from_slice(&span.nanoseconds.to_be_bytes());
        }
        PropertyValue::Point(point) => {
            out.push(0x10);
            out.extend_from_slice(&point.srid.to_be_bytes());
            for coordinate in [Some(point.x), Some(point.y), point.z]
                .into_iter()
                .flatten()
            {
                if coordinate.is_nan() {
                    return false;
                }
                out.extend_from_slice(&ordered_float(coordinate).to_be_bytes());
            }
        }
        PropertyValue::Vector(vector) => {
            out.extend_from_slice(&[0x2c, vector.of().code()]);
            out.extend_from_slice(&(vector.dimension() as u16).to_be_bytes());
            for number in vector.numbers() {
                let ordered = match number {
                    Number::Integer(integer) => integer as u64 ^ 1 << 63,
                    Number::Float(float) => ordered_float(float),
                };
                out.extend_from_slice(&ordered.to_be_bytes());
            }
        }
    }
    true
}

fn put_number(out: &mut Vec<u8>, nearest: f64, distance: i16) {
    out.push(0x60);
    out.extend_from_slice(&ordered_float(nearest).to_be_bytes());
    out.extend_from_slice(&(distance as u16 ^ 0x8000).to_be_bytes());
}

fn ordered_float(value: f64) -> u64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn put_signed(out: &mut Vec<u8>, tag: u8, values: &[i64]) {
    out.push(tag);
    for value in values {
        out.extend_from_slice(&(*value as u64 ^ 1 << 63).to_be_bytes());
    }
}

fn flip32(value: i32) -> [u8; 4] {
    (value as u32 ^ 1 << 31).to_be_bytes()
}

fn put_escaped(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.reserve(bytes.len() + 3);
    out.push(tag);
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::vector::{CoordinateType, Vector};
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn number(value: &PropertyValue) -> (f64, Option<i64>) {
        match value {
            PropertyValue::Integer(value) => (*value as f64, Some(*value)),
            PropertyValue::Float(value) => (*value, None),
            _ => unreachable!("only numbers are made here"),
        }
    }

    /// Exact comparison of numbers of either type.
    fn compare(a: &PropertyValue, b: &PropertyValue) -> Ordering {
        match (number(a), number(b)) {
            ((_, Some(a)), (_, Some(b))) => a.cmp(&b),
            ((a, None), (b, None)) => a.partial_cmp(&b).unwrap(),
            ((_, Some(a)), (b, None)) => compare_mixed(a, b),
            ((a, None), (_, Some(b))) => compare_mixed(b, a).reverse(),
        }
    }

    fn compare_mixed(integer: i64, float: f64) -> Ordering {
        if float >= 9.3e18 {
            Ordering::Less
        } else if float <= -9.3e18 {
            Ordering::Greater
        } else {
            let whole = float.trunc() as i128;
            i128::from(integer)
                .cmp(&whole)
                .then(0.0.partial_cmp(&float.fract()).unwrap())
        }
    }

    fn any_number() -> impl Strategy<Value = PropertyValue> {
        prop_oneof![
            any::<i64>().prop_map(PropertyValue::Integer),
            (-3i64..4).prop_map(PropertyValue::Integer),
            (0i64..600).prop_map(|low| PropertyValue::Integer((1 << 62) + low)),
            (-3i32..4).prop_map(|value| PropertyValue::Float(f64::from(value))),
            (0i64..600).prop_map(|low| PropertyValue::Float(((1i64 << 62) + low) as f64)),
            any::<f64>()
                .prop_filter("NaN has no key", |value| !value.is_nan())
                .prop_map(PropertyValue::Float),
        ]
    }

    proptest! {
        /// Goal (ST-10): numbers of both types, text, bytes and lists of them compare as their
        /// keys.
        #[test]
        fn keys_compare_as_values(a in any_number(), b in any_number(), s: String, t: String, x: Vec<u8>, y: Vec<u8>) {
            let key = |value: &PropertyValue| key_bytes(value).unwrap();
            prop_assert_eq!(key(&a).cmp(&key(&b)), compare(&a, &b), "{:?} {:?}", a, b);
            let text = |text: &String| key(&PropertyValue::string(text));
            prop_assert_eq!(text(&s).cmp(&text(&t)), s.as_bytes().cmp(t.as_bytes()));
            let bytes = |bytes: &Vec<u8>| key(&PropertyValue::Bytes(bytes.as_slice().into()));
            prop_assert_eq!(bytes(&x).cmp(&bytes(&y)), x.cmp(&y));
            let list = |bytes: &Vec<u8>| {
                key(&bytes.iter().map(|byte| PropertyValue::Integer(i64::from(*byte))).collect::<Vec<_>>().into())
            };
            prop_assert_eq!(list(&x).cmp(&list(&y)), x.cmp(&y));
        }
    }

    /// Goal (ST-10): vectors compare as their keys.
    #[test]
    fn vectors_compare_as_their_keys() {
        let mut vectors = Vec::new();
        for of in ["INT8", "INT", "FLOAT32", "FLOAT"] {
            let of = CoordinateType::parse(of).unwrap();
            for numbers in [&[-2.0][..], &[0.0], &[-0.0], &[3.0, -1.0], &[3.0, 1.0]] {
                let numbers = numbers.iter().map(|x| Number::Float(*x));
                vectors.push(Vector::new(of, numbers).unwrap());
            }
        }
        let key = |vector: &Vector| key_bytes(&PropertyValue::Vector(vector.clone())).unwrap();
        for a in &vectors {
            for b in &vectors {
                assert_eq!(key(a).cmp(&key(b)), a.cmp(b), "{a} {b}");
            }
        }
    }

    /// Goal: what equals nothing has no key.
    #[test]
    fn null_and_nan_have_no_key() {
        for value in [
            PropertyValue::Null,
            PropertyValue::Float(f64::NAN),
            vec![PropertyValue::Null].into(),
        ] {
            assert_eq!(key_bytes(&value), None);
        }
    }
}
