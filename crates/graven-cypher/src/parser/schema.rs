//! `CREATE INDEX`, `CREATE CONSTRAINT`, `DROP ...`, and the whole of statements that begin like
//! these.
//!
//! # How it works
//! They begin with words that may also be names, so the first two or three tokens decide.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, ExprKind, Name, Query, SingleQuery};
use crate::diagnostic::Code;
use crate::plan::constraint::ConstraintKind;
use crate::plan::schema::{IndexKind, SchemaCommand, SchemaName, SchemaSubject};
use crate::search;
use crate::token::TokenKind;

/// Words for the kind of index that stands for all.
pub(super) const INDEX_KINDS: &[&str] = &["RANGE", "BTREE"];

/// What `indexConfig` in the options of a `POINT` index says.
const POINT_SETTINGS: &[&str] = &[
    "spatial.cartesian.min",
    "spatial.cartesian.max",
    "spatial.cartesian-3d.min",
    "spatial.cartesian-3d.max",
    "spatial.wgs-84.min",
    "spatial.wgs-84.max",
    "spatial.wgs-84-3d.min",
    "spatial.wgs-84-3d.max",
];

/// The other kinds: of `TEXT` and `POINT` there are indexes, which are kept and used like the
/// first; labels and types are looked up without an index; the last two this database does not
/// have.
pub(super) const OTHER_KINDS: &[&str] = &["TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR"];

