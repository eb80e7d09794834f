//! Nodes found by an indexed property, and nodes or relationships by what identifies them, per
//! input row.
//!
//! # How it works
//! The sought values are computed for a whole input batch. Single values of an index are looked for
//! together ([`graven_storage::Index::find_each`]), as many rows ahead as their values take little
//! memory; once as many were looked for as the index has, in a table of its keys ([`KeptKeys`]).
//! Other matches are fetched when their row is reached, those of a range or of a value with many
//! nodes as they are handed out. Without an index on (label, key), which the planner avoids but a
//! plan may outlive, the label is scanned and compared.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use graven_cypher::plan::{IdForm, Inclusion};
use graven_storage::{FoundEach, KeyId, LabelId};
use graven_types::told;

use super::row_expander::RowExpander;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::{Found, KeptKeys, QueryContext};
use crate::value::Value;
use crate::value::convert::to_stored;
use crate::value::equality::equals;
use crate::value::order::{Comparison, compare};

/// Fewer rows than this are looked for one by one.
const AHEAD_MIN: usize = 4;
/// Values of rows ahead take about so many bytes outside of themselves.
const AHEAD_BYTES: u64 = 64 << 10;

/// How nodes are sought.
pub(crate) enum SeekBy {
    /// Label and key with this value; with `any` each element of a list.
    Value {
        label: Option<LabelId>,
        key: Option<KeyId>,
        value: Compiled,
        any: bool,
    },
    /// Label and key within a range.
    Range {
        label: Option<LabelId>,
        key: Option<KeyId>,
        low: Option<(Compiled, Inclusion)>,
        high: Option<(Compiled, Inclusion)>,
    },
    /// Id, of nodes or of relationships; with `any` each element of a list.
    Id {
        relationships: bool,
        form: IdForm,
        value: Compiled,
        any: bool,
    },
}

/// See the file header.
pub(crate) struct NodeSeek {
    input: RowExpander,
    slot: usize,
    by: Arc<SeekBy>,
    /// Sought values of the current batch: one or two columns.
    sought: Vec<Option<Arc<Column>>>,
    /// What was looked for ahead, and for which rows of the batch.
    ahead: Option<(FoundEach, Range<usize>)>,
    keys: KeptKeys,
    /// Matches of the current row.
    matches: Option<Matches>,
    /// Charged for matches that are collected.
    memory: Memory,
}

/// Matches of one row.
enum Matches {
    /// Collected, and how many of them are handed out.
    Collected(Vec<u64>, usize),
    /// Coming out of the index.
    Found(Found),
}

impl Matches {
    /// Adds up to `room` nodes; whether there may be more.
    fn take(&mut self, room: usize, ids: &mut Vec<u64>) -> Result<bool> {
        match self {
            Self::Collected(nodes, done) => {
                let take = (nodes.len() - *done).min(room);
                ids.extend_from_slice(&nodes[*done..*done + take]);
                *done += take;
                Ok(*done < nodes.len())
            }
            Self::Found(found) => {
                let before = ids.len();
                found.take(room, ids)?;
                Ok(ids.len() - before == room)
            }
        }
    }
}

impl NodeSeek {
    /// Seeks into column `slot`.
    pub(crate) fn new(
        input: BoxedOperator,
        slot: usize,
        by: Arc<SeekBy>,
        rt: &QueryContext,
    ) -> Self {
        let remedy = "create an index or look for fewer values";
        let memory = || Memory::new(&rt.budget, "NodeSeek", remedy);
        Self {
            input: RowExpander::new(input),
            slot,
            by,
            sought: Vec::new(),
            ahead: None,
            keys: KeptKeys::new(memory()),
            matches: None,
            memory: memory(),
        }
    }
}

impl NodeSeek {
    /// Adds the nodes of a row that are looked for ahead, if there is room for all of them; whether
    /// it did.
    fn take_ahead(
        &mut self,
        row: usize,
        room: usize,
        ids: &mut Vec<u64>,
        rt: &QueryContext,
    ) -> Result<bool> {
        let known = self.ahead.as_ref();
        if known.is_none_or(|(_, rows)| rows.end <= row) {
            let rows = row..self.input.batch().len().min(row + rt.batch_rows());
            self.ahead = self.by.look_ahead(&self.sought, rows, &mut self.keys, rt)?;
        }
        let Some((found, rows)) = &self.ahead else {
            return Ok(false);
        };
        let nodes = found.of(row - rows.start);
        let nodes = nodes.filter(|nodes| nodes.len() <= room);
        ids.extend_from_slice(nodes.unwrap_or_default());
        Ok(nodes.is_some())
    }
}

