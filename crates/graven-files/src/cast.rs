//! Values of a file as values of the declared kind; texts as values of whatever kind they look
//! like.
//!
//! # Invariants
//! * FI-1 A value is never changed silently: what the declared kind cannot hold is an error, and so
//!   is an integer that no 64 bits hold.
//! * FI-18 A map of a type with fields has these fields: what it lacks is null, what the type lacks
//!   is an error.

use std::sync::Arc;

use graven_temporal::{Kind as Temporal, Zone, duration, text};
use graven_types::PropertyValue;
use graven_types::told;

use crate::datum::Datum;
use crate::decimal;
use crate::foreign;
use crate::kind::Kind;
use crate::literal;

/// The value as one of `kind`.
///
/// # Errors
/// What is wrong with it, to be put behind the value: "is no INTEGER".
pub fn cast(datum: Datum, kind: &Kind) -> Result<Datum, String> {
    use PropertyValue as P;
    let no = || Err(told!("is no {kind}"));
    let value = match (datum, kind) {
        (datum, Kind::Any | Kind::Null) => return Ok(datum),
        (Datum::Value(P::Null), _) => return Ok(Datum::NULL),
        (Datum::Value(P::String(text)), Kind::String) => P::String(text),
        (Datum::Value(P::String(text)), kind) => return of_text(&text, kind),
        (datum, Kind::Literal) => return Ok(datum),
        (Datum::Value(P::List(items)), Kind::List(element)) => {
            let items = items
                .iter()
                .map(|item| cast(Datum::Value(item.clone()), element));
            return Ok(Datum::list(items.collect::<Result<_, _>>()?));
        }
        (Datum::List(items), Kind::List(element)) => {
            let items = items.into_iter().map(|item| cast(item, element));
            return Ok(Datum::list(items.collect::<Result<_, _>>()?));
        }
        (Datum::Map(entries), Kind::Point) => return literal::point(&entries),
        (list @ Datum::Value(P::List(_)), Kind::Vector(of, dimension)) => {
            let made = literal::vector(&list, *of, *dimension);
            made.map_err(|why| told!("is no {kind}: it {why}"))?
        }
        (map @ Datum::Map(_), Kind::Map(fields)) if fields.is_empty() => return Ok(map),
        (Datum::Map(entries), Kind::Map(fields)) => return of_fields(entries, fields),
        (Datum::Value(value), kind) => match (value, kind) {
            (P::Float(x), Kind::Integer) if x.fract() == 0.0 && x.abs() < 9e15 => {
                P::Integer(x as i64)
            }
            (P::Integer(i), Kind::Float) if (i as f64) as i128 == i128::from(i) => {
                P::Float(i as f64)
            }
            (P::Float(x), Kind::Decimal(digits, scale)) => {
                P::Float(decimal::of_float(x, (*digits, *scale))?)
            }
            (P::Integer(i), Kind::Decimal(digits, scale)) => {
                P::Float(decimal::of_integer(i, (*digits, *scale))?)
            }
            (P::Bytes(bytes), Kind::Uuid) if bytes.len() == 16 => {
                P::String(uuid_of_bytes(&bytes).into())
            }
            (P::LocalDateTime(t), Kind::Date) if t.seconds % 86_400 == 0 && t.nanoseconds == 0 => {
                P::Date(t.seconds / 86_400)
            }
            (P::Date(days), Kind::LocalDateTime) => P::LocalDateTime(literal::local_date_time(
                i128::from(days) * 86_400_000_000_000,
            )),
            (
                P::Date(_)
                | P::LocalTime(_)
                | P::Time(_)
                | P::LocalDateTime(_)
                | P::DateTime(_)
                | P::Duration(_),
                Kind::String,
            ) => {
                return no();
            }
            (value @ (P::Boolean(_) | P::Integer(_)), Kind::String) => {
                let mut text = String::new();
                literal::write(&mut text, &Datum::Value(value));
                P::String(text.into())
            }
            (value, kind) if Kind::of(&Datum::Value(value.clone())) == *kind => value,
            _ => return no(),
        },
        _ => return no(),
    };
    Ok(Datum::Value(value))
}

