//! Bytes of a snapshot: from the overlay, the disk tier or the store.
//!
//! # How it works
//! A read falls into segments: ranges of chunks, of the overlay, and zeros. A range of a chunk
//! comes from the disk tier as far as that has it, and else from the store. What fails, or has
//! another length than was asked for, is asked for again ([`crate::attempts`]).
//!
//! # Invariants
//! * OB-8: a fetch gives as many bytes as were asked for, or an error.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange};
use tokio::sync::Semaphore;

use crate::attempts::repeated;
use crate::disk_tier::{BLOCK_BYTES, DiskTier};
use crate::error::{Error, Result};
use crate::location::Location;
use crate::manifest::Manifest;

/// Requests under way at once for one file.
const REQUESTS: usize = 64;

/// Where a piece of a read comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Zeros,
    /// These bytes of the overlay.
    Overlay(Range<usize>),
    /// These bytes of this chunk.
    Chunk(usize, Range<u64>),
}

/// A piece of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) bytes: usize,
    pub(crate) origin: Origin,
}

/// A snapshot that is read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) location: Location,
    pub(crate) manifest: Manifest,
    pub(crate) overlay: Bytes,
    pub(crate) tier: Option<Arc<DiskTier>>,
    permits: Semaphore,
}

impl Source {
    pub(crate) fn new(
        location: Location,
        manifest: Manifest,
        overlay: Bytes,
        tier: Option<Arc<DiskTier>>,
    ) -> Source {
        Source {
            location,
            manifest,
            overlay,
            tier,
            permits: Semaphore::new(REQUESTS),
        }
    }

    /// The segments of `length` bytes at `offset`, as far as the file goes.
    pub(crate) fn segments(&self, offset: u64, length: usize) -> Vec<Segment> {
        let manifest = &self.manifest;
        let end = offset.saturating_add(length as u64).min(manifest.length);
        let mut segments = Vec::new();
        let mut at = offset;
        while at < end {
            let mut place = 0;
            let mut next = end;
            let mut origin = None;
            for (start, bytes) in &manifest.overlay {
                if (*start..start + bytes).contains(&at) {
                    let from = place + (at - start) as usize;
                    next = end.min(start + bytes);
                    origin = Some(Origin::Overlay(from..from + (next - at) as usize));
                    break;
                }
                if *start > at {
                    next = end.min(*start);
                    break;
                }
                place += *bytes as usize;
            }
            let origin = origin.unwrap_or_else(|| {
                if at >= manifest.body {
                    return Origin::Zeros;
                }
                let chunk = (at / manifest.chunk_bytes) as usize;
                let start = chunk as u64 * manifest.chunk_bytes;
                next = next.min(start + manifest.chunk_length(chunk));
                match manifest.chunks[chunk] {
                    None => Origin::Zeros,
                    Some(_) => Origin::Chunk(chunk, at - start..next - start),
                }
            });
            segments.push(Segment {
                bytes: (next - at) as usize,
                origin,
            });
            at = next;
        }
        segments
    }

    /// A range of a chunk that is not zeros.
    pub(crate) async fn fetch(&self, chunk: usize, range: Range<u64>) -> Result<Bytes> {
        let name = self.manifest.chunks[chunk].as_ref().expect("it is stored");
        let Some(tier) = &self.tier else {
            return self.get(name, range).await;
        };
        let length = self.manifest.chunk_length(chunk);
        let start = range.start / BLOCK_BYTES * BLOCK_BYTES;
        let end = range.end.next_multiple_of(BLOCK_BYTES).min(length);
        let mut bytes = vec![0; (end - start) as usize];
        if let Some(missing) = tier.read(name, length, start, &mut bytes) {
            let got = self.get(name, missing.clone()).await?;
            tier.write(name, length, missing.start, &got);
            let at = (missing.start - start) as usize;
            bytes[at..at + got.len()].copy_from_slice(&got);
        } else {
            self.location.traffic().tier_read(bytes.len());
        }
        let at = (range.start - start) as usize;
        Ok(Bytes::from(bytes).slice(at..at + (range.end - range.start) as usize))
    }

    /// A range of an object from the store.
    async fn get(&self, name: &str, range: Range<u64>) -> Result<Bytes> {
        let path = self.location.chunk_path(name);
        let _permit = self.permits.acquire().await.expect("it is never closed");
        let traffic = self.location.traffic();
        repeated(traffic, || self.get_once(&path, range.clone())).await
    }

    async fn get_once(&self, path: &Path, range: Range<u64>) -> Result<Bytes> {
        let traffic = self.location.traffic();
        traffic.request();
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let answer = async {
            let answer = self.location.store.get_opts(path, options).await?;
            Ok((answer.range.clone(), answer.bytes().await?))
        };
        match answer.await {
            Ok((got, bytes)) if got == range && bytes.len() as u64 == range.end - range.start => {
                traffic.came(bytes.len());
                Ok(bytes)
            }
            Ok((got, bytes)) => Err(Error::Damaged {
                url: self.location.url().to_owned(),
                object: path.to_string(),
                what: format!(
                    "asked for the bytes {range:?}, the store gave {} bytes of {got:?}",
                    bytes.len()
                ),
            }),
            Err(error) => {
                let error = self.location.error("reading", path, &error);
                Err(error.of_range(&range))
            }
        }
    }

    /// Drops from the disk tier what it has of these bytes.
    pub(crate) fn forget(&self, offset: u64, length: usize) {
        let Some(tier) = &self.tier else { return };
        for segment in self.segments(offset, length) {
            if let Origin::Chunk(chunk, range) = segment.origin
                && let Some(name) = &self.manifest.chunks[chunk]
            {
                tier.forget(name, self.manifest.chunk_length(chunk), range);
            }
        }
    }
}
