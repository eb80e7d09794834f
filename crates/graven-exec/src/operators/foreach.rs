//! `FOREACH`: runs an inner tree once per element of a list, for each input row, and hands the row
//! on.
//!
//! # How it works
//! A list that may read the graph is computed when its row is due, behind the writes of the rows
//! before; any other list is computed for a whole batch.

use std::sync::Arc;

use super::argument::ArgumentSlot;
use super::graph_reads::reads_graph;
use super::portions::in_portions;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows, as_list};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// See the file header.
pub(crate) struct Foreach {
    input: BoxedOperator,
    inner: BoxedOperator,
    /// Where the row, with the element as its last column, is left.
    slot: ArgumentSlot,
    list: Arc<Compiled>,
}

impl Foreach {
    /// Runs `inner` for the elements of `list`.
    pub(crate) fn new(
        input: BoxedOperator,
        inner: BoxedOperator,
        slot: ArgumentSlot,
        list: Arc<Compiled>,
    ) -> Self {
        Self {
            input,
            inner,
            slot,
            list,
        }
    }

    /// Runs the inner tree for all rows of a batch, whose lists are computed together.
    fn run(&mut self, batch: &Batch, rt: &QueryContext) -> Result<()> {
        let (list, inner, slot) = (&self.list, &mut self.inner, &self.slot);
        in_portions(
            batch,
            rt,
            |rows, held| list.column_for(held, Rows::all(rows), rt),
            |rows, lists| {
                for row in 0..rows.len() {
                    let list = lists.get(row);
                    let items = as_list(&list).unwrap_or_default();
                    let one = rows.slice(row, row + 1);
                    for item in items {
                        rt.check_cancelled()?;
                        let mut columns = one.columns().to_vec();
                        columns.push(Arc::new(Column::from_values(vec![item.clone()])));
                        slot.set(Batch::new(columns, 1));
                        inner.rewind();
                        while inner.next(rt)?.is_some() {}
                    }
                }
                Ok(())
            },
        )
    }
}

impl PhysicalOperator for Foreach {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        if batch.len() > 1 && reads_graph(&self.list, &batch) {
            for row in 0..batch.len() {
                self.run(&batch.slice(row, row + 1), rt)?;
            }
        } else {
            self.run(&batch, rt)?;
        }
        Ok(Some(batch))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
