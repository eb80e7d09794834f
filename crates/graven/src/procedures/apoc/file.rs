//! Files that procedures of APOC read: those that the statement may name.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use graven_exec::{ExecError, Refused, Value};
use graven_pagecache::{BudgetError, Reservation};
use graven_types::told;

use super::super::inner::{Call, no_room};
use crate::charged_text::{ChargedText, NoText};

/// Opens the file that an argument names.
pub(super) fn open<'a>(
    call: &'a Call<'_>,
    named: Option<&Value>,
) -> Result<Stoppable<'a>, ExecError> {
    let Some(Value::String(name)) = named else {
        return Err(call.failed("give the name of a file as text"));
    };
    let file = name.strip_prefix("file://").unwrap_or(name);
    if file.contains("://") {
        let told = told!("{name}: only files are read, and no addresses");
        return Err(call.failed(told));
    }
    let found = call.on.access().files.open(Path::new(file));
    let file = found.map_err(|refused| match refused {
        Refused::Policy(why) => ExecError::Forbidden {
            message: told!("{}: {name}: {why}", call.name),
        },
        Refused::System(why) => call.failed(told!("{name} cannot be read: {why}")),
    })?;
    Ok(Stoppable { call, file })
}

/// All of the text of a file, and the memory that it takes twice more.
pub(super) fn text(
    call: &Call<'_>,
    named: Option<&Value>,
) -> Result<(Value, Reservation), ExecError> {
    let empty = || call.on.database.budget.empty_reservation("text of a file");
    let whole = ChargedText::read(open(call, named)?, empty());
    let whole = whole.map_err(|why| match why {
        NoText::Memory(why) => no_room(why),
        NoText::System(why) => match call.check() {
            Err(stopped) => stopped,
            Ok(()) => {
                let name = named.map(Value::to_string).unwrap_or_default();
                call.failed(told!("{name} cannot be read: {why}"))
            }
        },
    })?;
    let mut memory = empty();
    memory.grow(2 * whole.len() as u64).map_err(no_room)?;
    Ok((Value::text(whole.trim()), memory))
}

/// A file that is read no longer than the statement may run.
pub(super) struct Stoppable<'a> {
    call: &'a Call<'a>,
    file: File,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.call.check().map_err(io::Error::other)?;
        self.file.read(into)
    }
}

/// A file that is read part by part, such as a line of JSON, each within the memory limit.
pub(super) struct Parts<'a> {
    from: Stoppable<'a>,
    part: Rc<RefCell<Part>>,
}

/// What is read of the current part.
pub(super) struct Part {
    memory: Reservation,
    refused: Option<BudgetError>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(from: Stoppable<'a>) -> Self {
        let memory = from
            .call
            .on
            .database
            .budget
            .empty_reservation("part of a file");
        let refused = None;
        Parts {
            from,
            part: Rc::new(RefCell::new(Part { memory, refused })),
        }
    }

    /// Tells of the part, while another reads.
    pub(super) fn part(&self) -> Rc<RefCell<Part>> {
        Rc::clone(&self.part)
    }
}

impl Part {
    /// The part has been taken: the next one begins.
    pub(super) fn end(&mut self) -> Result<(), ExecError> {
        self.memory.resize(0).map_err(no_room)
    }

    /// Why the limit let no more be read, if it did not.
    pub(super) fn refused(&mut self) -> Option<ExecError> {
        self.refused.take().map(no_room)
    }
}

impl Read for Parts<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut part = self.part.borrow_mut();
        // The text, and what is made of it.
        if let Err(refused) = part.memory.grow(3 * into.len() as u64) {
            part.refused = Some(refused);
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        self.from.read(into)
    }
}
