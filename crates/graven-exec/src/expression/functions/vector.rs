//! How alike two vectors are, vectors being lists of numbers.
//!
//! # Source
//! The measures of Neo4j's vector indexes, both between 0 and 1: `(1 + cos) / 2` of the angle
//! between the vectors, and `1 / (1 + d^2)` of their distance. They are computed with floats of
//! single precision, as those indexes do, so that a result equals the score of a search.

use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
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

/// The coordinates of both; none where one is null.
///
/// # Errors
/// Something else than lists of finite numbers of one length, at least one.
fn both(function: &str, args: &[Value]) -> Result<Option<[Vec<f64>; 2]>> {
    if args.iter().any(Value::is_null) {
        return Ok(None);
    }
    let vector = |value: &Value| -> Result<Vec<f64>> {
        let number = |value: &Value| as_float(value).filter(|x| x.is_finite());
        let numbers = match value {
            Value::List(items) if !items.is_empty() => items.iter().map(number).collect(),
            _ => None,
        };
        let none = || not_a_vector(function, value);
        numbers.ok_or_else(none)
    };
    let (a, b) = (vector(&args[0])?, vector(&args[1])?);
    if a.len() != b.len() {
        let (a, b) = (a.len(), b.len());
        return Err(ExecError::Argument {
            message: format!("{function}() needs vectors of one length, got {a} and {b} numbers"),
        });
    }
    Ok(Some([a, b]))
}

fn not_a_vector(function: &str, value: &Value) -> ExecError {
    ExecError::Argument {
        message: format!(
            "{function}() needs lists of finite numbers, at least one, got {}: {value}",
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
