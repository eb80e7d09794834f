//! Index keys: bytes whose order is the order of the values.
//!
//! # How it works
//! A key is a type tag and content, compared as plain bytes. Each content ends by itself (fixed width, or
//! escaped and terminated), so that the keys of a composite index are the concatenation of their parts.
//! Integers and floats share one encoding, so `1` and `1.0` have the same key, as Cypher's `=` demands: the
//! largest float not above the number, then what is missing to an integer between two floats.
//!
//! # Invariants
//! * ST-KEY-1 For values of one class, `key(a) < key(b)` exactly when `a` orders before `b`, and keys are equal
//!   exactly when the values are equal in Cypher's sense.
//! * ST-KEY-2 No key is a proper prefix of another one.
//!
//! # Deviations
//! Durations have no order in Cypher; theirs is by months, days, seconds, nanoseconds and serves equality only.

use crate::PropertyValue;
use crate::value::{DateTime, Duration, LocalDateTime, Point, Time};

/// Type tags, in Cypher's order of types.
mod tag {
    pub(super) const LIST: u8 = 0x10;
    pub(super) const POINT: u8 = 0x20;
    pub(super) const DATE_TIME: u8 = 0x30;
    pub(super) const LOCAL_DATE_TIME: u8 = 0x31;
    pub(super) const DATE: u8 = 0x32;
    pub(super) const TIME: u8 = 0x33;
    pub(super) const LOCAL_TIME: u8 = 0x34;
    pub(super) const DURATION: u8 = 0x35;
    pub(super) const STRING: u8 = 0x40;
    pub(super) const BOOLEAN: u8 = 0x50;
    pub(super) const NUMBER: u8 = 0x60;
    pub(super) const BYTES: u8 = 0x70;
}

/// Order-preserving bytes of a value; `None` for values that no index holds because nothing equals them: null,
/// NaN, and lists or points with either inside.
#[must_use]
pub fn key_bytes(value: &PropertyValue) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(16);
    put_key(&mut key, value)?;
    Some(key)
}

/// The keys of all values comparable with the one whose key this is.
pub(crate) fn class_range(key: &[u8]) -> std::ops::Range<Vec<u8>> {
    vec![key[0]]..vec![key[0] + 1]
}

fn put_key(key: &mut Vec<u8>, value: &PropertyValue) -> Option<()> {
    match value {
        PropertyValue::Null => return None,
        PropertyValue::Boolean(value) => key.extend([tag::BOOLEAN, u8::from(*value)]),
        PropertyValue::Integer(value) => {
            key.push(tag::NUMBER);
            let (float, rest) = split_integer(*value);
            put_number(key, float, rest);
        }
        PropertyValue::Float(value) if value.is_nan() => return None,
        PropertyValue::Float(value) => {
            key.push(tag::NUMBER);
            put_number(key, *value, 0);
        }
        PropertyValue::String(text) => {
            key.push(tag::STRING);
            put_escaped(key, text.as_bytes());
        }
        PropertyValue::Bytes(bytes) => {
            key.push(tag::BYTES);
            put_escaped(key, bytes);
        }
        PropertyValue::List(values) => {
            key.push(tag::LIST);
            for value in values.iter() {
                put_key(key, value)?;
            }
            key.push(0);
        }
        PropertyValue::Date(days) => put_signed(key, tag::DATE, &[*days]),
        PropertyValue::LocalTime(nanoseconds) => put_signed(key, tag::LOCAL_TIME, &[*nanoseconds]),
        PropertyValue::Time(time) => put_time(key, *time),
        PropertyValue::LocalDateTime(LocalDateTime {
            seconds,
            nanoseconds,
        }) => {
            put_signed(
                key,
                tag::LOCAL_DATE_TIME,
                &[*seconds, i64::from(*nanoseconds)],
            );
        }
        PropertyValue::DateTime(time) => put_date_time(key, time),
        PropertyValue::Duration(Duration {
            months,
            days,
            seconds,
            nanoseconds,
        }) => {
            put_signed(
                key,
                tag::DURATION,
                &[*months, *days, *seconds, i64::from(*nanoseconds)],
            );
        }
        PropertyValue::Point(point) => put_point(key, *point)?,
    }
    Some(())
}

/// The largest float not above `value`, and the distance from it (below 2^11).
fn split_integer(value: i64) -> (f64, u16) {
    let nearest = value as f64;
    let floor = if nearest as i128 > i128::from(value) {
        nearest.next_down()
    } else {
        nearest
    };
    let rest = i128::from(value) - floor as i128;
    (
        floor,
        u16::try_from(rest).expect("neighbouring floats are at most 2^11 apart below 2^63"),
    )
}

fn put_number(key: &mut Vec<u8>, float: f64, rest: u16) {
    key.extend(ordered_float(float).to_be_bytes());
    key.extend(rest.to_be_bytes());
}

/// Bits that order as the floats do; both zeros are one.
fn ordered_float(value: f64) -> u64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

fn put_signed(key: &mut Vec<u8>, tag: u8, parts: &[i64]) {
    key.push(tag);
    for part in parts {
        key.extend((*part as u64 ^ 1 << 63).to_be_bytes());
    }
}

