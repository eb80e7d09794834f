//! Durations: fractions carried from months to days to seconds, sums, products, text.
//!
//! # How it works
//! Months, days and seconds are kept apart because their lengths differ. Whole amounts are summed
//! exactly. Where one has a fraction, all are floats: the fraction of the months becomes days of
//! the average month (30.436875 days), then that of the days becomes seconds, then that of the
//! seconds becomes whole nanoseconds. So `0.1` is the float next to a tenth, and a month less a
//! fraction of a day has fewer days.
//!
//! # Source
//! Neo4j 5 for the order of these steps, on which the last digits depend.

use graven_types::Duration;
use graven_types::told;

use crate::calendar::check;
use crate::{Error, Result, SECOND};

/// Average seconds of a month.
const MONTH_SECONDS: i128 = 2_629_746;

/// What a duration is made of or multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(i64),
    /// A number that may have a fraction.
    Float(f64),
}

#[expect(
    clippy::cast_precision_loss,
    reason = "where a fraction is, the whole is a float"
)]
impl Number {
    fn float(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Float(x) => x,
        }
    }
}

/// Units a duration can be given in.
pub const UNITS: [&str; 11] = [
    "years",
    "quarters",
    "months",
    "weeks",
    "days",
    "hours",
    "minutes",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
];

/// Units of one part: their places in [`UNITS`] and how many of the smallest each is.
type Part = &'static [(usize, i32)];
const MONTHS: Part = &[(0, 12), (1, 3), (2, 1)];
const DAYS: Part = &[(3, 7), (4, 1)];
const SECONDS: Part = &[(5, 3600), (6, 60), (7, 1)];
const NANOS: Part = &[(8, 1_000_000), (9, 1000), (10, 1)];

/// Amounts of each unit, to be summed up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    whole: [i128; UNITS.len()],
    floats: [f64; UNITS.len()],
    has_fractions: bool,
}

impl Sum {
    /// Adds so many of a unit, by its name in any letter case; false if there is no such unit.
    pub fn add(&mut self, unit: &str, amount: Number) -> bool {
        let place = UNITS
            .iter()
            .position(|name| name.eq_ignore_ascii_case(unit));
        let Some(place) = place else {
            return false;
        };
        match amount {
            Number::Whole(n) => self.whole[place] += i128::from(n),
            Number::Float(_) => self.has_fractions = true,
        }
        self.floats[place] += amount.float();
        true
    }

    /// Adds an amount that is written as a number, with a fraction behind `.` or `,` or without
    /// one; that of a second has up to nine digits. None for other text and other units.
    ///
    /// # Errors
    /// More than can be held.
    pub fn add_text(&mut self, unit: &str, text: &str) -> Result<Option<()>> {
        let is_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let (number, fraction) = match text.split_once(['.', ',']) {
            Some((number, fraction)) => (number, Some(fraction)),
            None => (text, None),
        };
        let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
        if !is_digits(digits) || !fraction.is_none_or(is_digits) {
            return Ok(None);
        }
        let whole = || number.parse().map(Number::Whole).map_err(|_| OUT);
        let is_known = match fraction {
            None => self.add(unit, whole()?),
            Some(fraction) if unit == "seconds" => {
                if fraction.len() > 9 {
                    return Ok(None);
                }
                let nanos: i64 = format!("{fraction:0<9}").parse().map_err(|_| OUT)?;
                let sign = if number.starts_with('-') { -1 } else { 1 };
                self.add(unit, whole()?) && self.add("nanoseconds", Number::Whole(sign * nanos))
            }
            Some(fraction) => {
                let amount = format!("{number}.{fraction}").parse();
                self.add(unit, amount.map(Number::Float).map_err(|_| OUT)?)
            }
        };
        Ok(is_known.then_some(()))
    }

    /// The duration, fractions carried downwards.
    ///
    /// # Errors
    /// More than can be held.
    pub fn finish(self) -> Result<Duration> {
        let parts = [MONTHS, DAYS, SECONDS, NANOS];
        if self.has_fractions {
            return carried(parts.map(|part| {
                part.iter().fold(0.0, |sum, (unit, count)| {
                    sum + self.floats[*unit] * f64::from(*count)
                })
            }));
        }
        // Sums of products of numbers of 64 and of 22 bits.
        let [months, days, seconds, nanos] = parts.map(|part| {
            let amounts = part.iter();
            amounts.fold(0, |sum, (unit, count)| {
                sum + self.whole[*unit] * i128::from(*count)
            })
        });
        of_parts(months, days, seconds * i128::from(SECOND) + nanos).ok_or(OUT)
    }
}

const OUT: Error = Error::Range("the duration");

