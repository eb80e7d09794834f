//! Checkpoints: merging committed changes into the file beside running readers and writers.
//!
//! # How it works
//! ```text
//! labels -> node columns -> adjacencies -> relationship columns -> indexes      only touched segments, to free units
//!   -> catalogue -> segment directory -> free space                             whole
//!   -> the new root is read                                                     what is left cannot lack memory
//!   -> sync -> the older superblock -> sync                                     now it is durable
//!   -> new root for snapshots -> release what no root reaches -> cut the file
//! ```
//! Readers keep their root; writers go on in the next generation of changes. Nothing that a valid
//! superblock or a living snapshot reaches is written to, so a crash at any moment leaves the state
//! before or after.
//!
//! Where what the older superblock holds back is much, a checkpoint begins with an *empty* one: the
//! newest superblock is written over the older one with the next number. After a checkpoint that
//! left much of the file free, its tail is moved down by a checkpoint without changes, and an empty
//! one makes the units free.
//!
//! # Invariants
//! * CK-1, CK-2: `space.rs`. CK-3: `lists.rs`.
//! * CK-4: a superblock is written after everything it reaches is durable, over the older one of
//!   the two.
//! * CK-5: when a sync or the write of a superblock fails, it is unknown what is durable. Then
//!   there are no more checkpoints until the file is opened again, and the log is not cut. A failed
//!   write of a page only ends its checkpoint, as does any lack of memory: all steps that may lack
//!   it come before the sync.
//!
//! # Concurrency
//! One checkpoint at a time, under a mutex; readers and writers never wait for it. While it makes
//! no pauses, several threads merge its stores (`stores.rs`).
//!
//! # Costs
//! Writes the touched segments, the touched leaves of indexes and about 32 bytes a segment of the
//! file. Memory: 64 to 256 KiB of buffer, 24 bytes a segment of the stores being merged and of
//! those that changed, label runs, 8 bytes a page freed or written; charged to the budget as
//! `checkpoint`.

pub(crate) mod activity;
pub mod changes;
mod columns;
mod compaction;
mod index_tree;
mod label_runs;
mod lists;
mod merge;
pub(crate) use compaction::page_kind;
mod no_changes;
mod output;
mod patterns;
mod publish;
mod relationships;
mod space;
mod store;
mod stores;

#[cfg(test)]
mod tests;

use crate::Result;
use crate::catalog::{Catalog, StoreKind, Stores};
use crate::data_file::FileRoot;
use crate::delta::work_sharing::{Demand, Waiter};
use crate::directory::{Directory, DirectoryBuilder};
use crate::overflow_pages::{self, Footprint};
use crate::superblock::{Found, LogPosition, Superblock};
use crate::until::Until;
use activity::Activity;
use changes::Changes;
use graven_pagecache::{PageKind, PageRef};
use merge::{CheckpointMerge, StoreChanges, StoreMerge};
use no_changes::NoChanges;
pub(crate) use output::{Output, Pace};
use parking_lot::{Mutex, MutexGuard};
use publish::CurrentCheckpoint;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What the older superblock alone holds back is released first where it is more than this part of
/// the file.
const WAITING_SHARE: u64 = 8;
/// The tail is moved down where more than this part of the file is free.
const FREE_SHARE: u64 = 8;
/// Files of fewer units are left as they are.
const SMALL_FILE_UNITS: u64 = 64;
/// How often what waits for a checkpoint looks whether it is still to wait.
const LOOK: Duration = Duration::from_millis(20);

/// How a checkpoint goes about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckpointOptions {
    /// Pause between bursts of writing.
    pub paced: bool,
    /// Move the tail of the file down if much of it is free.
    pub compact: bool,
    /// When it is given up, as if it had failed to write a page, if it has more to write then.
    pub until: Until,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        CheckpointOptions {
            paced: true,
            compact: true,
            until: Until::DONE,
        }
    }
}

