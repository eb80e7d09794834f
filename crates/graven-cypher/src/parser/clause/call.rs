//! `CALL` of procedures and subqueries, and subqueries in braces.

use super::{Place, writes};
use crate::ast::{
    Clause, ClauseKind, Expr, ExprKind, Imports, ProcedureCall, Projection, ProjectionItem, Query,
    SingleQuery, SubqueryKind, Yields,
};
use crate::diagnostic::Code;
use crate::parser::{Parser, Result};
use crate::token::{Span, TokenKind};

impl Parser<'_> {
    pub(super) fn call_clause(&mut self, optional: bool) -> Result<ClauseKind> {
        let start = self.expect_word("CALL")?.span;
        if matches!(self.kind(), TokenKind::OpenBrace | TokenKind::OpenParen) {
            let imports = match self.kind() {
                TokenKind::OpenParen => self.imports()?,
                _ => Imports::ByWith,
            };
            let query = self.nested(Self::braced_query)?;
            return Ok(ClauseKind::Subquery {
                optional,
                imports,
                query: Box::new(query),
                transactions: self.in_transactions()?,
            });
        }
        if let Some(call) = self.kuzu_call(start)? {
            return Ok(call);
        }
        let name = self.dotted_name("a procedure or `{`")?;
        let args = match self.eat(TokenKind::OpenParen) {
            true => Some(self.arguments()?),
            false => None,
        };
        let mut yields = Yields::None;
        let mut filter = None;
        if self.eat_word("YIELD") {
            yields = self.yields()?;
            filter = self.where_clause()?;
            if filter.is_some() && matches!(self.kind(), TokenKind::End | TokenKind::Semicolon) {
                return Err(self.unexpected("a clause such as `RETURN`"));
            }
        }
        let call = ProcedureCall {
            name,
            args,
            yields,
            filter,
            shown: false,
            optional,
        };
        match optional {
            true => self.optional_procedure(call, start),
            false => Ok(ClauseKind::Call(call)),
        }
    }

    /// `OPTIONAL CALL procedure() YIELD a`, as
    /// `OPTIONAL CALL (*) { CALL procedure() YIELD a RETURN a }`. Without `YIELD` it is right for a
    /// procedure without result columns alone, which the binder knows.
    fn optional_procedure(&mut self, mut call: ProcedureCall, span: Span) -> Result<ClauseKind> {
        let Yields::Items(yielded) = &call.yields else {
            return Ok(ClauseKind::Call(call));
        };
        call.optional = false;
        let mut projection = Projection {
            star: None,
            ..Projection::of_all(span)
        };
        for (column, alias) in yielded {
            let name = alias.as_ref().unwrap_or(column).clone();
            let span = name.span;
            let expr = self.make(ExprKind::Variable(name), span)?;
            projection.items.push(ProjectionItem {
                expr,
                alias: None,
                spread: None,
            });
        }
        let mut kinds = vec![ClauseKind::Call(call)];
        if !projection.items.is_empty() {
            kinds.push(ClauseKind::Return(projection));
        }
        let clauses = kinds.into_iter().map(|kind| Clause { kind, span });
        let first = SingleQuery {
            clauses: clauses.collect(),
        };
        let unions = Vec::new();
        Ok(ClauseKind::Subquery {
            optional: true,
            imports: Imports::All,
            query: Box::new(Query { first, unions }),
            transactions: None,
        })
    }

    /// `(a, b)` or `(*)` after `CALL`.
    fn imports(&mut self) -> Result<Imports> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        if self.eat(TokenKind::Star) {
            self.expect(TokenKind::CloseParen, "`)`")?;
            return Ok(Imports::All);
        }
        let mut names: Vec<crate::ast::Name> = Vec::new();
        if !self.eat(TokenKind::CloseParen) {
            loop {
                names.push(self.name("a variable")?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        }
        Ok(Imports::Names(names))
    }

    pub(in crate::parser) fn arguments(&mut self) -> Result<Vec<Expr>> {
        let mut args = Vec::new();
        if self.eat(TokenKind::CloseParen) {
            return Ok(args);
        }
        loop {
            args.push(self.expression()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        Ok(args)
    }

    pub(in crate::parser) fn yields(&mut self) -> Result<Yields> {
        if self.kind() == TokenKind::Star {
            return Ok(Yields::Star(self.advance().span));
        }
        if self.eat(TokenKind::Minus) {
            return Ok(Yields::Items(Vec::new()));
        }
        let mut items = Vec::new();
        loop {
            let column = self.name("a result column")?;
            let alias = match self.eat_word("AS") {
                true => Some(self.name("an alias")?),
                false => None,
            };
            items.push((column, alias));
            if !self.eat(TokenKind::Comma) {
                return Ok(Yields::Items(items));
            }
        }
    }

    /// A query that returns rows to what stands around it.
    pub(in crate::parser) fn subquery_of_rows(&mut self) -> Result<Query> {
        self.query(Place::CallSubquery)
    }

    pub(super) fn braced_query(&mut self) -> Result<Query> {
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let query = self.with_bar(false, |p| p.query(Place::CallSubquery))?;
        self.expect(TokenKind::CloseBrace, "a clause or `}`")?;
        Ok(query)
    }

    /// The braces of `EXISTS {}`, `COUNT {}` and `COLLECT {}`; a bare pattern stands for `MATCH` of
    /// it.
    pub(in crate::parser) fn braced_subquery(&mut self, kind: SubqueryKind) -> Result<Query> {
        let open = self.expect(TokenKind::OpenBrace, "`{`")?;
        let bare = kind != SubqueryKind::Collect
            && (self.kind() == TokenKind::OpenParen
                || (self.at_name() && self.peek(1) == TokenKind::Equal)
                || ["SHORTEST", "ANY", "ALL", "shortestPath", "allShortestPaths"]
                    .iter()
                    .any(|word| self.is_word(word)));
        let query = self.with_bar(false, |p| match bare {
            true => p.bare_pattern(open.span),
            false => {
                let place = match kind {
                    SubqueryKind::Collect => Place::CallSubquery,
                    _ => Place::Expression,
                };
                p.query(place)
            }
        })?;
        self.expect(TokenKind::CloseBrace, "`}`")?;
        if let Some(span) = first_write(&query) {
            let message = "a subquery of an expression cannot write";
            return Err(self.error(span, Code::InvalidClauseComposition, message));
        }
        Ok(query)
    }

    fn bare_pattern(&mut self, span: Span) -> Result<Query> {
        let patterns = self.patterns()?;
        self.check_selected(&patterns)?;
        let filter = self.where_clause()?;
        let clause = Clause {
            kind: ClauseKind::Match {
                optional: false,
                patterns,
                hints: Vec::new(),
                filter,
            },
            span,
        };
        Ok(Query {
            first: SingleQuery {
                clauses: vec![clause],
            },
            unions: Vec::new(),
        })
    }
}

/// Place of the first clause of a query that changes the graph.
fn first_write(query: &Query) -> Option<Span> {
    let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|u| &u.query));
    let mut clauses = parts.flat_map(|part| &part.clauses);
    clauses.find_map(|clause| match &clause.kind {
        ClauseKind::Subquery {
            transactions: Some(_),
            ..
        } => Some(clause.span),
        ClauseKind::Subquery { query, .. } => first_write(query),
        kind => writes(kind).then_some(clause.span),
    })
}
