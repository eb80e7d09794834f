//! Threads that stand by to help statements with work that can be divided.
//!
//! # How it works
//! Starting a thread and ending it takes as long as a tenth of a millisecond of work, and what its
//! allocator and caches held is lost with it. So threads that have helped wait for more. They are
//! first awake, for as long as the next part of the same statement mostly takes to come, then
//! asleep, and end after 5 seconds without work. A thread that wants help ([`run_parallel`]) posts
//! a *job* with as many slots as helpers are welcome and begins with the work itself. It takes the
//! job back when nothing is left, without waiting for helpers that have not begun. Where fewer
//! stand by than there are slots, threads are started.
//!
//! A thread that is at work together with others jobs those for help, and wakes or starts none:
//! they come for the same thing ([`cooperative_cell`]), or stand by when they are done.
//!
//! # Invariants
//! * EX-60 When [`run_parallel`] returns or unwinds no helper is at its work any more, and none
//!   will be.
//! * EX-62 A process made by `fork` has a pool of its own. The threads that stood by, a lock one
//!   of them may have held, and jobs whose work has gone stay in its parent.
//!
//! # Concurrency
//! One lock for the jobs of the process, held for a few steps at a time and never while work is
//! done. A helper takes a slot and leaves it under the lock. A helper may post jobs itself.

mod cooperative_cell;

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use graven_io::OwnerProcess;

pub(crate) use cooperative_cell::CooperativeCell;

/// How long a helper looks for the next job before it sleeps, and a caller for the end of its last
/// helper.
const AWAKE: Duration = Duration::from_micros(50);
/// How long it sleeps before it ends.
const ASLEEP: Duration = Duration::from_secs(5);
/// Looks between two looks at the clock.
const LOOKS: usize = 32;

thread_local! {
    /// How many are at the work that this thread is at, itself among them, or may come to it; none
    /// of them if it is at none.
    static AT_WORK: RefCell<Option<Arc<AtomicUsize>>> = const { RefCell::new(None) };
}

/// What a job makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobKey(usize);

type Work = NonNull<dyn Fn() + Sync>;

/// Work that is to be helped with.
struct Job {
    work: Work,
    /// What makes the same for those that wait for it.
    joined: Option<(JobKey, Work)>,
    /// Those that are at work, the caller among them, and free slots.
    at_work: Arc<AtomicUsize>,
    /// Helpers that are at it.
    seated: AtomicUsize,
    /// Told when the last one leaves.
    left: Condvar,
    /// What the first of them that failed has panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` and `joined` are shared by reference alone and are `Sync`; EX-60 keeps them alive
// for as long as a helper uses them.
unsafe impl Send for Job {}
// SAFETY: as for `Send`; everything else in it is `Sync`.
unsafe impl Sync for Job {}

/// What all threads know of each other.
#[derive(Default)]
struct JobQueue {
    /// Jobs with free slots, the oldest first.
    jobs: VecDeque<(Arc<Job>, usize)>,
    /// Helpers that look for a job, and that sleep.
    awake: usize,
    asleep: usize,
    /// Threads that sleep until something joint is there or is helped with.
    joining: usize,
}

/// The pool of the threads of one process.
struct Pool {
    home: OwnerProcess,
    queue: Mutex<JobQueue>,
    /// Free slots, for threads that look without the lock.
    slots: AtomicUsize,
    posted: Condvar,
    /// Told when a joint job is posted and when what is joint is free.
    joint: Condvar,
}

/// The pool of this process, or of the one it was forked from; null before the first job.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process (EX-62).
fn pool() -> &'static Pool {
    let known = POOL.load(Ordering::Acquire);
    // SAFETY: null or put there below: never freed, and shared by reference alone.
    if let Some(pool) = unsafe { known.as_ref() }
        && pool.home.is_here()
    {
        return pool;
    }
    let new = Box::into_raw(Box::new(Pool {
        home: OwnerProcess::here(),
        queue: Mutex::default(),
        slots: AtomicUsize::new(0),
        posted: Condvar::new(),
        joint: Condvar::new(),
    }));
    let put = POOL.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire);
    if put.is_err() {
        // SAFETY: made above, and no other thread has seen it.
        drop(unsafe { Box::from_raw(new) });
        return pool();
    }
    // SAFETY: as above; from now on it is never freed.
    unsafe { &*new }
}

