//! Readers of argument values that several commands share.

use std::sync::Arc;
use std::time::Duration;

use graven::{Durability, Isolation, Params, Value, parse_bytes};

use crate::failure::Failure;

/// A size such as `16MiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|e| e.to_string())
}

/// A time such as `500ms`, `5s` or `2min`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let millis = match unit {
        "ms" => Some(1.0),
        "s" => Some(1e3),
        "min" => Some(60e3),
        "h" => Some(3600e3),
        _ => None,
    };
    let number: Option<f64> = digits.trim_end().parse().ok();
    let time = number
        .zip(millis)
        .map(|(number, millis)| number * millis / 1e3);
    let time = time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| format!("`{text}` is not a time; write 500ms, 5s, 2min or 1h"))
}

/// `snapshot` or `serializable`.
pub(crate) fn isolation(text: &str) -> Result<Isolation, String> {
    match text.to_ascii_lowercase().as_str() {
        "snapshot" => Ok(Isolation::Snapshot),
        "serializable" | "serialisable" => Ok(Isolation::Serializable),
        _ => Err(format!("`{text}` is neither snapshot nor serializable")),
    }
}

/// `full`, `off`, `relaxed` (100 ms), `relaxed:50ms` or, as documents write it, `relaxed(50ms)`.
pub(crate) fn durability(text: &str) -> Result<Durability, String> {
    let lower = text.to_ascii_lowercase();
    let within = match lower.as_str() {
        "full" => return Ok(Durability::Full),
        "off" => return Ok(Durability::Off),
        "relaxed" => return Ok(Durability::Relaxed(Duration::from_millis(100))),
        other => (other.strip_prefix("relaxed:")).or_else(|| {
            let rest = other.strip_prefix("relaxed(")?;
            rest.strip_suffix(')')
        }),
    };
    let within =
        within.ok_or_else(|| format!("`{text}` is none of full, relaxed, relaxed:50ms, off"))?;
    // A number alone counts milliseconds.
    match within.parse() {
        Ok(millis) => Ok(Durability::Relaxed(Duration::from_millis(millis))),
        Err(_) => time(within).map(Durability::Relaxed),
    }
}

/// One ASCII character, or `tab`.
pub(crate) fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if matches!(text, "tab" | "\\t") => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(format!(
            "`{text}` is not a single ASCII character (or the word tab)"
        )),
    }
}

/// A parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    /// Name without the dollar sign.
    pub(crate) name: String,
    /// Value.
    pub(crate) value: Value,
}

/// `name=value`: the value is a Cypher literal or, failing that, a string.
pub(crate) fn param(text: &str) -> Result<Param, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    let name = name.trim().trim_start_matches('$');
    if name.is_empty() {
        return Err(format!("`{text}` has no name before the equals sign"));
    }
    let value = Value::parse_literal(value).unwrap_or_else(|| Value::from(value));
    Ok(Param {
        name: name.to_owned(),
        value,
    })
}

/// Parameters from a JSON object or `@file`, then the single ones, which win.
pub(crate) fn params(json: Option<&str>, single: &[Param]) -> Result<Params, Failure> {
    let mut params = Params::new();
    if let Some(json) = json {
        let text = match json.strip_prefix('@') {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|e| Failure::failed(format!("{file}: cannot be read: {e}")))?,
            None => json.to_owned(),
        };
        let object: serde_json::Value = serde_json::from_str(&text)
            .map_err(|e| Failure::usage(format!("--params is not JSON: {e}")))?;
        params = params_of(&object).map_err(|e| Failure::usage(format!("--params: {e}")))?;
    }
    for param in single {
        params.set(param.name.as_str(), param.value.clone());
    }
    Ok(params)
}

/// The parameters in a JSON object.
pub(crate) fn params_of(object: &serde_json::Value) -> Result<Params, String> {
    let serde_json::Value::Object(entries) = object else {
        return Err("not a JSON object such as {\"id\": 933}".to_owned());
    };
    let mut params = Params::new();
    for (name, value) in entries {
        params.set(name.as_str(), from_json(value)?);
    }
    Ok(params)
}

fn from_json(json: &serde_json::Value) -> Result<Value, String> {
    Ok(match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Boolean(*b),
        serde_json::Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(i), _) => Value::Integer(i),
            _ if n.is_u64() => return Err(format!("{n} does not fit a 64-bit integer")),
            (None, Some(f)) => Value::Float(f),
            (None, None) => return Err(format!("{n} is not a number Graven can hold")),
        },
        serde_json::Value::String(s) => Value::from(s.as_str()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(from_json).collect::<Result<_, _>>()?)
        }
        serde_json::Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(k, v)| Ok((Arc::from(k.as_str()), from_json(v)?)));
            Value::Map(entries.collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals_or_strings() {
        for (text, value) in [
            ("a=3", Value::Integer(3)),
            ("a=-3", Value::Integer(-3)),
            ("a=2.5", Value::Float(2.5)),
            ("a=true", Value::Boolean(true)),
            ("a='3'", Value::from("3")),
            ("a=[1, 2]", Value::from(vec![1, 2])),
            ("a=Ada Lovelace", Value::from("Ada Lovelace")),
            ("a=", Value::from("")),
            ("a=x=y", Value::from("x=y")),
            ("$a=null", Value::Null),
        ] {
            let param = param(text).expect(text);
            assert_eq!((param.name.as_str(), &param.value), ("a", &value), "{text}");
        }
        assert!(param("novalue").is_err() && param("=3").is_err());
    }

    #[test]
    fn times_have_units() {
        for (text, millis) in [
            ("500ms", 500),
            ("5s", 5000),
            ("0.5s", 500),
            ("2min", 120_000),
        ] {
            assert_eq!(time(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "5", "s", "0s", "-1s", "5 days", "nans", "1e400s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durability_is_a_word_or_a_time() {
        let relaxed = |millis| Ok(Durability::Relaxed(Duration::from_millis(millis)));
        for (text, expected) in [
            ("full", Ok(Durability::Full)),
            ("OFF", Ok(Durability::Off)),
            ("relaxed", relaxed(100)),
            ("relaxed:20", relaxed(20)),
            ("relaxed:20ms", relaxed(20)),
            ("Relaxed(2s)", relaxed(2000)),
        ] {
            assert_eq!(durability(text), expected, "{text}");
        }
        for wrong in ["", "none", "relaxed:", "relaxed(5", "relaxed:x", "full:5ms"] {
            assert!(durability(wrong).is_err(), "{wrong}");
        }
        assert_eq!(isolation("SERIALIZABLE"), Ok(Isolation::Serializable));
        assert!(isolation("repeatable read").is_err());
    }

    #[test]
    fn json_keeps_integers_and_floats_apart() {
        let params = params(
            Some("{\"i\": 1, \"f\": 1.0, \"l\": [null, {\"a\": \"b\"}]}"),
            &[],
        );
        let params = params.expect("valid");
        assert_eq!(params.get("i"), Some(&Value::Integer(1)));
        assert_eq!(params.get("f"), Some(&Value::Float(1.0)));
        assert!(matches!(params.get("l"), Some(Value::List(items)) if items.len() == 2));
        assert!(super::params(Some("[1]"), &[]).is_err());
        assert!(super::params(Some("{\"i\": 18446744073709551615}"), &[]).is_err());
    }
}
