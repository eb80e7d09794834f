//! Threads on which statements run.
//!
//! # How it works
//! A job goes to a thread that rests, or to a new one; beyond [`THREADS_MAX`] it waits. Node's own
//! pool is not used: its four threads also read files and look up names, and a few long statements
//! would stop both. A thread that had nothing to do for [`REST`] ends. Nothing waits for these
//! threads when the process ends.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Jobs that run at once.
const THREADS_MAX: usize = 64;

/// How long a thread waits for another job.
const REST: Duration = Duration::from_secs(5);

type Job = Box<dyn FnOnce() + Send>;

static THREADS: Threads = Threads {
    state: Mutex::new(State {
        jobs: VecDeque::new(),
        resting: 0,
        threads: 0,
    }),
    changed: Condvar::new(),
};

struct Threads {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    resting: usize,
    threads: usize,
}

/// Runs a job on another thread, which must not wait for another job (ND-4).
pub(crate) fn run(job: impl FnOnce() + Send + 'static) {
    let mut state = THREADS.state();
    state.jobs.push_back(Box::new(job));
    if state.resting >= state.jobs.len() || state.threads >= THREADS_MAX {
        drop(state);
        THREADS.changed.notify_one();
        return;
    }
    state.threads += 1;
    drop(state);
    if !begin("graven-statement", || THREADS.work()) {
        // The threads that there are do it; without any, this one.
        let mut state = THREADS.state();
        state.threads -= 1;
        if state.threads == 0
            && let Some(job) = state.jobs.pop_front()
        {
            drop(state);
            job();
        }
    }
}

/// Runs a job on a thread of its own, so that it may wait for others.
pub(crate) fn run_apart(job: impl FnOnce() + Send + 'static) {
    let job = std::sync::Arc::new(Mutex::new(Some(job)));
    let its = std::sync::Arc::clone(&job);
    let work = move || {
        let job = its.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            job();
        }
    };
    if !begin("graven-close", work.clone()) {
        work();
    }
}

/// Whether there is such a thread now.
fn begin(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).is_ok()
}

impl Threads {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does jobs until there is none for a while.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state();
                continue;
            }
            state.resting += 1;
            let waited = self.changed.wait_timeout(state, REST);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.resting -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}
