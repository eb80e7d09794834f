//! Functions of Kuzu about JSON. Values of JSON are texts here.
//!
//! # How it works
//! The binder knows which arguments are JSON already, and hands the others over as JSON
//! (`bind/json.rs`). Texts are read with their keys in the order they are written
//! ([`JsonText`]). A path is keys and places in lists between `.` or `/`, behind `$` or not; where
//! nothing is, the result is the empty text, as in Kuzu.

use std::collections::HashMap;
use std::sync::Arc;

use graven_files::JsonText;
use graven_types::told;
use serde_json::Value as Json;

use super::apoc::convert::write_json;
use super::wrong;
use crate::cast_shown::shown;
use crate::cast_target::Target;
use crate::error::{ExecError, Result};
use crate::expression::signature::{Function, MANY};
use crate::growth::{Items, Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function::new("graven.json", (1, 1), |_, args| {
        with(&args[0], "json", |read| Ok(Value::text(&read.to_string())))
    }),
    Function::new("graven.json.array", (0, MANY), array),
    Function::new("graven.json.arraylength", (1, 1), |_, args| {
        with(&args[0], "json_array_length", |read| {
            let count = match read {
                JsonText::List(items) => items.len(),
                _ => 0,
            };
            Ok(Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)))
        })
    }),
    Function::new("graven.json.contains", (2, 2), |_, args| {
        with_both(args, "json_contains", |whole, part| {
            Ok(Value::Boolean(contains(&whole, &part)?))
        })
    }),
    Function::new("graven.json.extract", (2, 2), extract),
    Function::new("graven.json.keys", (1, 1), |_, args| {
        with(&args[0], "json_keys", |read| {
            let mut keys = Items::default();
            if let JsonText::Object(entries) = &read {
                for (key, _) in entries {
                    keys.push(Value::text(key))?;
                }
            }
            keys.value()
        })
    }),
    Function::new("graven.json.mergepatch", (2, 2), |_, args| {
        with_both(args, "json_merge_patch", |whole, patch| {
            Ok(Value::text(&patched(Some(whole), patch)?.to_string()))
        })
    }),
    Function::new("graven.json.object", (0, MANY), object),
    Function::new("graven.json.of", (1, 1), of),
    Function::new("graven.json.of_type", (2, 2), of),
    Function::new("graven.json.structure", (1, 1), |_, args| {
        with(&args[0], "json_structure", |read| {
            let mut text = Text::default();
            Structure::of(&read)?.write(&mut text)?;
            text.value()
        })
    }),
    Function::new("graven.json.valid", (1, 1), |_, args| match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::String(text) => Ok(Value::Boolean(read(text)?.is_ok())),
        other => Err(wrong("json_valid", "a String", other)),
    }),
];

/// What a text holds; charged, as its elements take more room than their text.
fn read(text: &str) -> Result<std::result::Result<JsonText, String>> {
    charge(text.len().saturating_mul(48))?;
    work(text.len())?;
    Ok(JsonText::read(text))
}

/// A function of what a text holds; null of null.
fn with(
    value: &Value,
    name: &str,
    function: impl FnOnce(JsonText) -> Result<Value>,
) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::String(text) => match read(text)? {
            Ok(read) => function(read),
            Err(why) => Err(ExecError::Value {
                message: told!("{name}() needs a text of JSON: {why}"),
            }),
        },
        other => Err(wrong(name, "a text of JSON", other)),
    }
}

/// A function of what two texts hold; null where one of them is.
fn with_both(
    args: &[Value],
    name: &str,
    function: impl FnOnce(JsonText, JsonText) -> Result<Value>,
) -> Result<Value> {
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    with(&args[0], name, |first| {
        with(&args[1], name, |second| function(first, second))
    })
}

/// A value as JSON, of a type if there is a second argument; its fields are in that order.
pub(super) fn of(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let target = match args.get(1) {
        Some(Value::String(of)) => Target::read(of),
        _ => None,
    };
    let mut out = Text::default();
    write_as(rt, &args[0], &target.unwrap_or(Target::Any), &mut out)?;
    out.value()
}

