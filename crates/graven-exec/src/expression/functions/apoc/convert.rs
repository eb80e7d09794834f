//! `apoc.convert` and single functions of other namespaces.

use std::borrow::Cow;
use std::sync::Arc;

use graven_storage::{NodeId, RelId};
use graven_types::told;
use graven_types::told::Told;
use graven_types::{Point, PropertyValue};
use serde_json::Value as Json;

use super::coll::distinct;
use super::graph::steps;
use super::json_lenient::read_leniently;
use super::json_path::{Found, JsonPath};
use super::{hash_order, list, property, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, Text, charge, work};
use crate::query_context::QueryContext;
use crate::value::{Map, Value};

/// The version of APOC whose functions these are: that of the compatible release of Neo4j.
const VERSION: &str = "5.26.0";

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.convert.fromjsonlist",
        arity: (1, 3),
        body: |_, args| {
            let name = "apoc.convert.fromJsonList";
            from_json(name, (&args[0], &args[1..]), Json::is_array, "a list")
        },
    },
    Function {
        name: "apoc.convert.fromjsonmap",
        arity: (1, 3),
        body: |_, args| {
            let name = "apoc.convert.fromJsonMap";
            from_json(name, (&args[0], &args[1..]), Json::is_object, "a map")
        },
    },
    Function {
        name: "apoc.convert.getjsonproperty",
        arity: (2, 4),
        body: |rt, args| {
            let name = "apoc.convert.getJsonProperty";
            json_property(rt, name, args, |_| true, "a value")
        },
    },
    Function {
        name: "apoc.convert.getjsonpropertymap",
        arity: (2, 4),
        body: |rt, args| {
            let name = "apoc.convert.getJsonPropertyMap";
            json_property(rt, name, args, Json::is_object, "a map")
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
                Value::Path(path) => steps(path)?,
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
                Value::Map(_) => args[0].clone(),
                _ => Value::Null,
            })
        },
    },
    Function {
        name: "apoc.convert.tonode",
        arity: (1, 1),
        body: |_, args| Ok(kept(&args[0], is_node)),
    },
    Function {
        name: "apoc.convert.tonodelist",
        arity: (1, 1),
        body: |_, args| all_kept(&args[0], is_node),
    },
    Function {
        name: "apoc.convert.torelationship",
        arity: (1, 1),
        body: |_, args| Ok(kept(&args[0], is_relationship)),
    },
    Function {
        name: "apoc.convert.torelationshiplist",
        arity: (1, 1),
        body: |_, args| all_kept(&args[0], is_relationship),
    },
    Function {
        name: "apoc.convert.toset",
        arity: (1, 1),
        body: |_, args| {
            Ok(match &args[0] {
                Value::Null => Value::Null,
                Value::List(items) => distinct(items.iter())?,
                one => Value::list(vec![one.clone()]),
            })
        },
    },
    Function {
        name: "apoc.convert.tosortedjsonmap",
        arity: (1, 2),
        body: to_sorted_json,
    },
    Function::new("apoc.json.path", (1, 3), json_path),
    Function {
        name: "apoc.meta.cypher.istype",
        arity: (2, 2),
        body: |_, args| {
            let name = "apoc.meta.cypher.isType";
            let wanted = text(name, &args[1])?;
            Ok(wanted.map_or(Value::Null, |wanted| {
                Value::Boolean(type_name(&args[0]).eq_ignore_ascii_case(wanted))
            }))
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

fn is_node(value: &Value) -> bool {
    value.type_name() == "Node"
}

fn is_relationship(value: &Value) -> bool {
    value.type_name() == "Relationship"
}

/// The value, if it is of that kind; null otherwise.
fn kept(value: &Value, is: fn(&Value) -> bool) -> Value {
    match is(value) {
        true => value.clone(),
        false => Value::Null,
    }
}

/// The elements of a list, or the value alone, with null for those of another kind.
fn all_kept(value: &Value, is: fn(&Value) -> bool) -> Result<Value> {
    let items = match value {
        Value::Null => return Ok(Value::Null),
        Value::List(items) => items,
        Value::Path(path) => return all_kept(&steps(path)?, is),
        one => std::slice::from_ref(one),
    };
    let mut all = Items::with_room(items.len())?;
    for item in items {
        all.push(kept(item, is))?;
    }
    all.value()
}

/// The part of a text of JSON at a path.
fn json_path(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.json.path";
    from_json(name, (&args[0], &args[1..]), |_| true, "a value")
}

/// What a property holds as JSON, or the part of it at a path.
fn json_property(
    rt: &QueryContext,
    function: &str,
    args: &[Value],
    fits: fn(&Json) -> bool,
    wanted: &str,
) -> Result<Value> {
    let Some(key) = text(function, &args[1])? else {
        return Ok(Value::Null);
    };
    let held = property(rt, function, &args[0], key)?.unwrap_or_default();
    from_json(function, (&held, &args[2..]), fits, wanted)
}

/// The options of paths in a list; whether the answer is always a list.
fn always_list(function: &str, options: Option<&Value>) -> Result<bool> {
    let options = options.map(|options| list(function, options)).transpose()?;
    let mut always = false;
    for option in options.flatten().unwrap_or_default() {
        let known = text(function, option)?.map_or("", |option| option);
        match known {
            "ALWAYS_RETURN_LIST" => always = true,
            // Nothing fails where a path leads nowhere.
            "DEFAULT_PATH_LEAF_TO_NULL" | "SUPPRESS_EXCEPTIONS" => {}
            _ => {
                return Err(ExecError::Argument {
                    message: told!(
                        "{function}() has no option {known} of paths: there are \
                            ALWAYS_RETURN_LIST, DEFAULT_PATH_LEAF_TO_NULL and SUPPRESS_EXCEPTIONS"
                    ),
                });
            }
        }
    }
    Ok(always)
}

/// The value of a text of JSON, or what lies at a path; `beside`: the path, then its options.
fn from_json(
    function: &str,
    (value, beside): (&Value, &[Value]),
    fits: fn(&Json) -> bool,
    wanted: &str,
) -> Result<Value> {
    let Some(of) = text(function, value)?.filter(|of| !of.is_empty()) else {
        return Ok(Value::Null);
    };
    let wrong = |why: &dyn std::fmt::Display| ExecError::Argument {
        message: told!("{function}() needs {wanted} as JSON: {why}"),
    };
    // An element of two bytes, such as `1,`, is read as a value of 32 bytes, and made one of 24,
    // each in a list with room for twice as many.
    charge(of.len().saturating_mul(48))?;
    work(of.len())?;
    let read = read_leniently(of).map_err(|error| wrong(&error))?;
    let path = beside
        .first()
        .map(|path| text(function, path))
        .transpose()?;
    let path = path.flatten().map_or("", |path| path);
    let always = always_list(function, beside.get(1))?;
    let steps = JsonPath::read(path).ok_or_else(|| ExecError::Argument {
        message: told!(
            "{function}() reads no path `{path}`: write it as $.name[0]['other name'], or with \
                [*], ..name, [0:2] and [?(@.key == 'value')]"
        ),
    })?;
    let whole;
    let found = match steps.find(&read, &read)? {
        Found::One(Some(one)) if !(one.is_null() || always) => Some(one),
        Found::One(Some(one)) if always => {
            whole = Json::Array(vec![one.clone()]);
            Some(&whole)
        }
        Found::One(_) => None,
        Found::Many(all) => {
            // They may lie within each other.
            for one in &all {
                charge(2 * size_of_json(one)?)?;
            }
            whole = all.into_iter().cloned().collect();
            Some(&whole)
        }
        Found::Made(made) => {
            whole = made;
            Some(&whole)
        }
    };
    let Some(found) = found else {
        return Ok(Value::Null);
    };
    if !fits(found) {
        return Err(wrong(&"the text holds another value"));
    }
    value_of(found, DEPTH_MAX).ok_or_else(|| wrong(&"it is nested too deeply"))
}

/// About so many bytes as a value takes.
fn size_of_json(json: &Json) -> Result<usize> {
    work(1)?;
    let mut bytes = size_of::<Json>();
    match json {
        Json::String(text) => bytes += text.len(),
        Json::Array(items) => {
            for item in items {
                bytes += size_of_json(item)?;
            }
        }
        Json::Object(entries) => {
            for (key, value) in entries {
                bytes += size_of::<String>() + key.len() + size_of_json(value)?;
            }
        }
        _ => {}
    }
    Ok(bytes)
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

/// A map, or the properties of a node or relationship, as JSON with its keys in their order.
fn to_sorted_json(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(mut entries) = rt.property_entries(&args[0])? else {
        return Ok(Value::Null);
    };
    match args.get(1) {
        Some(Value::Boolean(false)) => entries.sort_by(|a, b| a.0.cmp(&b.0)),
        _ => entries.sort_by_cached_key(|(key, _)| key.to_lowercase()),
    }
    let mut out = Text::default();
    write_entries(rt, &entries, &mut out)?;
    out.value()
}

pub(in crate::expression) fn write_json(
    rt: &QueryContext,
    value: &Value,
    out: &mut Text,
) -> Result<()> {
    match value {
        Value::Null => out.push("null"),
        Value::Boolean(b) => out.push(if *b { "true" } else { "false" }),
        Value::Integer(i) => out.push(&i.to_string()),
        Value::Float(x) if !x.is_finite() => write_text(value, out),
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
        Value::Node(id) => write_entries(rt, &entity(rt, *id, false)?, out),
        Value::Relationship(id) => write_entries(rt, &relationship(rt, *id, false)?, out),
        Value::Path(path) => {
            out.push("[")?;
            for (at, node) in path.nodes.iter().enumerate() {
                if at > 0 {
                    out.push(",")?;
                    let rel = path.relationships[at - 1];
                    write_entries(rt, &relationship(rt, rel, true)?, out)?;
                    out.push(",")?;
                }
                write_entries(rt, &entity(rt, *node, true)?, out)?;
            }
            out.push("]")
        }
        Value::Stored(stored) => match &**stored {
            PropertyValue::Point(point) => write_entries(rt, &coordinates(point), out),
            PropertyValue::Vector(vector) => {
                let mut numbers = String::new();
                // A text takes all.
                let _ = vector.write_numbers(&mut numbers);
                out.push(&numbers)
            }
            _ => write_text(value, out),
        },
        other => write_text(other, out),
    }
}

fn write_text(value: &Value, out: &mut Text) -> Result<()> {
    let text = super::key(value)?;
    let text = match value {
        Value::Stored(stored) if has_time(stored) => in_thirds(&text),
        _ => Cow::Borrowed(&*text),
    };
    out.push(&Json::from(&*text).to_string())
}

fn has_time(stored: &PropertyValue) -> bool {
    matches!(
        stored,
        PropertyValue::LocalTime(_)
            | PropertyValue::Time(_)
            | PropertyValue::LocalDateTime(_)
            | PropertyValue::DateTime(_)
    )
}

/// A time of day with three, six or nine digits behind the point, as Java writes it.
fn in_thirds(text: &str) -> Cow<'_, str> {
    let Some((before, behind)) = text.split_once('.') else {
        return Cow::Borrowed(text);
    };
    let zone = behind.find(|c: char| !c.is_ascii_digit());
    let (digits, zone) = behind.split_at(zone.unwrap_or(behind.len()));
    let width = digits.len().next_multiple_of(3);
    Cow::Owned(format!("{before}.{digits:0<width$}{zone}"))
}

/// Keys and values in the order in which APOC writes them.
type Entries = Vec<(Arc<str>, Value)>;

/// A node as APOC writes it, without labels and properties that it does not have.
fn entity(rt: &QueryContext, id: NodeId, is_of_path: bool) -> Result<Entries> {
    let labels: Vec<Value> = (rt.labels_of(id.0)?.into_iter().map(Value::String)).collect();
    let properties = rt.all_node_properties(id.0)?;
    let mut entries: Entries = vec![
        ("id".into(), Value::text(&id.0.to_string())),
        ("type".into(), Value::text("node")),
    ];
    let (has_labels, has_properties) = (!labels.is_empty(), !properties.is_empty());
    let labels = has_labels.then(|| ("labels".into(), Value::list(labels)));
    let properties = has_properties.then(|| ("properties".into(), Value::map(properties)));
    entries.extend(
        match is_of_path {
            true => [properties, labels],
            false => [labels, properties],
        }
        .into_iter()
        .flatten(),
    );
    Ok(entries)
}

/// A relationship with its ends as APOC writes it.
fn relationship(rt: &QueryContext, id: RelId, is_of_path: bool) -> Result<Entries> {
    let (start, end) = rt.endpoints(id.0)?;
    let label = Value::String(rt.type_name(rt.relationship_type(id.0)?));
    let own: [(Arc<str>, Value); 2] = [
        ("id".into(), Value::text(&id.0.to_string())),
        ("type".into(), Value::text("relationship")),
    ];
    let [number, kind] = own;
    let label = ("label".into(), label);
    let ends = [
        ("start".into(), Value::Node(start)),
        ("end".into(), Value::Node(end)),
    ];
    let mut entries: Entries = match is_of_path {
        true => ends.into_iter().chain([number, label, kind]).collect(),
        false => [number, kind, label].into_iter().chain(ends).collect(),
    };
    let properties = rt.all_relationship_properties(id.0)?;
    if !properties.is_empty() {
        entries.push(("properties".into(), Value::map(properties)));
    }
    Ok(entries)
}

/// A point as a map, from which `point` makes it again.
fn coordinates(point: &Point) -> Entries {
    let (names, crs) = match point.srid {
        4326 => (["latitude", "longitude", "height"], "wgs-84"),
        4979 => (["latitude", "longitude", "height"], "wgs-84-3d"),
        9157 => (["x", "y", "z"], "cartesian-3d"),
        _ => (["x", "y", "z"], "cartesian"),
    };
    let [first, second] = match names[0] {
        "x" => [point.x, point.y],
        _ => [point.y, point.x],
    };
    let third = point.z.map_or(Value::Null, Value::Float);
    vec![
        ("crs".into(), Value::text(crs)),
        (names[0].into(), Value::Float(first)),
        (names[1].into(), Value::Float(second)),
        (names[2].into(), third),
    ]
}

fn write_map(rt: &QueryContext, map: &Map, out: &mut Text) -> Result<()> {
    charge(size_of_val(map.entries()))?;
    let mut entries = map.entries().to_vec();
    hash_order::by_key(&mut entries);
    write_entries(rt, &entries, out)
}

fn write_entries(rt: &QueryContext, entries: &[(Arc<str>, Value)], out: &mut Text) -> Result<()> {
    out.push("{")?;
    for (at, (key, item)) in entries.iter().enumerate() {
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
    // Lists within the list are not looked into.
    let of_list = |items: &[Value]| {
        let mut names = items.iter().map(|item| match item {
            Value::List(_) => "LIST".to_owned(),
            item => type_name(item),
        });
        let first = names.next().unwrap_or_else(|| "ANY".to_owned());
        match names.all(|name| name == first) {
            true => format!("LIST OF {first}"),
            false => "LIST OF ANY".to_owned(),
        }
    };
    match value {
        Value::List(items) => of_list(items),
        Value::Stored(_) => match &*value.type_name().to_uppercase() {
            "LOCAL DATETIME" => "LOCAL_DATE_TIME".to_owned(),
            "DATETIME" => "DATE_TIME".to_owned(),
            "LOCAL TIME" => "LOCAL_TIME".to_owned(),
            other => other.to_owned(),
        },
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
    let mut told = Told::default();
    let mut tell = |part: &str| told.quote(part);
    tell(parts.next().unwrap_or_default());
    for part in parts {
        let mut letters = part.chars();
        match letters.next() {
            Some('s' | 'd') => {
                match params.next() {
                    Some(value) => tell(&super::key(value)?),
                    None => tell("%s"),
                }
                tell(letters.as_str());
            }
            _ => {
                tell("%");
                tell(part);
            }
        }
    }
    Err(ExecError::Argument {
        message: told.into_text(),
    })
}
