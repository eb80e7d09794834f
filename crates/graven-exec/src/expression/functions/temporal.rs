//! Functions that make and compare dates, times and durations; the work is done by
//! `graven-temporal`.
//!
//! `date()` and its kin without argument are the time at which the statement began, the same for
//! all rows; `.transaction` is when the transaction began, `.realtime` when the function is called.

use std::sync::Arc;

use graven_temporal::between::{Measure, between};
use graven_temporal::duration::{self, Decimal, Sum};
use graven_temporal::fields::convert;
use graven_temporal::truncate::truncate;
use graven_temporal::{Clock, Field, Fields, Kind, Zone, make};
use graven_types::PropertyValue;

use super::wrong;
use crate::error::Result;
use crate::expression::signature::Function;
use crate::query_context::{Moment, QueryContext};
use crate::value::{Map, Value};

/// Constructor, clocks and `truncate` of one type.
macro_rules! temporal_functions {
    ($kind:expr, $name:literal, $transaction:literal, $statement:literal, $realtime:literal, $truncate:literal) => {
        [
            Function {
                name: $name,
                arity: (0, 1),
                body: |rt, args| construct($kind, rt, args),
            },
            Function {
                name: $transaction,
                arity: (0, 1),
                body: |rt, args| now($kind, rt.shared.clock.transaction(), args),
            },
            Function {
                name: $statement,
                arity: (0, 1),
                body: |rt, args| now($kind, rt.shared.clock.statement(), args),
            },
            Function {
                name: $realtime,
                arity: (0, 1),
                body: |_, args| now($kind, Moment::now(), args),
            },
            Function {
                name: $truncate,
                arity: (1, 3),
                body: |rt, args| truncated($kind, rt, args),
            },
        ]
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "duration",
        arity: (1, 1),
        body: |_, args| make_duration(&args[0]),
    },
    Function {
        name: "duration.between",
        arity: (2, 2),
        body: |_, args| difference(Measure::All, args),
    },
    Function {
        name: "duration.inmonths",
        arity: (2, 2),
        body: |_, args| difference(Measure::Months, args),
    },
    Function {
        name: "duration.indays",
        arity: (2, 2),
        body: |_, args| difference(Measure::Days, args),
    },
    Function {
        name: "duration.inseconds",
        arity: (2, 2),
        body: |_, args| difference(Measure::Seconds, args),
    },
    Function {
        name: "datetime.fromepoch",
        arity: (2, 2),
        body: from_epoch,
    },
    Function {
        name: "datetime.fromepochmillis",
        arity: (1, 1),
        body: from_epoch_millis,
    },
];

pub(in crate::expression) const DATE: &[Function] = &temporal_functions!(
    Kind::Date,
    "date",
    "date.transaction",
    "date.statement",
    "date.realtime",
    "date.truncate"
);
pub(in crate::expression) const LOCAL_TIME: &[Function] = &temporal_functions!(
    Kind::LocalTime,
    "localtime",
    "localtime.transaction",
    "localtime.statement",
    "localtime.realtime",
    "localtime.truncate"
);
pub(in crate::expression) const TIME: &[Function] = &temporal_functions!(
    Kind::Time,
    "time",
    "time.transaction",
    "time.statement",
    "time.realtime",
    "time.truncate"
);
pub(in crate::expression) const LOCAL_DATE_TIME: &[Function] = &temporal_functions!(
    Kind::LocalDateTime,
    "localdatetime",
    "localdatetime.transaction",
    "localdatetime.statement",
    "localdatetime.realtime",
    "localdatetime.truncate"
);
pub(in crate::expression) const DATE_TIME: &[Function] = &temporal_functions!(
    Kind::DateTime,
    "datetime",
    "datetime.transaction",
    "datetime.statement",
    "datetime.realtime",
    "datetime.truncate"
);

fn stored(value: PropertyValue) -> Value {
    Value::Stored(Arc::new(value))
}

fn clock(moment: Moment) -> Clock {
    Clock {
        seconds: moment.seconds,
        nanoseconds: moment.nanoseconds,
        zone: Zone::UTC,
    }
}

fn field(value: &Value) -> Field {
    match value {
        Value::Integer(i) => Field::Integer(*i),
        Value::String(s) => Field::Text(s.to_string()),
        Value::Stored(stored) => Field::Temporal((**stored).clone()),
        other => Field::Other(other.type_name()),
    }
}

/// The fields of a map; none if one of them is null, which makes the result null.
fn fields(map: &Map) -> Option<Fields> {
    if map.entries().iter().any(|(_, v)| v.is_null()) {
        return None;
    }
    let entries = map.entries().iter();
    Some(entries.map(|(k, v)| (k.to_string(), field(v))).collect())
}

