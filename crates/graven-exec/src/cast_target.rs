//! Types that values are cast to.
//!
//! # How it works
//! A type is given as text, in the names of this language or of Kuzu. Texts are read as those of
//! files are; numbers are rounded to whole ones, halves to the even one, and what a type of a fixed
//! size does not hold is none of its values. Structs and maps are maps here, whose values are cast,
//! too; whole numbers beyond 64 bits are the text of their digits.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_files::{JsonText, Kind, cast as cast_datum, decimal};
use graven_storage::{PropertyType, PropertyValue};
use graven_types::type_text::{field, parts};
use graven_types::vector::VectorType;
use graven_types::{DateTime, LocalDateTime};

use crate::cast_shown;
use crate::cast_text;
use crate::column::Column;
use crate::sources;
use crate::value::convert::to_stored;
use crate::value::{Map, Value};

/// A type to cast to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Whole numbers of 128 bits, or those of 64 bits that are never negative: beyond 64 bits their
    /// digits.
    Wide {
        is_unsigned: bool,
    },
    /// Numbers with so many digits, and so many of them behind the point.
    Decimal {
        digits: u32,
        scale: u32,
    },
    /// The text of a decimal, with so many digits behind the point.
    DecimalText(usize),
    List(Box<Target>, Option<usize>),
    /// Vectors; a list becomes one where both coordinate type and dimension are said.
    Vector(VectorType),
    /// Any value.
    Any,
    /// A text of JSON.
    Json,
    /// Moments of whole units of so many nanoseconds.
    Moment(u32),
    /// Times in UTC.
    Instant,
    /// Bytes, of texts with `\x41` for some of them.
    Blob,
    /// The text by which a property holds a struct, a map or a union.
    Stored,
    /// A map, whatever its keys.
    Map,
    /// A map with these keys at most; one that is missing is null.
    Struct(Vec<(Arc<str>, Target)>),
    /// A map with keys and values of these types; the keys are texts of such values.
    Entries(Box<(Target, Target)>),
    /// One of the kinds that files have; whole numbers lie in a range.
    Plain(Kind, PropertyType),
}

/// Most lists within each other.
const DEPTH_MAX: usize = 16;

impl Target {
    /// The type that a text names; none if there is no such type.
    pub(crate) fn read(text: &str) -> Option<Target> {
        Self::nested(text, 0)
    }

    /// The members of a union, with their names.
    pub(crate) fn members(text: &str) -> Option<Vec<(Arc<str>, Target)>> {
        let (head, inside) = text.trim().strip_suffix(')')?.split_once('(')?;
        if !head.trim().eq_ignore_ascii_case("UNION") {
            return None;
        }
        let members = parts(inside).into_iter().map(|member| {
            let (name, of) = field(member)?;
            Some((Arc::from(name), Target::read(of)?))
        });
        members.collect()
    }

    fn nested(text: &str, depth: usize) -> Option<Target> {
        if depth > DEPTH_MAX {
            return None;
        }
        let name = text.trim();
        if let Some(head) = name.strip_suffix(']') {
            let (element, length) = head.rsplit_once('[')?;
            let length = match length.trim() {
                "" => None,
                digits => Some(digits.parse().ok()?),
            };
            return Some(Target::List(
                Box::new(Target::nested(element, depth + 1)?),
                length,
            ));
        }
        let upper = name.to_ascii_uppercase();
        if let Some(of) = VectorType::parse(name) {
            return Some(Target::Vector(of));
        }
        if upper.starts_with("LIST<") {
            let element = name["LIST<".len()..].strip_suffix('>')?;
            let element = Target::nested(element, depth + 1)?;
            return Some(Target::List(Box::new(element), None));
        }
        let (head, inside) = match name.split_once('(') {
            Some((head, inside)) => (&upper[..head.len()], Some(inside.strip_suffix(')')?)),
            None => (&*upper, None),
        };
        let head = head.trim_end();
        Some(match (head, inside) {
            ("INT128" | "HUGEINT", None) => Target::Wide { is_unsigned: false },
            ("UINT64", None) => Target::Wide { is_unsigned: true },
            ("DECIMAL" | "NUMERIC" | "DEC", inside) => {
                let given = inside.map(|inside| inside.split_once(',').unwrap_or((inside, "0")));
                let (digits, scale) = match given {
                    Some((digits, scale)) => {
                        (digits.trim().parse().ok()?, scale.trim().parse().ok()?)
                    }
                    None => decimal::DEFAULT,
                };
                Target::Decimal { digits, scale }
            }
            ("DECIMAL TEXT", Some(scale)) => Target::DecimalText(scale.trim().parse().ok()?),
            ("STRUCT", Some(inside)) => {
                let fields = parts(inside).into_iter().map(|part| {
                    let (name, of) = field(part)?;
                    Some((Arc::from(name), Target::nested(of, depth + 1)?))
                });
                Target::Struct(fields.collect::<Option<_>>()?)
            }
            ("MAP", Some(inside)) => {
                let [key, value] = parts(inside)[..] else {
                    return None;
                };
                let of = |of| Target::nested(of, depth + 1);
                Target::Entries(Box::new((of(key)?, of(value)?)))
            }
            ("STRUCT" | "MAP", None) => Target::Map,
            ("ANY", None) | ("UNION", _) => Target::Any,
            ("JSON", None) => Target::Json,
            ("TIMESTAMP_MS", None) => Target::Moment(1_000_000),
            ("TIMESTAMP_SEC" | "TIMESTAMP_S", None) => Target::Moment(1_000_000_000),
            ("TIMESTAMP_TZ", None) => Target::Instant,
            ("BLOB" | "BYTEA", None) => Target::Blob,
            ("STORED TEXT", None) => Target::Stored,
            (_, None) => Target::Plain(Kind::parse(&upper)?, PropertyType::parse(&upper).ok()?),
            _ => return None,
        })
    }

