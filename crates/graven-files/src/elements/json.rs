//! Reads `apoc.export.json`: an object a line, a node or relationship each.

use std::io::{BufRead, Lines};

use graven_types::PropertyValue;
use graven_types::told;
use serde_json::Value;

use super::{Element, Properties, Wrong};
use crate::kind::Kind;
use crate::plain;

/// The nodes and relationships of a text of JSON, an object a line; brackets and commas of an array
/// around them do no harm.
pub struct Json<R> {
    lines: Lines<R>,
    line: u64,
}

impl<R: BufRead> Json<R> {
    /// Reads from the start of a text.
    pub fn new(input: R) -> Self {
        Json {
            lines: input.lines(),
            line: 0,
        }
    }
}

impl<R: BufRead> Iterator for Json<R> {
    type Item = Result<(Element, u64), Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let text = self.lines.next()?;
            self.line += 1;
            let line = self.line;
            let told = |message| Wrong { line, message };
            let text = match text {
                Ok(text) => text,
                Err(error) => return Some(Err(told(told!("cannot be read: {error}")))),
            };
            let text = text.trim().trim_start_matches(['[', ',']).trim_start();
            let text = match text.starts_with('{') {
                true => text.trim_end_matches([']', ',', ' ']),
                false => text.trim_end_matches(']'),
            };
            if text.is_empty() {
                continue;
            }
            let object: Result<Value, _> = serde_json::from_str(text);
            let object = object.map_err(|error| {
                told!(
                    "is no JSON object: {error}; export with jsonFormat 'JSON_LINES', one object \
                        a line"
                )
            });
            let made = object.and_then(|object| element(&object));
            return Some(made.map(|element| (element, line)).map_err(told));
        }
    }
}

fn element(object: &Value) -> Result<Element, String> {
    let text = |of: &Value, key: &str| match &of[key] {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(told!("has no {key}")),
    };
    let properties = match &object["properties"] {
        Value::Object(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| {
                let value = value_of(value).map_err(|why| told!("the property {key} {why}"))?;
                Ok((key.clone(), value))
            });
            let mut all = entries.collect::<Result<Properties, String>>()?;
            // A form that holds null: the property is absent.
            all.retain(|(_, value)| !matches!(value, PropertyValue::Null));
            all
        }
        _ => Vec::new(),
    };
    match object["type"].as_str() {
        Some("node") => {
            let labels = object["labels"].as_array().into_iter().flatten();
            Ok(Element::Node {
                id: text(object, "id")?,
                labels: labels
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                properties,
            })
        }
        Some("relationship") => Ok(Element::Relationship {
            start: text(&object["start"], "id").map_err(|why| told!("the start {why}"))?,
            end: text(&object["end"], "id").map_err(|why| told!("the end {why}"))?,
            name: text(object, "label")?,
            properties,
        }),
        _ => {
            Err("is no node or relationship of an export by APOC: its `type` is neither".to_owned())
        }
    }
}

fn value_of(value: &Value) -> Result<PropertyValue, String> {
    Ok(match value {
        Value::Null => PropertyValue::Null,
        Value::Bool(b) => PropertyValue::Boolean(*b),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => PropertyValue::Integer(integer),
            None if number.is_u64() => {
                return Err(told!("is a whole number of more than 63 bits: {number}"));
            }
            None => PropertyValue::Float(number.as_f64().ok_or("is a number that is too large")?),
        },
        Value::String(text) => PropertyValue::String(text.as_str().into()),
        Value::Array(items) => {
            PropertyValue::List(items.iter().map(value_of).collect::<Result<_, _>>()?)
        }
        Value::Object(entries) => match entries.get("crs").and_then(Value::as_str) {
            Some(crs) => point(crs, entries)?,
            None => return Err("is a map, which no property can hold".to_owned()),
        },
    })
}

/// A point as APOC writes it: a map with `crs`.
fn point(crs: &str, entries: &serde_json::Map<String, Value>) -> Result<PropertyValue, String> {
    let srid = match crs.to_ascii_lowercase().as_str() {
        "cartesian" => 7203,
        "cartesian-3d" => 9157,
        "wgs-84" => 4326,
        "wgs-84-3d" => 4979,
        _ => return Err(told!("is a point of an unknown system, {crs}")),
    };
    let number = |names: [&str; 2]| {
        let mut found = names.iter().filter_map(|name| entries.get(*name)?.as_f64());
        found.next()
    };
    let missing = || "is a point without both coordinates".to_owned();
    let x = number(["x", "longitude"]).ok_or_else(missing)?;
    let y = number(["y", "latitude"]).ok_or_else(missing)?;
    let z = number(["z", "height"]);
    let z = z.map_or(String::new(), |z| format!(", z: {z:?}"));
    plain::read(
        &Kind::Literal,
        &format!("point({{srid: {srid}, x: {x:?}, y: {y:?}{z}}})"),
    )
}