fn write_items(rt: &QueryContext, items: &[Value], of: &Target, out: &mut Text) -> Result<()> {
    out.push("[")?;
    for (at, item) in items.iter().enumerate() {
        out.push(if at > 0 { "," } else { "" })?;
        write_as(rt, item, of, out)?;
    }
    out.push("]")
}

fn write_as(rt: &QueryContext, value: &Value, target: &Target, out: &mut Text) -> Result<()> {
    match (target, value) {
        (Target::List(element, _), Value::List(items)) => write_items(rt, items, element, out),
        (Target::Struct(fields), Value::Map(map)) => {
            let entries = map.entries();
            for (at, (name, of)) in fields.iter().enumerate() {
                out.push(if at > 0 { "," } else { "{" })?;
                out.push(&Json::from(&**name).to_string())?;
                out.push(":")?;
                match entries.iter().find(|(key, _)| key == name) {
                    Some((_, value)) => write_as(rt, value, of, out)?,
                    None => out.push("null")?,
                }
            }
            out.push("}")
        }
        // The text of a column.
        (Target::List(..) | Target::Struct(_) | Target::Entries(_), Value::String(_)) => {
            match target.of(value) {
                Some(made) => write_as(rt, &made, target, out),
                None => write_json(rt, value, out),
            }
        }
        (Target::Json, Value::String(text)) => out.push(text),
        (_, Value::List(items)) => write_items(rt, items, &Target::Any, out),
        (_, Value::Map(map)) => {
            let of = match target {
                Target::Entries(of) => &of.1,
                _ => &Target::Any,
            };
            out.push("{")?;
            for (at, (key, value)) in map.entries().iter().enumerate() {
                out.push(if at > 0 { "," } else { "" })?;
                out.push(&Json::from(&**key).to_string())?;
                out.push(":")?;
                write_as(rt, value, of, out)?;
            }
            out.push("}")
        }
        (_, Value::Float(number)) if number.is_finite() => {
            out.push(&Json::from(*number).to_string())
        }
        (_, vector) if vector.as_vector().is_some() => write_json(rt, vector, out),
        (_, Value::Float(_) | Value::Stored(_) | Value::Bytes(_)) => {
            if let Value::Bytes(bytes) = value {
                // Four characters of each byte, and five where these are written as JSON.
                charge(bytes.len().saturating_mul(9))?;
            }
            out.push(&Json::from(shown(value)).to_string())
        }
        // Truths, whole numbers and texts; nodes, relationships and paths.
        _ => write_json(rt, value, out),
    }
}

/// The list of values that are JSON each.
fn array(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let mut out = Text::default();
    out.push("[")?;
    for (at, item) in args.iter().enumerate() {
        out.push(if at > 0 { "," } else { "" })?;
        push(item, &mut out)?;
    }
    out.push("]")?;
    out.value()
}

/// The object of keys, and values that are JSON each.
fn object(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let mut out = Text::default();
    out.push("{")?;
    for (at, entry) in args.chunks(2).enumerate() {
        let [Value::String(key), value] = entry else {
            let message = "json_object() needs a value for each key, and keys that are not null";
            return Err(ExecError::Value {
                message: message.to_owned(),
            });
        };
        out.push(if at > 0 { "," } else { "" })?;
        out.push(&Json::from(&**key).to_string())?;
        out.push(":")?;
        push(value, &mut out)?;
    }
    out.push("}")?;
    out.value()
}

fn push(json: &Value, out: &mut Text) -> Result<()> {
    match json {
        Value::String(text) => out.push(text),
        _ => out.push("null"),
    }
}

