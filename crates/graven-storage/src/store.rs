//! An open database file.
//!
//! # How it works
//! Opening reads the superblocks, the catalogue and the label runs (`data_file.rs`); everything
//! else is read through the page cache when it is used. On top of the root are the changes since
//! the checkpoint that wrote it, in memory: a [`Version`] is both together. Commits make new
//! versions (`transaction/commit.rs`), checkpoints freeze the changes, write a new root, and
//! install it; opening reads the log into the first version (`recovery.rs`).
//!
//! # Concurrency
//! Lock order: a transaction's state, commits, queue, visible; running before visible. None is held
//! while the device works, except that a checkpoint's freeze and install make the log durable under
//! the commit lock.

pub(crate) mod allocator;
mod follow;
pub(crate) mod maintenance;

use crate::catalog::CommitToken;
use crate::checkpoint::Checkpointer;
use crate::data_file::FileRoot;
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::frozen::Frozen;
use crate::delta::frozen_layer::FrozenLayer;
use crate::delta::immutable_delta::ImmutableDelta;
use crate::delta::redo::NamesLogged;
use crate::log_place::LogSetup;
use crate::pages::Pages;
use crate::snapshot::Snapshot;
use crate::superblock::{self, Found, LogPosition, Superblock};
use crate::transaction::commit_tokens::CommitTokens;
use crate::transaction::commits::Commits;
use crate::transaction::conflicts::Conflicts;
use crate::transaction::publish::Publisher;
use crate::version::Version;
use crate::version::retired::Retired;
use crate::{Error, Result};
use allocator::Allocator;
use graven_io::File;
use graven_pagecache::{Budget, PageCache, SpillFile, TemporaryPages};
use graven_wal::{Log, LogStats};
use maintenance::{CHANGES_SHARE, LOG_BYTES, Maintenance, WAIT_SHARE};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// What passes this part of the memory limit goes to temporary pages.
const SEAL_SHARE: u64 = 8;

/// The changes from one checkpoint to the next.
struct Generation {
    /// The newest version that has them as its own.
    before: Arc<Version>,
    frozen: Arc<FrozenLayer>,
    /// Names of the newest commits.
    clients: Arc<[CommitToken]>,
}

/// An open database file.
#[derive(Debug)]
pub struct Store {
    uuid: [u8; 16],
    pages: Arc<Pages>,
    allocator: Arc<Allocator>,
    /// The newest superblock.
    found: Arc<Mutex<Found>>,
    checkpointer: Checkpointer,
    visible: RwLock<Arc<Version>>,
    commits: Mutex<Commits>,
    publisher: Publisher<Arc<Version>>,
    pub(crate) retired: Retired,
    /// Held for reading by a commit while its records go to the log, for writing by a freeze
    /// (TX-13).
    chunked: RwLock<()>,
    maintenance: Maintenance,
    /// How many transactions began at each timestamp and still run.
    running: Mutex<BTreeMap<u64, usize>>,
    pub(crate) log: OnceLock<Log>,
    /// For transactions that are too large for memory.
    pub(crate) spill: Option<Arc<SpillFile>>,
    /// Changes of more bytes than this go there.
    pub(crate) spill_bytes: u64,
    /// Threads that put in order what a log says.
    pub(crate) recovery_threads: usize,
    pub(crate) log_setup: Option<LogSetup>,
    /// The newest superblock says that the log is needed.
    pub(crate) log_marked: AtomicBool,
    /// How long closing may merge.
    pub(crate) fold_on_close: Option<Duration>,
    /// Whether it was closed.
    pub(crate) closed: Mutex<bool>,
    /// Why closing could not merge what was committed.
    pub(crate) unfolded: Mutex<Option<String>>,
    /// Why nothing may be written, if so.
    pub(crate) read_only: Option<String>,
}

impl Store {
    /// Opens `file` through `cache`, without a log: what is committed stays in memory until a
    /// checkpoint.
    ///
    /// # Errors
    /// What [`superblock::read`] gives; [`crate::Error::Damaged`]; what the page cache gives.
    pub fn open(file: Arc<dyn File>, cache: Arc<PageCache>) -> Result<Arc<Store>> {
        Store::open_base(file, cache, None, None, superblock::FORMAT).map(Arc::new)
    }

    pub(crate) fn open_base(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
        log_setup: Option<LogSetup>,
        read_only: Option<String>,
        format: u32,
    ) -> Result<Store> {
        let found = superblock::read_format(&*file, format)?;
        let pages = Arc::new(Pages::open(file, cache)?);
        let root = FileRoot::open(pages, found)?;
        Ok(Store::of_root(root, log_setup, read_only))
    }

