//! Which variable lies in which column of an operator's batches, fixed by the physical plan.

use graven_cypher::plan::VarId;

/// Variables in column order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    vars: Vec<VarId>,
}

impl Layout {
    /// A layout of these variables.
    pub(crate) fn new(vars: Vec<VarId>) -> Self {
        Self { vars }
    }

    /// Variables in column order.
    pub(crate) fn vars(&self) -> &[VarId] {
        &self.vars
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.vars.len()
    }

    /// The column of `var`.
    pub(crate) fn slot(&self, var: VarId) -> Option<usize> {
        self.vars.iter().position(|v| *v == var)
    }

    /// The column of `var`, added at the end if it has none yet.
    pub(crate) fn slot_or_add(&mut self, var: VarId) -> usize {
        self.slot(var).unwrap_or_else(|| {
            self.vars.push(var);
            self.vars.len() - 1
        })
    }
}
