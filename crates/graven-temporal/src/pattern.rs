//! Patterns of dates and times such as `yyyy-MM-dd HH:mm:ss`, as Java's formatters read them: a
//! value is written by one, and a text is read by one.
//!
//! # How it works
//! A pattern is letters, each with how often it is repeated, text between them (in quotes where it
//! has letters), and optional parts in brackets. Names such as `iso_offset_date_time` stand for
//! patterns. Names of months and days are English. A number is read with as many digits as there
//! are, unless another number follows it without a text between: then with as many as the pattern
//! has letters.
//!
//! # Invariants
//! * TE-20 What `iso_offset_date_time` has written, it reads as the same moment.
//!
//! # Source
//! The documentation of `java.time.format.DateTimeFormatter`.

use crate::calendar::{civil, date, day_of_week, day_of_year, ordinal_date, week, week_date};
use crate::parts::Parts;
use crate::zone::parse_offset;
use crate::{Error, Result, SECOND, Zone};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Names of patterns. `f` is the fraction of a second with its dot, if it is not zero; `o` is the
/// offset with its colon, or `Z`; `i` is the name of the zone, if it has one.
const NAMED: &[(&str, &str)] = &[
    ("basic_date", "uuuuMMdd"),
    ("basic_date_time", "uuuuMMdd'T'HHmmss.SSSZ"),
    ("basic_date_time_no_millis", "uuuuMMdd'T'HHmmssZ"),
    ("basic_iso_date", "uuuuMMdd[Z]"),
    ("basic_time", "HHmmss.SSSZ"),
    ("basic_time_no_millis", "HHmmssZ"),
    ("date", "uuuu-MM-dd"),
    ("date_hour", "uuuu-MM-dd'T'HH"),
    ("date_hour_minute", "uuuu-MM-dd'T'HH:mm"),
    ("date_hour_minute_second", "uuuu-MM-dd'T'HH:mm:ss"),
    ("date_optional_time", "uuuu-MM-dd['T'HH:mm[:ss]f[o]]"),
    ("date_time", "uuuu-MM-dd'T'HH:mm:ss.SSSo"),
    ("date_time_no_millis", "uuuu-MM-dd'T'HH:mm:sso"),
    ("hour", "HH"),
    ("hour_minute", "HH:mm"),
    ("hour_minute_second", "HH:mm:ss"),
    ("iso_date", "uuuu-MM-dd[o]"),
    ("iso_date_time", "uuuu-MM-dd'T'HH:mm[:ss]f[o]['['i']']"),
    ("iso_instant", "uuuu-MM-dd'T'HH:mm:ssfo"),
    ("iso_local_date", "uuuu-MM-dd"),
    ("iso_local_date_time", "uuuu-MM-dd'T'HH:mm[:ss]f"),
    ("iso_local_time", "HH:mm[:ss]f"),
    ("iso_offset_date", "uuuu-MM-ddo"),
    ("iso_offset_date_time", "uuuu-MM-dd'T'HH:mm[:ss]fo"),
    ("iso_offset_time", "HH:mm[:ss]fo"),
    ("iso_ordinal_date", "uuuu-DDD[o]"),
    ("iso_time", "HH:mm[:ss]f[o]"),
    ("iso_week_date", "YYYY-'W'ww-e[o]"),
    ("iso_zoned_date_time", "uuuu-MM-dd'T'HH:mm[:ss]fo['['i']']"),
    ("ordinal_date", "uuuu-DDD"),
    ("time", "HH:mm:ss.SSSo"),
    ("time_no_millis", "HH:mm:sso"),
    ("week_date", "YYYY-'W'ww-e"),
    ("year", "uuuu"),
    ("year_month", "uuuu-MM"),
    ("year_month_day", "uuuu-MM-dd"),
];

/// Letters that stand for something.
const LETTERS: &str = "GyuYMLQqdDwEeaHkKhmsSAnNVzOXxZfoi";