    /// A store whose newest state is `root`.
    pub(crate) fn of_root(
        root: FileRoot,
        log_setup: Option<LogSetup>,
        read_only: Option<String>,
    ) -> Store {
        let (pages, found) = (root.pages.clone(), root.found.clone());
        let root = Arc::new(root);
        let allocator = Arc::new(Allocator::new(&root.catalog));
        let lsn = found.superblock.log.position;
        // Timestamps go on above those of the store's earlier lives: every commit takes some bytes
        // of log.
        let version = Arc::new(Version::of(root, lsn, lsn));
        let uuid = found.superblock.uuid;
        let found = Arc::new(Mutex::new(found));
        let mut commits = Commits {
            applied: version.clone(),
            conflicts: Conflicts::default(),
            logged: NamesLogged::of(&version.names),
            clients: CommitTokens::of(&version.committed_base.root.catalog),
            reservation: pages.budget().empty_reservation("committed changes"),
            schema: pages.budget().empty_reservation("schema"),
            replaced: VecDeque::new(),
        };
        commits.charge_schema(version.schema.memory_bytes());
        let spill_bytes = pages.budget().limit() / SEAL_SHARE;
        Store {
            uuid,
            pages,
            allocator,
            checkpointer: Checkpointer::new(found.clone()),
            found,
            visible: RwLock::new(version),
            commits: Mutex::new(commits),
            publisher: Publisher::default(),
            retired: Retired::default(),
            chunked: RwLock::new(()),
            maintenance: Maintenance::default(),
            running: Mutex::default(),
            log: OnceLock::new(),
            spill: None,
            spill_bytes,
            recovery_threads: 1,
            log_setup,
            log_marked: AtomicBool::new(false),
            fold_on_close: None,
            closed: Mutex::new(false),
            unfolded: Mutex::new(None),
            read_only,
        }
    }

    /// Freezes the changes committed so far, for a checkpoint; commits go on to a new generation.
    /// `None` if nothing was committed since the last checkpoint. The generation before must have
    /// been installed or thawed. What is frozen is durable in the log when this returns; commits do
    /// not wait for that.
    ///
    /// # Errors
    /// [`crate::Error::LogFailed`]; [`crate::Error::CheckpointsStopped`] after one that panicked.
    pub(crate) fn freeze(&self) -> Result<Option<Frozen>> {
        let Some(ended) = self.end_generation()? else {
            return Ok(None);
        };
        let Generation {
            before,
            frozen,
            clients,
        } = ended;
        let durable = self.settle(before.lsn, before.timestamp);
        durable.inspect_err(|_| self.thaw(&frozen))?;
        self.maintenance().progressed();
        let log = LogPosition {
            position: before.lsn,
            ..self.found.lock().superblock.log
        };
        let mut catalog = before.assemble(None);
        catalog.clients = clients;
        Ok(Some(Frozen {
            frozen,
            catalog,
            log,
        }))
    }

    /// The part of [`Store::freeze`] that commits wait for.
    fn end_generation(&self) -> Result<Option<Generation>> {
        let _whole = self.chunked.write();
        let mut commits = self.commits();
        let before = commits.applied.clone();
        if before.committed_base.layers.frozen.is_some() {
            // One checkpoint runs at a time, and what it froze is installed or thawed unless it
            // panics.
            return Err(crate::Error::CheckpointsStopped {
                path: self.file().path().to_path_buf(),
                why: "it panicked".to_owned(),
            });
        }
        if before.is_merged() {
            return Ok(None);
        }
        let budget = self.budget();
        let next = budget.empty_reservation("committed changes");
        let reservation = commits.replace_reservation(next);
        let reservation = Arc::new(reservation);
        // Snapshots of its versions keep parts of it, for longer than the checkpoint takes.
        let _ = before.charged.set(reservation.clone());
        let mut layer = before.committed_base.layers.active.clone();
        if let Some(commit_tail) = &before.commit_tail {
            commit_tail.apply_to(&mut layer);
        }
        let frozen = Arc::new(FrozenLayer {
            below: before.committed_base.layers.below.clone(),
            layer,
            _reservation: reservation,
        });
        self.replace(&mut commits, |version| {
            let committed_base = version.committed_base_mut();
            committed_base.layers.frozen = Some(frozen.clone());
            committed_base.layers.below = Arc::from([]);
            committed_base.layers.active = DeltaLayer::filtered(budget);
            version.commit_tail = None;
            version.charged = Arc::default();
        });
        let clients = commits.clients.list();
        Ok(Some(Generation {
            before,
            frozen,
            clients,
        }))
    }