impl Pool {
    fn queue(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobQueue {
    /// Takes a slot at the first job, or at that which makes what is under a key.
    fn sit(&mut self, key: Option<JobKey>) -> Option<Arc<Job>> {
        let makes = |job: &Job| key.is_none() || job.joined.map(|(key, _)| key) == key;
        let at = self.jobs.iter().position(|(job, _)| makes(job))?;
        let (job, slots) = &mut self.jobs[at];
        let job = Arc::clone(job);
        job.seated.fetch_add(1, Ordering::Relaxed);
        *slots -= 1;
        if *slots == 0 {
            self.jobs.remove(at);
        }
        Some(job)
    }
}

impl Job {
    /// Does the work on a slot that was taken, and leaves it.
    fn help(&self, pool: &'static Pool, joins: bool) -> MutexGuard<'static, JobQueue> {
        pool.slots.fetch_sub(1, Ordering::Relaxed);
        let joined = self.joined.filter(|_| joins);
        let work = joined.map_or(self.work, |(_, work)| work);
        let together = Together::with(&self.at_work);
        // SAFETY: the slot was taken while the job stood on the queue, so the thread that posted
        // it waits until it is left (EX-60).
        let work = unsafe { work.as_ref() };
        let panic = catch_unwind(AssertUnwindSafe(work)).err();
        drop(together);
        if let Some(panic) = panic {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(panic);
        }
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        let guard = pool.queue();
        if self.seated.fetch_sub(1, Ordering::Release) == 1 {
            self.left.notify_all();
        }
        guard
    }
}

/// A job that stands on the queue, until it is dropped.
struct Posted<'a> {
    job: &'a Arc<Job>,
    pool: &'static Pool,
}

impl<'a> Posted<'a> {
    /// So many others are at work already, and come by themselves.
    fn new(job: &'a Arc<Job>, slots: usize, others: usize) -> Self {
        let pool = pool();
        let mut queue = pool.queue();
        queue.jobs.push_back((Arc::clone(job), slots));
        let free = pool.slots.fetch_add(slots, Ordering::Relaxed) + slots;
        let free = free.saturating_sub(others);
        let woken = free.saturating_sub(queue.awake).min(queue.asleep);
        let missing = free.saturating_sub(queue.awake + queue.asleep);
        if job.joined.is_some() && queue.joining > 0 {
            pool.joint.notify_all();
        }
        drop(queue);
        (0..woken).for_each(|_| pool.posted.notify_one());
        for _ in 0..missing.min(slots) {
            let named = thread::Builder::new().name("graven-worker".to_owned());
            // Without it the work is done by those that are there.
            drop(named.spawn(move || pool.help_until_idle()));
        }
        Self { job, pool }
    }
}

impl Drop for Posted<'_> {
    /// Takes the job back and waits for the helpers that are at it (EX-60).
    fn drop(&mut self) {
        let pool = self.pool;
        self.job.at_work.fetch_sub(1, Ordering::Relaxed);
        let mut guard = pool.queue();
        if let Some(at) = (guard.jobs.iter()).position(|(job, _)| Arc::ptr_eq(job, self.job)) {
            let slots = guard.jobs.remove(at).map_or(0, |(_, slots)| slots);
            pool.slots.fetch_sub(slots, Ordering::Relaxed);
            self.job.at_work.fetch_sub(slots, Ordering::Relaxed);
        }
        drop(guard);
        let done = || self.job.seated.load(Ordering::Acquire) == 0;
        if look_for(done) {
            return;
        }
        let mut guard = pool.queue();
        while !done() {
            guard = (self.job.left.wait(guard)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Looks for a while whether something is so.
fn look_for(mut seen: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if seen() {
                return true;
            }
            spin_loop();
        }
        if began.elapsed() >= AWAKE {
            return false;
        }
    }
}

impl Pool {
    /// The life of a helper.
    fn help_until_idle(&'static self) {
        let mut guard = self.queue();
        loop {
            while let Some(job) = guard.sit(None) {
                drop(guard);
                guard = job.help(self, false);
            }
            guard.awake += 1;
            drop(guard);
            look_for(|| self.slots.load(Ordering::Relaxed) > 0);
            guard = self.queue();
            guard.awake -= 1;
            if guard.jobs.is_empty() {
                guard.asleep += 1;
                let (woken, late) = (self.posted.wait_timeout(guard, ASLEEP))
                    .unwrap_or_else(PoisonError::into_inner);
                guard = woken;
                guard.asleep -= 1;
                if late.timed_out() && guard.jobs.is_empty() {
                    return;
                }
            }
        }
    }
}

/// Runs `own`, and `work` meanwhile on up to so many other threads, each of them once. What `work`
/// panics with is passed on.
pub(crate) fn run_parallel<R>(
    helpers: usize,
    work: &(dyn Fn() + Sync),
    own: impl FnOnce() -> R,
) -> R {
    post(helpers, work, None, own)
}

/// Runs `own`, which makes what is under the key, and `work` meanwhile on up to so many other
/// threads, or `own` on those that wait for it.
pub(crate) fn run_parallel_on(
    helpers: usize,
    key: JobKey,
    work: &(dyn Fn() + Sync),
    own: &(dyn Fn() + Sync),
) {
    post(helpers, work, Some((key, own)), own);
}

fn post<R>(
    helpers: usize,
    work: &(dyn Fn() + Sync),
    joined: Option<(JobKey, &(dyn Fn() + Sync))>,
    own: impl FnOnce() -> R,
) -> R {
    if helpers == 0 {
        return own();
    }
    let lasting = |work: &(dyn Fn() + Sync)| {
        let work = NonNull::from(work);
        // SAFETY: only the lifetime changes; EX-60 says that no thread uses it after this function.
        unsafe { std::mem::transmute::<NonNull<dyn Fn() + Sync + '_>, Work>(work) }
    };
    let others = AT_WORK.with_borrow(|at_work| {
        let at_work = at_work.as_ref();
        at_work.map_or(0, |it| it.load(Ordering::Relaxed).saturating_sub(1))
    });
    let job = Arc::new(Job {
        work: lasting(work),
        joined: joined.map(|(key, work)| (key, lasting(work))),
        at_work: Arc::new(AtomicUsize::new(helpers + 1)),
        seated: AtomicUsize::new(0),
        left: Condvar::new(),
        panic: Mutex::new(None),
    });
    let posted = Posted::new(&job, helpers, others);
    let own = {
        let _together = Together::with(&job.at_work);
        own()
    };
    drop(posted);
    let panic = job
        .panic
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match panic {
        Some(panic) => resume_unwind(panic),
        None => own,
    }
}

/// This thread is at work with those until it is dropped.
struct Together(Option<Arc<AtomicUsize>>);

impl Together {
    fn with(at_work: &Arc<AtomicUsize>) -> Self {
        Self(AT_WORK.replace(Some(Arc::clone(at_work))))
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        AT_WORK.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    //! Every part of the work is done once, whichever thread does it, also where helpers call for
    //! help and where work panics.

    use std::sync::Barrier;

    use super::*;

    /// Takes numbers below `count` until none is left, with so many helpers; how often each was
    /// taken.
    fn taken(count: usize, helpers: usize) -> Vec<usize> {
        let next = AtomicUsize::new(0);
        let times: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let work = || {
            while let Some(times) = times.get(next.fetch_add(1, Ordering::Relaxed)) {
                times.fetch_add(1, Ordering::Relaxed);
            }
        };
        run_parallel(helpers, &work, work);
        times.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn every_part_is_done_once() {
        for round in 0..2000 {
            let count = round % 70;
            assert_eq!(taken(count, round % 5), vec![1; count], "round {round}");
        }
    }

    #[test]
    fn several_call_at_once_and_helpers_call_themselves() {
        let sum = AtomicUsize::new(0);
        let work = || {
            for round in 1..50 {
                sum.fetch_add(taken(round, 2).into_iter().sum(), Ordering::Relaxed);
            }
        };
        let begun = AtomicUsize::new(0);
        let counted = || {
            begun.fetch_add(1, Ordering::Relaxed);
            work();
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| run_parallel(3, &counted, counted));
            }
        });
        let each = (1..50).sum::<usize>();
        assert_eq!(sum.into_inner(), each * begun.into_inner());
    }

    #[test]
    fn helpers_run_at_the_same_time() {
        let meet = Barrier::new(3);
        run_parallel(
            2,
            &|| {
                meet.wait();
            },
            || {
                meet.wait();
            },
        );
    }

    /// Goal: in a process made by `fork` no thread waits for a thread that is not there (EX-62).
    #[test]
    fn a_forked_process_has_a_place_of_its_own() {
        // As a helper may hold it at that moment.
        let held = pool().queue();
        // SAFETY: the child runs the work below, which needs nothing of other threads, and ends
        // without unwinding.
        let process = unsafe { libc::fork() };
        assert!(process >= 0, "fork: {}", std::io::Error::last_os_error());
        if process == 0 {
            // SAFETY: asks for a signal that ends the process.
            unsafe { libc::alarm(60) };
            let done = catch_unwind(|| taken(100, 2) == vec![1; 100]);
            // SAFETY: ends this process, in which nothing is left to do; where it waited for ever
            // the alarm would.
            unsafe { libc::_exit(i32::from(!matches!(done, Ok(true)))) };
        }
        drop(held);
        let mut status = 0;
        // SAFETY: a pool for the status of a child of this process.
        let waited = unsafe { libc::waitpid(process, &raw mut status, 0) };
        assert_eq!((waited, status), (process, 0));
    }

    #[test]
    fn a_panic_is_passed_on_and_helpers_go_on() {
        let meet = Barrier::new(2);
        let failing = || {
            meet.wait();
            panic!("on purpose");
        };
        let caught = catch_unwind(AssertUnwindSafe(|| {
            run_parallel(1, &failing, || {
                meet.wait();
            });
        }));
        let message = caught.unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"on purpose"));
        let caught = catch_unwind(AssertUnwindSafe(|| {
            run_parallel(2, &|| {}, || panic!("here"));
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"here"));
        assert_eq!(taken(100, 2), vec![1; 100]);
    }
}
