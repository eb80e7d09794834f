//! `apoc.number.exact`: numbers of any length, as texts.
//!
//! # How it works
//! A number is an integer and how many of its digits are behind the point, as Java's `BigDecimal`
//! has it. A precision is a count of digits; 0 asks for all of them.
//!
//! # Source
//! Neo4j APOC Core 5, documentation of `apoc.number.exact`; that of `java.math.BigDecimal`.

use graven_types::told;
use num_bigint::{BigInt, Sign};

use super::super::rounding::Rounding;
use super::{integer, text};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.number.exact.add", (2, 2), |_, args| {
        of_two("apoc.number.exact.add", args, |a, b, _| a.plus(&b))
    }),
    Function::new("apoc.number.exact.div", (2, 4), |_, args| {
        of_two("apoc.number.exact.div", args, |a, b, to| a.divided(&b, to))
    }),
    Function::new("apoc.number.exact.mul", (2, 4), |_, args| {
        of_two("apoc.number.exact.mul", args, |a, b, to| {
            Exact::of(a.digits * b.digits, a.scale + b.scale)?.rounded(to, false)
        })
    }),
    Function::new("apoc.number.exact.sub", (2, 2), |_, args| {
        of_two("apoc.number.exact.sub", args, |a, b, _| {
            a.plus(&Exact {
                digits: -b.digits,
                scale: b.scale,
            })
        })
    }),
    Function::new("apoc.number.exact.toexact", (1, 1), |_, args| {
        match &args[0] {
            Value::Null => Ok(Value::Null),
            other => Ok(Value::Integer(integer("apoc.number.exact.toExact", other)?)),
        }
    }),
    Function::new("apoc.number.exact.tofloat", (1, 3), |_, args| {
        let read = of_one("apoc.number.exact.toFloat", args)?;
        let text = read.map(|number| number.text()).transpose()?;
        let float = text.and_then(|text| text.parse().ok());
        Ok(float.map_or(Value::Null, Value::Float))
    }),
    Function::new("apoc.number.exact.tointeger", (1, 3), |_, args| {
        let read = of_one("apoc.number.exact.toInteger", args)?;
        Ok(read.map_or(Value::Null, |number| Value::Integer(number.low_bits())))
    }),
];

/// Digits that a number may have, and places before or behind the point that it may fill.
const DIGITS_MAX: i64 = 10_000;

/// The digits that are wanted, and what becomes of the others.
#[derive(Clone, Copy)]
struct Wanted {
    precision: usize,
    mode: Rounding,
}

struct Exact {
    digits: BigInt,
    /// Digits behind the point; zeros before it where this is negative.
    scale: i64,
}

fn refused(message: String) -> ExecError {
    ExecError::Argument { message }
}

/// Ten, so often by itself.
fn power(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}

fn length(digits: &BigInt) -> usize {
    match digits.sign() {
        Sign::NoSign => 1,
        _ => digits.magnitude().to_string().len(),
    }
}

impl Exact {
    fn of(digits: BigInt, scale: i64) -> Result<Self> {
        let size = (digits.bits() / 8) as usize;
        work(1 + size / 16)?;
        charge(size.saturating_mul(8))?;
        let places = i64::try_from(digits.bits() / 3).unwrap_or(i64::MAX);
        match scale.abs() <= DIGITS_MAX && places <= 4 * DIGITS_MAX {
            true => Ok(Self { digits, scale }),
            false => Err(refused(told!("a number has more than {DIGITS_MAX} digits"))),
        }
    }