/// Zero bytes become `00 FF`, the end is `00 00`.
fn put_escaped(key: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xFF);
        }
    }
    key.extend([0, 0]);
}

fn put_time(key: &mut Vec<u8>, time: Time) {
    let instant = time.nanosecond_of_day - i64::from(time.offset_seconds) * 1_000_000_000;
    put_signed(key, tag::TIME, &[instant, i64::from(time.offset_seconds)]);
}

fn put_date_time(key: &mut Vec<u8>, time: &DateTime) {
    let parts = [
        time.seconds,
        i64::from(time.nanoseconds),
        i64::from(time.offset_seconds),
    ];
    put_signed(key, tag::DATE_TIME, &parts);
    put_escaped(key, time.zone.as_deref().unwrap_or_default().as_bytes());
}

fn put_point(key: &mut Vec<u8>, point: Point) -> Option<()> {
    key.push(tag::POINT);
    key.extend(point.srid.to_be_bytes());
    key.push(u8::from(point.z.is_some()));
    for coordinate in [Some(point.x), Some(point.y), point.z]
        .into_iter()
        .flatten()
    {
        if coordinate.is_nan() {
            return None;
        }
        key.extend(ordered_float(coordinate).to_be_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    fn key(value: impl Into<PropertyValue>) -> Vec<u8> {
        key_bytes(&value.into()).expect("indexable")
    }

    /// ST-KEY-1 for numbers: order of keys is numeric order, across integers and floats, at every border where
    /// the two meet (2^53, the ends of i64, zeros, infinities).
    #[test]
    fn st_key_1_numbers_order_across_integer_and_float() {
        let mut integers = vec![0, 1, -1, 2, 255, 256, -256, i64::MAX, i64::MIN];
        for shift in [31, 52, 53, 54, 60, 62] {
            for delta in -3..=3 {
                integers.extend([(1_i64 << shift) + delta, -(1_i64 << shift) + delta]);
            }
        }
        let mut floats = vec![
            0.0,
            -0.0,
            0.5,
            -0.5,
            1e300,
            -1e300,
            f64::INFINITY,
            f64::MIN_POSITIVE,
        ];
        floats.extend(integers.iter().map(|value| *value as f64));
        floats.extend([f64::NEG_INFINITY, 9_223_372_036_854_775_808.0]);
        for a in &integers {
            for b in &integers {
                assert_eq!(key(*a).cmp(&key(*b)), a.cmp(b), "{a} {b}");
            }
            for b in &floats {
                let exact = if b.is_infinite() || b.abs() > 1e19 {
                    if *b > 0.0 {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                } else {
                    i128::from(*a)
                        .cmp(&(b.floor() as i128))
                        .then(if b.fract() == 0.0 {
                            Ordering::Equal
                        } else {
                            Ordering::Less
                        })
                };
                assert_eq!(key(*a).cmp(&key(*b)), exact, "{a} {b}");
            }
        }
    }

    /// ST-KEY-1 and 2 for text: byte order, embedded zeros and prefixes included.
    #[test]
    fn st_key_strings_order_and_end_themselves() {
        let texts = [
            "",
            "\0",
            "\0\0",
            "\0a",
            "a",
            "a\0",
            "a\0b",
            "aa",
            "ab",
            "b",
            "\u{ff}",
            "\u{1F600}",
        ];
        for a in texts {
            for b in texts {
                assert_eq!(key(a).cmp(&key(b)), a.cmp(b), "{a:?} {b:?}");
                assert!(
                    a == b || !key(b).starts_with(&key(a)),
                    "ST-KEY-2 {a:?} {b:?}"
                );
            }
        }
    }

    /// Lists order element by element; nothing equals a null or a NaN, so they have no key, inside lists too.
    #[test]
    fn st_key_lists_and_unindexable_values() {
        let list = |values: &[i64]| {
            key(values
                .iter()
                .map(|v| PropertyValue::Integer(*v))
                .collect::<Vec<_>>())
        };
        assert!(list(&[]) < list(&[1]) && list(&[1]) < list(&[1, 0]) && list(&[1, 9]) < list(&[2]));
        for value in [
            PropertyValue::Null,
            PropertyValue::Float(f64::NAN),
            vec![PropertyValue::Null].into(),
            PropertyValue::Point(Point {
                srid: 7203,
                x: 0.0,
                y: f64::NAN,
                z: None,
            }),
        ] {
            assert_eq!(key_bytes(&value), None, "{value:?}");
        }
    }

    /// Temporal values order by instant; the same instant under two offsets has two keys.
    #[test]
    fn st_key_temporal_values_order_by_instant() {
        let at = |seconds, offset_seconds| {
            let time = DateTime {
                seconds,
                nanoseconds: 0,
                offset_seconds,
                zone: None,
            };
            key_bytes(&PropertyValue::DateTime(time)).expect("indexable")
        };
        assert!(at(-1, 7200) < at(0, 0) && at(0, 0) < at(0, 3600) && at(0, 3600) < at(1, -3600));
        assert!(key_bytes(&PropertyValue::Date(-1)) < key_bytes(&PropertyValue::Date(0)));
    }
}
