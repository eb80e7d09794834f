//! `LOAD FROM`, `COPY`, `EXPORT DATABASE` and `IMPORT DATABASE`: rows from files and into them.
//!
//! # How it works
//! A source is a name, a list of names, a parameter, a call of a procedure by its name in Kuzu, or
//! a query in brackets; behind it stand declared columns and options in any order. Kuzu's order
//! (`LOAD WITH HEADERS (a INT64) FROM 'file'`) is taken as well. Brackets hold options where `=`,
//! a literal, a comma or the end stands behind the first word.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::{
    Clause, ClauseKind, CopyEnd, CopyFrom, CopySource, Expr, ExprKind, Imports, LoadFrom, Name,
    ProcedureCall, Query, SingleQuery,
};
use crate::diagnostic::Code;
use crate::lexer;
use crate::plan::expression::UnaryOp;
use crate::plan::{FileNames, Literal, LoadSource, OptionValue};
use crate::token::{Span, TokenKind};

/// What stands around a source.
#[derive(Default)]
struct Around {
    headers: bool,
    /// Both stand before the source, where Kuzu says by them what the columns are, and no more.
    is_declared_first: bool,
    by_column: bool,
    columns: Option<Vec<(Arc<str>, Arc<str>)>>,
    options: Vec<(Name, Expr)>,
}