    /// The value as one of this type; none if there is none.
    pub(crate) fn of(&self, value: &Value) -> Option<Value> {
        if value.is_null() {
            return Some(Value::Null);
        }
        match self {
            Target::Wide { is_unsigned } => wide(value, *is_unsigned),
            Target::Decimal { digits, scale } => {
                as_decimal(value, (*digits, *scale)).map(Value::Float)
            }
            Target::DecimalText(scale) => {
                Some(Value::text(&format!("{:.scale$}", float(value)? + 0.0)))
            }
            Target::Moment(unit) => match plain(value, &Kind::LocalDateTime)? {
                Value::Stored(stored) => match &*stored {
                    PropertyValue::LocalDateTime(time) => {
                        let nanoseconds = time.nanoseconds / unit * unit;
                        let time = LocalDateTime {
                            nanoseconds,
                            ..*time
                        };
                        Some(Value::Stored(Arc::new(PropertyValue::LocalDateTime(time))))
                    }
                    _ => None,
                },
                _ => None,
            },
            Target::Instant => in_utc(plain(value, &Kind::DateTime)?),
            Target::Blob => match value {
                Value::String(text) => blob(text).map(|bytes| Value::Bytes(bytes.into())),
                other => of_kind(other, &Kind::Bytes),
            },
            Target::Stored => match value {
                Value::String(_) => Some(value.clone()),
                _ => Some(Value::text(&cast_shown::held(value))),
            },
            Target::List(element, length) => {
                let read;
                let items = match value {
                    Value::List(items) => items,
                    Value::String(text) if element.has_entries() => {
                        read = Value::list(cast_text::items(text)?);
                        let Value::List(items) = &read else {
                            return None;
                        };
                        items
                    }
                    Value::String(text) => {
                        let datum = sources::datum(&Value::String(text.clone()))?;
                        let any = Kind::List(Box::new(Kind::Any));
                        read = sources::value(cast_datum(datum, &any).ok()?);
                        let Value::List(items) = &read else {
                            return None;
                        };
                        items
                    }
                    _ => return None,
                };
                let fits = length.is_none_or(|length| length == items.len());
                let items = items.iter().map(|item| element.of(item));
                let items: Option<Vec<Value>> = items.collect();
                items.filter(|_| fits).map(Value::list)
            }
            Target::Vector(of) => {
                let kind = match (of.of, of.dimension) {
                    (Some(of), Some(dimension)) => Kind::Vector(of, dimension),
                    _ => Kind::Literal,
                };
                let found = of_kind(value, &kind)?;
                let fits = found.as_vector().is_some_and(|vector| of.holds(vector));
                fits.then_some(found)
            }
            Target::Map => match value {
                Value::Map(_) => Some(value.clone()),
                other => of_kind(other, &Kind::Map(Vec::new())),
            },
            Target::Any => Some(value.clone()),
            Target::Json => match value {
                Value::String(text) => JsonText::read(text).is_ok().then(|| value.clone()),
                _ => None,
            },
            Target::Struct(fields) => {
                let given = match value {
                    Value::Map(map) => given(map),
                    Value::String(text) => cast_text::fields(text)?,
                    _ => return None,
                };
                let mut made: Vec<(Arc<str>, Value)> = Vec::with_capacity(fields.len());
                made.extend(fields.iter().map(|(name, _)| (name.clone(), Value::Null)));
                for (key, value) in given {
                    let Value::String(key) = key else {
                        return None;
                    };
                    let is = |(name, _): &(Arc<str>, _)| name.eq_ignore_ascii_case(&key);
                    let at = fields.iter().position(is)?;
                    made[at].1 = fields[at].1.of(&value)?;
                }
                Some(Value::map(made))
            }
            Target::Entries(of) => {
                let given = match value {
                    Value::Map(map) => given(map),
                    Value::String(text) => cast_text::pairs(text)?,
                    _ => return None,
                };
                let entries = given.into_iter().map(|(key, value)| {
                    let key = cast_shown::shown(&of.0.of(&key)?);
                    Some((Arc::from(key), of.1.of(&value)?))
                });
                entries.collect::<Option<_>>().map(Value::map)
            }
            Target::Plain(kind, range) => {
                let found = plain(value, kind)?;
                let is_whole = matches!(found, Value::Integer(_));
                let fits = !is_whole || to_stored(&found).is_some_and(|it| range.holds(&it));
                fits.then_some(found)
            }
        }
    }

