//! Making a checkpoint durable: free space, sync, superblock, sync; and what both superblocks hold.
//!
//! # How it works
//! The free space is stored after everything else found its place, so its own pages are taken
//! first, with a little more room than its bytes need: taking them changes its extents.

use super::output::{Output, Pace};
use super::space::Space;
use crate::data_file::FileRoot;
use crate::free_space::{Extent, FreeSpace};
use crate::overflow_pages;
use crate::superblock::{self, Found, LogPosition, Superblock};
use crate::{Error, Result};
use graven_pagecache::{PageKind, PageRef, UNIT_BYTES};
use parking_lot::Mutex;
use std::sync::Arc;

/// The durable state of an open file.
#[derive(Debug)]
pub(crate) struct CurrentCheckpoint {
    /// The newest superblock, shared with the store, which notes the log in it.
    found: Arc<Mutex<Found>>,
    /// Of the other superblock: length of the file and log position, if it is intact.
    older: Option<(u64, LogPosition)>,
    pub(super) space: Space,
    /// Why there are no more checkpoints.
    stopped: Option<String>,
}

/// A new state in the file, which no superblock names yet.
#[derive(Debug)]
pub(super) struct Prepared {
    block: Superblock,
    /// What it leaves free.
    free: FreeSpace,
    freed: Vec<PageRef>,
}