/// What stands at a path, at a place of a list, or at each path of a list.
fn extract(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "json_extract";
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    with(&args[0], name, |whole| {
        let shown = |found: Option<&JsonText>| {
            Value::text(&found.map(ToString::to_string).unwrap_or_default())
        };
        match &args[1] {
            Value::String(path) => Ok(shown(at_path(&whole, path))),
            Value::Integer(place) => {
                Ok(shown(usize::try_from(*place).ok().and_then(
                    |place| match &whole {
                        JsonText::List(items) => items.get(place),
                        _ => None,
                    },
                )))
            }
            Value::List(paths) => {
                let mut all = Items::with_room(paths.len())?;
                for path in paths.iter() {
                    all.push(match path {
                        Value::Null => Value::Null,
                        Value::String(path) => shown(at_path(&whole, path)),
                        other => return Err(wrong(name, "texts as paths", other)),
                    })?;
                }
                all.value()
            }
            other => Err(wrong(name, "a path, a list of paths, or a place", other)),
        }
    })
}

fn at_path<'a>(whole: &'a JsonText, path: &str) -> Option<&'a JsonText> {
    let mut steps = path.split(['.', '/']).peekable();
    steps.next_if_eq(&"$");
    steps.try_fold(whole, |at, step| match at {
        JsonText::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => at.get(step),
    })
}

