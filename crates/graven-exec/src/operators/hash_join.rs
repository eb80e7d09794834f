//! Joins rows on equal variables: the build side goes into a hash table, the input side streams through it.

use std::sync::Arc;

use graven_pagecache::Budget;

use super::fan_out::{FanOut, widen};
use super::row_key::KeyTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// Which columns meet.
pub(crate) struct JoinColumns {
    /// Key columns of the input.
    pub(crate) input_keys: Vec<usize>,
    /// Key columns of the build side, in the same order.
    pub(crate) build_keys: Vec<usize>,
    /// Columns of the build side that are added to the row.
    pub(crate) added: Vec<usize>,
    /// Columns of the input, thus the first added column.
    pub(crate) width: usize,
}

/// See the file header.
pub(crate) struct HashJoin {
    input: FanOut,
    build: BoxedOperator,
    columns: JoinColumns,
    memory: Memory,
    table: Option<Table>,
    /// Build rows of the current input row handed out already.
    done: usize,
}

struct Table {
    keys: KeyTable,
    rows: Batch,
    /// Build rows of key `k` are `by_key[starts[k]..starts[k + 1]]`.
    starts: Vec<u32>,
    by_key: Vec<u32>,
}

impl HashJoin {
    /// Joins `input` with `build`.
    pub(crate) fn new(
        input: BoxedOperator,
        build: BoxedOperator,
        columns: JoinColumns,
        budget: &Arc<Budget>,
    ) -> Self {
        Self {
            input: FanOut::new(input),
            build,
            columns,
            memory: Memory::new(budget, "HashJoin", "match fewer rows on one side first"),
            table: None,
            done: 0,
        }
    }

    fn build(&mut self, rt: &Runtime) -> Result<Table> {
        let mut keys = KeyTable::default();
        let mut parts = Vec::new();
        let mut numbers = Vec::new();
        let mut scratch = Vec::new();
        while let Some(batch) = self.build.next(rt)? {
            rt.check_cancelled()?;
            let slots = &self.columns.build_keys;
            let kept: Vec<u32> = (0..batch.len())
                .filter(|row| slots.iter().all(|s| !batch.column(*s).is_null(*row)))
                .map(|row| u32::try_from(row).expect("a batch is small"))
                .collect();
            let batch = batch.gather(&kept);
            let columns: Vec<_> = slots.iter().map(|s| Arc::clone(batch.column(*s))).collect();
            let bytes = keys.insert(&columns, batch.len(), &mut scratch);
            // The batch once more while the parts are joined, and two numbers a row.
            self.memory
                .charge(bytes + 2 * batch.heap_bytes() + 8 * batch.len())?;
            numbers.extend_from_slice(&scratch);
            parts.push(batch);
        }
        let rows = Batch::concat(&parts);
        let mut starts = vec![0_u32; keys.len() + 1];
        for number in &numbers {
            starts[*number as usize + 1] += 1;
        }
        for key in 0..keys.len() {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let mut by_key = vec![0; numbers.len()];
        for (row, number) in numbers.iter().enumerate() {
            let at = &mut next[*number as usize];
            by_key[*at as usize] = u32::try_from(row).expect("fewer than 2^32 build rows");
            *at += 1;
        }
        Ok(Table {
            keys,
            rows,
            starts,
            by_key,
        })
    }
}

impl Operator for HashJoin {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.table.is_none() {
            self.table = Some(self.build(rt)?);
        }
        let table = self.table.as_ref().expect("built above");
        let (mut rows, mut matches) = (Vec::new(), Vec::new());
        let mut scratch = Vec::new();
        while self.input.advance(rt, |_| Ok(()))? {
            let row = self.input.row();
            let batch = self.input.batch();
            let keys: Vec<Arc<Column>> = self
                .columns
                .input_keys
                .iter()
                .map(|s| Arc::clone(batch.column(*s)))
                .collect();
            let found: &[u32] = match table.keys.find(&keys, row, &mut scratch) {
                Some(key) => {
                    let (from, to) = (table.starts[key as usize], table.starts[key as usize + 1]);
                    &table.by_key[from as usize..to as usize]
                }
                None => &[],
            };
            let take = (found.len() - self.done).min(BATCH_ROWS - matches.len());
            matches.extend_from_slice(&found[self.done..self.done + take]);
            rows.resize(matches.len(), u32::try_from(row).expect("a batch is small"));
            self.done += take;
            if self.done == found.len() {
                self.done = 0;
                self.input.step();
            }
            let batch_done = self.input.row() == self.input.batch().len();
            if matches.len() == BATCH_ROWS || (batch_done && !matches.is_empty()) {
                let added = self.columns.added.iter().enumerate().map(|(i, slot)| {
                    let column = table.rows.column(*slot).gather(&matches);
                    (self.columns.width + i, column)
                });
                return Ok(Some(widen(self.input.batch(), &rows, added)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.build.rewind();
        self.table = None;
        self.memory.clear();
        self.done = 0;
    }
}
