//! Vectors: made of numbers, measured, and how alike two of them are; for the latter lists of
//! numbers are vectors, too.
//!
//! # Source
//! The measures of Neo4j's vector indexes, both between 0 and 1: `(1 + cos) / 2` of the angle
//! between the vectors, and `1 / (1 + d^2)` of their distance. They are computed with floats of
//! single precision, as those indexes do, so that a result equals the score of a search. Distances
//! and norms of whole numbers are computed with 128 bits where these suffice, others with floats of
//! double precision. Coordinates are divided by a power of two before they are squared for a length
//! or an angle ([`scale`]).

use std::sync::Arc;

use graven_types::PropertyValue;
use graven_types::told;
use graven_types::vector::{CoordinateType, Number, Vector};

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "vector",
        arity: (3, 3),
        body: make,
    },
    Function {
        name: "vector_dimension_count",
        arity: (1, 1),
        body: dimension,
    },
    Function {
        name: "vector_distance",
        arity: (3, 3),
        body: distance,
    },
    Function {
        name: "vector_norm",
        arity: (2, 2),
        body: norm,
    },
    Function {
        name: "vector.similarity.cosine",
        arity: (2, 2),
        body: cosine,
    },
    Function {
        name: "vector.similarity.euclidean",
        arity: (2, 2),
        body: euclidean,
    },
];

fn refused(message: String) -> ExecError {
    ExecError::Argument { message }
}

/// The vector of a list of numbers, or of a text that has one as JSON writes it.
fn make(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Value::String(name), [numbers, dimension, _]) = (&args[2], args) else {
        return Err(wrong("vector", "a type of coordinates", &args[2]));
    };
    let of = CoordinateType::parse(name)
        .ok_or_else(|| refused(told!("there are no coordinates of type {name}")))?;
    if numbers.is_null() || dimension.is_null() {
        return Ok(Value::Null);
    }
    let Value::Integer(wanted) = dimension else {
        return Err(wrong("vector", "an Integer as dimension", dimension));
    };
    let numbers: Vec<Number> = match numbers {
        Value::List(items) => {
            work(items.len())?;
            items.iter().map(number).collect::<Result<_>>()?
        }
        Value::String(text) => {
            charge(text.len().saturating_mul(size_of::<Number>()) / 2)?;
            read(text)
                .ok_or_else(|| refused(told!("vector() needs a list of numbers, got '{text}'")))?
        }
        other => return Err(wrong("vector", "a List or String", other)),
    };
    if i64::try_from(numbers.len()) != Ok(*wanted) {
        return Err(refused(told!(
            "vector() needs as many numbers as the dimension says, {wanted}, got {}",
            numbers.len()
        )));
    }
    let made = Vector::new(of, numbers).map_err(|fault| refused(fault.to_string()))?;
    charge(made.bytes().len())?;
    Ok(Value::Stored(Arc::new(PropertyValue::Vector(made))))
}

fn number(value: &Value) -> Result<Number> {
    match value {
        Value::Integer(integer) => Ok(Number::Integer(*integer)),
        Value::Float(float) => Ok(Number::Float(*float)),
        other => Err(wrong("vector", "a List of numbers", other)),
    }
}

/// The numbers between brackets and commas.
fn read(text: &str) -> Option<Vec<Number>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let number = |text: &str| {
        let text = text.trim();
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let integer = text.parse().ok().map(Number::Integer);
        integer.or_else(|| text.parse().ok().map(Number::Float))
    };
    match inside.trim().is_empty() {
        true => Some(Vec::new()),
        false => inside.split(',').map(number).collect(),
    }
}

fn vector<'a>(function: &str, value: &'a Value) -> Result<&'a Vector> {
    let none = || wrong(function, "a Vector", value);
    let vector = value.as_vector().ok_or_else(none)?;
    work(vector.dimension() / 8)?;
    Ok(vector)
}

fn dimension(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let dimension = vector("vector_dimension_count", &args[0])?.dimension();
    Ok(Value::Integer(i64::try_from(dimension).unwrap_or(i64::MAX)))
}

