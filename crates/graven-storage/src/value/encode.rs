//! Bytes of a single value: a tag and its content.
//!
//! # How it works
//! Used for the elements of lists and for columns whose values are of mixed or rare types. Integers
//! are zigzag varints, text and bytes carry their length in front, lists their element count.
//!
//! # On disk
//! | tag | type | content |
//! | --- | --- | --- |
//! | 0 | null | |
//! | 1 / 2 | false / true | |
//! | 3 | integer | zigzag varint |
//! | 4 | float | 8 bytes |
//! | 5 | string | varint length, UTF-8 |
//! | 6 | bytes | varint length, bytes |
//! | 7 | list | varint count, values |
//! | 8 | date | zigzag varint days |
//! | 9 | local time | varint nanoseconds |
//! | 10 | time | zigzag varint nanoseconds, zigzag varint offset |
//! | 11 | local datetime | zigzag varint seconds, varint nanoseconds |
//! | 12 | datetime with offset | as 11, zigzag varint offset |
//! | 13 | datetime with named zone | as 12, varint length, name |
//! | 14 | duration | zigzag varint months, days, seconds, varint nanoseconds |
//! | 15 / 16 | point in 2 / 3 dimensions | varint coordinate system, 2 / 3 floats |
//! | 17 | vector | type of its coordinates (1), varint dimension, coordinates |

use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint, unzigzag, zigzag};
use graven_types::vector::{CoordinateType, Vector};
use graven_types::{DateTime, Duration, LocalDateTime, Point, PropertyValue, Time};
use std::sync::Arc;

/// Lists nest at most this deep in a stored value.
pub const DEPTH_MAX: usize = 64;
/// What a shared value takes beside its parts, see [`PropertyValue::heap_bytes`].
const SHARED_BYTES: u64 = 16;

