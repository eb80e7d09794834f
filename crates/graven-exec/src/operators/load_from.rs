//! `LOAD FROM`: the rows of files or of a frame, for each input row.
//!
//! # How it works
//! The source is looked at again when it is read, and has to have the columns for which the plan
//! was made. What a batch takes, and what its file needs at a time, is charged.
//!
//! # Invariants
//! * FI-10 A condition that is used to pass over row groups stays in the plan: what a file leaves
//!   out is only what cannot meet it.

use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::{BinaryOp, LoadSource};
use graven_files::{Bound, Cells, Comparison, Reader};

use super::row_expander::{RowExpander, gather_with};
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::sources::{self, Described, Inputs};

/// A condition by which parts of files are passed over.
pub(crate) struct Condition {
    pub(crate) column: Arc<str>,
    pub(crate) op: BinaryOp,
    pub(crate) value: Compiled,
}

/// See the file header.
pub(crate) struct LoadFrom {
    input: RowExpander,
    source: Arc<LoadSource>,
    at: Span,
    /// Columns that are wanted, and where they go.
    yields: Arc<[(Arc<str>, usize)]>,
    conditions: Arc<[Condition]>,
    /// What the columns are compared with, for the rows of the batch.
    limits: Vec<Arc<Column>>,
    reader: Option<(Reader, Inputs)>,
    memory: Memory,
}

impl LoadFrom {
    /// Reads `source` into the columns of `yields`.
    pub(crate) fn new(
        input: BoxedOperator,
        (source, at): (Arc<LoadSource>, Span),
        yields: Arc<[(Arc<str>, usize)]>,
        conditions: Arc<[Condition]>,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            source,
            at,
            yields,
            conditions,
            limits: Vec::new(),
            reader: None,
            memory: Memory::new(
                &rt.budget,
                "LoadFrom",
                "read fewer columns, or shorter rows",
            ),
        }
    }

    fn open(&self, row: usize, rt: &QueryContext) -> Result<(Reader, Inputs)> {
        let patience = rt.patience();
        let reach = rt.reach(&patience);
        let described = sources::describe(&self.source, &reach, &rt.sources.frames);
        let Described {
            source,
            options,
            description,
            inputs,
        } = rt.unless_ended(described)?;
        let bounds = self.conditions.iter().zip(&self.limits);
        let bounds = bounds.filter_map(|(condition, limit)| {
            Some(Bound {
                column: condition.column.to_string(),
                comparison: match condition.op {
                    BinaryOp::Equal => Comparison::Equal,
                    BinaryOp::Less => Comparison::Less,
                    BinaryOp::LessOrEqual => Comparison::LessOrEqual,
                    BinaryOp::Greater => Comparison::Greater,
                    BinaryOp::GreaterOrEqual => Comparison::GreaterOrEqual,
                    _ => return None,
                },
                value: sources::datum(&limit.value(row))?,
            })
        });
        // A declared kind may change values: what the file knows of them says nothing then.
        let bounds = match self.source.columns {
            None => bounds.collect(),
            Some(_) => Vec::new(),
        };
        let wanted: Vec<String> = self
            .yields
            .iter()
            .map(|(name, _)| name.to_string())
            .collect();
        let reader = Reader::new(source, options, description, &wanted, bounds)?;
        Ok((reader, inputs))
    }

    /// Notes rows that were left out.
    fn note(&mut self, rt: &QueryContext) {
        let reader = self.reader.take().map(|(reader, _)| reader);
        let Some(reader) = reader.filter(|reader| reader.left_out > 0) else {
            return;
        };
        let left_out = (reader.left_out, reader.faults);
        let by = &rt.shared.leaves_out;
        rt.sources.leave_out(by, rt.user.as_ref(), left_out);
    }
}

impl PhysicalOperator for LoadFrom {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            let (conditions, limits) = (&self.conditions, &mut self.limits);
            if !self.input.advance(rt, |batch| {
                let columns = conditions.iter();
                let columns = columns.map(|c| c.value.column(Rows::all(batch), rt));
                *limits = columns.collect::<Result<_>>()?;
                Ok(())
            })? {
                return Ok(None);
            }
            rt.check_cancelled()?;
            let row = self.input.row();
            if self.reader.is_none() {
                self.memory.clear();
                self.reader = Some(self.open(row, rt).map_err(|error| error.at(self.at))?);
            }
            let (reader, inputs) = self.reader.as_mut().expect("just opened");
            let open = |name: &str| inputs.open(name);
            let chunk = reader.next(&open, rt.batch_rows(), rt.batch_bytes());
            let chunk = rt.unless_ended(chunk).map_err(|error| error.at(self.at))?;
            let Some(chunk) = chunk else {
                self.note(rt);
                self.input.step();
                continue;
            };
            let bytes = chunk.columns.iter().map(Cells::bytes).sum::<usize>();
            self.memory.set(bytes + reader.held())?;
            if chunk.len == 0 {
                continue;
            }
            let rows = vec![u32::try_from(row).expect("a batch is small"); chunk.len];
            let added = self.yields.iter().zip(chunk.columns);
            let added = added.map(|((_, slot), cells)| (*slot, column(cells)));
            return Ok(Some(gather_with(self.input.batch(), &rows, added)));
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.reader = None;
        self.memory.clear();
    }
}

fn column(cells: Cells) -> Column {
    match cells {
        Cells::Integers(values) => Column::Integers(values),
        Cells::Floats(values) => Column::Floats(values),
        Cells::Data(data) => Column::from_values(data.into_iter().map(sources::value).collect()),
    }
}
