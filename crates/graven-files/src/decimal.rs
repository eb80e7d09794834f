//! Decimals: digits of a text as the float that shows them.
//!
//! # How it works
//! The digits of a text are rounded to so many behind the point as digits, not as a float: a half
//! goes away from zero. A decimal is kept as the float next to it, where these digits come back
//! from that float; up to [`SURE_DIGITS`] of them always do, but of numbers so small that floats
//! have fewer digits for them. Others are refused.
//!
//! # Invariants
//! * FI-17 A decimal has the digits that the file has, rounded to its scale as digits: no float is
//!   rounded. What no float shows is an error.
//!
//! # Cost
//! Linear in the text.

use graven_types::told;

/// Digits that come back from a normal float, whatever they are.
const SURE_DIGITS: usize = 15;
/// Units with no more of them.
const SURE_UNITS: u128 = 1_000_000_000_000_000;
/// Most digits of a decimal.
pub(crate) const DIGITS_MAX: u32 = 38;
/// Bytes of a text that is read as a number with all its digits.
const TEXT_MAX: usize = 1 << 10;

/// Digits before and behind the point where a type names none.
pub const DEFAULT: (u32, u32) = (18, 3);

/// What the text of a number says.
struct Digits {
    is_negative: bool,
    /// Without zeros in front.
    digits: String,
    /// The power of ten that they are counted in.
    exponent: i64,
}

impl Digits {
    fn read(text: &str) -> Option<Digits> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let is_negative = text.starts_with('-');
        let plain = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (number, exponent) = match plain.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent_of(exponent)?),
            None => (plain, 0),
        };
        let (whole, behind) = number.split_once('.').unwrap_or((number, ""));
        let are_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.len() + behind.len() == 0 || !are_digits(whole) || !are_digits(behind) {
            return None;
        }
        let behind_len = i64::try_from(behind.len()).ok()?;
        let mut digits = whole.trim_start_matches('0').to_owned();
        match digits.is_empty() {
            true => digits.push_str(behind.trim_start_matches('0')),
            false => digits.push_str(behind),
        }
        Some(Digits {
            is_negative,
            digits,
            exponent: exponent.saturating_sub(behind_len),
        })
    }

    /// Units of the last place of so many behind the point, rounded; none where they have more than
    /// the digits that any decimal has.
    fn units(&self, scale: u32) -> Option<u128> {
        let shift = self.exponent.saturating_add(i64::from(scale));
        let dropped = usize::try_from(shift.saturating_neg()).unwrap_or(0);
        let zeros = usize::try_from(shift).unwrap_or(0);
        if self.digits.is_empty() || dropped > self.digits.len() {
            return Some(0);
        }
        let (kept, rest) = self.digits.split_at(self.digits.len() - dropped);
        if kept.len().saturating_add(zeros) > DIGITS_MAX as usize {
            return None;
        }
        let mut units = kept.bytes().fold(0, |units: u128, digit| {
            units * 10 + u128::from(digit - b'0')
        });
        units += u128::from(rest.as_bytes().first().is_some_and(|digit| *digit >= b'5'));
        Some((0..zeros).fold(units, |units, _| units * 10))
    }
}

/// An exponent; one beyond all numbers of 64 bits is as good as the largest.
fn exponent_of(text: &str) -> Option<i64> {
    let plain = text.strip_prefix(['-', '+']).unwrap_or(text);
    let are_digits = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit());
    let far = match text.starts_with('-') {
        true => i64::MIN / 2,
        false => i64::MAX / 2,
    };
    are_digits.then(|| text.parse().unwrap_or(far))
}

/// Whether a float shows all digits of the text of a number; a text without digits has none.
pub(crate) fn comes_back(text: &str, float: f64) -> bool {
    let Some(read) = Digits::read(text) else {
        return text.len() <= TEXT_MAX;
    };
    let digits = read.digits.trim_end_matches('0');
    let is_sure = digits.len() <= SURE_DIGITS && float.is_normal();
    digits.is_empty() || is_sure || shows(digits, float)
}

