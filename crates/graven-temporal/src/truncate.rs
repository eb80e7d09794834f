//! `date.truncate(unit, value, fields)` and its kin: the start of the millennium, week, hour, ...
//! that a value lies in.

use graven_types::PropertyValue;
use graven_types::told;

use crate::calendar::{civil, date, day_of_week, quarter_start, week, week_year_start};
use crate::fields::{Clock, Field, Fields, make};
use crate::parts::{Kind, Parts};
use crate::zone::Zone;
use crate::{DAY, Error, Result, SECOND};

/// What a value can be cut to: days of a calendar unit, or a number of nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Years(i64),
    WeekYear,
    Quarter,
    Month,
    Week,
    Nanos(i64),
}

fn unit(name: &str) -> Result<Unit> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "millennium" => Unit::Years(1000),
        "century" => Unit::Years(100),
        "decade" => Unit::Years(10),
        "year" => Unit::Years(1),
        "weekyear" => Unit::WeekYear,
        "quarter" => Unit::Quarter,
        "month" => Unit::Month,
        "week" => Unit::Week,
        "day" => Unit::Nanos(DAY),
        "hour" => Unit::Nanos(3600 * SECOND),
        "minute" => Unit::Nanos(60 * SECOND),
        "second" => Unit::Nanos(SECOND),
        "millisecond" => Unit::Nanos(1_000_000),
        "microsecond" => Unit::Nanos(1000),
        _ => return Err(Error::Field(told!("`{name}` is no unit to truncate to"))),
    })
}

/// Cuts `value` to `unit_name`, as a value of `kind`, then replaces `fields`.
///
/// # Errors
/// An unknown unit, one that the value or the type does not have, wrong fields.
pub fn truncate(
    kind: Kind,
    unit_name: &str,
    value: &PropertyValue,
    mut fields: Fields,
    clock: &Clock,
) -> Result<PropertyValue> {
    let unit = unit(unit_name)?;
    let parts = Parts::of(value)
        .ok_or_else(|| Error::Field(told!("{} cannot be truncated", value.type_name())))?;
    let lacks = |what| Error::Lacks(told!("truncating to {unit_name} needs a value with {what}"));
    let is_clock_unit = matches!(unit, Unit::Nanos(n) if n < DAY);
    let lacks_time = parts.nanos.is_none();
    if is_clock_unit && (lacks_time || !kind.has_time()) || !kind.has_date() && lacks_time {
        return Err(lacks("a time of day"));
    }
    if !matches!(unit, Unit::Nanos(_)) && (parts.date.is_none() || !kind.has_date()) {
        return Err(lacks("a day"));
    }
    // A time of day has the offset of the value, not of the midnight before it.
    let zone = match kind {
        Kind::Time => (parts.zone.as_ref()).map(|_| Zone::Offset(parts.offset_seconds())),
        _ => parts.zone.clone(),
    };
    let mut cut = Parts {
        nanos: Some(match unit {
            Unit::Nanos(n) => parts.nanos.map_or(0, |nanos| nanos / n * n),
            _ => 0,
        }),
        date: parts
            .date
            .map(|days| truncate_days(unit, days))
            .transpose()?,
        zone,
        // A moment is found anew by its local time: of an hour that comes twice it is the first.
        offset: parts.offset.filter(|_| kind != Kind::DateTime),
    }
    .select(kind)?;
    if kind.has_zone() {
        // A zone among the fields keeps the local time here.
        let zone = match fields.zone()? {
            Some(zone) => {
                fields.remove("timezone");
                if kind == Kind::Time {
                    Zone::Offset(zone.offset_at(clock.seconds))
                } else {
                    zone
                }
            }
            None => cut.zone.take().unwrap_or_else(|| clock.zone.clone()),
        };
        cut.zone = Some(zone);
    }
    // Parts of a second smaller than the unit are added to it.
    if let Unit::Nanos(n @ (1000 | 1_000_000)) = unit {
        let mut finer = fields.integer("nanosecond")?.unwrap_or(0);
        fields.remove("nanosecond");
        if n == 1_000_000 {
            let micros = fields.integer("microsecond")?.unwrap_or(0);
            finer = micros
                .checked_mul(1000)
                .and_then(|m| m.checked_add(finer))
                .unwrap_or(-1);
            fields.remove("microsecond");
        }
        crate::calendar::check("nanosecond", finer, 0, n - 1)?;
        cut.nanos = cut.nanos.map(|nanos| nanos + finer);
    }
    let cut = cut.value(kind)?;
    if fields.is_empty() {
        return Ok(cut);
    }
    let name = match kind {
        Kind::Date => "date",
        Kind::LocalTime | Kind::Time => "time",
        Kind::LocalDateTime | Kind::DateTime => "datetime",
    };
    let base = (name.to_owned(), Field::Temporal(cut));
    let fields = std::iter::once(base).chain(fields.into_entries()).collect();
    make(kind, &fields, clock)
}