/// What a checkpoint did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckpointReport {
    /// Its number.
    pub checkpoint: u64,
    /// Bytes of pages written.
    pub written_bytes: u64,
    /// Bytes of pages no longer needed.
    pub freed_bytes: u64,
    /// Length of the file afterwards.
    pub file_bytes: u64,
    /// Bytes that only snapshots of older roots hold back.
    pub held_bytes: u64,
}

/// Makes the checkpoints of one open file.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    /// The newest superblock.
    found: Arc<Mutex<Found>>,
    state: Mutex<Option<CurrentCheckpoint>>,
    /// Held from the freezing of changes to the cut of the log.
    running: Mutex<()>,
    activity: Activity,
    /// Threads that wait for it.
    demand: Arc<Demand>,
}

impl Checkpointer {
    pub(crate) fn new(found: Arc<Mutex<Found>>) -> Checkpointer {
        Checkpointer {
            found,
            state: Mutex::default(),
            running: Mutex::default(),
            activity: Activity::default(),
            demand: Arc::default(),
        }
    }

    /// When the newest checkpoint worked.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Waits for the checkpoint under way; none begins while the result lives.
    pub(crate) fn pause(&self) -> MutexGuard<'_, ()> {
        self.running.lock()
    }

    /// As [`Checkpointer::pause`], as long as that is wanted.
    pub(crate) fn pause_until(&self, until: &Until) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(paused) = self.running.try_lock_for(LOOK) {
                return Ok(paused);
            }
            until.check()?;
        }
    }

    /// As [`Checkpointer::pause`], but nothing where it would wait.
    pub(crate) fn pause_if_idle(&self) -> Option<MutexGuard<'_, ()>> {
        self.running.try_lock()
    }

    /// Registers a thread that waits for a checkpoint from now on: it makes no pauses until the
    /// result is dropped.
    pub(crate) fn unpaced(&self) -> Waiter<'_> {
        self.demand.wait()
    }

    /// Whether a thread waits.
    #[cfg(test)]
    pub(crate) fn is_awaited(&self) -> bool {
        self.demand.is_any()
    }

    /// Pages whose writers are remembered.
    #[cfg(test)]
    fn remembered(&self, root: &FileRoot) -> u64 {
        let mut state = self.state.lock();
        let published =
            CurrentCheckpoint::load(&mut state, &self.found, root).expect("loaded already");
        published.space.remembered()
    }

    fn pace(&self, options: &CheckpointOptions) -> Pace {
        Pace {
            paced: options.paced,
            until: options.until.clone(),
            demand: self.demand.clone(),
        }
    }

    /// Merges `changes` into `root`, the newest one; the new root is durable when this returns and
    /// has to be installed.
    pub(crate) fn merge(
        &self,
        root: &FileRoot,
        changes: &dyn Changes,
        options: &CheckpointOptions,
    ) -> Result<(FileRoot, CheckpointReport)> {
        let mut state = self.state.lock();
        let published = CurrentCheckpoint::load(&mut state, &self.found, root)?;
        let file_units = published.superblock().file_units;
        if published.space.waiting_units() > file_units / WAITING_SHARE
            && file_units > SMALL_FILE_UNITS
        {
            published.again(root)?;
        }
        published.merge(root, changes, u64::MAX, self.pace(options))
    }

    /// The old root of the checkpoint just made, in use while it upgrades. Releases what no root
    /// reaches.
    pub(crate) fn installed(&self, old: (u64, Weak<FileRoot>), root: &FileRoot) -> Result<()> {
        let mut state = self.state.lock();
        let published = CurrentCheckpoint::load(&mut state, &self.found, root)?;
        published.space.replaced(old.0, old.1);
        published.release(root)
    }

    /// Frees what no root reaches any more.
    pub(crate) fn release(&self, root: &FileRoot) -> Result<()> {
        let mut state = self.state.lock();
        CurrentCheckpoint::load(&mut state, &self.found, root)?.release(root)
    }

    /// Whether so much of the file is or becomes free that its tail should be moved down.
    pub(crate) fn is_sparse(&self, root: &FileRoot) -> Result<bool> {
        let mut state = self.state.lock();
        let published = CurrentCheckpoint::load(&mut state, &self.found, root)?;
        let space = &published.space;
        let free = space.free().free_units() + space.waiting_units();
        let units = space.free().end();
        Ok(units > SMALL_FILE_UNITS && free > units / FREE_SHARE && space.held_units() == 0)
    }

    /// Moves the tail of the file into free units; a new root with the same content, to be
    /// installed.
    pub(crate) fn compact(
        &self,
        root: &FileRoot,
        options: &CheckpointOptions,
    ) -> Result<(FileRoot, CheckpointReport)> {
        let mut state = self.state.lock();
        let published = CurrentCheckpoint::load(&mut state, &self.found, root)?;
        published.again(root)?;
        let space = published.space.free();
        let used = space.end() - space.free_units();
        // A little room for what does not fit exactly and for what the next checkpoints write.
        let move_from = used + used / 32 + 16;
        let changes = NoChanges::new(root);
        published.merge(root, &changes, move_from, self.pace(options))
    }

    /// After [`Checkpointer::compact`] was installed: the file ends where it can, both superblocks
    /// know it.
    pub(crate) fn settle(&self, root: &FileRoot) -> Result<()> {
        let mut state = self.state.lock();
        CurrentCheckpoint::load(&mut state, &self.found, root)?.settle(root)
    }

    /// The log position from which either superblock recovers: what lies before it is not needed.
    pub(crate) fn log_needed_from(&self, root: &FileRoot) -> Result<LogPosition> {
        let mut state = self.state.lock();
        Ok(CurrentCheckpoint::load(&mut state, &self.found, root)?.log_needed_from())
    }
}

