//! ISO 8601 text of dates and times, read in every form of the standard, written in one.
//!
//! # How it works
//! A date is calendar (`2015-07-21`), week (`2015-W30-2`), quarter (`2015-Q2-60`) or ordinal
//! (`2015-202`), with dashes or without, cut short from the right; a year beyond four digits has a
//! sign, and dashes follow it. Between dashes and colons numbers may lack a leading zero, except a
//! month at the end. A time is `21:40:32.142` or `214032.142`, cut short likewise, `T` before it or
//! not; behind it an offset (`Z`, `+0100`, `-01:30`, `+18`; `-02:05:07`, as it is written) and,
//! where there is a day, a zone in brackets. Letters of dates alone and of local times alone are
//! capitals.

use graven_types::PropertyValue;
use graven_types::told;

use crate::calendar::{civil, date, ordinal_date, quarter_date, week_date, weeks_in};
use crate::parts::{Kind, Parts};
use crate::zone::{offset_text, parse_offset};
use crate::{Error, Result, SECOND, Zone, duration};

/// Reads a value of that type. A `time` or `datetime` without a zone is in `zone`.
///
/// # Errors
/// Text in no form of the type; a day, time or zone that does not exist.
pub fn parse(kind: Kind, text: &str, zone: &Zone) -> Result<PropertyValue> {
    read(kind, text, zone).map_err(|error| match error {
        Error::Field(why) => Error::Content {
            text: told!("{text}"),
            why,
        },
        other => other,
    })
}

fn read(kind: Kind, text: &str, zone: &Zone) -> Result<PropertyValue> {
    let wrong = || Error::Text {
        what: kind.name(),
        text: told!("{text}"),
    };
    let has_case = matches!(kind, Kind::Date | Kind::LocalTime);
    if has_case && text.bytes().any(|b| b.is_ascii_lowercase()) {
        return Err(wrong());
    }
    let (date_text, time_text) = match kind {
        Kind::Date => (Some(text), None),
        Kind::LocalTime | Kind::Time => (None, Some(text.strip_prefix(['T', 't']).unwrap_or(text))),
        Kind::LocalDateTime | Kind::DateTime => match text.split_once(['T', 't']) {
            Some((date, time)) => (Some(date), Some(time)),
            None => (Some(text), None),
        },
    };
    let mut parts = Parts {
        nanos: kind.has_time().then_some(0),
        ..Parts::default()
    };
    if let Some(text) = date_text {
        parts.date = Some(parse_date(text).ok_or_else(wrong)??);
    }
    if let Some(text) = time_text {
        let (clock, offset, name) = split_zone(text).ok_or_else(wrong)?;
        if !kind.has_zone() && (offset.is_some() || name.is_some()) {
            return Err(wrong());
        }
        parts.nanos = Some(parse_clock(clock).ok_or_else(wrong)?);
        parts.offset = offset.map(offset_seconds).transpose()?;
        parts.zone = match name {
            Some(name) if parts.date.is_none() => {
                return Err(Error::Mismatch(told!(
                    "a time without a day has an offset such as +01:00, not the zone [{name}]"
                )));
            }
            Some(name) => Some(Zone::parse(name)?),
            None => parts.offset.map(Zone::Offset),
        };
        if let (Some(offset), Some(zone)) = (parts.offset, &parts.zone)
            && !zone.allows(parts.local_seconds().0, offset)
        {
            return Err(Error::Mismatch(told!(
                "{zone} does not have the offset {} at that time",
                offset_text(offset)
            )));
        }
    }
    if kind.has_zone() && parts.zone.is_none() {
        parts.zone = Some(zone.clone());
    }
    parts.value(kind)
}

/// Clock, offset and zone name of a time.
fn split_zone(text: &str) -> Option<(&str, Option<&str>, Option<&str>)> {
    let (text, name) = match text.split_once('[') {
        Some((text, name)) => (text, Some(name.strip_suffix(']')?)),
        None => (text, None),
    };
    // An offset in brackets is no name.
    if name.is_some_and(|name| name.is_empty() || name.contains(':')) {
        return None;
    }
    let Some(at) = text.find(['Z', 'z', '+', '-']) else {
        return Some((text, None, name));
    };
    let offset = &text[at..];
    let shape: String = offset[1..]
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let is_zulu = offset.starts_with(['Z', 'z']);
    let known: &[&str] = if is_zulu {
        &[""]
    } else {
        &["00", "0000", "00:00", "00:00:00"]
    };
    known
        .contains(&shape.as_str())
        .then_some((&text[..at], Some(offset), name))
}

