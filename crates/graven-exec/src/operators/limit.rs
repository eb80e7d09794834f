//! Drops the first rows, or stops after so many.

use std::sync::Arc;

use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::expression::Compiled;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_types::told;

/// The row count that a constant expression gives.
///
/// # Errors
/// If it is not a non-negative integer.
pub(crate) fn row_count(what: &'static str, count: &Compiled, rt: &QueryContext) -> Result<u64> {
    let error = match count.constant(rt)? {
        Value::Integer(n) if n >= 0 => return Ok(n.unsigned_abs()),
        Value::Integer(n) => ExecError::Named {
            kind: "SyntaxError",
            detail: "NegativeIntegerArgument",
            message: told!("{what} needs a non-negative number of rows, got {n}"),
        },
        Value::Null => ExecError::Type {
            message: told!("{what} needs an Integer, got null"),
        },
        other => ExecError::Named {
            kind: "SyntaxError",
            detail: "InvalidArgumentType",
            message: told!(
                "{what} needs an Integer, got {}: {other}",
                other.type_name()
            ),
        },
    };
    Err(error.at(count.place()))
}

/// Drops the first rows.
pub(crate) struct Skip {
    input: BoxedOperator,
    count: Arc<Compiled>,
    left: Option<u64>,
}

impl Skip {
    /// Drops `count` rows of `input`.
    pub(crate) fn new(input: BoxedOperator, count: Arc<Compiled>) -> Self {
        Self {
            input,
            count,
            left: None,
        }
    }
}

impl PhysicalOperator for Skip {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let mut left = match self.left {
            Some(left) => left,
            None => row_count("SKIP", &self.count, rt)?,
        };
        while let Some(batch) = self.input.next(rt)? {
            let drop = usize::try_from(left).unwrap_or(usize::MAX).min(batch.len());
            left -= drop as u64;
            self.left = Some(left);
            if drop < batch.len() {
                return Ok(Some(batch.slice(drop, batch.len())));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.left = None;
    }
}

/// Stops after so many rows; the input is not pulled further than needed, unless it writes: then it
/// is run to its end.
pub(crate) struct Limit {
    input: BoxedOperator,
    count: Arc<Compiled>,
    left: Option<u64>,
    exhaustive: bool,
}

impl Limit {
    /// Hands out at most `count` rows of `input`.
    pub(crate) fn new(input: BoxedOperator, count: Arc<Compiled>) -> Self {
        Self {
            input,
            count,
            left: None,
            exhaustive: false,
        }
    }

    /// As [`Limit::new`] over an input that writes.
    pub(crate) fn exhaustive(input: BoxedOperator, count: Arc<Compiled>) -> Self {
        Self {
            exhaustive: true,
            ..Self::new(input, count)
        }
    }
}

impl PhysicalOperator for Limit {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let left = match self.left {
            Some(left) => left,
            None => row_count("LIMIT", &self.count, rt)?,
        };
        self.left = Some(left);
        if left == 0 {
            while self.exhaustive && self.input.next(rt)?.is_some() {
                rt.check_cancelled()?;
            }
            return Ok(None);
        }
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        let take = usize::try_from(left).unwrap_or(usize::MAX).min(batch.len());
        self.left = Some(left - take as u64);
        Ok(Some(batch.slice(0, take)))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.left = None;
    }
}
