//! The values of a segment, densely, by position.
//!
//! # On disk
//! | encoding | content |
//! | --- | --- |
//! | 1 integers | 8 bytes smallest value, 8 bytes step, 1 byte width, then `(value - smallest) / step` packed; the type field tells integers, dates and local times apart |
//! | 2 booleans | one bit a value |
//! | 3 floats | 8 bytes a value |
//! | 4 texts | text table: 4 bytes total, 1 byte width, count + 1 packed offsets, bytes |
//! | 5 dictionary | 4 bytes distinct texts, text table of these, 1 byte width, packed codes |
//! | 6 tagged | as 4, each text being one tagged value, or tag 255, 8 bytes page reference and 8 bytes length of an overflow chain |
//! | 7 constant | one tagged value that all ids share |
//!
//! The step is the greatest common divisor of the differences: days kept as milliseconds need 15 bits so,
//! not 41.

use super::bits::{self, PackedArray};
use super::{Entry, Overflow};
use crate::PropertyValue;
use crate::bytes::{Decoded, Malformed, Reader};
use crate::value::encode::{put_value, read_value};
use foldhash::HashMap;
use graven_pagecache::PageRef;

const INTEGERS: u8 = 1;
const BOOLEANS: u8 = 2;
const FLOATS: u8 = 3;
const TEXTS: u8 = 4;
const DICTIONARY: u8 = 5;
const TAGGED: u8 = 6;
const CONSTANT: u8 = 7;

const OVERFLOW_TAG: u8 = 255;

/// What the integer encoding's numbers mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum IntegerType {
    /// [`PropertyValue::Integer`]
    Integer = 0,
    /// [`PropertyValue::Date`]
    Date = 1,
    /// [`PropertyValue::LocalTime`]
    LocalTime = 2,
}

impl IntegerType {
    fn of(value: &PropertyValue) -> Option<(IntegerType, i64)> {
        match value {
            PropertyValue::Integer(number) => Some((IntegerType::Integer, *number)),
            PropertyValue::Date(number) => Some((IntegerType::Date, *number)),
            PropertyValue::LocalTime(number) => Some((IntegerType::LocalTime, *number)),
            _ => None,
        }
    }

    fn value(self, number: i64) -> PropertyValue {
        match self {
            IntegerType::Integer => PropertyValue::Integer(number),
            IntegerType::Date => PropertyValue::Date(number),
            IntegerType::LocalTime => PropertyValue::LocalTime(number),
        }
    }
}

/// Bytes of `entry` in the plain encoding of its type, about.
pub(super) fn plain_bytes(entry: &Entry) -> usize {
    match entry {
        Entry::Value(PropertyValue::String(text)) => text.len(),
        Entry::Value(PropertyValue::Integer(_) | PropertyValue::Float(_)) => 8,
        Entry::Value(PropertyValue::Boolean(_)) => 1,
        other => tagged(other).len(),
    }
}

/// Encodes the values of `entries` (at least one): encoding, type field, bytes.
pub(super) fn encode(entries: &[(u64, Entry)]) -> (u8, u8, Vec<u8>) {
    if entries.len() > 1 && entries.iter().all(|(_, entry)| same(entry, &entries[0].1)) {
        return (CONSTANT, 0, tagged(&entries[0].1));
    }
    if let Some((integer_type, numbers)) = all_integers(entries) {
        return (INTEGERS, integer_type as u8, encode_integers(&numbers));
    }
    if let Some(flags) = all_of(entries, |value| match value {
        PropertyValue::Boolean(flag) => Some(u64::from(*flag)),
        _ => None,
    }) {
        let mut out = Vec::new();
        bits::pack(flags, 1, &mut out);
        return (BOOLEANS, 0, out);
    }
    if let Some(floats) = all_of(entries, |value| match value {
        PropertyValue::Float(float) => Some(float.to_le_bytes()),
        _ => None,
    }) {
        return (FLOATS, 0, floats.concat());
    }
    if let Some(texts) = all_of(entries, |value| match value {
        PropertyValue::String(text) => Some(text.as_bytes()),
        _ => None,
    }) {
        let (plain, dictionary) = (encode_table(&texts), encode_dictionary(&texts));
        return if dictionary.len() < plain.len() {
            (DICTIONARY, 0, dictionary)
        } else {
            (TEXTS, 0, plain)
        };
    }
    let values: Vec<Vec<u8>> = entries.iter().map(|(_, entry)| tagged(entry)).collect();
    let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    (TAGGED, 0, encode_table(&slices))
}

