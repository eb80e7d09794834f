//! Which names mean which variables at a place of the statement.
//!
//! # How it works
//! A scope holds the variables of the current row, and apart from them those of the surrounding
//! query (inside a subquery), which stay visible through `WITH`: their names cannot be given to
//! anything else there. What a `CALL {}` takes by a leading `WITH` is of the row, and the next
//! `WITH` drops it. Variables of comprehensions, quantifiers and `reduce` are pushed as locals and
//! popped again.

use std::sync::Arc;

use crate::plan::VarId;
use crate::types::Type;

/// One visible variable.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: Arc<str>,
    pub var: VarId,
    pub ty: Type,
}

/// The variables visible at a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub row: Vec<Entry>,
    pub outer: Vec<Entry>,
    pub locals: Vec<Entry>,
    /// A `CALL {}` subquery that takes from outside only what a leading `WITH` names.
    pub imports_by_with: bool,
    /// What was taken from around the subquery into the row.
    pub constants: Vec<VarId>,
    /// The names around the subquery mean what they mean there: none is given away anew.
    pub keeps_outer: bool,
    /// What a `CALL {}` returns are variables of the row around it, and must have names.
    pub needs_names: bool,
    /// Names around the subquery that it has not taken, for hints.
    pub withheld: Vec<Arc<str>>,
    /// What the last `LOAD CSV` says of the record besides its fields.
    pub record: Option<Record>,
}

/// The name of the variable behind `linenumber()`, which a statement with `LOAD CSV` has.
pub(super) const LINE_NUMBER: &str = "linenumber()";

/// Variables behind `linenumber()` and `file()`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub line: VarId,
    pub file: VarId,
}

impl Scope {
    /// The innermost variable of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        let by_name = |entries: &'_ [Entry]| entries.iter().rposition(|e| &*e.name == name);
        [&self.locals, &self.row, &self.outer]
            .into_iter()
            .find_map(|entries| by_name(entries).map(|idx| &entries[idx]))
    }

    /// Whether the variable belongs to a comprehension around the place.
    pub(crate) fn is_local(&self, var: VarId) -> bool {
        self.locals.iter().any(|e| e.var == var)
    }

    /// The scope a subquery starts with: everything visible becomes its surroundings.
    pub(crate) fn for_subquery(&self) -> Scope {
        let mut outer = self.outer.clone();
        outer.extend(self.row.iter().cloned());
        outer.extend(self.locals.iter().cloned());
        Scope {
            outer,
            withheld: self.withheld.clone(),
            record: self.record,
            ..Scope::default()
        }
    }

    /// Leaves of the surroundings only what is taken.
    pub(crate) fn withhold(&mut self, taken: impl Fn(&Entry) -> bool) {
        let (kept, rest): (Vec<Entry>, Vec<Entry>) = self.outer.drain(..).partition(taken);
        self.outer = kept;
        self.withheld.extend(rest.into_iter().map(|e| e.name));
    }

    /// What is taken by a leading `WITH` is of the row from then on.
    pub(crate) fn take_into_row(&mut self) {
        self.constants.extend(self.outer.iter().map(|e| e.var));
        self.row.append(&mut self.outer);
    }

    /// Whether the variable is the same in all rows, because it comes from around the subquery.
    pub(crate) fn is_constant(&self, var: VarId) -> bool {
        self.outer.iter().any(|e| e.var == var) || self.constants.contains(&var)
    }

    /// All names, for hints.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.locals
            .iter()
            .chain(&self.row)
            .chain(&self.outer)
            .map(|e| &*e.name)
    }
}
