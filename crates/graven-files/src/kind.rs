//! Kinds of columns: what a file says, what a statement declares, what several values have in
//! common.
//!
//! # How it works
//! Fixed-size numbers of files become the integers and floats of the language; the many names that
//! other databases give their types mean one of these kinds ([`Kind::parse`]). [`Kind::Literal`] is
//! text that holds literals of the language: the way to keep values of several types in one column
//! of a file that has one type.

use std::fmt;

use graven_types::PropertyValue;
use graven_types::type_text;
use graven_types::vector::{CoordinateType, VectorType};

use crate::datum::Datum;
use crate::decimal;

/// What the values of a column are; null may stand anywhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Only nulls so far.
    Null,
    /// Values of several kinds.
    Any,
    /// `true`, `false`.
    Boolean,
    /// 64-bit integers.
    Integer,
    /// 64-bit floats.
    Float,
    /// Floats of so many digits at most, and so many of them behind the point.
    Decimal(u32, u32),
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// Dates.
    Date,
    /// Times of day.
    LocalTime,
    /// Times of day with an offset.
    Time,
    /// Dates and times.
    LocalDateTime,
    /// Instants with a zone.
    DateTime,
    /// Durations.
    Duration,
    /// Points.
    Point,
    /// Vectors with so many coordinates of this type.
    Vector(CoordinateType, usize),
    /// Lists.
    List(Box<Kind>),
    /// Maps with these keys; with none: of whatever keys.
    Map(Vec<(String, Kind)>),
    /// Text that holds a literal of the language.
    Literal,
    /// Texts of UUIDs, each in its canonical form.
    Uuid,
}

/// Most kinds within each other.
const DEPTH_MAX: usize = 100;

/// Names of plain kinds, by which statements declare them. The first of a kind is the one it is
/// written with.
const NAMES: &[(&str, Kind)] = &[
    ("NULL", Kind::Null),
    ("ANY", Kind::Any),
    ("BOOLEAN", Kind::Boolean),
    ("BOOL", Kind::Boolean),
    ("INTEGER", Kind::Integer),
    ("INT", Kind::Integer),
    ("INT8", Kind::Integer),
    ("INT16", Kind::Integer),
    ("INT32", Kind::Integer),
    ("INT64", Kind::Integer),
    ("UINT8", Kind::Integer),
    ("UINT16", Kind::Integer),
    ("UINT32", Kind::Integer),
    ("UINT64", Kind::Integer),
    ("BIGINT", Kind::Integer),
    ("INT128", Kind::Any),
    ("HUGEINT", Kind::Any),
    ("SMALLINT", Kind::Integer),
    ("SERIAL", Kind::Integer),
    ("FLOAT", Kind::Float),
    ("DOUBLE", Kind::Float),
    ("REAL", Kind::Float),
    ("FLOAT4", Kind::Float),
    ("FLOAT8", Kind::Float),
    ("STRING", Kind::String),
    ("VARCHAR", Kind::String),
    ("TEXT", Kind::String),
    ("JSON", Kind::String),
    ("UUID", Kind::Uuid),
    ("BYTES", Kind::Bytes),
    ("BLOB", Kind::Bytes),
    ("BYTEA", Kind::Bytes),
    ("DATE", Kind::Date),
    ("LOCAL TIME", Kind::LocalTime),
    ("ZONED TIME", Kind::Time),
    ("LOCAL DATETIME", Kind::LocalDateTime),
    ("TIMESTAMP", Kind::LocalDateTime),
    ("TIMESTAMP_NS", Kind::LocalDateTime),
    ("TIMESTAMP_MS", Kind::LocalDateTime),
    ("TIMESTAMP_SEC", Kind::LocalDateTime),
    ("TIMESTAMP_S", Kind::LocalDateTime),
    ("ZONED DATETIME", Kind::DateTime),
    ("TIMESTAMP_TZ", Kind::DateTime),
    ("DURATION", Kind::Duration),
    ("INTERVAL", Kind::Duration),
    ("POINT", Kind::Point),
    ("MAP", Kind::Map(Vec::new())),
    ("CYPHER", Kind::Literal),
];

