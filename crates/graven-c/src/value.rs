//! `graven_value`: reading values of results and of programs.
//!
//! # How it works
//! A handle is the library's value itself under another name: what stands within a value is handed
//! out as it is there, without a copy. Functions that ask a value for what it is not give 0, null
//! or no text, as sqlite3.h does; graven_value_type() says what it is.

use std::ffi::{CString, c_char};

use graven::{PropertyValue, Value as Inner};

use crate::error::{Error, guard, quiet, there};
use crate::text::{Text, c_string, text};

/// A value: of a result, of a list or map, or made by the program.
// As a condition that always holds: cbindgen would name the type within.
#[cfg_attr(all(), repr(transparent))]
#[derive(Clone)]
pub struct Value(pub(crate) Inner);

impl Value {
    /// The same value as a handle.
    pub(crate) fn view(value: &Inner) -> &Value {
        // SAFETY: the handle is transparent: it has the layout of what it holds.
        unsafe { &*std::ptr::from_ref(value).cast::<Value>() }
    }

    /// A value that belongs to the program.
    pub(crate) fn owned(value: Inner) -> Box<Value> {
        Box::new(Value(value))
    }

    /// What it is if it is a date, a time, a duration, a point or a vector.
    pub(crate) fn stored(&self) -> Option<&PropertyValue> {
        match &self.0 {
            Inner::Stored(stored) => Some(stored),
            _ => None,
        }
    }
}

/// What a value is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Absent or unknown.
    Null = 0,
    /// graven_value_bool()
    Bool = 1,
    /// graven_value_int64()
    Int64 = 2,
    /// graven_value_double()
    Double = 3,
    /// graven_value_text()
    Text = 4,
    /// graven_value_bytes()
    Bytes = 5,
    /// graven_value_length(), graven_value_item()
    List = 6,
    /// graven_value_length(), graven_value_key(), graven_value_item(), graven_value_get()
    Map = 7,
    /// graven_value_id(), graven_node_label(), and its properties as a map has its entries
    Node = 8,
    /// graven_value_id(), graven_relationship_type(), and its properties
    Relationship = 9,
    /// graven_path_length(), graven_path_node(), graven_path_relationship()
    Path = 10,
    /// graven_value_days()
    Date = 11,
    /// graven_value_nanoseconds()
    LocalTime = 12,
    /// graven_value_nanoseconds(), graven_value_offset()
    Time = 13,
    /// graven_value_instant(), as if it were in UTC
    LocalDatetime = 14,
    /// graven_value_instant(), graven_value_offset(), graven_value_zone()
    Datetime = 15,
    /// graven_value_duration()
    Duration = 16,
    /// graven_value_point()
    Point = 17,
    /// graven_value_vector()
    Vector = 18,
}

fn stored_type(stored: &PropertyValue) -> Type {
    match stored {
        PropertyValue::Null => Type::Null,
        PropertyValue::Boolean(_) => Type::Bool,
        PropertyValue::Integer(_) => Type::Int64,
        PropertyValue::Float(_) => Type::Double,
        PropertyValue::String(_) => Type::Text,
        PropertyValue::Bytes(_) => Type::Bytes,
        PropertyValue::List(_) => Type::List,
        PropertyValue::Date(_) => Type::Date,
        PropertyValue::LocalTime(_) => Type::LocalTime,
        PropertyValue::Time(_) => Type::Time,
        PropertyValue::LocalDateTime(_) => Type::LocalDatetime,
        PropertyValue::DateTime(_) => Type::Datetime,
        PropertyValue::Duration(_) => Type::Duration,
        PropertyValue::Point(_) => Type::Point,
        PropertyValue::Vector(_) => Type::Vector,
    }
}

/// What a value is; GRAVEN_TYPE_NULL for a null pointer, too.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_type(value: Option<&Value>) -> Type {
    match value.map(|value| &value.0) {
        Some(Inner::Boolean(_)) => Type::Bool,
        Some(Inner::Integer(_)) => Type::Int64,
        Some(Inner::Float(_)) => Type::Double,
        Some(Inner::String(_)) => Type::Text,
        Some(Inner::Bytes(_)) => Type::Bytes,
        Some(Inner::List(_)) => Type::List,
        Some(Inner::Map(_)) => Type::Map,
        Some(Inner::Node(_)) => Type::Node,
        Some(Inner::Relationship(_)) => Type::Relationship,
        Some(Inner::Path(_)) => Type::Path,
        Some(Inner::Stored(stored)) => stored_type(stored),
        _ => Type::Null,
    }
}

