//! Deleting what no reader needs any more.
//!
//! # How it works
//! The newest manifest is kept, and each older one for a time after a newer one took its place, so
//! that readers can go on until they look for the newest. Chunks of manifests that are kept are
//! kept. All else is deleted once it is older than that time: what is younger may belong to a
//! publish that is under way.
//!
//! # Invariants
//! * OB-7: nothing that the pointer leads to is deleted, also if a publish ends meanwhile.
//!
//! # Costs
//! One request for each thousand objects listed, and one for each manifest that is kept.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::path::Path;

use crate::error::{Error, Result};
use crate::location::Location;
use crate::manifest::Manifest;
use crate::publish::{Listed, list};

/// How long what no pointer holds stays, unless it is said otherwise.
pub const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// What a collection did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// Snapshots that stay.
    pub kept_snapshots: u64,
    /// Snapshots that were deleted.
    pub deleted_snapshots: u64,
    /// Chunks that stay.
    pub kept_chunks: u64,
    /// Chunks that were deleted.
    pub deleted_chunks: u64,
    /// Bytes of all that was deleted.
    pub deleted_bytes: u64,
}

/// Deletes what neither the pointer holds nor was needed during the last `grace`. With `dry`
/// nothing is deleted, only counted.
///
/// # Errors
/// [`Error::NoSnapshot`] where there is no pointer, and nothing is deleted then;
/// [`Error::Request`].
pub fn gc(location: &Location, grace: Duration, dry: bool) -> Result<Collected> {
    let at = location.clone();
    location.wait(async move { collect(&at, grace, dry).await })
}

async fn collect(location: &Location, grace: Duration, dry: bool) -> Result<Collected> {
    let newest = location.pointer_there().await?.manifest;
    let manifests = list(location, &location.manifests()).await?;
    let mut chunks = list(location, &location.chunks()).await?;
    let mut all: Vec<(String, Listed)> = manifests.into_iter().collect();
    all.sort_by_key(|(_, object)| object.age);
    let mut collected = Collected::default();
    let mut doomed: Vec<Listed> = Vec::new();
    // How long ago the one after took its place.
    let mut replaced: Option<Duration> = None;
    let mut needed = HashSet::new();
    for (name, object) in all {
        let replaced_since = replaced.replace(object.age);
        let kept = name == newest
            || object.age < grace
            || replaced_since.is_none_or(|since| since < grace);
        if !kept {
            collected.deleted_snapshots += 1;
            doomed.push(object);
            continue;
        }
        match location.manifest(&name).await {
            Ok((Manifest { chunks, .. }, _)) => needed.extend(chunks.into_iter().flatten()),
            // Of no use to a reader, and perhaps not whole yet.
            Err(Error::Damaged { .. }) if name != newest => {}
            Err(error) => return Err(error),
        }
        collected.kept_snapshots += 1;
    }
    chunks.retain(|name, object| {
        let kept = needed.contains(name) || object.age < grace;
        collected.kept_chunks += u64::from(kept);
        !kept
    });
    collected.deleted_chunks = chunks.len() as u64;
    // Manifests first: a manifest never lacks a chunk.
    let paths: Vec<Path> = (doomed.iter().chain(chunks.values()))
        .map(|object| {
            collected.deleted_bytes += object.bytes;
            object.path.clone()
        })
        .collect();
    // A publish that ended meanwhile leads to what it found or wrote since: all of that is young,
    // or was held by the pointer that was read first.
    let now = location.pointer_there().await?.manifest;
    if now != newest {
        return Err(Error::Conflict {
            url: location.url().to_owned(),
        });
    }
    if !dry {
        delete(location, paths).await?;
    }
    Ok(collected)
}

async fn delete(location: &Location, paths: Vec<Path>) -> Result<()> {
    let mut paths = paths.into_iter();
    loop {
        let some: Vec<_> = paths.by_ref().take(1000).map(Ok).collect();
        if some.is_empty() {
            return Ok(());
        }
        let stream = futures_util::stream::iter(some).boxed();
        let mut deleted = location.store.delete_stream(stream);
        while let Some(done) = deleted.next().await {
            match done {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => {
                    return Err(location.error("deleting", &location.chunks(), &error));
                }
            }
        }
    }
}
