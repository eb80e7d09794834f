//! Creates nodes and relationships, once per input row.

use std::sync::Arc;

use super::creation::{Created, Creation};
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// See the file header. Output columns: the input's, then those of `slots` in order.
pub(crate) struct Create {
    input: BoxedOperator,
    creation: Arc<Creation>,
    /// Columns of the created nodes and relationships.
    slots: Arc<[usize]>,
    /// Whether an operator above reads them.
    seen: bool,
    /// Of one row. Between rows it is empty and keeps its room.
    created: Created,
}

impl Create {
    /// Creates for each row of `input`.
    pub(crate) fn new(input: BoxedOperator, creation: Arc<Creation>, slots: Arc<[usize]>) -> Self {
        Self {
            input,
            creation,
            slots,
            seen: true,
            created: Created::default(),
        }
    }
}

impl PhysicalOperator for Create {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        rt.check_cancelled()?;
        let prepared = self.creation.prepare(&batch, rt)?;
        if let Some(created) = self.creation.create_all(&batch, &prepared, rt)? {
            if !self.seen {
                return Ok(Some(batch));
            }
            let slot = self.slots.first().copied();
            let slot = slot.expect("a column for the node");
            return Ok(Some(batch.with_column(slot, Column::Nodes(created))));
        }
        let (mut nodes, mut relationships): (Vec<Vec<u64>>, Vec<Vec<u64>>) = Default::default();
        for row in 0..batch.len() {
            let created = &mut self.created;
            self.creation.create(&batch, &prepared, row, rt, created)?;
            if self.seen {
                nodes.resize_with(created.nodes.len(), Vec::new);
                relationships.resize_with(created.relationships.len(), Vec::new);
                for (column, id) in nodes.iter_mut().zip(&created.nodes) {
                    column.push(id.0);
                }
                for (column, id) in relationships.iter_mut().zip(&created.relationships) {
                    column.push(id.0);
                }
            }
            created.clear();
        }
        if !self.seen {
            return Ok(Some(batch));
        }
        let columns = nodes
            .into_iter()
            .map(Column::Nodes)
            .chain(relationships.into_iter().map(Column::Relationships));
        let mut out = batch;
        for (slot, column) in self.slots.iter().zip(columns) {
            out = out.with_column(*slot, column);
        }
        Ok(Some(out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }

    fn discard_output(&mut self) {
        self.seen = false;
    }
}
