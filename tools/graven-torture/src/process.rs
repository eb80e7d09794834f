//! Torture of a real disk: a process that commits is killed, again and again, and what it
//! acknowledged is compared with what is there.
//!
//! # How it works
//! The parent starts a child that commits as fast as it can, some threads at once, and prints the
//! number of every commit after it was acknowledged ([`child`]). After a random time the parent
//! kills it with SIGKILL, opens the database and checks: every printed number is there; none that
//! was refused is; each transaction is there whole or not at all; `check` finds nothing. The
//! database lives on, so each round also recovers what the rounds before left; it is only made anew
//! when the disk got full.
//!
//! In every second round another process opens the database first, so that it owns the file, and
//! makes one checkpoint after the other while the writers commit through it. It is killed at a
//! random moment too: with the writers, or before them; then these take over. The last phase fills
//! the disk ([`full_disk`]).
//!
//! A killed process tests the log, recovery and checkpoints as they meet this file system; it does
//! not test the disk's cache, which only a power cut does.

pub mod child;
mod child_log;
mod full_disk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use graven::{Config, Database, Params, Value};

use crate::Failure;
use child::{NODES, Task};
use child_log::ChildProcess;
use graven_types::rng::SplitMix64;

/// The least memory a database works with, and so a torture.
pub const MEMORY_MIN: u64 = graven_pagecache::BUDGET_BYTES_MIN;

/// The child's longest life.
const LIFE_MAX_MS: u64 = 1_500;

/// A torture of a directory.
#[derive(Clone, Debug)]
pub struct ProcessTorture {
    /// Where the databases are made; they stay there after a failure.
    pub directory: PathBuf,
    /// Rounds of kills.
    pub rounds: u64,
    /// No new round after this time.
    pub time: Duration,
    /// Seed of the times of the kills.
    pub seed: u64,
    /// Memory budget of the database.
    pub memory: u64,
    /// How much the files may grow by until the disk counts as full.
    pub full_disk_bytes: u64,
    /// Room on the disk of a folder, where that is known.
    pub free_bytes: fn(&Path) -> Option<u64>,
}

/// What it did.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct ProcessReport {
    /// Processes killed that committed.
    pub kills: u64,
    /// Commits acknowledged, all of them found.
    pub acknowledged: u64,
    /// Commits found that were not acknowledged: the ones in flight.
    pub unacknowledged: u64,
    /// Processes killed that made checkpoints beside the writers.
    pub checkpoint_kills: u64,
    /// Checkpoints that those made.
    pub checkpoints: u64,
    /// Commits acknowledged after such a process was killed and the writers had taken over.
    pub after_takeover: u64,
    /// Times the disk got full: by the last phase, or by itself.
    pub full_disks: u64,
    /// Commits refused with the word that they are not durable, none of them found.
    pub refused: u64,
    /// Commits that went through after there was room again.
    pub after_room: u64,
    /// Longest time it took to open after a kill, in milliseconds.
    pub open_ms_max: u64,
}

impl std::fmt::Display for ProcessReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} writing processes killed: all {} acknowledged commits are there, whole; {} more \
                had been in flight; \
             opening took {} ms at most",
            self.kills, self.acknowledged, self.unacknowledged, self.open_ms_max
        )?;
        writeln!(
            f,
            "{} processes killed that made checkpoints beside the writers: {} checkpoints, {} \
                commits after a takeover",
            self.checkpoint_kills, self.checkpoints, self.after_takeover
        )?;
        writeln!(
            f,
            "{} times the disk was full: {} commits refused, none of them there; {} commits after \
                there was room again",
            self.full_disks, self.refused, self.after_room
        )
    }
}

/// Makes the command that runs [`child::run`] with the given database and task.
pub type MakeChild<'a> = dyn Fn(&Path, Task) -> Command + 'a;

/// What is known of a database that is being tortured.
#[derive(Debug, Default)]
struct Ledger {
    acknowledged: BTreeSet<i64>,
    refused: BTreeSet<i64>,
}

