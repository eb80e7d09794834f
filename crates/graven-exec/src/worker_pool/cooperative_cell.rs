//! A value that several threads of a statement want and one of them makes, with help.
//!
//! # How it works
//! One thread at a time has a [`CooperativeCell`], as with a lock. The thread that makes the value
//! jobs for help under its [`CooperativeCell::key`] ([`super::run_parallel_on`]). A thread that
//! comes for it while it is made takes a slot at that job instead of sleeping, and sleeps only
//! where no slot is free. Mostly a thread has it for a moment, so a thread that comes tries `LOOKS`
//! times before anything else.
//!
//! # Invariants
//! * EX-63 A sleeper is woken when the joint is released or a job for it is posted. Both wakers
//!   check for sleepers after the event; sleepers check for both events, under the queue's lock,
//!   before they sleep.
//!
//! # Concurrency
//! Threads that wait are counted before they look for the last time. The thread that frees the
//! joint reads the count after a fence of its own, so that one of the two sees the other.

use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::{JobKey, LOOKS, look_for, pool};

/// Something that several threads want and one of them makes, called for under its
/// [`CooperativeCell::key`]. The others help while it is made.
#[derive(Default)]
pub(crate) struct CooperativeCell<T> {
    it: Mutex<T>,
    /// Threads that wait, awake or asleep.
    wanted: AtomicUsize,
}

impl<T> CooperativeCell<T> {
    pub(crate) fn new(it: T) -> Self {
        Self {
            it: Mutex::new(it),
            wanted: AtomicUsize::new(0),
        }
    }

    /// Names it as long as it is there.
    pub(crate) fn key(&self) -> JobKey {
        JobKey(ptr::from_ref(self).addr())
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.it.try_lock() {
            Ok(it) => Some(it),
            Err(TryLockError::Poisoned(it)) => Some(it.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Has it alone, as soon as no other thread does; helps with jobs for it until then.
    pub(crate) fn lock(&self) -> BuildGuard<'_, T> {
        let it = self.try_lock().unwrap_or_else(|| self.wait());
        BuildGuard {
            it: Some(it),
            joint: self,
        }
    }

    fn wait(&self) -> MutexGuard<'_, T> {
        // Mostly it is had for a moment only.
        for _ in 0..LOOKS {
            spin_loop();
            if let Some(it) = self.try_lock() {
                return it;
            }
        }
        // The thread that frees it after the next look sees this count.
        self.wanted.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let pool = pool();
        let it = loop {
            let mut found = None;
            look_for(|| {
                found = self.try_lock();
                found.is_some() || pool.slots.load(Ordering::Relaxed) > 0
            });
            if let Some(it) = found {
                break it;
            }
            let mut guard = pool.queue();
            if let Some(job) = guard.sit(Some(self.key())) {
                drop(guard);
                drop(job.help(pool, true));
                continue;
            }
            if let Some(it) = self.try_lock() {
                break it;
            }
            guard.joining += 1;
            guard = (pool.joint.wait(guard)).unwrap_or_else(PoisonError::into_inner);
            guard.joining -= 1;
        };
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        it
    }
}

/// Has what is joint alone.
pub(crate) struct BuildGuard<'a, T> {
    /// There until it is dropped.
    it: Option<MutexGuard<'a, T>>,
    joint: &'a CooperativeCell<T>,
}

impl<T> Deref for BuildGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.it.as_ref().expect("until it is dropped")
    }
}

impl<T> DerefMut for BuildGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.it.as_mut().expect("until it is dropped")
    }
}

impl<T> Drop for BuildGuard<'_, T> {
    fn drop(&mut self) {
        self.it = None;
        // A thread that does not find it free from now on has counted before (EX-63).
        fence(Ordering::SeqCst);
        if self.joint.wanted.load(Ordering::Relaxed) > 0 {
            let pool = pool();
            // A thread that has just looked sleeps when the queue is free.
            let queue = pool.queue();
            if queue.joining > 0 {
                pool.joint.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! A joint is made once, and a thread that waits for it helps, sleeps or is woken, whatever the
    //! other threads do.

    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::super::{run_parallel, run_parallel_on};
    use super::*;

    /// Goal: a thread that wants what another thread makes helps it, sooner or later.
    #[test]
    fn a_thread_that_waits_helps() {
        let joint = CooperativeCell::new(0);
        let begun = Barrier::new(2);
        let helped = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                begun.wait();
                assert_eq!(*joint.lock(), 1);
            });
            let mut it = joint.lock();
            begun.wait();
            let maker = thread::current().id();
            let mut jobs = 0;
            while helped.load(Ordering::Relaxed) == 0 {
                run_parallel_on(
                    1,
                    joint.key(),
                    &|| {},
                    &|| match thread::current().id() == maker {
                        true => thread::sleep(Duration::from_micros(100)),
                        false => drop(helped.fetch_add(1, Ordering::Relaxed)),
                    },
                );
                jobs += 1;
                assert!(jobs < 100_000, "no thread has helped");
            }
            *it = 1;
        });
    }

    /// Goal: a joint is made once and all threads get it, whichever of them helps, sleeps or jobs
    /// for help together with others.
    #[test]
    fn what_is_joint_is_made_once() {
        for round in 0..500 {
            let joint: CooperativeCell<Option<Vec<usize>>> = CooperativeCell::default();
            let get = || {
                let mut it = joint.lock();
                if it.is_none() {
                    let count = round % 40;
                    let next = AtomicUsize::new(0);
                    let times: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                    let work = || {
                        while let Some(times) = times.get(next.fetch_add(1, Ordering::Relaxed)) {
                            times.fetch_add(1, Ordering::Relaxed);
                        }
                    };
                    run_parallel_on(2, joint.key(), &work, &work);
                    *it = Some(times.into_iter().map(AtomicUsize::into_inner).collect());
                }
                assert_eq!(
                    it.as_deref(),
                    Some(&vec![1; round % 40][..]),
                    "round {round}"
                );
            };
            run_parallel(round % 4, &get, get);
        }
    }

    /// Goal: a panic of one that makes something joint leaves it to the next one.
    #[test]
    fn what_is_joint_outlives_a_panic() {
        let joint = CooperativeCell::new(7);
        let failing = || {
            let _it = joint.lock();
            run_parallel_on(1, joint.key(), &|| {}, &|| panic!("on purpose"));
        };
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
        assert_eq!(*joint.lock(), 7);
    }
}
