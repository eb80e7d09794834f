//! Which processes may use a file: a lock of the kernel that ends with its process, however that
//! ends.
//!
//! # How it works
//! An advisory lock on the open file (`flock`), held by a descriptor of its own. It needs no
//! permission to write and leaves nothing in the file system. A process made by `fork` does not get
//! the descriptor (IO-7): the lock ends with the process that took it. [`FileLock::holders`] looks
//! the holders up in `/proc/locks`, where that exists.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{Error, ForkSafe, Operation, Result};

/// How a file is to be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Together with other holders that share it.
    Shared,
    /// By one holder alone.
    Alone,
}

/// A lock on a file; given back when dropped, or when the process ends.
#[derive(Debug)]
pub struct FileLock {
    _file: ForkSafe<fs::File>,
}

impl FileLock {
    /// Locks the file at `path`; `None` if another holder's use rules that out.
    ///
    /// # Errors
    /// The file cannot be opened for reading, or its file system has no locks.
    pub fn try_acquire(path: impl AsRef<Path>, how: Use) -> Result<Option<FileLock>> {
        let path = path.as_ref();
        let failed = |source| Error::os(Operation::Open, path, source);
        let file = ForkSafe::open(|| fs::File::open(path)).map_err(failed)?;
        let locked = match how {
            Use::Shared => file.try_lock_shared(),
            Use::Alone => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(Some(FileLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The processes that hold a lock on the file at `path`, as far as the kernel tells.
    #[must_use]
    pub fn holders(path: impl AsRef<Path>) -> Vec<u32> {
        let (Ok(file), Ok(locks)) = (
            fs::metadata(path.as_ref()),
            fs::read_to_string("/proc/locks"),
        ) else {
            return Vec::new();
        };
        let mut holders: Vec<u32> = locks
            .lines()
            .filter_map(|line| holder(line, file.ino()))
            .collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }
}

/// The process of a line like `1: FLOCK ADVISORY WRITE 4711 08:01:1234567 0 EOF` if it is about the
/// file with `inode`.
fn holder(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_whitespace();
    if words.nth(1)? != "FLOCK" {
        return None;
    }
    let process = words.nth(2)?.parse().ok()?;
    let found: u64 = words.next()?.rsplit(':').next()?.parse().ok()?;
    (found == inode).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: sharers share, a single user does not, dropping gives the lock back, holders are
    /// named.
    #[test]
    fn one_alone_or_many_shared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "x").unwrap();
        let acquire = |how| FileLock::try_acquire(&path, how).unwrap();
        let shared = (acquire(Use::Shared), acquire(Use::Shared));
        assert!(shared.0.is_some() && shared.1.is_some());
        assert!(acquire(Use::Alone).is_none());
        drop(shared);
        let alone = acquire(Use::Alone);
        assert!(alone.is_some());
        assert!(acquire(Use::Shared).is_none());
        let holders = FileLock::holders(&path);
        assert!(holders.is_empty() || holders == [std::process::id()]);
        drop(alone);
        assert!(acquire(Use::Shared).is_some());
        assert!(FileLock::try_acquire(folder.path().join("none"), Use::Shared).is_err());
    }

    /// Goal: only locks of this kind on this file count.
    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "7: FLOCK  ADVISORY  WRITE 4711 fd:01:99 0 EOF";
        assert_eq!(holder(line, 99), Some(4711));
        assert_eq!(holder(line, 98), None);
        assert_eq!(
            holder("7: POSIX  ADVISORY  WRITE 4711 fd:01:99 0 EOF", 99),
            None
        );
        assert_eq!(holder("", 99), None);
    }
}
