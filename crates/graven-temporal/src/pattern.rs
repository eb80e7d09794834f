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

mod length;
mod read;
mod write;

use graven_types::Duration;
use graven_types::told;

use crate::parts::Parts;
use crate::{Error, Result, Zone};
use length::write_length;
use read::{Found, read_all};
use write::write_all;

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
    is_named: bool,
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
                text: told!("{text}"),
            })?;
        Ok(Pattern {
            text: text.to_owned(),
            items,
            in_utc: lower == "iso_instant",
            is_named: named.is_some(),
        })
    }

    /// The text of a value.
    ///
    /// # Errors
    /// The pattern has a part that the value lacks.
    pub fn write(&self, parts: &Parts) -> Result<String> {
        let moved = self.in_utc.then(|| parts.same_instant(Zone::UTC));
        let mut out = String::new();
        write_all(&self.items, moved.as_ref().unwrap_or(parts), &mut out)
            .map_err(|letter| self.lacks(letter))?;
        Ok(out)
    }

    /// The text of a duration: its numbers in place of the letters.
    ///
    /// # Errors
    /// The pattern of a moment has a zone.
    pub fn write_duration(&self, length: &Duration) -> Result<String> {
        let mut out = String::new();
        write_length(&self.items, length, self.is_named, &mut out)
            .map_err(|letter| self.lacks(letter))?;
        Ok(out)
    }

    fn lacks(&self, letter: char) -> Error {
        let pattern = &self.text;
        Error::Lacks(told!(
            "the pattern {pattern} has `{letter}`, which the value lacks"
        ))
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
            text: told!("{text}"),
            why: told!("it is no text of the pattern {}", self.text),
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
    fn durations_are_written() {
        let length = crate::duration::parse("P3Y8M45DT50H71M82.5S").expect("a duration");
        for (pattern, wanted) in [
            ("yyyy-MM-dd HH:mm:ss.SSS", "0003-08-45 51:12:22.500"),
            ("HH 'hours' m", "51 hours 12"),
            ("w q [y] EEE", "6 2 [3] EEE"),
            ("iso_date", "0003-08-45"),
            ("iso_date_time", "0003-08-45T51:12:22.5"),
        ] {
            let pattern = Pattern::parse(pattern).expect(pattern);
            assert_eq!(pattern.write_duration(&length).as_deref(), Ok(wanted));
        }
        let zoned = Pattern::parse("iso_offset_time").expect("a pattern");
        assert!(zoned.write_duration(&length).is_err());
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
