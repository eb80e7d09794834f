//! `CREATE USER`, `ALTER USER`, `RENAME USER`, `DROP USER`, `GRANT ROLE` and `REVOKE ROLE`.
//!
//! # How it works
//! The words are Neo4j's. A name or a password is a text or a parameter. What is not to be had here
//! (passwords that were hashed elsewhere, providers of authentication) is refused by name. Whether
//! there is the home database that a command names is asked by a call before the command
//! (`parser/databases.rs`). A statement that may hold a password shows nothing of its text in
//! errors ([`may_hold_password`]).

use super::databases::{CHECK_HOME, call};
use super::{Parser, Result};
use crate::ast::{Clause, ClauseKind, Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::lexer;
use crate::plan::schema::SchemaCommand;
use crate::plan::users::{Given, UserCommand, UserSettings};
use crate::token::{Span, TokenKind};

/// Whether a statement that could not be read may hold a password.
pub(super) fn may_hold_password(text: &str) -> bool {
    // A comment may stand between two words; what looks like one may stand in a text.
    words_of_password(text) || words_of_password(&without_comments(text))
}

fn without_comments(mut text: &str) -> String {
    let mut kept = String::new();
    while let Some(at) = text.find('/') {
        let (before, rest) = text.split_at(at);
        kept.push_str(before);
        let end = match rest.as_bytes().get(1) {
            Some(b'*') => rest.find("*/").map(|end| end + 2),
            Some(b'/') => rest.find('\n'),
            _ => Some(1),
        };
        kept.push(' ');
        text = end.map_or("", |end| &rest[end..]);
    }
    kept + text
}

fn words_of_password(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let pair = |first: &[&str], second: &str| {
        let mut pairs = words.windows(2);
        pairs.any(|pair| first.contains(&pair[0].as_str()) && pair[1] == second)
    };
    pair(&["set", "plaintext", "encrypted"], "password")
        || pair(&["create", "alter", "replace", "current"], "user")
            && words.iter().any(|word| word == "password")
}

/// First words of commands about roles and servers, and what they are about.
const OF_ROLES_AND_SERVERS: &[(&[&str], &[&str])] = &[
    (&["CREATE", "DROP", "RENAME"], &["ROLE"]),
    (&["ENABLE", "ALTER", "RENAME", "DROP"], &["SERVER"]),
];

impl Parser<'_> {
    /// A command about users, if one begins here, and what checks a home database before it.
    pub(super) fn user_command(&mut self) -> Result<Option<Vec<Clause>>> {
        let start = self.token().span;
        let Some(command) = self.command_of_user()? else {
            return Ok(None);
        };
        let span = start.to(self.last_span());
        let mut clauses = Vec::new();
        if let UserCommand::Create { settings, .. } | UserCommand::Alter { settings, .. } = &command
            && let Some(home) = &settings.home
        {
            let home = match home {
                Some(home) => self.given(home, span)?,
                None => self.make(ExprKind::Null, span)?,
            };
            clauses.push(call(CHECK_HOME, vec![home], span));
        }
        // A command about users is the last step of a plan: it gives no rows.
        let kind = ClauseKind::Schema(SchemaCommand::User(command));
        clauses.push(Clause { kind, span });
        Ok(Some(clauses))
    }

    /// Refuses what there is in Neo4j for roles, rights and servers besides.
    fn no_other_administration(&self) -> Result<()> {
        let names_one = matches!(
            self.peek(2),
            TokenKind::Word | TokenKind::QuotedName | TokenKind::String | TokenKind::Dollar
        );
        let is_one = OF_ROLES_AND_SERVERS.iter().any(|(words, of)| {
            let begins = words.iter().any(|word| self.is_word(word));
            begins && of.iter().any(|word| self.is_word_at(1, word)) && names_one
        });
        let denies = self.is_word("DENY") && self.peek(1) == TokenKind::Word;
        if !is_one && !denies {
            return Ok(());
        }
        let message = "roles are reader, writer and admin, and there is one server";
        let error = self.error(self.token().span, Code::AdministrationCommand, message);
        Err(error.with_hint("GRANT ROLE writer TO name"))
    }

    /// A name as an expression.
    fn given(&mut self, name: &Given, span: Span) -> Result<Expr> {
        let kind = match name.clone() {
            Given::Text(text) => ExprKind::String(text),
            Given::Parameter(text) => ExprKind::Parameter(Name { text, span }),
        };
        self.make(kind, span)
    }

    fn command_of_user(&mut self) -> Result<Option<UserCommand>> {
        let first = |p: &Self, word: &str, second: &str| p.is_word(word) && p.is_word_at(1, second);
        if first(self, "CREATE", "USER") && self.peek(2) != TokenKind::Equal {
            self.next += 2;
            return self.create_user(false).map(Some);
        }
        if first(self, "CREATE", "OR")
            && self.is_word_at(2, "REPLACE")
            && self.is_word_at(3, "USER")
        {
            self.next += 4;
            return self.create_user(true).map(Some);
        }
        if first(self, "ALTER", "USER") {
            self.next += 2;
            let name = self.given_name("the name of a user")?;
            let if_exists = self.words(&["IF", "EXISTS"])?;
            let mut settings = UserSettings {
                home: self.removes_home()?.then_some(None),
                ..UserSettings::default()
            };
            if settings.home.is_none() || self.is_word("SET") {
                self.user_settings(&mut settings)?;
            }
            return Ok(Some(UserCommand::Alter {
                name,
                if_exists,
                settings,
            }));
        }
        if first(self, "ALTER", "CURRENT") {
            self.next += 2;
            for word in ["USER", "SET", "PASSWORD", "FROM"] {
                self.expect_word(word)?;
            }
            let from = self.given_password()?;
            self.expect_word("TO")?;
            let to = self.given_password()?;
            return Ok(Some(UserCommand::SetOwnPassword { from, to }));
        }
        if first(self, "RENAME", "USER") {
            self.next += 2;
            let from = self.given_name("the name of a user")?;
            let if_exists = self.words(&["IF", "EXISTS"])?;
            self.expect_word("TO")?;
            let to = self.given_name("the new name of the user")?;
            return Ok(Some(UserCommand::Rename {
                from,
                to,
                if_exists,
            }));
        }
        if first(self, "DROP", "USER") {
            self.next += 2;
            let name = self.given_name("the name of a user")?;
            let if_exists = self.words(&["IF", "EXISTS"])?;
            return Ok(Some(UserCommand::Drop { name, if_exists }));
        }
        self.no_other_administration()?;
        let grants = self.is_word("GRANT");
        if !grants && !self.is_word("REVOKE") {
            return Ok(None);
        }
        self.advance();
        if !self.eat_word("ROLES") && !self.eat_word("ROLE") {
            let message = "rights are those of the roles reader, writer and admin";
            let error = self.error(self.token().span, Code::AdministrationCommand, message);
            return Err(error.with_hint("GRANT ROLE writer TO name"));
        }
        let roles = self.given_names("the name of a role")?;
        self.expect_word(if grants { "TO" } else { "FROM" })?;
        let users = self.given_names("the name of a user")?;
        Ok(Some(match grants {
            true => UserCommand::Grant { roles, users },
            false => UserCommand::Revoke { roles, users },
        }))
    }

    fn create_user(&mut self, or_replace: bool) -> Result<UserCommand> {
        let name = self.given_name("the name of a user")?;
        let if_not_exists = self.words(&["IF", "NOT", "EXISTS"])?;
        let mut settings = UserSettings::default();
        self.user_settings(&mut settings)?;
        if settings.password.is_none() {
            return Err(self.unexpected("`SET PASSWORD 'text'`"));
        }
        Ok(UserCommand::Create {
            name,
            or_replace,
            if_not_exists,
            settings,
        })
    }

    /// `REMOVE HOME DATABASE`, which stands before what is set.
    fn removes_home(&mut self) -> Result<bool> {
        let mut removes = false;
        while self.eat_word("REMOVE") {
            if self.is_word("ALL") || self.is_word("AUTH") {
                let message = "of a user is removed: HOME DATABASE";
                return Err(self.error(self.token().span, Code::FeatureNotAvailable, message));
            }
            self.expect_word("HOME")?;
            self.expect_word("DATABASE")?;
            if std::mem::replace(&mut removes, true) {
                return Err(self.unexpected("each setting once"));
            }
        }
        Ok(removes)
    }

    /// `SET PASSWORD ... CHANGE NOT REQUIRED SET STATUS ACTIVE SET ROLE ...`, each at most once, in
    /// any order.
    fn user_settings(&mut self, settings: &mut UserSettings) -> Result<()> {
        self.expect_word("SET")?;
        loop {
            if self.is_word("AUTH") || self.is_word("ENCRYPTED") {
                let message = "of a user are set: PASSWORD, STATUS, ROLE and HOME DATABASE";
                return Err(self.error(self.token().span, Code::FeatureNotAvailable, message));
            }
            let once = if self.eat_word("HOME") {
                self.expect_word("DATABASE")?;
                let name = match self.parameter_name()? {
                    Some(parameter) => parameter,
                    None => Given::Text(self.dotted_name("the name of a database")?.text),
                };
                settings.home.replace(Some(name)).is_none()
            } else if self.eat_word("STATUS") {
                let suspended = self.eat_word("SUSPENDED");
                if !suspended {
                    self.expect_word("ACTIVE")?;
                }
                settings.suspended.replace(suspended).is_none()
            } else if self.eat_word("ROLE") {
                let role = self.given_name("the name of a role")?;
                settings.role.replace(role).is_none()
            } else {
                let _ = self.eat_word("PLAINTEXT");
                self.expect_word("PASSWORD")?;
                let mut once = true;
                if !self.is_word("CHANGE") {
                    let password = self.given_password()?;
                    once = settings.password.replace(password).is_none();
                }
                if self.eat_word("CHANGE") {
                    let required = !self.eat_word("NOT");
                    self.expect_word("REQUIRED")?;
                    once &= settings.change_required.replace(required).is_none();
                }
                once
            };
            if !once {
                return Err(self.unexpected("each setting once"));
            }
            if !self.eat_word("SET") {
                return Ok(());
            }
        }
    }

    /// Whether these words follow; after the first of them the others have to.
    fn words(&mut self, words: &[&str]) -> Result<bool> {
        if !self.is_word(words[0]) {
            return Ok(false);
        }
        for word in words {
            self.expect_word(word)?;
        }
        Ok(true)
    }

    fn parameter_name(&mut self) -> Result<Option<Given>> {
        if !self.eat(TokenKind::Dollar) {
            return Ok(None);
        }
        let name = self.name("the name of a parameter")?;
        Ok(Some(Given::Parameter(name.text)))
    }

    fn given_name(&mut self, what: &str) -> Result<Given> {
        match self.parameter_name()? {
            Some(parameter) => Ok(parameter),
            None => Ok(Given::Text(self.name(what)?.text)),
        }
    }

    fn given_names(&mut self, what: &str) -> Result<Vec<Given>> {
        let mut names = vec![self.given_name(what)?];
        while self.eat(TokenKind::Comma) {
            names.push(self.given_name(what)?);
        }
        Ok(names)
    }

    fn given_password(&mut self) -> Result<Given> {
        if let Some(parameter) = self.parameter_name()? {
            return Ok(parameter);
        }
        let token = self.expect(TokenKind::String, "a password as text or parameter")?;
        Ok(Given::Text(lexer::string(self.text, token.span)?))
    }
}

