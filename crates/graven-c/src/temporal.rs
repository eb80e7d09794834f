//! Dates, times, durations, points and vectors, as numbers and as ISO text.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use graven::{Error, PropertyValue, Value as Inner};
use graven_temporal::{Kind, Parts, Zone, duration, text as iso};
use graven_types::vector::{CoordinateType, DIMENSION_MAX, Vector as Numbers};
use graven_types::{Duration as Span, Point as Place};

use crate::error::{Error as ErrorHandle, guard};
use crate::text::{Text, text};
use crate::value::{Type, Value};

/// A moment: seconds since 1970, and nanoseconds from 0 to 999,999,999.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Instant {
    /// Seconds since 1970-01-01T00:00.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

/// A span of time; its parts do not carry into each other, except nanoseconds into seconds.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Duration {
    /// Months.
    pub months: i64,
    /// Days.
    pub days: i64,
    /// Seconds.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

/// A point: 7203 and 9157 are Cartesian in two and three dimensions, 4326 and 4979 WGS 84.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Point {
    /// The coordinate system.
    pub srid: u32,
    /// First coordinate.
    pub x: f64,
    /// Second coordinate.
    pub y: f64,
    /// Third coordinate of the systems with three, 0 otherwise.
    pub z: f64,
}

/// A vector: numbers of one type, one behind the other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    /// Bytes of a number: 1, 2, 4 or 8 of signed integers, 4 or 8 of floats.
    pub width: u32,
    /// Whether they are floats.
    pub is_float: bool,
    /// How many there are, 1 to 4096.
    pub dimension: usize,
    /// The numbers, little-endian, perhaps at an odd address; null where there is no vector.
    pub data: *const c_void,
}

fn wrong(error: &graven_temporal::Error) -> Error {
    Error::usage(error.to_string())
}

fn owned(value: PropertyValue) -> Box<Value> {
    Value::owned(Inner::Stored(Arc::new(value)))
}

/// Days from 1970-01-01 to a date; 0 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_days(value: Option<&Value>) -> i64 {
    match value.and_then(Value::stored) {
        Some(PropertyValue::Date(days)) => *days,
        _ => 0,
    }
}

/// Nanoseconds from midnight to a time of day; 0 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_nanoseconds(value: Option<&Value>) -> i64 {
    match value.and_then(Value::stored) {
        Some(PropertyValue::LocalTime(nanos)) => *nanos,
        Some(PropertyValue::Time(time)) => time.nanosecond_of_day,
        _ => 0,
    }
}

/// Seconds east of UTC, of a time or of a datetime at its moment; 0 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_offset(value: Option<&Value>) -> i32 {
    match value.and_then(Value::stored) {
        Some(PropertyValue::Time(time)) => time.offset_seconds,
        Some(PropertyValue::DateTime(moment)) => moment.offset_seconds,
        _ => 0,
    }
}

/// The moment of a datetime, or of a local datetime as if it were in UTC; zeros for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_instant(value: Option<&Value>) -> Instant {
    let (seconds, nanoseconds) = match value.and_then(Value::stored) {
        Some(PropertyValue::LocalDateTime(it)) => (it.seconds, it.nanoseconds),
        Some(PropertyValue::DateTime(it)) => (it.seconds, it.nanoseconds),
        _ => (0, 0),
    };
    Instant {
        seconds,
        nanoseconds,
    }
}

/// The name of the zone of a datetime; no text where it has an offset alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_zone(value: Option<&Value>) -> Text {
    match value.and_then(Value::stored) {
        Some(PropertyValue::DateTime(it)) => {
            let zone = it.zone.as_ref();
            zone.map_or(Text::NONE, |zone| Text::of(zone.as_bytes()))
        }
        _ => Text::NONE,
    }
}

/// The parts of a duration; zeros for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_duration(value: Option<&Value>) -> Duration {
    match value.and_then(Value::stored) {
        Some(PropertyValue::Duration(it)) => Duration {
            months: it.months,
            days: it.days,
            seconds: it.seconds,
            nanoseconds: it.nanoseconds,
        },
        _ => Duration::default(),
    }
}

/// A point; zeros for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_point(value: Option<&Value>) -> Point {
    match value.and_then(Value::stored) {
        Some(PropertyValue::Point(it)) => Point {
            srid: it.srid,
            x: it.x,
            y: it.y,
            z: it.z.unwrap_or(0.0),
        },
        _ => Point::default(),
    }
}

/// A vector; its numbers live as long as the value. Zeros for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_vector(value: Option<&Value>) -> Vector {
    match value.and_then(Value::stored) {
        Some(PropertyValue::Vector(it)) => Vector {
            width: it.of().width() as u32,
            is_float: it.of().is_float(),
            dimension: it.dimension(),
            data: it.bytes().as_ptr().cast(),
        },
        _ => Vector {
            width: 0,
            is_float: false,
            dimension: 0,
            data: std::ptr::null(),
        },
    }
}

