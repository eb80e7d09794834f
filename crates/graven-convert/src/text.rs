//! Values as text: literals of the language, and plain text for forms that name the type elsewhere.

use std::sync::Arc;

use graven::{PropertyValue, Value};
use graven_files::{Datum, Kind, literal};
use graven_temporal::{Kind as Temporal, Zone};

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

/// Reads what [`plain`] writes, and the texts of lists and literals that stand beside it.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence.
pub(crate) fn read_plain(kind: &Kind, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let temporal = |kind: Temporal| -> Result<Value, String> {
        let value = graven_temporal::text::parse(kind, trimmed, &Zone::UTC);
        let value = value.map_err(|error| format!("is no {}: {error}", kind.name()))?;
        Ok(Value::Stored(Arc::new(value)))
    };
    Ok(match kind {
        Kind::Boolean => Value::Boolean(match trimmed.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => return Err(format!("is neither true nor false: {text}")),
        }),
        Kind::Integer => Value::Integer(
            trimmed
                .parse()
                .map_err(|_| format!("is no whole number of 64 bits: {text}"))?,
        ),
        Kind::Float => Value::Float(
            trimmed
                .parse()
                .map_err(|_| format!("is no number: {text}"))?,
        ),
        Kind::Date => temporal(Temporal::Date)?,
        Kind::LocalTime => temporal(Temporal::LocalTime)?,
        Kind::Time => temporal(Temporal::Time)?,
        Kind::LocalDateTime => temporal(Temporal::LocalDateTime)?,
        Kind::DateTime => temporal(Temporal::DateTime)?,
        Kind::Duration => {
            let value = graven_temporal::duration::parse(trimmed);
            let value = value.map_err(|error| format!("is no duration: {error}"))?;
            Value::Stored(Arc::new(PropertyValue::Duration(value)))
        }
        Kind::List(element) => {
            let items: Vec<serde_json::Value> = serde_json::from_str(trimmed)
                .map_err(|error| format!("is no list as JSON writes it: {error}"))?;
            let items = items.into_iter().map(|item| match item {
                serde_json::Value::String(item) => read_plain(element, &item),
                serde_json::Value::Null => Err("has null in a list".to_owned()),
                item => read_plain(element, &item.to_string()),
            });
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Kind::Literal => value(literal::read(trimmed)?),
        _ => Value::from(text),
    })
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

fn stored_value(stored: &PropertyValue) -> Value {
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