/// Names of decimals.
const DECIMALS: [&str; 3] = ["DECIMAL", "NUMERIC", "DEC"];

impl Kind {
    /// The kind of that name: `INTEGER`, `INT64`, `LIST<STRING>`, `STRING[]`, `VECTOR<FLOAT32>(3)`,
    /// `STRUCT(a INT64, b STRING)`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::nested(name, 0)
    }

    fn nested(name: &str, depth: usize) -> Option<Kind> {
        if depth > DEPTH_MAX {
            return None;
        }
        let within = |name: &str| Kind::nested(name, depth + 1);
        let list_of = |element: &str| Some(Kind::List(Box::new(within(element)?)));
        let name = name.trim();
        if let Some((element, length)) = name.strip_suffix(']').and_then(|it| it.rsplit_once('[')) {
            let is_length = length.bytes().all(|b| b.is_ascii_digit());
            return list_of(element).filter(|_| is_length);
        }
        if let Some(head) = name.get(..5)
            && head.eq_ignore_ascii_case("LIST<")
        {
            return list_of(name[5..].strip_suffix('>')?);
        }
        if let Some(of) = VectorType::parse(name) {
            return Some(Kind::Vector(of.of?, of.dimension?));
        }
        if let Some((head, inside)) = name.strip_suffix(')').and_then(|it| it.split_once('(')) {
            return match &*head.trim_end().to_ascii_uppercase() {
                "UNION" => Some(Kind::Any),
                "STRUCT" => {
                    let fields = type_text::parts(inside).into_iter().map(|part| {
                        let (name, of) = type_text::field(part)?;
                        Some((name.into_owned(), within(of)?))
                    });
                    fields.collect::<Option<_>>().map(Kind::Map)
                }
                head if DECIMALS.contains(&head) => Kind::decimal(inside),
                // The types of keys and values are left to what takes the value.
                head => within(head),
            };
        }
        if DECIMALS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        {
            let (digits, scale) = decimal::DEFAULT;
            return Some(Kind::Decimal(digits, scale));
        }
        let known = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, kind)| kind.clone())
    }

    /// The decimals of a type with these words in its parentheses: digits, and the scale.
    fn decimal(inside: &str) -> Option<Kind> {
        let (digits, scale) = inside.split_once(',').unwrap_or((inside, "0"));
        let (digits, scale) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
        let fits = scale <= digits && digits <= decimal::DIGITS_MAX;
        fits.then_some(Kind::Decimal(digits, scale))
    }

    /// Whether decimals are among its values.
    pub(crate) fn has_decimals(&self) -> bool {
        match self {
            Kind::Decimal(..) => true,
            Kind::List(element) => element.has_decimals(),
            Kind::Map(fields) => fields.iter().any(|(_, kind)| kind.has_decimals()),
            _ => false,
        }
    }

    /// The kind of a value.
    #[must_use]
    pub fn of(datum: &Datum) -> Kind {
        let value = match datum {
            Datum::Value(value) => value,
            Datum::List(items) => {
                let kinds = items.iter().map(Kind::of);
                return Kind::List(Box::new(kinds.fold(Kind::Null, Kind::with)));
            }
            Datum::Map(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(name, value)| (name.to_string(), Kind::of(value)));
                return Kind::Map(entries.collect());
            }
        };
        match value {
            PropertyValue::Null => Kind::Null,
            PropertyValue::Boolean(_) => Kind::Boolean,
            PropertyValue::Integer(_) => Kind::Integer,
            PropertyValue::Float(_) => Kind::Float,
            PropertyValue::String(_) => Kind::String,
            PropertyValue::Bytes(_) => Kind::Bytes,
            PropertyValue::Date(_) => Kind::Date,
            PropertyValue::LocalTime(_) => Kind::LocalTime,
            PropertyValue::Time(_) => Kind::Time,
            PropertyValue::LocalDateTime(_) => Kind::LocalDateTime,
            PropertyValue::DateTime(_) => Kind::DateTime,
            PropertyValue::Duration(_) => Kind::Duration,
            PropertyValue::Point(_) => Kind::Point,
            PropertyValue::Vector(vector) => Kind::Vector(vector.of(), vector.dimension()),
            PropertyValue::List(items) => {
                let kinds = items
                    .iter()
                    .map(|item| Kind::of(&Datum::Value(item.clone())));
                Kind::List(Box::new(kinds.fold(Kind::Null, Kind::with)))
            }
        }
    }

    /// Bytes that a null takes in a column of Arrow or Parquet: as many as a vector.
    #[must_use]
    pub fn null_bytes(&self) -> usize {
        match self {
            Kind::Vector(of, dimension) => of.width() * dimension,
            Kind::Map(fields) => fields.iter().map(|(_, kind)| kind.null_bytes()).sum(),
            _ => 0,
        }
    }

    /// Whether vectors are among its values.
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        match self {
            Kind::Vector(..) => true,
            Kind::List(element) => element.has_vectors(),
            Kind::Map(fields) => fields.iter().any(|(_, kind)| kind.has_vectors()),
            _ => false,
        }
    }

    /// Bytes that the nulls of a value take in a column of Arrow or Parquet of this kind.
    #[must_use]
    pub fn bytes_of_nulls(&self, datum: &Datum) -> usize {
        match (self, datum) {
            (kind, Datum::Value(PropertyValue::Null)) => kind.null_bytes(),
            (Kind::List(element), Datum::Value(PropertyValue::List(items))) => {
                let nulls = items.iter().filter(|item| item.is_null());
                nulls.count() * element.null_bytes()
            }
            (Kind::List(element), Datum::List(items)) => {
                items.iter().map(|item| element.bytes_of_nulls(item)).sum()
            }
            (Kind::Map(fields), Datum::Map(entries)) => {
                let fields = fields.iter().map(|(name, kind)| {
                    let found = entries.iter().find(|(key, _)| **key == **name);
                    found.map_or(kind.null_bytes(), |(_, value)| kind.bytes_of_nulls(value))
                });
                fields.sum()
            }
            _ => 0,
        }
    }

    /// What values of either kind have in common. Integers and floats stay apart: a column that
    /// holds both is of no one kind, so that each value comes back as it was.
    #[must_use]
    pub fn with(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Null, other) | (other, Kind::Null) => other,
            (a, b) if a == b => a,
            (Kind::List(a), Kind::List(b)) => Kind::List(Box::new(a.with(*b))),
            (Kind::Map(mut a), Kind::Map(b)) => {
                // A map without a key is another map than one with a null there.
                if a.len() != b.len() || b.iter().any(|(name, _)| a.iter().all(|(n, _)| n != name))
                {
                    return Kind::Any;
                }
                for (name, kind) in b {
                    for (_, slot) in a.iter_mut().filter(|(known, _)| *known == name) {
                        *slot = std::mem::replace(slot, Kind::Null).with(kind.clone());
                    }
                }
                Kind::Map(a)
            }
            _ => Kind::Any,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::List(element) => write!(f, "LIST<{element}>"),
            Kind::Decimal(digits, scale) => write!(f, "DECIMAL({digits}, {scale})"),
            Kind::Map(_) => f.write_str("MAP"),
            Kind::Vector(of, dimension) => write!(f, "VECTOR<{of}>({dimension})"),
            plain => {
                let name = NAMES.iter().find(|(_, kind)| kind == plain);
                f.write_str(name.map_or("ANY", |(name, _)| name))
            }
        }
    }
}