impl CurrentCheckpoint {
    /// Merges `changes` and publishes the result; pages from unit `move_from` on are moved down.
    fn merge(
        &mut self,
        root: &FileRoot,
        changes: &dyn Changes,
        move_from: u64,
        pace: Pace,
    ) -> Result<(FileRoot, CheckpointReport)> {
        self.usable(root)?;
        let budget = root.pages.budget();
        let threads = stores::threads(budget);
        let output = Output::new(
            root.pages.file().clone(),
            budget,
            self.space.free().clone(),
            changes.log().position,
            pace,
            threads,
        )?;
        let (old_tables, labels) = pages_of_tables(root)?;
        // The new ones take about as much room.
        let at_front = old_tables.iter().chain(&labels);
        output.keep(at_front.map(|page| page.class()));
        let mut merge = CheckpointMerge {
            root,
            changes,
            output: &output,
            own: StoreMerge::new(root, &output, false),
            catalog: base_catalog(&root.catalog, changes.catalog()),
            segments: BTreeMap::new(),
            vectors: false,
            move_from,
        };
        merge.stores(threads)?;
        merge.indexes()?;
        let before = self.superblock();
        let features = (before.features).as_written_here(&merge.catalog, merge.vectors);
        let (directory, catalogue) = merge.tables()?;
        output.release_kept();
        let mut freed = merge.own.take_freed();
        freed.extend(old_tables);
        let block = Superblock {
            features,
            log: changes.log(),
            catalogue,
            directory,
            ..before
        };
        let freed_bytes = freed.iter().map(|page| page.len_bytes() as u64).sum();
        let prepared = self.prepare(root, &output, block, freed)?;
        drop(merge);
        let mut new = self.prepared_root(root, &output, &prepared)?;
        self.publish(root, &output, prepared)?;
        let found = self.found();
        let report = CheckpointReport {
            checkpoint: found.superblock.checkpoint,
            written_bytes: output.written(),
            freed_bytes,
            file_bytes: found
                .superblock
                .file_units
                .saturating_mul(graven_pagecache::UNIT_BYTES as u64),
            held_bytes: self.space.held_units() * graven_pagecache::UNIT_BYTES as u64,
        };
        new.found = found;
        Ok((new, report))
    }
}

