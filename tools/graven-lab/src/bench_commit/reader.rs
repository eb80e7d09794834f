//! What a writer at full speed, with checkpoints, leaves to a reader beside it.
//!
//! # How it works
//! One thread reads persons by an indexed property. Each round it reads alone, then while a second
//! thread commits as fast as it can and a third makes one checkpoint after the other, then while a
//! thread writes the same bytes durably to a plain file ([`Floor`]). The last is what the disk's
//! interrupts and the kernel take, whichever program writes: on a machine with two processors more
//! than a third. The order changes from round to round. Reads are counted per second and per second
//! of the reader's processor time: where there are fewer processors than threads the first is about
//! the scheduler, the second about Graven.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use graven::{Connection, Database, Params, TransactionOptions};
use serde::Serialize;

use super::floor::Floor;
use super::report::median;
use super::{CommitBench, Run, Workload};
use crate::LabError;
use crate::machine::thread_cpu_seconds;
use graven_types::rng::SplitMix64;

const PERSONS: i64 = 20_000;
const READ: &str = "MATCH (p:Person {id: $id}) RETURN p.firstName, p.born";
const LOAD: &str =
    "UNWIND range(1, $count) AS i CREATE (:Person {id: i, firstName: 'Ada', born: i})";
const INDEX: &str = "CREATE INDEX person_id FOR (p:Person) ON (p.id)";

/// Bytes that a commit of the writer takes in the log, about.
const COMMIT_BYTES: u64 = 300;

/// A part of a round.
#[derive(Clone, Copy)]
enum Part {
    Alone,
    BesideRaw,
    BesideWriter,
}

/// What the parts of one round gave.
#[derive(Default)]
struct Round {
    alone: Reads,
    beside_raw: Reads,
    beside: Reads,
    raw_per_second: f64,
    commits_per_second: f64,
    checkpoints: u64,
}

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
    /// Median over the rounds of reads a second beside a raw writer against alone.
    pub raw_leaves: f64,
    /// Median over the rounds of reads a second beside the writer against beside a raw writer.
    pub kept_of_raw: f64,
    /// Median durable writes a second of the raw writer.
    pub raw_per_second: f64,
    /// Median commits a second of the writer.
    pub commits_per_second: f64,
    /// Checkpoints of all rounds.
    pub checkpoints: u64,
}

/// Reads of one part of a round.
#[derive(Default)]
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
        let floor = Floor::create(folder.path(), COMMIT_BYTES)?;
        let parts = [Part::Alone, Part::BesideRaw, Part::BesideWriter];
        let mut rounds = Vec::new();
        for number in 0..self.rounds {
            let mut round = Round::default();
            for at in 0..parts.len() {
                match parts[(number + at) % parts.len()] {
                    Part::Alone => round.alone = self.read(&database)?,
                    Part::BesideRaw => self.beside_raw(&database, &floor, &mut round)?,
                    Part::BesideWriter => self.beside(&database, &run, &mut round)?,
                }
            }
            rounds.push(round);
        }
        let of =
            |value: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(value).collect::<Vec<_>>());
        let ratio = |one: f64, other: f64| one / other.max(1e-9);
        Ok(ReaderMeasurement {
            alone_per_second: of(&|it| it.alone.per_second),
            beside_per_second: of(&|it| it.beside.per_second),
            kept: of(&|it| ratio(it.beside.per_second, it.alone.per_second)),
            kept_per_cpu_second: of(&|it| ratio(it.beside.per_cpu_second, it.alone.per_cpu_second)),
            raw_leaves: of(&|it| ratio(it.beside_raw.per_second, it.alone.per_second)),
            kept_of_raw: of(&|it| ratio(it.beside.per_second, it.beside_raw.per_second)),
            raw_per_second: of(&|it| it.raw_per_second),
            commits_per_second: of(&|it| it.commits_per_second),
            checkpoints: rounds.iter().map(|it| it.checkpoints).sum(),
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

    fn beside_raw(
        &self,
        database: &Database,
        floor: &Floor,
        round: &mut Round,
    ) -> Result<(), LabError> {
        let (raw, reads) = thread::scope(|scope| {
            let raw = scope.spawn(|| floor.run(1, self.slice));
            let reads = self.read(database);
            (raw.join().expect("the raw writer does not panic"), reads)
        });
        let raw = raw?;
        round.beside_raw = reads?;
        round.raw_per_second = raw.writes.load(Relaxed) as f64 / raw.seconds;
        Ok(())
    }

    fn beside(&self, database: &Database, run: &Run, round: &mut Round) -> Result<(), LabError> {
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
            round.commits_per_second = writer.join().expect("the writer does not panic")?;
            round.checkpoints = keeper.join().expect("the keeper does not panic")?;
            round.beside = reads?;
            Ok(())
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
            "reader: {:.0} reads/s alone, {:.0} beside a writer of {:.0} commits/s with {} \
                checkpoints: {:.0} % \
             kept ({:.0} % per processor second)",
            self.alone_per_second,
            self.beside_per_second,
            self.commits_per_second,
            self.checkpoints,
            self.kept * 100.0,
            self.kept_per_cpu_second * 100.0
        )?;
        writeln!(
            f,
            "        beside a thread that only writes and syncs a file, {:.0} times/s: {:.0} % \
                kept; \
             beside the writer {:.0} % of that",
            self.raw_per_second,
            self.raw_leaves * 100.0,
            self.kept_of_raw * 100.0
        )
    }
}
