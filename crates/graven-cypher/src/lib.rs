//! Cypher: text in, plan out. Knows no storage; defines the [`SchemaView`] it reads.
//!
//! # How it works
//! `lexer` -> `parser` (recursive descent, builds the `ast`) -> `bind` (names, kinds, aggregation
//! rules; produces a query graph per `MATCH`) -> `planner` (start points, order of patterns by
//! cost, operators) -> `plan::rules` (one rewrite per file) -> [`Plan`].

mod address;
mod ast;
mod bind;
mod cost;
pub mod diagnostic;
mod elsewhere;
pub mod explain;
pub mod functions;
mod lexer;
mod logical;
mod parser;
pub mod plan;
mod planner;
pub mod schema_view;
mod search;
pub mod signature;
pub mod statement;
mod stop;
pub mod token;
pub mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use address::{Address, address_of};
pub use bind::type_shown;
pub use diagnostic::{Code, Diagnostic, Excerpt};
pub use logical::parse_and_plan_logical;
pub use plan::Plan;
pub use schema_view::{
    ColumnView, FunctionView, IndexView, LabelIndex, Named, ProcedureView, SchemaView, SourceFault,
    SourceView, Stored, StoredSize, TableView, ValueCounts,
};
pub use stop::Stop;
pub use token::Span;
pub use types::TypeSet;

/// Which parameters the caller will supply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ParameterNames {
    /// Not known yet (a statement is prepared or explained); the executor reports a missing one.
    #[default]
    Any,
    /// Exactly these; the use of another is an error. Of one that holds a text, or a few texts,
    /// they may be told: where it stands for labels or types, the statement is planned for just
    /// these ([`Plan::planned_for`]).
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

/// Whether a statement has a subquery in transactions of its own, or calls a procedure that has;
/// false for what cannot be parsed.
#[must_use]
pub fn is_in_transactions(text: &str) -> bool {
    fn has(query: &ast::Query) -> bool {
        let unions = query.unions.iter().map(|union| &union.query);
        let mut clauses = std::iter::once(&query.first)
            .chain(unions)
            .flat_map(|single| &single.clauses);
        clauses.any(|clause| match &clause.kind {
            ast::ClauseKind::Subquery {
                transactions,
                query,
                ..
            } => transactions.is_some() || has(query),
            ast::ClauseKind::CopyFrom(copy) => copy.transactions.is_some(),
            ast::ClauseKind::Call(call) => {
                has_transactions(&call.name.text) || *call.name.text == *IMPORT
            }
            _ => false,
        })
    }
    parser::parse(text).is_ok_and(|statement| has(&statement.query))
}

/// What `IMPORT DATABASE` calls.
const IMPORT: &str = "graven.importDatabase";

/// Whether a procedure has transactions of its own.
#[must_use]
pub fn has_transactions(procedure: &str) -> bool {
    const OWN: &[&str] = &["commit", "iterate", "truncate"];
    let name = procedure.strip_prefix("apoc.periodic.");
    name.is_some_and(|name| OWN.contains(&name))
}

/// Whether the text alone tells that a statement changes nothing; false for what cannot be parsed,
/// may advance a sequence, or calls what may be a macro or may change the graph. What procedures do
/// beside a statement is none of its changes.
#[must_use]
pub fn only_reads(text: &str) -> bool {
    fn reads(query: &ast::Query) -> bool {
        let unions = query.unions.iter().map(|union| &union.query);
        let mut clauses = std::iter::once(&query.first)
            .chain(unions)
            .flat_map(|single| &single.clauses);
        clauses.all(|clause| match &clause.kind {
            ast::ClauseKind::Match { .. }
            | ast::ClauseKind::With { .. }
            | ast::ClauseKind::Let(_)
            | ast::ClauseKind::Filter(_)
            | ast::ClauseKind::Return(_)
            | ast::ClauseKind::Finish
            | ast::ClauseKind::Unwind { .. }
            | ast::ClauseKind::LoadCsv { .. }
            | ast::ClauseKind::LoadFrom(_) => true,
            ast::ClauseKind::Call(call) => !may_change(&call.name.text),
            ast::ClauseKind::Subquery { query, .. } => reads(query),
            ast::ClauseKind::Schema(_)
            | ast::ClauseKind::CopyFrom(_)
            | ast::ClauseKind::CopyTo { .. }
            | ast::ClauseKind::Create { .. }
            | ast::ClauseKind::Merge { .. }
            | ast::ClauseKind::Set(_)
            | ast::ClauseKind::Remove(_)
            | ast::ClauseKind::Delete { .. }
            | ast::ClauseKind::Foreach { .. } => false,
        })
    }
    parser::parse(text).is_ok_and(|statement| !statement.may_advance && reads(&statement.query))
}

