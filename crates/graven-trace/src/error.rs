//! What can go wrong with a trace file.

use std::io;
use std::path::{Path, PathBuf};

/// A trace that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file system or the decompressor refused.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no trace of the format it was read as.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the values.
        reason: String,
    },
    /// A line of a text trace cannot be read.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// What is wrong, with the values.
        reason: String,
    },
    /// The name of the file does not tell its format.
    #[error(
        "{}: unknown trace format; expected a name ending in .u64, .u64.zst, .gtrace, \
         .oracleGeneral, .oracleGeneral.bin, .csv, .tsv, .blkparse, .msr.csv or .rocksdb.csv, each \
         also with .zst, \
         or the format itself (--format)",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
}

impl TraceError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> TraceError {
        let path = path.to_path_buf();
        move |source| TraceError::Io {
            path,
            action,
            source,
        }
    }

    pub(crate) fn malformed(path: &Path, reason: String) -> TraceError {
        TraceError::Malformed {
            path: path.to_path_buf(),
            reason,
        }
    }
}