/// The duration of months, days, seconds and nanoseconds with fractions.
fn carried([months, mut days, mut seconds, mut nanos]: [f64; 4]) -> Result<Duration> {
    /// Nanoseconds of each, which floats hold exactly.
    const MONTH: f64 = 2_629_746e9;
    const DAY: f64 = 86_400e9;
    const SECOND: f64 = 1e9;
    days += months.fract() * MONTH / DAY;
    seconds += days.fract() * DAY / SECOND;
    nanos += seconds.fract() * SECOND;
    let [Some(months), Some(days), Some(seconds), Some(nanos)] =
        [months, days, seconds, nanos].map(whole)
    else {
        return Err(OUT);
    };
    let nanos = i128::from(seconds) * i128::from(crate::SECOND) + i128::from(nanos);
    of_parts(months.into(), days.into(), nanos).ok_or(OUT)
}

/// A float without its fraction, if it is an integer of 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "it lies within the bounds")]
fn whole(value: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (-END..END).contains(&value).then_some(value as i64)
}

/// A duration of so many months, days and nanoseconds. Its average length in seconds fits as well,
/// so that every one has a place among the others.
pub(crate) fn of_parts(months: i128, days: i128, nanos: i128) -> Option<Duration> {
    let second = i128::from(SECOND);
    let length = months
        .checked_mul(MONTH_SECONDS)?
        .checked_add(days.checked_mul(86_400)?)?
        .checked_add(nanos.div_euclid(second))?;
    i64::try_from(length).ok()?;
    Some(Duration {
        months: i64::try_from(months).ok()?,
        days: i64::try_from(days).ok()?,
        seconds: i64::try_from(nanos.div_euclid(second)).ok()?,
        nanoseconds: u32::try_from(nanos.rem_euclid(second)).ok()?,
    })
}

/// Seconds and nanoseconds as nanoseconds.
#[must_use]
pub fn nanos(duration: &Duration) -> i128 {
    i128::from(duration.seconds) * i128::from(SECOND) + i128::from(duration.nanoseconds)
}

/// `a + b`, or `a - b` for a sign of -1.
///
/// # Errors
/// More than can be held.
pub fn add(a: &Duration, b: &Duration, sign: i128) -> Result<Duration> {
    of_parts(
        i128::from(a.months) + sign * i128::from(b.months),
        i128::from(a.days) + sign * i128::from(b.days),
        nanos(a) + sign * nanos(b),
    )
    .ok_or(OUT)
}

/// Months, days, seconds and nanoseconds as floats.
#[expect(
    clippy::cast_precision_loss,
    reason = "what is computed of them has fractions"
)]
fn floats(duration: &Duration) -> [f64; 4] {
    [
        duration.months as f64,
        duration.days as f64,
        duration.seconds as f64,
        f64::from(duration.nanoseconds),
    ]
}

/// `duration * factor`.
///
/// # Errors
/// More than can be held.
pub fn multiply(duration: &Duration, factor: Number) -> Result<Duration> {
    match factor {
        Number::Whole(factor) => {
            let factor = i128::from(factor);
            nanos(duration)
                .checked_mul(factor)
                .and_then(|nanos| {
                    let (months, days) = (duration.months, duration.days);
                    of_parts(
                        i128::from(months) * factor,
                        i128::from(days) * factor,
                        nanos,
                    )
                })
                .ok_or(OUT)
        }
        Number::Float(factor) => carried(floats(duration).map(|part| part * factor)),
    }
}

/// `duration / divisor`.
///
/// # Errors
/// A divisor of 0; more than can be held.
pub fn divide(duration: &Duration, divisor: Number) -> Result<Duration> {
    if divisor == Number::Whole(0) {
        return Err(Error::Arithmetic("a duration cannot be divided by 0"));
    }
    let divisor = divisor.float();
    carried(floats(duration).map(|part| part / divisor))
}

/// The mean of so many durations: seconds of whole days are days.
///
/// # Errors
/// No durations; more than can be held.
pub fn mean(sum: &Duration, count: i64) -> Result<Duration> {
    const DAY_SECONDS: i64 = 86_400;
    let mean = divide(sum, Number::Whole(count))?;
    let whole = mean.seconds.max(0) / DAY_SECONDS;
    Ok(Duration {
        days: mean.days.checked_add(whole).ok_or(OUT)?,
        seconds: mean.seconds - whole * DAY_SECONDS,
        ..mean
    })
}

