//! Dates, times, durations, points and vectors: as Python has them where it can, as the package has
//! them where it cannot (PY-1).
//!
//! # How it works
//! `datetime` holds years 1 to 9999 and microseconds. A value beyond that, or in a zone that Python
//! does not know or places elsewhere at that moment, becomes a `graven.Temporal`: its text, which
//! goes back as the same value.

use std::sync::Arc;

use graven::PropertyValue;
use graven_temporal::calendar::civil;
use graven_temporal::{DAY, Kind, Zone, text};
use graven_types::vector::{Number, Vector};
use graven_types::{DateTime, Duration, LocalDateTime, Point, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyList};

use crate::classes::Classes;

/// Days from the first of January of year 1, which is day 1 of Python, to that of 1970.
const ORDINAL_1970: i64 = 719_163;
const DAY_SECONDS: i64 = 86_400;

/// The object that a stored value becomes.
pub(crate) fn object<'py>(py: Python<'py>, value: &PropertyValue) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::of(py)?;
    let own = match value {
        PropertyValue::Date(days) => date(py, *days)?,
        PropertyValue::LocalTime(nanos) => time(py, *nanos, None)?,
        PropertyValue::Time(it) => {
            let zone = offset(py, it.offset_seconds)?;
            time(py, it.nanosecond_of_day, Some(zone))?
        }
        PropertyValue::LocalDateTime(it) => datetime(py, it.seconds, it.nanoseconds, None, false)?,
        PropertyValue::DateTime(it) => zoned(py, it)?,
        PropertyValue::Duration(it) => {
            let parts = (it.months, it.days, it.seconds, it.nanoseconds);
            Some(classes.duration.bind(py).call1(parts)?)
        }
        PropertyValue::Point(it) => {
            let parts = (it.srid, it.x, it.y, it.z);
            Some(classes.point.bind(py).call1(parts)?)
        }
        PropertyValue::Vector(it) => Some(numbers(py, it)?),
        _ => None,
    };
    if let Some(own) = own {
        return Ok(own);
    }
    let text = text::write(value).unwrap_or_else(|| format!("{value:?}"));
    let kind = Kind::of(value).map_or("", Kind::name);
    classes.temporal.bind(py).call1((text, kind))
}

/// Python has no vectors of its own: the coordinates as a list.
fn numbers<'py>(py: Python<'py>, vector: &Vector) -> PyResult<Bound<'py, PyAny>> {
    let numbers = vector.numbers().map(|number| match number {
        Number::Integer(integer) => Ok(integer.into_pyobject(py)?.into_any()),
        Number::Float(float) => Ok(float.into_pyobject(py)?.into_any()),
    });
    Ok(PyList::new(py, numbers.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

fn date<'py>(py: Python<'py>, days: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (year, month, day) = civil(days);
    if !(1..=9999).contains(&year) {
        return Ok(None);
    }
    let class = Classes::of(py)?.date.bind(py);
    class.call1((year, month, day)).map(Some)
}

/// Hour, minute, second and microsecond; none where there are nanoseconds besides.
fn clock(nanos: i64) -> Option<(i64, i64, i64, i64)> {
    let (micros, rest) = (nanos / 1000, nanos % 1000);
    let seconds = micros / 1_000_000;
    let clock = (
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        micros % 1_000_000,
    );
    (rest == 0).then_some(clock)
}

fn time<'py>(
    py: Python<'py>,
    nanos: i64,
    zone: Option<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((hour, minute, second, micro)) = clock(nanos) else {
        return Ok(None);
    };
    let class = Classes::of(py)?.time.bind(py);
    class.call1((hour, minute, second, micro, zone)).map(Some)
}

