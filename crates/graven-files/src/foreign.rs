//! Texts of values as Kuzu writes them: durations in words, instants for times without a zone,
//! bytes with escapes.

use graven_temporal::duration::Sum;
use graven_temporal::{Kind, Zone, text};
use graven_types::PropertyValue;
use graven_types::{DateTime, LocalDateTime};

/// Short names of units, and those that durations are made of.
const UNITS: &[(&str, &str)] = &[
    ("y", "years"),
    ("mon", "months"),
    ("d", "days"),
    ("h", "hours"),
    ("m", "minutes"),
    ("min", "minutes"),
    ("mins", "minutes"),
    ("sec", "seconds"),
    ("secs", "seconds"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
];

/// Units of several years.
const YEARS: &[(&str, u32)] = &[
    ("decade", 10),
    ("decades", 10),
    ("century", 100),
    ("centuries", 100),
    ("millennium", 1000),
    ("millenniums", 1000),
    ("millennia", 1000),
];

/// `3 years 2 days 13 hours 2 minutes`, `1 day 10:20:30`.
pub(crate) fn duration(given: &str) -> Option<PropertyValue> {
    let mut parts = Sum::default();
    let mut words = given.split_whitespace().peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            let mut units = ["hours", "minutes", "seconds"].into_iter();
            for amount in word.split(':') {
                add(&mut parts, units.next()?, amount)?;
            }
            continue;
        }
        let digits = word.find(|c: char| c.is_ascii_alphabetic());
        let (amount, unit) = match digits {
            Some(at) => word.split_at(at),
            None => (word, words.next()?),
        };
        add(&mut parts, &unit.to_ascii_lowercase(), amount)?;
    }
    parts.finish().ok().map(PropertyValue::Duration)
}

fn add(parts: &mut Sum, unit: &str, amount: &str) -> Option<()> {
    if let Some((_, years)) = YEARS.iter().find(|(name, _)| *name == unit) {
        return (0..*years).try_for_each(|_| add(parts, "years", amount));
    }
    let known = UNITS.iter().find(|(short, _)| *short == unit);
    let unit = known.map_or(unit, |(_, unit)| unit);
    let plural = match unit.ends_with('s') {
        true => unit.to_owned(),
        false => format!("{unit}s"),
    };
    parts.add_text(&plural, amount).ok()?
}

/// An instant as the date and time that it is in UTC: `2008-11-03T13:25:30-02:00`.
pub(crate) fn time_of_instant(given: &str) -> Option<PropertyValue> {
    let given = given.replace("Z+", "+").replace("Z-", "-");
    let read = text::parse(Kind::DateTime, &given, &Zone::UTC).ok()?;
    let PropertyValue::DateTime(DateTime {
        seconds,
        nanoseconds,
        ..
    }) = read
    else {
        return None;
    };
    Some(PropertyValue::LocalDateTime(LocalDateTime {
        seconds,
        nanoseconds,
    }))
}

/// ASCII with bytes as `\\xAB`.
pub(crate) fn bytes(given: &str) -> Option<PropertyValue> {
    let mut bytes = Vec::with_capacity(given.len());
    let mut rest = given;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = rest[at..].trim_start_matches('\\').strip_prefix('x')?;
        let digits = escape.get(..2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &escape[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    given.is_ascii().then(|| PropertyValue::Bytes(bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_types::Duration;

    /// Goal: what Kuzu writes is read, and what is no such text is not.
    #[test]
    fn texts_of_kuzu_are_read() {
        let read = |months, days, seconds, nanoseconds| {
            Some(PropertyValue::Duration(Duration {
                months,
                days,
                seconds,
                nanoseconds,
            }))
        };
        let long = "10 years 5 months 13 hours 24 us";
        assert_eq!(duration(long), read(125, 0, 13 * 3600, 24_000));
        assert_eq!(duration("2day 10:20:30"), read(0, 2, 37_230, 0));
        assert_eq!(duration("2 ages"), None);
        assert_eq!(duration(""), None);
        let utc = |seconds| {
            let nanoseconds = 0;
            Some(PropertyValue::LocalDateTime(LocalDateTime {
                seconds,
                nanoseconds,
            }))
        };
        assert_eq!(time_of_instant("1970-01-01T01:00:00-02:00"), utc(10_800));
        assert_eq!(time_of_instant("1970-01-01T01:00:00Z+00:00"), utc(3600));
        let given = PropertyValue::Bytes([0xab, b'i', 0x0b].as_slice().into());
        assert_eq!(bytes("\\xABi\\\\x0B"), Some(given));
        assert_eq!(bytes("\\q"), None);
    }
}