/// Whether a float begins with these digits, as many as they are.
fn shows(digits: &str, float: f64) -> bool {
    let shown = format!("{:.*e}", digits.len() - 1, float.abs());
    let shown = shown.split_once('e').map_or(&*shown, |(shown, _)| shown);
    shown.bytes().filter(|b| *b != b'.').eq(digits.bytes())
}

/// The float of so many units of the last place behind the point.
///
/// # Errors
/// Its digits do not come back.
pub(crate) fn of_units(units: u128, scale: i32) -> Result<f64, String> {
    let text = format!("{units}e{}", -scale);
    let float: f64 = text.parse().map_err(|_| told!("{text} is no number"))?;
    let is_short = units < SURE_UNITS;
    match is_short || comes_back(&text, float) {
        true => Ok(float),
        false => Err("has more digits than a float holds".to_owned()),
    }
}

/// The decimal of a text: at most so many digits, and so many of them behind the point, to which it
/// is rounded.
///
/// # Errors
/// It is no number, has more digits before the point, or more than a float holds.
pub fn of_text(text: &str, (digits, scale): (u32, u32)) -> Result<f64, String> {
    let no = || format!("is no DECIMAL({digits}, {scale})");
    let read = Digits::read(text.trim()).ok_or_else(no)?;
    let units = read.units(scale).ok_or_else(no)?;
    if 10_u128
        .checked_pow(digits)
        .is_some_and(|most| units >= most)
    {
        return Err(no());
    }
    let float = of_units(units, i32::try_from(scale).map_err(|_| no())?);
    let float = float.map_err(|why| format!("{why}: keep it as a text"))?;
    // There is no negative zero among decimals.
    let is_negative = read.is_negative && units > 0;
    Ok(if is_negative { -float } else { float })
}

/// The decimal of a float, which counts as the number that it is written as: the one with the
/// fewest digits that reads back to it.
///
/// # Errors
/// It is no number, or has more digits before the point.
pub fn of_float(float: f64, (digits, scale): (u32, u32)) -> Result<f64, String> {
    /// 2^50. Below it the product is the number's units but for less than a quarter: the float may
    /// be 2^-3 units beside the number, and the product is rounded by at most 2^-4. Where it lies
    /// within a quarter of a whole number, the number's units are rounded to that one.
    const UNITS_MAX: f64 = 1_125_899_906_842_624.0;
    /// Powers of ten that floats hold, up to this one.
    const EXACT: u32 = 22;
    let no = || format!("is no DECIMAL({digits}, {scale})");
    if scale <= EXACT && digits <= DIGITS_MAX {
        let shift = 10f64.powi(scale.cast_signed());
        let (exact, units) = (float * shift, (float * shift).round());
        let is_clear = units.abs() < UNITS_MAX && (exact - units).abs() < 0.25;
        if is_clear {
            let fits = units.abs() < 10f64.powi(digits.cast_signed());
            return if fits {
                Ok(units / shift + 0.0)
            } else {
                Err(no())
            };
        }
    }
    if !float.is_finite() {
        return Err(no());
    }
    of_text(&format!("{float:e}"), (digits, scale))
}