/// The canonical form of the UUID that these bytes are.
pub(crate) fn uuid_of_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The canonical form of a UUID: 32 hexadecimal digits, whatever their case, with hyphens anywhere
/// or nowhere, in braces or not.
fn uuid(text: &str) -> Option<String> {
    let bare = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let digits = bare.unwrap_or(text).chars().filter(|c| *c != '-');
    let mut canonical = String::with_capacity(36);
    for (at, digit) in digits.enumerate() {
        if !digit.is_ascii_hexdigit() || at == 32 {
            return None;
        }
        if matches!(at, 8 | 12 | 16 | 20) {
            canonical.push('-');
        }
        canonical.push(digit.to_ascii_lowercase());
    }
    (canonical.len() == 36).then_some(canonical)
}

/// The value of a text of that kind.
///
/// # Errors
/// As [`cast`].
pub(crate) fn of_text(given: &str, kind: &Kind) -> Result<Datum, String> {
    use PropertyValue as P;
    let no = || Err(told!("is no {kind}"));
    let trimmed = given.trim();
    let temporal = |kind: Temporal| {
        text::parse(kind, &spaced(trimmed), &Zone::UTC)
            .map(Datum::Value)
            .map_err(|error| told!("is no {}: {error}", kind.name()))
    };
    let value = match kind {
        Kind::Any => return Ok(sniffed(given)),
        Kind::String => P::String(given.into()),
        Kind::Uuid => match uuid(trimmed) {
            Some(text) => P::String(text.into()),
            None => return no(),
        },
        Kind::Null => return no(),
        Kind::Boolean if trimmed.eq_ignore_ascii_case("true") => P::Boolean(true),
        Kind::Boolean if trimmed.eq_ignore_ascii_case("false") => P::Boolean(false),
        Kind::Boolean => return no(),
        Kind::Integer => match trimmed.parse() {
            Ok(integer) => P::Integer(integer),
            Err(_) => return no(),
        },
        Kind::Float => match trimmed {
            "Infinity" => P::Float(f64::INFINITY),
            "-Infinity" => P::Float(f64::NEG_INFINITY),
            _ => match literal::float(trimmed) {
                Some(float) => P::Float(float),
                None => return no(),
            },
        },
        Kind::Decimal(digits, scale) => P::Float(decimal::of_text(trimmed, (*digits, *scale))?),
        Kind::Bytes => match literal::hexadecimal(trimmed) {
            Ok(bytes) => bytes,
            Err(why) => foreign::bytes(given).ok_or(why)?,
        },
        Kind::Date => return temporal(Temporal::Date),
        Kind::LocalTime => return temporal(Temporal::LocalTime),
        Kind::Time => return temporal(Temporal::Time),
        Kind::LocalDateTime => match temporal(Temporal::LocalDateTime) {
            Ok(time) => return Ok(time),
            Err(why) => foreign::time_of_instant(&spaced(trimmed)).ok_or(why)?,
        },
        Kind::DateTime => return temporal(Temporal::DateTime),
        Kind::Duration => match duration::parse(trimmed) {
            Ok(read) => P::Duration(read),
            Err(error) => match foreign::duration(trimmed) {
                Some(read) => read,
                None => return Err(told!("is no DURATION: {error}")),
            },
        },
        Kind::Literal => return literal::read(trimmed),
        Kind::List(_) | Kind::Map(_) | Kind::Point | Kind::Vector(..) => {
            let read = literal::read(trimmed).map_err(|why| told!("is no {kind}: it {why}"))?;
            return match read {
                Datum::Value(P::String(_)) => no(),
                read => cast(read, kind),
            };
        }
    };
    Ok(Datum::Value(value))
}

/// A map with these fields, in their order: what it lacks is null, and it has no others.
fn of_fields(entries: Vec<(Arc<str>, Datum)>, fields: &[(String, Kind)]) -> Result<Datum, String> {
    let mut made: Vec<(Arc<str>, Datum)> = Vec::with_capacity(fields.len());
    made.extend(
        fields
            .iter()
            .map(|(name, _)| (Arc::from(&**name), Datum::NULL)),
    );
    for (key, value) in entries {
        let at = fields.iter().position(|(name, _)| **name == *key);
        let at = at.ok_or_else(|| {
            told!(
                "has the field {key}, which neither the type of the column nor a row before has: \
                    declare the column as MAP, or with that field"
            )
        })?;
        let value = cast(value, &fields[at].1);
        made[at].1 = value.map_err(|why| told!("has the field {key}, which {why}"))?;
    }
    Ok(Datum::Map(made))
}

