//! `apoc.text.toCypher`: values as they stand in statements.
//!
//! # How it works
//! What is left out by the configuration, and values that have no form there, are `None` and are
//! not written. Names that are no words stand between backticks, texts have their quotes escaped.

use std::sync::Arc;

use graven_cypher::token::written_name;

use super::{list, map};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::{Text, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::equality::equivalent;

pub(in crate::expression) const FUNCTIONS: &[Function] =
    &[Function::new("apoc.text.tocypher", (1, 2), to_cypher)];

const NAME: &str = "apoc.text.toCypher";

/// What the configuration says.
struct Config<'a> {
    keep_keys: Option<&'a [Value]>,
    skip_keys: Option<&'a [Value]>,
    keep_values: Option<&'a [Value]>,
    skip_values: Option<&'a [Value]>,
    /// Names of variables for a node, a relationship and its ends.
    node: Option<&'a str>,
    relationship: Option<&'a str>,
    start: Option<&'a str>,
    end: Option<&'a str>,
}

fn to_cypher(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let config = args
        .get(1)
        .map(|given| map(NAME, given))
        .transpose()?
        .flatten();
    let values = |key: &str| match config.and_then(|config| config.get(key)) {
        Some(value) => list(NAME, value),
        None => Ok(None),
    };
    let word = |key: &str| match config.and_then(|config| config.get(key)) {
        Some(Value::String(name)) => Some(&**name),
        _ => None,
    };
    let config = Config {
        keep_keys: values("keepKeys")?,
        skip_keys: values("skipKeys")?,
        keep_values: values("keepValues")?,
        skip_values: values("skipValues")?,
        node: word("node"),
        relationship: word("relationship"),
        start: word("start"),
        end: word("end"),
    };
    let mut out = Text::default();
    match write(rt, &args[0], &config, &mut out)? {
        true => out.value(),
        false => Ok(Value::Null),
    }
}

/// Writes a value; whether it has a form, and is not left out.
fn write(rt: &QueryContext, value: &Value, config: &Config<'_>, out: &mut Text) -> Result<bool> {
    work(1)?;
    if !config.keeps(value) {
        return Ok(false);
    }
    match value {
        Value::Null => out.push("null")?,
        Value::Boolean(_) | Value::Integer(_) | Value::Float(_) => out.push(&value.to_string())?,
        Value::String(text) => {
            out.push("'")?;
            out.push(&text.replace('\\', "\\\\").replace('\'', "\\'"))?;
            out.push("'")?;
        }
        Value::List(items) => {
            out.push("[")?;
            let mut first = true;
            for item in items.iter() {
                let mut part = Text::default();
                if write(rt, item, config, &mut part)? {
                    push_part(out, &mut first, "", part)?;
                }
            }
            out.push("]")?;
        }
        Value::Node(id) => {
            out.push("(")?;
            out.push(&config.node.map(written_name).unwrap_or_default())?;
            for label in rt.labels_of(id.0)? {
                out.push(&format!(":{}", written_name(&label)))?;
            }
            out.push(" ")?;
            write_entries(rt, rt.all_node_properties(id.0)?, config, out)?;
            out.push(")")?;
        }
        Value::Relationship(id) => {
            let (start, end) = rt.endpoints(id.0)?;
            write_end(rt, Value::Node(start), config.start, config, out)?;
            let name = config.relationship.map(written_name).unwrap_or_default();
            let rel_type = rt.type_name(rt.relationship_type(id.0)?);
            out.push(&format!("-[{name}:{} ", written_name(&rel_type)))?;
            write_entries(rt, rt.all_relationship_properties(id.0)?, config, out)?;
            out.push("]->")?;
            write_end(rt, Value::Node(end), config.end, config, out)?;
        }
        Value::Path(path) => {
            out.push("[")?;
            let mut first = true;
            for (at, node) in path.nodes.iter().enumerate() {
                let rel = path.relationships.get(at).copied().map(Value::Relationship);
                for element in [Some(Value::Node(*node)), rel].into_iter().flatten() {
                    let mut part = Text::default();
                    if write(rt, &element, config, &mut part)? {
                        push_part(out, &mut first, "", part)?;
                    }
                }
            }
            out.push("]")?;
        }
        Value::Map(map) => write_entries(rt, map.entries().to_vec(), config, out)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn write_end(
    rt: &QueryContext,
    node: Value,
    name: Option<&str>,
    config: &Config<'_>,
    out: &mut Text,
) -> Result<()> {
    match name {
        Some(name) => out.push(&format!("({})", written_name(name))),
        None => write(rt, &node, config, out).map(|_| ()),
    }
}

fn write_entries(
    rt: &QueryContext,
    mut entries: Vec<(Arc<str>, Value)>,
    config: &Config<'_>,
    out: &mut Text,
) -> Result<()> {
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    out.push("{")?;
    let mut first = true;
    for (key, value) in entries.iter().filter(|(key, _)| config.shows(key)) {
        let mut part = Text::default();
        if write(rt, value, config, &mut part)? {
            push_part(out, &mut first, &format!("{}:", written_name(key)), part)?;
        }
    }
    out.push("}")
}

fn push_part(out: &mut Text, first: &mut bool, before: &str, part: Text) -> Result<()> {
    if !std::mem::take(first) {
        out.push(",")?;
    }
    out.push(before)?;
    match part.value()? {
        Value::String(text) => out.push(&text),
        _ => Ok(()),
    }
}

impl Config<'_> {
    fn shows(&self, key: &str) -> bool {
        let is = |value: &Value| matches!(value, Value::String(name) if **name == *key);
        let kept = self.keep_keys.is_none_or(|keys| keys.iter().any(is));
        kept && !self.skip_keys.is_some_and(|keys| keys.iter().any(is))
    }

    /// A value is left out if one that is to be kept is of its kind and differs, or if it is to be
    /// left out.
    fn keeps(&self, value: &Value) -> bool {
        let is_plain = |value: &Value| {
            matches!(
                value,
                Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::String(_)
            )
        };
        let is_alike = |other: &Value| {
            is_plain(value) && is_plain(other)
                || std::mem::discriminant(value) == std::mem::discriminant(other)
        };
        let differs = |other: &Value| is_alike(other) && !equivalent(value, other);
        let is_kept = self.keep_values.is_none_or(|all| !all.iter().any(differs));
        let is_left_out = self.skip_values.is_some_and(|all| {
            let mut all = all.iter();
            all.any(|other| equivalent(value, other))
        });
        is_kept && !is_left_out
    }
}
