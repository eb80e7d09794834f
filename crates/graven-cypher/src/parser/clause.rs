//! Statements and clauses.
//!
//! # How it works
//! `[options] query [;]` (the options are in `parser/prefix.rs`), a query being single queries
//! joined by `UNION`, a single query being clauses in order. Which clause may follow which is
//! judged here, since it needs no names: `RETURN` ends a query, reading after writing needs `WITH`,
//! a query must not end in `MATCH`.

use super::prefix::Prefix;
use super::{Parser, Result};
use crate::ast::ExprKind;
use crate::ast::{
    Clause, ClauseKind, Expr, Imports, ProcedureCall, Projection, ProjectionItem, Query,
    RemoveItem, SetItem, SingleQuery, Statement, SubqueryKind, Union, Yields,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::SortOrder;
use crate::token::{Span, TokenKind};

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
        Ok(Statement { mode, query, used })
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
        Ok(Query { first, unions })
    }

    fn single_query(&mut self, place: Place) -> Result<SingleQuery> {
        let mut clauses: Vec<Clause> = Vec::new();
        let check = self.used_database()?;
        let mut reading = 0;
        while let Some(clause) = self.clause()? {
            if let Some(previous) = clauses.last() {
                self.check_order(previous, &clause)?;
            }
            reading += usize::from(!matches!(clause.kind, ClauseKind::Create { .. }));
            clauses.push(clause);
            if reading > READING_CLAUSES_MAX || clauses.len() > CLAUSES_MAX {
                return Err(self.too_many_clauses());
            }
        }
        self.check_end(&clauses, place)?;
        if let Some(check) = check {
            // What a subquery takes over comes first.
            let imports =
                place == Place::CallSubquery && matches!(clauses[0].kind, ClauseKind::With { .. });
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
            | ClauseKind::With { .. } => place == Place::Expression,
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
                    filter: self.where_clause()?,
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

    fn call_clause(&mut self, optional: bool) -> Result<ClauseKind> {
        let start = self.expect_word("CALL")?.span;
        if matches!(self.kind(), TokenKind::OpenBrace | TokenKind::OpenParen) {
            let imports = match self.kind() {
                TokenKind::OpenParen => self.imports()?,
                _ => Imports::ByWith,
            };
            let query = self.nested(Self::braced_query)?;
            let transactions = self.in_transactions()?;
            if let (true, Some(transactions)) = (optional, &transactions) {
                let message = "`OPTIONAL CALL` in transactions is not available in this build";
                return Err(self.error(transactions.span, Code::FeatureNotAvailable, message));
            }
            return Ok(ClauseKind::Subquery {
                optional,
                imports,
                query: Box::new(query),
                transactions,
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
        }
        let call = ProcedureCall {
            name,
            args,
            yields,
            filter,
            shown: false,
        };
        match optional {
            true => self.optional_procedure(call, start),
            false => Ok(ClauseKind::Call(call)),
        }
    }

    /// `OPTIONAL CALL procedure() YIELD a`, as
    /// `OPTIONAL CALL (*) { CALL procedure() YIELD a RETURN a }`.
    fn optional_procedure(&mut self, call: ProcedureCall, span: Span) -> Result<ClauseKind> {
        let Yields::Items(yielded) = &call.yields else {
            let message = "`OPTIONAL CALL` of a procedure needs `YIELD` with the result columns";
            return Err(self
                .error(call.name.span, Code::UnexpectedSyntax, message)
                .with_hint("add `YIELD name, ...`"));
        };
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
                let name = self.name("a variable")?;
                if names.iter().any(|known| known.text == name.text) {
                    let message = format!("`{}` is taken into the subquery twice", name.text);
                    return Err(self
                        .error(name.span, Code::VariableAlreadyBound, message)
                        .with_hint("name each variable once"));
                }
                names.push(name);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        }
        Ok(Imports::Names(names))
    }

    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>> {
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

    pub(super) fn yields(&mut self) -> Result<Yields> {
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

    /// A query that returns rows to what stands around it.
    pub(super) fn subquery_of_rows(&mut self) -> Result<Query> {
        self.query(Place::CallSubquery)
    }

    fn braced_query(&mut self) -> Result<Query> {
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let query = self.with_bar(false, |p| p.query(Place::CallSubquery))?;
        self.expect(TokenKind::CloseBrace, "a clause or `}`")?;
        Ok(query)
    }

    /// The braces of `EXISTS {}`, `COUNT {}` and `COLLECT {}`; a bare pattern stands for `MATCH` of
    /// it.
    pub(super) fn braced_subquery(&mut self, kind: SubqueryKind) -> Result<Query> {
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

    fn writing_clause(&mut self, word: &str) -> Result<ClauseKind> {
        self.advance();
        Ok(match word {
            "CREATE" | "INSERT" => {
                self.eat_word("UNIQUE");
                ClauseKind::Create {
                    patterns: self.patterns()?,
                }
            }
            "MERGE" => self.merge()?,
            "SET" => ClauseKind::Set(self.set_items()?),
            "REMOVE" => ClauseKind::Remove(self.remove_items()?),
            "FOREACH" => self.foreach()?,
            _ => {
                let detach = word == "DETACH";
                if detach || word == "NODETACH" {
                    self.expect_word("DELETE")?;
                }
                let mut targets = vec![self.expression()?];
                while self.eat(TokenKind::Comma) {
                    targets.push(self.expression()?);
                }
                ClauseKind::Delete { detach, targets }
            }
        })
    }

    fn merge(&mut self) -> Result<ClauseKind> {
        let pattern = self.path()?;
        let (mut on_create, mut on_match) = (Vec::new(), Vec::new());
        while self.eat_word("ON") {
            let target = if self.eat_word("CREATE") {
                &mut on_create
            } else {
                self.expect_word("MATCH")?;
                &mut on_match
            };
            self.expect_word("SET")?;
            target.extend(self.set_items()?);
        }
        Ok(ClauseKind::Merge {
            pattern,
            on_create,
            on_match,
        })
    }

    fn set_items(&mut self) -> Result<Vec<SetItem>> {
        let mut items = vec![self.set_item()?];
        while self.eat(TokenKind::Comma) {
            items.push(self.set_item()?);
        }
        Ok(items)
    }

    fn set_item(&mut self) -> Result<SetItem> {
        if self.at_name() && (self.peek(1) == TokenKind::Colon || self.is_word_at(1, "IS")) {
            let name = self.name("a variable")?;
            return Ok(SetItem::Labels {
                name,
                labels: self.plain_labels()?,
            });
        }
        if self.at_name() && matches!(self.peek(1), TokenKind::Equal | TokenKind::PlusEqual) {
            let name = self.name("a variable")?;
            let merge = self.advance().kind == TokenKind::PlusEqual;
            let value = self.expression()?;
            return Ok(match merge {
                true => SetItem::Merge { name, value },
                false => SetItem::Replace { name, value },
            });
        }
        let target = self.property_target()?;
        self.expect(TokenKind::Equal, "`=`")?;
        Ok(SetItem::Property {
            target,
            value: self.expression()?,
        })
    }

    /// `variable.key` or `(expression).key`.
    fn property_target(&mut self) -> Result<Expr> {
        let start = self.token().span;
        let mut target = match self.eat(TokenKind::OpenParen) {
            true => {
                let inner = self.expression()?;
                self.expect(TokenKind::CloseParen, "`)`")?;
                inner
            }
            false => {
                let name = self.name("a property such as `n.key`")?;
                let span = name.span;
                self.make(ExprKind::Variable(name), span)?
            }
        };
        let mut steps = 0;
        loop {
            if self.eat(TokenKind::OpenBracket) {
                let index = self.expression()?;
                let end = self.expect(TokenKind::CloseBracket, "`]`")?;
                let (base, index) = (Box::new(target), Box::new(index));
                target = self.make(ExprKind::Index { base, index }, start.to(end.span))?;
            } else if steps == 0 || self.kind() == TokenKind::Dot {
                self.expect(TokenKind::Dot, "`.`")?;
                let key = self.name("a property key")?;
                let span = start.to(key.span);
                let base = Box::new(target);
                target = self.make(ExprKind::Property { base, key }, span)?;
            } else {
                return Ok(target);
            }
            steps += 1;
        }
    }

    fn remove_items(&mut self) -> Result<Vec<RemoveItem>> {
        let mut items = Vec::new();
        loop {
            if self.at_name() && (self.peek(1) == TokenKind::Colon || self.is_word_at(1, "IS")) {
                let name = self.name("a variable")?;
                items.push(RemoveItem::Labels {
                    name,
                    labels: self.plain_labels()?,
                });
            } else {
                items.push(RemoveItem::Property(self.property_target()?));
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(items);
            }
        }
    }

    fn foreach(&mut self) -> Result<ClauseKind> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        let name = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = self.with_bar(true, Self::expression)?;
        self.expect(TokenKind::Bar, "`|`")?;
        let clauses = self.nested(|p| {
            let mut clauses = Vec::new();
            while p.kind() != TokenKind::CloseParen {
                match p.clause()? {
                    Some(clause) if writes(&clause.kind) => clauses.push(clause),
                    Some(clause) => {
                        let message = "only writing clauses can stand in `FOREACH`";
                        return Err(p.error(clause.span, Code::InvalidClauseComposition, message));
                    }
                    None => break,
                }
            }
            Ok(clauses)
        })?;
        if clauses.is_empty() {
            return Err(self.unexpected("a writing clause such as `SET`"));
        }
        self.expect(TokenKind::CloseParen, "a writing clause or `)`")?;
        Ok(ClauseKind::Foreach {
            name,
            list,
            clauses,
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