impl PhysicalOperator for NodeSeek {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut ids = Vec::new();
        loop {
            let (by, sought, ahead) = (&self.by, &mut self.sought, &mut self.ahead);
            if !self.input.advance(rt, |batch| {
                *sought = by.sought(batch, rt)?;
                *ahead = None;
                Ok(())
            })? {
                return Ok(None);
            }
            let row = self.input.row();
            let room = rt.batch_rows() - ids.len();
            let matches = match self.matches.take() {
                None if self.take_ahead(row, room, &mut ids, rt)? => None,
                None => Some(self.by.matches(&self.sought, row, rt)?),
                begun => begun,
            };
            if let Some(mut matches) = matches {
                if let Matches::Collected(nodes, 0) = &matches
                    && nodes.len() > BATCH_ROWS
                {
                    self.memory.set(nodes.capacity() * size_of::<u64>())?;
                }
                self.matches = matches.take(room, &mut ids)?.then_some(matches);
            }
            rows.resize(ids.len(), u32::try_from(row).expect("a batch is small"));
            if self.matches.is_none() {
                self.input.step();
            }
            let column = match &*self.by {
                SeekBy::Id {
                    relationships: true,
                    ..
                } => Column::Relationships,
                _ => Column::Nodes,
            };
            if let Some(found) = self.input.found_as(self.slot, &rows, &mut ids, column, rt) {
                return Ok(Some(found));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.ahead = None;
        self.matches = None;
        self.memory.clear();
    }
}

impl SeekBy {
    /// The columns of sought values for a new batch.
    fn sought(&self, batch: &Batch, rt: &QueryContext) -> Result<Vec<Option<Arc<Column>>>> {
        let column = |e: &Compiled| e.column(Rows::all(batch), rt);
        Ok(match self {
            Self::Value { value, .. } | Self::Id { value, .. } => vec![Some(column(value)?)],
            Self::Range { low, high, .. } => vec![
                low.as_ref().map(|(e, _)| column(e)).transpose()?,
                high.as_ref().map(|(e, _)| column(e)).transpose()?,
            ],
        })
    }

    /// What an index has for the single values of these rows, and for how many of the rows; nothing
    /// where they are too few, or not looked for by an index.
    fn look_ahead(
        &self,
        sought: &[Option<Arc<Column>>],
        rows: Range<usize>,
        keys: &mut KeptKeys,
        rt: &QueryContext,
    ) -> Result<Option<(FoundEach, Range<usize>)>> {
        let Self::Value {
            label: Some(label),
            key: Some(key),
            any: false,
            ..
        } = self
        else {
            return Ok(None);
        };
        let Some(column) = sought.first().and_then(Option::as_ref) else {
            return Ok(None);
        };
        if rows.len() < AHEAD_MIN {
            return Ok(None);
        }
        let values = || {
            let (mut values, mut bytes) = (Vec::with_capacity(rows.len()), 0);
            for row in rows.clone() {
                let value = to_stored(&column.get(row)).unwrap_or_default();
                bytes += value.heap_bytes();
                values.push(value);
                if bytes > AHEAD_BYTES {
                    break;
                }
            }
            values
        };
        let found = rt.index_find_each(*label, *key, values, keys)?;
        Ok(found.map(|(found, count)| (found, rows.start..rows.start + count)))
    }

    /// Matching nodes of one row, each once.
    fn matches(
        &self,
        sought: &[Option<Arc<Column>>],
        row: usize,
        rt: &QueryContext,
    ) -> Result<Matches> {
        let nothing = || Ok(Matches::Found(Found::Nothing));
        let value = |i: usize| sought[i].as_ref().map(|c| c.value(row));
        match self {
            Self::Value {
                label, key, any, ..
            } => {
                let (Some(label), Some(key)) = (*label, *key) else {
                    return nothing();
                };
                let value = value(0).unwrap_or_default();
                let mut nodes = Vec::new();
                if !*any && rt.index_find(label, key, &value, &mut nodes)? {
                    return Ok(Matches::Collected(nodes, 0));
                }
                let sought = wanted(value, *any)?;
                if let [only] = sought.as_slice() {
                    let bound = Some((only.clone(), Inclusion::Inclusive));
                    if let Some(found) =
                        rt.index_range(label, key, bound.as_ref(), bound.as_ref())?
                    {
                        return Ok(Matches::Found(found));
                    }
                }
                for wanted in sought {
                    equal_nodes(label, key, &wanted, rt, &mut nodes)?;
                }
                nodes.sort_unstable();
                nodes.dedup();
                Ok(Matches::Collected(nodes, 0))
            }
            Self::Range {
                label,
                key,
                low,
                high,
            } => {
                let (Some(label), Some(key)) = (*label, *key) else {
                    return nothing();
                };
                let bound = |i: usize, side: &Option<(Compiled, Inclusion)>| {
                    side.as_ref()
                        .map(|(_, inclusion)| (value(i).unwrap_or_default(), *inclusion))
                };
                nodes_in_range(label, key, bound(0, low), bound(1, high), rt)
            }
            Self::Id {
                relationships,
                form,
                any,
                ..
            } => {
                let kind = if *relationships { 'r' } else { 'n' };
                let mut found = BTreeSet::new();
                for value in wanted(value(0).unwrap_or_default(), *any)? {
                    let id = match form {
                        IdForm::Number => whole_number(&value),
                        IdForm::Element => match &value {
                            Value::String(text) => rt.of_element_id(kind, text),
                            _ => None,
                        },
                    };
                    let Some(id) = id else { continue };
                    let is_there = match relationships {
                        true => rt.relationship_exists(id)?,
                        false => rt.node_exists(id),
                    };
                    if is_there {
                        found.insert(id);
                    }
                }
                Ok(Matches::Collected(found.into_iter().collect(), 0))
            }
        }
    }
}

/// The id that equals a number.
fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(id) => u64::try_from(*id).ok(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative and far from the largest"
        )]
        Value::Float(id) if id.fract() == 0.0 && (0.0..9e18).contains(id) => Some(*id as u64),
        _ => None,
    }
}

