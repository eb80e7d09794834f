//! Cypher: text in, plan out. Knows no storage; defines the [`SchemaView`] it reads.
//!
//! # How it works
//! `lexer` -> `parser` (recursive descent, builds the `ast`) -> `bind` (names, kinds, aggregation rules;
//! produces a query graph per `MATCH`) -> `plan` (start points, order of patterns by cost, operators) ->
//! `plan::rules` (one rewrite per file) -> [`Plan`].

mod ast;
mod bind;
mod cost;
pub mod diagnostic;
pub mod explain;
pub mod functions;
mod lexer;
mod parser;
pub mod plan;
pub mod schema_view;
pub mod token;
pub mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use diagnostic::{Code, Diagnostic, Excerpt};
pub use plan::Plan;
pub use schema_view::{
    IndexView, LabelIndex, ProcedureView, SchemaView, Stored, StoredSize, ValueCounts,
};
pub use token::Span;
pub use types::TypeSet;

/// Which parameters the caller will supply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ParameterNames {
    /// Not known yet (a statement is prepared or explained); the executor reports a missing one.
    #[default]
    Any,
    /// Exactly these; the use of another is an error. Of one that holds a text, or a few texts, they may be told: where it
    /// stands for labels or types, the statement is planned for just these ([`Plan::planned_for`]).
    Known(BTreeMap<String, Option<Vec<Arc<str>>>>),
}

impl ParameterNames {
    /// Whether `$name` may be used.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match self {
            ParameterNames::Any => true,
            ParameterNames::Known(names) => names.contains_key(name),
        }
    }

    /// The texts that `$name` holds, where that is known.
    fn texts(&self, name: &str) -> Option<&[Arc<str>]> {
        match self {
            ParameterNames::Any => None,
            ParameterNames::Known(names) => names.get(name)?.as_deref(),
        }
    }
}

impl<S: Into<String>> FromIterator<S> for ParameterNames {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> ParameterNames {
        let names = names.into_iter().map(|name| (name.into(), None));
        ParameterNames::Known(names.collect())
    }
}

/// Whether a statement has a subquery in transactions of its own; false for what cannot be parsed.
#[must_use]
pub fn is_in_transactions(text: &str) -> bool {
    parser::parse(text).is_ok_and(|statement| {
        let parts = statement.query.first.clauses.iter();
        parts.into_iter().any(|clause| {
            matches!(
                clause.kind,
                ast::ClauseKind::Subquery {
                    transactions: Some(_),
                    ..
                }
            )
        })
    })
}

/// Parses, binds and plans one statement.
///
/// # Errors
/// The first thing wrong with the statement, with its place and a hint.
pub fn parse_and_plan(
    text: &str,
    schema: &dyn SchemaView,
    params: &ParameterNames,
) -> Result<Plan, Diagnostic> {
    let statement = parser::parse(text)?;
    let bound = bind::bind(text, &statement, schema, params)?;
    plan::plan(bound, schema)
}