/// Other programs put a blank between date and time; months and days may have one digit.
fn spaced(text: &str) -> std::borrow::Cow<'_, str> {
    match text.find(' ') {
        Some(at @ 8..=10) => format!("{}T{}", &text[..at], &text[at + 1..]).into(),
        _ => text.into(),
    }
}

/// The kind a text looks like. A number with a needless zero in front, such as a postal code, is
/// text.
#[must_use]
pub(crate) fn kind_of_text(text: &str) -> Kind {
    let plain = text.strip_prefix(['-', '+']).unwrap_or(text);
    let bytes = plain.as_bytes();
    match bytes {
        _ if literal::is_padded(text) && !text.contains(['-', ':']) => return Kind::String,
        [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => {}
        _ if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") => {
            return Kind::Boolean;
        }
        _ => return Kind::String,
    }
    if text.parse::<i64>().is_ok() {
        return Kind::Integer;
    }
    // More digits than a number holds are no number.
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if digits <= 17 + bytes.iter().filter(|b| **b == b'e').count() * 3
        && literal::float(text).is_some_and(|float| decimal::comes_back(text, float))
    {
        return Kind::Float;
    }
    let day = bytes.len() >= 10 && bytes[4] == b'-' && bytes[7] == b'-';
    if day {
        let kinds = [Kind::Date, Kind::LocalDateTime, Kind::DateTime];
        let long = bytes.len() > 10;
        for kind in kinds.into_iter().skip(usize::from(long)) {
            let zoned = kind == Kind::DateTime;
            let has_zone = long
                && bytes[10..]
                    .iter()
                    .any(|b| matches!(b, b'Z' | b'+' | b'-' | b'['));
            if zoned == has_zone && of_text(text, &kind).is_ok() {
                return kind;
            }
        }
    }
    Kind::String
}

/// The value a text looks like.
fn sniffed(text: &str) -> Datum {
    of_text(text, &kind_of_text(text)).unwrap_or_else(|_| Datum::text(text))
}

#[cfg(test)]
mod tests {
    //! Goal: texts are taken for what they look like and nothing more; what cannot be held is
    //! refused.
    use super::*;

    #[test]
    fn texts_look_like_their_kinds() {
        for (text, kind) in [
            ("1", Kind::Integer),
            ("-17", Kind::Integer),
            ("007", Kind::String),
            ("0", Kind::Integer),
            ("0.5", Kind::Float),
            ("1e9", Kind::Float),
            ("1e400", Kind::String),
            ("9007199254740993.0", Kind::String),
            ("9007199254740992.0", Kind::Float),
            ("-1e400", Kind::String),
            ("9223372036854775808", Kind::String),
            ("2024-01-31", Kind::Date),
            ("2024-01-32", Kind::String),
            ("2024-01-31T10:00:00", Kind::LocalDateTime),
            ("2024-01-31 10:00:00", Kind::LocalDateTime),
            ("2024-01-31T10:00:00Z", Kind::DateTime),
            ("2024-01-31T10:00:00+01:00", Kind::DateTime),
            ("True", Kind::Boolean),
            ("nan", Kind::String),
            ("inf", Kind::String),
            ("12 Main Street", Kind::String),
        ] {
            assert_eq!(kind_of_text(text), kind, "{text}");
        }
    }

