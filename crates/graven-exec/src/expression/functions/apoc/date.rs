//! `apoc.date` and `apoc.temporal`: moments as numbers and as texts of a pattern.
//!
//! # How it works
//! A moment is a number of a unit since 1970-01-01 UTC; units are whole, so that a conversion to a
//! larger one drops the rest. Patterns are those of Java ([`graven_temporal::pattern`]).
//!
//! # Source
//! Neo4j APOC Core 5, documentation of `apoc.date` and `apoc.temporal`.

use std::sync::Arc;

use graven_temporal::pattern::Pattern;
use graven_temporal::{Kind, Parts, Zone, calendar};
use graven_types::told;
use graven_types::{Duration, PropertyValue};

use super::{integer, key, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::{Moment, QueryContext};
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.date.add", (4, 4), add),
    Function::new("apoc.date.convert", (3, 3), convert),
    Function::new("apoc.date.convertformat", (2, 3), convert_format),
    Function::new("apoc.date.currenttimestamp", (0, 0), |_, _| {
        let now = Moment::now();
        Ok(Value::Integer(
            now.seconds.saturating_mul(1000) + i64::from(now.nanoseconds / 1_000_000),
        ))
    }),
    Function::new("apoc.date.field", (1, 3), field),
    Function::new("apoc.date.fields", (1, 2), fields),
    Function::new("apoc.date.format", (1, 4), format),
    Function::new("apoc.date.fromiso8601", (1, 1), |_, args| {
        let name = "apoc.date.fromISO8601";
        match text(name, &args[0])? {
            Some(of) => of_parts(&pattern("iso_date_time")?.read(of)?, 1, None),
            None => Ok(Value::Null),
        }
    }),
    Function::new("apoc.date.parse", (1, 4), parse),
    Function::new("apoc.date.systemtimezone", (0, 0), |_, _| {
        Ok(Value::text("UTC"))
    }),
    Function::new("apoc.date.toiso8601", (1, 2), |_, args| {
        let name = "apoc.date.toISO8601";
        match moment(name, &args[0], unit(name, args.get(1), 1)?, Zone::UTC)? {
            Some(parts) => written("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", &parts),
            None => Ok(Value::Null),
        }
    }),
    Function::new("apoc.date.toyears", (1, 2), to_years),
    Function {
        name: "apoc.temporal.format",
        arity: (1, 2),
        body: format_temporal,
    },
    Function::new("apoc.temporal.formatduration", (2, 2), |_, args| {
        let name = "apoc.temporal.formatDuration";
        let of = or(name, args.get(1), "")?;
        match &args[0] {
            Value::Null => Ok(Value::Null),
            Value::Stored(value) => match &**value {
                PropertyValue::Duration(length) => written_duration(of, length),
                _ => Err(wrong(name, "a Duration", &args[0])),
            },
            other => Err(wrong(name, "a Duration", other)),
        }
    }),
    Function {
        name: "apoc.temporal.tozonedtemporal",
        arity: (1, 3),
        body: to_zoned,
    },
];

/// The pattern of numbers that `apoc.date` writes and reads.
const PATTERN: &str = "yyyy-MM-dd HH:mm:ss";

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Names of units and their milliseconds.
const UNITS: &[(&[&str], i64)] = &[
    (&["ms", "milli", "millis", "milliseconds"], 1),
    (&["s", "second", "seconds"], 1000),
    (&["m", "minute", "minutes"], 60_000),
    (&["h", "hour", "hours"], 3_600_000),
    (&["d", "day", "days"], DAY),
];

/// Milliseconds of a unit; those of `default` where none is given.
fn unit(function: &str, value: Option<&Value>, default: i64) -> Result<i64> {
    let Some(name) = value
        .map(|value| text(function, value))
        .transpose()?
        .flatten()
    else {
        return Ok(default);
    };
    let lower = name.to_lowercase();
    let found = UNITS.iter().find(|(names, _)| names.contains(&&*lower));
    found
        .map(|(_, millis)| *millis)
        .ok_or_else(|| ExecError::Argument {
            message: told!("{function}() knows no unit `{name}`: give ms, s, m, h or d"),
        })
}

