//! How alike two vectors are, vectors being lists of numbers.
//!
//! # Source
//! The measures of Neo4j's vector indexes, both between 0 and 1: `(1 + cos) / 2` of the angle
//! between the vectors, and `1 / (1 + d^2)` of their distance.

use super::wrong;
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
fn both(function: &str, args: &[Value]) -> Result<Option<Vec<(f64, f64)>>> {
    let (a, b) = match (&args[0], &args[1]) {
        (Value::Null, _) | (_, Value::Null) => return Ok(None),
        (Value::List(a), Value::List(b)) => (a, b),
        (Value::List(_), other) | (other, _) => {
            return Err(wrong(function, "two lists of numbers", other));
        }
    };
    if a.len() != b.len() || a.is_empty() {
        let (a, b) = (a.len(), b.len());
        return Err(ExecError::Argument {
            message: format!("{function}() needs vectors of one length, got {a} and {b} numbers"),
        });
    }
    let number = |value: &Value| {
        let number = as_float(value).filter(|x| x.is_finite());
        number.ok_or_else(|| wrong(function, "finite numbers", value))
    };
    let pairs = a.iter().zip(b.iter());
    let pairs = pairs.map(|(a, b)| Ok((number(a)?, number(b)?)));
    pairs.collect::<Result<_>>().map(Some)
}

fn cosine(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(pairs) = both("vector.similarity.cosine", args)? else {
        return Ok(Value::Null);
    };
    let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let lengths = sum(|(a, _)| a * a).sqrt() * sum(|(_, b)| b * b).sqrt();
    if lengths == 0.0 {
        return Err(ExecError::Argument {
            message:
                "vector.similarity.cosine() needs vectors other than 0: they have no direction"
                    .to_owned(),
        });
    }
    let cosine = (sum(|(a, b)| a * b) / lengths).clamp(-1.0, 1.0);
    Ok(Value::Float(f64::midpoint(1.0, cosine)))
}

fn euclidean(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(pairs) = both("vector.similarity.euclidean", args)? else {
        return Ok(Value::Null);
    };
    let square: f64 = pairs.iter().map(|(a, b)| (a - b) * (a - b)).sum();
    Ok(Value::Float(1.0 / (1.0 + square)))
}
