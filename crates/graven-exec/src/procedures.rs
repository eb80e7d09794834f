//! Procedures: what `CALL name(args)` runs. The library implements them; the executor only calls.

use std::sync::Arc;

use crate::error::{ExecError, Result};
use crate::value::Value;

/// What one call returned.
#[derive(Clone, Debug, Default)]
pub struct ProcedureResult {
    /// Names of the result columns.
    pub columns: Vec<Arc<str>>,
    /// Rows, each with one value per column.
    pub rows: Vec<Vec<Value>>,
}

/// Runs procedures by name.
pub trait Procedures: Send + Sync {
    /// Calls `name` with `args`.
    ///
    /// # Errors
    /// [`ExecError::UnknownProcedure`], [`ExecError::Procedure`] or [`ExecError::Argument`].
    fn call(&self, name: &str, args: &[Value]) -> Result<ProcedureResult>;
}

/// No procedures at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProcedures;

impl Procedures for NoProcedures {
    fn call(&self, name: &str, _: &[Value]) -> Result<ProcedureResult> {
        Err(ExecError::UnknownProcedure {
            name: name.to_owned(),
        })
    }
}
