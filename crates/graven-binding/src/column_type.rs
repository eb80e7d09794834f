//! Types of columns, by the names that programs for Kuzu know.
//!
//! # How it works
//! A column of a statement has no type before its rows are there: it is what all of its values are.
//! A column of nulls only, and one whose values are of several types, is `ANY`.

use std::fmt;

use graven::{PropertyValue, Value};

/// What values are.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ColumnType {
    /// There was none but nulls.
    #[default]
    Unknown,
    /// All are of this type.
    Named(&'static str),
    /// Lists of this type.
    List(Box<ColumnType>),
    /// Several types.
    Mixed,
}

impl ColumnType {
    /// That of one value.
    #[must_use]
    pub fn of(value: &Value) -> ColumnType {
        use ColumnType::Named;
        match value {
            Value::Null => ColumnType::Unknown,
            Value::Boolean(_) => Named("BOOL"),
            Value::Integer(_) => Named("INT64"),
            Value::Float(_) => Named("DOUBLE"),
            Value::String(_) => Named("STRING"),
            Value::Bytes(_) => Named("BLOB"),
            Value::List(items) => {
                let items = items.iter().map(ColumnType::of);
                ColumnType::List(Box::new(items.fold(ColumnType::Unknown, ColumnType::and)))
            }
            Value::Map(_) => Named("MAP"),
            Value::Node(_) => Named("NODE"),
            Value::Relationship(_) => Named("REL"),
            Value::Path(_) => Named("RECURSIVE_REL"),
            Value::Stored(stored) => match &**stored {
                PropertyValue::Date(_) => Named("DATE"),
                PropertyValue::LocalTime(_) => Named("LOCAL TIME"),
                PropertyValue::Time(_) => Named("ZONED TIME"),
                PropertyValue::LocalDateTime(_) => Named("TIMESTAMP"),
                PropertyValue::DateTime(_) => Named("TIMESTAMP_TZ"),
                PropertyValue::Duration(_) => Named("INTERVAL"),
                PropertyValue::Point(_) => Named("POINT"),
                PropertyValue::Vector(_) => Named("VECTOR"),
                _ => ColumnType::Mixed,
            },
            _ => ColumnType::Mixed,
        }
    }

    /// That of a column which has values of both.
    #[must_use]
    pub fn and(self, other: ColumnType) -> ColumnType {
        use ColumnType::{List, Mixed, Unknown};
        match (self, other) {
            (Unknown, known) | (known, Unknown) => known,
            (List(a), List(b)) => List(Box::new(a.and(*b))),
            (a, b) if a == b => a,
            _ => Mixed,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Unknown | ColumnType::Mixed => f.write_str("ANY"),
            ColumnType::Named(name) => f.write_str(name),
            ColumnType::List(items) => write!(f, "{items}[]"),
        }
    }
}
