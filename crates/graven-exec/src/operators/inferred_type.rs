//! The type of the column of a table that is made of a query: that of its values.

use graven_storage::PropertyValue;
use graven_types::told;

/// What the values so far have in common.
#[derive(Default)]
pub(super) enum InferredType {
    /// There was none but null.
    #[default]
    Unknown,
    Plain(&'static str),
    List(Box<InferredType>),
}

impl InferredType {
    /// Takes note of a value.
    ///
    /// # Errors
    /// The names of two types.
    pub(super) fn see(&mut self, value: &PropertyValue) -> Result<(), String> {
        match (&mut *self, value) {
            (_, PropertyValue::Null) => Ok(()),
            (InferredType::Unknown, PropertyValue::List(items)) => {
                let mut element = InferredType::Unknown;
                items.iter().try_for_each(|item| element.see(item))?;
                *self = InferredType::List(Box::new(element));
                Ok(())
            }
            (InferredType::Unknown, value) => {
                *self = InferredType::Plain(name(value));
                Ok(())
            }
            (InferredType::List(element), PropertyValue::List(items)) => {
                items.iter().try_for_each(|item| element.see(item))
            }
            (InferredType::Plain(known), value) if *known == name(value) => Ok(()),
            (known, value) => Err(told!("{} and {}", known.text(), name(value))),
        }
    }

    /// The text of the type; of no values that of texts.
    pub(super) fn text(&self) -> String {
        match self {
            InferredType::Unknown => "STRING".to_owned(),
            InferredType::Plain(name) => (*name).to_owned(),
            InferredType::List(element) => format!("{}[]", element.text()),
        }
    }
}

fn name(of: &PropertyValue) -> &'static str {
    match of {
        PropertyValue::Null => "NULL",
        PropertyValue::Boolean(_) => "BOOL",
        PropertyValue::Integer(_) => "INT64",
        PropertyValue::Float(_) => "DOUBLE",
        PropertyValue::String(_) => "STRING",
        PropertyValue::Bytes(_) => "BLOB",
        PropertyValue::List(_) => "a list",
        PropertyValue::Date(_) => "DATE",
        PropertyValue::LocalTime(_) => "LOCAL TIME",
        PropertyValue::Time(_) => "ZONED TIME",
        PropertyValue::LocalDateTime(_) => "TIMESTAMP",
        PropertyValue::DateTime(_) => "TIMESTAMP_TZ",
        PropertyValue::Duration(_) => "INTERVAL",
        PropertyValue::Point(_) => "POINT",
        PropertyValue::Vector(_) => "VECTOR",
    }
}
