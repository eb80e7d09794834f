//! A database that this process has open: store, cache, plans, statements that run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::config::{Config, IoMode};
use crate::error::{Error, NOT_FOUND};
use crate::files::{self, DataFile, WalLocation, sibling_path};
use crate::jobs::Jobs;
use crate::names;
use crate::objects::{self, Source};
use crate::passwords::Known;
use crate::plan_cache::PlanCache;
use crate::procedures::registered::Registry;
use crate::random::random_name;
use crate::remote::address::Listener;
use crate::remote::client::Attached;
use crate::statements::StatementRegistry;
use crate::warm::Keeper;
use graven_exec::{LeftOut, Tuning};
use graven_io::{FileLock, OpenOptions};
use graven_pagecache::{Budget, PageCache, SpillFile};
use graven_storage::{Store, StoreWriter, WriterOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Where statements run now.
pub(crate) enum Backend {
    Local(Arc<Instance>),
    Remote(Arc<Attached>),
}

pub(crate) struct Instance {
    pub(crate) path: PathBuf,
    pub(crate) requested: IoMode,
    pub(crate) mode: graven_io::IoMode,
    pub(crate) cache: Arc<PageCache>,
    pub(crate) budget: Arc<Budget>,
    /// Where statements put what does not fit.
    pub(crate) spill: Arc<SpillFile>,
    pub(crate) store: Arc<Store>,
    pub(crate) plans: PlanCache,
    pub(crate) registered: Registry,
    /// Statements that run in the background.
    pub(crate) jobs: Jobs,
    pub(crate) statements: Arc<StatementRegistry>,
    /// Rows that the last statement that does so has left out.
    pub(crate) left_out: Arc<Mutex<LeftOut>>,
    /// Passwords that were found right.
    pub(crate) passwords: Known,
    /// How statements are run.
    pub(crate) tuning: Tuning,
    /// Bytes that the copy of an object may have.
    pub(crate) disk_budget: u64,
    /// Where other processes connect, until it is served.
    pub(crate) listener: Mutex<Option<Listener>>,
    /// Where the cache's content is kept from one opening to the next.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) closed: AtomicBool,
    /// Where its newest snapshot is found, if it is in object storage.
    pub(crate) source: Option<Source>,
    /// Given back when the database was closed and nothing uses it any more.
    pub(crate) lock: Mutex<Option<FileLock>>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What was acknowledged is in the log; a drop cannot report an error. One that comes while
        // a panic unwinds may meet the same fault again: that would end the process.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            self.keep_warm();
            self.store.close()
        }));
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// One more that uses it, unless it was closed.
    pub(crate) fn used(inner: &Arc<Instance>) -> Result<Arc<Instance>, Error> {
        let used = Arc::clone(inner);
        used.unless_closed().map(|()| used)
    }

    /// Writes down what is in memory, if that was asked for; once.
    pub(crate) fn keep_warm(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.end(&self.store);
        }
    }

    pub(crate) fn unless_closed(&self) -> Result<(), Error> {
        if !self.closed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let what = format!("{} was closed; open it again", self.path.display());
        Err(Error::new("Database.Closed", what))
    }

    pub(crate) fn open(path: &Path, config: &Config) -> Result<Instance, Error> {
        let (source, data) = match objects::url(path) {
            None => (None, open_file(path, config)?),
            Some(url) => {
                let (source, file) = Source::open(url, config)?;
                let data = DataFile {
                    file,
                    lock: None,
                    read_only: Some("a published snapshot is never changed".to_owned()),
                };
                (Some(source), data)
            }
        };
        let DataFile {
            file,
            lock,
            read_only,
        } = data;
        // From here on others can connect; they are answered once the database is open.
        let listener = match config.attach && read_only.is_none() {
            true => Listener::bind(path).ok(),
            false => None,
        };
        let mode = file.mode();
        let budget = (config.budget.clone()).unwrap_or_else(|| Budget::new(config.memory));
        let mut settings = graven_pagecache::Config::new(Arc::clone(&budget));
        settings.policy.clone_from(&config.policy);
        settings.pools.clone_from(&config.pools);
        let cache = PageCache::new(settings)?;
        let spilled = match &source {
            None => sibling_path(path, "-tmp"),
            Some(_) => objects::temporary("tmp"),
        };
        let spill = Arc::new(SpillFile::at(&cache, spilled, u64::MAX)?);
        let log = WalLocation::new(path, config, read_only.is_some());
        let mut options = graven_storage::OpenOptions::new(Box::new(log));
        options.read_only = read_only;
        options.spill = Some(Arc::clone(&spill));
        options.threads = config.threads.max(1);
        options.without_log = config.without_log;
        options.fold_on_close = config.fold_on_close;
        options.older_format = config.older_format;
        let store = Store::open_with(file, Arc::clone(&cache), options)?;
        let mut tuning = config.tuning;
        tuning.threads = config.threads.max(1);
        let keeps = config.keep_warm && store.read_only().is_none();
        Ok(Instance {
            keeper: keeps.then(|| Keeper::start(path, &store)).flatten(),
            path: path.to_path_buf(),
            requested: config.io,
            mode,
            cache,
            budget,
            spill,
            store,
            plans: PlanCache::default(),
            registered: Registry::default(),
            jobs: Jobs::default(),
            statements: StatementRegistry::of(&names::of_file(path)),
            left_out: Arc::default(),
            passwords: Known::default(),
            tuning,
            disk_budget: config.disk_budget,
            listener: Mutex::new(listener),
            closed: AtomicBool::new(false),
            lock: Mutex::new(lock),
            source,
        })
    }
}

/// Opens and locks a database file; makes it, if that is asked for and there is none.
fn open_file(path: &Path, config: &Config) -> Result<DataFile, Error> {
    let found = std::fs::metadata(path);
    match &found {
        Ok(file) if file.is_dir() => {
            return Err(Error::new(
                "Database.NotADatabase",
                format!("{} is a folder, not a database file", path.display()),
            ));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            if !config.create || config.read_only {
                return Err(missing(path));
            }
            refuse_left_log(path)?;
            create(path)?;
        }
        _ => {}
    }
    // The lock first: a process that does not get it has made nothing.
    files::open_data(path, config)
}

fn missing(path: &Path) -> Error {
    Error::new(
        NOT_FOUND,
        format!(
            "{path} does not exist; make it with `graven import {path} --ldbc DIR` or \
             `graven import {path} --nodes LABEL=FILE --relationships TYPE=FILE`, or see `graven \
             demo`",
            path = path.display()
        ),
    )
}

/// Refuses to make a database where there is the log of one that is gone: it could not be written
/// to.
fn refuse_left_log(path: &Path) -> Result<(), Error> {
    let log = sibling_path(path, "-wal");
    if !std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Ok(());
    }
    let what = format!(
        "{} does not exist, but {} does, the log of a database that is gone: put its data file \
            back, or move the log away",
        path.display(),
        log.display()
    );
    Err(Error::new("Database.Exists", what))
}

/// Writes an empty database beside its place and gives it its name, so that a failure leaves
/// nothing; if another process was faster, its database is the one.
fn create(path: &Path) -> Result<(), Error> {
    let temporary = sibling_path(path, &format!("-new-{}", random_name()));
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let written = (|| {
        let file = graven_io::open(&temporary, &options)?;
        StoreWriter::create(file, WriterOptions::default())?.finish()?;
        graven_io::durable_rename_new(&temporary, path)?;
        Ok::<(), Error>(())
    })();
    if written.is_err() || temporary.exists() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
