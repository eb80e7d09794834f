//! The store by Graven's means: pages in the process's own memory, written when we say so.
//!
//! # How it works
//! Pages of 4 KiB are read directly, before the run if the store fits into half of the memory, and
//! kept in a map up to the given memory. Changed pages stay until they fill half of it, or until a
//! checkpoint is asked for: then all of them are written directly, in ascending order, and synced.
//! Unchanged pages leave in the order of their numbers, which is good enough for a measurement of
//! writes. This is not the page cache itself: a store of Graven is never written in place.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use graven_io::{AlignedBuffer, File, IoMode, OpenOptions};

use super::Store;
use crate::LabError;

const PAGE_BYTES: usize = 4096;

struct Page {
    bytes: AlignedBuffer,
    changed: bool,
}

pub(super) struct DeferredStore {
    file: Arc<dyn File>,
    bytes: u64,
    pages: BTreeMap<u64, Page>,
    changed: usize,
    pages_max: usize,
    flushes: u64,
    pages_written: u64,
}

impl DeferredStore {
    pub(super) fn open(path: &Path, memory_bytes: u64) -> Result<DeferredStore, LabError> {
        let options = OpenOptions {
            mode: IoMode::Direct,
            ..OpenOptions::default()
        };
        let file = graven_io::open(path, &options).map_err(LabError::from)?;
        // Whole pages only: the rest could not be written directly.
        let bytes = file.len().map_err(LabError::from)? / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        let mut store = DeferredStore {
            file,
            bytes,
            pages: BTreeMap::new(),
            changed: 0,
            pages_max: (memory_bytes as usize / PAGE_BYTES).max(16),
            flushes: 0,
            pages_written: 0,
        };
        // The guide reads its store until it is cached; so is ours, where it fits with room for
        // changes.
        let pages = bytes / PAGE_BYTES as u64;
        if pages as usize <= store.pages_max / 2 {
            for number in 0..pages {
                store.page(number)?;
            }
        }
        Ok(store)
    }

    fn page(&mut self, number: u64) -> Result<&mut Page, LabError> {
        if !self.pages.contains_key(&number) {
            if self.changed > self.pages_max / 2 {
                self.flush()?;
            }
            while self.pages.len() >= self.pages_max {
                let victim = self.pages.iter().find(|(_, page)| !page.changed);
                let Some(victim) = victim.map(|(&number, _)| number) else {
                    self.flush()?;
                    continue;
                };
                self.pages.remove(&victim);
            }
            let mut bytes = AlignedBuffer::zeroed(PAGE_BYTES);
            self.file
                .read_exact_at(&mut bytes, number * PAGE_BYTES as u64)
                .map_err(LabError::from)?;
            let page = Page {
                bytes,
                changed: false,
            };
            self.pages.insert(number, page);
        }
        Ok(self.pages.get_mut(&number).expect("just read"))
    }

    fn flush(&mut self) -> Result<(), LabError> {
        for (number, page) in &mut self.pages {
            if page.changed {
                self.file
                    .write_all_at(&page.bytes, number * PAGE_BYTES as u64)
                    .map_err(LabError::from)?;
                page.changed = false;
                self.pages_written += 1;
            }
        }
        self.file.sync_data().map_err(LabError::from)?;
        self.flushes += 1;
        self.changed = 0;
        Ok(())
    }

    /// Calls `visit` with the page, the place in it and the part of the record that lies there.
    fn parts(
        offset: u64,
        length: usize,
    ) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == length {
                return None;
            }
            let at = offset + done as u64;
            let (number, place) = (at / PAGE_BYTES as u64, at as usize % PAGE_BYTES);
            let count = (PAGE_BYTES - place).min(length - done);
            let part = done..done + count;
            done += count;
            Some((number, place, part))
        })
    }
}

impl Store for DeferredStore {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, offset: u64, record: &mut [u8]) -> Result<(), LabError> {
        for (number, place, part) in Self::parts(offset, record.len()) {
            let page = self.page(number)?;
            let count = part.len();
            record[part].copy_from_slice(&page.bytes[place..place + count]);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, record: &[u8]) -> Result<(), LabError> {
        for (number, place, part) in Self::parts(offset, record.len()) {
            let page = self.page(number)?;
            page.bytes[place..place + part.len()].copy_from_slice(&record[part]);
            let newly = !std::mem::replace(&mut page.changed, true);
            self.changed += usize::from(newly);
        }
        Ok(())
    }

    fn finish(&mut self, write_back: bool) -> Result<(), LabError> {
        if write_back {
            self.flush()?;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!(
            "Graven's own I/O layer ({} reads and writes, not the page cache: a store is never \
                written in place): \
             {} pages written in {} ordered passes, {} changed pages wait for a checkpoint, their \
             changes in the log; log by graven-wal",
            self.file.mode(),
            self.pages_written,
            self.flushes,
            self.changed
        )
    }
}