/// Equal in representation; floats by their bits, so that NaN and zeros keep theirs.
fn same(a: &Entry, b: &Entry) -> bool {
    match (a, b) {
        (Entry::Value(PropertyValue::Float(a)), Entry::Value(PropertyValue::Float(b))) => {
            a.to_bits() == b.to_bits()
        }
        (Entry::Value(PropertyValue::List(_) | PropertyValue::Point(_)), _) => {
            tagged(a) == tagged(b)
        }
        _ => a == b,
    }
}

fn all_of<'a, T>(
    entries: &'a [(u64, Entry)],
    select: impl Fn(&'a PropertyValue) -> Option<T>,
) -> Option<Vec<T>> {
    let pick = |(_, entry): &'a (u64, Entry)| match entry {
        Entry::Value(value) => select(value),
        Entry::Overflow(_) => None,
    };
    entries.iter().map(pick).collect()
}

fn all_integers(entries: &[(u64, Entry)]) -> Option<(IntegerType, Vec<i64>)> {
    let typed = all_of(entries, IntegerType::of)?;
    let first = typed[0].0;
    typed.iter().all(|(kind, _)| *kind == first).then(|| {
        let numbers = typed.into_iter().map(|(_, number)| number).collect();
        (first, numbers)
    })
}

fn encode_integers(numbers: &[i64]) -> Vec<u8> {
    let smallest = numbers.iter().copied().min().unwrap_or_default();
    let distance = |number: &i64| number.wrapping_sub(smallest) as u64;
    let step = numbers
        .iter()
        .map(distance)
        .fold(0, greatest_common_divisor)
        .max(1);
    let largest = numbers.iter().map(distance).max().unwrap_or_default() / step;
    let width = bits::width_of(largest);
    let mut out = smallest.to_le_bytes().to_vec();
    out.extend(step.to_le_bytes());
    out.push(width as u8);
    bits::pack(
        numbers.iter().map(|number| distance(number) / step),
        width,
        &mut out,
    );
    out
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn encode_table(texts: &[&[u8]]) -> Vec<u8> {
    let total: usize = texts.iter().map(|text| text.len()).sum();
    let width = bits::width_of(total as u64);
    let ends = texts.iter().scan(0, |end, text| {
        *end += text.len() as u64;
        Some(*end)
    });
    let mut out = (total as u32).to_le_bytes().to_vec();
    out.push(width as u8);
    bits::pack(std::iter::once(0).chain(ends), width, &mut out);
    texts.iter().for_each(|text| out.extend_from_slice(text));
    out
}

fn encode_dictionary(texts: &[&[u8]]) -> Vec<u8> {
    let mut distinct: Vec<&[u8]> = texts.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let codes: HashMap<&[u8], u64> = distinct.iter().copied().zip(0..).collect();
    let width = bits::width_of(distinct.len() as u64 - 1);
    let mut out = (distinct.len() as u32).to_le_bytes().to_vec();
    out.extend(encode_table(&distinct));
    out.push(width as u8);
    bits::pack(texts.iter().map(|text| codes[text]), width, &mut out);
    out
}

fn tagged(entry: &Entry) -> Vec<u8> {
    let mut out = Vec::new();
    match entry {
        Entry::Value(value) => put_value(&mut out, value),
        Entry::Overflow(Overflow { first, bytes }) => {
            out.push(OVERFLOW_TAG);
            out.extend(first.raw().to_le_bytes());
            out.extend(bytes.to_le_bytes());
        }
    }
    out
}

fn read_tagged(bytes: &[u8]) -> Decoded<Entry> {
    let mut reader = Reader::new(bytes);
    let entry = if bytes.first() == Some(&OVERFLOW_TAG) {
        reader.u8()?;
        let raw = reader.u64()?;
        let first = PageRef::from_raw(raw)
            .ok_or_else(|| Malformed::new(format!("overflow page reference {raw:#x}")))?;
        Entry::Overflow(Overflow {
            first,
            bytes: reader.u64()?,
        })
    } else {
        Entry::Value(read_value(&mut reader)?)
    };
    match reader.remaining() {
        0 => Ok(entry),
        rest => Err(Malformed::new(format!("{rest} bytes after a value"))),
    }
}

/// Texts one after the other, with their offsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextTable<'a> {
    offsets: PackedArray<'a>,
    bytes: &'a [u8],
}