/// The values to look for: the value itself, or with `any` its elements. Null looks for nothing.
fn wanted(value: Value, any: bool) -> Result<Vec<Value>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) if any => Ok(items.iter().filter(|v| !v.is_null()).cloned().collect()),
        other if any => Err(ExecError::Type {
            message: told!("IN needs a List on its right, got {}", other.type_name()),
        }),
        other => Ok(vec![other]),
    }
}

fn equal_nodes(
    label: LabelId,
    key: KeyId,
    wanted: &Value,
    rt: &QueryContext,
    nodes: &mut Vec<u64>,
) -> Result<()> {
    if rt.index_seek(label, key, wanted, nodes)? {
        return Ok(());
    }
    scan_label(label, key, rt, nodes, |v| equals(v, wanted) == Some(true))
}

type Bound = Option<(Value, Inclusion)>;

fn nodes_in_range(
    label: LabelId,
    key: KeyId,
    low: Bound,
    high: Bound,
    rt: &QueryContext,
) -> Result<Matches> {
    let bounds = || [&low, &high].into_iter().flatten().map(|(value, _)| value);
    // An index orders all lists, while `<` knows no order where items do not compare.
    if !bounds().any(|bound| matches!(bound, Value::List(_))) {
        // Points and durations have a place in the index, but no order that `<` knows.
        let ordered = |bound: &Value| matches!(compare(bound, bound), Comparison::Ordered(_));
        if !bounds().all(ordered) {
            return Ok(Matches::Found(Found::Nothing));
        }
        if let Some(found) = rt.index_range(label, key, low.as_ref(), high.as_ref())? {
            return Ok(Matches::Found(found));
        }
    }
    let matches = |v: &Value| {
        within(v, low.as_ref(), Ordering::Greater) && within(v, high.as_ref(), Ordering::Less)
    };
    let mut nodes = Vec::new();
    scan_label(label, key, rt, &mut nodes, matches)?;
    nodes.sort_unstable();
    nodes.dedup();
    Ok(Matches::Collected(nodes, 0))
}

/// Whether `value` lies on the `side` of the bound.
fn within(value: &Value, bound: Option<&(Value, Inclusion)>, side: Ordering) -> bool {
    let Some((bound, inclusion)) = bound else {
        return true;
    };
    match compare(value, bound) {
        Comparison::Ordered(Ordering::Equal) => *inclusion == Inclusion::Inclusive,
        Comparison::Ordered(ordering) => ordering == side,
        Comparison::Unordered | Comparison::Unknown => false,
    }
}

/// Nodes of the label whose property passes, found by reading the column.
fn scan_label(
    label: LabelId,
    key: KeyId,
    rt: &QueryContext,
    nodes: &mut Vec<u64>,
    passes: impl Fn(&Value) -> bool,
) -> Result<()> {
    for range in rt.labelled(label)?.ranges() {
        let (mut next, to) = (range.start, range.end);
        while next < to {
            rt.check_cancelled()?;
            let until = to.min(next + BATCH_ROWS as u64);
            let ids: Vec<u64> = (next..until).collect();
            let column = rt.node_properties(&ids, Some(key))?;
            nodes.extend(
                ids.iter()
                    .enumerate()
                    .filter(|(row, _)| passes(&column.get(*row)))
                    .map(|(_, id)| *id),
            );
            next = until;
        }
    }
    Ok(())
}
