//! Functions that make and compare dates, times and durations; the work is done by
//! `graven-temporal`.
//!
//! `date()` and its kin without argument are the time at which the statement began, the same for
//! all rows; `.transaction` is when the transaction began, `.realtime` when the function is called.

use std::sync::Arc;

use graven_temporal::between::{Measure, between};
use graven_temporal::duration::{self, Sum};
use graven_temporal::fields::convert;
use graven_temporal::truncate::truncate;
use graven_temporal::{Clock, Field, Fields, Kind, SECOND, Zone, make};
use graven_types::PropertyValue;
use graven_types::told;

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::query_context::{Moment, QueryContext};
use crate::value::arithmetic::as_number;
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
        Value::Null => Field::Null,
        Value::Integer(i) => Field::Integer(*i),
        Value::String(s) => Field::Text(s.to_string()),
        Value::Stored(stored) => Field::Temporal((**stored).clone()),
        other => Field::Other(other.type_name()),
    }
}

fn fields(map: &Map) -> Fields {
    let entries = map.entries().iter();
    entries.map(|(k, v)| (k.to_string(), field(v))).collect()
}

/// A call with values of which the function has no form.
fn no_form(function: &str, args: &[Value]) -> ExecError {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    ExecError::Named {
        kind: "TypeError",
        detail: "InvalidCallSignature",
        message: told!("there is no {function}({})", types.join(", ")),
    }
}

fn construct(kind: Kind, rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let clock = clock(rt.shared.clock.statement());
    Ok(match args.first() {
        None => stored(clock.now(kind, None)?),
        Some(Value::Null) => Value::Null,
        Some(Value::Map(map)) => stored(make(kind, &fields(map), &clock)?),
        Some(value @ Value::String(_)) => stored(convert(kind, &field(value), &clock)?),
        Some(value @ Value::Stored(from)) if Kind::of(from).is_some() => {
            stored(convert(kind, &field(value), &clock)?)
        }
        Some(_) => return Err(no_form(kind.name(), args)),
    })
}

fn now(kind: Kind, moment: Moment, args: &[Value]) -> Result<Value> {
    let zone = match args.first() {
        None => None,
        Some(Value::Null) => return Ok(Value::Null),
        Some(Value::String(name)) => Some(Zone::parse(name)?),
        Some(_) => return Err(no_form(kind.name(), args)),
    };
    Ok(stored(clock(moment).now(kind, zone.as_ref())?))
}

fn truncated(kind: Kind, rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = || format!("{}.truncate", kind.name());
    let unit = match &args[0] {
        Value::String(unit) => unit,
        Value::Null => return Err(no_form(&name(), args)),
        other => return Err(wrong(&name(), "the name of a unit", other)),
    };
    let clock = clock(rt.shared.clock.statement());
    let value = match args.get(1) {
        None => clock.now(kind, None)?,
        Some(Value::Stored(value)) if Kind::of(value).is_some() => (**value).clone(),
        Some(_) => return Err(no_form(&name(), args)),
    };
    let fields = match args.get(2) {
        None | Some(Value::Null) => Fields::default(),
        Some(Value::Map(map)) => fields(map),
        Some(other) => return Err(wrong(&name(), "a Map of fields", other)),
    };
    Ok(stored(truncate(kind, unit, &value, fields, &clock)?))
}

fn difference(measure: Measure, args: &[Value]) -> Result<Value> {
    match (&args[0], &args[1]) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Stored(from), Value::Stored(to))
            if Kind::of(from).is_some() && Kind::of(to).is_some() =>
        {
            Ok(stored(PropertyValue::Duration(between(measure, from, to)?)))
        }
        _ => Err(no_form("duration.between", args)),
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
                return Err(ExecError::Argument { message });
            }
            let mut sum = Sum::default();
            for (unit, amount) in map.entries() {
                let amount =
                    as_number(amount).ok_or_else(|| wrong("duration", "numbers", amount))?;
                if !sum.add(unit, amount) {
                    let message = told!("a duration has no field {unit}");
                    return Err(ExecError::Argument { message });
                }
            }
            Ok(stored(PropertyValue::Duration(sum.finish()?)))
        }
        other => Err(no_form("duration", std::slice::from_ref(other))),
    }
}

fn epoch(seconds: i64, nanoseconds: u32) -> Result<Value> {
    graven_temporal::calendar::in_range(seconds.div_euclid(86_400))?;
    let moment = Moment {
        seconds,
        nanoseconds,
    };
    Ok(stored(clock(moment).now(Kind::DateTime, None)?))
}

fn from_epoch(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "datetime.fromEpoch";
    for arg in args {
        if !matches!(arg, Value::Null | Value::Integer(_) | Value::Float(_)) {
            return Err(wrong(name, "Integers", arg));
        }
    }
    let (Value::Integer(seconds), Value::Integer(nanoseconds)) = (&args[0], &args[1]) else {
        return Err(no_form(name, args));
    };
    let part = u32::try_from(*nanoseconds)
        .ok()
        .filter(|n| i64::from(*n) < SECOND);
    let part = part.ok_or_else(|| ExecError::Argument {
        message: told!("nanoseconds are {nanoseconds}, must be 0 to 999999999"),
    })?;
    epoch(*seconds, part)
}

fn from_epoch_millis(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "datetime.fromEpochMillis";
    match &args[0] {
        Value::Integer(millis) => {
            let part = u32::try_from(millis.rem_euclid(1000)).unwrap_or(0);
            epoch(millis.div_euclid(1000), part * 1_000_000)
        }
        Value::Null | Value::Float(_) => Err(no_form(name, args)),
        other => Err(wrong(name, "an Integer", other)),
    }
}
