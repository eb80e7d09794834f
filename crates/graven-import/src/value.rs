//! Field text to property values, in the compact form kept in spools and sorted runs.
//!
//! # How it works
//! `Kind::encode` reads a field and appends a tagged value; `decode` turns it into a
//! `PropertyValue` when a column is written. In between values are only moved and compared as
//! bytes.
//!
//! # On disk
//! Scratch files only: tag byte, then LEB128 for integers, 8-byte little-endian numbers for the
//! other fixed types, or a length (LEB128) and bytes for text and lists. The tags are `Tag`.

pub(crate) mod temporal;

use std::sync::Arc;

use graven_storage::PropertyValue;
use graven_types::{DateTime, Duration, LocalDateTime, Point, Time};

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Boolean,
    /// An integer within the given number of bits (8, 16, 32, 64).
    Integer(u32),
    Float,
    Text,
    Character,
    /// LDBC dates in any of their forms, kept as milliseconds since 1970.
    EpochMillis,
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
    Duration,
    Point,
    Array(Box<Kind>, u8),
}

#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    False = 1,
    True,
    Integer,
    Float,
    Text,
    List,
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
    Duration,
    Point,
}

/// Appends an unsigned LEB128 number.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes an unsigned LEB128 number off the front.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        // The first byte without its high bit is the last of the number.
        let last = !word & 0x8080_8080_8080_8080;
        if last != 0 {
            *bytes = &bytes[last.trailing_zeros() as usize / 8 + 1..];
            return joined_sevens(word & (last ^ (last - 1)));
        }
    }
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// The number whose groups of seven bits lie in the bytes of a word, lowest first.
fn joined_sevens(word: u64) -> u64 {
    let sevens = word & 0x7f7f_7f7f_7f7f_7f7f;
    let twos = (sevens & 0x7f00_7f00_7f00_7f00) >> 1 | sevens & 0x007f_007f_007f_007f;
    let fours = (twos & 0x3fff_0000_3fff_0000) >> 2 | twos & 0x0000_3fff_0000_3fff;
    (fours & 0x0fff_ffff_0000_0000) >> 4 | fours & 0x0fff_ffff
}

/// Takes a little-endian 8-byte integer off the front.
pub(crate) fn take_i64(bytes: &mut &[u8]) -> i64 {
    let (head, rest) = bytes.split_at(8);
    *bytes = rest;
    i64::from_le_bytes(head.try_into().expect("eight bytes"))
}