    /// Makes `root` (the old root with `frozen` merged in, durable) the base of new snapshots. The
    /// old root is in use for as long as the result upgrades; then its pages may be used again.
    pub(crate) fn install_base(&self, root: FileRoot, frozen: &Frozen) -> Weak<FileRoot> {
        let root = Arc::new(root);
        let mut commits = self.commits();
        let old = Arc::downgrade(&commits.applied.committed_base.root);
        let same = commits.applied.committed_base.layers.frozen.as_ref();
        assert!(
            same.is_some_and(|it| Arc::ptr_eq(it, &frozen.frozen)),
            "what was frozen is installed"
        );
        self.replace(&mut commits, |version| {
            let committed_base = version.committed_base_mut();
            committed_base.root = root;
            committed_base.layers.frozen = None;
        });
        old
    }

    /// Makes `root`, which has the content of the newest one, the base of new snapshots; as
    /// [`Store::install`].
    pub(crate) fn replace_root(&self, root: FileRoot) -> Weak<FileRoot> {
        let mut commits = self.commits();
        let old = Arc::downgrade(&commits.applied.committed_base.root);
        let root = Arc::new(root);
        self.replace(&mut commits, |version| {
            version.committed_base_mut().root = root
        });
        old
    }

    /// The base of the newest version.
    pub(crate) fn newest_root(&self) -> Arc<FileRoot> {
        self.commits().applied.committed_base.root.clone()
    }

    pub(crate) fn checkpointer(&self) -> &Checkpointer {
        &self.checkpointer
    }

    /// Undoes [`Store::freeze`] after a checkpoint that failed.
    pub(crate) fn thaw(&self, frozen: &FrozenLayer) {
        let mut commits = self.commits();
        let bytes = frozen.layer.bytes();
        let alone =
            frozen.below.is_empty() && commits.applied.committed_base.layers.below.is_empty();
        let mut held = self.budget().empty_reservation("committed changes");
        held.force_grow(bytes);
        if alone {
            commits.reservation.force_grow(bytes);
        }
        self.replace(&mut commits, |version| {
            version.merge_tail();
            let committed_base = version.committed_base_mut();
            committed_base.layers.frozen = None;
            if alone {
                let newer =
                    std::mem::replace(&mut committed_base.layers.active, frozen.layer.clone());
                committed_base.layers.active.merge(&newer);
                return;
            }
            let lower = (!frozen.layer.is_empty()).then(|| {
                Arc::new(ImmutableDelta::Memory {
                    layer: frozen.layer.clone(),
                    reservation: held,
                })
            });
            let older = frozen.below.iter().cloned().chain(lower);
            committed_base.layers.below = older
                .chain(committed_base.layers.below.iter().cloned())
                .collect();
        });
    }

    /// Makes a changed copy of the newest version the newest one, for what is no commit.
    pub(crate) fn replace(&self, commits: &mut Commits, change: impl FnOnce(&mut Version)) {
        let mut version = commits.applied.copy();
        change(&mut version);
        let version = Arc::new(version);
        commits.applied = version.clone();
        self.publisher.replace_newest(version, self);
        self.retired.clear();
    }

