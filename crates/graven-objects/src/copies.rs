//! Copies of whole objects, in files without names.
//!
//! # How it works
//! What can only be read as a whole is copied to the folder for temporary files (`TMPDIR`). The
//! size is checked before the copy begins, where it is known, and counted while bytes come.
//!
//! # Invariants
//! * OB-21: a copy has no more bytes than the disk budget, and does not make less of its file
//!   system free than a reserve: a twentieth, 1 GiB at most.
//! * OB-22: the file has no name. It is gone with its last handle, also where the process is
//!   killed.
//!
//! # Concurrency
//! One task writes a copy. Copies side by side are each within the disk budget; all of them, and
//! other programs, together leave the reserve, but for [`LOOK`] bytes of each.
//!
//! # Costs
//! The file system is asked for its free space every [`LOOK`] bytes.

use std::fs::File;
use std::io::Write;

use crate::error::{Error, Result};
use crate::object_url::ObjectUrl;

/// Bytes of a copy, and of the files of a disk tier, where nothing else is said.
pub const DISK_BUDGET: u64 = 10 << 30;
/// Bytes between two looks at the free space.
const LOOK: u64 = 4 << 20;
/// The part of a file system that stays free, and the most that it has to be.
const RESERVE_SHARE: u64 = 20;
const RESERVE_MAX: u64 = 1 << 30;

/// What a user can do instead.
const REMEDY: &str = "copy the file here with another program and name the copy";

/// A copy that grows.
pub(crate) struct Copy<'a> {
    url: &'a ObjectUrl,
    file: File,
    /// Bytes that it may have.
    most: u64,
    /// Bytes that the object has, where that is known.
    size: Option<u64>,
    written: u64,
    /// Where the free space is looked at again.
    look_at: u64,
}

impl<'a> Copy<'a> {
    /// An empty one of the object at `url`, which has `size` bytes, if that is known; it may have
    /// `most` bytes.
    ///
    /// # Errors
    /// [`Error::Object`] where there is no room for these bytes.
    pub(crate) fn begin(url: &'a ObjectUrl, size: Option<u64>, most: u64) -> Result<Self> {
        let copy = Copy {
            url,
            file: tempfile::tempfile().map_err(|error| no_copy(url, &error))?,
            most,
            size,
            written: 0,
            look_at: LOOK,
        };
        copy.check(size.unwrap_or(0))?;
        Ok(copy)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`Error::Object`] where there is no room for them.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let wanted = self.written + bytes.len() as u64;
        if wanted > self.most || wanted >= self.look_at {
            self.check(wanted)?;
            self.look_at = wanted + LOOK;
        }
        let written = self.file.write_all(bytes);
        written.map_err(|error| no_copy(self.url, &error))?;
        self.written = wanted;
        Ok(())
    }

    /// The file with all bytes.
    pub(crate) fn finish(self) -> File {
        self.file
    }

    /// Whether a copy of so many bytes fits.
    fn check(&self, bytes: u64) -> Result<()> {
        if bytes > self.most {
            let why = format!(
                "which may have {} bytes (the disk budget); raise disk_budget (--disk-budget)",
                self.most
            );
            return Err(self.refused(bytes, &why));
        }
        let found = rustix::fs::fstatvfs(&self.file);
        let found = found.map_err(|error| no_copy(self.url, &error.into()))?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        let reserve = reserve(found.f_blocks.saturating_mul(found.f_frsize));
        if (bytes - self.written).saturating_add(reserve) <= free {
            return Ok(());
        }
        let why = format!(
            "where {free} bytes are free and {reserve} of them stay so; make room, set TMPDIR to \
             a folder with more"
        );
        Err(self.refused(bytes, &why))
    }

    /// There is no room for so many bytes.
    fn refused(&self, bytes: u64, why: &str) -> Error {
        let size = match self.size.filter(|size| *size >= bytes) {
            Some(size) => format!("its {size} bytes"),
            None => format!("its bytes, of which {bytes} came,"),
        };
        let folder = std::env::temp_dir();
        let why = format!(
            "it can only be read as a whole: {size} do not fit in a copy in {}, {why}, or {REMEDY}",
            folder.display()
        );
        Error::object(self.url.text(), why)
    }
}

/// Bytes of a file system of so many that a copy leaves free.
fn reserve(all: u64) -> u64 {
    (all / RESERVE_SHARE).min(RESERVE_MAX)
}

/// The error of the file system for the copy of `url`.
pub(crate) fn no_copy(url: &ObjectUrl, error: &std::io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::object(
        url.text(),
        format!("its copy in {} failed: {error}", folder.display()),
    )
}

#[cfg(test)]
mod tests {
    //! Goal: OB-21 and OB-22; a refusal names the URL, the size and what to do.

    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    fn url() -> ObjectUrl {
        ObjectUrl::parse("http://data.test/large.csv?sig=SECRET").unwrap()
    }

    fn refusal<T>(refused: Result<T>, parts: &[&str]) {
        let said = refused.err().expect("no room").to_string();
        for part in ["http://data.test/large.csv", "another program"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("SECRET"), "{said}");
    }

    #[test]
    fn a_copy_has_its_bytes_and_no_name() {
        let url = url();
        let mut copy = Copy::begin(&url, Some(6), 6).unwrap();
        copy.write(b"abc").unwrap();
        copy.write(b"def").unwrap();
        let file = copy.finish();
        let mut bytes = [0; 6];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"abcdef");
        assert_eq!(file.metadata().unwrap().nlink(), 0, "OB-22");
    }

    #[test]
    fn a_copy_ends_at_the_disk_budget() {
        let url = url();
        let known = Copy::begin(&url, Some(101), 100);
        refusal(known, &["its 101 bytes", "100 bytes", "--disk-budget"]);
        // A server may say nothing, or something else.
        for size in [None, Some(50)] {
            let mut copy = Copy::begin(&url, size, 100).unwrap();
            copy.write(&[1; 100]).unwrap();
            refusal(
                copy.write(&[1]),
                &["101 came", "100 bytes", "--disk-budget"],
            );
        }
    }

    #[test]
    fn a_copy_leaves_a_reserve() {
        let url = url();
        let huge = Some(1 << 60);
        refusal(Copy::begin(&url, huge, u64::MAX), &["TMPDIR", "are free"]);
        assert_eq!(reserve(100 << 20), 5 << 20);
        assert_eq!(reserve(100 << 40), 1 << 30);
    }
}
