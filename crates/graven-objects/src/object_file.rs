//! A published snapshot as a file that can be read.
//!
//! # How it works
//! Reads become fetches ([`Source`]); writing is refused. The page cache proves the bytes: a page
//! by its checksum and by the reference that leads to it. Where a page is wrong it calls
//! [`File::forget`] and reads it again, past the disk tier.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven_io::{File, IoMode, Operation, ReadQueue};

use crate::disk_tier::DiskTier;
use crate::error::{Error, Result, io_error};
use crate::fetch::{Origin, Source};
use crate::location::Location;
use crate::manifest::{Manifest, Pointer};
use crate::range_queue::RangeQueue;
use crate::ranges;

/// A published snapshot, open for reading; clones share it.
#[derive(Clone, Debug)]
pub struct ObjectFile {
    source: Arc<Source>,
    name: String,
    path: PathBuf,
}

/// Opens the newest snapshot at `location`, reading through `tier` if there is one.
///
/// # Errors
/// [`Error::NoSnapshot`]; [`Error::Request`]; [`Error::Damaged`]; [`Error::Format`].
pub fn open(location: &Location, tier: Option<Arc<DiskTier>>) -> Result<ObjectFile> {
    let at = location.clone();
    let (name, manifest, overlay) = location.wait(async move {
        let name = at.pointer_there().await?.manifest;
        let (manifest, overlay) = match at.manifest(&name).await {
            // Another snapshot may have been published, and this one deleted, just now.
            Err(Error::Missing { .. }) => at.manifest(&at.pointer_there().await?.manifest).await?,
            other => other?,
        };
        Ok((name, manifest, overlay))
    })?;
    Ok(ObjectFile {
        source: Arc::new(Source::new(location.clone(), manifest, overlay, tier)),
        name,
        path: PathBuf::from(location.url()),
    })
}

/// The pointer to the newest snapshot at `location`: one request.
///
/// # Errors
/// As [`open`].
pub fn newest(location: &Location) -> Result<Pointer> {
    let at = location.clone();
    location.wait(async move { at.pointer_there().await })
}

impl ObjectFile {
    /// The snapshot's manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.source.manifest
    }

    /// The hash of the manifest, by which a pointer names it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.source.location
    }
}

impl File for ObjectFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> graven_io::Result<u64> {
        Ok(self.source.manifest.length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
        let mut done = 0;
        for segment in self.source.segments(offset, buf.len()) {
            let part = &mut buf[done..done + segment.bytes];
            match segment.origin {
                Origin::Zeros => part.fill(0),
                Origin::Overlay(range) => part.copy_from_slice(&self.source.overlay[range]),
                Origin::Chunk(chunk, range) => {
                    let source = self.source.clone();
                    let fetched = self
                        .location()
                        .wait(async move { source.fetch(chunk, range).await });
                    let at = offset + done as u64;
                    let bytes = fetched.map_err(|error| graven_io::Error::Os {
                        operation: Operation::Read,
                        path: self.path.clone(),
                        offset: at,
                        length: segment.bytes as u64,
                        source: io_error(&error),
                    })?;
                    part.copy_from_slice(&bytes);
                }
            }
            done += segment.bytes;
        }
        Ok(done)
    }

    fn sync_data(&self) -> graven_io::Result<()> {
        Ok(())
    }

    fn mode(&self) -> IoMode {
        IoMode::Objects
    }

    fn alignment(&self) -> usize {
        1
    }

    fn forget(&self, offset: u64, length: usize) -> bool {
        self.source.forget(offset, length);
        true
    }

    fn request_bytes(&self) -> u64 {
        ranges::JOINED_MAX
    }

    fn read_queue(&self, _depth: usize) -> graven_io::Result<Box<dyn ReadQueue>> {
        Ok(Box::new(RangeQueue::new(
            self.source.clone(),
            self.path.clone(),
        )))
    }
}
