//! Saving and loading the warm set of the page cache.

use std::path::Path;

use graven_exec::{ExecError, Refused, Value};
use graven_storage::warm::{self, WarmSet};
use graven_types::told;

use super::{DatabaseProcedures, Rows, integer, maintenance};
use crate::charged_text::{ChargedText, NoText};

fn failed(name: &str, message: String) -> ExecError {
    ExecError::Procedure {
        name: name.to_owned(),
        message,
    }
}

fn refused(name: &str, file: &str, refused: Refused) -> ExecError {
    match refused {
        Refused::Policy(why) => ExecError::Forbidden {
            message: told!("{name}: {file}: {why}"),
        },
        Refused::System(why) => failed(name, format!("{file}: {why}")),
    }
}

fn file<'a>(name: &str, args: &'a [Value]) -> Result<&'a str, ExecError> {
    match args {
        [Value::String(file)] => Ok(file),
        _ => Err(failed(name, "give the file as text".to_owned())),
    }
}

/// Writes which segments are in memory.
pub(super) fn save(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    const NAME: &str = "graven.cache.save";
    let file = file(NAME, args)?;
    let to = caller.access().files.new_file(Path::new(file));
    let to = to.map_err(|why| refused(NAME, file, why))?;
    let set = caller.database.store.snapshot().warm_set();
    let set = set.map_err(|e| failed(NAME, e.to_string()))?;
    // Messages name the file as the statement does.
    let place = to.path().display().to_string();
    warm::write(&set, to.path()).map_err(|why| failed(NAME, why.replace(&place, file)))?;
    Ok(vec![vec![
        integer(set.stores() as u64),
        integer(set.ranges() as u64),
        integer(set.segments()),
    ]])
}

/// Reads what a saved set names.
pub(super) fn load(caller: &DatabaseProcedures, args: &[Value]) -> Result<Rows, ExecError> {
    const NAME: &str = "graven.cache.load";
    let file = file(NAME, args)?;
    let from = caller.access().files.open(Path::new(file));
    let from = from.map_err(|why| refused(NAME, file, why))?;
    let memory = caller.database.budget.empty_reservation("warm set");
    let set = match ChargedText::read(from, memory) {
        Ok(text) => WarmSet::read(&text).map_err(|why| failed(NAME, format!("{file}, {why}")))?,
        Err(NoText::Memory(error)) => return Err(graven_storage::Error::from(error).into()),
        Err(NoText::System(why)) => return Err(failed(NAME, format!("{file}: {why}"))),
    };
    let until = maintenance::until(caller);
    let warmed = caller
        .database
        .store
        .snapshot()
        .load_warm(&set, &|| until.is_over());
    maintenance::ended(caller)?;
    let warmed = warmed.map_err(|e| failed(NAME, e.to_string()))?;
    Ok(vec![vec![
        integer(warmed.wanted),
        integer(warmed.pages),
        integer(warmed.bytes),
        Value::Boolean(warmed.is_full),
    ]])
}
