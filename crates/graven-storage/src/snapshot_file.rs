//! A checkpoint as a file of its own, without copying it: what is published to object storage.
//!
//! # How it works
//! As a backup begins, so does this: a checkpoint, whose root is held. Instead of copying its
//! pages, a file reads them where they are. Units that the root does not reach are zeros there,
//! whatever is written to them meanwhile; superblocks and the pages that say what is free are in
//! memory, made as for a backup. So the same root gives the same bytes, and pages that two roots
//! share have the same bytes at the same places in both.
//!
//! # Invariants
//! * OB-12: the bytes of a snapshot file do not change while it exists.

use crate::data_file::FileRoot;
use crate::free_space::Extent;
use crate::store::Store;
use crate::superblock::{self, is_superblock_unit};
use crate::{Error, Result, Until};
use graven_io::{File, IoMode, MemoryFile};
use graven_pagecache::page::{self, HEADER_BYTES};
use graven_pagecache::{PageRef, UNIT_BYTES};
use std::path::Path;
use std::sync::Arc;

const UNIT: u64 = UNIT_BYTES as u64;

/// A checkpoint as a file; it can be read as long as this exists.
#[derive(Debug)]
pub struct SnapshotFile {
    /// Keeps its pages from being used again.
    _root: Arc<FileRoot>,
    base: Arc<dyn File>,
    /// What is zeros, ascending.
    free: Vec<Extent>,
    /// Superblocks, and all behind the body.
    overlay: MemoryFile,
    body: u64,
    length: u64,
    checkpoint: u64,
}

impl Store {
    /// Makes a checkpoint and gives it as a file.
    ///
    /// # Errors
    /// As [`Store::backup_until`].
    pub fn snapshot_file(&self, until: &Until) -> Result<SnapshotFile> {
        let mut source = self.backup_source(until)?;
        let overlay = MemoryFile::new(self.file().path());
        let body = source.end() * UNIT;
        let free = source.free_extents();
        let block = source.conclude(&overlay)?;
        let length = overlay.len()?;
        Ok(SnapshotFile {
            base: source.file().clone(),
            _root: source.into_root(),
            free,
            overlay,
            body,
            length,
            checkpoint: block.checkpoint - 1,
        })
    }
}

impl SnapshotFile {
    /// Bytes that are pages of the data file; what follows is made for the snapshot.
    #[must_use]
    pub fn body(&self) -> u64 {
        self.body
    }

    /// Offset and length of the ranges that are made for the snapshot.
    #[must_use]
    pub fn made(&self) -> Vec<(u64, u64)> {
        let blocks = [0, superblock::SECOND_UNIT].map(|unit| (unit * UNIT, UNIT));
        let tail = (self.body, self.length - self.body);
        blocks
            .into_iter()
            .chain((tail.1 > 0).then_some(tail))
            .collect()
    }

    /// Number of the checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> u64 {
        self.checkpoint
    }

    /// For verifying its pages while the body is read in order.
    #[must_use]
    pub fn page_walk(&self) -> PageWalk<'_> {
        PageWalk {
            file: self,
            unit: 0,
        }
    }

    /// The free extent that holds `unit` or is the next one behind it.
    fn free_from(&self, unit: u64) -> Option<&Extent> {
        let at = self.free.partition_point(|extent| extent.end() <= unit);
        self.free.get(at)
    }
}

impl File for SnapshotFile {
    fn path(&self) -> &Path {
        self.base.path()
    }

    fn len(&self) -> graven_io::Result<u64> {
        Ok(self.length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
        let end = (offset + buf.len() as u64).min(self.length);
        let mut at = offset;
        while at < end {
            let unit = at / UNIT;
            let done = (at - offset) as usize;
            let free = self.free_from(unit);
            let (next, is_free) = match free {
                _ if at >= self.body => (end, false),
                _ if is_superblock_unit(unit) => ((unit + 1) * UNIT, false),
                Some(free) if free.unit <= unit => (free.end() * UNIT, true),
                Some(free) => (free.unit * UNIT, false),
                None => (self.body, false),
            };
            let mut next = next.min(end);
            let second = superblock::SECOND_UNIT * UNIT;
            if at < second {
                let blocks = [UNIT, second];
                let edge = blocks.into_iter().find(|edge| *edge > at);
                next = next.min(edge.unwrap_or(next));
            }
            let part = &mut buf[done..done + (next - at) as usize];
            if is_free {
                part.fill(0);
            } else if at >= self.body || is_superblock_unit(unit) {
                self.overlay.read_exact_at(part, at)?;
            } else {
                self.base.read_exact_at(part, at)?;
            }
            at = next;
        }
        Ok((at.max(offset) - offset) as usize)
    }

    fn sync_data(&self) -> graven_io::Result<()> {
        Ok(())
    }

    fn mode(&self) -> IoMode {
        self.base.mode()
    }

    fn alignment(&self) -> usize {
        1
    }
}

/// Verifies pages of a snapshot file while its bytes pass by in order.
#[derive(Debug)]
pub struct PageWalk<'a> {
    file: &'a SnapshotFile,
    /// Where the next page begins.
    unit: u64,
}

impl PageWalk<'_> {
    /// Verifies the pages that begin in `bytes`, which lie at `offset` of the body.
    ///
    /// # Errors
    /// [`Error::Damaged`] for what is no page, or not as it was written; [`Error::Io`] where the
    /// end of a page cannot be read.
    ///
    /// # Panics
    /// Where `bytes` are not whole units.
    pub fn pass(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = offset + bytes.len() as u64;
        loop {
            if is_superblock_unit(self.unit) {
                self.unit += 1;
                continue;
            }
            if let Some(free) = self.file.free_from(self.unit)
                && free.unit <= self.unit
            {
                self.unit = free.end();
                continue;
            }
            let start = self.unit * UNIT;
            if start >= end {
                return Ok(());
            }
            let here = &bytes[(start - offset) as usize..];
            let reference = here.get(16..24).expect("units are whole");
            let place = u64::from_le_bytes(reference.try_into().expect("8 bytes"));
            let page = PageRef::from_raw(place).filter(|page| page.unit() == self.unit);
            let Some(page) = page else {
                return Err(self.damaged("it is no page".to_owned()));
            };
            let checked = match here.get(..page.len_bytes()) {
                Some(whole) => page::verify(whole, page, None),
                None => {
                    let mut whole = vec![0; page.len_bytes()];
                    self.file.read_exact_at(&mut whole, start)?;
                    page::verify(&whole, page, None)
                }
            };
            checked.map_err(|damage| self.damaged(damage.to_string()))?;
            self.unit = page.end_unit();
        }
    }

    fn damaged(&self, what: String) -> Error {
        Error::Damaged {
            path: self.file.path().to_path_buf(),
            page: PageRef::new(graven_pagecache::SizeClass::MIN, self.unit),
            kind: "unknown",
            what,
        }
    }
}

const _: () = assert!(HEADER_BYTES >= 24);
