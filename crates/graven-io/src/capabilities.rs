//! What this machine and file system allow, and what takes its place where they do not.

use std::fs;
use std::path::Path;

use crate::os_file::open_direct;
use crate::{IoMode, QueueKind, uring};

/// What this machine allows for files like one at a given path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// How files will be opened by default.
    pub mode: IoMode,
    /// What buffers, offsets and lengths must be multiples of in that mode.
    pub alignment: usize,
    /// Why not direct.
    pub mode_reason: Option<String>,
    /// How misses will be read by default.
    pub queue: QueueKind,
    /// Why not io_uring.
    pub queue_reason: Option<String>,
}

/// Finds out what is allowed for the existing file at `path` (opened for reading only).
pub fn probe(path: impl AsRef<Path>) -> Capabilities {
    let mut builder = fs::OpenOptions::new();
    builder.read(true);
    let direct = match open_direct(path.as_ref(), &builder) {
        Ok(answer) => answer.map(|(_, alignment)| alignment),
        Err(error) => Err(error.to_string()),
    };
    let (mode, alignment, mode_reason) = match direct {
        Ok(alignment) => (IoMode::Direct, alignment, None),
        Err(reason) => (IoMode::Buffered, 1, Some(reason)),
    };
    let (queue, queue_reason) = match uring::permitted() {
        Ok(()) => (QueueKind::Uring, None),
        Err(reason) => (QueueKind::PreadPool, Some(reason.to_owned())),
    };
    Capabilities {
        mode,
        alignment,
        mode_reason,
        queue,
        queue_reason,
    }
}
