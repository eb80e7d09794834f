//! Writes a column segment: presence, then the values in the smallest form.
//!
//! # How it works
//! The values of one simple type are stored as that type, any others each with its tag. Every form
//! of texts is made and the smallest taken, but a plain one if it is at most a quarter larger: its
//! texts are found without decoding the ones before them.

use super::{
    BLOCK, Cell, DICTIONARY, DICTIONARY_HEAD, HEADER_BYTES, PLAIN, PRESENCE_ALL, PRESENCE_BITMAP,
    PRESENCE_OFFSETS, SPAN_MAX, ValueType,
};
use crate::column::bits;
use crate::column::front_coding::{self, TextRef};
use crate::column::plain_texts;
use crate::value::encode::put_value;
use graven_pagecache::PageRef;
use graven_types::PropertyValue;
use std::borrow::Cow;

/// The bytes and type under which `value` would go to a chain of its own: untagged for text and
/// bytes.
pub(crate) fn long_bytes(value: &PropertyValue) -> (ValueType, Cow<'_, [u8]>) {
    match value {
        PropertyValue::String(text) => (ValueType::String, Cow::Borrowed(text.as_bytes())),
        PropertyValue::Bytes(bytes) => (ValueType::Bytes, Cow::Borrowed(bytes)),
        other => {
            let mut out = Vec::new();
            put_value(&mut out, other);
            (ValueType::Tagged, Cow::Owned(out))
        }
    }
}

/// Encodes `cells` (ascending ids, not empty, within a span of [`SPAN_MAX`]); `None` if chains of
/// different types meet, which then need segments of their own.
pub(crate) fn encode(cells: &[(u64, Cell)]) -> Option<Vec<u8>> {
    let first = cells[0].0;
    let span = cells[cells.len() - 1].0 - first + 1;
    assert!(span <= SPAN_MAX, "ST-9: a segment spans {span} ids");
    let value_type = common_type(cells)?;
    let mut out = vec![0; HEADER_BYTES];
    out[0] = value_type as u8;
    out[1] = put_presence(cells, first, span, &mut out);
    let values = out.len() as u32;
    out[4..8].copy_from_slice(&(cells.len() as u32).to_le_bytes());
    out[8..16].copy_from_slice(&first.to_le_bytes());
    out[16..20].copy_from_slice(&(span as u32).to_le_bytes());
    out[20..24].copy_from_slice(&values.to_le_bytes());
    match value_type {
        ValueType::Boolean => {
            let bits = cells.iter().map(|(_, cell)| {
                u64::from(matches!(cell, Cell::Value(PropertyValue::Boolean(true))))
            });
            bits::pack(bits, 1, &mut out);
        }
        ValueType::Float => {
            for (_, cell) in cells {
                if let Cell::Value(PropertyValue::Float(value)) = cell {
                    out.extend_from_slice(&value.to_le_bytes());
                }
            }
        }
        ValueType::Integer | ValueType::Date | ValueType::LocalTime => {
            let integers: Vec<i64> = cells.iter().filter_map(|(_, cell)| integer(cell)).collect();
            put_integers(&integers, &mut out);
        }
        ValueType::String | ValueType::Bytes | ValueType::Tagged => {
            out[2] = put_texts(cells, value_type, &mut out);
        }
    }
    Some(out)
}

fn common_type(cells: &[(u64, Cell)]) -> Option<ValueType> {
    let first = cells[0].1.value_type();
    if cells.iter().all(|(_, cell)| cell.value_type() == first) {
        return Some(first);
    }
    // Chains of text hold it untagged and cannot join tagged values.
    let untagged =
        |cell: &Cell| matches!(cell, Cell::Overflow(kind, _) if *kind != ValueType::Tagged);
    (!cells.iter().any(|(_, cell)| untagged(cell))).then_some(ValueType::Tagged)
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Value(
            PropertyValue::Integer(value)
            | PropertyValue::Date(value)
            | PropertyValue::LocalTime(value),
        ) => Some(*value),
        _ => None,
    }
}

fn put_presence(cells: &[(u64, Cell)], first: u64, span: u64, out: &mut Vec<u8>) -> u8 {
    if cells.len() as u64 == span {
        return PRESENCE_ALL;
    }
    let offsets = cells.iter().map(|(id, _)| (id - first) as u16);
    let words = span.div_ceil(64) as usize;
    if cells.len() * 2 <= words * 10 {
        offsets.for_each(|offset| out.extend_from_slice(&offset.to_le_bytes()));
        return PRESENCE_OFFSETS;
    }
    let mut bitmap = vec![0u64; words];
    offsets.for_each(|offset| bitmap[usize::from(offset) / 64] |= 1 << (offset % 64));
    bitmap
        .iter()
        .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    let mut rank = 0u32;
    for word in bitmap {
        out.extend_from_slice(&(rank as u16).to_le_bytes());
        rank += word.count_ones();
    }
    PRESENCE_BITMAP
}

