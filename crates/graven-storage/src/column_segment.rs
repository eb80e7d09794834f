//! One column segment: the values of one property for a range of consecutive ids, compressed, with random
//! access to each.
//!
//! # How it works
//! A segment knows which of its ids have a value ([`presence`]) and holds the values of those, densely, in
//! one of the encodings of [`values`]; [`encode`] picks the smallest that fits. Reading one value is: rank
//! of the id among the present ones, then that position of the encoding. Nothing is decoded ahead.
//!
//! # Invariants
//! * ST-COL-1 A segment covers `first_id .. first_id + span`; the first and last of these ids are present.
//! * ST-COL-2 [`ColumnSegment::parse`] checks the bounds of every part; reading a value then checks what the
//!   part says (offsets, dictionary codes, text) and never leaves it.
//!
//! # On disk
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 4 | span: ids covered |
//! | 4 | 4 | count: ids with a value |
//! | 8 | 1 | presence form |
//! | 9 | 1 | value encoding |
//! | 10 | 1 | value type of the integer encoding |
//! | 11 | 1 | zero |
//! | 12 | 4 | bytes of the presence part |
//! | 16 | | presence part, then value part to the end of the segment |
//!
//! The first id itself is in the segment directory.
//!
//! # Costs
//! Reading by position is O(1); presence by bitmap O(1), by sorted offsets O(log count).

mod bits;
mod presence;
mod values;

use crate::PropertyValue;
use crate::bytes::{Decoded, Malformed, Reader};
use graven_pagecache::PageRef;
use presence::Presence;
use values::Values;

const HEADER_BYTES: usize = 16;

/// A value to store: itself, or where its bytes are when it is too large for a segment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// The value.
    Value(PropertyValue),
    /// Its tagged bytes lie in a chain of overflow pages.
    Overflow(Overflow),
}

/// Where a large value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow {
    /// First page of the chain.
    pub(crate) first: PageRef,
    /// Bytes of the tagged value.
    pub(crate) bytes: u64,
}

/// About how many bytes `entry` adds to a segment, for cutting segments; never far below the truth.
pub(crate) fn estimated_bytes(entry: &Entry) -> usize {
    values::plain_bytes(entry) + 4
}

/// Encodes `entries`: ids ascending, at least one; returns the bytes of the segment that starts at the first id.
///
/// # Panics
/// If `entries` is empty or spans more than 2^32 - 1 ids.
pub(crate) fn encode(entries: &[(u64, Entry)]) -> Vec<u8> {
    let first = entries
        .first()
        .expect("ST-COL-1: a segment has a first id")
        .0;
    let span = u32::try_from(entries[entries.len() - 1].0 - first + 1).expect("span fits 32 bits");
    debug_assert!(entries.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let offsets: Vec<u32> = entries.iter().map(|(id, _)| (id - first) as u32).collect();
    let (presence_form, presence) = presence::encode(&offsets, span);
    let (encoding, value_type, values) = values::encode(entries);
    let mut out = Vec::with_capacity(HEADER_BYTES + presence.len() + values.len());
    out.extend(span.to_le_bytes());
    out.extend((entries.len() as u32).to_le_bytes());
    out.extend([presence_form, encoding, value_type, 0]);
    out.extend((presence.len() as u32).to_le_bytes());
    out.extend(presence);
    out.extend(values);
    out
}

/// A parsed segment, borrowing its page.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSegment<'a> {
    first_id: u64,
    span: u32,
    presence: Presence<'a>,
    values: Values<'a>,
}

impl<'a> ColumnSegment<'a> {
    /// Parses the segment that starts at `first_id`.
    ///
    /// # Errors
    /// What does not fit.
    pub(crate) fn parse(bytes: &'a [u8], first_id: u64) -> Decoded<ColumnSegment<'a>> {
        let mut reader = Reader::new(bytes);
        let (span, count) = (reader.u32()?, reader.u32()?);
        let [presence_form, encoding, value_type, zero] = reader.array()?;
        if count == 0 || count > span || zero != 0 {
            return Err(Malformed::new(format!(
                "{count} values for {span} ids, reserved {zero}"
            )));
        }
        if first_id.checked_add(u64::from(span)).is_none() {
            return Err(Malformed::new(format!(
                "{span} ids from {first_id} on overflow"
            )));
        }
        let presence_bytes = reader.u32()? as usize;
        let presence = Presence::parse(presence_form, reader.take(presence_bytes)?, span, count)?;
        let part = reader.take(reader.remaining())?;
        let values = Values::parse(encoding, value_type, part, count as usize)?;
        Ok(ColumnSegment {
            first_id,
            span,
            presence,
            values,
        })
    }

    /// The ids covered.
    pub(crate) fn ids(&self) -> std::ops::Range<u64> {
        self.first_id..self.first_id + u64::from(self.span)
    }

    /// The value of `id`, `None` where it has none or is not covered.
    ///
    /// # Errors
    /// A value that cannot be decoded.
    pub(crate) fn get(&self, id: u64) -> Decoded<Option<Entry>> {
        self.position(id)?
            .map(|position| self.values.get(position))
            .transpose()
    }

    /// The value of `id` if it is an integer: `Ok(None)` where there is no value.
    ///
    /// # Errors
    /// [`NotAnInteger`] inside `Ok` where the segment holds other types; the outer error is damage.
    pub(crate) fn integer(&self, id: u64) -> Decoded<Result<Option<i64>, NotAnInteger>> {
        let Some(position) = self.position(id)? else {
            return Ok(Ok(None));
        };
        Ok(match self.values.integer(position)? {
            Some(value) => Ok(Some(value)),
            None => match self.values.get(position)? {
                Entry::Value(PropertyValue::Integer(value)) => Ok(Some(value)),
                _ => Err(NotAnInteger),
            },
        })
    }

    /// All ids with their values, ascending.
    ///
    /// # Errors
    /// Each item may fail to decode.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Decoded<(u64, Entry)>> + '_ {
        self.ids()
            .filter_map(|id| self.get(id).map(|entry| Some((id, entry?))).transpose())
    }

    fn position(&self, id: u64) -> Decoded<Option<usize>> {
        match id.checked_sub(self.first_id) {
            Some(offset) if offset < u64::from(self.span) => self.presence.rank(offset as u32),
            _ => Ok(None),
        }
    }
}

/// The value is of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAnInteger;

#[cfg(test)]
mod tests;
