//! `CALL name(args) YIELD ...`: one call per input row.

use std::sync::Arc;

use graven_cypher::Span;

use super::aggregate::columns;
use super::fan_out::{FanOut, widen};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, Operator};
use crate::procedures::{NoProcedures, ProcedureResult, Procedures as _};
use crate::runtime::Runtime;

/// See the file header.
pub(crate) struct Procedure {
    input: FanOut,
    name: Arc<str>,
    /// Where it is called in the text.
    at: Span,
    args: Arc<[Compiled]>,
    /// Result column wanted and the column it goes to.
    yields: Arc<[(Arc<str>, usize)]>,
    arguments: Vec<Arc<Column>>,
    /// Result of the current row and how many rows of it are handed out.
    result: Option<(ProcedureResult, usize)>,
}

impl Procedure {
    /// Calls `name` for each row of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        (name, at): (Arc<str>, Span),
        args: Arc<[Compiled]>,
        yields: Arc<[(Arc<str>, usize)]>,
    ) -> Self {
        Self {
            input: FanOut::new(input),
            name,
            at,
            args,
            yields,
            arguments: Vec::new(),
            result: None,
        }
    }

    fn call(&self, row: usize, rt: &Runtime) -> Result<ProcedureResult> {
        let args: Vec<_> = self.arguments.iter().map(|c| c.value(row)).collect();
        match &rt.procedures {
            Some(procedures) => procedures.call(&self.name, &args),
            None => NoProcedures.call(&self.name, &args),
        }
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
                message: format!(
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

impl Operator for Procedure {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        loop {
            let (args, arguments) = (&self.args, &mut self.arguments);
            if !self.input.advance(rt, |batch| {
                *arguments = columns(args, Rows::all(batch), rt)?;
                Ok(())
            })? {
                return Ok(None);
            }
            let row = self.input.row();
            let (result, from) = match self.result.take() {
                Some(state) => state,
                None => (self.call(row, rt).map_err(|error| error.at(self.at))?, 0),
            };
            // A procedure without result columns leaves the rows as they are.
            let row_count = if result.columns.is_empty() {
                1
            } else {
                result.rows.len()
            };
            let to = row_count.min(from + BATCH_ROWS);
            let mut added = Vec::with_capacity(self.yields.len());
            for (name, slot) in &*self.yields {
                added.push((*slot, self.column(&result, name, from, to)?));
            }
            let rows = vec![u32::try_from(row).expect("a batch is small"); to - from];
            let batch = widen(self.input.batch(), &rows, added);
            if to == row_count {
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