fn put_integers(values: &[i64], out: &mut Vec<u8>) {
    let mut packed = Vec::new();
    for block in values.chunks(BLOCK) {
        let low = *block.iter().min().expect("chunks are not empty");
        let high = *block.iter().max().expect("chunks are not empty");
        let width = bits::width_of(high.wrapping_sub(low) as u64);
        out.extend_from_slice(&low.to_le_bytes());
        out.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        out.extend_from_slice(&[width, 0, 0, 0]);
        bits::pack(
            block.iter().map(|value| value.wrapping_sub(low) as u64),
            width,
            &mut packed,
        );
    }
    out.extend_from_slice(&packed);
}

fn put_texts(cells: &[(u64, Cell)], value_type: ValueType, out: &mut Vec<u8>) -> u8 {
    let bytes: Vec<Result<Cow<'_, [u8]>, PageRef>> = cells
        .iter()
        .map(|(_, cell)| match cell {
            Cell::Overflow(_, head) => Err(*head),
            Cell::Value(PropertyValue::String(text)) if value_type == ValueType::String => {
                Ok(Cow::Borrowed(text.as_bytes()))
            }
            Cell::Value(PropertyValue::Bytes(bytes)) if value_type == ValueType::Bytes => {
                Ok(Cow::Borrowed(&**bytes))
            }
            Cell::Value(value) => {
                let mut tagged = Vec::new();
                put_value(&mut tagged, value);
                Ok(Cow::Owned(tagged))
            }
        })
        .collect();
    let start = out.len();
    front_coding::write(
        bytes.iter().map(|text| match text {
            Ok(text) => TextRef::Here(text),
            Err(head) => TextRef::Overflow(*head),
        }),
        out,
    );
    let here = bytes.iter().map(Result::as_ref);
    let Ok(texts) = here.collect::<Result<Vec<&Cow<'_, [u8]>>, _>>() else {
        return 0;
    };
    let mut forms = vec![(0, out.split_off(start))];
    forms.extend(plain_texts::write(&texts).map(|plain| (PLAIN, plain)));
    let mut distinct = texts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() * 2 <= texts.len() {
        let mut entries = Vec::new();
        front_coding::write(distinct.iter().map(|it| TextRef::Here(it)), &mut entries);
        forms.push((DICTIONARY, dictionary(&entries, &distinct, &texts)));
        let plain = plain_texts::write(&distinct);
        let plain = plain.map(|entries| dictionary(&entries, &distinct, &texts));
        forms.extend(plain.map(|dictionary| (DICTIONARY | PLAIN, dictionary)));
    }
    let (form, texts) = best(forms);
    out.extend_from_slice(&texts);
    form
}

/// The smallest form, but a plain one if it is at most a quarter larger.
fn best(mut forms: Vec<(u8, Vec<u8>)>) -> (u8, Vec<u8>) {
    forms.sort_by_key(|(_, bytes)| bytes.len());
    let room = forms[0].1.len() * 5 / 4;
    let plain = |(form, bytes): &(u8, Vec<u8>)| form & PLAIN != 0 && bytes.len() <= room;
    let at = forms.iter().position(plain).unwrap_or(0);
    forms.swap_remove(at)
}

/// A dictionary of the `distinct` texts, written as `entries`, and the code of each of `texts`.
fn dictionary<T: Ord>(entries: &[u8], distinct: &[T], texts: &[T]) -> Vec<u8> {
    let width = bits::width_of(distinct.len() as u64 - 1);
    let codes = DICTIONARY_HEAD + entries.len();
    let mut out = Vec::with_capacity(codes + bits::packed_bytes(texts.len(), width));
    out.extend_from_slice(&(distinct.len() as u32).to_le_bytes());
    out.extend_from_slice(&[width, 0, 0, 0]);
    out.extend_from_slice(&(codes as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(entries);
    let code = |text| {
        let place = distinct.binary_search(text);
        place.expect("every text is in the dictionary") as u64
    };
    bits::pack(texts.iter().map(code), width, &mut out);
    out
}
