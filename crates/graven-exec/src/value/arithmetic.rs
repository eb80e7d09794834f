//! Arithmetic of the language: integer overflow and division by zero are errors; null makes null,
//! whatever the other operand is.

use std::sync::Arc;

use graven_temporal::between::{Measure, between};
use graven_temporal::duration::{self, Number};
use graven_types::Duration;
use graven_types::PropertyValue;
use graven_types::told;

use super::Value;
use crate::error::{ExecError, Result};
use crate::growth;

fn overflow(what: &str, a: i64, b: i64) -> ExecError {
    ExecError::Arithmetic {
        message: told!("integer overflow: {a} {what} {b} does not fit in 64 bits"),
    }
}

fn mismatch(what: &'static str, a: &Value, b: &Value) -> ExecError {
    ExecError::Type {
        message: told!("cannot {what} {} and {}", a.type_name(), b.type_name()),
    }
}

/// The number as a float; `None` if it is no number.
#[expect(
    clippy::cast_precision_loss,
    reason = "the language converts integers to floats this way"
)]
#[must_use]
pub fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

/// The number as an integer, without what a float has behind the point; the nearest one where it is
/// beyond the range, 0 for NaN; `None` if it is no number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "floats in the place of integers are cut this way"
)]
#[must_use]
pub(crate) fn as_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(i) => Some(*i),
        Value::Float(f) => Some(*f as i64),
        _ => None,
    }
}

/// `a + b`: numbers, text with text or number, list with list or element.
///
/// # Errors
/// Overflow; types that do not add.
pub fn add(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Integer(x), Value::Integer(y)) => x
            .checked_add(*y)
            .map(Value::Integer)
            .ok_or_else(|| overflow("+", *x, *y)),
        (Value::List(x), Value::List(y)) => {
            growth::charge(size_of_val(&**x).saturating_add(size_of_val(&**y)))?;
            Ok(Value::List(x.iter().chain(y.iter()).cloned().collect()))
        }
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::List(x), y) => {
            growth::charge(size_of_val(&**x) + size_of::<Value>())?;
            let last = std::iter::once(y.clone());
            Ok(Value::List(x.iter().cloned().chain(last).collect()))
        }
        (x, Value::List(y)) => {
            growth::charge(size_of_val(&**y) + size_of::<Value>())?;
            let first = std::iter::once(x.clone());
            Ok(Value::List(first.chain(y.iter().cloned()).collect()))
        }
        (Value::String(x), Value::String(y)) => {
            let mut joined = growth::Text::with_room(x.len() + y.len())?;
            joined.push(x)?;
            joined.push(y)?;
            joined.value()
        }
        (Value::String(_), Value::Integer(_) | Value::Float(_) | Value::Boolean(_))
        | (Value::Integer(_) | Value::Float(_) | Value::Boolean(_), Value::String(_)) => {
            growth::charge(growth::bytes_of_argument(a) + growth::bytes_of_argument(b))?;
            Ok(Value::String(Arc::from(format!("{a}{b}"))))
        }
        (Value::String(_), Value::Stored(_)) | (Value::Stored(_), Value::String(_)) => {
            Ok(Value::String(Arc::from(format!("{a}{b}"))))
        }
        (Value::Stored(x), Value::Stored(y)) => temporal(x, y, 1, || mismatch("add", a, b)),
        (Value::Stored(date), Value::Integer(days))
        | (Value::Integer(days), Value::Stored(date))
            if matches!(**date, PropertyValue::Date(_)) =>
        {
            moved(date, *days, 1)
        }
        _ => floats(a, b, "add", |x, y| x + y),
    }
}

/// `a - b`.
///
/// # Errors
/// Overflow; not numbers.
pub fn subtract(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Integer(x), Value::Integer(y)) => x
            .checked_sub(*y)
            .map(Value::Integer)
            .ok_or_else(|| overflow("-", *x, *y)),
        (Value::Stored(x), Value::Stored(y)) => match distance(x, y)? {
            Some(distance) => Ok(distance),
            None => temporal(x, y, -1, || mismatch("subtract", a, b)),
        },
        (Value::Stored(date), Value::Integer(days)) if matches!(**date, PropertyValue::Date(_)) => {
            moved(date, *days, -1)
        }
        _ => floats(a, b, "subtract", |x, y| x - y),
    }
}

/// `a * b`.
///
/// # Errors
/// Overflow; not numbers.
pub fn multiply(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Integer(x), Value::Integer(y)) => x
            .checked_mul(*y)
            .map(Value::Integer)
            .ok_or_else(|| overflow("*", *x, *y)),
        (Value::Stored(d), n) | (n, Value::Stored(d)) if !n.is_null() => {
            scaled(d, n, duration::multiply)?.ok_or_else(|| mismatch("multiply", a, b))
        }
        _ => floats(a, b, "multiply", |x, y| x * y),
    }
}

/// `a / b`: whole division for two integers, truncating towards zero.
///
/// # Errors
/// Integer division by zero; overflow; not numbers.
pub fn divide(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Integer(x), Value::Integer(0)) => Err(ExecError::Arithmetic {
            message: told!("division by zero: {x} / 0"),
        }),
        (Value::Integer(x), Value::Integer(y)) => x
            .checked_div(*y)
            .map(Value::Integer)
            .ok_or_else(|| overflow("/", *x, *y)),
        (Value::Stored(d), n) if !n.is_null() => {
            scaled(d, n, duration::divide)?.ok_or_else(|| mismatch("divide", a, b))
        }
        _ => floats(a, b, "divide", |x, y| x / y),
    }
}

