//! How to open an operating system file.

use crate::IoMode;

#[cfg(doc)]
use crate::File;

/// Which read queue a file gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum QueueChoice {
    /// io_uring, and a pool of `pread` threads where it is not permitted.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// A pool of `pread` threads.
    PreadPool,
}

/// How to open a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// [`IoMode::Direct`] (the default; falls back to buffered where the file system refuses, see
    /// [`File::mode`]) or [`IoMode::Buffered`].
    pub mode: IoMode,
    /// Which read queue.
    pub queue: QueueChoice,
    /// No writing.
    pub read_only: bool,
    /// Create the file if it is missing.
    pub create: bool,
    /// Permission bits of a file that is created, less those that the process's mask takes; `None`:
    /// the system's usual ones.
    pub create_mode: Option<u32>,
}
