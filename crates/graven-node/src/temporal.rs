//! Dates, times, durations and points: as a `Date` holds them where it can (ND-1).
//!
//! # How it works
//! A date, a local datetime and a datetime become a `Moment`: a `Date`, with a type, the
//! nanoseconds behind its milliseconds and a zone beside. What lies beyond the years of a `Date`,
//! and a time of day, which is no moment, becomes a `Temporal`: its text.

use std::sync::Arc;

use graven::{PropertyValue, Value};
use graven_temporal::zone::offset_text;
use graven_temporal::{Kind, Parts, Zone, text};
use graven_types::{Duration, Point};

use crate::told::Told;

/// Milliseconds from 1970 to the last moment that a `Date` can be, and to the first.
const DATE_MAX: i64 = 8_640_000_000_000_000;
const DAY: i64 = 86_400_000;
const MILLI: u32 = 1_000_000;

/// A moment as a `Date` and what stands beside it.
pub(crate) struct Moment {
    pub(crate) kind: Kind,
    pub(crate) milliseconds: i64,
    /// Beyond the milliseconds.
    pub(crate) nanoseconds: u32,
    /// A name or an offset, of a datetime.
    pub(crate) zone: Option<String>,
    /// Seconds east of UTC, of a datetime.
    pub(crate) offset: i32,
}

/// The moment that a value is, if a `Date` reaches it.
pub(crate) fn moment(value: &PropertyValue) -> Option<Moment> {
    let (kind, seconds, nanoseconds, zone, offset) = match value {
        PropertyValue::Date(days) => (Kind::Date, days.checked_mul(DAY / 1000)?, 0, None, 0),
        PropertyValue::LocalDateTime(it) => {
            (Kind::LocalDateTime, it.seconds, it.nanoseconds, None, 0)
        }
        PropertyValue::DateTime(it) => {
            let zone = it.zone.as_deref().map(str::to_owned);
            let zone = zone.unwrap_or_else(|| offset_text(it.offset_seconds));
            let offset = it.offset_seconds;
            (
                Kind::DateTime,
                it.seconds,
                it.nanoseconds,
                Some(zone),
                offset,
            )
        }
        _ => return None,
    };
    let milliseconds = seconds
        .checked_mul(1000)?
        .checked_add(i64::from(nanoseconds / MILLI))?;
    (-DATE_MAX..=DATE_MAX)
        .contains(&milliseconds)
        .then_some(Moment {
            kind,
            milliseconds,
            nanoseconds: nanoseconds % MILLI,
            zone,
            offset,
        })
}

fn kind(name: &str) -> Result<Kind, Told> {
    let known = || Kind::ALL.map(Kind::name).join(", ");
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        Told::usage(format!(
            "`{name}` is no type of a date or time: {}",
            known()
        ))
    })
}

fn wrong(error: &graven_temporal::Error) -> Told {
    Told::usage(error.to_string())
}

fn value(stored: Result<PropertyValue, graven_temporal::Error>) -> Result<Value, Told> {
    match stored {
        Ok(stored) => Ok(Value::Stored(Arc::new(stored))),
        Err(error) => Err(wrong(&error)),
    }
}

/// The value of a `Moment`.
pub(crate) fn of_moment(
    name: &str,
    milliseconds: f64,
    nanoseconds: f64,
    zone: Option<&str>,
) -> Result<Value, Told> {
    if milliseconds.is_nan() {
        return Err(Told::usage("an invalid Date is no moment"));
    }
    if !(0.0..f64::from(MILLI)).contains(&nanoseconds) || nanoseconds.fract() != 0.0 {
        return Err(Told::usage(format!(
            "{nanoseconds} nanoseconds behind the milliseconds: they are 0 to 999999"
        )));
    }
    // A `Date` is within these bounds, and whole.
    let (milliseconds, nanoseconds) = (milliseconds as i64, nanoseconds as u32);
    let seconds = milliseconds.div_euclid(1000);
    let rest = u32::try_from(milliseconds.rem_euclid(1000)).expect("less than 1000");
    let nanoseconds = rest * MILLI + nanoseconds;
    match kind(name)? {
        Kind::Date if milliseconds % DAY == 0 && nanoseconds == 0 => {
            let parts = Parts {
                date: Some(milliseconds / DAY),
                ..Parts::default()
            };
            value(parts.value(Kind::Date))
        }
        Kind::Date => Err(Told::usage(
            "a date with a time of day: set its hours by setUTCHours(0, 0, 0, 0)",
        )),
        Kind::LocalDateTime => value(Parts::local(seconds, nanoseconds).value(Kind::LocalDateTime)),
        Kind::DateTime => {
            let zone = zone.map_or(Ok(Zone::UTC), Zone::parse);
            let zone = zone.map_err(|error| wrong(&error))?;
            value(Parts::at(seconds, nanoseconds, zone).value(Kind::DateTime))
        }
        other => Err(Told::usage(format!(
            "a {} is no moment: use Temporal",
            other.name()
        ))),
    }
}

/// The value of a `Temporal`.
pub(crate) fn of_text(name: &str, written: &str) -> Result<Value, Told> {
    value(text::parse(kind(name)?, written, &Zone::UTC))
}

/// The value of a `Duration`.
pub(crate) fn of_duration([months, days, seconds, nanoseconds]: [i64; 4]) -> Result<Value, Told> {
    let carried = nanoseconds.div_euclid(1_000_000_000);
    let seconds = seconds.checked_add(carried);
    let seconds =
        seconds.ok_or_else(|| Told::usage("the seconds of a duration lie beyond 64 bits"))?;
    value(Ok(PropertyValue::Duration(Duration {
        months,
        days,
        seconds,
        nanoseconds: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).expect("less than 10^9"),
    })))
}

/// The value of a `Point`.
pub(crate) fn of_point(srid: f64, x: f64, y: f64, z: Option<f64>) -> Result<Value, Told> {
    let (srid, flat) = match srid as u32 {
        known @ (7203 | 4326) if f64::from(known) == srid => (known, true),
        known @ (9157 | 4979) if f64::from(known) == srid => (known, false),
        _ => {
            let message = format!("{srid} is not a coordinate system: 7203, 9157, 4326 or 4979");
            return Err(Told::usage(message));
        }
    };
    if flat == z.is_some() {
        let wanted = if flat { "two" } else { "three" };
        let message = format!("a point of system {srid} has {wanted} coordinates");
        return Err(Told::usage(message));
    }
    value(Ok(PropertyValue::Point(Point { srid, x, y, z })))
}