/// The word that names a measure.
fn measure<'a>(function: &str, value: &'a Value) -> Result<&'a str> {
    match value {
        Value::String(word) => Ok(word),
        other => Err(wrong(function, "the name of a measure", other)),
    }
}

/// How far two vectors of one dimension are apart; their coordinates may be of different types.
fn distance(_: &QueryContext, args: &[Value]) -> Result<Value> {
    const NAME: &str = "vector_distance";
    if args[0].is_null() || args[1].is_null() {
        return Ok(Value::Null);
    }
    let (a, b) = (vector(NAME, &args[0])?, vector(NAME, &args[1])?);
    if a.dimension() != b.dimension() {
        let (a, b) = (a.dimension(), b.dimension());
        return Err(refused(told!(
            "{NAME}() needs vectors of one dimension, got {a} and {b} coordinates"
        )));
    }
    let pairs = || a.floats().zip(b.floats());
    let squares = || {
        let square = |a: i128, b: i128| (a - b).checked_mul(a - b);
        whole_sum(a, b, square)
    };
    let measure = measure(NAME, &args[2])?;
    Ok(Value::Float(match measure {
        "EUCLIDEAN" => match squares() {
            Some(squares) => squares.sqrt(),
            None => length(|| pairs().map(|(a, b)| a - b)),
        },
        "EUCLIDEAN_SQUARED" => {
            let floats = || pairs().map(|(a, b)| (a - b) * (a - b)).sum();
            squares().unwrap_or_else(floats)
        }
        "MANHATTAN" => {
            let floats = || pairs().map(|(a, b)| (a - b).abs()).sum();
            whole_sum(a, b, |a, b| Some((a - b).abs())).unwrap_or_else(floats)
        }
        "COSINE" => {
            let (Some(of_a), Some(of_b)) = (scale(a.floats()), scale(b.floats())) else {
                return Err(refused(told!(
                    "{NAME}() needs vectors that have a direction"
                )));
            };
            let (mut dot, mut squares) = (0.0, [0.0; 2]);
            for (a, b) in pairs() {
                let (a, b) = (a / of_a, b / of_b);
                dot += a * b;
                squares[0] += a * a;
                squares[1] += b * b;
            }
            let lengths: f64 = squares.iter().product::<f64>().sqrt();
            1.0 - (dot / lengths).clamp(-1.0, 1.0)
        }
        "DOT" => {
            let floats = || pairs().map(|(a, b)| a * b).sum();
            0.0 - whole_sum(a, b, i128::checked_mul).unwrap_or_else(floats)
        }
        "HAMMING" => {
            let numbers = a.numbers().zip(b.numbers());
            numbers.filter(|(a, b)| !are_equal(*a, *b)).count() as f64
        }
        other => return Err(refused(told!("there is no distance {other}"))),
    }))
}

/// The number if it is whole and lies within 96 bits.
#[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
fn whole(number: Number) -> Option<i128> {
    const BEYOND: f64 = (1_i128 << 96) as f64;
    match number {
        Number::Integer(integer) => Some(integer.into()),
        Number::Float(float) => {
            (float.fract() == 0.0 && float.abs() < BEYOND).then_some(float as i128)
        }
    }
}

/// Integers beyond 53 bits equal no float that is next to them.
fn are_equal(a: Number, b: Number) -> bool {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_float() == b.as_float(),
        _ => false,
    }
}

/// The sum of what pairs of coordinates give, if all are whole and 128 bits hold it.
fn whole_sum(a: &Vector, b: &Vector, of: impl Fn(i128, i128) -> Option<i128>) -> Option<f64> {
    let mut pairs = a.numbers().zip(b.numbers());
    let sum = pairs.try_fold(0_i128, |sum, (a, b)| {
        sum.checked_add(of(whole(a)?, whole(b)?)?)
    });
    sum.map(|sum| sum as f64)
}

/// A power of two near the largest of these numbers, by which they are divided without loss, so
/// that their squares neither overflow nor vanish; none if all are zero.
fn scale(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    const EXPONENT: u64 = 0x7ff << 52;
    let largest = numbers.map(f64::abs).fold(0.0, f64::max);
    let power = f64::from_bits(largest.min(f64::MAX).to_bits() & EXPONENT);
    (largest > 0.0).then(|| power.max(f64::MIN_POSITIVE))
}