impl<'a> TextTable<'a> {
    /// The table of `count` texts at the start of `part`, and what follows it.
    fn split(part: &'a [u8], count: usize) -> Decoded<(TextTable<'a>, &'a [u8])> {
        let mut reader = Reader::new(part);
        let (total, width) = (reader.u32()? as usize, u32::from(reader.u8()?));
        let rest = reader.take(reader.remaining())?;
        let (offsets, rest) = PackedArray::split(rest, count + 1, width)?;
        let (bytes, rest) = rest.split_at_checked(total).ok_or_else(|| {
            Malformed::new(format!("{total} bytes of text in {} bytes", rest.len()))
        })?;
        Ok((TextTable { offsets, bytes }, rest))
    }

    fn get(&self, position: usize) -> Decoded<&'a [u8]> {
        let (start, end) = (self.offsets.get(position), self.offsets.get(position + 1));
        self.bytes.get(start as usize..end as usize).ok_or_else(|| {
            Malformed::new(format!("text {start}..{end} of {} bytes", self.bytes.len()))
        })
    }
}

/// The value part of a segment.
#[derive(Clone, Debug)]
pub(super) enum Values<'a> {
    /// Encoding 1.
    Integers {
        /// What the numbers mean.
        integer_type: IntegerType,
        /// Smallest value.
        smallest: i64,
        /// Common divisor of the differences.
        step: u64,
        /// Packed multiples of the step.
        packed: PackedArray<'a>,
    },
    /// Encoding 2.
    Booleans(PackedArray<'a>),
    /// Encoding 3.
    Floats(&'a [u8]),
    /// Encoding 4.
    Texts(TextTable<'a>),
    /// Encoding 5.
    Dictionary {
        /// Distinct texts.
        distinct: TextTable<'a>,
        /// How many.
        distinct_count: usize,
        /// Packed positions in `distinct`.
        codes: PackedArray<'a>,
    },
    /// Encoding 6.
    Tagged(TextTable<'a>),
    /// Encoding 7.
    Constant(Entry),
}

impl<'a> Values<'a> {
    pub(super) fn parse(
        encoding: u8,
        value_type: u8,
        part: &'a [u8],
        count: usize,
    ) -> Decoded<Values<'a>> {
        if encoding != INTEGERS && value_type != 0 {
            return Err(Malformed::new(format!(
                "type {value_type} of encoding {encoding}"
            )));
        }
        let (values, rest) = match encoding {
            INTEGERS => parse_integers(value_type, part, count)?,
            BOOLEANS => {
                let (flags, rest) = PackedArray::split(part, count, 1)?;
                (Values::Booleans(flags), rest)
            }
            FLOATS => {
                let (floats, rest) = part.split_at_checked(count * 8).ok_or_else(|| {
                    Malformed::new(format!("{count} floats in {} bytes", part.len()))
                })?;
                (Values::Floats(floats), rest)
            }
            TEXTS | TAGGED => {
                let (table, rest) = TextTable::split(part, count)?;
                let texts = if encoding == TEXTS {
                    Values::Texts
                } else {
                    Values::Tagged
                };
                (texts(table), rest)
            }
            DICTIONARY => parse_dictionary(part, count)?,
            CONSTANT => (Values::Constant(read_tagged(part)?), &part[part.len()..]),
            other => return Err(Malformed::new(format!("unknown value encoding {other}"))),
        };
        match rest.len() {
            0 => Ok(values),
            rest => Err(Malformed::new(format!("{rest} bytes after the values"))),
        }
    }

    /// The value at `position`, which is below the segment's count.
    pub(super) fn get(&self, position: usize) -> Decoded<Entry> {
        Ok(Entry::Value(match self {
            Values::Integers {
                integer_type,
                smallest,
                step,
                packed,
            } => integer_type.value(integer(*smallest, *step, packed, position)),
            Values::Booleans(flags) => PropertyValue::Boolean(flags.get(position) != 0),
            Values::Floats(floats) => {
                let bytes = floats[position * 8..].first_chunk::<8>();
                PropertyValue::Float(f64::from_le_bytes(
                    *bytes.expect("ST-COL-2: length checked"),
                ))
            }
            Values::Texts(table) => text(table.get(position)?)?,
            Values::Dictionary {
                distinct,
                distinct_count,
                codes,
            } => {
                let code = codes.get(position) as usize;
                if code >= *distinct_count {
                    return Err(Malformed::new(format!(
                        "code {code} of {distinct_count} texts"
                    )));
                }
                text(distinct.get(code)?)?
            }
            Values::Tagged(table) => return read_tagged(table.get(position)?),
            Values::Constant(entry) => return Ok(entry.clone()),
        }))
    }

    /// The value at `position` without building a [`PropertyValue`], where the encoding is integers.
    pub(super) fn integer(&self, position: usize) -> Decoded<Option<i64>> {
        Ok(match self {
            Values::Integers {
                integer_type: IntegerType::Integer,
                smallest,
                step,
                packed,
            } => Some(integer(*smallest, *step, packed, position)),
            _ => None,
        })
    }
}

fn integer(smallest: i64, step: u64, packed: &PackedArray<'_>, position: usize) -> i64 {
    smallest.wrapping_add(packed.get(position).wrapping_mul(step) as i64)
}

fn text(bytes: &[u8]) -> Decoded<PropertyValue> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PropertyValue::string(text)),
        Err(error) => Err(Malformed::new(format!("text is not UTF-8: {error}"))),
    }
}

