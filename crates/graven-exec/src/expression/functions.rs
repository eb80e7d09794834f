//! Scalar functions, a file per kind.

use crate::error::ExecError;
use crate::value::Value;
use graven_types::told;

pub(super) mod apoc;
pub(super) mod blob;
pub(super) mod cast;
pub(super) mod convert;
pub(super) mod graph;
pub(super) mod json;
pub(super) mod kuzu_type;
pub(super) mod list;
pub(super) mod number;
mod numerals;
mod ordered;
pub(super) mod places;
pub(super) mod regular;
mod round;
mod rounding;
pub(super) mod sequence;
pub(super) mod spatial;
pub(super) mod temporal;
pub(super) mod text;
pub(super) mod types;
pub(super) mod vector;
pub(super) mod wide;

/// The error of a function that got a value it does not take.
fn wrong(function: &str, wanted: &str, got: &Value) -> ExecError {
    ExecError::Value {
        message: told!(
            "{function}() needs {wanted}, got {}: {got}",
            got.type_name()
        ),
    }
}
