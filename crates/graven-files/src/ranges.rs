//! Where the bytes of a file come from: a local file, or an object that is read by ranges.
//!
//! # How it works
//! All formats read through [`Ranges`]. What reads from front to back takes a [`Cursor`]; Parquet
//! and Arrow's IPC files read the parts that are needed, and announce them. A stream of Arrow's IPC
//! has sizes all over it: it is read from a local copy.
//!
//! # Concurrency
//! Several cursors may read one file; each has its own place.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Bytes of a file, by their places.
pub trait Ranges: Send + Sync {
    /// How many there are.
    ///
    /// # Errors
    /// The operating system's answer.
    fn size(&self) -> io::Result<u64>;

    /// Reads up to as many as `into` has, from `offset` on; none at the end.
    ///
    /// # Errors
    /// They cannot be read.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// These parts will be read, a group after the other, each from front to back.
    fn expect(&self, _groups: &[Vec<Range<u64>>]) {}

    /// A local file with all of them.
    ///
    /// # Errors
    /// They cannot be read, or there is no room.
    fn local(&self) -> io::Result<File>;

    /// About how many bytes of memory it takes.
    fn held(&self) -> usize {
        0
    }
}

impl Ranges for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }

    fn local(&self) -> io::Result<File> {
        self.try_clone()
    }
}

/// A file that was opened.
pub type Input = Arc<dyn Ranges>;

/// Opens a local file, wherever it lies.
///
/// # Errors
/// The operating system's answer.
pub fn open_local(name: &str) -> Result<Input> {
    let opened = File::open(name).map_err(|source| Error::Io {
        file: name.to_owned(),
        source,
    });
    Ok(Arc::new(opened?))
}

/// Reads from a place on.
pub struct Cursor {
    input: Input,
    at: u64,
}

impl Cursor {
    /// From the byte `at` on.
    #[must_use]
    pub fn new(input: Input, at: u64) -> Cursor {
        Cursor { input, at }
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let from = |base: u64, by: i64| base.checked_add_signed(by);
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => from(self.input.size()?, by),
            SeekFrom::Current(by) => from(self.at, by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Read for Cursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
