//! Creates and drops indexes, constraints, sequences and macros, and changes users.

use std::sync::Arc;

use graven_cypher::plan::schema::{IndexKind, SchemaCommand, SchemaName, SchemaSubject};
use graven_storage::{
    self as storage, ConstraintSpec, Error, IndexSpec, KeyId, SchemaClash, SchemaEntity,
};
use graven_types::told;

use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::operators::macros;
use crate::operators::sequences;
use crate::operators::tables::{Tables, demand};
use crate::query_context::QueryContext;
use crate::users;
use crate::value::Value;

/// See the file header.
pub(crate) struct Schema {
    /// What is done before.
    input: BoxedOperator,
    command: Arc<SchemaCommand>,
    done: bool,
}

impl Schema {
    /// Runs `command` after `input`.
    pub(crate) fn new(input: BoxedOperator, command: Arc<SchemaCommand>) -> Self {
        Self {
            input,
            command,
            done: false,
        }
    }

    fn run(&self, rt: &QueryContext) -> Result<()> {
        let transaction = rt.writer()?.transaction();
        let stop: &dyn Fn() -> bool = &|| rt.check_cancelled().is_err();
        let entity = |subject: &SchemaSubject| -> Result<SchemaEntity> {
            Ok(match subject {
                SchemaSubject::Label(label) => SchemaEntity::Node(transaction.label(label)?),
                SchemaSubject::Type(rel_type) => {
                    SchemaEntity::Relationship(transaction.rel_type(rel_type)?)
                }
            })
        };
        let ids = |keys: &[std::sync::Arc<str>]| -> Result<Vec<KeyId>> {
            keys.iter().map(|key| Ok(transaction.key(key)?)).collect()
        };
        let text = |name: &SchemaName| -> Result<String> {
            match name {
                SchemaName::Written(name) => Ok(name.to_string()),
                SchemaName::Parameter(name) => match rt.parameter(name)? {
                    Value::String(text) if !text.is_empty() => Ok(text.to_string()),
                    other => Err(ExecError::Type {
                        message: told!(
                            "the name of an index or constraint is a String, ${name} is {}",
                            other.type_name()
                        ),
                    }),
                },
            }
        };
        let (outcome, lenient) = match &*self.command {
            // Labels and types are looked up in any case.
            SchemaCommand::CreateLookup => (Ok(()), true),
            SchemaCommand::CreateIndex {
                kind,
                name,
                if_not_exists,
                subject,
                keys,
            } => {
                let spec = IndexSpec {
                    name: name.as_ref().map(text).transpose()?,
                    entity: entity(subject)?,
                    keys: ids(keys)?,
                    unique: false,
                    kind: match kind {
                        IndexKind::Range => storage::IndexKind::Range,
                        IndexKind::Text => storage::IndexKind::Text,
                        IndexKind::Point => storage::IndexKind::Point,
                    },
                };
                (
                    transaction.create_index(&spec, stop).map(|_| ()),
                    *if_not_exists,
                )
            }
            SchemaCommand::CreateConstraint {
                name,
                if_not_exists,
                kind,
                subject,
                keys,
            } => {
                let spec = ConstraintSpec {
                    name: name.as_ref().map(text).transpose()?,
                    kind: demand(kind, transaction)?,
                    entity: entity(subject)?,
                    keys: ids(keys)?,
                };
                let made = transaction.create_constraint(&spec, stop).map(|_| ());
                match made {
                    Err(
                        error @ (Error::Duplicate { .. }
                        | Error::MissingProperty { .. }
                        | Error::WrongType { .. }
                        | Error::WrongEnds { .. }),
                    ) => return Err(ExecError::ConstraintNotMet(Box::new(error))),
                    made => (made, *if_not_exists),
                }
            }
            SchemaCommand::DropIndex { name, if_exists } => {
                (transaction.drop_index(&text(name)?), *if_exists)
            }
            SchemaCommand::DropConstraint { name, if_exists } => {
                (transaction.drop_constraint(&text(name)?), *if_exists)
            }
            SchemaCommand::Table(command) => {
                let tables = Tables {
                    transaction,
                    rt,
                    stop,
                };
                return tables.run(command);
            }
            SchemaCommand::Sequence(command) => return sequences::run(command, transaction),
            SchemaCommand::Macro(command) => return macros::run(command, transaction),
            SchemaCommand::User(command) => return users::run(command, rt),
        };
        // Whether what is wanted is there, or its name is taken by something of its sort; the index
        // of a constraint is an index.
        let of_constraint = matches!(&*self.command, SchemaCommand::CreateConstraint { .. });
        let is_there = |what: &str, name: &str, clash: SchemaClash| match (what, clash) {
            ("constraint", SchemaClash::Demand | SchemaClash::Kind) => false,
            ("constraint", _) if of_constraint => true,
            ("constraint", SchemaClash::Sort) => true,
            ("constraint", _) => rt.snapshot.catalog().index_named(name).is_some(),
            _ => !of_constraint,
        };
        match outcome {
            Err(Error::SchemaExists { what, name, clash })
                if lenient && is_there(what, &name, clash) =>
            {
                Ok(())
            }
            Err(Error::NoSuchSchema { .. }) if lenient => Ok(()),
            Err(Error::Stopped) => rt.check_cancelled(),
            other => Ok(other?),
        }
    }
}

impl PhysicalOperator for Schema {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if !std::mem::replace(&mut self.done, true) {
            while self.input.next(rt)?.is_some() {}
            self.run(rt)?;
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.done = false;
    }
}
