//! Functions of lists, and those that take any value.

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::function::{Function, MANY};
use crate::runtime::Runtime;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "size",
        arity: (1, 1),
        body: size,
    },
    Function {
        name: "head",
        arity: (1, 1),
        body: head,
    },
    Function {
        name: "last",
        arity: (1, 1),
        body: last,
    },
    Function {
        name: "tail",
        arity: (1, 1),
        body: tail,
    },
    Function {
        name: "range",
        arity: (2, 3),
        body: range,
    },
    Function {
        name: "reverse",
        arity: (1, 1),
        body: reverse,
    },
    Function {
        name: "isempty",
        arity: (1, 1),
        body: is_empty,
    },
    Function {
        name: "coalesce",
        arity: (1, MANY),
        body: coalesce,
    },
    Function {
        name: "exists",
        arity: (1, 1),
        body: exists,
    },
    Function {
        name: "nullif",
        arity: (2, 2),
        body: null_if,
    },
];

fn count(n: usize) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

fn size(_: &Runtime, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(count(items.len())),
        Value::String(s) => Ok(count(s.chars().count())),
        Value::Map(map) => Ok(count(map.entries().len())),
        other => Err(wrong("size", "a List or String", other)),
    }
}

fn list<'a>(function: &str, value: &'a Value) -> Result<Option<&'a [Value]>> {
    match value {
        Value::Null => Ok(None),
        Value::List(items) => Ok(Some(items)),
        other => Err(wrong(function, "a List", other)),
    }
}

fn head(_: &Runtime, args: &[Value]) -> Result<Value> {
    Ok(list("head", &args[0])?
        .and_then(<[_]>::first)
        .cloned()
        .unwrap_or_default())
}

fn last(_: &Runtime, args: &[Value]) -> Result<Value> {
    Ok(list("last", &args[0])?
        .and_then(<[_]>::last)
        .cloned()
        .unwrap_or_default())
}

fn tail(_: &Runtime, args: &[Value]) -> Result<Value> {
    Ok(list("tail", &args[0])?.map_or(Value::Null, |items| {
        Value::List(items.get(1..).unwrap_or_default().into())
    }))
}

/// Elements a `range` may have: beyond it the list itself would be gigabytes.
const RANGE_MAX: i128 = 1 << 26;

fn range(_: &Runtime, args: &[Value]) -> Result<Value> {
    let mut bounds = [0_i64, 0, 1];
    for (bound, arg) in bounds.iter_mut().zip(args) {
        match arg {
            Value::Integer(i) => *bound = *i,
            other => {
                return Err(ExecError::Named {
                    kind: "ArgumentError",
                    detail: "InvalidArgumentType",
                    message: format!("range() needs Integers, got {}: {other}", other.type_name()),
                });
            }
        }
    }
    let [from, to, step] = bounds.map(i128::from);
    if step == 0 {
        return Err(ExecError::Named {
            kind: "ArgumentError",
            detail: "NumberOutOfRange",
            message: "range() needs a step other than 0".to_owned(),
        });
    }
    let len = ((to - from) / step + 1).max(0);
    if (to - from).signum() * step.signum() < 0 {
        return Ok(Value::list(Vec::new()));
    }
    if len > RANGE_MAX {
        return Err(ExecError::Argument {
            message: format!("range() of {len} elements; at most {RANGE_MAX} are allowed"),
        });
    }
    Ok(Value::list(
        (0..len)
            .map(|i| Value::Integer(i64::try_from(from + i * step).unwrap_or(i64::MAX)))
            .collect(),
    ))
}

fn reverse(_: &Runtime, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(Value::List(items.iter().rev().cloned().collect())),
        Value::String(s) => Ok(Value::text(&s.chars().rev().collect::<String>())),
        other => Err(wrong("reverse", "a List or String", other)),
    }
}

fn is_empty(_: &Runtime, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(items.is_empty().into()),
        Value::String(s) => Ok(s.is_empty().into()),
        Value::Map(map) => Ok(map.entries().is_empty().into()),
        other => Err(wrong("isEmpty", "a List, String or Map", other)),
    }
}

fn coalesce(_: &Runtime, args: &[Value]) -> Result<Value> {
    Ok(args
        .iter()
        .find(|v| !v.is_null())
        .cloned()
        .unwrap_or_default())
}

fn exists(_: &Runtime, args: &[Value]) -> Result<Value> {
    Ok((!args[0].is_null()).into())
}

fn null_if(_: &Runtime, args: &[Value]) -> Result<Value> {
    let equal = crate::value::equality::equals(&args[0], &args[1]) == Some(true);
    Ok(if equal { Value::Null } else { args[0].clone() })
}
