//! Which files a cache has open.

use super::{FileState, PageCache};
use crate::cache::io_queues::IoQueue;
use crate::cache::write_back::WriteBack;
use crate::error::{Error, Result};
use crate::page_ref::FileId;
use crate::table::FILES_MAX;
use graven_io::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub(super) fn file_len(file: &dyn File) -> Result<u64> {
    file.len().map_err(|source| Error::Length {
        file: file.path().to_path_buf(),
        source: Arc::new(source),
    })
}

impl PageCache {
    /// Makes pages of `file` available for reading.
    ///
    /// # Errors
    /// [`Error::TooManyFiles`] beyond 512; [`Error::Length`] if the file cannot tell its length.
    pub fn add_file(&self, file: Arc<dyn File>) -> Result<FileId> {
        self.add(file, None)
    }

    /// Makes pages of `file` available for reading and writing; `owner` is asked before dirty pages
    /// are written and told what became of it. Dirty pages that are not flushed are lost when file
    /// or cache go.
    ///
    /// # Errors
    /// As [`PageCache::add_file`].
    pub fn add_writable_file(
        &self,
        file: Arc<dyn File>,
        owner: Arc<dyn WriteBack>,
    ) -> Result<FileId> {
        self.add(file, Some(owner))
    }

    fn add(&self, file: Arc<dyn File>, owner: Option<Arc<dyn WriteBack>>) -> Result<FileId> {
        let mut files = self.files.write();
        let free = files
            .iter()
            .position(Option::is_none)
            .unwrap_or(files.len());
        if free == FILES_MAX {
            return Err(Error::TooManyFiles(FILES_MAX));
        }
        let len = AtomicU64::new(file_len(&*file)?);
        let state = FileState {
            id: free as u16,
            file,
            io_queues: std::array::from_fn(|_| IoQueue::new()),
            len,
            owner,
        };
        if free == files.len() {
            files.push(None);
        }
        files[free] = Some(Arc::new(state));
        Ok(FileId(free as u16))
    }

    pub(crate) fn file(&self, id: FileId) -> Result<Arc<FileState>> {
        let files = self.files.read();
        files
            .get(usize::from(id.0))
            .and_then(Clone::clone)
            .ok_or(Error::UnknownFile(id))
    }

    /// Takes a file out of the list; its pages have left.
    pub(crate) fn forget_file(&self, id: FileId) {
        self.files.write()[usize::from(id.0)] = None;
    }

    pub(crate) fn open_files(&self) -> Vec<Arc<FileState>> {
        self.files.read().iter().flatten().cloned().collect()
    }
}
