//! Writes a duration by the items of a pattern.
//!
//! # How it works
//! Letters of years, months, weeks, days, hours, minutes and parts of a second are the numbers of
//! the duration, padded to the letters' count: of months and smaller units what is left above the
//! next larger one, of days all of them. Letters that no duration has stand for themselves.
//!
//! # Source
//! Neo4j APOC Core 5, `apoc.temporal.formatDuration`.

use graven_types::Duration;

use super::Item;
use crate::duration::nanos;

/// Writes items; the letter that no duration has, if a named pattern needs one.
pub(super) fn write_length(
    items: &[Item],
    length: &Duration,
    is_named: bool,
    out: &mut String,
) -> std::result::Result<(), char> {
    for item in items {
        match item {
            Item::Text(text) => out.push_str(text),
            Item::Letter(letter, _) if is_named && "oi".contains(*letter) => return Err(*letter),
            Item::Letter(letter, count) => out.push_str(&letter_text(*letter, *count, length)),
            Item::Optional(items) if is_named => {
                let before = out.len();
                if write_length(items, length, is_named, out).is_err() {
                    out.truncate(before);
                }
            }
            Item::Optional(items) => {
                out.push('[');
                write_length(items, length, is_named, out)?;
                out.push(']');
            }
        }
    }
    Ok(())
}

fn letter_text(letter: char, count: usize, length: &Duration) -> String {
    let number = |value: i64| format!("{value:0count$}");
    let fraction = || format!("{:09}", length.nanoseconds);
    match letter {
        'y' | 'u' | 'Y' => number(length.months / 12),
        'M' | 'L' => number(length.months % 12),
        'Q' | 'q' => number(length.months % 12 / 3),
        'w' => number(length.days / 7),
        'd' | 'D' => number(length.days),
        'H' | 'h' | 'K' | 'k' => number(length.seconds / 3600),
        'm' => number(length.seconds / 60 % 60),
        's' => number(length.seconds % 60),
        'S' | 'n' => format!("{:0<count$}", fraction())[..count].to_owned(),
        'A' => nanos(length).div_euclid(1_000_000).to_string(),
        'N' => nanos(length).to_string(),
        'f' if length.nanoseconds == 0 => String::new(),
        'f' => format!(".{}", fraction().trim_end_matches('0')),
        _ => letter.to_string().repeat(count),
    }
}
