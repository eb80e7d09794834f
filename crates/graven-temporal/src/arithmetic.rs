//! A value plus or minus a duration.

use graven_types::Duration;
use graven_types::PropertyValue;
use graven_types::told;

use crate::calendar::{add_months, in_range};
use crate::duration::nanos;
use crate::parts::{Kind, Parts};
use crate::{DAY, Error, Result, SECOND};

/// `value + duration`, or `value - duration` for a sign of -1.
///
/// Months come first (the last day of a month that is too short), then days, both on the local
/// clock; then seconds. A date takes the whole days of the seconds; a time of day takes the seconds
/// alone and goes around midnight.
///
/// # Errors
/// A value without day and time; a result beyond the calendar ([`Error::Arithmetic`]).
pub fn add(value: &PropertyValue, duration: &Duration, sign: i64) -> Result<PropertyValue> {
    let kind = Kind::of(value)
        .ok_or_else(|| Error::Field(told!("{} is no date or time", value.type_name())))?;
    let out = || Error::Arithmetic("the result is beyond the calendar");
    let nanos = nanos(duration) * i128::from(sign);
    let mut parts = Parts::of(value).unwrap_or_default();
    if let Some(date) = parts.date {
        let months = duration.months.checked_mul(sign).ok_or_else(out)?;
        let mut days = duration.days.checked_mul(sign).ok_or_else(out)?;
        if kind == Kind::Date {
            let whole = i64::try_from(nanos / i128::from(DAY)).map_err(|_| out())?;
            days = days.checked_add(whole).ok_or_else(out)?;
        }
        let date = add_months(date, months)
            .map_err(|_| out())?
            .checked_add(days)
            .ok_or_else(out)?;
        parts.date = Some(in_range(date).map_err(|_| out())?);
    }
    match kind {
        Kind::Date => {}
        Kind::LocalTime | Kind::Time => {
            let of_day = i128::from(parts.nanos.unwrap_or(0)) + nanos;
            parts.nanos = i64::try_from(of_day.rem_euclid(i128::from(DAY))).ok();
        }
        Kind::LocalDateTime | Kind::DateTime => {
            let (seconds, fraction, _) = parts.instant();
            let total = i128::from(seconds) * i128::from(SECOND) + i128::from(fraction) + nanos;
            let second = i128::from(SECOND);
            let seconds = i64::try_from(total.div_euclid(second)).map_err(|_| out())?;
            // On the local clock it may be the day before or after.
            let day = seconds.div_euclid(86_400);
            if in_range(day - 1).is_err() && in_range(day + 1).is_err() {
                return Err(out());
            }
            let fraction = u32::try_from(total.rem_euclid(second)).map_err(|_| out())?;
            parts = match parts.zone {
                Some(zone) => Parts::at(seconds, fraction, zone),
                None => Parts::local(seconds, fraction),
            };
        }
    }
    parts.value(kind).map_err(|_| out())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Zone, duration, text};

    #[test]
    fn sums_and_differences() {
        for (kind, value, length, sum, difference) in [
            (Kind::Date, "2016-01-31", "P1M", "2016-02-29", "2015-12-31"),
            (Kind::Date, "2016-02-29", "P1Y", "2017-02-28", "2015-02-28"),
            (
                Kind::Date,
                "2016-02-28",
                "P1DT25H",
                "2016-03-01",
                "2016-02-26",
            ),
            (Kind::LocalTime, "23:30", "P5DT1H", "00:30", "22:30"),
            (
                Kind::Time,
                "12:00+01:00",
                "PT13H",
                "01:00+01:00",
                "23:00+01:00",
            ),
            (
                Kind::DateTime,
                "2024-03-30T02:30+01:00[Europe/Berlin]",
                "P1D",
                "2024-03-31T03:30+02:00[Europe/Berlin]",
                "2024-03-29T02:30+01:00[Europe/Berlin]",
            ),
            (
                Kind::DateTime,
                "2024-03-31T01:30+01:00[Europe/Berlin]",
                "PT1H",
                "2024-03-31T03:30+02:00[Europe/Berlin]",
                "2024-03-31T00:30+01:00[Europe/Berlin]",
            ),
            (
                Kind::DateTime,
                "+999999999-12-31T23:59:59-18:00",
                "PT0S",
                "+999999999-12-31T23:59:59-18:00",
                "+999999999-12-31T23:59:59-18:00",
            ),
            (
                Kind::LocalDateTime,
                "0000-01-01T00:00",
                "PT0.000000001S",
                "0000-01-01T00:00:00.000000001",
                "-0001-12-31T23:59:59.999999999",
            ),
        ] {
            let value = text::parse(kind, value, &Zone::UTC).expect(value);
            let length = duration::parse(length).expect(length);
            for (sign, expected) in [(1, sum), (-1, difference)] {
                let found =
                    add(&value, &length, sign).unwrap_or_else(|e| panic!("{expected}: {e}"));
                assert_eq!(text::write(&found).as_deref(), Some(expected));
            }
        }
    }

    #[test]
    fn results_beyond_the_calendar_are_refused() {
        let last = text::parse(Kind::Date, "+999999999-12-31", &Zone::UTC).expect("a date");
        for length in ["P1D", "P1M", "P9999999999Y", "PT9999999999999999S"] {
            assert!(
                add(&last, &duration::parse(length).expect(length), 1).is_err(),
                "{length}"
            );
        }
    }
}
