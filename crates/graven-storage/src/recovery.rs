//! Opening with a log: what was committed since the checkpoint becomes the first version again.
//!
//! # How it works
//! Commits are read in order and put together into batches; for each batch the entries of indexes
//! and the counts are derived by comparing the graph before and after it. The result is what the
//! commits had made. What is too much for memory goes to temporary pages, as for a large
//! transaction ([`crate::transaction::spill`]), or, where there are none, is merged into the file.
//! Otherwise nothing is written but the destroyed torn tail (by [`graven_wal::Log::open`]), so a
//! crash while recovering changes nothing and recovering twice gives the same.
//!
//! Where [`OpenOptions::threads`] allows it, one thread reads the log and puts a batch together
//! ([`replay`]) while another applies the one before ([`apply`]), and the maps of a layer that goes
//! to temporary pages are written side by side.
//!
//! The log is made when the first commit needs it: a database that is only read stays as it is. The
//! superblocks then name its generation, and from there on the database does not open without it,
//! until it was closed with everything in the data file. What closing cleanly noted is taken back,
//! durably, before the next commit is acknowledged.
//!
//! # Invariants
//! * TX-11: both superblocks name the log's generation before anything committed to it is
//!   acknowledged.
//! * TX-12: recovering is a function of base and log.
//! * TX-25: while the log may hold a commit that the data file has not, the newest superblock says
//!   that the log is needed.

mod apply;
mod chunk;
mod patterns;
mod replay;

use self::replay::Replay;
use crate::checkpoint::CheckpointOptions;
use crate::delta::redo::NamesLogged;
use crate::log_place::LogPlace;
use crate::log_place::LogSetup;
use crate::store::Store;
use crate::superblock::{FORMAT, LogPosition, UNSEALED_FORMAT};
use crate::transaction::options::Durable;
use crate::transaction::spill::Sealing;
use crate::until::Until;
use crate::writer::random_uuid;
use crate::{Error, Result};
use graven_io::File;
use graven_pagecache::{PageCache, SpillFile};
use graven_wal::{Identity, Log, LogOptions, Lsn, Recovery, Start};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Closing takes no longer than this to make one file of the database.
pub const FOLD_ON_CLOSE: Duration = Duration::from_secs(2);

/// Spilled layers that are merged into one.
const RECOVERY_TIER: usize = 64;

/// How a store with a log is opened.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Where the log is.
    pub log: Box<dyn LogPlace>,
    /// Why nothing may be written; `None` if it may.
    pub read_only: Option<String>,
    /// How a new log is made and an old one driven.
    pub log_options: LogOptions,
    /// Whether a thread makes a checkpoint when changes or log have grown. Without it only an
    /// explicit request makes one, and a commit that finds no room.
    pub own_checkpoints: bool,
    /// Where transactions go that are larger than memory; without it they fail.
    pub spill: Option<Arc<SpillFile>>,
    /// Changes of more bytes than this go there; `None`: than an eighth of the memory limit.
    pub spill_bytes: Option<u64>,
    /// Whether a data file that needs a log is opened where there is none: without the commits that
    /// only the log has.
    pub without_log: bool,
    /// How long closing may take to merge what was committed into the data file, after which there
    /// is no log any more; `None`: the log stays.
    pub fold_on_close: Option<Duration>,
    /// Whether the file is one of the format before this one, of which only a copy can be made.
    pub older_format: bool,
    /// Threads that recover, the calling one among them: what a log says of different stores is put
    /// in order side by side.
    pub threads: usize,
}

impl OpenOptions {
    /// For reading and writing, with the log at `log`.
    #[must_use]
    pub fn new(log: Box<dyn LogPlace>) -> OpenOptions {
        OpenOptions {
            log,
            read_only: None,
            log_options: LogOptions::default(),
            own_checkpoints: true,
            spill: None,
            spill_bytes: None,
            without_log: false,
            fold_on_close: Some(FOLD_ON_CLOSE),
            older_format: false,
            threads: 1,
        }
    }
}

fn failed(path: &std::path::Path, error: impl std::fmt::Display) -> Error {
    Error::Log {
        path: path.to_path_buf(),
        what: error.to_string(),
    }
}

impl Store {
    /// How recovery seals layers: a checkpoint merges them soon, so they become one only where they
    /// are many.
    fn sealing(&self) -> Sealing {
        Sealing {
            tier: RECOVERY_TIER,
            threads: self.recovery_threads,
        }
    }

    /// Opens `file` with its log: recovers what was committed since the last checkpoint.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Log`] for a log that is missing, damaged, or another store's;
    /// [`Error::Budget`] where the changes since the checkpoint do not fit the memory limit.
    ///
    /// # Panics
    /// Never: a log is set once, here.
    pub fn open_with(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
        options: OpenOptions,
    ) -> Result<Arc<Store>> {
        Store::open_despite(file, cache, options, &mut Err)
    }

