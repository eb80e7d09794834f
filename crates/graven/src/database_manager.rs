//! The databases of a server that has several, as the statements of one of its connections see and
//! change them.
//!
//! # How it works
//! A program that serves a folder of databases hands its connections a [`DatabaseManager`]
//! ([`Connection::with_database_manager`](crate::Connection::with_database_manager)).
//! `SHOW DATABASES`, `CREATE DATABASE` and the like ask it; `SHOW TRANSACTIONS` asks each database
//! that it lists. Without one a connection knows the one database of its file, and these commands
//! are refused.
//!
//! # Invariants
//! * DC-1 A [`Change`] that was answered without an error survives a crash at any moment; one that
//!   was not answered is there as a whole or not at all.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::access::{Access, Users};
use crate::database::Database;
use crate::error::Error;
use crate::names;

/// What a database manager knows of one database.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Other names that mean it.
    pub aliases: Vec<String>,
    /// Statements of clients change nothing in it.
    pub reads_only: bool,
    /// It was not stopped.
    pub is_wanted: bool,
    /// Why it is not open, where that was not asked for.
    pub message: String,
    /// The open database.
    pub database: Option<Database>,
}

/// A change of the databases of a server, or of their aliases.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are explained by the variant")]
pub enum Change {
    /// `CREATE DATABASE`; `replaces`: what has the name is dropped first.
    Create {
        name: String,
        replaces: bool,
        if_missing: bool,
    },
    /// `DROP DATABASE`; `cascades`: its aliases with it; `dumps`: a copy of it is kept.
    Drop {
        name: String,
        if_exists: bool,
        cascades: bool,
        dumps: bool,
    },
    /// `ALTER DATABASE ... SET ACCESS`.
    SetAccess {
        name: String,
        if_exists: bool,
        reads_only: bool,
    },
    /// `START DATABASE` and `STOP DATABASE`.
    SetWanted { name: String, is_wanted: bool },
    /// `CREATE ALIAS` and `ALTER ALIAS`.
    SetAlias {
        name: String,
        target: String,
        /// It has to be a new name, unless `condition` says that this does not matter.
        is_new: bool,
        replaces: bool,
        condition: bool,
    },
    /// `DROP ALIAS`.
    DropAlias { name: String, if_exists: bool },
}

/// The databases of a server.
pub trait DatabaseManager: Send + Sync + fmt::Debug {
    /// All databases, by name, `system` among them.
    fn databases(&self) -> Vec<Listed>;

    /// The name of the database that this name means, in whatever letters.
    fn resolve(&self, name: &str) -> Option<String>;

    /// The database of clients that name none, whatever user they are.
    fn default_name(&self) -> String;

    /// Makes a change.
    ///
    /// # Errors
    /// Why it cannot be made: nothing has changed.
    fn change(&self, change: Change) -> Result<(), Error>;

    /// The address at which clients reach the server.
    fn address(&self) -> String;
}

/// Whether the database of this file is meant by the name, with those of a server beside it.
pub(crate) fn is_meant(
    name: &str,
    (path, database_manager): (&Path, Option<&dyn DatabaseManager>),
) -> bool {
    match database_manager {
        None => names::is_of_file(name, path),
        Some(database_manager) => database_manager.resolve(name) == Some(names::of_file(path)),
    }
}

impl Access {
    /// The users are those of this database, whichever one a statement runs on: their roles are
    /// looked up there.
    ///
    /// # Errors
    /// `Database.Attached` where another process has it.
    pub fn with_users_of(mut self, database: &Database) -> Result<Access, Error> {
        self.users = Some(Users(Arc::clone(&database.inner()?.store)));
        Ok(self)
    }
}
