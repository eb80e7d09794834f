//! Durations: exact fractions carried from months to days to seconds, sums, products, text.
//!
//! # How it works
//! Months, days and seconds are kept apart because their lengths differ. A fraction of a month
//! becomes days of the average month (30.436875 days), a fraction of a day becomes seconds.
//! Fractions are decimal with 18 digits, so `0.1` is a tenth; what is less than a nanosecond is cut
//! off.

use graven_types::Duration;

use crate::{Error, Result, SECOND};

/// Denominator of fractions.
const UNIT: i128 = 1_000_000_000_000_000_000;
/// Average days of a month, in millionths.
const MONTH_MICRODAYS: i128 = 30_436_875;

/// Average seconds of a month.
const MONTH_SECONDS: i128 = 2_629_746;

/// A decimal number: `numerator / denominator`, the latter a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    numerator: i128,
    denominator: i128,
}

impl Decimal {
    /// A whole number.
    #[must_use]
    pub fn whole(value: i64) -> Decimal {
        Decimal {
            numerator: i128::from(value),
            denominator: 1,
        }
    }

    /// The shortest decimal that reads back as this float.
    #[must_use]
    pub fn of(value: f64) -> Option<Decimal> {
        if !value.is_finite() || value.abs() > 1e18 {
            return None;
        }
        Decimal::parse(&format!("{value}"))
    }

    /// Digits with an optional sign and fraction, `.` or `,`; digits after the 18th are cut off.
    #[must_use]
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if digits.ends_with(['.', ',']) {
            return None;
        }
        let (whole, fraction) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
        let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || whole.len() > 19 {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let fraction = &fraction[..fraction.len().min(18)];
        let denominator = 10_i128.pow(fraction.len() as u32);
        let fraction: i128 = if fraction.is_empty() {
            0
        } else {
            fraction.parse().ok()?
        };
        let numerator = whole.parse::<i128>().ok()? * denominator + fraction;
        Some(Decimal {
            numerator: if negative { -numerator } else { numerator },
            denominator,
        })
    }

    fn inverse(self) -> Option<Decimal> {
        (self.numerator != 0).then_some(Decimal {
            numerator: self.denominator * self.numerator.signum(),
            denominator: self.numerator.abs(),
        })
    }
}

/// A whole number and a fraction of the same sign, the latter in units of 10^-18.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    whole: i128,
    fraction: i128,
}

impl Amount {
    fn product(count: i128, factor: Decimal) -> Option<Amount> {
        let total = count.checked_mul(factor.numerator)?;
        let rest = total % factor.denominator;
        let fraction = match rest.checked_mul(UNIT) {
            Some(scaled) => scaled / factor.denominator,
            // Only where the factor has about 20 digits: the last digits of the fraction do not
            // matter then.
            None => rest / (factor.denominator / UNIT),
        };
        Some(Amount {
            whole: total / factor.denominator,
            fraction,
        })
    }

    fn add(self, other: Amount) -> Option<Amount> {
        let fraction = self.fraction + other.fraction;
        Some(Amount {
            whole: self
                .whole
                .checked_add(other.whole)?
                .checked_add(fraction / UNIT)?,
            fraction: fraction % UNIT,
        })
    }
}

/// Amounts of each unit, to be summed up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    months: Amount,
    days: Amount,
    seconds: Amount,
    nanos: Amount,
}

