//! `write-test`: what transactions cost on this disk, without any database.
//!
//! # How it works
//! The workload of the write-test tool in the operations guide of an older graph database: for every transaction read a
//! random number of records from random places of a large store, append them to a log file, force the log, write the
//! records back to the store. Each step can be switched off. What the kernel does meanwhile (dirty pages, write-back,
//! blocks written, time waiting for the disk) is sampled beside the run ([`kernel`]).
//!
//! The store is mapped into memory, as there; read and written by positioned calls; or kept by Graven's own means
//! ([`StoreAccess::Own`]): pages are read directly, changed pages stay in the process until their share of memory is
//! full or the run ends, and are then written directly in ascending order; the log is `graven-log`. The kernel then has
//! nothing to write back at a time of its own choosing.
//!
//! # Costs
//! Two system calls a transaction beside the sync in the mapped form.

mod deferred;
pub mod kernel;
mod mapped;
mod prepare;
mod report;

pub use prepare::{Pass, Prepared, prepare};
pub use report::{Canonical, Report, SyncTimes};

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use graven_io::IoMode;
use graven_log::{Durability, Histogram, Identity, Kind, Log, LogOptions, RecordRef};
use graven_random::SplitMix64;
use serde::Serialize;

use crate::LabError;
use kernel::Sampler;

/// How the store is read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreAccess {
    /// Mapped into memory.
    #[default]
    Mapped,
    /// `pread` and `pwrite` through the system's page cache.
    Positioned,
    /// Graven's own I/O layer: direct reads, changed pages kept back, direct ordered writes; log by `graven-log`.
    Own,
}

/// One run.
#[derive(Clone, Debug)]
pub struct WriteTest {
    /// The large file; its content is changed.
    pub store: PathBuf,
    /// The log file; overwritten.
    pub log: PathBuf,
    /// Bytes of a record.
    pub record_bytes: usize,
    /// Fewest records of a transaction.
    pub tx_min: u64,
    /// Most records of a transaction.
    pub tx_max: u64,
    /// Transactions.
    pub tx_count: u64,
    /// Force the log after each transaction.
    pub sync: bool,
    /// Append records to the log.
    pub write_log: bool,
    /// Write records back to the store.
    pub write_store: bool,
    /// Read records from the store.
    pub read: bool,
    /// How the store is read and written.
    pub access: StoreAccess,
    /// Bytes of changed pages kept back by [`StoreAccess::Own`].
    pub memory_bytes: u64,
    /// Seed of transaction sizes and places.
    pub seed: u64,
}

