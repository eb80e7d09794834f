//! For which database of a server a statement is, told by its text alone.
//!
//! # How it works
//! `USE name` names one, and `USE graph.byName(name)` one that may have to be computed first.
//! Commands about users, databases and aliases are for `system`, wherever they are said. Other
//! statements are for the database that their session has chosen. So is one that reads a graph
//! outside of the subquery that says `USE`: what it reads there is of the chosen database.
//!
//! # Invariants
//! * CD-2 A statement that may run on `system` reads no graph: it has no pattern, changes no graph
//!   and no schema, and calls only procedures of [`WITHOUT_GRAPH`].

use std::sync::Arc;

use crate::ast::{
    Clause, ClauseKind, Expr, ExprKind, Name, ProcedureCall, Projection, Query, SingleQuery,
    Statement,
};
use crate::parser;
use crate::parser::databases::{CHANGE, CHANGE_AND_WAIT, CHECK_HOME};
use crate::parser::used_database::CHECK;
use crate::plan::schema::SchemaCommand;
use crate::stop::{self, Stop};

/// What the text of a statement says of its database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The first name behind `USE`, if the whole statement is for it.
    pub used: Option<Arc<str>>,
    /// The first name behind `USE graph.byName` that is computed, if it reads no graph and the
    /// whole statement is for it: where it stands, and its text.
    pub computed: Option<(u32, Arc<str>)>,
    /// It is about users, databases or aliases.
    pub administers: bool,
    /// It may run on a database that has no graph.
    pub needs_no_graph: bool,
}

/// Procedures, in small letters, that read no graph and no schema. A name that ends in a dot means
/// all procedures with that prefix.
const WITHOUT_GRAPH: &[&str] = &[
    "db.clearquerycaches",
    "db.info",
    "db.ping",
    "dbms.",
    "graven.backup",
    "graven.checkpoint",
    "graven.databases.",
    "graven.memory",
    "graven.procedures",
    "graven.show.",
    "graven.terminate.",
    "graven.version",
    "tx.",
];

/// For which database the statement is; none for what cannot be parsed, and where `stop`, which is
/// asked from time to time, has ended the work.
///
/// # Examples
/// ```
/// use graven_cypher::address_of;
/// use std::rc::Rc;
/// let of = |text| address_of(text, Rc::new(|| false));
/// let address = of("USE ledger MATCH (n) RETURN n").expect("a statement");
/// assert_eq!(address.used.as_deref(), Some("ledger"));
/// assert!(of("CREATE DATABASE other").is_some_and(|it| it.administers));
/// ```
#[must_use]
pub fn address_of(text: &str, stop: Stop) -> Option<Address> {
    stop::run(text, stop, || {
        parser::parse(text).map(|statement| found(text, &statement))
    })
    .ok()
}

fn found(text: &str, statement: &Statement) -> Address {
    let query = &statement.query;
    let administers = query.first.clauses.iter().any(administers);
    let begins = query.first.clauses.first().map(|clause| clause.span.start);
    let reads_outside = reads_outside(query);
    let is_for_all = |name: &Name| !reads_outside || begins.is_none_or(|at| name.span.start < at);
    let used = statement.used.first().filter(|name| is_for_all(name));
    Address {
        used: used.map(|name| Arc::clone(&name.text)),
        computed: computed(query, !reads_outside)
            .filter(|name| !of_expression(name))
            .map(|name| (name.span.start, name.span.slice(text).into())),
        administers,
        needs_no_graph: administers || !reads(query),
    }
}

fn administers(clause: &Clause) -> bool {
    match &clause.kind {
        ClauseKind::Schema(SchemaCommand::User(_)) => true,
        ClauseKind::Call(call) => [CHANGE, CHANGE_AND_WAIT, CHECK_HOME].contains(&&*call.name.text),
        _ => false,
    }
}

/// The first computed name behind `USE`; that of a subquery only where it counts.
fn computed(query: &Query, within: bool) -> Option<&Expr> {
    let unions = query.unions.iter().map(|union| &union.query);
    let mut queries = std::iter::once(&query.first).chain(unions);
    queries.find_map(|query| {
        query.clauses.iter().find_map(|clause| match &clause.kind {
            ClauseKind::Call(call) if *call.name.text == *CHECK => call.args.as_ref()?.first(),
            ClauseKind::Subquery { query, .. } if within => computed(query, within),
            _ => None,
        })
    })
}

/// Whether a query reads or changes a graph.
fn reads(query: &Query) -> bool {
    let unions = query.unions.iter().map(|union| &union.query);
    std::iter::once(&query.first).chain(unions).any(reads_one)
}

fn reads_one(query: &SingleQuery) -> bool {
    query.clauses.iter().any(reads_clause)
}

/// Whether a query reads or changes a graph outside of its subqueries.
fn reads_outside(query: &Query) -> bool {
    let unions = query.unions.iter().map(|union| &union.query);
    std::iter::once(&query.first).chain(unions).any(|query| {
        let mut clauses = query.clauses.iter();
        clauses.any(|clause| match &clause.kind {
            ClauseKind::Subquery { .. } => false,
            ClauseKind::Call(call) if *call.name.text == *CHECK => false,
            _ => reads_clause(clause),
        })
    })
}