/// Bytes of a pattern.
pub const LENGTH_MAX: usize = 1000;

/// Optional parts within each other.
const DEPTH_MAX: usize = 16;

/// How often a letter is repeated.
const COUNT_MAX: usize = 19;

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Text(String),
    Letter(char, usize),
    Optional(Vec<Item>),
}

/// A pattern that was read.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    items: Vec<Item>,
    /// It writes moments on a clock of UTC.
    in_utc: bool,
}

impl Pattern {
    /// The pattern of this text, or of this name.
    ///
    /// # Errors
    /// A letter without a meaning; a quote or a bracket without its other half.
    ///
    /// # Examples
    /// ```
    /// use graven_temporal::pattern::Pattern;
    /// let day = Pattern::parse("d MMM yyyy").and_then(|it| it.read("3 Feb 2024"));
    /// let written = Pattern::parse("yyyy-MM-dd").and_then(|it| it.write(&day?));
    /// assert_eq!(written, Ok("2024-02-03".into()));
    /// ```
    pub fn parse(text: &str) -> Result<Pattern> {
        if text.len() > LENGTH_MAX {
            return Err(Error::Text {
                what: "pattern of dates and times of at most 1,000 characters",
                text: text.chars().take(40).collect(),
            });
        }
        let lower = text.to_ascii_lowercase();
        let named = NAMED.iter().find(|(name, _)| *name == lower);
        let chars: Vec<char> = named.map_or(text, |(_, pattern)| pattern).chars().collect();
        let mut at = 0;
        let items = items(&chars, &mut at, named.is_some(), 0)
            .filter(|_| at == chars.len())
            .ok_or_else(|| Error::Text {
                what: "pattern of dates and times, such as yyyy-MM-dd HH:mm:ss",
                text: text.to_owned(),
            })?;
        Ok(Pattern {
            text: text.to_owned(),
            items,
            in_utc: lower == "iso_instant",
        })
    }

    /// The text of a value.
    ///
    /// # Errors
    /// The pattern has a part that the value lacks.
    pub fn write(&self, parts: &Parts) -> Result<String> {
        let moved = self.in_utc.then(|| parts.same_instant(Zone::UTC));
        let mut out = String::new();
        write_all(&self.items, moved.as_ref().unwrap_or(parts), &mut out).map_err(|letter| {
            Error::Lacks(format!(
                "the pattern {} has `{letter}`, which the value lacks",
                self.text
            ))
        })?;
        Ok(out)
    }

    /// What a text says; what it does not say is none.
    ///
    /// # Errors
    /// A text of another form; a day that does not exist.
    pub fn read(&self, text: &str) -> Result<Parts> {
        let (found, rest) = self.found(text)?;
        if !rest.trim_end().is_empty() {
            return Err(self.wrong(text));
        }
        found.parts()
    }

    /// What the start of a text says, as Java's older formatter reads it.
    ///
    /// # Errors
    /// As [`Pattern::read`], but for what is behind the pattern.
    pub fn read_start(&self, text: &str) -> Result<Parts> {
        self.found(text)?.0.parts()
    }

    fn found<'a>(&self, text: &'a str) -> Result<(Found, &'a str)> {
        let mut found = Found::default();
        let rest = read_all(&self.items, text, &mut found).ok_or_else(|| self.wrong(text))?;
        Ok((found, rest))
    }

    fn wrong(&self, text: &str) -> Error {
        Error::Content {
            text: text.to_owned(),
            why: format!("it is no text of the pattern {}", self.text),
        }
    }
}

