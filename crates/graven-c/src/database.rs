//! `graven_database`: a file with its page cache.

use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::config::Config;
use crate::error::{Error, guard, quiet, there};
use crate::text::text;

/// A database file with its page cache. May be used by several threads.
pub struct Database {
    pub(crate) database: graven::Database,
    /// Where the file of a database without a name is, until all that was made of it is gone.
    pub(crate) folder: Option<Arc<TempDir>>,
}

/// Opens a database, or makes an empty one where there is none, unless "create" is "false" or
/// "read_only" is "true". Without a path, or with ":memory:", it is a new one in the folder for
/// temporary files, which goes with its last handle. `config` may be null. To be closed with
/// graven_close().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_open(
    path: *const c_char,
    config: Option<&Config>,
    error: Option<&mut *mut Error>,
) -> Option<Box<Database>> {
    guard(error, || {
        let mut settings = config.map_or_else(|| Config::default().config, |it| it.config.clone());
        let name = match path.is_null() {
            true => "",
            // SAFETY: CA-2.
            false => unsafe { text(path, "path") }?,
        };
        let is_temporary = name.is_empty() || name == ":memory:";
        if settings.read_only {
            settings.create = false;
        }
        if is_temporary && !settings.create {
            return Err(graven::Error::usage(
                "a database without a name is new: it is made, and can be written",
            ));
        }
        let (folder, path) = match is_temporary {
            true => {
                let folder = tempfile::Builder::new().prefix("graven-").tempdir();
                let folder = folder.map_err(|error| {
                    let message = format!("no folder for a database without a name: {error}");
                    graven::Error::usage(message)
                })?;
                let path = folder.path().join("memory.graven");
                (Some(Arc::new(folder)), path)
            }
            false => (None, PathBuf::from(name)),
        };
        let database = graven::Database::open(path, settings)?;
        Ok(Box::new(Database { database, folder }))
    })
}

/// Makes everything durable, notes that the database was closed cleanly, and frees the handle in
/// every case. Connections that are still there cannot write any more. A null pointer is left
/// alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_close(
    database: Option<Box<Database>>,
    error: Option<&mut *mut Error>,
) -> bool {
    let closed = guard(error, || match database {
        Some(database) => database.database.close(),
        None => Ok(()),
    });
    closed.is_some()
}

/// Folds what was committed into the data file.
#[unsafe(no_mangle)]
pub extern "C" fn graven_checkpoint(
    database: Option<&Database>,
    error: Option<&mut *mut Error>,
) -> bool {
    let done = guard(error, || {
        there(database, "database")?.database.checkpoint().map(drop)
    });
    done.is_some()
}

/// Copies the database to `path` while it is used, and checks the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_backup(
    database: Option<&Database>,
    path: *const c_char,
    error: Option<&mut *mut Error>,
) -> bool {
    let done = guard(error, || {
        let database = there(database, "database")?;
        // SAFETY: CA-2.
        let path = unsafe { text(path, "path") }?;
        database.database.backup(Path::new(path)).map(drop)
    });
    done.is_some()
}

/// The whole budget of the database, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn graven_memory(database: Option<&Database>) -> u64 {
    quiet(0, || database.map_or(0, |it| it.database.memory()))
}

/// Changes the budget while statements run; `size` is text such as "64MiB".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_set_memory(
    database: Option<&Database>,
    size: *const c_char,
    error: Option<&mut *mut Error>,
) -> bool {
    let done = guard(error, || {
        let database = there(database, "database")?;
        // SAFETY: CA-2.
        let bytes = graven::parse_bytes(unsafe { text(size, "size") }?)?;
        database.database.set_memory(bytes)
    });
    done.is_some()
}
