//! What a scalar function is to the table of functions.

use crate::error::Result;
use crate::query_context::QueryContext;
use crate::value::Value;

/// A scalar function.
pub(crate) struct Function {
    /// Lower-case name.
    pub(crate) name: &'static str,
    /// Fewest and most arguments.
    pub(crate) arity: (usize, usize),
    /// What it computes from as many values.
    pub(crate) body: fn(&QueryContext, &[Value]) -> Result<Value>,
}

impl Function {
    /// One row of a table.
    pub(in crate::expression) const fn new(
        name: &'static str,
        arity: (usize, usize),
        body: fn(&QueryContext, &[Value]) -> Result<Value>,
    ) -> Self {
        Self { name, arity, body }
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Any number of arguments.
pub(in crate::expression) const MANY: usize = usize::MAX;
