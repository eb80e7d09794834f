//! `write-test`: what transactions cost on this disk, without any database.
//!
//! # How it works
//! The workload of the write-test tool in the operations guide of an older graph database: for
//! every transaction read a random number of records from random places of a large store, append
//! them to a log file, force the log, write the records back to the store. Each step can be
//! switched off. What the kernel does meanwhile (dirty pages, write-back, blocks written, time
//! waiting for the disk) is sampled beside the run ([`kernel`]).
//!
//! The store is mapped into memory, as there; read and written by positioned calls; or kept by
//! Graven's own means ([`StoreAccess::Own`]): pages are read directly, changed pages stay in the
//! process until their share of memory is full, and are then written directly in ascending order;
//! the log is `graven-wal`. The kernel then has nothing to write back at a time of its own
//! choosing. At the end the log holds every change, as it does of a database between two
//! checkpoints; the pages are written only if [`WriteTest::checkpoint`] asks for it, or if there
//! was no durable log.
//!
//! # Concurrency
//! Clients take transactions from one counter and share the log. Each maps or opens the store for
//! itself; Graven's means keep one set of pages behind a lock.
//!
//! # Costs
//! Two system calls a transaction beside the sync in the mapped form.

mod deferred;
pub mod kernel;
mod log_file;
mod mapped;
mod prepare;
mod report;

pub use log_file::LogSync;
pub use prepare::{Pass, Prepared, prepare};
pub use report::{Canonical, Report, SyncTimes};

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use graven_types::rng::SplitMix64;
use graven_wal::Histogram;
use serde::Serialize;

use crate::LabError;
use kernel::Sampler;
use log_file::LogFile;

