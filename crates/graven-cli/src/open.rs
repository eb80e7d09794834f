//! Opening a database as the arguments ask.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use graven::pagecache::pools::Pools;
use graven::{Config, Database, IoMode, Touches, pagecache, touches};
use graven_binding::{Folder, Location};

use crate::allocator;
use crate::argument;
use crate::control::Control;
use crate::failure::Failure;

/// The name of a new database that is gone at the end.
const IN_MEMORY: &str = ":memory:";

/// The database and how to open it.
#[derive(Args, Debug)]
pub(crate) struct Open {
    /// The database file, or the URL of a published snapshot: s3://BUCKET/PREFIX/, file:///FOLDER/;
    /// for statements also :memory:, a new one that is gone at the end
    pub(crate) db: PathBuf,
    #[command(flatten)]
    pub(crate) how: How,
}

/// How a database is opened.
#[derive(Args, Debug)]
pub(crate) struct How {
    /// The whole memory budget: pages, operators, results [default: a quarter of the memory there
    /// is]
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE")]
    memory: Option<u64>,
    /// Replacement policy of the page cache, with parameters as in gclock:max=7
    #[arg(long, value_name = "SPEC")]
    policy: Option<String>,
    /// Fixed pools instead of one budget for pages of all sizes, for comparison
    #[arg(long, value_name = "static:SIZE=PERCENT,...")]
    pools: Option<Pools>,
    /// Threads that one statement may use where it reads many nodes [default: the cores there are]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// How pages are read: direct or buffered
    #[arg(long, default_value = "direct")]
    io: IoMode,
    /// Never write to the file
    #[arg(long)]
    read_only: bool,
    /// Open a database whose log is missing, without the commits that only the log has
    #[arg(long)]
    without_log: bool,
    /// `keep`: write down at the end what is in memory, and read it again after the next opening
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "none",
        hide_default_value = true
    )]
    warm: Warm,
    /// A folder for blocks of a published snapshot, so that each is asked for once
    #[arg(long, value_name = "DIR")]
    disk_cache: Option<PathBuf>,
    /// What the files of --disk-cache may take, and the copy of a file that a web server sends only
    /// as a whole
    #[arg(
        long,
        value_parser = argument::bytes,
        value_name = "SIZE",
        default_value = "10GiB"
    )]
    disk_budget: u64,
}

/// What becomes of the page cache's content between two openings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Warm {
    /// It is gone.
    None,
    /// It is read again.
    Keep,
}

/// A database for statements, and its folder if it is one without a name.
pub(crate) struct Opened {
    database: Database,
    folder: Folder,
}

impl Deref for Opened {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

impl Opened {
    /// Whether it is gone at the end, so that no commit need wait for the device.
    pub(crate) fn is_temporary(&self) -> bool {
        self.folder.is_temporary()
    }

    /// Closes it; of files that stay, says which have to stay together.
    pub(crate) fn close(self) -> Result<(), Failure> {
        match self.is_temporary() {
            true => Ok(self.database.close()?),
            false => close(&self.database),
        }
    }
}

/// Refuses the name of a database that is gone at the end, where a file is wanted.
pub(crate) fn check_is_file(db: &Path) -> Result<(), Failure> {
    match db.as_os_str() == IN_MEMORY {
        true => Err(Failure::usage(format!(
            "{IN_MEMORY} is a new, empty database that is gone at the end: `graven shell` and \
                `graven query` take it, this command wants a file"
        ))),
        false => Ok(()),
    }
}

/// Closes it, and says where its files have to stay together.
pub(crate) fn close(db: &Database) -> Result<(), Failure> {
    db.close()?;
    if let Some(log) = db.needed_log() {
        if !log.exists() {
            eprintln!(
                "{} was read without its log: {} is missing still, and commits may be in it",
                db.path().display(),
                log.display()
            );
            return Ok(());
        }
        let because = db.unfolded_because();
        let because = because.map(|why| format!(" ({why})")).unwrap_or_default();
        eprintln!(
            "{} has commits that are not in {} yet{because}: keep both files together, or merge \
                them with `graven checkpoint {}`",
            log.display(),
            db.path().display(),
            db.path().display()
        );
    }
    Ok(())
}

impl How {
    /// The configuration that this asks for; the allocator is told of the memory limit.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        if let Some(memory) = self.memory {
            config.memory = memory;
        }
        allocator::keep_freed_memory(config.memory);
        if let Some(threads) = self.threads {
            config.threads = threads.get();
        }
        if let Some(policy) = &self.policy {
            config.policy.clone_from(policy);
        }
        config.pools.clone_from(&self.pools);
        config.io = self.io;
        config.read_only = self.read_only;
        config.without_log = self.without_log;
        config.keep_warm = self.warm == Warm::Keep;
        config.disk_cache.clone_from(&self.disk_cache);
        config.disk_budget = self.disk_budget;
        config
    }

    /// The first of these options that means one file.
    pub(crate) fn of_one_file(&self) -> Option<&'static str> {
        let read_only = self.read_only.then_some("--read-only");
        let without_log = self.without_log.then_some("--without-log");
        let pools = self.pools.as_ref().map(|_| "--pools");
        let disk_cache = self.disk_cache.as_ref().map(|_| "--disk-cache");
        read_only.or(without_log).or(pools).or(disk_cache)
    }
}

