//! A file that is made when the first byte is written to it.
//!
//! # How it works
//! Until then it is empty. Opening that fails is tried again by the next write. A file at a path is
//! unlinked as soon as it is open: the system frees it when the process ends, however it ends.

use super::OpenSpill;
use graven_io::{File, IoMode, OpenOptions, ReadQueue, Result};
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Alignment that every file on every disk in use takes.
const ALIGNMENT: usize = 4096;

pub(crate) struct LazyFile {
    path: PathBuf,
    open: Box<OpenSpill>,
    opening: Mutex<()>,
    file: OnceLock<Arc<dyn File>>,
}

/// Makes the file at `path` and takes its name away again.
pub(crate) fn open_unlinked(path: &Path) -> Result<Arc<dyn File>> {
    // One that a killed process left behind between the two steps below, or that was never ours to
    // read.
    let _ = std::fs::remove_file(path);
    let options = OpenOptions {
        create: true,
        create_mode: Some(graven_io::OWNER_ONLY),
        ..OpenOptions::default()
    };
    let file = graven_io::open(path, &options)?;
    // Where the name cannot go it stays until the next opening.
    let _ = std::fs::remove_file(path);
    Ok(file)
}

impl LazyFile {
    pub(crate) fn new(path: PathBuf, open: Box<OpenSpill>) -> LazyFile {
        LazyFile {
            path,
            open,
            opening: Mutex::new(()),
            file: OnceLock::new(),
        }
    }

    fn opened(&self) -> Result<&Arc<dyn File>> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let _one = self.opening.lock();
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = (self.open)()?;
        Ok(self.file.get_or_init(|| file))
    }

    /// Gives all disk space back.
    pub(crate) fn cut(&self) -> Result<()> {
        self.file.get().map_or(Ok(()), |file| file.set_len(0))
    }
}

impl fmt::Debug for LazyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyFile")
            .field("path", &self.path)
            .field("file", &self.file.get())
            .finish_non_exhaustive()
    }
}

impl File for LazyFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64> {
        self.file.get().map_or(Ok(0), |file| file.len())
    }

    fn set_len(&self, length: u64) -> Result<()> {
        self.opened()?.set_len(length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.file
            .get()
            .map_or(Ok(0), |file| file.read_at(buf, offset))
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.opened()?.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.file.get().map_or(Ok(()), |file| file.sync_data())
    }

    fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        self.opened()?.allocate(offset, length)
    }

    fn mode(&self) -> IoMode {
        self.file.get().map_or(IoMode::Direct, |file| file.mode())
    }

    fn alignment(&self) -> usize {
        self.file.get().map_or(ALIGNMENT, |file| file.alignment())
    }

    fn read_queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        self.opened()?.read_queue(depth)
    }
}
