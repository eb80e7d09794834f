//! Computed columns: in place of the row (project) or in addition to it (extend).
//!
//! # How it works
//! A batch of large values is charged for as long as it is the one handed out last. Where the
//! values of a row take much, as those computed last tell, the rows of the input are taken some at
//! a time, and fewer yet where there is no room: only a single row may be too large.

use std::sync::Arc;

use super::portions::some_rows;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::growth::Share;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// Rows with exactly the computed columns.
pub(crate) struct Project {
    input: Portions,
    items: Arc<[Compiled]>,
    memory: Memory,
}

/// The rows of an input, as many at a time as their computed values have room.
struct Portions {
    input: BoxedOperator,
    /// Rows of the input that are left.
    left: Option<Batch>,
    /// Bytes that the values of a row took last.
    row_bytes: usize,
    /// Bytes that they take at least.
    row_least: usize,
}

impl Portions {
    fn of(input: BoxedOperator, items: usize) -> Self {
        Self {
            input,
            left: None,
            row_bytes: 0,
            row_least: items * size_of::<u64>(),
        }
    }

    /// What `compute` makes of the next rows; it gives the values' bytes too.
    fn next(
        &mut self,
        rt: &QueryContext,
        compute: impl FnMut(&Batch) -> Result<(Batch, usize)>,
    ) -> Result<Option<Batch>> {
        let batch = match self.left.take() {
            Some(left) => left,
            None => match self.input.next(rt)? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let room = rt.batch_bytes() / self.row_bytes.max(self.row_least).max(1);
        let most = room.max(1).min(batch.len());
        let ((computed, bytes), rows) = some_rows(&batch, 0, most, compute)?;
        let some = rows.len();
        self.row_bytes = bytes / some.max(1);
        self.left = (some < batch.len()).then(|| batch.slice(some, batch.len()));
        Ok(Some(computed))
    }

    /// Forgets what is left.
    fn clear(&mut self) {
        self.left = None;
        self.row_bytes = 0;
    }
}

/// What computing a batch is charged under.
fn memory(rt: &QueryContext) -> Memory {
    Memory::new(&rt.budget, "Project", "compute shorter lists and texts")
}

/// The column of an item, charged beside the `bytes` of those before it.
fn computed(
    item: &Compiled,
    batch: &Batch,
    (bytes, memory): (&mut usize, &mut Memory),
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let column = item.column(Rows::all(batch), rt)?;
    *bytes += Share::default().of_column(&column);
    memory.set(*bytes)?;
    Ok(column)
}

impl Project {
    /// Projects `input` to `items`.
    pub(crate) fn new(input: BoxedOperator, items: Arc<[Compiled]>, rt: &QueryContext) -> Self {
        Self {
            input: Portions::of(input, items.len()),
            items,
            memory: memory(rt),
        }
    }
}

impl PhysicalOperator for Project {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let (items, memory) = (&self.items, &mut self.memory);
        memory.clear();
        self.input.next(rt, |batch| {
            let mut bytes = 0;
            let columns = items
                .iter()
                .map(|item| computed(item, batch, (&mut bytes, memory), rt));
            let columns = columns.collect::<Result<_>>()?;
            Ok((Batch::new(columns, batch.len()), bytes))
        })
    }

    fn rewind(&mut self) {
        self.input.input.rewind();
        self.input.clear();
        self.memory.clear();
    }
}

/// Rows with the computed columns added. All items see the row as it came in.
pub(crate) struct Extend {
    input: Portions,
    items: Arc<[(usize, Compiled)]>,
    memory: Memory,
}

impl Extend {
    /// Adds `items`, each with its column.
    pub(crate) fn new(
        input: BoxedOperator,
        items: Arc<[(usize, Compiled)]>,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: Portions::of(input, items.len()),
            items,
            memory: memory(rt),
        }
    }
}

impl PhysicalOperator for Extend {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let (items, memory) = (&self.items, &mut self.memory);
        memory.clear();
        self.input.next(rt, |batch| {
            let mut bytes = 0;
            let mut columns = batch.columns().to_vec();
            for (slot, item) in items.iter() {
                let column = computed(item, batch, (&mut bytes, memory), rt)?;
                if *slot == columns.len() {
                    columns.push(column);
                } else {
                    columns[*slot] = column;
                }
            }
            Ok((Batch::new(columns, batch.len()), bytes))
        })
    }

    fn rewind(&mut self) {
        self.input.input.rewind();
        self.input.clear();
        self.memory.clear();
    }
}
