//! Types that a constraint may bind a property to.
//!
//! # How it works
//! A type is kept as the text that declared it and as alternatives to compare values with. The
//! text has the names of the language (`INTEGER`, `LIST<STRING>`, `INTEGER | STRING NOT NULL`),
//! and those of other databases: integers of a fixed size, which are ranges, `STRING[]`,
//! `FLOAT[3]`. Vectors are of any or one coordinate type and of any or one dimension:
//! `VECTOR<FLOAT32>(3)`.
//!
//! # Invariants
//! * ST-40 A text that was understood once is understood by every later build: it is in files.

use crate::PropertyValue;
use crate::bytes::{Decoded, Malformed};
use graven_types::vector::VectorType;
use std::fmt;
use std::sync::Arc;

/// Deepest nesting of lists.
const DEPTH_MAX: usize = 16;

/// The type of a property.
#[derive(Clone, Debug)]
pub struct PropertyType {
    text: Arc<str>,
    alternatives: Vec<Plain>,
    required: bool,
}

impl PartialEq for PropertyType {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PropertyType {}

/// One alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plain {
    Any,
    Boolean,
    Integer {
        low: i64,
        high: i64,
    },
    Float,
    String,
    /// The digits of an integer beyond 64 bits, as text.
    Digits,
    Bytes,
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
    Duration,
    Point,
    Vector(VectorType),
    /// Elements, and how many there have to be.
    List(Vec<Plain>, Option<usize>),
}

const fn whole(low: i64, high: i64) -> Plain {
    Plain::Integer { low, high }
}

const WIDE: Plain = whole(i64::MIN, i64::MAX);

/// Names and what they mean. Structs, maps and unions are text in a form of the language.
const NAMES: &[(&str, &[Plain])] = &[
    ("ANY", &[Plain::Any]),
    ("PROPERTY VALUE", &[Plain::Any]),
    ("BOOLEAN", &[Plain::Boolean]),
    ("BOOL", &[Plain::Boolean]),
    ("INTEGER", &[WIDE]),
    ("INT", &[WIDE]),
    ("INT64", &[WIDE]),
    ("SERIAL", &[WIDE]),
    ("BIGINT", &[WIDE]),
    ("INT32", &[whole(-(1 << 31), (1 << 31) - 1)]),
    ("INT16", &[whole(-(1 << 15), (1 << 15) - 1)]),
    ("SMALLINT", &[whole(-(1 << 15), (1 << 15) - 1)]),
    ("INT8", &[whole(-128, 127)]),
    ("UINT64", &[whole(0, i64::MAX), Plain::Digits]),
    ("UINT32", &[whole(0, (1 << 32) - 1)]),
    ("UINT16", &[whole(0, (1 << 16) - 1)]),
    ("UINT8", &[whole(0, 255)]),
    ("INT128", &[WIDE, Plain::Digits]),
    ("HUGEINT", &[WIDE, Plain::Digits]),
    ("FLOAT", &[Plain::Float]),
    ("DOUBLE", &[Plain::Float]),
    ("REAL", &[Plain::Float]),
    ("FLOAT4", &[Plain::Float]),
    ("FLOAT8", &[Plain::Float]),
    ("DECIMAL", &[Plain::Float, WIDE]),
    ("NUMERIC", &[Plain::Float, WIDE]),
    ("STRING", &[Plain::String]),
    ("VARCHAR", &[Plain::String]),
    ("TEXT", &[Plain::String]),
    ("UUID", &[Plain::String]),
    ("JSON", &[Plain::String]),
    ("STRUCT", &[Plain::String]),
    ("MAP", &[Plain::String]),
    ("UNION", &[Plain::String]),
    ("BYTES", &[Plain::Bytes]),
    ("BLOB", &[Plain::Bytes]),
    ("BYTEA", &[Plain::Bytes]),
    ("DATE", &[Plain::Date]),
    ("LOCAL TIME", &[Plain::LocalTime]),
    ("ZONED TIME", &[Plain::Time]),
    ("LOCAL DATETIME", &[Plain::LocalDateTime]),
    ("TIMESTAMP", &[Plain::LocalDateTime]),
    ("TIMESTAMP_NS", &[Plain::LocalDateTime]),
    ("TIMESTAMP_MS", &[Plain::LocalDateTime]),
    ("TIMESTAMP_SEC", &[Plain::LocalDateTime]),
    ("TIMESTAMP_S", &[Plain::LocalDateTime]),
    ("ZONED DATETIME", &[Plain::DateTime]),
    ("TIMESTAMP_TZ", &[Plain::DateTime]),
    ("DURATION", &[Plain::Duration]),
    ("INTERVAL", &[Plain::Duration]),
    ("POINT", &[Plain::Point]),
];