/// A vector of numbers that are copied; floats must be finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_value_new_vector(
    vector: Vector,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        let of = match (vector.is_float, vector.width) {
            (false, 1) => CoordinateType::Integer8,
            (false, 2) => CoordinateType::Integer16,
            (false, 4) => CoordinateType::Integer32,
            (false, 8) => CoordinateType::Integer64,
            (true, 4) => CoordinateType::Float32,
            (true, 8) => CoordinateType::Float64,
            (_, width) => return Err(Error::usage(format!("no number has {width} bytes"))),
        };
        if vector.data.is_null() || vector.dimension > DIMENSION_MAX {
            return Err(Error::usage("a vector has 1 to 4096 numbers".to_owned()));
        }
        let length = vector.dimension * of.width();
        // SAFETY: CA-2: so many numbers of that width are there.
        let bytes = unsafe { std::slice::from_raw_parts(vector.data.cast::<u8>(), length) };
        let made = Numbers::from_bytes(of, bytes.into()).map(PropertyValue::Vector);
        let refused = || Error::usage("a vector has 1 to 4096 finite numbers".to_owned());
        made.map(owned).ok_or_else(refused)
    })
}

/// A date, time, datetime or duration from its ISO text, such as `2026-01-31` or `P1M`. `type` is
/// one of GRAVEN_TYPE_DATE to GRAVEN_TYPE_DURATION. A time or datetime without an offset is in
/// UTC.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_value_new_temporal(
    r#type: i32,
    iso_text: *const c_char,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        // SAFETY: CA-2.
        let written = unsafe { text(iso_text, "text") }?;
        let kinds = [
            (Type::Date, Kind::Date),
            (Type::LocalTime, Kind::LocalTime),
            (Type::Time, Kind::Time),
            (Type::LocalDatetime, Kind::LocalDateTime),
            (Type::Datetime, Kind::DateTime),
        ];
        let kind = kinds.iter().find(|(known, _)| *known as i32 == r#type);
        let value = match kind {
            Some((_, kind)) => iso::parse(*kind, written, &Zone::UTC),
            None if r#type == Type::Duration as i32 => {
                duration::parse(written).map(PropertyValue::Duration)
            }
            None => {
                let message =
                    format!("{type} is no type of a date, time or duration", type = r#type);
                return Err(Error::usage(message));
            }
        };
        value.map(owned).map_err(|error| wrong(&error))
    })
}

/// A date of so many days since 1970-01-01.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_date(
    days: i64,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        let parts = Parts {
            date: Some(days),
            ..Parts::default()
        };
        parts
            .value(Kind::Date)
            .map(owned)
            .map_err(|error| wrong(&error))
    })
}

fn checked(at: Instant) -> Result<Instant, Error> {
    /// Seconds that no calendar reaches, and with which nothing overflows.
    const FAR: i64 = 1 << 56;
    if at.nanoseconds > 999_999_999 || !(-FAR..=FAR).contains(&at.seconds) {
        return Err(Error::usage(format!(
            "{} seconds and {} nanoseconds are no moment",
            at.seconds, at.nanoseconds
        )));
    }
    Ok(at)
}

/// A local datetime: the moment as if it were in UTC.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_local_datetime(
    at: Instant,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        let at = checked(at)?;
        let parts = Parts::local(at.seconds, at.nanoseconds);
        let value = parts.value(Kind::LocalDateTime);
        value.map(owned).map_err(|error| wrong(&error))
    })
}

/// A datetime: the moment as a clock in `zone` shows it, which is a name such as `Europe/Berlin`,
/// an offset such as `+02:00`, or null for UTC.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_value_new_datetime(
    at: Instant,
    zone: *const c_char,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        let at = checked(at)?;
        let zone = match zone.is_null() {
            true => Zone::UTC,
            // SAFETY: CA-2.
            false => Zone::parse(unsafe { text(zone, "zone") }?).map_err(|error| wrong(&error))?,
        };
        let parts = Parts::at(at.seconds, at.nanoseconds, zone);
        let value = parts.value(Kind::DateTime);
        value.map(owned).map_err(|error| wrong(&error))
    })
}

/// A duration.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_duration(
    parts: Duration,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        if parts.nanoseconds > 999_999_999 {
            let message = format!("{} nanoseconds are a second or more", parts.nanoseconds);
            return Err(Error::usage(message));
        }
        Ok(owned(PropertyValue::Duration(Span {
            months: parts.months,
            days: parts.days,
            seconds: parts.seconds,
            nanoseconds: parts.nanoseconds,
        })))
    })
}

/// A point; its third coordinate counts in the systems that have one.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_new_point(
    point: Point,
    error: Option<&mut *mut ErrorHandle>,
) -> Option<Box<Value>> {
    guard(error, || {
        let z = match point.srid {
            7203 | 4326 => None,
            9157 | 4979 => Some(point.z),
            other => {
                let message =
                    format!("{other} is not a coordinate system: 7203, 9157, 4326 or 4979");
                return Err(Error::usage(message));
            }
        };
        Ok(owned(PropertyValue::Point(Place {
            srid: point.srid,
            x: point.x,
            y: point.y,
            z,
        })))
    })
}
