//! `typeof(x)`: the type of a value by its name in Kuzu; `graven.opened(x)`.
//!
//! # How it works
//! Of an expression with a declared type the binder puts that type in its place; this is for the
//! others, which have the widest type of their kind. It also puts a cast in the place of
//! `graven.opened` of a column that holds the text of a map: other values are as they are.

use graven_storage::PropertyValue;

use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::Text;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "graven.opened",
        arity: (1, 1),
        body: |_, args| Ok(args[0].clone()),
    },
    Function {
        name: "graven.typeof",
        arity: (1, 1),
        body: |_, args| {
            let mut text = Text::default();
            write(&args[0], &mut text)?;
            text.value()
        },
    },
];

fn write(value: &Value, into: &mut Text) -> Result<()> {
    let name = match value {
        Value::Null => "NULL",
        Value::Boolean(_) => "BOOL",
        Value::Integer(_) => "INT64",
        Value::Float(_) => "DOUBLE",
        Value::String(_) => "STRING",
        Value::Bytes(_) => "BLOB",
        Value::Node(_) => "NODE",
        Value::Relationship(_) => "REL",
        Value::Path(_) => "RECURSIVE_REL",
        Value::List(items) => {
            let first = items.iter().find(|item| !item.is_null());
            write(first.unwrap_or(&Value::Null), into)?;
            "[]"
        }
        Value::Map(map) => {
            into.push("STRUCT(")?;
            for (at, (key, value)) in map.entries().iter().enumerate() {
                into.push(if at > 0 { ", " } else { "" })?;
                into.push(key)?;
                into.push(" ")?;
                write(value, into)?;
            }
            ")"
        }
        Value::Stored(stored) => match &**stored {
            PropertyValue::LocalDateTime(_) => "TIMESTAMP",
            PropertyValue::DateTime(_) => "TIMESTAMP_TZ",
            PropertyValue::Duration(_) => "INTERVAL",
            other => other.type_name(),
        },
    };
    into.push(name)
}
