//! `graven.wide(operator, a, b)`: arithmetic and comparisons of whole numbers of 128 bits;
//! `graven.wideOf(list, aggregate)`: aggregates of them.
//!
//! # How it works
//! The binder puts it in the place of operators where an operand has a declared type of more than
//! 64 bits. Beyond 64 bits such a number is the text of its digits, so that none is lost; the
//! result has the same form. Beside a float both are floats. `abs` is the distance of both.

use std::cmp::Ordering;

use graven_types::told;
use num_bigint::BigInt;

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::work;
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("graven.wide", (3, 3), wide),
    Function::new("graven.wideof", (2, 2), of_all),
];

/// Digits of the text by which numbers of 128 bits are sorted.
const ORDER_DIGITS: u32 = 41;

fn wide(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let Value::String(operator) = &args[0] else {
        return Err(wrong("graven.wide", "an operator", &args[0]));
    };
    if args[1..].iter().any(|arg| matches!(arg, Value::Float(_))) {
        return of_floats(operator, float(&args[1])?, float(&args[2])?);
    }
    let (a, b) = (whole(&args[1])?, whole(&args[2])?);
    let by_zero = b == BigInt::ZERO && matches!(&**operator, "/" | "%");
    let result = match &**operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" | "%" if by_zero => {
            return Err(ExecError::Arithmetic {
                message: told!("{} {operator} 0 has no result", args[1]),
            });
        }
        "/" => a / b,
        "%" => a % b,
        "abs" if a < b => b - a,
        "abs" => a - b,
        // Such texts sort as the numbers do.
        "order" => {
            let above = a + BigInt::from(10).pow(ORDER_DIGITS - 1);
            return Ok(Value::text(&format!(
                "{above:0>width$}",
                width = ORDER_DIGITS as usize
            )));
        }
        _ => return compared(operator, Some(a.cmp(&b))),
    };
    value_of(&result).ok_or_else(|| ExecError::Arithmetic {
        message: told!(
            "{} {operator} {} does not fit in 128 bits",
            args[1],
            args[2]
        ),
    })
}

/// A number in its form; none if it has more than 128 bits.
fn value_of(number: &BigInt) -> Option<Value> {
    let number = i128::try_from(number).ok()?;
    Some(match i64::try_from(number) {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::text(&number.to_string()),
    })
}

/// `sum`, `min`, `max` or `avg` of a list.
fn of_all(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (Value::List(items), Value::String(aggregate)) = (&args[0], &args[1]) else {
        return Err(wrong("graven.wideOf", "a list", &args[0]));
    };
    work(items.len())?;
    let numbers: Vec<BigInt> = items.iter().map(whole).collect::<Result<_>>()?;
    let count = numbers.len();
    let found = match &**aggregate {
        "min" => numbers.into_iter().min(),
        "max" => numbers.into_iter().max(),
        "sum" | "avg" => Some(numbers.into_iter().sum::<BigInt>()),
        other => {
            return Err(ExecError::Argument {
                message: told!("graven.wideOf(): there is no aggregate {other}"),
            });
        }
    };
    match (found, &**aggregate) {
        (None, _) => Ok(Value::Null),
        (Some(_), "avg") if count == 0 => Ok(Value::Null),
        #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
        (Some(sum), "avg") => Ok(Value::Float(
            float(&Value::text(&sum.to_string()))? / count as f64,
        )),
        (Some(number), _) => value_of(&number).ok_or_else(|| ExecError::Arithmetic {
            message: told!("{aggregate}() does not fit in 128 bits"),
        }),
    }
}

fn of_floats(operator: &str, a: f64, b: f64) -> Result<Value> {
    Ok(Value::Float(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "%" => a % b,
        "abs" => (a - b).abs(),
        _ => return compared(operator, a.partial_cmp(&b)),
    }))
}

fn compared(operator: &str, order: Option<Ordering>) -> Result<Value> {
    let is = |wanted: fn(Ordering) -> bool| Ok(Value::Boolean(order.is_some_and(wanted)));
    match operator {
        "<" => is(Ordering::is_lt),
        "<=" => is(Ordering::is_le),
        ">" => is(Ordering::is_gt),
        ">=" => is(Ordering::is_ge),
        _ => Err(ExecError::Argument {
            message: told!("graven.wide(): there is no operator {operator}"),
        }),
    }
}

fn whole(value: &Value) -> Result<BigInt> {
    let read = match value {
        Value::Integer(number) => Some(BigInt::from(*number)),
        Value::String(digits) if digits.len() <= 40 => digits.parse().ok(),
        _ => None,
    };
    read.ok_or_else(|| wrong("graven.wide", "a whole number of 128 bits", value))
}

fn float(value: &Value) -> Result<f64> {
    let read = match value {
        Value::Float(number) => Some(*number),
        #[expect(clippy::cast_precision_loss, reason = "the other operand is a float")]
        Value::Integer(number) => Some(*number as f64),
        Value::String(digits) => digits.parse().ok(),
        _ => None,
    };
    read.ok_or_else(|| wrong("graven.wide", "a number", value))
}