/// Items up to the end or a closing bracket; none where the pattern is wrong.
fn items(chars: &[char], at: &mut usize, is_named: bool, depth: usize) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    let text = |items: &mut Vec<Item>, c: char| match items.last_mut() {
        Some(Item::Text(last)) => last.push(c),
        _ => items.push(Item::Text(c.to_string())),
    };
    while let Some(c) = chars.get(*at).copied() {
        *at += 1;
        match c {
            '\'' if chars.get(*at) == Some(&'\'') => {
                *at += 1;
                text(&mut items, '\'');
            }
            '\'' => loop {
                let quoted = *chars.get(*at)?;
                *at += 1;
                if quoted != '\'' {
                    text(&mut items, quoted);
                } else if chars.get(*at) == Some(&'\'') {
                    *at += 1;
                    text(&mut items, '\'');
                } else {
                    break;
                }
            },
            '[' => {
                if depth == DEPTH_MAX {
                    return None;
                }
                items.push(Item::Optional(self::items(chars, at, is_named, depth + 1)?));
            }
            ']' => return (depth > 0).then_some(items),
            c if c.is_ascii_alphabetic() => {
                if !LETTERS.contains(c) || ("foi".contains(c) && !is_named) {
                    return None;
                }
                let more = chars[*at..].iter().take_while(|next| **next == c).count();
                *at += more;
                if more >= COUNT_MAX {
                    return None;
                }
                items.push(Item::Letter(c, 1 + more));
            }
            c => text(&mut items, c),
        }
    }
    (depth == 0).then_some(items)
}

/// Writes items; the letter that the value lacks, if one is.
fn write_all(items: &[Item], parts: &Parts, out: &mut String) -> std::result::Result<(), char> {
    for item in items {
        match item {
            Item::Text(text) => out.push_str(text),
            Item::Letter(letter, count) => {
                out.push_str(&letter_text(*letter, *count, parts).ok_or(*letter)?);
            }
            Item::Optional(items) => {
                let before = out.len();
                if write_all(items, parts, out).is_err() {
                    out.truncate(before);
                }
            }
        }
    }
    Ok(())
}

/// The first letters of a name, or all of it.
fn name(names: &[&str], number: i64, count: usize) -> String {
    let name = names[(number - 1) as usize];
    match count {
        4 => name.to_owned(),
        5 => name[..1].to_owned(),
        _ => name[..3].to_owned(),
    }
}

fn letter_text(letter: char, count: usize, parts: &Parts) -> Option<String> {
    let number = |value: i64| Some(format!("{value:0count$}"));
    match letter {
        'V' | 'z' | 'O' | 'X' | 'x' | 'Z' | 'o' | 'i' => return zone_text(letter, count, parts),
        'a' | 'H' | 'k' | 'K' | 'h' | 'm' | 's' | 'S' | 'A' | 'n' | 'N' | 'f' => {
            let nanos = parts.nanos?;
            let (seconds, fraction) = (nanos / SECOND, nanos % SECOND);
            let hour = seconds / 3600;
            return match letter {
                'a' => Some(if hour < 12 { "AM" } else { "PM" }.to_owned()),
                'H' => number(hour),
                'k' => number(if hour == 0 { 24 } else { hour }),
                'K' => number(hour % 12),
                'h' => number(if hour % 12 == 0 { 12 } else { hour % 12 }),
                'm' => number(seconds / 60 % 60),
                's' => number(seconds % 60),
                'S' => {
                    let digits = format!("{fraction:09}");
                    Some(format!("{digits:0<count$}").chars().take(count).collect())
                }
                'A' => number(nanos / 1_000_000),
                'n' => number(fraction),
                'N' => number(nanos),
                _ if fraction == 0 => Some(String::new()),
                _ => Some(format!(".{fraction:09}").trim_end_matches('0').to_owned()),
            };
        }
        _ => {}
    }
    let days = parts.date?;
    let (year, month, day) = civil(days);
    let quarter = (month + 2) / 3;
    let year_of = |year: i64| match count {
        2 => format!("{:02}", year.rem_euclid(100)),
        _ if year < 0 => format!("-{:0count$}", -year),
        4.. if year.to_string().len() > count => format!("+{year}"),
        _ => format!("{year:0count$}"),
    };
    match letter {
        'G' => Some(if year > 0 { "AD" } else { "BC" }.to_owned()),
        'y' if year <= 0 => Some(year_of(1 - year)),
        'y' | 'u' => Some(year_of(year)),
        'Y' => Some(year_of(week(days).0)),
        'M' | 'L' if count >= 3 => Some(name(&MONTHS, month, count)),
        'M' | 'L' => number(month),
        'Q' | 'q' if count == 3 => Some(format!("Q{quarter}")),
        'Q' | 'q' if count == 4 => {
            let name = ["1st", "2nd", "3rd", "4th"][(quarter - 1) as usize];
            Some(format!("{name} quarter"))
        }
        'Q' | 'q' if count > 4 => Some(quarter.to_string()),
        'Q' | 'q' => number(quarter),
        'd' => number(day),
        'D' => number(day_of_year(days)),
        'w' => number(week(days).1),
        'e' if count < 3 => number(day_of_week(days)),
        'E' | 'e' => Some(name(&DAYS, day_of_week(days), count)),
        _ => None,
    }
}

