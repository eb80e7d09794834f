//! Times and durations of the naive interpreter: nanoseconds counted from a beginning, taken apart
//! by division.

use std::cmp::Ordering;

use crate::calendar::{add_months, civil, iso};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A value of a temporal type other than `DATE`. All times are nanoseconds, all offsets seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum T {
    /// Since 1970 by a clock on the wall: `LOCAL DATETIME`.
    Local(i64),
    /// Since 1970 in UTC, and the offset of the clock on the wall: `ZONED DATETIME`.
    Zoned(i64, i64),
    /// Since midnight: `LOCAL TIME`.
    Clock(i64),
    /// Since midnight by a clock on the wall with this offset: `ZONED TIME`.
    ZonedClock(i64, i64),
    /// `DURATION`.
    Span { months: i64, days: i64, nanos: i64 },
}

impl T {
    /// Place of the type in the order over all temporal types; dates are 3.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            T::Zoned(..) => 1,
            T::Local(_) => 2,
            T::ZonedClock(..) => 4,
            T::Clock(_) => 5,
            T::Span { .. } => 6,
        }
    }

    /// `<`: within a type that has an order.
    pub(crate) fn compare(&self, other: &T) -> Option<Ordering> {
        let is_span = matches!(self, T::Span { .. });
        (!is_span && self.rank() == other.rank()).then(|| self.order(other))
    }

    /// The order of `ORDER BY`.
    pub(crate) fn order(&self, other: &T) -> Ordering {
        // Durations by the length of the average month; what else there is makes the order total.
        let keys = |t: &T| match *t {
            T::Local(nanos) | T::Clock(nanos) => [nanos, 0, 0, 0],
            T::Zoned(nanos, offset) => [nanos, offset, 0, 0],
            T::ZonedClock(nanos, offset) => [nanos - offset * SECOND, offset, 0, 0],
            T::Span {
                months,
                days,
                nanos,
            } => {
                let seconds = months * 2_629_746 + days * 86_400 + nanos.div_euclid(SECOND);
                [seconds, nanos.rem_euclid(SECOND), months, days]
            }
        };
        let ranks = self.rank().cmp(&other.rank());
        ranks.then_with(|| keys(self).cmp(&keys(other)))
    }

    /// The value after a duration.
    pub(crate) fn later(&self, months: i64, days: i64, nanos: i64) -> T {
        let after = |local: i64| {
            let date = add_months(local.div_euclid(DAY), months) + days;
            date * DAY + local.rem_euclid(DAY) + nanos
        };
        match *self {
            T::Local(local) => T::Local(after(local)),
            T::Zoned(utc, offset) => {
                let offset_nanos = offset * SECOND;
                T::Zoned(after(utc + offset_nanos) - offset_nanos, offset)
            }
            T::Clock(clock) => T::Clock((clock + nanos).rem_euclid(DAY)),
            T::ZonedClock(clock, offset) => T::ZonedClock((clock + nanos).rem_euclid(DAY), offset),
            T::Span {
                months: m,
                days: d,
                nanos: n,
            } => T::Span {
                months: m + months,
                days: d + days,
                nanos: n + nanos,
            },
        }
    }

    /// What the clock on the wall says, in nanoseconds since 1970 or midnight.
    fn wall(&self) -> Option<i64> {
        match *self {
            T::Local(wall) | T::Clock(wall) | T::ZonedClock(wall, _) => Some(wall),
            T::Zoned(utc, offset) => Some(utc + offset * SECOND),
            T::Span { .. } => None,
        }
    }

    /// The start of the month, day or hour of a local date with time.
    pub(crate) fn truncated(&self, unit: &str) -> Option<T> {
        let T::Local(local) = *self else { return None };
        let day = local.div_euclid(DAY);
        Some(T::Local(match unit {
            "hour" => local - local.rem_euclid(3600 * SECOND),
            "day" => day * DAY,
            _ => (day - civil(day).2 + 1) * DAY,
        }))
    }

    /// A part by its name.
    pub(crate) fn part(&self, name: &str) -> Option<i64> {
        if let T::Span {
            months,
            days,
            nanos,
        } = *self
        {
            let seconds = nanos.div_euclid(SECOND);
            return Some(match name {
                "years" => months / 12,
                "months" => months,
                "days" => days,
                "hours" => seconds / 3600,
                "seconds" => seconds,
                "milliseconds" => nanos.div_euclid(1_000_000),
                "nanosecondsOfSecond" => nanos.rem_euclid(SECOND),
                _ => return None,
            });
        }
        let wall = self.wall()?;
        let (date, clock) = (wall.div_euclid(DAY), wall.rem_euclid(DAY));
        Some(match name {
            "year" => civil(date).0,
            "month" => civil(date).1,
            "day" => civil(date).2,
            "hour" => clock / (3600 * SECOND),
            "minute" => clock / (60 * SECOND) % 60,
            "second" => clock / SECOND % 60,
            "millisecond" => clock % SECOND / 1_000_000,
            "nanosecond" => clock % SECOND,
            "epochSeconds" => match self {
                T::Zoned(utc, _) => utc.div_euclid(SECOND),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// ISO 8601, as the library writes it.
    pub(crate) fn text(&self) -> String {
        let wall = self.wall().unwrap_or_default();
        match *self {
            T::Local(_) => moment(wall),
            T::Zoned(_, at) => moment(wall) + &offset(at),
            T::Clock(_) => clock(wall),
            T::ZonedClock(_, at) => clock(wall) + &offset(at),
            T::Span {
                months,
                days,
                nanos,
            } => span(months, days, nanos),
        }
    }

    /// An expression that is it.
    pub(crate) fn literal(&self) -> String {
        let of = match self {
            T::Local(_) => "localdatetime",
            T::Zoned(..) => "datetime",
            T::Clock(_) => "localtime",
            T::ZonedClock(..) => "time",
            T::Span {
                months,
                days,
                nanos,
            } => return duration(*months, *days, *nanos),
        };
        format!("{of}('{}')", self.text())
    }
}

/// `duration({...})`.
pub(crate) fn duration(months: i64, days: i64, nanos: i64) -> String {
    let (seconds, nanos) = (nanos / SECOND, nanos % SECOND);
    format!(
        "duration({{months: {months}, days: {days}, seconds: {seconds}, nanoseconds: {nanos}}})"
    )
}

fn moment(wall: i64) -> String {
    let date = iso(wall.div_euclid(DAY));
    format!("{date}T{}", clock(wall.rem_euclid(DAY)))
}

/// Digits behind the point, without the zeros at the end.
fn fraction(nanos: i64) -> String {
    match nanos {
        0 => String::new(),
        _ => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    }
}

fn clock(nanos: i64) -> String {
    let (seconds, rest) = (nanos / SECOND, nanos % SECOND);
    let minutes = format!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    match (seconds % 60, rest) {
        (0, 0) => minutes,
        (second, rest) => format!("{minutes}:{second:02}{}", fraction(rest)),
    }
}

fn offset(seconds: i64) -> String {
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

fn span(months: i64, days: i64, nanos: i64) -> String {
    let mut parts = [(months / 12, "Y"), (months % 12, "M"), (days, "D")]
        .iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect::<String>();
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, rest) = (nanos.abs() / SECOND, nanos.abs() % SECOND);
    if nanos != 0 {
        parts.push('T');
    }
    for (count, unit) in [(seconds / 3600, "H"), (seconds / 60 % 60, "M")] {
        if count != 0 {
            parts += &format!("{sign}{count}{unit}");
        }
    }
    if seconds % 60 != 0 || rest != 0 {
        parts += &format!("{sign}{}{}S", seconds % 60, fraction(rest));
    }
    match parts.is_empty() {
        true => "PT0S".to_owned(),
        false => format!("P{parts}"),
    }
}
