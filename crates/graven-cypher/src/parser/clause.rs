//! Statements and clauses.
//!
//! # How it works
//! `[options] query [;]` (the options are in `parser/prefix.rs`), a query being single queries
//! joined by `UNION`, a single query being clauses in order. Which clause may follow which is
//! judged here, since it needs no names: `RETURN` ends a query, reading after writing needs `WITH`,
//! a query must not end in `MATCH`.

mod call;
mod write;

use super::prefix::Prefix;
use super::{Parser, Result};
use crate::ast::{
    Clause, ClauseKind, Expr, Name, Projection, ProjectionItem, Query, SingleQuery, Statement,
    Union, Yields,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::SortOrder;
use crate::token::TokenKind;

/// Most clauses of one single query apart from `CREATE`; the plan is as deep as they are many.
const READING_CLAUSES_MAX: usize = 200;

/// Most clauses of one single query, and most parts of a `UNION`.
const CLAUSES_MAX: usize = 4000;

/// Where a query stands, which decides how it may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    CallSubquery,
    /// `EXISTS {}` and `COUNT {}` need no `RETURN`.
    Expression,
}

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let Prefix { mode } = self.prefix()?;
        let (at, first) = (self.token().span, self.next);
        let check = self.used_database()?;
        let query = match self.schema_statement()? {
            Some(query) => Some(query),
            None => self.file_statement()?,
        };
        let query = match (query, check) {
            (Some(query), None) => query,
            (Some(_), Some(_)) => {
                let message = "before a command, the name behind `USE` is not computed";
                let error = self.error(at, Code::FeatureNotAvailable, message);
                return Err(error.with_hint("write `USE name`, or leave it out"));
            }
            (None, _) => {
                self.next = first;
                self.used.clear();
                self.query(Place::Top)?
            }
        };
        self.check_transactions(&query)?;
        self.eat(TokenKind::Semicolon);
        if self.kind() != TokenKind::End {
            return Err(self.unexpected("a clause or the end of the statement"));
        }
        let used = std::mem::take(&mut self.used);
        Ok(Statement {
            mode,
            query,
            used,
            may_advance: self.may_advance,
        })
    }

    fn query(&mut self, place: Place) -> Result<Query> {
        let first = self.single_query(place)?;
        let mut unions: Vec<Union> = Vec::new();
        while self.is_word("UNION") {
            let span = self.advance().span;
            let all = self.eat_word("ALL");
            if !all {
                self.eat_word("DISTINCT");
            }
            if unions.iter().any(|union| union.all != all) {
                let message = "`UNION` and `UNION ALL` cannot be mixed in one query";
                return Err(self.error(span, Code::InvalidClauseComposition, message));
            }
            unions.push(Union {
                all,
                span,
                query: self.single_query(place)?,
            });
            if unions.len() > CLAUSES_MAX {
                return Err(self.too_many_clauses());
            }
        }
        let parts = std::iter::once(&first).chain(unions.iter().map(|union| &union.query));
        for part in parts.filter(|_| !unions.is_empty()) {
            if let [
                Clause {
                    kind: ClauseKind::Call(call),
                    span,
                },
            ] = &part.clauses[..]
                && !call.shown
            {
                let message = "a procedure within a `UNION` names its columns";
                let error = self.error(*span, Code::InvalidClauseComposition, message);
                return Err(error.with_hint("write `CALL ... YIELD name RETURN name`"));
            }
        }
        Ok(Query { first, unions })
    }

    fn single_query(&mut self, place: Place) -> Result<SingleQuery> {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut check = self.used_database()?;
        let mut reading = 0;
        while let Some(clause) = self.clause()? {
            if let Some(previous) = clauses.last() {
                self.check_order(previous, &clause)?;
            }
            reading += usize::from(!matches!(clause.kind, ClauseKind::Create { .. }));
            clauses.push(clause);
            if place == Place::CallSubquery && takes_over(&clauses) {
                check = check.or(self.used_database()?);
            }
            if reading > READING_CLAUSES_MAX || clauses.len() > CLAUSES_MAX {
                return Err(self.too_many_clauses());
            }
        }
        self.check_end(&clauses, place)?;
        if let Some(check) = check {
            // What a subquery takes over comes first.
            let imports = place == Place::CallSubquery && takes_over(&clauses[..1]);
            clauses.insert(usize::from(imports), check);
        }
        Ok(SingleQuery { clauses })
    }

    fn check_order(&self, previous: &Clause, clause: &Clause) -> Result<()> {
        let reads = matches!(
            clause.kind,
            ClauseKind::Match { .. }
                | ClauseKind::Unwind { .. }
                | ClauseKind::LoadCsv { .. }
                | ClauseKind::LoadFrom(_)
                | ClauseKind::Call(_)
                | ClauseKind::Subquery { .. }
        );
        let fault = if matches!(previous.kind, ClauseKind::Return(_)) {
            "nothing can follow `RETURN`"
        } else if matches!(previous.kind, ClauseKind::Finish) {
            "nothing can follow `FINISH`"
        } else if writes(&previous.kind) && reads {
            "a `WITH` is needed between writing and reading"
        } else {
            return Ok(());
        };
        Err(self.error(clause.span, Code::InvalidClauseComposition, fault))
    }

    fn too_many_clauses(&self) -> Diagnostic {
        let message = format!(
            "the query has too many clauses (more than {READING_CLAUSES_MAX} besides CREATE, or \
                {CLAUSES_MAX})"
        );
        self.error(self.last_span(), Code::NestingTooDeep, message)
            .with_hint("send several statements, or UNWIND a list parameter")
    }

    fn check_end(&self, clauses: &[Clause], place: Place) -> Result<()> {
        let Some(last) = clauses.last() else {
            return Err(self.unexpected("a clause such as `MATCH` or `RETURN`"));
        };
        let ends = match &last.kind {
            ClauseKind::Call(call) => clauses.len() == 1 || matches!(call.yields, Yields::None),
            ClauseKind::Subquery { query, .. } => {
                let returns = |q: &SingleQuery| {
                    q.clauses
                        .last()
                        .is_some_and(|c| matches!(c.kind, ClauseKind::Return(_)))
                };
                place != Place::Expression && !returns(&query.first)
            }
            ClauseKind::Match { .. }
            | ClauseKind::Unwind { .. }
            | ClauseKind::LoadCsv { .. }
            | ClauseKind::LoadFrom(_)
            | ClauseKind::With { .. }
            | ClauseKind::Let(_)
            | ClauseKind::Filter(_) => place == Place::Expression,
            ClauseKind::Finish => place != Place::Expression,
            _ => true,
        };
        if ends {
            return Ok(());
        }
        let at_end = matches!(
            self.kind(),
            TokenKind::End | TokenKind::Semicolon | TokenKind::CloseBrace
        );
        if !at_end && !self.is_word("UNION") {
            return Err(self.unexpected("a clause such as `RETURN`"));
        }
        let what = if place == Place::Top {
            "query"
        } else {
            "subquery"
        };
        let message = format!("the {what} must end with `RETURN` or with a writing clause");
        Err(self
            .error(last.span, Code::InvalidClauseComposition, message)
            .with_hint("add `RETURN ...`"))
    }

    /// The next clause, or `None` where no clause starts.
    pub(super) fn clause(&mut self) -> Result<Option<Clause>> {
        if self.kind() != TokenKind::Word {
            return Ok(None);
        }
        let span = self.token().span;
        let word = span.slice(self.text).to_ascii_uppercase();
        let kind = match word.as_str() {
            "MATCH" => self.match_clause(false)?,
            "OPTIONAL" => {
                self.advance();
                if self.is_word("CALL") {
                    self.call_clause(true)?
                } else if self.is_word("MATCH") {
                    self.match_clause(true)?
                } else {
                    return Err(self.unexpected("`MATCH` or `CALL`"));
                }
            }
            "WITH" => {
                self.advance();
                let projection = self.projection()?;
                ClauseKind::With {
                    projection,
                    filter: self.where_clause()?,
                }
            }
            "RETURN" => {
                self.advance();
                ClauseKind::Return(self.projection()?)
            }
            "UNWIND" => {
                self.advance();
                let list = self.expression()?;
                self.expect_word("AS")?;
                ClauseKind::Unwind {
                    list,
                    name: self.name("a variable")?,
                }
            }
            "LET" => {
                self.advance();
                ClauseKind::Let(self.let_items()?)
            }
            "FILTER" => {
                self.advance();
                self.eat_word("WHERE");
                ClauseKind::Filter(self.with_bar(false, Self::expression)?)
            }
            "FINISH" => {
                self.advance();
                ClauseKind::Finish
            }
            "ORDER" | "SKIP" | "OFFSET" | "LIMIT" => {
                // A clause of its own is what `WITH *` and the same words are.
                let mut projection = Projection::of_all(span);
                self.bounds(&mut projection)?;
                ClauseKind::With {
                    projection,
                    filter: None,
                }
            }
            "CALL" => self.call_clause(false)?,
            "LOAD" if self.is_word_at(1, "CSV") => self.load_csv()?,
            "LOAD" => self.load_from()?,
            "CREATE" | "INSERT" | "MERGE" | "SET" | "REMOVE" | "DELETE" | "DETACH" | "NODETACH"
            | "FOREACH" => self.writing_clause(&word)?,
            "CHECKPOINT" => self.checkpoint(),
            "USE" => return Err(self.use_comes_first(span)),
            "UNION" => return Ok(None),
            _ => return Err(self.unexpected("a clause such as `MATCH`, `WITH` or `RETURN`")),
        };
        Ok(Some(Clause { kind, span }))
    }

    /// `name = value, ...`.
    fn let_items(&mut self) -> Result<Vec<(Name, Expr)>> {
        let mut items = Vec::new();
        loop {
            let name = self.name("a variable")?;
            self.expect(TokenKind::Equal, "`=`")?;
            items.push((name, self.expression()?));
            if !self.eat(TokenKind::Comma) {
                return Ok(items);
            }
        }
    }

    fn match_clause(&mut self, optional: bool) -> Result<ClauseKind> {
        self.expect_word("MATCH")?;
        self.match_mode()?;
        let patterns = self.patterns()?;
        self.check_selected(&patterns)?;
        Ok(ClauseKind::Match {
            optional,
            patterns,
            hints: self.hints()?,
            filter: self.condition_and_hint()?,
        })
    }

    /// `DIFFERENT RELATIONSHIPS`, which is what every `MATCH` means, and `REPEATABLE ELEMENTS`,
    /// which is refused.
    fn match_mode(&mut self) -> Result<()> {
        let at = |p: &Self, mode: &str, kinds: [&str; 2]| {
            p.is_word(mode) && kinds.iter().any(|kind| p.is_word_at(1, kind))
        };
        if at(self, "DIFFERENT", ["RELATIONSHIP", "RELATIONSHIPS"]) {
            self.next += 2;
            self.eat_word("BINDINGS");
        } else if at(self, "REPEATABLE", ["ELEMENT", "ELEMENTS"]) {
            let message = "`REPEATABLE ELEMENTS` is not available in this build";
            let hint = "put the patterns into MATCH clauses of their own: relationships differ \
                within each only";
            return Err(self
                .error(self.token().span, Code::FeatureNotAvailable, message)
                .with_hint(hint));
        }
        Ok(())
    }

    pub(super) fn where_clause(&mut self) -> Result<Option<Expr>> {
        match self.eat_word("WHERE") {
            true => self.with_bar(false, Self::expression).map(Some),
            false => Ok(None),
        }
    }

    fn projection(&mut self) -> Result<Projection> {
        let distinct = self.at_distinct() && self.eat_word("DISTINCT");
        let mut projection = Projection {
            distinct,
            star: None,
            ..Projection::of_all(self.token().span)
        };
        if self.kind() == TokenKind::Star {
            projection.star = Some(self.advance().span);
        } else {
            projection.items.push(self.projection_item()?);
        }
        while self.eat(TokenKind::Comma) {
            projection.items.push(self.projection_item()?);
        }
        self.bounds(&mut projection)?;
        Ok(projection)
    }

    /// `ORDER BY`, `SKIP` and `LIMIT` of a projection; whether there was one of them.
    fn bounds(&mut self, projection: &mut Projection) -> Result<bool> {
        let start = self.next;
        if self.eat_word("ORDER") {
            self.expect_word("BY")?;
            projection.order = self.sort_items()?;
        }
        if self.eat_word("SKIP") || self.eat_word("OFFSET") {
            projection.skip = Some(self.expression()?);
        }
        if self.eat_word("LIMIT") {
            projection.limit = Some(self.expression()?);
        }
        Ok(self.next > start)
    }

    /// The projection with the bounds that follow, if any do.
    pub(super) fn projection_end(
        &mut self,
        mut projection: Projection,
    ) -> Result<Option<Projection>> {
        Ok(self.bounds(&mut projection)?.then_some(projection))
    }

    /// Whether `DISTINCT` stands here, and no variable of that name.
    pub(super) fn at_distinct(&self) -> bool {
        self.is_word("DISTINCT") && !self.follows_operand(1)
    }

    fn projection_item(&mut self) -> Result<ProjectionItem> {
        if let Some(item) = self.spread_item()? {
            return Ok(item);
        }
        let expr = self.expression()?;
        let alias = match self.eat_word("AS") {
            true => Some(self.name("an alias")?),
            false => None,
        };
        Ok(ProjectionItem {
            expr,
            alias,
            spread: None,
        })
    }

    fn sort_items(&mut self) -> Result<Vec<(Expr, SortOrder)>> {
        let mut items = Vec::new();
        loop {
            let expr = self.expression()?;
            let order = if self.eat_word("DESC") || self.eat_word("DESCENDING") {
                SortOrder::Descending
            } else {
                let _ = self.eat_word("ASC") || self.eat_word("ASCENDING");
                SortOrder::Ascending
            };
            items.push((expr, order));
            if !self.eat(TokenKind::Comma) {
                return Ok(items);
            }
        }
    }

    /// `LOAD CSV [WITH HEADERS] FROM 'file' AS row [FIELDTERMINATOR ';']`.
    fn load_csv(&mut self) -> Result<ClauseKind> {
        self.advance();
        self.expect_word("CSV")?;
        let headers = self.eat_word("WITH");
        if headers {
            self.expect_word("HEADERS")?;
        }
        self.expect_word("FROM")?;
        let url = self.expression()?;
        self.expect_word("AS")?;
        let name = self.name("a variable")?;
        let terminator = match self.eat_word("FIELDTERMINATOR") {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(ClauseKind::LoadCsv {
            headers,
            url,
            name,
            terminator,
        })
    }
}

/// Whether these clauses are what a subquery takes over from outside.
fn takes_over(clauses: &[Clause]) -> bool {
    matches!(clauses, [only] if matches!(only.kind, ClauseKind::With { .. }))
}

/// Whether a clause changes the graph.
pub(super) fn writes(kind: &ClauseKind) -> bool {
    matches!(
        kind,
        ClauseKind::Create { .. }
            | ClauseKind::Merge { .. }
            | ClauseKind::Set(_)
            | ClauseKind::Remove(_)
            | ClauseKind::Delete { .. }
            | ClauseKind::Foreach { .. }
    )
}