fn zone_text(letter: char, count: usize, parts: &Parts) -> Option<String> {
    let zone = parts.zone.as_ref()?;
    let offset = parts.offset_seconds();
    let (sign, size) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    let (hour, minute) = (size / 3600, size / 60 % 60);
    let with_colon = || format!("{sign}{hour:02}:{minute:02}");
    let with_seconds = || match size % 60 {
        0 => with_colon(),
        second => format!("{sign}{hour:02}:{minute:02}:{second:02}"),
    };
    let gmt = |long: bool| match (offset, long) {
        (0, _) => "GMT".to_owned(),
        (_, true) => format!("GMT{}", with_colon()),
        _ if minute == 0 => format!("GMT{sign}{hour}"),
        _ => format!("GMT{sign}{hour}:{minute:02}"),
    };
    Some(match letter {
        'V' | 'z' => match (zone.name(), offset) {
            (Some(name), _) => name.to_string(),
            (None, 0) => if letter == 'V' { "Z" } else { "UTC" }.to_owned(),
            (None, _) => with_colon(),
        },
        'i' => zone.name()?.to_string(),
        'O' => gmt(count == 4),
        'X' | 'o' if offset == 0 => "Z".to_owned(),
        'Z' if count == 4 => gmt(true),
        'Z' if count == 5 && offset == 0 => "Z".to_owned(),
        'X' | 'x' if count == 1 && minute == 0 => format!("{sign}{hour:02}"),
        'X' | 'x' if count == 3 => with_colon(),
        'X' | 'x' if count == 5 => with_seconds(),
        'Z' if count == 5 => with_colon(),
        'o' => with_seconds(),
        _ => format!("{sign}{hour:02}{minute:02}"),
    })
}

/// What a text has said so far.
#[derive(Clone, Debug, Default)]
struct Found {
    year: Option<i64>,
    before_christ: bool,
    week_year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    ordinal: Option<i64>,
    week: Option<i64>,
    day_of_week: Option<i64>,
    hour: Option<i64>,
    half: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    fraction: Option<i64>,
    nanos: Option<i64>,
    offset: Option<i32>,
    zone: Option<String>,
}