impl Parser<'_> {
    /// A statement that copies between the database and files, if one begins here.
    pub(super) fn file_statement(&mut self) -> Result<Option<Query>> {
        let span = self.token().span;
        let database = |p: &Self, word: &str| p.is_word(word) && p.is_word_at(1, "DATABASE");
        let kind = if self.is_word("COPY") {
            self.advance();
            match self.kind() {
                TokenKind::OpenParen => self.copy_to()?,
                _ => ClauseKind::CopyFrom(Box::new(self.copy_from()?)),
            }
        } else if database(self, "EXPORT") {
            self.next += 2;
            self.database_call("graven.exportDatabase", span)?
        } else if database(self, "IMPORT") {
            self.next += 2;
            self.database_call("graven.importDatabase", span)?
        } else {
            return Ok(None);
        };
        let clauses = vec![Clause { kind, span }];
        Ok(Some(Query {
            first: SingleQuery { clauses },
            unions: Vec::new(),
        }))
    }

    /// `LOAD [WITH HEADERS] [(columns)] FROM source`, then `[WITH HEADERS] [(columns)] [(options)]
    /// [WHERE condition]`.
    pub(super) fn load_from(&mut self) -> Result<ClauseKind> {
        self.advance();
        let mut around = Around::default();
        self.around(&mut around)?;
        around.is_declared_first = around.headers && around.columns.is_some();
        self.expect_word("FROM")?;
        let start = self.token().span;
        match self.source()? {
            CopySource::Query(query) => {
                if around.headers || around.by_column || around.columns.is_some() {
                    return Err(self.unexpected("a file: a query has no headers"));
                }
                Ok(ClauseKind::Subquery {
                    optional: false,
                    imports: Imports::All,
                    query,
                    transactions: None,
                })
            }
            CopySource::Files(mut load) => {
                self.around(&mut around)?;
                self.apply(&mut load.source, around)?;
                load.at = start.to(self.last_span());
                load.filter = self.where_clause()?;
                Ok(ClauseKind::LoadFrom(load))
            }
        }
    }

    /// `name [(properties)] FROM source [(columns)] [(options)] [IN TRANSACTIONS ...]`.
    fn copy_from(&mut self) -> Result<CopyFrom> {
        let target = self.name("a label, a relationship type, or a query in brackets")?;
        let mut properties = None;
        if self.eat(TokenKind::OpenParen) {
            let mut names = vec![self.name("a property")?];
            while self.eat(TokenKind::Comma) {
                names.push(self.name("a property")?);
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
            properties = Some(names);
        }
        self.expect_word("FROM")?;
        let start = self.token().span;
        let mut source = self.source()?;
        let mut around = Around::default();
        self.around(&mut around)?;
        let from = self.end(&mut around, "FROM")?;
        let to = self.end(&mut around, "TO")?;
        let ends = match (from, to) {
            (Some(from), Some(to)) => Some((from, to)),
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => {
                let message =
                    "relationships have two ends: write both (from = 'Label', to = 'Label')";
                return Err(self.error(one.at, Code::InvalidOption, message));
            }
        };
        match &mut source {
            CopySource::Files(load) => {
                self.apply(&mut load.source, around)?;
                load.at = start.to(self.last_span());
            }
            CopySource::Query(_)
                if around.options.is_empty() && !around.headers && !around.by_column => {}
            CopySource::Query(_) => return Err(self.unexpected("a file: a query has no options")),
        }
        Ok(CopyFrom {
            target,
            properties,
            source,
            ends,
            transactions: self.in_transactions()?,
            creates: None,
        })
    }

    /// An end of relationships among the options, taken out of them: `from = 'Label'` or
    /// `from = 'Label(key)'`.
    fn end(&self, around: &mut Around, which: &str) -> Result<Option<CopyEnd>> {
        let place = around
            .options
            .iter()
            .position(|(name, _)| name.text.eq_ignore_ascii_case(which));
        let Some(place) = place else {
            return Ok(None);
        };
        let (name, value) = around.options.remove(place);
        let ExprKind::String(text) = &value.kind else {
            let message = format!("{} is a label in quotes, such as 'Person'", name.text);
            return Err(self.error(value.span, Code::InvalidOption, message));
        };
        let (label, key) = match text.split_once('(') {
            Some((label, key)) => (label, Some(key.trim_end_matches(')').trim().into())),
            None => (&**text, None),
        };
        Ok(Some(CopyEnd {
            label: label.trim().into(),
            key,
            at: value.span,
        }))
    }

    /// `(query) TO 'file' [(options)]`.
    fn copy_to(&mut self) -> Result<ClauseKind> {
        let query = self.query_in_brackets()?;
        self.expect_word("TO")?;
        let at = self.token().span;
        let file = self.expect(TokenKind::String, "the name of a file in quotes")?;
        let file = lexer::string(self.text, file.span)?;
        let mut around = Around::default();
        self.around(&mut around)?;
        Ok(ClauseKind::CopyTo {
            query,
            file,
            options: self.constants(around.options)?,
            at,
        })
    }

    fn query_in_brackets(&mut self) -> Result<Box<Query>> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        let query = self.with_bar(false, Self::subquery_of_rows)?;
        self.expect(TokenKind::CloseParen, "a clause or `)`")?;
        Ok(Box::new(query))
    }

    fn source(&mut self) -> Result<CopySource> {
        let at = self.token().span;
        if let Some(kind) = self.kuzu_source()? {
            let span = at.to(self.last_span());
            let clauses = vec![Clause { kind, span }];
            return Ok(CopySource::Query(Box::new(Query {
                first: SingleQuery { clauses },
                unions: Vec::new(),
            })));
        }
        let files = match self.kind() {
            TokenKind::String => FileNames::Texts(vec![self.text_in_quotes()?]),
            TokenKind::OpenParen if self.peek(1) != TokenKind::String => {
                return Ok(CopySource::Query(self.query_in_brackets()?));
            }
            TokenKind::OpenBracket | TokenKind::OpenParen => {
                let close = match self.advance().kind {
                    TokenKind::OpenParen => TokenKind::CloseParen,
                    _ => TokenKind::CloseBracket,
                };
                let mut names = vec![self.text_in_quotes()?];
                while self.eat(TokenKind::Comma) {
                    names.push(self.text_in_quotes()?);
                }
                self.expect(close, "`,` or the end of the list")?;
                FileNames::Texts(names)
            }
            TokenKind::Dollar => FileNames::Parameter(self.parameter()?.text),
            _ => FileNames::Parameter(
                self.name("a file in quotes, a parameter, or a query in brackets")?
                    .text,
            ),
        };
        Ok(CopySource::Files(Box::new(LoadFrom {
            source: LoadSource {
                files,
                options: Vec::new(),
                columns: None,
            },
            filter: None,
            at,
        })))
    }

    fn text_in_quotes(&mut self) -> Result<Arc<str>> {
        let token = self.expect(TokenKind::String, "the name of a file in quotes")?;
        lexer::string(self.text, token.span)
    }

    /// Headers, columns and options, as far as they stand here.
    fn around(&mut self, around: &mut Around) -> Result<()> {
        loop {
            if self.is_word("WITH") && self.is_word_at(1, "HEADERS") {
                self.next += 2;
                around.headers = true;
            } else if self.is_word("BY") && self.is_word_at(1, "COLUMN") {
                self.next += 2;
                around.by_column = true;
            } else if self.kind() == TokenKind::OpenParen && self.at_option(1) {
                self.advance();
                loop {
                    let name = self.name("an option")?;
                    let alone = matches!(self.kind(), TokenKind::Comma | TokenKind::CloseParen);
                    let value = match alone {
                        true => self.make(ExprKind::Boolean(true), name.span)?,
                        false => {
                            self.eat(TokenKind::Equal);
                            self.expression()?
                        }
                    };
                    around.options.push((name, value));
                    if !self.eat(TokenKind::Comma) {
                        break;
                    }
                }
                self.expect(TokenKind::CloseParen, "`,` or `)`")?;
            } else if self.kind() == TokenKind::OpenParen {
                let open = self.advance().span;
                let mut columns = Vec::new();
                loop {
                    let name = self.name("a column")?.text;
                    columns.push((name, self.column_type()?));
                    if !self.eat(TokenKind::Comma) {
                        break;
                    }
                }
                self.expect(TokenKind::CloseParen, "`,` or `)`")?;
                if around.columns.replace(columns).is_some() {
                    let message = "the columns are declared already";
                    return Err(self.error(open, Code::UnexpectedSyntax, message));
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Whether an option stands there: `name = value`, `name value` with a literal, or the name
    /// alone; a column has a type behind its name.
    fn at_option(&self, ahead: usize) -> bool {
        let is_word = |word| self.is_word_at(ahead + 1, word);
        matches!(self.peek(ahead), TokenKind::Word | TokenKind::QuotedName)
            && (matches!(
                self.peek(ahead + 1),
                TokenKind::Equal
                    | TokenKind::Comma
                    | TokenKind::CloseParen
                    | TokenKind::String
                    | TokenKind::Integer
            ) || is_word("TRUE")
                || is_word("FALSE"))
    }

    /// A type as other databases write it, too: `INT64`, `LIST<STRING>`, `STRING[]`,
    /// `DECIMAL(18, 3)`, `LOCAL DATETIME`.
    fn column_type(&mut self) -> Result<Arc<str>> {
        let first = self.token();
        let mut name = self
            .name("a type, such as INTEGER or STRING")?
            .text
            .to_string();
        while self.kind() == TokenKind::Word {
            name.push(' ');
            name.push_str(self.advance().span.slice(self.text));
        }
        if self.eat(TokenKind::Less) {
            name = format!("{name}<{}>", self.nested(Self::column_type)?);
            self.expect(TokenKind::Greater, "`>`")?;
        }
        if self.kind() == TokenKind::OpenParen {
            // Digits of a decimal, fields of a struct, the dimension of a vector.
            let from = self.token().span;
            let mut depth = 0;
            loop {
                match self.kind() {
                    TokenKind::End => return Err(self.unexpected("`)`")),
                    TokenKind::OpenParen => depth += 1,
                    TokenKind::CloseParen => depth -= 1,
                    _ => {}
                }
                let end = self.advance().span;
                if depth == 0 {
                    name.push_str(from.to(end).slice(self.text));
                    break;
                }
            }
        }
        while self.eat(TokenKind::OpenBracket) {
            if self.kind() == TokenKind::Integer {
                self.advance();
            }
            self.expect(TokenKind::CloseBracket, "`]`")?;
            name.push_str("[]");
        }
        if name.is_empty() {
            let message = "a type is missing";
            return Err(self.error(first.span, Code::UnexpectedSyntax, message));
        }
        Ok(name.into())
    }

    fn apply(&self, source: &mut LoadSource, around: Around) -> Result<()> {
        source.options = self.constants(around.options)?;
        source.columns = around.columns;
        let mut options = source.options.iter();
        let is_said = options.any(|(name, _)| name.eq_ignore_ascii_case("HEADER"));
        if around.headers && !(around.is_declared_first && is_said) {
            let header = match around.is_declared_first {
                true => Literal::String("AUTO".into()),
                false => Literal::Boolean(true),
            };
            let header = ("HEADER".into(), OptionValue::One(header));
            source.options.push(header);
        }
        if around.by_column {
            let by_column = OptionValue::One(Literal::Boolean(true));
            source.options.push(("BY_COLUMN".into(), by_column));
        }
        Ok(())
    }

    fn constants(&self, options: Vec<(Name, Expr)>) -> Result<Vec<(Arc<str>, OptionValue)>> {
        let constant = |(name, value): (Name, Expr)| {
            let wrong = || {
                let message = format!("the option {} is a literal", name.text);
                self.error(value.span, Code::InvalidOption, message)
            };
            let found = match &value.kind {
                ExprKind::List(items) => {
                    let items = items.iter().map(literal).collect::<Option<_>>();
                    OptionValue::List(items.ok_or_else(wrong)?)
                }
                _ => OptionValue::One(literal(&value).ok_or_else(wrong)?),
            };
            Ok((name.text.clone(), found))
        };
        options.into_iter().map(constant).collect()
    }

    /// `'folder' [(FORMAT PARQUET)]` as a call of the procedure that does it.
    fn database_call(&mut self, procedure: &str, span: Span) -> Result<ClauseKind> {
        let token = self.token().span;
        let folder = self.text_in_quotes()?;
        let mut args = vec![self.make(ExprKind::String(folder), token)?];
        if self.eat(TokenKind::OpenParen) {
            let mut entries = Vec::new();
            loop {
                let name = self.name("an option")?;
                self.eat(TokenKind::Equal);
                let value = match self.kind() {
                    TokenKind::Word if !self.is_word("TRUE") && !self.is_word("FALSE") => {
                        let word = self.name("a value")?;
                        self.make(ExprKind::String(word.text), word.span)?
                    }
                    _ => self.expression()?,
                };
                entries.push((name, value));
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
            let span = token.to(self.last_span());
            args.push(self.make(ExprKind::Map(entries), span)?);
        }
        let call = ProcedureCall::of(procedure, args, span);
        Ok(ClauseKind::Call(call))
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    Some(match &expr.kind {
        ExprKind::Null => Literal::Null,
        ExprKind::Boolean(value) => Literal::Boolean(*value),
        ExprKind::Integer(value) => Literal::Integer(*value),
        ExprKind::Float(value) => Literal::Float(*value),
        ExprKind::String(text) => Literal::String(text.clone()),
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => match literal(operand)? {
            Literal::Integer(value) => Literal::Integer(value.checked_neg()?),
            Literal::Float(value) => Literal::Float(-value),
            _ => return None,
        },
        _ => return None,
    })
}
