//! Integer properties of nodes that a statement asks for again and again in no order, kept as plain
//! arrays.
//!
//! # How it works
//! The far ends of relationships come in no order: reading a property of them in id order means
//! sorting each batch. A statement that has asked for about as many values as the ids it asks among
//! are far apart gets them all at once, in an array over these ids, and from then on a value is an
//! index away. Ids beyond the array are read as before, and counted: where there are many, the
//! array is made anew.
//!
//! Only statements outside of transactions have such arrays: what they see does not change.
//!
//! # Invariants
//! * EX-34 An array holds what the statement's snapshot says, and is charged to the budget, at most
//!   a 16th of it.
//!
//! # Concurrency
//! One for all threads of a statement. An array is made under the lock, so that one thread makes it
//! and the others wait.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use graven_pagecache::{Budget, Reservation};
use graven_storage::KeyId;

use crate::column::{Column, NULL_ID};
use crate::error::Result;
use crate::value::Value;

/// Batches of fewer ids are neither counted nor looked up.
const IDS_MIN: usize = 64;
/// Values asked for before an array is thought of.
const ASKED_MIN: u64 = 8 << 10;
/// An array of so many ids is made when one in so many values was asked for: a value that is read
/// in no order takes as long as some fifteen in order.
const ASKED_SHARE: u64 = 16;
/// Part of the memory limit that an array may take.
const MEMORY_SHARE: u64 = 16;
/// Such a part of its ids on either side is in the array as well, as far as all have values, but
/// not a few alone.
const MORE_SHARE: u64 = 16;
const MORE_MIN: u64 = 64;
/// Ids read at a time.
const CHUNK: u64 = 4096;

/// The values of ids from `first` on.
struct PropertyArray {
    first: u64,
    values: Vec<i64>,
    /// A bit for each id without a value; empty if all have one.
    absent: Vec<u64>,
    /// What they are charged with.
    _memory: Reservation,
}

impl PropertyArray {
    fn covers(&self, ids: &[u64]) -> bool {
        let length = self.values.len() as u64;
        // Without a way out, so that none waits for the one before. Null lies outside.
        !ids.iter().fold(false, |out, id| {
            out | (id.wrapping_sub(self.first) >= length)
        })
    }

    fn end(&self) -> u64 {
        self.first + self.values.len() as u64
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the ids are among those of the array"
    )]
    fn column(&self, ids: &[u64]) -> Column {
        let at = |id: &u64| (id - self.first) as usize;
        if self.absent.is_empty() {
            return Column::Integers(ids.iter().map(|id| self.values[at(id)]).collect());
        }
        let value = |id: &u64| match self.absent[at(id) / 64] >> (at(id) % 64) & 1 {
            0 => Value::Integer(self.values[at(id)]),
            _ => Value::Null,
        };
        Column::from_values(ids.iter().map(value).collect())
    }
}

/// What is known of one property.
#[derive(Default)]
struct Property {
    /// Values asked for since the array was made, and among which ids.
    asked: u64,
    low: u64,
    high: u64,
    dense: Option<Arc<PropertyArray>>,
    /// Not all values are integers, or there is no room: no array is made any more.
    given_up: bool,
}

/// See the file header.
#[derive(Default)]
pub(crate) struct DenseColumns {
    properties: Mutex<Vec<(KeyId, Property)>>,
}

impl DenseColumns {
    /// The array of a property.
    fn made(&self, key: KeyId) -> Option<Arc<PropertyArray>> {
        let properties = self.properties.lock();
        let properties = properties.unwrap_or_else(PoisonError::into_inner);
        let property = properties.iter().find(|(known, _)| *known == key)?;
        property.1.dense.clone()
    }

