//! What can go wrong in an import, with the place and the remedy in every message.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A row that could not be taken: where it is, what is in it, why it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// File the row comes from.
    pub file: PathBuf,
    /// Line the row starts on, 1-based, the header included; 0 if unknown.
    pub line: u64,
    /// Name of the column as in the header; empty if the whole row is meant.
    pub column: String,
    /// The value as written, shortened to 80 characters.
    pub value: String,
    /// Why it is refused and what to do, lower case.
    pub reason: String,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        if !self.column.is_empty() {
            write!(f, ", column '{}'", self.column)?;
        }
        write!(f, ", value '{}': {}", self.value, self.reason)
    }
}

/// An import or a generator run that could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The target is there already.
    #[error(
        "{} exists already; an import makes a new database: choose another name or remove the file",
        path.display()
    )]
    TargetExists {
        /// The target.
        path: PathBuf,
    },
    /// No table was recognised under the path.
    #[error(
        "{}: no table of an LDBC social network found (looked for files such as person.csv, \
         knows.csv or Person_knows_Person.csv, plain, .zst or .gz, also one and two folders down)",
        path.display()
    )]
    NothingToImport {
        /// The folder looked at.
        path: PathBuf,
    },
    /// The folder or the table list contradicts itself.
    #[error("{}: {reason}", path.display())]
    Layout {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A header field that is not understood.
    #[error("{}, line 1, column {column} ('{field}'): {reason}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// 1-based position of the field.
        column: usize,
        /// The field as written.
        field: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A row that cannot be taken, and skipping was not asked for.
    #[error("{0} (to go on without such rows: --skip-bad-rows FILE)")]
    Row(Box<RowError>),
    /// A file could not be read or written.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The database file could not be written.
    #[error("writing the database failed: {0}")]
    Store(#[from] graven_storage::Error),
    /// The database file could not be opened, synced or renamed.
    #[error("writing the database failed: {0}")]
    File(#[from] graven_io::Error),
    /// The memory limit is below what an import needs at all.
    #[error("--memory {given} is too little for an import: give at least {least} bytes")]
    Memory {
        /// Bytes given.
        given: u64,
        /// Bytes needed.
        least: u64,
    },
    /// An option that makes no sense.
    #[error("{0}")]
    Option(String),
    /// The progress sink asked to stop.
    #[error("the import was cancelled; nothing is left at the target")]
    Cancelled,
}

impl ImportError {
    /// An I/O failure on `path` while doing `action`.
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            action,
            source,
        }
    }
}

/// Shortens a value for an error message.
pub(crate) fn shown(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut out: String = text.chars().take(80).collect();
    if text.chars().nth(80).is_some() {
        out.push_str("...");
    }
    out
}

/// The reason given for an id that no node has.
pub(crate) fn unknown_id(space: &str) -> String {
    format!("no node of '{space}' has this id: add the node or remove the row")
}
