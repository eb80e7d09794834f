//! Statements that run in the background, each under a name: `apoc.periodic.submit`, `repeat` and
//! `countdown`.
//!
//! # How it works
//! A job has a thread, which waits between its runs. It holds the database only while a statement
//! runs, so that it keeps no database open, and ends when that is gone. Its statements have the
//! rights and the timeout of the one that made it. What it fails with is not told.
//!
//! # Invariants
//! * JO-1 A database has [`JOBS_MAX`] jobs at most that have not ended.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many jobs of a database may be waiting or running.
const JOBS_MAX: usize = 64;

/// How long a waiting job sleeps before it looks whether its database is there.
const NAP: Duration = Duration::from_secs(1);

/// The jobs of a database.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<Vec<Arc<Job>>>);

/// When a job runs again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    /// Never.
    Once,
    /// Always, so long after the end of each run.
    Every(Duration),
    /// So long after a run, if its first column was more than 0 in sum.
    WhileMore(Duration),
}

/// What a job does.
pub(crate) trait Work: Send {
    fn run(&self) -> Run;

    /// Whether there is nothing left that it could be done on.
    fn is_gone(&self) -> bool;
}

/// What came of a run.
pub(crate) enum Run {
    /// The sum of the integers in the first column.
    Ended(i64),
    Failed,
    /// There is no database any more.
    Gone,
}

/// A job.
pub(crate) struct Job {
    pub(crate) name: Arc<str>,
    pub(crate) again: Again,
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct State {
    pub(crate) is_done: bool,
    pub(crate) is_cancelled: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    /// All of them, by name.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        let mut all = locked(&self.0).clone();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Starts a job in place of the one of its name.
    pub(crate) fn start(
        &self,
        name: &Arc<str>,
        again: Again,
        work: Box<dyn Work>,
    ) -> Result<Arc<Job>, String> {
        let mut all = locked(&self.0);
        if let Some(before) = take(&mut all, name) {
            before.cancel();
        }
        if all.iter().filter(|job| !job.state().is_done).count() >= JOBS_MAX {
            return Err(format!(
                "there are {JOBS_MAX} jobs, and no more are taken: cancel one with \
                    apoc.periodic.cancel"
            ));
        }
        let job = Arc::new(Job {
            name: Arc::clone(name),
            again,
            state: Mutex::default(),
            woken: Condvar::new(),
        });
        let own = Arc::clone(&job);
        let thread = std::thread::Builder::new().name("graven-job".to_owned());
        let started = thread.spawn(move || {
            own.run(&*work);
            locked(&own.state).is_done = true;
        });
        started.map_err(|why| format!("no thread can be started: {why}"))?;
        all.push(Arc::clone(&job));
        Ok(job)
    }

    /// Takes a job from the list; it does not run again.
    pub(crate) fn cancel(&self, name: &str) -> Option<Arc<Job>> {
        let job = take(&mut locked(&self.0), name)?;
        job.cancel();
        Some(job)
    }
}

fn take(all: &mut Vec<Arc<Job>>, name: &str) -> Option<Arc<Job>> {
    let at = all.iter().position(|job| *job.name == *name)?;
    Some(all.remove(at))
}

impl Job {
    pub(crate) fn state(&self) -> State {
        *locked(&self.state)
    }

    /// What has ended by itself was not cancelled.
    fn cancel(&self) {
        let mut state = locked(&self.state);
        state.is_cancelled = !state.is_done;
        state.is_done = true;
        self.woken.notify_all();
    }

    fn run(&self, work: &dyn Work) {
        loop {
            let wait = match (self.again, work.run()) {
                (_, Run::Gone) | (Again::Once, _) => return,
                (Again::Every(wait), _) => wait,
                (Again::WhileMore(wait), Run::Ended(sum)) if sum > 0 => wait,
                (Again::WhileMore(_), _) => return,
            };
            if !self.waits(wait, work) {
                return;
            }
        }
    }

    /// Waits; whether it is to run again.
    fn waits(&self, wait: Duration, work: &dyn Work) -> bool {
        let begun = Instant::now();
        let mut state = locked(&self.state);
        loop {
            let left = wait.saturating_sub(begun.elapsed());
            if state.is_cancelled || work.is_gone() {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            let waited = self.woken.wait_timeout(state, left.min(NAP));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