    /// As [`Store::open_with`]; `despite` is told of damage to a log that is only read, and whether
    /// what lies before it does.
    pub(crate) fn open_despite(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
        options: OpenOptions,
        despite: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<Arc<Store>> {
        let OpenOptions {
            log,
            read_only,
            log_options,
            own_checkpoints,
            spill,
            spill_bytes,
            without_log,
            fold_on_close,
            older_format,
            threads,
        } = options;
        let reading_only = read_only.is_some();
        let setup = LogSetup {
            place: log,
            options: log_options,
        };
        let format = match older_format && reading_only {
            true => UNSEALED_FORMAT,
            false => FORMAT,
        };
        let mut store = Store::open_base(file, cache, Some(setup), read_only, format)?;
        store.spill = spill;
        store.spill_bytes = spill_bytes.unwrap_or(store.spill_bytes);
        store.recovery_threads = threads;
        store.fold_on_close = fold_on_close;
        if !own_checkpoints {
            store.maintenance().stop();
        }
        let LogPosition {
            generation,
            position,
            clean_end,
        } = store.superblock().superblock.log;
        if generation == 0 {
            return Ok(Arc::new(store));
        }
        let setup = store.log_setup.as_ref().expect("given above");
        // Closed cleanly with everything in the data file.
        let is_whole = clean_end > 0 && clean_end == position;
        let Some(log_file) = setup.place.existing()? else {
            // Or the user knows better.
            if without_log || is_whole {
                return Ok(Arc::new(store));
            }
            return Err(Error::LogMissing {
                path: store.file().path().to_path_buf(),
                log: setup.place.path(),
            });
        };
        let path = log_file.path().to_path_buf();
        let identity = Identity {
            uuid: store.uuid(),
            generation,
        };
        // A process may have died while it made the next log, before the superblocks named it.
        if is_whole
            && Identity::of(&*log_file).ok().flatten() != Some(identity)
            && store.check_unused(&log_file, Lsn(position)).is_ok()
        {
            return Ok(Arc::new(store));
        }
        let start = Start {
            from: Lsn(position),
            clean_end: (clean_end > 0).then_some(Lsn(clean_end)),
        };
        // Where everything is in the data file, nothing of the log is needed.
        if !is_whole {
            let cut_off = Recovery::cut_off(&*log_file, &identity);
            if let Some(damage) = cut_off.map_err(|error| failed(&path, error))? {
                despite(failed(&path, damage))?;
            }
            let cut = Recovery::cut_between(&log_file, identity, start);
            if let Some(damage) = cut.map_err(|error| failed(&path, error))? {
                despite(failed(&path, damage))?;
            }
        }
        let recovery = if reading_only {
            let opened = Recovery::open_damaged(log_file, identity, start);
            let (recovery, damage) = opened.map_err(|error| failed(&path, error))?;
            damage.map_or(Ok(()), |damage| despite(failed(&path, damage)))?;
            recovery
        } else {
            let opened = Log::open(log_file, identity, start, setup.options);
            let (log, recovery) = opened.map_err(|error| failed(&path, error))?;
            assert!(store.log.set(log).is_ok(), "the log is opened once");
            recovery
        };
        Replay::new(&store).run(recovery, &path)?;
        let store = Arc::new(store);
        let version = store.commits().applied.clone();
        if store.wants_checkpoint(&version, 0) {
            store.maintenance().request(&store);
        }
        Ok(store)
    }

    /// The log, made if there is none yet; `None` for a store without one.
    pub(crate) fn log_for_writing(&self) -> Result<Option<&Log>> {
        if let Some(log) = self.log() {
            self.mark_log_needed()?;
            return Ok(Some(log));
        }
        let Some(setup) = &self.log_setup else {
            return Ok(None);
        };
        // The commit lock keeps a second one from being made.
        let mut commits = self.commits();
        if let Some(log) = self.log() {
            return Ok(Some(log));
        }
        let file = setup.place.create().map_err(lacks_room)?;
        let path = file.path().to_path_buf();
        let known = self.superblock().superblock.log;
        let identity = Identity {
            uuid: self.uuid(),
            generation: new_generation(known.generation)?,
        };
        let position = known.position.max(known.clean_end).max(commits.applied.lsn);
        self.check_unused(&file, Lsn(position))?;
        let options = LogOptions {
            first: Lsn(position),
            ..setup.options
        };
        let log = Log::create(file, identity, options).map_err(|error| {
            // A part of a log is of no use, least of all where the disk is full.
            setup.place.remove();
            match error.is_storage_full() {
                true => no_room(&error),
                false => failed(&path, error),
            }
        })?;
        self.rewrite_superblocks(2, |block| {
            block.log = LogPosition {
                generation: identity.generation,
                position,
                clean_end: 0,
            };
        })?;
        self.log_marked.store(true, Ordering::Release);
        commits.logged = NamesLogged::of(&commits.applied.names);
        // Still under the lock: a commit that waits for it must find this log, not make another
        // over it.
        Ok(Some(self.log.get_or_init(|| log)))
    }

    /// TX-25: takes back that the log was closed cleanly, once in the life of a store.
    fn mark_log_needed(&self) -> Result<()> {
        if self.log_marked.load(Ordering::Acquire) {
            return Ok(());
        }
        // Commits that come meanwhile wait until it is durable.
        let _commits = self.commits();
        if self.superblock().superblock.log.clean_end != 0 {
            self.rewrite_superblocks(1, |block| block.log.clean_end = 0)?;
        }
        self.log_marked.store(true, Ordering::Release);
        Ok(())
    }

    /// Makes sure that no database needs the content of a file in which the log is to be made, from
    /// `position` on.
    fn check_unused(&self, file: &Arc<dyn File>, position: Lsn) -> Result<()> {
        let mut head = [0; 64];
        let got = file.read_at(&mut head, 0)?;
        if head[..got].iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let identity = Identity::of(&**file).map_err(|error| failed(file.path(), error))?;
        if let Some(identity) = identity.filter(|it| it.uuid == self.uuid()) {
            let start = Start {
                from: position,
                clean_end: None,
            };
            // Made by a process that died before the superblocks named it; with records, or where
            // it begins elsewhere, it is that of a copy.
            let recovery = Recovery::open(file.clone(), identity, start);
            let unused =
                |mut records: Recovery| records.first() == position && records.next().is_none();
            if recovery.is_ok_and(unused) {
                return Ok(());
            }
        }
        Err(Error::LogOccupied {
            path: self.file().path().to_owned(),
            log: file.path().to_owned(),
        })
    }

    /// Makes everything durable. What was committed is merged into the data file, and the log
    /// removed, if that takes no longer than [`OpenOptions::fold_on_close`]; otherwise the
    /// superblock notes where the log ends. Later commits fail.
    ///
    /// # Errors
    /// [`Error::LogFailed`]; the superblock cannot be written.
    pub fn close(&self) -> Result<()> {
        let unpaced = self.checkpointer().unpaced();
        self.maintenance().stop();
        drop(unpaced);
        let Some(log) = self.log() else {
            return Ok(());
        };
        // After the first time the files may be another process's.
        let mut closed = self.closed.lock();
        if *closed {
            return Ok(());
        }
        if let Some(time) = self.fold_on_close
            && log.failed().is_none()
        {
            let folded = self.checkpoint(CheckpointOptions {
                paced: false,
                compact: true,
                until: Until {
                    moment: Instant::now().checked_add(time),
                    cancelled: None,
                },
            });
            // What cannot be merged in, for whatever reason, stays in the log.
            *self.unfolded.lock() = folded.err().map(|error| match error {
                Error::Stopped => "merging them takes longer than closing may".to_owned(),
                error => error.to_string(),
            });
        }
        let _no_checkpoint = self.checkpointer().pause();
        let commits = self.commits();
        // With the lock held nothing comes after.
        self.settle(commits.applied.lsn, commits.applied.timestamp)?;
        let end = log
            .close()
            .map_err(|error| failed(self.file().path(), error))?;
        if self.fold_on_close.is_some() && commits.applied.is_merged() {
            // Both, so that neither asks for a log that is gone.
            self.rewrite_superblocks(2, |block| {
                block.log.position = end.0;
                block.log.clean_end = end.0;
            })?;
            *closed = true;
            if let Some(setup) = &self.log_setup {
                // Where it stays it does no harm: it continues nothing.
                setup.place.remove();
            }
            return Ok(());
        }
        if self.superblock().superblock.log.clean_end != end.0 {
            self.rewrite_superblocks(1, |block| block.log.clean_end = end.0)?;
        }
        *closed = true;
        Ok(())
    }
}

/// There is no room for a log.
fn no_room(error: &dyn std::error::Error) -> Error {
    Error::DiskFull {
        durable: Durable::No,
        why: error.to_string(),
    }
}

/// The error of making a log's file, of a full disk as such.
fn lacks_room(error: Error) -> Error {
    match &error {
        Error::Io(source) if source.is_storage_full() => no_room(source),
        _ => error,
    }
}

/// A generation unlike any other, so that the logs of two copies of one file are told apart.
fn new_generation(known: u64) -> Result<u64> {
    let random = random_uuid()?;
    let random = u64::from_le_bytes(std::array::from_fn(|at| random[at]));
    // Never 0, which is no log, and never the one before.
    Ok((random >> 1).max(1) + u64::from(random >> 1 == known))
}
