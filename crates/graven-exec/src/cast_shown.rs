//! Values as texts: the one that a cast gives, and the one by which a property holds a struct.
//!
//! # How it works
//! A cast writes values as Kuzu does: `True`, `1.500000`, `2020-01-05 10:00:00`, `1 day 02:00:00`,
//! `[1,]`; a float has all of its digits, and at least six behind the point. The text of a struct
//! has the forms of this language, and backquotes around texts that would be read otherwise.

use std::fmt::Write as _;
use std::sync::Arc;

use graven_types::{Duration, LocalDateTime, PropertyValue};

use crate::cast_text::quoted;
use crate::value::Value;

/// A value as the text that a cast gives.
pub(crate) fn shown(value: &Value) -> String {
    written(value, &str::to_owned, &|value| match value {
        Value::Null => String::new(),
        Value::Boolean(truth) => if *truth { "True" } else { "False" }.to_owned(),
        Value::Float(number) => float(*number),
        Value::Stored(stored) => match &**stored {
            PropertyValue::LocalDateTime(time) => moment(*time),
            PropertyValue::DateTime(time) => {
                let (seconds, nanoseconds) = (time.seconds, time.nanoseconds);
                moment(LocalDateTime {
                    seconds,
                    nanoseconds,
                }) + "+00"
            }
            PropertyValue::Duration(span) => interval(span),
            _ => value.to_string(),
        },
        other => other.to_string(),
    })
}

/// A value as a text that is read as the same value again, where the type is known.
pub(crate) fn held(value: &Value) -> String {
    written(value, &quoted, &ToString::to_string)
}

fn written(
    value: &Value,
    text: &dyn Fn(&str) -> String,
    plain: &dyn Fn(&Value) -> String,
) -> String {
    let inner = |value| written(value, text, plain);
    match value {
        Value::String(of) => text(of),
        Value::Bytes(bytes) => blob(bytes),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(inner).collect();
            format!("[{}]", items.join(","))
        }
        Value::Map(map) => {
            let entries = map.entries().iter();
            let entries: Vec<String> = entries
                .map(|(key, value)| format!("{}: {}", text(key), inner(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => plain(other),
    }
}

fn blob(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => write!(text, "\\x{byte:02X}").expect("a text takes all"),
        }
    }
    text
}

fn float(number: f64) -> String {
    let mut text = number.to_string().replace("NaN", "nan");
    if !number.is_finite() {
        return text;
    }
    if !text.contains('.') {
        text.push('.');
    }
    let behind = text.len() - text.find('.').unwrap_or(0) - 1;
    text.extend(std::iter::repeat_n('0', 6_usize.saturating_sub(behind)));
    text
}

/// Without zeros at the end of the part behind the point, of which there are six digits.
fn fraction(nanoseconds: u32) -> String {
    match nanoseconds / 1000 {
        0 => String::new(),
        micros => format!(".{micros:06}").trim_end_matches('0').to_owned(),
    }
}

fn moment(time: LocalDateTime) -> String {
    let day = Value::Stored(Arc::new(PropertyValue::Date(
        time.seconds.div_euclid(86_400),
    )));
    let of_day = time.seconds.rem_euclid(86_400);
    let [hour, minute, second] = [of_day / 3600, of_day / 60 % 60, of_day % 60];
    let behind = fraction(time.nanoseconds);
    format!("{day} {hour:02}:{minute:02}:{second:02}{behind}")
}

fn interval(span: &Duration) -> String {
    let mut parts = Vec::new();
    for (count, unit) in [
        (span.months / 12, "year"),
        (span.months % 12, "month"),
        (span.days, "day"),
    ] {
        let plural = if count == 1 { "" } else { "s" };
        if count != 0 {
            parts.push(format!("{count} {unit}{plural}"));
        }
    }
    let whole = i128::from(span.seconds) * 1_000_000_000 + i128::from(span.nanoseconds);
    let sign = if whole < 0 { "-" } else { "" };
    let (seconds, rest) = (whole.abs() / 1_000_000_000, whole.abs() % 1_000_000_000);
    if whole != 0 || parts.is_empty() {
        let behind = fraction(u32::try_from(rest).unwrap_or(0));
        let [hours, minutes, seconds] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
        parts.push(format!(
            "{sign}{hours:02}:{minutes:02}:{seconds:02}{behind}"
        ));
    }
    parts.join(" ")
}
