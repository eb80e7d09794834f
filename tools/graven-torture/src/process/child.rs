//! What the children of a torture do, each in a process of its own, until they are killed.
//!
//! # How it works
//! A committing child numbers its transactions and prints a line after each answer. Every node has
//! the number of its transaction and its part, so that one that is there by half shows. A full disk
//! is no reason to end: the commit must say that it is not durable, and is told as refused.

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use graven::{Config, Connection, Database, Durable, Params, Value};
use graven_types::rng::SplitMix64;

use crate::Failure;

/// Nodes that each transaction creates, all with its number.
pub(super) const NODES: i64 = 3;
/// Transactions of one child have numbers below this, plus the round's base.
const ROUND_STEP: i64 = 1_000_000_000;
const THREADS: i64 = 4;
/// A text of each node where the disk is to get full, in bytes.
const TEXT_BYTES: usize = 16 << 10;
/// The disk does not get full if so many times the limit went into it.
const TIMES_MAX: u64 = 64;
/// Commits refused before room is made.
const REFUSED: u64 = 5;
/// Commits after there is room again.
const AFTER_ROOM: u64 = 20;
/// How long the first of them may take.
const ROOM_TIME: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

/// What a child does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// Commits and tells.
    Commit {
        /// Which round it is.
        round: u64,
    },
    /// Makes checkpoints.
    Checkpoint,
    /// Commits until the disk is full.
    Fill(Fill),
}

/// How the disk gets full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// Which life it is.
    pub round: u64,
    /// How much its files may grow; `None` where the disk is small itself.
    pub bytes: Option<u64>,
    /// It goes on until it is killed, and makes no room.
    pub killed: bool,
}

impl Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Task::Commit { round } => write!(f, "commit:{round}"),
            Task::Checkpoint => f.write_str("checkpoint"),
            Task::Fill(Fill {
                round,
                bytes,
                killed,
            }) => write!(f, "fill:{round}:{}:{killed}", bytes.unwrap_or(0)),
        }
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(text: &str) -> Result<Task, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
        match parts[..] {
            ["commit", round] => Ok(Task::Commit {
                round: number(round)?,
            }),
            ["checkpoint"] => Ok(Task::Checkpoint),
            ["fill", round, bytes, killed] => Ok(Task::Fill(Fill {
                round: number(round)?,
                bytes: Some(number(bytes)?).filter(|bytes| *bytes > 0),
                killed: killed == "true",
            })),
            _ => Err(format!("{text} is no task")),
        }
    }
}

/// Does a task.
///
/// # Errors
/// The database refuses for another reason than a full disk, or breaks a promise; standard output
/// is gone.
///
/// # Panics
/// A committing thread panicked.
pub fn run(path: &Path, task: Task, memory: u64) -> Result<(), Failure> {
    let mut config = Config::default();
    config.memory = memory;
    config.create = true;
    let database = Database::open(path, config).map_err(failed)?;
    tell("ready")?;
    match task {
        Task::Commit { round } => commit(&database, round),
        Task::Checkpoint => checkpoint(&database),
        Task::Fill(how) => fill(&database, path, how),
    }
}

/// The file that takes the room away on a small disk.
pub(super) fn ballast(path: &Path) -> PathBuf {
    path.with_extension("ballast")
}

fn failed(error: impl Display) -> Failure {
    Failure::Setup(error.to_string())
}

fn tell(line: impl Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let told = writeln!(out, "{line}").and_then(|()| out.flush());
    told.map_err(failed)
}

/// Makes one checkpoint after the other. Any process that owns the file can.
fn checkpoint(database: &Database) -> Result<(), Failure> {
    loop {
        match database.checkpoint() {
            Ok(Some(_)) => tell("checkpoint")?,
            Ok(None) => std::thread::sleep(PAUSE),
            Err(error) if error.code() == "Database.DiskFull" => std::thread::sleep(PAUSE),
            Err(error) => return Err(failed(error)),
        }
    }
}