/// The base's catalogue with the names, label sets, schema and id limits of the changes.
fn base_catalog(base: &Catalog, changes: &Catalog) -> Catalog {
    let mut catalog = changes.clone();
    catalog.stores = base.stores.clone();
    catalog.extents = base.extents.clone();
    catalog.statistics = base.statistics.clone();
    if !catalog.label_sets.starts_with(&base.label_sets) {
        catalog.label_sets = base.label_sets.clone();
    }
    let types = catalog.types().len();
    let types = catalog.statistics.types.len().max(types);
    catalog.statistics.types.resize(types, Default::default());
    for index in &mut catalog.indexes {
        let known = base.index_numbered(index.number);
        (index.entries, index.distinct) = known.map_or((0, 0), |old| (old.entries, old.distinct));
        (index.root, index.height) = known.map_or((None, 0), |old| (old.root, old.height));
    }
    catalog
}

impl CheckpointMerge<'_> {
    fn indexes(&mut self) -> Result<()> {
        let mut indexes = std::mem::take(&mut self.catalog.indexes);
        for description in &self.root.catalog.indexes {
            let kept = (indexes.iter()).any(|index| index.number == description.number);
            if !kept {
                index_tree::drop(self, description)?;
                (self.catalog.stores).remove(StoreKind::Index(description.number));
            }
        }
        for description in &mut indexes {
            index_tree::merge(self, description)?;
        }
        self.catalog.indexes = indexes;
        Ok(())
    }

    /// Writes segment directory and catalogue.
    fn tables(&mut self) -> Result<(Option<PageRef>, PageRef)> {
        let front = self.output.front();
        let mut builder = DirectoryBuilder::new(&front);
        let mut own = Footprint::default();
        let stores = std::mem::take(&mut self.catalog.stores);
        let mut described = Vec::with_capacity(stores.len());
        for mut store in stores.into_list() {
            let is_index = matches!(store.kind, StoreKind::Index(_));
            match self.segments.remove(&store.id) {
                Some(segments) => {
                    for entry in segments {
                        builder.push(store.id, entry, &mut own)?;
                    }
                }
                None if is_index => {}
                None => {
                    let mut ledger = StoreChanges::default();
                    let base: Directory = self.root.directory;
                    let pages = self.root.pages.clone();
                    let moves = self.move_from < u64::MAX;
                    base.scan(&pages, store.id, &mut |entry| {
                        let entry = match moves {
                            true => compaction::segment(self, &store, entry, &mut ledger)?,
                            false => entry,
                        };
                        builder.push(store.id, entry, &mut own)
                    })?;
                    store.pages = store.pages + ledger.added.pages - ledger.removed.pages;
                    store.bytes = store.bytes + ledger.added.bytes - ledger.removed.bytes;
                }
            }
            if store.segments > 0 || matches!(store.kind, StoreKind::NodeLabels) {
                described.push(store);
            }
        }
        let columns = &mut self.catalog.statistics.columns;
        columns.retain(|id, _| (described.binary_search_by_key(id, |store| store.id)).is_ok());
        self.catalog.stores = Stores::new(described);
        let directory = builder.finish(&mut own)?;
        let encoded = self.catalog.encode();
        let catalogue = overflow_pages::write(&front, PageKind::Catalogue, &encoded, &mut own)?;
        Ok((directory, catalogue))
    }
}

/// The pages of catalogue and segment directory, and those of the label runs.
fn pages_of_tables(root: &FileRoot) -> Result<(Vec<PageRef>, Vec<PageRef>)> {
    let head = root.found.superblock.catalogue;
    let mut tables = overflow_pages::pages_of(&root.pages, head, PageKind::Catalogue)?;
    let labels = root.catalog.store(StoreKind::NodeLabels);
    let labels = labels.map(|store| store.id);
    let mut pages = Vec::new();
    root.directory.scan_all(
        &root.pages,
        &mut |page| tables.push(page),
        &mut |store, entry| {
            pages.extend((Some(store) == labels).then_some(entry.page));
            Ok(())
        },
    )?;
    Ok((tables, pages))
}
