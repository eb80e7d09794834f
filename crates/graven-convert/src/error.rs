//! What goes wrong with files of other programs.

use std::path::{Path, PathBuf};

/// An error of an export or import.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database refused something.
    #[error(transparent)]
    Database(#[from] graven::Error),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The text written to the caller's stream failed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
    /// A file holds what cannot be taken.
    #[error("{}, line {line}: {message}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Line of the file, from 1.
        line: u64,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A row of a file holds what cannot be taken.
    #[error("{}, row {row}: {message}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// Row of the file, from 1, a header aside.
        row: u64,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A file or folder is not what it should be.
    #[error("{}: {message}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A file of rows cannot be read or written, or holds a value that cannot be taken.
    #[error(transparent)]
    Rows(#[from] graven_files::Error),
    /// The graph has what the form cannot say.
    #[error("{0}")]
    Form(String),
}

/// With an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes the error of a file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        |source| Error::Io { path, source }
    }
}
