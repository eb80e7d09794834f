//! `valueType(x)` and `x IS :: TYPE`.
//!
//! # How it works
//! The parser hands a type over as text in one spelling (`LIST<INTEGER NOT NULL> | STRING`); it is
//! read here again for each batch of rows' first value and remembered, as all rows of a statement
//! ask for the same type.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use graven_types::PropertyValue;
use graven_types::told;
use graven_types::vector::VectorType;

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "valuetype",
        arity: (1, 1),
        body: |_, args| Ok(Value::text(&describe(&args[0]))),
    },
    Function {
        name: "graven.is_typed",
        arity: (2, 2),
        body: is_typed,
    },
];

/// Types in the order in which alternatives are written.
const ORDER: [&str; 19] = [
    "NULL",
    "BOOLEAN",
    "STRING",
    "INTEGER",
    "FLOAT",
    "DATE",
    "LOCAL TIME",
    "ZONED TIME",
    "LOCAL DATETIME",
    "ZONED DATETIME",
    "DURATION",
    "POINT",
    "VECTOR",
    "BYTES",
    "NODE",
    "RELATIONSHIP",
    "MAP",
    "LIST",
    "PATH",
];

/// Name of a value's own type, elements of lists aside.
fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Boolean(_) => "BOOLEAN",
        Value::Integer(_) => "INTEGER",
        Value::Float(_) => "FLOAT",
        Value::String(_) => "STRING",
        Value::Bytes(_) => "BYTES",
        Value::List(_) => "LIST",
        Value::Map(_) => "MAP",
        Value::Node(_) => "NODE",
        Value::Relationship(_) => "RELATIONSHIP",
        Value::Path(_) => "PATH",
        Value::Stored(stored) => match &**stored {
            PropertyValue::Time(_) => "ZONED TIME",
            PropertyValue::DateTime(_) => "ZONED DATETIME",
            other => other.type_name(),
        },
    }
}

/// The narrowest type of a value, as `valueType` gives it.
fn describe(value: &Value) -> String {
    Narrowest::of(value).text()
}

/// The type of a value, as narrow as it can be.
#[derive(Clone, PartialEq)]
struct Narrowest {
    name: Cow<'static, str>,
    is_nullable: bool,
    /// Types of elements, none of which holds all of another one.
    elements: Vec<Narrowest>,
}

impl Narrowest {
    fn of(value: &Value) -> Self {
        let mut elements: Vec<Self> = Vec::new();
        if let Value::List(items) = value {
            let has_null = items.iter().any(Value::is_null);
            for item in items.iter().filter(|item| !item.is_null()) {
                let mut found = Self::of(item);
                found.is_nullable = has_null;
                if elements.iter().any(|known| found.is_part_of(known)) {
                    continue;
                }
                elements.retain(|known| !known.is_part_of(&found));
                elements.push(found);
            }
            if elements.is_empty() && has_null {
                elements.push(Self::of(&Value::Null));
            }
            elements.sort_by(Self::order);
        }
        Self {
            name: match value.as_vector() {
                Some(vector) => vector.type_text().into(),
                None => name(value).into(),
            },
            is_nullable: value.is_null(),
            elements,
        }
    }

    /// The order of alternatives: by their names; lists of one type stand before lists of several.
    fn order(&self, other: &Self) -> Ordering {
        let by_elements = || {
            let pairs = self.elements.iter().zip(&other.elements);
            let first = pairs
                .map(|(own, other)| own.order(other))
                .find(|it| it.is_ne());
            let by_count = self.elements.len().cmp(&other.elements.len());
            by_count.then(first.unwrap_or(Ordering::Equal))
        };
        let by_name = (self.rank(), &self.name).cmp(&(other.rank(), &other.name));
        by_name
            .then_with(by_elements)
            .then(self.is_nullable.cmp(&other.is_nullable))
    }

    fn rank(&self) -> Option<usize> {
        let name = self.name.split('<').next();
        ORDER.iter().position(|known| Some(*known) == name)
    }