/// ISO text: `P1Y2M3DT4H5M6.7S`.
#[must_use]
pub fn text(duration: &Duration) -> String {
    let mut text = String::from("P");
    let mut part = |n: i64, unit: char| {
        if n != 0 {
            text += &format!("{n}{unit}");
        }
    };
    part(duration.months / 12, 'Y');
    part(duration.months % 12, 'M');
    part(duration.days, 'D');
    let nanos = nanos(duration);
    if nanos != 0 {
        text.push('T');
        let sign = if nanos < 0 { "-" } else { "" };
        let second = i128::from(SECOND);
        let (seconds, fraction) = (nanos.abs() / second, nanos.abs() % second);
        for (n, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
            if n != 0 {
                text += &format!("{sign}{n}{unit}");
            }
        }
        if seconds % 60 != 0 || fraction != 0 {
            let fraction = match fraction {
                0 => String::new(),
                n => format!(".{n:09}").trim_end_matches('0').to_owned(),
            };
            text += &format!("{sign}{}{fraction}S", seconds % 60);
        }
    }
    if text == "P" { "PT0S".to_owned() } else { text }
}

/// Reads `P1Y2M3W4DT5H6M7.8S`, any part with a fraction and a sign, or `P2012-02-02T14:37:21.545`.
///
/// # Errors
/// Text in neither form; more than can be held.
pub fn parse(text: &str) -> Result<Duration> {
    let wrong = || Error::Text {
        what: "duration",
        text: told!("{text}"),
    };
    let (sign, body) = match text.as_bytes() {
        [b'-', b'P' | b'p', ..] => (-1, &text[2..]),
        [b'+', b'P' | b'p', ..] => (1, &text[2..]),
        [b'P' | b'p', ..] => (1, &text[1..]),
        _ => return Err(wrong()),
    };
    let sum = match units(body)? {
        Some(sum) => sum,
        None => date_form(body)?.ok_or_else(wrong)?,
    };
    let duration = sum.finish()?;
    if sign == 1 {
        return Ok(duration);
    }
    add(
        &Duration {
            months: 0,
            days: 0,
            seconds: 0,
            nanoseconds: 0,
        },
        &duration,
        -1,
    )
}

/// The form with a letter behind each number.
fn units(body: &str) -> Result<Option<Sum>> {
    let mut sum = Sum::default();
    let mut rest = body;
    let mut order: &[(char, &str)] = &[
        ('Y', "years"),
        ('M', "months"),
        ('W', "weeks"),
        ('D', "days"),
    ];
    let (mut in_time, mut is_empty, mut is_broken) = (false, true, false);
    while !rest.is_empty() {
        // Only the last number may have a fraction.
        if is_broken {
            return Ok(None);
        }
        if !in_time && let Some(after) = rest.strip_prefix(['T', 't']) {
            (in_time, rest, is_empty) = (true, after, true);
            order = &[('H', "hours"), ('M', "minutes"), ('S', "seconds")];
            continue;
        }
        let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) else {
            return Ok(None);
        };
        let letter = rest[end..]
            .chars()
            .next()
            .map_or(' ', |c| c.to_ascii_uppercase());
        let place = order.iter().position(|(unit, _)| *unit == letter);
        let Some(place) = place else {
            return Ok(None);
        };
        let amount = &rest[..end];
        is_broken = amount.contains(['.', ',']);
        if sum.add_text(order[place].1, amount)?.is_none() {
            return Ok(None);
        }
        order = &order[place + 1..];
        rest = &rest[end + 1..];
        is_empty = false;
    }
    Ok((!is_empty).then_some(sum))
}

/// The form of a date and time: `2012-02-02T14:37:21.545`, `20120202T143721` or `T14:37`, the time
/// cut short from the right.
fn date_form(body: &str) -> Result<Option<Sum>> {
    let (date, time) = match body.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (body, None),
    };
    let date = match (date, time) {
        ("", Some(_)) => Vec::new(),
        _ => match pieces(date, '-', [4, 2, 2]).filter(|date| date.len() == 3) {
            Some(date) => date,
            None => return Ok(None),
        },
    };
    let mut amounts: Vec<(&str, i64, &str)> = Vec::new();
    for ((unit, most), digits) in [("years", 9999), ("months", 12), ("days", 31)]
        .into_iter()
        .zip(date)
    {
        amounts.push((unit, most, digits));
    }
    if let Some(time) = time {
        let (clock, fraction) = match time.split_once(['.', ',']) {
            Some((clock, fraction)) => (clock, Some(fraction)),
            None => (time, None),
        };
        let Some(clock) = pieces(clock, ':', [2, 2, 2]) else {
            return Ok(None);
        };
        if fraction.is_some() && clock.len() < 3 {
            return Ok(None);
        }
        for ((unit, most), digits) in [("hours", 24), ("minutes", 60), ("seconds", 60)]
            .into_iter()
            .zip(clock)
        {
            amounts.push((unit, most, digits));
        }
        if let Some(fraction) = fraction
            && let Some((.., seconds)) = amounts.last_mut()
        {
            // The number with its fraction.
            *seconds = &time[time.len() - fraction.len() - 3..];
        }
    }
    let mut sum = Sum::default();
    for (unit, most, text) in amounts {
        let whole = text.split(['.', ',']).next().unwrap_or(text);
        check(unit, whole.parse().map_err(|_| OUT)?, 0, most)?;
        if sum.add_text(unit, text)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(sum))
}

