//! Commands about users. They hold passwords, which no listing, plan or error may show.

use std::fmt;
use std::sync::Arc;

/// A name or a password: its text, or the parameter that holds it.
#[derive(Clone, PartialEq, Eq)]
pub enum Given {
    /// The text.
    Text(Arc<str>),
    /// The name of a parameter.
    Parameter(Arc<str>),
}

impl fmt::Debug for Given {
    /// Without the text, which may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Text(_) => f.write_str("Text"),
            Given::Parameter(name) => write!(f, "${name}"),
        }
    }
}

/// What a statement sets of a user; what it does not name stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserSettings {
    /// A new password.
    pub password: Option<Given>,
    /// Whether the user has to set another one first.
    pub change_required: Option<bool>,
    /// Whether the user may not connect.
    pub suspended: Option<bool>,
    /// The name of its role.
    pub role: Option<Given>,
    /// The name of its home database; none within: it has none of its own any more.
    pub home: Option<Option<Given>>,
}

/// One command.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCommand {
    /// `CREATE OR REPLACE USER name IF NOT EXISTS SET ...`.
    Create {
        name: Given,
        or_replace: bool,
        if_not_exists: bool,
        settings: UserSettings,
    },
    /// `ALTER USER name IF EXISTS SET ...`.
    Alter {
        name: Given,
        if_exists: bool,
        settings: UserSettings,
    },
    /// `ALTER CURRENT USER SET PASSWORD FROM ... TO ...`.
    SetOwnPassword { from: Given, to: Given },
    /// `RENAME USER from IF EXISTS TO to`.
    Rename {
        from: Given,
        to: Given,
        if_exists: bool,
    },
    /// `DROP USER name IF EXISTS`.
    Drop { name: Given, if_exists: bool },
    /// `GRANT ROLE ... TO ...`.
    Grant {
        roles: Vec<Given>,
        users: Vec<Given>,
    },
    /// `REVOKE ROLE ... FROM ...`.
    Revoke {
        roles: Vec<Given>,
        users: Vec<Given>,
    },
}

impl UserCommand {
    /// Whether it concerns only the user that runs it.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self, UserCommand::SetOwnPassword { .. })
    }
}

impl fmt::Display for UserCommand {
    /// What it does, without names and passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UserCommand::Create { .. } => "CREATE USER",
            UserCommand::Alter { .. } => "ALTER USER",
            UserCommand::SetOwnPassword { .. } => "ALTER CURRENT USER SET PASSWORD",
            UserCommand::Rename { .. } => "RENAME USER",
            UserCommand::Drop { .. } => "DROP USER",
            UserCommand::Grant { .. } => "GRANT ROLE",
            UserCommand::Revoke { .. } => "REVOKE ROLE",
        })
    }
}
