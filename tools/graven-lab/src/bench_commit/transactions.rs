//! The ext4 article's test: 1,000 transactions of one operation against one transaction of 1,000.
//!
//! # How it works
//! Each round does the small transactions, the large one, the small ones again (which tells what
//! the machine does by itself), and the floor: durable writes of as many bytes as a small
//! transaction logs.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use graven::{Database, Durability, TransactionOptions};
use serde::Serialize;

use super::floor::Floor;
use super::report::{deviation, median};
use super::{CommitBench, Run, Workload};
use crate::LabError;

/// How long a round's floor is measured.
const FLOOR: Duration = Duration::from_millis(200);

/// Operations a second of one round.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TransactionRound {
    /// As many transactions as operations.
    pub small: f64,
    /// One transaction.
    pub large: f64,
    /// The small ones once more.
    pub again: f64,
    /// Durable raw writes of a small transaction's bytes.
    pub floor: f64,
    /// Share of the small transactions' time spent waiting for the log: 0 to 1.
    pub waited_share: f64,
}

/// What the rounds measured.
#[derive(Clone, Debug, Serialize)]
pub struct Transactions {
    /// Operations: two nodes with properties, a relationship with one.
    pub operations: u64,
    /// Bytes of log of a small transaction.
    pub log_bytes_small: u64,
    /// Bytes of log of the large one.
    pub log_bytes_large: u64,
    /// The rounds.
    pub rounds: Vec<TransactionRound>,
}

/// A database on which rounds are made.
pub(super) struct Prepared {
    database: Database,
    small: Run,
    large: Run,
    floor: Floor,
    pub(super) log_bytes: (u64, u64),
}

impl Prepared {
    pub(super) fn new(
        folder: &Path,
        memory: u64,
        operations: u64,
        durability: Durability,
    ) -> Result<Self, LabError> {
        let database = super::open(&folder.join("commit.graven"), memory)?;
        let options = TransactionOptions::default().durability(durability);
        let small = Run::new(Workload::Single, operations, options.clone());
        let large = Run::new(Workload::Large, operations, options);
        // The first commits make the log and tell what they put into it.
        let bytes =
            |run: &Run| Ok::<_, LabError>(run.transaction(&run.connect(&database))?.log_bytes);
        bytes(&small)?;
        let log_bytes = (bytes(&small)?, bytes(&large)?);
        Ok(Self {
            floor: Floor::create(folder, log_bytes.0.max(1))?,
            database,
            small,
            large,
            log_bytes,
        })
    }

    /// Operations a second, and the share of the time that waited for the log.
    fn time(&self, run: &Run, transactions: u64) -> Result<(f64, f64), LabError> {
        let connection = run.connect(&self.database);
        let (begun, mut waited) = (Instant::now(), Duration::ZERO);
        for _ in 0..transactions {
            waited += run.transaction(&connection)?.waited;
        }
        let seconds = begun.elapsed().as_secs_f64().max(1e-9);
        let operations = (transactions * run.operations()) as f64;
        Ok((operations / seconds, waited.as_secs_f64() / seconds))
    }

    /// Operations a second of small transactions and of a large one.
    pub(super) fn small_and_large(&self) -> Result<(f64, f64), LabError> {
        let operations = self.large.operations();
        let (small, _) = self.time(&self.small, operations)?;
        let (large, _) = self.time(&self.large, 1)?;
        Ok((small, large))
    }

    fn round(&self) -> Result<TransactionRound, LabError> {
        let operations = self.large.operations();
        let (small, waited_share) = self.time(&self.small, operations)?;
        let (large, _) = self.time(&self.large, 1)?;
        let (again, _) = self.time(&self.small, operations)?;
        let raw = self.floor.run(1, FLOOR)?;
        Ok(TransactionRound {
            small,
            large,
            again,
            floor: raw.per_second(),
            waited_share,
        })
    }
}

impl CommitBench {
    /// Makes the rounds at one durability.
    ///
    /// # Errors
    /// As [`CommitBench::run`].
    pub fn transactions(&self, durability: Durability) -> Result<Transactions, LabError> {
        let folder = self.folder()?;
        let prepared = Prepared::new(folder.path(), self.memory, self.operations, durability)?;
        let rounds = (0..self.rounds).map(|_| prepared.round());
        Ok(Transactions {
            operations: self.operations,
            log_bytes_small: prepared.log_bytes.0,
            log_bytes_large: prepared.log_bytes.1,
            rounds: rounds.collect::<Result<_, _>>()?,
        })
    }
}

impl Transactions {
    /// A column of the rounds.
    #[must_use]
    pub fn column(&self, of: fn(&TransactionRound) -> f64) -> Vec<f64> {
        self.rounds.iter().map(of).collect()
    }

    /// Median and standard deviation of a column.
    #[must_use]
    pub fn median(&self, of: fn(&TransactionRound) -> f64) -> (f64, f64) {
        let column = self.column(of);
        (median(&column), deviation(&column))
    }
}

impl fmt::Display for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "operations/s: {n} transactions of 1, 1 of {n}, the disk's floor",
            n = self.operations
        )?;
        for round in &self.rounds {
            writeln!(
                f,
                "{:10.2} {:12.2} {:12.2}",
                round.small, round.large, round.floor
            )?;
        }
        let (small, large) = (self.median(|r| r.small), self.median(|r| r.large));
        writeln!(
            f,
            "median {:.2} {:.2}, standard deviation {:.2} {:.2}; {} bytes of log a small \
                transaction, {:.0} % of its time waiting for the log",
            small.0,
            large.0,
            small.1,
            large.1,
            self.log_bytes_small,
            self.median(|r| r.waited_share).0 * 100.0
        )
    }
}
