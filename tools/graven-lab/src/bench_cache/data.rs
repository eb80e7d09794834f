//! The data files: sealed pages of one size class, each holding its own number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{AlignedBuffer, File, IoMode, OpenOptions, open};
use graven_pagecache::{PageKind, PageRef, SizeClass, page};

use super::CacheBenchError;

/// Kind of all pages of the data files.
pub(super) const KIND: PageKind = PageKind::Adjacency;
/// Bytes written at once.
const BATCH_BYTES: usize = 4 << 20;

/// A folder of data files that is removed when dropped.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new folder inside `parent`.
    pub(super) fn create(parent: &Path) -> Result<Folder, CacheBenchError> {
        let path = parent.join(format!("graven-bench-cache-{}", std::process::id()));
        let failed = |source| CacheBenchError::Directory {
            path: path.clone(),
            source,
        };
        std::fs::create_dir(&path).map_err(failed)?;
        Ok(Folder { path })
    }

    /// Where the files are.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of `class` pages, written at its first use.
    pub(super) fn file(
        &self,
        class: SizeClass,
        bytes: u64,
        mode: IoMode,
    ) -> Result<Arc<dyn File>, CacheBenchError> {
        let path = self.path.join(format!("class-{}.graven", class.index()));
        let file = open(
            path,
            &OpenOptions {
                mode,
                create: true,
                ..OpenOptions::default()
            },
        )?;
        if file.is_empty()? {
            write(&*file, class, bytes)?;
        }
        Ok(file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Leaving files behind is all that a failure here means.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The page that is number `number` among those of `class`.
#[inline]
pub(super) fn page_ref(class: SizeClass, number: u64) -> PageRef {
    PageRef::new(class, number * class.units())
}

/// What the first payload bytes of page `number` hold.
#[inline]
pub(super) fn content(number: u64) -> u64 {
    number ^ 0x5eed_0000_0000_0000
}

fn write(file: &dyn File, class: SizeClass, bytes: u64) -> Result<(), CacheBenchError> {
    let mut batch = AlignedBuffer::zeroed(BATCH_BYTES);
    let pages = bytes / class.bytes() as u64;
    let per_batch = (BATCH_BYTES / class.bytes()) as u64;
    for first in (0..pages).step_by(per_batch as usize) {
        let count = per_batch.min(pages - first);
        let used = count as usize * class.bytes();
        for (bytes, number) in batch[..used].chunks_exact_mut(class.bytes()).zip(first..) {
            let payload = &mut bytes[page::HEADER_BYTES..];
            payload[..8].copy_from_slice(&content(number).to_le_bytes());
            let length = class.payload_bytes();
            page::seal(bytes, page_ref(class, number), KIND, 0, length);
        }
        file.write_all_at(&batch[..used], first * class.bytes() as u64)?;
    }
    Ok(file.sync_data()?)
}
