//! What stands before a statement: `EXPLAIN`, `PROFILE`, `CYPHER` with a version and options, `USE`.
//!
//! # How it works
//! Options choose among ways of running a statement that this database does not have: those of Neo4j are read and have no
//! meaning, others get a notice. The one version is 5. A file holds one database, so `USE` can only name that.

use super::{Parser, Result};
use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::PlanMode;
use crate::token::{Span, TokenKind};

/// What was found there.
pub(super) struct Prefix {
    pub mode: PlanMode,
    pub unknown_options: Vec<Name>,
}

/// The version of the language.
const VERSION: &str = "5";

/// What clients call the database where a server has one only.
const DATABASE: &str = "neo4j";

/// Options of Neo4j 5.
const OPTIONS: &[&str] = &[
    "connectComponentsPlanner",
    "debug",
    "eagerAnalyzer",
    "expressionEngine",
    "inferSchemaParts",
    "interpretedPipesFallback",
    "operatorEngine",
    "parallelRuntimeSupport",
    "planner",
    "planVarExpandInto",
    "replan",
    "runtime",
    "statefulShortestPlanningMode",
    "updateStrategy",
];

impl Parser<'_> {
    pub(super) fn prefix(&mut self) -> Result<Prefix> {
        let mut prefix = Prefix {
            mode: PlanMode::Execute,
            unknown_options: Vec::new(),
        };
        let mut options = false;
        loop {
            if prefix.mode == PlanMode::Execute && self.eat_word("EXPLAIN") {
                prefix.mode = PlanMode::Explain;
            } else if prefix.mode == PlanMode::Execute && self.eat_word("PROFILE") {
                prefix.mode = PlanMode::Profile;
            } else if !options && self.eat_word("CYPHER") {
                options = true;
                self.version()?;
                prefix.unknown_options = self.statement_options()?;
            } else {
                break;
            }
        }
        if self.is_word("USE") {
            self.database()?;
        }
        Ok(prefix)
    }

    fn version(&mut self) -> Result<()> {
        if !matches!(
            self.kind(),
            TokenKind::Integer | TokenKind::Float | TokenKind::BadNumber
        ) {
            return Ok(());
        }
        let span = self.advance().span;
        let version = span.slice(self.text);
        if version == VERSION {
            return Ok(());
        }
        let message = format!("`CYPHER {version}` is not available in this build");
        Err(self
            .error(span, Code::FeatureNotAvailable, message)
            .with_hint(format!("leave it out, or write `CYPHER {VERSION}`")))
    }

    /// `name=value ...`; those that nobody knows.
    fn statement_options(&mut self) -> Result<Vec<Name>> {
        let mut unknown = Vec::new();
        while self.at_name() && self.peek(1) == TokenKind::Equal {
            let name = self.name("an option")?;
            self.advance();
            if !matches!(
                self.kind(),
                TokenKind::Word | TokenKind::QuotedName | TokenKind::String | TokenKind::Integer
            ) {
                return Err(self.unexpected("the value of the option"));
            }
            self.advance();
            if !OPTIONS.iter().any(|o| o.eq_ignore_ascii_case(&name.text)) {
                unknown.push(name);
            }
        }
        Ok(unknown)
    }

    fn database(&mut self) -> Result<()> {
        let start = self.expect_word("USE")?.span;
        let name = self.dotted_name("the name of a database")?;
        let span = start.to(name.span);
        match name.text.eq_ignore_ascii_case(DATABASE) && self.kind() != TokenKind::OpenParen {
            true => Ok(()),
            false => Err(self.no_other_database(span)),
        }
    }

    /// `USE` of another database, or where only a part of the statement would use it.
    pub(super) fn no_other_database(&self, span: Span) -> Diagnostic {
        let message = "`USE` of another database or graph is not available in this build";
        self.error(span, Code::FeatureNotAvailable, message)
            .with_hint(format!(
                "a file holds one database: leave USE out, or begin the statement with `USE {DATABASE}`"
            ))
    }
}
