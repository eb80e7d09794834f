//! Functions of numbers.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::function::Function;
use crate::runtime::Runtime;
use crate::value::Value;
use crate::value::arithmetic::as_float;

/// A function from float to float that passes null on.
macro_rules! float_function {
    ($name:literal, $f:expr) => {
        Function {
            name: $name,
            arity: (1, 1),
            body: |_, args| match (&args[0], as_float(&args[0])) {
                (Value::Null, _) => Ok(Value::Null),
                (_, Some(x)) => Ok(Value::Float($f(x))),
                (other, None) => Err(wrong($name, "a number", other)),
            },
        }
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "abs",
        arity: (1, 1),
        body: abs,
    },
    Function {
        name: "sign",
        arity: (1, 1),
        body: sign,
    },
    Function {
        name: "round",
        arity: (1, 3),
        body: round,
    },
    Function {
        name: "isnan",
        arity: (1, 1),
        body: is_nan,
    },
    Function {
        name: "atan2",
        arity: (2, 2),
        body: atan2,
    },
    Function {
        name: "pi",
        arity: (0, 0),
        body: |_, _| Ok(Value::Float(std::f64::consts::PI)),
    },
    Function {
        name: "e",
        arity: (0, 0),
        body: |_, _| Ok(Value::Float(std::f64::consts::E)),
    },
    Function {
        name: "rand",
        arity: (0, 0),
        body: |_, _| Ok(Value::Float(random())),
    },
    Function {
        name: "randomuuid",
        arity: (0, 0),
        body: |_, _| Ok(Value::text(&random_uuid())),
    },
    Function {
        name: "timestamp",
        arity: (0, 0),
        body: timestamp,
    },
    float_function!("ceil", f64::ceil),
    float_function!("floor", f64::floor),
    float_function!("sqrt", f64::sqrt),
    float_function!("exp", f64::exp),
    float_function!("log", f64::ln),
    float_function!("log10", f64::log10),
    float_function!("sin", f64::sin),
    float_function!("cos", f64::cos),
    float_function!("tan", f64::tan),
    float_function!("sinh", f64::sinh),
    float_function!("cosh", f64::cosh),
    float_function!("tanh", f64::tanh),
    float_function!("coth", |x: f64| match x == 0.0 {
        true => f64::NAN,
        false => 1.0 / x.tanh(),
    }),
    float_function!("cot", |x: f64| 1.0 / x.tan()),
    float_function!("asin", f64::asin),
    float_function!("acos", f64::acos),
    float_function!("atan", f64::atan),
    float_function!("degrees", f64::to_degrees),
    float_function!("radians", f64::to_radians),
    float_function!("haversin", |x: f64| (1.0 - x.cos()) / 2.0),
];

fn abs(_: &Runtime, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(i) => {
            i.checked_abs()
                .map(Value::Integer)
                .ok_or_else(|| ExecError::Arithmetic {
                    message: format!("integer overflow: abs({i}) does not fit in 64 bits"),
                })
        }
        Value::Float(f) => Ok(Value::Float(f.abs())),
        other => Err(wrong("abs", "a number", other)),
    }
}

fn sign(_: &Runtime, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(i) => Ok(Value::Integer(i.signum())),
        Value::Float(f) if *f > 0.0 => Ok(Value::Integer(1)),
        Value::Float(f) if *f < 0.0 => Ok(Value::Integer(-1)),
        Value::Float(_) => Ok(Value::Integer(0)),
        other => Err(wrong("sign", "a number", other)),
    }
}

/// `round(x)`: to whole, halves up. `round(x, n)`: to `n` digits, halves away from zero; `round(x, n, mode)` as the
/// mode says.
fn round(_: &Runtime, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let x = as_float(&args[0]).ok_or_else(|| wrong("round", "a number", &args[0]))?;
    match args.get(1) {
        None => Ok(Value::Float((x + 0.5).floor())),
        Some(Value::Integer(digits)) => {
            let digits = i32::try_from(*digits).unwrap_or(i32::MAX).clamp(-308, 308);
            let scale = 10_f64.powi(digits);
            let scaled = x * scale;
            Ok(Value::Float(if scaled.is_finite() {
                rounded(scaled, args.get(2))? / scale
            } else {
                x
            }))
        }
        Some(other) => Err(wrong("round", "an Integer number of digits", other)),
    }
}

/// The whole number that a mode rounds to.
fn rounded(x: f64, mode: Option<&Value>) -> Result<f64> {
    let mode = match mode {
        None => return Ok(x.round()),
        Some(Value::String(mode)) => mode.to_uppercase(),
        Some(other) => return Err(wrong("round", "the name of a mode", other)),
    };
    let is_half = (x - x.trunc()).abs() == 0.5;
    Ok(match mode.as_str() {
        "UP" => x.signum() * x.abs().ceil(),
        "DOWN" => x.trunc(),
        "CEILING" => x.ceil(),
        "FLOOR" => x.floor(),
        "HALF_UP" => x.round(),
        "HALF_DOWN" if is_half => x.trunc(),
        "HALF_EVEN" => x.round_ties_even(),
        "HALF_DOWN" => x.round(),
        _ => {
            return Err(ExecError::Argument {
                message: format!(
                    "`{mode}` is no mode of rounding; use UP, DOWN, CEILING, FLOOR, HALF_UP, HALF_DOWN or HALF_EVEN"
                ),
            });
        }
    })
}

fn is_nan(_: &Runtime, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(_) => Ok(false.into()),
        Value::Float(f) => Ok(f.is_nan().into()),
        other => Err(wrong("isNaN", "a number", other)),
    }
}

fn atan2(_: &Runtime, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    match (as_float(&args[0]), as_float(&args[1])) {
        (Some(y), Some(x)) => Ok(Value::Float(y.atan2(x))),
        (None, _) => Err(wrong("atan2", "numbers", &args[0])),
        (_, None) => Err(wrong("atan2", "numbers", &args[1])),
    }
}

/// Milliseconds since 1970-01-01 UTC at which the statement began.
fn timestamp(rt: &Runtime, _: &[Value]) -> Result<Value> {
    let now = rt.shared.clock.statement();
    let millis = now.seconds.saturating_mul(1000);
    Ok(Value::Integer(
        millis.saturating_add(i64::from(now.nanoseconds / 1_000_000)),
    ))
}

/// 64 bits that nobody can foretell: a hash under a key of this thread that the system drew.
fn unpredictable() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A random UUID (version 4).
fn random_uuid() -> String {
    let (high, low) = (unpredictable(), unpredictable());
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// A number in `0..1` from a generator of this thread (xorshift*).
fn random() -> f64 {
    thread_local!(static STATE: Cell<u64> = const { Cell::new(0) });
    STATE.with(|state| {
        let mut x = state.get();
        if x == 0 {
            x = unpredictable() | 1;
        }
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        state.set(x);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let unit = (x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    })
}
