//! Creates nodes and relationships, once per input row.

use std::sync::Arc;

use super::creation::{Created, Creation, Made};
use super::portions::in_portions;
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
        let mut made = Made::default();
        let (creation, created, seen) = (&self.creation, &mut self.created, self.seen);
        in_portions(
            &batch,
            rt,
            |rows, held| creation.prepare(rows, held, rt),
            |rows, prepared| {
                if let Some(all) = creation.create_all(rows, &prepared, rt)? {
                    if seen {
                        made.append(all);
                    }
                    return Ok(());
                }
                for row in 0..rows.len() {
                    creation.create(rows, &prepared, row, rt, created)?;
                    if seen {
                        made.add(created);
                    }
                    created.clear();
                }
                Ok(())
            },
        )?;
        if !seen {
            return Ok(Some(batch));
        }
        let nodes = made.nodes.into_iter().map(Column::Nodes);
        let relationships = made.relationships.into_iter().map(Column::Relationships);
        let mut out = batch;
        for (slot, column) in self.slots.iter().zip(nodes.chain(relationships)) {
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
