//! Making a checkpoint durable: free space, sync, superblock, sync; and what both superblocks hold.
//!
//! # How it works
//! The free space is stored after everything else found its place, so its own pages are taken first, with a little
//! more room than its bytes need: taking them changes its extents.

use super::output::Output;
use super::space::Space;
use crate::chain;
use crate::free_space::{Extent, FreeSpace};
use crate::store::Root;
use crate::superblock::{self, Found, LogPosition, Slot, Superblock};
use crate::{Error, Result};
use graven_pagecache::{PageKind, PageRef, UNIT_BYTES};

/// The durable state of an open file.
#[derive(Debug)]
pub(crate) struct Published {
    newest: (Superblock, Slot),
    /// Of the other superblock: length of the file and log position, if it is intact.
    older: Option<(u64, LogPosition)>,
    pub(super) space: Space,
    /// Why there are no more checkpoints.
    stopped: Option<String>,
}

impl Published {
    /// The state, read from the file if this is the first use.
    pub(super) fn load<'s>(
        state: &'s mut Option<Published>,
        root: &Root,
    ) -> Result<&'s mut Published> {
        let file = &**root.pages.file();
        let found = superblock::read(file)?;
        let older = superblock::read_other(file, found.slot)?;
        let older = older.map(|older| (older.file_units, older.log));
        if let Some(known) = state.as_mut() {
            // Opening and closing the log write superblocks as well, with the same content otherwise.
            if found.superblock.checkpoint >= known.newest.0.checkpoint {
                known.newest = (found.superblock, found.slot);
                known.older = older;
            }
        } else {
            let block = &found.superblock;
            let head = block.free_space;
            let bytes = chain::read(&root.pages, head, PageKind::FreeSpace, |_| ())?;
            let decoded = FreeSpace::decode_both(&bytes, block.file_units);
            let (free, later) = root.pages.checked(head, PageKind::FreeSpace, decoded)?;
            let space = Space::new(free, later, block.checkpoint);
            *state = Some(Published {
                newest: (found.superblock, found.slot),
                older,
                space,
                stopped: None,
            });
        }
        Ok(state.as_mut().expect("just set"))
    }

    pub(super) fn superblock(&self) -> &Superblock {
        &self.newest.0
    }

    fn slot(&self) -> Slot {
        self.newest.1
    }

    pub(super) fn log_needed_from(&self) -> LogPosition {
        let newest = self.newest.0.log;
        match self.older {
            Some((_, older)) if older.generation == newest.generation => LogPosition {
                position: older.position.min(newest.position),
                ..newest
            },
            _ => newest,
        }
    }

    /// CK-5.
    pub(super) fn usable(&self, root: &Root) -> Result<()> {
        match &self.stopped {
            None => Ok(()),
            Some(why) => Err(Error::CheckpointsStopped {
                path: root.pages.path().to_path_buf(),
                why: why.clone(),
            }),
        }
    }

    pub(super) fn stop(&mut self, error: &Error) {
        self.stopped = Some(error.to_string());
    }

    /// Makes what `output` got and `block` describes the newest state; `freed` is not part of it.
    pub(super) fn publish(
        &mut self,
        root: &Root,
        output: &Output,
        mut block: Superblock,
        mut freed: Vec<PageRef>,
    ) -> Result<()> {
        let head = self.superblock().free_space;
        freed.extend(chain::pages_of(&root.pages, head, PageKind::FreeSpace)?);
        let later = freed.iter().map(|page| Extent::of(*page));
        let later: Vec<Extent> = later.collect();
        let room = self.encoded(&mut output.space(), &later).1.len() + 64;
        let pages = chain::reserve(output, room)?;
        let mut free = output.space();
        free.trim();
        let (file_units, bytes) = self.encoded(&mut free, &later);
        block.free_space = chain::write_to(output, &pages, PageKind::FreeSpace, &bytes)?;
        block.file_units = file_units;
        output.finish()?;
        let file = root.pages.file();
        let synced = file.sync_data().map_err(Error::from);
        synced.inspect_err(|error| self.stop(error))?;
        let checkpoint = block.checkpoint;
        self.write_superblock(root, block)?;
        self.space.committed(checkpoint, free, freed);
        Ok(())
    }

    /// Length of the file in units and the stored form of the free space.
    fn encoded(&self, free: &mut FreeSpace, later: &[Extent]) -> (u64, Vec<u8>) {
        let mut stored = self.space.stored(free);
        stored.trim();
        let mut bytes = stored.encode();
        if !later.is_empty() {
            let mut freed = FreeSpace::new(stored.end());
            later.iter().for_each(|extent| freed.free(*extent));
            bytes.extend_from_slice(&freed.encode());
        }
        (stored.end(), bytes)
    }

    /// CK-4, CK-5.
    fn write_superblock(&mut self, root: &Root, block: Superblock) -> Result<()> {
        let slot = self.slot().other();
        let file = root.pages.file();
        let written = superblock::write(&**file, slot, &block)
            .and_then(|()| file.sync_data().map_err(Error::from));
        written.inspect_err(|error| self.stop(error))?;
        let replaced = std::mem::replace(&mut self.newest, (block, slot)).0;
        self.older = Some((replaced.file_units, replaced.log));
        Ok(())
    }

    /// An empty checkpoint: the newest state under the next number over the older superblock.
    pub(super) fn again(&mut self, root: &Root) -> Result<()> {
        self.usable(root)?;
        let mut block = self.superblock().clone();
        block.checkpoint += 1;
        self.write_superblock(root, block)?;
        self.release(root)
    }

    /// Gives back the tail that the checkpoint before left: its free space is stored anew, then both superblocks know
    /// the shorter file.
    pub(super) fn settle(&mut self, root: &Root) -> Result<()> {
        self.again(root)?;
        let file = root.pages.file().clone();
        let mut block = self.superblock().clone();
        block.checkpoint += 1;
        let free = self.space.free().clone();
        let output = Output::new(file, root.pages.budget(), free, block.log.position, false)?;
        self.publish(root, &output, block, Vec::new())?;
        self.again(root)
    }

    /// The newest superblock.
    pub(super) fn found(&self) -> Found {
        Found {
            superblock: self.newest.0.clone(),
            slot: self.newest.1,
            other_damage: None,
        }
    }

    /// Frees what nobody reaches and cuts off what no superblock needs of the file's end.
    pub(super) fn release(&mut self, root: &Root) -> Result<()> {
        let durable = self.superblock().checkpoint;
        self.space.release(durable, &root.pages)?;
        let older = self.older.map_or(0, |(units, _)| units);
        let units = (self.space.trimmed_end())
            .max(self.superblock().file_units)
            .max(older);
        let bytes = units * UNIT_BYTES as u64;
        let file = root.pages.file();
        if file.len()? > bytes {
            file.set_len(bytes)?;
        }
        Ok(())
    }
}
