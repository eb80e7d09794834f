//! Which units of the file a checkpoint may write to, and when those of old pages become free.
//!
//! # How it works
//! What checkpoint N no longer needs was reached by the superblock of N - 1, so it goes to a
//! *batch*. When N + 1 is durable, no superblock reaches the batch. A snapshot of the root of M
//! reaches a page that checkpoint B wrote and N freed if B <= M < N; so a batch holds pages that
//! were written and freed by the same checkpoints. When no such snapshot is left either, the frames
//! of its pages are dropped from the page cache and its units are free.
//!
//! Which pages a checkpoint wrote is remembered for as long as a snapshot of an older root lives.
//! So a snapshot that is held for long keeps the pages of its own state, however many checkpoints
//! come after it, and none of those in between.
//!
//! # Invariants
//! * CK-1: a unit is written only if no valid superblock and no living root reaches it.
//! * CK-2: frames of a page are gone from the page cache before its units are given out again.
//!
//! # Costs
//! 8 bytes a page that waits to be free and, while snapshots of older roots live, a page that was
//! written since and is not freed yet: at most one for every page of the file, however many
//! checkpoints there were. With what is free, charged to the budget as `free space`; where there is
//! no room for that it is charged all the same, for what is durable has to be known.

use crate::Result;
use crate::data_file::FileRoot;
use crate::free_space::{Extent, FreeSpace};
use crate::pages::Pages;
use graven_pagecache::{PageRef, Reservation};
use graven_wal::mutant::{self, Mutant};
use std::collections::BTreeMap;
use std::sync::Weak;

/// What one checkpoint no longer needed of what another had written.
#[derive(Debug)]
struct Batch {
    /// The checkpoint that wrote it; 0 for all of which every older root that lives may know.
    born: u64,
    /// The checkpoint that freed it.
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

    fn units(&self) -> u64 {
        self.extents().map(|extent| extent.units).sum()
    }

    /// Whether one of `roots` reaches it.
    fn is_held(&self, roots: &[u64]) -> bool {
        let reaching = self.born..self.checkpoint;
        roots.iter().any(|root| reaching.contains(root))
    }
}

/// The pages that one checkpoint wrote.
#[derive(Debug)]
struct Written {
    checkpoint: u64,
    /// First units of those that no checkpoint has freed, ascending.
    units: Vec<u64>,
}

/// The space of an open file.
#[derive(Debug)]
pub(crate) struct Space {
    /// Free for the next checkpoint.
    free: FreeSpace,
    /// Ascending by the checkpoint that freed them.
    batches: Vec<Batch>,
    /// Ascending by checkpoint: those that are younger than some root that lives.
    written: Vec<Written>,
    /// Replaced roots that snapshots may hold, with their checkpoints.
    roots: Vec<(u64, Weak<FileRoot>)>,
    reservation: Reservation,
}

impl Space {
    /// As stored by `checkpoint`: what is free, and what is free when the next one is durable.
    /// `reservation` is charged for it.
    pub(crate) fn new(
        free: FreeSpace,
        later: Vec<Extent>,
        checkpoint: u64,
        reservation: Reservation,
    ) -> Space {
        let mut batches = Vec::new();
        if !later.is_empty() {
            batches.push(Batch {
                born: 0,
                checkpoint,
                pages: Vec::new(),
                extents: later,
            });
        }
        let mut space = Space {
            free,
            batches,
            written: Vec::new(),
            roots: Vec::new(),
            reservation,
        };
        space.charge();
        space
    }

    /// Estimated bytes of memory.
    fn memory_bytes(&self) -> u64 {
        let batches = self.batches.iter();
        let batches = batches.map(|it| size_of_val(&it.pages[..]) + size_of_val(&it.extents[..]));
        let written = self.written.iter().map(|by| size_of_val(&by.units[..]));
        self.free.memory_bytes() + batches.chain(written).sum::<usize>() as u64
    }

    /// Brings the charge up to date.
    fn charge(&mut self) {
        let (bytes, charged) = (self.memory_bytes(), self.reservation.bytes());
        self.reservation.shrink(charged.saturating_sub(bytes));
        self.reservation.force_grow(bytes.saturating_sub(charged));
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
        let roots = self.living_roots();
        let waiting = self.batches.iter().filter(|batch| !batch.is_held(&roots));
        waiting.map(Batch::units).sum()
    }

