//! `apoc.number`: numbers as texts, and Roman numbers.
//!
//! # Source
//! Neo4j APOC Core 5, documentation of `apoc.number`; that of `java.text.DecimalFormat`, of whose
//! patterns there are `0`, `#`, `,`, `.`, `%`, quoted and other letters around them, and a second
//! pattern for negative numbers.

use super::text;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_types::told;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.number.arabictoroman", (1, 1), to_roman),
    Function::new("apoc.number.format", (1, 3), format),
    Function::new("apoc.number.romantoarabic", (1, 1), from_roman),
];

/// Roman numbers from the largest on, with what they are.
const ROMAN: &[(&str, i64)] = &[
    ("M", 1000),
    ("CM", 900),
    ("D", 500),
    ("CD", 400),
    ("C", 100),
    ("XC", 90),
    ("L", 50),
    ("XL", 40),
    ("X", 10),
    ("IX", 9),
    ("V", 5),
    ("IV", 4),
    ("I", 1),
];

fn to_roman(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let mut left = match &args[0] {
        Value::Integer(number) => *number,
        Value::Float(number) => *number as i64,
        _ => return Ok(Value::Null),
    };
    // There is no letter above the thousand: each million more is a thousand letters.
    if left > i64::from(i32::MAX) {
        return Err(ExecError::Argument {
            message: told!(
                "apoc.number.arabicToRoman() needs a number up to {}, got {left}",
                i32::MAX
            ),
        });
    }
    let mut roman = Text::default();
    for (letters, worth) in ROMAN {
        while left >= *worth {
            work(1)?;
            roman.push(letters)?;
            left -= worth;
        }
    }
    roman.value()
}

/// What the letters up to the first other one say, the longest number first at each place.
fn from_roman(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let given = text("apoc.number.romanToArabic", &args[0])?;
    let given = given.map_or("", |text| text);
    charge(given.len())?;
    let upper = given.to_ascii_uppercase();
    let mut rest = &*upper;
    let mut number = 0;
    let found = |rest: &str| ROMAN.iter().find(|(letters, _)| rest.starts_with(letters));
    while let Some((letters, worth)) = found(rest) {
        work(1)?;
        number += worth;
        rest = &rest[letters.len()..];
    }
    Ok(Value::Integer(number))
}

/// What a pattern says of one sign of numbers.
#[derive(Default)]
struct Pattern {
    before: String,
    behind: String,
    whole_least: usize,
    /// Digits between two commas; none: no commas.
    group: Option<usize>,
    fraction_least: usize,
    fraction_most: usize,
    /// What the number is multiplied with: 100 for `%`, 1000 for the sign of thousandths.
    factor: u32,
}

/// All whole numbers up to here are floats.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Longest pattern.
const PATTERN_MAX: usize = 100;

impl Pattern {
    fn of(pattern: &str) -> Pattern {
        let mut own = Pattern {
            factor: 1,
            ..Pattern::default()
        };
        let (mut in_number, mut behind, mut quoted) = (false, false, false);
        let mut in_fraction = false;
        for c in pattern.chars() {
            let digit = !quoted && matches!(c, '0' | '#' | ',' | '.');
            if digit && !behind {
                in_number = true;
                match (c, in_fraction) {
                    ('.', _) => in_fraction = true,
                    (',', _) => own.group = Some(0),
                    (c, true) => {
                        own.fraction_most += 1;
                        own.fraction_least += usize::from(c == '0');
                    }
                    (c, false) => {
                        own.whole_least += usize::from(c == '0');
                        own.group = own.group.map(|digits| digits + 1);
                    }
                }
                continue;
            }
            behind = in_number;
            match c {
                '\'' => quoted = !quoted,
                c => {
                    match c {
                        '%' if !quoted => own.factor = 100,
                        '\u{2030}' if !quoted => own.factor = 1000,
                        _ => {}
                    }
                    let side = if behind {
                        &mut own.behind
                    } else {
                        &mut own.before
                    };
                    side.push(c);
                }
            }
        }
        own.group = own.group.filter(|digits| *digits > 0);
        own
    }