/// How the store is read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreAccess {
    /// Mapped into memory.
    #[default]
    Mapped,
    /// `pread` and `pwrite` through the system's page cache.
    Positioned,
    /// Graven's own I/O layer: direct reads, changed pages kept back, direct ordered writes; log by
    /// `graven-wal`.
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
    /// Write what [`StoreAccess::Own`] kept back when the run is over.
    pub checkpoint: bool,
    /// How the log reaches the disk.
    pub log_sync: LogSync,
    /// Write the whole log once before the run, so that it does not grow in it.
    pub preallocate: bool,
    /// A second file that gets every byte of the log.
    pub mirror: Option<PathBuf>,
    /// Records follow each other instead of lying at random places.
    pub sequential: bool,
    /// Threads that take transactions.
    pub clients: usize,
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
            checkpoint: false,
            log_sync: LogSync::Fdatasync,
            preallocate: false,
            mirror: None,
            sequential: false,
            clients: 1,
            seed: 1,
        }
    }

    /// Runs the workload.
    ///
    /// # Errors
    /// Impossible settings, a store that is missing or too small, files that belong to a database,
    /// failing I/O.
    pub fn run(&self) -> Result<Report, LabError> {
        self.check()?;
        let stores = match self.access {
            StoreAccess::Own => 1,
            StoreAccess::Mapped | StoreAccess::Positioned => self.clients,
        };
        let stores = (0..stores)
            .map(|_| Ok(Mutex::new(self.open_store()?)))
            .collect::<Result<Vec<_>, LabError>>()?;
        let records = locked(&stores[0]).bytes() / self.record_bytes as u64;
        if records == 0 {
            return Err(LabError::Setting(format!(
                "{} is smaller than one record of {} bytes; make one with --prepare",
                self.store.display(),
                self.record_bytes
            )));
        }
        let shared = Shared {
            test: self,
            log: LogFile::open(self)?,
            records,
            started: AtomicU64::new(0),
            cursor: AtomicU64::new(0),
            syncs: Histogram::default(),
        };
        let sampler = Sampler::start(&self.store);
        let begun = Instant::now();
        let counts: Vec<Result<Count, LabError>> = thread::scope(|scope| {
            let clients: Vec<_> = (0..self.clients)
                .map(|client| {
                    let (shared, store) = (&shared, &stores[client % stores.len()]);
                    scope.spawn(move || shared.client(client as u64, store))
                })
                .collect();
            let join = |client: thread::ScopedJoinHandle<'_, _>| {
                client
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            clients.into_iter().map(join).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        let mut count = Count::default();
        for one in counts {
            count.add(&one?);
        }
        // Without a durable log the changes would be nowhere.
        let write_back = self.checkpoint || !(self.write_log && self.sync);
        let mut store = locked(&stores[0]);
        store.finish(write_back)?;
        let finish_seconds = begun.elapsed().as_secs_f64() - seconds;
        shared.log.finish()?;
        let samples = sampler.stop();
        Ok(Report::new(
            self,
            store.describe(),
            count,
            seconds,
            finish_seconds,
            &shared.syncs.view(),
            samples,
        ))
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
        if self.clients == 0 {
            return wrong("clients are at least 1".to_owned());
        }
        if self.store == self.log {
            return wrong("store and log are the same file".to_owned());
        }
        if let Some(mirror) = &self.mirror {
            if *mirror == self.log || *mirror == self.store {
                return wrong("the mirror is a file of its own".to_owned());
            }
            spare_databases(mirror)?;
        }
        if self.access == StoreAccess::Own
            && (self.mirror.is_some() || self.preallocate || self.log_sync != LogSync::Fdatasync)
        {
            return wrong(
                "Graven's log chooses how it is written: no mirror, preallocation or other sync \
                    with it"
                    .to_owned(),
            );
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
}

/// What the clients of a run share.
struct Shared<'a> {
    test: &'a WriteTest,
    log: LogFile,
    records: u64,
    /// Transactions begun.
    started: AtomicU64,
    /// The next record of a sequential run.
    cursor: AtomicU64,
    syncs: Histogram,
}

impl Shared<'_> {
    /// Does transactions until all are begun.
    fn client(&self, client: u64, store: &Mutex<Box<dyn Store>>) -> Result<Count, LabError> {
        let test = self.test;
        let mut random = SplitMix64::new(test.seed + client);
        let mut count = Count::default();
        let mut places = Vec::new();
        while self.started.fetch_add(1, Relaxed) < test.tx_count {
            let size = test.tx_min + random.below(test.tx_max - test.tx_min + 1);
            places.clear();
            let first = self.cursor.fetch_add(size, Relaxed);
            places.extend((0..size).map(|at| {
                let record = match test.sequential {
                    true => (first + at) % self.records,
                    false => random.below(self.records),
                };
                record * test.record_bytes as u64
            }));
            self.transaction(store, &places, &mut count)?;
        }
        Ok(count)
    }

    fn transaction(
        &self,
        store: &Mutex<Box<dyn Store>>,
        places: &[u64],
        count: &mut Count,
    ) -> Result<(), LabError> {
        let test = self.test;
        let bytes = test.record_bytes;
        let mut buffer = std::mem::take(&mut count.buffer);
        buffer.resize(places.len() * bytes, 0);
        let mut reader = locked(store);
        for (record, &place) in buffer.chunks_exact_mut(bytes).zip(places) {
            if test.read {
                reader.read(place, record)?;
                count.read_bytes += bytes as u64;
            }
            // A changed record, so that no layer below can find out that nothing changes.
            record[0] = record[0].wrapping_add(1);
        }
        drop(reader);
        let waits_in_write = test.log_sync.is_by_write() && test.access != StoreAccess::Own;
        let mut begun = Instant::now();
        if test.write_log {
            self.log.append(&buffer)?;
            count.written_bytes += buffer.len() as u64;
        }
        if test.sync {
            if !waits_in_write {
                begun = Instant::now();
            }
            self.log.force()?;
            self.syncs.add(begun.elapsed().as_nanos() as u64);
            count.syncs += 1;
        }
        if test.write_store {
            let mut writer = locked(store);
            for (record, &place) in buffer.chunks_exact(bytes).zip(places) {
                writer.write(place, record)?;
            }
            count.written_bytes += buffer.len() as u64;
        }
        count.records += places.len() as u64;
        count.buffer = buffer;
        Ok(())
    }
}

fn locked<'a>(store: &'a Mutex<Box<dyn Store>>) -> std::sync::MutexGuard<'a, Box<dyn Store>> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Count {
    fn add(&mut self, other: &Count) {
        self.records += other.records;
        self.syncs += other.syncs;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
    }
}

/// The large file.
trait Store: Send {
    fn bytes(&self) -> u64;
    fn read(&mut self, offset: u64, record: &mut [u8]) -> Result<(), LabError>;
    fn write(&mut self, offset: u64, record: &[u8]) -> Result<(), LabError>;
    /// Writes what was kept back, if `write_back`.
    fn finish(&mut self, write_back: bool) -> Result<(), LabError>;
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

    fn finish(&mut self, _write_back: bool) -> Result<(), LabError> {
        Ok(())
    }

    fn describe(&self) -> String {
        "positioned reads and writes through the system's page cache".to_owned()
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