/// Seconds of an offset in one of the forms.
fn offset_seconds(text: &str) -> Result<i32> {
    parse_offset(text)
        .ok_or_else(|| Error::Mismatch(told!("no clock has the offset {text}: -18:00 to +18:00")))
}

/// `HH[:mm[:ss[.fraction]]]`, colons or not, in nanoseconds since midnight.
fn parse_clock(text: &str) -> Option<i64> {
    let (whole, fraction) = match text.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let with_colons: Vec<&str> = whole.split(':').collect();
    let pieces = if with_colons.len() > 1 || whole.len() == 1 {
        with_colons
    } else {
        let pairs = whole.len().div_ceil(2);
        (0..pairs)
            .map(|i| whole.get(2 * i..2 * i + 2))
            .collect::<Option<_>>()?
    };
    if pieces.is_empty() || pieces.len() > 3 || (fraction.is_some() && pieces.len() < 3) {
        return None;
    }
    let mut numbers = [0; 3];
    for (number, piece) in numbers.iter_mut().zip(&pieces) {
        *number = one_or_two(piece)?;
    }
    let [hour, minute, second] = numbers;
    let nanos = match fraction {
        None => 0,
        Some(f) if (1..=9).contains(&f.len()) => {
            digits(f, f.len())? * 10_i64.pow(9 - f.len() as u32)
        }
        Some(_) => return None,
    };
    let is_valid = hour < 24 && minute < 60 && second < 60;
    is_valid.then_some((hour * 3600 + minute * 60 + second) * SECOND + nanos)
}

/// Exactly `n` digits.
fn digits(text: &str, n: usize) -> Option<i64> {
    let is_number = text.len() == n && n > 0 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// One digit or two.
fn one_or_two(text: &str) -> Option<i64> {
    digits(text, text.len()).filter(|_| text.len() <= 2)
}

/// A day; none for text in no form, an error for a day that does not exist.
fn parse_date(text: &str) -> Option<Result<i64>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let has_sign = unsigned.len() < text.len();
    let run = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if !has_sign {
        // Without dashes the number of digits tells the form.
        let part = |from: usize, n: usize| digits(text.get(from..from + n)?, n);
        match run {
            6 if text.len() == 6 => return Some(date(part(0, 4)?, part(4, 2)?, 1)),
            7 if text.len() == 7 => return Some(ordinal_date(part(0, 4)?, part(4, 3)?)),
            8 if text.len() == 8 => return Some(date(part(0, 4)?, part(4, 2)?, part(6, 2)?)),
            4 => {}
            _ => return None,
        }
    }
    if !(1..=9).contains(&run) {
        return None;
    }
    let year = digits(&unsigned[..run], run)?;
    let year = if text.starts_with('-') { -year } else { year };
    parse_after_year(year, &unsigned[run..], has_sign)
}

/// What follows a year: nothing, month and day, day of the year, week and day, quarter and day.
fn parse_after_year(year: i64, rest: &str, has_sign: bool) -> Option<Result<i64>> {
    if rest.is_empty() {
        return Some(date(year, 1, 1));
    }
    if !has_sign && let Some(day) = parse_undashed(year, rest) {
        return Some(day);
    }
    // The dash before a week or a quarter may be left out.
    let is_named = rest.starts_with(['W', 'w', 'Q', 'q']);
    let rest = rest
        .strip_prefix('-')
        .or_else(|| is_named.then_some(rest))?;
    let (first, day) = match rest.split_once('-') {
        Some((first, day)) => (first, Some(day)),
        None => (rest, None),
    };
    let or_first = |day: Option<i64>| day.unwrap_or(1);
    if let Some(week) = first.strip_prefix(['W', 'w']) {
        let day = day.map(|day| digits(day, 1).ok_or(())).transpose().ok()?;
        return Some(existing_week(year, one_or_two(week)?, or_first(day)));
    }
    let day = day.map(|day| one_or_two(day).ok_or(())).transpose().ok()?;
    if let Some(quarter) = first.strip_prefix(['Q', 'q']) {
        return Some(existing_quarter(year, digits(quarter, 1)?, or_first(day)));
    }
    match (day, first.len()) {
        (None, 3) => Some(ordinal_date(year, digits(first, 3)?)),
        (None, _) => Some(date(year, digits(first, 2)?, 1)),
        (Some(day), _) => Some(date(year, one_or_two(first)?, day)),
    }
}

/// The day of a week that a year of 52 weeks may lack.
fn existing_week(year: i64, week: i64, day: i64) -> Result<i64> {
    let is_there = week != 53 || weeks_in(year) == 53;
    week_date(year, week, day).map_err(|error| match is_there {
        true => error,
        false => Error::Mismatch(told!("the year {year} has no week {week}")),
    })
}

