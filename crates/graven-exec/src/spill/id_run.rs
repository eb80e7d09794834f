//! Ascending ids in temporary pages, read part by part or asked for one of them.
//!
//! # How it works
//! Ids are written as they are, 8 bytes each, a page after the other; of each page the first id is
//! kept, so that one id is looked for in one page. Few ids take no page.

use graven_pagecache::{SizeClass, TemporaryPage, TemporaryPages};

use super::spill_error;
use crate::error::Result;

/// So many ids are kept as they are.
const FEW: usize = 64;
const ID_BYTES: usize = size_of::<u64>();

/// Writes ids; see the file header.
pub(crate) struct IdWriter {
    pages: TemporaryPages,
    class: SizeClass,
    operator: &'static str,
    waiting: Vec<u64>,
    full: Vec<TemporaryPage>,
    firsts: Vec<u64>,
    len: usize,
}

/// Ids that have been written.
pub(crate) struct IdRun {
    pages: Vec<TemporaryPage>,
    firsts: Vec<u64>,
    /// All of them where there are no pages.
    few: Vec<u64>,
    len: usize,
    operator: &'static str,
}

impl IdWriter {
    pub(super) fn new(pages: TemporaryPages, class: SizeClass, operator: &'static str) -> Self {
        Self {
            pages,
            class,
            operator,
            waiting: Vec::new(),
            full: Vec::new(),
            firsts: Vec::new(),
            len: 0,
        }
    }

    /// Appends an id that is larger than those before.
    pub(crate) fn push(&mut self, id: u64) -> Result<()> {
        self.waiting.push(id);
        self.len += 1;
        match (self.waiting.len() + 1) * ID_BYTES > self.class.payload_bytes() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Hands the waiting ids over, in a page no larger than they need.
    fn flush(&mut self) -> Result<()> {
        let Some(first) = self.waiting.first() else {
            return Ok(());
        };
        let bytes = self.waiting.len() * ID_BYTES;
        let class = SizeClass::for_payload_bytes(bytes).unwrap_or(self.class);
        let page = self.pages.allocate(class);
        let mut page = page.map_err(|e| spill_error(self.operator, e))?;
        for (place, id) in page.chunks_exact_mut(ID_BYTES).zip(&self.waiting) {
            place.copy_from_slice(&id.to_le_bytes());
        }
        self.firsts.push(*first);
        self.full.push(page.finish(bytes));
        self.waiting.clear();
        Ok(())
    }

    /// The ids written.
    pub(crate) fn finish(mut self) -> Result<IdRun> {
        if !self.full.is_empty() || self.waiting.len() > FEW {
            self.flush()?;
        }
        Ok(IdRun {
            pages: self.full,
            firsts: self.firsts,
            few: self.waiting,
            len: self.len,
            operator: self.operator,
        })
    }
}

impl IdRun {
    /// Ids in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes it takes in memory.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.pages.len() * (size_of::<TemporaryPage>() + ID_BYTES) + self.few.len() * ID_BYTES
    }

    /// Parts that can be read.
    pub(crate) fn parts(&self) -> usize {
        self.pages.len() + usize::from(!self.few.is_empty())
    }

    /// Reads one part in place of what `ids` holds.
    pub(crate) fn read(&self, part: usize, ids: &mut Vec<u64>) -> Result<()> {
        ids.clear();
        let Some(page) = self.pages.get(part) else {
            ids.extend_from_slice(&self.few);
            return Ok(());
        };
        let bytes = page.pin().map_err(|e| spill_error(self.operator, e))?;
        ids.extend(bytes.as_chunks().0.iter().map(|id| u64::from_le_bytes(*id)));
        Ok(())
    }

    /// Whether the id is in it.
    pub(crate) fn contains(&self, id: u64) -> Result<bool> {
        if self.pages.is_empty() {
            return Ok(self.few.binary_search(&id).is_ok());
        }
        let Some(part) = self
            .firsts
            .partition_point(|first| *first <= id)
            .checked_sub(1)
        else {
            return Ok(false);
        };
        let bytes = self.pages[part].pin();
        let bytes = bytes.map_err(|e| spill_error(self.operator, e))?;
        let ids = bytes.as_chunks().0;
        Ok(ids
            .binary_search_by_key(&id, |id| u64::from_le_bytes(*id))
            .is_ok())
    }
}
