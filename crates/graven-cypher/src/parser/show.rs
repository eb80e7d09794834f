//! `SHOW ...` and `TERMINATE TRANSACTIONS`: calls of the procedures that list what is asked for.
//!
//! # How it works
//! The words decide on the procedure. After them may follow `YIELD` with columns, order and bounds,
//! `WHERE`, and `RETURN`. Kinds of index and constraint become a condition on the column `type`.
//! `BUILT IN` and `USER DEFINED` before `FUNCTIONS` and `EXECUTABLE BY user` become arguments.
//! Other words that narrow what Neo4j lists by kind (`ALL`, ...) are read and have no meaning
//! here: there is one kind. Without `YIELD` the columns are those that Neo4j shows; `YIELD` may
//! name the others too.

mod columns;

use super::schema::OTHER_KINDS;
use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::plan::expression::BinaryOp;
use crate::token::{Span, TokenKind};

const DATABASES: &str = "graven.show.databases";
const ALIASES: &str = "graven.show.aliases";
const HOME: &str = "graven.show.homeDatabase";
const USERS: &str = "graven.show.users";
const USERS_WITH_AUTH: &str = "graven.show.usersWithAuth";
const DEFAULT: &str = "graven.show.defaultDatabase";

/// What is shown: words, the procedure behind them, and whether names or ids of what is wanted may
/// follow.
const SHOWN: &[(&[&str], &str, bool)] = &[
    (&["INDEX", "INDEXES"], "graven.show.indexes", false),
    (
        &["CONSTRAINT", "CONSTRAINTS"],
        "graven.show.constraints",
        false,
    ),
    (
        &["PROCEDURE", "PROCEDURES"],
        "graven.show.procedures",
        false,
    ),
    (&["FUNCTION", "FUNCTIONS"], "graven.show.functions", false),
    (&["DATABASE", "DATABASES"], DATABASES, false),
    (&["SETTING", "SETTINGS"], "graven.show.settings", true),
    (&["SERVER", "SERVERS"], "graven.show.servers", false),
    (&["USER", "USERS"], USERS, false),
    (&["ROLE", "ROLES"], "graven.show.roles", false),
    (
        &["TRANSACTION", "TRANSACTIONS"],
        "graven.show.transactions",
        true,
    ),
];

/// Of one database of those that clients get without naming any.
const OF_ONE: &[&str] = &[
    "name",
    "type",
    "aliases",
    "access",
    "address",
    "role",
    "writer",
    "requestedStatus",
    "currentStatus",
    "statusMessage",
    "constituents",
];

/// The columns that are shown where none are named, for what has more than these.
const FIRST_COLUMNS: &[(&str, &[&str])] = &[
    (
        "graven.show.indexes",
        &[
            "id",
            "name",
            "state",
            "populationPercent",
            "type",
            "entityType",
            "labelsOrTypes",
            "properties",
            "indexProvider",
            "owningConstraint",
            "lastRead",
            "readCount",
        ],
    ),
    (
        "graven.show.constraints",
        &[
            "id",
            "name",
            "type",
            "entityType",
            "labelsOrTypes",
            "properties",
            "ownedIndex",
            "propertyType",
        ],
    ),
    (
        ALIASES,
        &["name", "composite", "database", "location", "url", "user"],
    ),
    (
        DATABASES,
        &[
            "name",
            "type",
            "aliases",
            "access",
            "address",
            "role",
            "writer",
            "requestedStatus",
            "currentStatus",
            "statusMessage",
            "default",
            "home",
            "constituents",
        ],
    ),
    (HOME, OF_ONE),
    (DEFAULT, OF_ONE),
    (
        "graven.show.functions",
        &["name", "category", "description"],
    ),
    (
        "graven.show.procedures",
        &["name", "description", "mode", "worksOnSystem"],
    ),
    (
        "graven.show.settings",
        &["name", "value", "isDynamic", "defaultValue", "description"],
    ),
    (
        "graven.show.transactions",
        &[
            "database",
            "transactionId",
            "currentQueryId",
            "connectionId",
            "clientAddress",
            "username",
            "currentQuery",
            "startTime",
            "status",
            "elapsedTime",
        ],
    ),
];

/// Words before what is shown that do not narrow anything here.
const NARROWING: &[&str] = &["ALL", "BUILT", "IN", "USER", "DEFINED", "POPULATED"];

/// Words for kinds of constraint, and the types listed for them: whether on nodes, and the name.
type KindOfConstraint = (&'static [&'static str], &'static [(bool, &'static str)]);

const CONSTRAINT_KINDS: &[KindOfConstraint] = &[
    (
        &["UNIQUE", "UNIQUENESS"],
        &[(true, "UNIQUENESS"), (false, "RELATIONSHIP_UNIQUENESS")],
    ),
    (&["KEY"], &[(true, "NODE_KEY"), (false, "RELATIONSHIP_KEY")]),
    (
        &["EXISTENCE", "EXIST"],
        &[
            (true, "NODE_PROPERTY_EXISTENCE"),
            (false, "RELATIONSHIP_PROPERTY_EXISTENCE"),
        ],
    ),
    (
        &["TYPE"],
        &[
            (true, "NODE_PROPERTY_TYPE"),
            (false, "RELATIONSHIP_PROPERTY_TYPE"),
        ],
    ),
];

