//! Groups rows and computes aggregates; without keys exactly one row.
//!
//! # How it works
//! A [`KeyTable`] gives every row the dense number of its group; each aggregate keeps one state per group
//! (see [`accumulator`]) and takes a whole column of arguments at a time. Groups come out in order of first
//! appearance. All states are charged to the budget.

pub(super) mod accumulator;

use std::sync::Arc;

use graven_cypher::plan::AggregateFunction;
use graven_pagecache::Budget;

use super::row_key::KeyTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::value::Value;
use accumulator::Accumulator;

/// One aggregate to compute.
pub(crate) struct Call {
    pub(crate) function: AggregateFunction,
    pub(crate) argument: Option<Compiled>,
    pub(crate) parameter: Option<Compiled>,
    pub(crate) distinct: bool,
}

/// See the file header. Output columns: keys, then aggregates.
pub(crate) struct Aggregate {
    input: BoxedOperator,
    keys: Vec<Compiled>,
    calls: Vec<Call>,
    memory: Memory,
    output: Option<Output>,
}

struct Output {
    /// Key columns of all groups, in parts of up to one batch.
    keys: Vec<Batch>,
    results: Vec<std::vec::IntoIter<Value>>,
    groups_left: usize,
    next_part: usize,
}

impl Aggregate {
    /// Groups `input` by `keys`.
    pub(crate) fn new(
        input: BoxedOperator,
        keys: Vec<Compiled>,
        calls: Vec<Call>,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            input,
            keys,
            calls,
            memory: Memory::new(budget, "Aggregate", "group or collect fewer rows"),
            output: None,
        }
    }

    fn fill(&mut self, rt: &Runtime) -> Result<Output> {
        let mut table = KeyTable::default();
        let mut first_rows: Vec<Batch> = Vec::new();
        let mut accumulators = self
            .calls
            .iter()
            .map(|call| {
                let parameter = call
                    .parameter
                    .as_ref()
                    .map(|p| p.constant(rt))
                    .transpose()?;
                Accumulator::new(call.function, call.distinct, parameter)
            })
            .collect::<Result<Vec<_>>>()?;
        let grouped = !self.keys.is_empty();
        let mut groups = usize::from(!grouped);
        accumulators.iter_mut().for_each(|a| a.grow(groups));
        let mut numbers = Vec::new();
        while let Some(batch) = self.input.next(rt)? {
            rt.check_cancelled()?;
            let rows = Rows::all(&batch);
            if grouped {
                let keys = columns(&self.keys, rows, rt)?;
                let bytes = table.insert(&keys, batch.len(), &mut numbers);
                let fresh = fresh_rows(&numbers, groups);
                groups += fresh.len();
                let state = size_of::<accumulator::State>() * self.calls.len() * fresh.len();
                let kept = Batch::new(keys, batch.len()).gather(&fresh);
                self.memory.charge(bytes + state + kept.heap_bytes())?;
                if !kept.is_empty() {
                    first_rows.push(kept);
                }
            } else {
                numbers.clear();
                numbers.resize(batch.len(), 0);
            }
            for (accumulator, call) in accumulators.iter_mut().zip(&self.calls) {
                accumulator.grow(groups);
                let argument = call
                    .argument
                    .as_ref()
                    .map(|a| a.column(rows, rt))
                    .transpose()?;
                let bytes = accumulator.add(&numbers, argument.as_deref())?;
                self.memory.charge(bytes)?;
            }
        }
        Ok(Output {
            keys: first_rows,
            results: accumulators
                .into_iter()
                .map(|a| Ok(a.finish()?.into_iter()))
                .collect::<Result<_>>()?,
            groups_left: groups,
            next_part: 0,
        })
    }
}

impl Output {
    fn next(&mut self, width: usize) -> Option<Batch> {
        if self.groups_left == 0 {
            return None;
        }
        let (mut columns, rows) = if width == 0 {
            (Vec::new(), self.groups_left.min(BATCH_ROWS))
        } else {
            let part = std::mem::take(&mut self.keys[self.next_part]);
            self.next_part += 1;
            (part.columns().to_vec(), part.len())
        };
        for result in &mut self.results {
            let values = result.by_ref().take(rows).collect();
            columns.push(Arc::new(Column::from_values(values)));
        }
        self.groups_left -= rows;
        Some(Batch::new(columns, rows))
    }
}

/// The key columns, or any other list of expressions, of a batch.
pub(super) fn columns(
    exprs: &[Compiled],
    rows: Rows<'_>,
    rt: &Runtime,
) -> Result<Vec<Arc<Column>>> {
    exprs.iter().map(|e| e.column(rows, rt)).collect()
}

/// Rows whose group number appears for the first time; numbers are dense in order of appearance.
fn fresh_rows(numbers: &[u32], known: usize) -> Vec<u32> {
    let mut next = known;
    let mut fresh = Vec::new();
    for (row, number) in numbers.iter().enumerate() {
        if *number as usize == next {
            next += 1;
            fresh.push(u32::try_from(row).expect("a batch is small"));
        }
    }
    fresh
}

impl Operator for Aggregate {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.output.is_none() {
            self.output = Some(self.fill(rt)?);
        }
        let width = self.keys.len();
        let batch = self.output.as_mut().and_then(|o| o.next(width));
        if batch.is_none() {
            self.memory.clear();
        }
        Ok(batch)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.memory.clear();
        self.output = None;
    }
}
