//! One column segment: the values of one property for a range of ids.
//!
//! # How it works
//! Values stand in id order without gaps; *presence* maps an id to the rank of its value. If all
//! values are of one simple type they are stored as that type, otherwise each with its tag.
//!
//! | type | values |
//! | --- | --- |
//! | integer, date, local time | blocks of 128: smallest value, then differences to it, bit-packed |
//! | boolean | one bit each |
//! | float | 8 bytes each |
//! | string, bytes, tagged | in id order, or a sorted dictionary and bit-packed codes; the texts of either front-coded or plain |
//!
//! Which of the forms of texts is taken: see [`encode`](self::encode()).
//!
//! # Invariants
//! * ST-9: [`ColumnSegment::read`] checks every table against the payload, so look-ups index
//!   freely; what strings and tagged values hold is checked when they are decoded.
//!
//! # On disk
//! Page of kind node column or relationship column; payload:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 1 | type: 1 boolean, 2 integer, 3 float, 4 string, 5 bytes, 6 date, 7 local time, 8 tagged |
//! | 1 | 1 | presence: 0 all, 1 bitmap, 2 list of offsets |
//! | 2 | 1 | strings: bit 0: there is a dictionary; bit 1: texts are plain, else front-coded |
//! | 3 | 1 | zero |
//! | 4 | 4 | number of values |
//! | 8 | 8 | first id |
//! | 16 | 4 | ids covered, at most 65,536 |
//! | 20 | 4 | offset of the values |
//! | 24 | 8 | zero |
//! | 32 | | presence: words of 8 bytes, then the rank of each word's first bit, 2 bytes each; or offsets of the ids that have a value, 2 bytes each |
//! | | | values |
//!
//! Integers: per block smallest value (8), offset of its differences behind the block table (4),
//! width (1), zero (3). Dictionary: number of entries (4), width of codes (1), zero (3), offset of
//! the codes (4), zero (4), entries, codes.

mod encode;

use super::bits;
use super::front_coding::{self, Text};
use super::plain_texts;
use crate::bytes::{Decoded, Malformed, Reader};
use crate::value::encode::{read_value, skip_value};
pub(crate) use encode::{encode, long_bytes};
use graven_pagecache::PageRef;
use graven_types::PropertyValue;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const SPAN_MAX: u64 = 1 << 16;
const HEADER_BYTES: usize = 32;
const BLOCK: usize = 128;
const BLOCK_BYTES: usize = 16;
const DICTIONARY_HEAD: usize = 16;

/// Bits of the form of texts.
const DICTIONARY: u8 = 1;
const PLAIN: u8 = 2;

const PRESENCE_ALL: u8 = 0;
const PRESENCE_BITMAP: u8 = 1;
const PRESENCE_OFFSETS: u8 = 2;

/// How the values of a segment are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum ValueType {
    Boolean = 1,
    Integer = 2,
    Float = 3,
    String = 4,
    Bytes = 5,
    Date = 6,
    LocalTime = 7,
    Tagged = 8,
}

impl ValueType {
    fn of(value: &PropertyValue) -> ValueType {
        match value {
            PropertyValue::Boolean(_) => ValueType::Boolean,
            PropertyValue::Integer(_) => ValueType::Integer,
            PropertyValue::Float(_) => ValueType::Float,
            PropertyValue::String(_) => ValueType::String,
            PropertyValue::Bytes(_) => ValueType::Bytes,
            PropertyValue::Date(_) => ValueType::Date,
            PropertyValue::LocalTime(_) => ValueType::LocalTime,
            _ => ValueType::Tagged,
        }
    }

    fn from_u8(raw: u8) -> Decoded<ValueType> {
        Ok(match raw {
            1 => ValueType::Boolean,
            2 => ValueType::Integer,
            3 => ValueType::Float,
            4 => ValueType::String,
            5 => ValueType::Bytes,
            6 => ValueType::Date,
            7 => ValueType::LocalTime,
            8 => ValueType::Tagged,
            _ => return Err(Malformed(format!("unknown column type {raw}"))),
        })
    }
}

/// A value to be written, or the chain that holds it.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Value(PropertyValue),
    /// The type the value has and its bytes' chain.
    Overflow(ValueType, PageRef),
}

impl Cell {
    fn value_type(&self) -> ValueType {
        match self {
            Cell::Value(value) => ValueType::of(value),
            Cell::Overflow(value_type, _) => *value_type,
        }
    }
}

