//! `apoc.agg`: what the values of a group are, as functions of the list that they make.
//!
//! # How it works
//! Nulls are no values; `collect` has left them out. Of pairs those count that have no null.
//! Percentiles are values that are there: the least with at least that share of all at or below it.
//!
//! # Deviations
//! APOC counts in a histogram of three digits, so that its percentiles of large numbers are near
//! values that are there; here they are exact.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use graven_storage::NodeId;
use graven_types::told;

use super::{integer, list, wrong};
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::{as_float, multiply};
use crate::value::order::total_order;

/// The percentiles where none are named.
const PERCENTILES: [f64; 5] = [0.5, 0.75, 0.9, 0.95, 0.99];

/// A function of a list that is not null.
macro_rules! of_list {
    ($name:literal, $arity:expr, $body:expr) => {
        Function {
            name: $name,
            arity: $arity,
            body: |rt, args| {
                let body: fn(&QueryContext, &[Value], &[Value]) -> Result<Value> = $body;
                match list($name, &args[0])? {
                    Some(values) => body(rt, values, &args[1..]),
                    None => Ok(Value::Null),
                }
            },
        }
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    of_list!("graven.agg.first", (1, 1), |_, values, _| {
        Ok(values.first().cloned().unwrap_or_default())
    }),
    of_list!("graven.agg.graph", (1, 1), graph),
    of_list!("graven.agg.last", (1, 1), |_, values, _| {
        Ok(values.last().cloned().unwrap_or_default())
    }),
    of_list!("graven.agg.maxitems", (1, 2), |_, pairs, args| {
        items("apoc.agg.maxItems", Ordering::Greater, pairs, args)
    }),
    of_list!("graven.agg.median", (1, 1), |_, values, _| median(values)),
    of_list!("graven.agg.minitems", (1, 2), |_, pairs, args| {
        items("apoc.agg.minItems", Ordering::Less, pairs, args)
    }),
    of_list!("graven.agg.nth", (2, 2), nth),
    of_list!("graven.agg.percentiles", (1, 2), |_, values, args| {
        let name = "apoc.agg.percentiles";
        let sorted = sorted(name, values)?;
        let mut found = Items::default();
        for share in shares(name, args.first())? {
            found.push(percentile(&sorted, share))?;
        }
        found.value()
    }),
    of_list!("graven.agg.product", (1, 1), |_, values, _| product(values)),
    of_list!("graven.agg.slice", (1, 3), slice),
    of_list!("graven.agg.statistics", (1, 2), |_, values, args| {
        statistics(values, args.first())
    }),
];

fn float(function: &str, value: &Value) -> Result<f64> {
    as_float(value).ok_or_else(|| wrong(function, "numbers", value))
}

/// The element of this number, counted from 0; -1: the last one.
fn nth(_: &QueryContext, values: &[Value], args: &[Value]) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let found = match integer("apoc.agg.nth", &args[0])? {
        -1 => values.last(),
        at => usize::try_from(at).ok().and_then(|at| values.get(at)),
    };
    Ok(found.cloned().unwrap_or_default())
}

/// So many elements from one on; -1: all of them.
fn slice(_: &QueryContext, values: &[Value], args: &[Value]) -> Result<Value> {
    let name = "apoc.agg.slice";
    if values.is_empty() {
        return Ok(Value::List([].into()));
    }
    let bound = |at: usize, default: i64| {
        args.get(at)
            .map_or(Ok(default), |value| integer(name, value))
    };
    let (from, length) = (bound(0, 0)?, bound(1, -1)?);
    let end = match length {
        -1 => i64::MAX,
        length => from.saturating_add(length),
    };
    let place = |at: i64| usize::try_from(at).unwrap_or(0);
    let (from, end) = (place(from), place(end));
    let mut found = Items::default();
    for value in values.iter().take(end).skip(from) {
        found.push(value.clone())?;
    }
    found.value()
}

fn product(values: &[Value]) -> Result<Value> {
    let mut product = Value::Integer(1);
    for value in values {
        work(1)?;
        float("apoc.agg.product", value)?;
        product = multiply(&product, value)?;
    }
    Ok(match values.is_empty() {
        true => Value::Float(0.0),
        false => product,
    })
}

