//! `CREATE DATABASE`, `DROP DATABASE`, `ALTER DATABASE`, `START` and `STOP DATABASE`, and the same
//! for aliases: calls of the procedure that changes the databases of a server.
//!
//! # How it works
//! The words are Neo4j's. A name is written or a parameter. Each command becomes a call of
//! [`CHANGE`] with its words, the name, and a map of what else it says. Behind `WAIT` it is a call
//! of [`CHANGE_AND_WAIT`], which tells in a row that the change is done.
//!
//! # Invariants
//! * CD-1 Words of Neo4j that have no meaning here (`TOPOLOGY`, `OPTIONS`, aliases of other
//!   servers) are refused by name and never read over.

use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, Expr, ExprKind, Name, ProcedureCall};
use crate::diagnostic::Code;
use crate::token::{Span, TokenKind};

/// Changes the databases of a server.
pub(crate) const CHANGE: &str = "graven.databases.change";

/// As [`CHANGE`], with a row that tells of it.
pub(crate) const CHANGE_AND_WAIT: &str = "graven.databases.changeAndWait";

/// Fails unless there is the database that is to be the home of a user.
pub(crate) const CHECK_HOME: &str = "graven.databases.checkHome";

/// What begins a command.
const VERBS: &[&str] = &["CREATE", "DROP", "ALTER", "START", "STOP"];

/// What `CREATE`, `DROP` and `ALTER` of Neo4j make besides, which this server does not have.
const FOREIGN: &[&str] = &["COMPOSITE", "SERVER"];

/// What a command says besides its name.
type Said = Vec<(&'static str, ExprKind)>;

impl Parser<'_> {
    /// A command about databases, if one begins here.
    pub(super) fn database_command(&mut self) -> Result<Option<Clause>> {
        let start = self.token().span;
        let Some(verb) = VERBS.iter().find(|verb| self.is_word(verb)) else {
            return Ok(None);
        };
        let replaces = *verb == "CREATE" && self.is_word_at(1, "OR");
        let replaces = replaces && self.is_word_at(2, "REPLACE");
        let after = if replaces { 3 } else { 1 };
        if self.peek(after + 1) == TokenKind::Equal {
            return Ok(None);
        }
        if FOREIGN.iter().any(|word| self.is_word_at(after, word)) {
            let message = "there are no composite databases, and a server has no others beside it";
            let error = self.error(start, Code::AdministrationCommand, message);
            return Err(error.with_hint("`CREATE DATABASE name` makes a database"));
        }
        let of_alias = self.is_word_at(after, "ALIAS");
        if !of_alias && !self.is_word_at(after, "DATABASE") {
            return Ok(None);
        }
        self.next += after + 1;
        let name = self.database_name(if of_alias {
            "the name of an alias"
        } else {
            "the name of a database"
        })?;
        let verb = if replaces { "REPLACE" } else { verb };
        let said = match of_alias {
            true => self.alias_command(verb)?,
            false => self.one_database_command(verb)?,
        };
        let waits = !of_alias && self.waits()?;
        let what = if of_alias { "ALIAS" } else { "DATABASE" };
        let span = start.to(self.last_span());
        let args = vec![
            self.make(ExprKind::String(format!("{verb} {what}").into()), span)?,
            name,
            self.said(said, span)?,
        ];
        let procedure = if waits { CHANGE_AND_WAIT } else { CHANGE };
        Ok(Some(call(procedure, args, span)))
    }

    fn said(&mut self, said: Said, span: Span) -> Result<Expr> {
        let mut entries = Vec::new();
        for (name, value) in said {
            let value = self.make(value, span)?;
            let text = name.into();
            entries.push((Name { text, span }, value));
        }
        self.make(ExprKind::Map(entries), span)
    }

    /// A name, with dots or in backticks, or the parameter that holds it.
    fn database_name(&mut self, what: &str) -> Result<Expr> {
        if self.kind() == TokenKind::Dollar {
            let name = self.parameter()?;
            let span = name.span;
            return self.make(ExprKind::Parameter(name), span);
        }
        let name = self.dotted_name(what)?;
        self.make(ExprKind::String(name.text), name.span)
    }

    /// `IF EXISTS`, or `IF NOT EXISTS` behind `CREATE`.
    fn condition(&mut self, verb: &str) -> Result<Said> {
        if !self.eat_word("IF") {
            return Ok(Vec::new());
        }
        if verb == "CREATE" {
            self.expect_word("NOT")?;
        }
        self.expect_word("EXISTS")?;
        Ok(vec![("if", ExprKind::Boolean(true))])
    }

    fn one_database_command(&mut self, verb: &str) -> Result<Said> {
        let mut said = match verb {
            "CREATE" | "DROP" | "ALTER" => self.condition(verb)?,
            _ => Vec::new(),
        };
        if verb == "ALTER" {
            self.expect_word("SET")?;
            if self.is_word("TOPOLOGY") || self.is_word("OPTION") {
                return Err(self.not_here("of a database is set: `ACCESS`"));
            }
            self.expect_word("ACCESS")?;
            self.expect_word("READ")?;
            let reads_only = self.eat_word("ONLY");
            if !reads_only {
                self.expect_word("WRITE")
                    .map_err(|_| self.unexpected("`ONLY` or `WRITE`"))?;
            }
            said.push(("readOnly", ExprKind::Boolean(reads_only)));
        }
        if verb == "DROP" {
            if self.eat_word("CASCADE") {
                if !self.eat_word("ALIASES") {
                    self.expect_word("ALIAS")?;
                }
                said.push(("cascade", ExprKind::Boolean(true)));
            } else {
                self.eat_word("RESTRICT");
            }
            if self.eat_word("DUMP") {
                self.expect_word("DATA")?;
                said.push(("dump", ExprKind::Boolean(true)));
            } else if self.eat_word("DESTROY") {
                self.expect_word("DATA")?;
            }
        }
        if self.is_word("TOPOLOGY") || self.is_word("OPTIONS") || self.is_word("DEFAULT") {
            return Err(self.not_here("a database is one file and has no options"));
        }
        Ok(said)
    }

    fn alias_command(&mut self, verb: &str) -> Result<Said> {
        if verb == "START" || verb == "STOP" {
            return Err(self.not_here("an alias is created, altered and dropped"));
        }
        let mut said = match verb {
            "REPLACE" => Vec::new(),
            _ => self.condition(verb)?,
        };
        if verb == "ALTER" {
            for word in ["SET", "DATABASE", "TARGET"] {
                self.expect_word(word)?;
            }
        } else {
            self.expect_word("FOR")?;
            self.expect_word("DATABASE")?;
        }
        if verb != "DROP" {
            let target = self.database_name("the name of a database")?;
            said.push(("target", target.kind));
            if self.is_word("AT") || self.is_word("PROPERTIES") {
                return Err(self.not_here("an alias names a database of this server"));
            }
        }
        Ok(said)
    }

    /// `WAIT`, for so many seconds or not, or `NOWAIT`.
    fn waits(&mut self) -> Result<bool> {
        if self.eat_word("NOWAIT") || !self.eat_word("WAIT") {
            return Ok(false);
        }
        if self.eat(TokenKind::Integer) {
            let _ = ["SEC", "SECOND", "SECONDS"]
                .iter()
                .any(|word| self.eat_word(word));
        }
        Ok(true)
    }

    fn not_here(&self, message: &str) -> crate::diagnostic::Diagnostic {
        self.error(self.token().span, Code::FeatureNotAvailable, message)
    }
}

