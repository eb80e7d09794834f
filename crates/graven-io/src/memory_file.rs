//! A file in this process's memory.
//!
//! # How it works
//! Chunks of 64 KiB that come into being at their first write, so a sparse file costs what was
//! written. Clones share the bytes: a clone is a second open of the same file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

use crate::immediate_queue::ImmediateQueue;
use crate::{Error, File, IoMode, Operation, ReadQueue, Result};

const CHUNK_BYTES: usize = 64 << 10;

#[derive(Default)]
struct Content {
    chunks: Vec<Option<Box<[u8]>>>,
    length: u64,
}

/// A file in this process's memory; clones share it.
#[derive(Clone)]
pub struct MemoryFile {
    name: PathBuf,
    content: Arc<RwLock<Content>>,
}

impl std::fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "MemoryFile({}, {} bytes)",
            self.name.display(),
            self.content.read().length
        )
    }
}

impl MemoryFile {
    /// An empty file called `name`.
    pub fn new(name: impl Into<PathBuf>) -> MemoryFile {
        MemoryFile {
            name: name.into(),
            content: Arc::default(),
        }
    }

    /// A file called `name` that holds `bytes`.
    pub fn with_bytes(name: impl Into<PathBuf>, bytes: &[u8]) -> MemoryFile {
        let file = MemoryFile::new(name);
        file.content.write().write(0, bytes);
        file
    }

    /// A copy of the whole content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let content = self.content.read();
        let mut bytes = vec![0; content.length as usize];
        content.read(0, &mut bytes);
        bytes
    }
}

impl Content {
    fn read(&self, offset: u64, buf: &mut [u8]) -> usize {
        let available = self.length.saturating_sub(offset).min(buf.len() as u64) as usize;
        let mut done = 0;
        while done < available {
            let (index, skip) = place(offset + done as u64);
            let count = (CHUNK_BYTES - skip).min(available - done);
            let target = &mut buf[done..done + count];
            match self.chunks.get(index).and_then(Option::as_ref) {
                Some(chunk) => target.copy_from_slice(&chunk[skip..skip + count]),
                None => target.fill(0),
            }
            done += count;
        }
        available
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        self.length = self.length.max(end);
        let mut done = 0;
        while done < bytes.len() {
            let (index, skip) = place(offset + done as u64);
            let count = (CHUNK_BYTES - skip).min(bytes.len() - done);
            if self.chunks.len() <= index {
                self.chunks.resize_with(index + 1, || None);
            }
            let chunk = self.chunks[index].get_or_insert_with(|| vec![0; CHUNK_BYTES].into());
            chunk[skip..skip + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
    }

    fn set_len(&mut self, length: u64) {
        if length < self.length {
            let (index, skip) = place(length);
            self.chunks.truncate(index + 1);
            // The cut chunk's tail must read as zeros should the file grow again.
            if let Some(Some(chunk)) = self.chunks.get_mut(index) {
                chunk[skip..].fill(0);
            }
        }
        self.length = length;
    }
}

fn place(offset: u64) -> (usize, usize) {
    (
        (offset / CHUNK_BYTES as u64) as usize,
        (offset % CHUNK_BYTES as u64) as usize,
    )
}

impl File for MemoryFile {
    fn path(&self) -> &Path {
        &self.name
    }

    fn len(&self) -> Result<u64> {
        Ok(self.content.read().length)
    }

    fn set_len(&self, length: u64) -> Result<()> {
        self.content.write().set_len(length);
        Ok(())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        Ok(self.content.read().read(offset, buf))
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        if offset
            .checked_add(buf.len() as u64)
            .is_none_or(|end| end > i64::MAX as u64)
        {
            let source = io::Error::from_raw_os_error(libc::EFBIG);
            return Err(Error::at(
                Operation::Write,
                &self.name,
                offset,
                buf.len(),
                source,
            ));
        }
        self.content.write().write(offset, buf);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }

    fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        let mut content = self.content.write();
        content.length = content.length.max(offset + length);
        Ok(())
    }

    fn mode(&self) -> IoMode {
        IoMode::Memory
    }

    fn alignment(&self) -> usize {
        1
    }

    fn read_queue(&self, _depth: usize) -> Result<Box<dyn ReadQueue>> {
        Ok(Box::new(ImmediateQueue::new(Arc::new(self.clone()))))
    }
}
