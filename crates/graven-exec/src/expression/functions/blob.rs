//! `encode`, `decode` and `octet_length` of Kuzu: bytes of texts and back.

use std::sync::Arc;

use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::charge;
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_types::told;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "graven.decode",
        arity: (1, 1),
        body: decode,
    },
    Function {
        name: "graven.encode",
        arity: (1, 1),
        body: encode,
    },
    Function {
        name: "graven.octetlength",
        arity: (1, 1),
        body: octet_length,
    },
];

fn bytes<'a>(function: &'static str, value: &'a Value) -> Result<Option<&'a Arc<[u8]>>> {
    match value {
        Value::Null => Ok(None),
        Value::Bytes(bytes) => Ok(Some(bytes)),
        other => Err(wrong(function, "bytes, such as blob('ab')", other)),
    }
}

fn decode(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(bytes) = bytes("decode", &args[0])? else {
        return Ok(Value::Null);
    };
    charge(bytes.len())?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Value::text(text)),
        Err(error) => Err(ExecError::Value {
            message: told!(
                "decode(): the bytes are no text in UTF-8 from byte {} on",
                error.valid_up_to()
            ),
        }),
    }
}

fn encode(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::String(text) => {
            charge(text.len())?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        other => Err(wrong("encode", "a String", other)),
    }
}

fn octet_length(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let bytes = bytes("octet_length", &args[0])?;
    Ok(bytes.map_or(Value::Null, |bytes| Value::Integer(bytes.len() as i64)))
}