impl PropertyType {
    /// The type of this text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<PropertyType, String> {
        let mut rest = text.trim();
        let required = match rest.to_ascii_uppercase().strip_suffix("NOT NULL") {
            Some(head) if head.ends_with(char::is_whitespace) => {
                rest = rest[..head.len()].trim_end();
                true
            }
            _ => false,
        };
        Ok(PropertyType {
            alternatives: alternatives(rest, 0)?,
            text: text.trim().into(),
            required,
        })
    }

    /// As it was declared.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether the property has to be there, too.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Whether a property that is there may have this value.
    #[must_use]
    pub fn holds(&self, value: &PropertyValue) -> bool {
        self.alternatives.iter().any(|plain| plain.holds(value))
    }

    /// Whether vectors are among what it names.
    pub(crate) fn names_vectors(&self) -> bool {
        fn names(plain: &Plain) -> bool {
            match plain {
                Plain::Vector(..) => true,
                Plain::List(elements, _) => elements.iter().any(names),
                _ => false,
            }
        }
        self.alternatives.iter().any(names)
    }

    pub(crate) fn read(text: &str) -> Decoded<PropertyType> {
        PropertyType::parse(text).map_err(Malformed)
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Plain {
    fn holds(&self, value: &PropertyValue) -> bool {
        use PropertyValue as P;
        match (self, value) {
            (Plain::Integer { low, high }, P::Integer(value)) => low <= value && value <= high,
            (Plain::Digits, P::String(text)) => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                let is_wide = text.parse::<i64>().is_err();
                is_wide && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
            }
            (Plain::Vector(of), P::Vector(vector)) => of.holds(vector),
            (Plain::List(elements, length), P::List(items)) => {
                length.is_none_or(|length| length == items.len())
                    && (items.iter()).all(|item| elements.iter().any(|plain| plain.holds(item)))
            }
            (Plain::Any, _)
            | (Plain::Boolean, P::Boolean(_))
            | (Plain::Float, P::Float(_))
            | (Plain::String, P::String(_))
            | (Plain::Bytes, P::Bytes(_))
            | (Plain::Date, P::Date(_))
            | (Plain::LocalTime, P::LocalTime(_))
            | (Plain::Time, P::Time(_))
            | (Plain::LocalDateTime, P::LocalDateTime(_))
            | (Plain::DateTime, P::DateTime(_))
            | (Plain::Duration, P::Duration(_))
            | (Plain::Point, P::Point(_)) => true,
            _ => false,
        }
    }
}

/// Alternatives between bars that stand in no brackets.
fn alternatives(text: &str, depth: usize) -> Result<Vec<Plain>, String> {
    if depth > DEPTH_MAX {
        return Err(format!("a type of lists more than {DEPTH_MAX} deep"));
    }
    let mut found = Vec::new();
    let (mut open, mut start) = (0i64, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => open += 1,
            '>' | ')' | ']' => open -= 1,
            '|' if open == 0 => {
                found.extend(one(&text[start..at], depth)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(one(&text[start..], depth)?);
    Ok(found)
}

fn one(text: &str, depth: usize) -> Result<Vec<Plain>, String> {
    let mut name = text.trim().to_ascii_uppercase();
    if depth > 0
        && let Some(head) = name.strip_suffix("NOT NULL")
    {
        // No list that is stored holds null.
        name = head.trim_end().to_owned();
    }
    let unknown = || format!("there is no type {text} for properties");
    if let Some(head) = name.strip_suffix(']') {
        let (element, length) = head.rsplit_once('[').ok_or_else(unknown)?;
        let length = match length.trim() {
            "" => None,
            digits => Some(digits.parse().map_err(|_| unknown())?),
        };
        return Ok(vec![Plain::List(alternatives(element, depth + 1)?, length)]);
    }
    if let Some(element) = name.strip_prefix("LIST<") {
        let element = element.strip_suffix('>').ok_or_else(unknown)?;
        return Ok(vec![Plain::List(alternatives(element, depth + 1)?, None)]);
    }
    if let Some(of) = VectorType::parse(&name) {
        return Ok(vec![Plain::Vector(of)]);
    }
    if let Some((head, _)) = name.split_once('(')
        && name.ends_with(')')
    {
        name = head.trim_end().to_owned();
    }
    let named = NAMES.iter().find(|(known, _)| *known == name);
    named.map(|(_, plain)| plain.to_vec()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, value: impl Into<PropertyValue>) -> bool {
        PropertyType::parse(text).unwrap().holds(&value.into())
    }

    /// Goal: types hold what their names say: ranges, alternatives, lists and lengths.
    #[test]
    fn types_hold_what_they_say() {
        assert!(holds("INT8", 127) && !holds("INT8", 128) && !holds("UINT8", -1));
        assert!(holds("INTEGER | STRING", "a") && !holds("INTEGER | STRING", 1.0));
        let pair = || vec![PropertyValue::from(1.0), PropertyValue::from(2.0)];
        assert!(holds("FLOAT[2]", pair()) && !holds("FLOAT[3]", pair()));
        assert!(holds("LIST<LIST<FLOAT> | FLOAT NOT NULL>", pair()));
        assert!(holds("INT128", "170141183460469231731687303715884105727"));
        assert!(!holds("INT128", "17") && !holds("INT64", "17"));
        assert!(holds("STRUCT(a INT64, b STRING[])", "{a: 1}"));
        let required = PropertyType::parse("LIST<INTEGER NOT NULL> NOT NULL").unwrap();
        assert!(required.is_required());
        assert!(
            !PropertyType::parse("LIST<INTEGER NOT NULL>")
                .unwrap()
                .is_required()
        );
        let of = graven_types::vector::CoordinateType::Float32;
        let vector = graven_types::Vector::from_bytes(of, [0; 12].as_slice().into());
        let vector = PropertyValue::Vector(vector.unwrap());
        for (text, wanted) in [
            ("VECTOR", true),
            ("VECTOR<FLOAT32 NOT NULL>(3) NOT NULL", true),
            ("VECTOR(3)", true),
            ("STRING | vector<float>", false),
            ("VECTOR<FLOAT32>(4)", false),
        ] {
            assert_eq!(holds(text, vector.clone()), wanted, "{text}");
        }
        assert!(!holds("VECTOR", pair()));
        for wrong in [
            "VECTOR<STRING>",
            "VECTOR(0)",
            "VECTOR<FLOAT>3",
            "VECTORS",
            "VECTOR(4097)",
        ] {
            assert!(PropertyType::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "WHOLE", "LIST<", "INTEGER |", "INT64[x]", "NODE"] {
            assert!(PropertyType::parse(wrong).is_err(), "{wrong}");
        }
    }
}