fn reads_clause(clause: &Clause) -> bool {
    match &clause.kind {
        ClauseKind::Return(projection) => of_projection(projection),
        ClauseKind::With { projection, filter } => {
            of_projection(projection) || filter.iter().any(of_expression)
        }
        ClauseKind::Let(items) => items.iter().any(|(_, value)| of_expression(value)),
        ClauseKind::Filter(condition) => of_expression(condition),
        ClauseKind::Unwind { list, .. } => of_expression(list),
        ClauseKind::Call(call) => of_call(call),
        ClauseKind::Subquery { query, .. } => reads(query),
        ClauseKind::Finish => false,
        _ => true,
    }
}

fn of_call(call: &ProcedureCall) -> bool {
    let name = call.name.text.to_lowercase();
    let is_known = |known: &&str| match known.ends_with('.') {
        true => name.starts_with(*known),
        false => name == **known,
    };
    !WITHOUT_GRAPH.iter().any(is_known)
        || call.args.iter().flatten().any(of_expression)
        || call.filter.iter().any(of_expression)
}

fn of_projection(projection: &Projection) -> bool {
    let items = projection.items.iter().map(|item| &item.expr);
    let order = projection.order.iter().map(|(expr, _)| expr);
    let bounds = projection.skip.iter().chain(&projection.limit);
    items.chain(order).chain(bounds).any(of_expression)
}

fn of_expression(expr: &Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Pattern(_) | ExprKind::PatternComprehension { .. } => true,
        ExprKind::Subquery { query, .. } => reads(query),
        _ => false,
    };
    let mut found = own;
    expr.children(&mut |child| found |= !own && of_expression(child));
    found
}

#[cfg(test)]
mod tests {
    //! Goal: what is for `system` is told from what reads a graph, wherever a pattern hides.

    use super::*;
    use std::rc::Rc;

    fn address_of(text: &str) -> Option<Address> {
        super::address_of(text, Rc::new(|| false))
    }

    #[test]
    fn what_reads_a_graph_is_known() {
        for (text, needs_no_graph) in [
            ("RETURN 1", true),
            ("SHOW USERS YIELD user WHERE user = 'a' RETURN user", true),
            ("CALL dbms.components()", true),
            ("CREATE USER a SET PASSWORD 'bcdefgh'", true),
            ("ALTER USER a SET HOME DATABASE b", true),
            ("UNWIND [1] AS x CALL (x) { RETURN x AS y } RETURN y", true),
            ("MATCH (n) RETURN n", false),
            ("RETURN [(a)-->(b) | a]", false),
            ("RETURN EXISTS { (a) }", false),
            (
                "UNWIND [1] AS x CALL (x) { MATCH (y) RETURN y } RETURN y",
                false,
            ),
            ("WITH 1 AS x WHERE COUNT { (a) } > 0 RETURN x", false),
            ("SHOW USERS YIELD user WHERE EXISTS { (:Home) }", false),
            ("RETURN apoc.text.join(['a'], '')", true),
            ("CALL db.labels()", false),
            ("CALL db.createLabel('A')", false),
            ("CALL DBMS.Components()", true),
            ("RETURN APOC.cypher.runFirstColumnMany('x', {})", false),
            ("CALL apoc.cypher.run('MATCH (n) RETURN n', {})", false),
            ("CREATE (n)", false),
            ("CREATE INDEX FOR (n:N) ON (n.x)", false),
        ] {
            let address = address_of(text).expect(text);
            assert_eq!(address.needs_no_graph, needs_no_graph, "{text}");
        }
        assert_eq!(address_of("MATCH"), None);
        for (text, name) in [
            ("USE b MATCH (n) RETURN n", Some("b")),
            ("CALL { USE b MATCH (n) RETURN n } RETURN n", Some("b")),
            ("MATCH (m) CALL { USE b MATCH (n) RETURN n } RETURN n", None),
        ] {
            let address = address_of(text).expect(text);
            assert_eq!(address.used.as_deref(), name, "{text}");
        }
        let used = address_of("USE a.b DROP DATABASE c").expect("a statement");
        assert_eq!(used.used.as_deref(), Some("a.b"));
        assert!(used.administers);
        for (text, name) in [
            ("USE graph.byName( $a + 'b' ) RETURN 1", Some("$a + 'b'")),
            (
                "CALL { USE graph.byName($a) RETURN 1 AS x } RETURN x",
                Some("$a"),
            ),
            (
                "MATCH (n) CALL { USE graph.byName($a) RETURN 1 AS x } RETURN x",
                None,
            ),
            ("USE graph.byName($a) MATCH (n) RETURN n", Some("$a")),
            ("USE graph.byName(toString(EXISTS { () })) RETURN 1", None),
            ("USE graph.byName('x') RETURN 1", None),
            (
                "USE graph.byName(apoc.text.join(['a'], '')) RETURN 1",
                Some("apoc.text.join(['a'], '')"),
            ),
            (
                "USE graph.byName(apoc.cypher.runFirstColumnSingle('x')) RETURN 1",
                None,
            ),
        ] {
            let address = address_of(text).expect(text);
            let computed = address.computed.map(|(place, computed)| {
                assert!(text[place as usize..].starts_with(&*computed), "{text}");
                computed
            });
            assert_eq!(computed.as_deref(), name, "{text}");
        }
    }
}
