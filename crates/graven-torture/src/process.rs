//! Torture of a real disk: a process that commits is killed, again and again, and what it acknowledged is compared with
//! what is there.
//!
//! # How it works
//! The parent starts a child that commits as fast as it can, some threads at once, and prints the number of every commit
//! after it was acknowledged. After a random time the parent kills it with SIGKILL, opens the database and
//! checks: every printed number is there; each transaction is there whole or not at all; nothing is there that
//! was not begun; `check` finds nothing. The database is never made anew, so each round also recovers what the rounds before left.
//!
//! A killed process tests the log, recovery and checkpoints as they meet this file system; it does not test the disk's
//! cache, which only a power cut does.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use graven::{Config, Database, Params, Value};

use crate::Failure;
use graven_random::SplitMix64;

/// Nodes that each transaction creates, all with its number.
const NODES: i64 = 3;
/// Transactions of one child have numbers below this, plus the round's base.
const ROUND_STEP: i64 = 1_000_000_000;
const THREADS: i64 = 4;
/// The child's longest life.
const LIFE_MAX_MS: u64 = 1_500;

/// A torture of a directory.
#[derive(Clone, Debug)]
pub struct ProcessTorture {
    /// Where the database is made; it stays there after a failure.
    pub directory: PathBuf,
    /// Kills.
    pub rounds: u64,
    /// No new round after this time.
    pub time: Duration,
    /// Seed of the times of the kills.
    pub seed: u64,
    /// Memory budget of the database.
    pub memory: u64,
}

/// What it did.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct ProcessReport {
    /// Processes killed.
    pub kills: u64,
    /// Commits acknowledged, all of them found.
    pub acknowledged: u64,
    /// Commits found that nobody had been told about: the ones in flight.
    pub unacknowledged: u64,
    /// Longest time it took to open after a kill, in milliseconds.
    pub open_ms_max: u64,
}

impl std::fmt::Display for ProcessReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} processes killed: all {} acknowledged commits are there, whole; {} more had been in flight; \
             opening took {} ms at most",
            self.kills, self.acknowledged, self.unacknowledged, self.open_ms_max
        )
    }
}

impl ProcessTorture {
    /// Runs the torture; `child` makes the command that runs [`commit_forever`] with the given database and round.
    ///
    /// # Errors
    /// A broken promise; the directory cannot be used.
    pub fn run(&self, child: &dyn Fn(&Path, u64) -> Command) -> Result<ProcessReport, Failure> {
        let setup = |what: String| Failure::Setup(what);
        if !self.directory.is_dir() {
            return Err(setup(format!(
                "{} is no directory",
                self.directory.display()
            )));
        }
        let path = self.directory.join("torture.graven");
        if path.exists() {
            return Err(setup(format!(
                "{} exists already: move it away",
                path.display()
            )));
        }
        let mut random = SplitMix64::new(self.seed);
        let mut report = ProcessReport::default();
        let mut acknowledged = BTreeSet::new();
        let begun = Instant::now();
        for round in 0..self.rounds {
            if round > 0 && begun.elapsed() > self.time {
                break;
            }
            let life = Duration::from_millis(20 + random.below(LIFE_MAX_MS));
            let started = child(&path, round)
                .stdout(Stdio::piped())
                .stdin(Stdio::null())
                .spawn();
            let started = started.map_err(|error| setup(format!("no child starts: {error}")))?;
            let told = kill_after(started, life)?;
            report.kills += 1;
            acknowledged.extend(told);
            self.compare(&path, round, &mut acknowledged, &mut report)?;
        }
        report.acknowledged = acknowledged.len() as u64;
        for name in ["torture.graven", "torture.graven-wal", "torture.graven-tmp"] {
            // Some of them may never have been made.
            let _ = std::fs::remove_file(self.directory.join(name));
        }
        Ok(report)
    }

    fn compare(
        &self,
        path: &Path,
        round: u64,
        acknowledged: &mut BTreeSet<i64>,
        report: &mut ProcessReport,
    ) -> Result<(), Failure> {
        let broken = |what: String| Failure::Broken {
            context: format!("round {round}, {}", path.display()),
            what,
        };
        if !path.exists() {
            // Killed before it had made the file: it cannot have told anything.
            return match acknowledged.first() {
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
        let question = "MATCH (n:Torture) RETURN n.tx AS tx, count(*) AS c, min(n.part) AS low, max(n.part) AS high";
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
        if let Some(lost) = acknowledged.difference(&found).next() {
            return Err(broken(format!(
                "commit {lost} was acknowledged and is gone"
            )));
        }
        report.unacknowledged += found.difference(acknowledged).count() as u64;
        *acknowledged = found;
        let check = database
            .check(&mut |_| {})
            .map_err(|error| broken(error.to_string()))?;
        match check.problems.first() {
            None => Ok(()),
            Some(problem) => Err(broken(format!("check: {problem:?}"))),
        }
    }
}

/// Lets the child work for a while and kills it; the numbers it told.
fn kill_after(mut child: Child, life: Duration) -> Result<Vec<i64>, Failure> {
    let stdout = child.stdout.take().expect("it was piped");
    let reader = std::thread::spawn(move || {
        // A line that the kill cut off was not told.
        let mut told = Vec::new();
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line.ends_with('\n')
                && let Ok(number) = line.trim().parse()
            {
                told.push(number);
            }
            line.clear();
        }
        told
    });
    std::thread::sleep(life);
    let early = child.try_wait();
    let failed =
        |error: std::io::Error| Failure::Setup(format!("the child cannot be killed: {error}"));
    if let Some(status) = early.map_err(failed)? {
        return Err(Failure::Setup(format!(
            "the child ended by itself: {status}"
        )));
    }
    child.kill().map_err(failed)?;
    child.wait().map_err(failed)?;
    Ok(reader.join().unwrap_or_default())
}

/// What the child does: commits and tells, until it is killed.
///
/// # Errors
/// The database refuses, or standard output is gone.
///
/// # Panics
/// A committing thread panicked.
pub fn commit_forever(path: &Path, round: u64, memory: u64) -> Result<(), Failure> {
    let mut config = Config::default();
    config.memory = memory;
    config.create = true;
    let setup = |what: String| Failure::Setup(what);
    let database = Database::open(path, config).map_err(|error| setup(error.to_string()))?;
    let next = AtomicI64::new(round as i64 * ROUND_STEP + 1);
    let failure = std::sync::Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let connection = database.connect();
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let params = Params::new().with("tx", number).with("last", NODES - 1);
                    let text =
                        "UNWIND range(0, $last) AS part CREATE (:Torture {tx: $tx, part: part})";
                    let told = connection
                        .query(text, &params)
                        .map_err(|error| error.to_string())
                        .and_then(|_| {
                            let mut out = std::io::stdout().lock();
                            let told = writeln!(out, "{number}").and_then(|()| out.flush());
                            told.map_err(|error| error.to_string())
                        });
                    if let Err(what) = told {
                        *failure.lock().expect("no thread panics") = Some(what);
                        return;
                    }
                }
            });
        }
    });
    match failure.into_inner().expect("no thread panics") {
        Some(what) => Err(setup(what)),
        None => Ok(()),
    }
}
