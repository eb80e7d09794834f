//! `bench commit`: what a transaction costs, beside what the disk asks for it.
//!
//! # How it works
//! Three workloads on a new database: `single` (each operation, two nodes with properties and a
//! relationship with one, is a transaction of its own), `large` (the same operations, many in one
//! transaction), `unwind` (one statement that creates many nodes). Clients are threads with a
//! connection each. Every round runs the workload and, right before or after it, the *floor*: as
//! many threads that overwrite as many bytes of a preallocated file and share one sync ([`floor`]).
//! Sync speed swings from minute to minute, so only ratios within a round mean something: the
//! median of them is reported.
//!
//! More questions, each with its own baseline: what opening takes with a full log ([`recovery`]),
//! what a writer leaves to a reader ([`reader`]), what a checkpoint costs the clients that commit
//! ([`checkpoints`]), small transactions against a large one ([`transactions`]), and what settings
//! of the system are worth ([`settings`]).
//!
//! # Costs
//! A round takes the time asked for, twice.

pub mod checkpoints;
pub mod floor;
pub mod reader;
pub mod recovery;
mod report;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod transactions;
mod volume;

pub use report::{Matrix, Measurement};
pub use settings::Settings;
pub use transactions::Transactions;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use graven::{Config, Connection, Database, Durability, Params, TransactionOptions};
use graven_wal::Histogram;
use serde::Serialize;
use tempfile::TempDir;

use crate::LabError;
use floor::Floor;

const SINGLE: &str = "CREATE (a:Person {id: $id, firstName: $name, born: $id})-[:KNOWS {since: \
    $id}]->\
(b:Person {id: -$id, firstName: $name, born: $id})";
const UNWIND: &str = "UNWIND range($id, $id + $rows - 1) AS i \
CREATE (:Person {id: i, firstName: $name, lastName: $name, birthday: i})";

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// One operation: two nodes with properties, a relationship with one.
    Single,
    /// Many operations, a statement each.
    Large,
    /// One statement of many rows.
    Unwind,
}

/// What is measured, and for how long.
#[derive(Clone, Debug)]
pub struct CommitBench {
    /// Folder for the database and the floor's file; both are removed.
    pub directory: PathBuf,
    /// Memory budget of the database.
    pub memory: u64,
    /// Operations of a large transaction, rows of an `UNWIND`.
    pub operations: u64,
    /// Rounds of which the median is taken.
    pub rounds: usize,
    /// How long each half of a round takes.
    pub slice: Duration,
}

impl CommitBench {
    /// Measures one workload with so many clients at one durability.
    ///
    /// # Errors
    /// The directory cannot be written to; the database refuses.
    pub fn run(
        &self,
        workload: Workload,
        clients: usize,
        durability: Durability,
    ) -> Result<Measurement, LabError> {
        if clients == 0 || self.rounds == 0 || self.operations == 0 {
            let text = "clients, rounds and operations are at least 1";
            return Err(LabError::Setting(text.to_owned()));
        }
        let folder = self.folder()?;
        let database = self.database(folder.path())?;
        let options = TransactionOptions::default().durability(durability);
        let run = Run::new(workload, self.operations, options);
        // The first commit makes the log; its size tells what the floor has to write.
        let first = run.transaction(&run.connect(&database))?;
        let floor = Floor::create(folder.path(), first.log_bytes.max(1))?;
        let mut rounds = Vec::new();
        for number in 0..self.rounds {
            let measure = || run.measure(&database, clients, self.slice);
            let (ours, raw) = if number % 2 == 0 {
                let ours = measure()?;
                (ours, floor.run(clients, self.slice)?)
            } else {
                let raw = floor.run(clients, self.slice)?;
                (measure()?, raw)
            };
            rounds.push((ours, raw));
        }
        Ok(Measurement::new(
            workload, clients, durability, &run, rounds,
        ))
    }

    /// A folder of its own in the directory, removed when it is dropped.
    fn folder(&self) -> Result<TempDir, LabError> {
        tempfile::Builder::new()
            .prefix("graven-bench-")
            .tempdir_in(&self.directory)
            .map_err(LabError::io(&self.directory, "writing to"))
    }

    fn database(&self, folder: &Path) -> Result<Database, LabError> {
        self.open(&folder.join("commit.graven"))
    }

    fn open(&self, path: &Path) -> Result<Database, LabError> {
        open(path, self.memory)
    }
}

