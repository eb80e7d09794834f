//! A child at work, and what it has told so far.
//!
//! # How it works
//! A thread of the parent reads the child's standard output line by line into [`ChildLog`]: a
//! number is an acknowledged commit, `refused N` one that was refused as not durable, `checkpoint`
//! one that was made, `room N` says how many commits went through after there was room again. A
//! line that the kill cut off was not told.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::MakeChild;
use super::child::Task;
use crate::Failure;

/// What a child has told.
#[derive(Debug, Default)]
pub(super) struct ChildLog {
    pub(super) acknowledged: Vec<i64>,
    pub(super) refused: Vec<i64>,
    pub(super) checkpoints: u64,
    pub(super) after_room: u64,
    ready: bool,
    ended: bool,
}

type Shared = (Mutex<ChildLog>, Condvar);

/// A child that runs.
pub(super) struct ChildProcess {
    child: Child,
    task: Task,
    shared: Arc<Shared>,
    reader: std::thread::JoinHandle<()>,
}

fn lock(shared: &Shared) -> MutexGuard<'_, ChildLog> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ChildProcess {
    pub(super) fn start(
        make: &MakeChild<'_>,
        path: &Path,
        task: Task,
    ) -> Result<ChildProcess, Failure> {
        let started = make(path, task)
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn();
        let mut child =
            started.map_err(|error| Failure::Setup(format!("no child starts: {error}")))?;
        let stdout = child.stdout.take().expect("it was piped");
        let shared = Arc::<Shared>::default();
        let telling = Arc::clone(&shared);
        let reader = std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if let Some(line) = line.strip_suffix('\n') {
                    lock(&telling).hear(line);
                    telling.1.notify_all();
                }
                line.clear();
            }
            lock(&telling).ended = true;
            telling.1.notify_all();
        });
        Ok(ChildProcess {
            child,
            task,
            shared,
            reader,
        })
    }

    /// Waits until it has opened the database.
    pub(super) fn wait_until_ready(&mut self) -> Result<(), Failure> {
        self.wait_for(|told| told.ready)
    }

    /// Waits until so many commits were refused.
    pub(super) fn wait_until_refused(&mut self, count: usize) -> Result<(), Failure> {
        self.wait_for(|told| told.refused.len() >= count)
    }

    fn wait_for(&mut self, met: impl Fn(&ChildLog) -> bool) -> Result<(), Failure> {
        let mut told = lock(&self.shared);
        while !met(&told) && !told.ended {
            let waited = self.shared.1.wait_timeout(told, Duration::from_secs(1));
            told = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let (met, ended) = (met(&told), told.ended);
        drop(told);
        match met || !ended {
            true => Ok(()),
            false => {
                let status = self.child.wait().map_err(|error| self.lost(&error))?;
                Err(self.ended(status))
            }
        }
    }

    /// Commits that it has told.
    pub(super) fn acknowledged(&self) -> u64 {
        lock(&self.shared).acknowledged.len() as u64
    }

    /// Kills it; what it told.
    pub(super) fn kill(mut self) -> Result<ChildLog, Failure> {
        let early = self.child.try_wait().map_err(|error| self.lost(&error))?;
        if let Some(status) = early {
            return Err(self.ended(status));
        }
        self.child.kill().map_err(|error| self.lost(&error))?;
        self.child.wait().map_err(|error| self.lost(&error))?;
        Ok(self.heard())
    }

    /// Waits until it has done its task; what it told.
    pub(super) fn finish(mut self) -> Result<ChildLog, Failure> {
        let status = self.child.wait().map_err(|error| self.lost(&error))?;
        match status.success() {
            true => Ok(self.heard()),
            false => Err(self.ended(status)),
        }
    }

    fn heard(self) -> ChildLog {
        let _ = self.reader.join();
        std::mem::take(&mut *lock(&self.shared))
    }

    fn lost(&self, error: &std::io::Error) -> Failure {
        Failure::Setup(format!("the child ({}) is out of hand: {error}", self.task))
    }

    fn ended(&self, status: ExitStatus) -> Failure {
        Failure::Broken {
            context: format!("the child ({})", self.task),
            what: format!("it ended by itself ({status}): what it said is above"),
        }
    }
}

impl ChildLog {
    fn hear(&mut self, line: &str) {
        let (word, number) = line.split_once(' ').unwrap_or((line, ""));
        match (word, number.parse()) {
            ("ready", _) => self.ready = true,
            ("checkpoint", _) => self.checkpoints += 1,
            ("refused", Ok(number)) => self.refused.push(number),
            ("room", Ok(count)) => self.after_room = count as u64,
            _ => self.acknowledged.extend(word.parse::<i64>().ok()),
        }
    }
}
