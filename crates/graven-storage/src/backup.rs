//! Copying an open database to another file, consistent and complete, while it is used.
//!
//! # How it works
//! A checkpoint first puts into the file what was committed. The root that it made is held, so none
//! of its pages is written to while units are copied from front to back, in place; what else is
//! written meanwhile lies in units that this root does not reach, and the copy counts them as free
//! or has them changed under it without harm. The copy gets a free space of its own and both
//! superblocks last, after a sync; then it is opened and checked. It has no log: restoring is
//! opening it.
//!
//! A copy can be *brought up to date* instead ([`Store::backup_since`]), in a duplicate of an
//! earlier backup: every page of the root is looked at in both files, and copied where the headers
//! differ, which hold checksum, LSN and place. So one unit a page is read, and what was written
//! since then is all that is written. A duplicate that differs for other reasons, say because it
//! was opened and changed, is brought to the same state.
//!
//! # Invariants
//! * CK-6: until its superblocks are there the copy cannot be opened.

use crate::bytes::Malformed;
use crate::check::Report;
use crate::checkpoint::CheckpointOptions;
use crate::data_file::FileRoot;
use crate::free_space::{Extent, FreeSpace};
use crate::store::Store;
use crate::superblock::{self, LogPosition, Slot, Superblock};
use crate::until::Until;
use crate::{Error, Result};
use crate::{overflow_pages, sink};
use graven_io::{AlignedBuffer, File};
use graven_pagecache::page::HEADER_BYTES;
use graven_pagecache::{PageCache, PageKind, PageRef, SizeClass, UNIT_BYTES};
use std::sync::Arc;

const CHUNK_BYTES: u64 = 1 << 20;

/// What a backup copied and found.
#[derive(Clone, Debug)]
pub struct BackupReport {
    /// Number of the checkpoint in the copy.
    pub checkpoint: u64,
    /// Length of the copy.
    pub bytes: u64,
    /// Bytes written to it.
    pub written: u64,
    /// The check of the copy.
    pub check: Report,
}

impl Store {
    /// Copies everything committed so far to `out`, which must be empty, and checks the copy
    /// through `cache`.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if `out` has content, or the store may only be read and is not
    /// [`Store::is_merged`]; what a checkpoint, reading and writing give.
    pub fn backup(&self, out: Arc<dyn File>, cache: Arc<PageCache>) -> Result<BackupReport> {
        self.backup_until(out, cache, &Until::DONE)
    }

    /// As [`Store::backup`], as long as it is wanted.
    ///
    /// # Errors
    /// As [`Store::backup`]; [`Error::Stopped`].
    pub fn backup_until(
        &self,
        out: Arc<dyn File>,
        cache: Arc<PageCache>,
        until: &Until,
    ) -> Result<BackupReport> {
        let length = out.len()?;
        if length > 0 {
            return Err(Error::Incomplete {
                store: out.path().display().to_string(),
                what: format!("the file has {length} bytes already; back up to a new one"),
            });
        }
        let source = self.backup_source(until)?;
        let bytes = source.free.end() * UNIT_BYTES as u64;
        copy(&**source.root.pages.file(), &*out, bytes, until)?;
        source.finish(out, cache, bytes, until)
    }

    /// Brings `out`, a duplicate of an earlier backup of this database, up to date and checks it
    /// through `cache`. Until it is done it cannot be opened.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if `out` is no backup of this database; as [`Store::backup_until`].
    pub fn backup_since(
        &self,
        out: Arc<dyn File>,
        cache: Arc<PageCache>,
        until: &Until,
    ) -> Result<BackupReport> {
        let earlier = superblock::read(&*out)?.superblock;
        if earlier.uuid != self.uuid() {
            return Err(Error::Incomplete {
                store: out.path().display().to_string(),
                what: "it is of another database; make a whole backup".to_owned(),
            });
        }
        let source = self.backup_source(until)?;
        let nothing = AlignedBuffer::zeroed(UNIT_BYTES);
        for unit in [0, superblock::SECOND_UNIT] {
            out.write_all_at(&nothing, unit * UNIT_BYTES as u64)?;
        }
        out.sync_data()?;
        let mut update = Update {
            from: &**source.root.pages.file(),
            to: &*out,
            known: out.len()? / UNIT_BYTES as u64,
            buffer: AlignedBuffer::zeroed(SizeClass::STORED_MAX.bytes()),
            earlier: AlignedBuffer::zeroed(UNIT_BYTES),
            written: 0,
        };
        let mut next = 0;
        let end = source.free.end();
        let free: Vec<Extent> = source.free.extents().collect();
        for extent in free.into_iter().chain([Extent {
            unit: end,
            units: 0,
        }]) {
            while next < extent.unit {
                until.check()?;
                next = update.page(next, extent.unit)?;
            }
            next = extent.end();
        }
        let written = update.written;
        out.set_len(end * UNIT_BYTES as u64)?;
        source.finish(out, cache, written, until)
    }