fn put_i64(out: &mut Vec<u8>, tag: Tag, value: i64) {
    out.push(tag as u8);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends an integer value: the sign in the lowest bit, so that small numbers take few bytes.
pub(crate) fn put_integer(out: &mut Vec<u8>, value: i64) {
    out.push(Tag::Integer as u8);
    put_varint(out, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Takes the number of an integer value off the front.
fn take_integer(bytes: &mut &[u8]) -> i64 {
    let folded = take_varint(bytes);
    (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed()
}

/// Appends a text value.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(Tag::Text as u8);
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Appends the head of a list of `count` values, which must follow.
pub(crate) fn put_list_head(out: &mut Vec<u8>, count: u64) {
    out.push(Tag::List as u8);
    put_varint(out, count);
}

/// The number that eight digits make, read as one word: neighbouring digits, pairs and fours are
/// put together by a multiplication each.
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(text);
    let high = 0xf0f0_f0f0_f0f0_f0f0;
    let all_digits = word & high == 0x3030_3030_3030_3030
        && word.wrapping_add(0x0606_0606_0606_0606) & high == 0x3030_3030_3030_3030;
    let pairs = (word & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    let all = (fours & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32;
    all_digits.then_some(all)
}

/// Reads a decimal integer of an id or a number: an optional sign and digits, nothing else.
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value = 0u64;
    let (eights, rest) = digits.as_chunks::<8>();
    for eight in eights {
        value = value * 100_000_000 + eight_digits(*eight)?;
    }
    for b in rest {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    if negative {
        (value <= 1 << 63).then(|| (value as i64).wrapping_neg())
    } else {
        i64::try_from(value).ok()
    }
}

impl Kind {
    /// What values of the column are, as headers name it.
    pub(crate) fn name(&self) -> String {
        let name = match self {
            Kind::Boolean => "boolean",
            Kind::Integer(8) => "byte",
            Kind::Integer(16) => "short",
            Kind::Integer(32) => "int",
            Kind::Integer(_) => "long",
            Kind::Float => "double",
            Kind::Text => "string",
            Kind::Character => "char",
            Kind::EpochMillis => "long, milliseconds since 1970",
            Kind::Date => "date",
            Kind::LocalTime => "localtime",
            Kind::Time => "time",
            Kind::LocalDateTime => "localdatetime",
            Kind::DateTime => "datetime",
            Kind::Duration => "duration",
            Kind::Point => "point",
            Kind::Array(element, _) => return format!("{}[]", element.name()),
        };
        name.to_owned()
    }

    /// Appends the value of `field` to `out`. An empty field is no value, except in a quoted text
    /// column, which the caller decides; here it never arrives empty.
    pub(crate) fn encode(&self, field: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Kind::Integer(bits) => {
                let value = parse_i64(field).ok_or_else(|| not_a("whole number", field))?;
                let limit = 1i128 << (bits - 1);
                if i128::from(value) < -limit || i128::from(value) >= limit {
                    return Err(format!("does not fit in {bits} bits: use the type long"));
                }
                put_integer(out, value);
            }
            Kind::EpochMillis => {
                let value = temporal::epoch_millis(field).ok_or(
                    "is no date: expected milliseconds since 1970, yyyyMMdd, yyyyMMddHHmmssSSS, \
                     yyyy-MM-dd or 2010-09-16T06:54:00.602+0000",
                )?;
                put_integer(out, value);
            }
            Kind::Float => {
                let text = utf8(field)?;
                let value: f64 = text.trim().parse().map_err(|_| not_a("number", field))?;
                out.push(Tag::Float as u8);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Kind::Boolean => out.push(match field {
                b"true" | b"True" | b"TRUE" => Tag::True as u8,
                b"false" | b"False" | b"FALSE" => Tag::False as u8,
                _ => return Err("is neither true nor false".into()),
            }),
            Kind::Text => put_text(out, utf8(field)?.as_bytes()),
            Kind::Character => {
                let text = utf8(field)?;
                if text.chars().count() != 1 {
                    return Err("is not one character: use the type string".into());
                }
                put_text(out, text.as_bytes());
            }
            Kind::Array(element, delimiter) => {
                let parts = || field.split(|b| b == delimiter);
                put_list_head(out, parts().count() as u64);
                for part in parts() {
                    element.encode(part, out)?;
                }
            }
            temporal => temporal.encode_temporal(utf8(field)?, out)?,
        }
        Ok(())
    }

    fn encode_temporal(&self, text: &str, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Kind::Date => {
                let days = temporal::date(text).ok_or("is no date: write 2012-11-29")?;
                put_i64(out, Tag::Date, days);
            }
            Kind::LocalTime => {
                let nanos = temporal::local_time(text).ok_or("is no time: write 12:50:35.556")?;
                put_i64(out, Tag::LocalTime, nanos);
            }
            Kind::Time => {
                let (nanos, offset) =
                    temporal::time(text).ok_or("is no time with offset: write 12:50:35+01:00")?;
                put_i64(out, Tag::Time, nanos);
                out.extend_from_slice(&i64::from(offset).to_le_bytes());
            }
            Kind::LocalDateTime => {
                let (seconds, nanos) = temporal::local_date_time(text)
                    .ok_or("is no local date and time: write 2012-11-29T12:50:35.556")?;
                put_i64(out, Tag::LocalDateTime, seconds);
                out.extend_from_slice(&i64::from(nanos).to_le_bytes());
            }
            Kind::DateTime => {
                let moment = temporal::date_time(text).ok_or(
                    "is no date and time with offset: write 2012-11-29T12:50:35.556+01:00",
                )?;
                put_i64(out, Tag::DateTime, moment.seconds);
                out.extend_from_slice(&i64::from(moment.nanos).to_le_bytes());
                out.extend_from_slice(&i64::from(moment.offset_seconds).to_le_bytes());
                put_varint(out, moment.zone.len() as u64);
                out.extend_from_slice(moment.zone.as_bytes());
            }
            Kind::Duration => {
                let parts =
                    temporal::duration(text).ok_or("is no duration: write P1Y2M3DT4H5M6S")?;
                out.push(Tag::Duration as u8);
                parts
                    .iter()
                    .for_each(|p| out.extend_from_slice(&p.to_le_bytes()));
            }
            _ => {
                let (srid, numbers) = temporal::point(text)
                    .ok_or("is no point: write {x: 1.5, y: 2} or {latitude: 1.5, longitude: 2}")?;
                put_i64(out, Tag::Point, i64::from(srid));
                put_varint(out, numbers.len() as u64);
                numbers
                    .iter()
                    .for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
            }
        }
        Ok(())
    }
}

fn not_a(what: &str, field: &[u8]) -> String {
    if field.iter().any(u8::is_ascii_whitespace) {
        format!("is no {what}: remove the blanks around it")
    } else {
        format!("is no {what}: correct it or change the column's type in the header")
    }
}

fn utf8(field: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(field).map_err(|e| {
        format!(
            "is not UTF-8 from byte {} on: convert the file to UTF-8",
            e.valid_up_to()
        )
    })
}

/// Reads a value that `Kind::encode` wrote.
///
/// # Panics
/// On bytes of another origin: scratch data is written and read by one process.
pub(crate) fn decode(bytes: &mut &[u8]) -> PropertyValue {
    const FALSE: u8 = Tag::False as u8;
    const TRUE: u8 = Tag::True as u8;
    const INTEGER: u8 = Tag::Integer as u8;
    const FLOAT: u8 = Tag::Float as u8;
    const TEXT: u8 = Tag::Text as u8;
    const LIST: u8 = Tag::List as u8;
    let tag = bytes[0];
    *bytes = &bytes[1..];
    match tag {
        FALSE => PropertyValue::Boolean(false),
        TRUE => PropertyValue::Boolean(true),
        INTEGER => PropertyValue::Integer(take_integer(bytes)),
        FLOAT => PropertyValue::Float(f64::from_bits(take_i64(bytes) as u64)),
        TEXT => PropertyValue::String(take_text(bytes)),
        LIST => {
            let count = take_varint(bytes);
            PropertyValue::List((0..count).map(|_| decode(bytes)).collect())
        }
        tag => decode_temporal(tag, bytes),
    }
}

fn take_text(bytes: &mut &[u8]) -> Arc<str> {
    let len = take_varint(bytes) as usize;
    let (text, rest) = bytes.split_at(len);
    *bytes = rest;
    Arc::from(std::str::from_utf8(text).expect("text was checked when it was read"))
}

fn decode_temporal(tag: u8, bytes: &mut &[u8]) -> PropertyValue {
    const DATE: u8 = Tag::Date as u8;
    const LOCAL_TIME: u8 = Tag::LocalTime as u8;
    const TIME: u8 = Tag::Time as u8;
    const LOCAL_DATE_TIME: u8 = Tag::LocalDateTime as u8;
    const DATE_TIME: u8 = Tag::DateTime as u8;
    const DURATION: u8 = Tag::Duration as u8;
    match tag {
        DATE => PropertyValue::Date(take_i64(bytes)),
        LOCAL_TIME => PropertyValue::LocalTime(take_i64(bytes)),
        TIME => PropertyValue::Time(Time {
            nanosecond_of_day: take_i64(bytes),
            offset_seconds: take_i64(bytes) as i32,
        }),
        LOCAL_DATE_TIME => PropertyValue::LocalDateTime(LocalDateTime {
            seconds: take_i64(bytes),
            nanoseconds: take_i64(bytes) as u32,
        }),
        DATE_TIME => {
            let (seconds, nanos, offset) = (take_i64(bytes), take_i64(bytes), take_i64(bytes));
            let zone = take_text(bytes);
            PropertyValue::DateTime(DateTime {
                seconds,
                nanoseconds: nanos as u32,
                offset_seconds: offset as i32,
                zone: (!zone.is_empty()).then_some(zone),
            })
        }
        DURATION => {
            let [months, days, seconds, nanos] = [(); 4].map(|()| take_i64(bytes));
            PropertyValue::Duration(Duration {
                months,
                days,
                seconds: seconds + nanos.div_euclid(1_000_000_000),
                nanoseconds: nanos.rem_euclid(1_000_000_000) as u32,
            })
        }
        _ => {
            let srid = take_i64(bytes) as u32;
            let count = take_varint(bytes);
            let numbers: Vec<f64> = (0..count)
                .map(|_| f64::from_bits(take_i64(bytes) as u64))
                .collect();
            PropertyValue::Point(Point {
                srid,
                x: numbers[0],
                y: numbers[1],
                z: numbers.get(2).copied(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_come_back_whatever_follows() {
        for bits in 0..64 {
            for number in [1 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                for follows in [&[][..], &[0xff], &[0; 9], &[0xff; 9]] {
                    let mut bytes = Vec::new();
                    put_varint(&mut bytes, number);
                    bytes.extend_from_slice(follows);
                    let mut rest = &bytes[..];
                    assert_eq!(take_varint(&mut rest), number);
                    assert_eq!(rest, follows);
                }
            }
        }
    }

    #[test]
    fn integers_are_read_as_the_standard_library_reads_them() {
        let texts = [
            "0",
            "-0",
            "+7",
            "12345678",
            "123456789",
            "-1234567890123456",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "",
            "-",
            "1234567a",
            "a2345678",
            "1234 678",
            "1234567:",
            "/2345678",
            "12345678\u{ff}",
            "0000000000000000001",
            "00000000000000000001",
            "99999999999999999999",
        ];
        for text in texts {
            let expected = text
                .parse()
                .ok()
                .filter(|_| text.len() < 20 || text.starts_with('-'));
            assert_eq!(parse_i64(text.as_bytes()), expected, "{text}");
        }
    }
}
