//! What a writer at full speed, with checkpoints, leaves to a reader beside it.
//!
//! # How it works
//! One thread reads persons by an indexed property. Each round it reads alone and beside a thread that commits as fast
//! as it can while a third makes one checkpoint after the other; which comes first changes from round to round. Reads
//! are counted per second and per second of the reader's processor time: where there are fewer processors than
//! threads the first is about the scheduler, the second about Graven.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use graven::{Connection, Database, Params, TransactionOptions};
use serde::Serialize;

use super::report::median;
use super::{CommitBench, Run, Workload};
use crate::LabError;
use crate::machine::thread_cpu_seconds;
use graven_random::SplitMix64;

const PERSONS: i64 = 20_000;
const READ: &str = "MATCH (p:Person {id: $id}) RETURN p.firstName, p.born";
const LOAD: &str =
    "UNWIND range(1, $count) AS i CREATE (:Person {id: i, firstName: 'Ada', born: i})";
const INDEX: &str = "CREATE INDEX person_id FOR (p:Person) ON (p.id)";

/// A round: reads alone; reads beside commits, and the commits a second.
type Round = (Reads, (Reads, f64));

/// What the reader kept.
#[derive(Clone, Debug, Serialize)]
pub struct ReaderMeasurement {
    /// Median reads a second alone.
    pub alone_per_second: f64,
    /// Median reads a second beside the writer.
    pub beside_per_second: f64,
    /// Median over the rounds of reads a second beside the writer against alone.
    pub kept: f64,
    /// The same per second of the reader's processor time.
    pub kept_per_cpu_second: f64,
    /// Median commits a second of the writer.
    pub commits_per_second: f64,
    /// Checkpoints of all rounds.
    pub checkpoints: u64,
}

/// Reads of one half of a round.
struct Reads {
    per_second: f64,
    per_cpu_second: f64,
}

impl CommitBench {
    /// Measures a reader alone and beside a writer.
    ///
    /// # Errors
    /// As [`CommitBench::run`].
    pub fn reader(&self) -> Result<ReaderMeasurement, LabError> {
        let folder = self.folder()?;
        let database = self.database(folder.path())?;
        let connection = database.connect();
        connection.query(INDEX, &Params::new())?;
        connection.query(LOAD, &Params::new().with("count", PERSONS))?;
        database.checkpoint()?;
        let run = Run::new(
            Workload::Single,
            self.operations,
            TransactionOptions::default(),
        );
        // Ids above those that are read.
        run.next_id.store(PERSONS + 1, Relaxed);
        let mut rounds = Vec::new();
        let mut checkpoints = 0;
        for number in 0..self.rounds {
            let alone = || self.read(&database);
            let mut beside = || {
                let (reads, commits, made) = self.beside(&database, &run)?;
                checkpoints += made;
                Ok::<_, LabError>((reads, commits))
            };
            rounds.push(if number % 2 == 0 {
                let alone = alone()?;
                (alone, beside()?)
            } else {
                let beside = beside()?;
                (alone()?, beside)
            });
        }
        let of =
            |value: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(value).collect::<Vec<_>>());
        Ok(ReaderMeasurement {
            alone_per_second: of(&|(alone, _)| alone.per_second),
            beside_per_second: of(&|(_, (beside, _))| beside.per_second),
            kept: of(&|(alone, (beside, _))| beside.per_second / alone.per_second.max(1e-9)),
            kept_per_cpu_second: of(&|(alone, (beside, _))| {
                beside.per_cpu_second / alone.per_cpu_second.max(1e-9)
            }),
            commits_per_second: of(&|(_, (_, commits))| *commits),
            checkpoints,
        })
    }

    fn read(&self, database: &Database) -> Result<Reads, LabError> {
        let connection = database.connect();
        let mut random = SplitMix64::new(7);
        let (begun, cpu) = (Instant::now(), thread_cpu_seconds());
        let mut reads = 0;
        while begun.elapsed() < self.slice {
            read_one(&connection, 1 + random.below(PERSONS as u64) as i64)?;
            reads += 1;
        }
        Ok(Reads {
            per_second: f64::from(reads) / begun.elapsed().as_secs_f64(),
            per_cpu_second: f64::from(reads) / (thread_cpu_seconds() - cpu).max(1e-9),
        })
    }

    /// Reads, commits a second, checkpoints.
    fn beside(&self, database: &Database, run: &Run) -> Result<(Reads, f64, u64), LabError> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let connection = run.connect(database);
                let (begun, mut commits) = (Instant::now(), 0u64);
                while !stop.load(Relaxed) {
                    run.transaction(&connection)?;
                    commits += 1;
                }
                Ok::<_, LabError>(commits as f64 / begun.elapsed().as_secs_f64())
            });
            let keeper = scope.spawn(|| {
                let mut made = 0;
                while !stop.load(Relaxed) {
                    made += u64::from(database.checkpoint_paced()?.is_some());
                }
                Ok::<_, LabError>(made)
            });
            let reads = self.read(database);
            stop.store(true, Relaxed);
            let commits = writer.join().expect("the writer does not panic")?;
            let made = keeper.join().expect("the keeper does not panic")?;
            Ok((reads?, commits, made))
        })
    }
}

fn read_one(connection: &Connection, id: i64) -> Result<(), LabError> {
    let mut rows = connection.query(READ, &Params::new().with("id", id))?;
    match rows.next_row()? {
        Some(_) => Ok(()),
        None => Err(LabError::Setting(format!("person {id} is gone"))),
    }
}

impl fmt::Display for ReaderMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "reader: {:.0} reads/s alone, {:.0} beside a writer of {:.0} commits/s with {} checkpoints: {:.0} % \
             kept ({:.0} % per processor second)",
            self.alone_per_second,
            self.beside_per_second,
            self.commits_per_second,
            self.checkpoints,
            self.kept * 100.0,
            self.kept_per_cpu_second * 100.0
        )
    }
}
