//! An open database: file, page cache, budget, store and cached plans in one handle.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{FileLock, OpenOptions};
use graven_pagecache::{Budget, PageCache, SpillFile};
use graven_storage::{Store, StoreWriter, WriterOptions};

use crate::check::{self, CheckReport};
use crate::config::{Config, IoMode};
use crate::connection::Connection;
use crate::error::Error;
use crate::files::{self, DataFile, LogBeside};
use crate::info::{self, Info, Reading};
use crate::plan_cache::PlanCache;
use crate::procedures::registered::Registry;
use crate::value::Value;

/// An open database. Cheap to clone; clones share everything; may be used by many threads.
///
/// # Examples
/// ```no_run
/// use graven::{Config, Database, Params};
///
/// let mut config = Config::default();
/// config.memory = graven::parse_bytes("16MiB")?;
/// let db = Database::open("social.graven", config)?;
/// let mut result = db.connect().query(
///     "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) RETURN count(DISTINCT f) AS reached",
///     &Params::new().with("id", 933),
/// )?;
/// while let Some(row) = result.next_row()? {
///     println!("{}", row.values()[0]);
/// }
/// # Ok::<(), graven::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
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
    /// Given back last.
    _lock: FileLock,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // What was acknowledged is in the log; there is nobody to tell.
        let _ = self.store.close();
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Names in a database, for completion and overviews.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Labels.
    pub labels: Vec<String>,
    /// Relationship types.
    pub types: Vec<String>,
    /// Property keys.
    pub keys: Vec<String>,
}

impl Database {
    /// Opens the database at `path`.
    ///
    /// # Errors
    /// `Database.NotFound` where there is no file (and [`Config::create`] is not set), `Database.NotADatabase`
    /// for another file or a folder, `Config.Invalid` for a budget or policy that cannot work, `Database.InUse` where
    /// another process, or another handle of this one, writes or reads the file,
    /// `Database.Damaged` and `Io.Failed` for a file that cannot be read.
    pub fn open(path: impl AsRef<Path>, config: Config) -> Result<Self, Error> {
        let path = path.as_ref();
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
                create(path)?;
            }
            _ => {}
        }
        let budget = match &config.budget {
            Some(budget) => Arc::clone(budget),
            None => Budget::new(config.memory),
        };
        let mut settings = graven_pagecache::Config::new(Arc::clone(&budget));
        settings.policy.clone_from(&config.policy);
        let cache = PageCache::new(settings)?;
        let DataFile {
            file,
            lock,
            read_only,
        } = files::open_data(path, &config)?;
        let mode = file.mode();
        let spill = Arc::new(SpillFile::at(&cache, beside(path, "-tmp"), u64::MAX)?);
        let log = LogBeside::new(beside(path, "-wal"), &config, read_only.is_some());
        let mut options = graven_storage::OpenOptions::new(Box::new(log));
        options.read_only = read_only;
        let store = Store::open_with(file, Arc::clone(&cache), options)?;
        Ok(Database {
            inner: Arc::new(Inner {
                path: path.to_path_buf(),
                requested: config.io,
                mode,
                cache,
                budget,
                spill,
                store,
                plans: PlanCache::default(),
                registered: Registry::default(),
                _lock: lock,
            }),
        })
    }

    /// Makes everything that was committed durable, whatever durability was asked for, and notes that the database
    /// was closed cleanly. Later commits fail. Dropping the last handle does the same, without telling of errors.
    ///
    /// # Errors
    /// `Database.WritesRefused` or `Io.Failed` where the device fails.
    pub fn close(&self) -> Result<(), Error> {
        Ok(self.inner.store.close()?)
    }

    /// A connection: where statements are run and cancelled.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone())
    }

    /// Adds a procedure of the program, for `CALL` in statements of this database handle and its clones. The
    /// signature is `name(argument :: TYPE, ...) :: (column :: TYPE, ...)`; the body gives rows with a value per
    /// column. A procedure of the same name that was added before is replaced.
    ///
    /// # Errors
    /// `Config.Invalid` for a signature that cannot be read.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::Value;
    /// db.register_procedure("my.twice(n :: INTEGER) :: (twice :: INTEGER)", |args| {
    ///     let n = args[0].as_integer().ok_or("n is null")?;
    ///     Ok(vec![vec![Value::from(2 * n)]])
    /// })?;
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn register_procedure(
        &self,
        signature: &str,
        body: impl Fn(&[Value]) -> Result<Vec<Vec<Value>>, String> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.inner.registered.add(signature, Arc::new(body))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The budget in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.inner.budget.limit()
    }

    /// Changes the budget while queries run. When it shrinks, memory goes back to the system before this
    /// returns.
    ///
    /// # Errors
    /// `Memory.Limit`, naming who holds the memory, where it cannot shrink that far; the old budget stays.
    pub fn set_memory(&self, bytes: u64) -> Result<(), Error> {
        Ok(self.inner.cache.resize(bytes)?)
    }

    /// Changes the replacement policy while queries run; no page is lost.
    ///
    /// # Errors
    /// `Config.Invalid` where there is no such policy; the old one stays.
    pub fn set_policy(&self, spec: &str) -> Result<(), Error> {
        Ok(self.inner.cache.set_policy(spec)?)
    }

    /// The page cache, with its counters.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        &self.inner.cache
    }

    /// How pages are read, after any fallback.
    #[must_use]
    pub fn reading(&self) -> Reading {
        info::reading(&self.inner)
    }

    /// What the file holds, store by store, and how it is read.
    #[must_use]
    pub fn info(&self) -> Info {
        info::describe(&self.inner)
    }

    /// Reads and verifies everything the file holds, and compares its stores with each other. `begins` is told
    /// the name of each store before it is read.
    pub fn check(&self, begins: &mut dyn FnMut(&str)) -> CheckReport {
        check::check(&self.inner.store.snapshot(), begins)
    }

    /// Labels, relationship types and property keys.
    #[must_use]
    pub fn names(&self) -> Names {
        let snapshot = self.inner.store.snapshot();
        let catalog = snapshot.catalog();
        let list = |names: &[Arc<str>]| names.iter().map(ToString::to_string).collect();
        Names {
            labels: list(catalog.labels()),
            types: list(catalog.types()),
            keys: list(catalog.keys()),
        }
    }
}

/// The file beside the database whose name ends in `suffix`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

fn missing(path: &Path) -> Error {
    Error::new(
        "Database.NotFound",
        format!(
            "{path} does not exist; make it with `graven import {path} --ldbc DIR` or \
             `graven import {path} --nodes LABEL=FILE --relationships TYPE=FILE`, or see `graven demo`",
            path = path.display()
        ),
    )
}

/// Writes an empty database beside its place and renames it there, so that a failure leaves nothing.
fn create(path: &Path) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = path.with_file_name(name);
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let written = (|| {
        let file = graven_io::open(&temporary, &options)?;
        StoreWriter::create(file, WriterOptions::default())?.finish()?;
        graven_io::durable_rename(&temporary, path)?;
        Ok::<(), Error>(())
    })();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