fn datetime<'py>(
    py: Python<'py>,
    seconds: i64,
    nanoseconds: u32,
    zone: Option<&Bound<'py, PyAny>>,
    fold: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (year, month, day) = civil(seconds.div_euclid(DAY_SECONDS));
    let nanos = seconds.rem_euclid(DAY_SECONDS) * 1_000_000_000 + i64::from(nanoseconds);
    let Some((hour, minute, second, micro)) = clock(nanos) else {
        return Ok(None);
    };
    if !(1..=9999).contains(&year) {
        return Ok(None);
    }
    let parts = (year, month, day, hour, minute, second, micro, zone);
    let fold = [("fold", i32::from(fold))].into_py_dict(py)?;
    let class = Classes::of(py)?.datetime.bind(py);
    class.call(parts, Some(&fold)).map(Some)
}

/// `datetime.timezone` of an offset from UTC.
fn offset<'py>(py: Python<'py>, seconds: i32) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::of(py)?;
    let delta = classes.timedelta.bind(py).call1((0, seconds))?;
    classes.timezone.bind(py).call1((delta,))
}

/// A moment with its zone, if Python agrees about the zone's offset at that moment.
fn zoned<'py>(py: Python<'py>, it: &DateTime) -> PyResult<Option<Bound<'py, PyAny>>> {
    let local = it.seconds + i64::from(it.offset_seconds);
    let zone = match &it.zone {
        None => offset(py, it.offset_seconds)?,
        // Zones that Python does not know are errors of many classes there.
        Some(name) => match Classes::of(py)?.zone_info.bind(py).call1((&**name,)) {
            Ok(zone) => zone,
            Err(_) => return Ok(None),
        },
    };
    for fold in [false, true] {
        let Some(made) = datetime(py, local, it.nanoseconds, Some(&zone), fold)? else {
            return Ok(None);
        };
        if seconds_of(&made.call_method0("utcoffset")?)? == i64::from(it.offset_seconds) {
            return Ok(Some(made));
        }
    }
    Ok(None)
}

/// Whole seconds of a `timedelta`.
fn seconds_of(delta: &Bound<'_, PyAny>) -> PyResult<i64> {
    let days: i64 = delta.getattr("days")?.extract()?;
    let seconds: i64 = delta.getattr("seconds")?.extract()?;
    if delta.getattr("microseconds")?.extract::<i64>()? != 0 {
        let message = "an offset from UTC has whole seconds";
        return Err(PyValueError::new_err(message));
    }
    Ok(days * DAY_SECONDS + seconds)
}

/// The stored value that an object stands for, if it is a date, a time, a duration or a point.
pub(crate) fn stored(it: &Bound<'_, PyAny>) -> PyResult<Option<PropertyValue>> {
    let py = it.py();
    let classes = Classes::of(py)?;
    let is = |class: &Py<PyAny>| it.is_instance(class.bind(py));
    // A moment is a date, too.
    let value = if is(&classes.datetime)? {
        moment(it)?
    } else if is(&classes.date)? {
        PropertyValue::Date(days(it)?)
    } else if is(&classes.time)? {
        let nanosecond_of_day = nanos(it)?;
        match utc_offset(it)? {
            None if !it.getattr("tzinfo")?.is_none() => {
                let message = "a time in a zone has no offset without a date: use timezone instead \
                    of ZoneInfo";
                return Err(PyValueError::new_err(message));
            }
            None => PropertyValue::LocalTime(nanosecond_of_day),
            Some(offset_seconds) => PropertyValue::Time(Time {
                nanosecond_of_day,
                offset_seconds,
            }),
        }
    } else if is(&classes.timedelta)? {
        let micros: u32 = it.getattr("microseconds")?.extract()?;
        // Spans of pandas count nanoseconds besides.
        let nanos = it.getattr_opt("nanoseconds")?;
        let nanos: u32 = nanos.map_or(Ok(0), |it| it.extract())?;
        PropertyValue::Duration(Duration {
            months: 0,
            days: it.getattr("days")?.extract()?,
            seconds: it.getattr("seconds")?.extract()?,
            nanoseconds: micros * 1000 + nanos,
        })
    } else if is(&classes.duration)? {
        let (months, days, seconds, nanoseconds): (i64, i64, i64, i64) = it.extract()?;
        let carried = nanoseconds.div_euclid(1_000_000_000);
        PropertyValue::Duration(Duration {
            months,
            days,
            seconds: seconds.checked_add(carried).ok_or_else(|| {
                PyValueError::new_err("the seconds of a duration lie beyond 64 bits")
            })?,
            nanoseconds: u32::try_from(nanoseconds.rem_euclid(1_000_000_000))
                .expect("less than 10^9"),
        })
    } else if is(&classes.point)? {
        let (srid, x, y, z): (u32, f64, f64, Option<f64>) = it.extract()?;
        let flat = match srid {
            7203 | 4326 => true,
            9157 | 4979 => false,
            _ => {
                let message =
                    format!("{srid} is not a coordinate system: 7203, 9157, 4326 or 4979");
                return Err(PyValueError::new_err(message));
            }
        };
        if flat == z.is_some() {
            let wanted = if flat { "two" } else { "three" };
            let message = format!("a point of system {srid} has {wanted} coordinates");
            return Err(PyValueError::new_err(message));
        }
        PropertyValue::Point(Point { srid, x, y, z })
    } else if is(&classes.temporal)? {
        let written: String = it.str()?.extract()?;
        let name: String = it.getattr("type")?.extract()?;
        let kinds = [
            Kind::Date,
            Kind::LocalTime,
            Kind::Time,
            Kind::LocalDateTime,
            Kind::DateTime,
        ];
        let kind = kinds.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| PyValueError::new_err(format!("`{name}` is not a type")))?;
        text::parse(kind, &written, &Zone::UTC)
            .map_err(|error| PyValueError::new_err(error.to_string()))?
    } else {
        return Ok(None);
    };
    Ok(Some(value))
}

