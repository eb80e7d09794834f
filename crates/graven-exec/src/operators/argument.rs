//! The rows that an enclosing apply, optional or semi-apply hands in.
//!
//! # How it works
//! The enclosing operator puts a batch into the [`ArgumentSlot`] and rewinds its inner tree; the
//! argument at the leaf hands that batch out once.

use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::PhysicalOperator;
use crate::query_context::QueryContext;

/// Where the enclosing operator leaves the rows.
#[derive(Clone, Default)]
pub(crate) struct ArgumentSlot(Arc<Mutex<Batch>>);

impl ArgumentSlot {
    /// Leaves `batch` for the argument operators of the inner tree.
    pub(crate) fn set(&self, batch: Batch) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = batch;
    }

    fn get(&self) -> Batch {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// See the file header.
pub(crate) struct Argument {
    slot: ArgumentSlot,
    /// Columns of the left rows that are asked for.
    columns: Arc<[usize]>,
    done: bool,
}

impl Argument {
    /// Reads `columns` from `slot`.
    pub(crate) fn new(slot: ArgumentSlot, columns: Arc<[usize]>) -> Self {
        Self {
            slot,
            columns,
            done: false,
        }
    }
}

impl PhysicalOperator for Argument {
    fn next(&mut self, _: &QueryContext) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let batch = self.slot.get();
        if batch.is_empty() {
            return Ok(None);
        }
        let columns = self
            .columns
            .iter()
            .map(|c| Arc::clone(batch.column(*c)))
            .collect();
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn rewind(&mut self) {
        self.done = false;
    }
}
