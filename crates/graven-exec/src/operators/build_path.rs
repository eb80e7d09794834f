//! Binds a path from the nodes and relationships of its pattern, in order.
//!
//! # How it works
//! Parts are nodes, single relationships and lists of relationships. A list may be longer than the
//! pattern shows nodes for, so the nodes between are found from the relationships' ends, walking
//! from the last node known.

use std::sync::Arc;

use graven_storage::NodeId;
use graven_types::told;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::{Path, Value};

/// See the file header.
pub(crate) struct BuildPath {
    input: BoxedOperator,
    parts: Arc<[usize]>,
    slot: usize,
}

impl BuildPath {
    /// Builds a path of the columns `parts` into column `slot`.
    pub(crate) fn new(input: BoxedOperator, parts: Arc<[usize]>, slot: usize) -> Self {
        Self { input, parts, slot }
    }

    fn path(&self, batch: &Batch, row: usize, rt: &QueryContext) -> Result<Value> {
        let mut path = Path {
            nodes: Vec::new(),
            relationships: Vec::new(),
        };
        for part in &*self.parts {
            match &*batch.column(*part).get(row) {
                Value::Null => return Ok(Value::Null),
                // After a relationship the node is known already.
                Value::Node(id) if path.nodes.is_empty() => path.nodes.push(*id),
                Value::Node(_) => {}
                Value::Relationship(id) => walk(&mut path, id.0, rt)?,
                Value::List(items) => {
                    for item in items.iter() {
                        match item {
                            Value::Relationship(id) => walk(&mut path, id.0, rt)?,
                            other => return Err(no_part(other)),
                        }
                    }
                }
                other => return Err(no_part(other)),
            }
        }
        Ok(Value::Path(Arc::new(path)))
    }
}

fn no_part(value: &Value) -> ExecError {
    ExecError::Plan {
        message: told!("{} cannot be part of a path", value.type_name()),
    }
}

/// Follows a relationship from the last node of the path.
fn walk(path: &mut Path, relationship: u64, rt: &QueryContext) -> Result<()> {
    let (start, end) = rt.endpoints(relationship)?;
    let here: Option<NodeId> = path.nodes.last().copied();
    path.relationships.push(graven_storage::RelId(relationship));
    path.nodes
        .push(if here == Some(start) { end } else { start });
    Ok(())
}

impl PhysicalOperator for BuildPath {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        let paths = (0..batch.len())
            .map(|row| self.path(&batch, row, rt))
            .collect::<Result<_>>()?;
        Ok(Some(
            batch.with_column(self.slot, Column::from_values(paths)),
        ))
    }

    fn rewind(&mut self) {
        self.input.rewind();
    }
}
