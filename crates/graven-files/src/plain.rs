//! Plain text as values: what a column holds whose type is named elsewhere.

use graven_temporal::{Kind as Temporal, Zone};
use graven_types::PropertyValue;
use graven_types::told;

use crate::datum::Datum;
use crate::kind::Kind;
use crate::literal;

/// The value of a text in a column of this kind.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence.
pub fn read(kind: &Kind, text: &str) -> Result<PropertyValue, String> {
    let trimmed = text.trim();
    let temporal = |kind: Temporal| -> Result<PropertyValue, String> {
        let value = graven_temporal::text::parse(kind, trimmed, &Zone::UTC);
        value.map_err(|error| told!("is no {}: {error}", kind.name()))
    };
    Ok(match kind {
        Kind::Boolean => PropertyValue::Boolean(match trimmed.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => return Err(told!("is neither true nor false: {text}")),
        }),
        Kind::Integer => PropertyValue::Integer(
            trimmed
                .parse()
                .map_err(|_| told!("is no whole number of 64 bits: {text}"))?,
        ),
        Kind::Float => {
            PropertyValue::Float(trimmed.parse().map_err(|_| told!("is no number: {text}"))?)
        }
        Kind::Date => temporal(Temporal::Date)?,
        Kind::LocalTime => temporal(Temporal::LocalTime)?,
        Kind::Time => temporal(Temporal::Time)?,
        Kind::LocalDateTime => temporal(Temporal::LocalDateTime)?,
        Kind::DateTime => temporal(Temporal::DateTime)?,
        Kind::Duration => {
            let value = graven_temporal::duration::parse(trimmed);
            let value = value.map_err(|error| told!("is no duration: {error}"))?;
            PropertyValue::Duration(value)
        }
        Kind::List(element) => {
            let items: Vec<serde_json::Value> = serde_json::from_str(trimmed)
                .map_err(|error| told!("is no list as JSON writes it: {error}"))?;
            let items = items.into_iter().map(|item| match item {
                serde_json::Value::String(item) => read(element, &item),
                serde_json::Value::Null => Err("has null in a list".to_owned()),
                item => read(element, &item.to_string()),
            });
            PropertyValue::List(items.collect::<Result<_, _>>()?)
        }
        Kind::Literal => match literal::read(trimmed)? {
            Datum::Value(value) => value,
            _ => return Err(told!("is a map, which no property can hold: {text}")),
        },
        _ => PropertyValue::String(text.into()),
    })
}
