//! Comprehensions, quantifiers and `reduce`: bodies that run over list elements; and bodies that
//! run over a named value.
//!
//! # How it works
//! The lists of several rows are laid out one behind the other as a column of elements, with the
//! outer columns that the body reads repeated beside it; the body then runs over that batch. At
//! most about [`ELEMENTS_OF_A_ROW`] for each row of a batch are laid out at once (a single longer
//! list is one group), so memory does not grow with rows x lists. `reduce` is sequential in one
//! list but runs step by step over all rows at a time. Its accumulators are the only values that a
//! short statement can grow without end: they are charged to the budget and may not nest deeper
//! than [`DEPTH_MAX`], because values are compared, hashed, written and dropped recursively.

use std::sync::Arc;

use graven_cypher::plan::expression::Quantifier;
use graven_types::told;

use super::rows::{as_list, row_number, truth};
use super::{Compiled, ListScope, Rows, lazy};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::growth::Share;
use crate::memory::Memory;
use crate::query_context::QueryContext;
use crate::value::Value;

/// Elements laid out at once, for each row of a batch.
const ELEMENTS_OF_A_ROW: usize = 4;
/// Lists and maps within one another in an accumulator.
const DEPTH_MAX: usize = 256;

/// The elements of some rows' lists as a batch of their own.
struct Elements {
    columns: Vec<Arc<Column>>,
    /// Row of each element, counted within the group.
    owners: Vec<u32>,
}

/// Calls `body` for groups of rows: first row, null flags of the rows' lists, their elements.
fn for_groups(
    scope: &ListScope,
    rows: Rows<'_>,
    rt: &QueryContext,
    mut body: impl FnMut(&[bool], &Elements) -> Result<usize>,
) -> Result<()> {
    let lists = scope.list.held_column(rows, rt)?;
    let at_once = rt.batch_rows() * ELEMENTS_OF_A_ROW;
    let mut row = 0;
    while row < rows.len() {
        let first = row;
        let held = rt.growth.held();
        let beside = size_of::<u64>() * (2 + 2 * scope.captured.len());
        let mut elements = Vec::new();
        let mut owners = Vec::new();
        let mut nulls = Vec::new();
        while row < rows.len() && (row == first || elements.len() < at_once) {
            let list = lists.get(row);
            let items = as_list(&list);
            nulls.push(items.is_none());
            let len = items.map_or(0, <[Value]>::len);
            // The elements laid out, and what stands beside them; what becomes of them is charged
            // as it comes.
            rt.growth
                .charge(len.saturating_mul(size_of::<Value>() + beside))?;
            rt.growth.work(len)?;
            for item in items.unwrap_or_default() {
                elements.push(item.clone());
                owners.push(row_number(row - first));
            }
            row += 1;
        }
        let outer: Vec<u32> = owners.iter().map(|o| o + row_number(first)).collect();
        let outer = rows.compose(&outer);
        let columns = scope_columns(scope, rows, &outer, Column::from_values(elements));
        // Numbers take a third of what they took as values.
        let laid_out = match &*columns[scope.var] {
            Column::Values(values) => size_of_val(&values[..]),
            Column::Constant(..) => 0,
            numbers => numbers.heap_bytes(),
        };
        rt.growth
            .keep(held + (laid_out + owners.len() * beside) as u64)?;
        let made = body(&nulls, &Elements { columns, owners })?;
        rt.growth.keep(held + made as u64)?;
    }
    Ok(())
}

/// Columns the body sees: captured ones repeated as `outer` says, the element variable, nothing
/// elsewhere.
fn scope_columns(
    scope: &ListScope,
    rows: Rows<'_>,
    outer: &[u32],
    elements: Column,
) -> Vec<Arc<Column>> {
    let unused = Arc::new(Column::Constant(Value::Null, outer.len()));
    let mut columns = vec![unused; scope.width];
    for &slot in &scope.captured {
        columns[slot] = Arc::new(rows.columns[slot].gather(outer));
    }
    columns[scope.var] = Arc::new(elements);
    columns
}

