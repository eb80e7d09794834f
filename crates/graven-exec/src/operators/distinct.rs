//! Distinct rows over some columns; the other columns are dropped.

use std::sync::Arc;

use graven_pagecache::Budget;

use super::row_key::KeyTable;
use crate::batch::Batch;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// See the file header. Rows stream through; only the keys are kept.
pub(crate) struct Distinct {
    input: BoxedOperator,
    slots: Vec<usize>,
    table: KeyTable,
    memory: Memory,
}

impl Distinct {
    /// Distinct rows over the columns `slots` of `input`.
    pub(crate) fn new(input: BoxedOperator, slots: Vec<usize>, budget: &Arc<Budget>) -> Self {
        Self {
            input,
            slots,
            table: KeyTable::default(),
            memory: Memory::new(budget, "Distinct", "return fewer distinct rows"),
        }
    }
}

impl Operator for Distinct {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let mut indexes = Vec::new();
        while let Some(batch) = self.input.next(rt)? {
            rt.check_cancelled()?;
            let keys: Vec<_> = self
                .slots
                .iter()
                .map(|s| Arc::clone(batch.column(*s)))
                .collect();
            let mut seen = self.table.len();
            let bytes = self.table.insert(&keys, batch.len(), &mut indexes);
            self.memory.charge(bytes)?;
            // Numbers are dense in order of appearance: a row is new exactly if its number is the next one.
            let mut kept = Vec::new();
            for (row, index) in indexes.iter().enumerate() {
                if *index as usize == seen {
                    seen += 1;
                    kept.push(u32::try_from(row).expect("a batch is small"));
                }
            }
            if !kept.is_empty() {
                let len = batch.len();
                return Ok(Some(Batch::new(keys, len).gather(&kept)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.table = KeyTable::default();
        self.memory.clear();
    }
}
