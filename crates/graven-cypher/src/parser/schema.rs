//! `CREATE INDEX`, `CREATE CONSTRAINT`, `DROP ...`, and the whole of statements that begin like
//! these.
//!
//! # How it works
//! They begin with words that may also be names, so the first two or three tokens decide.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, Expr, ExprKind, Name, Query, SingleQuery};
use crate::diagnostic::Code;
use crate::plan::constraint::ConstraintKind;
use crate::plan::schema::{IndexKind, SchemaCommand, SchemaName, SchemaSubject};
use crate::search;
use crate::token::{Span, TokenKind};

/// Words for the kind of index that stands for all.
const INDEX_KINDS: &[&str] = &["RANGE", "BTREE"];

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

/// What `OPTIONS` may say.
const OPTIONS: [&str; 2] = ["indexProvider", "indexConfig"];

/// What the options of a kind of index may say: Neo4j's names of what answers for it, and settings.
#[derive(Clone, Copy)]
struct Options {
    providers: &'static [&'static str],
    settings: &'static [&'static str],
}

const OF_RANGE: Options = Options {
    providers: &["range-1.0"],
    settings: &[],
};
const OF_TEXT: Options = Options {
    providers: &["text-1.0", "text-2.0"],
    settings: &[],
};
const OF_POINT: Options = Options {
    providers: &["point-1.0"],
    settings: POINT_SETTINGS,
};
const OF_LOOKUP: Options = Options {
    providers: &["token-lookup-1.0"],
    settings: &[],
};

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
        self.options(match made_as {
            IndexKind::Range => OF_RANGE,
            IndexKind::Text => OF_TEXT,
            IndexKind::Point => OF_POINT,
        })?;
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
        self.expect(TokenKind::OpenParen, "`(`")?;
        let of_nodes = self.kind() != TokenKind::CloseParen;
        let variable = match of_nodes {
            true => self.name("a variable")?,
            false => {
                self.expect(TokenKind::CloseParen, "`)`")?;
                self.eat(TokenKind::Less);
                self.expect(TokenKind::Minus, "`-`")?;
                self.expect(TokenKind::OpenBracket, "`[`")?;
                let variable = self.name("a variable")?;
                self.expect(TokenKind::CloseBracket, "`]`")?;
                self.expect(TokenKind::Minus, "`-`")?;
                self.eat(TokenKind::Greater);
                self.expect(TokenKind::OpenParen, "`(`")?;
                variable
            }
        };
        self.expect(TokenKind::CloseParen, "`)`")?;
        self.expect_word("ON")?;
        self.expect_word("EACH")?;
        let function = self.expression()?;
        let wanted = match of_nodes {
            true => "labels",
            false => "type",
        };
        let is_variable =
            |arg: &Expr| matches!(&arg.kind, ExprKind::Variable(own) if own.text == variable.text);
        let fits = matches!(&function.kind, ExprKind::Call { name, args, .. }
            if &*name.text == wanted && args.len() == 1 && args.iter().all(is_variable));
        if !fits {
            let message = format!(
                "a LOOKUP index of this pattern is one on EACH {wanted}({})",
                variable.text
            );
            return Err(self.error(function.span, Code::UnexpectedSyntax, message));
        }
        self.options(OF_LOOKUP)?;
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
            self.options(OF_RANGE)?;
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
            let of_nodes = matches!(subject, SchemaSubject::Label(_));
            let at = self.token().span;
            let word = self.eat_word("NODE").then_some(true).or_else(|| {
                let found = self.eat_word("RELATIONSHIP") || self.eat_word("REL");
                found.then_some(false)
            });
            if word.is_some_and(|says_nodes| says_nodes != of_nodes) {
                let message = match of_nodes {
                    true => "this constraint is on nodes, not on relationships",
                    false => "this constraint is on relationships, not on nodes",
                };
                return Err(self.error(at, Code::UnexpectedSyntax, message));
            }
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
        self.options(OF_RANGE)?;
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
        if self.is_word("ON") && matches!(self.peek(1), TokenKind::Colon | TokenKind::OpenParen) {
            return Err(self.unexpected("its name").with_hint(
                "`ON` was said before Neo4j 5; `SHOW INDEXES` and `SHOW CONSTRAINTS` tell the \
                        names",
            ));
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
    fn options(&mut self, known: Options) -> Result<()> {
        if !self.eat_word("OPTIONS") {
            return Ok(());
        }
        if !matches!(self.kind(), TokenKind::OpenBrace | TokenKind::Dollar) {
            return Err(self.unexpected("`{` or a parameter"));
        }
        let options = self.expression()?;
        let ExprKind::Map(entries) = &options.kind else {
            return Ok(());
        };
        for (name, value) in entries {
            let options = (Code::UnexpectedSyntax, &OPTIONS[..]);
            self.known_option((&name.text, name.span), "option", options)?;
            let is_provider = name.text.eq_ignore_ascii_case(OPTIONS[0]);
            match &value.kind {
                ExprKind::Parameter(_) => {}
                ExprKind::String(provider) if is_provider => {
                    let providers = (Code::InvalidIndexOption, known.providers);
                    self.known_option((provider, value.span), "provider", providers)?;
                }
                ExprKind::Map(inner) if !is_provider => {
                    let settings = (Code::InvalidIndexOption, known.settings);
                    for (setting, _) in inner {
                        self.known_option((&setting.text, setting.span), "setting", settings)?;
                    }
                }
                _ => {
                    let wanted = match is_provider {
                        true => "a text",
                        false => "a map",
                    };
                    let message = format!("`{}` is {wanted}", name.text);
                    return Err(self.error(value.span, Code::InvalidIndexOption, message));
                }
            }
        }
        Ok(())
    }

    /// Refuses an option, a setting or a provider that this kind of index does not have.
    fn known_option(
        &self,
        (given, at): (&str, Span),
        what: &str,
        (code, known): (Code, &[&str]),
    ) -> Result<()> {
        if known.iter().any(|own| own.eq_ignore_ascii_case(given)) {
            return Ok(());
        }
        let message = format!("this index has no {what} `{given}`");
        let hint = match known.is_empty() {
            true => format!("it has no {what}s: leave it out"),
            false => format!("its {what}s are `{}`", known.join("`, `")),
        };
        Err(self.error(at, code, message).with_hint(hint))
    }
}
