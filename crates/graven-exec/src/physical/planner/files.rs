//! Operators that read and write files.

use std::sync::Arc;

use super::{Made, Node, Planner, slot};
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::operators::copy_to::CopyTo;
use crate::operators::load_from::{Condition, LoadFrom};
use crate::operators::read_ahead::ReadAhead;
use graven_cypher::plan::{Operator as P, PlanNode};

impl Planner<'_> {
    /// The input of an operator that writes: read ahead where its rows come from a file, and other
    /// threads may help.
    pub(super) fn written_from(&mut self, input: &PlanNode) -> Result<Node> {
        let node = self.node(input)?;
        let is_outermost = self.arguments.is_empty() && self.divided.is_none();
        if !is_outermost || self.rt.tuning.threads < 2 || !is_read_from_file(input) {
            return Ok(node);
        }
        let layout = node.layout.clone();
        let ahead = Made::new([node], layout, |node, start| {
            Ok(Box::new(ReadAhead::new(node.input(0, start)?)))
        });
        Ok(self.added(ahead, "ReadAhead", input.estimated_rows))
    }

    /// `LOAD FROM` above `input`.
    pub(super) fn load_from(&self, op: &P, input: Node, mut layout: Layout) -> Result<Made> {
        let P::LoadFrom {
            source,
            yields,
            bounds,
            at,
            ..
        } = op
        else {
            unreachable!("called for this operator");
        };
        let conditions = bounds.iter().map(|bound| {
            Ok(Condition {
                column: bound.column.clone(),
                op: bound.op,
                value: self.compiled(&layout, &bound.value)?,
            })
        });
        let conditions: Arc<[Condition]> = conditions.collect::<Result<_>>()?;
        let yields = yields.iter();
        let yields = yields.map(|(name, var)| (name.clone(), layout.slot_or_add(*var)));
        let yields: Arc<[_]> = yields.collect();
        let (source, at) = (Arc::new(source.clone()), *at);
        Ok(Made::new([input], layout, move |node, start| {
            let input = node.input(0, start)?;
            let source = (Arc::clone(&source), at);
            let (yields, conditions) = (Arc::clone(&yields), Arc::clone(&conditions));
            let load = LoadFrom::new(input, source, yields, conditions, start.rt);
            Ok(Box::new(load))
        }))
    }
}

/// Whether rows come from a file, and all that is done to them is reading.
fn is_read_from_file(node: &PlanNode) -> bool {
    let reads_file = |op: &P| matches!(op, P::LoadFrom { .. } | P::LoadCsv { .. });
    let is_apart = |op: &P| matches!(op, P::Procedure { .. } | P::InTransactions { .. });
    node.any(&reads_file) && !node.any(&is_apart) && !node.writes()
}

/// `COPY (query) TO` above `input`.
pub(super) fn copy_to(op: &P, input: Node, layout: Layout) -> Result<Made> {
    let P::CopyTo {
        columns,
        file,
        options,
        at,
        ..
    } = op
    else {
        unreachable!("called for this operator");
    };
    let columns = columns.iter();
    let columns = columns.map(|(name, var)| Ok((name.clone(), slot(&layout, *var)?)));
    let columns: Arc<[_]> = columns.collect::<Result<_>>()?;
    let options = crate::sources::options(options);
    let options = options.map_err(|error| ExecError::from(error).at(*at))?;
    let (file, at) = (file.clone(), *at);
    Ok(Made::new([input], layout, move |node, start| {
        let input = node.input(0, start)?;
        let target = (file.clone(), options.clone(), at);
        let copy = CopyTo::new(input, Arc::clone(&columns), target, start.rt);
        Ok(Box::new(copy))
    }))
}