fn length<I: Iterator<Item = f64>>(numbers: impl Fn() -> I) -> f64 {
    let Some(scale) = scale(numbers()) else {
        return 0.0;
    };
    let scaled = numbers().map(|x| x / scale);
    scaled.map(|x| x * x).sum::<f64>().sqrt() * scale
}

fn norm(_: &QueryContext, args: &[Value]) -> Result<Value> {
    const NAME: &str = "vector_norm";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let of = vector(NAME, &args[0])?;
    Ok(Value::Float(match measure(NAME, &args[1])? {
        "EUCLIDEAN" => length(|| of.floats()),
        "MANHATTAN" => {
            let floats = || of.floats().map(f64::abs).sum();
            whole_sum(of, of, |a, _| Some(a.abs())).unwrap_or_else(floats)
        }
        other => return Err(refused(told!("there is no norm {other}"))),
    }))
}

/// The coordinates of both; none where one is null.
///
/// # Errors
/// Something else than vectors, or lists of finite numbers, of one length, at least one.
fn both(function: &str, args: &[Value]) -> Result<Option<[Vec<f64>; 2]>> {
    if args.iter().any(Value::is_null) {
        return Ok(None);
    }
    let coordinates = |value: &Value| -> Result<Vec<f64>> {
        if let Some(vector) = value.as_vector() {
            return Ok(vector.floats().collect());
        }
        let number = |value: &Value| as_float(value).filter(|x| x.is_finite());
        let numbers = match value {
            Value::List(items) if !items.is_empty() => items.iter().map(number).collect(),
            _ => None,
        };
        let none = || not_a_vector(function, value);
        numbers.ok_or_else(none)
    };
    let (a, b) = (coordinates(&args[0])?, coordinates(&args[1])?);
    if a.len() != b.len() {
        let (a, b) = (a.len(), b.len());
        return Err(refused(told!(
            "{function}() needs vectors of one length, got {a} and {b} numbers"
        )));
    }
    Ok(Some([a, b]))
}

fn not_a_vector(function: &str, value: &Value) -> ExecError {
    ExecError::Argument {
        message: told!(
            "{function}() needs vectors or lists of finite numbers, at least one, got {}: {value}",
            value.type_name()
        ),
    }
}

/// The vector of this direction that has length 1, as an index stores it.
fn direction(vector: &[f64]) -> Option<Vec<f32>> {
    let scale = scale(vector.iter().copied())?;
    let scaled = || vector.iter().map(move |x| x / scale);
    let length = length(scaled);
    Some(scaled().map(|x| single(x / length)).collect())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "coordinates are floats of single precision"
)]
fn single(x: f64) -> f32 {
    x as f32
}

fn cosine(_: &QueryContext, args: &[Value]) -> Result<Value> {
    const NAME: &str = "vector.similarity.cosine";
    let Some([a, b]) = both(NAME, args)? else {
        return Ok(Value::Null);
    };
    let of = |vector: &[f64], value: &Value| {
        direction(vector).ok_or_else(|| ExecError::Argument {
            message: told!("{NAME}() needs vectors that have a direction, got {value}"),
        })
    };
    let (a, b) = (of(&a, &args[0])?, of(&b, &args[1])?);
    let cosine = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>();
    let cosine = cosine.clamp(-1.0, 1.0);
    Ok(Value::Float(f64::from((1.0 + cosine) / 2.0)))
}

fn euclidean(_: &QueryContext, args: &[Value]) -> Result<Value> {
    const NAME: &str = "vector.similarity.euclidean";
    let Some(both) = both(NAME, args)? else {
        return Ok(Value::Null);
    };
    let singles = |of: usize| -> Result<Vec<f32>> {
        let coordinates = both[of].iter().map(|x| single(*x));
        let finite = coordinates.map(|x| x.is_finite().then_some(x));
        let all = finite.collect::<Option<_>>();
        all.ok_or_else(|| not_a_vector(NAME, &args[of]))
    };
    let (a, b) = (singles(0)?, singles(1)?);
    let square: f32 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    Ok(Value::Float(f64::from(1.0 / (1.0 + square))))
}