impl Parser<'_> {
    /// A statement about the schema, if one begins here.
    pub(super) fn schema_statement(&mut self) -> Result<Option<Query>> {
        let span = self.token().span;
        let named_path = self.peek(2) == TokenKind::Equal;
        let is_kind = |p: &Self, ahead: usize| {
            let mut kinds = INDEX_KINDS.iter().chain(OTHER_KINDS);
            kinds.any(|kind| p.is_word_at(ahead, kind)) && p.is_word_at(ahead + 1, "INDEX")
        };
        let schema = |command| Clause {
            kind: ClauseKind::Schema(command),
            span,
        };
        let clauses = if let Some(command) = self.database_command()? {
            vec![command]
        } else if let Some(kind) = self.table_statement()? {
            vec![Clause { kind, span }]
        } else if let Some(clauses) = self.user_command()? {
            clauses
        } else if self.is_word("CREATE") && !named_path {
            if self.is_word_at(1, "OR") && self.is_word_at(2, "REPLACE") {
                let span = span.to(self.tokens.list[self.next + 2].span);
                let message = "nothing of a schema is made by `CREATE OR REPLACE`";
                return Err(self
                    .error(span, Code::FeatureNotAvailable, message)
                    .with_hint(
                        "write `DROP ... IF EXISTS`, then `CREATE`; or `CREATE ... IF NOT EXISTS`",
                    ));
            } else if self.is_word_at(1, "CONSTRAINT") {
                self.next += 2;
                vec![schema(self.create_constraint()?)]
            } else if self.is_word_at(1, "INDEX") || is_kind(self, 1) {
                self.advance();
                vec![schema(self.create_index()?)]
            } else {
                return Ok(None);
            }
        } else if self.is_word("DROP") {
            self.advance();
            vec![schema(self.drop_schema()?)]
        } else if self.is_word("SHOW") || self.is_word("TERMINATE") {
            self.show(span)?
        } else {
            return Ok(None);
        };
        Ok(Some(Query {
            first: SingleQuery { clauses },
            unions: Vec::new(),
        }))
    }

    fn create_index(&mut self) -> Result<SchemaCommand> {
        let mut made_as = IndexKind::Range;
        if !self.is_word("INDEX") {
            let kind = self.advance();
            let word = kind.span.slice(self.text).to_uppercase();
            match word.as_str() {
                "TEXT" => made_as = IndexKind::Text,
                "POINT" => made_as = IndexKind::Point,
                "BTREE" => {
                    let message = "BTREE indexes were those before Neo4j 5";
                    return Err(self
                        .error(kind.span, Code::FeatureNotAvailable, message)
                        .with_hint(
                            "write `CREATE INDEX`, or `CREATE TEXT INDEX` and `CREATE POINT \
                                INDEX` for texts and points",
                        ));
                }
                "LOOKUP" => return self.lookup_index(),
                other if OTHER_KINDS.contains(&other) => {
                    let message = format!("{other} indexes are not available");
                    return Err(self
                        .error(kind.span, Code::FeatureNotAvailable, message)
                        .with_hint(search::instead_of(other)));
                }
                _ => {}
            }
        }
        self.expect_word("INDEX")?;
        let name = self.schema_name("FOR")?;
        let if_not_exists = self.if_not_exists()?;
        self.schema_subject("(n:Label) ON (n.key)")?;
        let (variable, subject) = self.subject()?;
        self.expect_word("ON")?;
        let start = self.token().span;
        let keys = self.properties_of(&variable)?;
        let settings = match made_as {
            IndexKind::Point => POINT_SETTINGS,
            _ => &[],
        };
        if made_as != IndexKind::Range && keys.len() > 1 {
            let kind = match made_as {
                IndexKind::Point => "POINT",
                _ => "TEXT",
            };
            let message = format!("a {kind} index is on one property, not on {}", keys.len());
            return Err(self
                .error(start.to(self.last_span()), Code::UnexpectedSyntax, message)
                .with_hint("make an index for each, or one without the word for several"));
        }
        self.options(settings)?;
        Ok(SchemaCommand::CreateIndex {
            kind: made_as,
            name,
            if_not_exists,
            subject,
            keys,
        })
    }

    /// `CREATE LOOKUP INDEX name FOR (n) ON EACH labels(n)`, or `FOR ()-[r]-() ON EACH type(r)`.
    fn lookup_index(&mut self) -> Result<SchemaCommand> {
        self.expect_word("INDEX")?;
        self.schema_name("FOR")?;
        self.if_not_exists()?;
        self.expect_word("FOR")?;
        let path = self.path()?;
        self.expect_word("ON")?;
        self.eat_word("EACH");
        let function = self.expression()?;
        let wanted = match path.steps.is_empty() {
            true => "labels",
            false => "type",
        };
        if !matches!(&function.kind, ExprKind::Call { name, .. } if &*name.text == wanted) {
            let message = format!("a LOOKUP index of this pattern is one on EACH {wanted}()");
            return Err(self.error(function.span, Code::UnexpectedSyntax, message));
        }
        self.options(&[])?;
        Ok(SchemaCommand::CreateLookup)
    }

    /// `FOR`; the `ON` of earlier versions of the language is told apart.
    fn schema_subject(&mut self, form: &str) -> Result<()> {
        if self.is_word("ON") {
            return Err(self
                .unexpected("`FOR`")
                .with_hint(format!("`ON` was said before Neo4j 5; write `FOR {form}`")));
        }
        self.expect_word("FOR").map(|_| ())
    }

    fn create_constraint(&mut self) -> Result<SchemaCommand> {
        let name = self.schema_name("FOR")?;
        let if_not_exists = self.if_not_exists()?;
        self.schema_subject("(n:Label) REQUIRE n.key IS UNIQUE")?;
        let (variable, subject) = self.subject()?;
        if matches!(subject, SchemaSubject::Type(_)) && self.is_word("FROM") {
            let kind = self.constrained_ends()?;
            self.options(&[])?;
            return Ok(SchemaCommand::CreateConstraint {
                name,
                if_not_exists,
                kind,
                subject,
                keys: Vec::new(),
            });
        }
        self.expect_word("REQUIRE")?;
        let keys = self.properties_of(&variable)?;
        let typed = self.kind() == TokenKind::Colon
            || self.is_word("IS")
                && (self.peek(1) == TokenKind::Colon || self.is_word_at(1, "TYPED"));
        if !typed {
            self.expect_word("IS")?;
        }
        let kind = if typed {
            self.eat_word("IS");
            let of = self.property_type()?;
            let default = self.default_text()?;
            ConstraintKind::Typed { of, default }
        } else if self.eat_word("NOT") {
            self.expect_word("NULL")?;
            ConstraintKind::Exists
        } else {
            let _ = self.eat_word("NODE") || self.eat_word("RELATIONSHIP") || self.eat_word("REL");
            if self.eat_word("KEY") {
                ConstraintKind::Key
            } else if self.eat_word("UNIQUE") {
                ConstraintKind::Unique
            } else {
                return Err(self.unexpected("`UNIQUE`, `NOT NULL`, `NODE KEY` or `:: TYPE`"));
            }
        };
        let of_one = matches!(kind, ConstraintKind::Exists | ConstraintKind::Typed { .. });
        if of_one && keys.len() > 1 {
            let message = "`IS NOT NULL` and `IS :: TYPE` are about one property";
            return Err(self
                .error(self.last_span(), Code::UnexpectedSyntax, message)
                .with_hint("make a constraint for each"));
        }
        self.options(&[])?;
        Ok(SchemaCommand::CreateConstraint {
            name,
            if_not_exists,
            kind,
            subject,
            keys,
        })
    }

    /// `FROM A TO B, FROM C TO D, MANY_ONE`.
    fn constrained_ends(&mut self) -> Result<ConstraintKind> {
        let mut pairs = Vec::new();
        let mut limits = (false, false);
        loop {
            self.expect_word("FROM")?;
            let from = self.name("a label")?.text;
            self.expect_word("TO")?;
            pairs.push((from, self.name("a label")?.text));
            if !self.eat(TokenKind::Comma) {
                break;
            }
            if let Some(found) = self.limits() {
                limits = found;
                break;
            }
        }
        Ok(ConstraintKind::Ends {
            pairs,
            one_out: limits.0,
            one_in: limits.1,
        })
    }

    fn drop_schema(&mut self) -> Result<SchemaCommand> {
        let index = self.eat_word("INDEX");
        if !index {
            self.expect_word("CONSTRAINT")?;
        }
        let name = self.name_of_schema("its name")?;
        let if_exists = self.eat_word("IF");
        if if_exists {
            self.expect_word("EXISTS")?;
        }
        Ok(match index {
            true => SchemaCommand::DropIndex { name, if_exists },
            false => SchemaCommand::DropConstraint { name, if_exists },
        })
    }

    /// The optional name before `IF NOT EXISTS` and `FOR`.
    fn schema_name(&mut self, next: &str) -> Result<Option<SchemaName>> {
        let unnamed = self.is_word(next) && self.peek(1) == TokenKind::OpenParen
            || self.is_word("ON")
                && matches!(self.peek(1), TokenKind::OpenParen | TokenKind::Colon)
            || self.is_word("IF") && self.is_word_at(1, "NOT");
        match unnamed {
            true => Ok(None),
            false => self.name_of_schema("a name or `FOR`").map(Some),
        }
    }

    /// A name, or the parameter that holds it.
    fn name_of_schema(&mut self, what: &str) -> Result<SchemaName> {
        match self.kind() {
            TokenKind::Dollar => Ok(SchemaName::Parameter(self.parameter()?.text)),
            _ => Ok(SchemaName::Written(self.name(what)?.text)),
        }
    }

    pub(super) fn if_not_exists(&mut self) -> Result<bool> {
        let found = self.eat_word("IF");
        if found {
            self.expect_word("NOT")?;
            self.expect_word("EXISTS")?;
        }
        Ok(found)
    }

    /// `(n:Label)` or `()-[r:TYPE]-()`.
    fn subject(&mut self) -> Result<(Name, SchemaSubject)> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        if !self.eat(TokenKind::CloseParen) {
            let variable = self.name("a variable")?;
            self.expect(TokenKind::Colon, "`:`")?;
            let label = self.name("a label")?.text;
            self.expect(TokenKind::CloseParen, "`)`")?;
            return Ok((variable, SchemaSubject::Label(label)));
        }
        self.eat(TokenKind::Less);
        self.expect(TokenKind::Minus, "`-`")?;
        self.expect(TokenKind::OpenBracket, "`[`")?;
        let variable = self.name("a variable")?;
        self.expect(TokenKind::Colon, "`:`")?;
        let rel_type = self.name("a relationship type")?.text;
        self.expect(TokenKind::CloseBracket, "`]`")?;
        self.expect(TokenKind::Minus, "`-`")?;
        self.eat(TokenKind::Greater);
        self.expect(TokenKind::OpenParen, "`(`")?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok((variable, SchemaSubject::Type(rel_type)))
    }

    /// `n.a` or `(n.a, n.b)`.
    fn properties_of(&mut self, variable: &Name) -> Result<Vec<Arc<str>>> {
        let brackets = self.eat(TokenKind::OpenParen);
        let mut keys: Vec<Arc<str>> = Vec::new();
        loop {
            let owner = self.name("a property such as `n.key`")?;
            if owner.text != variable.text {
                let message = format!("`{}` is not the variable of this schema", owner.text);
                return Err(self.error(owner.span, Code::UndefinedVariable, message));
            }
            self.expect(TokenKind::Dot, "`.`")?;
            let key = self.name("a property key")?;
            // One that is named twice is told when the statement runs, as by Neo4j.
            keys.push(key.text);
            if !(brackets && self.eat(TokenKind::Comma)) {
                break;
            }
        }
        if brackets {
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        }
        Ok(keys)
    }

    /// `OPTIONS {...}` is read and has no meaning here.
    fn options(&mut self, settings: &[&str]) -> Result<()> {
        if !self.eat_word("OPTIONS") {
            return Ok(());
        }
        let options = self.expression()?;
        let ExprKind::Map(entries) = &options.kind else {
            return Ok(());
        };
        for (name, value) in entries {
            self.known_option(name, "option", &["indexProvider", "indexConfig"])?;
            if let ExprKind::Map(inner) = &value.kind
                && name.text.eq_ignore_ascii_case("indexConfig")
            {
                for (setting, _) in inner {
                    self.known_option(setting, "setting", settings)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses an option, or a setting, that this kind of index does not have.
    fn known_option(&self, name: &Name, what: &str, known: &[&str]) -> Result<()> {
        if known.iter().any(|own| own.eq_ignore_ascii_case(&name.text)) {
            return Ok(());
        }
        let message = format!("this index has no {what} `{}`", name.text);
        let hint = match known.is_empty() {
            true => format!("it has no {what}s: leave it out"),
            false => format!("its {what}s are `{}`", known.join("`, `")),
        };
        Err(self
            .error(name.span, Code::UnexpectedSyntax, message)
            .with_hint(hint))
    }
}
