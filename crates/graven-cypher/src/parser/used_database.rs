//! `USE name`, `USE graph.byName('name')`: the database that a query is for.
//!
//! # How it works
//! A file holds one database, so that `USE` chooses nothing: it may name this one, by each of its
//! names. Names are collected while a statement is read, and the binder compares them with the
//! schema's. A name that is computed becomes a call of [`CHECK`] before the query, which compares
//! when it runs. The call also says where in the text the name stands: a session that computed it
//! before, to choose a database by it, keeps it under this place.

use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, Expr, ExprKind, Name, ProcedureCall};
use crate::diagnostic::{Code, Diagnostic};
use crate::token::{Span, TokenKind};

/// The procedure that fails unless its first argument names the database; the second one says where
/// that stands.
pub(crate) const CHECK: &str = "graven.database.check";

impl Parser<'_> {
    /// `USE`, if it is next; what has to run before the query, if anything has.
    pub(super) fn used_database(&mut self) -> Result<Option<Clause>> {
        if !self.is_word("USE") {
            return Ok(None);
        }
        let start = self.advance().span;
        let name = self.dotted_name("the name of a database")?;
        if self.kind() != TokenKind::OpenParen {
            self.used.push(name);
            return Ok(None);
        }
        if !name.text.eq_ignore_ascii_case("graph.byName") {
            return Err(self.no_such_graph(&name));
        }
        self.advance();
        let wanted = self.expression()?;
        let span = start.to(self.expect(TokenKind::CloseParen, "`)`")?.span);
        match &wanted.kind {
            ExprKind::String(text) => {
                let (text, span) = (text.clone(), wanted.span);
                self.used.push(Name { text, span });
                Ok(None)
            }
            _ => {
                let place = ExprKind::Integer(i64::from(wanted.span.start));
                let place = self.make(place, wanted.span)?;
                Ok(Some(check(vec![wanted, place], span)))
            }
        }
    }

    /// A graph by something else than a name.
    fn no_such_graph(&self, name: &Name) -> Diagnostic {
        let message = format!("`USE {}(...)` is not available in this build", name.text);
        self.error(name.span, Code::FeatureNotAvailable, message)
            .with_hint("write `USE name` or `USE graph.byName('name')`, or leave it out")
    }

    /// `USE` that is not at the beginning of a query.
    pub(super) fn use_comes_first(&self, span: Span) -> Diagnostic {
        let message = "`USE` stands at the beginning of a query, before its other clauses";
        self.error(span, Code::InvalidClauseComposition, message)
    }
}

/// The call that compares a name when the statement runs.
fn check(args: Vec<Expr>, span: Span) -> Clause {
    let kind = ClauseKind::Call(ProcedureCall::of(CHECK, args, span));
    Clause { kind, span }
}