/// A text that may be left out, or be empty, for `default`.
fn or<'a>(function: &str, value: Option<&'a Value>, default: &'a str) -> Result<&'a str> {
    let given = value
        .map(|value| text(function, value))
        .transpose()?
        .flatten();
    Ok(given.map_or("", |text| text).trim())
        .map(|text| if text.is_empty() { default } else { text })
}

fn zone(function: &str, value: Option<&Value>) -> Result<Zone> {
    let name = or(function, value, "UTC")?;
    if matches!(name, "UTC" | "GMT") {
        return Ok(Zone::parse("Z")?);
    }
    // `GMT+2` and `GMT+02:00`, as Java has them.
    let Some(offset) = name
        .strip_prefix("GMT")
        .filter(|it| it.starts_with(['+', '-']) && it.len() <= 6)
    else {
        return Ok(Zone::parse(name)?);
    };
    let (sign, hours) = offset.split_at(1);
    let is_one_digit = hours.split(':').next().is_some_and(|it| it.len() == 1);
    let fill = if is_one_digit { "0" } else { "" };
    let minutes = if hours.contains(':') { "" } else { ":00" };
    Ok(Zone::parse(&format!("{sign}{fill}{hours}{minutes}"))?)
}

fn pattern(text: &str) -> Result<Pattern> {
    // Room for its parts and for the text that it writes.
    charge(
        text.len()
            .min(graven_temporal::pattern::LENGTH_MAX)
            .saturating_mul(128),
    )?;
    work(1 + text.len().min(graven_temporal::pattern::LENGTH_MAX) / 16)?;
    Ok(Pattern::parse(text)?)
}

fn written(of: &str, parts: &Parts) -> Result<Value> {
    Ok(Value::text(&pattern(of)?.write(parts)?))
}

/// An integer of milliseconds out of a wider one.
fn whole(function: &str, value: i128) -> Result<Value> {
    let fits = i64::try_from(value).map(Value::Integer);
    fits.map_err(|_| ExecError::Argument {
        message: told!("{function}(): the result {value} is out of range"),
    })
}

/// A number of units as a clock in a zone shows it; none of null.
fn moment(function: &str, value: &Value, unit: i64, zone: Zone) -> Result<Option<Parts>> {
    if value.is_null() {
        return Ok(None);
    }
    let millis = i128::from(integer(function, value)?) * i128::from(unit);
    let seconds = i64::try_from(millis.div_euclid(1000)).unwrap_or(i64::MAX);
    calendar::in_range(seconds.div_euclid(86_400))?;
    let nanoseconds = (millis.rem_euclid(1000) * 1_000_000) as u32;
    Ok(Some(Parts::at(seconds, nanoseconds, zone)))
}

/// The number of units since 1970 of what a text has said; a zone that it does not name is UTC or
/// the given one.
fn of_parts(parts: &Parts, unit: i64, zone: Option<Zone>) -> Result<Value> {
    let zone = parts.zone.clone().or(zone);
    let (seconds, nanoseconds, _) = Parts {
        zone,
        ..parts.clone()
    }
    .instant();
    let millis = i128::from(seconds) * 1000 + i128::from(nanoseconds / 1_000_000);
    whole("apoc.date.parse", millis / i128::from(unit))
}

fn add(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.add";
    let (own, other) = (unit(name, args.get(1), 1)?, unit(name, args.get(3), 1)?);
    if args[0].is_null() || args[2].is_null() {
        return Ok(Value::Null);
    }
    let added = i128::from(integer(name, &args[2])?) * i128::from(other) / i128::from(own);
    whole(name, i128::from(integer(name, &args[0])?) + added)
}

fn convert(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.convert";
    let (from, to) = (unit(name, args.get(1), 1)?, unit(name, args.get(2), 1)?);
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let millis = i128::from(integer(name, &args[0])?) * i128::from(from);
    whole(name, millis / i128::from(to))
}

fn convert_format(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.convertFormat";
    let to = pattern(or(name, args.get(2), "yyyy-MM-dd")?)?;
    match (text(name, &args[0])?, text(name, &args[1])?) {
        (Some(of), Some(from)) if !of.is_empty() => {
            Ok(Value::text(&to.write(&pattern(from)?.read(of)?)?))
        }
        _ => Ok(Value::Null),
    }
}