/// Appends the tagged bytes of `value`.
pub(crate) fn put_value(out: &mut Vec<u8>, value: &PropertyValue) {
    match value {
        PropertyValue::Null => out.push(0),
        PropertyValue::Boolean(value) => out.push(1 + u8::from(*value)),
        PropertyValue::Integer(value) => put_tagged(out, 3, zigzag(*value)),
        PropertyValue::Float(value) => {
            out.push(4);
            out.extend_from_slice(&value.to_le_bytes());
        }
        PropertyValue::String(text) => {
            out.push(5);
            put_text(out, text);
        }
        PropertyValue::Bytes(bytes) => {
            put_tagged(out, 6, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        PropertyValue::List(values) => {
            put_tagged(out, 7, values.len() as u64);
            values.iter().for_each(|value| put_value(out, value));
        }
        PropertyValue::Date(days) => put_tagged(out, 8, zigzag(*days)),
        PropertyValue::LocalTime(nanoseconds) => put_tagged(out, 9, *nanoseconds as u64),
        PropertyValue::Time(time) => {
            put_tagged(out, 10, zigzag(time.nanosecond_of_day));
            put_varint(out, zigzag(i64::from(time.offset_seconds)));
        }
        PropertyValue::LocalDateTime(time) => {
            put_tagged(out, 11, zigzag(time.seconds));
            put_varint(out, u64::from(time.nanoseconds));
        }
        PropertyValue::DateTime(time) => {
            put_tagged(
                out,
                if time.zone.is_some() { 13 } else { 12 },
                zigzag(time.seconds),
            );
            put_varint(out, u64::from(time.nanoseconds));
            put_varint(out, zigzag(i64::from(time.offset_seconds)));
            if let Some(zone) = &time.zone {
                put_text(out, zone);
            }
        }
        PropertyValue::Duration(span) => {
            put_tagged(out, 14, zigzag(span.months));
            put_varint(out, zigzag(span.days));
            put_varint(out, zigzag(span.seconds));
            put_varint(out, u64::from(span.nanoseconds));
        }
        PropertyValue::Point(point) => {
            put_tagged(
                out,
                if point.z.is_some() { 16 } else { 15 },
                u64::from(point.srid),
            );
            out.extend_from_slice(&point.x.to_le_bytes());
            out.extend_from_slice(&point.y.to_le_bytes());
            if let Some(z) = point.z {
                out.extend_from_slice(&z.to_le_bytes());
            }
        }
        PropertyValue::Vector(vector) => {
            out.extend_from_slice(&[17, vector.of().code()]);
            put_varint(out, vector.dimension() as u64);
            out.extend_from_slice(vector.bytes());
        }
    }
}

fn put_tagged(out: &mut Vec<u8>, tag: u8, number: u64) {
    out.push(tag);
    put_varint(out, number);
}

/// Reads one tagged value.
pub(crate) fn read_value(reader: &mut Reader<'_>) -> Decoded<PropertyValue> {
    read_nested(reader, DEPTH_MAX)
}

/// Goes over a value that [`read_value`] would read, and fails where that would. Returns the bytes
/// that the value would take in memory beside itself.
#[inline]
pub(crate) fn skip_value(reader: &mut Reader<'_>) -> Decoded<u64> {
    skip_nested(reader, DEPTH_MAX)
}

#[inline]
fn skip_nested(reader: &mut Reader<'_>, depth_left: usize) -> Decoded<u64> {
    let mut ahead = *reader;
    let heap = match ahead.u8()? {
        0..=2 => 0,
        3 | 8 => ahead.varint().map(|_| 0)?,
        4 => ahead.array::<8>().map(|_| 0)?,
        5 => SHARED_BYTES + ahead.text()?.len() as u64,
        7 => skip_items(&mut ahead, depth_left)?,
        _ => return read_value(reader).map(|value| value.heap_bytes()),
    };
    *reader = ahead;
    Ok(heap)
}

/// Goes over what follows the tag of a list.
#[inline(never)]
fn skip_items(reader: &mut Reader<'_>, depth_left: usize) -> Decoded<u64> {
    let depth_left = deeper(depth_left)?;
    let count = reader.length()?;
    let mut heap = SHARED_BYTES + count as u64 * size_of::<PropertyValue>() as u64;
    for _ in 0..count {
        heap += skip_nested(reader, depth_left)?;
    }
    Ok(heap)
}

/// The levels of lists that are left within one of them.
fn deeper(depth_left: usize) -> Decoded<usize> {
    let too_deep = || Malformed(format!("lists nest more than {DEPTH_MAX} deep"));
    depth_left.checked_sub(1).ok_or_else(too_deep)
}

fn read_nested(reader: &mut Reader<'_>, depth_left: usize) -> Decoded<PropertyValue> {
    let tag = reader.u8()?;
    Ok(match tag {
        0 => PropertyValue::Null,
        1 | 2 => PropertyValue::Boolean(tag == 2),
        3 => PropertyValue::Integer(unzigzag(reader.varint()?)),
        4 => PropertyValue::Float(reader.f64()?),
        5 => PropertyValue::String(Arc::from(reader.text()?)),
        6 => {
            let length = reader.length()?;
            PropertyValue::Bytes(Arc::from(reader.take(length)?))
        }
        7 => {
            let depth_left = deeper(depth_left)?;
            // Every element takes a byte at least, so the count is bounded by what is left.
            let count = reader.length()?;
            let values: Decoded<Vec<_>> = (0..count)
                .map(|_| read_nested(reader, depth_left))
                .collect();
            PropertyValue::List(values?.into())
        }
        8 => PropertyValue::Date(unzigzag(reader.varint()?)),
        9 => PropertyValue::LocalTime(reader.varint()? as i64),
        10 => PropertyValue::Time(Time {
            nanosecond_of_day: unzigzag(reader.varint()?),
            offset_seconds: offset(reader)?,
        }),
        11 => PropertyValue::LocalDateTime(LocalDateTime {
            seconds: unzigzag(reader.varint()?),
            nanoseconds: nanoseconds(reader)?,
        }),
        12 | 13 => PropertyValue::DateTime(DateTime {
            seconds: unzigzag(reader.varint()?),
            nanoseconds: nanoseconds(reader)?,
            offset_seconds: offset(reader)?,
            zone: if tag == 13 {
                Some(Arc::from(reader.text()?))
            } else {
                None
            },
        }),
        14 => PropertyValue::Duration(Duration {
            months: unzigzag(reader.varint()?),
            days: unzigzag(reader.varint()?),
            seconds: unzigzag(reader.varint()?),
            nanoseconds: nanoseconds(reader)?,
        }),
        15 | 16 => PropertyValue::Point(Point {
            srid: narrow(reader.varint()?, "coordinate system")?,
            x: reader.f64()?,
            y: reader.f64()?,
            z: if tag == 16 { Some(reader.f64()?) } else { None },
        }),
        17 => PropertyValue::Vector(vector(reader)?),
        _ => return Err(Malformed(format!("unknown value tag {tag}"))),
    })
}

fn vector(reader: &mut Reader<'_>) -> Decoded<Vector> {
    let code = reader.u8()?;
    let of = CoordinateType::of_code(code);
    let of = of.ok_or_else(|| Malformed(format!("unknown type {code} of coordinates")))?;
    let bytes = reader.length()?.saturating_mul(of.width());
    let vector = Vector::from_bytes(of, Arc::from(reader.take(bytes)?));
    vector.ok_or_else(|| Malformed(format!("{bytes} bytes are no vector of {of}")))
}

fn narrow(value: u64, what: &str) -> Decoded<u32> {
    u32::try_from(value).map_err(|_| Malformed(format!("{what} {value} is out of range")))
}

fn nanoseconds(reader: &mut Reader<'_>) -> Decoded<u32> {
    narrow(reader.varint()?, "nanoseconds")
}

fn offset(reader: &mut Reader<'_>) -> Decoded<i32> {
    let value = unzigzag(reader.varint()?);
    i32::try_from(value).map_err(|_| Malformed(format!("zone offset {value} is out of range")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use graven_types::vector::Number;
    use proptest::prelude::*;

    /// A vector of any type.
    fn vector() -> impl Strategy<Value = PropertyValue> {
        let numbers = proptest::collection::vec(-128i64..128, 1..40);
        (1u8..7, numbers).prop_map(|(code, numbers)| {
            let of = CoordinateType::of_code(code).unwrap();
            let numbers = numbers.into_iter().map(|number| match of.is_float() {
                true => Number::Float(number as f64 / 7.0),
                false => Number::Integer(number),
            });
            PropertyValue::Vector(Vector::new(of, numbers).unwrap())
        })
    }

    fn leaf() -> impl Strategy<Value = PropertyValue> {
        prop_oneof![
            any::<bool>().prop_map(PropertyValue::Boolean),
            any::<i64>().prop_map(PropertyValue::Integer),
            (-1e300f64..1e300).prop_map(PropertyValue::Float),
            "[a-z\u{e9}\u{4e2d}]{0,12}".prop_map(|text| PropertyValue::String(text.into())),
            any::<Vec<u8>>().prop_map(|bytes| PropertyValue::Bytes(bytes.into())),
            any::<i64>().prop_map(PropertyValue::Date),
            (0i64..86_400_000_000_000).prop_map(PropertyValue::LocalTime),
            (0i64..86_400_000_000_000, -64_800i32..64_800).prop_map(
                |(nanosecond_of_day, offset_seconds)| {
                    PropertyValue::Time(Time {
                        nanosecond_of_day,
                        offset_seconds,
                    })
                }
            ),
            (any::<i64>(), 0u32..1_000_000_000).prop_map(|(seconds, nanoseconds)| {
                PropertyValue::LocalDateTime(LocalDateTime {
                    seconds,
                    nanoseconds,
                })
            }),
            (
                any::<i64>(),
                0u32..1_000_000_000,
                any::<i32>(),
                any::<Option<bool>>()
            )
                .prop_map(|(seconds, nanoseconds, offset_seconds, zone)| {
                    PropertyValue::DateTime(DateTime {
                        seconds,
                        nanoseconds,
                        offset_seconds,
                        zone: zone
                            .map(|east| Arc::from(if east { "Europe/Berlin" } else { "UTC" })),
                    })
                }),
            (
                any::<i64>(),
                any::<i64>(),
                any::<i64>(),
                0u32..1_000_000_000
            )
                .prop_map(|(months, days, seconds, nanoseconds)| {
                    PropertyValue::Duration(Duration {
                        months,
                        days,
                        seconds,
                        nanoseconds,
                    })
                }),
            (
                any::<u32>(),
                -1e9f64..1e9,
                -1e9f64..1e9,
                proptest::option::of(-1e9f64..1e9)
            )
                .prop_map(|(srid, x, y, z)| PropertyValue::Point(Point {
                    srid,
                    x,
                    y,
                    z
                })),
            vector(),
        ]
    }

    /// Any storable value, lists nested.
    pub(crate) fn any_value() -> impl Strategy<Value = PropertyValue> {
        leaf().prop_recursive(3, 24, 6, |inner| {
            proptest::collection::vec(
                prop_oneof![9 => inner, 1 => Just(PropertyValue::Null)],
                0..6,
            )
            .prop_map(PropertyValue::from)
        })
    }

    proptest! {
        /// Goal: every value comes back from its bytes, all of them used.
        #[test]
        fn values_come_back(value in any_value()) {
            let mut out = Vec::new();
            put_value(&mut out, &value);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(skip_value(&mut reader), Ok(value.heap_bytes()));
            prop_assert_eq!(reader.remaining(), 0);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(read_value(&mut reader), Ok(value));
            prop_assert_eq!(reader.remaining(), 0);
        }

        /// Goal: a value that is gone over is one that can be read, and ends at the same byte.
        #[test]
        fn what_is_gone_over_can_be_read(mut bytes: Vec<u8>, tag in 0u8..19) {
            bytes.insert(0, tag);
            let (mut over, mut read) = (Reader::new(&bytes), Reader::new(&bytes));
            let wanted = read_value(&mut read).map(drop);
            prop_assert_eq!(skip_value(&mut over).is_ok(), wanted.is_ok());
            if wanted.is_ok() {
                prop_assert_eq!(over.position(), read.position());
            }
        }

        /// Goal: arbitrary bytes fail or decode, never panic or allocate without bound.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = read_value(&mut Reader::new(&bytes));
        }
    }

    /// Goal: lists nested deeper than the limit are refused instead of overflowing the stack.
    #[test]
    fn deep_nesting_is_refused() {
        let mut bytes = [7u8, 1].repeat(100_000);
        bytes.push(0);
        assert!(read_value(&mut Reader::new(&bytes)).is_err());
    }
}
