//! What is wrong with a file, or with a value in it.

use std::fmt;

/// An error of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system's answer, or that of what unpacks the file.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// The answer.
        source: std::io::Error,
    },
    /// The statement may not name it.
    #[error("{file}: {why}")]
    Forbidden {
        /// Name of the file.
        file: String,
        /// Why not.
        why: String,
    },
    /// It is not what it should be.
    #[error("{file}: {why}")]
    File {
        /// Name of the file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A value, or a row.
    #[error("{0}")]
    Row(Box<Fault>),
    /// An option that cannot be.
    #[error("{0}")]
    Option(String),
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Name of the file.
    pub file: String,
    /// Number of the row in the file, from 1 on, a header aside; 0 where that is not known.
    pub row: u64,
    /// Line on which it begins, in files of text.
    pub line: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
    /// The value, cut where it is long.
    pub value: Option<String>,
    /// What is wrong.
    pub why: String,
}

/// Characters of a value that a fault shows.
const SHOWN: usize = 80;

impl Fault {
    /// The value as a fault shows it.
    #[must_use]
    pub fn shown(value: &str) -> String {
        match value.char_indices().nth(SHOWN) {
            None => value.to_owned(),
            Some((end, _)) => format!("{}...", &value[..end]),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.file)?;
        match self.line {
            Some(line) => write!(f, "line {line}")?,
            None => write!(f, "row {}", self.row)?,
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        match &self.value {
            Some(value) => write!(f, ": '{value}' {}", self.why),
            None => write!(f, ": {}", self.why),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Row(Box::new(fault))
    }
}

/// Shorthand.
pub type Result<T, E = Error> = std::result::Result<T, E>;