/// A value as found: there, or in a chain.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stored {
    Value(PropertyValue),
    Overflow(PageRef),
}

/// A segment whose tables were checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSegment<'a> {
    bytes: &'a [u8],
    value_type: ValueType,
    presence: u8,
    /// Of texts: bits.
    form: u8,
    count: usize,
    first: u64,
    span: u64,
    values: &'a [u8],
}

/// Reads integers of a segment; the block read last need not be looked up again.
pub(crate) struct Integers<'a> {
    segment: ColumnSegment<'a>,
    block: usize,
    low: i64,
    width: u8,
    packed: &'a [u8],
}

impl Integers<'_> {
    /// The value of `rank`.
    #[inline]
    pub(crate) fn get(&mut self, rank: usize) -> Decoded<i64> {
        if rank / BLOCK != self.block || rank >= self.segment.count {
            self.enter(rank)?;
        }
        let field = bits::field(self.packed, rank % BLOCK, self.width);
        Ok(self.low.wrapping_add(field as i64))
    }

    /// Checks the block of `rank`.
    fn enter(&mut self, rank: usize) -> Decoded<()> {
        let ColumnSegment { count, values, .. } = self.segment;
        if rank >= count {
            return Err(Malformed(format!("value {rank} of {count}")));
        }
        let table = count.div_ceil(BLOCK) * BLOCK_BYTES;
        let block = &values[rank / BLOCK * BLOCK_BYTES..][..BLOCK_BYTES];
        let offset = u32::from_le_bytes(block[8..12].try_into().expect("four bytes")) as usize;
        let width = block[12];
        let start = table.saturating_add(offset);
        let in_block = (count - rank / BLOCK * BLOCK).min(BLOCK);
        if width > 64 || start.saturating_add(bits::packed_bytes(in_block, width)) > values.len() {
            return Err(Malformed(format!(
                "block of width {width} at {start} of {}",
                values.len()
            )));
        }
        self.low = i64::from_le_bytes(block[..8].try_into().expect("eight bytes"));
        self.width = width;
        self.packed = &values[start..];
        self.block = rank / BLOCK;
        Ok(())
    }
}