fn parse_integers(value_type: u8, part: &[u8], count: usize) -> Decoded<(Values<'_>, &[u8])> {
    let integer_type = match value_type {
        0 => IntegerType::Integer,
        1 => IntegerType::Date,
        2 => IntegerType::LocalTime,
        other => return Err(Malformed::new(format!("unknown integer type {other}"))),
    };
    let mut reader = Reader::new(part);
    let (smallest, step, width) = (reader.i64()?, reader.u64()?, reader.u8()?);
    let (packed, rest) =
        PackedArray::split(reader.take(reader.remaining())?, count, u32::from(width))?;
    Ok((
        Values::Integers {
            integer_type,
            smallest,
            step,
            packed,
        },
        rest,
    ))
}

fn parse_dictionary(part: &[u8], count: usize) -> Decoded<(Values<'_>, &[u8])> {
    let mut reader = Reader::new(part);
    let distinct_count = reader.u32()? as usize;
    let (distinct, rest) = TextTable::split(reader.take(reader.remaining())?, distinct_count)?;
    let (width, rest) = rest
        .split_first()
        .ok_or_else(|| Malformed::new("dictionary without codes"))?;
    let (codes, rest) = PackedArray::split(rest, count, u32::from(*width))?;
    Ok((
        Values::Dictionary {
            distinct,
            distinct_count,
            codes,
        },
        rest,
    ))
}
