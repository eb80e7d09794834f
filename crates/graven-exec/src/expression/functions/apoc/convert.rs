//! `apoc.convert` and single functions of other namespaces.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{list, map, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::{Map, Value};

/// The version of APOC whose functions these are: that of the compatible release of Neo4j.
const VERSION: &str = "5.26.0";

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.convert.fromjsonlist",
        arity: (1, 1),
        body: |_, args| {
            from_json(
                "apoc.convert.fromJsonList",
                &args[0],
                Json::is_array,
                "a list",
            )
        },
    },
    Function {
        name: "apoc.convert.fromjsonmap",
        arity: (1, 1),
        body: |_, args| {
            from_json(
                "apoc.convert.fromJsonMap",
                &args[0],
                Json::is_object,
                "a map",
            )
        },
    },
    Function {
        name: "apoc.convert.tojson",
        arity: (1, 1),
        body: to_json,
    },
    Function {
        name: "apoc.convert.tolist",
        arity: (1, 1),
        body: |_, args| {
            Ok(match &args[0] {
                Value::Null | Value::List(_) => args[0].clone(),
                one => Value::list(vec![one.clone()]),
            })
        },
    },
    Function {
        name: "apoc.convert.tomap",
        arity: (1, 1),
        body: |rt, args| {
            Ok(match &args[0] {
                Value::Node(id) => Value::map(rt.all_node_properties(id.0)?),
                Value::Relationship(id) => Value::map(rt.all_relationship_properties(id.0)?),
                other => match map("apoc.convert.toMap", other)? {
                    Some(_) => other.clone(),
                    None => Value::Null,
                },
            })
        },
    },
    Function {
        name: "apoc.meta.cypher.type",
        arity: (1, 1),
        body: |_, args| Ok(Value::text(&type_name(&args[0]))),
    },
    Function {
        name: "apoc.util.validatepredicate",
        arity: (3, 3),
        body: validate_predicate,
    },
    Function {
        name: "apoc.version",
        arity: (0, 0),
        body: |_, _| Ok(Value::text(VERSION)),
    },
];

/// Nesting of JSON that is read.
const DEPTH_MAX: usize = 100;

fn from_json(
    function: &str,
    value: &Value,
    fits: fn(&Json) -> bool,
    wanted: &str,
) -> Result<Value> {
    let Some(of) = text(function, value)? else {
        return Ok(Value::Null);
    };
    let wrong = |why: &dyn std::fmt::Display| ExecError::Argument {
        message: format!("{function}() needs {wanted} as JSON: {why}"),
    };
    // An element of two bytes, such as `1,`, is read as a value of 32 bytes, and made one of 24,
    // each in a list with room for twice as many.
    charge(of.len().saturating_mul(48))?;
    work(of.len())?;
    let read: Json = serde_json::from_str(of).map_err(|error| wrong(&error))?;
    if read.is_null() {
        return Ok(Value::Null);
    }
    if !fits(&read) {
        return Err(wrong(&"the text holds another value"));
    }
    value_of(&read, DEPTH_MAX).ok_or_else(|| wrong(&"it is nested too deeply"))
}

fn value_of(json: &Json, left: usize) -> Option<Value> {
    let left = left.checked_sub(1)?;
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Boolean(*b),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::text(text),
        Json::Array(items) => {
            let items = items.iter().map(|item| value_of(item, left));
            Value::list(items.collect::<Option<_>>()?)
        }
        Json::Object(entries) => {
            let entries = entries.iter();
            let entries =
                entries.map(|(key, item)| Some((Arc::from(key.as_str()), value_of(item, left)?)));
            Value::map(entries.collect::<Option<_>>()?)
        }
    })
}

fn to_json(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let mut out = Text::default();
    write_json(rt, &args[0], &mut out)?;
    out.value()
}

fn write_json(rt: &QueryContext, value: &Value, out: &mut Text) -> Result<()> {
    match value {
        Value::Null => out.push("null"),
        Value::Boolean(b) => out.push(if *b { "true" } else { "false" }),
        Value::Integer(i) => out.push(&i.to_string()),
        Value::Float(x) if !x.is_finite() => out.push("null"),
        Value::Float(_) => out.push(&value.to_string()),
        Value::String(text) => out.push(&Json::from(&**text).to_string()),
        Value::List(items) => {
            out.push("[")?;
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(",")?;
                }
                write_json(rt, item, out)?;
            }
            out.push("]")
        }
        Value::Map(map) => write_map(rt, map, out),
        Value::Node(id) => {
            let properties = Value::map(rt.all_node_properties(id.0)?);
            let labels = rt.labels_of(id.0)?;
            let labels = labels.iter().map(|label| Value::String(Arc::clone(label)));
            write_map(
                rt,
                &Map::new(vec![
                    ("type".into(), Value::text("node")),
                    ("id".into(), Value::text(&id.0.to_string())),
                    ("labels".into(), Value::list(labels.collect())),
                    ("properties".into(), properties),
                ]),
                out,
            )
        }
        other => {
            let text = super::key(other)?;
            out.push(&Json::from(&*text).to_string())
        }
    }
}

fn write_map(rt: &QueryContext, map: &Map, out: &mut Text) -> Result<()> {
    out.push("{")?;
    for (at, (key, item)) in map.entries().iter().enumerate() {
        if at > 0 {
            out.push(",")?;
        }
        out.push(&Json::from(&**key).to_string())?;
        out.push(":")?;
        write_json(rt, item, out)?;
    }
    out.push("}")
}

/// The name that Neo4j's schema tools give the type of a value.
pub(super) fn type_name(value: &Value) -> String {
    let of_list = |items: &[Value]| {
        let mut names = items.iter().map(type_name);
        let first = names.next().unwrap_or_else(|| "ANY".to_owned());
        match names.all(|name| name == first) {
            true => format!("LIST OF {first}"),
            false => "LIST OF ANY".to_owned(),
        }
    };
    match value {
        Value::List(items) => of_list(items),
        Value::Stored(_) => value.type_name().to_uppercase(),
        other => other.type_name().to_uppercase(),
    }
}

/// Fails with the message where the predicate holds; true otherwise, so that it fits into WHERE.
fn validate_predicate(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let function = "apoc.util.validatePredicate";
    match &args[0] {
        Value::Boolean(true) => {}
        Value::Boolean(false) | Value::Null => return Ok(Value::Boolean(true)),
        other => return Err(wrong(function, "a Boolean", other)),
    }
    let message = text(function, &args[1])?.map_or("", |text| text);
    let params = list(function, &args[2])?.unwrap_or_default();
    let mut params = params.iter();
    let mut parts = message.split('%');
    let mut told = Text::default();
    told.push(parts.next().unwrap_or_default())?;
    for part in parts {
        let mut letters = part.chars();
        match letters.next() {
            Some('s' | 'd') => {
                let value = match params.next() {
                    Some(value) => super::key(value)?,
                    None => Arc::from("%s"),
                };
                told.push(&value)?;
                told.push(letters.as_str())?;
            }
            _ => {
                told.push("%")?;
                told.push(part)?;
            }
        }
    }
    match told.value()? {
        Value::String(message) => Err(ExecError::Argument {
            message: message.to_string(),
        }),
        other => Ok(other),
    }
}
