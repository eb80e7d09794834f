//! Values of properties: every type of Cypher that can be stored.
//!
//! Values never borrow from the page cache; text, bytes, lists and vectors are shared by `Arc`.

use crate::vector::Vector;
use std::sync::Arc;

/// A value of a property.
///
/// `PartialEq` compares representations: `1` and `1.0` differ, a NaN equals nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PropertyValue {
    /// No value: the property is absent. Never stored except inside lists.
    #[default]
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// 64-bit signed integer.
    Integer(i64),
    /// 64-bit float.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// List, possibly nested and of mixed types.
    List(Arc<[PropertyValue]>),
    /// Days since 1970-01-01 (proleptic Gregorian).
    Date(i64),
    /// Nanoseconds since midnight, 0..86,400 * 10^9.
    LocalTime(i64),
    /// A time of day with an offset from UTC.
    Time(Time),
    /// A date and time of day without zone.
    LocalDateTime(LocalDateTime),
    /// An instant with its zone.
    DateTime(DateTime),
    /// A span in months, days, seconds and nanoseconds.
    Duration(Duration),
    /// A point of a coordinate system.
    Point(Point),
    /// Numbers of one type.
    Vector(Vector),
}

/// A time of day with an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Time {
    /// Local nanoseconds since midnight, 0..86,400 * 10^9.
    pub nanosecond_of_day: i64,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
}

/// A date and time of day without zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalDateTime {
    /// Seconds since 1970-01-01T00:00 local time.
    pub seconds: i64,
    /// 0..10^9.
    pub nanoseconds: u32,
}

/// An instant with its zone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DateTime {
    /// Seconds since 1970-01-01T00:00Z.
    pub seconds: i64,
    /// 0..10^9.
    pub nanoseconds: u32,
    /// Seconds east of UTC at that instant.
    pub offset_seconds: i32,
    /// Name of the zone, where one was given.
    pub zone: Option<Arc<str>>,
}

/// A span of time; the four parts do not carry into each other, except nanoseconds into seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Duration {
    /// Months.
    pub months: i64,
    /// Days.
    pub days: i64,
    /// Seconds.
    pub seconds: i64,
    /// 0..10^9.
    pub nanoseconds: u32,
}

/// A point of a coordinate system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Coordinate system: 7203, 9157 (Cartesian), 4326, 4979 (WGS 84).
    pub srid: u32,
    /// First coordinate.
    pub x: f64,
    /// Second coordinate.
    pub y: f64,
    /// Third coordinate of a three-dimensional point.
    pub z: Option<f64>,
}

impl PropertyValue {
    /// Text.
    #[must_use]
    pub fn string(text: &str) -> PropertyValue {
        PropertyValue::String(Arc::from(text))
    }

    /// Whether this is [`PropertyValue::Null`].
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, PropertyValue::Null)
    }

    /// Whether it is a vector, or a list with one in it.
    #[must_use]
    pub fn has_vector(&self) -> bool {
        match self {
            PropertyValue::Vector(_) => true,
            PropertyValue::List(values) => values.iter().any(PropertyValue::has_vector),
            _ => false,
        }
    }

    /// Bytes of memory that the value holds outside itself.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        match self {
            PropertyValue::String(text) => 16 + text.len() as u64,
            PropertyValue::Bytes(bytes) => 16 + bytes.len() as u64,
            PropertyValue::List(values) => {
                let own = 16 + size_of_val::<[PropertyValue]>(values) as u64;
                own + values.iter().map(PropertyValue::heap_bytes).sum::<u64>()
            }
            PropertyValue::DateTime(DateTime {
                zone: Some(zone), ..
            }) => 16 + zone.len() as u64,
            PropertyValue::Vector(vector) => 16 + vector.bytes().len() as u64,
            _ => 0,
        }
    }

    /// The type's name in messages.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            PropertyValue::Null => "NULL",
            PropertyValue::Boolean(_) => "BOOLEAN",
            PropertyValue::Integer(_) => "INTEGER",
            PropertyValue::Float(_) => "FLOAT",
            PropertyValue::String(_) => "STRING",
            PropertyValue::Bytes(_) => "BYTES",
            PropertyValue::List(_) => "LIST",
            PropertyValue::Date(_) => "DATE",
            PropertyValue::LocalTime(_) => "LOCAL TIME",
            PropertyValue::Time(_) => "TIME",
            PropertyValue::LocalDateTime(_) => "LOCAL DATETIME",
            PropertyValue::DateTime(_) => "DATETIME",
            PropertyValue::Duration(_) => "DURATION",
            PropertyValue::Point(_) => "POINT",
            PropertyValue::Vector(_) => "VECTOR",
        }
    }
}

impl From<bool> for PropertyValue {
    fn from(value: bool) -> Self {
        PropertyValue::Boolean(value)
    }
}

impl From<i64> for PropertyValue {
    fn from(value: i64) -> Self {
        PropertyValue::Integer(value)
    }
}

impl From<f64> for PropertyValue {
    fn from(value: f64) -> Self {
        PropertyValue::Float(value)
    }
}

impl From<&str> for PropertyValue {
    fn from(value: &str) -> Self {
        PropertyValue::string(value)
    }
}

impl From<Vec<PropertyValue>> for PropertyValue {
    fn from(value: Vec<PropertyValue>) -> Self {
        PropertyValue::List(value.into())
    }
}