    /// Units that only snapshots of replaced roots hold back.
    pub(crate) fn held_units(&self) -> u64 {
        let roots = self.living_roots();
        let held = self.batches.iter().filter(|batch| batch.is_held(&roots));
        held.map(Batch::units).sum()
    }

    /// Pages whose writers are remembered.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> u64 {
        self.written.iter().map(|by| by.units.len() as u64).sum()
    }

    /// What the file says is free once the checkpoint that allocated from `free` is durable.
    pub(crate) fn stored(&self, free: &FreeSpace) -> FreeSpace {
        let mut stored = free.clone();
        let extents = self.batches.iter().flat_map(Batch::extents);
        extents.for_each(|extent| stored.free(extent));
        stored
    }

    /// `checkpoint` is durable, allocated from `free`, wrote the pages `written` and freed `pages`.
    pub(crate) fn committed(
        &mut self,
        checkpoint: u64,
        free: FreeSpace,
        written: Vec<PageRef>,
        pages: Vec<PageRef>,
    ) {
        self.free = free;
        let mut by_birth: BTreeMap<u64, Vec<PageRef>> = BTreeMap::new();
        for page in pages {
            let mut writers = self.written.iter();
            let born = writers.find(|by| by.units.binary_search(&page.unit()).is_ok());
            let born = born.map_or(0, |by| by.checkpoint);
            by_birth.entry(born).or_default().push(page);
        }
        for by in &mut self.written {
            let Some(freed) = by_birth.get(&by.checkpoint) else {
                continue;
            };
            let mut gone: Vec<u64> = freed.iter().map(|page| page.unit()).collect();
            gone.sort_unstable();
            by.units.retain(|unit| gone.binary_search(unit).is_err());
        }
        for (born, pages) in by_birth {
            self.batches.push(Batch {
                born,
                checkpoint,
                pages,
                extents: Vec::new(),
            });
        }
        let mut units: Vec<u64> = written.iter().map(|page| page.unit()).collect();
        units.sort_unstable();
        self.written.push(Written { checkpoint, units });
        self.charge();
    }

    /// A checkpoint that allocated from `free` and wrote `pages` came to nothing, after some of
    /// them were read: they are free as soon as their frames are gone (CK-2).
    pub(crate) fn abandoned(&mut self, free: FreeSpace, pages: Vec<PageRef>) {
        self.free = free;
        self.batches.insert(
            0,
            Batch {
                born: 0,
                checkpoint: 0,
                pages,
                extents: Vec::new(),
            },
        );
        self.charge();
    }

    /// The root of `checkpoint` was replaced; snapshots may hold it.
    pub(crate) fn replaced(&mut self, checkpoint: u64, root: Weak<FileRoot>) {
        self.roots.push((checkpoint, root));
    }

    /// The replaced roots that snapshots hold.
    fn living_roots(&self) -> Vec<u64> {
        let living = self
            .roots
            .iter()
            .filter(|(_, root)| root.strong_count() > 0);
        living.map(|(number, _)| *number).collect()
    }

    /// Frees the batches that no root reaches now that `durable` is the newest durable checkpoint.
    pub(crate) fn release(&mut self, durable: u64, pages: &Pages) -> Result<()> {
        self.roots.retain(|(_, root)| root.strong_count() > 0);
        let roots = self.living_roots();
        self.written
            .retain(|by| roots.iter().any(|root| *root < by.checkpoint));
        let batches = std::mem::take(&mut self.batches);
        let mut dropped = Ok(());
        for mut batch in batches {
            let reached = batch.checkpoint >= durable || batch.is_held(&roots);
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
                let gone = match dropped {
                    Ok(()) => pages.drop_page(page),
                    // What one could not be asked for waits with all behind it.
                    Err(_) => Ok(false),
                };
                match gone {
                    Ok(true) => self.free.free(Extent::of(page)),
                    Ok(false) => left.push(page),
                    Err(error) => {
                        left.push(page);
                        dropped = Err(error);
                    }
                }
            }
            if !left.is_empty() {
                batch.pages = left;
                self.batches.push(batch);
            }
        }
        self.charge();
        dropped
    }
}
