//! `apoc.util`: hashes of values, and the encodings of bytes as text in `apoc.text`.
//!
//! # How it works
//! A hash is that of the texts of all values one behind the other, in hexadecimal digits. Bytes of
//! a text are those of UTF-8.

use base64ct::{Base64, Base64Url, Encoding};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::{integer, key, list, text};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

/// A hash of the texts of values.
macro_rules! hash {
    ($name:literal, $digest:ty, $trait:path) => {
        Function {
            name: concat!("apoc.util.", $name),
            arity: (1, 1),
            body: |_, args| {
                use $trait as _;
                let mut digest = <$digest>::new();
                for item in list(concat!("apoc.util.", $name), &args[0])?.unwrap_or_default() {
                    if !item.is_null() {
                        let text = key(item)?;
                        work(1 + text.len() / 256)?;
                        digest.update(text.as_bytes());
                    }
                }
                let digits = digest.finalize();
                let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
                Ok(Value::text(&digits))
            },
        }
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.text.base64decode",
        arity: (1, 1),
        body: |_, args| decoded("apoc.text.base64Decode", &args[0], *b"+/"),
    },
    Function {
        name: "apoc.text.base64encode",
        arity: (1, 1),
        body: |_, args| encoded::<Base64>("apoc.text.base64Encode", &args[0]),
    },
    Function {
        name: "apoc.text.base64urldecode",
        arity: (1, 1),
        body: |_, args| decoded("apoc.text.base64UrlDecode", &args[0], *b"-_"),
    },
    Function {
        name: "apoc.text.base64urlencode",
        arity: (1, 1),
        body: |_, args| encoded::<Base64Url>("apoc.text.base64UrlEncode", &args[0]),
    },
    Function {
        name: "apoc.text.bytecount",
        arity: (1, 2),
        body: |_, args| {
            let name = "apoc.text.byteCount";
            check_charset(name, args.get(1))?;
            let bytes = text(name, &args[0])?.map(|text| text.len());
            let count = bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
            Ok(count.map_or(Value::Null, Value::Integer))
        },
    },
    Function {
        name: "apoc.text.bytes",
        arity: (1, 2),
        body: bytes,
    },
    Function {
        name: "apoc.text.hexcharat",
        arity: (2, 2),
        body: hex_char_at,
    },
    Function {
        name: "apoc.text.hexvalue",
        arity: (1, 1),
        body: |_, args| match &args[0] {
            Value::Null => Ok(Value::Null),
            value => Ok(hexadecimal(integer("apoc.text.hexValue", value)?)),
        },
    },
    hash!("md5", Md5, md5::Digest),
    hash!("sha1", Sha1, sha1::Digest),
    hash!("sha256", Sha256, sha2::Digest),
    hash!("sha384", Sha384, sha2::Digest),
    hash!("sha512", Sha512, sha2::Digest),
];

fn encoded<E: Encoding>(function: &str, value: &Value) -> Result<Value> {
    let Some(of) = text(function, value)? else {
        return Ok(Value::Null);
    };
    charge(of.len().saturating_mul(2))?;
    work(of.len() / 256)?;
    Ok(Value::text(&E::encode_string(of.as_bytes())))
}

/// The bytes of Base64 whose last two digits are these, with its padding or without.
fn bytes_of(text: &str, last: [u8; 2]) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if digits.len() % 4 == 1 || (padding > 0 && (padding > 2 || !text.len().is_multiple_of(4))) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            _ => 62 + u8::try_from(last.iter().position(|own| *own == digit)?).ok()?,
        };
        held = (held << 6 | u32::from(value)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

fn decoded(function: &str, value: &Value, last: [u8; 2]) -> Result<Value> {
    let Some(of) = text(function, value)? else {
        return Ok(Value::Null);
    };
    charge(of.len())?;
    work(of.len() / 256)?;
    let bytes = bytes_of(of, last);
    let decoded = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded {
        Some(text) => Ok(Value::text(&text)),
        None => Err(ExecError::Argument {
            message: format!(
                "{function}() cannot decode a text that begins with `{}`: it is no Base64 of a text",
                of.chars().take(20).collect::<String>()
            ),
        }),
    }
}

fn check_charset(function: &str, value: Option<&Value>) -> Result<()> {
    let Some(Value::String(name)) = value else {
        return Ok(());
    };
    if name.eq_ignore_ascii_case("UTF-8") || name.eq_ignore_ascii_case("UTF8") {
        return Ok(());
    }
    Err(ExecError::Argument {
        message: format!("{function}() knows no charset {name}: texts are UTF-8"),
    })
}

fn bytes(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.bytes";
    check_charset(name, args.get(1))?;
    let Some(of) = text(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let mut bytes = Items::with_room(of.len())?;
    for byte in of.bytes() {
        bytes.push(Value::Integer(i64::from(byte)))?;
    }
    bytes.value()
}

/// Four, eight or sixteen digits.
fn hexadecimal(value: i64) -> Value {
    Value::text(&match value {
        0..=0xffff => format!("{value:04X}"),
        0x1_0000..=0xffff_ffff => format!("{value:08X}"),
        _ => format!("{value:016X}"),
    })
}

/// The number of the character at a place.
fn hex_char_at(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.text.hexCharAt";
    let (Some(of), Value::Integer(at)) = (text(name, &args[0])?, &args[1]) else {
        return Ok(Value::Null);
    };
    let at = usize::try_from(*at).ok();
    let found = at.and_then(|at| of.chars().nth(at));
    Ok(found.map_or(Value::Null, |c| hexadecimal(i64::from(u32::from(c)))))
}
