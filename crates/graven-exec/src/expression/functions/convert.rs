//! Conversions between types.

use super::text::is_blank;
use graven_types::told;
use graven_types::vector::Number;

use super::{numerals, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::Items;
use crate::query_context::QueryContext;
use crate::value::Value;

/// A conversion, and its lenient form that gives null where the strict one raises a type error.
macro_rules! conversion {
    ($strict:literal, $lenient:literal, $f:ident) => {
        [
            Function {
                name: $strict,
                arity: (1, 1),
                body: |_: &QueryContext, args: &[Value]| $f(&args[0]),
            },
            Function {
                name: $lenient,
                arity: (1, 1),
                body: |_: &QueryContext, args: &[Value]| match $f(&args[0]) {
                    Err(ExecError::Value { .. }) => Ok(Value::Null),
                    other => other,
                },
            },
        ]
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = {
    const fn flatten(pairs: [[Function; 2]; 4]) -> [Function; 12] {
        let [[a, b], [c, d], [e, f], [g, h]] = pairs;
        [
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            Function {
                name: "tostringlist",
                arity: (1, 1),
                body: |_, args| each(&args[0], to_text),
            },
            Function {
                name: "tointegerlist",
                arity: (1, 1),
                body: |_, args| each(&numbers(&args[0])?, to_integer),
            },
            Function {
                name: "tofloatlist",
                arity: (1, 1),
                body: |_, args| each(&numbers(&args[0])?, to_float),
            },
            Function {
                name: "tobooleanlist",
                arity: (1, 1),
                body: |_, args| each(&args[0], to_boolean),
            },
        ]
    }
    &flatten([
        conversion!("tostring", "tostringornull", to_text),
        conversion!("tointeger", "tointegerornull", to_integer),
        conversion!("tofloat", "tofloatornull", to_float),
        conversion!("toboolean", "tobooleanornull", to_boolean),
    ])
};

/// The numbers of a vector; other values as they are.
fn numbers(value: &Value) -> Result<Value> {
    let Some(vector) = value.as_vector() else {
        return Ok(value.clone());
    };
    let mut numbers = Items::with_room(vector.dimension())?;
    for number in vector.numbers() {
        numbers.push(match number {
            Number::Integer(integer) => Value::Integer(integer),
            Number::Float(float) => Value::Float(float),
        })?;
    }
    numbers.value()
}

fn to_text(value: &Value) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::String(_) => Ok(value.clone()),
        Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Stored(_) => {
            Ok(Value::text(&value.to_string()))
        }
        other => Err(wrong("toString", "a scalar", other)),
    }
}

fn to_integer(value: &Value) -> Result<Value> {
    match value {
        Value::Null | Value::Integer(_) => Ok(value.clone()),
        Value::Float(f) => Ok(truncate(*f)),
        Value::String(s) => match s.parse() {
            Ok(number) => Ok(Value::Integer(number)),
            Err(_) => whole_part(&numerals::in_ascii(s)),
        },
        other => Err(wrong("toInteger", "a number or String", other)),
    }
}

/// The whole part; null if it does not fit.
fn truncate(f: f64) -> Value {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
    if f.is_finite() && (-BEYOND..BEYOND).contains(&f) {
        Value::Integer(f as i64)
    } else {
        Value::Null
    }
}

/// The text of a decimal number: its digits without the point, and the power of ten that they are
/// multiplied by.
struct Decimal<'t> {
    is_negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: i32,
}

impl<'t> Decimal<'t> {
    /// Digits with a sign, a point and an exponent where they are wanted, and nothing else.
    fn read(text: &'t str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let is_number = all_digits(whole) && all_digits(fraction);
        (is_number && !(whole.is_empty() && fraction.is_empty())).then_some(Self {
            is_negative: text.starts_with('-'),
            whole,
            fraction,
            exponent,
        })
    }
}

/// The whole part of a decimal number in text; null if it is none.
fn whole_part(text: &str) -> Result<Value> {
    let Some(decimal) = Decimal::read(text) else {
        return Ok(Value::Null);
    };
    let digits = [decimal.whole, decimal.fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(Value::Integer(0));
    }
    // Digits before the point.
    let point = i64::from(decimal.exponent) + digits.len() as i64 - decimal.fraction.len() as i64;
    let too_large = || ExecError::Value {
        message: told!("toInteger(): {text} does not fit in 64 bits"),
    };
    let Ok(point) = usize::try_from(point) else {
        return Ok(Value::Integer(0));
    };
    if point > 19 {
        return Err(too_large());
    }
    let (whole, rest) = digits.split_at(point.min(digits.len()));
    let whole = format!("{whole:0<point$}");
    let magnitude: i128 = whole.parse().unwrap_or(0);
    let value = if decimal.is_negative {
        -magnitude
    } else {
        magnitude
    };
    // What lies between the last number that fits and the next one does not fit.
    let has_rest = rest.bytes().any(|digit| digit != b'0');
    let beyond = i128::from(has_rest) * if decimal.is_negative { -1 } else { 1 };
    match (i64::try_from(value), i64::try_from(value + beyond)) {
        (Ok(value), Ok(_)) => Ok(Value::Integer(value)),
        _ => Err(too_large()),
    }
}

/// The float in a text: blanks around it and one letter `f` or `d` behind its digits do not count.
fn float_of(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c| c <= ' ');
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "NaN" | "Infinity" => return text.parse().ok(),
        _ => {}
    }
    let digits = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    if let Some(number) = numerals::hexadecimal(digits) {
        return Some(number);
    }
    Decimal::read(digits)?;
    digits.parse().ok()
}

fn to_float(value: &Value) -> Result<Value> {
    match value {
        Value::Null | Value::Float(_) => Ok(value.clone()),
        #[expect(clippy::cast_precision_loss, reason = "the language converts this way")]
        Value::Integer(i) => Ok(Value::Float(*i as f64)),
        Value::String(s) => Ok(float_of(s).map_or(Value::Null, Value::Float)),
        other => Err(wrong("toFloat", "a number or String", other)),
    }
}

fn to_boolean(value: &Value) -> Result<Value> {
    match value {
        Value::Null | Value::Boolean(_) => Ok(value.clone()),
        Value::Integer(i) => Ok((*i != 0).into()),
        Value::String(s) => Ok(
            match s.trim_matches(is_blank).to_ascii_lowercase().as_str() {
                "true" => true.into(),
                "false" => false.into(),
                _ => Value::Null,
            },
        ),
        other => Err(wrong("toBoolean", "a Boolean, Integer or String", other)),
    }
}

/// Converts each element; what does not convert becomes null.
fn each(list: &Value, convert: fn(&Value) -> Result<Value>) -> Result<Value> {
    match list {
        Value::Null => Ok(Value::Null),
        Value::List(items) => {
            let mut converted = Items::with_room(items.len())?;
            for item in items.iter() {
                converted.push(convert(item).unwrap_or_default())?;
            }
            converted.value()
        }
        other => Err(wrong("to...List", "a List", other)),
    }
}
