//! Everything that can go wrong in the page cache.

use crate::budget::{BudgetError, Holder, Holders};
use crate::page::Damage;
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef};
use std::path::PathBuf;
use std::sync::Arc;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The page is not what it should be.
    #[error("damaged page: {}: {kind} page {page}: {damage}", file.display())]
    Damaged {
        /// The file read.
        file: PathBuf,
        /// The reference it was read by.
        page: PageRef,
        /// The kind the reader expects.
        kind: PageKind,
        /// What was found and what was expected.
        damage: Damage,
    },
    /// The file could not be read or written.
    #[error("{}: {operation} of {page} failed: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The page.
        page: PageRef,
        /// `read` or `write`.
        operation: &'static str,
        /// What the file said.
        source: Arc<graven_io::Error>,
    },
    /// The file does not tell its length.
    #[error("{}: cannot find out its length: {source}", file.display())]
    Length {
        /// The file.
        file: PathBuf,
        /// What the file said.
        source: Arc<graven_io::Error>,
    },
    /// The queue of reads of a file could not be made.
    #[error("{}: cannot open a read queue: {source}", file.display())]
    Queue {
        /// The file.
        file: PathBuf,
        /// What the file said.
        source: Arc<graven_io::Error>,
    },
    /// No frame could be had: everything is pinned or being read.
    #[error(
        "no frame of {wanted} bytes could be freed within {waited_ms} ms: {pinned_pages} pages of \
            {pinned_bytes} bytes are pinned, \
         memory limit {limit} bytes ({}); release pins or raise the memory limit",
        Holders(holders)
    )]
    AllPinned {
        /// Bytes of the frame wanted.
        wanted: usize,
        /// Milliseconds waited.
        waited_ms: u64,
        /// Pages with at least one pin.
        pinned_pages: u64,
        /// Bytes of those pages.
        pinned_bytes: u64,
        /// The limit of the budget.
        limit: u64,
        /// What holds the memory: pinned bytes by page kind, then reservations by tag.
        holders: Vec<Holder>,
    },
    /// The budget is exhausted by others than frames.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The memory limit cannot hold a working page cache.
    #[error(
        "memory limit of {bytes} bytes is too small for a page cache, at least {minimum} are needed"
    )]
    TooSmall {
        /// Bytes asked for.
        bytes: u64,
        /// Smallest limit that works.
        minimum: u64,
    },
    /// Shrinking did not succeed.
    #[error(
        "cannot shrink memory from {from} to {to} bytes, {used} stay in use ({}); the limit stays \
            at {from}",
        Holders(holders)
    )]
    CannotShrink {
        /// Limit before.
        from: u64,
        /// Limit wanted.
        to: u64,
        /// Bytes that could not be given back.
        used: u64,
        /// What holds them.
        holders: Vec<Holder>,
    },
    /// Memory could not be mapped.
    #[error(
        "cannot map {bytes} bytes of memory: {reason}; check `ulimit -v` and the container's \
            memory limit"
    )]
    Map {
        /// Bytes wanted.
        bytes: u64,
        /// What the system said.
        reason: String,
    },
    /// The policy specification is wrong.
    #[error("policy `{spec}`: {reason}")]
    Policy {
        /// The specification given.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The cache cannot have these pools.
    #[error("{0}")]
    Pools(String),
    /// Accesses cannot be watched.
    #[error(
        "accesses cannot be watched: {0}; give the budget more room or end a large query first"
    )]
    Watch(String),
    /// No such file in this cache.
    #[error("file number {} is not open in this page cache", .0.0)]
    UnknownFile(FileId),
    /// The page lies outside what the cache can address in this file.
    #[error("{}: {page} lies behind the end of the file ({len} bytes)", file.display())]
    BeyondEnd {
        /// The file.
        file: PathBuf,
        /// The page.
        page: PageRef,
        /// Length of the file.
        len: u64,
    },
    /// One page has as many pins as it can have.
    #[error("{}: {page} has {pins} pins, no more fit; give some back", file.display())]
    TooManyPins {
        /// The file.
        file: PathBuf,
        /// The page.
        page: PageRef,
        /// Pins of the page.
        pins: u64,
    },
    /// The page or file is in use.
    #[error("{what} is still in use: {pinned_pages} pages are pinned")]
    InUse {
        /// What was to be removed.
        what: String,
        /// Pages that are pinned.
        pinned_pages: u64,
    },
    /// The file was added for reading only.
    #[error("{} was added to the page cache for reading only", .0.display())]
    ReadOnly(PathBuf),
    /// The spill file may not grow any more.
    #[error(
        "{}: the limit of {limit} bytes for temporary data is reached; raise it or the memory \
            limit",
        file.display()
    )]
    SpillLimit {
        /// The spill file.
        file: PathBuf,
        /// Its limit in bytes.
        limit: u64,
    },
    /// Too many files.
    #[error("a page cache holds at most {0} files")]
    TooManyFiles(usize),
}

impl Error {
    /// Whether there is no room on the disk.
    #[must_use]
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.is_storage_full())
    }

    /// Whether it is memory that lacks.
    #[must_use]
    pub fn is_memory_limit(&self) -> bool {
        matches!(
            self,
            Error::AllPinned { .. }
                | Error::Budget(_)
                | Error::CannotShrink { .. }
                | Error::Map { .. }
        )
    }

    /// Whether a later retry may succeed without an intervention.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::AllPinned { .. }
                | Error::TooManyPins { .. }
                | Error::Budget(_)
                | Error::CannotShrink { .. }
                | Error::InUse { .. }
        )
    }
}
