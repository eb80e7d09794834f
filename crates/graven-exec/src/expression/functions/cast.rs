//! `cast(x AS TYPE)`: a value as one of another type, and numbers for the nodes of a table.
//!
//! # How it works
//! The parser hands the type over as text; what it means is in [`crate::cast_target`].
//!
//! `graven.nextSerial` gives the number behind the largest one of a table, which is its key; the
//! statement counts on from there. Two transactions that take the same number conflict, and one of
//! them runs again.
//!
//! `graven.beside` gives the first of two values, as a time where it is a date and the other one a
//! time.
//!
//! `graven.unionOf` tells which member of a union a value is: the first one whose type takes it.
//!
//! `graven.leftOut` notes a row of a `COPY` whose key exists, and gives a map without entries.
//! `graven.missingEnd` says that an end of a relationship does not exist.

use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

use graven_files::Fault;
use graven_storage::{PropertyValue, SchemaEntity};
use graven_types::told;

use super::{json, wrong};
use crate::cast_target::Target;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::charge;
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const CAST: &str = "cast";

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: CAST,
        arity: (2, 2),
        body: cast,
    },
    Function {
        name: "graven.beside",
        arity: (2, 2),
        body: beside,
    },
    Function {
        name: "graven.nextserial",
        arity: (2, 2),
        body: next_serial,
    },
    Function {
        name: "graven.leftout",
        arity: (4, 4),
        body: left_out,
    },
    Function {
        name: "graven.missingend",
        arity: (6, 6),
        body: missing_end,
    },
    Function {
        name: "graven.unionof",
        arity: (1, 3),
        body: union_of,
    },
];

/// Charges what a cast of a value makes at most: copies of its lists and maps, as values or text.
fn charge_copy(value: &Value) -> Result<()> {
    /// Bytes of a value, and of what a number or date takes as text.
    const VALUE_BYTES: usize = 48;
    match value {
        Value::String(text) => charge(text.len()),
        // As a text a byte takes four characters at most.
        Value::Bytes(bytes) => charge(bytes.len().saturating_mul(4)),
        Value::List(items) => {
            charge(items.len() * VALUE_BYTES)?;
            items.iter().try_for_each(charge_copy)
        }
        Value::Map(map) => {
            charge(map.entries().len() * VALUE_BYTES)?;
            let mut entries = map.entries().iter();
            entries.try_for_each(|(key, value)| {
                charge(key.len())?;
                charge_copy(value)
            })
        }
        _ => Ok(()),
    }
}

/// The values that a `cast` with these arguments gives, where it changes none of them.
pub(in crate::expression) fn unchanged(args: &[Arc<Column>]) -> Option<Arc<Column>> {
    let [values, target] = args else {
        return None;
    };
    let Column::Constant(Value::String(target), _) = &**target else {
        return None;
    };
    Target::read(target)?
        .has_all(values)
        .then(|| Arc::clone(values))
}

fn cast(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    thread_local!(static LAST: RefCell<Option<(Arc<str>, Target)>> = const { RefCell::new(None) });
    let Value::String(wanted) = &args[1] else {
        return Err(wrong("cast", "the name of a type", &args[1]));
    };
    charge_copy(&args[0])?;
    LAST.with_borrow_mut(|last| {
        let target = match last {
            Some((text, target)) if Arc::ptr_eq(text, wanted) => target,
            _ => {
                let unknown = || ExecError::Argument {
                    message: told!("cast(): there is no type {wanted}"),
                };
                let read = Target::read(wanted).ok_or_else(unknown)?;
                &last.insert((wanted.clone(), read)).1
            }
        };
        // A text is JSON already; other values become it.
        if matches!(target, Target::Json) && !matches!(args[0], Value::String(_)) {
            return json::of(rt, &args[..1]);
        }
        target.of(&args[0]).ok_or_else(|| ExecError::Value {
            message: told!("{} is no {wanted}", args[0]),
        })
    })
}

/// The first value; of a date its midnight, where the second one is a time.
fn beside(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let [value, other] = args else {
        return Ok(Value::Null);
    };
    let (Value::Stored(date), Value::Stored(time)) = (value, other) else {
        return Ok(value.clone());
    };
    let wanted = match (&**date, &**time) {
        (PropertyValue::Date(_), PropertyValue::LocalDateTime(_)) => "TIMESTAMP",
        (PropertyValue::Date(_), PropertyValue::DateTime(_)) => "TIMESTAMP_TZ",
        _ => return Ok(value.clone()),
    };
    let midnight = Target::read(wanted).and_then(|target| target.of(value));
    Ok(midnight.unwrap_or(Value::Null))
}

