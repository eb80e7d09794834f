//! Which users may read and write a file that is made next to another.
//!
//! # How it works
//! A log, a backup or a salvaged copy holds what its data file holds. So no user may read it that
//! may not read the data file. Such a file is made with the data file's permission bits
//! ([`OpenOptions::create_mode`](crate::OpenOptions)), not with those that the process's mask
//! leaves. It then gets the data file's group, and its owner where the process may give files away.
//! Where the group stays another, its members get what all others have.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use crate::{Error, Operation, Result};

/// Permission bits of a file that only its owner reads and writes.
pub const OWNER_ONLY: u32 = 0o600;
/// Permission bits that count for a file of data.
const READ_AND_WRITE: u32 = 0o666;

/// Owner, group and permission bits of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    mode: u32,
    owner: u32,
    group: u32,
}

impl Access {
    /// Those of the file at `path`.
    ///
    /// # Errors
    /// There is none, or it cannot be asked.
    pub fn of(path: impl AsRef<Path>) -> Result<Access> {
        let path = path.as_ref();
        let found =
            fs::metadata(path).map_err(|source| Error::os(Operation::Open, path, source))?;
        Ok(Access {
            mode: found.mode() & 0o777,
            owner: found.uid(),
            group: found.gid(),
        })
    }

    /// Permission bits of a file that is made beside this one. Its owner can read and write it,
    /// even where this one may only be read.
    #[must_use]
    pub fn create_mode(&self) -> u32 {
        self.mode & READ_AND_WRITE | OWNER_ONLY
    }

    /// Gives the file at `path` this access, so that no user can read it that cannot read this one.
    /// Where another user owns it, it stays as it is.
    ///
    /// # Errors
    /// The file is gone, or its file system refuses.
    pub fn give_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut there = Access::of(path)?;
        if (there.owner, there.group) != (self.owner, self.group) {
            // Only the superuser gives files away; members give them to their groups.
            let given = chown(path, Some(self.owner), Some(self.group))
                .or_else(|_| chown(path, None, Some(self.group)));
            if given.is_ok() {
                there = Access::of(path)?;
            }
        }
        let mode = match there.group == self.group {
            true => self.create_mode(),
            false => {
                let others = self.create_mode() & 0o007;
                OWNER_ONLY | others << 3 | others
            }
        };
        if there.mode == mode {
            return Ok(());
        }
        match fs::set_permissions(path, Permissions::from_mode(mode)) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
            done => done.map_err(|source| Error::os(Operation::Open, path, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").mode() & 0o777
    }

    /// Goal: a file made beside another is open to no more users, whatever the process's mask and
    /// its mode before.
    #[test]
    fn a_file_is_open_to_no_more_than_the_one_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let log = folder.path().join("log");
        for (of_data, wanted) in [
            (0o600, 0o600),
            (0o640, 0o640),
            (0o644, 0o644),
            (0o400, 0o600),
            (0o755, 0o644),
            (0o660, 0o660),
        ] {
            fs::write(&data, b"").expect("written");
            fs::set_permissions(&data, Permissions::from_mode(of_data)).expect("set");
            let access = Access::of(&data).expect("read");
            for before in [0o666, 0o600] {
                fs::write(&log, b"").expect("written");
                fs::set_permissions(&log, Permissions::from_mode(before)).expect("set");
                access.give_to(&log).expect("given");
                assert_eq!(mode(&log), wanted, "{of_data:o} {before:o}");
            }
            fs::remove_file(&data).expect("removed");
        }
    }

    /// Goal: a file that is made is never open to more users, not for a moment.
    #[test]
    fn a_file_is_made_with_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("private");
        let options = crate::OpenOptions {
            create: true,
            create_mode: Some(OWNER_ONLY),
            ..crate::OpenOptions::default()
        };
        crate::open(&path, &options).expect("opened");
        assert_eq!(mode(&path), 0o600);
    }
}