impl<'a> ColumnSegment<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Decoded<ColumnSegment<'a>> {
        let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Malformed(format!("a head in {} bytes", bytes.len())));
        };
        let u32_at = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| head[at + byte]));
        let value_type = ValueType::from_u8(head[0])?;
        let (presence, form, count) = (head[1], head[2], u32_at(4) as usize);
        let first = u64::from(u32_at(8)) | u64::from(u32_at(12)) << 32;
        let (span, values) = (u64::from(u32_at(16)), u32_at(20) as usize);
        let words = span.div_ceil(64) as usize;
        let presence_bytes = match presence {
            PRESENCE_ALL if count as u64 == span => 0,
            PRESENCE_BITMAP => words * 10,
            PRESENCE_OFFSETS => count * 2,
            _ => {
                return Err(Malformed(format!(
                    "presence {presence} of {count} values for {span} ids"
                )));
            }
        };
        let fits = span <= SPAN_MAX
            && count as u64 <= span
            && first.checked_add(span).is_some()
            && HEADER_BYTES + presence_bytes <= values
            && values <= bytes.len()
            && form <= DICTIONARY | PLAIN;
        if !fits {
            return Err(Malformed(format!(
                "{count} values for {span} ids in {} bytes",
                bytes.len()
            )));
        }
        let segment = ColumnSegment {
            bytes,
            value_type,
            presence,
            form,
            count,
            first,
            span,
            values: &bytes[values..],
        };
        segment.check_values()?;
        Ok(segment)
    }

    /// Checks that fixed-width values are all there.
    fn check_values(&self) -> Decoded<()> {
        let wanted = match self.value_type {
            ValueType::Boolean => self.count.div_ceil(8),
            ValueType::Float => self.count * 8,
            ValueType::Integer | ValueType::Date | ValueType::LocalTime => {
                self.count.div_ceil(BLOCK) * BLOCK_BYTES
            }
            ValueType::String | ValueType::Bytes | ValueType::Tagged => {
                match self.form & DICTIONARY {
                    0 => 0,
                    _ => DICTIONARY_HEAD,
                }
            }
        };
        if wanted <= self.values.len() {
            return Ok(());
        }
        Err(Malformed(format!(
            "{} values in {} bytes",
            self.count,
            self.values.len()
        )))
    }

    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn end(&self) -> u64 {
        self.first + self.span
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn word(&self, index: usize) -> u64 {
        let at = HEADER_BYTES + index * 8;
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Rank of the value of `id`, if it has one.
    #[inline]
    pub(crate) fn rank(&self, id: u64) -> Option<usize> {
        let offset = id.wrapping_sub(self.first);
        if offset >= self.span {
            return None;
        }
        let rank = match self.presence {
            PRESENCE_ALL => offset as usize,
            PRESENCE_BITMAP => {
                let (index, bit) = ((offset / 64) as usize, 1u64 << (offset % 64));
                let word = self.word(index);
                if word & bit == 0 {
                    return None;
                }
                let ranks = HEADER_BYTES + self.span.div_ceil(64) as usize * 8;
                let before = usize::from(self.u16_at(ranks + index * 2));
                before + (word & (bit - 1)).count_ones() as usize
            }
            _ => {
                let (mut low, mut high) = (0, self.count);
                while low < high {
                    let middle = low.midpoint(high);
                    if u64::from(self.u16_at(HEADER_BYTES + middle * 2)) < offset {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                if low == self.count || u64::from(self.u16_at(HEADER_BYTES + low * 2)) != offset {
                    return None;
                }
                low
            }
        };
        Some(rank)
    }

    /// Ids with a value, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        (self.first..self.end()).filter(|id| self.rank(*id).is_some())
    }

    /// Whether the values are integers, so that [`ColumnSegment::integer`] gives them.
    pub(crate) fn is_integer(&self) -> bool {
        self.value_type == ValueType::Integer
    }

    /// The value of `rank` in a segment of integers, dates or local times.
    #[inline]
    pub(crate) fn integer(&self, rank: usize) -> Decoded<i64> {
        self.integers().get(rank)
    }

    /// The values of a segment of integers, dates or local times, quick to read near each other.
    #[inline]
    pub(crate) fn integers(&self) -> Integers<'a> {
        Integers {
            segment: *self,
            block: usize::MAX,
            low: 0,
            width: 0,
            packed: &[],
        }
    }

    /// Appends the values of `ids` of a segment of integers, dates or local times that has a value
    /// for each of its ids; `false` without appending any if it does not, or if it does not cover
    /// `ids`.
    pub(crate) fn append_integers(&self, ids: Range<u64>, out: &mut Vec<i64>) -> Decoded<bool> {
        if self.presence != PRESENCE_ALL || ids.start < self.first || ids.end > self.end() {
            return Ok(false);
        }
        let mut rank = (ids.start - self.first) as usize;
        let end = (ids.end - self.first) as usize;
        let mut integers = self.integers();
        out.reserve(end - rank);
        while rank < end {
            integers.enter(rank)?;
            let to = end.min((rank / BLOCK + 1) * BLOCK);
            let fields = rank % BLOCK..rank % BLOCK + (to - rank);
            bits::append_sums(integers.packed, fields, integers.width, integers.low, out);
            rank = to;
        }
        Ok(true)
    }

    /// The value of `rank`.
    pub(crate) fn value(&self, rank: usize) -> Decoded<Stored> {
        if rank >= self.count {
            return Err(Malformed(format!("value {rank} of {}", self.count)));
        }
        let value = match self.value_type {
            ValueType::Boolean => PropertyValue::Boolean(bits::field(self.values, rank, 1) == 1),
            ValueType::Float => {
                let bytes = &self.values[rank * 8..rank * 8 + 8];
                PropertyValue::Float(f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            }
            ValueType::Integer => PropertyValue::Integer(self.integer(rank)?),
            ValueType::Date => PropertyValue::Date(self.integer(rank)?),
            ValueType::LocalTime => PropertyValue::LocalTime(self.integer(rank)?),
            ValueType::String | ValueType::Bytes | ValueType::Tagged => match self.text(rank)? {
                Text::Overflow(head) => return Ok(Stored::Overflow(head)),
                Text::Here(bytes) => self.long_value(&bytes)?,
            },
        };
        Ok(Stored::Value(value))
    }

    /// The value of `rank` as it is written to another segment.
    pub(crate) fn cell(&self, rank: usize) -> Decoded<Cell> {
        Ok(match self.value(rank)? {
            Stored::Value(value) => Cell::Value(value),
            Stored::Overflow(head) => Cell::Overflow(self.value_type, head),
        })
    }

    /// Bytes that the items of a list with these bytes take in memory; 0 for other values.
    pub(crate) fn bytes_of_items(&self, bytes: &[u8]) -> Decoded<u64> {
        match self.value_type {
            ValueType::String | ValueType::Bytes => Ok(0),
            _ => skip_value(&mut Reader::new(bytes)),
        }
    }

    /// The value whose bytes stand in a chain or a text area.
    pub(crate) fn long_value(&self, bytes: &[u8]) -> Decoded<PropertyValue> {
        match self.value_type {
            ValueType::String => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(PropertyValue::String(Arc::from(text))),
                Err(error) => Err(Malformed(format!("text is not UTF-8: {error}"))),
            },
            ValueType::Bytes => Ok(PropertyValue::Bytes(Arc::from(bytes))),
            _ => {
                let mut reader = Reader::new(bytes);
                let value = read_value(&mut reader)?;
                match reader.remaining() {
                    0 => Ok(value),
                    left => Err(Malformed(format!("{left} bytes behind a value"))),
                }
            }
        }
    }

    fn text(&self, rank: usize) -> Decoded<Text<'a>> {
        if self.form & DICTIONARY == 0 {
            return self.text_in(self.values, self.count, rank);
        }
        let (entries, distinct, codes, width) = self.dictionary()?;
        let code = bits::field(codes, rank, width) as usize;
        self.text_in(entries, distinct, code)
    }

    /// The area of the distinct texts, their number, the codes of the ranks and the width of a
    /// code.
    fn dictionary(&self) -> Decoded<(&'a [u8], usize, &'a [u8], u8)> {
        let Some(head) = self.values.first_chunk::<DICTIONARY_HEAD>() else {
            return Err(Malformed::new("no room for the head of a dictionary"));
        };
        let u32_at = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| head[at + byte]));
        let (distinct, width, codes) = (u32_at(0) as usize, head[4], u32_at(8) as usize);
        let end = codes.saturating_add(bits::packed_bytes(self.count, width.min(64)));
        if width > 32 || codes < DICTIONARY_HEAD || end > self.values.len() {
            return Err(Malformed(format!(
                "codes of width {width} at {codes} of {}",
                self.values.len()
            )));
        }
        let entries = &self.values[DICTIONARY_HEAD..codes];
        Ok((entries, distinct, &self.values[codes..], width))
    }

    /// Hands to `found` the ranks among these whose values may be `wanted`; whether they are must
    /// be asked where they say no. `false` if the values of the segment are not all texts, and
    /// nothing was handed out then.
    pub(crate) fn find_texts(
        &self,
        ranks: Range<usize>,
        wanted: &str,
        mut found: impl FnMut(usize, bool),
    ) -> Decoded<bool> {
        if self.value_type != ValueType::String {
            return Ok(false);
        }
        if self.form & DICTIONARY == 0 {
            self.find_in(self.values, self.count, ranks, wanted, found)?;
            return Ok(true);
        }
        let (entries, distinct, codes, width) = self.dictionary()?;
        let mut wanted_codes = Vec::new();
        self.find_in(entries, distinct, 0..distinct, wanted, |code, is| {
            wanted_codes.push((code, is));
        })?;
        if wanted_codes.is_empty() {
            return Ok(true);
        }
        for rank in ranks {
            let own = bits::field(codes, rank, width) as usize;
            if let Some((_, is)) = wanted_codes.iter().find(|(code, _)| *code == own) {
                found(rank, *is);
            }
        }
        Ok(true)
    }

    /// Those texts of the `count` in `area` that may be `wanted`.
    fn find_in(
        &self,
        area: &[u8],
        count: usize,
        which: Range<usize>,
        wanted: &str,
        mut found: impl FnMut(usize, bool),
    ) -> Decoded<()> {
        if self.form & PLAIN == 0 {
            let wanted = wanted.as_bytes();
            return front_coding::find(area, count, which, wanted, |index, head| {
                found(index, head.is_none());
            });
        }
        for index in which {
            if plain_texts::read(area, count, index)? == wanted.as_bytes() {
                found(index, true);
            }
        }
        Ok(())
    }

    /// Text `index` of the `count` in `area`.
    fn text_in(&self, area: &'a [u8], count: usize, index: usize) -> Decoded<Text<'a>> {
        match self.form & PLAIN {
            0 => front_coding::read(area, count, index),
            _ => plain_texts::read(area, count, index).map(|text| Text::Here(Cow::Borrowed(text))),
        }
    }
}
