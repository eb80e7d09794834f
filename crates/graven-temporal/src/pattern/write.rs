//! Writes a date or time by the items of a pattern.

use super::{DAYS, Item, MONTHS};
use crate::SECOND;
use crate::calendar::{civil, day_of_week, day_of_year, week};
use crate::parts::Parts;

/// Writes items; the letter that the value lacks, if one is.
pub(super) fn write_all(
    items: &[Item],
    parts: &Parts,
    out: &mut String,
) -> std::result::Result<(), char> {
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