pub(super) fn call(procedure: &str, args: Vec<Expr>, span: Span) -> Clause {
    let kind = ClauseKind::Call(ProcedureCall::of(procedure, args, span));
    Clause { kind, span }
}

#[cfg(test)]
mod tests {
    //! Goal: the commands are read with all their words, and what has no meaning is refused.

    use super::*;
    use crate::parser::parse;

    fn read(text: &str) -> (String, Vec<ExprKind>) {
        let statement = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        match &statement.query.first.clauses[0].kind {
            ClauseKind::Call(call) => {
                let args = call.args.iter().flatten().map(|arg| arg.kind.clone());
                (call.name.text.to_string(), args.collect())
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    fn said(text: &str) -> (String, String) {
        let (_, args) = read(text);
        let [ExprKind::String(what), _, ExprKind::Map(said)] = &args[..] else {
            panic!("{text}: {args:?}");
        };
        let said: Vec<String> = said
            .iter()
            .map(|(name, value)| format!("{}={:?}", name.text, value.kind))
            .collect();
        (what.to_string(), said.join(" "))
    }

    #[test]
    fn commands_are_read() {
        for (text, what, rest) in [
            ("CREATE DATABASE a.b", "CREATE DATABASE", ""),
            (
                "create database `a-b` if not exists wait 10 seconds;",
                "CREATE DATABASE",
                "if=Boolean(true)",
            ),
            (
                "CREATE OR REPLACE DATABASE $n NOWAIT",
                "REPLACE DATABASE",
                "",
            ),
            (
                "DROP DATABASE a IF EXISTS CASCADE ALIASES DUMP DATA",
                "DROP DATABASE",
                "if=Boolean(true) cascade=Boolean(true) dump=Boolean(true)",
            ),
            ("DROP DATABASE a RESTRICT DESTROY DATA", "DROP DATABASE", ""),
            (
                "ALTER DATABASE a SET ACCESS READ ONLY",
                "ALTER DATABASE",
                "readOnly=Boolean(true)",
            ),
            ("STOP DATABASE a", "STOP DATABASE", ""),
            ("START DATABASE a WAIT", "START DATABASE", ""),
            (
                "CREATE ALIAS x IF NOT EXISTS FOR DATABASE a",
                "CREATE ALIAS",
                "if=Boolean(true) target=String(\"a\")",
            ),
            (
                "ALTER ALIAS x SET DATABASE TARGET b",
                "ALTER ALIAS",
                "target=String(\"b\")",
            ),
            (
                "DROP ALIAS x IF EXISTS FOR DATABASE",
                "DROP ALIAS",
                "if=Boolean(true)",
            ),
        ] {
            assert_eq!(said(text), (what.to_owned(), rest.to_owned()), "{text}");
        }
        assert_eq!(read("CREATE DATABASE a WAIT").0, CHANGE_AND_WAIT);
        assert!(parse("CREATE database = (a)-[:T]->(b) RETURN database").is_ok());
    }

    #[test]
    fn what_has_no_meaning_here_is_refused() {
        for text in [
            "CREATE COMPOSITE DATABASE a",
            "CREATE DATABASE a OPTIONS {}",
            "CREATE DATABASE a TOPOLOGY 1 PRIMARY",
            "ALTER DATABASE a SET TOPOLOGY 1 PRIMARY",
            "ALTER DATABASE a SET ACCESS READ",
            "CREATE ALIAS x FOR DATABASE a AT 'neo4j://other'",
            "STOP ALIAS x",
            "DROP DATABASE",
            "CREATE DATABASE a IF EXISTS",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
