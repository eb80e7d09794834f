//! `graven_database`: a file with its page cache.

use std::ffi::c_char;
use std::path::Path;

use graven_binding::{Folder, Location};

use crate::config::Config;
use crate::error::{Error, guard, quiet, there};
use crate::text::text;

/// A database file with its page cache. May be used by several threads.
pub struct Database {
    pub(crate) database: graven::Database,
    /// Keeps the file of a database without a name, as all that is made of it does.
    pub(crate) folder: Folder,
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
        if settings.read_only {
            settings.create = false;
        }
        let location = Location::of(Path::new(name), &settings)?;
        let database = graven::Database::open(location.path, settings)?;
        let folder = location.folder;
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