    /// Whether all values of a column are of this type, where its form tells.
    pub(crate) fn has_all(&self, column: &Column) -> bool {
        match (self, column) {
            (Target::Plain(Kind::Integer, range), Column::Integers(values)) => {
                let ends = [values.iter().min(), values.iter().max()];
                let mut ends = ends.into_iter().flatten();
                ends.all(|value| range.holds(&PropertyValue::Integer(*value)))
            }
            (Target::Plain(Kind::Float, _), Column::Floats(_))
            | (Target::Plain(Kind::Boolean, _), Column::Booleans(_)) => true,
            _ => false,
        }
    }

    /// Whether lists of it, as texts, have keys whose values need its types.
    fn has_entries(&self) -> bool {
        match self {
            Target::Struct(_) | Target::Entries(_) => true,
            Target::List(element, _) => element.has_entries(),
            _ => false,
        }
    }

    /// What its values may be, to the planner; a float may be given as an integer.
    pub(crate) fn kinds(&self) -> TypeSet {
        match self {
            Target::Wide { .. } => TypeSet::INTEGER.or(TypeSet::STRING),
            Target::Decimal { .. } | Target::Plain(Kind::Float, _) => TypeSet::NUMBER,
            Target::Json | Target::Stored | Target::DecimalText(_) => TypeSet::STRING,
            Target::Blob => TypeSet::ANY,
            Target::Moment(_) | Target::Instant => TypeSet::TEMPORAL,
            Target::List(..) => TypeSet::LIST,
            Target::Vector(_) => TypeSet::VECTOR,
            Target::Any => TypeSet::ANY,
            Target::Map | Target::Struct(_) | Target::Entries(_) => TypeSet::MAP,
            Target::Plain(kind, _) => sources::type_set(kind),
        }
    }
}

fn given(map: &Map) -> Vec<(Value, Value)> {
    let entries = map.entries().iter();
    let text = |key: &Arc<str>| Value::String(key.clone());
    entries
        .map(|(key, value)| (text(key), value.clone()))
        .collect()
}

fn of_kind(value: &Value, kind: &Kind) -> Option<Value> {
    let datum = sources::datum(value)?;
    Some(sources::value(cast_datum(datum, kind).ok()?))
}