fn truncate_days(unit: Unit, days: i64) -> Result<i64> {
    let (year, month, _) = civil(days);
    Ok(match unit {
        Unit::Years(n) => date(year.div_euclid(n) * n, 1, 1)?,
        Unit::WeekYear => week_year_start(week(days).0),
        Unit::Quarter => quarter_start(year, month),
        Unit::Month => date(year, month, 1)?,
        Unit::Week => days - day_of_week(days) + 1,
        Unit::Nanos(_) => days,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn clock() -> Clock {
        Clock {
            seconds: 0,
            nanoseconds: 0,
            zone: Zone::UTC,
        }
    }

    fn read(kind: Kind, form: &str) -> PropertyValue {
        text::parse(kind, form, &Zone::UTC).expect(form)
    }

    #[test]
    fn every_unit_has_its_start() {
        let from = read(Kind::DateTime, "1984-10-11T12:31:14.645876123+01:00");
        for (unit, expected) in [
            ("millennium", "1000-01-01T00:00+01:00"),
            ("century", "1900-01-01T00:00+01:00"),
            ("decade", "1980-01-01T00:00+01:00"),
            ("year", "1984-01-01T00:00+01:00"),
            ("weekYear", "1984-01-02T00:00+01:00"),
            ("quarter", "1984-10-01T00:00+01:00"),
            ("month", "1984-10-01T00:00+01:00"),
            ("week", "1984-10-08T00:00+01:00"),
            ("day", "1984-10-11T00:00+01:00"),
            ("hour", "1984-10-11T12:00+01:00"),
            ("minute", "1984-10-11T12:31+01:00"),
            ("second", "1984-10-11T12:31:14+01:00"),
            ("millisecond", "1984-10-11T12:31:14.645+01:00"),
            ("microsecond", "1984-10-11T12:31:14.645876+01:00"),
        ] {
            let cut = truncate(Kind::DateTime, unit, &from, Fields::default(), &clock());
            let cut = cut.unwrap_or_else(|e| panic!("{unit}: {e}"));
            assert_eq!(text::write(&cut).as_deref(), Some(expected), "{unit}");
        }
    }

    #[test]
    fn fields_replace_parts_of_the_start() {
        let zone = || {
            (
                "timezone".to_owned(),
                Field::Text("Europe/Stockholm".to_owned()),
            )
        };
        let number = |name: &str, n| (name.to_owned(), Field::Integer(n));
        let moment = read(Kind::DateTime, "2017-10-11T12:31:14.645876123+01:00");
        let day = read(Kind::Date, "1984-02-01");
        for (kind, unit, value, fields, expected) in [
            (
                Kind::Date,
                "millennium",
                &moment,
                vec![number("day", 2)],
                "2000-01-02",
            ),
            (
                Kind::Date,
                "weekYear",
                &day,
                vec![number("day", 5)],
                "1984-01-05",
            ),
            (
                Kind::Date,
                "week",
                &day,
                vec![number("dayOfWeek", 2)],
                "1984-01-31",
            ),
            (
                Kind::DateTime,
                "millennium",
                &day,
                vec![zone()],
                "1000-01-01T00:00+00:53:28[Europe/Stockholm]",
            ),
            (
                Kind::DateTime,
                "hour",
                &moment,
                vec![zone()],
                "2017-10-11T12:00+02:00[Europe/Stockholm]",
            ),
            (
                Kind::Time,
                "minute",
                &moment,
                vec![number("nanosecond", 2)],
                "12:31:00.000000002+01:00",
            ),
            (
                Kind::LocalTime,
                "millisecond",
                &moment,
                vec![number("nanosecond", 2)],
                "12:31:14.645000002",
            ),
            (Kind::LocalDateTime, "day", &day, vec![], "1984-02-01T00:00"),
        ] {
            let cut = truncate(kind, unit, value, fields.into_iter().collect(), &clock());
            let cut = cut.unwrap_or_else(|e| panic!("{unit} {expected}: {e}"));
            assert_eq!(text::write(&cut).as_deref(), Some(expected));
        }
    }

    #[test]
    fn units_that_a_value_does_not_have_are_refused() {
        let day = read(Kind::Date, "1984-02-01");
        let time = read(Kind::LocalTime, "12:00");
        for (kind, unit, value) in [
            (Kind::Date, "hour", &day),
            (Kind::LocalTime, "week", &time),
            (Kind::Date, "day", &time),
            (Kind::Date, "fortnight", &day),
        ] {
            assert!(
                truncate(kind, unit, value, Fields::default(), &clock()).is_err(),
                "{unit}"
            );
        }
    }
}