    /// The property `key`, stored in `column`, of `ids`, from an array; `None` where there is none
    /// for these ids.
    ///
    /// # Errors
    /// What reading the column gives, when an array is made.
    pub(crate) fn read(
        &self,
        key: KeyId,
        column: &graven_storage::Column,
        ids: &[u64],
        budget: &Arc<Budget>,
    ) -> Result<Option<Column>> {
        if ids.len() < IDS_MIN {
            return Ok(None);
        }
        if let Some(dense) = self.made(key)
            && dense.covers(ids)
        {
            return Ok(Some(dense.column(ids)));
        }
        let low = ids.iter().copied().fold(u64::MAX, u64::min);
        let high = ids.iter().copied().fold(0, u64::max);
        if high == NULL_ID {
            return Ok(None);
        }
        let mut properties = self
            .properties
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let at = match properties.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                let property = Property {
                    low: u64::MAX,
                    ..Property::default()
                };
                properties.push((key, property));
                properties.len() - 1
            }
        };
        let property = &mut properties[at].1;
        if property.given_up {
            return Ok(None);
        }
        if !property.dense.as_ref().is_some_and(|d| d.covers(ids)) {
            property.asked += ids.len() as u64;
            property.low = property.low.min(low);
            property.high = property.high.max(high);
            let span = property.high - property.low + 1;
            if property.asked < ASKED_MIN.max(span / ASKED_SHARE) {
                return Ok(None);
            }
            property.asked = 0;
            let has = property.dense.as_deref();
            let Some(made) = dense(column, property.low, span, has, budget)? else {
                // An array that there is stays, for the ids that it has.
                property.given_up = true;
                return Ok(None);
            };
            (property.low, property.high) = (made.first, made.end() - 1);
            property.dense = Some(Arc::new(made));
        }
        let dense = property.dense.clone();
        drop(properties);
        Ok(dense.map(|dense| dense.column(ids)))
    }
}

/// The values of `span` ids from `first` on, and of some before and behind; `None` if they are not
/// all integers or do not fit. What another array `has` is not read again.
fn dense(
    column: &graven_storage::Column,
    first: u64,
    span: u64,
    has: Option<&PropertyArray>,
    budget: &Arc<Budget>,
) -> Result<Option<PropertyArray>> {
    let bytes_of = |ids: u64| ids * 8 + ids / 8;
    let mut memory = budget.empty_reservation("property arrays");
    let limit = budget.limit() / MEMORY_SHARE;
    if bytes_of(span) > limit || memory.grow(bytes_of(span)).is_err() {
        return Ok(None);
    }
    // Ids that are met later mostly lie between those met already, or close to them.
    let more = span / MORE_SHARE;
    let has_more = bytes_of(span + 2 * more) <= limit && memory.grow(bytes_of(2 * more)).is_ok();
    let more = if has_more { more } else { 0 };
    let mut values: Vec<i64> = Vec::with_capacity(usize::try_from(span + 2 * more).unwrap_or(0));
    let before = append_near(column, more.min(first), &mut values, |ids| {
        first - ids..first
    })?;
    let end = first + span;
    let mut absent: Vec<u64> = Vec::new();
    let known = has.filter(|it| it.absent.is_empty() && first <= it.first && it.end() <= end);
    let known_ids = known.map_or(end..end, |it| it.first..it.end());
    let whole = append(column, first..known_ids.start, &mut values, &mut absent)?;
    values.extend(known.iter().flat_map(|it| &it.values));
    if !whole || !append(column, known_ids.end..end, &mut values, &mut absent)? {
        return Ok(None);
    }
    append_near(column, more, &mut values, |ids| {
        end..end.saturating_add(ids)
    })?;
    if !absent.is_empty() {
        absent.resize(values.len().div_ceil(64), 0);
    }
    Ok(Some(PropertyArray {
        first: first - before,
        values,
        absent,
        _memory: memory,
    }))
}

/// Appends the values of these ids, and bits for those that have none; whether all are integers.
fn append(
    column: &graven_storage::Column,
    wanted: Range<u64>,
    values: &mut Vec<i64>,
    absent: &mut Vec<u64>,
) -> Result<bool> {
    let (mut ids, mut some) = (Vec::new(), Vec::new());
    let mut from = wanted.start;
    while from < wanted.end {
        let to = wanted.end.min(from + CHUNK);
        ids.clear();
        ids.extend(from..to);
        from = to;
        if column.gather_integers(&ids, values)? {
            continue;
        }
        some.clear();
        if !column.gather_i64(&ids, &mut some)? {
            return Ok(false);
        }
        for value in &some {
            if value.is_none() {
                let at = values.len();
                absent.resize(absent.len().max(at / 64 + 1), 0);
                absent[at / 64] |= 1 << (at % 64);
            }
            values.push(value.unwrap_or_default());
        }
    }
    Ok(true)
}

/// Appends the values of so many ids next to others, or of fewer, as long as all have one; how
/// many.
fn append_near(
    column: &graven_storage::Column,
    mut count: u64,
    values: &mut Vec<i64>,
    ids: impl Fn(u64) -> Range<u64>,
) -> Result<u64> {
    while count >= MORE_MIN {
        let near: Vec<u64> = ids(count).collect();
        if column.gather_integers(&near, values)? {
            return Ok(count);
        }
        count /= 4;
    }
    Ok(0)
}
