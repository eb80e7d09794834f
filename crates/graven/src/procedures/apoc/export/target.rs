//! Where an export goes: a file below the folder that statements may name, or a text.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use graven_exec::{ExecError, NamedFile, Refused, Value};
use graven_pagecache::Reservation;
use graven_types::told;

use super::super::super::inner::Call;
use super::HOLDER;
use super::text::Text;
use crate::right::Right;

/// See the file header.
pub(super) enum Target {
    Text(Text),
    File(Box<Unfinished>),
}

/// A file that has another name until it is finished.
pub(super) struct Unfinished {
    to: BufWriter<File>,
    name: String,
    beside: NamedFile,
    target: NamedFile,
    finished: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed is named as what it is.
            let _ = std::fs::remove_file(self.beside.path());
        }
    }
}

fn failed(call: &Call<'_>, name: &str, error: &std::io::Error) -> ExecError {
    call.failed(told!("{name} cannot be written: {error}"))
}

impl Target {
    /// The file of this name, or the text of the column `data`.
    pub(super) fn of(call: &Call<'_>, file: &Value, streams: bool) -> Result<Self, ExecError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if streams {
            let memory = call.on.database.budget.empty_reservation(HOLDER);
            return Ok(Target::Text(Text::new(memory)));
        }
        let Value::String(name) = file else {
            return Err(call.failed("name a file, or give the text with {stream: true}"));
        };
        call.on.check(Right::Admin, call.name)?;
        let told = |refused: Refused| match refused {
            Refused::Policy(why) => ExecError::Forbidden {
                message: told!("{}: {name}: {why}", call.name),
            },
            Refused::System(error) => failed(call, name, &error),
        };
        let named = |name: &str| {
            let name = name.strip_prefix("file://").unwrap_or(name);
            let found = call.on.access().files.new_file(Path::new(name));
            found.map_err(told)
        };
        let target = named(name)?;
        target.check_replaceable().map_err(told)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = named(&format!("{name}.{}-{number}.part", std::process::id()))?;
        let file = File::create_new(beside.path());
        let file = file.map_err(|error| failed(call, name, &error))?;
        Ok(Target::File(Box::new(Unfinished {
            to: BufWriter::new(file),
            name: (**name).to_owned(),
            beside,
            target,
            finished: false,
        })))
    }

    /// Appends a part of the text.
    pub(super) fn push(&mut self, call: &Call<'_>, part: &str) -> Result<(), ExecError> {
        match self {
            Target::Text(text) => text.push(part),
            Target::File(file) => {
                let done = file.to.write_all(part.as_bytes());
                done.map_err(|error| failed(call, &file.name, &error))
            }
        }
    }

    /// Bytes of the text so far.
    pub(super) fn length(&self) -> usize {
        match self {
            Target::Text(text) => text.len(),
            Target::File(_) => 0,
        }
    }

    /// Gives the file its name; the text with its memory, or null of a file.
    pub(super) fn finish(self, call: &Call<'_>) -> Result<(Value, Reservation), ExecError> {
        let mut file = match self {
            Target::Text(text) => return text.finish(),
            Target::File(file) => file,
        };
        let done = file.to.flush().and_then(|()| {
            file.to.get_ref().sync_all()?;
            std::fs::rename(file.beside.path(), file.target.path())
        });
        done.map_err(|error| failed(call, &file.name, &error))?;
        file.finished = true;
        let folder = file
            .target
            .path()
            .parent()
            .filter(|it| !it.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new(".")));
        let synced = folder.and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed(call, &file.name, &error))?;
        let memory = call.on.database.budget.empty_reservation(HOLDER);
        Ok((Value::Null, memory))
    }
}