/// Whether a procedure may change the graph, as far as its name tells: those of this build that do
/// are called `apoc` or `db.create`, those of programs have other names.
fn may_change(procedure: &str) -> bool {
    let mut reading = ["db.", "dbms.", "graven.", "tx."].iter();
    let changing = procedure.starts_with("db.create.") || procedure == IMPORT;
    changing || !reading.any(|it| procedure.starts_with(it))
}

/// The statement with `FINISH` in the place of each `RETURN` that ends it: it does the same and
/// gives no rows. None where none ends it, and for what cannot be parsed.
#[must_use]
pub fn without_rows(text: &str) -> Option<String> {
    let query = parser::parse(text).ok()?.query;
    let mut done = String::new();
    let mut from = 0;
    let ends = query.unions.iter().map(|union| union.span.start as usize);
    let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query));
    for (part, end) in parts.zip(ends.chain([text.len()])) {
        let last = part.clauses.last()?;
        if !matches!(last.kind, ast::ClauseKind::Return(_)) {
            return None;
        }
        done.push_str(text.get(from..last.span.start as usize)?);
        done.push_str("FINISH ");
        from = end;
    }
    Some(done)
}

/// Whether a program may add a function of this name: it can be called, and the language has none
/// of that name.
#[must_use]
pub fn is_free_function_name(name: &str) -> bool {
    if bind::known_function(name).is_some() || parser::is_function_name(name) {
        return false;
    }
    let is_call = |text: &str| {
        let clause = parser::parse(text).ok()?.query.first.clauses.pop()?;
        let ast::ClauseKind::Return(projection) = clause.kind else {
            return None;
        };
        let [item] = &projection.items[..] else {
            return None;
        };
        match &item.expr.kind {
            ast::ExprKind::Call { name: called, .. } => Some(&*called.text == name),
            _ => None,
        }
    };
    let calls = ["()", "(0)", "(0, 0)"].map(|args| format!("RETURN {name}{args}"));
    calls.iter().all(|text| is_call(text) == Some(true))
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
    planner::plan(bound, schema)
}

/// As [`parse_and_plan`]; `stop` is asked from time to time, and ends the work.
///
/// # Errors
/// As [`parse_and_plan`]; any, where it was stopped.
pub fn parse_and_plan_until(
    text: &str,
    schema: &dyn SchemaView,
    params: &ParameterNames,
    stop: Stop,
) -> Result<Plan, Diagnostic> {
    stop::run(text, stop, || parse_and_plan(text, schema, params))
}

#[cfg(test)]
mod tests {
    use super::{is_in_transactions, only_reads};

    /// Goal: batches that a statement commits by themselves are seen, wherever they stand.
    #[test]
    fn batches_are_seen() {
        for text in [
            "UNWIND [1] AS i CALL (i) { CREATE () } IN TRANSACTIONS",
            "CALL apoc.periodic.iterate('RETURN 1 AS x', 'CREATE ()', {})",
            "CALL () { CALL apoc.periodic.commit('RETURN 0') YIELD updates RETURN updates } \
             RETURN 1",
        ] {
            assert!(is_in_transactions(text), "{text}");
        }
        for text in [
            "CALL (*) { CREATE () }",
            "CALL apoc.cypher.doIt('CREATE ()', {})",
        ] {
            assert!(!is_in_transactions(text), "{text}");
        }
    }

    /// Goal: a statement that takes a number of a sequence, also behind a macro, or changes the
    /// graph by a procedure, is none that only reads.
    #[test]
    fn what_may_change_does_not_only_read() {
        for text in [
            "MATCH (n:N) WHERE size(n.nextval) > 1 RETURN toUpper(n.x), count(*), sum(n.y)",
            "RETURN list_len([1]) + len('a') AS x, CURRVAL('s') AS y, 'nextval' AS z",
            "RETURN apoc.coll.max([1]) AS x, date_part('year', date()) AS y, \
             COUNT { (a)-->() } AS z",
            "CALL db.labels() YIELD label RETURN label",
            "SHOW INDEXES",
            "CALL () { MATCH (n) RETURN n } RETURN n",
            "EXPLAIN RETURN 1",
        ] {
            assert!(only_reads(text), "{text}");
        }
        for text in [
            "RETURN nextval('s') AS x",
            "RETURN NextVal('s') AS x",
            "RETURN `nextval`('s') AS x",
            "RETURN graven.nextValue('s') AS x",
            "MATCH (n) WHERE EXISTS { MATCH (m) WHERE m.x = nextval('s') } RETURN n",
            "RETURN [x IN [1] | following(x)] AS x",
            "MATCH (n {x: following()}) RETURN n",
            "CALL apoc.create.node([], {})",
            "CALL db.create.setNodeVectorProperty(null, 'a', [1])",
            "CALL () { CALL apoc.cypher.doIt('CREATE ()', {}) YIELD value RETURN value } \
             RETURN value",
            "CREATE ()",
            "RETURN",
        ] {
            assert!(!only_reads(text), "{text}");
        }
    }
}