/// The decimal of an integer.
///
/// # Errors
/// It has more digits, or no float holds it.
pub fn of_integer(integer: i64, of: (u32, u32)) -> Result<f64, String> {
    of_text(&integer.to_string(), of)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: digits of a text are rounded as digits, and what no float shows is refused.
    #[test]
    fn digits_are_rounded_as_digits() {
        for (text, of, wanted) in [
            ("1.005", (5, 2), 1.01),
            ("-1.005", (5, 2), -1.01),
            ("2.675", (5, 2), 2.68),
            ("1.0049999999999999999999", (5, 2), 1.0),
            ("0.5", (1, 0), 1.0),
            ("-0.4", (1, 0), 0.0),
            ("1e3", (5, 1), 1000.0),
            ("12.5e-1", (5, 1), 1.3),
            (".5", (5, 1), 0.5),
            ("5.", (5, 1), 5.0),
            ("+00012", (2, 0), 12.0),
            ("0e999999999999999999999", (5, 2), 0.0),
            ("1e-999999999999999999999", (5, 2), 0.0),
            ("999999999999.999", (18, 3), 999_999_999_999.999),
            ("0.1234567890123456", (18, 16), 0.123_456_789_012_345_6),
            ("9007199254740994", (18, 0), 9_007_199_254_740_994.0),
            ("100000000000000000000", (38, 0), 1e20),
        ] {
            let found = of_text(text, of);
            let is_same = found
                .as_ref()
                .is_ok_and(|it| it.to_bits() == f64::to_bits(wanted));
            assert!(is_same, "{text}: {found:?}");
        }
        for (text, of) in [
            ("1000", (5, 2)),
            ("999.995", (5, 2)),
            ("x", (5, 2)),
            ("", (5, 2)),
            (".", (5, 2)),
            ("1e", (5, 2)),
            ("inf", (5, 2)),
            ("NaN", (5, 2)),
            ("1 2", (5, 2)),
            ("12345678901234567.89", (20, 2)),
            ("9007199254740993", (18, 0)),
            ("-999999999999.999999", (18, 6)),
            ("1e999999999999999999999", (38, 2)),
            ("0.12345678901234567890123456789012345678", (38, 38)),
        ] {
            assert!(of_text(text, of).is_err(), "{text}");
        }
    }

    /// Goal: a float is rounded as the digits that it is written as, whichever way is taken.
    #[test]
    fn floats_are_rounded_as_their_digits() {
        for (float, of, wanted) in [
            (48_582_713_683_343.055, (18, 2), 48_582_713_683_343.06),
            (56_286_549_497_764.555, (18, 2), 56_286_549_497_764.56),
            (0.486_453_305_401_404_75, (17, 16), 0.486_453_305_401_404_8),
            (461_690.734_260_424_45, (18, 10), 461_690.734_260_424_5),
            (-0.001, (18, 2), 0.0),
        ] {
            let found = of_float(float, of).map(f64::to_bits);
            assert_eq!(found, Ok(f64::to_bits(wanted)), "{float:e}");
        }
        let is_same = |float: f64, of: (u32, u32)| {
            let found = of_float(float, of).map(f64::to_bits);
            let wanted = of_text(&format!("{float:e}"), of).map(f64::to_bits);
            assert_eq!(found, wanted, "{float:e} as {of:?}");
        };
        let mut random = graven_types::rng::SplitMix64::new(11);
        for _ in 0..5_000 {
            // From 2^-60 to 2^70.
            let exponent = 1023 - 60 + random.bits() % 130;
            let float = f64::from_bits((random.bits() >> 12) | (exponent << 52));
            for of in [(18, 0), (18, 2), (18, 10), (17, 16), (38, 22), (38, 30)] {
                is_same(float, of);
                is_same(-float, of);
                // About half a unit of the last place.
                let units = random.bits() % 10_u64.pow(10 + of.0 % 7);
                let half = format!("{units}5e-{}", of.1 + 1);
                is_same(half.parse().expect("a float"), of);
            }
        }
    }

    /// Goal: a float of its shortest digits shows them; neighbours that no float is do not.
    #[test]
    fn digits_come_back_or_do_not() {
        let mut random = graven_types::rng::SplitMix64::new(7);
        for _ in 0..10_000 {
            let float = f64::from_bits(random.bits());
            if float.is_finite() {
                assert!(comes_back(&format!("{float:e}"), float), "{float:e}");
            }
        }
        for (text, wanted) in [
            ("9007199254740993.0", false),
            ("9007199254740992.0", true),
            ("0.1000000000000000055511151231257827", true),
            ("0.1000000000000000055511151231257828", false),
            ("0.10000000000000000", true),
            ("inf", true),
            ("0e-400", true),
            ("1e-400", false),
            ("1.23456789e-320", false),
            ("1.5e308", true),
            ("1e400", false),
        ] {
            let float = text.parse().expect("a float");
            assert_eq!(comes_back(text, float), wanted, "{text}");
        }
    }
}
