//! Conversions between types.

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::function::Function;
use crate::runtime::Runtime;
use crate::value::Value;

/// A conversion, and its lenient form that gives null where the strict one raises a type error.
macro_rules! conversion {
    ($strict:literal, $lenient:literal, $f:ident) => {
        [
            Function {
                name: $strict,
                arity: (1, 1),
                body: |_: &Runtime, args: &[Value]| $f(&args[0]),
            },
            Function {
                name: $lenient,
                arity: (1, 1),
                body: |_: &Runtime, args: &[Value]| match $f(&args[0]) {
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
                body: |_, args| each(&args[0], to_integer),
            },
            Function {
                name: "tofloatlist",
                arity: (1, 1),
                body: |_, args| each(&args[0], to_float),
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
        Value::String(s) => {
            let s = s.trim();
            Ok(s.parse::<i64>().map_or_else(
                |_| s.parse::<f64>().map_or(Value::Null, truncate),
                Value::Integer,
            ))
        }
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

fn to_float(value: &Value) -> Result<Value> {
    match value {
        Value::Null | Value::Float(_) => Ok(value.clone()),
        #[expect(clippy::cast_precision_loss, reason = "the language converts this way")]
        Value::Integer(i) => Ok(Value::Float(*i as f64)),
        Value::String(s) => Ok(s.trim().parse().map_or(Value::Null, Value::Float)),
        other => Err(wrong("toFloat", "a number or String", other)),
    }
}

fn to_boolean(value: &Value) -> Result<Value> {
    match value {
        Value::Null | Value::Boolean(_) => Ok(value.clone()),
        Value::Integer(i) => Ok((*i != 0).into()),
        Value::String(s) => Ok(match s.trim().to_ascii_lowercase().as_str() {
            "true" => true.into(),
            "false" => false.into(),
            _ => Value::Null,
        }),
        other => Err(wrong("toBoolean", "a Boolean, Integer or String", other)),
    }
}

/// Converts each element; what does not convert becomes null.
fn each(list: &Value, convert: fn(&Value) -> Result<Value>) -> Result<Value> {
    match list {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(Value::list(
            items
                .iter()
                .map(|v| convert(v).unwrap_or_default())
                .collect(),
        )),
        other => Err(wrong("to...List", "a List", other)),
    }
}