impl Found {
    fn parts(self) -> Result<Parts> {
        let day = match (self.year, self.week_year) {
            (Some(year), _) => {
                let year = if self.before_christ { 1 - year } else { year };
                Some(match self.ordinal {
                    Some(ordinal) => ordinal_date(year, ordinal)?,
                    None => date(year, self.month.unwrap_or(1), self.day.unwrap_or(1))?,
                })
            }
            (None, Some(year)) => {
                let (week, day) = (self.week.unwrap_or(1), self.day_of_week.unwrap_or(1));
                Some(week_date(year, week, day)?)
            }
            (None, None) => None,
        };
        let limit = |name: &str, value: Option<i64>, most: i64| {
            let value = value.unwrap_or(0);
            crate::calendar::check(name, value, 0, most).map(|()| value)
        };
        let hour = match (self.hour, self.half) {
            (Some(hour), Some(half)) => Some(hour % 12 + 12 * half),
            (hour, _) => hour,
        };
        let has_time = hour.or(self.minute).or(self.second).or(self.fraction);
        let nanos = match (self.nanos, has_time) {
            (Some(nanos), _) => Some(limit("nanosecond of the day", Some(nanos), crate::DAY - 1)?),
            (None, Some(_)) => {
                let minutes = limit("hour", hour, 23)? * 60 + limit("minute", self.minute, 59)?;
                let seconds = minutes * 60 + limit("second", self.second, 59)?;
                Some(seconds * SECOND + self.fraction.unwrap_or(0))
            }
            (None, None) => None,
        };
        let zone = match self.zone {
            Some(name) => Some(Zone::parse(&name)?),
            None => self.offset.map(Zone::Offset),
        };
        Ok(Parts {
            date: day,
            nanos,
            zone,
            offset: self.offset,
        })
    }
}

/// Reads items; the text behind them, or none where it has another form.
fn read_all<'a>(items: &[Item], mut text: &'a str, found: &mut Found) -> Option<&'a str> {
    for (at, item) in items.iter().enumerate() {
        text = match item {
            Item::Text(wanted) => text.strip_prefix(wanted.as_str())?,
            Item::Letter(letter, count) => {
                let is_adjacent = matches!(items.get(at + 1),
                    Some(Item::Letter(next, count)) if is_number(*next, *count));
                read_letter(*letter, *count, is_adjacent, text, found)?
            }
            Item::Optional(items) => {
                let mut tried = found.clone();
                match read_all(items, text, &mut tried) {
                    Some(rest) => {
                        *found = tried;
                        rest
                    }
                    None => text,
                }
            }
        };
    }
    Some(text)
}

fn is_number(letter: char, count: usize) -> bool {
    match letter {
        'M' | 'L' | 'Q' | 'q' | 'e' => count < 3,
        'y' | 'u' | 'Y' | 'd' | 'D' | 'w' | 'H' | 'k' | 'K' | 'h' | 'm' | 's' | 'S' | 'A' | 'n'
        | 'N' => true,
        _ => false,
    }
}

/// One of the names, in any case, whole or its first three letters: its number from one on.
fn read_name<'a>(names: &[&str], text: &'a str) -> Option<(i64, &'a str)> {
    for (number, name) in (1..).zip(names) {
        for length in [name.len(), 3] {
            if let Some(start) = text.get(..length)
                && start.eq_ignore_ascii_case(&name[..length])
            {
                return Some((number, &text[length..]));
            }
        }
    }
    None
}

/// A number: its value, its digits and what is behind it.
fn read_number(text: &str, most: usize, signed: bool) -> Option<(i64, usize, &str)> {
    let (sign, rest) = match text.strip_prefix('-').filter(|_| signed) {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').filter(|_| signed).unwrap_or(text)),
    };
    let digits = rest
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    let value: i64 = rest[..digits].parse().ok()?;
    Some((sign * value, digits, &rest[digits..]))
}

