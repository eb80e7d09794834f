//! Deletes the nodes, relationships and paths that expressions give; null is passed over, and so is
//! what is gone.

use std::sync::Arc;

use graven_cypher::Span;
use graven_types::told;

use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;

/// See the file header.
pub(crate) struct Delete {
    input: BoxedOperator,
    targets: Arc<[Compiled]>,
    detach: bool,
    at: Span,
}

impl Delete {
    /// Deletes for each row of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        targets: Arc<[Compiled]>,
        detach: bool,
        at: Span,
    ) -> Self {
        Self {
            input,
            targets,
            detach,
            at,
        }
    }

    fn delete(&self, value: &Value, rt: &QueryContext) -> Result<()> {
        let writer = rt.writer()?;
        match value {
            Value::Null => Ok(()),
            Value::Node(id) => writer.delete_node(*id, self.detach, || rt.check_cancelled()),
            Value::Relationship(id) => writer.delete_relationship(*id, &rt.snapshot),
            Value::Path(path) => {
                for id in &path.relationships {
                    writer.delete_relationship(*id, &rt.snapshot)?;
                }
                path.nodes.iter().try_for_each(|id| {
                    writer.delete_node(*id, self.detach, || rt.check_cancelled())
                })
            }
            other => Err(ExecError::Type {
                message: told!(
                    "only nodes, relationships and paths can be deleted, this is {}: {other}",
                    other.type_name()
                ),
            }),
        }
    }
}

impl PhysicalOperator for Delete {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        rt.check_cancelled()?;
        // All targets are computed before anything of the batch is gone.
        let columns = self
            .targets
            .iter()
            .map(|target| target.column(Rows::all(&batch), rt))
            .collect::<Result<Vec<_>>>()?;
        for row in 0..batch.len() {
            for column in &columns {
                rt.growth.work(16)?;
                let deleted = self.delete(&column.get(row), rt);
                deleted.map_err(|error| error.at(self.at))?;
            }
        }
        Ok(Some(batch))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