/// Whether it is null, or not there.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_is_null(value: Option<&Value>) -> bool {
    graven_value_type(value) == Type::Null
}

/// The boolean; false for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_bool(value: Option<&Value>) -> bool {
    value
        .and_then(|value| value.0.as_boolean())
        .unwrap_or(false)
}

/// The integer; 0 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_int64(value: Option<&Value>) -> i64 {
    value.and_then(|value| value.0.as_integer()).unwrap_or(0)
}

/// The number, also of an integer; 0 for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_double(value: Option<&Value>) -> f64 {
    value.and_then(|value| value.0.as_float()).unwrap_or(0.0)
}

/// The text, which lives as long as the value; no text for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_text(value: Option<&Value>) -> Text {
    let text = value.and_then(|value| value.0.as_str());
    text.map_or(Text::NONE, |text| Text::of(text.as_bytes()))
}

/// The bytes, which live as long as the value; none for other values.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_bytes(value: Option<&Value>) -> Text {
    match value.map(|value| &value.0) {
        Some(Inner::Bytes(bytes)) => Text::of(bytes),
        _ => Text::NONE,
    }
}

/// The items of a list, the entries of a map, the properties of a node or relationship: how many.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_length(value: Option<&Value>) -> usize {
    match value.map(|value| &value.0) {
        Some(Inner::List(items)) => items.len(),
        Some(Inner::Map(entries)) => entries.len(),
        Some(Inner::Node(node)) => node.properties.len(),
        Some(Inner::Relationship(relationship)) => relationship.properties.len(),
        _ => 0,
    }
}

/// An item of a list, or the value of an entry of a map, node or relationship, from 0 and by
/// ascending key; null beyond the last. Lives as long as the value. Entries are counted from the
/// first: for large maps take graven_value_get().
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_item(value: Option<&Value>, at: usize) -> Option<&Value> {
    let found = match &value?.0 {
        Inner::List(items) => items.get(at),
        Inner::Map(entries) => entries.values().nth(at),
        Inner::Node(node) => node.properties.values().nth(at),
        Inner::Relationship(relationship) => relationship.properties.values().nth(at),
        _ => None,
    };
    found.map(Value::view)
}

/// The key of an entry of a map, node or relationship, from 0; no text beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_key(value: Option<&Value>, at: usize) -> Text {
    let found = match value.map(|value| &value.0) {
        Some(Inner::Map(entries)) => entries.keys().nth(at),
        Some(Inner::Node(node)) => node.properties.keys().nth(at),
        Some(Inner::Relationship(relationship)) => relationship.properties.keys().nth(at),
        _ => None,
    };
    found.map_or(Text::NONE, |key| Text::of(key.as_bytes()))
}

/// The value under a key of a map, node or relationship; null where there is none. Lives as long
/// as the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_value_get(
    value: Option<&Value>,
    key: *const c_char,
) -> Option<&Value> {
    // SAFETY: CA-2.
    let key = unsafe { text(key, "key") }.ok()?;
    let found = match &value?.0 {
        Inner::Map(entries) => entries.get(key),
        Inner::Node(node) => node.properties.get(key),
        Inner::Relationship(relationship) => relationship.properties.get(key),
        _ => None,
    };
    found.map(Value::view)
}

/// A value as the language writes it, as text that ends in a zero byte. To be freed with
/// graven_text_free().
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_to_text(value: Option<&Value>) -> *mut c_char {
    quiet(std::ptr::null_mut(), || {
        let text = value.map_or_else(|| "null".to_owned(), |value| value.0.to_string());
        c_string(&text).into_raw()
    })
}

/// Frees a text of graven_value_to_text(). A null pointer is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: CA-2: it came from `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// A copy of a value that belongs to the program and outlives the row. To be freed with
/// graven_value_free().
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_copy(
    value: Option<&Value>,
    error: Option<&mut *mut Error>,
) -> Option<Box<Value>> {
    guard(error, || Ok(Value::owned(there(value, "value")?.0.clone())))
}

/// Frees a value that belongs to the program. A null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_value_free(value: Option<Box<Value>>) {
    quiet((), || drop(value));
}