fn read_letter<'a>(
    letter: char,
    count: usize,
    is_adjacent: bool,
    text: &'a str,
    found: &mut Found,
) -> Option<&'a str> {
    match letter {
        'G' | 'a' => {
            let (start, rest) = (text.get(..2)?, &text[2..]);
            let is = |wanted: &str| start.eq_ignore_ascii_case(wanted);
            match letter {
                'G' if is("BC") => found.before_christ = true,
                'G' if is("AD") => {}
                'a' if is("AM") => found.half = Some(0),
                'a' if is("PM") => found.half = Some(1),
                _ => return None,
            }
            return Some(rest);
        }
        'f' => {
            let Some(rest) = text.strip_prefix('.') else {
                return Some(text);
            };
            let (value, digits, rest) = read_number(rest, 9, false)?;
            found.fraction = Some(value * 10_i64.pow(9 - digits as u32));
            return Some(rest);
        }
        'V' | 'z' | 'O' | 'X' | 'x' | 'Z' | 'o' | 'i' => return read_zone(letter, text, found),
        _ => {}
    }
    if !is_number(letter, count) {
        let (names, into) = match letter {
            'M' | 'L' => (&MONTHS[..], &mut found.month),
            'E' | 'e' => (&DAYS[..], &mut found.day_of_week),
            _ => return None,
        };
        let (number, rest) = read_name(names, text)?;
        *into = Some(number);
        return Some(rest);
    }
    let most = if is_adjacent { count } else { 18 };
    let signed = matches!(letter, 'y' | 'u' | 'Y') && !is_adjacent;
    let (value, digits, rest) = read_number(text, most, signed)?;
    let full = match (count, digits) {
        (2, 2) => 2000 + value,
        _ => value,
    };
    match letter {
        'y' | 'u' => found.year = Some(full),
        'Y' => found.week_year = Some(full),
        'M' | 'L' => found.month = Some(value),
        'd' => found.day = Some(value),
        'D' => found.ordinal = Some(value),
        'w' => found.week = Some(value),
        'e' => found.day_of_week = Some(value),
        'k' if !(1..=24).contains(&value) => return None,
        'h' if !(1..=12).contains(&value) => return None,
        'K' if value > 11 => return None,
        'H' | 'K' => found.hour = Some(value),
        'k' if value == 24 => found.hour = Some(0),
        'h' if value == 12 => found.hour = Some(0),
        'k' | 'h' => found.hour = Some(value),
        'm' => found.minute = Some(value),
        's' => found.second = Some(value),
        'S' => {
            found.fraction = Some(value.checked_mul(10_i64.pow(9_u32.checked_sub(digits as u32)?))?)
        }
        'n' => found.fraction = Some(value).filter(|nanos| *nanos < SECOND),
        'A' => found.nanos = Some(value.checked_mul(1_000_000)?),
        'N' => found.nanos = Some(value),
        'Q' | 'q' => {}
        _ => return None,
    }
    Some(rest)
}