/// Units a duration can be given in.
pub const UNITS: &[&str] = &[
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

impl Sum {
    /// Adds so many of a unit (see [`UNITS`]); false if there is no such unit.
    ///
    /// # Errors
    /// More than can be held.
    pub fn add(&mut self, unit: &str, amount: Decimal) -> Result<bool> {
        let (part, factor) = match unit {
            "years" => (&mut self.months, 12),
            "quarters" => (&mut self.months, 3),
            "months" => (&mut self.months, 1),
            "weeks" => (&mut self.days, 7),
            "days" => (&mut self.days, 1),
            "hours" => (&mut self.seconds, 3600),
            "minutes" => (&mut self.seconds, 60),
            "seconds" => (&mut self.seconds, 1),
            "milliseconds" => (&mut self.nanos, 1_000_000),
            "microseconds" => (&mut self.nanos, 1000),
            "nanoseconds" => (&mut self.nanos, 1),
            _ => return Ok(false),
        };
        let sum = Amount::product(factor, amount).and_then(|a| part.add(a));
        *part = sum.ok_or(Error::Range("the duration"))?;
        Ok(true)
    }

    /// The duration, fractions carried downwards.
    ///
    /// # Errors
    /// More than can be held.
    pub fn finish(self) -> Result<Duration> {
        self.carried().ok_or(Error::Range("the duration"))
    }

    fn carried(self) -> Option<Duration> {
        let month_days = self.months.fraction.checked_mul(MONTH_MICRODAYS)? / 1_000_000;
        let days = self.days.add(Amount {
            whole: month_days / UNIT,
            fraction: month_days % UNIT,
        })?;
        let day_seconds = days.fraction.checked_mul(86_400)?;
        let seconds = self.seconds.add(Amount {
            whole: day_seconds / UNIT,
            fraction: day_seconds % UNIT,
        })?;
        // Fractions such as a third are a little too small; a hundredth of a nanosecond makes up
        // for it.
        let scaled = seconds.fraction.checked_mul(i128::from(SECOND))?;
        let second_nanos = (scaled + scaled.signum() * UNIT / 100) / UNIT;
        let total = seconds.whole.checked_mul(i128::from(SECOND))?;
        let total = total
            .checked_add(second_nanos)?
            .checked_add(self.nanos.whole)?;
        of_parts(self.months.whole, days.whole, total)
    }
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
    .ok_or(Error::Range("the duration"))
}

/// `duration * factor`.
///
/// # Errors
/// More than can be held.
pub fn multiply(duration: &Duration, factor: Decimal) -> Result<Duration> {
    let product = |count: i128| Amount::product(count, factor);
    let sum = (|| {
        Some(Sum {
            months: product(i128::from(duration.months))?,
            days: product(i128::from(duration.days))?,
            seconds: product(i128::from(duration.seconds))?,
            nanos: product(i128::from(duration.nanoseconds))?,
        })
    })();
    sum.ok_or(Error::Range("the duration"))?.finish()
}

/// `duration / divisor`.
///
/// # Errors
/// A divisor of 0; more than can be held.
pub fn divide(duration: &Duration, divisor: Decimal) -> Result<Duration> {
    let inverse = divisor
        .inverse()
        .ok_or_else(|| Error::Field("a duration cannot be divided by 0".to_owned()))?;
    multiply(duration, inverse)
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
        text: text.to_owned(),
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
        let (Some(place), Some(amount)) = (place, Decimal::parse(&rest[..end])) else {
            return Ok(None);
        };
        is_broken = rest[..end].contains(['.', ',']);
        sum.add(order[place].1, amount)?;
        order = &order[place + 1..];
        rest = &rest[end + 1..];
        is_empty = false;
    }
    Ok((!is_empty).then_some(sum))
}

/// The form of a date and time: `2012-02-02T14:37:21.545` or `20120202T143721`, the time cut short
/// from the right.
fn date_form(body: &str) -> Result<Option<Sum>> {
    let (date, time) = match body.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (body, None),
    };
    let whole = |text: &str, lengths: &[usize]| {
        lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
    };
    let Some(date) = pieces(date, '-', [4, 2, 2]).filter(|date| date.len() == 3) else {
        return Ok(None);
    };
    let mut amounts: Vec<(&str, &str)> =
        ["years", "months", "days"].into_iter().zip(date).collect();
    if let Some(time) = time {
        let (clock, fraction) = match time.split_once(['.', ',']) {
            Some((clock, fraction)) => (clock, Some(fraction)),
            None => (time, None),
        };
        let Some(clock) = pieces(clock, ':', [2, 2, 2]) else {
            return Ok(None);
        };
        let has_fraction = fraction.is_some();
        let fits = fraction.is_none_or(|f| whole(f, &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
        if !fits || has_fraction && clock.len() < 3 {
            return Ok(None);
        }
        amounts.extend(["hours", "minutes", "seconds"].into_iter().zip(clock));
        if has_fraction && let Some((_, second)) = amounts.last_mut() {
            // The number with its fraction.
            let from = time.len() - fraction.map_or(0, str::len) - 3;
            *second = &time[from..];
        }
    }
    let mut sum = Sum::default();
    for (unit, amount) in amounts {
        let Some(amount) = Decimal::parse(amount) else {
            return Ok(None);
        };
        sum.add(unit, amount)?;
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
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            parse("P9223372036854775807Y"),
            Err(Error::Range("the duration"))
        );
        assert!(parse("PT99999999999999999999S").is_err());
        // Each part fits, the whole does not.
        for long in ["P9223372036854775807D", "P9223372036854775807M"] {
            assert_eq!(parse(long), Err(Error::Range("the duration")), "{long}");
        }
        assert!(parse("PT9223372036854775807S").is_ok());
    }

    #[test]
    fn products_carry_fractions_downwards() {
        let d = parse("P12Y5M14DT16H13M10.000000001S").expect("a duration");
        let half = Decimal::of(0.5).expect("finite");
        assert_eq!(
            text(&multiply(&d, half).expect("fits")),
            "P6Y2M22DT13H21M8S"
        );
        assert_eq!(
            text(&divide(&d, half).expect("fits")),
            "P24Y10M28DT32H26M20.000000002S"
        );
        let third = divide(&parse("P1D").expect("a day"), Decimal::whole(3)).expect("fits");
        assert_eq!(text(&third), "PT8H");
        let minus = multiply(&d, Decimal::whole(-1)).expect("fits");
        assert_eq!(text(&minus), "P-12Y-5M-14DT-16H-13M-10.000000001S");
        assert!(divide(&d, Decimal::whole(0)).is_err());
        assert!(multiply(&d, Decimal::of(1e18).expect("finite")).is_err());
        assert!(Decimal::of(f64::NAN).is_none());
    }
}