    /// Whether the other type holds all that this one holds.
    fn is_part_of(&self, other: &Self) -> bool {
        let has = |element: &Self| other.elements.iter().any(|wide| element.is_part_of(wide));
        let fits = !self.is_nullable || other.is_nullable;
        fits && (self.name == "NULL" || self.name == other.name && self.elements.iter().all(has))
    }

    fn text(&self) -> String {
        let mut text = self.name.clone().into_owned();
        if text == "LIST" {
            let elements: Vec<String> = self.elements.iter().map(Self::text).collect();
            text = match elements.is_empty() {
                true => "LIST<NOTHING>".to_owned(),
                false => format!("LIST<{}>", elements.join(" | ")),
            };
        }
        match self.is_nullable {
            true => text,
            false => format!("{text} NOT NULL"),
        }
    }
}

/// Whether a property holds it by its type: a scalar, or a list of numbers or of scalars of one
/// type.
fn is_property(value: &Value) -> bool {
    let is_scalar = |value: &Value| {
        let is_composite = matches!(value, Value::List(_) | Value::Null);
        !is_composite && crate::value::convert::to_stored(value).is_some()
    };
    let kind = |value: &Value| match value {
        Value::Integer(_) => "FLOAT",
        other => name(other),
    };
    match value {
        Value::List(items) => items
            .iter()
            .all(|item| is_scalar(item) && kind(item) == kind(&items[0])),
        other => is_scalar(other),
    }
}

/// A type of the language.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    /// Any value.
    Any,
    /// No value.
    Nothing,
    /// Only null.
    Null,
    /// What a property may hold.
    Property,
    /// A type of that name.
    Named(String),
    /// A type of vectors.
    Vector(VectorType),
    /// A list of elements.
    List(Box<Type>),
    /// The type without null.
    NotNull(Box<Type>),
    /// One of these.
    Union(Vec<Type>),
}

impl Type {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Type::Nothing => false,
            Type::NotNull(inner) => !value.is_null() && inner.holds(value),
            Type::Union(types) => types.iter().any(|t| t.holds(value)),
            _ if value.is_null() => true,
            Type::Any => true,
            Type::Null => false,
            Type::Property => is_property(value),
            Type::Named(wanted) => wanted == name(value),
            Type::Vector(of) => value.as_vector().is_some_and(|vector| of.holds(vector)),
            Type::List(element) => match value {
                Value::List(items) => items.iter().all(|item| element.holds(item)),
                _ => false,
            },
        }
    }

    /// Reads the parser's spelling: alternatives between ` | `.
    fn read(text: &mut &str) -> Option<Type> {
        let mut types = vec![Self::read_one(text)?];
        while let Some(rest) = text.trim_start().strip_prefix('|') {
            *text = rest;
            types.push(Self::read_one(text)?);
        }
        Some(if types.len() == 1 {
            types.remove(0)
        } else {
            Type::Union(types)
        })
    }

    fn read_one(text: &mut &str) -> Option<Type> {
        let mut rest = text.trim_start();
        if let Some(of) = VectorType::take(&mut rest) {
            let behind = rest.trim_start().strip_prefix("NOT NULL");
            *text = behind.unwrap_or(rest);
            let of = Type::Vector(of);
            return Some(match behind {
                Some(_) => Type::NotNull(Box::new(of)),
                None => of,
            });
        }
        let end = rest.find(['<', '>', '|']).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        if let (true, Some(inside)) = (word.trim() == "LIST", rest.strip_prefix('<')) {
            *text = inside;
            let element = Self::read(text)?;
            let rest = text.trim_start().strip_prefix('>')?;
            let list = Type::List(Box::new(element));
            let tail = rest.trim_start();
            if let Some(tail) = tail.strip_prefix("NOT NULL") {
                *text = tail;
                return Some(Type::NotNull(Box::new(list)));
            }
            *text = rest;
            return Some(list);
        }
        *text = rest;
        let word = word.trim();
        let (word, not_null) = match word.strip_suffix("NOT NULL") {
            Some(word) => (word.trim(), true),
            None => (word, false),
        };
        let named = match word {
            "ANY" => Type::Any,
            "NOTHING" => Type::Nothing,
            "NULL" => Type::Null,
            "PROPERTY VALUE" => Type::Property,
            "LIST" => Type::List(Box::new(Type::Any)),
            "" => return None,
            word => Type::Named(word.to_owned()),
        };
        Some(if not_null {
            Type::NotNull(Box::new(named))
        } else {
            named
        })
    }
}

