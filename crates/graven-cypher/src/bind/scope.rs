//! Which names mean which variables at a place of the statement.
//!
//! # How it works
//! A scope holds the variables of the current row, and apart from them those of the surrounding query
//! (inside a subquery), which stay visible through `WITH`. Variables of comprehensions, quantifiers and
//! `reduce` are pushed as locals and popped again.

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
    /// Names around the subquery that it has not taken, for hints.
    pub withheld: Vec<Arc<str>>,
    /// What the last `LOAD CSV` says of the record besides its fields.
    pub record: Option<Record>,
}

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

    /// All names, for hints.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.locals
            .iter()
            .chain(&self.row)
            .chain(&self.outer)
            .map(|e| &*e.name)
    }
}
