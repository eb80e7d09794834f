//! `IN TRANSACTIONS` behind a subquery, and where such a subquery may stand.
//!
//! # How it works
//! The parts behind `TRANSACTIONS` may come in any order, each once. A subquery in transactions
//! belongs to the statement itself: not to another subquery, not to a part of a `UNION`, and not
//! behind or before a clause that writes in the statement's own transaction, of which there is
//! none.

use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, Expr, InTransactions, Query};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::OnError;

impl Parser<'_> {
    /// What stands behind the closing brace, if it is about transactions.
    pub(super) fn in_transactions(&mut self) -> Result<Option<Box<InTransactions>>> {
        if !self.is_word("IN") {
            return Ok(None);
        }
        let start = self.advance().span;
        let mut parts = InTransactions {
            concurrency: None,
            rows: None,
            on_error: None,
            retry: None,
            status: None,
            span: start,
        };
        if !self.is_transactions() {
            if !self.is_word("CONCURRENT") {
                parts.concurrency = Some(self.expression()?);
            }
            self.expect_word("CONCURRENT")?;
        }
        if !self.is_transactions() {
            return Err(self.unexpected("`TRANSACTIONS`"));
        }
        self.advance();
        loop {
            let span = self.token().span;
            let again = if self.eat_word("OF") {
                let rows = self.expression()?;
                if !self.eat_word("ROW") {
                    self.expect_word("ROWS")?;
                }
                parts.rows.replace(rows).is_some()
            } else if self.is_word("ON") && self.is_word_at(1, "ERROR") {
                self.next += 2;
                let retry = self.retry()?;
                let on_error = match retry.is_some() && !self.eat_word("THEN") {
                    true => OnError::Fail,
                    false => self.on_error()?,
                };
                parts.retry = parts.retry.or(retry);
                parts.on_error.replace(on_error).is_some()
            } else if self.is_word("REPORT") {
                self.advance();
                self.expect_word("STATUS")?;
                self.expect_word("AS")?;
                let name = self.name("a variable")?;
                parts.status.replace(name).is_some()
            } else {
                break;
            };
            if again {
                let message = "this part of `IN TRANSACTIONS` is there already";
                return Err(self.error(span, Code::UnexpectedSyntax, message));
            }
        }
        parts.span = start.to(self.last_span());
        if parts.status.is_some() && matches!(parts.on_error, None | Some(OnError::Fail)) {
            let message = "`REPORT STATUS` needs `ON ERROR CONTINUE` or `ON ERROR BREAK`: without \
                them a failure ends the statement";
            return Err(self.error(parts.span, Code::UnexpectedSyntax, message));
        }
        Ok(Some(Box::new(parts)))
    }

    fn is_transactions(&self) -> bool {
        self.is_word("TRANSACTIONS") || self.is_word("TRANSACTION")
    }

    /// `RETRY [FOR n SECONDS]`.
    fn retry(&mut self) -> Result<Option<Option<Expr>>> {
        if !self.eat_word("RETRY") {
            return Ok(None);
        }
        if !self.eat_word("FOR") {
            return Ok(Some(None));
        }
        let seconds = self.expression()?;
        let units = ["SEC", "SECS", "SECOND", "SECONDS"];
        match units.iter().any(|unit| self.eat_word(unit)) {
            true => Ok(Some(Some(seconds))),
            false => Err(self.unexpected("`SECONDS`")),
        }
    }

    fn on_error(&mut self) -> Result<OnError> {
        if self.eat_word("CONTINUE") {
            Ok(OnError::Continue)
        } else if self.eat_word("BREAK") {
            Ok(OnError::Break)
        } else if self.eat_word("FAIL") {
            Ok(OnError::Fail)
        } else {
            Err(self.unexpected("`CONTINUE`, `BREAK`, `FAIL` or `RETRY`"))
        }
    }

    /// Judges where subqueries in transactions stand in a whole statement.
    pub(super) fn check_transactions(&self, query: &Query) -> Result<()> {
        let parts = || std::iter::once(&query.first).chain(query.unions.iter().map(|u| &u.query));
        for part in parts() {
            let mut writes = false;
            for clause in &part.clauses {
                if let Some(nested) = nested(clause) {
                    return Err(self.misplaced(nested, "inside another subquery"));
                }
                if in_transactions(clause) {
                    if !query.unions.is_empty() {
                        return Err(self.misplaced(clause, "in a part of a `UNION`"));
                    }
                    if writes {
                        let error = self.misplaced(clause, "behind a clause that writes");
                        let hint = "write within the subquery, or in a statement of its own";
                        return Err(error.with_hint(hint));
                    }
                }
                writes |= changes(clause);
            }
        }
        Ok(())
    }

    fn misplaced(&self, clause: &Clause, place: &str) -> Diagnostic {
        let message = format!("`CALL {{ ... }} IN TRANSACTIONS` cannot stand {place}");
        self.error(clause.span, Code::InvalidClauseComposition, message)
    }
}

fn in_transactions(clause: &Clause) -> bool {
    matches!(
        clause.kind,
        ClauseKind::Subquery {
            transactions: Some(_),
            ..
        }
    )
}

/// A subquery in transactions inside the subqueries of a clause.
fn nested(clause: &Clause) -> Option<&Clause> {
    let clauses: Vec<&Clause> = match &clause.kind {
        ClauseKind::Subquery { query, .. } => std::iter::once(&query.first)
            .chain(query.unions.iter().map(|u| &u.query))
            .flat_map(|part| &part.clauses)
            .collect(),
        ClauseKind::Foreach { clauses, .. } => clauses.iter().collect(),
        _ => return None,
    };
    clauses
        .into_iter()
        .find_map(|inner| match in_transactions(inner) {
            true => Some(inner),
            false => nested(inner),
        })
}

/// Whether a clause writes outside of transactions of its own.
fn changes(clause: &Clause) -> bool {
    match &clause.kind {
        ClauseKind::Subquery {
            transactions: Some(_),
            ..
        } => false,
        ClauseKind::Subquery { query, .. } => std::iter::once(&query.first)
            .chain(query.unions.iter().map(|u| &u.query))
            .flat_map(|part| &part.clauses)
            .any(changes),
        kind => super::clause::writes(kind),
    }
}
