//! Properties, labels, elements and slices of values.
//!
//! # How it works
//! A property of a whole column of nodes is one gather from the node column, in id order, so that
//! each page is pinned once; relationships are grouped by type first, as each type has its own
//! column per key.

use std::borrow::Cow;
use std::sync::Arc;

use graven_storage::{KeyId, LabelId, NodeId, NodeRanges, PropertyValue, TypeId};
use graven_temporal::component::{Component, component};
use graven_types::told;

use super::rows::{as_list, values};
use crate::column::{Column, NULL_ID};
use crate::error::{ExecError, Result};
use crate::growth::charge;
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::arithmetic::as_integer;

/// `base.key` for a column of bases.
pub(super) fn read(
    base: &Column,
    key: &Arc<str>,
    key_id: Option<KeyId>,
    rt: &QueryContext,
) -> Result<Column> {
    let key_id = rt.key_by_now(key_id, key);
    match base {
        Column::Nodes(ids) => rt.node_properties(ids, key_id),
        Column::Relationships(ids) => rt.relationship_properties(ids, key_id),
        Column::Constant(Value::Node(id), n) => {
            let one = rt.node_properties(&[id.0], key_id)?;
            Ok(Column::Constant(one.value(0), *n))
        }
        Column::Constant(value, n) => Ok(Column::Constant(of_value(value, key, key_id, rt)?, *n)),
        _ => {
            let column = values(
                rt,
                (0..base.len()).map(|row| of_value(&base.get(row), key, key_id, rt)),
            )?;
            Ok(Arc::unwrap_or_clone(column))
        }
    }
}

/// `value.key` for one value.
fn of_value(value: &Value, key: &str, key_id: Option<KeyId>, rt: &QueryContext) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Map(map) => Ok(map.get(key).cloned().unwrap_or_default()),
        Value::Node(id) => Ok(rt.node_properties(&[id.0], key_id)?.value(0)),
        Value::Relationship(id) => Ok(rt.relationship_properties(&[id.0], key_id)?.value(0)),
        Value::Stored(stored) => of_stored(stored, key),
        other => Err(ExecError::Type {
            message: told!(
                "{} has no property {key}: expected a Node, Relationship or Map",
                other.type_name()
            ),
        }),
    }
}

/// A part of a date, time, duration or point.
fn of_stored(stored: &PropertyValue, key: &str) -> Result<Value> {
    if let PropertyValue::Point(point) = stored {
        return super::functions::spatial::component(point, key);
    }
    match component(stored, key) {
        Some(Component::Integer(i)) => Ok(Value::Integer(i)),
        Some(Component::Text(text)) => Ok(Value::text(&text)),
        None => Err(ExecError::Value {
            message: told!("{} has no part {key}", stored.type_name()),
        }),
    }
}

/// `base[index]`
pub(super) fn index(base: &Value, index: &Value, rt: &QueryContext) -> Result<Value> {
    match (base, index) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::List(items), Value::Integer(i)) => {
            Ok(position(*i, items.len()).map_or(Value::Null, |at| items[at].clone()))
        }
        (
            Value::Map(_) | Value::Node(_) | Value::Relationship(_) | Value::Stored(_),
            Value::String(key),
        ) => of_value(base, key, rt.key_id(key), rt),
        (Value::Map(_) | Value::Node(_) | Value::Relationship(_), other) => Err(ExecError::Named {
            kind: "TypeError",
            detail: "MapElementAccessByNonString",
            message: told!(
                "a {} is accessed by a String, got {}: {other}",
                base.type_name(),
                other.type_name()
            ),
        }),
        _ => {
            let instead = match base.as_vector() {
                Some(_) => "; toFloatList(v) and toIntegerList(v) are lists of its coordinates",
                None => "",
            };
            Err(ExecError::Type {
                message: told!(
                    "cannot take element {index} ({}) of {}{instead}",
                    index.type_name(),
                    base.type_name()
                ),
            })
        }
    }
}

