//! Between stored property values and values of the language; order, hash and text of the stored types that the
//! language carries but does not compute with.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use graven_storage::PropertyValue;

use super::Value;

impl From<PropertyValue> for Value {
    fn from(stored: PropertyValue) -> Self {
        match stored {
            PropertyValue::Null => Self::Null,
            PropertyValue::Boolean(b) => Self::Boolean(b),
            PropertyValue::Integer(i) => Self::Integer(i),
            PropertyValue::Float(f) => Self::Float(f),
            PropertyValue::String(s) => Self::String(s),
            PropertyValue::Bytes(b) => Self::Bytes(b),
            PropertyValue::List(items) => {
                Self::List(items.iter().cloned().map(Value::from).collect())
            }
            other => Self::Stored(Arc::new(other)),
        }
    }
}

/// The value as a property could hold it; `None` for nodes, relationships, paths and maps.
#[must_use]
pub fn to_stored(value: &Value) -> Option<PropertyValue> {
    Some(match value {
        Value::Null => PropertyValue::Null,
        Value::Boolean(b) => PropertyValue::Boolean(*b),
        Value::Integer(i) => PropertyValue::Integer(*i),
        Value::Float(f) => PropertyValue::Float(*f),
        Value::String(s) => PropertyValue::String(s.clone()),
        Value::Bytes(b) => PropertyValue::Bytes(b.clone()),
        Value::List(items) => {
            PropertyValue::List(items.iter().map(to_stored).collect::<Option<_>>()?)
        }
        Value::Stored(stored) => (**stored).clone(),
        Value::Map(_) | Value::Node(_) | Value::Relationship(_) | Value::Path(_) => return None,
    })
}

/// Name of the type of a stored value as messages give it.
pub(super) fn stored_type_name(stored: &PropertyValue) -> &'static str {
    stored.type_name()
}

/// Rank of the type among stored types, as `ORDER BY` sees them.
fn rank(stored: &PropertyValue) -> u8 {
    match stored {
        PropertyValue::Point(_) => 0,
        PropertyValue::DateTime(_) => 1,
        PropertyValue::LocalDateTime(_) => 2,
        PropertyValue::Date(_) => 3,
        PropertyValue::Time(_) => 4,
        PropertyValue::LocalTime(_) => 5,
        PropertyValue::Duration(_) => 6,
        _ => 7,
    }
}

/// `<` between two stored values: within the temporal types; durations and points do not compare.
pub(super) fn compare_stored(a: &PropertyValue, b: &PropertyValue) -> Option<Ordering> {
    use PropertyValue as P;
    match (a, b) {
        (P::Date(a), P::Date(b)) | (P::LocalTime(a), P::LocalTime(b)) => Some(a.cmp(b)),
        (P::LocalDateTime(a), P::LocalDateTime(b)) => Some(a.cmp(b)),
        (P::Time(_), P::Time(_)) | (P::DateTime(_), P::DateTime(_)) => Some(order_stored(a, b)),
        _ => None,
    }
}

