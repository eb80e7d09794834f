//! Dates, times, durations and points as text: ISO forms, and the forms of LDBC's data sets.
//!
//! Proleptic Gregorian calendar; days count from 1970-01-01. Nothing here allocates or depends on
//! the machine's zone.

/// A moment with the offset and zone it was written with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment<'a> {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub(crate) seconds: i64,
    /// Nanoseconds within the second.
    pub(crate) nanos: u32,
    /// Offset from UTC in seconds, east positive.
    pub(crate) offset_seconds: i32,
    /// Zone name in brackets, or empty.
    pub(crate) zone: &'a str,
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
///
/// Counts in eras of 400 years with the year starting in March, so that the leap day is the last.
pub(crate) fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn civil(year: i64, month: u32, day: u32) -> Option<i64> {
    let valid = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    valid.then(|| days_from_civil(year, month, day))
}

/// Takes exactly `n` digits off the front.
fn digits(text: &mut &str, n: usize) -> Option<u32> {
    let head = text.get(..n)?;
    if !head.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    *text = &text[n..];
    head.parse().ok()
}

fn expect(text: &mut &str, c: char) -> Option<()> {
    *text = text.strip_prefix(c)?;
    Some(())
}

/// Takes `yyyy-MM-dd` or `yyyyMMdd` off the front, the year with an optional sign.
fn take_date(text: &mut &str) -> Option<i64> {
    let sign = match text.chars().next()? {
        '-' => -1,
        _ => 1,
    };
    *text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let year = sign * i64::from(digits(text, 4)?);
    let dashed = expect(text, '-').is_some();
    let month = digits(text, 2)?;
    if dashed {
        expect(text, '-')?;
    }
    civil(year, month, digits(text, 2)?)
}

/// Takes `HH:mm[:ss[.fraction]]` (or without colons) off the front, as nanoseconds of the day.
fn take_time(text: &mut &str) -> Option<i64> {
    let hour = digits(text, 2)?;
    let colon = expect(text, ':').is_some();
    let minute = digits(text, 2)?;
    let (mut second, mut nanos) = (0, 0);
    let more = if colon {
        expect(text, ':').is_some()
    } else {
        text.starts_with(|c: char| c.is_ascii_digit())
    };
    if more {
        second = digits(text, 2)?;
        if text.starts_with(['.', ',']) {
            *text = &text[1..];
            let len = text.bytes().take_while(u8::is_ascii_digit).count();
            if len == 0 || len > 9 {
                return None;
            }
            nanos = digits(text, len)? * 10u32.pow(9 - len as u32);
        }
    }
    let valid = hour < 24 && minute < 60 && second < 60;
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    valid.then_some(seconds * 1_000_000_000 + i64::from(nanos))
}

/// Takes `Z`, `+HH`, `+HHmm` or `+HH:mm` (or `-`) off the front, as seconds east of UTC.
fn take_offset(text: &mut &str) -> Option<i32> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        *text = rest;
        return Some(0);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    *text = &text[1..];
    let hours = digits(text, 2)?;
    let colon = expect(text, ':').is_some();
    let minutes = if colon || text.starts_with(|c: char| c.is_ascii_digit()) {
        digits(text, 2)?
    } else {
        0
    };
    (hours <= 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as i32)
}

/// Nothing left over.
fn done<T>(text: &str, value: T) -> Option<T> {
    text.is_empty().then_some(value)
}

/// A date as days since 1970-01-01.
pub(crate) fn date(text: &str) -> Option<i64> {
    let mut rest = text;
    let days = take_date(&mut rest)?;
    done(rest, days)
}

/// A time of day in nanoseconds.
pub(crate) fn local_time(text: &str) -> Option<i64> {
    let mut rest = text;
    let nanos = take_time(&mut rest)?;
    done(rest, nanos)
}

/// A time of day in nanoseconds (local) and its offset in seconds.
pub(crate) fn time(text: &str) -> Option<(i64, i32)> {
    let mut rest = text;
    let nanos = take_time(&mut rest)?;
    let offset = if rest.is_empty() {
        0
    } else {
        take_offset(&mut rest)?
    };
    done(rest, (nanos, offset))
}

fn take_local_date_time(text: &mut &str) -> Option<(i64, u32)> {
    let days = take_date(text)?;
    if text.is_empty() {
        return Some((days * 86_400, 0));
    }
    *text = text.strip_prefix(['T', 't', ' '])?;
    let nanos = take_time(text)?;
    Some((
        days * 86_400 + nanos / 1_000_000_000,
        (nanos % 1_000_000_000) as u32,
    ))
}

