//! The files of a database: the data file with its lock, the log beside it.
//!
//! # How it works
//! A process that may write holds the data file alone, processes that only read share it. Pages of
//! a file that another process writes may be used again at any time, so its readers have to be that
//! process's own. The lock is the kernel's and ends with the process. The log `NAME-wal` is made by
//! the first commit; reading alone leaves no trace.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{Access, File, FileLock, OpenOptions, Use};
use graven_storage::LogPlace;

use crate::config::Config;
use crate::error::Error;

/// The data file, open and locked.
pub(crate) struct DataFile {
    pub(crate) file: Arc<dyn File>,
    /// None where no other process can change it.
    pub(crate) lock: Option<FileLock>,
    /// Why nothing may be written, if so.
    pub(crate) read_only: Option<String>,
}

fn denied(error: &graven_io::Error) -> bool {
    matches!(error, graven_io::Error::Os { source, .. }
        if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem))
}

/// Opens and locks the data file.
pub(crate) fn open_data(path: &Path, config: &Config) -> Result<DataFile, Error> {
    let options = |read_only| OpenOptions {
        mode: config.io.into(),
        read_only,
        ..OpenOptions::default()
    };
    let (file, read_only) = if config.read_only {
        let why = "opened so by its user".to_owned();
        (graven_io::open(path, &options(true))?, Some(why))
    } else {
        match graven_io::open(path, &options(false)) {
            Ok(file) => (file, None),
            Err(error) if denied(&error) => (
                graven_io::open(path, &options(true))?,
                Some(error.to_string()),
            ),
            Err(error) => return Err(error.into()),
        }
    };
    let how = match read_only {
        None => Use::Alone,
        Some(_) => Use::Shared,
    };
    match FileLock::try_acquire(path, how)? {
        Some(lock) => Ok(DataFile {
            file,
            lock: Some(lock),
            read_only,
        }),
        None => Err(in_use(path)),
    }
}

pub(crate) fn in_use(path: &Path) -> Error {
    let holders: Vec<String> = FileLock::holders(path)
        .iter()
        .map(|process| format!("process {process}"))
        .collect();
    let owner = match holders.as_slice() {
        [] => "another process".to_owned(),
        holders => holders.join(", "),
    };
    graven_storage::Error::Locked {
        path: path.to_path_buf(),
        owner,
    }
    .into()
}

/// Why the process that holds the file does not serve this user, if it is another user's.
pub(crate) fn other_user(path: &Path) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    if own == 0 {
        return None;
    }
    let mut users = FileLock::holders(path).into_iter().filter_map(|process| {
        let found = std::fs::metadata(format!("/proc/{process}")).ok()?;
        Some((process, found.uid()))
    });
    let (process, user) = users.find(|(_, user)| *user != own)?;
    Some(not_served(process, user, own))
}

fn not_served(process: u32, user: u32, own: u32) -> String {
    format!(
        "process {process} is user {user}'s and this one user {own}'s: a process serves its own \
            user and root only, so \
         let that user run both, or end that process"
    )
}

/// The data file that a path leads to: its log lies beside it, whatever symbolic link was named.
/// Nothing need be there.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    /// As many as the kernel follows.
    const LINKS_MAX: usize = 40;
    let mut resolved = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&resolved) else {
            break;
        };
        resolved = match resolved.parent() {
            Some(folder) => folder.join(target),
            None => target,
        };
    }
    resolved
}

/// Whether two paths lead to one file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// The path of what lies beside a data file, such as its log.
pub(crate) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The log beside a data file, open to no more users than that.
#[derive(Debug)]
pub(crate) struct WalLocation {
    data: PathBuf,
    path: PathBuf,
    mode: graven_io::IoMode,
    read_only: bool,
}

impl WalLocation {
    pub(crate) fn new(data: &Path, config: &Config, read_only: bool) -> WalLocation {
        WalLocation {
            data: data.to_path_buf(),
            path: sibling_path(data, "-wal"),
            mode: config.io.into(),
            read_only,
        }
    }

    fn open(&self, create: bool) -> graven_storage::Result<Arc<dyn File>> {
        let access = Access::of(&self.data)?;
        let options = OpenOptions {
            mode: self.mode,
            read_only: self.read_only,
            create,
            create_mode: Some(access.create_mode()),
            ..OpenOptions::default()
        };
        let file = graven_io::open(&self.path, &options)?;
        if !self.read_only {
            access.give_to(&self.path)?;
        }
        Ok(file)
    }
}

impl LogPlace for WalLocation {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn existing(&self) -> graven_storage::Result<Option<Arc<dyn File>>> {
        if self.path.exists() {
            self.open(false).map(Some)
        } else {
            Ok(None)
        }
    }

    fn create(&self) -> graven_storage::Result<Arc<dyn File>> {
        let file = self.open(true)?;
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        graven_io::sync_directory(folder)?;
        Ok(file)
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    //! Goal: what is said of a file that another user's process holds names both users.

    use super::*;

    #[test]
    fn another_users_process_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.graven");
        std::fs::write(&file, b"x").expect("a file");
        let _lock = FileLock::try_acquire(&file, Use::Alone).expect("a lock");
        // This process is its own user's.
        assert_eq!(other_user(&file), None);
        let said = not_served(4711, 1000, 1001);
        assert!(said.contains("process 4711 is user 1000's"), "{said}");
    }
}
