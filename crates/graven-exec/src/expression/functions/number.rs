//! Functions of numbers.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;
use graven_types::told;

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
        body: super::round::round,
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
    float_function!("graven.gamma", libm::tgamma),
    float_function!("graven.lgamma", libm::lgamma),
    float_function!("ceil", f64::ceil),
    float_function!("floor", f64::floor),
    float_function!("sqrt", f64::sqrt),
    float_function!("exp", f64::exp),
    float_function!("log", f64::ln),
    float_function!("log10", f64::log10),
    float_function!("sin", f64::sin),
    float_function!("cos", f64::cos),
    float_function!("tan", f64::tan),
    float_function!("cot", |x: f64| 1.0 / x.tan()),
    float_function!("asin", f64::asin),
    float_function!("acos", f64::acos),
    float_function!("atan", f64::atan),
    float_function!("degrees", f64::to_degrees),
    float_function!("radians", f64::to_radians),
    float_function!("haversin", |x: f64| (1.0 - x.cos()) / 2.0),
];

fn abs(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(i) => {
            i.checked_abs()
                .map(Value::Integer)
                .ok_or_else(|| ExecError::Arithmetic {
                    message: told!("integer overflow: abs({i}) does not fit in 64 bits"),
                })
        }
        Value::Float(f) => Ok(Value::Float(f.abs())),
        other => Err(wrong("abs", "a number", other)),
    }
}

fn sign(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(i) => Ok(Value::Integer(i.signum())),
        Value::Float(f) if *f > 0.0 => Ok(Value::Integer(1)),
        Value::Float(f) if *f < 0.0 => Ok(Value::Integer(-1)),
        Value::Float(_) => Ok(Value::Integer(0)),
        other => Err(wrong("sign", "a number", other)),
    }
}

fn is_nan(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(_) => Ok(false.into()),
        Value::Float(f) => Ok(f.is_nan().into()),
        other => Err(wrong("isNaN", "a number", other)),
    }
}

fn atan2(_: &QueryContext, args: &[Value]) -> Result<Value> {
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
fn timestamp(rt: &QueryContext, _: &[Value]) -> Result<Value> {
    let now = rt.shared.clock.statement();
    let millis = now.seconds.saturating_mul(1000);
    Ok(Value::Integer(
        millis.saturating_add(i64::from(now.nanoseconds / 1_000_000)),
    ))
}

/// 64 unpredictable bits: a hash under a key of this thread that the system drew.
fn unpredictable() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A random UUID (version 4).
pub(super) fn random_uuid() -> String {
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
pub(super) fn random() -> f64 {
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
