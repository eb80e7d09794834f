//! `CREATE SEQUENCE` and `DROP SEQUENCE`.

use graven_cypher::plan::sequences::SequenceCommand;
use graven_storage::{Error, SchemaClash, SequenceDescription, Transaction};

use crate::error::Result;

/// Runs a command.
///
/// # Errors
/// A sequence that is there already, or is not there.
pub(super) fn run(command: &SequenceCommand, transaction: &Transaction) -> Result<()> {
    match command {
        SequenceCommand::Create {
            name,
            bounds,
            lenient,
        } => {
            if transaction.sequence(name).is_some() {
                return match lenient {
                    true => Ok(()),
                    false => Err(Error::SchemaExists {
                        what: "sequence",
                        name: name.to_string(),
                        clash: SchemaClash::Name,
                    }
                    .into()),
                };
            }
            transaction.put_sequence(SequenceDescription {
                name: name.clone(),
                start: bounds.start,
                increment: bounds.increment,
                min: bounds.min,
                max: bounds.max,
                cycle: bounds.cycle,
                last: None,
            })?;
        }
        SequenceCommand::Drop { name, lenient } => {
            if !transaction.drop_sequence(name)? && !lenient {
                return Err(Error::NoSuchSchema {
                    what: "sequence",
                    name: name.to_string(),
                }
                .into());
            }
        }
    }
    Ok(())
}