fn commit(database: &Database, round: u64) -> Result<(), Failure> {
    let next = AtomicI64::new(round as i64 * ROUND_STEP + 1);
    std::thread::scope(|scope| {
        let committing = || {
            let connection = database.connect();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if !transaction(&connection, number, "")? {
                    std::thread::sleep(PAUSE);
                }
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(committing)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .find(Result::is_err)
            .unwrap_or(Ok(()))
    })
}

/// One transaction, told; `false` if there was no room for it.
fn transaction(connection: &Connection, number: i64, text: &str) -> Result<bool, Failure> {
    let params = Params::new()
        .with("tx", number)
        .with("last", NODES - 1)
        .with("text", text);
    let statement =
        "UNWIND range(0, $last) AS part CREATE (:Torture {tx: $tx, part: part, text: $text})";
    match connection.query(statement, &params) {
        Ok(_) => tell(number).map(|()| true),
        Err(error)
            if error.code() == "Database.DiskFull"
                && error.durable().is_none_or(|durable| durable == Durable::No) =>
        {
            tell(format_args!("refused {number}")).map(|()| false)
        }
        Err(error) => Err(failed(format_args!(
            "commit {number}: {}: {error} (durable: {:?})",
            error.code(),
            error.durable()
        ))),
    }
}

fn fill(database: &Database, path: &Path, how: Fill) -> Result<(), Failure> {
    let hard = how
        .bytes
        .map(|bytes| limit_files(path, bytes))
        .transpose()?;
    let connection = database.connect();
    let mut next = how.round as i64 * ROUND_STEP + 1;
    let mut random = SplitMix64::new(how.round);
    let mut step = || {
        next += 1;
        // Random, so that no compression makes it small.
        let words = TEXT_BYTES / 16;
        let text: String = (0..words)
            .map(|_| format!("{:016x}", random.bits()))
            .collect();
        transaction(&connection, next, &text)
    };
    let before = count(database)?;
    let (mut done, mut refused) = (0, 0);
    let most = how.bytes.unwrap_or(1 << 30) * TIMES_MAX / (NODES as u64 * TEXT_BYTES as u64);
    while how.killed || refused < REFUSED {
        match step()? {
            true => done += 1,
            false => {
                refused += 1;
                std::thread::sleep(PAUSE);
                reads_go_on(database, before + done)?;
            }
        }
        if done > most {
            return Err(failed(format_args!("{done} commits did not fill the disk")));
        }
    }
    match hard {
        Some(hard) => set_limit(hard)?,
        None => std::fs::remove_file(ballast(path)).map_err(failed)?,
    }
    let begun = Instant::now();
    let mut after = 0;
    while after < AFTER_ROOM {
        match step()? {
            true => after += 1,
            false if begun.elapsed() < ROOM_TIME => std::thread::sleep(PAUSE),
            false => return Err(failed("there is room again, and commits are still refused")),
        }
    }
    reads_go_on(database, before + done + after)?;
    tell(format_args!("room {after}"))
}

/// Transactions that are there.
fn count(database: &Database) -> Result<u64, Failure> {
    let text = "MATCH (n:Torture) RETURN count(DISTINCT n.tx) AS c";
    let connection = database.connect();
    let mut result = connection.query(text, &Params::new()).map_err(failed)?;
    let row = result.next_row().map_err(failed)?;
    let count = row.and_then(|row| row.get(0).and_then(Value::as_integer));
    count
        .map(|count| count as u64)
        .ok_or_else(|| failed("no count"))
}

fn reads_go_on(database: &Database, expected: u64) -> Result<(), Failure> {
    match count(database)? {
        found if found == expected => Ok(()),
        found => Err(failed(format_args!(
            "{found} transactions are there on the full disk, {expected} were acknowledged"
        ))),
    }
}

/// From now on no file of this process grows further than the largest one of the database and
/// `bytes` more; the limit before.
fn limit_files(path: &Path, bytes: u64) -> Result<libc::rlimit, Failure> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let now = length(path).max(length(Path::new(&log)));
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a whole structure; ignoring a signal runs no code.
    let got = unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit)
    };
    if got != 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    let soft = (now + bytes).min(limit.rlim_max);
    set_limit(libc::rlimit {
        rlim_cur: soft,
        ..limit
    })?;
    Ok(limit)
}

fn set_limit(limit: libc::rlimit) -> Result<(), Failure> {
    // SAFETY: the pointer is to a whole structure, which is only read.
    match unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) } {
        0 => Ok(()),
        _ => Err(failed(std::io::Error::last_os_error())),
    }
}