/// Numbers in order.
fn sorted(function: &str, values: &[Value]) -> Result<Vec<Value>> {
    charge(values.len().saturating_mul(2 * size_of::<Value>()))?;
    work(values.len())?;
    for value in values {
        float(function, value)?;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(total_order);
    Ok(sorted)
}

/// That of the numbers; other values do not count.
fn median(values: &[Value]) -> Result<Value> {
    let name = "apoc.agg.median";
    charge(size_of_val(values))?;
    let numbers = values.iter().filter(|value| as_float(value).is_some());
    let sorted = sorted(name, &numbers.cloned().collect::<Vec<_>>())?;
    let middle = sorted.len() / 2;
    Ok(match sorted.len() {
        0 => Value::Null,
        odd if odd % 2 == 1 => Value::Float(float(name, &sorted[middle])?),
        _ => {
            let (low, high) = (
                float(name, &sorted[middle - 1])?,
                float(name, &sorted[middle])?,
            );
            Value::Float(low / 2.0 + high / 2.0)
        }
    })
}

/// The shares that percentiles are asked for.
fn shares(function: &str, given: Option<&Value>) -> Result<Vec<f64>> {
    let Some(given) = given else {
        return Ok(PERCENTILES.to_vec());
    };
    let given = list(function, given)?.unwrap_or_default();
    charge(given.len().saturating_mul(8))?;
    let share = |value: &Value| {
        let share = float(function, value)?;
        match (0.0..=1.0).contains(&share) {
            true => Ok(share),
            false => Err(ExecError::Argument {
                message: told!("{function}() needs percentiles from 0.0 to 1.0, got {value}"),
            }),
        }
    };
    given.iter().map(share).collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list"
)]
fn percentile(sorted: &[Value], share: f64) -> Value {
    // The nearest place, as in the histogram of APOC.
    let rank = (share * sorted.len() as f64 + 0.5) as usize;
    let last = sorted.len().saturating_sub(1);
    let found = sorted.get(rank.saturating_sub(1).min(last));
    found.cloned().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn statistics(values: &[Value], given: Option<&Value>) -> Result<Value> {
    let name = "apoc.agg.statistics";
    let shares = shares(name, given)?;
    let sorted = sorted(name, values)?;
    let (mut mean, mut squares) = (0.0, 0.0);
    for (at, value) in sorted.iter().enumerate() {
        let value = float(name, value)?;
        let before = value - mean;
        mean += before / (at + 1) as f64;
        squares += before * (value - mean);
    }
    let end = |value: Option<&Value>| value.cloned().unwrap_or_default();
    let not_zero = sorted.iter().find(|value| as_float(value) != Some(0.0));
    let total = i64::try_from(sorted.len()).unwrap_or(i64::MAX);
    let deviation = (squares / sorted.len().max(1) as f64).sqrt();
    let mut entries: Vec<(Arc<str>, Value)> = vec![
        ("total".into(), Value::Integer(total)),
        ("min".into(), end(sorted.first())),
        (
            "minNonZero".into(),
            not_zero
                .and_then(as_float)
                .map_or(Value::Null, Value::Float),
        ),
        ("max".into(), end(sorted.last())),
        ("mean".into(), Value::Float(mean)),
        ("stdev".into(), Value::Float(deviation)),
    ];
    if sorted.is_empty() {
        return Ok(Value::map(entries));
    }
    charge(shares.len().saturating_mul(96))?;
    for share in shares {
        let key = Value::Float(share).to_string();
        entries.push((key.into(), percentile(&sorted, share)));
    }
    Ok(Value::map(entries))
}

/// The items with the least or the greatest values, at most so many of them, but one at least.
fn items(function: &str, wanted: Ordering, pairs: &[Value], args: &[Value]) -> Result<Value> {
    let most = args
        .first()
        .map_or(Ok(-1), |most| integer(function, most))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut best: Option<&Value> = None;
    let mut found = Vec::new();
    for pair in pairs {
        work(1)?;
        let Some([item, value]) = list(function, pair)? else {
            return Err(wrong(function, "an item and a value", pair));
        };
        if item.is_null() || value.is_null() {
            continue;
        }
        let order = best.map_or(wanted, |best| total_order(value, best));
        if order == wanted {
            best = Some(value);
            found.clear();
            found.push(item);
        } else if order == Ordering::Equal && found.len() < most {
            found.push(item);
        }
    }
    let mut items = Items::default();
    for item in found {
        items.push(item.clone())?;
    }
    Ok(Value::map(vec![
        ("items".into(), items.value()?),
        ("value".into(), best.cloned().unwrap_or_default()),
    ]))
}

/// Nodes and relationships of values, each once, with the ends of relationships.
#[derive(Default)]
struct Graph {
    nodes: Items,
    relationships: Items,
    seen: HashSet<(bool, u64), foldhash::fast::FixedState>,
}

impl Graph {
    /// Whether it is new.
    fn sees(&mut self, is_node: bool, id: u64) -> Result<bool> {
        charge(2 * size_of::<(bool, u64)>())?;
        Ok(self.seen.insert((is_node, id)))
    }

    fn node(&mut self, id: NodeId) -> Result<()> {
        match self.sees(true, id.0)? {
            true => self.nodes.push(Value::Node(id)),
            false => Ok(()),
        }
    }

    fn take(&mut self, rt: &QueryContext, value: &Value) -> Result<()> {
        work(1)?;
        match value {
            Value::Null => {}
            Value::Node(id) => self.node(*id)?,
            Value::Relationship(id) => {
                let (start, end) = rt.endpoints(id.0)?;
                self.node(start)?;
                self.node(end)?;
                if self.sees(false, id.0)? {
                    self.relationships.push(value.clone())?;
                }
            }
            Value::Path(path) => {
                for id in &path.nodes {
                    self.node(*id)?;
                }
                for id in &path.relationships {
                    if self.sees(false, id.0)? {
                        self.relationships.push(Value::Relationship(*id))?;
                    }
                }
            }
            Value::List(values) => {
                for value in values.iter() {
                    self.take(rt, value)?;
                }
            }
            other => {
                let wanted = "nodes, relationships, paths and lists of them";
                return Err(wrong("apoc.agg.graph", wanted, other));
            }
        }
        Ok(())
    }
}

fn graph(rt: &QueryContext, values: &[Value], _: &[Value]) -> Result<Value> {
    let mut graph = Graph::default();
    for value in values {
        graph.take(rt, value)?;
    }
    Ok(Value::map(vec![
        ("nodes".into(), graph.nodes.value()?),
        ("relationships".into(), graph.relationships.value()?),
    ]))
}
