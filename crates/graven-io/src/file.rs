//! One open file: positioned reads and writes, durability, length, read queues.

use std::fmt::Debug;
use std::path::Path;

use crate::{Error, ReadQueue, Result};

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
    /// The system refuses; the disk is full.
    fn set_len(&self, length: u64) -> Result<()>;

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
    /// write; some of the bytes may then have been written.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()>;

    /// Makes every write acknowledged so far durable (`fdatasync`).
    ///
    /// # Errors
    /// The system fails: writes since the last success must be taken for lost, also if a later sync
    /// succeeds.
    fn sync_data(&self) -> Result<()>;

    /// Reserves space for a range, extending the file where it ends earlier.
    ///
    /// # Errors
    /// The disk is full.
    fn allocate(&self, offset: u64, length: u64) -> Result<()>;

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
    /// A queue of the kind asked for at [`crate::open`] cannot be made.
    fn read_queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>>;
}
