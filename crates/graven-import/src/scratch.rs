//! The scratch folder beside the target, and the memory that staging may take before it is used.
//!
//! # How it works
//! Scratch files are unlinked as soon as they are open, so the kernel frees them however the
//! process ends; the folder holds only a lock file. The lock tells an import that runs from one
//! that was killed. Readers that are the last ones to need a part of a file free it, so that a file
//! and what is made of it do not take their space twice.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::error::ImportError;

/// Bytes that are freed at once: a call for each megabyte.
pub(crate) const FREED_BYTES: u64 = 1 << 20;

/// The folder for scratch files of one import. Removed when the last clone goes.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    lock: File,
    next: AtomicU64,
    written: AtomicU64,
    staging: AtomicI64,
}

impl Scratch {
    /// Makes the folder and takes its lock; `staging` bytes of memory may be filled by spools.
    pub(crate) fn create(folder: PathBuf, staging: u64) -> Result<Arc<Self>, ImportError> {
        std::fs::create_dir_all(&folder).map_err(|e| ImportError::io(&folder, "create", e))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| ImportError::io(&path, "create", e))?;
        if lock.try_lock().is_err() {
            return Err(ImportError::Layout {
                path: folder,
                reason: "another import into the same target is running: wait for it or end it"
                    .into(),
            });
        }
        let (next, written) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Arc::new(Self {
            folder,
            lock,
            next,
            written,
            staging: AtomicI64::new(staging as i64),
        }))
    }

    /// A new scratch file, already without a name.
    pub(crate) fn file(self: &Arc<Self>) -> Result<ScratchFile, ImportError> {
        let path = self
            .folder
            .join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| ImportError::io(&path, "create", e))?;
        std::fs::remove_file(&path).map_err(|e| ImportError::io(&path, "unlink", e))?;
        Ok(ScratchFile {
            file,
            len: 0,
            scratch: Arc::clone(self),
        })
    }

    /// Bytes written to scratch files so far.
    pub(crate) fn spilled(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Takes `bytes` of staging memory if they are there.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let before = self.staging.fetch_sub(bytes as i64, Ordering::Relaxed);
        if before < bytes as i64 {
            self.staging.fetch_add(bytes as i64, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Gives staging memory back.
    pub(crate) fn release(&self, bytes: usize) {
        self.staging.fetch_add(bytes as i64, Ordering::Relaxed);
    }

    fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next import removes what is left.
        let _ = self.lock.unlock();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One append-only scratch file.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    len: u64,
    scratch: Arc<Scratch>,
}

impl ScratchFile {
    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.file
            .write_all_at(bytes, self.len)
            .map_err(|e| ImportError::io(self.scratch.path(), "write to a scratch file in", e))?;
        self.len += bytes.len() as u64;
        self.scratch
            .written
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes in the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Frees the space of `length` bytes from `offset` on: no thread reads them again.
    pub(crate) fn free(&self, offset: u64, length: u64) {
        graven_io::free_range(&self.file, offset, length);
    }

    /// Bytes that the file takes on the device.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.file.sync_all().expect("synced");
        self.file.metadata().expect("metadata").blocks() * 512
    }

    /// Fills `out` from `offset`.
    pub(crate) fn read(&self, out: &mut [u8], offset: u64) -> Result<(), ImportError> {
        self.file
            .read_exact_at(out, offset)
            .map_err(|e| ImportError::io(self.scratch.path(), "read a scratch file in", e))
    }
}
