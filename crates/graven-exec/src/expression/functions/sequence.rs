//! `nextval(name)` and `currval(name)`: the next number of a sequence, and the last one.
//!
//! # Cost
//! Of a number taken: a copy of what the transaction knows of the schema.

use graven_storage::{Error, SequenceDescription};
use graven_types::told;

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "graven.currentvalue",
        arity: (1, 1),
        body: current_value,
    },
    Function {
        name: "graven.nextvalue",
        arity: (1, 1),
        body: next_value,
    },
];

fn named<'a>(function: &'static str, args: &'a [Value]) -> Result<Option<&'a str>> {
    match &args[0] {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name)),
        other => Err(wrong(function, "the name of a sequence", other)),
    }
}

fn missing(name: &str) -> ExecError {
    Error::NoSuchSchema {
        what: "sequence",
        name: name.to_owned(),
    }
    .into()
}

fn next_value(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(name) = named("nextval", args)? else {
        return Ok(Value::Null);
    };
    let transaction = rt.writer()?.transaction();
    let sequence = transaction.sequence(name).ok_or_else(|| missing(name))?;
    let Some(number) = sequence.following() else {
        let (which, bound) = match sequence.increment > 0 {
            true => ("largest", sequence.max),
            false => ("least", sequence.min),
        };
        return Err(ExecError::Argument {
            message: told!(
                "nextval(): the sequence {name} has reached its {which} number {bound}; drop it \
                    and create one with other bounds or with CYCLE"
            ),
        });
    };
    transaction.put_sequence(SequenceDescription {
        last: Some(number),
        ..sequence
    })?;
    Ok(Value::Integer(number))
}

fn current_value(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(name) = named("currval", args)? else {
        return Ok(Value::Null);
    };
    let sequence = match &rt.writer {
        Some(writer) => writer.transaction().sequence(name),
        None => rt.snapshot.sequence(name),
    };
    let last = sequence.ok_or_else(|| missing(name))?.last;
    last.map(Value::Integer).ok_or_else(|| ExecError::Argument {
        message: told!(
            "currval(): the sequence {name} has given no number yet; call nextval('{name}') first"
        ),
    })
}