/// The day of a quarter that may have 90 days only.
fn existing_quarter(year: i64, quarter: i64, day: i64) -> Result<i64> {
    quarter_date(year, quarter, day).map_err(|error| match (1..=4).contains(&quarter) && day > 90 {
        true => Error::Mismatch(told!("quarter {quarter} of {year} has no day {day}")),
        false => error,
    })
}

/// The same without dashes, where each number has all its digits.
fn parse_undashed(year: i64, rest: &str) -> Option<Result<i64>> {
    let part = |from: usize, n: usize| digits(rest.get(from..from + n)?, n);
    match (rest.as_bytes().first(), rest.len()) {
        (Some(b'W' | b'w'), 3) => Some(existing_week(year, part(1, 2)?, 1)),
        (Some(b'W' | b'w'), 4) => Some(existing_week(year, part(1, 2)?, part(3, 1)?)),
        (Some(b'Q' | b'q'), 2) => Some(existing_quarter(year, part(1, 1)?, 1)),
        (Some(b'Q' | b'q'), 4) => Some(existing_quarter(year, part(1, 1)?, part(2, 2)?)),
        _ => None,
    }
}

/// The ISO text of a temporal value or duration; none for values of other types.
#[must_use]
pub fn write(value: &PropertyValue) -> Option<String> {
    Some(match value {
        PropertyValue::Date(days) => date_text(*days),
        PropertyValue::LocalTime(nanos) => time_text(*nanos),
        PropertyValue::Time(t) => time_text(t.nanosecond_of_day) + &offset_text(t.offset_seconds),
        PropertyValue::LocalDateTime(t) => date_time_text(t.seconds, t.nanoseconds),
        PropertyValue::DateTime(t) => {
            let local = t.seconds + i64::from(t.offset_seconds);
            let zone = t.zone.as_ref().map_or(String::new(), |z| format!("[{z}]"));
            date_time_text(local, t.nanoseconds) + &offset_text(t.offset_seconds) + &zone
        }
        PropertyValue::Duration(d) => duration::text(d),
        _ => return None,
    })
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
    let (seconds, fraction) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
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
    let nanos = second * SECOND + i64::from(nanoseconds);
    format!("{}T{}", date_text(days), time_text(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, cases: &[(&str, &str)]) {
        for (form, expected) in cases {
            let read = parse(kind, form, &Zone::UTC).unwrap_or_else(|e| panic!("{form}: {e}"));
            let text = write(&read).expect("temporal");
            assert_eq!(&text, expected, "{form}");
            assert_eq!(parse(kind, &text, &Zone::UTC), Ok(read), "{form} again");
        }
    }

    #[test]
    fn dates_in_every_form() {
        check(
            Kind::Date,
            &[
                ("2015-07-21", "2015-07-21"),
                ("20150721", "2015-07-21"),
                ("2015-07", "2015-07-01"),
                ("201507", "2015-07-01"),
                ("2015-W30-2", "2015-07-21"),
                ("2015W302", "2015-07-21"),
                ("2015-W30", "2015-07-20"),
                ("2015W30", "2015-07-20"),
                ("2015W3", "2015-01-12"),
                ("+2015W30", "2015-07-20"),
                ("+2015Q2-6", "2015-04-06"),
                ("2015-202", "2015-07-21"),
                ("2015202", "2015-07-21"),
                ("2015-Q2-60", "2015-05-30"),
                ("2015Q260", "2015-05-30"),
                ("2015-Q2", "2015-04-01"),
                ("2015-7-1", "2015-07-01"),
                ("2015-W3-1", "2015-01-12"),
                ("2015-Q2-6", "2015-04-06"),
                ("+2015-7-1", "2015-07-01"),
                ("2015", "2015-01-01"),
                ("-0001-12-31", "-0001-12-31"),
                ("+123456-01-02", "+123456-01-02"),
                ("-999999999-01-01", "-999999999-01-01"),
                ("0000-02-29", "0000-02-29"),
            ],
        );
    }

    #[test]
    fn times_in_every_form() {
        check(
            Kind::LocalTime,
            &[
                ("21:40:32.142", "21:40:32.142"),
                ("214032.142", "21:40:32.142"),
                ("214032,5", "21:40:32.5"),
                ("214032", "21:40:32"),
                ("21:40", "21:40"),
                ("2140", "21:40"),
                ("21", "21:00"),
                ("9", "09:00"),
                ("9:5:7.5", "09:05:07.5"),
                ("T21:40", "21:40"),
                ("T214032.142", "21:40:32.142"),
            ],
        );
        check(
            Kind::Time,
            &[
                ("21:40:32.142+0100", "21:40:32.142+01:00"),
                ("214032.142Z", "21:40:32.142Z"),
                ("21:40:32+01:00", "21:40:32+01:00"),
                ("214032-0100", "21:40:32-01:00"),
                ("21:40-01:30", "21:40-01:30"),
                ("2140-00:00", "21:40Z"),
                ("2140-02", "21:40-02:00"),
                ("22+18:00", "22:00+18:00"),
                ("22", "22:00Z"),
                ("T22+18:00", "22:00+18:00"),
            ],
        );
    }

    #[test]
    fn moments_in_every_form() {
        check(
            Kind::LocalDateTime,
            &[
                ("2015-07-21T21:40:32.142", "2015-07-21T21:40:32.142"),
                ("2015-W30-2T214032.142", "2015-07-21T21:40:32.142"),
                ("2015T214032", "2015-01-01T21:40:32"),
                ("20150721T21:40", "2015-07-21T21:40"),
                ("2015202T21", "2015-07-21T21:00"),
                ("2015-07-21", "2015-07-21T00:00"),
            ],
        );
        check(
            Kind::DateTime,
            &[
                (
                    "2015-07-21T21:40:32.142+0100",
                    "2015-07-21T21:40:32.142+01:00",
                ),
                ("2015-W30T2140-00:00", "2015-07-20T21:40Z"),
                ("2015202T21+18:00", "2015-07-21T21:00+18:00"),
                (
                    "2015-07-21T21:40:32.142+02:00[Europe/Stockholm]",
                    "2015-07-21T21:40:32.142+02:00[Europe/Stockholm]",
                ),
                (
                    "2015-07-21T21:40:32.142+0845[Australia/Eucla]",
                    "2015-07-21T21:40:32.142+08:45[Australia/Eucla]",
                ),
                (
                    "2015-07-21T21:40:32.142-04[America/New_York]",
                    "2015-07-21T21:40:32.142-04:00[America/New_York]",
                ),
                (
                    "2015-07-21T21:40:32.142[Europe/London]",
                    "2015-07-21T21:40:32.142+01:00[Europe/London]",
                ),
                (
                    "2024-10-27T02:30[Europe/Berlin]",
                    "2024-10-27T02:30+02:00[Europe/Berlin]",
                ),
                (
                    "2024-10-27T02:30+01:00[Europe/Berlin]",
                    "2024-10-27T02:30+01:00[Europe/Berlin]",
                ),
                (
                    "2024-03-31T02:30[Europe/Berlin]",
                    "2024-03-31T03:30+02:00[Europe/Berlin]",
                ),
            ],
        );
    }

    #[test]
    fn other_text_is_refused() {
        for (kind, texts) in [
            (
                Kind::Date,
                &[
                    "",
                    "15",
                    "2015-7-001",
                    "2015-W30-",
                    "2015-W030",
                    "2015-Q2-",
                    "2015-07-",
                    "2015-07-1-",
                    "2015-13-01",
                    "2015-02-29",
                    "2015-W54",
                    "2015-W30-8",
                    "2015-7",
                    "2015-w30-2",
                    "+2015W302",
                    "+2015Q260",
                    "2015Q26",
                    "2014-W53",
                    "20150721T10",
                    "12345-01-01",
                    "2015-366",
                    "today",
                    "2015-07-21Z",
                    "-",
                    "2015-",
                    "+1234567890-01-01",
                    "\u{665}015",
                ][..],
            ),
            (
                Kind::LocalTime,
                &[
                    "",
                    "24:00",
                    "21:60",
                    "21:40:60",
                    "21:40:32.",
                    "21:4:",
                    "214",
                    "021:40",
                    "21:40.5",
                    "21:40Z",
                    "1:2:3:4",
                    "t21:40",
                ],
            ),
            (
                Kind::Time,
                &[
                    "21:40+19:00",
                    "21:40+",
                    "Z",
                    "21:40[Europe/Nowhere]",
                    "21:40[Z]",
                    "21:40+1",
                    "21:40+010203",
                ],
            ),
            (
                Kind::DateTime,
                &[
                    "T21:40",
                    "2015T",
                    "2015-07-21T21:40+05:00[Europe/Stockholm]",
                    "2015-07-21T21:40[",
                    "2015-07-21T21:40[+01:00]",
                    "2015-07-21T21:40[+01]",
                    "2024-03-31T02:30+01:00[Europe/Berlin]",
                ],
            ),
        ] {
            for text in texts {
                assert!(parse(kind, text, &Zone::UTC).is_err(), "{kind:?} {text}");
            }
        }
    }
}