impl WriteTest {
    /// The guide's first run: 100 transactions of 100 to 500 records of 33 bytes.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>, log: impl Into<PathBuf>) -> WriteTest {
        WriteTest {
            store: store.into(),
            log: log.into(),
            record_bytes: 33,
            tx_min: 100,
            tx_max: 500,
            tx_count: 100,
            sync: true,
            write_log: true,
            write_store: true,
            read: true,
            access: StoreAccess::Mapped,
            memory_bytes: 256 << 20,
            seed: 1,
        }
    }

    /// Runs the workload.
    ///
    /// # Errors
    /// Impossible settings, a store that is missing or too small, files that belong to a database, failing I/O.
    pub fn run(&self) -> Result<Report, LabError> {
        self.check()?;
        let mut store = self.open_store()?;
        let records = store.bytes() / self.record_bytes as u64;
        if records == 0 {
            return Err(LabError::Setting(format!(
                "{} is smaller than one record of {} bytes; make one with --prepare",
                self.store.display(),
                self.record_bytes
            )));
        }
        let mut log = self.open_log()?;
        let mut random = SplitMix64::new(self.seed);
        let syncs = Histogram::default();
        let mut count = Count::default();
        let mut places = Vec::new();
        let sampler = Sampler::start(&self.store);
        let begun = Instant::now();
        for _ in 0..self.tx_count {
            let size = self.tx_min + random.below(self.tx_max - self.tx_min + 1);
            places.clear();
            places.extend((0..size).map(|_| random.below(records) * self.record_bytes as u64));
            self.transaction(&mut *store, &mut log, &places, &syncs, &mut count)?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        store.finish()?;
        let finish_seconds = begun.elapsed().as_secs_f64() - seconds;
        log.finish()?;
        let samples = sampler.stop();
        Ok(Report::new(
            self,
            store.describe(),
            count,
            seconds,
            finish_seconds,
            &syncs.view(),
            samples,
        ))
    }

    fn transaction(
        &self,
        store: &mut dyn Store,
        log: &mut LogFile,
        places: &[u64],
        syncs: &Histogram,
        count: &mut Count,
    ) -> Result<(), LabError> {
        let bytes = self.record_bytes;
        let mut buffer = std::mem::take(&mut count.buffer);
        buffer.resize(places.len() * bytes, 0);
        for (record, &place) in buffer.chunks_exact_mut(bytes).zip(places) {
            if self.read {
                store.read(place, record)?;
                count.read_bytes += bytes as u64;
            }
            // A changed record, so that no layer below can find out that nothing changes.
            record[0] = record[0].wrapping_add(1);
        }
        if self.write_log {
            log.append(&buffer)?;
            count.written_bytes += buffer.len() as u64;
        }
        if self.sync {
            let begun = Instant::now();
            log.force()?;
            syncs.add(begun.elapsed().as_nanos() as u64);
            count.syncs += 1;
        }
        if self.write_store {
            for (record, &place) in buffer.chunks_exact(bytes).zip(places) {
                store.write(place, record)?;
            }
            count.written_bytes += buffer.len() as u64;
        }
        count.records += places.len() as u64;
        count.buffer = buffer;
        Ok(())
    }

    fn check(&self) -> Result<(), LabError> {
        let wrong = |text: String| Err(LabError::Setting(text));
        if self.record_bytes == 0 || self.record_bytes > 1 << 20 {
            return wrong(format!(
                "a record size of {} bytes; 1 byte to 1 MiB make sense",
                self.record_bytes
            ));
        }
        if self.tx_min > self.tx_max {
            return wrong(format!(
                "the smallest transaction has {} records, the largest {}",
                self.tx_min, self.tx_max
            ));
        }
        if self.tx_max.saturating_mul(self.record_bytes as u64) > 1 << 30 {
            return wrong("a transaction of more than 1 GiB".to_owned());
        }
        if self.store == self.log {
            return wrong("store and log are the same file".to_owned());
        }
        spare_databases(&self.store)?;
        spare_databases(&self.log)
    }

    fn open_store(&self) -> Result<Box<dyn Store>, LabError> {
        let missing = |error: LabError| match self.store.exists() {
            true => error,
            false => LabError::Setting(format!(
                "{} does not exist; make it with --prepare",
                self.store.display()
            )),
        };
        Ok(match self.access {
            StoreAccess::Mapped => {
                Box::new(mapped::MappedStore::open(&self.store).map_err(missing)?)
            }
            StoreAccess::Positioned => {
                Box::new(PositionedStore::open(&self.store).map_err(missing)?)
            }
            StoreAccess::Own => Box::new(
                deferred::DeferredStore::open(&self.store, self.memory_bytes).map_err(missing)?,
            ),
        })
    }

    fn open_log(&self) -> Result<LogFile, LabError> {
        if self.access == StoreAccess::Own {
            let options = graven_io::OpenOptions {
                mode: IoMode::Direct,
                create: true,
                ..graven_io::OpenOptions::default()
            };
            let file = graven_io::open(&self.log, &options).map_err(LabError::from)?;
            let identity = Identity {
                uuid: *b"write-test store",
                generation: 1,
            };
            let log = Log::create(Arc::clone(&file), identity, LogOptions::default())?;
            return Ok(LogFile::Own(log));
        }
        let failed = LabError::io(&self.log, "creating");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&self.log)
            .map_err(failed)?;
        Ok(LogFile::Plain {
            file,
            path: self.log.clone(),
            end: 0,
        })
    }
}