impl CurrentCheckpoint {
    /// The state, read from the file if this is the first use.
    pub(super) fn load<'s>(
        state: &'s mut Option<CurrentCheckpoint>,
        found: &Arc<Mutex<Found>>,
        root: &FileRoot,
    ) -> Result<&'s mut CurrentCheckpoint> {
        if state.is_none() {
            let newest = found.lock().clone();
            let block = &newest.superblock;
            let head = block.free_space;
            let read = overflow_pages::read(&root.pages, head, PageKind::FreeSpace, |_| ());
            let read = read.and_then(|bytes| {
                let decoded = FreeSpace::decode_both(&bytes, block.file_units);
                root.pages.checked(head, PageKind::FreeSpace, decoded)
            });
            let (free, later) = match read {
                // It is unknown what is free, so nothing is: the file grows, and nothing in use is
                // written over.
                Err(error) if error.is_damage() => (FreeSpace::new(block.file_units), Vec::new()),
                read => read?,
            };
            let older = superblock::read_other(&**root.pages.file(), newest.slot)?;
            *state = Some(CurrentCheckpoint {
                space: Space::new(
                    free,
                    later,
                    block.checkpoint,
                    root.pages.budget().empty_reservation("free space"),
                ),
                found: found.clone(),
                older: older.map(|older| (older.file_units, older.log)),
                stopped: None,
            });
        }
        Ok(state.as_mut().expect("just set"))
    }

    pub(super) fn superblock(&self) -> Superblock {
        self.found.lock().superblock.clone()
    }

    /// The log position from which either superblock recovers.
    pub(super) fn log_needed_from(&self) -> LogPosition {
        let newest = self.superblock().log;
        match self.older {
            Some((_, older)) if older.generation == newest.generation => LogPosition {
                position: older.position.min(newest.position),
                ..newest
            },
            _ => newest,
        }
    }

    /// CK-5.
    pub(super) fn usable(&self, root: &FileRoot) -> Result<()> {
        match &self.stopped {
            None => Ok(()),
            Some(why) => Err(Error::CheckpointsStopped {
                path: root.pages.path().to_path_buf(),
                why: why.clone(),
            }),
        }
    }

    fn stop(&mut self, error: &Error) {
        self.stopped = Some(error.to_string());
    }

    /// Writes the free space and all that is gathered, so that nothing but the superblock is
    /// missing for what `output` got and `block` describes to be the newest state; `freed` is not
    /// part of it.
    pub(super) fn prepare(
        &mut self,
        root: &FileRoot,
        output: &Output,
        mut block: Superblock,
        mut freed: Vec<PageRef>,
    ) -> Result<Prepared> {
        let head = self.superblock().free_space;
        match overflow_pages::pages_of(&root.pages, head, PageKind::FreeSpace) {
            // What cannot be read is not given out again either.
            Err(error) if error.is_damage() => {}
            pages => freed.extend(pages?),
        }
        self.check_freed(root, &freed)?;
        let later = freed.iter().map(|page| Extent::of(*page));
        let later: Vec<Extent> = later.collect();
        let room = self.encoded(&mut output.space(), &later).1.len() + 64;
        let pages = overflow_pages::reserve(output, room)?;
        let mut free = output.space();
        free.trim();
        let (file_units, bytes) = self.encoded(&mut free, &later);
        block.free_space = overflow_pages::write_to(output, &pages, PageKind::FreeSpace, &bytes)?;
        block.file_units = file_units;
        output.finish()?;
        Ok(Prepared { block, free, freed })
    }

    /// Makes sure that pages which are no longer needed were in use, each once: a file whose tables
    /// contradict each other is not written to.
    fn check_freed(&self, root: &FileRoot, freed: &[PageRef]) -> Result<()> {
        let mut free = self.space.stored(self.space.free());
        for page in freed {
            let extent = Extent::of(*page);
            if free.meets(extent) {
                return Err(Error::Inconsistent {
                    path: root.pages.path().to_path_buf(),
                    store: "free space".to_owned(),
                    what: format!(
                        "the {page} is in use twice, or free and in use; run graven check, and \
                            salvage a copy"
                    ),
                });
            }
            free.free(extent);
        }
        Ok(())
    }

    /// The root of what is prepared. It is read before the superblock names it: what fails here, as
    /// for want of memory, only ends the checkpoint.
    pub(super) fn prepared_root(
        &mut self,
        root: &FileRoot,
        output: &Output,
        prepared: &Prepared,
    ) -> Result<FileRoot> {
        let newest = self.found();
        let found = Found {
            superblock: Superblock {
                checkpoint: newest.superblock.checkpoint + 1,
                ..prepared.block.clone()
            },
            slot: newest.slot.other(),
            other_damage: None,
        };
        let durable = newest.superblock.checkpoint;
        FileRoot::open(root.pages.clone(), found).inspect_err(|_| {
            self.space.abandoned(output.space(), output.pages_written());
            // What cannot be dropped now is dropped with what the next checkpoint frees.
            let _ = self.space.release(durable, &root.pages);
        })
    }

    /// Makes what is prepared the newest state.
    pub(super) fn publish(
        &mut self,
        root: &FileRoot,
        output: &Output,
        prepared: Prepared,
    ) -> Result<()> {
        let Prepared {
            mut block,
            free,
            freed,
        } = prepared;
        let file = root.pages.file();
        let synced = file.sync_data().map_err(Error::from);
        synced.inspect_err(|error| self.stop(error))?;
        let checkpoint = self.write_superblock(root, |newest| {
            // Which log there is, and where it was closed, is what the store said last: a first
            // commit may have come meanwhile.
            block.log.generation = newest.log.generation;
            block.log.clean_end = newest.log.clean_end;
            block.log.position = block.log.position.max(newest.log.position);
            block
        })?;
        self.space
            .committed(checkpoint, free, output.pages_written(), freed);
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

    /// CK-4, CK-5. Gives the number of the checkpoint.
    fn write_superblock(
        &mut self,
        root: &FileRoot,
        make: impl FnOnce(&Superblock) -> Superblock,
    ) -> Result<u64> {
        let shared = self.found.clone();
        let mut found = shared.lock();
        let slot = found.slot.other();
        let block = Superblock {
            checkpoint: found.superblock.checkpoint + 1,
            ..make(&found.superblock)
        };
        let file = root.pages.file();
        let written = superblock::write(&**file, slot, &block)
            .and_then(|()| file.sync_data().map_err(Error::from));
        written.inspect_err(|error| self.stop(error))?;
        let number = block.checkpoint;
        self.older = Some((found.superblock.file_units, found.superblock.log));
        *found = Found {
            superblock: block,
            slot,
            other_damage: None,
        };
        Ok(number)
    }

    /// An empty checkpoint: the newest state under the next number over the older superblock.
    pub(super) fn again(&mut self, root: &FileRoot) -> Result<()> {
        self.usable(root)?;
        self.write_superblock(root, Superblock::clone)?;
        self.release(root)
    }

    /// Gives back the tail that the checkpoint before left: its free space is stored anew, then
    /// both superblocks know the shorter file.
    pub(super) fn settle(&mut self, root: &FileRoot) -> Result<()> {
        self.again(root)?;
        let file = root.pages.file().clone();
        let block = self.superblock();
        let free = self.space.free().clone();
        let output = Output::new(
            file,
            root.pages.budget(),
            free,
            block.log.position,
            Pace::default(),
            1,
        )?;
        let prepared = self.prepare(root, &output, block, Vec::new())?;
        self.publish(root, &output, prepared)?;
        self.again(root)
    }

    /// The newest superblock and where it is.
    pub(super) fn found(&self) -> Found {
        self.found.lock().clone()
    }

    /// Frees what no root reaches and cuts off what no superblock needs of the file's end.
    pub(super) fn release(&mut self, root: &FileRoot) -> Result<()> {
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
