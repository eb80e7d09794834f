//! Which units of the file a checkpoint may write to, and when those of old pages become free.
//!
//! # How it works
//! What checkpoint N no longer needs was reached by the superblock of N - 1, so it goes to a *batch*. When N + 1 is
//! durable, no superblock reaches the batch; when no snapshot of a root older than N is left, nobody does: then the
//! frames of its pages are dropped from the page cache and its units are free.
//!
//! # Invariants
//! * CK-1: a unit is written only if no valid superblock and no living root reaches it.
//! * CK-2: frames of a page are gone from the page cache before its units are given out again.

use crate::Result;
use crate::free_space::{Extent, FreeSpace};
use crate::pages::Pages;
use crate::store::Root;
use graven_log::mutant::{self, Mutant};
use graven_pagecache::PageRef;
use std::sync::Weak;

/// What one checkpoint no longer needed.
#[derive(Debug)]
struct Batch {
    checkpoint: u64,
    /// Pages that may be in the page cache.
    pages: Vec<PageRef>,
    /// What an earlier process freed.
    extents: Vec<Extent>,
}

impl Batch {
    fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        let pages = self.pages.iter().map(|page| Extent::of(*page));
        self.extents.iter().copied().chain(pages)
    }
}

/// The space of an open file.
#[derive(Debug)]
pub(crate) struct Space {
    /// Free for the next checkpoint.
    free: FreeSpace,
    /// Ascending by checkpoint.
    batches: Vec<Batch>,
    /// Replaced roots that snapshots may hold, with their checkpoints.
    roots: Vec<(u64, Weak<Root>)>,
}

impl Space {
    /// As stored by `checkpoint`: what is free, and what is free when the next one is durable.
    pub(crate) fn new(free: FreeSpace, later: Vec<Extent>, checkpoint: u64) -> Space {
        let mut batches = Vec::new();
        if !later.is_empty() {
            batches.push(Batch {
                checkpoint,
                pages: Vec::new(),
                extents: later,
            });
        }
        Space {
            free,
            batches,
            roots: Vec::new(),
        }
    }

    /// A copy to allocate from.
    pub(crate) fn free(&self) -> &FreeSpace {
        &self.free
    }

    /// Where the file could end for all that is free.
    pub(crate) fn trimmed_end(&mut self) -> u64 {
        self.free.trim();
        self.free.end()
    }

    /// Units that the next durable checkpoint makes free, unless snapshots hold them.
    pub(crate) fn waiting_units(&self) -> u64 {
        let oldest = self.oldest_root();
        let waiting = self
            .batches
            .iter()
            .filter(|batch| batch.checkpoint <= oldest);
        waiting
            .flat_map(Batch::extents)
            .map(|extent| extent.units)
            .sum()
    }

    /// Units that only snapshots of replaced roots hold back.
    pub(crate) fn held_units(&self) -> u64 {
        let oldest = self.oldest_root();
        let held = self
            .batches
            .iter()
            .filter(|batch| batch.checkpoint > oldest);
        held.flat_map(Batch::extents)
            .map(|extent| extent.units)
            .sum()
    }

    /// What the file says is free once the checkpoint that allocated from `free` is durable.
    pub(crate) fn stored(&self, free: &FreeSpace) -> FreeSpace {
        let mut stored = free.clone();
        let extents = self.batches.iter().flat_map(Batch::extents);
        extents.for_each(|extent| stored.free(extent));
        stored
    }

    /// `checkpoint` is durable, allocated from `free` and freed `pages`.
    pub(crate) fn committed(&mut self, checkpoint: u64, free: FreeSpace, pages: Vec<PageRef>) {
        self.free = free;
        if !pages.is_empty() {
            self.batches.push(Batch {
                checkpoint,
                pages,
                extents: Vec::new(),
            });
        }
    }

    /// The root of `checkpoint` was replaced; snapshots may hold it.
    pub(crate) fn replaced(&mut self, checkpoint: u64, root: Weak<Root>) {
        self.roots.push((checkpoint, root));
    }

    /// The oldest replaced root that a snapshot holds; the largest number if there is none.
    fn oldest_root(&self) -> u64 {
        let living = self
            .roots
            .iter()
            .filter(|(_, root)| root.strong_count() > 0);
        living.map(|(number, _)| *number).min().unwrap_or(u64::MAX)
    }

    /// Frees the batches that nobody reaches now that `durable` is the newest durable checkpoint.
    pub(crate) fn release(&mut self, durable: u64, pages: &Pages) -> Result<()> {
        let oldest = self.oldest_root();
        self.roots.retain(|(_, root)| root.strong_count() > 0);
        let batches = std::mem::take(&mut self.batches);
        for mut batch in batches {
            // A root older than N reaches what N freed.
            let reached = batch.checkpoint >= durable || batch.checkpoint > oldest;
            if reached && !mutant::active(Mutant::EarlyPageReuse) {
                self.batches.push(batch);
                continue;
            }
            batch
                .extents
                .drain(..)
                .for_each(|extent| self.free.free(extent));
            let mut left = Vec::new();
            for page in batch.pages.drain(..) {
                if pages.drop_page(page)? {
                    self.free.free(Extent::of(page));
                } else {
                    left.push(page);
                }
            }
            if !left.is_empty() {
                batch.pages = left;
                self.batches.push(batch);
            }
        }
        Ok(())
    }
}
