//! How long opening takes when the log is full: beside reading the same log from the disk.
//!
//! # How it works
//! A database is filled with transactions until its log has the bytes asked for and left without a
//! checkpoint. Each round opens a copy of it, because opening is followed by a checkpoint that cuts
//! the log; it also reads the whole log file with direct reads, and opens a database with the same
//! content whose log is empty. What is above the latter is recovery.

use std::path::Path;
use std::time::Instant;
use std::{fmt, fs, io};

use graven::{Durability, TransactionOptions};
use graven_io::{AlignedBuffer, OpenOptions};
use serde::Serialize;

use super::report::median;
use super::{CommitBench, Run, Workload, open};
use crate::LabError;

const READ_BYTES: usize = 1 << 20;
/// A checkpoint of its own would cut the log: it begins at 64 MiB of log,
const LOG_BYTES_MAX: u64 = 60 << 20;
/// and at changes of an eighth of the memory. So the database is filled with that much, whatever it
/// is opened with later.
const FILLED_WITH: u64 = 2 << 30;

/// What opening took.
#[derive(Clone, Debug, Serialize)]
pub struct RecoveryMeasurement {
    /// What the transactions in the log did.
    pub workload: Workload,
    /// Transactions in the log.
    pub transactions: u64,
    /// Bytes of their records.
    pub log_bytes: u64,
    /// Median seconds of opening with that log.
    pub open_seconds: f64,
    /// Median seconds of opening the same content without.
    pub open_clean_seconds: f64,
    /// Median seconds of reading the log file.
    pub read_seconds: f64,
    /// Median over the rounds of seconds of recovery per 100 MB of log.
    pub seconds_per_100_mb: f64,
    /// Median over the rounds of recovery against reading the log.
    pub times_reading: f64,
}

impl CommitBench {
    /// Measures opening after the log has got `log_bytes` bytes of transactions of `workload`.
    ///
    /// # Errors
    /// As [`CommitBench::run`].
    pub fn recovery(
        &self,
        workload: Workload,
        log_bytes: u64,
    ) -> Result<RecoveryMeasurement, LabError> {
        let folder = self.folder()?;
        let full = folder.path().join("full.graven");
        let clean = folder.path().join("clean.graven");
        let (transactions, bytes) = self.fill(&full, workload, log_bytes.min(LOG_BYTES_MAX))?;
        self.fill(&clean, workload, log_bytes.min(LOG_BYTES_MAX))?;
        open(&clean, self.memory)?.checkpoint()?;
        let mut rounds = Vec::new();
        let log = folder.path().join("full.graven-wal");
        for round in 0..self.rounds {
            let left = folder.path().join(format!("left-{round}.graven"));
            let left_log = folder.path().join(format!("left-{round}.graven-wal"));
            copy(&full, &left)?;
            copy(&log, &left_log)?;
            let begun = Instant::now();
            let database = open(&left, self.memory)?;
            let opened = begun.elapsed().as_secs_f64();
            drop(database);
            remove(&left)?;
            remove(&left_log)?;
            let begun = Instant::now();
            let database = open(&clean, self.memory)?;
            let without = begun.elapsed().as_secs_f64();
            drop(database);
            let begun = Instant::now();
            read(&log)?;
            rounds.push((opened, without, begun.elapsed().as_secs_f64()));
        }
        let of = |value: &dyn Fn(&(f64, f64, f64)) -> f64| {
            median(&rounds.iter().map(value).collect::<Vec<_>>())
        };
        Ok(RecoveryMeasurement {
            workload,
            transactions,
            log_bytes: bytes,
            open_seconds: of(&|round| round.0),
            open_clean_seconds: of(&|round| round.1),
            read_seconds: of(&|round| round.2),
            seconds_per_100_mb: of(&|round| (round.0 - round.1) * 1e8 / bytes.max(1) as f64),
            times_reading: of(&|round| (round.0 - round.1) / round.2.max(1e-9)),
        })
    }

    /// Transactions without waiting for the disk; how many, and their bytes.
    fn fill(&self, path: &Path, workload: Workload, wanted: u64) -> Result<(u64, u64), LabError> {
        let database = open(path, FILLED_WITH)?;
        let run = Run::new(
            workload,
            self.operations,
            TransactionOptions::default().durability(Durability::Off),
        );
        let connection = run.connect(&database);
        let (mut transactions, mut bytes) = (0, 0);
        while bytes < wanted {
            bytes += run.transaction(&connection)?.log_bytes;
            transactions += 1;
        }
        Ok((transactions, bytes))
    }
}

fn failed<'a>(path: &'a Path, action: &'static str) -> impl FnOnce(io::Error) -> LabError + 'a {
    move |source| LabError::Io {
        path: path.to_path_buf(),
        action,
        source,
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), LabError> {
    fs::copy(from, to)
        .map(drop)
        .map_err(failed(from, "copying"))
}

fn remove(path: &Path) -> Result<(), LabError> {
    fs::remove_file(path).map_err(failed(path, "removing"))
}

fn read(path: &Path) -> Result<(), LabError> {
    let file = graven_io::open(path, &OpenOptions::default())?;
    let mut buffer = AlignedBuffer::zeroed(READ_BYTES);
    let mut at = 0;
    loop {
        let got = file.read_at(&mut buffer, at)?;
        if got == 0 {
            return Ok(());
        }
        at += got as u64;
    }
}

impl fmt::Display for RecoveryMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "recovery, {:?}: {} transactions, {:.1} MB of log; opening {:.3} s, without the log \
                {:.3} s, reading \
             the log {:.3} s: {:.2} s per 100 MB, {:.1} times reading",
            self.workload,
            self.transactions,
            self.log_bytes as f64 / 1e6,
            self.open_seconds,
            self.open_clean_seconds,
            self.read_seconds,
            self.seconds_per_100_mb,
            self.times_reading
        )
    }
}