    /// The graph as of now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.newest_visible())
    }

    /// Identity of the store.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.uuid
    }

    /// The superblock in use and the state of the other.
    #[must_use]
    pub fn superblock(&self) -> Found {
        self.found.lock().clone()
    }

    /// Notes the superblock of another file that is the newest one now.
    fn replace_found(&self, found: Found) {
        *self.found.lock() = found;
    }

    /// Writes `change`d superblocks to the other slot, and the other again: twice, and neither says
    /// the old.
    pub(crate) fn rewrite_superblocks(
        &self,
        times: u32,
        change: impl Fn(&mut Superblock),
    ) -> Result<()> {
        let mut found = self.found.lock();
        for _ in 0..times {
            let mut block = found.superblock.clone();
            block.checkpoint += 1;
            change(&mut block);
            let slot = found.slot.other();
            superblock::write(&**self.file(), slot, &block)?;
            self.file().sync_data()?;
            *found = Found {
                superblock: block,
                slot,
                other_damage: None,
            };
        }
        Ok(())
    }

    /// The page cache that the store reads through.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        self.pages.cache()
    }

    /// The data file.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn File> {
        self.pages.file()
    }

    /// Length of the data file, 0 where the system does not tell.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.root().pages.file().len().unwrap_or(0)
    }

    /// What the log has done since it was opened; nothing where there is none.
    #[must_use]
    pub fn log_stats(&self) -> LogStats {
        self.log().map(Log::stats).unwrap_or_default()
    }

    /// The log, once there is one.
    #[must_use]
    pub fn log(&self) -> Option<&Log> {
        self.log.get()
    }

    /// Whether one of the newest 4,096 commits with a name has this one. A client asks this after
    /// its owner died before it answered. The names outlive log and process: a checkpoint writes
    /// them into the catalogue.
    #[must_use]
    pub fn has_committed(&self, client_id: &[u8; 16]) -> bool {
        self.commits().clients.contain(client_id)
    }

    /// Why nothing may be written, if so.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// Whether the data file has to keep its log beside it, as far as its superblock knows.
    #[must_use]
    pub fn needs_log(&self) -> bool {
        let log = self.superblock().superblock.log;
        log.generation != 0 && (log.clean_end == 0 || log.clean_end != log.position)
    }

    /// Why closing left commits in the log, in words: the disk is full, or it would have taken too
    /// long. `None` where it left none, or did not try.
    #[must_use]
    pub fn unfolded_because(&self) -> Option<String> {
        self.unfolded.lock().clone()
    }

    /// Whether the data file has all that was committed, without the log.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        self.visible.read().is_merged()
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match &self.read_only {
            None => Ok(()),
            Some(why) => Err(crate::Error::ReadOnly {
                path: self.file().path().to_path_buf(),
                why: why.clone(),
            }),
        }
    }

    pub(crate) fn budget(&self) -> &Arc<Budget> {
        self.pages.budget()
    }

    /// Temporary pages for changes; `None` for a store without a spill file.
    pub(crate) fn temporary_pages(&self) -> Option<TemporaryPages> {
        self.spill.as_ref().map(|spill| spill.owner())
    }

    /// The error, where memory lacks because the disk has no room for temporary pages: that.
    pub(crate) fn lacks(&self, error: Error) -> Error {
        let memory = match &error {
            Error::Budget(_) => true,
            Error::Cache(error) => error.is_memory_limit(),
            _ => false,
        };
        let full = self.spill.as_ref().filter(|_| memory);
        full.and_then(|spill| spill.full())
            .map_or(error, Error::Cache)
    }

    /// Changes of more bytes than this go to temporary pages.
    pub(crate) fn spill_bytes(&self) -> u64 {
        self.spill_bytes
    }

    pub(crate) fn allocator(&self) -> &Arc<Allocator> {
        &self.allocator
    }

    /// The base of new snapshots.
    pub(crate) fn root(&self) -> Arc<FileRoot> {
        self.visible.read().committed_base.root.clone()
    }

    pub(crate) fn commits(&self) -> MutexGuard<'_, Commits> {
        self.commits.lock()
    }

    pub(crate) fn publisher(&self) -> &Publisher<Arc<Version>> {
        &self.publisher
    }

    pub(crate) fn chunked(&self) -> &RwLock<()> {
        &self.chunked
    }

    pub(crate) fn maintenance(&self) -> &Maintenance {
        &self.maintenance
    }

    /// Why the last checkpoint that ran by itself failed, if it did.
    #[must_use]
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.maintenance.failure()
    }

    /// Whether `bytes` more of changes may be committed before the next checkpoint begins.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let changed = self.visible.read().waiting_bytes();
        changed == 0 || changed + bytes <= self.budget().limit() / WAIT_SHARE
    }

    /// Whether changes or log have grown enough for a checkpoint. `bytes` were committed just now.
    pub(crate) fn wants_checkpoint(&self, version: &Version, bytes: u64) -> bool {
        if self.log().is_none() || version.committed_base.layers.frozen.is_some() {
            return false;
        }
        if !version.committed_base.layers.below.is_empty() {
            return true;
        }
        let changes = version.changed_bytes().max(bytes);
        let from = version.committed_base.root.found.superblock.log.position;
        changes > self.budget().limit() / CHANGES_SHARE
            || version.lsn.saturating_sub(from) > LOG_BYTES
    }

    /// Makes `version` visible. Returns the version before it. Dropping that frees what it alone
    /// knew: the caller does so where no commit waits.
    pub(crate) fn set_visible(&self, version: Arc<Version>) -> Arc<Version> {
        std::mem::replace(&mut *self.visible.write(), version)
    }

    pub(crate) fn newest_visible(&self) -> Arc<Version> {
        self.visible.read().clone()
    }

    /// The newest visible version, with a transaction running from there.
    pub(crate) fn register(&self) -> Arc<Version> {
        let mut running = self.running.lock();
        let version = self.visible.read().clone();
        *running.entry(version.timestamp).or_default() += 1;
        version
    }

    pub(crate) fn unregister(&self, timestamp: u64) {
        let mut running = self.running.lock();
        if let Some(count) = running.get_mut(&timestamp) {
            *count -= 1;
            if *count == 0 {
                running.remove(&timestamp);
            }
        }
    }

    /// No transaction runs, or will begin, from before this timestamp.
    pub(crate) fn horizon(&self) -> u64 {
        let running = self.running.lock();
        let visible = self.visible.read().timestamp;
        running
            .keys()
            .next()
            .map_or(visible, |oldest| visible.min(*oldest))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _unpaced = self.checkpointer.unpaced();
        self.maintenance.stop();
    }
}
