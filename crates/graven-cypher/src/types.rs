//! Static types: what kinds of value an expression can have, as far as the text tells.
//!
//! A [`TypeSet`] is the set of kinds a value may have at run time (null always included). An
//! operation is refused at compile time only where the sets cannot meet, so a missing piece of
//! knowledge never refuses a valid statement.

use std::fmt;

/// A set of value kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct TypeSet(u32);

impl TypeSet {
    /// Only null.
    pub const NULL: TypeSet = TypeSet(0);
    /// `true`, `false`.
    pub const BOOLEAN: TypeSet = TypeSet(1);
    /// Integers.
    pub const INTEGER: TypeSet = TypeSet(1 << 1);
    /// Floats.
    pub const FLOAT: TypeSet = TypeSet(1 << 2);
    /// Strings.
    pub const STRING: TypeSet = TypeSet(1 << 3);
    /// Lists.
    pub const LIST: TypeSet = TypeSet(1 << 4);
    /// Maps.
    pub const MAP: TypeSet = TypeSet(1 << 5);
    /// Nodes.
    pub const NODE: TypeSet = TypeSet(1 << 6);
    /// Relationships.
    pub const RELATIONSHIP: TypeSet = TypeSet(1 << 7);
    /// Paths.
    pub const PATH: TypeSet = TypeSet(1 << 8);
    /// Dates.
    pub const DATE: TypeSet = TypeSet(1 << 9);
    /// Times of day without an offset.
    pub const LOCAL_TIME: TypeSet = TypeSet(1 << 10);
    /// Times of day with an offset.
    pub const TIME: TypeSet = TypeSet(1 << 11);
    /// Dates with a time of day, without an offset.
    pub const LOCAL_DATETIME: TypeSet = TypeSet(1 << 12);
    /// Dates with a time of day and an offset or zone.
    pub const DATETIME: TypeSet = TypeSet(1 << 13);
    /// Durations.
    pub const DURATION: TypeSet = TypeSet(1 << 14);
    /// Points.
    pub const POINT: TypeSet = TypeSet(1 << 15);
    /// Vectors.
    pub const VECTOR: TypeSet = TypeSet(1 << 16);
    /// Dates and times.
    pub const TEMPORAL: TypeSet = TypeSet(
        Self::DATE.0
            | Self::LOCAL_TIME.0
            | Self::TIME.0
            | Self::LOCAL_DATETIME.0
            | Self::DATETIME.0,
    );
    /// Integers and floats.
    pub const NUMBER: TypeSet = TypeSet(Self::INTEGER.0 | Self::FLOAT.0);
    /// Nodes and relationships.
    pub const ENTITY: TypeSet = TypeSet(Self::NODE.0 | Self::RELATIONSHIP.0);
    /// What has values under keys.
    pub const WITH_KEYS: TypeSet =
        TypeSet(Self::ENTITY.0 | Self::MAP.0 | Self::TEMPORAL.0 | Self::DURATION.0 | Self::POINT.0);
    /// What a property holds.
    pub const STORED: TypeSet = TypeSet(
        Self::BOOLEAN.0
            | Self::NUMBER.0
            | Self::STRING.0
            | Self::LIST.0
            | Self::TEMPORAL.0
            | Self::DURATION.0
            | Self::POINT.0
            | Self::VECTOR.0,
    );
    /// Everything.
    pub const ANY: TypeSet = TypeSet((1 << 17) - 1);

