//! Commands that change the schema: indexes, constraints, tables, sequences, macros and users.

use std::fmt;
use std::sync::Arc;

use super::constraint::ConstraintKind;
use super::macros::MacroCommand;
use super::sequences::SequenceCommand;
use super::tables::TableCommand;
use super::users::UserCommand;

/// What an index or constraint is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSubject {
    /// Nodes with this label.
    Label(Arc<str>),
    /// Relationships of this type.
    Type(Arc<str>),
}

/// The name of an index or constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaName {
    /// As the text has it.
    Written(Arc<str>),
    /// The text that a parameter holds.
    Parameter(Arc<str>),
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaName::Written(name) => f.write_str(name),
            SchemaName::Parameter(name) => write!(f, "${name}"),
        }
    }
}

/// What an index is made as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexKind {
    /// `RANGE`, or no word.
    #[default]
    Range,
    /// `TEXT`.
    Text,
    /// `POINT`.
    Point,
}

/// One command.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaCommand {
    /// `CREATE INDEX name IF NOT EXISTS FOR ... ON (...)`.
    CreateIndex {
        kind: IndexKind,
        name: Option<SchemaName>,
        if_not_exists: bool,
        subject: SchemaSubject,
        keys: Vec<Arc<str>>,
    },
    /// `CREATE LOOKUP INDEX`: labels and types are looked up without one.
    CreateLookup,
    /// `DROP INDEX name IF EXISTS`.
    DropIndex { name: SchemaName, if_exists: bool },
    /// `CREATE CONSTRAINT name IF NOT EXISTS FOR ... REQUIRE ... IS ...`.
    CreateConstraint {
        name: Option<SchemaName>,
        if_not_exists: bool,
        kind: ConstraintKind,
        subject: SchemaSubject,
        keys: Vec<Arc<str>>,
    },
    /// `DROP CONSTRAINT name IF EXISTS`.
    DropConstraint { name: SchemaName, if_exists: bool },
    /// About a table.
    Table(TableCommand),
    /// About a sequence.
    Sequence(SequenceCommand),
    /// About a macro.
    Macro(MacroCommand),
    /// About users.
    User(UserCommand),
}

impl fmt::Display for SchemaSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaSubject::Label(label) => write!(f, "(:{label})"),
            SchemaSubject::Type(rel_type) => write!(f, "[:{rel_type}]"),
        }
    }
}

impl SchemaCommand {
    /// Code and message of the notice where the command has found nothing to do.
    #[must_use]
    pub fn without_effect(&self) -> Option<(&'static str, String)> {
        let (code, why) = match self {
            SchemaCommand::CreateIndex {
                if_not_exists: true,
                ..
            }
            | SchemaCommand::CreateConstraint {
                if_not_exists: true,
                ..
            } => ("IndexOrConstraintAlreadyExists", "it is there already"),
            SchemaCommand::DropIndex {
                if_exists: true, ..
            }
            | SchemaCommand::DropConstraint {
                if_exists: true, ..
            } => ("IndexOrConstraintDoesNotExist", "there is none"),
            _ => return None,
        };
        Some((code, format!("`{self}` has no effect: {why}")))
    }

    /// The name that the statement says.
    #[must_use]
    pub fn name(&self) -> Option<&SchemaName> {
        match self {
            SchemaCommand::CreateLookup
            | SchemaCommand::Table(_)
            | SchemaCommand::Sequence(_)
            | SchemaCommand::Macro(_)
            | SchemaCommand::User(_) => None,
            SchemaCommand::CreateIndex { name, .. }
            | SchemaCommand::CreateConstraint { name, .. } => name.as_ref(),
            SchemaCommand::DropIndex { name, .. } | SchemaCommand::DropConstraint { name, .. } => {
                Some(name)
            }
        }
    }
}

impl fmt::Display for SchemaCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            |name: &Option<SchemaName>| name.as_ref().map_or(String::new(), |n| format!(" {n}"));
        match self {
            SchemaCommand::CreateLookup => f.write_str("create lookup index"),
            SchemaCommand::CreateIndex {
                name,
                subject,
                keys,
                ..
            } => write!(
                f,
                "create index{} for {subject} on {}",
                named(name),
                keys.join(", ")
            ),
            SchemaCommand::DropIndex { name, .. } => write!(f, "drop index {name}"),
            SchemaCommand::CreateConstraint {
                name,
                kind,
                subject,
                keys,
                ..
            } => {
                if let ConstraintKind::Ends { pairs, .. } = kind {
                    let pairs = pairs
                        .iter()
                        .map(|(from, to)| format!("from {from} to {to}"));
                    let pairs: Vec<String> = pairs.collect();
                    let name = named(name);
                    return write!(
                        f,
                        "create constraint{name} for {subject} {}",
                        pairs.join(", ")
                    );
                }
                let kind = match kind {
                    ConstraintKind::Unique => "unique",
                    ConstraintKind::Key => "key",
                    ConstraintKind::Typed { of, .. } => &format!(":: {of}"),
                    _ => "not null",
                };
                let (name, keys) = (named(name), keys.join(", "));
                write!(
                    f,
                    "create constraint{name} for {subject} require {keys} is {kind}"
                )
            }
            SchemaCommand::DropConstraint { name, .. } => write!(f, "drop constraint {name}"),
            SchemaCommand::Table(command) => command.fmt(f),
            SchemaCommand::Sequence(command) => command.fmt(f),
            SchemaCommand::Macro(command) => command.fmt(f),
            SchemaCommand::User(command) => command.fmt(f),
        }
    }
}
