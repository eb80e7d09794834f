//! Statements that run in the background, each under a name: `apoc.periodic.submit`, `repeat` and
//! `countdown`.
//!
//! # How it works
//! A job has a thread, which waits between its runs. It holds the database only while a statement
//! runs, so that it keeps no database open, and ends when that is gone. Its statements have the
//! rights and the timeout of the one that made it. What it fails with is not told.
//!
//! To cancel a job, or to start another one in its place, asks the statement that it runs to stop.
//! Its thread counts until it has ended, which may be a moment later.
//!
//! # Invariants
//! * JO-1 The jobs of a database have [`JOBS_MAX`] threads at most, those of cancelled jobs among
//!   them.
//! * JO-2 [`JOBS_MAX`] jobs at most are listed that have ended; the oldest go first.
//! * JO-3 A user sees, cancels and replaces jobs of that user only, but for an admin.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::CancelHandle;

/// How many jobs of a database may be waiting or running, and how many that have ended are kept.
const JOBS_MAX: usize = 64;

/// How long a waiting job sleeps before it looks whether its database is there.
const NAP: Duration = Duration::from_secs(1);

/// The jobs of a database.
#[derive(Default)]
pub(crate) struct Jobs {
    /// In the order they were started.
    all: Mutex<Vec<Arc<Job>>>,
    /// Threads that have not ended.
    threads: Arc<AtomicUsize>,
}

/// What asks for jobs.
pub(crate) struct Asker {
    pub(crate) user: Option<Arc<str>>,
    pub(crate) is_admin: bool,
}

impl Asker {
    /// Without users, all jobs are its own.
    fn may(&self, job: &Job) -> bool {
        self.is_admin || self.user == job.user
    }
}

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
    /// Runs it once, until it ends or the handle is asked to cancel it.
    fn run(&self, cancel: &CancelHandle) -> Run;

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
    user: Option<Arc<str>>,
    state: Mutex<State>,
    /// What cancels the present run. It is set while `state` is locked, so that none is missed.
    running: Mutex<CancelHandle>,
    woken: Condvar,
}

/// A thread of a job, which counts while this lives; the job is done when it ends, also by a panic.
struct Thread {
    job: Arc<Job>,
    threads: Arc<AtomicUsize>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        locked(&self.job.state).is_done = true;
        self.threads.fetch_sub(1, Ordering::SeqCst);
    }
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
    /// Those that may be seen, by name.
    pub(crate) fn list(&self, asker: &Asker) -> Vec<Arc<Job>> {
        let mut all = locked(&self.all);
        forget_oldest(&mut all);
        let mut seen: Vec<_> = all.iter().filter(|job| asker.may(job)).cloned().collect();
        seen.sort_by(|a, b| a.name.cmp(&b.name));
        seen
    }

    /// Starts a job in place of the one of its name. If it cannot, that one stays.
    pub(crate) fn start(
        &self,
        asker: Asker,
        name: &Arc<str>,
        again: Again,
        work: Box<dyn Work>,
    ) -> Result<Arc<Job>, String> {
        // No thread is added otherwise while this is locked.
        let mut all = locked(&self.all);
        if all.iter().any(|job| job.name == *name && !asker.may(job)) {
            return Err(format!(
                "the job {name} is one of another user: take another name"
            ));
        }
        if self.threads.load(Ordering::SeqCst) >= JOBS_MAX {
            return Err(format!(
                "there are {JOBS_MAX} jobs that have not ended, and no more are taken: cancel one \
                    with apoc.periodic.cancel"
            ));
        }
        let job = Arc::new(Job {
            name: Arc::clone(name),
            again,
            user: asker.user,
            state: Mutex::default(),
            running: Mutex::default(),
            woken: Condvar::new(),
        });
        self.threads.fetch_add(1, Ordering::SeqCst);
        let thread = Thread {
            job: Arc::clone(&job),
            threads: Arc::clone(&self.threads),
        };
        let builder = std::thread::Builder::new().name("graven-job".to_owned());
        let started = builder.spawn(move || {
            // The thread counts until the work is dropped, too.
            let (thread, work) = (thread, work);
            thread.job.run(&*work);
        });
        started.map_err(|why| format!("no thread can be started: {why}"))?;
        if let Some(at) = all.iter().position(|job| job.name == *name) {
            all.remove(at).cancel();
        }
        all.push(Arc::clone(&job));
        forget_oldest(&mut all);
        Ok(job)
    }

    /// Takes a job from the list; it is asked to stop and does not run again.
    pub(crate) fn cancel(&self, asker: &Asker, name: &str) -> Option<Arc<Job>> {
        let mut all = locked(&self.all);
        let at = all
            .iter()
            .position(|job| *job.name == *name && asker.may(job))?;
        let job = all.remove(at);
        job.cancel();
        Some(job)
    }
}

/// Takes those from the list that have ended and are too many.
fn forget_oldest(all: &mut Vec<Arc<Job>>) {
    let ended = all.iter().filter(|job| job.state().is_done).count();
    let mut left = ended.saturating_sub(JOBS_MAX);
    all.retain(|job| {
        let goes = left > 0 && job.state().is_done;
        left -= usize::from(goes);
        !goes
    });
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
        locked(&self.running).cancel();
        self.woken.notify_all();
    }

    /// What cancels the run that begins now; none if it is not to run.
    fn begins(&self) -> Option<CancelHandle> {
        let state = locked(&self.state);
        if state.is_cancelled {
            return None;
        }
        // Another one for each run: TERMINATE TRANSACTIONS may have used the one before.
        let cancel = CancelHandle::default();
        *locked(&self.running) = cancel.clone();
        Some(cancel)
    }

    fn run(&self, work: &dyn Work) {
        while let Some(cancel) = self.begins() {
            let wait = match (self.again, work.run(&cancel)) {
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
