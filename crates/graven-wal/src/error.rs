//! What can go wrong with a log.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Lsn;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong with a log.
#[derive(thiserror::Error, Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The file fails where nothing was at stake yet (opening, reading).
    #[error(transparent)]
    Io(Arc<graven_io::Error>),
    /// Something that was durable cannot be read any more.
    #[error(
        "log {} is damaged at offset {offset} (LSN {lsn}): {reason}; the log was not changed, \
         `graven salvage` copies what can still be read", path.display()
    )]
    Corrupt {
        /// The log.
        path: PathBuf,
        /// Byte of the file where the damage begins.
        offset: u64,
        /// First position of the stream that is missing.
        lsn: Lsn,
        /// What was found there.
        reason: String,
    },
    /// The log of another store or of another life of this one.
    #[error(
        "log {} belongs to {found}, the data file to {expected}: put the log that was written with \
            this data \
         file beside it", path.display()
    )]
    Foreign {
        /// The log.
        path: PathBuf,
        /// Store and generation of the data file.
        expected: String,
        /// Store and generation of the log.
        found: String,
    },
    /// Not a log at all.
    #[error("{} is no Graven log: {reason}", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// Written by a newer build.
    #[error(
        "log {} has version {found}, this build knows {known}: open the database once with the \
            newer build and \
         close it", path.display()
    )]
    Newer {
        /// The log.
        path: PathBuf,
        /// Version, or number of a record's kind, found.
        found: u32,
        /// Newest known.
        known: u32,
    },
    /// The log cannot grow. Nothing of the append was taken; what was committed before is safe.
    #[error(
        "log {} cannot grow by {wanted} bytes: the disk is full ({source}); nothing of this append \
            was logged, \
         earlier commits are durable; free space or run a checkpoint, then try \
         again", path.display()
    )]
    DiskFull {
        /// The log.
        path: PathBuf,
        /// Bytes that were to be added.
        wanted: u64,
        /// What the system said.
        source: Arc<graven_io::Error>,
    },
    /// A write or sync failed earlier; the log refuses to write.
    #[error(
        "log {} stopped at LSN {durable}: {reason}; everything up to there is durable, whether \
            later commits are is \
         not known until the database is opened again", path.display()
    )]
    Failed {
        /// The log.
        path: PathBuf,
        /// Everything below is durable.
        durable: Lsn,
        /// The first failure.
        reason: Arc<str>,
    },
    /// A record is too long.
    #[error(
        "a record of {bytes} bytes is longer than the {max} that a log record may have; split it"
    )]
    RecordTooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The options make no sense.
    #[error("log option {option} = {value}: {reason}")]
    Option {
        /// Which.
        option: &'static str,
        /// Its value.
        value: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The log was closed.
    #[error("log {} is closed", path.display())]
    Closed {
        /// The log.
        path: PathBuf,
    },
}

impl Error {
    /// Whether a full disk is the cause.
    #[must_use]
    pub fn is_storage_full(&self) -> bool {
        match self {
            Error::DiskFull { .. } => true,
            Error::Io(source) => source.is_storage_full(),
            _ => false,
        }
    }
}

impl From<graven_io::Error> for Error {
    fn from(error: graven_io::Error) -> Error {
        Error::Io(Arc::new(error))
    }
}
