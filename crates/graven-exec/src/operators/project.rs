//! Computed columns: in place of the row (project) or in addition to it (extend).
//!
//! # How it works
//! A batch of large values is charged for as long as it is the one handed out last.

use std::sync::Arc;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows, bind_all, unbind_all};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// Rows with exactly the computed columns.
pub(crate) struct Project {
    input: BoxedOperator,
    items: Vec<Compiled>,
    /// Some items may read parameters.
    has_parameters: bool,
    memory: Memory,
}

/// What computing a batch is charged under.
fn memory(rt: &Runtime) -> Memory {
    Memory::new(&rt.budget, "Project", "compute shorter lists and texts")
}

/// Bytes of the values of computed columns.
fn bytes_of<'a>(columns: impl Iterator<Item = &'a Arc<Column>>) -> usize {
    columns
        .filter(|column| matches!(***column, Column::Values(_) | Column::Constant(..)))
        .map(|column| column.heap_bytes())
        .sum()
}

impl Project {
    /// Projects `input` to `items`.
    pub(crate) fn new(input: BoxedOperator, items: Vec<Compiled>, rt: &Runtime) -> Self {
        Self {
            input,
            items,
            has_parameters: true,
            memory: memory(rt),
        }
    }
}

impl Operator for Project {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        self.memory.clear();
        let columns = self
            .items
            .iter()
            .map(|item| item.column(Rows::all(&batch), rt))
            .collect::<Result<Vec<_>>>()?;
        self.memory.set(bytes_of(columns.iter()))?;
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.memory.clear();
    }

    fn rest(&mut self) -> bool {
        self.memory.clear();
        self.has_parameters = self.has_parameters && unbind_all(&mut self.items);
        self.input.rest()
    }

    fn renew(&mut self, rt: &Runtime) -> Result<()> {
        if self.has_parameters {
            bind_all(&mut self.items, Some(rt))?;
        }
        self.input.renew(rt)
    }
}

/// Rows with the computed columns added. All items see the row as it came in.
pub(crate) struct Extend {
    input: BoxedOperator,
    items: Vec<(usize, Compiled)>,
    /// Some items may read parameters.
    has_parameters: bool,
    memory: Memory,
}

impl Extend {
    /// Adds `items`, each with its column.
    pub(crate) fn new(input: BoxedOperator, items: Vec<(usize, Compiled)>, rt: &Runtime) -> Self {
        Self {
            input,
            items,
            has_parameters: true,
            memory: memory(rt),
        }
    }
}

impl Operator for Extend {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        self.memory.clear();
        let mut columns = batch.columns().to_vec();
        for (slot, item) in &self.items {
            let column = item.column(Rows::all(&batch), rt)?;
            if *slot == columns.len() {
                columns.push(column);
            } else {
                columns[*slot] = column;
            }
        }
        let computed = self.items.iter().map(|(slot, _)| &columns[*slot]);
        self.memory.set(bytes_of(computed))?;
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.memory.clear();
    }

    fn rest(&mut self) -> bool {
        self.memory.clear();
        let items = self.items.iter_mut().map(|(_, item)| item);
        self.has_parameters = self.has_parameters && unbind_all(items);
        self.input.rest()
    }

    fn renew(&mut self, rt: &Runtime) -> Result<()> {
        if self.has_parameters {
            bind_all(self.items.iter_mut().map(|(_, item)| item), Some(rt))?;
        }
        self.input.renew(rt)
    }
}