/// The mean of so many durations, from their sum.
///
/// # Errors
/// Overflow; not a duration.
pub(crate) fn mean(sum: &Value, count: i64) -> Result<Value> {
    match sum {
        Value::Stored(stored) if let PropertyValue::Duration(sum) = &**stored => {
            let mean = PropertyValue::Duration(duration::mean(sum, count)?);
            Ok(Value::Stored(Arc::new(mean)))
        }
        _ => divide(sum, &Value::Integer(count)),
    }
}

/// `a % b`: the remainder has the sign of `a`.
///
/// # Errors
/// Integer remainder by zero; not numbers.
pub fn modulo(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Integer(x), Value::Integer(0)) => Err(ExecError::Arithmetic {
            message: told!("division by zero: {x} % 0"),
        }),
        (Value::Integer(x), Value::Integer(y)) => Ok(Value::Integer(x.wrapping_rem(*y))),
        _ => floats(a, b, "take the remainder of", |x, y| x % y),
    }
}

/// `a ^ b`, always a float. As in Java, a power of one that is no number, or has no end, is none.
///
/// # Errors
/// Not numbers.
pub fn power(a: &Value, b: &Value) -> Result<Value> {
    let power = |x: f64, y: f64| match y.is_nan() || x.abs() == 1.0 && y.is_infinite() {
        true => f64::NAN,
        false => x.powf(y),
    };
    floats(a, b, "raise to a power", power)
}

/// `-a`.
///
/// # Errors
/// Overflow; not a number.
pub fn negate(a: &Value) -> Result<Value> {
    match a {
        Value::Null => Ok(Value::Null),
        Value::Integer(i) => {
            i.checked_neg()
                .map(Value::Integer)
                .ok_or_else(|| ExecError::Arithmetic {
                    message: told!("integer overflow: -({i}) does not fit in 64 bits"),
                })
        }
        Value::Float(f) => Ok(Value::Float(-f)),
        Value::Stored(d) if matches!(**d, PropertyValue::Duration(_)) => {
            multiply(a, &Value::Integer(-1))
        }
        _ => Err(ExecError::Type {
            message: told!("cannot negate {}", a.type_name()),
        }),
    }
}

/// A date so many days later or earlier.
fn moved(date: &PropertyValue, days: i64, sign: i64) -> Result<Value> {
    let length = Duration {
        months: 0,
        days,
        seconds: 0,
        nanoseconds: 0,
    };
    let moved = graven_temporal::arithmetic::add(date, &length, sign)?;
    Ok(Value::Stored(Arc::new(moved)))
}

/// The days from one date to another one; from or to a date with a time the days of 24 hours and
/// the rest. None for what has no date.
fn distance(later: &PropertyValue, earlier: &PropertyValue) -> Result<Option<Value>> {
    use PropertyValue::{Date, DateTime, LocalDateTime};
    const DAY: i64 = 86_400;
    if let (Date(later), Date(earlier)) = (later, earlier) {
        let days = later.checked_sub(*earlier);
        let days = days.ok_or_else(|| overflow("-", *later, *earlier))?;
        return Ok(Some(Value::Integer(days)));
    }
    let is_instant = |it: &PropertyValue| matches!(it, Date(_) | DateTime(_) | LocalDateTime(_));
    if !is_instant(later) || !is_instant(earlier) {
        return Ok(None);
    }
    let whole = between(Measure::Seconds, earlier, later)?;
    // Nanoseconds count forward: one second more is the whole part of what is negative.
    let towards_zero = i64::from(whole.seconds < 0 && whole.nanoseconds > 0);
    let days = (whole.seconds + towards_zero) / DAY;
    let length = PropertyValue::Duration(Duration {
        days,
        seconds: whole.seconds - days * DAY,
        ..whole
    });
    Ok(Some(Value::Stored(Arc::new(length))))
}

/// A date or time plus or minus a duration; the sum or difference of two durations.
fn temporal(
    a: &PropertyValue,
    b: &PropertyValue,
    sign: i64,
    mismatch: impl FnOnce() -> ExecError,
) -> Result<Value> {
    use PropertyValue::{Duration, Point};
    let result = match (a, b) {
        (Point(_), _) | (_, Point(_)) => return Err(mismatch()),
        (Duration(a), Duration(b)) => Duration(duration::add(a, b, i128::from(sign))?),
        (Duration(length), value) if sign == 1 => {
            graven_temporal::arithmetic::add(value, length, 1)?
        }
        (value, Duration(length)) => graven_temporal::arithmetic::add(value, length, sign)?,
        _ => return Err(mismatch()),
    };
    Ok(Value::Stored(Arc::new(result)))
}

/// The number that durations are made of and multiplied by.
pub(crate) fn as_number(value: &Value) -> Option<Number> {
    match value {
        Value::Integer(i) => Some(Number::Whole(*i)),
        Value::Float(x) => Some(Number::Float(*x)),
        _ => None,
    }
}

/// A duration multiplied or divided by a number; `None` for anything else.
fn scaled(
    value: &PropertyValue,
    number: &Value,
    operation: fn(&Duration, Number) -> graven_temporal::Result<Duration>,
) -> Result<Option<Value>> {
    let (PropertyValue::Duration(duration), Some(number)) = (value, as_number(number)) else {
        return Ok(None);
    };
    let result = PropertyValue::Duration(operation(duration, number)?);
    Ok(Some(Value::Stored(Arc::new(result))))
}

fn floats(
    a: &Value,
    b: &Value,
    what: &'static str,
    f: impl FnOnce(f64, f64) -> f64,
) -> Result<Value> {
    match (as_float(a), as_float(b)) {
        (Some(x), Some(y)) => Ok(Value::Float(f(x, y))),
        _ if a.is_null() || b.is_null() => Ok(Value::Null),
        _ => Err(mismatch(what, a, b)),
    }
}