/// The 0-based position that an index, negative ones from the end, names in a list of `len`.
fn position(index: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    let at = if index < 0 { index + len } else { index };
    (0..len).contains(&at).then_some(usize::try_from(at).ok()?)
}

/// `base[from..to]`; an absent bound is the end of the list on that side, a null one makes null.
pub(super) fn slice(base: &Value, from: Option<Value>, to: Option<Value>) -> Result<Value> {
    if [&from, &to].contains(&&Some(Value::Null)) {
        return Ok(Value::Null);
    }
    let Some(items) = as_list(base) else {
        return Ok(Value::Null);
    };
    let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let bound = |value: Option<Value>, default: i64| match value {
        None => Ok(default),
        Some(value) => match as_integer(&value) {
            Some(i) => Ok(if i < 0 { (i + len).max(0) } else { i.min(len) }),
            None => Err(ExecError::Type {
                message: told!("a slice needs Integer bounds, got {}", value.type_name()),
            }),
        },
    };
    let (from, to) = (bound(from, 0)?, bound(to, len)?);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "both bounds lie between 0 and the length"
    )]
    let part = if from < to {
        &items[from as usize..to as usize]
    } else {
        &[]
    };
    charge(size_of_val(part))?;
    Ok(Value::List(part.into()))
}

/// Fewer nodes than these are asked for their labels one by one.
const EXTENTS_FROM: usize = 16;

/// Where the nodes of each of these labels lie, if that can be told.
fn extents_of(labels: &[Option<LabelId>], rt: &QueryContext) -> Option<Vec<NodeRanges>> {
    let extents = labels.iter().map(|label| match label {
        Some(label) => rt.extents_of(*label),
        None => Some(NodeRanges::default()),
    });
    extents.collect()
}

/// Whether all nodes lie in the range that holds the first of them. None is null then, as no range
/// holds that.
fn lie_in_one(ids: &[u64], ranges: &NodeRanges) -> bool {
    let Some(first) = ids.first() else {
        return true;
    };
    ranges.range_with(NodeId(*first)).is_some_and(|range| {
        let length = range.end - range.start;
        // Without a way out, so that many are compared at a time.
        !ids.iter().fold(false, |out, id| {
            out | (id.wrapping_sub(range.start) >= length)
        })
    })
}

/// `base:A:B` for a column of nodes (all labels) or relationships (the type).
pub(super) fn has_labels(
    base: &Column,
    labels: &[Option<LabelId>],
    types: &[Option<TypeId>],
    rt: &QueryContext,
) -> Result<Column> {
    if let Column::Nodes(ids) = base
        && ids.len() >= EXTENTS_FROM
        && let Some(extents) = extents_of(labels, rt)
    {
        if extents.iter().all(|ranges| lie_in_one(ids, ranges)) {
            return Ok(Column::Constant(Value::Boolean(true), ids.len()));
        }
        let truth = |id: &u64| {
            let node = NodeId(*id);
            (*id != NULL_ID).then(|| extents.iter().all(|ranges| ranges.contains(node)))
        };
        return Ok(Column::from_truths(ids.iter().map(truth).collect()));
    }
    if let Column::Nodes(ids) = base
        && !ids.contains(&NULL_ID)
    {
        return Ok(Column::Booleans(
            ids.iter()
                .map(|id| rt.has_all_labels(*id, labels))
                .collect::<Result<_>>()?,
        ));
    }
    let mut truths = Vec::with_capacity(base.len());
    for row in 0..base.len() {
        let value: Cow<'_, Value> = base.get(row);
        truths.push(match &*value {
            Value::Null => None,
            Value::Node(id) => Some(rt.has_all_labels(id.0, labels)?),
            Value::Relationship(id) => {
                let rel_type = rt.relationship_type(id.0)?;
                Some(types.iter().all(|t| *t == Some(rel_type)))
            }
            other => {
                // Labels are known here by their numbers, which what stands for a node has not.
                return Err(ExecError::Type {
                    message: told!("{} has no labels", other.type_name()),
                });
            }
        });
    }
    Ok(Column::from_truths(truths))
}