/// Seconds since 1970-01-01T00:00:00 on the local clock, and nanoseconds.
pub(crate) fn local_date_time(text: &str) -> Option<(i64, u32)> {
    let mut rest = text;
    let moment = take_local_date_time(&mut rest)?;
    done(rest, moment)
}

/// A moment; without an offset it is taken as UTC.
pub(crate) fn date_time(text: &str) -> Option<Moment<'_>> {
    let mut rest = text;
    let (local, nanos) = take_local_date_time(&mut rest)?;
    let offset_seconds = if rest.is_empty() || rest.starts_with('[') {
        0
    } else {
        take_offset(&mut rest)?
    };
    let mut zone = "";
    if let Some(bracketed) = rest.strip_prefix('[') {
        let end = bracketed.find(']')?;
        (zone, rest) = (&bracketed[..end], &bracketed[end + 1..]);
    }
    let seconds = local - i64::from(offset_seconds);
    done(
        rest,
        Moment {
            seconds,
            nanos,
            offset_seconds,
            zone,
        },
    )
}

/// `P1Y2M3W4DT5H6M7.5S` as months, days, seconds, nanoseconds; a sign before `P` turns all.
pub(crate) fn duration(text: &str) -> Option<[i64; 4]> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    expect(&mut rest, 'P')?;
    let [mut months, mut days, mut seconds, mut nanos] = [0i64; 4];
    let (mut in_time, mut parts) = (false, 0);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            if in_time {
                return None;
            }
            (in_time, rest) = (true, after);
            continue;
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, unit) = (&rest[..end], rest.as_bytes()[end]);
        rest = &rest[end + 1..];
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let amount: i64 = whole.parse().ok()?;
        if !fraction.is_empty() && unit != b'S' {
            return None;
        }
        match (in_time, unit) {
            (false, b'Y') => months = months.checked_add(amount.checked_mul(12)?)?,
            (false, b'M') => months = months.checked_add(amount)?,
            (false, b'W') => days = days.checked_add(amount.checked_mul(7)?)?,
            (false, b'D') => days = days.checked_add(amount)?,
            (true, b'H') => seconds = seconds.checked_add(amount.checked_mul(3600)?)?,
            (true, b'M') => seconds = seconds.checked_add(amount.checked_mul(60)?)?,
            (true, b'S') => {
                seconds = seconds.checked_add(amount)?;
                nanos += fraction_nanos(fraction, whole.starts_with('-'))?;
            }
            _ => return None,
        }
        parts += 1;
    }
    if parts == 0 {
        return None;
    }
    for part in [&mut months, &mut days, &mut seconds, &mut nanos] {
        *part = part.checked_mul(sign)?;
    }
    // Nanoseconds carry into seconds when the value is stored.
    seconds.checked_add(nanos.div_euclid(1_000_000_000))?;
    Some([months, days, seconds, nanos])
}

fn fraction_nanos(fraction: &str, negative: bool) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = fraction.parse::<i64>().ok()? * 10i64.pow(9 - fraction.len() as u32);
    Some(if negative { -value } else { value })
}

/// `{x: .., y: ..[, z: ..]}` or `{longitude: .., latitude: ..[, height: ..]}` with an optional
/// `srid` or `crs`: the SRID and two or three numbers.
pub(crate) fn point(text: &str) -> Option<(u32, Vec<f64>)> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let [mut first, mut second, mut third] = [None::<f64>; 3];
    let (mut geographic, mut srid) = (false, None);
    for part in inner.split(',') {
        let (name, value) = part.split_once(':')?;
        let value = value.trim().trim_matches(['\'', '"']);
        let number = || value.parse::<f64>().ok();
        match name.trim() {
            "x" => first = Some(number()?),
            "y" => second = Some(number()?),
            "z" | "height" => third = Some(number()?),
            "longitude" => (first, geographic) = (Some(number()?), true),
            "latitude" => (second, geographic) = (Some(number()?), true),
            "srid" => srid = Some(value.parse().ok()?),
            "crs" => {
                srid = Some(match value.to_ascii_lowercase().as_str() {
                    "cartesian" => 7203,
                    "cartesian-3d" => 9157,
                    "wgs-84" => 4326,
                    "wgs-84-3d" => 4979,
                    _ => return None,
                });
            }
            _ => return None,
        }
    }
    let default = match (geographic, third.is_some()) {
        (false, false) => 7203,
        (false, true) => 9157,
        (true, false) => 4326,
        (true, true) => 4979,
    };
    let mut numbers = vec![first?, second?];
    numbers.extend(third);
    Some((srid.unwrap_or(default), numbers))
}