fn parse(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.parse";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let unit = unit(name, args.get(1), 1)?;
    let of = match text(name, &args[0])? {
        Some(of) if !of.trim().is_empty() => of,
        _ => return Ok(Value::Null),
    };
    let read = pattern(or(name, args.get(2), PATTERN)?)?.read_start(of)?;
    of_parts(&read, unit, Some(zone(name, args.get(3))?))
}

fn format(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.format";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let unit = unit(name, args.get(1), 1)?;
    match moment(name, &args[0], unit, zone(name, args.get(3))?)? {
        Some(parts) => written(or(name, args.get(2), PATTERN)?, &parts),
        None => Ok(Value::Null),
    }
}

/// One part of a moment that is counted in milliseconds.
fn field(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.field";
    let Some(parts) = moment(name, &args[0], 1, zone(name, args.get(2))?)? else {
        return Ok(Value::Null);
    };
    let letter = match &*or(name, args.get(1), "d")?.to_lowercase() {
        "year" | "years" => "u",
        "month" | "months" => "M",
        "w" | "weekday" | "weekdays" => "e",
        "ms" | "milli" | "millis" | "milliseconds" => "SSS",
        "s" | "second" | "seconds" => "s",
        "m" | "minute" | "minutes" => "m",
        "h" | "hour" | "hours" => "H",
        "d" | "day" | "days" => "d",
        other => {
            let message = told!(
                "{name}() knows no part `{other}`: give year, month, d, weekday, h, m, s or ms"
            );
            return Err(ExecError::Argument { message });
        }
    };
    Ok(number(letter, &parts)?.unwrap_or_default())
}

/// What a letter of a pattern gives, as a number; none where the value lacks it.
fn number(letter: &str, parts: &Parts) -> Result<Option<Value>> {
    let written = pattern(letter)?.write(parts).ok();
    Ok(written
        .and_then(|text| text.parse().ok())
        .map(Value::Integer))
}

/// The parts that a text says, by name.
fn fields(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.fields";
    let pattern = pattern(or(name, args.get(1), PATTERN)?)?;
    let Some(of) = text(name, &args[0])? else {
        return Ok(Value::map(Vec::new()));
    };
    let parts = pattern.read(of)?;
    let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
    for (name, letter) in [
        ("years", "u"),
        ("months", "M"),
        ("days", "d"),
        ("weekdays", "e"),
        ("hours", "H"),
        ("minutes", "m"),
        ("seconds", "s"),
    ] {
        entries.extend(number(letter, &parts)?.map(|value| (name.into(), value)));
    }
    let zone = parts
        .zone
        .as_ref()
        .map_or_else(|| "UTC".to_owned(), ToString::to_string);
    entries.push(("zoneid".into(), Value::text(&zone)));
    Ok(Value::map(entries))
}

fn to_years(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.date.toYears";
    let year = 365.0 * DAY as f64;
    let (first, millis) = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Integer(millis) => (0.0, *millis as f64),
        Value::Float(millis) => (0.0, *millis),
        Value::String(of) => {
            let read = pattern(or(name, args.get(1), PATTERN)?)?.read(of)?;
            match of_parts(&read, 1, None)? {
                Value::Integer(millis) => (1970.0, millis as f64),
                other => return Ok(other),
            }
        }
        other => return Err(wrong(name, "a number or a String", other)),
    };
    Ok(Value::Float(first + millis / year))
}

fn format_temporal(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.temporal.format";
    let of = match args.get(1) {
        Some(given) => text(name, given)?,
        None => None,
    };
    let of: &str = of.map_or("yyyy-MM-dd", |of| of);
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Stored(value) => match (&**value, Parts::of(value)) {
            (PropertyValue::Duration(length), _) => written_duration(of, length),
            (_, Some(parts)) => written(of, &parts),
            (_, None) => Ok(Value::String(key(&args[0])?)),
        },
        other => Ok(Value::String(key(other)?)),
    }
}

fn written_duration(of: &str, length: &Duration) -> Result<Value> {
    Ok(Value::text(&pattern(of)?.write_duration(length)?))
}

fn to_zoned(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.temporal.toZonedTemporal";
    let Some(of) = text(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let mut parts = pattern(or(name, args.get(1), PATTERN)?)?.read(of)?;
    if parts.zone.is_none() {
        parts.zone = Some(zone(name, args.get(2))?);
    }
    let moment = parts.select(Kind::DateTime)?.value(Kind::DateTime)?;
    Ok(Value::Stored(Arc::new(moment)))
}
