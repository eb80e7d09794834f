//! Order of values: comparability (`<`, `>=`) within a type, orderability (`ORDER BY`, `min`,
//! `max`) over all.
//!
//! # Source
//! openCypher CIP2016-06-14, "Comparability and equality of values". Ascending order of types: map,
//! node, relationship, list, path, stored types (vector, point, temporal), string, boolean, number,
//! null.
//! NaN is the largest number.

use std::cmp::Ordering;

use super::{Standing, Value};

/// Outcome of `<` and friends for two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// They compare.
    Ordered(Ordering),
    /// Comparable types without order between these two (NaN): every comparison is false.
    Unordered,
    /// Unknown: null takes part, or the types do not compare.
    Unknown,
}

/// Compares as `<`, `<=`, `>`, `>=` do.
#[must_use]
pub fn compare(a: &Value, b: &Value) -> Comparison {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => Comparison::Ordered(a.cmp(b)),
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
            if is_nan(a) || is_nan(b) {
                Comparison::Unordered
            } else {
                Comparison::Ordered(compare_numbers(a, b))
            }
        }
        (Value::String(a), Value::String(b)) => Comparison::Ordered(a.cmp(b)),
        (Value::Boolean(a), Value::Boolean(b)) => Comparison::Ordered(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Comparison::Ordered(a.cmp(b)),
        (Value::List(a), Value::List(b)) => compare_lists(a, b),
        (Value::Stored(x), Value::Stored(y)) => {
            super::convert::compare_stored(x, y).map_or(Comparison::Unknown, Comparison::Ordered)
        }
        _ => Comparison::Unknown,
    }
}

/// Lists compare element by element; a shorter list that is a prefix comes first. What does not
/// compare, NaN too, leaves it unknown which one does.
fn compare_lists(a: &[Value], b: &[Value]) -> Comparison {
    for (x, y) in a.iter().zip(b) {
        match compare(x, y) {
            Comparison::Ordered(Ordering::Equal) => {}
            Comparison::Ordered(other) => return Comparison::Ordered(other),
            Comparison::Unordered | Comparison::Unknown => return Comparison::Unknown,
        }
    }
    Comparison::Ordered(a.len().cmp(&b.len()))
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(f) if f.is_nan())
}

/// Compares two numbers exactly, also where an integer has no exact float; NaN is largest and equal
/// to itself.
///
/// # Panics
/// If one of the two is not a number.
#[must_use]
pub fn compare_numbers(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => compare_floats(*a, *b),
        (Value::Integer(a), Value::Float(b)) => compare_integer_float(*a, *b),
        (Value::Float(a), Value::Integer(b)) => compare_integer_float(*b, *a).reverse(),
        _ => panic!("compare_numbers takes numbers only"),
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compare_integer_float(a: i64, b: f64) -> Ordering {
    /// The first float above every 64-bit integer.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() || b >= BEYOND {
        return Ordering::Less;
    }
    if b < -BEYOND {
        return Ordering::Greater;
    }
    let whole = b.trunc();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be in range and whole"
    )]
    let as_integer = whole as i64;
    a.cmp(&as_integer)
        .then_with(|| compare_floats(0.0, b - whole))
}

/// Rank of the value's type in the order over all values.
pub(crate) fn type_rank(value: &Value) -> u8 {
    match value {
        Value::Map(map) => match map.standing() {
            None => 0,
            Some(Standing::Node { .. }) => 1,
            Some(Standing::Relationship { .. }) => 2,
            Some(Standing::Path { .. }) => 4,
        },
        Value::Node(_) => 1,
        Value::Relationship(_) => 2,
        Value::List(_) => 3,
        Value::Path(_) => 4,
        Value::Stored(_) => 5,
        Value::Bytes(_) => 6,
        Value::String(_) => 7,
        Value::Boolean(_) => 8,
        Value::Integer(_) | Value::Float(_) => 9,
        Value::Null => 10,
    }
}

/// The order of `ORDER BY` (ascending), `min` and `max`: total over all values, null last.
#[must_use]
pub fn total_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
            compare_numbers(a, b)
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Node(a), Value::Node(b)) => a.cmp(b),
        (Value::Relationship(a), Value::Relationship(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => order_sequences(a.iter(), b.iter()),
        (Value::Map(x), Value::Map(y)) if x.standing().is_some() || y.standing().is_some() => {
            let id = |standing: Option<&Standing>| standing.map(Standing::id);
            type_rank(a)
                .cmp(&type_rank(b))
                .then_with(|| id(x.standing()).cmp(&id(y.standing())))
        }
        (Value::Map(a), Value::Map(b)) => {
            // Smaller maps first, then their keys, then their values by ascending key.
            let (a, b) = (a.entries(), b.entries());
            a.len()
                .cmp(&b.len())
                .then_with(|| a.iter().map(|e| &e.0).cmp(b.iter().map(|e| &e.0)))
                .then_with(|| order_sequences(a.iter().map(|e| &e.1), b.iter().map(|e| &e.1)))
        }
        (Value::Path(a), Value::Path(b)) => a
            .nodes
            .cmp(&b.nodes)
            .then_with(|| a.relationships.cmp(&b.relationships)),
        (Value::Stored(x), Value::Stored(y)) => super::convert::order_stored(x, y),
        _ => {
            // What stands for a node among nodes, by id; the node itself comes first.
            let stands = |value: &Value| matches!(value, Value::Map(_));
            let by_rank = type_rank(a).cmp(&type_rank(b));
            by_rank
                .then_with(|| entity_id(a).cmp(&entity_id(b)))
                .then_with(|| stands(a).cmp(&stands(b)))
        }
    }
}

/// The id of a node or relationship, or of what stands for one.
fn entity_id(value: &Value) -> Option<u64> {
    match value {
        Value::Node(id) => Some(id.0),
        Value::Relationship(id) => Some(id.0),
        Value::Map(map) => map.standing().map(Standing::id),
        _ => None,
    }
}

fn order_sequences<'a>(
    mut a: impl Iterator<Item = &'a Value>,
    mut b: impl Iterator<Item = &'a Value>,
) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => match total_order(x, y) {
                Ordering::Equal => {}
                other => return other,
            },
        }
    }
}
