//! Commands that change the schema: indexes and constraints.

use std::fmt;
use std::sync::Arc;

/// What an index or constraint is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSubject {
    /// Nodes with this label.
    Label(Arc<str>),
    /// Relationships of this type.
    Type(Arc<str>),
}

/// What a constraint demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// No two have the same values.
    Unique,
    /// All have the properties, and no two the same values.
    Key,
    /// All have the properties.
    Exists,
}

/// One command.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaCommand {
    /// `CREATE INDEX name IF NOT EXISTS FOR ... ON (...)`.
    CreateIndex {
        name: Option<Arc<str>>,
        if_not_exists: bool,
        subject: SchemaSubject,
        keys: Vec<Arc<str>>,
    },
    /// `DROP INDEX name IF EXISTS`.
    DropIndex { name: Arc<str>, if_exists: bool },
    /// `CREATE CONSTRAINT name IF NOT EXISTS FOR ... REQUIRE ... IS ...`.
    CreateConstraint {
        name: Option<Arc<str>>,
        if_not_exists: bool,
        kind: ConstraintKind,
        subject: SchemaSubject,
        keys: Vec<Arc<str>>,
    },
    /// `DROP CONSTRAINT name IF EXISTS`.
    DropConstraint { name: Arc<str>, if_exists: bool },
}

impl fmt::Display for SchemaSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaSubject::Label(label) => write!(f, "(:{label})"),
            SchemaSubject::Type(rel_type) => write!(f, "[:{rel_type}]"),
        }
    }
}

impl fmt::Display for SchemaCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named =
            |name: &Option<Arc<str>>| name.as_ref().map_or(String::new(), |n| format!(" {n}"));
        match self {
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
                let kind = match kind {
                    ConstraintKind::Unique => "unique",
                    ConstraintKind::Key => "key",
                    ConstraintKind::Exists => "not null",
                };
                let (name, keys) = (named(name), keys.join(", "));
                write!(
                    f,
                    "create constraint{name} for {subject} require {keys} is {kind}"
                )
            }
            SchemaCommand::DropConstraint { name, .. } => write!(f, "drop constraint {name}"),
        }
    }
}
