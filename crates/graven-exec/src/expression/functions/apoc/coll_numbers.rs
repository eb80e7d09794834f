//! `apoc.coll`: sums and means of lists.

use std::sync::Arc;

use graven_temporal::duration;
use graven_types::PropertyValue;

use super::{list, wrong};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::Items;
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_float;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.coll.avgduration",
        arity: (1, 1),
        body: average_duration,
    },
    Function {
        name: "apoc.coll.runningtotal",
        arity: (1, 1),
        body: running_total,
    },
    Function {
        name: "apoc.coll.stdev",
        arity: (1, 2),
        body: deviation,
    },
    Function {
        name: "apoc.coll.sumlongs",
        arity: (1, 1),
        body: sum_longs,
    },
];

fn float(function: &str, item: &Value) -> Result<f64> {
    as_float(item).ok_or_else(|| wrong(function, "numbers", item))
}

fn average_duration(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.avgDuration";
    let items = list(name, &args[0])?.unwrap_or_default();
    let mut sum: Option<graven_types::Duration> = None;
    for item in items {
        let own = match item {
            Value::Stored(stored) => match &**stored {
                PropertyValue::Duration(own) => *own,
                _ => return Err(wrong(name, "durations", item)),
            },
            _ => return Err(wrong(name, "durations", item)),
        };
        sum = Some(match sum {
            Some(sum) => duration::add(&sum, &own, 1)?,
            None => own,
        });
    }
    let Some(sum) = sum else {
        return Ok(Value::Null);
    };
    let mean = duration::mean(&sum, i64::try_from(items.len()).unwrap_or(i64::MAX))?;
    Ok(Value::Stored(Arc::new(PropertyValue::Duration(mean))))
}

/// The sums up to each element; a whole one is an integer.
fn running_total(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.runningTotal";
    let mut sums = Items::default();
    let (mut exact, mut sum) = (Some(0_i64), 0.0);
    let items = list(name, &args[0])?.unwrap_or_default();
    if items.is_empty() {
        return Ok(Value::Null);
    }
    for item in items {
        sum += float(name, item)?;
        exact = match item {
            Value::Integer(own) => exact.and_then(|exact| exact.checked_add(*own)),
            _ => None,
        };
        sums.push(match exact {
            Some(exact) => Value::Integer(exact),
            None if sum.fract() == 0.0 && sum.abs() < 9e15 => Value::Integer(sum as i64),
            None => Value::Float(sum),
        })?;
    }
    sums.value()
}

fn deviation(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.stdev";
    let items = list(name, &args[0])?.unwrap_or_default();
    let of_sample = !matches!(args.get(1), Some(Value::Boolean(false)));
    if items.is_empty() {
        return Ok(Value::Null);
    }
    let numbers: Vec<f64> = items
        .iter()
        .map(|item| float(name, item))
        .collect::<Result<_>>()?;
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let freedom = numbers.len() - usize::from(of_sample && numbers.len() > 1);
    let deviation = (squares / freedom as f64).sqrt();
    // A whole one is an integer.
    Ok(match deviation as i64 as f64 == deviation {
        true => Value::Integer(deviation as i64),
        false => Value::Float(deviation),
    })
}

fn sum_longs(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.coll.sumLongs";
    let Some(items) = list(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let mut sum = 0_i64;
    for item in items {
        let own = match item {
            Value::Integer(own) => *own,
            other => float(name, other)? as i64,
        };
        sum = sum.wrapping_add(own);
    }
    Ok(Value::Integer(sum))
}