#[cfg(test)]
mod tests {
    //! Goal: the statements are read, and no error and no plan shows anything of one that may hold
    //! a password.

    use super::*;
    use crate::ast::ClauseKind;
    use crate::parser::parse;
    use crate::plan::schema::SchemaCommand;

    fn command(text: &str) -> UserCommand {
        let statement = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        match &statement.query.first.clauses[0].kind {
            ClauseKind::Schema(SchemaCommand::User(command)) => command.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn commands_are_read() {
        let text = |text: &str| Given::Text(text.into());
        let made = command(
            "create user ada if not exists set plaintext password 'x\\'y' change not required set \
                status suspended set role `writer`;",
        );
        let settings = UserSettings {
            password: Some(text("x'y")),
            change_required: Some(false),
            suspended: Some(true),
            role: Some(text("writer")),
            home: None,
        };
        assert_eq!(
            made,
            UserCommand::Create {
                name: text("ada"),
                or_replace: false,
                if_not_exists: true,
                settings
            }
        );
        assert!(matches!(
            command("CREATE OR REPLACE USER $n SET PASSWORD $p"),
            UserCommand::Create {
                or_replace: true,
                name: Given::Parameter(_),
                ..
            }
        ));
        assert!(command("ALTER CURRENT USER SET PASSWORD FROM 'a' TO $b").is_own());
        assert!(matches!(
            command("ALTER USER ada SET PASSWORD CHANGE REQUIRED"),
            UserCommand::Alter {
                settings: UserSettings {
                    change_required: Some(true),
                    password: None,
                    ..
                },
                ..
            }
        ));
        assert!(matches!(
            command("GRANT ROLES reader, admin TO ada, bob"),
            UserCommand::Grant { roles, users } if roles.len() == 2 && users.len() == 2
        ));
        assert!(matches!(
            command("REVOKE ROLE admin FROM ada"),
            UserCommand::Revoke { .. }
        ));
        assert!(matches!(
            command("DROP USER ada IF EXISTS"),
            UserCommand::Drop {
                if_exists: true,
                ..
            }
        ));
        assert!(parse("ALTER USER a REMOVE HOME DATABASE SET STATUS ACTIVE").is_ok());
        for wrong in [
            "ALTER USER a",
            "ALTER USER a SET STATUS ACTIVE REMOVE HOME DATABASE",
            "ALTER USER a REMOVE HOME DATABASE SET HOME DATABASE b",
            "ALTER USER a REMOVE HOME DATABASE REMOVE HOME DATABASE",
            "ALTER USER a REMOVE AUTH 'native'",
            "RENAME USER a",
            "RENAME USER a TO b IF EXISTS",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("CREATE user = (a)-[:T]->(b) RETURN user").is_ok());
    }

    #[test]
    fn errors_show_nothing_of_a_statement_with_a_password() {
        for text in [
            "CREATE USER ada SET PASSWORD 'SECRET' SET PASSWORD 'SECRET'",
            "CREATE USER ada SET PASSWORD SECRET",
            "CREATE USER ada SET PASSWORD 'SECRET",
            "CREATE USER ada SET PASSWORD \"SECRET\\u12\"",
            "EXPLAIN ALTER USER ada SET PLAINTEXT PASSWORD 'SECRET' SECRET",
            "ALTER CURRENT USER SET PASSWORD FROM 'SECRET' TO SECRET",
            "ALTER CURRENT USER SET PASSWORD FROM 'SECRET'",
            "CREATE USER 'SECRET' SET HOME PASSWORD",
            "CREAT USER ada SET PASSWORD 'SECRET'",
            "CREATE /* a */ USER ada SET // b\n PASSWORD 'SECRET' x",
        ] {
            let error = parse(text).expect_err(text);
            for said in [error.to_string(), error.render(), format!("{error:?}")] {
                assert!(!said.contains("SECRET"), "{text}: {said}");
            }
        }
        assert!(
            !format!("{:?}", command("CREATE USER a SET PASSWORD 'SECRET'")).contains("SECRET")
        );
        let plain = parse("CREATE (u:User) SET u.password = 'x' RETRUN u").expect_err("misspelt");
        assert!(plain.render().contains("RETRUN"), "{}", plain.render());
    }
}
