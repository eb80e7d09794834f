//! The databases of a folder as the statements of one client change them.
//!
//! # How it works
//! A change is checked when its statement runs, and made when the transaction is committed: one
//! that is rolled back changes nothing. A statement outside of a transaction is one of its own.
//!
//! # Invariants
//! * SC-1 Nothing that a transaction asked for is made before its commit, and all of it is made in
//!   order then, up to the first change that fails.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven::{Change, DatabaseManager, Error, Listed};

use crate::folder::DatabaseFolder;

/// A folder for one client.
#[derive(Debug)]
pub(crate) struct SessionDatabases {
    folder: Arc<DatabaseFolder>,
    /// What the transaction that is open has asked for; none: there is no transaction.
    waiting: Mutex<Option<Vec<Change>>>,
    /// Changes that were asked for.
    asked: AtomicU64,
}

impl SessionDatabases {
    pub(crate) fn new(folder: &Arc<DatabaseFolder>) -> SessionDatabases {
        SessionDatabases {
            folder: Arc::clone(folder),
            waiting: Mutex::default(),
            asked: AtomicU64::new(0),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Vec<Change>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction begins, or none is open any more: what the last one asked for is not made.
    pub(crate) fn begin(&self, in_transaction: bool) {
        *self.waiting() = in_transaction.then(Vec::new);
    }

    /// Makes what the transaction asked for.
    pub(crate) fn commit(&self) -> Result<(), Error> {
        let waiting = self.waiting().take().unwrap_or_default();
        let mut waiting = waiting.into_iter();
        waiting.try_for_each(|change| self.folder.change(change))
    }

    /// How many changes were asked for so far.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Makes it, or keeps it for the commit.
    fn take(&self, asked: Change) -> Result<(), Error> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match &mut *self.waiting() {
            Some(waiting) => waiting.push(asked),
            None => return self.folder.change(asked),
        }
        Ok(())
    }
}

impl DatabaseManager for SessionDatabases {
    fn databases(&self) -> Vec<Listed> {
        self.folder.databases()
    }

    fn resolve(&self, name: &str) -> Option<String> {
        self.folder.resolve(name)
    }

    fn default_name(&self) -> String {
        self.folder.default_name()
    }

    fn change(&self, change: Change) -> Result<(), Error> {
        match self.folder.checked(change.clone())? {
            None => Ok(()),
            Some(_) => self.take(change),
        }
    }

    fn address(&self) -> String {
        self.folder.address()
    }
}
