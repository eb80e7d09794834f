//! Between stored property values and values of the language; order, hash and text of the stored
//! types that the language carries but does not compute with.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use graven_types::PropertyValue;

use super::Value;

impl From<PropertyValue> for Value {
    fn from(stored: PropertyValue) -> Self {
        match stored {
            PropertyValue::Null => Self::Null,
            PropertyValue::Boolean(b) => Self::Boolean(b),
            PropertyValue::Integer(i) => Self::Integer(i),
            PropertyValue::Float(f) => Self::Float(f),
            PropertyValue::String(s) => Self::String(s),
            PropertyValue::Bytes(b) => Self::Bytes(b),
            PropertyValue::List(items) => {
                Self::List(items.iter().cloned().map(Value::from).collect())
            }
            other => Self::Stored(Arc::new(other)),
        }
    }
}

/// The value as a property could hold it; `None` for nodes, relationships, paths and maps.
#[must_use]
pub fn to_stored(value: &Value) -> Option<PropertyValue> {
    Some(match value {
        Value::Null => PropertyValue::Null,
        Value::Boolean(b) => PropertyValue::Boolean(*b),
        Value::Integer(i) => PropertyValue::Integer(*i),
        Value::Float(f) => PropertyValue::Float(*f),
        Value::String(s) => PropertyValue::String(s.clone()),
        Value::Bytes(b) => PropertyValue::Bytes(b.clone()),
        Value::List(items) => {
            PropertyValue::List(items.iter().map(to_stored).collect::<Option<_>>()?)
        }
        Value::Stored(stored) => (**stored).clone(),
        Value::Map(_) | Value::Node(_) | Value::Relationship(_) | Value::Path(_) => return None,
    })
}

/// Name of the type of a stored value as messages give it.
pub(super) fn stored_type_name(stored: &PropertyValue) -> &'static str {
    stored.type_name()
}

/// Rank of the type among stored types, as `ORDER BY` sees them.
fn rank(stored: &PropertyValue) -> u8 {
    match stored {
        PropertyValue::Vector(_) => 0,
        PropertyValue::Point(_) => 1,
        PropertyValue::DateTime(_) => 2,
        PropertyValue::LocalDateTime(_) => 3,
        PropertyValue::Date(_) => 4,
        PropertyValue::Time(_) => 5,
        PropertyValue::LocalTime(_) => 6,
        PropertyValue::Duration(_) => 7,
        _ => 8,
    }
}

/// `<` between two stored values: within the temporal types; durations, points and vectors do not
/// compare.
pub(super) fn compare_stored(a: &PropertyValue, b: &PropertyValue) -> Option<Ordering> {
    use PropertyValue as P;
    match (a, b) {
        (P::Date(a), P::Date(b)) | (P::LocalTime(a), P::LocalTime(b)) => Some(a.cmp(b)),
        (P::LocalDateTime(a), P::LocalDateTime(b)) => Some(a.cmp(b)),
        (P::Time(_), P::Time(_)) | (P::DateTime(_), P::DateTime(_)) => Some(order_stored(a, b)),
        _ => None,
    }
}

/// Total order of stored values, for `ORDER BY`, `min`, `max`.
pub(super) fn order_stored(a: &PropertyValue, b: &PropertyValue) -> Ordering {
    /// Average seconds of a month, the length by which durations are ordered.
    const MONTH_SECONDS: i128 = 2_629_746;
    use PropertyValue as P;
    match (a, b) {
        (P::Date(a), P::Date(b)) | (P::LocalTime(a), P::LocalTime(b)) => a.cmp(b),
        (P::LocalDateTime(a), P::LocalDateTime(b)) => a.cmp(b),
        (P::Time(a), P::Time(b)) => {
            // By instant, then by offset so that the order is total.
            let instant = |t: &graven_types::Time| {
                t.nanosecond_of_day - i64::from(t.offset_seconds) * 1_000_000_000
            };
            instant(a)
                .cmp(&instant(b))
                .then(a.offset_seconds.cmp(&b.offset_seconds))
        }
        (P::DateTime(a), P::DateTime(b)) => (a.seconds, a.nanoseconds, a.offset_seconds, &a.zone)
            .cmp(&(b.seconds, b.nanoseconds, b.offset_seconds, &b.zone)),
        (P::Duration(a), P::Duration(b)) => {
            let length = |d: &graven_types::Duration| {
                i128::from(d.months) * MONTH_SECONDS
                    + i128::from(d.days) * 86_400
                    + i128::from(d.seconds)
            };
            (length(a), a.nanoseconds, a.months, a.days).cmp(&(
                length(b),
                b.nanoseconds,
                b.months,
                b.days,
            ))
        }
        (P::Point(a), P::Point(b)) => a
            .srid
            .cmp(&b.srid)
            .then(a.x.total_cmp(&b.x))
            .then(a.y.total_cmp(&b.y))
            .then(a.z.unwrap_or(f64::NAN).total_cmp(&b.z.unwrap_or(f64::NAN))),
        (P::Vector(a), P::Vector(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Hash that agrees with `PartialEq` of stored values.
pub(super) fn hash_stored<H: Hasher>(stored: &PropertyValue, state: &mut H) {
    use PropertyValue as P;
    state.write_u8(rank(stored));
    match stored {
        P::Date(v) | P::LocalTime(v) => v.hash(state),
        P::Time(v) => v.hash(state),
        P::LocalDateTime(v) => v.hash(state),
        P::DateTime(v) => v.hash(state),
        P::Duration(v) => v.hash(state),
        P::Vector(v) => v.hash(state),
        P::Point(p) => {
            // Zeros of either sign are equal.
            p.srid.hash(state);
            for coordinate in [p.x, p.y, p.z.unwrap_or(0.0)] {
                (coordinate + 0.0).to_bits().hash(state);
            }
        }
        _ => {}
    }
}
