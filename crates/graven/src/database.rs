//! An open database: file, page cache, budget, store and cached plans in one handle.

mod serving;

use crate::instance::Backend;
use crate::instance::Instance;
use crate::names::{self, Names};
use crate::right::Right;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use graven_io::ProcessLocal;
use graven_pagecache::PageCache;
use graven_storage::catalog::NameList;
use graven_wal::LogStats;

use crate::check::{self, CheckReport};
use crate::config::Config;
use crate::error::{Error, LOCKED, Retry};
use crate::files::{self, sibling_path};
use crate::info::{self, Info, Reading};
use crate::remote::client::{Attached, Failure};
use crate::remote::owner::Owner;
use crate::remote::reply_timeout::ReplyTimeout;
use crate::value::Value;

/// How long to wait for another process that has the file but does not listen: one that begins or
/// ends.
const SETTLING_MAX: Duration = Duration::from_secs(3);
const SETTLING_PAUSE: Duration = Duration::from_millis(1);
const SETTLING_PAUSE_MAX: Duration = Duration::from_millis(100);

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
///
/// One process owns the file; one that opens it while another does is *attached*: its statements
/// run in the owner, and when the owner dies one of those attached takes over, without the program
/// noticing more than a pause.
///
/// In a process made by `fork` everything that was opened before gives `Database.Forked` and does
/// nothing, not even when it is dropped; opening the file again there works as in any other
/// process.
#[derive(Clone, Debug)]
pub struct Database {
    shared: Arc<ProcessLocal<Shared>>,
}

/// A database that is not kept open by this.
#[derive(Debug)]
pub(crate) struct WeakDatabase(Weak<ProcessLocal<Shared>>);