fn is_typed(_: &QueryContext, args: &[Value]) -> Result<Value> {
    thread_local!(static LAST: RefCell<Option<(Arc<str>, Type)>> = const { RefCell::new(None) });
    let Value::String(wanted) = &args[1] else {
        return Err(wrong("IS ::", "a type", &args[1]));
    };
    LAST.with_borrow_mut(|last| {
        let found = match last {
            Some((text, found)) if Arc::ptr_eq(text, wanted) => found,
            _ => {
                let unknown = || ExecError::Argument {
                    message: told!("`{wanted}` is no type"),
                };
                let mut rest = &**wanted;
                let read = Type::read(&mut rest).filter(|_| rest.trim().is_empty());
                &last.insert((wanted.clone(), read.ok_or_else(unknown)?)).1
            }
        };
        Ok(found.holds(&args[0]).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, value: &Value) -> bool {
        let mut rest = text;
        let found = Type::read(&mut rest).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(rest.trim(), "", "{text}");
        found.holds(value)
    }

    #[test]
    fn types_describe_and_hold_values() {
        let list = Value::list(vec![Value::Integer(1), Value::text("a")]);
        assert_eq!(
            describe(&list),
            "LIST<STRING NOT NULL | INTEGER NOT NULL> NOT NULL"
        );
        let nested = Value::list(vec![
            Value::list(vec![Value::Float(1.0)]),
            Value::map(Vec::new()),
            Value::Float(1.0),
            Value::list(Vec::new()),
            Value::Boolean(true),
            Value::Null,
        ]);
        assert_eq!(
            describe(&nested),
            "LIST<BOOLEAN | FLOAT | MAP | LIST<FLOAT NOT NULL>> NOT NULL"
        );
        let with_null = Value::list(vec![Value::Integer(1), Value::Null]);
        assert_eq!(describe(&with_null), "LIST<INTEGER> NOT NULL");
        assert_eq!(describe(&Value::list(Vec::new())), "LIST<NOTHING> NOT NULL");
        assert_eq!(describe(&Value::Null), "NULL");
        assert!(holds("INTEGER | STRING", &Value::text("a")));
        assert!(holds("LIST<INTEGER | STRING NOT NULL> NOT NULL", &list));
        assert!(!holds("LIST<INTEGER NOT NULL>", &with_null));
        assert!(holds("LIST<LIST<ANY>>", &Value::list(vec![list.clone()])));
        assert!(holds("INTEGER", &Value::Null) && !holds("INTEGER NOT NULL", &Value::Null));
        assert!(!holds("PROPERTY VALUE", &list) && !holds("NOTHING", &Value::Null));
        let floats = Value::list(vec![Value::Float(1.0), Value::Float(2.0)]);
        assert!(holds("PROPERTY VALUE", &floats) && !holds("PROPERTY VALUE", &nested));
        assert!(!holds("PROPERTY VALUE", &Value::list(vec![Value::Null])));
        let lists =
            |of: Vec<Value>| Value::list(of.into_iter().map(|v| Value::list(vec![v])).collect());
        assert_eq!(
            describe(&lists(vec![Value::Integer(1), Value::Null])),
            "LIST<LIST<NULL> NOT NULL | LIST<INTEGER NOT NULL> NOT NULL> NOT NULL"
        );
    }
}