fn plain(value: &Value, kind: &Kind) -> Option<Value> {
    match (kind, value) {
        (Kind::Integer, _) => whole(value),
        (Kind::Float, _) => float(value).map(Value::Float),
        (Kind::String, Value::String(_)) => Some(value.clone()),
        (Kind::String, _) => Some(Value::text(&cast_shown::shown(value))),
        (Kind::Boolean, Value::String(text)) => match &*text.trim().to_ascii_lowercase() {
            "true" | "t" | "1" => Some(Value::Boolean(true)),
            "false" | "f" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        (Kind::Boolean, Value::Integer(number)) => Some(Value::Boolean(*number != 0)),
        (Kind::Boolean, Value::Float(number)) => Some(Value::Boolean(*number != 0.0)),
        (Kind::Date, Value::Stored(stored)) => Some(match &**stored {
            PropertyValue::LocalDateTime(time) => date(time.seconds),
            PropertyValue::DateTime(time) => date(time.seconds),
            _ => return of_kind(value, kind),
        }),
        (Kind::LocalDateTime | Kind::DateTime, Value::Stored(stored)) => {
            let is_one = match &**stored {
                PropertyValue::LocalDateTime(_) => *kind == Kind::LocalDateTime,
                PropertyValue::DateTime(_) => *kind == Kind::DateTime,
                _ => false,
            };
            if is_one {
                return Some(value.clone());
            }
            let (seconds, nanoseconds) = match &**stored {
                PropertyValue::Date(days) => (days * 86_400, 0),
                PropertyValue::LocalDateTime(time) => (time.seconds, time.nanoseconds),
                PropertyValue::DateTime(time) => (time.seconds, time.nanoseconds),
                _ => return None,
            };
            let moment = match kind {
                Kind::DateTime => PropertyValue::DateTime(DateTime {
                    seconds,
                    nanoseconds,
                    offset_seconds: 0,
                    zone: None,
                }),
                _ => PropertyValue::LocalDateTime(LocalDateTime {
                    seconds,
                    nanoseconds,
                }),
            };
            Some(Value::Stored(Arc::new(moment)))
        }
        _ => of_kind(value, kind),
    }
}

/// The same instant without an offset and without the name of a zone.
fn in_utc(moment: Value) -> Option<Value> {
    let Value::Stored(stored) = &moment else {
        return None;
    };
    let PropertyValue::DateTime(time) = &**stored else {
        return None;
    };
    if time.offset_seconds == 0 && time.zone.is_none() {
        return Some(moment);
    }
    let time = DateTime {
        offset_seconds: 0,
        zone: None,
        ..time.clone()
    };
    Some(Value::Stored(Arc::new(PropertyValue::DateTime(time))))
}

/// The bytes of a text of ASCII in which `\x41` stands for one; none if it is no such text.
fn blob(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        if first == b'\\' {
            let digits = rest.strip_prefix("\\x")?.get(..2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[4..];
        } else if first.is_ascii() {
            bytes.push(first);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(bytes)
}

fn date(seconds: i64) -> Value {
    Value::Stored(Arc::new(PropertyValue::Date(seconds.div_euclid(86_400))))
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        #[expect(clippy::cast_precision_loss, reason = "a cast to a float asks for it")]
        Value::Integer(number) => Some(*number as f64),
        Value::Boolean(truth) => Some(f64::from(u8::from(*truth))),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A number with so many digits at most, rounded to so many behind the point. None if it has more
/// before the point, or digits that no float holds.
fn as_decimal(value: &Value, of: (u32, u32)) -> Option<f64> {
    match value {
        Value::String(text) => decimal::of_text(text, of).ok(),
        Value::Integer(number) => decimal::of_integer(*number, of).ok(),
        other => decimal::of_float(float(other)?, of).ok(),
    }
}

fn whole(value: &Value) -> Option<Value> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    Some(Value::Integer(match value {
        Value::Integer(number) => *number,
        Value::Boolean(truth) => i64::from(*truth),
        #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
        Value::Float(number) if (-BEYOND..BEYOND).contains(&number.round_ties_even()) => {
            number.round_ties_even() as i64
        }
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    }))
}

fn wide(value: &Value, is_unsigned: bool) -> Option<Value> {
    let found = whole(value).or_else(|| match value {
        Value::String(text) => {
            let number: i128 = text.trim().parse().ok()?;
            Some(Value::text(&number.to_string()))
        }
        _ => None,
    })?;
    let fits = match &found {
        Value::Integer(number) => *number >= 0,
        Value::String(digits) => digits.parse::<u64>().is_ok(),
        _ => false,
    };
    (fits || !is_unsigned).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(value: &Value, of: &str) -> Option<Value> {
        Target::read(of).unwrap_or_else(|| panic!("{of}")).of(value)
    }

    /// Goal: a cast gives a value of the type or nothing; sizes are ranges.
    #[test]
    fn casts_give_values_of_the_type() {
        let text = |text: &str| Value::text(text);
        assert_eq!(to(&text("17"), "INT64"), Some(Value::Integer(17)));
        for (half, even) in [(2.5, 2), (3.5, 4), (0.5, 0), (-0.5, 0)] {
            let even = Some(Value::Integer(even));
            assert_eq!(to(&Value::Float(half), "INT32"), even, "{half}");
        }
        assert_eq!(to(&Value::Integer(300), "UINT8"), None);
        assert_eq!(to(&text("x"), "DOUBLE"), None);
        let wide = text("170141183460469231731687303715884105727");
        assert_eq!(to(&wide, "INT128"), Some(wide.clone()));
        assert_eq!(
            to(&text("1.2345"), "DECIMAL(5, 2)"),
            Some(Value::Float(1.23))
        );
        let nines = Some(Value::Float(999.99));
        assert_eq!(
            to(&Value::Float(-999.985), "DECIMAL(5, 2)"),
            Some(Value::Float(-999.99))
        );
        assert_eq!(to(&text("999.99"), "DECIMAL(5,2)"), nines);
        for half in [text("1.005"), Value::Float(1.005)] {
            assert_eq!(to(&half, "DECIMAL(5, 2)"), Some(Value::Float(1.01)));
        }
        assert_eq!(to(&text("12345678901234567.89"), "DECIMAL(20, 2)"), None);
        for of in ["DECIMAL(4, 2)", "DECIMAL(2)", "DECIMAL(5, 3)"] {
            assert_eq!(to(&text("999.99"), of), None, "{of}");
        }
        assert_eq!(to(&Value::Float(f64::NAN), "DECIMAL"), None);
        let least = Value::Integer(9_007_199_254_740_993);
        assert_eq!(to(&least, "DECIMAL(18, 0)"), None);
        assert_eq!(to(&Value::Integer(i64::MAX), "DECIMAL(38, 10)"), None);
        for (even, float, of) in [
            (
                9_007_199_254_740_994,
                9_007_199_254_740_994.0,
                "DECIMAL(18, 0)",
            ),
            (
                -9_007_199_254_740_994,
                -9_007_199_254_740_994.0,
                "DECIMAL(38, 10)",
            ),
            (i64::MIN, -9_223_372_036_854_775_808.0, "DECIMAL(19, 0)"),
        ] {
            let float = Some(Value::Float(float));
            assert_eq!(to(&Value::Integer(even), of), float, "{even}");
        }
        // So many units: the float stays as it is.
        let long = Value::Float(123_456_789_012_345.67);
        assert_eq!(to(&long, "DECIMAL(18, 3)"), Some(long.clone()));
        let long = "0.1234567890123456";
        assert!(to(&text(long), "DECIMAL(18, 16)").is_some());
        assert_eq!(to(&text("-999999999999.999999"), "DECIMAL(18, 6)"), None);
        let list = Value::list(vec![Value::Integer(1), Value::Integer(2)]);
        assert_eq!(to(&text("[1,2]"), "INT64[]"), Some(list.clone()));
        assert_eq!(to(&list, "INT64[3]"), None);
        assert_eq!(to(&list, "STRING"), Some(text("[1,2]")));
        assert_eq!(to(&Value::Null, "DATE"), Some(Value::Null));
        let day = Value::Stored(Arc::new(PropertyValue::Date(0)));
        assert_eq!(to(&text("1970-01-01"), "DATE"), Some(day.clone()));
        assert_eq!(to(&text("1970-01-01 10:00:00"), "DATE"), None);
        let time = to(&text("1970-01-01 10:00:00"), "TIMESTAMP").unwrap();
        assert_eq!(to(&time, "DATE"), Some(day));
        let map = |value| Value::map(vec![("a B".into(), value)]);
        let of = "struct(`a B` INT64)";
        assert_eq!(to(&map(text("7")), of), Some(map(Value::Integer(7))));
        assert_eq!(to(&text("{a B: 7}"), of), Some(map(Value::Integer(7))));
        assert_eq!(to(&text("{}"), of), Some(map(Value::Null)));
        assert_eq!(to(&map(text("x")), of), None);
        assert_eq!(to(&text("{c: 7}"), of), None);
        let of = "MAP(STRING, INT64[])[]";
        let items = Value::list(vec![map(list)]);
        assert_eq!(to(&text("[{a B=[1,2]}]"), of), Some(items));
        assert!(Target::read("MAP(STRING)").is_none() && Target::read("STRUCT(a)").is_none());
        assert!(Target::read(&format!("INT64{}", "[]".repeat(100_000))).is_none());
        assert!(Target::read("WHOLE").is_none() && Target::read("INT64[x]").is_none());
    }
}
