//! Runs what is left once all is read: each job sorts the records of one store and writes them.
//!
//! # How it works
//! Workers take jobs from a queue. The first one that is free goes on with the types in the forward
//! direction, one after the other: the ids of a type begin after those of the type before. The
//! other one takes the reverse directions, then the columns, the largest first, then the indexes. A
//! worker writes; a thread beside it sorts ahead of it ([`feed`]).
//!
//! # Invariants
//! - JB-1 At most one type is written forward at a time, and types in their order.
//! - JB-2 Once a job fails, or a thread panics, no other one begins.
//! - JB-3 At most [`WORKERS`] jobs run at a time, so that so many sorters hold memory.
//!
//! # Concurrency
//! A worker that finds no job that may begin waits until another has ended. The calling thread
//! reports how many records were read and written, and stops the workers when it is told to, or
//! when a job fails: each asks from time to time ([`Steps`]).

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::error::ImportError;
use crate::feed::{self, Feed};
use crate::prepare::{Job, Source};
use crate::progress::{Meter, Steps, Unit};

/// Jobs that may run at the same time.
pub(crate) const WORKERS: usize = 2;
const REPORTS_EVERY: Duration = Duration::from_millis(100);
/// Each record is read once and written once.
const PASSES: u64 = 2;

/// The jobs that have not begun.
struct Waiting {
    forward: VecDeque<Job>,
    others: VecDeque<Job>,
    /// Whether a type is being written forward.
    is_forward_open: bool,
}

struct Queue {
    waiting: Mutex<Waiting>,
    ended: Condvar,
}

/// A job that runs; where it is dropped, the job has ended.
struct Running<'q> {
    queue: &'q Queue,
    job: Job,
}

impl Queue {
    fn new(source: &Source<'_>) -> Self {
        let staged = source.staged;
        let types = staged.relationships.iter().enumerate();
        let types = types.filter(|(_, spool)| spool.records() > 0);
        let types: Vec<usize> = types.map(|(number, _)| number).collect();
        let bytes = |key: &usize| {
            let column = &staged.columns[*key];
            column.values.bytes() + column.elements.bytes()
        };
        let mut columns: Vec<usize> = (0..staged.columns.len())
            .filter(|key| source.records(Job::Column(*key)) > 0)
            .collect();
        columns.sort_by_key(|key| std::cmp::Reverse(bytes(key)));
        let indexes = (!source.plan.indexes.is_empty()).then_some(Job::Indexes);
        let others = types.iter().copied().map(Job::Reverse);
        let others = others.chain(columns.into_iter().map(Job::Column));
        Self {
            waiting: Mutex::new(Waiting {
                others: others.chain(indexes).collect(),
                forward: types.into_iter().map(Job::Forward).collect(),
                is_forward_open: false,
            }),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no worker panics with the lock")
    }

    /// Records that all jobs read and write.
    fn steps(&self, source: &Source<'_>) -> u64 {
        let waiting = self.lock();
        let jobs = waiting.forward.iter().chain(&waiting.others);
        PASSES * jobs.map(|job| source.records(*job)).sum::<u64>()
    }

    /// The next job that may begin; `None` once there are none.
    fn next(&self) -> Option<Running<'_>> {
        let mut waiting = self.lock();
        let job = loop {
            if !waiting.is_forward_open
                && let Some(job) = waiting.forward.pop_front()
            {
                waiting.is_forward_open = true;
                break job;
            }
            if let Some(job) = waiting.others.pop_front() {
                break job;
            }
            if waiting.forward.is_empty() {
                return None;
            }
            let again = self.ended.wait(waiting);
            waiting = again.expect("no worker panics with the lock");
        };
        Some(Running { queue: self, job })
    }

    /// No job begins any more.
    fn stop(&self) {
        let mut waiting = self.lock();
        waiting.forward.clear();
        waiting.others.clear();
        drop(waiting);
        self.ended.notify_all();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.queue.stop();
        }
        if let Job::Forward(_) = self.job {
            self.queue.lock().is_forward_open = false;
            self.queue.ended.notify_all();
        }
    }
}

/// Runs all jobs; `write` takes the sorted records of one.
pub(crate) fn run(
    source: &Source<'_>,
    threads: usize,
    meter: &mut Meter<'_>,
    write: &(dyn Fn(Job, Feed, &Steps) -> Result<(), ImportError> + Sync),
) -> Result<(), ImportError> {
    let (queue, steps) = (Queue::new(source), Steps::default());
    let total = queue.steps(source);
    meter.phase("sorting and writing", total, Unit::Values)?;
    let run = |job: Job| {
        if threads < 2 {
            return write(job, source.sorted(job, &steps)?.into(), &steps);
        }
        std::thread::scope(|scope| {
            let (send, sorted) = feed::channel();
            let steps = &steps;
            scope.spawn(move || send.send(source.sorted(job, steps)));
            write(job, sorted, steps)
        })
    };
    let work = || {
        while let Some(running) = queue.next() {
            if let Err(error) = run(running.job) {
                // Before the job has ended: no other one begins in its place.
                queue.stop();
                return Err(error);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let (send, ended) = channel();
        for _ in 0..threads.clamp(1, WORKERS) {
            let (send, work) = (send.clone(), &work);
            // The calling thread listens until all have ended.
            scope.spawn(move || send.send(work()));
        }
        drop(send);
        let mut result = Ok(());
        loop {
            let told = match ended.recv_timeout(REPORTS_EVERY) {
                Ok(ended) => ended,
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let done = steps.done().min(total);
            if let Err(error) = told.and_then(|()| meter.at(done)) {
                steps.stop();
                queue.stop();
                // What ends because it was stopped says nothing of its own.
                result = result.and(Err(error));
            }
        }
        result.and_then(|()| meter.at(total))
    })
}
