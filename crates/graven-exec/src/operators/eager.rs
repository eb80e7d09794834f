//! A barrier: all input is taken in before the first row leaves; and the end of a statement without results.

use std::collections::VecDeque;
use std::sync::Arc;

use graven_pagecache::Budget;

use crate::batch::Batch;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// See the file header.
pub(crate) struct Eager {
    input: BoxedOperator,
    batches: Option<VecDeque<Batch>>,
    memory: Memory,
}

impl Eager {
    /// Takes in `input`.
    pub(crate) fn new(input: BoxedOperator, budget: &Arc<Budget>) -> Self {
        Self {
            input,
            batches: None,
            memory: Memory::new(
                budget,
                "Eager",
                "write in parts: CALL {} IN TRANSACTIONS, or several statements",
            ),
        }
    }
}

impl Operator for Eager {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.batches.is_none() {
            let mut batches = VecDeque::new();
            while let Some(batch) = self.input.next(rt)? {
                self.memory.charge(batch.heap_bytes())?;
                batches.push_back(batch);
            }
            self.batches = Some(batches);
        }
        let next = self.batches.as_mut().and_then(VecDeque::pop_front);
        match &next {
            Some(batch) => self.memory.release(batch.heap_bytes()),
            None => self.memory.clear(),
        }
        Ok(next)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.batches = None;
        self.memory.clear();
    }
}

/// Runs its input to the end.
pub(crate) struct EmptyResult {
    input: BoxedOperator,
}

impl EmptyResult {
    /// Runs `input`.
    pub(crate) fn new(input: BoxedOperator) -> Self {
        Self { input }
    }
}

impl Operator for EmptyResult {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        while self.input.next(rt)?.is_some() {
            rt.check_cancelled()?;
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