    /// A name of several kinds comes before those of each.
    const NAMES: [(TypeSet, &'static str); 18] = [
        (Self::BOOLEAN, "Boolean"),
        (Self::INTEGER, "Integer"),
        (Self::FLOAT, "Float"),
        (Self::STRING, "String"),
        (Self::LIST, "List"),
        (Self::MAP, "Map"),
        (Self::NODE, "Node"),
        (Self::RELATIONSHIP, "Relationship"),
        (Self::PATH, "Path"),
        (Self::TEMPORAL, "Temporal"),
        (Self::DATE, "Date"),
        (Self::LOCAL_TIME, "LocalTime"),
        (Self::TIME, "Time"),
        (Self::LOCAL_DATETIME, "LocalDateTime"),
        (Self::DATETIME, "DateTime"),
        (Self::DURATION, "Duration"),
        (Self::POINT, "Point"),
        (Self::VECTOR, "Vector"),
    ];

    /// Kinds in either set.
    #[must_use]
    pub const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// What is known of one of two values: the kinds of both where these are one kind or all
    /// numbers, otherwise nothing. Beside null, nothing is known.
    #[must_use]
    pub fn beside(self, other: TypeSet) -> TypeSet {
        let numbers = self.is(Self::NUMBER) && other.is(Self::NUMBER);
        match numbers || self == other && self != Self::NULL {
            true => self.or(other),
            false => Self::ANY,
        }
    }

    /// Whether a value of this set may be one of `other`; null may be anything.
    #[must_use]
    pub const fn may_be(self, other: TypeSet) -> bool {
        self.0 == 0 || self.0 & other.0 != 0
    }

    /// Whether every non-null value of this set is one of `other` (false for "only null").
    #[must_use]
    pub const fn is(self, other: TypeSet) -> bool {
        self.0 != 0 && self.0 & !other.0 == 0
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ANY {
            return f.write_str("Any");
        }
        let mut left = *self;
        let mut names = Self::NAMES.iter().filter(|(set, _)| {
            let named = left.0 & set.0 == set.0;
            if named {
                left.0 &= !set.0;
            }
            named
        });
        match names.next() {
            None => f.write_str("Null"),
            Some((_, first)) => {
                f.write_str(first)?;
                names.try_for_each(|(_, name)| write!(f, " or {name}"))
            }
        }
    }
}

/// The static type of an expression; lists also know what their elements may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    /// Kinds of the value itself.
    pub set: TypeSet,
    /// Kinds of the elements where the value is a list.
    pub element: TypeSet,
}

impl Type {
    /// Nothing is known.
    pub const ANY: Type = Type::of(TypeSet::ANY);

    /// A type without knowledge of elements.
    #[must_use]
    pub const fn of(set: TypeSet) -> Type {
        Type {
            set,
            element: TypeSet::ANY,
        }
    }

    /// A list whose elements are of `element`.
    #[must_use]
    pub const fn list_of(element: TypeSet) -> Type {
        Type {
            set: TypeSet::LIST,
            element,
        }
    }

    /// Either of two types.
    #[must_use]
    pub const fn or(self, other: Type) -> Type {
        let element = if self.set.is(TypeSet::LIST) && other.set.is(TypeSet::LIST) {
            self.element.or(other.element)
        } else {
            TypeSet::ANY
        };
        Type {
            set: self.set.or(other.set),
            element,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_may_be_anything_and_is_nothing() {
        assert!(TypeSet::NULL.may_be(TypeSet::MAP));
        assert!(!TypeSet::NULL.is(TypeSet::ANY));
        assert!(TypeSet::INTEGER.is(TypeSet::NUMBER));
        assert!(!TypeSet::NUMBER.is(TypeSet::INTEGER));
        assert!(!TypeSet::STRING.may_be(TypeSet::NUMBER));
    }

    #[test]
    fn names_read_as_text() {
        assert_eq!(TypeSet::NUMBER.to_string(), "Integer or Float");
        assert_eq!(TypeSet::ANY.to_string(), "Any");
        assert_eq!(TypeSet::NULL.to_string(), "Null");
        let dated = TypeSet::DATE.or(TypeSet::DATETIME);
        assert_eq!(dated.to_string(), "Date or DateTime");
        let timed = TypeSet::TEMPORAL.or(TypeSet::DURATION);
        assert_eq!(timed.to_string(), "Temporal or Duration");
    }
}
