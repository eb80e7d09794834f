//! Databases in object storage: publishing a snapshot, opening one, following newer ones.
//!
//! # How it works
//! A URL instead of a path opens the newest snapshot there ([`graven_objects`]). It is read as any
//! other file: the same page cache, policies and operators, whose reads become requests for ranges.
//! There is no lock, no log and no owner to attach to. Publishing makes a checkpoint and sends the
//! file that it is ([`graven_storage::SnapshotFile`]); every page of it is verified on the way.
//!
//! # Invariants
//! * OB-14: a statement reads one snapshot; [`Database::refresh`] concerns those that begin later.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graven_io::File;
use graven_objects::{DiskTier, Location, UPLOADS};
use graven_storage::Store;

use crate::config::Config;
use crate::database::Database;
use crate::error::{Error, NOT_FOUND, Retry};
use crate::folded_duplicate::folded;
use crate::instance::{Backend, Instance};
use crate::params::Params;
use crate::random::random_name;
use crate::value::Value;

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

    /// Goes on with the newest snapshot; whether it is another one.
    fn follow(&self, inner: &Instance) -> Result<bool, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if graven_objects::newest(&self.location)?.manifest == *open {
            return Ok(false);
        }
        let file = graven_objects::open(&self.location, self.tier.clone())?;
        let name = file.name().to_owned();
        inner.store.follow(Arc::new(file))?;
        inner.plans.clear();
        *open = name;
        Ok(true)
    }
}

impl Database {
    /// Publishes what was committed so far as an immutable snapshot at `url` (`s3://`, `gs://`,
    /// `az://`, `file://`), from where [`Database::open`] reads it. Only chunks that the snapshot
    /// before has not are sent; `chunk_bytes` is that snapshot's unless it is given, or 8 MiB.
    /// Where another process has the database open, that process does it, with its environment.
    ///
    /// # Errors
    /// `Io.Failed` and `Database.Damaged`, and the snapshot before stays the newest then;
    /// `Database.Exists` where another database was published there; `Database.InUse` where another
    /// publish ended meanwhile; `Config.Invalid` for a URL or a size that cannot work.
    pub fn publish(&self, url: &str, chunk_bytes: Option<u64>) -> Result<Published, Error> {
        match self.backend()? {
            Backend::Local(inner) => publish(&inner.store, url, chunk_bytes),
            Backend::Remote(_) => self.let_owner_publish(url, chunk_bytes),
        }
    }

    /// Goes on with the newest snapshot, where the database was opened by a URL; whether there was
    /// a newer one. Statements that run finish with the snapshot they began with.
    ///
    /// # Errors
    /// `Io.Failed` where the store does not answer, and the snapshot that is open stays;
    /// `Request.Invalid` for a database in a file.
    pub fn refresh(&self) -> Result<bool, Error> {
        let inner = self.inner()?;
        match &inner.source {
            Some(source) => source.follow(inner),
            None => Err(Error::usage(format!(
                "{} is a file, which is always read as it is now; only a database that was opened \
                 by a URL has newer snapshots",
                self.path().display()
            ))),
        }
    }

    /// What was asked of object storage since the database was opened; `None` for a file.
    #[must_use]
    pub fn traffic(&self) -> Option<TrafficCounts> {
        let source = self.inner().ok()?.source.as_ref()?;
        Some(source.location.traffic().counts())
    }

    fn let_owner_publish(&self, url: &str, chunk_bytes: Option<u64>) -> Result<Published, Error> {
        let mut params = Params::new();
        params.set("url", url);
        let chunk = chunk_bytes.map(|bytes| Value::from(bytes.cast_signed()));
        params.set("chunk", chunk.unwrap_or(Value::Null));
        let mut result = self.connect().query(
            "CALL graven.publish($url, $chunk) YIELD checkpoint, bytes, chunks, sentChunks, \
             sentBytes, unchanged RETURN checkpoint, bytes, chunks, sentChunks, sentBytes, unchanged",
            &params,
        )?;
        let row = result.next_row()?;
        let value = |at: usize| row.as_ref().and_then(|row| row.values().get(at));
        let number = |at| {
            let number = value(at).and_then(Value::as_integer);
            number.map_or(0, i64::unsigned_abs)
        };
        Ok(Published {
            checkpoint: number(0),
            length: number(1),
            chunks: number(2),
            sent_chunks: number(3),
            sent_bytes: number(4),
            unchanged: value(5) == Some(&Value::Boolean(true)),
        })
    }
}

/// See [`Database::publish`].
pub(crate) fn publish(
    store: &Store,
    url: &str,
    chunk_bytes: Option<u64>,
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
        let file = Arc::new(store.snapshot_file()?);
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
