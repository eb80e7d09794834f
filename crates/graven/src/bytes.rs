//! Byte sizes in text: `16MiB` to a number and back.

use crate::error::Error;

const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Reads a size: a number, perhaps with a fraction, and one of `B`, `KiB`, `MiB`, `GiB`, `TiB`
/// (case and the `iB` may be left out: `16m` is 16 MiB). A bare number is bytes.
///
/// # Errors
/// `Config.Invalid`: the text is not a size or does not fit 64 bits.
///
/// # Examples
/// ```
/// assert_eq!(graven::parse_bytes("16MiB")?, 16 << 20);
/// assert_eq!(graven::parse_bytes("1.5g")?, 3 << 29);
/// assert!(graven::parse_bytes("16 parsecs").is_err());
/// # Ok::<(), graven::Error>(())
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, Error> {
    let invalid = || {
        Error::config(format!(
            "`{text}` is not a size; write a number and a unit, for example 16MiB or 1GiB"
        ))
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let factor = if unit.is_empty() {
        1
    } else {
        UNITS
            .iter()
            .find(|(name, _)| {
                let short = &name[..1];
                [*name, short, &format!("{short}B")]
                    .iter()
                    .any(|n| n.eq_ignore_ascii_case(unit))
            })
            .ok_or_else(invalid)?
            .1
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(invalid);
    }
    let bytes = number.parse::<f64>().map_err(|_| invalid())? * factor as f64;
    if bytes.is_finite() && bytes < u64::MAX as f64 {
        Ok(bytes as u64)
    } else {
        Err(invalid())
    }
}

/// A size for people: the largest unit that leaves at least 1, with at most two decimals.
///
/// # Examples
/// ```
/// assert_eq!(graven::format_bytes(16 << 20), "16 MiB");
/// assert_eq!(graven::format_bytes(1536), "1.5 KiB");
/// assert_eq!(graven::format_bytes(999), "999 B");
/// ```
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    for (name, factor) in UNITS {
        if bytes >= *factor {
            let number = format!("{:.2}", bytes as f64 / *factor as f64);
            let number = number.trim_end_matches('0').trim_end_matches('.');
            return format!("{number} {name}");
        }
    }
    "0 B".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64KiB", 65_536),
            ("64 kib", 65_536),
            ("64kb", 65_536),
            ("64K", 65_536),
            ("0.5MiB", 524_288),
            (" 2 GiB ", 2 << 30),
        ] {
            assert_eq!(parse_bytes(text).expect(text), bytes, "{text}");
        }
        for text in ["", "MiB", "16 M iB", "1..5M", "-1", "99999999999TiB", "1e3"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_short() {
        for (bytes, text) in [(0, "0 B"), (1024, "1 KiB"), (1_500_000, "1.43 MiB")] {
            assert_eq!(format_bytes(bytes), text);
        }
    }
}
