//! Going on with another file, which is a later state of the same store: a newer snapshot.
//!
//! # How it works
//! The other file is opened beside the old one and becomes the base of new snapshots, as the root
//! of a checkpoint does. Snapshots that exist keep the old file and its pages until they end.
//!
//! # Invariants
//! * OB-13: a snapshot reads one file from its first page to its last.
//!
//! # Costs
//! What opening reads: superblocks, catalogue, label runs. Pages in memory are those of the old
//! file, so reading begins anew.

use crate::data_file::FileRoot;
use crate::pages::Pages;
use crate::store::Store;
use crate::superblock;
use crate::version::Version;
use crate::{Error, Result};
use graven_io::File;
use std::sync::Arc;

impl Store {
    /// Makes the content of `file` the base of new snapshots of this store, which may only be read.
    ///
    /// # Errors
    /// [`Error::Incomplete`] where the store may be written to, or `file` is another store's; as
    /// [`Store::open`]. Nothing has changed then.
    pub fn follow(&self, file: Arc<dyn File>) -> Result<()> {
        let refused = |what: &str| Error::Incomplete {
            store: file.path().display().to_string(),
            what: what.to_owned(),
        };
        if self.read_only().is_none() {
            return Err(refused(
                "a database that may be written to has no newer file",
            ));
        }
        let found = superblock::read(&*file)?;
        if found.superblock.uuid != self.uuid() {
            return Err(refused("it is another database than the one that is open"));
        }
        let pages = Arc::new(Pages::open(file.clone(), self.cache().clone())?);
        let root = Arc::new(FileRoot::open(pages, found.clone())?);
        let lsn = found.superblock.log.position;
        self.allocator().follow(&root.catalog);
        let mut commits = self.commits();
        let timestamp = commits.applied.timestamp.max(lsn);
        let version = Arc::new(Version::of(root, timestamp, lsn));
        commits.applied = version.clone();
        self.replace_found(found);
        self.publisher().replace_newest(version, self);
        self.retired.clear();
        Ok(())
    }
}
