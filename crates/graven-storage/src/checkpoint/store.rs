//! Checkpoints of an open store: freeze, merge, install, cut the log, move the tail down.

use super::{CheckpointOptions, CheckpointReport};
use crate::store::Store;
use crate::{Error, Result};

impl Store {
    /// Merges what was committed since the last checkpoint into the file; commits and readers go on
    /// meanwhile. `None` if nothing was committed and the file is as short as it can be.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::CheckpointsStopped`]; [`Error::Budget`]; [`Error::Stopped`]
    /// where it was given up; what reading and writing give. Nothing is lost: the changes stay in
    /// memory and in the log.
    pub fn checkpoint(&self, options: CheckpointOptions) -> Result<Option<CheckpointReport>> {
        self.check_writable()?;
        // To wait for the pauses of the one under way is not what its caller asked for.
        let _unpaced = (!options.paced).then(|| self.checkpointer().unpaced());
        let _running = self.checkpointer().pause_until(&options.until)?;
        self.checkpoint_now(&options)
    }

    /// As [`Store::checkpoint`]; nothing where a check or a backup is under way.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub fn checkpoint_if_idle(&self, options: CheckpointOptions) -> Result<()> {
        self.check_writable()?;
        if self.checkpointer().activity().is_working() {
            return self.checkpoint(options).map(drop);
        }
        let Some(_running) = self.checkpointer().pause_if_idle() else {
            return Ok(());
        };
        self.checkpoint_now(&options).map(drop)
    }

    /// While no other one runs.
    fn checkpoint_now(&self, options: &CheckpointOptions) -> Result<Option<CheckpointReport>> {
        let checkpointer = self.checkpointer();
        let _working = checkpointer.activity().begin();
        let Some(frozen) = self.freeze()? else {
            return self.reclaim(options);
        };
        let root = self.newest_root();
        let merged = checkpointer.merge(&root, &frozen, options);
        let (new, mut report) = merged.inspect_err(|_| self.thaw(&frozen.frozen))?;
        let number = root.found.superblock.checkpoint;
        drop(root);
        let old = self.install_base(new, &frozen);
        drop(frozen);
        checkpointer.installed((number, old), &self.newest_root())?;
        self.cut_log()?;
        if options.compact && checkpointer.is_sparse(&self.newest_root())? {
            match self.move_down(options) {
                Ok(moved) => {
                    report.written_bytes += moved.written_bytes;
                    report.freed_bytes += moved.freed_bytes;
                }
                // All is merged in; the next checkpoint tries again.
                Err(error) if error.is_memory() => {}
                Err(error) => return Err(error),
            }
        }
        let units = self.superblock().superblock.file_units;
        report.file_bytes = units * graven_pagecache::UNIT_BYTES as u64;
        Ok(Some(report))
    }

    /// Without changes: gives back what snapshots held back that are gone now.
    fn reclaim(&self, options: &CheckpointOptions) -> Result<Option<CheckpointReport>> {
        let checkpointer = self.checkpointer();
        checkpointer.release(&self.newest_root())?;
        if !options.compact || !checkpointer.is_sparse(&self.newest_root())? {
            return Ok(None);
        }
        let mut report = self.move_down(options)?;
        let units = self.superblock().superblock.file_units;
        report.file_bytes = units * graven_pagecache::UNIT_BYTES as u64;
        Ok(Some(report))
    }

    /// Moves the tail of the file down and cuts it off.
    fn move_down(&self, options: &CheckpointOptions) -> Result<CheckpointReport> {
        let checkpointer = self.checkpointer();
        let root = self.newest_root();
        let (new, report) = checkpointer.compact(&root, options)?;
        let number = root.found.superblock.checkpoint;
        drop(root);
        let old = self.replace_root(new);
        let root = self.newest_root();
        checkpointer.installed((number, old), &root)?;
        checkpointer.settle(&root)?;
        Ok(report)
    }

    /// Gives back the part of the log that neither superblock needs.
    fn cut_log(&self) -> Result<()> {
        let Some(log) = self.log() else {
            return Ok(());
        };
        let needed = self.checkpointer().log_needed_from(&self.newest_root())?;
        let cut = log.truncate_before(graven_wal::Lsn(needed.position));
        cut.map_err(|error| Error::Log {
            path: self.file().path().to_path_buf(),
            what: format!("the log could not be cut after a checkpoint: {error}"),
        })
    }
}
