//! `apoc.util.compress` and `decompress`: texts as compressed bytes.
//!
//! # Source
//! Neo4j APOC Core 5, documentation of `apoc.util`.

use std::io::{Read, Write as _};

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use graven_types::told;

use super::{map, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("apoc.util.compress", (1, 2), compress),
    Function::new("apoc.util.decompress", (1, 2), decompress),
];

/// A way to compress.
#[derive(Clone, Copy)]
enum Form {
    Gzip,
    Deflate,
    Plain,
}

/// That of `{compression: 'GZIP', charset: 'UTF-8'}`.
fn form(function: &str, config: Option<&Value>) -> Result<Form> {
    let config = config.map(|config| map(function, config)).transpose()?;
    let Some(config) = config.flatten() else {
        return Ok(Form::Gzip);
    };
    let word = |name: &str| -> Result<&str> {
        let given = config.get(name).map(|value| text(function, value));
        Ok(given.transpose()?.flatten().map_or("", |text| text))
    };
    let refused = |message: String| Err(ExecError::Argument { message });
    let charset = word("charset")?;
    if !matches!(&*charset.to_uppercase(), "" | "UTF-8" | "UTF8") {
        return refused(told!(
            "{function}() knows no charset {charset}: texts are UTF-8"
        ));
    }
    match word("compression")? {
        "" | "GZIP" => Ok(Form::Gzip),
        "DEFLATE" => Ok(Form::Deflate),
        "NONE" => Ok(Form::Plain),
        other => refused(told!(
            "{function}() knows no compression {other}: give GZIP, DEFLATE or NONE"
        )),
    }
}

fn failed(function: &str, error: &std::io::Error) -> ExecError {
    let message = told!("{function}() cannot read the bytes: {error}");
    ExecError::Argument { message }
}

fn compress(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.util.compress";
    let form = form(name, args.get(1))?;
    let Some(of) = text(name, &args[0])? else {
        return Ok(Value::Null);
    };
    // Text that does not compress takes some bytes more than before.
    charge(of.len().saturating_mul(2).saturating_add(4096))?;
    work(1 + of.len() / 64)?;
    let of = of.as_bytes();
    let level = Compression::default();
    let bytes = match form {
        Form::Plain => Ok(of.to_vec()),
        Form::Gzip => {
            let mut to = GzEncoder::new(Vec::new(), level);
            to.write_all(of).and_then(|()| to.finish())
        }
        Form::Deflate => {
            let mut to = ZlibEncoder::new(Vec::new(), level);
            to.write_all(of).and_then(|()| to.finish())
        }
    };
    let bytes = bytes.map_err(|error| failed(name, &error))?;
    Ok(Value::Bytes(bytes.into()))
}

fn decompress(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.util.decompress";
    let form = form(name, args.get(1))?;
    let bytes = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Bytes(bytes) => bytes,
        other => return Err(wrong(name, "bytes", other)),
    };
    let mut from: Box<dyn Read + '_> = match form {
        Form::Plain => Box::new(&bytes[..]),
        Form::Gzip => Box::new(GzDecoder::new(&bytes[..])),
        Form::Deflate => Box::new(ZlibDecoder::new(&bytes[..])),
    };
    let mut read = Vec::new();
    let mut part = [0; 8 << 10];
    loop {
        let count = from.read(&mut part).map_err(|error| failed(name, &error))?;
        if count == 0 {
            break;
        }
        // A list that grows takes up to twice its room, and the text once more.
        charge(count.saturating_mul(3))?;
        work(1 + count / 256)?;
        read.extend_from_slice(&part[..count]);
    }
    match String::from_utf8(read) {
        Ok(text) => Ok(Value::text(&text)),
        Err(_) => Err(ExecError::Argument {
            message: told!("{name}(): the bytes hold no text in UTF-8"),
        }),
    }
}
