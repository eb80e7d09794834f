//! Parts of a value by name: `d.year`, `t.offsetMinutes`, `duration.minutesOfHour`.

use graven_types::Duration;
use graven_types::PropertyValue;

use crate::SECOND;
use crate::calendar::{civil, day_of_week, day_of_year, quarter_start, week};
use crate::duration::nanos;
use crate::field_name::canonical;
use crate::parts::Parts;
use crate::zone::offset_text;

/// A part: a number or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// A number.
    Integer(i64),
    /// A text, such as a zone.
    Text(String),
}

/// The part of that name, in any letter case; none if the type has none of that name.
#[must_use]
pub fn component(value: &PropertyValue, name: &str) -> Option<Component> {
    if let PropertyValue::Duration(duration) = value {
        let name = name.to_ascii_lowercase();
        return of_duration(duration, &name).map(Component::Integer);
    }
    let name = canonical(name)?;
    let parts = Parts::of(value)?;
    let of_date = parts.date.and_then(|days| of_date(days, name));
    let found = of_date.or_else(|| parts.nanos.and_then(|nanos| of_time(nanos, name)));
    if let Some(found) = found {
        return Some(Component::Integer(found));
    }
    let zone = parts.zone.as_ref()?;
    let (seconds, nanoseconds, offset) = parts.instant();
    Some(match name {
        "timezone" => Component::Text(zone.to_string()),
        "offset" => Component::Text(offset_text(offset)),
        "offsetMinutes" => Component::Integer(i64::from(offset / 60)),
        "offsetSeconds" => Component::Integer(i64::from(offset)),
        "epochSeconds" if parts.date.is_some() => Component::Integer(seconds),
        "epochMillis" if parts.date.is_some() => Component::Integer(
            seconds
                .checked_mul(1000)?
                .checked_add(i64::from(nanoseconds / 1_000_000))?,
        ),
        _ => return None,
    })
}

fn of_date(days: i64, name: &str) -> Option<i64> {
    let (year, month, day) = civil(days);
    Some(match name {
        "year" => year,
        "quarter" => (month + 2) / 3,
        "month" => month,
        "week" => week(days).1,
        "weekYear" => week(days).0,
        "dayOfQuarter" => days - quarter_start(year, month) + 1,
        "day" => day,
        "ordinalDay" => day_of_year(days),
        "dayOfWeek" => day_of_week(days),
        _ => return None,
    })
}

fn of_time(nanos: i64, name: &str) -> Option<i64> {
    let (seconds, fraction) = (nanos / SECOND, nanos % SECOND);
    Some(match name {
        "hour" => seconds / 3600,
        "minute" => seconds / 60 % 60,
        "second" => seconds % 60,
        "millisecond" => fraction / 1_000_000,
        "microsecond" => fraction / 1000,
        "nanosecond" => fraction,
        _ => return None,
    })
}

/// Parts of a duration, by names in small letters; seconds and below are rounded down, as a
/// negative duration counts from the second before.
fn of_duration(d: &Duration, name: &str) -> Option<i64> {
    let fraction = i64::from(d.nanoseconds);
    let total = |per: i128| i64::try_from(nanos(d).div_euclid(per)).ok();
    Some(match name {
        "years" => d.months / 12,
        "quarters" => d.months / 3,
        "months" => d.months,
        "weeks" => d.days / 7,
        "days" => d.days,
        "hours" => d.seconds / 3600,
        "minutes" => d.seconds / 60,
        "seconds" => d.seconds,
        "milliseconds" => total(1_000_000)?,
        "microseconds" => total(1000)?,
        "nanoseconds" => total(1)?,
        "quartersofyear" => d.months / 3 % 4,
        "monthsofquarter" => d.months % 3,
        "monthsofyear" => d.months % 12,
        "daysofweek" => d.days % 7,
        "minutesofhour" => d.seconds / 60 % 60,
        "secondsofminute" => d.seconds % 60,
        "millisecondsofsecond" => fraction / 1_000_000,
        "microsecondsofsecond" => fraction / 1000,
        "nanosecondsofsecond" => fraction,
        _ => return None,
    })
}
