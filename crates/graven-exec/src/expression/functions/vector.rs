//! Vectors: made of numbers, measured, and how alike two of them are; for the latter lists of
//! numbers are vectors, too.
//!
//! # Source
//! The measures of Neo4j's vector indexes, both between 0 and 1: `(1 + cos) / 2` of the angle
//! between the vectors, and `1 / (1 + d^2)` of their distance. They are computed with floats of
//! single precision, as those indexes do, so that a result equals the score of a search. Distances
//! and norms are computed with floats of double precision.

use std::sync::Arc;

use graven_types::PropertyValue;
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
        .ok_or_else(|| refused(format!("there are no coordinates of type {name}")))?;
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
                .ok_or_else(|| refused(format!("vector() needs a list of numbers, got '{text}'")))?
        }
        other => return Err(wrong("vector", "a List or String", other)),
    };
    if i64::try_from(numbers.len()) != Ok(*wanted) {
        return Err(refused(format!(
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
        return Err(refused(format!(
            "{NAME}() needs vectors of one dimension, got {a} and {b} coordinates"
        )));
    }
    let pairs = || a.floats().zip(b.floats());
    let squares = || pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let dot = || pairs().map(|(a, b)| a * b).sum::<f64>();
    let measure = measure(NAME, &args[2])?;
    Ok(Value::Float(match measure {
        "EUCLIDEAN" => squares().sqrt(),
        "EUCLIDEAN_SQUARED" => squares(),
        "MANHATTAN" => pairs().map(|(a, b)| (a - b).abs()).sum(),
        "COSINE" => {
            let lengths = length(a) * length(b);
            if lengths == 0.0 {
                return Err(refused(format!(
                    "{NAME}() needs vectors that have a direction"
                )));
            }
            1.0 - dot() / lengths
        }
        "DOT" => -dot(),
        "HAMMING" => pairs().filter(|(a, b)| a != b).count() as f64,
        other => return Err(refused(format!("there is no distance {other}"))),
    }))
}

fn length(vector: &Vector) -> f64 {
    vector.floats().map(|x| x * x).sum::<f64>().sqrt()
}

fn norm(_: &QueryContext, args: &[Value]) -> Result<Value> {
    const NAME: &str = "vector_norm";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let of = vector(NAME, &args[0])?;
    Ok(Value::Float(match measure(NAME, &args[1])? {
        "EUCLIDEAN" => length(of),
        "MANHATTAN" => of.floats().map(f64::abs).sum(),
        other => return Err(refused(format!("there is no norm {other}"))),
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
        return Err(refused(format!(
            "{function}() needs vectors of one length, got {a} and {b} numbers"
        )));
    }
    Ok(Some([a, b]))
}

fn not_a_vector(function: &str, value: &Value) -> ExecError {
    ExecError::Argument {
        message: format!(
            "{function}() needs vectors or lists of finite numbers, at least one, got {}: {value}",
            value.type_name()
        ),
    }
}

/// The vector of this direction that has length 1, as an index stores it.
fn direction(vector: &[f64]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    (length > 0.0 && length.is_finite())
        .then(|| vector.iter().map(|x| single(x / length)).collect())
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
            message: format!("{NAME}() needs vectors that have a direction, got {value}"),
        })
    };
    let (a, b) = (of(&a, &args[0])?, of(&b, &args[1])?);
    let cosine = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>();
    Ok(Value::Float(f64::from(((1.0 + cosine) / 2.0).max(0.0))))
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
