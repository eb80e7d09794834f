//! The store mapped into memory: the kernel decides when changed pages are written.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr::NonNull;

use super::Store;
use crate::LabError;

/// A shared, writable mapping of a whole file.
pub(super) struct MappedStore {
    start: NonNull<u8>,
    bytes: usize,
    _file: File,
}

impl MappedStore {
    pub(super) fn open(path: &Path) -> Result<MappedStore, LabError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(LabError::io(path, "opening"))?;
        let metadata = file.metadata().map_err(LabError::io(path, "measuring"))?;
        let bytes = metadata.len() as usize;
        if bytes == 0 {
            return Ok(MappedStore {
                start: NonNull::dangling(),
                bytes,
                _file: file,
            });
        }
        // SAFETY: a new mapping at a place of the kernel's choice, of an open file's whole length.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(MappedStore {
                start,
                bytes,
                _file: file,
            }),
            _ => {
                let failed = LabError::io(path, "mapping");
                Err(failed(std::io::Error::last_os_error()))
            }
        }
    }

    fn range(&self, offset: u64, bytes: usize) -> *mut u8 {
        let end = offset as usize + bytes;
        assert!(end <= self.bytes, "{end} is behind the store's end");
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.start.as_ptr().add(offset as usize) }
    }
}

// SAFETY: the mapping belongs to the store alone and may be used from any thread.
unsafe impl Send for MappedStore {}

impl Drop for MappedStore {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the mapping made in `open`, not used any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}

impl Store for MappedStore {
    fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    fn read(&mut self, offset: u64, record: &mut [u8]) -> Result<(), LabError> {
        let from = self.range(offset, record.len());
        // SAFETY: `from` is good for the record's length; plain copies, because other processes may
        // write the file.
        unsafe { std::ptr::copy_nonoverlapping(from, record.as_mut_ptr(), record.len()) };
        Ok(())
    }

    fn write(&mut self, offset: u64, record: &[u8]) -> Result<(), LabError> {
        let to = self.range(offset, record.len());
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(record.as_ptr(), to, record.len()) };
        Ok(())
    }

    fn finish(&mut self, _write_back: bool) -> Result<(), LabError> {
        Ok(())
    }

    fn describe(&self) -> String {
        "mapped into memory; the kernel chooses when to write".to_owned()
    }
}
