//! One open file: positioned reads and writes, durability, length, read queues.
//!
//! A file that is only read leaves out what changes it ([`File::set_len`], [`File::write_all_at`],
//! [`File::allocate`]), one without queues [`File::read_queue`]: these refuse then, naming the
//! file.

use std::fmt::Debug;
use std::io;
use std::path::Path;

use crate::{Error, Operation, ReadQueue, Result};

/// How the bytes of a file travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum IoMode {
    /// Past the operating system's page cache (`O_DIRECT`).
    #[default]
    Direct,
    /// Through the operating system's page cache.
    Buffered,
    /// The file is in this process's memory.
    Memory,
    /// Wrapped by the fault injector.
    Faulty,
    /// By requests to object storage.
    Objects,
}

impl std::fmt::Display for IoMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            IoMode::Direct => "direct",
            IoMode::Buffered => "buffered",
            IoMode::Memory => "memory",
            IoMode::Faulty => "faulty",
            IoMode::Objects => "object storage",
        })
    }
}

/// One open file. Every method may be called by many threads at once.
pub trait File: Send + Sync + Debug {
    /// The path it was opened by (a made-up one for files in memory).
    fn path(&self) -> &Path;

    /// Length in bytes.
    ///
    /// # Errors
    /// The system refuses.
    fn len(&self) -> Result<u64>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// As [`File::len`].
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts or extends (with zeros) to `length` bytes.
    ///
    /// # Errors
    /// The system refuses; the disk is full; the file is only read.
    fn set_len(&self, length: u64) -> Result<()> {
        Err(only_read(self.path(), Operation::Length, (0, length)))
    }

    /// Reads until `buf` is full or the file ends; the bytes read.
    ///
    /// Any alignment is taken; unaligned reads of a direct file go through a copy.
    ///
    /// # Errors
    /// The system fails the read.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize>;

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// [`Error::ShortRead`] where the file ends inside; else as [`File::read_at`].
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let got = self.read_at(buf, offset)?;
        if got == buf.len() {
            return Ok(());
        }
        Err(Error::ShortRead {
            path: self.path().to_path_buf(),
            offset,
            wanted: buf.len() as u64,
            got: got as u64,
        })
    }

    /// Writes all of `buf` at `offset`, extending the file where needed.
    ///
    /// # Errors
    /// [`Error::Unaligned`] where `offset` or the length is not a multiple of [`File::alignment`]
    /// (the buffer itself may lie anywhere, but an aligned one saves a copy); the system fails the
    /// write; some of the bytes may then have been written; the file is only read.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let range = (offset, buf.len() as u64);
        Err(only_read(self.path(), Operation::Write, range))
    }

    /// Makes every write acknowledged so far durable (`fdatasync`).
    ///
    /// # Errors
    /// The system fails: writes since the last success must be taken for lost, also if a later sync
    /// succeeds.
    fn sync_data(&self) -> Result<()>;

    /// Reserves space for a range, extending the file where it ends earlier.
    ///
    /// # Errors
    /// The disk is full; the file is only read.
    fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        Err(only_read(
            self.path(),
            Operation::Allocate,
            (offset, length),
        ))
    }

    /// How the bytes travel, after any fallback.
    fn mode(&self) -> IoMode;

    /// What buffers, offsets and lengths should be multiples of (1 where anything goes).
    fn alignment(&self) -> usize;

    /// Drops copies of a range that lie nearer than its source, because a reader found it wrong;
    /// whether reading it again may give something else.
    fn forget(&self, _offset: u64, _length: usize) -> bool {
        false
    }

    /// Bytes that one request may ask for where a reader goes through the file in order: many where
    /// a request costs more than what it carries, 0 where it does not.
    fn request_bytes(&self) -> u64 {
        0
    }

    /// A queue of up to `depth` asynchronous reads of this file; it keeps the file open.
    ///
    /// # Errors
    /// A queue of the kind asked for at [`crate::open`] cannot be made; the file has none.
    fn read_queue(&self, _depth: usize) -> Result<Box<dyn ReadQueue>> {
        Err(Error::Os {
            operation: Operation::Queue,
            path: self.path().to_path_buf(),
            offset: 0,
            length: 0,
            source: io::Error::new(
                io::ErrorKind::Unsupported,
                "this file is read by one call at a time",
            ),
        })
    }
}

/// The refusal of a file that is only read, of so many bytes at an offset.
fn only_read(path: &Path, operation: Operation, (offset, length): (u64, u64)) -> Error {
    Error::Os {
        operation,
        path: path.to_path_buf(),
        offset,
        length,
        source: io::Error::new(
            io::ErrorKind::ReadOnlyFilesystem,
            "this file is only read, never changed",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Zeros;

    impl File for Zeros {
        fn path(&self) -> &Path {
            Path::new("zeros")
        }
        fn len(&self) -> Result<u64> {
            Ok(10)
        }
        fn read_at(&self, buf: &mut [u8], _: u64) -> Result<usize> {
            buf.fill(0);
            Ok(buf.len())
        }
        fn sync_data(&self) -> Result<()> {
            Ok(())
        }
        fn mode(&self) -> IoMode {
            IoMode::Memory
        }
        fn alignment(&self) -> usize {
            1
        }
    }

    /// Goal: a file that says only how it is read refuses everything else by its name.
    #[test]
    fn a_file_that_is_only_read_refuses_changes() {
        let refusals = [
            Zeros.set_len(20),
            Zeros.write_all_at(&[1, 2], 4),
            Zeros.allocate(10, 10),
        ];
        for refusal in refusals {
            let Err(Error::Os { path, source, .. }) = refusal else {
                panic!("{refusal:?}");
            };
            assert_eq!(path, Path::new("zeros"));
            assert_eq!(source.kind(), io::ErrorKind::ReadOnlyFilesystem);
        }
        assert!(Zeros.read_queue(4).is_err());
    }
}
