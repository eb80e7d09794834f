//! Integer properties of nodes that a statement asks for again and again in no order, kept as plain arrays.
//!
//! # How it works
//! The far ends of relationships come in no order: reading a property of them in id order means sorting each batch. A statement that has
//! asked for about as many values as the ids it asks among are far apart gets them all at once, in an array over these ids, and from then
//! on a value is an index away. Ids beyond the array are read as before, and counted: where there are many, the array is made anew.
//!
//! Only statements outside of transactions have such arrays: what they see does not change.
//!
//! # Invariants
//! * EX-34 An array holds what the statement's snapshot says, and is charged to the budget, at most a 16th of it.
//!
//! # Concurrency
//! One for all threads of a statement. An array is made under the lock, so that one thread makes it and the others wait.

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
/// An array of so many ids is made when one in so many values was asked for.
const ASKED_SHARE: u64 = 4;
/// Part of the memory limit that an array may take.
const MEMORY_SHARE: u64 = 16;
/// Ids read at a time.
const CHUNK: u64 = 4096;

/// The values of ids from `first` on.
struct Dense {
    first: u64,
    values: Vec<i64>,
    /// A bit for each id without a value; empty if all have one.
    absent: Vec<u64>,
    /// What they are charged with.
    _memory: Reservation,
}

impl Dense {
    fn covers(&self, low: u64, high: u64) -> bool {
        low >= self.first && high - self.first < self.values.len() as u64
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
    dense: Option<Arc<Dense>>,
    /// Not all values are integers, or there is no room.
    given_up: bool,
}

/// See the file header.
#[derive(Default)]
pub(crate) struct DenseColumns {
    properties: Mutex<Vec<(KeyId, Property)>>,
}

impl DenseColumns {
    /// The property `key`, stored in `column`, of `ids`, from an array; `None` where there is none for these ids.
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
        if !property.dense.as_ref().is_some_and(|d| d.covers(low, high)) {
            property.asked += ids.len() as u64;
            property.low = property.low.min(low);
            property.high = property.high.max(high);
            let span = property.high - property.low + 1;
            if property.asked < ASKED_MIN.max(span / ASKED_SHARE) {
                return Ok(None);
            }
            property.asked = 0;
            property.dense = None;
            let made = dense(column, property.low, span, budget)?;
            property.given_up = made.is_none();
            property.dense = made.map(Arc::new);
        }
        let dense = property.dense.clone();
        drop(properties);
        Ok(dense.map(|dense| dense.column(ids)))
    }
}

/// The values of `span` ids from `first` on; `None` if they are not all integers or do not fit.
fn dense(
    column: &graven_storage::Column,
    first: u64,
    span: u64,
    budget: &Arc<Budget>,
) -> Result<Option<Dense>> {
    let bytes = span * 8 + span / 8;
    let mut memory = budget.empty_reservation("property arrays");
    if bytes > budget.limit() / MEMORY_SHARE || memory.grow(bytes).is_err() {
        return Ok(None);
    }
    let mut values: Vec<i64> = Vec::with_capacity(usize::try_from(span).unwrap_or(0));
    let mut absent: Vec<u64> = Vec::new();
    let (mut ids, mut some) = (Vec::new(), Vec::new());
    let mut from = first;
    while from < first + span {
        let to = (first + span).min(from + CHUNK);
        ids.clear();
        ids.extend(from..to);
        from = to;
        if column.gather_integers(&ids, &mut values)? {
            continue;
        }
        some.clear();
        if !column.gather_i64(&ids, &mut some)? {
            return Ok(None);
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
    if !absent.is_empty() {
        absent.resize(values.len().div_ceil(64), 0);
    }
    Ok(Some(Dense {
        first,
        values,
        absent,
        _memory: memory,
    }))
}