fn days(it: &Bound<'_, PyAny>) -> PyResult<i64> {
    let ordinal: i64 = it.call_method0("toordinal")?.extract()?;
    Ok(ordinal - ORDINAL_1970)
}

/// Nanoseconds since midnight.
fn nanos(it: &Bound<'_, PyAny>) -> PyResult<i64> {
    let part = |name: &str| it.getattr(name)?.extract::<i64>();
    let seconds = part("hour")? * 3600 + part("minute")? * 60 + part("second")?;
    let nanos = seconds * 1_000_000_000 + part("microsecond")? * 1000;
    // Moments of pandas count nanoseconds besides.
    let more = it
        .getattr_opt("nanosecond")?
        .map_or(Ok(0), |it| it.extract::<i64>())?;
    Ok((nanos + more).min(DAY - 1))
}

fn utc_offset(it: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    let delta = it.call_method0("utcoffset")?;
    if delta.is_none() {
        return Ok(None);
    }
    let seconds = seconds_of(&delta)?;
    let within = i32::try_from(seconds).ok();
    let within = within.filter(|it| it.abs() <= graven_temporal::zone::OFFSET_MAX);
    let message = "an offset from UTC must be within 18 hours";
    within
        .map(Some)
        .ok_or_else(|| PyValueError::new_err(message))
}

fn moment(it: &Bound<'_, PyAny>) -> PyResult<PropertyValue> {
    let nanos = nanos(it)?;
    let local = days(it)? * DAY_SECONDS + nanos / 1_000_000_000;
    let nanoseconds = u32::try_from(nanos % 1_000_000_000).expect("less than 10^9");
    let Some(offset_seconds) = utc_offset(it)? else {
        return Ok(PropertyValue::LocalDateTime(LocalDateTime {
            seconds: local,
            nanoseconds,
        }));
    };
    // `ZoneInfo` calls its name `key`.
    let name = it.getattr("tzinfo")?.getattr_opt("key")?;
    let name = name.and_then(|name| name.extract::<String>().ok());
    let zone = name.filter(|name| {
        Zone::parse(name)
            .is_ok_and(|zone| zone.name().is_some() && zone.allows(local, offset_seconds))
    });
    Ok(PropertyValue::DateTime(DateTime {
        seconds: local - i64::from(offset_seconds),
        nanoseconds,
        offset_seconds,
        zone: zone.map(Arc::from),
    }))
}
