//! The file to be made: written under a temporary name, renamed when complete.
//!
//! # How it works
//! `NAME-import` is the database while it is written, `NAME-import.d` the scratch folder, whose
//! lock says whether an import is still running. Both are removed when the import ends without
//! success; what a killed process left is removed by the next import, which reports it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{File, IoMode, OpenOptions, durable_rename};

use crate::error::ImportError;
use crate::scratch::Scratch;

/// A database that is being made.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    temporary: PathBuf,
    /// Leftovers that were removed.
    pub(crate) removed: Vec<PathBuf>,
    pub(crate) scratch: Arc<Scratch>,
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(suffix);
    path.with_file_name(name)
}

impl Target {
    /// Checks that `path` is free and prepares the scratch folder.
    pub(crate) fn create(path: &Path, staging: u64) -> Result<Self, ImportError> {
        if path.file_name().is_none() {
            return Err(ImportError::Option(format!(
                "'{}' names no file",
                path.display()
            )));
        }
        let exists = path
            .try_exists()
            .map_err(|e| ImportError::io(path, "look up", e))?;
        if exists || path.is_symlink() {
            return Err(ImportError::TargetExists {
                path: path.to_path_buf(),
            });
        }
        let (temporary, folder) = (beside(path, "-import"), beside(path, "-import.d"));
        let mut removed = Vec::new();
        if folder.exists() {
            removed.push(folder.clone());
        }
        let scratch = Scratch::create(folder, staging)?;
        if temporary.exists() {
            std::fs::remove_file(&temporary)
                .map_err(|e| ImportError::io(&temporary, "remove the leftover", e))?;
            removed.push(temporary.clone());
        }
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            removed,
            scratch,
        })
    }

    /// Opens the temporary file for the storage writer.
    pub(crate) fn open(&self) -> Result<Arc<dyn File>, ImportError> {
        let options = OpenOptions {
            mode: IoMode::Buffered,
            create: true,
            ..OpenOptions::default()
        };
        Ok(graven_io::open(&self.temporary, &options)?)
    }

    /// Gives the finished file its name; returns its length in bytes.
    pub(crate) fn complete(self) -> Result<u64, ImportError> {
        let length = std::fs::metadata(&self.temporary)
            .map_err(|e| ImportError::io(&self.temporary, "look up", e))?
            .len();
        if self.path.exists() {
            return Err(ImportError::TargetExists {
                path: self.path.clone(),
            });
        }
        durable_rename(&self.temporary, &self.path)?;
        Ok(length)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // After success the temporary name is free and this fails, as it should.
        let _ = std::fs::remove_file(&self.temporary);
    }
}
