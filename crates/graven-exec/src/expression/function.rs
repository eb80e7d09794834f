//! The registry of scalar functions: name, number of arguments, body.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::functions;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::value::Value;

/// A scalar function.
pub(crate) struct Function {
    /// Lower-case name.
    pub(crate) name: &'static str,
    /// Fewest and most arguments.
    pub(crate) arity: (usize, usize),
    /// What it computes from as many values.
    pub(crate) body: fn(&Runtime, &[Value]) -> Result<Value>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Any number of arguments.
pub(super) const MANY: usize = usize::MAX;

/// The function of this lower-case name.
pub(crate) fn lookup(name: &str) -> Option<&'static Function> {
    static TABLE: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
    TABLE
        .get_or_init(|| all().map(|f| (f.name, f)).collect())
        .get(name)
        .copied()
}

/// All functions.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    [
        functions::graph::FUNCTIONS,
        functions::list::FUNCTIONS,
        functions::number::FUNCTIONS,
        functions::text::FUNCTIONS,
        functions::convert::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}
