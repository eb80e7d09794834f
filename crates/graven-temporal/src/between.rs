//! Durations between two values: whole, in months, in days, in seconds.
//!
//! # How it works
//! A part that one of the two lacks is taken from the other one: its day, its zone; a missing time
//! of day is midnight. Months and days are counted on the local clock of the first value's zone,
//! seconds by the moment, so that a day on which the clock changes has 23 or 25 hours.

use graven_types::Duration;
use graven_types::PropertyValue;
use graven_types::told;

use crate::calendar::{add_months, civil};
use crate::duration::of_parts;
use crate::parts::Parts;
use crate::{Error, Result, SECOND};

/// What a difference is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Months, then days, then seconds.
    All,
    /// Whole months only.
    Months,
    /// Whole days only.
    Days,
    /// Seconds only.
    Seconds,
}

/// The duration from `from` to `to`.
///
/// # Errors
/// Values without day and time; more than can be held.
pub fn between(measure: Measure, from: &PropertyValue, to: &PropertyValue) -> Result<Duration> {
    let parts = |value: &PropertyValue| {
        Parts::of(value)
            .ok_or_else(|| Error::Field(told!("{} is no date or time", value.type_name())))
    };
    let (mut from, mut to) = (parts(from)?, parts(to)?);
    if matches!(measure, Measure::Days | Measure::Months) {
        if from.date.is_none() && to.date.is_none() {
            let message = "between two times of day there are neither months nor days";
            return Err(Error::Lacks(message.to_owned()));
        }
        (from, to) = (completed(&from, &to), completed(&to, &from));
    }
    let has_days = from.date.is_some() && to.date.is_some();
    let (mut months, mut days, mut nanos) = (0, 0, 0);
    if has_days && matches!(measure, Measure::All | Measure::Months) {
        months = months_between(&from, &to);
    }
    if measure == Measure::All && months != 0 {
        from.date = from.date.map(|days| add_months(days, months)).transpose()?;
        // The days are counted from there, with the offset that holds then.
        if let Some(zone) = from.zone.clone() {
            from = from.same_instant(zone);
        }
    }
    if has_days && matches!(measure, Measure::All | Measure::Days) {
        days = days_between(&from, &to);
        from.date = from.date.map(|d| d + days);
    }
    if matches!(measure, Measure::All | Measure::Seconds) {
        nanos = nanos_between(&from, &to);
    }
    of_parts(i128::from(months), i128::from(days), nanos).ok_or(Error::Range("the duration"))
}

/// Both as day and nanoseconds on one clock: that of the first value's zone, if both have one.
fn local(from: &Parts, to: &Parts) -> ((i64, i64), (i64, i64)) {
    let moved = match (&from.zone, &to.zone) {
        (Some(zone), Some(_)) => to.same_instant(zone.clone()),
        _ => to.clone(),
    };
    let pair = |p: &Parts| (p.date.unwrap_or(0), p.nanos.unwrap_or(0));
    (pair(from), pair(&moved))
}

fn months_between(from: &Parts, to: &Parts) -> i64 {
    let (from, to) = local(from, to);
    let end = whole_days_end(from, to);
    let packed = |days: i64| {
        let (year, month, day) = civil(days);
        (year * 12 + month - 1) * 32 + day
    };
    (packed(end) - packed(from.0)) / 32
}

fn days_between(from: &Parts, to: &Parts) -> i64 {
    let (from, to) = local(from, to);
    whole_days_end(from, to) - from.0
}

/// The day of `to`, or its neighbour where the last day is not a whole one.
fn whole_days_end(from: (i64, i64), to: (i64, i64)) -> i64 {
    match to.0 {
        day if day > from.0 && to.1 < from.1 => day - 1,
        day if day < from.0 && to.1 > from.1 => day + 1,
        day => day,
    }
}

/// What a value lacks, taken from the other one.
fn completed(part: &Parts, other: &Parts) -> Parts {
    Parts {
        nanos: part.nanos.or(Some(0)),
        date: part.date.or(other.date),
        zone: part.zone.clone().or_else(|| other.zone.clone()),
        offset: part.offset,
    }
}

fn nanos_between(from: &Parts, to: &Parts) -> i128 {
    let (from, to) = (completed(from, to), completed(to, from));
    let nanos = |p: &Parts| {
        let (seconds, nanos, _) = p.instant();
        i128::from(seconds) * i128::from(SECOND) + i128::from(nanos)
    };
    nanos(&to) - nanos(&from)
}
