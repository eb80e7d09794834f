//! Scalar functions, a file per kind.

use crate::error::ExecError;
use crate::value::Value;

pub(super) mod convert;
pub(super) mod graph;
pub(super) mod list;
pub(super) mod number;
pub(super) mod text;

/// The error of a function that got a value of the wrong type.
fn wrong(function: &str, wanted: &str, got: &Value) -> ExecError {
    ExecError::Type {
        message: format!(
            "{function}() needs {wanted}, got {}: {got}",
            got.type_name()
        ),
    }
}