/// Those before which `PROPERTY` may stand.
const PROPERTY_KINDS: &[&str] = &["EXISTENCE", "TYPE"];

/// What Neo4j shows of a server and this database does not have, and what to do instead.
const OF_A_SERVER: &[(&[&str], &str)] = &[(
    &["PRIVILEGE", "PRIVILEGES", "SUPPORTED", "AUTH"],
    "rights are those of the roles reader, writer and admin; SHOW USERS and SHOW ROLES",
)];

impl Parser<'_> {
    /// The whole statement; its first word is next. Commands may follow each other; each sees the
    /// columns of those before, and `RETURN` says then what is given.
    pub(super) fn show(&mut self, start: Span) -> Result<Vec<Clause>> {
        let (mut clauses, mut first) = (Vec::new(), true);
        loop {
            clauses.extend(self.command(start, first)?);
            if !self.at_command() {
                break;
            }
            first = false;
        }
        let returns = clauses.last().map(|last| &last.kind);
        if !first && !matches!(returns, Some(ClauseKind::Return(_))) {
            return Err(self.unexpected("`RETURN`, as several commands are one statement"));
        }
        Ok(clauses)
    }

    fn at_command(&self) -> bool {
        self.is_word("SHOW") || self.is_word("TERMINATE")
    }

    /// One command, the first one of its statement or another.
    fn command(&mut self, start: Span, first: bool) -> Result<Vec<Clause>> {
        let terminates = self
            .advance()
            .span
            .slice(self.text)
            .eq_ignore_ascii_case("TERMINATE");
        let start_at = self.next;
        let mut only = None;
        let (procedure, takes_ids) = match terminates {
            true => {
                if !self.eat_word("TRANSACTION") {
                    self.expect_word("TRANSACTIONS")?;
                }
                ("graven.terminate.transactions", true)
            }
            false => {
                only = match self.constraint_kinds()? {
                    None => self.other_index_kind()?,
                    only => only,
                };
                match self.what_is_shown()? {
                    (USERS, ids) if self.is_word("WITH") && self.is_word_at(1, "AUTH") => {
                        self.next += 2;
                        (USERS_WITH_AUTH, ids)
                    }
                    shown => shown,
                }
            }
        };
        let given = self.tokens.list[start_at..self.next].iter();
        let words: Vec<&str> = given.map(|token| token.span.slice(self.text)).collect();
        let is_given = |word: &&str| words.iter().any(|given| given.eq_ignore_ascii_case(word));
        let name = Name {
            text: procedure.into(),
            span: start.to(self.last_span()),
        };
        let mut args = Vec::new();
        if takes_ids {
            let ids = self.ids()?;
            if terminates && ids.is_empty() {
                return Err(self.unexpected("the id of a transaction"));
            }
            args.push(self.make(ExprKind::List(ids), name.span)?);
        }
        if procedure == "graven.show.functions" {
            // Whether those that are built in are wanted; null: all.
            let wanted = match ["DEFINED", "BUILT"].into_iter().find(is_given) {
                Some(word) => ExprKind::Boolean(word == "BUILT"),
                None => ExprKind::Null,
            };
            args.push(self.make(wanted, name.span)?);
        }
        if [DATABASES, ALIASES].contains(&procedure) {
            args.extend(self.database_wanted()?);
        }
        if procedure == ALIASES {
            self.expect_word("FOR")?;
            if !self.eat_word("DATABASES") {
                self.expect_word("DATABASE")?;
            }
        }
        if ["graven.show.procedures", "graven.show.functions"].contains(&procedure) {
            args.extend(self.executable()?);
        }
        self.shown((name, first), args, only, start)
    }

    /// `UNIQUE`, `NODE KEY`, `REL EXISTENCE` and the like before `CONSTRAINTS`, as a condition on
    /// the column `type`.
    fn constraint_kinds(&mut self) -> Result<Option<Expr>> {
        let start = self.next;
        let node = self.eat_word("NODE");
        let relationship = !node && (self.eat_word("RELATIONSHIP") || self.eat_word("REL"));
        let property = self.eat_word("PROPERTY");
        let mut all = CONSTRAINT_KINDS.iter();
        let kind = all.find(|(words, _)| words.iter().any(|word| self.is_word(word)));
        let follows = self.is_word_at(1, "CONSTRAINT") || self.is_word_at(1, "CONSTRAINTS");
        let (Some((words, types)), true) = (kind, follows) else {
            self.next = start;
            return Ok(None);
        };
        if property && !PROPERTY_KINDS.contains(&words[0]) {
            return Err(self.unexpected("`EXISTENCE` or `TYPE`"));
        }
        let span = self.tokens.list[start].span.to(self.advance().span);
        let wanted = types.iter().filter(|(of_nodes, _)| match of_nodes {
            true => !relationship,
            false => !node,
        });
        let names: Vec<&str> = wanted.map(|(_, name)| *name).collect();
        self.of_types(&names, span).map(Some)
    }

    /// `TEXT` and the like before `INDEXES`, likewise.
    fn other_index_kind(&mut self) -> Result<Option<Expr>> {
        let mut others = OTHER_KINDS.iter().chain(&["RANGE"]);
        let follows = self.is_word_at(1, "INDEX") || self.is_word_at(1, "INDEXES");
        match others.find(|kind| follows && self.is_word(kind)) {
            Some(kind) => {
                let span = self.advance().span;
                self.of_types(&[kind], span).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Whether the column `type` has one of these names.
    fn of_types(&mut self, names: &[&str], span: Span) -> Result<Expr> {
        let mut list = Vec::with_capacity(names.len());
        for name in names {
            list.push(self.make(ExprKind::String((*name).into()), span)?);
        }
        let list = self.make(ExprKind::List(list), span)?;
        let column = self.variable_named("type", span)?;
        self.binary(BinaryOp::In, column, list)
    }

    fn variable_named(&mut self, name: &str, span: Span) -> Result<Expr> {
        let text = name.into();
        self.make(ExprKind::Variable(Name { text, span }), span)
    }

    fn what_is_shown(&mut self) -> Result<(&'static str, bool)> {
        if self.is_word("CURRENT") && self.is_word_at(1, "USER") {
            self.next += 2;
            return Ok(("graven.show.currentUser", false));
        }
        for (word, procedure) in [("HOME", HOME), ("DEFAULT", DEFAULT)] {
            if self.is_word(word) && self.is_word_at(1, "DATABASE") {
                self.next += 2;
                return Ok((procedure, false));
            }
        }
        if self.is_word("ALIAS") || self.is_word("ALIASES") {
            self.advance();
            return Ok((ALIASES, false));
        }
        while NARROWING.iter().any(|word| self.eat_word(word)) {}
        let word = self.token().span.slice(self.text).to_ascii_uppercase();
        let known = |(words, _): &&(&[&str], _)| words.contains(&word.as_str());
        if let Some((_, hint)) = OF_A_SERVER.iter().find(known) {
            let message = format!("there is no `SHOW {word}` in this build");
            let error = self.error(self.token().span, Code::AdministrationCommand, message);
            return Err(error.with_hint(*hint));
        }
        let mut all = SHOWN.iter();
        let Some((_, procedure, ids)) = all.find(|(words, ..)| words.contains(&word.as_str()))
        else {
            let wanted = "`INDEXES`, `CONSTRAINTS`, `PROCEDURES`, `FUNCTIONS`, `DATABASES`, \
                `SETTINGS`, `SERVERS`, `USERS`, `ROLES` or `TRANSACTIONS`";
            return Err(self.unexpected(wanted));
        };
        self.advance();
        Ok((procedure, *ids))
    }

    /// `EXECUTABLE [BY ...]`: whether it is there, and the user, null for the current one.
    fn executable(&mut self) -> Result<[Expr; 2]> {
        let span = self.token().span;
        let narrows = self.eat_word("EXECUTABLE");
        let mut user = ExprKind::Null;
        if narrows && self.eat_word("BY") {
            if self.is_word("CURRENT") && self.is_word_at(1, "USER") {
                self.next += 2;
            } else {
                user = ExprKind::String(self.name("a user")?.text);
            }
        }
        Ok([
            self.make(ExprKind::Boolean(narrows), span)?,
            self.make(user, span)?,
        ])
    }

    /// The name of the database or alias that is asked for, or a parameter; none: all.
    fn database_wanted(&mut self) -> Result<Option<Expr>> {
        if self.kind() == TokenKind::Dollar {
            return self.expression().map(Some);
        }
        if !self.at_name() || self.at_rest() || self.is_word("FOR") || self.at_command() {
            return Ok(None);
        }
        let name = self.dotted_name("the name of a database")?;
        self.make(ExprKind::String(name.text), name.span).map(Some)
    }

    /// Whether what follows the list of ids begins here.
    fn at_rest(&self) -> bool {
        ["YIELD", "WHERE", "RETURN", "EXECUTABLE"]
            .iter()
            .any(|word| self.is_word(word))
    }

    /// Ids separated by commas, or one expression that gives a list of them.
    fn ids(&mut self) -> Result<Vec<Expr>> {
        let mut ids = Vec::new();
        if self.at_rest() || matches!(self.kind(), TokenKind::End | TokenKind::Semicolon) {
            return Ok(ids);
        }
        loop {
            ids.push(self.expression()?);
            if !self.eat(TokenKind::Comma) {
                return Ok(ids);
            }
        }
    }
}