    /// The digits of a number that is not negative.
    fn digits(&self, number: &Value) -> String {
        let places = self.fraction_most;
        let text = match number {
            Value::Integer(number) => {
                let whole = u128::from(number.unsigned_abs()) * u128::from(self.factor);
                format!("{whole}.{}", "0".repeat(places))
            }
            Value::Float(number) => {
                let scaled = number.abs() * f64::from(self.factor);
                // Of a number this large, the digits that tell it from others, and then zeros.
                let text = match scaled >= EXACT_MAX {
                    true => format!("{scaled}.{}", "0".repeat(places)),
                    false => format!("{scaled:.places$}"),
                };
                if text.contains('.') { text } else { text + "." }
            }
            _ => ".".to_owned(),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let kept = fraction
            .trim_end_matches('0')
            .len()
            .max(self.fraction_least);
        let whole = whole.trim_start_matches('0');
        let whole = format!(
            "{}{whole}",
            "0".repeat(self.whole_least.saturating_sub(whole.len()))
        );
        let mut out = String::new();
        for (at, digit) in whole.chars().enumerate() {
            let left = whole.len() - at;
            let cut = self.group.is_some_and(|digits| left % digits == 0);
            if at > 0 && cut {
                out.push(',');
            }
            out.push(digit);
        }
        if kept > 0 {
            out.push('.');
            out.push_str(&fraction[..kept]);
        }
        if out.is_empty() { "0".to_owned() } else { out }
    }
}

/// Whether a text is the form of a language's name.
pub(super) fn is_language(name: &str) -> bool {
    matches!(name.len(), 2 | 3) && name.bytes().all(|letter| letter.is_ascii_lowercase())
}

/// The number by a pattern, as `DecimalFormat` writes it in English; null of what is no number.
fn format(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.number.format";
    let word = |at: usize| -> Result<&str> {
        let given = args.get(at).map(|value| text(name, value));
        Ok(given.transpose()?.flatten().map_or("", |text| text))
    };
    let refused = |message: String| Err(ExecError::Argument { message });
    let (given, language) = (word(1)?, word(2)?);
    // No language has such a name.
    if !language.is_empty() && !is_language(language) {
        return Ok(Value::Null);
    }
    if !matches!(language, "" | "en") {
        return refused(told!("{name}() writes English numbers, not `{language}`"));
    }
    if given.len() > PATTERN_MAX {
        return refused(told!(
            "{name}() needs a pattern of {PATTERN_MAX} bytes at most"
        ));
    }
    // Outside of quotes it stands before the digits of an exponent.
    if given.split('\'').step_by(2).any(|part| part.contains("E0")) {
        return refused(told!("{name}() writes no exponents, as `{given}` asks for"));
    }
    let given = if given.is_empty() { "#,##0.###" } else { given };
    let negative = match &args[0] {
        Value::Integer(number) => *number < 0,
        Value::Float(number) if number.is_finite() => number.is_sign_negative(),
        Value::Float(number) if number.is_nan() => return Ok(Value::text("NaN")),
        Value::Float(number) => {
            let sign = if *number < 0.0 { "-" } else { "" };
            return Ok(Value::text(&format!("{sign}\u{221e}")));
        }
        _ => return Ok(Value::Null),
    };
    // The largest float has 309 digits, and commas between them.
    charge(2048)?;
    let (positive, other) = given.split_once(';').unwrap_or((given, ""));
    let pattern = Pattern::of(positive);
    let digits = pattern.digits(&args[0]);
    let (before, behind) = match (negative, other) {
        (false, _) => (pattern.before, pattern.behind),
        (true, "") => (format!("-{}", pattern.before), pattern.behind),
        (true, other) => {
            let other = Pattern::of(other);
            (other.before, other.behind)
        }
    };
    Ok(Value::text(&format!("{before}{digits}{behind}")))
}

#[cfg(test)]
mod tests {
    //! Goal: numbers are written as `DecimalFormat` writes them.

    use super::*;

    fn written(number: Value, pattern: &str) -> String {
        let (positive, _) = pattern.split_once(';').unwrap_or((pattern, ""));
        let own = Pattern::of(positive);
        format!("{}{}{}", own.before, own.digits(&number), own.behind)
    }

    #[test]
    fn patterns_of_numbers() {
        for (number, pattern, text) in [
            (Value::Integer(1_234_567), "#,##0.###", "1,234,567"),
            (Value::Float(12345.67), "#,##0.###", "12,345.67"),
            (Value::Float(0.5), "#.00", ".50"),
            (Value::Float(0.125), "0.00", "0.12"),
            (Value::Float(0.256), "0.0%", "25.6%"),
            (Value::Integer(7), "000", "007"),
            (Value::Integer(0), "#", "0"),
            (Value::Float(3.0), "$#,##0.00 'a#'", "$3.00 a#"),
            (Value::Float(2.5), "0", "2"),
        ] {
            assert_eq!(written(number.clone(), pattern), text, "{number} {pattern}");
        }
    }
}
