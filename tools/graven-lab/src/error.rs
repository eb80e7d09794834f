//! What can go wrong in an experiment.

use std::io;
use std::path::{Path, PathBuf};

/// An experiment that could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
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
    /// A table of questions or answers is not one.
    #[error("{}, line {line}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The database refused.
    #[error(transparent)]
    Database(#[from] graven::Error),
    /// Generating or importing the data failed.
    #[error(transparent)]
    Import(#[from] graven_import::ImportError),
    /// A policy cannot be built.
    #[error(transparent)]
    Policy(#[from] graven_policy::PolicyError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] graven_trace::TraceError),
    /// A file fails in the I/O layer.
    #[error(transparent)]
    File(#[from] graven_io::Error),
    /// The log refuses.
    #[error(transparent)]
    Log(#[from] graven_wal::Error),
    /// The caller that watches the progress ended the experiment.
    #[error("the experiment was interrupted")]
    Interrupted,
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
}

impl LabError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> LabError {
        let path = path.to_path_buf();
        move |source| LabError::Io {
            path,
            action,
            source,
        }
    }
}