/// One to three numbers of so many digits, all of them parted or none.
fn pieces(text: &str, separator: char, lengths: [usize; 3]) -> Option<Vec<&str>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let is_parted = text.contains(separator);
    for length in lengths {
        let (piece, after) = rest.split_at_checked(length)?;
        if !piece.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        pieces.push(piece);
        if after.is_empty() {
            return Some(pieces);
        }
        rest = match is_parted {
            true => after.strip_prefix(separator)?,
            false => after,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_every_form() {
        for (form, expected) in [
            ("P14DT16H12M", "P14DT16H12M"),
            ("P5M1.5D", "P5M1DT12H"),
            ("P0.75M", "P22DT19H51M49.5S"),
            ("PT0.75M", "PT45S"),
            ("P2.5W", "P17DT12H"),
            ("P12Y5M14DT16H12M70S", "P12Y5M14DT16H13M10S"),
            ("P2012-02-02T14:37:21.545", "P2012Y2M2DT14H37M21.545S"),
            ("P20120202T143721", "P2012Y2M2DT14H37M21S"),
            ("-P1Y-2M", "P-10M"),
            ("PT-1.5S", "PT-1.5S"),
            ("P1YT-0.000000001S", "P1YT-0.000000001S"),
            ("PT0,5S", "PT0.5S"),
            ("P0D", "PT0S"),
            ("PT100H", "PT100H"),
            ("PT14:37", "PT14H37M"),
            ("PT143721.5", "PT14H37M21.5S"),
            ("-PT14", "PT-14H"),
        ] {
            let read = parse(form).unwrap_or_else(|e| panic!("{form}: {e}"));
            assert_eq!(text(&read), expected, "{form}");
            assert_eq!(parse(expected), Ok(read), "{form} again");
        }
        for wrong in [
            "",
            "P",
            "PT",
            "P1",
            "P1S",
            "1D",
            "P1DT",
            "P1D2Y",
            "PT1H1H",
            "P-",
            "P1.D",
            "P2012-02-02-02",
            "P1.5Y2M",
            "P1.5DT1H",
            "PT1.5H2M",
            "P2012-02",
            "P2012-2-2",
            "P201202021",
            "P20190202T1438721",
            "P2012-02-02T14:37.5",
            "P2012-02-02T",
            "P2012-13-02",
            "P2012-02-32",
            "P2012-02-02T25",
            "PT25:00",
            "PT14:",
            "PT123",
            "P2012-02-02T14:61",
            "P2012-02-02T14:37:21.0123456789",
            "PT1.0123456789S",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("P9223372036854775807Y"), Err(OUT));
        assert!(parse("PT99999999999999999999S").is_err());
        // Each part fits, the whole does not.
        for long in ["P9223372036854775807D", "P9223372036854775807M"] {
            assert_eq!(parse(long), Err(OUT), "{long}");
        }
        assert!(parse("PT9223372036854775807S").is_ok());
    }

    #[test]
    fn fractions_are_carried_downwards() {
        let d = parse("P12Y5M14DT16H13M10.000000001S").expect("a duration");
        for (found, expected) in [
            (multiply(&d, Number::Float(0.5)), "P6Y2M22DT13H21M8S"),
            (
                divide(&d, Number::Float(0.5)),
                "P24Y10M28DT32H26M20.000000002S",
            ),
            (
                multiply(&d, Number::Whole(-1)),
                "P-12Y-5M-14DT-16H-13M-10.000000001S",
            ),
            (parse("P1M-2.5D"), "P1M-2DT-12H"),
            (parse("P103.1D"), "P103DT2H23M59.999999999S"),
            (mean(&parse("PT50H").expect("hours"), 1), "P2DT2H"),
            (mean(&parse("PT-50H").expect("hours"), 1), "PT-50H"),
        ] {
            assert_eq!(text(&found.expect("fits")), expected);
        }
        let mut sum = Sum::default();
        assert!(sum.add("months", Number::Float(1.25)) && sum.add("Days", Number::Float(-1.5)));
        assert!(!sum.add("day", Number::Whole(1)));
        assert_eq!(
            text(&sum.finish().expect("fits")),
            "P1M6DT2H37M16.5S",
            "days are summed before their fraction is carried"
        );
        assert!(matches!(
            divide(&d, Number::Whole(0)),
            Err(Error::Arithmetic(_))
        ));
        assert_eq!(multiply(&d, Number::Float(1e18)), Err(OUT));
        assert_eq!(multiply(&d, Number::Float(f64::NAN)), Err(OUT));
        assert_eq!(multiply(&d, Number::Whole(i64::MAX)), Err(OUT));
    }
}