/// Whether a part is in the whole, at any depth.
fn contains(whole: &JsonText, part: &JsonText) -> Result<bool> {
    if covers(whole, part)? {
        return Ok(true);
    }
    let inner: Box<dyn Iterator<Item = &JsonText>> = match whole {
        JsonText::Plain(_) => return Ok(false),
        JsonText::List(items) => Box::new(items.iter()),
        JsonText::Object(entries) => Box::new(entries.iter().map(|(_, value)| value)),
    };
    for value in inner {
        if contains(value, part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether all of a part is at this place: the same value, each element, each key with its value.
fn covers(whole: &JsonText, part: &JsonText) -> Result<bool> {
    work(1)?;
    match (whole, part) {
        (JsonText::Plain(whole), JsonText::Plain(part)) => Ok(whole == part),
        (JsonText::List(items), JsonText::List(wanted)) => {
            for part in wanted {
                let mut found = false;
                for item in items {
                    found = found || covers(item, part)?;
                }
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (JsonText::Object(_), JsonText::Object(wanted)) => {
            for (key, part) in wanted {
                match whole.get(key) {
                    Some(value) if covers(value, part)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The value with a patch merged into it (RFC 7396): entries of the patch come behind the others.
fn patched(whole: Option<JsonText>, patch: JsonText) -> Result<JsonText> {
    let JsonText::Object(changes) = patch else {
        return Ok(patch);
    };
    let mut before = match whole {
        Some(JsonText::Object(entries)) => entries,
        _ => Vec::new(),
    };
    let mut merged: Vec<(String, JsonText)> = Vec::new();
    for (key, change) in changes {
        work(1 + before.len() / 16)?;
        let at = before.iter().position(|(name, _)| *name == key);
        let old = at.map(|at| before.remove(at).1);
        if !change.is_null() {
            merged.push((key, patched(old, change)?));
        }
    }
    before.append(&mut merged);
    Ok(JsonText::Object(before))
}

/// The type of Kuzu that holds a value of JSON.
#[derive(Clone, Debug, PartialEq)]
enum Structure {
    Any,
    /// A type by its name.
    Named(&'static str),
    /// Whole numbers, whether with a sign, and their bits.
    Whole(bool, u32),
    List(Box<Structure>),
    Struct(Fields),
}

/// Keys and types of an object, in the order in which they come.
#[derive(Clone, Debug)]
struct Fields {
    list: Vec<(Arc<str>, Structure)>,
    /// The first place of each key; empty until others come to these fields.
    places: HashMap<Arc<str>, usize>,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        self.list == other.list
    }
}

impl Fields {
    /// The fields of both, these first.
    fn with(mut self, more: Fields) -> Result<Fields> {
        if self.places.is_empty() {
            work(self.list.len())?;
            for (at, (key, _)) in self.list.iter().enumerate() {
                self.places.entry(key.clone()).or_insert(at);
            }
        }
        for (key, of) in more.list {
            if let Some(at) = self.places.get(&key) {
                let known = &mut self.list[*at].1;
                *known = std::mem::replace(known, Structure::Any).with(of)?;
            } else {
                self.places.insert(key.clone(), self.list.len());
                self.list.push((key, of));
            }
        }
        Ok(self)
    }
}

const TEXT: Structure = Structure::Named("STRING");

impl Structure {
    fn of(json: &JsonText) -> Result<Structure> {
        work(1)?;
        Ok(match json {
            JsonText::Plain(Json::Bool(_)) => Structure::Named("BOOL"),
            JsonText::Plain(Json::Number(number)) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Structure::Whole(false, width(64 - number.leading_zeros())),
                (None, Some(number)) => {
                    Structure::Whole(true, width(65 - (!number).leading_zeros()))
                }
                (None, None) => Structure::Named("DOUBLE"),
            },
            JsonText::Plain(Json::String(text)) => {
                let begins = text.trim_start().as_bytes().first();
                let is = |name: &&&str| {
                    let target = Target::read(name);
                    target.is_some_and(|target| target.of(&Value::text(text)).is_some())
                };
                let mut names = ["DATE", "TIMESTAMP", "INTERVAL", "UUID"].iter();
                let is_apart = text.contains(['-', ' ']);
                let is_other = is_apart && begins.is_some_and(u8::is_ascii_alphanumeric);
                match names.find(is).filter(|_| is_other) {
                    Some(name) => Structure::Named(name),
                    None => TEXT,
                }
            }
            JsonText::Plain(_) => Structure::Any,
            JsonText::List(items) => {
                let mut of_all = Structure::Any;
                for item in items {
                    of_all = of_all.with(Structure::of(item)?)?;
                }
                Structure::List(Box::new(of_all))
            }
            JsonText::Object(entries) => {
                let mut list = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    list.push((Arc::from(&**key), Structure::of(value)?));
                }
                let places = HashMap::new();
                Structure::Struct(Fields { list, places })
            }
        })
    }

    /// The type that holds values of both.
    fn with(self, other: Structure) -> Result<Structure> {
        use Structure as S;
        work(1)?;
        Ok(match (self, other) {
            (a, b) if a == b => a,
            (S::Any, other) | (other, S::Any) => other,
            (S::Whole(a, wide), S::Whole(b, wider)) if a == b => S::Whole(a, wide.max(wider)),
            (S::Whole(true, signed), S::Whole(false, bits))
            | (S::Whole(false, bits), S::Whole(true, signed)) => {
                S::Whole(true, signed.max(bits * 2))
            }
            (S::Named("DOUBLE"), S::Whole(..)) | (S::Whole(..), S::Named("DOUBLE")) => {
                S::Named("DOUBLE")
            }
            (S::Named("DATE" | "TIMESTAMP"), S::Named("DATE" | "TIMESTAMP")) => {
                S::Named("TIMESTAMP")
            }
            (S::List(a), S::List(b)) => S::List(Box::new(a.with(*b)?)),
            (S::Struct(all), S::Struct(more)) => S::Struct(all.with(more)?),
            _ => TEXT,
        })
    }

    fn write(&self, into: &mut Text) -> Result<()> {
        match self {
            Structure::Any => into.push("ANY"),
            Structure::Named(name) => into.push(name),
            Structure::Whole(signed, bits) => {
                into.push(if *signed { "INT" } else { "UINT" })?;
                into.push(&bits.to_string())
            }
            Structure::List(element) => {
                element.write(into)?;
                into.push("[]")
            }
            Structure::Struct(fields) => {
                into.push("STRUCT(")?;
                for (at, (name, of)) in fields.list.iter().enumerate() {
                    into.push(if at > 0 { ", " } else { "" })?;
                    into.push(name)?;
                    into.push(" ")?;
                    of.write(into)?;
                }
                into.push(")")
            }
        }
    }
}

/// The bits of the type with room for so many.
fn width(bits: u32) -> u32 {
    bits.next_power_of_two().max(8)
}
