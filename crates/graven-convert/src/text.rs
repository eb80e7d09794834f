//! Values as text: literals of the language, and plain text for forms that name the type elsewhere.

use std::sync::Arc;

use graven::{PropertyValue, Value};
use graven_files::{Datum, literal};

/// The value on its way to a file; what no property can hold is null.
pub(crate) fn datum(value: &Value) -> Datum {
    match value {
        Value::Boolean(b) => Datum::Value(PropertyValue::Boolean(*b)),
        Value::Integer(i) => Datum::Value(PropertyValue::Integer(*i)),
        Value::Float(x) => Datum::Value(PropertyValue::Float(*x)),
        Value::String(text) => Datum::text(text),
        Value::Bytes(bytes) => Datum::Value(PropertyValue::Bytes(bytes.clone())),
        Value::List(items) => Datum::list(items.iter().map(datum).collect()),
        Value::Stored(stored) => Datum::Value(stored.as_ref().clone()),
        _ => Datum::NULL,
    }
}

/// A name as statements write it.
pub(crate) fn name(name: &str) -> String {
    let mut text = String::new();
    literal::name(&mut text, name);
    text
}

/// The literal of a value.
pub(crate) fn literal_of(value: &Value) -> String {
    let mut text = String::new();
    literal::write(&mut text, &datum(value));
    text
}

/// Plain text of a value that is no list: what a column of its type holds.
pub(crate) fn plain(value: &PropertyValue) -> String {
    match value {
        PropertyValue::Boolean(b) => b.to_string(),
        PropertyValue::Integer(i) => i.to_string(),
        PropertyValue::Float(x) if x.is_infinite() => {
            (if *x > 0.0 { "Infinity" } else { "-Infinity" }).to_owned()
        }
        PropertyValue::Float(x) => format!("{x:?}"),
        PropertyValue::String(text) => text.to_string(),
        PropertyValue::Point(p) => {
            let (crs, [a, b, c]) = match p.srid {
                7203 => ("cartesian", ["x", "y", "z"]),
                9157 => ("cartesian-3D", ["x", "y", "z"]),
                4326 => ("WGS-84", ["longitude", "latitude", "height"]),
                _ => ("WGS-84-3D", ["longitude", "latitude", "height"]),
            };
            let z = p.z.map_or(String::new(), |z| format!(", {c}: {z:?}"));
            format!("{{{a}: {:?}, {b}: {:?}{z}, crs: '{crs}'}}", p.x, p.y)
        }
        value => graven_temporal::text::write(value).unwrap_or_default(),
    }
}

/// The value of a datum.
pub(crate) fn value(datum: Datum) -> Value {
    match datum {
        Datum::Value(stored) => stored_value(&stored),
        Datum::List(items) => Value::List(items.into_iter().map(value).collect()),
        Datum::Map(entries) => {
            let entries = entries.into_iter();
            Value::Map(entries.map(|(key, item)| (key, value(item))).collect())
        }
    }
}

/// The value that a property holds.
pub(crate) fn stored_value(stored: &PropertyValue) -> Value {
    match stored {
        PropertyValue::Null => Value::Null,
        PropertyValue::Boolean(b) => Value::Boolean(*b),
        PropertyValue::Integer(i) => Value::Integer(*i),
        PropertyValue::Float(x) => Value::Float(*x),
        PropertyValue::String(text) => Value::String(Arc::clone(text)),
        PropertyValue::Bytes(bytes) => Value::Bytes(Arc::clone(bytes)),
        PropertyValue::List(items) => Value::List(items.iter().map(stored_value).collect()),
        other => Value::Stored(Arc::new(other.clone())),
    }
}