fn construct(kind: Kind, rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let clock = clock(rt.shared.clock.statement());
    Ok(match args.first() {
        None => stored(clock.now(kind, None)?),
        Some(Value::Null) => Value::Null,
        Some(Value::Map(map)) => match fields(map) {
            Some(fields) => stored(make(kind, &fields, &clock)?),
            None => Value::Null,
        },
        Some(value @ (Value::String(_) | Value::Stored(_))) => {
            stored(convert(kind, &field(value), &clock)?)
        }
        Some(other) => {
            return Err(wrong(kind.name(), "a Map, String or temporal value", other));
        }
    })
}

fn now(kind: Kind, moment: Moment, args: &[Value]) -> Result<Value> {
    let zone = match args.first() {
        None => None,
        Some(Value::Null) => return Ok(Value::Null),
        Some(Value::String(name)) => Some(Zone::parse(name)?),
        Some(Value::Map(map)) => match fields(map) {
            Some(fields) => fields.zone()?,
            None => return Ok(Value::Null),
        },
        Some(other) => return Err(wrong(kind.name(), "the name of a time zone", other)),
    };
    Ok(stored(clock(moment).now(kind, zone.as_ref())?))
}

fn truncated(kind: Kind, rt: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let Value::String(unit) = &args[0] else {
        return Err(wrong("truncate", "the name of a unit", &args[0]));
    };
    let clock = clock(rt.shared.clock.statement());
    let value = match args.get(1) {
        None => clock.now(kind, None)?,
        Some(Value::Stored(value)) => (**value).clone(),
        Some(other) => return Err(wrong("truncate", "a date or time", other)),
    };
    let fields = match args.get(2) {
        None => Fields::default(),
        Some(Value::Map(map)) => match fields(map) {
            Some(fields) => fields,
            None => return Ok(Value::Null),
        },
        Some(other) => return Err(wrong("truncate", "a Map of fields", other)),
    };
    Ok(stored(truncate(kind, unit, &value, fields, &clock)?))
}

fn difference(measure: Measure, args: &[Value]) -> Result<Value> {
    match (&args[0], &args[1]) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Stored(from), Value::Stored(to)) => {
            Ok(stored(PropertyValue::Duration(between(measure, from, to)?)))
        }
        (Value::Stored(_), other) | (other, _) => {
            Err(wrong("duration.between", "dates or times", other))
        }
    }
}

/// The number as a decimal.
pub(in crate::expression) fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Integer(i) => Some(Decimal::whole(*i)),
        Value::Float(x) => Decimal::of(*x),
        _ => None,
    }
}

fn make_duration(value: &Value) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::String(text) => Ok(stored(PropertyValue::Duration(duration::parse(text)?))),
        Value::Stored(found) if matches!(**found, PropertyValue::Duration(_)) => Ok(value.clone()),
        Value::Map(map) => {
            if map.entries().is_empty() {
                let message = "a duration needs at least one field".to_owned();
                return Err(crate::error::ExecError::Argument { message });
            }
            let mut sum = Sum::default();
            for (unit, amount) in map.entries() {
                if amount.is_null() {
                    return Ok(Value::Null);
                }
                let amount = decimal(amount).ok_or_else(|| wrong("duration", "numbers", amount))?;
                if !sum.add(unit, amount)? {
                    let message = format!("a duration has no field {unit}");
                    return Err(crate::error::ExecError::Argument { message });
                }
            }
            Ok(stored(PropertyValue::Duration(sum.finish()?)))
        }
        other => Err(wrong("duration", "a Map or String", other)),
    }
}

fn epoch(seconds: i64, nanoseconds: i64) -> Result<Value> {
    let (Some(seconds), nanoseconds) = (
        seconds.checked_add(nanoseconds.div_euclid(graven_temporal::SECOND)),
        u32::try_from(nanoseconds.rem_euclid(graven_temporal::SECOND)).unwrap_or(0),
    ) else {
        return Err(graven_temporal::Error::Range("the moment").into());
    };
    graven_temporal::calendar::in_range(seconds.div_euclid(86_400))?;
    Ok(stored(
        clock(Moment {
            seconds,
            nanoseconds,
        })
        .now(Kind::DateTime, None)?,
    ))
}

fn from_epoch(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match (&args[0], &args[1]) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Integer(seconds), Value::Integer(nanoseconds)) => epoch(*seconds, *nanoseconds),
        (Value::Integer(_), other) | (other, _) => {
            Err(wrong("datetime.fromEpoch", "Integers", other))
        }
    }
}

fn from_epoch_millis(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Integer(millis) => {
            epoch(millis.div_euclid(1000), millis.rem_euclid(1000) * 1_000_000)
        }
        other => Err(wrong("datetime.fromEpochMillis", "an Integer", other)),
    }
}
