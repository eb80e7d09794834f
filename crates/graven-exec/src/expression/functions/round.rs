//! `round(x)`, `round(x, digits)`, `round(x, digits, mode)`.
//!
//! # How it works
//! A float is rounded as the decimal number that it is written as, the shortest that reads back to
//! it: `round(1.005, 2)` is 1.01, though the float lies below the tie. Without digits, or with none
//! and without a mode, ties go towards positive infinity; with digits they go away from zero,
//! unless a mode says otherwise. Zero comes out without a sign.

use std::cmp::Ordering;

use super::rounding::Rounding;
use super::wrong;
use crate::error::{ExecError, Result};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::{as_float, as_integer};
use graven_types::told;

/// The function.
pub(super) fn round(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let x = as_float(&args[0]).ok_or_else(|| wrong("round", "a number", &args[0]))?;
    let digits = match args.get(1) {
        None => 0,
        Some(given) => {
            let digits = as_integer(given)
                .ok_or_else(|| wrong("round", "an Integer number of digits", given))?;
            usize::try_from(digits).map_err(|_| ExecError::Argument {
                message: told!("round() keeps 0 or more digits, got {digits}"),
            })?
        }
    };
    let mode = args.get(2).map(mode).transpose()?;
    let rounded = match mode {
        None if digits == 0 => to_whole(x),
        mode => to_digits(x, digits, mode.unwrap_or(Rounding::HalfUp)),
    };
    #[expect(clippy::float_cmp, reason = "the same number, or another one")]
    if mode == Some(Rounding::Unnecessary) && rounded != x && !x.is_nan() {
        return Err(ExecError::Argument {
            message: told!("{x} has more than {digits} digits behind its point"),
        });
    }
    Ok(Value::Float(rounded))
}

fn mode(name: &Value) -> Result<Rounding> {
    let Value::String(name) = name else {
        return Err(wrong("round", "the name of a mode", name));
    };
    Rounding::named(name).ok_or_else(|| ExecError::Argument {
        message: told!(
            "`{name}` is no mode of rounding; use one of {}",
            Rounding::names()
        ),
    })
}

/// The nearest whole number, the greater of two.
fn to_whole(x: f64) -> f64 {
    let below = x.floor();
    // Both are exact: the distance of a float from the whole number below it is a float.
    let whole = if x - below >= 0.5 { below + 1.0 } else { below };
    whole + 0.0
}

fn to_digits(x: f64, digits: usize, mode: Rounding) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x + 0.0;
    }
    let text = format!("{:e}", x.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let written: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let before_point = exponent.parse::<i64>().unwrap_or(0) + 1;
    let kept = before_point.saturating_add(i64::try_from(digits).unwrap_or(i64::MAX));
    let Ok(kept) = usize::try_from(kept) else {
        // The first digit stands behind the one that is kept last, a zero, and a tie.
        return match mode.goes_up(x < 0.0, Ordering::Less, false) {
            true => signed(x, &format!("1e-{digits}")),
            false => 0.0,
        };
    };
    if kept >= written.len() {
        return x;
    }
    let (head, tail) = written.split_at(kept);
    let beyond_tie = match tail[0].cmp(&b'5') {
        Ordering::Equal if tail.len() > 1 => Ordering::Greater,
        other => other,
    };
    let last = head.last().map_or(0, |digit| digit - b'0');
    let mut head = head.to_vec();
    if mode.goes_up(x < 0.0, beyond_tie, last % 2 == 1) {
        let nines = head
            .iter()
            .rev()
            .take_while(|digit| **digit == b'9')
            .count();
        let at = head.len() - nines;
        head[at..].fill(b'0');
        match at.checked_sub(1) {
            Some(at) => head[at] += 1,
            None => head.insert(0, b'1'),
        }
    }
    let head = String::from_utf8(head).unwrap_or_default();
    signed(x, &format!("0{head}e-{digits}"))
}

/// The number with the sign of `x`; zero has none.
fn signed(x: f64, text: &str) -> f64 {
    let magnitude: f64 = text.parse().unwrap_or(f64::NAN);
    if x < 0.0 { 0.0 - magnitude } else { magnitude }
}
