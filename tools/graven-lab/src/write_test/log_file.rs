//! The log of a write test: a plain file that is forced in one of four ways, or Graven's log.
//!
//! # Concurrency
//! Clients share it. An append takes its place by a counter; a force is the client's own, as in the
//! guide's tool. Graven's log lets clients share forces.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use graven_io::IoMode;
use graven_wal::{Durability, Identity, Kind, Log, LogOptions, RecordRef};
use serde::Serialize;

use super::{StoreAccess, WriteTest};
use crate::LabError;

const CHUNK_BYTES: usize = 1 << 20;

/// How the log reaches the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogSync {
    /// `fdatasync` after an append: bytes, and of the metadata what reading them needs.
    #[default]
    Fdatasync,
    /// `fsync`: all metadata, too.
    Fsync,
    /// The file is open with `O_DSYNC`: each write is as durable as by `fdatasync`.
    ODsync,
    /// The file is open with `O_SYNC`: each write is as durable as by `fsync`.
    OSync,
}

impl LogSync {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fdatasync, Self::Fsync, Self::ODsync, Self::OSync];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fdatasync => "fdatasync",
            Self::Fsync => "fsync",
            Self::ODsync => "o-dsync",
            Self::OSync => "o-sync",
        }
    }

    /// Whether the write itself waits for the disk.
    pub(super) fn is_by_write(self) -> bool {
        matches!(self, Self::ODsync | Self::OSync)
    }
}

impl FromStr for LogSync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("`{text}`: expected fdatasync, fsync, o-dsync or o-sync"))
    }
}

/// A plain file and its mirror.
pub(super) struct Plain {
    files: Vec<(File, PathBuf)>,
    end: AtomicU64,
    sync: LogSync,
}

/// The log file.
pub(super) enum LogFile {
    /// Grows with each transaction, as in the guide's tool, unless it is allocated beforehand.
    Plain(Plain),
    /// Graven's log.
    Own(Log),
}

impl LogFile {
    pub(super) fn open(test: &WriteTest) -> Result<LogFile, LabError> {
        if test.access == StoreAccess::Own {
            let options = graven_io::OpenOptions {
                mode: IoMode::Direct,
                create: true,
                ..graven_io::OpenOptions::default()
            };
            let file = graven_io::open(&test.log, &options).map_err(LabError::from)?;
            let identity = Identity {
                uuid: *b"write-test store",
                generation: 1,
            };
            let log = Log::create(Arc::clone(&file), identity, LogOptions::default())?;
            return Ok(LogFile::Own(log));
        }
        let paths = std::iter::once(&test.log).chain(&test.mirror);
        let files = paths
            .map(|path| Ok((open_plain(path, test)?, path.clone())))
            .collect::<Result<_, LabError>>()?;
        Ok(LogFile::Plain(Plain {
            files,
            end: AtomicU64::new(0),
            sync: test.log_sync,
        }))
    }

    pub(super) fn append(&self, bytes: &[u8]) -> Result<(), LabError> {
        match self {
            LogFile::Plain(plain) => {
                let at = plain.end.fetch_add(bytes.len() as u64, Relaxed);
                plain.each(|(file, path)| {
                    let failed = LabError::io(path, "appending to");
                    file.write_all_at(bytes, at).map_err(failed)
                })
            }
            LogFile::Own(log) => {
                log.append(&[RecordRef {
                    kind: Kind::Commit,
                    transaction: 0,
                    payload: bytes,
                }])?;
                Ok(())
            }
        }
    }

    pub(super) fn force(&self) -> Result<(), LabError> {
        match self {
            LogFile::Plain(plain) => plain.each(|(file, path)| {
                let failed = LabError::io(path, "syncing");
                match plain.sync {
                    LogSync::Fdatasync => file.sync_data().map_err(failed),
                    LogSync::Fsync => file.sync_all().map_err(failed),
                    LogSync::ODsync | LogSync::OSync => Ok(()),
                }
            }),
            LogFile::Own(log) => {
                log.wait_committed(log.end(), Durability::Full)?;
                Ok(())
            }
        }
    }

    pub(super) fn finish(&self) -> Result<(), LabError> {
        if let LogFile::Own(log) = self {
            log.close()?;
        }
        Ok(())
    }
}

impl Plain {
    /// Does something to the file, and to its mirror at the same time, as a RAID of mirrors does.
    fn each(
        &self,
        act: impl Fn(&(File, PathBuf)) -> Result<(), LabError> + Sync,
    ) -> Result<(), LabError> {
        let Some((first, mirrors)) = self.files.split_first() else {
            return Ok(());
        };
        if mirrors.is_empty() {
            return act(first);
        }
        thread::scope(|scope| {
            let others: Vec<_> = mirrors
                .iter()
                .map(|mirror| scope.spawn(|| act(mirror)))
                .collect();
            let mut result = act(first);
            for other in others {
                let done = other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(done);
            }
            result
        })
    }
}

/// Makes a plain log; one that is allocated beforehand has all its bytes written and synced.
fn open_plain(path: &Path, test: &WriteTest) -> Result<File, LabError> {
    let flags = match test.log_sync {
        LogSync::ODsync => libc::O_DSYNC,
        LogSync::OSync => libc::O_SYNC,
        LogSync::Fdatasync | LogSync::Fsync => 0,
    };
    if test.preallocate {
        let failed = |action| LabError::io(path, action);
        let file = File::create(path).map_err(failed("creating"))?;
        let zeros = vec![0; CHUNK_BYTES];
        let most = test.tx_count * test.tx_max * test.record_bytes as u64;
        for at in (0..most).step_by(CHUNK_BYTES) {
            file.write_all_at(&zeros, at)
                .map_err(failed("allocating"))?;
        }
        file.sync_all().map_err(failed("syncing"))?;
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(!test.preallocate)
        .custom_flags(flags)
        .open(path)
        .map_err(LabError::io(path, "creating"))
}