/// A body that reads a value of its own, computed once a row.
pub(super) fn named(
    scope: &ListScope,
    body: &Compiled,
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let value = scope.list.held_column(rows, rt)?;
    let unused = Arc::new(Column::Constant(Value::Null, rows.len()));
    let mut columns = vec![unused; scope.width];
    for &slot in &scope.captured {
        columns[slot] = rows.column(slot);
    }
    columns[scope.var] = value;
    body.held_column(Rows::of_columns(&columns, rows.len()), rt)
}

/// `[x IN list WHERE filter | map]`
pub(super) fn comprehension(
    scope: &ListScope,
    filter: Option<&Compiled>,
    map: Option<&Compiled>,
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let mut result = Vec::with_capacity(rows.len());
    for_groups(scope, rows, rt, |nulls, elements| {
        let all = Rows::of_columns(&elements.columns, elements.owners.len());
        let kept = match filter {
            Some(filter) => filter.true_rows(all, rt)?,
            None => (0..row_number(all.len())).collect(),
        };
        let body = match map {
            Some(map) => map.held_column(all.select(&kept), rt)?,
            None => all.select(&kept).column(scope.var),
        };
        // What the body has, and what the lists are made of, is there twice for a moment.
        rt.growth.charge(kept.len() * size_of::<Value>())?;
        let mut lists: Vec<Vec<Value>> = vec![Vec::new(); nulls.len()];
        for (i, &element) in kept.iter().enumerate() {
            lists[elements.owners[element as usize] as usize].push(body.value(i));
        }
        drop(body);
        let (mut made, mut share) = (0, Share::default());
        for (null, list) in nulls.iter().zip(lists) {
            let list = match null {
                true => Value::Null,
                false => Value::list(list),
            };
            made += share.of(&list);
            result.push(list);
        }
        Ok(made)
    })?;
    Ok(Arc::new(Column::from_values(result)))
}

/// `all|any|none|single(x IN list WHERE predicate)`
pub(super) fn quantifier(
    kind: Quantifier,
    scope: &ListScope,
    predicate: &Compiled,
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let mut result = Vec::with_capacity(rows.len());
    for_groups(scope, rows, rt, |nulls, elements| {
        let all = Rows::of_columns(&elements.columns, elements.owners.len());
        let held = rt.growth.held();
        let counts = count(predicate, all, nulls.len(), &elements.owners, rt);
        let counts = lazy::or_by_row(counts, all, rt, held, || {
            count_in_order(kind, predicate, all, nulls.len(), &elements.owners, rt)
        })?;
        result.extend(nulls.iter().zip(counts).map(|(null, counts)| match null {
            true => None,
            false => counts.decide(kind),
        }));
        Ok(0)
    })?;
    Ok(Arc::new(Column::from_truths(result)))
}

/// How many elements of a list a predicate is true, false or unknown of.
#[derive(Clone, Copy, Default)]
struct Counts {
    yes: u64,
    no: u64,
    unknown: u64,
}

impl Counts {
    fn add(&mut self, truth: Option<bool>) {
        *match truth {
            Some(true) => &mut self.yes,
            Some(false) => &mut self.no,
            None => &mut self.unknown,
        } += 1;
    }

    /// Whether no further element changes the answer.
    fn is_decided(self, kind: Quantifier) -> bool {
        match kind {
            Quantifier::All => self.no > 0,
            Quantifier::Any | Quantifier::None => self.yes > 0,
            Quantifier::Single => self.yes > 1,
        }
    }

    fn decide(self, kind: Quantifier) -> Option<bool> {
        match (kind, self.is_decided(kind)) {
            (Quantifier::Any, true) => Some(true),
            (_, true) => Some(false),
            _ if self.unknown > 0 => None,
            (Quantifier::All | Quantifier::None, _) => Some(true),
            (Quantifier::Any, _) => Some(false),
            (Quantifier::Single, _) => Some(self.yes == 1),
        }
    }
}

/// The counts of `lists` lists, over all of their elements.
fn count(
    predicate: &Compiled,
    elements: Rows<'_>,
    lists: usize,
    owners: &[u32],
    rt: &QueryContext,
) -> Result<Vec<Counts>> {
    let truths = predicate.held_column(elements, rt)?;
    let mut counts = vec![Counts::default(); lists];
    for (i, &owner) in owners.iter().enumerate() {
        counts[owner as usize].add(truth(&truths, i)?);
    }
    Ok(counts)
}

