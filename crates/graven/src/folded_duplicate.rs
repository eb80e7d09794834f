//! What a backup copies where the database may only be read: a duplicate with the log's commits in
//! its data file.
//!
//! # How it works
//! A backup has no log; it begins with a checkpoint. A database that was opened for reading only,
//! or lies where nothing may be written, cannot make one. Where its log holds commits that the data
//! file has not, both are duplicated to a place next to the copy that is to be made. The duplicate
//! is opened for writing, which recovers them, and is backed up instead. It goes when that is done.
//!
//! # Concurrency
//! The readers of a database share its lock, so no process writes to either file while it is
//! copied.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::OpenOptions;
use graven_pagecache::{PageCache, SpillFile};
use graven_storage::Store;

use crate::config::Config;
use crate::error::Error;
use crate::files::{WalLocation, sibling_path};

/// Calls `copy` with a store that a checkpoint can be made of, or that needs none; `out` is where
/// the copy will be.
pub(crate) fn folded<T>(
    store: &Store,
    out: &Path,
    copy: impl FnOnce(&Store) -> Result<T, Error>,
) -> Result<T, Error> {
    if store.read_only().is_none() || store.is_merged() {
        return copy(store);
    }
    let duplicate = Duplicate(sibling_path(out, "-source"));
    copy(&*duplicate.of(store)?)
}

/// Files that go with it.
struct Duplicate(PathBuf);

impl Drop for Duplicate {
    fn drop(&mut self) {
        for suffix in ["", "-wal"] {
            // It may not have come so far.
            let _ = fs::remove_file(sibling_path(&self.0, suffix));
        }
    }
}

impl Duplicate {
    /// Makes it, and opens it for writing under the budget of the original.
    fn of(&self, store: &Store) -> Result<Arc<Store>, Error> {
        for suffix in ["", "-wal"] {
            let from = sibling_path(store.file().path(), suffix);
            let to = sibling_path(&self.0, suffix);
            let copied = fs::copy(&from, &to)
                // The original's may forbid what is to be done with it.
                .and_then(|_| fs::set_permissions(&to, Permissions::from_mode(0o600)));
            copied.map_err(|error| {
                let (from, to) = (from.display(), to.display());
                Error::new("Io.Failed", format!("copying {from} to {to}: {error}"))
            })?;
        }
        let config = Config::default();
        let budget = store.cache().budget();
        let cache = PageCache::new(graven_pagecache::Config::new(Arc::clone(budget)))?;
        let log = WalLocation::new(&self.0, &config, false);
        let mut options = graven_storage::OpenOptions::new(Box::new(log));
        let spill = SpillFile::at(&cache, sibling_path(&self.0, "-tmp"), u64::MAX)?;
        options.spill = Some(Arc::new(spill));
        let writing = OpenOptions {
            mode: store.file().mode(),
            ..OpenOptions::default()
        };
        let file = graven_io::open(&self.0, &writing)?;
        Ok(Store::open_with(file, cache, options)?)
    }
}