    /// Goal: bytes are a UUID where they are as many as one has, in lists, too.
    #[test]
    fn bytes_are_uuids() {
        let bytes = |count: u8| Datum::Value(PropertyValue::Bytes((0..count).collect()));
        let text = Datum::text("00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(cast(bytes(16), &Kind::Uuid), Ok(text.clone()));
        let list = Kind::List(Box::new(Kind::Uuid));
        assert_eq!(
            cast(Datum::list(vec![bytes(16)]), &list),
            Ok(Datum::list(vec![text]))
        );
        assert!(cast(bytes(15), &Kind::Uuid).is_err());
    }

    #[test]
    fn declared_kinds_hold_or_refuse() {
        let ok = |text: &str, kind: &str| {
            of_text(text, &Kind::parse(kind).expect(kind)).map(|d| {
                let mut out = String::new();
                literal::write(&mut out, &d);
                out
            })
        };
        for (text, kind, wanted) in [
            ("5", "INT64", "5"),
            ("5", "DOUBLE", "5.0"),
            ("[1, 2]", "INT64[]", "[1, 2]"),
            ("[a, b c]", "LIST<STRING>", "['a', 'b c']"),
            ("{a: 1, b: x}", "MAP", "{a: 1, b: 'x'}"),
            ("P1DT2H", "INTERVAL", "duration('P1DT2H')"),
            (
                "2024-01-31 10:00:00",
                "TIMESTAMP",
                "localdatetime('2024-01-31T10:00')",
            ),
            ("'it\\'s'", "CYPHER", "'it\\'s'"),
            (
                "point({srid: 7203, x: 1.0, y: 2.0})",
                "POINT",
                "point({srid: 7203, x: 1.0, y: 2.0})",
            ),
            ("00ff", "BLOB", "bytes('00ff')"),
            ("-Infinity", "FLOAT", "(-1.0 / 0.0)"),
            ("1.5", "DECIMAL(5,2)", "1.5"),
            ("1.005", "DECIMAL(5,2)", "1.01"),
            ("[1.005, 2]", "DECIMAL(5, 2)[]", "[1.01, 2.0]"),
            ("[1.00000000000000000005]", "FLOAT[]", "[1.0]"),
            (
                "[1.00000000000000000005]",
                "ANY",
                "'[1.00000000000000000005]'",
            ),
            ("{}", "STRUCT(a INT64)", "{a: null}"),
            (
                "{a: 1, `b, c`: [{d: x}]}",
                "struct(a INT64, `b, c` STRUCT(d STRING, e DECIMAL(5, 2))[3], f MAP(STRING, INT64))",
                "{a: 1, `b, c`: [{d: 'x', e: null}], f: null}",
            ),
            ("[{a: 1.5}]", "LIST<STRUCT(a DOUBLE)>", "[{a: 1.5}]"),
            ("{k=1}", "MAP(STRING, INT64)", "{k: 1}"),
            ("7", "UNION(a INT64, b STRING)", "7"),
            ("[1, 2.0]", "VECTOR<INT8>(2)", "vector([1, 2], 2, INTEGER8)"),
            (
                "vector([0.1], 1, FLOAT32)",
                "VECTOR<FLOAT32>(1)",
                "vector([0.1], 1, FLOAT32)",
            ),
        ] {
            assert_eq!(ok(text, kind).as_deref(), Ok(wanted), "{text} as {kind}");
        }
        for (text, kind) in [
            ("1.5", "INTEGER"),
            ("1e400", "FLOAT"),
            ("[-1e400]", "DOUBLE[]"),
            ("{a: 1e400}", "STRUCT(a DOUBLE)"),
            ("{a: zz}", "STRUCT(a INT64, b STRING)"),
            ("{c: 1}", "STRUCT(a INT64, b STRING)"),
            ("[{a: {b: x}}]", "STRUCT(a STRUCT(b INT64))[]"),
            ("9223372036854775808", "INTEGER"),
            ("yes", "BOOLEAN"),
            ("12345678901234567.89", "DECIMAL(20, 2)"),
            ("[12345678901234567.89]", "DECIMAL(20, 2)[]"),
            ("1000", "NUMERIC(5, 2)"),
            ("1000000000000000", "DECIMAL"),
            ("2024-02-30", "DATE"),
            ("[1, x]", "LIST<INTEGER>"),
            ("[1", "LIST<INTEGER>"),
            ("[1, 2]", "VECTOR<INT8>(3)"),
            ("[1.5]", "VECTOR<INT8>(1)"),
            ("[128]", "VECTOR<INT8>(1)"),
            ("[16777217]", "VECTOR<FLOAT32>(1)"),
            ("vector([1], 1, FLOAT32)", "VECTOR<FLOAT>(1)"),
        ] {
            assert!(ok(text, kind).is_err(), "{text} as {kind}");
        }
        let deep = "[]".repeat(100_000);
        let structs = "STRUCT(a ".repeat(100_000);
        let deep = [
            format!("INT64{deep}"),
            format!("{structs}INT64{}", ")".repeat(100_000)),
        ];
        for none in [
            "NUMBER",
            "STRUCT()",
            "STRUCT(a)",
            "STRUCT(a NUMBER)",
            "INT64[x]",
            "VECTOR<FLOAT32>",
            &deep[0],
            &deep[1],
        ] {
            assert_eq!(Kind::parse(none), None);
        }
    }
}