/// The name of the member that the value is, or the value of the member of a name; null if it is
/// none, or another one. The arguments are the value, the type, and the name or nothing.
fn union_of(_: &QueryContext, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (Some(Value::String(of)), Some(wanted)) = (args.get(1), args.get(2)) else {
        return Err(wrong("graven.unionOf", "the name of a type", &args[0]));
    };
    let wanted = match wanted {
        Value::String(wanted) => &**wanted,
        other => return Err(wrong("union_extract", "the name of a member", other)),
    };
    charge_copy(&args[0])?;
    let refused = |message| ExecError::Argument { message };
    let unknown = || refused(told!("union_tag(): {of} is no type of a union"));
    let members = Target::members(of).ok_or_else(unknown)?;
    let is_member = |name: &str| members.iter().any(|(known, _)| **known == *name);
    if !wanted.is_empty() && !is_member(wanted) {
        return Err(refused(told!("union_extract(): {of} has no {wanted}")));
    }
    let mut members = members.iter();
    let found = members.find_map(|(name, target)| Some((name, target.of(&args[0])?)));
    Ok(match found {
        Some((name, _)) if wanted.is_empty() => Value::text(name),
        Some((name, value)) if **name == *wanted => value,
        _ => Value::Null,
    })
}

fn left_out(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let [
        Value::String(source),
        Value::String(label),
        Value::String(key),
        value,
    ] = args
    else {
        let wanted = "the names of a source, of a label and of its key";
        return Err(wrong("graven.leftOut", wanted, &args[0]));
    };
    let value = Fault::shown(&value.to_string());
    let fault = Fault {
        file: source.to_string(),
        row: 0,
        line: None,
        column: Some(key.to_string()),
        why: told!("Found duplicated primary key value {value}: a node of {label} has it"),
        value: Some(value),
    };
    let by = &rt.shared.leaves_out;
    let left_out = (1, vec![fault]);
    rt.sources.leave_out(by, rt.user.as_ref(), left_out);
    Ok(Value::Map(Arc::default()))
}

fn missing_end(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let [
        Value::String(source),
        Value::String(column),
        Value::String(label),
        Value::String(key),
        value,
        Value::Boolean(leaves_out),
    ] = args
    else {
        let wanted = "the names of a source, of its column, of a label and of its key";
        return Err(wrong("graven.missingEnd", wanted, &args[0]));
    };
    let value = Fault::shown(&value.to_string());
    let why = told!("no node with the label {label} has the {key} {value}");
    if !leaves_out {
        let message = told!("{source}, column {column}: {why}");
        return Err(ExecError::Argument { message });
    }
    let fault = Fault {
        file: source.to_string(),
        row: 0,
        line: None,
        column: Some(column.to_string()),
        why,
        value: Some(value),
    };
    let by = &rt.shared.leaves_out;
    rt.sources.leave_out(by, rt.user.as_ref(), (1, vec![fault]));
    Ok(Value::Boolean(false))
}

fn next_serial(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Value::String(table), Value::String(key)) = (&args[0], &args[1]) else {
        return Err(wrong(
            "graven.nextSerial",
            "the names of a table and of its key",
            &args[0],
        ));
    };
    let writer = rt.writer()?;
    writer.next_serial(table, key, |transaction| {
        let snapshot = transaction.snapshot();
        let none = || ExecError::Argument {
            message: told!("graven.nextSerial(): {table} has no unique key {key}"),
        };
        let label = snapshot.label(table).ok_or_else(none)?;
        let key = snapshot.key(key).ok_or_else(none)?;
        let index = snapshot.index_on(SchemaEntity::Node(label), &[key]);
        let index = index
            .filter(|index| index.description().unique)
            .ok_or_else(none)?;
        let least = PropertyValue::Integer(i64::MIN);
        let all = index.range(Bound::Included(&least), Bound::Unbounded)?;
        let Some((node, _)) = all.descending().next_marked()? else {
            return Ok(0);
        };
        let column = snapshot.node_column(key).ok_or_else(none)?;
        match column.get(node.0)? {
            PropertyValue::Integer(last) => last.checked_add(1).ok_or_else(none),
            _ => Err(none()),
        }
    })
}