/// The counts of `lists` lists, each up to the element that decides.
fn count_in_order(
    kind: Quantifier,
    predicate: &Compiled,
    elements: Rows<'_>,
    lists: usize,
    owners: &[u32],
    rt: &QueryContext,
) -> Result<Vec<Counts>> {
    let mut counts = vec![Counts::default(); lists];
    for (i, &owner) in (0..).zip(owners) {
        let own = &mut counts[owner as usize];
        if !own.is_decided(kind) {
            rt.check_cancelled()?;
            own.add(truth(&*predicate.column(elements.select(&[i]), rt)?, 0)?);
        }
    }
    Ok(counts)
}

/// `reduce(acc = init, x IN list | step)`
pub(super) fn reduce(
    scope: &ListScope,
    accumulator: usize,
    init: &Compiled,
    step: &Compiled,
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let lists = scope.list.held_column(rows, rt)?;
    let start = init.held_column(rows, rt)?;
    let mut result: Vec<Value> = (0..rows.len()).map(|row| start.value(row)).collect();
    let mut open = Vec::new();
    for (row, value) in result.iter_mut().enumerate() {
        match as_list(&lists.get(row)) {
            Some([]) => {}
            Some(_) => open.push(row_number(row)),
            None => *value = Value::Null,
        }
    }
    let mut memory = Memory::new(&rt.budget, "reduce", "accumulate less");
    let limit = usize::try_from(rt.budget.limit()).unwrap_or(usize::MAX);
    let mut sizes = vec![0; rows.len()];
    let mut held = 0;
    let mut position = 0;
    while !open.is_empty() {
        let held_before = rt.growth.held();
        let mut elements = Vec::with_capacity(open.len());
        for &row in &open {
            let list = lists.get(row as usize);
            elements.push(as_list(&list).map_or(Value::Null, |items| items[position].clone()));
        }
        let outer = rows.compose(&open);
        let mut columns = scope_columns(scope, rows, &outer, Column::from_values(elements));
        let so_far = open.iter().map(|&r| result[r as usize].clone()).collect();
        columns[accumulator] = Arc::new(Column::from_values(so_far));
        let stepped = step.held_column(Rows::of_columns(&columns, open.len()), rt)?;
        for (i, &row) in open.iter().enumerate() {
            let value = stepped.value(i);
            let bytes = accumulated(&value, limit)?;
            held = held - sizes[row as usize] + bytes;
            sizes[row as usize] = bytes;
            result[row as usize] = value;
        }
        drop((stepped, columns));
        rt.growth.keep(held_before)?;
        memory.set(held)?;
        position += 1;
        let mut longer = Vec::with_capacity(open.len());
        for &row in &open {
            if as_list(&lists.get(row as usize)).is_some_and(|items| items.len() > position) {
                longer.push(row);
            }
        }
        open = longer;
    }
    Ok(Arc::new(Column::from_values(result)))
}

/// Heap bytes of an accumulator, counted no further than just beyond `limit`.
fn accumulated(value: &Value, limit: usize) -> Result<usize> {
    fn count(value: &Value, depth: usize, limit: usize, bytes: &mut usize) -> Result<()> {
        let is_nested = matches!(value, Value::List(_) | Value::Map(_));
        if !is_nested {
            *bytes += value.heap_bytes();
            return Ok(());
        }
        if depth == DEPTH_MAX {
            return Err(ExecError::Argument {
                message: told!("the accumulator of reduce() nests more than {DEPTH_MAX} deep"),
            });
        }
        let mut each = |value: &Value, own: usize| {
            *bytes += own;
            // A value that holds another one many times is walked as often: enough is enough.
            if *bytes > limit {
                return Ok(false);
            }
            count(value, depth + 1, limit, bytes).map(|()| true)
        };
        match value {
            Value::List(items) => {
                for item in items.iter() {
                    if !each(item, size_of::<Value>())? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for (key, item) in map.entries() {
                    if !each(item, size_of::<(Arc<str>, Value)>() + key.len())? {
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
    let mut bytes = 0;
    count(value, 0, limit, &mut bytes)?;
    Ok(bytes)
}
