//! Panics as errors: a defect ends a call, not the program that made it.

use std::any::Any;

/// The code of the error.
pub const DEFECT: &str = "Internal.Panic";

/// What the error says of a panic that was caught.
#[must_use]
pub fn message_of_panic(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "a defect of Graven stopped this call: {}; please report it",
        said.unwrap_or("no message")
    )
}
