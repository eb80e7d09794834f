//! What an inner tree of one row has given for rows alike, so that it is not run again.
//!
//! # How it works
//! A subquery that counts, such as `COUNT { (left)--(right) }`, gives exactly one row, and reads
//! little of the row it runs for. Where that comes back, as two nodes beside each other on many
//! shortest paths do, what it has given is taken from here: values by the number of the key that
//! the inner tree reads. Rows are handed in one by one, and handed on some at a time: one at first,
//! then twice as many each time, so that a limit above is not made to wait for rows that it does
//! not want. Rows before one that fails are handed on before the failure is told: a limit may want
//! no more than them.
//!
//! # Invariants
//! * EX-65 Only trees are asked that give the same for the same: nothing in them is volatile or
//!   writes.

use std::sync::Arc;

use graven_cypher::plan::{AggregateCall, AggregateFunction as F, Operator, PlanNode};

use super::row_key::GroupTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::query_context::QueryContext;
use crate::value::Value;

/// Keys that are known at most, before those of a batch; then all are forgotten.
const KEYS: usize = 64 << 10;

/// Whether an inner tree gives one row of small values, the same for the same.
pub(crate) fn gives_one_number(inner: &PlanNode) -> bool {
    let Operator::Aggregate {
        keys, aggregates, ..
    } = &inner.op
    else {
        return false;
    };
    let is_small = |call: &AggregateCall| {
        matches!(
            call.function,
            F::CountStar | F::Count | F::Sum | F::Avg | F::StDev | F::StDevP
        )
    };
    keys.is_empty()
        && !aggregates.is_empty()
        && aggregates.iter().all(|(_, call)| is_small(call))
        && inner.is_repeatable()
}

/// See the file header.
pub(crate) struct SubqueryMemo {
    /// Columns of the input that the inner tree reads.
    reads: Vec<usize>,
    keys: GroupTable,
    /// Of each column that is added, a value for each key.
    values: Vec<Vec<Value>>,
    /// Rows handed on next.
    rows: usize,
    /// What the row behind those handed on last has failed with.
    failure: Option<ExecError>,
    memory: Memory,
}

impl SubqueryMemo {
    /// For an inner tree that reads these columns of the input and adds so many.
    pub(crate) fn new(reads: Vec<usize>, added: usize, rt: &QueryContext) -> Self {
        Self {
            reads,
            keys: GroupTable::default(),
            values: vec![Vec::new(); added],
            rows: 1,
            failure: None,
            memory: Memory::new(&rt.budget, "Apply", "run the subquery for fewer rows"),
        }
    }

    fn forget(&mut self) {
        self.keys = GroupTable::default();
        self.values.iter_mut().for_each(Vec::clear);
        self.memory.clear();
    }

    /// How many of the rows left are handed on next.
    pub(crate) fn take(&mut self, left: usize) -> usize {
        let rows = self.rows.min(left);
        self.rows = (2 * self.rows).min(BATCH_ROWS);
        rows
    }

    /// The input starts again. What is known stays, and stays charged (EX-9): it is the same for
    /// the same (EX-65).
    pub(crate) fn rewind(&mut self) {
        self.rows = 1;
        self.failure = None;
    }

    /// The added columns of rows of the input, and of how many: of those before the first one that
    /// fails, which is told next time. `run` gives the values of one row.
    pub(crate) fn columns(
        &mut self,
        rows: &Batch,
        mut run: impl FnMut(usize) -> Result<Vec<Value>>,
    ) -> Result<(Vec<Arc<Column>>, usize)> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let keys: Vec<_> = (self.reads.iter())
            .map(|slot| Arc::clone(rows.column(*slot)))
            .collect();
        // Other values may be equivalent and yet not the same, as 1 and 1.0 are.
        let are_ids =
            |key: &Arc<Column>| matches!(**key, Column::Nodes(_) | Column::Relationships(_));
        let has_keys = keys.iter().all(are_ids);
        if !has_keys || self.keys.len() > KEYS || !self.has_room(rows.len()) {
            self.forget();
        }
        let mut numbers = Vec::new();
        match has_keys {
            true => self.keys.insert(&keys, rows.len(), &mut numbers),
            false => numbers.extend((0..).take(rows.len())),
        }
        let mut known = self.values.first().map_or(0, Vec::len);
        let mut done = rows.len();
        for (row, number) in numbers.iter().enumerate() {
            if *number as usize == known {
                known += 1;
                match run(row) {
                    Ok(given) => {
                        for (values, value) in self.values.iter_mut().zip(given) {
                            values.push(value);
                        }
                    }
                    Err(failure) => {
                        self.failure = Some(failure);
                        done = row;
                        break;
                    }
                }
            }
        }
        let column = |values: &Vec<Value>| {
            let values = numbers[..done]
                .iter()
                .map(|number| values[*number as usize].clone());
            Arc::new(Column::from_values(values.collect()))
        };
        let columns = self.values.iter().map(column).collect();
        // Keys without values would be left.
        if !has_keys || self.failure.is_some() {
            self.forget();
        }
        match self.failure.take_if(|_| done == 0) {
            Some(failure) => Err(failure),
            None => Ok((columns, done)),
        }
    }

    /// Whether there is memory for so many keys more.
    fn has_room(&mut self, rows: usize) -> bool {
        let values = (self.keys.len() + rows) * self.values.len() * size_of::<Value>();
        let bytes = self.keys.bytes_with(rows, self.reads.len()) + values;
        self.memory.keeps(bytes)
    }
}