    fn read(function: &str, of: &str) -> Result<Self> {
        let wrong = || {
            let start: String = of.chars().take(40).collect();
            refused(told!("{function}() reads no number in `{start}`"))
        };
        if of.len() > DIGITS_MAX as usize {
            return Err(wrong());
        }
        let (number, exponent) = match of.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i64>().map_err(|_| wrong())?),
            None => (of, 0),
        };
        let (whole, behind) = number.split_once('.').unwrap_or((number, ""));
        let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(unsigned) || !is_digits(behind) || unsigned.len() + behind.len() == 0 {
            return Err(wrong());
        }
        let digits = format!("{}{behind}", whole.strip_prefix('+').unwrap_or(whole));
        let digits = digits.parse().map_err(|_| wrong())?;
        let scale = (behind.len() as i64).checked_sub(exponent);
        Self::of(digits, scale.ok_or_else(wrong)?)
    }

    /// The digits with so many of them behind the point.
    fn with_scale(&self, scale: i64) -> BigInt {
        &self.digits * power(scale - self.scale)
    }

    fn plus(&self, other: &Self) -> Result<Self> {
        let scale = self.scale.max(other.scale);
        Self::of(self.with_scale(scale) + other.with_scale(scale), scale)
    }

    fn divided(&self, by: &Self, to: Wanted) -> Result<Self> {
        if by.digits.sign() == Sign::NoSign {
            return Err(refused("a number is divided by zero".to_owned()));
        }
        let scale = self.scale - by.scale;
        let (own, others) = (length(&self.digits), length(&by.digits));
        // As many digits as an exact quotient can have, where all of them are wanted.
        let wanted = match to.precision {
            0 => own + others * 10 / 3 + 1,
            precision => precision,
        };
        let more = (wanted + others + 1).saturating_sub(own) as i64;
        let shifted = Self::of(&self.digits * power(more), scale + more)?;
        let quotient = &shifted.digits / &by.digits;
        let has_rest = &quotient * &by.digits != shifted.digits;
        let quotient = Self::of(quotient, shifted.scale)?;
        if to.precision == 0 && has_rest {
            return Err(refused(
                "the quotient has no end: give a precision".to_owned(),
            ));
        }
        let mut rounded = quotient.rounded(to, has_rest)?;
        while rounded.scale > scale {
            work(1)?;
            let shorter = &rounded.digits / 10;
            if &shorter * 10 != rounded.digits {
                break;
            }
            rounded = Self::of(shorter, rounded.scale - 1)?;
        }
        Ok(rounded)
    }

    /// With so many digits; `has_rest`: something besides zeros follows the last one.
    fn rounded(self, to: Wanted, has_rest: bool) -> Result<Self> {
        let gone = length(&self.digits).saturating_sub(to.precision) as i64;
        if to.precision == 0 || gone == 0 && !has_rest {
            return Ok(self);
        }
        let unit = power(gone);
        let kept = &self.digits / &unit;
        let rest = &self.digits - &kept * &unit;
        if rest.sign() == Sign::NoSign && !has_rest {
            return Self::of(kept, self.scale - gone);
        }
        if to.mode == Rounding::Unnecessary {
            return Err(refused(
                "the number has more digits than the precision".to_owned(),
            ));
        }
        let is_negative = self.digits.sign() == Sign::Minus;
        let twice = BigInt::from(rest.magnitude() * 2_u32);
        let half = match twice.cmp(&unit) {
            std::cmp::Ordering::Equal if has_rest => std::cmp::Ordering::Greater,
            order => order,
        };
        let is_odd = kept.bit(0);
        let away = to.mode.goes_up(is_negative, half, is_odd);
        let step = BigInt::from(match (away, is_negative) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => -1,
        });
        // 9.99 becomes 10.0, which has one digit more.
        Self::of(kept + step, self.scale - gone)?.rounded(to, false)
    }

    fn text(&self) -> Result<String> {
        let mut digits = self.digits.magnitude().to_string();
        charge(digits.len() + self.scale.unsigned_abs() as usize)?;
        if self.scale > 0 {
            let behind = usize::try_from(self.scale).unwrap_or(0);
            if digits.len() <= behind {
                digits.insert_str(0, &"0".repeat(behind + 1 - digits.len()));
            }
            digits.insert(digits.len() - behind, '.');
        } else if self.digits.sign() != Sign::NoSign {
            digits.push_str(&"0".repeat(self.scale.unsigned_abs() as usize));
        }
        if self.digits.sign() == Sign::Minus {
            digits.insert(0, '-');
        }
        Ok(digits)
    }

    /// The whole part, as Java makes a `long` of it: the lowest 64 bits.
    fn low_bits(&self) -> i64 {
        let whole = match self.scale {
            scale if scale > 0 => &self.digits / power(scale),
            scale => &self.digits * power(-scale),
        };
        let low = whole.iter_u64_digits().next().unwrap_or(0).cast_signed();
        match whole.sign() {
            Sign::Minus => low.wrapping_neg(),
            _ => low,
        }
    }
}

fn rounding(function: &str, args: &[Value]) -> Result<Wanted> {
    let precision = match args.first() {
        None | Some(Value::Null) => 0,
        Some(given) => integer(function, given)?,
    };
    let precision = usize::try_from(precision).ok();
    let precision = precision.filter(|precision| *precision <= DIGITS_MAX as usize);
    let precision = precision.ok_or_else(|| {
        refused(told!(
            "{function}() needs a precision from 0 to {DIGITS_MAX}"
        ))
    })?;
    let mode = match args.get(1) {
        None | Some(Value::Null) => None,
        Some(given) => text(function, given)?,
    };
    let name = mode.map_or("HALF_UP", |name| name);
    let mode = Rounding::named(name).ok_or_else(|| {
        refused(told!(
            "{function}() knows no rounding `{name}`: give one of {}",
            Rounding::names()
        ))
    })?;
    Ok(Wanted { precision, mode })
}

/// A text that says something.
fn given<'a>(function: &str, value: &'a Value) -> Result<Option<&'a str>> {
    let given = text(function, value)?.map(|text| &**text);
    Ok(given.filter(|text| !text.is_empty()))
}

fn of_two(
    function: &str,
    args: &[Value],
    compute: fn(Exact, Exact, Wanted) -> Result<Exact>,
) -> Result<Value> {
    let (Some(a), Some(b)) = (given(function, &args[0])?, given(function, &args[1])?) else {
        return Ok(Value::Null);
    };
    let to = rounding(function, args.get(2..).unwrap_or_default())?;
    let (a, b) = (Exact::read(function, a)?, Exact::read(function, b)?);
    let told = |error| match error {
        ExecError::Argument { message } if !message.starts_with(function) => {
            refused(told!("{function}(): {message}"))
        }
        other => other,
    };
    Ok(Value::text(&compute(a, b, to).map_err(told)?.text()?))
}

fn of_one(function: &str, args: &[Value]) -> Result<Option<Exact>> {
    let Some(of) = given(function, &args[0])? else {
        return Ok(None);
    };
    let to = rounding(function, args.get(1..).unwrap_or_default())?;
    Exact::read(function, of)?.rounded(to, false).map(Some)
}
