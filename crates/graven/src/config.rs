//! How a database is opened.

use std::sync::Arc;
use std::time::Duration;

use graven_exec::Tuning;
use graven_pagecache::Budget;
use graven_pagecache::pools::Pools;

use crate::memory::default_memory;

/// Settings of [`Database::open`](crate::Database::open). Start from [`Config::default`] and change
/// fields.
///
/// # Examples
/// ```
/// let mut config = graven::Config::default();
/// config.memory = graven::parse_bytes("16MiB")?;
/// config.policy = "lru".into();
/// # Ok::<(), graven::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The whole budget in bytes: pages, operators, results. At least 1 MiB.
    pub memory: u64,
    /// A budget shared with other databases; then `memory` is not used.
    pub budget: Option<Arc<Budget>>,
    /// Replacement policy of the page cache, a name with parameters such as `gclock:max=7,init=1`.
    pub policy: String,
    /// Fixed pools for pages of fixed sizes instead of one budget for all, for comparison: read
    /// from text such as `static:4KiB=75%,256KiB=25%`.
    pub pools: Option<Pools>,
    /// Threads that one statement may use where it reads many nodes; at least 1.
    pub threads: usize,
    /// How pages are read.
    pub io: IoMode,
    /// Never write, not even to create the file.
    pub read_only: bool,
    /// Create an empty database where there is no file.
    pub create: bool,
    /// Open a data file that needs its log where the log is missing: without the commits that only
    /// the log has. What is written then makes a new log, beside which the missing one cannot be
    /// put back.
    pub without_log: bool,
    /// How long closing may take to fold what was committed into the data file, after which there
    /// is no log any more; `None`: the log stays.
    pub fold_on_close: Option<Duration>,
    /// The file is of the format before this one: [`crate::Database::upgrade`] opens it so.
    pub(crate) older_format: bool,
    /// How long a statement may run, from its start to its last row; none: as long as it takes. A
    /// connection may say otherwise: [`Connection::with_timeout`](crate::Connection::with_timeout).
    pub timeout: Option<Duration>,
    /// Attach to the process that has the file open, and let others attach to this one.
    pub attach: bool,
    /// Write down what is in memory when the database is closed, in a file `-warm` beside it, and
    /// read it again after the next opening, while statements run.
    pub keep_warm: bool,
    /// A folder for blocks of a database in object storage, so that each is asked for once; it may
    /// be shared with other processes and outlives them.
    pub disk_cache: Option<std::path::PathBuf>,
    /// Bytes that the files of `disk_cache` may take; and those of a copy of an object that can
    /// only be read as a whole, such as a file of a web server that answers no ranges.
    pub disk_budget: u64,
    /// Thresholds of the executor, for tests that force either side of a choice; its threads are
    /// `threads`.
    #[doc(hidden)]
    pub tuning: Tuning,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            memory: default_memory(),
            budget: None,
            policy: DEFAULT_POLICY.to_owned(),
            pools: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            io: IoMode::Direct,
            read_only: false,
            create: false,
            without_log: false,
            fold_on_close: Some(graven_storage::FOLD_ON_CLOSE),
            older_format: false,
            timeout: None,
            attach: true,
            keep_warm: false,
            disk_cache: None,
            disk_budget: graven_objects::DISK_BUDGET,
            tuning: Tuning::default(),
        }
    }
}

/// The policy a database starts with.
pub const DEFAULT_POLICY: &str = graven_pagecache::DEFAULT_POLICY;

/// How pages are read from the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum IoMode {
    /// Past the operating system's cache, so that the budget is all the memory the data takes.
    /// Falls back to buffered reads where the file system cannot do it; `graven info` says so.
    #[default]
    Direct,
    /// Through the operating system's cache.
    Buffered,
}

impl std::str::FromStr for IoMode {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "direct" => Ok(IoMode::Direct),
            "buffered" => Ok(IoMode::Buffered),
            _ => Err(crate::Error::config(format!(
                "`{text}` is not an I/O mode; use direct or buffered"
            ))),
        }
    }
}

impl std::fmt::Display for IoMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            IoMode::Direct => "direct",
            IoMode::Buffered => "buffered",
        })
    }
}

impl From<IoMode> for graven_io::IoMode {
    fn from(mode: IoMode) -> Self {
        match mode {
            IoMode::Direct => graven_io::IoMode::Direct,
            IoMode::Buffered => graven_io::IoMode::Buffered,
        }
    }
}
