//! Where `COPY TO` writes: a file beside its place, or an object that is uploaded.
//!
//! # Invariants
//! * FI-8 A file or object that is written appears under its name when it is complete. A statement
//!   that fails leaves none.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use graven_files::Output;
use graven_objects::{ObjectUrl, PART_BYTES_MIN, Upload, is_url};
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::file_access::{NamedFile, Refused};
use crate::memory::Memory;
use crate::query_context::QueryContext;
use crate::sources::{asking, path};

/// Bytes of a part of an object, and how many are on their way while one is collected: what there
/// is memory for, the least first.
const PARTS: [(usize, usize); 4] = [
    (PART_BYTES_MIN, 0),
    (PART_BYTES_MIN, 1),
    (8 << 20, 1),
    (8 << 20, 3),
];

/// What is more than the least takes this share of the memory limit at most.
const SHARE_OF_PARTS: u64 = 4;

/// A file that is there only while it is written.
pub(super) struct Unfinished {
    named: NamedFile,
    finished: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed is named as what it is.
            let _ = std::fs::remove_file(self.named.path());
        }
    }
}

/// What a statement writes to.
pub(super) enum Target {
    File {
        name: String,
        place: NamedFile,
        beside: Unfinished,
    },
    /// The memory of its parts.
    Object { _memory: Memory },
}

impl Target {
    /// Begins to write what `name` means.
    pub(super) fn begin(name: &str, rt: &QueryContext) -> Result<(Target, Box<dyn Output>)> {
        let local = path(name);
        match local == name && is_url(name) {
            true => Target::object(name, rt),
            false => Target::file(local, rt),
        }
    }

    fn object(name: &str, rt: &QueryContext) -> Result<(Target, Box<dyn Output>)> {
        let failed = |error: graven_objects::Error| {
            let message = told!("COPY: {error}");
            match error {
                graven_objects::Error::Forbidden { .. } => ExecError::Forbidden { message },
                _ => ExecError::Argument { message },
            }
        };
        let patience = rt.patience();
        let reach = rt.reach(&patience);
        let url = ObjectUrl::parse(name).map_err(failed)?;
        let room = |(part, most): (usize, usize)| {
            let mut memory = Memory::new(&rt.budget, "CopyTo", "write to a local file");
            memory
                .set(part * (most + 1))
                .map(|()| (memory, (part, most)))
        };
        let [small, large @ ..] = PARTS;
        let share = rt.budget.limit() / SHARE_OF_PARTS;
        let fits = |(part, most): &(usize, usize)| (part * (most + 1)) as u64 <= share;
        let mut larger = large.into_iter().filter(fits).rev();
        let larger = larger.find_map(|parts| room(parts).ok());
        let (memory, parts) = match larger {
            Some(found) => found,
            None => room(small)?,
        };
        let upload = Upload::begin(&url, &asking(&reach), parts).map_err(failed)?;
        let target = Target::Object { _memory: memory };
        Ok((target, Box::new(Object(upload))))
    }

    fn file(name: String, rt: &QueryContext) -> Result<(Target, Box<dyn Output>)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let told = |refused: Refused| {
            let message = told!("COPY: {name}: {refused}");
            match refused {
                Refused::Policy(_) => ExecError::Forbidden { message },
                Refused::System(_) => ExecError::Argument { message },
            }
        };
        let named = |path: &Path| rt.files.new_file(path).map_err(told);
        let place = named(Path::new(&name))?;
        place.check_replaceable().map_err(told)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = format!("{name}.{}-{number}.part", std::process::id());
        let beside = Unfinished {
            named: named(Path::new(&beside))?,
            finished: false,
        };
        let file = std::fs::File::create_new(beside.named.path());
        let file = file.map_err(|error| cannot_write(&name, &error))?;
        let target = Target::File {
            name,
            place,
            beside,
        };
        Ok((target, Box::new(file)))
    }

    /// Gives what was written its name; an object has it already.
    pub(super) fn appear(self) -> Result<()> {
        let Target::File {
            name,
            place,
            mut beside,
        } = self
        else {
            return Ok(());
        };
        let renamed = std::fs::rename(beside.named.path(), place.path());
        renamed.map_err(|error| cannot_write(&name, &error))?;
        beside.finished = true;
        let folder = place.path().parent().map(Path::to_path_buf);
        let folder = folder.filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| PathBuf::from("."));
        std::fs::File::open(folder)
            .and_then(|it| it.sync_all())
            .map_err(|error| cannot_write(&name, &error))
    }
}

fn cannot_write(name: &str, error: &std::io::Error) -> ExecError {
    ExecError::Argument {
        message: told!("COPY: {name}: cannot be written: {error}"),
    }
}

/// An object that is uploaded.
struct Object(Upload);

impl std::io::Write for Object {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Output for Object {
    fn finish(self: Box<Self>) -> std::io::Result<()> {
        let done = self.0.finish();
        done.map_err(|error| std::io::Error::other(error.why()))
    }
}
