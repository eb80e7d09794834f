//! Reads a text by the items of a pattern.
//!
//! # How it works
//! A number takes as many digits as there are, unless another number follows it without a text
//! between: then as many as the pattern has letters. An optional part that does not fit is passed
//! over.

use super::{DAYS, Item, MONTHS};
use crate::calendar::{date, ordinal_date, week_date};
use crate::parts::Parts;
use crate::zone::parse_offset;
use crate::{Result, SECOND, Zone};

/// What a text has said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
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
    pub(super) fn parts(self) -> Result<Parts> {
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
pub(super) fn read_all<'a>(
    items: &[Item],
    mut text: &'a str,
    found: &mut Found,
) -> Option<&'a str> {
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