/// LDBC's dates as milliseconds since 1970: milliseconds, `yyyyMMddHHmmssSSS`, `yyyyMMdd`,
/// `yyyy-MM-dd`, ISO date-times with or without offset.
///
/// Eight digits are a date when they can be one (a birthday at midnight counts at least 86,400,000
/// milliseconds apart, and none of those below 100,000,000 is a date); seventeen digits likewise.
pub(crate) fn epoch_millis(field: &[u8]) -> Option<i64> {
    if let Some(number) = super::parse_i64(field) {
        let text = || std::str::from_utf8(field).ok();
        return match field.len() {
            8 => Some(
                text()
                    .and_then(date)
                    .map_or(number, |days| days * 86_400_000),
            ),
            17 if number > 0 => text().and_then(compact_millis).or(Some(number)),
            _ => Some(number),
        };
    }
    let moment = date_time(std::str::from_utf8(field).ok()?)?;
    Some(moment.seconds * 1000 + i64::from(moment.nanos / 1_000_000))
}

fn compact_millis(text: &str) -> Option<i64> {
    let mut rest = text;
    let days = take_date(&mut rest)?;
    let (hour, minute) = (digits(&mut rest, 2)?, digits(&mut rest, 2)?);
    let (second, millis) = (digits(&mut rest, 2)?, digits(&mut rest, 3)?);
    let valid = hour < 24 && minute < 60 && second < 60;
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    valid.then_some(days * 86_400_000 + seconds * 1000 + i64::from(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ldbc_form_gives_the_same_millisecond() {
        let expected = Some(1_284_620_040_602);
        for form in [
            "1284620040602",
            "2010-09-16T06:54:00.602+0000",
            "2010-09-16T06:54:00.602+00:00",
            "2010-09-16T08:54:00.602+02:00",
            "20100916065400602",
        ] {
            assert_eq!(epoch_millis(form.as_bytes()), expected, "{form}");
        }
        for form in ["19891203", "1989-12-03", "628646400000"] {
            assert_eq!(
                epoch_millis(form.as_bytes()),
                Some(628_646_400_000),
                "{form}"
            );
        }
        assert_eq!(epoch_millis(b"86400000"), Some(86_400_000));
        assert_eq!(epoch_millis(b"-86400000"), Some(-86_400_000));
        assert_eq!(epoch_millis(b"2010-02-30"), None);
        assert_eq!(epoch_millis(b"yesterday"), None);
    }

    #[test]
    fn calendar_edges() {
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!(date("2000-02-29"), Some(11_016));
        assert_eq!(date("1900-02-29"), None);
        assert_eq!(date("1969-12-31"), Some(-1));
        assert_eq!(local_time("12:50:35.5"), Some(46_235_500_000_000));
        assert_eq!(local_time("24:00"), None);
        assert_eq!(time("12:50Z"), Some((46_200_000_000_000, 0)));
    }

    #[test]
    fn moments_durations_points() {
        let moment = date_time("2015-06-24T12:50:35.556+02:00[Europe/Stockholm]").unwrap();
        assert_eq!(
            (moment.offset_seconds, moment.zone),
            (7200, "Europe/Stockholm")
        );
        assert_eq!(moment.seconds, 1_435_143_035);
        assert_eq!(
            duration("P1Y2M3DT4H5M6.5S"),
            Some([14, 3, 14_706, 500_000_000])
        );
        assert_eq!(duration("-P2W"), Some([0, -14, 0, 0]));
        assert_eq!(duration("P"), None);
        assert_eq!(duration("P9223372036854775807M1M"), None);
        assert_eq!(duration("P9223372036854775807D1W"), None);
        assert_eq!(duration("PT-9223372036854775808S-0.5S"), None);
        assert_eq!(duration("-P-9223372036854775808D"), None);
        assert_eq!(
            duration("P-9223372036854775808D"),
            Some([0, i64::MIN, 0, 0])
        );
        assert_eq!(point("{x: 1.5, y: -2}"), Some((7203, vec![1.5, -2.0])));
        assert_eq!(
            point("{latitude: 1, longitude: 2, height: 3}"),
            Some((4979, vec![2.0, 1.0, 3.0]))
        );
        assert_eq!(point("{x: 1}"), None);
    }
}