fn read_zone<'a>(letter: char, text: &'a str, found: &mut Found) -> Option<&'a str> {
    let text = text
        .strip_prefix("GMT")
        .filter(|rest| !rest.is_empty())
        .unwrap_or(text);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/_+-:".contains(c);
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (own, rest) = text.split_at(length);
    match (parse_offset(own), letter) {
        (Some(offset), _) => found.offset = Some(offset),
        (None, 'V' | 'z' | 'O' | 'i') if !own.is_empty() => found.zone = Some(own.to_owned()),
        _ => return None,
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    //! Goal: texts that Java writes and reads, and what a text or a value does not have.

    use graven_types::PropertyValue;

    use super::*;
    use crate::parts::Kind;
    use crate::text;

    fn moment(text: &str) -> Parts {
        let value = text::parse(Kind::DateTime, text, &Zone::UTC).expect(text);
        Parts::of(&value).expect("a moment")
    }

    #[test]
    fn values_are_written() {
        let at = moment("2024-02-03T16:05:09.012+01:00[Europe/Paris]");
        for (pattern, wanted) in [
            ("yyyy-MM-dd HH:mm:ss", "2024-02-03 16:05:09"),
            ("dd.M.yy, h:mm a", "03.2.24, 4:05 PM"),
            ("EEE, d MMM yyyy 'at' HH''mm", "Sat, 3 Feb 2024 at 16'05"),
            ("EEEE MMMM Q DDD", "Saturday February 1 034"),
            ("SSS SSSSSS n", "012 012000 12000000"),
            (
                "X XX Z ZZZZZ OOOO VV",
                "+01 +0100 +0100 +01:00 GMT+01:00 Europe/Paris",
            ),
            ("iso_offset_date_time", "2024-02-03T16:05:09.012+01:00"),
            (
                "ISO_ZONED_DATE_TIME",
                "2024-02-03T16:05:09.012+01:00[Europe/Paris]",
            ),
            ("QQQQ uuuuu", "1st quarter 02024"),
            ("iso_instant", "2024-02-03T15:05:09.012Z"),
            ("iso_week_date", "2024-W05-6+01:00"),
            ("basic_date_time", "20240203T160509.012+0100"),
        ] {
            let pattern = Pattern::parse(pattern).expect(pattern);
            assert_eq!(pattern.write(&at).as_deref(), Ok(wanted), "{pattern:?}");
        }
        for text in [
            "2024-02-03T16:05:09.012+01:00",
            "-0044-03-15T12:00:00Z",
            "+12024-02-03T16:05:09.000000001-03:30",
        ] {
            for name in [
                "iso_zoned_date_time",
                "iso_date_time",
                "iso_offset_date_time",
            ] {
                let pattern = Pattern::parse(name).expect(name);
                let at = moment(text);
                assert_eq!(pattern.write(&at).as_deref(), Ok(text), "{name}");
                let read = pattern.read(text).expect(text);
                assert_eq!(
                    read.value(Kind::DateTime),
                    at.value(Kind::DateTime),
                    "{name}"
                );
            }
        }
        let day = Parts::of(&PropertyValue::Date(0)).expect("a day");
        assert!(
            Pattern::parse("HH")
                .expect("a pattern")
                .write(&day)
                .is_err()
        );
        let written = Pattern::parse("date_optional_time").and_then(|it| it.write(&day));
        assert_eq!(written.as_deref(), Ok("1970-01-01"));
    }

    #[test]
    fn texts_are_read() {
        for (pattern, text, wanted) in [
            (
                "yyyy-MM-dd HH:mm:ss",
                "2024-2-3 4:05:09",
                "2024-02-03T04:05:09Z",
            ),
            ("yyyyMMddHHmmss", "20240203160509", "2024-02-03T16:05:09Z"),
            ("d MMM yy h:mm a", "3 feb 24 12:05 am", "2024-02-03T00:05Z"),
            ("d MMMM yyyy", "3 May 2024", "2024-05-03T00:00Z"),
            (
                "iso_zoned_date_time",
                "2024-02-03T16:05:09.5+01:00[Europe/Paris]",
                "2024-02-03T16:05:09.5+01:00[Europe/Paris]",
            ),
            ("iso_date_time", "2024-02-03T16:05", "2024-02-03T16:05Z"),
            (
                "yyyy-MM-dd'T'HH:mm:ss.SSSX",
                "2024-02-03T16:05:09.012-03",
                "2024-02-03T16:05:09.012-03:00",
            ),
            ("week_date", "2024-W05-6", "2024-02-03T00:00Z"),
            ("yyyy-DDD", "2024-034", "2024-02-03T00:00Z"),
        ] {
            let read = Pattern::parse(pattern)
                .and_then(|it| it.read(text))
                .expect(text);
            let value = read.value(Kind::DateTime).expect(text);
            assert_eq!(
                text::write(&value),
                text::write(&moment(wanted).value(Kind::DateTime).expect(text))
            );
        }
        for (pattern, text) in [
            ("yyyy-MM-dd", "2024-13-01"),
            ("yyyy-MM-dd", "2024-02-30"),
            ("yyyy-MM-dd", "2024-02"),
            ("yyyy", "2024 and more"),
            ("h:mm a", "99:00 AM"),
            ("HH:mm", "24:00"),
            ("MMM", "Foo"),
            ("X", "Paris"),
            ("y", "99999999999999999"),
            ("Y w", "-99999999999999999 99"),
        ] {
            let read = Pattern::parse(pattern).and_then(|it| it.read(text));
            assert!(read.is_err(), "{pattern} {text}: {read:?}");
        }
        let (deep, long) = ("[".repeat(5000), "y".repeat(100_000));
        for pattern in ["yyyy'T", "[yyyy", "yyyy]", "yyyy-bb", "f", &deep, &long] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
