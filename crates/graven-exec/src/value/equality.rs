//! Equality in three-valued logic, and equivalence as `DISTINCT` and grouping see it.

use std::cmp::Ordering;

use super::{Map, Standing, Value, order};

/// The language's `a = b`: `None` where the answer is unknown because a null takes part.
#[must_use]
pub fn equals(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            all(a.iter().zip(b.iter()).map(|(x, y)| equals(x, y)))
        }
        (Value::Map(a), Value::Map(b)) => {
            if !same_keys(a, b) || !same_standing(a, b) {
                return Some(false);
            }
            all(a
                .entries()
                .iter()
                .zip(b.entries())
                .map(|((_, x), (_, y))| equals(x, y)))
        }
        (Value::Float(x), _) if x.is_nan() => Some(false),
        (_, Value::Float(y)) if y.is_nan() => Some(false),
        _ => Some(equivalent(a, b)),
    }
}

/// Conjunction of three-valued answers: false beats unknown, unknown beats true.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    for answer in answers {
        match answer {
            Some(false) => return Some(false),
            None => result = None,
            Some(true) => {}
        }
    }
    result
}

fn same_standing(a: &Map, b: &Map) -> bool {
    let id = |map: &Map| map.standing().map(Standing::id);
    id(a) == id(b)
}

fn same_keys(a: &Map, b: &Map) -> bool {
    a.entries().len() == b.entries().len()
        && a.entries()
            .iter()
            .zip(b.entries())
            .all(|((x, _), (y, _))| x == y)
}

/// Whether `DISTINCT` and grouping take the two for one value: as equality, but null is equivalent
/// to null and NaN to NaN.
#[must_use]
pub fn equivalent(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Boolean(a), Value::Boolean(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
            order::compare_numbers(a, b) == Ordering::Equal
        }
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| equivalent(x, y))
        }
        (Value::Map(a), Value::Map(b)) => {
            same_keys(a, b)
                && same_standing(a, b)
                && a.entries()
                    .iter()
                    .zip(b.entries())
                    .all(|((_, x), (_, y))| equivalent(x, y))
        }
        (Value::Node(a), Value::Node(b)) => a == b,
        (Value::Relationship(a), Value::Relationship(b)) => a == b,
        (Value::Path(a), Value::Path(b)) => a == b,
        (Value::Stored(a), Value::Stored(b)) => a == b,
        _ => false,
    }
}

/// `AND` in three-valued logic.
#[must_use]
pub fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// `OR` in three-valued logic.
#[must_use]
pub fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// `XOR` in three-valued logic.
#[must_use]
pub fn xor(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    Some(a? ^ b?)
}

/// `needle IN haystack`: true if an element is equal, unknown if none is but one might be.
#[must_use]
pub fn contains(haystack: &[Value], needle: &Value) -> Option<bool> {
    let mut unknown = false;
    for item in haystack {
        match equals(item, needle) {
            Some(true) => return Some(true),
            None => unknown = true,
            Some(false) => {}
        }
    }
    if unknown { None } else { Some(false) }
}
