//! Functions of lists, and those that take any value.

use super::ordered::{places_in_order, value_order};
use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::rows::as_list;
use crate::expression::signature::{Function, MANY};
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::{Value, arithmetic};
use graven_types::told;

/// The function whose arguments are computed only for rows where those before are null.
pub(in crate::expression) const COALESCE: &str = "coalesce";

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "graven.concatenate",
        arity: (2, 2),
        body: concatenate,
    },
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
        name: "graven.sort",
        arity: (3, 3),
        body: sort,
    },
    Function {
        name: "isempty",
        arity: (1, 1),
        body: is_empty,
    },
    Function {
        name: COALESCE,
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

/// The list in order: `ASC` or `DESC`, `NULLS FIRST` or `NULLS LAST`.
fn sort(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let word = |value: &Value, [first, second]: [&str; 2]| match value {
        Value::String(word) if word.eq_ignore_ascii_case(first) => Ok(false),
        Value::String(word) if word.eq_ignore_ascii_case(second) => Ok(true),
        other => Err(wrong("graven.sort", &format!("{first} or {second}"), other)),
    };
    let descending = word(&args[1], ["ASC", "DESC"])?;
    let nulls_last = word(&args[2], ["NULLS FIRST", "NULLS LAST"])?;
    let Value::List(items) = &args[0] else {
        return match &args[0] {
            Value::Null => Ok(Value::Null),
            other => Err(wrong("graven.sort", "a List", other)),
        };
    };
    charge(std::mem::size_of_val::<[Value]>(items))?;
    work(items.len())?;
    let (nulls, values): (Vec<Value>, Vec<Value>) = items.iter().cloned().partition(Value::is_null);
    let places = places_in_order(&values, |a, b| match descending {
        true => value_order(b, a),
        false => value_order(a, b),
    })?;
    let values = places.into_iter().map(|at| values[at].clone()).collect();
    let mut parts = [nulls, values];
    if nulls_last {
        parts.reverse();
    }
    Ok(Value::list(parts.concat()))
}

/// `a || b`: unlike `+` it converts nothing and appends no elements.
fn concatenate(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match (&args[0], &args[1]) {
        (Value::Null, Value::Null | Value::String(_) | Value::List(_))
        | (Value::String(_) | Value::List(_), Value::Null) => Ok(Value::Null),
        (Value::String(_), Value::String(_)) | (Value::List(_), Value::List(_)) => {
            arithmetic::add(&args[0], &args[1])
        }
        (a, b) => Err(ExecError::Type {
            message: told!(
                "cannot join {} and {} with ||",
                a.type_name(),
                b.type_name()
            ),
        }),
    }
}

fn size(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(count(items.len())),
        Value::String(s) => Ok(count(s.chars().count())),
        Value::Map(map) => Ok(count(map.entries().len())),
        other => match other.as_vector() {
            Some(vector) => Ok(count(vector.dimension())),
            None => Err(wrong("size", "a List, String or Vector", other)),
        },
    }
}

fn list<'a>(function: &str, value: &'a Value) -> Result<Option<&'a [Value]>> {
    match value {
        Value::Null => Ok(None),
        Value::List(items) => Ok(Some(items)),
        other => Err(wrong(function, "a List", other)),
    }
}

fn head(_: &QueryContext, args: &[Value]) -> Result<Value> {
    Ok(list("head", &args[0])?
        .and_then(<[_]>::first)
        .cloned()
        .unwrap_or_default())
}

fn last(_: &QueryContext, args: &[Value]) -> Result<Value> {
    Ok(list("last", &args[0])?
        .and_then(<[_]>::last)
        .cloned()
        .unwrap_or_default())
}

fn tail(_: &QueryContext, args: &[Value]) -> Result<Value> {
    Ok(as_list(&args[0]).map_or(Value::Null, |items| {
        Value::List(items.get(1..).unwrap_or_default().into())
    }))
}

/// Elements a `range` may have: beyond it the list itself would be gigabytes.
const RANGE_MAX: u128 = 1 << 26;

fn range(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let range = Range::new(args)?;
    if range.len > RANGE_MAX {
        return Err(ExecError::Argument {
            message: told!(
                "range() of {} elements; at most {RANGE_MAX} are allowed in a list, UNWIND takes \
                    any number",
                range.len
            ),
        });
    }
    let len = usize::try_from(range.len).unwrap_or(usize::MAX);
    charge(len.saturating_mul(size_of::<Value>()))?;
    work(len)?;
    let numbers = (0..len).map(|i| Value::Integer(range.get(i as u128)));
    Ok(Value::List(numbers.collect()))
}

/// The numbers of `range(from, to, step)`, one at a time.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    from: i128,
    step: i128,
    /// Numbers in it.
    pub(crate) len: u128,
}

impl Range {
    /// The range of these arguments.
    ///
    /// # Errors
    /// Arguments that are no numbers; a step of 0.
    pub(crate) fn new(args: &[Value]) -> Result<Self> {
        let mut bounds = [0_i64, 0, 1];
        for (bound, arg) in bounds.iter_mut().zip(args) {
            *bound = arithmetic::as_integer(arg).ok_or_else(|| wrong("range", "Integers", arg))?;
        }
        let [from, to, step] = bounds.map(i128::from);
        if step == 0 {
            return Err(ExecError::Named {
                kind: "ArgumentError",
                detail: "NumberOutOfRange",
                message: "range() needs a step other than 0".to_owned(),
            });
        }
        let is_empty = (to - from).signum() * step.signum() < 0;
        let len = if is_empty {
            0
        } else {
            ((to - from) / step + 1).unsigned_abs()
        };
        Ok(Self { from, step, len })
    }

    /// The number at `index`, which is below `len`.
    pub(crate) fn get(&self, index: u128) -> i64 {
        let offset = i128::try_from(index).unwrap_or(i128::MAX);
        i64::try_from(self.from + offset * self.step).unwrap_or(i64::MAX)
    }
}

fn reverse(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(Value::List(items.iter().rev().cloned().collect())),
        Value::String(s) => Ok(Value::text(&s.chars().rev().collect::<String>())),
        other => Err(wrong("reverse", "a List or String", other)),
    }
}

fn is_empty(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::List(items) => Ok(items.is_empty().into()),
        Value::String(s) => Ok(s.is_empty().into()),
        Value::Map(map) => Ok(map.entries().is_empty().into()),
        other => Err(wrong("isEmpty", "a List, String or Map", other)),
    }
}

fn coalesce(_: &QueryContext, args: &[Value]) -> Result<Value> {
    Ok(args
        .iter()
        .find(|v| !v.is_null())
        .cloned()
        .unwrap_or_default())
}

fn exists(_: &QueryContext, args: &[Value]) -> Result<Value> {
    Ok((!args[0].is_null()).into())
}

fn null_if(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let equal = crate::value::equality::equals(&args[0], &args[1]) == Some(true);
    Ok(if equal { Value::Null } else { args[0].clone() })
}