impl Open {
    /// Opens it.
    pub(crate) fn database(&self) -> Result<Database, Failure> {
        self.open(false, None)
    }

    /// Opens it, a new one if there is none; says so on standard error then. Statements, and the
    /// answer of the process that has it open, may take so long.
    pub(crate) fn database_or_new(&self, timeout: Option<Duration>) -> Result<Opened, Failure> {
        if self.db.as_os_str() == IN_MEMORY {
            return self.in_memory(timeout);
        }
        let database = self.file_or_new(timeout)?;
        Ok(Opened {
            database,
            folder: Folder::default(),
        })
    }

    /// A new one that is gone at the end.
    fn in_memory(&self, timeout: Option<Duration>) -> Result<Opened, Failure> {
        let mut config = self.how.config();
        config.timeout = timeout;
        config.create = true;
        config.fold_on_close = None;
        let location = Location::of(&self.db, &config)?;
        Ok(Opened {
            database: Database::open(&location.path, config)?,
            folder: location.folder,
        })
    }

    fn file_or_new(&self, timeout: Option<Duration>) -> Result<Database, Failure> {
        let new = !self.how.read_only && !self.is_there();
        let db = self.open(new, timeout)?;
        if new {
            eprintln!(
                "{} did not exist: made an empty database",
                self.db.display()
            );
        }
        Ok(db)
    }

    /// Opens it for these statements: a new one if there is none and they write. Otherwise a
    /// mistyped name would leave a file behind, and be answered as if nothing were stored.
    pub(crate) fn database_for(
        &self,
        statements: &[&str],
        timeout: Option<Duration>,
    ) -> Result<Opened, Failure> {
        if self.db.as_os_str() == IN_MEMORY {
            return self.in_memory(timeout);
        }
        let opened = |database| Opened {
            database,
            folder: Folder::default(),
        };
        if self.how.read_only || self.is_there() {
            return self.open(false, timeout).map(opened);
        }
        let mut all = Vec::new();
        for statement in statements {
            if Control::read(statement).is_none() {
                all.push(touches(statement).map_err(|e| Failure::failed(e.render()))?);
            }
        }
        if all.contains(&Touches::Writes) {
            return self.database_or_new(timeout);
        }
        let found = self.open(false, timeout).map(opened);
        found.map_err(|failure| match failure {
            Failure::Failed(message) => Failure::Failed(format!(
                "{message}; statements that write, such as CREATE, make it too"
            )),
            other => other,
        })
    }

    fn open(&self, create: bool, timeout: Option<Duration>) -> Result<Database, Failure> {
        check_is_file(&self.db)?;
        let mut config = self.how.config();
        config.timeout = timeout;
        config.create = create;
        let database = Database::open(&self.db, config)?;
        if let Some(process) = database.attached_to() {
            if let Some(policy) = &self.how.policy {
                check_policy(policy)?;
            }
            let memory = self.how.memory.map(|_| "--memory");
            let policy = self.how.policy.as_ref().map(|_| "--policy");
            let pools = self.how.pools.as_ref().map(|_| "--pools");
            for option in memory.into_iter().chain(policy).chain(pools) {
                eprintln!(
                    "{option} has no effect: process {process} has the database open, and its \
                        settings hold"
                );
            }
        }
        Ok(database)
    }

    /// Opens it for a server, which makes a new one only if it is told to.
    pub(crate) fn database_to_serve(&self, create: bool) -> Result<Database, Failure> {
        if create {
            return self.file_or_new(None);
        }
        let opened = self.open(false, None);
        opened.map_err(|failure| match failure {
            Failure::Failed(message) if !self.is_there() => Failure::Failed(format!(
                "{message}; or serve a new, empty one with --create"
            )),
            other => other,
        })
    }

    /// Whether opening need not make it; a URL is looked at by opening it.
    fn is_there(&self) -> bool {
        self.is_published() || self.db.exists()
    }

    /// Whether it is a snapshot in object storage.
    pub(crate) fn is_published(&self) -> bool {
        graven::is_url(&self.db)
    }

    /// Whether nothing may be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.how.read_only || self.is_published()
    }
}

/// Refuses what is no policy, where no page cache is made that would.
fn check_policy(spec: &str) -> Result<(), Failure> {
    let mut settings = pagecache::Config::new(pagecache::Budget::new(pagecache::BUDGET_BYTES_MIN));
    spec.clone_into(&mut settings.policy);
    match pagecache::PageCache::new(settings) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}
