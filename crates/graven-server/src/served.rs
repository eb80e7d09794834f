//! What a server serves: one file, or the files of a folder.

use std::sync::Arc;

use graven::pagecache::Budget;
use graven::{Database, Error};

use crate::failure::Failure;
use crate::folder::DatabaseFolder;
use crate::folder::names::SYSTEM;
use crate::opened::Opened;

/// What is served.
#[derive(Debug)]
pub(crate) enum Databases {
    /// One file, the database of all names that clients may use.
    File(Arc<Opened>),
    /// The files of a folder.
    Folder(Arc<DatabaseFolder>),
}

impl Databases {
    /// The database that keeps the users.
    pub(crate) fn system(&self) -> &Database {
        match self {
            Databases::File(opened) => &opened.database,
            Databases::Folder(folder) => folder.system(),
        }
    }

    /// What is there before a client has chosen.
    pub(crate) fn first(&self) -> Result<Arc<Opened>, Error> {
        match self {
            Databases::File(opened) => Ok(Arc::clone(opened)),
            Databases::Folder(folder) => folder.named(SYSTEM),
        }
    }

    /// The database of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Opened>, Failure> {
        match self {
            Databases::File(opened) if opened.database.is_called(name) => Ok(Arc::clone(opened)),
            Databases::File(opened) => {
                let message = format!(
                    "there is no database {name}: this server has `{}`, which `neo4j` means as \
                        well",
                    opened.name
                );
                let code = "Neo.ClientError.Database.DatabaseNotFound";
                Err(Failure::new(code, message))
            }
            Databases::Folder(folder) => Ok(folder.named(name)?),
        }
    }

    /// The name of the database of a user that names none.
    pub(crate) fn home_of(&self, user: Option<&str>) -> Result<String, Error> {
        match self {
            Databases::File(opened) => Ok(opened.name.clone()),
            Databases::Folder(folder) => folder.home_of(user),
        }
    }

    /// All that are open.
    pub(crate) fn all_open(&self) -> Vec<Arc<Opened>> {
        match self {
            Databases::File(opened) => vec![Arc::clone(opened)],
            Databases::Folder(folder) => folder.all_open(),
        }
    }

    /// What their memory counts in; none where another process has the file.
    pub(crate) fn budget(&self) -> Option<Arc<Budget>> {
        match self {
            Databases::File(opened) => {
                let cache = opened.database.cache().ok();
                cache.map(|cache| Arc::clone(cache.budget()))
            }
            Databases::Folder(folder) => Some(Arc::clone(folder.budget())),
        }
    }
}
