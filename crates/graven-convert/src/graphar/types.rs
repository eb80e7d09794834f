//! GraphAr's types, and which of them holds the values of a property.
//!
//! # How it works
//! | Graven | GraphAr |
//! | --- | --- |
//! | `BOOLEAN`, `INTEGER`, `FLOAT`, `STRING` | `bool`, `int64`, `double`, `string` |
//! | `DATE` | `date`, where 32 bits hold its days |
//! | `LOCAL DATETIME` in whole milliseconds | `timestamp` |
//! | lists of integers, floats or strings | `list<int64>`, `list<double>`, `list<string>` |
//!
//! Other dates and times are `string` in ISO form. Points, bytes, other lists, and values of
//! several types in one property are `string` that holds literals.
//!
//! Back, `int32` and `float` are what `int64` and `double` are.

use graven::PropertyValue;
use graven_files::{Datum, Kind, Shape, literal};

/// How the values of a property are written.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// GraphAr's name of the type.
    pub(super) data_type: &'static str,
    /// The column of the file.
    pub(super) shape: Shape,
    /// What the text stands for, where GraphAr has no type for the values.
    pub(super) text: Option<Kind>,
}

impl Form {
    /// The form of values that have this in common.
    pub(super) fn of(seen: &Shape) -> Form {
        let kind = seen.kind();
        let (data_type, kind) = match kind {
            Kind::Boolean => ("bool", kind),
            Kind::Integer => ("int64", kind),
            Kind::Float => ("double", kind),
            Kind::String => ("string", kind),
            Kind::List(element) => match *element {
                Kind::Integer => ("list<int64>", Kind::List(element)),
                Kind::Float => ("list<double>", Kind::List(element)),
                // Of lists that are all empty any type holds.
                Kind::String | Kind::Null => ("list<string>", Kind::List(Box::new(Kind::String))),
                _ => return Form::text(Kind::Literal),
            },
            Kind::Date | Kind::LocalDateTime => {
                let Some(shape) = seen.clone().in_milliseconds() else {
                    return Form::text(kind);
                };
                let data_type = match kind {
                    Kind::Date => "date",
                    _ => "timestamp",
                };
                return Form {
                    data_type,
                    shape,
                    text: None,
                };
            }
            Kind::LocalTime | Kind::Time | Kind::DateTime | Kind::Duration => {
                return Form::text(kind);
            }
            _ => return Form::text(Kind::Literal),
        };
        Form {
            data_type,
            shape: Shape::of(kind),
            text: None,
        }
    }

    fn text(kind: Kind) -> Form {
        Form {
            data_type: "string",
            shape: Shape::of(Kind::String),
            text: Some(kind),
        }
    }

    /// The value as the file holds it.
    pub(super) fn written(&self, value: Datum) -> Datum {
        let Some(kind) = &self.text else {
            return value;
        };
        if value.is_null() {
            return value;
        }
        let iso = match (&value, kind) {
            (_, Kind::Literal) => None,
            (Datum::Value(value), _) => graven_temporal::text::write(value),
            _ => None,
        };
        let text = iso.unwrap_or_else(|| {
            let mut text = String::new();
            literal::write(&mut text, &value);
            text
        });
        Datum::Value(PropertyValue::String(text.into()))
    }
}

/// The kind of GraphAr's type of that name.
pub(super) fn kind_of(data_type: &str) -> Option<Kind> {
    let data_type = data_type.trim();
    if let Some(element) = data_type.strip_prefix("list<") {
        let element = kind_of(element.strip_suffix('>')?)?;
        return Some(Kind::List(Box::new(element)));
    }
    Some(match data_type {
        "bool" => Kind::Boolean,
        "int32" | "int64" => Kind::Integer,
        "float" | "double" => Kind::Float,
        "string" => Kind::String,
        "date" => Kind::Date,
        "timestamp" => Kind::LocalDateTime,
        _ => return None,
    })
}

/// The kind with which a column is read that is declared as one kind and stored as another; none
/// where the file contradicts its description.
pub(super) fn read_as(declared: &Kind, stored: &Kind) -> Option<Kind> {
    match (declared, stored) {
        (declared, stored) if declared == stored => Some(declared.clone()),
        (declared, Kind::Null) => Some(declared.clone()),
        // Spark writes timestamps as instants in UTC.
        (Kind::LocalDateTime, Kind::DateTime) => Some(Kind::DateTime),
        (Kind::List(declared), Kind::List(stored)) => {
            Some(Kind::List(Box::new(read_as(declared, stored)?)))
        }
        _ => None,
    }
}
