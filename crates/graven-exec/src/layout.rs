//! Which variable lies in which column of an operator's batches, fixed by the physical plan.
//!
//! # Costs
//! A look-up reads the columns of a narrow layout and hashes in a wide one.

use foldhash::HashMap;
use graven_cypher::plan::VarId;

/// More columns than these are wide.
const NARROW: usize = 32;

/// Variables in column order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    vars: Vec<VarId>,
    /// The first column of each variable, in a wide layout.
    places: HashMap<VarId, usize>,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        self.vars == other.vars
    }
}

impl Eq for Layout {}

impl Layout {
    /// A layout of these variables.
    pub(crate) fn new(vars: Vec<VarId>) -> Self {
        let mut layout = Self {
            vars,
            places: HashMap::default(),
        };
        layout.find_places();
        layout
    }

    fn find_places(&mut self) {
        // As many columns as there are places have one, at least.
        let placed = self.places.len();
        if self.vars.len() > NARROW {
            for (at, var) in self.vars.iter().enumerate().skip(placed) {
                self.places.entry(*var).or_insert(at);
            }
        }
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
        match self.vars.len() > NARROW {
            true => self.places.get(&var).copied(),
            false => self.vars.iter().position(|v| *v == var),
        }
    }

    /// The column of `var`, added at the end if it has none yet.
    pub(crate) fn slot_or_add(&mut self, var: VarId) -> usize {
        self.slot(var).unwrap_or_else(|| {
            self.vars.push(var);
            self.find_places();
            self.vars.len() - 1
        })
    }
}
