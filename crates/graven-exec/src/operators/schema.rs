//! Creates and drops indexes and constraints.

use graven_cypher::plan::schema::{ConstraintKind, SchemaCommand, SchemaSubject};
use graven_storage::{self as storage, ConstraintSpec, Error, IndexSpec, KeyId, SchemaEntity};

use crate::batch::Batch;
use crate::error::Result;
use crate::operator::Operator;
use crate::runtime::Runtime;

/// See the file header.
pub(crate) struct Schema {
    command: SchemaCommand,
    done: bool,
}

impl Schema {
    /// Runs `command`.
    pub(crate) fn new(command: SchemaCommand) -> Self {
        Self {
            command,
            done: false,
        }
    }

    fn run(&self, rt: &Runtime) -> Result<()> {
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
        let (outcome, lenient) = match &self.command {
            SchemaCommand::CreateIndex {
                name,
                if_not_exists,
                subject,
                keys,
            } => {
                let spec = IndexSpec {
                    name: name.as_ref().map(ToString::to_string),
                    entity: entity(subject)?,
                    keys: ids(keys)?,
                    unique: false,
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
                    name: name.as_ref().map(ToString::to_string),
                    kind: match kind {
                        ConstraintKind::Unique => storage::ConstraintKind::Unique,
                        ConstraintKind::Key => storage::ConstraintKind::NodeKey,
                        ConstraintKind::Exists => storage::ConstraintKind::Exists,
                    },
                    entity: entity(subject)?,
                    keys: ids(keys)?,
                };
                let made = transaction.create_constraint(&spec, stop).map(|_| ());
                (made, *if_not_exists)
            }
            SchemaCommand::DropIndex { name, if_exists } => {
                (transaction.drop_index(name), *if_exists)
            }
            SchemaCommand::DropConstraint { name, if_exists } => {
                (transaction.drop_constraint(name), *if_exists)
            }
        };
        match outcome {
            Err(Error::SchemaExists { .. } | Error::NoSuchSchema { .. }) if lenient => Ok(()),
            Err(Error::Stopped) => rt.check_cancelled(),
            other => Ok(other?),
        }
    }
}

impl Operator for Schema {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if !std::mem::replace(&mut self.done, true) {
            self.run(rt)?;
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.done = false;
    }
}
