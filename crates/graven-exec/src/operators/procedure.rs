//! `CALL name(args) YIELD ...`: one call per input row.
//!
//! # How it works
//! Rows that a procedure makes little by little are taken as they are wanted. What a procedure that
//! writes has deleted, and the names that it has brought about, are made known to the writer of the
//! statement, whose operators may meet both. Arguments of one that writes are computed when their
//! row is due where they may read the graph, and otherwise for a whole batch.

use std::sync::Arc;

use graven_cypher::Span;
use graven_types::told;

use super::aggregate::columns;
use super::graph_reads::reads_graph;
use super::row_expander::{RowExpander, gather_with};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::procedures::{Caller, NoProcedures, ProcedureResult, Procedures as _};
use crate::query_context::QueryContext;

/// See the file header.
pub(crate) struct Procedure {
    input: RowExpander,
    name: Arc<str>,
    /// Where it is called in the text.
    at: Span,
    args: Arc<[Compiled]>,
    /// Result column wanted and the column it goes to.
    yields: Arc<[(Arc<str>, usize)]>,
    /// It changes the graph.
    writes: bool,
    /// Those of the batch; `None` where they are computed row by row.
    arguments: Option<Vec<Arc<Column>>>,
    /// Result of the current row and how many rows of it are handed out.
    result: Option<(ProcedureResult, usize)>,
}

/// Values that are handed out at once, where rows are wide: a column may be yielded any number of
/// times.
const CELLS_MAX: usize = 64 << 10;

impl Procedure {
    /// Calls `name` for each row of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        (name, at): (Arc<str>, Span),
        args: Arc<[Compiled]>,
        yields: Arc<[(Arc<str>, usize)]>,
        writes: bool,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            name,
            at,
            args,
            yields,
            writes,
            arguments: None,
            result: None,
        }
    }

    fn call(&self, row: usize, rt: &QueryContext) -> Result<ProcedureResult> {
        let args: Vec<_> = match &self.arguments {
            Some(columns) => columns.iter().map(|c| c.value(row)).collect(),
            None => {
                let one = self.input.batch().slice(row, row + 1);
                let columns = columns(&self.args, Rows::all(&one), rt)?;
                columns.iter().map(|c| c.value(0)).collect()
            }
        };
        let caller = Caller {
            snapshot: &rt.snapshot,
            transaction: rt.transaction.as_ref(),
        };
        let writer = rt.writer.as_ref().filter(|_| self.writes);
        let before = writer.map(|writer| writer.before_call(&rt.snapshot));
        let result = match &rt.procedures {
            Some(procedures) => procedures.call(&self.name, &args, &caller),
            None => NoProcedures.call(&self.name, &args, &caller),
        };
        if let (Some(writer), Some(before)) = (writer, before) {
            writer.after_call(&before, &rt.snapshot);
        }
        let mut result = result?;
        if result.columns.is_empty() {
            // There is nothing to hand out, so that all is done now.
            while let Some(more) = &mut result.more
                && more.next()?.is_some()
            {
                rt.check_cancelled()?;
            }
            result.more = None;
        }
        Ok(result)
    }

    fn column(
        &self,
        result: &ProcedureResult,
        name: &str,
        from: usize,
        to: usize,
    ) -> Result<Column> {
        let at = result
            .columns
            .iter()
            .position(|c| **c == *name)
            .ok_or_else(|| ExecError::Procedure {
                name: self.name.to_string(),
                message: told!(
                    "it has no result column {name}; it has {:?}",
                    result.columns
                ),
            })?;
        Ok(Column::from_values(
            result.rows[from..to]
                .iter()
                .map(|r| r[at].clone())
                .collect(),
        ))
    }
}

impl Procedure {
    /// The rows after those that were handed out.
    fn more(&self, result: ProcedureResult, rt: &QueryContext) -> Result<(ProcedureResult, usize)> {
        rt.check_cancelled()?;
        let ProcedureResult { columns, more, .. } = result;
        let (mut rows, mut more) = (Vec::new(), more);
        while let Some(source) = &mut more
            && rows.is_empty()
        {
            match source.next().map_err(|error| error.at(self.at))? {
                Some(next) => rows = next,
                None => more = None,
            }
        }
        let result = ProcedureResult {
            columns,
            rows,
            more,
        };
        Ok((result, 0))
    }
}

impl PhysicalOperator for Procedure {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            let (args, arguments, writes) = (&self.args, &mut self.arguments, self.writes);
            if !self.input.advance(rt, |batch| {
                let by_row = writes && args.iter().any(|arg| reads_graph(arg, batch));
                *arguments = match by_row {
                    true => None,
                    false => Some(columns(args, Rows::all(batch), rt)?),
                };
                Ok(())
            })? {
                return Ok(None);
            }
            let row = self.input.row();
            let (result, from) = match self.result.take() {
                Some(state) => state,
                None => (self.call(row, rt).map_err(|error| error.at(self.at))?, 0),
            };
            let (result, from) = match from == result.rows.len() && result.more.is_some() {
                true => self.more(result, rt)?,
                false => (result, from),
            };
            // A procedure without result columns leaves the rows as they are.
            let row_count = if result.columns.is_empty() {
                1
            } else {
                result.rows.len()
            };
            let some = (CELLS_MAX / self.yields.len().max(1)).clamp(1, BATCH_ROWS);
            let to = row_count.min(from + some);
            let mut added = Vec::with_capacity(self.yields.len());
            for (name, slot) in &*self.yields {
                added.push((*slot, self.column(&result, name, from, to)?));
            }
            let rows = vec![u32::try_from(row).expect("a batch is small"); to - from];
            let batch = gather_with(self.input.batch(), &rows, added);
            if to == row_count && result.more.is_none() {
                self.input.step();
            } else {
                self.result = Some((result, to));
            }
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.result = None;
    }
}
