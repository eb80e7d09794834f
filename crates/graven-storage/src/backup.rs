//! Copying an open database to another file, consistent and complete, while it is used.
//!
//! # How it works
//! A checkpoint first puts into the file what was committed. The root that it made is held, so none of its pages is
//! written to while units are copied from front to back, in place; what else is written meanwhile lies in units that
//! this root does not reach, and the copy counts them as free or has them changed under it without harm. The copy
//! gets a free space of its own and both superblocks last, after a sync; then it is opened and checked. It has no log:
//! restoring is opening it.
//!
//! # Invariants
//! * CK-6: until its superblocks are there the copy cannot be opened.

use crate::check::Report;
use crate::checkpoint::CheckpointOptions;
use crate::free_space::{Extent, FreeSpace};
use crate::store::Store;
use crate::superblock::{self, LogPosition, Slot, Superblock};
use crate::{Error, Result};
use crate::{chain, sink};
use graven_io::{AlignedBuffer, File};
use graven_pagecache::{PageCache, PageKind, UNIT_BYTES};
use std::sync::Arc;

const CHUNK_BYTES: u64 = 1 << 20;

/// What a backup copied and found.
#[derive(Clone, Debug)]
pub struct BackupReport {
    /// Number of the checkpoint in the copy.
    pub checkpoint: u64,
    /// Length of the copy.
    pub bytes: u64,
    /// The check of the copy.
    pub check: Report,
}

impl Store {
    /// Copies everything committed so far to `out`, which must be empty, and checks the copy through `cache`.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if `out` has content; what a checkpoint, reading and writing give.
    pub fn backup(&self, out: Arc<dyn File>, cache: Arc<PageCache>) -> Result<BackupReport> {
        let length = out.len()?;
        if length > 0 {
            return Err(Error::Incomplete {
                store: out.path().display().to_string(),
                what: format!("the file has {length} bytes already; back up to a new one"),
            });
        }
        if self.read_only().is_none() {
            self.checkpoint(CheckpointOptions::default())?;
        }
        let (root, block, mut free) = {
            let _no_checkpoint = self.checkpointer().pause();
            let root = self.newest_root();
            let block = self.superblock().superblock;
            let head = block.free_space;
            let bytes = chain::read(&root.pages, head, PageKind::FreeSpace, |_| ())?;
            let decoded = FreeSpace::decode_both(&bytes, block.file_units);
            let (mut free, later) = root.pages.checked(head, PageKind::FreeSpace, decoded)?;
            later.into_iter().for_each(|extent| free.free(extent));
            let own = chain::pages_of(&root.pages, head, PageKind::FreeSpace)?;
            own.into_iter().for_each(|page| free.free(Extent::of(page)));
            (root, block, free)
        };
        free.trim();
        let end = free.end();
        copy(&**self.file(), &*out, end * UNIT_BYTES as u64)?;
        drop(root);
        let free_space = sink::append_chain(&*out, &mut free, PageKind::FreeSpace)?;
        out.sync_data()?;
        let mut block = Superblock {
            // Timestamps go on above those of the original.
            log: LogPosition {
                generation: 0,
                clean_end: 0,
                ..block.log
            },
            file_units: free.end(),
            free_space,
            ..block
        };
        superblock::write(&*out, Slot::First, &block)?;
        block.checkpoint += 1;
        superblock::write(&*out, Slot::Second, &block)?;
        out.sync_data()?;
        let bytes = out.len()?;
        let check = Store::open(out, cache)?.check()?;
        Ok(BackupReport {
            checkpoint: block.checkpoint - 1,
            bytes,
            check,
        })
    }
}

/// Copies the first `bytes` bytes but the superblocks; what lies behind the end of `from` is free and stays zero.
fn copy(from: &dyn File, to: &dyn File, bytes: u64) -> Result<()> {
    let mut buffer = AlignedBuffer::zeroed(CHUNK_BYTES as usize);
    let mut offset = 0;
    while offset < bytes {
        let wanted = CHUNK_BYTES.min(bytes - offset) as usize;
        let chunk = &mut buffer[..wanted];
        let got = from.read_at(chunk, offset)?;
        chunk[got..].fill(0);
        for unit in [0, superblock::SECOND_UNIT] {
            let at = unit * UNIT_BYTES as u64;
            if (offset..offset + wanted as u64).contains(&at) {
                let at = (at - offset) as usize;
                chunk[at..at + UNIT_BYTES].fill(0);
            }
        }
        to.write_all_at(chunk, offset)?;
        offset += wanted as u64;
    }
    Ok(())
}
