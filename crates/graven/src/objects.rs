//! Databases in object storage: publishing a snapshot, opening one, following newer ones.
//!
//! # How it works
//! A URL instead of a path opens the newest snapshot there ([`graven_objects`]). It is read as any
//! other file: the same page cache, policies and operators; reads become requests for ranges.
//! There is no lock, no log and no owner to attach to. Publishing makes a checkpoint and sends the
//! file that it is ([`graven_storage::SnapshotFile`]); every page of it is verified on the way.
//!
//! # Invariants
//! * OB-14: a statement reads one snapshot; a refresh concerns those that begin later.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graven_io::File;
use graven_objects::{DiskTier, Location, UPLOADS};
use graven_storage::{Store, Until};

use crate::config::Config;
use crate::error::{Error, NOT_FOUND, Retry};
use crate::folded_duplicate::folded;
use crate::random::random_name;

pub use graven_objects::{Collected, Published, TrafficCounts};

/// The snapshot that a database reads.
#[derive(Debug)]
pub(crate) struct Source {
    location: Location,
    tier: Option<Arc<DiskTier>>,
    /// The name of the snapshot that is open.
    open: Mutex<String>,
}

/// The URL, if the path is one.
pub(crate) fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| graven_objects::is_url(text))
}

/// Whether this text names a place in object storage (`s3://bucket/graph/`), not a file.
#[must_use]
pub fn is_url(path: impl AsRef<Path>) -> bool {
    url(path.as_ref()).is_some()
}

/// Where a database without a folder of its own puts what does not fit into memory.
pub(crate) fn temporary(what: &str) -> PathBuf {
    std::env::temp_dir().join(format!("graven-{what}-{}", random_name()))
}

impl Source {
    /// Opens the newest snapshot at `url`.
    pub(crate) fn open(url: &str, config: &Config) -> Result<(Source, Arc<dyn File>), Error> {
        let location = Location::new(url)?;
        let tier = match &config.disk_cache {
            None => None,
            Some(folder) => Some(Arc::new(DiskTier::open(folder, config.disk_budget)?)),
        };
        let file = graven_objects::open(&location, tier.clone())?;
        let source = Source {
            location,
            tier,
            open: Mutex::new(file.name().to_owned()),
        };
        Ok((source, Arc::new(file)))
    }

    /// What was asked of object storage so far.
    pub(crate) fn traffic(&self) -> TrafficCounts {
        self.location.traffic().counts()
    }

    /// Has `take` go on with the file of the newest snapshot, if it is another one; whether it is.
    pub(crate) fn follow(
        &self,
        take: impl FnOnce(Arc<dyn File>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if graven_objects::newest(&self.location)?.manifest == *open {
            return Ok(false);
        }
        let file = graven_objects::open(&self.location, self.tier.clone())?;
        let name = file.name().to_owned();
        take(Arc::new(file))?;
        *open = name;
        Ok(true)
    }
}

/// Publishes what was committed so far; see `Database::publish`.
pub(crate) fn publish(
    store: &Store,
    url: &str,
    chunk_bytes: Option<u64>,
    until: &Until,
) -> Result<Published, Error> {
    let location = Location::new(url)?;
    folded(store, &temporary("publish"), |store| {
        let budget = store.cache().budget();
        let (mut memory, mut refused) = (None, None);
        // As many on their way as there is memory for.
        let mut room = |chunk: u64| {
            for chunks in [UPLOADS + 1, 2, 1] {
                match budget.reserve("publishing", chunk.saturating_mul(chunks as u64)) {
                    Ok(reserved) => {
                        memory = Some(reserved);
                        return chunks;
                    }
                    Err(error) => refused = Some(error),
                }
            }
            0
        };
        let file = Arc::new(store.snapshot_file(until)?);
        let mut walk = file.page_walk();
        let mut verify = |offset, bytes: &[u8]| {
            let passed = walk.pass(offset, bytes);
            passed.map_err(|error| format!("{error}; `graven check` lists everything"))
        };
        let mut snapshot = graven_objects::Snapshot {
            file: file.clone(),
            body: file.body(),
            overlay: file.made(),
            uuid: store.uuid(),
            checkpoint: file.checkpoint(),
            storage_format: graven_storage::superblock::FORMAT,
            room: &mut room,
            verify: &mut verify,
            stop: Arc::new({
                let until = until.clone();
                move || until.is_over()
            }),
        };
        Ok(graven_objects::publish(
            &location,
            &mut snapshot,
            chunk_bytes,
        )?)
    })
}

/// Deletes at `url` what neither the newest snapshot holds nor readers needed during the last
/// `grace`; with `dry` it only counts.
///
/// # Errors
/// `Database.NotFound` where nothing was published; `Io.Failed`; `Config.Invalid`.
pub fn collect_garbage(url: &str, grace: Duration, dry: bool) -> Result<Collected, Error> {
    Ok(graven_objects::gc(&Location::new(url)?, grace, dry)?)
}

impl From<graven_objects::Error> for Error {
    fn from(error: graven_objects::Error) -> Self {
        use graven_objects::Error as Objects;
        let message = error.to_string();
        match error {
            Objects::NoSnapshot { .. } => Error::new(NOT_FOUND, message),
            Objects::Url { .. } | Objects::Setting(_) => Error::config(message),
            Objects::Damaged { .. } => Error::new("Database.Damaged", message),
            Objects::Format { .. } => Error::new("Database.NotADatabase", message),
            Objects::OtherDatabase { .. } => Error::new("Database.Exists", message),
            Objects::Conflict { .. } => {
                Error::with_retry("Database.InUse", message, Retry::MayHelp)
            }
            Objects::Request { denied: false, .. } => {
                Error::with_retry("Io.Failed", message, Retry::MayHelp)
            }
            Objects::Io(error) => error.into(),
            _ => Error::new("Io.Failed", message),
        }
    }
}