impl WeakDatabase {
    /// The database, unless it is gone.
    pub(crate) fn upgrade(&self) -> Option<Database> {
        self.0.upgrade().map(|shared| Database { shared })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// Where a database is: here, or with its owner in another process.
#[derive(Debug)]
struct Shared {
    path: PathBuf,
    config: Config,
    /// Serves the processes attached to this one; ends before the store closes (fields drop in
    /// order).
    owner: Mutex<Option<Owner>>,
    /// Set once this process owns the file, and never unset.
    here: OnceLock<Arc<Instance>>,
    there: Mutex<Option<Arc<Attached>>>,
}

impl Database {
    /// Opens the database at `path`, or attaches to the process that has it open.
    ///
    /// # Errors
    /// `Database.NotFound` where there is no file (and [`Config::create`] is not set),
    /// `Database.NotADatabase` for another file or a folder, `Config.Invalid` for a budget or
    /// policy that cannot work, `Database.Damaged` and `Io.Failed` for a file that cannot be read,
    /// `Database.InUse` where another process has it and cannot be attached to.
    pub fn open(path: impl AsRef<Path>, config: Config) -> Result<Self, Error> {
        let database = Database {
            shared: Arc::new(ProcessLocal::new(Shared {
                path: files::resolved(path.as_ref()),
                config,
                owner: Mutex::default(),
                here: OnceLock::new(),
                there: Mutex::default(),
            })),
        };
        database.settle(None)?;
        Ok(database)
    }

    /// How long statements may run.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.shared.config.timeout
    }

    /// A handle that serves no other process, for a database that this process owns.
    pub(crate) fn here(inner: Arc<Instance>) -> Self {
        let database = Database {
            shared: Arc::new(ProcessLocal::new(Shared {
                path: inner.path.clone(),
                config: Config::default(),
                owner: Mutex::default(),
                here: OnceLock::new(),
                there: Mutex::default(),
            })),
        };
        // A new cell is empty.
        let _ = database.shared.here.set(inner);
        database
    }

    /// Refuses where it was opened by a process from which this one was forked (AT-6).
    fn check_process(&self) -> Result<(), Error> {
        Error::unless_at(self.shared.home())
    }

    /// Where statements run now.
    pub(crate) fn backend(&self) -> Result<Backend, Error> {
        self.check_process()?;
        if let Some(inner) = self.shared.here.get() {
            return Instance::used(inner).map(Backend::Local);
        }
        self.settle(None)
    }

    /// Owns the file or attaches to its owner, which is not `lost`; waits a while for one that is
    /// just coming or going.
    pub(crate) fn settle(&self, lost: Option<&Arc<Attached>>) -> Result<Backend, Error> {
        self.check_process()?;
        let shared = &**self.shared;
        let mut there = shared.there.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = shared.here.get() {
            return Instance::used(inner).map(Backend::Local);
        }
        if let Some(known) = &*there
            && lost.is_none_or(|lost| !Arc::ptr_eq(lost, known))
        {
            return Ok(Backend::Remote(Arc::clone(known)));
        }
        let deadline = Instant::now() + SETTLING_MAX;
        let mut pause = SETTLING_PAUSE;
        loop {
            let locked = match Instance::open(&shared.path, &shared.config) {
                Err(error) if error.code() == LOCKED => error,
                Err(error) => return Err(error),
                Ok(inner) => {
                    let inner = shared.here.get_or_init(|| Arc::new(inner));
                    *there = None;
                    shared.serve(inner);
                    return Ok(Backend::Local(Arc::clone(inner)));
                }
            };
            if !shared.config.attach {
                return Err(locked);
            }
            match shared.attach() {
                Ok(attached) => {
                    let attached = there.insert(Arc::new(attached));
                    return Ok(Backend::Remote(Arc::clone(attached)));
                }
                Err(Failure::Answer(error)) => return Err(error),
                // It may be recovering, or dying.
                Err(Failure::Lost(_)) if Instant::now() < deadline => std::thread::sleep(pause),
                Err(Failure::Lost(lost)) => {
                    let what = match files::other_user(&shared.path) {
                        Some(other) => format!("{}; {other}", locked.message()),
                        None => format!(
                            "{}; its process cannot be reached ({})",
                            locked.message(),
                            lost.why
                        ),
                    };
                    return Err(Error::with_retry(LOCKED, what, Retry::MayHelp));
                }
            }
            pause = (pause * 2).min(SETTLING_PAUSE_MAX);
        }
    }

    /// Attaches to the present owner of the file, without trying to be its owner.
    pub(crate) fn another_owner(&self, wait: Duration) -> Option<Arc<Attached>> {
        let shared = &**self.shared;
        let deadline = Instant::now() + wait;
        let mut pause = SETTLING_PAUSE;
        loop {
            if let Ok(attached) = shared.attach() {
                let attached = Arc::new(attached);
                let mut there = shared.there.lock().unwrap_or_else(PoisonError::into_inner);
                *there = Some(Arc::clone(&attached));
                return Some(attached);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(SETTLING_PAUSE_MAX);
        }
    }

    /// The same database, which this does not keep open.
    pub(crate) fn downgrade(&self) -> WeakDatabase {
        WeakDatabase(Arc::downgrade(&self.shared))
    }

    /// The database in this process.
    ///
    /// # Errors
    /// `Database.Attached` where another process owns it, `Database.Forked`.
    pub(crate) fn inner(&self) -> Result<&Arc<Instance>, Error> {
        self.check_process()?;
        if let Some(inner) = self.shared.here.get() {
            return inner.unless_closed().map(|()| inner);
        }
        Err({
            let there = self.shared.there.lock();
            let there = there.unwrap_or_else(PoisonError::into_inner);
            let process = there.as_ref().map_or(0, |attached| attached.process());
            Error::new(
                "Database.Attached",
                format!(
                    "{}: process {process} has the database open and runs its statements; this can \
                        only be asked \
                     there, or after it has ended",
                    self.shared.path.display()
                ),
            )
        })
    }

    /// Makes everything that was committed durable, whatever durability was asked for, notes that
    /// the database was closed cleanly, and lets other processes have the file. This handle and its
    /// clones are of no use afterwards. As long as a result or a transaction is open the file stays
    /// with this process. Dropping the last handle does the same, without telling of errors. Where
    /// another process owns the database there is nothing to do: what it acknowledged is as durable
    /// as asked for.
    ///
    /// # Errors
    /// `Database.WritesRefused` or `Io.Failed` where the device fails; `Database.Forked`.
    pub fn close(&self) -> Result<(), Error> {
        self.check_process()?;
        let Some(inner) = self.shared.here.get() else {
            return Ok(());
        };
        // Attached processes look for another owner, and wait until the file is free.
        let owner = self.shared.owner.lock();
        drop(owner.unwrap_or_else(PoisonError::into_inner).take());
        inner.keep_warm();
        let closed = inner.store.close();
        inner.closed.store(true, Ordering::SeqCst);
        // A caller that counts itself from now on sees that it is closed; one that did before has a
        // guard by now, or has ended.
        if Arc::strong_count(inner) == 1 && inner.statements.list().is_empty() {
            let lock = inner.lock.lock();
            drop(lock.unwrap_or_else(PoisonError::into_inner).take());
        }
        Ok(closed?)
    }

    /// The log that has to stay beside the data file, if there is one: while the database is open
    /// and written to, and after a close that could not fold everything into the data file within
    /// two seconds.
    #[must_use]
    pub fn needed_log(&self) -> Option<PathBuf> {
        let inner = self.shared.here.get()?;
        let needed = self.check_process().is_ok() && inner.store.needs_log();
        needed.then(|| sibling_path(&inner.path, "-wal"))
    }

    /// Why closing left commits in the log, in words: the disk is full, or there was more than two
    /// seconds' work. `None` where it left none, or did not try.
    #[must_use]
    pub fn unfolded_because(&self) -> Option<String> {
        self.shared.here.get()?.store.unfolded_because()
    }

    /// The process that owns the database, if it is another one.
    #[must_use]
    pub fn attached_to(&self) -> Option<u32> {
        if self.check_process().is_err() || self.shared.here.get().is_some() {
            return None;
        }
        let there = self
            .shared
            .there
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        there.as_ref().map(|attached| attached.process())
    }

    /// Adds a procedure of the program, for `CALL` in statements of this database handle and its
    /// clones. The signature is `name(argument :: TYPE, ...) :: (column :: TYPE, ...)`; the body
    /// gives rows with a value per column. A call needs the right: [`Right::Read`] where the body
    /// changes nothing, [`Right::Admin`] where it reaches files or settings. `SHOW PROCEDURES`
    /// shows it. A procedure of the same name that was added before is replaced.
    ///
    /// # Errors
    /// `Config.Invalid` for a signature that cannot be read.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::{Right, Value};
    /// db.register_procedure("my.twice(n :: INTEGER) :: (twice :: INTEGER)", Right::Read, |args| {
    ///     let n = args[0].as_integer().ok_or("n is null")?;
    ///     Ok(vec![vec![Value::from(2 * n)]])
    /// })?;
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn register_procedure(
        &self,
        signature: &str,
        right: Right,
        body: impl Fn(&[Value]) -> Result<Vec<Vec<Value>>, String> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let registered = &self.inner()?.registered;
        registered.add(signature, right, Arc::new(body))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Whether the database is meant by this name, in whatever letters: that of its file without
    /// the ending, `neo4j`, or `system`. `USE` takes the same names.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        names::is_of_file(name, self.path())
    }

    /// The budget in bytes; the owner's, where another process has the database.
    #[must_use]
    pub fn memory(&self) -> u64 {
        match self.backend() {
            Ok(Backend::Local(inner)) => inner.budget.limit(),
            Ok(Backend::Remote(attached)) => attached.memory(),
            Err(_) => self.shared.config.memory,
        }
    }

    /// Changes the budget while queries run. When it shrinks, memory goes back to the system before
    /// this returns.
    ///
    /// # Errors
    /// `Memory.Limit`, naming the holders of the memory, where it cannot shrink that far; the old
    /// budget stays.
    pub fn set_memory(&self, bytes: u64) -> Result<(), Error> {
        Ok(self.inner()?.cache.resize(bytes)?)
    }

    /// Changes the replacement policy while queries run; no page is lost.
    ///
    /// # Errors
    /// `Config.Invalid` where there is no such policy; the old one stays.
    pub fn set_policy(&self, spec: &str) -> Result<(), Error> {
        Ok(self.inner()?.cache.set_policy(spec)?)
    }

    /// The page cache, with its counters.
    ///
    /// # Errors
    /// `Database.Attached` where another process owns the database, and with it the cache.
    pub fn cache(&self) -> Result<&Arc<PageCache>, Error> {
        Ok(&self.inner()?.cache)
    }

    /// What the log has done since the database was opened and what it holds; all zero while
    /// nothing was written.
    ///
    /// # Errors
    /// As [`Database::cache`].
    pub fn log_stats(&self) -> Result<LogStats, Error> {
        Ok(self.inner()?.store.log_stats())
    }

    /// How pages are read, after any fallback.
    ///
    /// # Errors
    /// As [`Database::cache`].
    pub fn reading(&self) -> Result<Reading, Error> {
        Ok(info::reading(self.inner()?))
    }

    /// What the file holds, store by store, and how it is read. Where another process has the
    /// database open, that process tells.
    ///
    /// # Errors
    /// `Database.InUse` where another process has the database and cannot be reached.
    pub fn info(&self) -> Result<Info, Error> {
        match self.backend()? {
            Backend::Local(inner) => Ok(info::describe(&inner)),
            Backend::Remote(_) => self.let_owner_describe(),
        }
    }

    /// Reads and verifies everything the file holds, and compares its stores with each other.
    /// `begins` is told the name of each store before it is read. Where another process has the
    /// database open, that process does it, and `begins` is not called.
    ///
    /// # Errors
    /// `Database.InUse` where another process has the database and cannot be reached.
    pub fn check(&self, begins: &mut dyn FnMut(&str)) -> Result<CheckReport, Error> {
        match self.backend()? {
            Backend::Local(inner) => Ok(check::check(&inner.store, begins, &|| false)),
            Backend::Remote(_) => self.let_owner_check(),
        }
    }

    /// Labels, relationship types and property keys.
    ///
    /// # Errors
    /// `Database.InUse` where another process has the database and cannot be reached.
    pub fn names(&self) -> Result<Names, Error> {
        let inner = match self.backend()? {
            Backend::Remote(attached) => return self.ask(attached, |attached| attached.names()),
            Backend::Local(inner) => inner,
        };
        let snapshot = inner.store.snapshot();
        let catalog = snapshot.catalog();
        let list = |names: NameList<'_>| names.iter().map(ToString::to_string).collect();
        Ok(Names {
            labels: list(catalog.labels()),
            types: list(catalog.types()),
            keys: list(catalog.keys()),
        })
    }

    /// Asks the present owner for something that changes nothing; where this process takes over in
    /// the course of it, it attaches to itself for the answer.
    pub(crate) fn ask<T>(
        &self,
        mut attached: Arc<Attached>,
        mut question: impl FnMut(&Attached) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        loop {
            match question(&attached) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Answer(error)) => return Err(error),
                Err(Failure::Lost(_)) => {}
            }
            attached = match self.settle(Some(&attached))? {
                Backend::Remote(attached) => attached,
                Backend::Local(_) => {
                    let own = self.shared.attach();
                    Arc::new(own.map_err(Failure::into_error)?)
                }
            };
        }
    }
}

impl Shared {
    /// Reaches the owner of the file.
    fn attach(&self) -> Result<Attached, Failure> {
        let reply_timeout = ReplyTimeout::of(self.config.timeout);
        Attached::connect(&self.path, self.config.read_only, &reply_timeout)
    }
}