/// Total order of stored values, for `ORDER BY`, `min`, `max`.
pub(super) fn order_stored(a: &PropertyValue, b: &PropertyValue) -> Ordering {
    /// Average seconds of a month, the length by which durations are ordered.
    const MONTH_SECONDS: i128 = 2_629_746;
    use PropertyValue as P;
    match (a, b) {
        (P::Date(a), P::Date(b)) | (P::LocalTime(a), P::LocalTime(b)) => a.cmp(b),
        (P::LocalDateTime(a), P::LocalDateTime(b)) => a.cmp(b),
        (P::Time(a), P::Time(b)) => {
            // By instant, then by offset so that the order is total.
            let instant = |t: &graven_storage::value::Time| {
                t.nanosecond_of_day - i64::from(t.offset_seconds) * 1_000_000_000
            };
            instant(a)
                .cmp(&instant(b))
                .then(a.offset_seconds.cmp(&b.offset_seconds))
        }
        (P::DateTime(a), P::DateTime(b)) => (a.seconds, a.nanoseconds, a.offset_seconds, &a.zone)
            .cmp(&(b.seconds, b.nanoseconds, b.offset_seconds, &b.zone)),
        (P::Duration(a), P::Duration(b)) => {
            let length = |d: &graven_storage::value::Duration| {
                i128::from(d.months) * MONTH_SECONDS
                    + i128::from(d.days) * 86_400
                    + i128::from(d.seconds)
            };
            (length(a), a.nanoseconds, a.months, a.days).cmp(&(
                length(b),
                b.nanoseconds,
                b.months,
                b.days,
            ))
        }
        (P::Point(a), P::Point(b)) => a
            .srid
            .cmp(&b.srid)
            .then(a.x.total_cmp(&b.x))
            .then(a.y.total_cmp(&b.y))
            .then(a.z.unwrap_or(f64::NAN).total_cmp(&b.z.unwrap_or(f64::NAN))),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Hash that agrees with `PartialEq` of stored values.
pub(super) fn hash_stored<H: Hasher>(stored: &PropertyValue, state: &mut H) {
    use PropertyValue as P;
    state.write_u8(rank(stored));
    match stored {
        P::Date(v) | P::LocalTime(v) => v.hash(state),
        P::Time(v) => v.hash(state),
        P::LocalDateTime(v) => v.hash(state),
        P::DateTime(v) => v.hash(state),
        P::Duration(v) => v.hash(state),
        P::Point(p) => {
            // Zeros of either sign are equal.
            p.srid.hash(state);
            for coordinate in [p.x, p.y, p.z.unwrap_or(0.0)] {
                (coordinate + 0.0).to_bits().hash(state);
            }
        }
        _ => {}
    }
}

/// ISO text of temporal values, `point({...})` of points.
pub(super) fn stored_text(stored: &PropertyValue) -> String {
    use PropertyValue as P;
    match stored {
        P::Date(days) => date_text(*days),
        P::LocalTime(nanos) => time_text(*nanos),
        P::Time(t) => time_text(t.nanosecond_of_day) + &offset_text(t.offset_seconds),
        P::LocalDateTime(t) => date_time_text(t.seconds, t.nanoseconds),
        P::DateTime(t) => {
            let local = t.seconds + i64::from(t.offset_seconds);
            let zone = t.zone.as_ref().map_or(String::new(), |z| format!("[{z}]"));
            date_time_text(local, t.nanoseconds) + &offset_text(t.offset_seconds) + &zone
        }
        P::Duration(d) => duration_text(d),
        P::Point(p) => {
            let z = p.z.map_or(String::new(), |z| {
                format!(", z: {}", super::format::float_text(z))
            });
            format!(
                "point({{srid: {}, x: {}, y: {}{z}}})",
                p.srid,
                super::format::float_text(p.x),
                super::format::float_text(p.y)
            )
        }
        other => Value::from(other.clone()).to_string(),
    }
}

/// Year, month, day of a day number (proleptic Gregorian, days since 1970-01-01).
fn civil(days: i64) -> (i64, i64, i64) {
    // Count from 0000-03-01, so that the leap day is the last day of a year; 400 years have 146,097 days.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn date_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    let sign = match year {
        10_000.. => "+",
        0.. => "",
        _ => "-",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

fn time_text(nanos: i64) -> String {
    let (seconds, fraction) = (
        nanos.div_euclid(1_000_000_000),
        nanos.rem_euclid(1_000_000_000),
    );
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = format!("{hour:02}:{minute:02}");
    if second != 0 || fraction != 0 {
        text += &format!(":{second:02}");
    }
    if fraction != 0 {
        text += format!(".{fraction:09}").trim_end_matches('0');
    }
    text
}

fn date_time_text(seconds: i64, nanoseconds: u32) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let nanos = second * 1_000_000_000 + i64::from(nanoseconds);
    format!("{}T{}", date_text(days), time_text(nanos))
}

fn offset_text(seconds: i32) -> String {
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let s = seconds.abs();
    let tail = if s % 60 == 0 {
        String::new()
    } else {
        format!(":{:02}", s % 60)
    };
    format!("{sign}{:02}:{:02}{tail}", s / 3600, s / 60 % 60)
}

fn duration_text(d: &graven_storage::value::Duration) -> String {
    let mut text = String::from("P");
    let mut part = |n: i64, unit: char| {
        if n != 0 {
            text += &format!("{n}{unit}");
        }
    };
    part(d.months / 12, 'Y');
    part(d.months % 12, 'M');
    part(d.days, 'D');
    let nanos = i128::from(d.seconds) * 1_000_000_000 + i128::from(d.nanoseconds);
    if nanos != 0 {
        text.push('T');
        let sign = if nanos < 0 { "-" } else { "" };
        let (seconds, fraction) = (nanos.abs() / 1_000_000_000, nanos.abs() % 1_000_000_000);
        for (n, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
            if n != 0 {
                text += &format!("{sign}{n}{unit}");
            }
        }
        if seconds % 60 != 0 || fraction != 0 {
            let fraction = if fraction == 0 {
                String::new()
            } else {
                format!(".{fraction:09}").trim_end_matches('0').to_owned()
            };
            text += &format!("{sign}{}{fraction}S", seconds % 60);
        }
    }
    if text == "P" { "PT0S".to_owned() } else { text }
}