impl ProcessTorture {
    /// Runs the torture.
    ///
    /// # Errors
    /// A broken promise; the directory cannot be used.
    pub fn run(&self, child: &MakeChild<'_>) -> Result<ProcessReport, Failure> {
        let setup = |what: String| Failure::Setup(what);
        if !self.directory.is_dir() {
            return Err(setup(format!(
                "{} is no directory",
                self.directory.display()
            )));
        }
        if self.memory < MEMORY_MIN {
            let memory = self.memory;
            return Err(setup(format!(
                "{memory} bytes of memory are too little: at least {MEMORY_MIN}"
            )));
        }
        let (path, full) = (self.file("torture.graven"), self.file(full_disk::NAME));
        for path in [&path, &full] {
            if path.exists() {
                return Err(setup(format!(
                    "{} exists already: move it away",
                    path.display()
                )));
            }
        }
        let mut random = SplitMix64::new(self.seed);
        let mut report = ProcessReport::default();
        let mut ledger = Ledger::default();
        let begun = Instant::now();
        for round in 0..self.rounds {
            // Two rounds at least, so that both kinds are met.
            if round > 1 && begun.elapsed() > self.time {
                break;
            }
            let refused = ledger.refused.len();
            match round % 2 {
                0 => {
                    let writer = ChildProcess::start(child, &path, Task::Commit { round })?;
                    std::thread::sleep(life(&mut random));
                    ledger.note(writer.kill()?, &mut report);
                }
                _ => {
                    beside_checkpoints(child, &path, round, &mut random, &mut ledger, &mut report)?
                }
            }
            report.kills += 1;
            self.compare(&path, round, &mut ledger, &mut report)?;
            if ledger.refused.len() > refused {
                report.full_disks += 1;
                remove(&path);
                ledger.settle(&mut report);
            }
        }
        remove(&path);
        ledger.settle(&mut report);
        self.fill(child, &full, &mut random, &mut report)?;
        remove(&full);
        Ok(report)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn compare(
        &self,
        path: &Path,
        round: u64,
        ledger: &mut Ledger,
        report: &mut ProcessReport,
    ) -> Result<(), Failure> {
        let broken = |what: String| Failure::Broken {
            context: format!("round {round}, {}", path.display()),
            what,
        };
        if !path.exists() {
            // Killed before it had made the file: it cannot have told anything.
            return match ledger.acknowledged.first() {
                None => Ok(()),
                Some(_) => Err(broken("the database is gone".to_owned())),
            };
        }
        let begun = Instant::now();
        let mut config = Config::default();
        config.memory = self.memory;
        let database = Database::open(path, config)
            .map_err(|error| broken(format!("it does not open: {error}")))?;
        let took = begun.elapsed().as_millis() as u64;
        report.open_ms_max = report.open_ms_max.max(took);
        let question = "MATCH (n:Torture) RETURN n.tx AS tx, count(*) AS c, min(n.part) AS low, \
            max(n.part) AS high";
        let failed = |error: graven::Error| broken(format!("it cannot be read: {error}"));
        let connection = database.connect();
        let mut result = connection.query(question, &Params::new()).map_err(failed)?;
        let mut found = BTreeSet::new();
        while let Some(row) = result.next_row().map_err(failed)? {
            let number = |column| row.get(column).and_then(Value::as_integer);
            let (Some(tx), count) = (number(0), number(1)) else {
                return Err(broken("a node without number".to_owned()));
            };
            if (count, number(2), number(3)) != (Some(NODES), Some(0), Some(NODES - 1)) {
                return Err(broken(format!(
                    "transaction {tx} is there by half: {row:?}"
                )));
            }
            found.insert(tx);
        }
        if let Some(lost) = ledger.acknowledged.difference(&found).next() {
            return Err(broken(format!(
                "commit {lost} was acknowledged and is gone"
            )));
        }
        if let Some(there) = ledger.refused.intersection(&found).next() {
            return Err(broken(format!(
                "commit {there} was refused as not durable and is there"
            )));
        }
        report.unacknowledged += found.difference(&ledger.acknowledged).count() as u64;
        ledger.acknowledged = found;
        let check = database
            .check(&mut |_| {})
            .map_err(|error| broken(error.to_string()))?;
        match check.problems.first() {
            None => Ok(()),
            Some(problem) => Err(broken(format!("check: {problem:?}"))),
        }
    }
}

/// How long a child lives.
fn life(random: &mut SplitMix64) -> Duration {
    Duration::from_millis(20 + random.below(LIFE_MAX_MS))
}

/// A round in which another process owns the file and makes checkpoints; it dies with the writers,
/// or before them.
fn beside_checkpoints(
    child: &MakeChild<'_>,
    path: &Path,
    round: u64,
    random: &mut SplitMix64,
    ledger: &mut Ledger,
    report: &mut ProcessReport,
) -> Result<(), Failure> {
    let mut owner = ChildProcess::start(child, path, Task::Checkpoint)?;
    owner.wait_until_ready()?;
    let writer = ChildProcess::start(child, path, Task::Commit { round })?;
    std::thread::sleep(life(random));
    let survives = random.below(3) > 0;
    let before = writer.acknowledged();
    report.checkpoints += owner.kill()?.checkpoints;
    report.checkpoint_kills += 1;
    if survives {
        std::thread::sleep(life(random));
        report.after_takeover += writer.acknowledged() - before;
    }
    ledger.note(writer.kill()?, report);
    Ok(())
}

/// Removes a database; some of its files may never have been made.
fn remove(path: &Path) {
    for end in ["", "-wal", "-tmp"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
}

impl Ledger {
    fn note(&mut self, told: child_log::ChildLog, report: &mut ProcessReport) {
        report.refused += told.refused.len() as u64;
        report.after_room += told.after_room;
        self.acknowledged.extend(told.acknowledged);
        self.refused.extend(told.refused);
    }

    /// The database has ended.
    fn settle(&mut self, report: &mut ProcessReport) {
        report.acknowledged += self.acknowledged.len() as u64;
        *self = Ledger::default();
    }
}