    /// Makes a checkpoint and holds what it wrote.
    pub(crate) fn backup_source(&self, until: &Until) -> Result<Source> {
        match self.read_only() {
            None => {
                let until = until.clone();
                let defaults = CheckpointOptions::default();
                self.checkpoint(CheckpointOptions { until, ..defaults })?;
            }
            // Nothing can be merged into a file that may only be read.
            Some(why) if !self.is_merged() => {
                return Err(Error::Incomplete {
                    store: self.file().path().display().to_string(),
                    what: format!(
                        "its log holds commits that its data file has not, and it may only be read \
                            ({why}): back up a \
                         duplicate of both that may be written to"
                    ),
                });
            }
            Some(_) => {}
        }
        let _no_checkpoint = self.checkpointer().pause_until(until)?;
        let root = self.newest_root();
        let block = self.superblock().superblock;
        let head = block.free_space;
        let bytes = overflow_pages::read(&root.pages, head, PageKind::FreeSpace, |_| ())?;
        let decoded = FreeSpace::decode_both(&bytes, block.file_units);
        let (mut free, later) = root.pages.checked(head, PageKind::FreeSpace, decoded)?;
        later.into_iter().for_each(|extent| free.free(extent));
        let own = overflow_pages::pages_of(&root.pages, head, PageKind::FreeSpace)?;
        for page in own {
            if free.meets(Extent::of(page)) {
                let what = Malformed(format!("its own {page} is free, or in it twice"));
                return root.pages.checked(head, PageKind::FreeSpace, Err(what));
            }
            free.free(Extent::of(page));
        }
        free.trim();
        Ok(Source { root, block, free })
    }
}

/// A state of the database that stays while it is copied.
pub(crate) struct Source {
    root: Arc<FileRoot>,
    block: Superblock,
    /// What is free in the copy.
    free: FreeSpace,
}

impl Source {
    /// Units of its pages, and of what is free between them.
    pub(crate) fn end(&self) -> u64 {
        self.free.end()
    }

    /// What is free between its pages, ascending.
    pub(crate) fn free_extents(&self) -> Vec<Extent> {
        self.free.extents().collect()
    }

    /// Where its pages are.
    pub(crate) fn file(&self) -> &Arc<dyn File> {
        self.root.pages.file()
    }

    /// What holds its pages.
    pub(crate) fn into_root(self) -> Arc<FileRoot> {
        self.root
    }

    /// Writes the copy's free space, then its superblocks; the second of them.
    pub(crate) fn conclude(&mut self, out: &dyn File) -> Result<Superblock> {
        let free_space = sink::append_chain(out, &mut self.free, PageKind::FreeSpace)?;
        out.sync_data()?;
        let mut block = Superblock {
            // Timestamps go on above those of the original.
            log: LogPosition {
                generation: 0,
                clean_end: 0,
                ..self.block.log
            },
            file_units: self.free.end(),
            free_space,
            ..self.block.clone()
        };
        superblock::write(out, Slot::First, &block)?;
        block.checkpoint += 1;
        superblock::write(out, Slot::Second, &block)?;
        out.sync_data()?;
        Ok(block)
    }

    /// Writes free space and superblocks and checks the result.
    fn finish(
        mut self,
        out: Arc<dyn File>,
        cache: Arc<PageCache>,
        written: u64,
        until: &Until,
    ) -> Result<BackupReport> {
        let block = self.conclude(&*out)?;
        let bytes = out.len()?;
        let check = Store::open(out, cache)?.check_until(&|| until.is_over())?;
        Ok(BackupReport {
            checkpoint: block.checkpoint - 1,
            bytes,
            written,
            check,
        })
    }
}

/// A copy that is brought up to date.
struct Update<'a> {
    from: &'a dyn File,
    to: &'a dyn File,
    /// Units that the copy had before.
    known: u64,
    buffer: AlignedBuffer,
    earlier: AlignedBuffer,
    written: u64,
}

impl Update<'_> {
    /// Copies the page at `unit` if it differs; where the next one begins. What is no page is
    /// copied up to `end`: the check of the copy says what is wrong with it.
    fn page(&mut self, unit: u64, end: u64) -> Result<u64> {
        if superblock::is_superblock_unit(unit) {
            return Ok(unit + 1);
        }
        let offset = unit * UNIT_BYTES as u64;
        self.from
            .read_exact_at(&mut self.buffer[..UNIT_BYTES], offset)?;
        let place = u64::from_le_bytes(self.buffer[16..24].try_into().expect("8 bytes"));
        let page = PageRef::from_raw(place).filter(|page| page.unit() == unit);
        let Some(page) = page.filter(|page| unit + page.class().units() <= end) else {
            return self.copy(unit, 1).map(|()| unit + 1);
        };
        let units = page.class().units();
        let same = unit + units <= self.known && {
            self.to.read_exact_at(&mut self.earlier, offset)?;
            self.earlier[..HEADER_BYTES] == self.buffer[..HEADER_BYTES]
        };
        if !same {
            self.copy(unit, units)?;
        }
        Ok(unit + units)
    }

    fn copy(&mut self, unit: u64, units: u64) -> Result<()> {
        let bytes = units as usize * UNIT_BYTES;
        let offset = unit * UNIT_BYTES as u64;
        self.from.read_exact_at(&mut self.buffer[..bytes], offset)?;
        self.to.write_all_at(&self.buffer[..bytes], offset)?;
        self.written += bytes as u64;
        Ok(())
    }
}

/// Copies the first `bytes` bytes but the superblocks; what lies behind the end of `from` is free
/// and stays zero.
fn copy(from: &dyn File, to: &dyn File, bytes: u64, until: &Until) -> Result<()> {
    let mut buffer = AlignedBuffer::zeroed(CHUNK_BYTES as usize);
    let mut offset = 0;
    while offset < bytes {
        until.check()?;
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
