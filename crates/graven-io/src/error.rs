//! What can go wrong with a file, with the numbers needed to act on it.

use std::io;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The operation that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operation {
    /// Opening or creating.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Making durable.
    Sync,
    /// Asking for or setting the length.
    Length,
    /// Reserving space.
    Allocate,
    /// Renaming, or making a rename durable.
    Rename,
    /// Setting up or driving a read queue.
    Queue,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operation::Open => "open",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Sync => "sync",
            Operation::Length => "change the length of",
            Operation::Allocate => "reserve space in",
            Operation::Rename => "rename",
            Operation::Queue => "queue reads of",
        })
    }
}

/// What can go wrong with a file.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused or failed an operation.
    #[error("cannot {operation} {} (offset {offset}, {length} bytes): {source}", path.display())]
    Os {
        /// What was tried.
        operation: Operation,
        /// On which file.
        path: PathBuf,
        /// At which byte; 0 where the operation has none.
        offset: u64,
        /// How many bytes; 0 where the operation has none.
        length: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before the wanted bytes do.
    #[error(
        "{} ends too early: wanted {wanted} bytes at offset {offset}, got {got}",
        path.display()
    )]
    ShortRead {
        /// Which file.
        path: PathBuf,
        /// Where the read began.
        offset: u64,
        /// Bytes wanted.
        wanted: u64,
        /// Bytes there.
        got: u64,
    },
    /// A direct file takes only aligned offsets and lengths.
    #[error(
        "cannot {operation} {length} bytes at offset {offset} of {}: it is open in direct mode and \
         needs multiples of {alignment}; align the request or open the file buffered",
        path.display()
    )]
    Unaligned {
        /// What was tried.
        operation: Operation,
        /// On which file.
        path: PathBuf,
        /// At which byte.
        offset: u64,
        /// How many bytes.
        length: u64,
        /// What both must be multiples of.
        alignment: u64,
    },
    /// A read request is malformed.
    #[error(
        "read request for offset {offset} has {parts} parts of {bytes} bytes; 1 to {max} parts of \
            1 byte to 1 GiB are allowed"
    )]
    BadRequest {
        /// Where it wanted to read.
        offset: u64,
        /// Its number of parts.
        parts: usize,
        /// Its bytes.
        bytes: u64,
        /// Most parts allowed.
        max: usize,
    },
    /// The counters of this process cannot be read here.
    #[error("no input/output counters: {reason}")]
    NoCounters {
        /// Why.
        reason: String,
    },
}

impl Error {
    /// An [`Error::Os`] without offset and length.
    pub(crate) fn os(operation: Operation, path: &Path, source: io::Error) -> Error {
        Error::at(operation, path, 0, 0, source)
    }

    /// An [`Error::Os`] for a range of the file.
    pub(crate) fn at(
        operation: Operation,
        path: &Path,
        offset: u64,
        length: usize,
        source: io::Error,
    ) -> Error {
        Error::Os {
            operation,
            path: path.to_path_buf(),
            offset,
            length: length as u64,
            source,
        }
    }

    /// The kind of failure in the standard library's terms.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Error::Os { source, .. } => source.kind(),
            Error::ShortRead { .. } => io::ErrorKind::UnexpectedEof,
            Error::Unaligned { .. } | Error::BadRequest { .. } => io::ErrorKind::InvalidInput,
            Error::NoCounters { .. } => io::ErrorKind::Unsupported,
        }
    }

    /// Whether the disk is full, or a quota or a limit of the file's size (`ulimit -f`) is reached.
    pub fn is_storage_full(&self) -> bool {
        matches!(
            self.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    }
}

impl From<Error> for io::Error {
    /// The system's own error where there is one, so that its code is not lost.
    fn from(error: Error) -> io::Error {
        match error {
            Error::Os { source, .. } if source.raw_os_error().is_some() => source,
            other => io::Error::new(other.kind(), other.to_string()),
        }
    }
}
