//! `CREATE MACRO` and `DROP MACRO`.

use graven_cypher::plan::macros::MacroCommand;
use graven_storage::{Error, MacroDescription, SchemaClash, Transaction};

use crate::error::Result;

/// Runs a command.
///
/// # Errors
/// A macro that is there already, or is not there.
pub(super) fn run(command: &MacroCommand, transaction: &Transaction) -> Result<()> {
    match command {
        MacroCommand::Create { made, lenient } => {
            if transaction.has_macro(&made.name) {
                return match lenient {
                    true => Ok(()),
                    false => Err(Error::SchemaExists {
                        what: "macro",
                        name: made.name.to_string(),
                        clash: SchemaClash::Name,
                    }
                    .into()),
                };
            }
            transaction.put_macro(MacroDescription {
                name: made.name.clone(),
                parameters: made.parameters.clone(),
                body: made.body.clone(),
            })?;
        }
        MacroCommand::Drop { name, lenient } => {
            if !transaction.drop_macro(name)? && !lenient {
                return Err(Error::NoSuchSchema {
                    what: "macro",
                    name: name.to_string(),
                }
                .into());
            }
        }
    }
    Ok(())
}