/// What a run counted.
#[derive(Default)]
pub(crate) struct Count {
    records: u64,
    syncs: u64,
    read_bytes: u64,
    written_bytes: u64,
    buffer: Vec<u8>,
}

/// The large file.
trait Store {
    fn bytes(&self) -> u64;
    fn read(&mut self, offset: u64, record: &mut [u8]) -> Result<(), LabError>;
    fn write(&mut self, offset: u64, record: &[u8]) -> Result<(), LabError>;
    /// Writes what was kept back.
    fn finish(&mut self) -> Result<(), LabError>;
    /// How it was accessed, in words.
    fn describe(&self) -> String;
}

struct PositionedStore {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl PositionedStore {
    fn open(path: &Path) -> Result<PositionedStore, LabError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(LabError::io(path, "opening"))?;
        let metadata = file.metadata().map_err(LabError::io(path, "measuring"))?;
        Ok(PositionedStore {
            file,
            path: path.to_path_buf(),
            bytes: metadata.len(),
        })
    }
}

impl Store for PositionedStore {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, offset: u64, record: &mut [u8]) -> Result<(), LabError> {
        let failed = LabError::io(&self.path, "reading");
        self.file.read_exact_at(record, offset).map_err(failed)
    }

    fn write(&mut self, offset: u64, record: &[u8]) -> Result<(), LabError> {
        let failed = LabError::io(&self.path, "writing");
        self.file.write_all_at(record, offset).map_err(failed)
    }

    fn finish(&mut self) -> Result<(), LabError> {
        Ok(())
    }

    fn describe(&self) -> String {
        "positioned reads and writes through the system's page cache".to_owned()
    }
}

/// The log file.
enum LogFile {
    /// Grows with each transaction, as in the guide's tool.
    Plain { file: File, path: PathBuf, end: u64 },
    /// Graven's log.
    Own(Log),
}

impl LogFile {
    fn append(&mut self, bytes: &[u8]) -> Result<(), LabError> {
        match self {
            LogFile::Plain { file, path, end } => {
                file.write_all_at(bytes, *end)
                    .map_err(LabError::io(path, "appending to"))?;
                *end += bytes.len() as u64;
            }
            LogFile::Own(log) => {
                log.append(&[RecordRef {
                    kind: Kind::Commit,
                    transaction: 0,
                    payload: bytes,
                }])?;
            }
        }
        Ok(())
    }

    fn force(&mut self) -> Result<(), LabError> {
        match self {
            LogFile::Plain { file, path, .. } => {
                file.sync_data().map_err(LabError::io(path, "syncing"))
            }
            LogFile::Own(log) => {
                log.commit_durable(log.end(), Durability::Full)?;
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> Result<(), LabError> {
        if let LogFile::Own(log) = self {
            log.close()?;
        }
        Ok(())
    }
}

/// Refuses files that begin like a part of a Graven database.
pub(crate) fn spare_databases(path: &Path) -> Result<(), LabError> {
    let mut head = [0; 4200];
    let Ok(mut file) = File::open(path) else {
        return Ok(());
    };
    let mut filled = 0;
    while let Ok(got) = file.read(&mut head[filled..])
        && got > 0
    {
        filled += got;
    }
    let head = &head[..filled];
    let holds = |magic: &[u8]| head.windows(magic.len()).any(|window| window == magic);
    if holds(b"GRAVEN\x1a\n") || (head.starts_with(b"GRAVLOG\n") && !holds(b"write-test store")) {
        return Err(LabError::Setting(format!(
            "{} belongs to a database; this test overwrites its files: name others",
            path.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