fn open(path: &Path, memory: u64) -> Result<Database, LabError> {
    let mut config = Config::default();
    config.memory = memory;
    config.create = true;
    // What recovering a log takes is measured, too.
    config.fold_on_close = None;
    Ok(Database::open(path, config)?)
}

/// One half of a round.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    transactions: u64,
    seconds: f64,
    log_bytes: u64,
    waited: Duration,
    groups: u64,
    grouped: u64,
    latency: Histogram,
    flushes: Option<u64>,
}

struct Run {
    workload: Workload,
    operations: u64,
    options: TransactionOptions,
    next_id: AtomicI64,
}

impl Run {
    fn new(workload: Workload, operations: u64, options: TransactionOptions) -> Run {
        Run {
            workload,
            operations,
            options,
            next_id: AtomicI64::new(1),
        }
    }

    fn connect(&self, database: &Database) -> Connection {
        database.connect().with_options(self.options.clone())
    }

    fn measure(
        &self,
        database: &Database,
        clients: usize,
        slice: Duration,
    ) -> Result<Slice, LabError> {
        let stat = crate::write_test::kernel::disk_of(database.path());
        let before = flushes(stat.as_deref());
        let total = Mutex::new(Slice::default());
        let latency = Histogram::default();
        let failure = Mutex::new(None);
        let begun = Instant::now();
        thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let mine = self.client(database, begun + slice, &latency);
                    let mut total = total.lock().expect("no client panics");
                    match mine {
                        Ok(mine) => {
                            total.transactions += mine.transactions;
                            total.log_bytes += mine.log_bytes;
                            total.waited += mine.waited;
                            total.groups += mine.groups;
                            total.grouped += mine.grouped;
                        }
                        Err(error) => *failure.lock().expect("no client panics") = Some(error),
                    }
                });
            }
        });
        if let Some(error) = failure.into_inner().expect("no client panics") {
            return Err(error);
        }
        let mut total = total.into_inner().expect("no client panics");
        total.seconds = begun.elapsed().as_secs_f64();
        total.latency = latency;
        total.flushes = flushes(stat.as_deref())
            .zip(before)
            .map(|(now, before)| now.saturating_sub(before));
        Ok(total)
    }

    fn client(
        &self,
        database: &Database,
        end: Instant,
        latency: &Histogram,
    ) -> Result<Slice, LabError> {
        let connection = self.connect(database);
        let mut slice = Slice::default();
        while Instant::now() < end {
            let begun = Instant::now();
            let commit = self.transaction(&connection)?;
            latency.add(begun.elapsed().as_nanos() as u64);
            slice.transactions += 1;
            slice.log_bytes += commit.log_bytes;
            slice.waited += commit.waited;
            if commit.group > 0 {
                slice.groups += 1;
                slice.grouped += u64::from(commit.group);
            }
        }
        Ok(slice)
    }

    fn transaction(&self, connection: &Connection) -> Result<graven::Commit, LabError> {
        let params = |id: i64| Params::new().with("id", id).with("name", "Ada Lovelace");
        match self.workload {
            Workload::Single => {
                let id = self.next_id.fetch_add(1, Relaxed);
                let result = connection.query(SINGLE, &params(id))?;
                Ok(result.summary().commit.unwrap_or_default())
            }
            Workload::Large => {
                let mut transaction = connection.begin()?;
                for _ in 0..self.operations {
                    let id = self.next_id.fetch_add(1, Relaxed);
                    transaction.query(SINGLE, &params(id))?;
                }
                Ok(transaction.commit()?)
            }
            Workload::Unwind => {
                let rows = self.operations as i64;
                let id = self.next_id.fetch_add(rows, Relaxed);
                let result = connection.query(UNWIND, &params(id).with("rows", rows))?;
                Ok(result.summary().commit.unwrap_or_default())
            }
        }
    }

    /// Operations of a transaction.
    fn operations(&self) -> u64 {
        match self.workload {
            Workload::Single => 1,
            Workload::Large | Workload::Unwind => self.operations,
        }
    }
}

/// Flush requests that the disk has completed so far.
fn flushes(stat: Option<&Path>) -> Option<u64> {
    let text = std::fs::read_to_string(stat?).ok()?;
    text.split_whitespace().nth(15)?.parse().ok()
}

/// Counts shared by the floor's threads.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    writes: AtomicU64,
    seconds: f64,
}

impl Raw {
    fn per_second(&self) -> f64 {
        self.writes.load(Relaxed) as f64 / self.seconds.max(1e-9)
    }
}
