//! Types that values are cast to.
//!
//! # How it works
//! A type is given as text, in the names of this language or of Kuzu. Texts are read as those of
//! files are; numbers are rounded to whole ones, and what a type of a fixed size does not hold is
//! none of its values. Structs and maps are maps here; whole numbers beyond 64 bits are the text of
//! their digits.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_files::{Kind, cast as cast_datum};
use graven_storage::{PropertyType, PropertyValue};

use crate::sources;
use crate::value::Value;
use crate::value::convert::to_stored;

/// A type to cast to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Whole numbers of any size: beyond 64 bits their digits.
    Wide,
    /// Numbers with so many digits behind the point.
    Decimal(u32),
    List(Box<Target>, Option<usize>),
    /// A map, whatever its keys.
    Map,
    /// One of the kinds that files have; whole numbers lie in a range.
    Plain(Kind, PropertyType),
}

/// Most lists within each other.
const DEPTH_MAX: usize = 16;
/// Digits behind the point where none are said.
const SCALE: u32 = 3;

impl Target {
    /// The type that a text names; none if there is no such type.
    pub(crate) fn read(text: &str) -> Option<Target> {
        Self::nested(&text.to_ascii_uppercase(), 0)
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
        if let Some(element) = name.strip_prefix("LIST<") {
            let element = Target::nested(element.strip_suffix('>')?, depth + 1)?;
            return Some(Target::List(Box::new(element), None));
        }
        let (head, inside) = match name.split_once('(') {
            Some((head, inside)) => (head.trim_end(), Some(inside.strip_suffix(')')?)),
            None => (name, None),
        };
        Some(match (head, inside) {
            ("INT128" | "HUGEINT" | "UINT64", None) => Target::Wide,
            ("DECIMAL" | "NUMERIC", inside) => {
                let scale = inside.and_then(|inside| inside.split_once(','));
                Target::Decimal(match scale {
                    Some((_, scale)) => scale.trim().parse().ok()?,
                    None => SCALE,
                })
            }
            ("STRUCT" | "MAP" | "UNION", _) => Target::Map,
            (_, None) => Target::Plain(Kind::parse(name)?, PropertyType::parse(name).ok()?),
            _ => return None,
        })
    }

    /// The value as one of this type; none if there is none.
    pub(crate) fn of(&self, value: &Value) -> Option<Value> {
        if value.is_null() {
            return Some(Value::Null);
        }
        match self {
            Target::Wide => wide(value),
            Target::Decimal(scale) => {
                let float = float(value)?;
                let shift = 10f64.powi(i32::try_from(*scale).ok()?);
                let rounded = (float * shift).round() / shift;
                Some(Value::Float(if rounded.is_finite() {
                    rounded
                } else {
                    float
                }))
            }
            Target::List(element, length) => {
                let read;
                let items = match value {
                    Value::List(items) => items,
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
            Target::Map => match value {
                Value::Map(_) => Some(value.clone()),
                other => of_kind(other, &Kind::Map(Vec::new())),
            },
            Target::Plain(kind, range) => {
                let found = plain(value, kind)?;
                let is_whole = matches!(found, Value::Integer(_));
                let fits = !is_whole || to_stored(&found).is_some_and(|it| range.holds(&it));
                fits.then_some(found)
            }
        }
    }

    /// What its values may be, to the planner; a float may be given as an integer.
    pub(crate) fn kinds(&self) -> TypeSet {
        match self {
            Target::Wide => TypeSet::INTEGER.or(TypeSet::STRING),
            Target::Decimal(_) | Target::Plain(Kind::Float, _) => TypeSet::NUMBER,
            Target::List(..) => TypeSet::LIST,
            Target::Map => TypeSet::MAP,
            Target::Plain(kind, _) => sources::type_set(kind),
        }
    }
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
        (Kind::String, _) => Some(Value::text(&text(value))),
        (Kind::Boolean, Value::Integer(number)) => Some(Value::Boolean(*number != 0)),
        (Kind::Boolean, Value::Float(number)) => Some(Value::Boolean(*number != 0.0)),
        (Kind::Date, Value::Stored(stored)) => Some(match &**stored {
            PropertyValue::LocalDateTime(time) => date(time.seconds),
            PropertyValue::DateTime(time) => date(time.seconds),
            _ => return of_kind(value, kind),
        }),
        _ => of_kind(value, kind),
    }
}

fn date(seconds: i64) -> Value {
    Value::Stored(Arc::new(PropertyValue::Date(seconds.div_euclid(86_400))))
}

/// A value as text; elements of lists without quotes, as Kuzu has them.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            format!("[{}]", items.join(","))
        }
        Value::Map(map) => {
            let entries = map.entries().iter();
            let entries: Vec<String> = entries
                .map(|(key, value)| format!("{key}: {}", text(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
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

fn whole(value: &Value) -> Option<Value> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    Some(Value::Integer(match value {
        Value::Integer(number) => *number,
        Value::Boolean(truth) => i64::from(*truth),
        #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
        Value::Float(number) if (-BEYOND..BEYOND).contains(&number.round()) => {
            number.round() as i64
        }
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    }))
}

fn wide(value: &Value) -> Option<Value> {
    whole(value).or_else(|| match value {
        Value::String(text) => {
            let text = text.trim();
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_whole.then(|| Value::text(text))
        }
        _ => None,
    })
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
        assert_eq!(to(&Value::Float(2.5), "INT32"), Some(Value::Integer(3)));
        assert_eq!(to(&Value::Integer(300), "UINT8"), None);
        assert_eq!(to(&text("x"), "DOUBLE"), None);
        let wide = text("170141183460469231731687303715884105727");
        assert_eq!(to(&wide, "INT128"), Some(wide.clone()));
        assert_eq!(
            to(&text("1.2345"), "DECIMAL(5, 2)"),
            Some(Value::Float(1.23))
        );
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
        assert!(Target::read(&format!("INT64{}", "[]".repeat(100_000))).is_none());
        assert!(Target::read("WHOLE").is_none() && Target::read("INT64[x]").is_none());
    }
}
