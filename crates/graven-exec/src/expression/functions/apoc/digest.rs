//! `apoc.util`: hashes of values, and the encodings of bytes as text in `apoc.text`.
//!
//! # How it works
//! A hash is that of the texts of all values one behind the other, in hexadecimal digits. Bytes of
//! a text are those of UTF-8.
//!
//! # Source
//! Neo4j APOC Core 5, documentation of `apoc.util` and `apoc.text`; that of `java.util.Base64`.

use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use graven_types::told;
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::{integer, key, list, text};
use crate::error::{ExecError, Result};
use crate::expression::functions::number::random_uuid;
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

const BASE64: GeneralPurpose = as_java(&alphabet::STANDARD);
const BASE64_URL: GeneralPurpose = as_java(&alphabet::URL_SAFE);

/// Written with padding, read with it or without, as Java does both.
const fn as_java(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

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
    Function::new("apoc.create.uuidbase64", (0, 0), |_, _| {
        short_uuid("apoc.create.uuidBase64", &random_uuid())
    }),
    Function::new("apoc.create.uuidbase64tohex", (1, 1), long_uuid),
    Function::new("apoc.create.uuidhextobase64", (1, 1), |_, args| {
        let name = "apoc.create.uuidHexToBase64";
        match text(name, &args[0])? {
            Some(uuid) => short_uuid(name, uuid),
            None => Ok(Value::Null),
        }
    }),
    Function {
        name: "apoc.text.base64decode",
        arity: (1, 1),
        body: |_, args| decoded("apoc.text.base64Decode", &args[0], &BASE64),
    },
    Function {
        name: "apoc.text.base64encode",
        arity: (1, 1),
        body: |_, args| encoded("apoc.text.base64Encode", &args[0], &BASE64),
    },
    Function {
        name: "apoc.text.base64urldecode",
        arity: (1, 1),
        body: |_, args| decoded("apoc.text.base64UrlDecode", &args[0], &BASE64_URL),
    },
    Function {
        name: "apoc.text.base64urlencode",
        arity: (1, 1),
        body: |_, args| encoded("apoc.text.base64UrlEncode", &args[0], &BASE64_URL),
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

fn encoded(function: &str, value: &Value, code: &GeneralPurpose) -> Result<Value> {
    let Some(of) = text(function, value)? else {
        return Ok(Value::Null);
    };
    charge(of.len().saturating_mul(2))?;
    work(of.len() / 256)?;
    Ok(Value::text(&code.encode(of.as_bytes())))
}

fn decoded(function: &str, value: &Value, code: &GeneralPurpose) -> Result<Value> {
    let Some(of) = text(function, value)? else {
        return Ok(Value::Null);
    };
    charge(of.len())?;
    work(of.len() / 256)?;
    // Padding may be missing as a whole, not in part.
    let is_padded_in_part = of.ends_with('=') && !of.len().is_multiple_of(4);
    let bytes = code.decode(&**of).ok().filter(|_| !is_padded_in_part);
    match bytes {
        // As Java has it, a mark stands for what is no UTF-8.
        Some(bytes) => Ok(Value::text(&String::from_utf8_lossy(&bytes))),
        None => Err(ExecError::Argument {
            message: told!(
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
        message: told!("{function}() knows no charset {name}: texts are UTF-8"),
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

/// Four, eight or sixteen digits; the last 32 bits of negative numbers.
fn hexadecimal(value: i64) -> Value {
    Value::text(&match value {
        i64::MIN..=0xffff => format!("{:04X}", value as u32),
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

/// The 22 letters for a UUID in hexadecimal digits.
fn short_uuid(function: &str, uuid: &str) -> Result<Value> {
    let wrong = || ExecError::Argument {
        message: told!(
            "{function}() needs a UUID, got `{}`",
            uuid.chars().take(40).collect::<String>()
        ),
    };
    let parts: Vec<&str> = uuid.split('-').take(6).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    if lengths != [8, 4, 4, 4, 12] {
        return Err(wrong());
    }
    let number = u128::from_str_radix(&parts.concat(), 16).map_err(|_| wrong())?;
    let mut short = BASE64.encode(number.to_be_bytes());
    // Two signs that fill, which are always there.
    short.truncate(22);
    Ok(Value::text(&short))
}

/// The UUID of 22 letters, in hexadecimal digits.
fn long_uuid(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(short) = text("apoc.create.uuidBase64ToHex", &args[0])? else {
        return Ok(Value::Null);
    };
    let letters = short.strip_suffix("==").unwrap_or(short);
    let bytes = BASE64.decode(letters).ok().filter(|_| letters.len() == 22);
    let bytes = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let number = bytes
        .map(u128::from_be_bytes)
        .ok_or_else(|| ExecError::Argument {
            message: told!(
                "apoc.create.uuidBase64ToHex() needs the 22 letters of a UUID, got `{}`",
                short.chars().take(40).collect::<String>()
            ),
        })?;
    let digits = format!("{number:032x}");
    let (a, rest) = digits.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    Ok(Value::text(&[a, b, c, d, e].join("-")))
}
