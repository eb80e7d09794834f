//! Changes of names that survive a crash.

use std::fs;
use std::path::Path;

use crate::{Error, Operation, Result};

/// Makes entries of `directory` (created, renamed, removed files) durable.
///
/// # Errors
/// The directory cannot be opened or synced.
pub fn sync_directory(directory: impl AsRef<Path>) -> Result<()> {
    let directory = directory.as_ref();
    let failed = |source| Error::os(Operation::Sync, directory, source);
    fs::File::open(directory)
        .map_err(failed)?
        .sync_all()
        .map_err(failed)
}

/// Puts the file `from` under the name `to`, replacing what is there, so that after a crash `to` is
/// either what it was or the whole new file: syncs the file, renames, syncs the directories of both
/// names.
///
/// # Errors
/// Any of the steps fails; up to the rename `to` is untouched.
pub fn durable_rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let sync = |source| Error::os(Operation::Sync, from, source);
    fs::File::open(from)
        .map_err(sync)?
        .sync_all()
        .map_err(sync)?;
    fs::rename(from, to).map_err(|source| Error::os(Operation::Rename, from, source))?;
    sync_directory(parent(to))?;
    if parent(from) != parent(to) {
        sync_directory(parent(from))?;
    }
    Ok(())
}

/// As [`durable_rename`] where nothing is called `to` yet; what has that name by then stays, and
/// `from` too.
///
/// # Errors
/// As [`durable_rename`]; a file that came first is none.
pub fn durable_rename_new(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        // Where files cannot have two names the rename has to do.
        Err(_) => return durable_rename(from, to),
        Ok(()) => {}
    }
    let sync = |source| Error::os(Operation::Sync, to, source);
    fs::File::open(to).map_err(sync)?.sync_all().map_err(sync)?;
    fs::remove_file(from).map_err(|source| Error::os(Operation::Rename, from, source))?;
    sync_directory(parent(to))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
