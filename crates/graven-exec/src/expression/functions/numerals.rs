//! Numbers in other digits than those of the language: decimal digits of other scripts, and floats
//! in hexadecimal digits.

use std::borrow::Cow;

/// The digits 0 of scripts, each of which is followed by the other nine.
const ZEROS: [u32; 36] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// The text with decimal digits of other scripts as `0` to `9`.
pub(super) fn in_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    text.chars().map(ascii).collect::<String>().into()
}

fn ascii(c: char) -> char {
    let code = u32::from(c);
    let digit = ZEROS
        .iter()
        .find_map(|zero| code.checked_sub(*zero).filter(|digit| *digit < 10));
    digit
        .and_then(|digit| char::from_digit(digit, 10))
        .unwrap_or(c)
}

/// The float that hexadecimal digits and an exponent of 2 are: `0x1.8p3`; none if it is another
/// text.
pub(super) fn hexadecimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))?;
    let (digits, exponent) = digits.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let behind_point = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let number = scaled(number, exponent.saturating_sub(behind_point));
    Some(if text.starts_with('-') {
        -number
    } else {
        number
    })
}

/// The number times this power of 2.
fn scaled(mut number: f64, mut exponent: i32) -> f64 {
    /// Powers of 2 up to this one, and down to its inverse, are floats.
    const STEP: i32 = 1000;
    // What is 0 or infinite stays so, and so do numbers behind a few steps.
    for _ in 0..4 {
        let step = exponent.clamp(-STEP, STEP);
        number *= 2.0_f64.powi(step);
        exponent -= step;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: hexadecimal floats are read as Java reads them.
    #[test]
    fn floats_in_hexadecimal_digits() {
        for (text, number) in [
            ("0x1p3", 8.0),
            ("-0X1.8P1", -3.0),
            ("0x.8p1", 1.0),
            ("+0x1.p-2", 0.25),
            ("0x1p-1074", 5e-324),
            ("0x1p9999", f64::INFINITY),
        ] {
            assert_eq!(hexadecimal(text), Some(number), "{text}");
        }
        for text in ["0x1", "0x1p", "0xp1", "1p1", "0x1g.p1", "0x1p1.5"] {
            assert_eq!(hexadecimal(text), None, "{text}");
        }
    }

    /// Goal: digits of any script count, other numerals do not.
    #[test]
    fn digits_of_other_scripts() {
        assert_eq!(in_ascii("-\u{663}\u{ff15}"), "-35");
        assert_eq!(in_ascii("\u{2167}\u{b2}"), "\u{2167}\u{b2}");
    }
}
