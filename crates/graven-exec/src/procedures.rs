//! Procedures: what `CALL name(args)` runs. The library implements them; the executor only calls.
//!
//! # How it works
//! A call is told what state its statement sees and in which transaction it writes ([`Caller`]), so
//! that statements which a procedure runs see and write the same. Rows may come little by little
//! ([`MoreRows`]): a statement that wants only the first ones does not pay for the others.

use std::sync::Arc;

use graven_storage::{Snapshot, Transaction};

use crate::error::{ExecError, Result};
use crate::value::Value;

/// Rows, each with one value per column.
pub type ProcedureRows = Vec<Vec<Value>>;

/// What one call returned.
#[derive(Default)]
pub struct ProcedureResult {
    /// Names of the result columns.
    pub columns: Vec<Arc<str>>,
    /// The first rows, or all.
    pub rows: ProcedureRows,
    /// Those after them.
    pub more: Option<Box<dyn MoreRows>>,
}

/// Rows that are made when they are asked for.
pub trait MoreRows: Send {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// What goes wrong while they are made.
    fn next(&mut self) -> Result<Option<ProcedureRows>>;
}

/// The statement that calls.
pub struct Caller<'a> {
    /// What it sees.
    pub snapshot: &'a Snapshot,
    /// The transaction that it runs in; none: it only reads.
    pub transaction: Option<&'a Arc<Transaction>>,
}

/// Runs procedures by name.
pub trait Procedures: Send + Sync {
    /// Calls `name` with `args`.
    ///
    /// # Errors
    /// [`ExecError::UnknownProcedure`], [`ExecError::Procedure`] or [`ExecError::Argument`]; what
    /// goes wrong in statements that the procedure runs.
    fn call(&self, name: &str, args: &[Value], caller: &Caller<'_>) -> Result<ProcedureResult>;
}

/// No procedures at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProcedures;

impl Procedures for NoProcedures {
    fn call(&self, name: &str, _: &[Value], _: &Caller<'_>) -> Result<ProcedureResult> {
        Err(ExecError::UnknownProcedure {
            name: name.to_owned(),
        })
    }
}
