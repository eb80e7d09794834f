//! What all counts of matches share: their memory, and the error for numbers that are too large.

use crate::error::ExecError;
use crate::memory::Memory;
use graven_pagecache::Budget;
use std::sync::Arc;

pub(super) fn memory(budget: &Arc<Budget>) -> Memory {
    Memory::new(budget, "CountMatches", "count over fewer nodes at once")
}

pub(super) fn overflow() -> ExecError {
    ExecError::Arithmetic {
        message: "the number of matches does not fit 63 bits".to_owned(),
    }
}
